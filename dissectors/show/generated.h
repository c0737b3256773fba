/* Functions for generated items: items in [brackets], whose values are not bytes of the frame. This
 * header also includes the headers that most files of show/ need.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "quick_text.h"
#include "state/state.h"

/* Show a value as the generated field `hf`: smcr_generated_uint() for types of at most 32 bits,
 * smcr_generated_uint64() for 64 bits. Return the item. */
proto_item *smcr_generated_uint(proto_tree *tree, int hf, uint32_t value);
proto_item *smcr_generated_uint64(proto_tree *tree, int hf, uint64_t value);

/* Adds a value as the hidden field `hf`, which filters, columns and JSON find. */
static inline void
smcr_generated_hidden_uint(proto_tree *tree, int hf, uint32_t value)
{
    smcr_item_hide(proto_tree_add_uint(tree, hf, NULL, 0, 0, value));
}

/* Adds a text as the hidden field `hf`, which filters, columns and JSON find. */
static inline void
smcr_generated_hidden_string(proto_tree *tree, int hf, const char *text)
{
    smcr_item_hide(proto_tree_add_string(tree, hf, NULL, 0, 0, text));
}

/* Returns whether one of the `count` fields in `fields` has to be added: the tree is visible, or a
 * filter, column or tap listener uses one of the fields. */
bool smcr_generated_any_wanted(proto_tree *tree, const int *const fields[], unsigned count);

/* Shows a value of at most 32 bits as the generated field `hf`. The label is the name of the field
 * and `text`: "Name: text". Returns the item. */
proto_item *smcr_generated_text(proto_tree *tree, int hf, uint32_t value, const char *text);

/* Shows a duration as the generated field `hf`, of type FT_RELATIVE_TIME, in seconds. Returns the
 * item. */
proto_item *smcr_generated_time(proto_tree *tree, int hf, uint64_t nanoseconds);

/* Adds a generated item of the field `hf`, of type FT_NONE, with a subtree. `text`: the label of
 * the item; NULL: the name of the field. Returns the subtree. */
proto_tree *smcr_generated_tree(proto_tree *tree, int hf, int ett, const char *text);
