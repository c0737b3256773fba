/* The layouts: those of the plugin are sound, and every kind of mistake in a table is found. Fields
 * are stood in for, so that Wireshark need not start.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "layout_fault.h"

#include "wire/wire.h"
#include "fields.h"

/* The fields of the plugin. Their indices begin here. */
#define FIRST 100
#define ROW(hf, name, filter, type, display, strings, mask, section, description) \
    {&hf, {name, filter, type, display, strings, mask, description, HFILL}},
#define TREE(ett)
static hf_register_info fields[] = {
#include "fields.def"
};

/* Field indices of this test: the width of a field in bytes is its tens, see width_of(). */
static int hf_byte = 10;
static int hf_short = 20;
static int hf_any = 0; /* any width will do, as for FT_BYTES */
static int hf_high_nibble = 11;
static int hf_low_nibble = 12;
static int ett_part = 1;

static unsigned
width_of(int hf)
{
    return hf < FIRST ? (unsigned)hf / 10 : smcr_layout_width(hf);
}

/* In place of libwireshark's. */
header_field_info *
proto_registrar_get_nth(guint hf)
{
    static header_field_info field;

    if (hf >= FIRST)
        return &fields[hf - FIRST].hfinfo;
    field.bitmask = hf == (guint)hf_high_nibble ? 0xf0 : hf == (guint)hf_low_nibble ? 0x0f : 0;
    return &field;
}

typedef struct {
    uint8_t bytes[4];
    uint8_t narrow;
    uint32_t wide;
} kept_t;

static int *const both_nibbles[] = {&hf_high_nibble, &hf_low_nibble, NULL};
static int *const one_nibble[] = {&hf_high_nibble, NULL};
static int *const same_nibble_twice[] = {&hf_high_nibble, &hf_high_nibble, NULL};

static const smcr_row_t part_rows[] = {SHOW(hf_short, 0, 2), SHOW(hf_short, 2, 2)};
static const smcr_layout_t part = SMCR_LAYOUT_OF("part", part_rows, 4);
static const smcr_row_t holed_part_rows[] = {SHOW(hf_byte, 0, 1), SHOW(hf_short, 2, 2)};
static const smcr_layout_t holed_part = SMCR_LAYOUT_OF("part with a hole", holed_part_rows, 4);

/* ---- the tables: sound, then one mistake each ---- */

static const smcr_row_t sound[] = {
    SHOW(hf_byte, 0, 1),
    BITS(hf_byte, 1, 1, both_nibbles),
    KEEP(hf_short, 2, 2, kept_t, wide),
    KEEP(hf_any, 4, 4, kept_t, bytes),
    KEEP_PART(hf_any, 8, 4, part, ett_part, kept_t, wide),
};
static const smcr_row_t hole[] = {SHOW(hf_byte, 0, 1), SHOW(hf_short, 2, 2)};
static const smcr_row_t hole_at_start[] = {SHOW(hf_byte, 1, 1)};
static const smcr_row_t overlap[] = {SHOW(hf_short, 0, 2), SHOW(hf_short, 1, 2)};
static const smcr_row_t too_short[] = {SHOW(hf_short, 0, 2)};
static const smcr_row_t too_wide[] = {SHOW(hf_byte, 0, 2)};
static const smcr_row_t empty_row[] = {SHOW(hf_any, 0, 0)};
static const smcr_row_t bits_left[] = {BITS(hf_byte, 0, 1, one_nibble)};
static const smcr_row_t bits_twice[] = {BITS(hf_byte, 0, 1, same_nibble_twice)};
static const smcr_row_t kept_too_narrow[] = {KEEP(hf_short, 0, 2, kept_t, narrow)};
static const smcr_row_t kept_array_longer[] = {KEEP(hf_short, 0, 2, kept_t, bytes)};
static const smcr_row_t part_longer[] = {
    KEEP_PART(hf_any, 0, 3, part, ett_part, kept_t, wide),
};
static const smcr_row_t part_faulty[] = {
    KEEP_PART(hf_any, 0, 4, holed_part, ett_part, kept_t, wide),
};

#define CASE(rows_, length_, fault_) {SMCR_LAYOUT_OF(#rows_, rows_, length_), fault_}

static const struct {
    smcr_layout_t layout;
    const char *fault; /* NULL: the table is sound */
} cases[] = {
    CASE(sound, 12, NULL),
    CASE(hole, 4, "hole between rows"),
    CASE(hole_at_start, 2, "hole between rows"),
    CASE(overlap, 3, "rows overlap"),
    CASE(too_short, 3, "rows do not cover the layout"),
    CASE(too_wide, 2, "length is not the field's width"),
    CASE(empty_row, 0, "length is not the field's width"),
    CASE(bits_left, 1, "bits are not covered"),
    CASE(bits_twice, 1, "bits overlap"),
    CASE(kept_too_narrow, 2, "kept integer is too narrow"),
    CASE(kept_array_longer, 2, "kept array has another length than its row"),
    CASE(part_longer, 3, "part has another length than its row"),
    CASE(part_faulty, 4, "hole between rows"),
};

static void
test_case(gconstpointer index)
{
    unsigned i = GPOINTER_TO_UINT(index);

    g_assert_cmpstr(layout_fault(&cases[i].layout, width_of), ==, cases[i].fault);
}

/* The layouts of the plugin, by the file that defines them. */
#define LIST(file) smcr_layout_list_##file,
static const smcr_layout_t *const *const lists[] = {SMCR_LAYOUT_FILES(LIST)};

static void
test_plugin(void)
{
    for (unsigned i = 0; i < array_length(fields); i++)
        *fields[i].p_id = FIRST + (int)i;
    for (unsigned file = 0; file < array_length(lists); file++)
        for (const smcr_layout_t *const *layout = lists[file]; *layout; layout++) {
            const char *fault = layout_fault(*layout, width_of);
            if (fault)
                g_test_message("%s", (*layout)->title);
            g_assert_cmpstr(fault, ==, NULL);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/plugin", test_plugin);
    for (unsigned i = 0; i < array_length(cases); i++) {
        char *path = g_strdup_printf("/layout/%s", cases[i].layout.title);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
