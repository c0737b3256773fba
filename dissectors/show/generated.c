/* Generated items, which Wireshark shows in [brackets].
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "generated.h"

proto_item *
smcr_generated_uint(proto_tree *tree, int hf, uint32_t value)
{
    proto_item *item = proto_tree_add_uint(tree, hf, NULL, 0, 0, value);

    proto_item_set_generated(item);
    return item;
}

proto_item *
smcr_generated_uint64(proto_tree *tree, int hf, uint64_t value)
{
    proto_item *item = proto_tree_add_uint64(tree, hf, NULL, 0, 0, value);

    proto_item_set_generated(item);
    return item;
}

bool
smcr_generated_any_wanted(proto_tree *tree, const int *const fields[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (proto_field_is_referenced(tree, *fields[i]))
            return true;
    return false;
}

/* Sets the label of the item to "Name: text", with the name of the field `hf`. */
static void
set_text(proto_item *item, int hf, const char *text)
{
    char line[ITEM_LABEL_LENGTH];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(line);

    smcr_quick_text_put(&to, proto_registrar_get_name(hf));
    smcr_quick_text_put(&to, ": ");
    smcr_quick_text_put(&to, text);
    proto_item_set_text(item, "%s", line);
}

proto_item *
smcr_generated_text(proto_tree *tree, int hf, uint32_t value, const char *text)
{
    proto_item *item = smcr_generated_uint(tree, hf, value);

    set_text(item, hf, text);
    return item;
}

/* Wireshark 4.6 chooses the unit of a time by its size; earlier versions write seconds. This
 * function writes seconds in all versions. */
proto_item *
smcr_generated_time(proto_tree *tree, int hf, uint64_t nanoseconds)
{
    nstime_t took = smcr_capture_nstime(nanoseconds);
    proto_item *item = proto_tree_add_time(tree, hf, NULL, 0, 0, &took);
    char text[SMCR_QUICK_TEXT_SECONDS + sizeof " seconds"];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put_seconds(&to, nanoseconds);
    smcr_quick_text_put(&to, " seconds");
    set_text(item, hf, text);
    proto_item_set_generated(item);
    return item;
}

/* The item has no bytes. So Wireshark's window marks no bytes of the packet when the user selects
 * the item. */
proto_tree *
smcr_generated_tree(proto_tree *tree, int hf, int ett, const char *text)
{
    proto_item *item = proto_tree_add_item(tree, hf, NULL, 0, 0, ENC_NA);

    if (text)
        proto_item_set_text(item, "%s", text);
    proto_item_set_generated(item);
    return proto_item_add_subtree(item, ett);
}
