/* generated.h
 * Items in [brackets]: what no byte of the frame says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_GENERATED_H
#define SMCR_SHOW_GENERATED_H

#include "compat.h"
#include "state/state.h"

/* Show a value as field `hf`, of 32 bits or less, or of 64. */
proto_item *smcr_generated_uint(proto_tree *tree, int hf, tvbuff_t *tvb, uint32_t value);
proto_item *smcr_generated_uint64(proto_tree *tree, int hf, tvbuff_t *tvb, uint64_t value);

/* Shows a frame, if there is one, and how long somebody has waited since then, if that is known. */
void smcr_generated_wait(proto_tree *tree, int hf_frame, int hf_time, tvbuff_t *tvb,
                         const smcr_wait_t *wait);

/* A subtree of field `hf`, of type FT_NONE, whose line begins with `text`. */
proto_tree *smcr_generated_tree(proto_tree *tree, int hf, int ett, tvbuff_t *tvb,
                                const char *text);

#endif /* SMCR_SHOW_GENERATED_H */
