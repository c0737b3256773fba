/* Functions for tree items, and functions that raise expert items. Their texts are the same in all
 * versions of Wireshark, so that tests and scripts can rely on the texts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds the top item of a message or packet, which covers all captured bytes of `tvb`. The text of
 * the item is `name`, in place of the protocol's long name. Returns the item. */
proto_item *smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name);

/* Adds the field `hf`, of type FT_STRING, as a hidden item, so that a filter finds all messages of
 * one kind, and a column shows `kind`. Adds nothing if the tree is not shown and no filter or
 * column asks for the field. */
void smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb, const char *kind);

/* Makes an item generated and hidden. Filters still find its field. */
static inline void
smcr_item_hide(proto_item *item)
{
    proto_item_set_generated(item);
    proto_item_set_hidden(item);
}

/* Shows `length` captured bytes from byte `start` of `tvb` on as field `hf`, of type FT_BYTES. The
 * text has the first 36 bytes at most. Returns the item. */
proto_item *smcr_item_bytes(proto_tree *tree, int hf, tvbuff_t *tvb, unsigned start,
                            unsigned length);

/* Makes a text from `length` bytes that a peer chose, without control characters, so that every
 * output may contain the text. Host names and enterprise IDs are ASCII (net/smc/smc_clc.h). A byte
 * that is not printable ASCII is written as \xNN, as is the backslash, so that the text is
 * unambiguous. Blanks and zeros at the end are padding, and are left out. Returns a text allocated
 * from `scope`, never NULL. */
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

/* Returns the row of the expert item `expert`, which must be in experts.def. */
const smcr_item_expert_row_t *smcr_item_expert_row(const expert_field *expert);

/* Whether an expert item of this group and severity reports that a peer breaks a format or a
 * rule. */
static inline bool
smcr_item_is_breach(int group, int severity)
{
    return (group == PI_PROTOCOL || group == PI_MALFORMED) && severity >= PI_WARN;
}

/* A function that is called for each expert item that the plugin raises, after it is raised. */
typedef void smcr_item_observer_t(packet_info *pinfo, const expert_field *expert);

/* Sets the observer of all expert items of the plugin. There is one observer: the last one that was
 * set. */
void smcr_item_observe(smcr_item_observer_t *with);

/* Sets whether smcr_item_raise() and smcr_item_raise_text() raise expert items. False while a
 * message with a wrong ICRC or TCP checksum is shown, since any of its bytes may be wrong.
 * smcr_item_raise_unconditionally() raises in either case. */
void smcr_items_raise_of_messages(bool raise);

/* Raises the expert item `expert` at `item`, with the sentence in experts.def, whatever the
 * preference smcr.strict is. */
void smcr_item_raise_unconditionally(packet_info *pinfo, proto_item *item, expert_field *expert);

/* Raises the expert item `expert`, of experts.def, at `item`. `text` is the text of the expert
 * item; NULL: the sentence in experts.def. An expert item whose row is `strict` is raised only with
 * the preference smcr.strict; none is raised after smcr_items_raise_of_messages(false). If
 * smcr_item_is_breach() is true for the expert item, also adds the hidden field smcr.breach, unless
 * nobody needs it: the tree is not shown, and no filter or listener asks for the field. */
#define smcr_item_raise(pinfo, item, expert) smcr_item_raise_text(pinfo, item, expert, NULL)
void smcr_item_raise_text(packet_info *pinfo, proto_item *item, expert_field *expert,
                          const char *text);
