/* Tree items for values that Wireshark's versions write in different ways: goldens and scripts
 * see the same text everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds the item of a message or packet, over all captured bytes of `tvb`. `name` is its text, in
 * place of the protocol's long name. Returns the item. */
proto_item *smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name);

/* Adds the kind of the message for filters: field `hf`, of type FT_NONE, hidden. Nothing is added
 * where no filter asks for the field. */
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

/* Makes a text of `length` bytes that a peer chose, for all outputs; control characters for a
 * terminal never get into it. Names of hosts and enterprise IDs are ASCII (net/smc/smc_clc.h). Any
 * other byte is written as \xNN. So is the backslash, so that the text can be turned back into the
 * bytes. Padding at the end, blanks and zeros, is left out. Returns a text of the scope, never
 * NULL. */
char *smcr_item_peer_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length);

/* The preference smcr.strict: whether expert items report doubtful and harmless breaches, too. */
extern compat_pref_bool smcr_items_strict;

/* A row of experts.def. */
typedef struct {
    const expert_field *expert;
    const char *filter; /* its filter name, "smcr.breach" and so on */
    int group;          /* PI_PROTOCOL and so on */
    int severity;       /* PI_WARN and so on */
    bool strict;        /* it is raised with smcr.strict only */
} smcr_item_expert_row_t;

/* Returns the row of an expert item of experts.def, which it must be. */
const smcr_item_expert_row_t *smcr_item_expert_row(const expert_field *expert);

/* Whether an expert item of this group and severity says that a peer breaks a format or a rule. */
static inline bool
smcr_item_is_breach(int group, int severity)
{
    return (group == PI_PROTOCOL || group == PI_MALFORMED) && severity >= PI_WARN;
}

/* Raises an expert item of experts.def at `item`; no other function does. `text` takes the place of
 * the row's sentence in the tree; NULL: the sentence. Rows with `strict` are raised only with the
 * preference smcr.strict. A breach gets the hidden field smcr.breach, too. */
#define smcr_item_raise(pinfo, item, expert) smcr_item_raise_text(pinfo, item, expert, NULL)
void smcr_item_raise_text(packet_info *pinfo, proto_item *item, expert_field *expert,
                          const char *text);
