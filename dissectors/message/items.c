/* Expert items; texts of byte strings, and of strings that a peer wrote. Wireshark 4.0 shows at
 * most 36 bytes of a byte string, Wireshark 4.4 as many bytes as fit into the label of the item.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "items.h"

#include "fields.h"

#define BYTES_SHOWN 36

proto_item *
smcr_item_top(proto_tree *tree, tvbuff_t *tvb, const char *name)
{
    return proto_tree_add_protocol_format(tree, proto_smcr, tvb, 0,
                                          (int)tvb_captured_length(tvb), "%s", name);
}

void
smcr_item_kind(proto_tree *tree, int hf, tvbuff_t *tvb, const char *kind)
{
    if (proto_field_is_referenced(tree, hf))
        proto_item_set_hidden(proto_tree_add_string(tree, hf, tvb, 0, -1, kind));
}

/* The filter value is whole: only the text is shortened. */
proto_item *
smcr_item_bytes(proto_tree *tree, int hf, tvbuff_t *tvb, unsigned start, unsigned length)
{
    proto_item *item = proto_tree_add_item(tree, hf, tvb, (int)start, (int)length, ENC_NA);

    if (tree && length > BYTES_SHOWN) {
        char *digits = tvb_bytes_to_str(NULL, tvb, (int)start, BYTES_SHOWN);
        proto_item_set_text(item, "%s: %s\xe2\x80\xa6", proto_registrar_get_name(hf), digits);
        wmem_free(NULL, digits);
    }
    return item;
}

/* All texts of peers are made here. So no output has to look for control characters itself. */
char *
smcr_item_peer_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    while (length && (bytes[length - 1] == 0 || bytes[length - 1] == ' '))
        length--;
    for (unsigned i = 0; i < length; i++)
        if (g_ascii_isprint(bytes[i]) && bytes[i] != '\\')
            wmem_strbuf_append_c(text, (char)bytes[i]);
        else
            wmem_strbuf_append_printf(text, "\\x%02x", bytes[i]);
    return wmem_strbuf_finalize(text);
}

/* ---- expert items ---- */

compat_pref_bool smcr_items_strict = false;

#define ROW_OF(ei, filter, group, severity, strict) \
    {&ei_smcr_##ei, filter, group, severity, strict},
#define EXPERT(ei, filter, group, severity, sentence) ROW_OF(ei, filter, group, severity, false)
#define EXPERT_STRICT(ei, filter, group, severity, sentence) \
    ROW_OF(ei, filter, group, severity, true)
static const smcr_item_expert_row_t rows[] = {
#include "experts.def"
};

/* The loop ends, since every expert item has a row in experts.def. */
const smcr_item_expert_row_t *
smcr_item_expert_row(const expert_field *expert)
{
    const smcr_item_expert_row_t *row = rows;

    while (row->expert != expert)
        row++;
    return row;
}

/* Adds the field smcr.breach next to the item of a breach, if the tree is shown, or a filter or a
 * listener asks for that field. */
static void
add_breach_field(proto_item *item, const smcr_item_expert_row_t *row)
{
    proto_tree *tree = item ? proto_item_get_parent(item) : NULL;

    if (!tree || !smcr_item_is_breach(row->group, row->severity) ||
        !proto_field_is_referenced(tree, hf_smcr_breach))
        return;
    smcr_item_hide(proto_tree_add_string(tree, hf_smcr_breach, NULL, 0, 0,
                                         &row->filter[sizeof "smcr." - 1]));
}

/* Whether the item is an expert item, by the beginning of its text. */
static bool
is_expert_item(const proto_item *item)
{
    return item->finfo && item->finfo->rep &&
           g_str_has_prefix(item->finfo->rep->representation, "Expert Info (");
}

/* Returns the last expert item with a text below `item`; NULL: there is none. */
static proto_item *
newest_expert_item(const proto_item *item)
{
    proto_item *newest = NULL;

    for (proto_item *each = item ? item->first_child : NULL; each; each = each->next)
        if (is_expert_item(each))
            newest = each;
    return newest;
}

/* Replaces the text of the newest expert item at `item`. Does not replace the summary in
 * Wireshark's Expert Information, which groups expert items by their summaries. */
static void
set_expert_text(packet_info *pinfo, proto_item *item, const char *text)
{
    proto_item *newest = newest_expert_item(item);

    if (!newest)
        return;
    const char *label = wmem_strdup(pinfo->pool, newest->finfo->rep->representation);
    proto_item_set_text(newest, "%.*s): %s", (int)strcspn(label, ")"), label, text);
}

static smcr_item_observer_t *observer; /* see smcr_item_observe(); NULL: none so far */

void
smcr_item_observe(smcr_item_observer_t *with)
{
    observer = with;
}

void
smcr_item_raise_unconditionally(packet_info *pinfo, proto_item *item, expert_field *expert)
{
    expert_add_info(pinfo, item, expert);
    if (observer)
        observer(pinfo, expert);
}

static bool is_silent; /* smcr_item_raise_text() raises no expert item, see
                          smcr_items_raise_of_messages() */

void
smcr_items_raise_of_messages(bool raise)
{
    is_silent = !raise;
}

/* A strict item is raised only if the user wants it. */
void
smcr_item_raise_text(packet_info *pinfo, proto_item *item, expert_field *expert, const char *text)
{
    const smcr_item_expert_row_t *row = smcr_item_expert_row(expert);

    if (is_silent || (row->strict && !smcr_items_strict))
        return;
    add_breach_field(item, row);
    smcr_item_raise_unconditionally(pinfo, item, expert);
    if (text)
        set_expert_text(pinfo, item, text);
}
