/* items.c
 * Texts of byte strings and times. 4.0 shows 36 bytes at most, 4.4 as many as fit into the line;
 * 4.6 chooses the unit of a time by its size, those before write seconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "items.h"

#include "fields.h"

#define BYTES_SHOWN 36
#define SECOND 1000000000U /* nanoseconds */

proto_item *
smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name)
{
    return proto_tree_add_protocol_format(tree, proto_smcr, tvb, 0,
                                          (int)tvb_captured_length(tvb), "%s", name);
}

void
smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb)
{
    if (proto_field_is_referenced(tree, hf))
        proto_item_set_hidden(proto_tree_add_item(tree, hf, tvb, 0, -1, ENC_NA));
}

proto_item *
smcr_item_bytes(packet_info *pinfo, proto_tree *tree, int hf, tvbuff_t *tvb, unsigned start,
                unsigned length)
{
    proto_item *item = proto_tree_add_item(tree, hf, tvb, (int)start, (int)length, ENC_NA);

    if (tree && length > BYTES_SHOWN)
        proto_item_set_text(item, "%s: %s\xe2\x80\xa6", proto_registrar_get_name(hf),
                            tvb_bytes_to_str(pinfo->pool, tvb, (int)start, BYTES_SHOWN));
    return item;
}

proto_item *
smcr_item_time(proto_tree *tree, int hf, tvbuff_t *tvb, uint64_t nanoseconds)
{
    nstime_t took = {(time_t)(nanoseconds / SECOND), (int)(nanoseconds % SECOND)};
    proto_item *item = proto_tree_add_time_format_value(
        tree, hf, tvb, 0, 0, &took, "%" PRIu64 ".%09d seconds", nanoseconds / SECOND, took.nsecs);

    proto_item_set_generated(item);
    return item;
}
