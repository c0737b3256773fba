/* CDC messages: each side of a connection reports up to where it has written (producer cursor), and
 * up to where it has read (consumer cursor) (RFC 7609 A.4, net/smc/smc_cdc.h). The last 18 bytes of
 * a message are reserved; ANCK (the kernel of Alibaba) uses the first of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message.h"

#define SMCD_FLAGS_END 24 /* CDC message of SMC-D: offset of the first byte after the flags */

static int *const cdc_flags[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) &hf_smcr_cdc_##field,
#define SMCR_CDC_STATE(name, mask, field, words)
#include "wire/cdc.def"
    &hf_smcr_reserved_07, NULL,
};
static int *const cdc_state[] = {
#define SMCR_CDC_FLAG(name, mask, field, words)
#define SMCR_CDC_STATE(name, mask, field, words) &hf_smcr_cdc_##field,
#include "wire/cdc.def"
    &hf_smcr_reserved_1f, NULL,
};

/* A.4 */
SMCR_LAYOUT(cdc_layout, "CDC", SMCR_LLC_LENGTH,
    SHOW(hf_smcr_cdc_type, 0, 1),
    KEEP(hf_smcr_cdc_length, 1, 1, smcr_cdc_t, length),
    KEEP(hf_smcr_cdc_seq, 2, 2, smcr_cdc_t, seq),
    KEEP_ALSO(hf_smcr_cdc_token, hf_smcr_token, 4, 4, smcr_cdc_t, token),
    SHOW(hf_smcr_reserved, 8, 2),
    KEEP(hf_smcr_cdc_prod_wrap, 10, 2, smcr_cdc_t, prod.wrap),
    KEEP(hf_smcr_cdc_prod, 12, 4, smcr_cdc_t, prod.count),
    SHOW(hf_smcr_reserved, 16, 2),
    KEEP(hf_smcr_cdc_cons_wrap, 18, 2, smcr_cdc_t, cons.wrap),
    KEEP(hf_smcr_cdc_cons, 20, 4, smcr_cdc_t, cons.count),
    KEEP_BITS(hf_smcr_cdc_flags, 24, 1, cdc_flags, smcr_cdc_t, flags),
    KEEP_BITS(hf_smcr_cdc_state, 25, 1, cdc_state, smcr_cdc_t, state),
    SHOW_RESERVED(SMCR_CDC_FLAGS_END, SMCR_LLC_LENGTH - SMCR_CDC_FLAGS_END));

/* struct smcd_cdc_msg of net/smc/smc_cdc.h. The producer cursor has flags, too, but the receiver
 * reads those of the consumer cursor. */
SMCR_LAYOUT(smcd_layout, "CDC of SMC-D", SMCR_CDC_SMCD_LENGTH,
    SHOW(hf_smcr_cdc_type, 0, 1),
    SHOW(hf_smcr_cdc_unset, 1, 7),
    KEEP_PEER_ORDER(hf_smcr_cdc_prod_wrap, 8, 2, smcr_cdc_t, prod.wrap),
    KEEP_PEER_ORDER(hf_smcr_cdc_prod, 10, 4, smcr_cdc_t, prod.count),
    SHOW(hf_smcr_cdc_unset, 14, 2),
    KEEP_PEER_ORDER(hf_smcr_cdc_cons_wrap, 16, 2, smcr_cdc_t, cons.wrap),
    KEEP_PEER_ORDER(hf_smcr_cdc_cons, 18, 4, smcr_cdc_t, cons.count),
    KEEP_BITS(hf_smcr_cdc_flags, 22, 1, cdc_flags, smcr_cdc_t, flags),
    KEEP_BITS(hf_smcr_cdc_state, 23, 1, cdc_state, smcr_cdc_t, state),
    SHOW(hf_smcr_cdc_unset, SMCD_FLAGS_END, SMCR_CDC_SMCD_LENGTH - SMCD_FLAGS_END));

/* ---- the summary ---- */

/* The bits of `flags` and `state`, in the order of wire/cdc.def, with their texts. */
static const struct {
    uint8_t flag, state; /* mask of a bit in `flags` or in `state` of smcr_cdc_t; one of the two
                            masks is 0 */
    const char *words;   /* text in the summary; NULL: none */
} flags_said[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) {mask, 0, words},
#define SMCR_CDC_STATE(name, mask, field, words) {0, mask, words},
#include "wire/cdc.def"
};

/* Flags without words in wire/cdc.def are left out. */
const char *
smcr_cdc_flags_text(packet_info *pinfo, const smcr_cdc_t *cdc)
{
    wmem_strbuf_t *text = wmem_strbuf_new(pinfo->pool, "");

    for (unsigned i = 0; i < array_length(flags_said); i++) {
        bool set = (cdc->flags & flags_said[i].flag) || (cdc->state & flags_said[i].state);
        if (!set || !flags_said[i].words)
            continue;
        wmem_strbuf_append(text, wmem_strbuf_get_len(text) ? ", " : " [");
        wmem_strbuf_append(text, flags_said[i].words);
    }
    if (wmem_strbuf_get_len(text))
        wmem_strbuf_append(text, "]");
    return wmem_strbuf_get_str(text);
}

