/* items.h
 * Tree items for values that Wireshark's versions write in different ways: goldens and scripts
 * see the same text everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_ITEMS_H
#define SMCR_MESSAGE_ITEMS_H

#include "compat.h"

/* The item of a message or packet, with a short name in place of the protocol's long one. */
proto_item *smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name);

/* Says of which kind the message is, for filters: field `hf`, of type FT_NONE, hidden. */
void smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb);

/* Shows `length` captured bytes at `start` as field `hf`, of type FT_BYTES. The text has no more
 * than their beginning. */
proto_item *smcr_item_bytes(packet_info *pinfo, proto_tree *tree, int hf, tvbuff_t *tvb,
                            unsigned start, unsigned length);

/* Shows how long something took, in [brackets], as field `hf`, of type FT_RELATIVE_TIME. */
proto_item *smcr_item_time(proto_tree *tree, int hf, tvbuff_t *tvb, uint64_t nanoseconds);

#endif /* SMCR_MESSAGE_ITEMS_H */
