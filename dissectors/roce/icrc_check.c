/* icrc_check.c
 * Finds what the ICRC of a packet covers. IP's header lies before the packet's buffer, in the
 * buffer of the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "headers.h"

#include "fields.h"

#define LRH_WORDS_MASK 0x07ff /* bytes 4 and 5 of the LRH: length in words of 4 bytes */
#define UDP_LENGTH 8

/* ---- what it covers ---- */

/* Where the bytes are that it covers. */
typedef struct {
    smcr_icrc_start_t start;
    tvbuff_t *tvb;
    int offset; /* of the first header */
    int bth;    /* of the BTH, from there */
    int length; /* bytes from there to the ICRC's end; 0: not known */
} cover_t;

static bool
find_ip(tvbuff_t *tvb, const packet_info *pinfo, cover_t *cover)
{
    smcr_host_ip_packet_t ip;

    if (!smcr_roce_find_ip(tvb, 0, pinfo, &ip) || ip.is_fragment)
        return false;
    *cover = (cover_t){
        .start = ip.version == 4 ? SMCR_ICRC_IPV4 : SMCR_ICRC_IPV6,
        .tvb = tvb_get_ds_tvb(tvb),
        .offset = (int)ip.offset,
        .bth = ip.header_length + UDP_LENGTH,
        .length = (int)ip.total_length,
    };
    return true;
}

/* smcr_roce_read() has seen that the headers are there. */
static void
find_headers(tvbuff_t *tvb, smcr_hooks_start_t start, cover_t *cover)
{
    *cover = (cover_t){.tvb = tvb};
    if (start == SMCR_HOOKS_GRH) {
        cover->start = SMCR_ICRC_GRH;
        cover->bth = SMCR_IB_GRH_LENGTH;
        cover->length = SMCR_IB_GRH_LENGTH + tvb_get_ntohs(tvb, 4);
        return;
    }
    bool global = smcr_wire_bits(tvb_get_uint8(tvb, 1), SMCR_MASK_LRH_NEXT) == SMCR_IB_LRH_NEXT_GRH;
    cover->start = SMCR_ICRC_LRH;
    cover->bth = SMCR_IB_LRH_LENGTH + (global ? SMCR_IB_GRH_LENGTH : 0);
    cover->length = (tvb_get_ntohs(tvb, 4) & LRH_WORDS_MASK) * 4;
}

smcr_icrc_t
smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                     const smcr_ib_headers_t *roce)
{
    smcr_icrc_t icrc = {.status = SMCR_IB_ICRC_UNVERIFIED, .offset = -1};
    cover_t cover;

    if (start != SMCR_HOOKS_BTH)
        find_headers(tvb, start, &cover);
    else if (!find_ip(tvb, pinfo, &cover))
        return icrc;
    if (cover.length < cover.bth + SMCR_IB_BTH_LENGTH + SMCR_IB_ICRC_LENGTH ||
        cover.length > (int)tvb_captured_length(cover.tvb) - cover.offset)
        return icrc;
    int end = cover.length - SMCR_IB_ICRC_LENGTH;
    icrc.computed = smcr_icrc_compute(cover.start, tvb_get_ptr(cover.tvb, cover.offset, end),
                                      (size_t)cover.bth, (size_t)end);
    icrc.found = tvb_get_ntohl(cover.tvb, cover.offset + end);
    icrc.status = icrc.computed == icrc.found ? SMCR_IB_ICRC_GOOD : SMCR_IB_ICRC_BAD;
    icrc.offset = end - (start == SMCR_HOOKS_BTH ? cover.bth : 0);
    memcpy(icrc.sender, roce->source, SMCR_GID_LENGTH);
    if (cover.start == SMCR_ICRC_LRH && cover.bth == SMCR_IB_LRH_LENGTH) /* no GIDs: their LIDs */
        tvb_memcpy(tvb, icrc.sender + SMCR_GID_LENGTH - 2, 6, 2);
    return icrc;
}

/* ---- showing ---- */

/* The item of its status, over the packet's bytes where these are in the buffer. */
static proto_item *
add_status(tvbuff_t *tvb, proto_tree *tree, const smcr_icrc_t *icrc, const char *text)
{
    bool there = icrc->offset >= 0 &&
                 tvb_captured_length_remaining(tvb, icrc->offset) >= SMCR_IB_ICRC_LENGTH;
    proto_item *item = proto_tree_add_uint_format(
        tree, hf_smcr_icrc_status, tvb, there ? icrc->offset : 0, there ? SMCR_IB_ICRC_LENGTH : 0,
        icrc->status, "Invariant CRC: %s", text);

    proto_item_set_generated(item);
    return item;
}

static void
show_bad(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_icrc_t *icrc)
{
    const char *text = wmem_strdup_printf(pinfo->pool, "incorrect, should be 0x%08x",
                                          icrc->computed);
    proto_item *item = add_status(tvb, tree, icrc, text);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr_icrc);

    proto_item_set_generated(proto_tree_add_uint(below, hf_smcr_icrc_calculated, tvb, 0, 0,
                                                 icrc->computed));
    if (!icrc->reported)
        expert_add_info(pinfo, item, &ei_smcr_icrc_bad);
}

void
smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_icrc_t *icrc)
{
    const char *protocol = pinfo->current_proto; /* under which expert items are listed */

    pinfo->current_proto = "SMC-R";
    if (icrc->status == SMCR_IB_ICRC_BAD)
        show_bad(tvb, pinfo, tree, icrc);
    else if (icrc->status == SMCR_IB_ICRC_GOOD)
        add_status(tvb, tree, icrc, "correct");
    else if (icrc->doubted)
        expert_add_info(pinfo, add_status(tvb, tree, icrc, "unverified"), &ei_smcr_icrc_doubted);
    else
        add_status(tvb, tree, icrc, "unverified");
    pinfo->current_proto = protocol;
}
