/* Walks layout tables, and writes the texts and raises the expert items of CLC, LLC and CDC
 * messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "layout.h"

#include "items.h"

/* An item in the list of a message. */
struct smcr_shown {
    int hf; /* the field that the item shows */
    proto_item *item; /* the item */
    const smcr_layout_item_t *older; /* the item that was added before; NULL: none */
};

/* There are two expert items: if the message itself ends early, the sender is at fault; if the
 * capture is truncated, nobody is. */
void
smcr_layout_explain_missing(const smcr_layout_walk_t *walk, proto_item *item, unsigned end)
{
    bool in_message = end <= tvb_reported_length(walk->tvb);

    if (walk->violation) {
        *walk->violation |= !in_message;
        return;
    }
    smcr_item_raise(walk->pinfo, item, in_message ? &ei_smcr_cut_short : &ei_smcr_message_short);
}

/* Shows the captured bytes of a row that is not complete, from `start` on, and explains why bytes
 * up to `end` are missing. */
static void
show_rest(const smcr_layout_walk_t *walk, unsigned start, unsigned end)
{
    unsigned captured = tvb_captured_length(walk->tvb);
    int length = captured > start ? (int)(captured - start) : 0;
    proto_item *item = walk->tree ? proto_tree_get_parent(walk->tree) : NULL;

    if (length > 0 && !walk->violation)
        item = smcr_item_bytes(walk->tree, hf_smcr_cut_bytes, walk->tvb, start, (unsigned)length);
    smcr_layout_explain_missing(walk, item, end);
}

/* Whether a byte from offset `from` to `end` - 1 is not zero. */
static bool
has_bits(const uint8_t *bytes, int from, int end)
{
    uint8_t bits = 0;

    for (int i = from; i < end; i++)
        bits |= bytes[i];
    return bits != 0;
}

bool
smcr_layout_has_bits(tvbuff_t *tvb, unsigned offset, unsigned length)
{
    int captured = MIN((int)length, tvb_captured_length_remaining(tvb, (int)offset));

    return captured > 0 && has_bits(tvb_get_ptr(tvb, (int)offset, captured), 0, captured);
}

/* Returns the integer in `length` bytes of the byte order `order`. */
static uint64_t
integer_of(const uint8_t *bytes, unsigned length, unsigned order)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < length; i++)
        value = value << 8 | bytes[order == ENC_BIG_ENDIAN ? i : length - 1U - i];
    return value;
}

uint64_t
smcr_layout_number(tvbuff_t *tvb, unsigned offset, unsigned length, unsigned order)
{
    return integer_of(tvb_get_ptr(tvb, (int)offset, (int)length), length, order);
}

/* Returns the integer in the bytes of a row. `peer_order` of the row decides the byte order. */
static uint64_t
read_integer(const smcr_row_t *row, const smcr_layout_walk_t *walk, const uint8_t *bytes)
{
    return integer_of(bytes, row->length, row->peer_order ? walk->peer_order : ENC_BIG_ENDIAN);
}

/* Stores the value of a row in the caller's struct, in the size of the member. Of a row with
 * `first_byte_hf` only the first byte is stored. */
