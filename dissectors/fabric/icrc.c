/* Computes the ICRC: the CRC-32 of Ethernet over the packet, with all bits that a switch or router
 * may change set to 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "icrc.h"

#include <wsutil/ws_assert.h>
#include <zlib.h>

enum { UDP_LENGTH = 8, UDP_CHECKSUM = 6, BTH_CONGESTION = 4 };

/* Sets the bits of an IPv6 header or GRH that a router may change. The two headers have the same
 * form. */
static void
mask_global(uint8_t *header)
{
    header[0] |= 0x0f; /* traffic class and flow label are in bytes 0 to 3 */
    memset(header + 1, 0xff, 3);
    memset(header + 7, 0xff, 1); /* hop limit */
}

/* Sets the bits of `headers` that a switch or router may change. `bth`: offset of the BTH. */
static void
mask_headers(smcr_icrc_start_t start, uint8_t *headers, size_t bth)
{
    if (start == SMCR_ICRC_IPV4) {
        memset(headers + 1, 0xff, 1);  /* type of service: DSCP and ECN */
        memset(headers + 8, 0xff, 1);  /* time to live */
        memset(headers + 10, 0xff, 2); /* header checksum */
    } else if (start == SMCR_ICRC_LRH && bth <= SMCR_IB_LRH_LENGTH) {
        headers[0] |= 0xf0; /* without a GRH the packet stays in its subnet, where only the virtual
                               lane of the LRH changes */
    } else if (start == SMCR_ICRC_LRH) {
        memset(headers, 0xff, SMCR_IB_LRH_LENGTH); /* a router replaces the whole LRH */
        mask_global(headers + SMCR_IB_LRH_LENGTH);
    } else {
        mask_global(headers);
    }
    if (start == SMCR_ICRC_IPV4 || start == SMCR_ICRC_IPV6)
        memset(headers + bth - UDP_LENGTH + UDP_CHECKSUM, 0xff, 2);
    memset(headers + bth + BTH_CONGESTION, 0xff, 1);
}

/* Sets the bits that routers change in a copy of the headers, since the captured bytes must not
 * change. */
uint32_t
smcr_icrc_compute(smcr_icrc_start_t start, const uint8_t *packet, size_t bth, size_t length)
{
    static const uint8_t no_lrh[SMCR_IB_LRH_LENGTH] = {0xff, 0xff, 0xff, 0xff,
                                                       0xff, 0xff, 0xff, 0xff};
    uint8_t headers[SMCR_ICRC_HEADERS_MAX];
    size_t count = bth + SMCR_IB_BTH_LENGTH;

    ws_assert(count <= sizeof headers && count <= length);
    memcpy(headers, packet, count);
    mask_headers(start, headers, bth);
    uLong crc = crc32(0, NULL, 0);
    if (start != SMCR_ICRC_LRH) /* RoCE has no LRH: the ICRC covers eight bytes of ones in its
                                   place */
        crc = crc32(crc, no_lrh, sizeof no_lrh);
    crc = crc32(crc, headers, (uInt)count);
    crc = crc32(crc, packet + count, (uInt)(length - count));
    return (uint32_t)((crc & 0xff) << 24 | (crc & 0xff00) << 8 | (crc >> 8 & 0xff00) | crc >> 24);
}
