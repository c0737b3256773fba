/* Functions for items in [brackets], whose values are in no byte of the frame. Includes all headers
 * that the files of this room need.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "quick_text.h"
#include "state/state.h"

/* Show a value of 32 bits or less, or of 64 bits, as field `hf`. Return the item. */
proto_item *smcr_generated_uint(proto_tree *tree, int hf, uint32_t value);
proto_item *smcr_generated_uint64(proto_tree *tree, int hf, uint64_t value);

/* Adds a value as a hidden field, if another line of the frame already shows the value. Filters,
 * columns and JSON find the field. */
static inline void
smcr_generated_hidden_uint(proto_tree *tree, int hf, uint32_t value)
{
    smcr_item_hide(proto_tree_add_uint(tree, hf, NULL, 0, 0, value));
}

/* Adds a text as a hidden field, if another line of the frame already shows the text. */
static inline void
smcr_generated_hidden_string(proto_tree *tree, int hf, const char *text)
{
    smcr_item_hide(proto_tree_add_string(tree, hf, NULL, 0, 0, text));
}

/* Returns whether the tree is visible, or a filter, column or listener asks for one of the `count`
 * fields. */
bool smcr_generated_any_wanted(proto_tree *tree, const int *const fields[], unsigned count);

/* Shows a value of 32 bits or less, with `text` in place of Wireshark's text. Returns the item. */
proto_item *smcr_generated_text(proto_tree *tree, int hf, uint32_t value, const char *text);

/* Shows a duration as field `hf`, of type FT_RELATIVE_TIME, in seconds. Returns the item. */
proto_item *smcr_generated_time(proto_tree *tree, int hf, uint64_t nanoseconds);

/* Adds a subtree of field `hf`, of type FT_NONE. `text`: its line; NULL: the name of the field.
 * Returns the subtree. */
proto_tree *smcr_generated_tree(proto_tree *tree, int hf, int ett, const char *text);