static void
keep_row(const smcr_row_t *row, const smcr_layout_walk_t *walk, const uint8_t *bytes, void *keep)
{
    uint8_t *member = (uint8_t *)keep + row->member;

    if (row->first_byte_hf) {
        *member = bytes[0];
        return;
    }
    if (row->keep == SMCR_KEEP_BYTES) {
        memcpy(member, bytes, row->member_size);
        return;
    }

    uint64_t value = read_integer(row, walk, bytes);
    switch (row->member_size) {
    case sizeof(uint8_t):
        *member = (uint8_t)value;
        break;
    case sizeof(uint16_t):
        memcpy(member, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
        break;
    case sizeof(uint32_t):
        memcpy(member, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        break;
    default:
        memcpy(member, &value, sizeof value);
        break;
    }
}

/* Returns how many reserved fields of a BITS row have bits that are set. */
static unsigned
count_reserved_bits(const smcr_row_t *row, const smcr_layout_walk_t *walk,
                    const uint8_t *bytes)
{
    uint64_t value = read_integer(row, walk, bytes);
    unsigned count = 0;

    for (int *const *bit = row->bits; value && *bit; bit++) {
        const header_field_info *field = proto_registrar_get_nth((unsigned)**bit);
        if (value & field->bitmask && g_str_has_prefix(field->abbrev, "smcr.reserved"))
            count++;
    }
    return count;
}

/* Whether a SHOW row is reserved and its `captured` bytes are not all zero. If the row has
 * `first_byte_hf`, its first byte may be the credits of ANCK (Alibaba's kernel), which are no
 * fault. If the message is only examined, this byte has to be zero, too. */
static bool
reserved_row_is_set(const smcr_row_t *row, const smcr_layout_walk_t *walk, const uint8_t *bytes,
             int captured)
{
    /* number of bytes at the beginning of the row that may be the credits of ANCK: 1 or 0 */
    int other = row->first_byte_hf && !walk->violation ? 1 : 0;

    return row->kind == SMCR_ROW_SHOW && *row->hf == hf_smcr_reserved &&
           has_bits(bytes, other, captured);
}

/* Adds an item to the message's list. Wireshark makes no field_info for an item that no tree,
 * filter or column needs; such an item is not listed. */
static void
list_item(const smcr_layout_walk_t *walk, proto_item *item)
{
    const field_info *field = item ? PITEM_FINFO(item) : NULL;

    if (!walk->shown || !field)
        return;
    smcr_layout_item_t *shown = wmem_new(walk->pinfo->pool, smcr_layout_item_t);
    *shown = (smcr_layout_item_t){.hf = field->hfinfo->id, .item = item, .older = *walk->shown};
    *walk->shown = shown;
}

/* Shows a field of bits: names the flags that are set in its line, and raises an expert item for
 * each reserved field that is set. */
static proto_item *
show_bits(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    const uint8_t *bytes = tvb_get_ptr(walk->tvb, (int)offset, row->length);
    uint64_t value = read_integer(row, walk, bytes);
    proto_item *item =
        proto_tree_add_bitmask_with_flags(walk->tree, walk->tvb, offset, *row->hf, ett_smcr_flags,
                                          row->bits, ENC_BIG_ENDIAN, BMT_NO_APPEND);

    for (int *const *hf = row->bits; *hf; hf++) { /* loop over the fields of the bits: appends the
                                                     names of the flags that are set */
        const header_field_info *field = proto_registrar_get_nth((unsigned)**hf);
        if (field->type == FT_BOOLEAN && !field->strings && value & field->bitmask)
            proto_item_append_text(item, ", %s", field->name);
    }
    for (proto_item *bit = item->first_child; bit; bit = bit->next)
        list_item(walk, bit);
    for (unsigned i = count_reserved_bits(row, walk, bytes); i > 0; i--)
        smcr_item_raise(walk->pinfo, item, &ei_smcr_reserved);
    return item;
}

/* Shows a row of kind SMCR_ROW_PART: the item of the field, and below the item the rows of the
 * table `part`. */
static proto_item *
show_part(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    proto_item *item = proto_tree_add_item(walk->tree, *row->hf, walk->tvb, (int)offset,
                                           row->length, ENC_NA);
    smcr_layout_walk_t below = *walk;

    below.tree = proto_item_add_subtree(item, *row->ett);
    smcr_layout_walk(row->part, &below, offset, NULL);
    return item;
}

/* Adds the value a second time, hidden, as the either-of field: with this field users filter for a
 * value that several fields may have. Nothing is added if neither a shown tree nor a filter or
 * column needs the field. */
static void
add_either_of_field(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset,
                    unsigned order)
{
    if (row->either_of_hf && proto_field_is_referenced(walk->tree, *row->either_of_hf))
        proto_item_set_hidden(proto_tree_add_item(walk->tree, *row->either_of_hf, walk->tvb,
                                                  (int)offset, row->length, order));
}

/* Shows a row as one value, and returns its item. Reserved bits that are set raise an expert
 * item. */
static proto_item *
show_value(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    unsigned order = row->peer_order ? walk->peer_order : ENC_BIG_ENDIAN;
    proto_item *item = proto_tree_add_item(walk->tree, *row->hf, walk->tvb, (int)offset,
                                           row->length, order);

    if (reserved_row_is_set(row, walk, tvb_get_ptr(walk->tvb, (int)offset, row->length),
                            row->length))
        smcr_item_raise(walk->pinfo, item, &ei_smcr_reserved);
    add_either_of_field(row, walk, offset, order);
    return item;
}

/* Shows a reserved row whose first byte is set: ANCK sends its credits there. The bytes after the
 * first one are shown as a reserved row. Returns the item of the first byte. */
static proto_item *
show_credits(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    proto_item *item = proto_tree_add_item(walk->tree, *row->first_byte_hf, walk->tvb, (int)offset,
                                           1, ENC_BIG_ENDIAN);

    if (row->length > 1)
        show_value(&(smcr_row_t){.hf = row->hf, .length = (uint16_t)(row->length - 1)}, walk,
                   offset + 1);
    return item;
}

/* Shows a row that is a text of the peer, made harmless, and returns its item. */
static proto_item *
show_text(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    const uint8_t *bytes = tvb_get_ptr(walk->tvb, (int)offset, row->length);

    return proto_tree_add_string(walk->tree, *row->hf, walk->tvb, (int)offset, row->length,
                                 smcr_item_peer_text(walk->pinfo->pool, bytes, row->length));
}

/* Shows one row whose bytes are all captured, and returns its item. In a row of the kind
 * SMCR_ROW_SHOW with `first_byte_hf`, a first byte other than 0 has the credits of ANCK. */
static proto_item *
show_row(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset)
{
    switch (row->kind) {
    case SMCR_ROW_BITS:
        return show_bits(row, walk, offset);
    case SMCR_ROW_TEXT:
        return show_text(row, walk, offset);
    case SMCR_ROW_PART:
        return show_part(row, walk, offset);
    case SMCR_ROW_SHOW:
        break;
    }
    if (row->first_byte_hf && tvb_get_uint8(walk->tvb, (int)offset) != 0)
        return show_credits(row, walk, offset);
    return show_value(row, walk, offset);
}

/* Looks for reserved bits that are set: sets `*violation` if the message is only examined;
 * otherwise raises an expert item for each reserved field with such bits. `captured`: number of
 * captured bytes from the row's first byte on, which may be more than the row has, or negative. */
static void
examine_row(const smcr_row_t *row, const smcr_layout_walk_t *walk, unsigned offset,
            const uint8_t *bytes, int captured)
{
    bool is_bits = row->kind == SMCR_ROW_BITS && captured >= row->length;
    unsigned reserved = is_bits ? count_reserved_bits(row, walk, bytes)
                                : reserved_row_is_set(row, walk, bytes,
                                                      MIN(captured, row->length));

    if (walk->violation)
        *walk->violation |= reserved > 0;
    for (; reserved > 0 && !walk->violation; reserved--)
        smcr_item_raise(walk->pinfo, NULL, &ei_smcr_reserved);
    if (row->kind == SMCR_ROW_PART)
        smcr_layout_walk(row->part, walk, offset, NULL);
}

/* Whether smcr_layout_walk() has to examine a row for reserved bits: the message is only examined,
 * or there is no tree and the row is captured whole (`whole`). If there is a tree, the function
 * that shows the row examines it. */
static bool
is_examined(const smcr_layout_walk_t *walk, bool whole)
{
    return walk->violation || (whole && !walk->tree);
}

/* Whether row `index` of the layout and all rows after it are reserved, and the message has all of
 * their bytes. If the capture truncates them, no value is missing. */
static bool
has_only_reserved_from(const smcr_layout_t *layout, unsigned index, const smcr_layout_walk_t *walk,
                       unsigned base)
{
    for (unsigned i = index; i < layout->count; i++)
        if (layout->rows[i].kind != SMCR_ROW_SHOW || *layout->rows[i].hf != hf_smcr_reserved)
            return false;
    return base + layout->length <= tvb_reported_length(walk->tvb);
}

/* The result says whether callers may use the stored members. */
bool
smcr_layout_walk(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
                 void *keep)
{
    int captured = MIN((int)layout->length, tvb_captured_length_remaining(walk->tvb, (int)base));
    const uint8_t *bytes = captured > 0 ? tvb_get_ptr(walk->tvb, (int)base, captured) : NULL;

    for (unsigned i = 0; i < layout->count; i++) {
        const smcr_row_t *row = &layout->rows[i];
        unsigned offset = base + row->offset;
        bool whole = row->offset + row->length <= captured;

        if (is_examined(walk, whole))
            examine_row(row, walk, offset, captured > row->offset ? &bytes[row->offset] : NULL,
                        captured - row->offset);
        if (!whole) {
            show_rest(walk, offset, base + layout->length);
            return has_only_reserved_from(layout, i, walk, base);
        }
        if (row->keep != SMCR_KEEP_NOT && keep)
            keep_row(row, walk, &bytes[row->offset], keep);
        if (walk->tree)
            list_item(walk, show_row(row, walk, offset));
    }
    return true;
}

/* NULL only if there is no tree. */
proto_item *
smcr_layout_item(const smcr_layout_walk_t *walk, int hf)
{
    for (const smcr_layout_item_t *shown = walk->shown ? *walk->shown : NULL; shown;
         shown = shown->older)
        if (shown->hf == hf)
            return shown->item;
    return walk->tree;
}

/* ---- texts of a message ---- */

/* Makes the text `text_` from the format and the arguments of the function that uses the macro.
 * Ends that function in two cases: 1. the message is only examined; 2. `seen_` is false: nobody
 * will see the text. */
#define TEXT_OF(walk_, format_, text_, seen_) \
    if ((walk_)->violation || !(seen_)) \
        return; \
    va_list arguments; \
    va_start(arguments, format_); \
    const char *text_ = wmem_strdup_vprintf((walk_)->pinfo->pool, format_, arguments); \
    va_end(arguments)

/* Whether a text has a place, in the Info column or in the message's line. */
static bool
has_place(const smcr_layout_walk_t *walk, const char *info, const char *line)
{
    return (info && walk->pinfo->cinfo) || (line && walk->top);
}

void
smcr_say_after(const smcr_layout_walk_t *walk, const char *info, const char *line,
               const char *format, ...)
{
    column_info *cinfo = walk->pinfo->cinfo;
    TEXT_OF(walk, format, text, has_place(walk, info, line));

    if (info && *info)
        col_append_str(cinfo, COL_INFO, info);
    if (info)
        col_append_str(cinfo, COL_INFO, text);
    if (line && walk->top)
        proto_item_append_text(walk->top, "%s%s", line, text);
}

/* `key` and `words` name the same value: short in the Info column, in the user's words in the
 * tree. */
void
smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words, const char *format,
         ...)
{
    column_info *cinfo = walk->pinfo->cinfo;
    TEXT_OF(walk, format, text, true);

    col_append_str(cinfo, COL_INFO, " ");
    col_append_str(cinfo, COL_INFO, key);
    col_append_str(cinfo, COL_INFO, "=");
    col_append_str(cinfo, COL_INFO, text);
    if (walk->top)
        proto_item_append_text(walk->top, ", %s %s", words, text);
}

void
smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text)
{
    if (!walk->violation)
        col_prepend_fence_fstr(walk->pinfo->cinfo, COL_INFO, "[%s] ", text);
}

