/* generated.c
 * Items in [brackets].
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "generated.h"

#include "message/message.h"

proto_item *
smcr_generated_uint(proto_tree *tree, int hf, tvbuff_t *tvb, uint32_t value)
{
    proto_item *item = proto_tree_add_uint(tree, hf, tvb, 0, 0, value);

    proto_item_set_generated(item);
    return item;
}

proto_item *
smcr_generated_uint64(proto_tree *tree, int hf, tvbuff_t *tvb, uint64_t value)
{
    proto_item *item = proto_tree_add_uint64(tree, hf, tvb, 0, 0, value);

    proto_item_set_generated(item);
    return item;
}

void
smcr_generated_wait(proto_tree *tree, int hf_frame, int hf_time, tvbuff_t *tvb,
                    const smcr_wait_t *wait)
{
    if (!wait || !wait->frame)
        return;
    smcr_generated_uint(tree, hf_frame, tvb, wait->frame);
    if (wait->time != SMCR_NO_TIME)
        smcr_item_time(tree, hf_time, tvb, wait->time);
}

proto_tree *
smcr_generated_tree(proto_tree *tree, int hf, int ett, tvbuff_t *tvb, const char *text)
{
    proto_item *item = proto_tree_add_none_format(tree, hf, tvb, 0, 0, "%s", text);

    proto_item_set_generated(item);
    return proto_item_add_subtree(item, ett);
}
