/* Tree items of values that versions of Wireshark write in different ways. These functions write
 * the same text in all of them, for goldens and scripts. And how expert items are raised.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds the item of a message or packet, over all captured bytes of `tvb`. `name` is its text, in
 * place of the protocol's long name. Returns the item. */
proto_item *smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name);

/* Adds field `hf` of type FT_NONE, hidden: filters find a kind of message by it. Nothing is added
 * if no filter asks for the field. */
void smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb);

/* Hides an item whose value is in no byte of the frame. Filters still find it. */
static inline void
smcr_item_hide(proto_item *item)
{
    proto_item_set_generated(item);
    proto_item_set_hidden(item);
}

/* Shows `length` captured bytes from byte `start` of `tvb` on as field `hf`, of type FT_BYTES. The
 * text has the first 36 bytes only. Returns the item. */
proto_item *smcr_item_bytes(proto_tree *tree, int hf, tvbuff_t *tvb, unsigned start,
                            unsigned length);

/* Makes a text of `length` bytes that a peer chose, fit for all outputs: it has no control
 * characters. Names of hosts and enterprise IDs are ASCII (net/smc/smc_clc.h). Any other byte is
 * written as \xNN. So is the backslash, so that the text can be turned back into the bytes. Padding
 * at the end, blanks and zeros, is left out. Returns a text of the scope, never NULL. */
char *smcr_item_peer_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length);

/* The preference smcr.strict: expert items also report doubtful and harmless breaches. */
extern compat_pref_bool smcr_items_strict;

/* A row of experts.def. */
typedef struct {
    const expert_field *expert; /* the expert item */
    const char *filter; /* filter name of the expert item, such as "smcr.icrc.bad" */
    int group;          /* PI_PROTOCOL and so on */
    int severity;       /* PI_WARN and so on */
    bool strict;        /* the item is raised only with the preference smcr.strict */
} smcr_item_expert_row_t;

/* Returns the row of an expert item, which must be one of experts.def. */
const smcr_item_expert_row_t *smcr_item_expert_row(const expert_field *expert);

/* Whether an expert item of this group and severity reports that a peer breaks a format or a
 * rule. */
static inline bool
smcr_item_is_breach(int group, int severity)
{
    return (group == PI_PROTOCOL || group == PI_MALFORMED) && severity >= PI_WARN;
}

/* Raises an expert item of experts.def at `item`. No other function raises one. `text` replaces the
 * sentence of the row in the tree; NULL: the sentence. Rows with `strict` are raised only with the
 * preference smcr.strict. A breach gets the hidden field smcr.breach, too. */
#define smcr_item_raise(pinfo, item, expert) smcr_item_raise_text(pinfo, item, expert, NULL)
void smcr_item_raise_text(packet_info *pinfo, proto_item *item, expert_field *expert,
                          const char *text);