void
smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert)
{
    if (!walk->violation)
        smcr_item_raise(walk->pinfo, smcr_layout_item(walk, hf), expert);
}

void
smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                     const char *format, ...)
{
    TEXT_OF(walk, format, text, true);
    smcr_item_raise_text(walk->pinfo, smcr_layout_item(walk, hf), expert, text);
}

/* Extra bytes also count if they are not captured. */
void
smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from)
{
    unsigned captured = tvb_captured_length(payload);
    proto_item *item = walk->tree;

    if (from >= tvb_reported_length(payload))
        return;
    if (walk->violation) {
        *walk->violation = true;
        return;
    }
    if (captured > from)
        item = smcr_item_bytes(walk->tree, hf_smcr_extra_bytes, payload, from, captured - from);
    smcr_item_raise(walk->pinfo, item, &ei_smcr_extra_bytes);
}

/* netlink/ reads attributes by these widths. So the table must have each type of fixed length that
 * a field of netlink has; a type that is missing would allow any length. */
unsigned
smcr_layout_width(int hf)
{
    static const uint8_t widths[FT_NUM_TYPES] = {
        [FT_UINT8] = 1, [FT_UINT16] = 2, [FT_UINT24] = 3, [FT_UINT32] = 4, [FT_UINT64] = 8,
        [FT_ETHER] = 6, [FT_IPv4] = 4,   [FT_IPv6] = 16};

    return widths[proto_registrar_get_nth((unsigned)hf)->type];
}
