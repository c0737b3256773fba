/* table_rows.c
 * Numbers fill their column from the left with spaces: Wireshark's window sorts texts by their
 * characters, and so numbers are sorted as numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

#include "report/words/words.h"

#define NOT_KNOWN "-"
#define QPN_BYTES 3

unsigned
smcr_table_column_width(const smcr_table_column_t *column)
{
    unsigned name = (unsigned)g_utf8_strlen(column->name, -1);

    return MAX(column->width, name);
}

/* Takes over `text`, which whoever frees the cell finds as its user data. */
static void
add_cell(smcr_table_rows_t *rows, char *text)
{
    stat_tap_table_item_type cell = {
        .type = TABLE_ITEM_STRING, .value.string_value = text, .user_data.ptr_value = text};
    unsigned count = rows->table->num_fields;

    if (rows->column == 0) {
        stat_tap_table_item_type *cells =
            wmem_alloc0_array(rows->scope, stat_tap_table_item_type, count);
        stat_tap_init_table_row(rows->table, rows->row, count, cells);
    }
    stat_tap_set_field_data(rows->table, rows->row, rows->column, &cell);
    rows->column++;
}

void
smcr_table_row_add_text(smcr_table_rows_t *rows, const char *text)
{
    add_cell(rows, g_strdup(text ? text : NOT_KNOWN));
}

static void
add_figure(smcr_table_rows_t *rows, const char *text)
{
    unsigned width = smcr_table_column_width(&rows->columns[rows->column]);

    add_cell(rows, g_strdup_printf("%*s", (int)width, text));
}

void
smcr_table_row_add_number(smcr_table_rows_t *rows, uint64_t number)
{
    if (number == SMCR_FIGURE_UNKNOWN)
        add_figure(rows, NOT_KNOWN);
    else
        add_figure(rows, wmem_strdup_printf(rows->scope, "%" PRIu64, number));
}

void
smcr_table_row_add_seconds(smcr_table_rows_t *rows, uint64_t time)
{
    if (time == SMCR_FIGURE_UNKNOWN) {
        add_figure(rows, NOT_KNOWN);
        return;
    }
    uint64_t micros = (time + SMCR_TIME_MICROSECOND / 2) / SMCR_TIME_MICROSECOND;
    uint64_t per_second = SMCR_TIME_SECOND / SMCR_TIME_MICROSECOND;

    add_figure(rows, wmem_strdup_printf(rows->scope, "%" PRIu64 ".%06" PRIu64, micros / per_second,
                                        micros % per_second));
}

void
smcr_table_row_add_frame(smcr_table_rows_t *rows, smcr_when_t when)
{
    smcr_table_row_add_number(rows, when.frame ? when.frame : SMCR_FIGURE_UNKNOWN);
}

void
smcr_table_row_add_qpn(smcr_table_rows_t *rows, uint64_t qpn)
{
    if (qpn == SMCR_FIGURE_UNKNOWN)
        smcr_table_row_add_text(rows, NULL);
    else
        smcr_table_row_add_text(rows, smcr_figure_hex_text(rows->scope, qpn, QPN_BYTES));
}

void
smcr_table_row_end(smcr_table_rows_t *rows)
{
    rows->row++;
    rows->column = 0;
}
