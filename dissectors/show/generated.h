/* Items in [brackets]: what no byte of the frame says; and all that the files need that show it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "quick_text.h"
#include "state/state.h"

/* Show a value as field `hf`, of 32 bits or less, or of 64. */
proto_item *smcr_generated_uint(proto_tree *tree, int hf, uint32_t value);
proto_item *smcr_generated_uint64(proto_tree *tree, int hf, uint64_t value);

/* The same, hidden: another line of the frame says it. Filters, columns and JSON find it. */
static inline void
smcr_generated_hidden_uint(proto_tree *tree, int hf, uint32_t value)
{
    smcr_item_hide(proto_tree_add_uint(tree, hf, NULL, 0, 0, value));
}

/* The same of a text. */
static inline void
smcr_generated_hidden_string(proto_tree *tree, int hf, const char *text)
{
    smcr_item_hide(proto_tree_add_string(tree, hf, NULL, 0, 0, text));
}

/* Whether somebody sees the tree, or asks for one of the fields, as a filter does. */
bool smcr_generated_any_wanted(proto_tree *tree, const int *const fields[], unsigned count);

/* Shows a value of 32 bits or less with a text of ours instead of Wireshark's. */
proto_item *smcr_generated_text(proto_tree *tree, int hf, uint32_t value, const char *text);

/* Shows how long something took, as field `hf`, of type FT_RELATIVE_TIME. */
proto_item *smcr_generated_time(proto_tree *tree, int hf, uint64_t nanoseconds);

/* A subtree of field `hf`, of type FT_NONE, whose line begins with `text`; NULL: with its name. */
proto_tree *smcr_generated_tree(proto_tree *tree, int hf, int ett, const char *text);