/* Writes a remark about trouble into both texts of the message: `info` in brackets at the beginning
 * of the Info column, `line` at the end of the item's label. */
static void
say_trouble(const smcr_layout_walk_t *walk, const char *info, const char *line)
{
    smcr_say_trouble(walk, info);
    smcr_say_line(walk, "%s", line);
}

/* Writes the cursors and flags of a message of SMC-D. */
static void
summarize_cursors(const smcr_layout_walk_t *walk, const smcr_cdc_t *cdc)
{
    const char *flags = smcr_cdc_flags_text(walk->pinfo, cdc);

    smcr_say_info(walk, " Prod=%u:%u Cons=%u:%u%s", cdc->prod.wrap, cdc->prod.count, cdc->cons.wrap,
                  cdc->cons.count, flags);
    smcr_say_line(walk, ", producer %u:%u, consumer %u:%u%s", cdc->prod.wrap, cdc->prod.count,
                  cdc->cons.wrap, cdc->cons.count, flags);
}

/* Writes remarks if the writer is blocked, and if the connection is closed abnormally. */
static void
summarize_trouble(const smcr_layout_walk_t *walk, const smcr_cdc_t *cdc)
{
    if (cdc->flags & SMCR_CDC_FLAG_BLOCKED)
        say_trouble(walk, "Writer blocked", ", writer blocked");
    if (cdc->state & SMCR_CDC_STATE_ABORT)
        say_trouble(walk, "Abort", ", aborted");
}

/* Writes the texts of the message. A message with the failover flag validates the connection on a
 * new link: its cursors and other flags have no meaning (A.4). */
static void
summarize(const smcr_layout_walk_t *walk, const smcr_cdc_t *cdc)
{
    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER) {
        smcr_say_both(walk, " failover validation");
        smcr_say(walk, "Seq", "sequence", "%u", cdc->seq);
        smcr_say(walk, "Token", "token", "0x%08x", cdc->token);
        smcr_say_line(walk, " (cursors and other flags have no meaning)");
        return;
    }
    const char *flags = smcr_cdc_flags_text(walk->pinfo, cdc);
    /* One call writes all values, which is faster than several calls: most messages are CDC
     * messages. */
    smcr_say_info(walk, " Seq=%u Prod=%u:%u Cons=%u:%u%s", cdc->seq, cdc->prod.wrap,
                  cdc->prod.count, cdc->cons.wrap, cdc->cons.count, flags);
    smcr_say_line(walk, ", sequence %u, producer %u:%u, consumer %u:%u%s", cdc->seq,
                  cdc->prod.wrap, cdc->prod.count, cdc->cons.wrap, cdc->cons.count, flags);
    summarize_trouble(walk, cdc);
}

/* ---- one message ---- */

/* Checks type, length and flags. A message with "urgent data present" must also have "urgent data
 * pending" (R-4.7.5-1). With the failover flag the other flags have no meaning, so they are not
 * checked. */
static void
check_message(const smcr_layout_walk_t *walk, const smcr_cdc_t *cdc)
{
    const uint8_t urgent =
        SMCR_CDC_FLAG_URGENT_PRESENT | SMCR_CDC_FLAG_URGENT_PENDING | SMCR_CDC_FLAG_FAILOVER;

    if (tvb_get_uint8(walk->tvb, 0) != SMCR_LLC_CDC)
        smcr_say_note(walk, hf_smcr_cdc_type, &ei_smcr_llc_type);
    if (tvb_captured_length(walk->tvb) >= 2 && cdc->length != SMCR_LLC_LENGTH)
        smcr_say_note(walk, hf_smcr_cdc_length, &ei_smcr_cdc_length);
    if ((cdc->flags & urgent) == SMCR_CDC_FLAG_URGENT_PRESENT)
        smcr_say_note(walk, hf_smcr_cdc_flags, &ei_smcr_cdc_urgent_flags);
}

/* Whether the capture has all bytes of the message up to the end of the flags, and the length of
 * the message is right: 44 in its length field, and at least 44 bytes on the wire. The bytes after
 * the flags are reserved, and may be truncated by snaplen. */
static bool
is_complete(tvbuff_t *payload, const smcr_cdc_t *cdc)
{
    return tvb_captured_length(payload) >= SMCR_CDC_FLAGS_END &&
           tvb_reported_length(payload) >= SMCR_LLC_LENGTH && cdc->length == SMCR_LLC_LENGTH;
}

