/* Writes tables of the page, with the columns and cells of Statistics > SMC-R, and sentences of the
 * report as text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "page_tables.h"

#include <wsutil/json_dumper.h>

#include "report/tables/tables.h"
#include "report/write/output.h"

#define ROWS_MOST 200 /* maximum number of rows of a table on the page */

/* The tables whose cells this file writes into the page. The page's script makes the tables of
 * connections, links, fallbacks and breaches from other members of the page's data. */
static const smcr_table_kind_t *const kinds[] = {
    &smcr_table_of_directions, &smcr_table_of_rmbs,  &smcr_table_of_fabric,
    &smcr_table_of_times,      &smcr_table_of_points};

/* ---- cells ---- */

#define KIND(kind, type) #kind,
static const char *const kind_names[] = {SMCR_TABLE_KINDS(KIND)};
#undef KIND

/* Writes a text, with bytes that are no UTF-8 replaced. NULL is written as null. */
static void
write_text(json_dumper *json, const char *text)
{
    char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    json_dumper_value_string(json, valid);
    g_free(valid);
}

/* Writes a number; null: not known. Nanoseconds are written as seconds with nine decimals. */
static void
write_number(json_dumper *json, smcr_table_cell_kind_t kind, uint64_t number)
{
    if (number == SMCR_FIGURE_UNKNOWN)
        json_dumper_value_anyf(json, "null");
    else if (kind == SMCR_TABLE_SECONDS)
        json_dumper_value_anyf(json, "%" PRIu64 ".%09" PRIu64, number / SMCR_TIME_SECOND,
                               number % SMCR_TIME_SECOND);
    else
        json_dumper_value_anyf(json, "%" PRIu64, number);
}

/* Writes a cell: its value, or an array of lower and upper bound. The page's script recognises the
 * bounds by the array. */
static void
write_cell(json_dumper *json, smcr_table_cell_kind_t kind, const smcr_table_cell_t *cell)
{
    if (kind == SMCR_TABLE_TEXT) {
        write_text(json, cell->TEXT);
        return;
    }
    if (!cell->at_least || cell->NUMBER == SMCR_FIGURE_UNKNOWN) {
        write_number(json, kind, cell->NUMBER);
        return;
    }
    json_dumper_begin_array(json);
    write_number(json, kind, cell->NUMBER);
    write_number(json, kind, cell->most ? cell->most : SMCR_FIGURE_UNKNOWN);
    json_dumper_end_array(json);
}

/* ---- tables ---- */

/* A table while its rows are written. */
typedef struct {
    json_dumper *json;             /* JSON that is written */
    const smcr_table_kind_t *kind; /* the table's columns */
    uint32_t row_count;            /* number of all rows so far */
} written_rows_t;

/* Writes a row with the columns that Wireshark's table has. Rows after the first ROWS_MOST are only
 * counted. */
static void
take_row(void *context, const smcr_table_cell_t *cells, uint64_t busy _U_, uint64_t troubled _U_)
{
    written_rows_t *rows = context;

    if (rows->row_count++ >= ROWS_MOST)
        return;
    json_dumper_begin_array(rows->json);
    for (unsigned i = 0; i < rows->kind->column_count; i++)
        if (rows->kind->columns[i].name)
            write_cell(rows->json, rows->kind->columns[i].kind, &cells[i]);
    json_dumper_end_array(rows->json);
}

/* Writes kind and name of each column that Wireshark's table has. take_row() writes the cells of
 * the same columns in the same order. */
static void
write_columns(json_dumper *json, const smcr_table_kind_t *kind)
{
    json_dumper_begin_array(json);
    for (unsigned i = 0; i < kind->column_count; i++) {
        if (!kind->columns[i].name)
            continue;
        json_dumper_begin_array(json);
        json_dumper_value_string(json, kind_names[kind->columns[i].kind]);
        json_dumper_value_string(json, kind->columns[i].name);
        json_dumper_end_array(json);
    }
    json_dumper_end_array(json);
}

/* Writes a table: name, heading (null: none), columns, rows, and the number of all rows, also of
 * those that were not written. */
static void
write_table(json_dumper *json, const smcr_entry_report_t *report, const smcr_table_kind_t *kind)
{
    written_rows_t rows = {json, kind, 0};
    smcr_table_row_sink_t taker = {report, wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
                                   wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE), take_row, &rows};

    json_dumper_begin_object(json);
    json_dumper_set_member_name(json, "name");
    json_dumper_value_string(json, kind->name);
    json_dumper_set_member_name(json, "heading");
    write_text(json, kind->heading ? kind->heading(&taker) : NULL);
    json_dumper_set_member_name(json, "columns");
    write_columns(json, kind);
    json_dumper_set_member_name(json, "rows");
    json_dumper_begin_array(json);
    kind->fill(&taker);
    json_dumper_end_array(json);
    json_dumper_set_member_name(json, "count");
    write_number(json, SMCR_TABLE_COUNT, rows.row_count);
    json_dumper_end_object(json);
    wmem_destroy_allocator(taker.texts);
    wmem_destroy_allocator(taker.scope);
}

/* ---- sentences ---- */

/* Writes the lines of a part of the text report into the HTML page, as strings of JSON, without
 * indents and empty lines. */
static void
write_lines(json_dumper *json, const smcr_entry_report_t *report, smcr_text_part_t part)
{
    GString *text = g_string_new(NULL);
    char **lines;

    smcr_text_write_part(text, report, part);
    lines = g_strsplit(text->str, "\n", -1);
    json_dumper_begin_array(json);
    for (unsigned i = 0; lines[i]; i++)
        if (*g_strstrip(lines[i]))
            write_text(json, lines[i]);
    json_dumper_end_array(json);
    g_strfreev(lines);
    g_string_free(text, TRUE);
}

/* The parts have the names of SMCR_TEXT_PARTS. */
void
smcr_html_append_tables(GString *json, const smcr_entry_report_t *report)
{
#define NAME(name) #name,
    static const char *const parts[] = {SMCR_TEXT_PARTS(NAME)};
#undef NAME
    json_dumper dumper = {.output_string = json};

    json_dumper_begin_object(&dumper);
    json_dumper_set_member_name(&dumper, "lines");
    json_dumper_begin_object(&dumper);
    for (unsigned part = 0; part < SMCR_TEXT_PART_COUNT; part++) {
        json_dumper_set_member_name(&dumper, parts[part]);
        write_lines(&dumper, report, (smcr_text_part_t)part);
    }
    json_dumper_end_object(&dumper);
    json_dumper_set_member_name(&dumper, "tables");
    json_dumper_begin_array(&dumper);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        write_table(&dumper, report, kinds[i]);
    json_dumper_end_array(&dumper);
    json_dumper_end_object(&dumper);
    json_dumper_finish(&dumper);
}
