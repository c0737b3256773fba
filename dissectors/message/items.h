/* Tree items for values that Wireshark's versions write in different ways: goldens and scripts
 * see the same text everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* The item of a message or packet, with a short name in place of the protocol's long one. */
proto_item *smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name);

/* Says what kind of message it is, for filters: field `hf`, of type FT_NONE, hidden. */
void smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb);

/* Hides an item that no byte of the frame says. */
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

/* Every text that a peer chose is made here, for all outputs: no terminal obeys it. Names of hosts
 * and enterprise IDs are ASCII (net/smc/smc_clc.h). Any other byte is written as \xNN. So is the
 * backslash, so that the text can be turned back into the bytes. Padding at the end, blanks and
 * zeros, is left out. Returns a text of the scope, never NULL. */
char *smcr_item_peer_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length);

/* The preference smcr.strict: whether to tell of doubtful and harmless breaches, too. */
extern compat_pref_bool smcr_items_strict;

/* What the table says of an expert item. */
typedef struct {
    const expert_field *expert;
    const char *filter;
    int group, severity; /* PI_PROTOCOL, PI_WARN and so on */
    bool strict;         /* it is raised with smcr.strict only */
} smcr_item_expert_row_t;

/* The row of one of ours. */
const smcr_item_expert_row_t *smcr_item_expert_row(const expert_field *expert);

/* Whether an expert item of this group and severity says that a peer breaks a format or a rule. */
static inline bool
smcr_item_is_breach(int group, int severity)
{
    return (group == PI_PROTOCOL || group == PI_MALFORMED) && severity >= PI_WARN;
}

/* The one way to raise an expert item of ours, at `item`. `text` is what the tree says instead of
 * the sentence of the row; it may be NULL. What only strict users want to know of is left out for
 * others. A breach is found by smcr.breach. */
#define smcr_item_raise(pinfo, item, expert) smcr_item_raise_text(pinfo, item, expert, NULL)
void smcr_item_raise_text(packet_info *pinfo, proto_item *item, expert_field *expert,
                          const char *text);
