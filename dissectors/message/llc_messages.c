/* llc_messages.c
 * What the files that decode LLC messages share: expert items, bytes that should be zero.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_messages.h"

#include "items.h"

bool
smcr_llc_walk_body(const smcr_message_llc_t *message, const smcr_layout_t *layout)
{
    return smcr_layout_walk(layout, &message->walk, SMCR_LLC_HEADER, message->llc);
}

void
smcr_llc_expert(const smcr_message_llc_t *message, int hf, expert_field *expert,
                const char *sentence)
{
    proto_item *item = smcr_layout_item(&message->walk, hf);

    if (message->walk.flawed)
        return;
    if (sentence)
        smcr_item_raise_text(message->walk.pinfo, item, expert, "%s", sentence);
    else
        smcr_item_raise(message->walk.pinfo, item, expert);
}

void
smcr_llc_count_fault(const smcr_message_llc_t *message, int hf, expert_field *expert)
{
    smcr_llc_expert(message, hf, expert, NULL);
    if (message->walk.flawed)
        *message->walk.flawed = true;
}

void
smcr_llc_show_echo(const smcr_message_llc_t *message)
{
    proto_item *item = proto_tree_add_item(message->walk.tree, hf_smcr_llc_echo,
                                           message->walk.tvb, 0, 0, ENC_NA);

    proto_item_set_generated(item);
}

/* Shows bytes that should be zero as field `hf`; says it with `expert` if they are not. */
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
    if (message->walk.flawed)
        *message->walk.flawed |= used;
    else if (from < until)
        item = smcr_item_bytes(message->walk.pinfo, message->walk.tree, hf, tvb, from,
                               until - from);
    if (used && !message->walk.flawed)
        smcr_item_raise(message->walk.pinfo, item, expert);
    if (until == to)
        return to;
    smcr_layout_explain_missing(&message->walk, item, to);
    return SMCR_MESSAGE_LLC_CUT;
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
