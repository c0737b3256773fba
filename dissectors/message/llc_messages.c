/* Shared by the files that decode LLC messages: expert items, bytes that should be zero, and lists
 * of RTokens. An RToken is RKey and address of an RMB on a link that is new or that does not carry
 * the message (RFC 7609 A.3.3 figure 34, A.3.5 figure 37, net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_messages.h"

#include "items.h"

void
smcr_llc_raise_fault(const smcr_message_llc_t *message, int hf, expert_field *expert)
{
    smcr_say_note(&message->walk, hf, expert);
    if (message->walk.violation)
        *message->walk.violation = true;
}

void
smcr_llc_show_echo(const smcr_message_llc_t *message)
{
    proto_item_set_generated(proto_tree_add_item(message->walk.tree, hf_smcr_llc_echo,
                                                 message->walk.tvb, 0, 0, ENC_NA));
}

/* Shows the captured bytes from offset `from` to `to` - 1 as field `hf`. Raises `expert` if a byte
 * is not zero. Returns `to`, or `from` if it is not below `to`; SMCR_MESSAGE_LLC_CUT if the message
 * itself ends before `to`. */
static unsigned
show_zeros(const smcr_message_llc_t *message, int hf, expert_field *expert, unsigned from,
           unsigned to)
{
    tvbuff_t *tvb = message->walk.tvb;
    unsigned until = MIN(to, tvb_captured_length(tvb));
    proto_item *item = message->walk.tree;

    if (from >= to)
        return from;
    bool used = smcr_layout_has_bits(tvb, from, to - from);
    if (message->walk.violation)
        *message->walk.violation |= used;
    else if (from < until)
        item = smcr_item_bytes(message->walk.tree, hf, tvb, from,
                               until - from);
    if (used && !message->walk.violation)
        smcr_item_raise(message->walk.pinfo, item, expert);
    if (until == to)
        return to;
    smcr_layout_explain_missing(&message->walk, item, to);
    return to <= tvb_reported_length(tvb) ? to : SMCR_MESSAGE_LLC_CUT;
}

unsigned
smcr_llc_show_reserved(const smcr_message_llc_t *message, unsigned from, unsigned to)
{
    return show_zeros(message, hf_smcr_reserved, &ei_smcr_reserved, from, to);
}

unsigned
smcr_llc_show_unused(const smcr_message_llc_t *message, unsigned from, unsigned to)
{
    return show_zeros(message, hf_smcr_llc_unused, &ei_smcr_llc_unused, from, to);
}

/* ---- RTokens ---- */

/* A.3.5 figure 37 */
SMCR_LAYOUT(of_link, "RToken of a link", 13,
    KEEP(hf_smcr_llc_link_number, 0, 1, smcr_rtoken_t, link),
    KEEP(hf_smcr_rkey, 1, 4, smcr_rtoken_t, rkey),
    KEEP(hf_smcr_rmb_va, 5, 8, smcr_rtoken_t, va));

/* A.3.3 figure 34 */
SMCR_LAYOUT(pair, "RKey/RToken pair", 16,
    KEEP(hf_smcr_llc_ref_rkey, 0, 4, smcr_rtoken_t, ref_rkey),
    KEEP(hf_smcr_rkey, 4, 4, smcr_rtoken_t, rkey),
    KEEP(hf_smcr_rmb_va, 8, 8, smcr_rtoken_t, va));

static const smcr_layout_t *const layouts[] = {
    [SMCR_MESSAGE_RTOKEN_OF_LINK] = &of_link,
    [SMCR_MESSAGE_RTOKEN_PAIR] = &pair,
};

unsigned
smcr_llc_rtoken_room(const smcr_message_llc_t *message, smcr_message_rtoken_format_t format,
                     unsigned base)
{
    return message->end > base ? (message->end - base) / layouts[format]->length : 0;
}

/* Shows one RToken, which begins at offset `base`. `number`: number of the RToken in the message,
 * from 1. Returns false if the RToken is not complete. */
static bool
show_rtoken(const smcr_message_llc_t *message, smcr_message_rtoken_format_t format, unsigned base,
            unsigned number, smcr_rtoken_t *rtoken)
{
    const smcr_layout_t *layout = layouts[format];
    unsigned captured = tvb_captured_length(message->walk.tvb) - base;
    smcr_layout_walk_t walk = message->walk;

    proto_item *item = proto_tree_add_item(walk.tree, hf_smcr_llc_rtoken, walk.tvb, (int)base,
                                           (int)MIN(captured, layout->length), ENC_NA);
    walk.tree = proto_item_add_subtree(item, ett_smcr_rtoken);
    proto_item_set_text(item, "RToken %u", number);
    if (!smcr_layout_walk(layout, &walk, base, rtoken))
        return false;

    if (format == SMCR_MESSAGE_RTOKEN_PAIR) {
        proto_item_append_text(item, ": reference RKey 0x%08x", rtoken->ref_rkey);
        /* hidden: a filter for an RKey finds every message that names the RKey */
        proto_item_set_hidden(proto_tree_add_item(walk.tree, hf_smcr_rkey, walk.tvb, (int)base, 4,
                                                  ENC_BIG_ENDIAN));
    } else {
        proto_item_append_text(item, ": link %u", rtoken->link);
    }
    proto_item_append_text(item, ", RKey 0x%08x, address 0x%016" PRIx64, rtoken->rkey, rtoken->va);
    return true;
}

/* Looks from the last RToken to the first, and stops at one that is not empty. Empty RTokens before
 * that one stay. */
void
smcr_llc_drop_empty_rtokens(smcr_llc_t *llc)
{
    for (unsigned i = llc->rtoken_count; i > 0; i--) {
        const smcr_rtoken_t *last = &llc->rtokens_in_message[i - 1];
        if (last->rkey || last->ref_rkey || last->va)
            return;
        llc->rtoken_count--;
    }
}

/* The array has room for the RTokens that are captured as a whole. */
unsigned
smcr_llc_show_rtokens(const smcr_message_llc_t *message, smcr_message_rtoken_format_t format,
                      unsigned base, unsigned count, uint8_t link)
{
    unsigned length = layouts[format]->length;
    unsigned captured = tvb_captured_length(message->walk.tvb);
    smcr_llc_t *llc = message->llc;

    count = MIN(count, smcr_llc_rtoken_room(message, format, base));
    if (count > 0 && captured > base)
        llc->rtokens_in_message = wmem_alloc_array(message->walk.pinfo->pool, smcr_rtoken_t,
                                                   MIN(count, (captured - base) / length));
    for (unsigned i = 0; i < count; i++, base += length) {
        smcr_rtoken_t rtoken = {.link = link};

        if (captured <= base) {
            smcr_layout_explain_missing(&message->walk, message->walk.tree, base + length);
            return SMCR_MESSAGE_LLC_CUT;
        }
        if (!show_rtoken(message, format, base, i + 1, &rtoken))
            return SMCR_MESSAGE_LLC_CUT;
        llc->rtokens_in_message[llc->rtoken_count++] = rtoken;
    }
    smcr_llc_drop_empty_rtokens(llc);
    return base;
}

SMCR_LAYOUT_LIST(llc_messages, &of_link, &pair);
