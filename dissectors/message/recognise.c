/* Recognises LLC and CDC messages on queue pairs that no captured CLC or LLC message has named.
 * Example: the capture starts mid-connection. Other protocols use SENDs, too, so the bytes of a
 * SEND have to prove that the SEND is a message. Most of the proof is the layout: many bytes of LLC
 * and CDC messages are zero (RFC 7609 A.3, A.4), but rarely zero in messages of other protocols.
 * This file has the rules that a layout cannot express.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message.h"

/* Number of bytes at the beginning of a message that have to be captured. They include the flags of
 * a CDC message, and GID, queue pair and link number of a CONFIRM LINK. */
#define CAPTURED_MIN 30

/* ---- rules ---- */

/* Whether the address is the beginning of a page of memory. All RMBs begin at a page. */
static bool
is_page(uint64_t va)
{
    return (va & SMCR_WIRE_PAGE_MASK) == 0;
}

/* Whether the addresses of all captured RTokens in the message are at the beginning of a page. This
 * rule is needed for messages whose list of RTokens is full: they have few reserved bytes, so their
 * layout proves little. */
static bool
rtokens_are_pages(const smcr_llc_t *llc)
{
    for (unsigned i = 0; i < llc->rtoken_count; i++)
        if (!is_page(llc->rtokens_in_message[i].va))
            return false;
    return true;
}

/* ---- rules for messages that fit their layout; llc.def has their names ---- */

/* Defines proof_<name>(), which returns whether a decoded message keeps the rule `proof`. */
#define PROOF(name, proof) \
    static bool proof_##name(const smcr_llc_t *llc _U_, const smcr_ib_headers_t *roce _U_) \
    { \
        return proof; \
    }
/* For messages whose layout alone is the proof. */
PROOF(none, true)
/* ADD LINK CONTINUATION: the link number is not 0, and all RMBs begin at a page. */
PROOF(pairs, llc->u.add_link_cont.link != 0 && rtokens_are_pages(llc))
/* CONFIRM RKEY: the RKey is not 0, and all RMBs begin at a page. */
PROOF(rmb, llc->u.confirm_rkey.rkey != 0 && is_page(llc->u.confirm_rkey.va) &&
           rtokens_are_pages(llc))
/* CONFIRM RKEY CONTINUATION: the message announces RTokens, and all RMBs begin at a page. */
PROOF(rtokens, llc->u.confirm_rkey.other_links != 0 && rtokens_are_pages(llc))
/* DELETE RKEY: the message announces 1 to 8 RKeys, also in version 2. */
PROOF(rkeys, llc->u.delete_rkey.count >= 1 && llc->u.delete_rkey.count <= SMCR_LLC_RKEYS_MAX)
/* CONFIRM LINK: the link number is not 0, and the GID in the message is the GID that sends the
 * packet. */
PROOF(own_gid, llc->u.confirm_link.link != 0 &&
               smcr_gid_is_same(llc->u.confirm_link.gid, roce->source))

/* Whether the GID is a link-local address: fe80::/16, of which RoCE devices use fe80::/64 (RFC
 * 4291, 2.5.6). */
static bool
is_link_local(const uint8_t *gid)
{
    return gid[0] == 0xfe && gid[1] == 0x80;
}

/* Whether the GID is a global unicast address: 2000::/3 (RFC 4291, 2.5.4). */
static bool
is_global(const uint8_t *gid)
{
    return (gid[0] & 0xe0) == 0x20;
}

/* Whether the GID is a unique local address: fc00::/7 (RFC 4193). */
static bool
is_unique_local(const uint8_t *gid)
{
    return (gid[0] & 0xfe) == 0xfc;
}

/* Whether the GID is of a kind that RoCE devices have. */
static bool
is_of_device(const uint8_t *gid)
{
    if (smcr_gid_is_ipv4(gid))
        return true;
    return is_link_local(gid) || is_global(gid) || is_unique_local(gid);
}
/* ADD LINK: the GID in the message is of a kind that RoCE devices have, and all RMBs begin at a
 * page. */
PROOF(device_gid, is_of_device(llc->u.add_link.gid) && rtokens_are_pages(llc))

/* Whether the message keeps the rule of its type, which column `proof` of llc.def names. False for
 * an unknown type. */
static bool
proves_itself(const smcr_llc_t *llc, const smcr_ib_headers_t *roce)
{
    switch (llc->type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, key, proof, ...) \
    case SMCR_LLC_##name: \
        return proof_##proof(llc, roce);
#include "wire/llc.def"
    default:
        return false;
    }
}

/* ---- the payload ---- */

/* Whether the length field is equal to the length of the payload: 44 for CDC and version 1. In
 * version 2 the field may have either byte order. This rule is checked first, because it excludes
 * most packets of other protocols. */
static bool
length_fits(tvbuff_t *payload, uint8_t type, int length)
{
    if (smcr_wire_llc_type_is_cdc(type) || !(type & SMCR_LLC_TYPE_V2))
        return length == SMCR_LLC_LENGTH && tvb_get_uint8(payload, SMCR_LLC_LENGTH_AT) == length;
    return tvb_get_ntohs(payload, SMCR_LLC_LENGTH_AT) == length ||
           tvb_get_letohs(payload, SMCR_LLC_LENGTH_AT) == length;
}

/* Returns the number of the queue pair that sends the message, which only a CONFIRM LINK contains;
 * 0: not known. */
static uint32_t
sender_of(const smcr_llc_t *llc)
{
    bool is_confirm_link =
        llc->type == SMCR_LLC_CONFIRM_LINK || llc->type == SMCR_LLC_CONFIRM_LINK_V2;

    return is_confirm_link ? llc->u.confirm_link.qpn : 0;
}

/* Also called for packets of other applications. A wrong `true` would make a link of two queue
 * pairs that have nothing to do with SMC-R. So the result has to be false in every case of
 * doubt. */
bool
smcr_message_is_smcr(tvbuff_t *payload, packet_info *pinfo, const smcr_ib_headers_t *roce,
                     uint32_t *sender)
{
    int length = roce->payload_length;
    int captured = MIN((int)tvb_captured_length(payload), length);
    smcr_llc_t llc;
    smcr_cdc_t cdc;

    *sender = 0;
    if (length < SMCR_LLC_LENGTH || captured < CAPTURED_MIN)
        return false;
    uint8_t type = tvb_get_uint8(payload, 0);
    if (!length_fits(payload, type, length))
        return false;
    tvbuff_t *message = tvb_new_subset_length_caplen(payload, 0, captured, length);
    if (smcr_wire_llc_type_is_cdc(type))
        return smcr_cdc_decode(message, pinfo, &cdc);
    if (!smcr_llc_decode(message, pinfo, &llc) || !proves_itself(&llc, roce))
        return false;
    *sender = sender_of(&llc);
    return true;
}