/* `cdc` is filled in without a tree, too. Bytes after the 44 bytes of the message are shown as
 * extra bytes. */
proto_tree *
smcr_cdc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc)
{
    unsigned end = MIN(tvb_reported_length(tvb), SMCR_LLC_LENGTH);
    proto_item *top = smcr_item_top(tree, tvb, "SMC-R");
    smcr_layout_item_t *shown = NULL;
    smcr_layout_walk_t walk = {
        .pinfo = pinfo,
        .tvb = tvb_new_subset_length(tvb, 0, (int)end),
        .tree = proto_item_add_subtree(top, ett_smcr),
        .top = top,
        .peer_order = ENC_BIG_ENDIAN,
        .shown = &shown,
    };

    memset(cdc, 0, sizeof *cdc);
    col_append_str(pinfo->cinfo, COL_INFO, "CDC");
    smcr_say_line(&walk, ", CDC");
    smcr_item_kind(walk.tree, hf_smcr_cdc, walk.tvb, "CDC");

    smcr_layout_walk(&cdc_layout, &walk, 0, cdc);
    cdc->complete = is_complete(tvb, cdc);
    check_message(&walk, cdc);
    smcr_say_extra_bytes(&walk, tvb, SMCR_LLC_LENGTH);
    if (tvb_captured_length(walk.tvb) >= SMCR_CDC_FLAGS_END)
        summarize(&walk, cdc);
    return walk.tree;
}

/* Reads the credits of ANCK, the first byte after the flags (struct smc_cdc_msg of its
 * net/smc/smc_cdc.h). If the byte is not captured, sets `lacks_credits`. */
static void
read_credits(tvbuff_t *tvb, smcr_cdc_t *cdc)
{
    cdc->lacks_credits = tvb_captured_length(tvb) <= SMCR_CDC_FLAGS_END;
    if (!cdc->lacks_credits)
        cdc->credits = tvb_get_uint8(tvb, SMCR_CDC_FLAGS_END);
}

/* smcr_message_is_smcr() recognises messages on unknown queue pairs by the result, so the result
 * has to be false in every case of doubt. */
bool
smcr_cdc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc)
{
    unsigned end = MIN(tvb_reported_length(tvb), SMCR_LLC_LENGTH);
    bool flawed = false;
    const smcr_layout_walk_t walk = {
        .pinfo = pinfo,
        .tvb = tvb_new_subset_length(tvb, 0, (int)end),
        .peer_order = ENC_BIG_ENDIAN,
        .violation = &flawed,
    };

    memset(cdc, 0, sizeof *cdc);
    smcr_layout_walk(&cdc_layout, &walk, 0, cdc);
    cdc->complete = is_complete(tvb, cdc);
    read_credits(tvb, cdc);
    return !flawed && tvb_get_uint8(tvb, 0) == SMCR_LLC_CDC && cdc->length == SMCR_LLC_LENGTH &&
           tvb_reported_length(tvb) == SMCR_LLC_LENGTH;
}

/* ---- one message of SMC-D ---- */

/* If the flags are not captured, the message has no summary. */
proto_tree *
smcr_cdc_dissect_smcd(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc)
{
    proto_item *top = smcr_item_top(tree, tvb, "SMC-D");
    smcr_layout_walk_t walk = {
        .pinfo = pinfo,
        .tvb = tvb,
        .tree = proto_item_add_subtree(top, ett_smcr),
        .top = top,
        .peer_order = ENC_LITTLE_ENDIAN,
    };

    memset(cdc, 0, sizeof *cdc);
    col_append_str(pinfo->cinfo, COL_INFO, "CDC");
    smcr_say_line(&walk, ", CDC");
    smcr_item_kind(walk.tree, hf_smcr_cdc, walk.tvb, "CDC");
    smcr_layout_walk(&smcd_layout, &walk, 0, cdc);
    cdc->complete = tvb_captured_length(tvb) >= SMCD_FLAGS_END;
    if (!cdc->complete)
        return walk.tree;
    summarize_cursors(&walk, cdc);
    summarize_trouble(&walk, cdc);
    return walk.tree;
}

bool
smcr_cdc_decode_smcd(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc)
{
    bool flawed = false;
    const smcr_layout_walk_t walk = {
        .pinfo = pinfo,
        .tvb = tvb,
        .peer_order = ENC_LITTLE_ENDIAN,
        .violation = &flawed,
    };

    memset(cdc, 0, sizeof *cdc);
    smcr_layout_walk(&smcd_layout, &walk, 0, cdc);
    cdc->complete = tvb_captured_length(tvb) >= SMCD_FLAGS_END;
    return !flawed && tvb_get_uint8(tvb, 0) == SMCR_LLC_CDC;
}

SMCR_LAYOUT_LIST(cdc, &cdc_layout, &smcd_layout);
