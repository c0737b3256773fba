/* recognise.c
 * A capture that begins late holds messages on queue pairs that no CLC message announced. Other
 * protocols use SEND as well, so such a message must prove itself: whoever only resembles SMC-R
 * has something in the many bytes that LLC and CDC keep zero (RFC 7609 A.3, A.4).
 *
 * On queue pairs that are known, none of this is asked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "recognise.h"

#include <string.h>

#include "wire/llc_codes.h"

#define RESPONSE SMCR_LLC_FLAG_RESPONSE
#define CAPTURED_MIN 30 /* bytes that tell a message: CDC flags, QPN of CONFIRM LINK */

static bool
zero(const uint8_t *bytes, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        if (bytes[i])
            return false;
    return true;
}

static bool
only_flags(const uint8_t *bytes, unsigned flags)
{
    return (bytes[3] & ~flags) == 0;
}

/* A GID of the kinds that RoCE devices have: link-local, global, unique local, IPv4-mapped. */
static bool
plausible_gid(const uint8_t *gid)
{
    return (gid[0] == 0xfe && gid[1] == 0x80) || (gid[0] & 0xe0) == 0x20 ||
           (gid[0] & 0xfe) == 0xfc || smcr_gid_is_ipv4(gid);
}

static bool
confirm_link(const uint8_t *bytes, const smcr_roce_t *roce)
{
    return only_flags(bytes, RESPONSE | 0x03) && bytes[29] != 0 && zero(bytes, 36, 44) &&
           memcmp(bytes + 10, roce->source, SMCR_GID_LENGTH) == 0;
}

static bool
add_link(const uint8_t *bytes)
{
    bool as_linux = zero(bytes, 10, 12) && plausible_gid(bytes + 12);

    return only_flags(bytes, RESPONSE | 0x40) && zero(bytes, 36, 44) &&
           (as_linux || plausible_gid(bytes + 10));
}

/* `count` RTokens of `size` bytes each from `offset`, and zeros behind them up to `end`. */
static bool
unused_is_zero(const uint8_t *bytes, unsigned offset, unsigned size, unsigned count, unsigned end)
{
    return zero(bytes, MIN(offset + size * count, end), end);
}

/* The same for RTokens, which end with the address of an RMB: that begins at a page. Without this
 * any noise would do behind a count that leaves nothing unused. */
static bool
rtokens(const uint8_t *bytes, unsigned offset, unsigned size, unsigned count)
{
    unsigned end = offset + size;

    for (unsigned i = 0; i < count && end <= SMCR_LLC_LENGTH; i++, end += size)
        if ((bytes[end - 2] & 0x0f) || bytes[end - 1])
            return false;
    return unused_is_zero(bytes, offset, size, count, SMCR_LLC_LENGTH);
}

static bool
add_link_cont(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE) && zero(bytes, 6, 8) && bytes[4] != 0 &&
           rtokens(bytes, 8, 16, bytes[5]);
}

static bool
delete_link(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE | 0x60) && zero(bytes, 9, 44);
}

static bool
confirm_rkey(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE | 0x30) && !zero(bytes, 5, 9) &&
           (bytes[15] & 0x0f) == 0 && bytes[16] == 0 && rtokens(bytes, 17, 13, bytes[4]);
}

static bool
confirm_rkey_cont(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE | 0x20) && bytes[4] != 0 &&
           rtokens(bytes, 5, 13, bytes[4]);
}

static bool
test_link(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE) && zero(bytes, 20, 44);
}

static bool
delete_rkey(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE | 0x20) && zero(bytes, 6, 8) && bytes[4] >= 1 &&
           bytes[4] <= 8 && unused_is_zero(bytes, 8, 4, bytes[4], 44);
}

static bool
request_add_link(const uint8_t *bytes)
{
    return only_flags(bytes, RESPONSE | 0x4f) && zero(bytes, 4, 24) && zero(bytes, 25, 28);
}

/* The first 44 bytes of a message whose type and length fit. */
static bool
llc(const uint8_t *bytes, unsigned type, const smcr_roce_t *roce)
{
    switch (type) {
    case SMCR_LLC_CONFIRM_LINK:
        return confirm_link(bytes, roce);
    case SMCR_LLC_ADD_LINK:
        return add_link(bytes);
    case SMCR_LLC_ADD_LINK_CONT:
        return add_link_cont(bytes);
    case SMCR_LLC_DELETE_LINK:
        return delete_link(bytes);
    case SMCR_LLC_REQ_ADD_LINK:
        return request_add_link(bytes);
    case SMCR_LLC_CONFIRM_RKEY:
        return confirm_rkey(bytes);
    case SMCR_LLC_TEST_LINK:
        return test_link(bytes);
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return confirm_rkey_cont(bytes);
    case SMCR_LLC_DELETE_RKEY:
        return delete_rkey(bytes);
    default:
        return false;
    }
}

static bool
cdc(const uint8_t *bytes)
{
    return bytes[1] == SMCR_LLC_LENGTH && zero(bytes, 8, 10) && zero(bytes, 16, 18) &&
           (bytes[24] & 0x07) == 0 && (bytes[25] & 0x1f) == 0 && zero(bytes, 26, 44);
}

bool
smcr_recognise(tvbuff_t *payload, const smcr_roce_t *roce)
{
    unsigned length = (unsigned)roce->payload_length;

    unsigned captured = MIN(tvb_captured_length(payload), SMCR_LLC_LENGTH);
    uint8_t bytes[SMCR_LLC_LENGTH] = {0}; /* what the capture cuts off is mostly reserved */

    if (length < SMCR_LLC_LENGTH || captured < CAPTURED_MIN)
        return false;
    tvb_memcpy(payload, bytes, 0, captured);
    unsigned type = bytes[0];

    if (type == SMCR_LLC_CDC)
        return length == SMCR_LLC_LENGTH && cdc(bytes);
    if ((type & 0xf0) == SMCR_LLC_TYPE_V2) {
        bool fits = tvb_get_ntohs(payload, 1) == length || tvb_get_letohs(payload, 1) == length;
        return fits && llc(bytes, type & 0x0f, roce);
    }
    bool rejects = type == SMCR_LLC_ADD_LINK && (bytes[2] & 0xf0) == 0;
    return length == SMCR_LLC_LENGTH && bytes[1] == SMCR_LLC_LENGTH &&
           (bytes[2] == 0 || rejects) && llc(bytes, type, roce);
}

bool
smcr_recognise_sender(tvbuff_t *payload, uint32_t *qpn)
{
    uint8_t type = tvb_get_uint8(payload, 0);

    if (type != SMCR_LLC_CONFIRM_LINK && type != SMCR_LLC_CONFIRM_LINK_V2)
        return false;
    *qpn = tvb_get_ntoh24(payload, 26);
    return true;
}
