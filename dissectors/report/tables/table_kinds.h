/* table_kinds.h
 * What each table shows of a report. Columns have the names that smc-tools give them, where they
 * do; docs/statistics.md says what each is. Every cell is a text: Wireshark's tables know numbers
 * of 32 bits and doubles only, and no number that is not known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "report/figures/figures.h"

#include <epan/stat_tap_ui.h>

typedef struct {
    const char *name;
    bool is_figure; /* at the right of its column */
    unsigned width; /* characters, at least; the name may be longer */
} smcr_table_column_t;

/*
 * A table is a list of columns, LIST(TEXT, NUMBER, SECONDS, FRAME, QPN), each with its name, its
 * width and its value. From it come the column and the cell.
 */
#define SMCR_TABLE_TEXT_COLUMN(name, width, value) {name, false, width},
#define SMCR_TABLE_FIGURE_COLUMN(name, width, value) {name, true, width},
#define SMCR_TABLE_TEXT_CELL(name, width, value) smcr_table_row_add_text(rows, value);
#define SMCR_TABLE_NUMBER_CELL(name, width, value) smcr_table_row_add_number(rows, value);
#define SMCR_TABLE_SECONDS_CELL(name, width, value) smcr_table_row_add_seconds(rows, value);
#define SMCR_TABLE_FRAME_CELL(name, width, value) smcr_table_row_add_frame(rows, value);
#define SMCR_TABLE_QPN_CELL(name, width, value) smcr_table_row_add_qpn(rows, value);
#define SMCR_TABLE_COLUMNS(LIST) \
    LIST(SMCR_TABLE_TEXT_COLUMN, SMCR_TABLE_FIGURE_COLUMN, SMCR_TABLE_FIGURE_COLUMN, \
         SMCR_TABLE_FIGURE_COLUMN, SMCR_TABLE_TEXT_COLUMN)
#define SMCR_TABLE_CELLS(LIST) \
    LIST(SMCR_TABLE_TEXT_CELL, SMCR_TABLE_NUMBER_CELL, SMCR_TABLE_SECONDS_CELL, \
         SMCR_TABLE_FRAME_CELL, SMCR_TABLE_QPN_CELL)

/* ---- rows that are being written ---- */

typedef struct {
    stat_tap_table *table;
    const smcr_table_column_t *columns;
    wmem_allocator_t *scope; /* for texts on the way into a cell */
    unsigned row, column;    /* of the next cell */
} smcr_table_rows_t;

/* How many characters a cell of the column has at least. */
unsigned smcr_table_column_width(const smcr_table_column_t *column);

/* Each writes the next cell. NULL, SMCR_FIGURE_UNKNOWN and frame 0 become "-". `text`: may hold
 * what is not fit for a line. `time`: nanoseconds; written in seconds, with 6 decimals. `qpn`:
 * number of a queue pair; written in hexadecimal. */
void smcr_table_row_add_text(smcr_table_rows_t *rows, const char *text);
void smcr_table_row_add_number(smcr_table_rows_t *rows, uint64_t number);
void smcr_table_row_add_seconds(smcr_table_rows_t *rows, uint64_t time);
void smcr_table_row_add_frame(smcr_table_rows_t *rows, smcr_when_t when);
void smcr_table_row_add_qpn(smcr_table_rows_t *rows, uint64_t qpn);

/* The row is complete: the next cell is the first of the next row. */
void smcr_table_row_end(smcr_table_rows_t *rows);

/* ---- all tables ---- */

/* What is to be known of a table. */
typedef struct {
    const char *name;  /* of the command line: "smcr,connections" */
    const char *title; /* in the menu */
    const smcr_table_column_t *columns;
    unsigned column_count;
    void (*fill)(smcr_table_rows_t *rows, const smcr_entry_report_t *report);
} smcr_table_kind_t;

/* The end of the file of a table: what is to be known of it. */
#define SMCR_TABLE(name, title) \
    static const smcr_table_column_t columns[] = {SMCR_TABLE_COLUMNS(COLUMNS)}; \
    const smcr_table_kind_t smcr_table_of_##name = {"smcr," #name, title, columns, \
                                                    G_N_ELEMENTS(columns), fill}

/* In the order of the menu. */
#define SMCR_TABLES(TABLE) \
    TABLE(connections) \
    TABLE(links) /* and their link groups */ \
    TABLE(rmbs) \
    TABLE(fallbacks) \
    TABLE(fabric)

#define SMCR_TABLE_OF(name) extern const smcr_table_kind_t smcr_table_of_##name;
SMCR_TABLES(SMCR_TABLE_OF)
#undef SMCR_TABLE_OF
