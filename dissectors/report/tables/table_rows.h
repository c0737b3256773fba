/* table_rows.h
 * Rows of a table. Every cell is a text: Wireshark's tables know numbers of 32 bits and doubles
 * only, and no number that is not known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_TABLES_TABLE_ROWS_H
#define SMCR_REPORT_TABLES_TABLE_ROWS_H

#include "compat.h"
#include "report/figures/figures.h"

#include <epan/stat_tap_ui.h>

typedef struct {
    const char *name;
    bool is_figure; /* at the right of its column */
    unsigned width; /* characters, at least; the name may be longer */
} smcr_column_t;

/*
 * A table is a list of columns, LIST(TEXT, NUMBER, SECONDS, FRAME, QPN), each with its name, its
 * width and its value. From it come the column and the cell.
 */
#define SMCR_TEXT_COLUMN(name, width, value) {name, false, width},
#define SMCR_FIGURE_COLUMN(name, width, value) {name, true, width},
#define SMCR_TEXT_CELL(name, width, value) smcr_row_add_text(rows, value);
#define SMCR_NUMBER_CELL(name, width, value) smcr_row_add_number(rows, value);
#define SMCR_SECONDS_CELL(name, width, value) smcr_row_add_seconds(rows, value);
#define SMCR_FRAME_CELL(name, width, value) smcr_row_add_frame(rows, value);
#define SMCR_QPN_CELL(name, width, value) smcr_row_add_qpn(rows, value);
#define SMCR_COLUMNS(LIST) \
    LIST(SMCR_TEXT_COLUMN, SMCR_FIGURE_COLUMN, SMCR_FIGURE_COLUMN, SMCR_FIGURE_COLUMN, \
         SMCR_TEXT_COLUMN)
#define SMCR_CELLS(LIST) \
    LIST(SMCR_TEXT_CELL, SMCR_NUMBER_CELL, SMCR_SECONDS_CELL, SMCR_FRAME_CELL, SMCR_QPN_CELL)

/* Rows that are being written. */
typedef struct {
    stat_tap_table *table;
    const smcr_column_t *columns;
    wmem_allocator_t *scope; /* for texts on the way into a cell */
    unsigned row, column;    /* of the next cell */
} smcr_rows_t;

/* How many characters a cell of the column has at least. */
unsigned smcr_column_width(const smcr_column_t *column);

/* Each writes the next cell. NULL, SMCR_UNKNOWN and frame 0 become "-". `text`: may hold what is
 * not fit for a line. `time`: nanoseconds; written in seconds, with 6 decimals. `qpn`: number of a
 * queue pair; written in hexadecimal. */
void smcr_row_add_text(smcr_rows_t *rows, const char *text);
void smcr_row_add_number(smcr_rows_t *rows, uint64_t number);
void smcr_row_add_seconds(smcr_rows_t *rows, uint64_t time);
void smcr_row_add_frame(smcr_rows_t *rows, smcr_when_t when);
void smcr_row_add_qpn(smcr_rows_t *rows, uint64_t qpn);

/* The row is complete: the next cell is the first of the next row. */
void smcr_row_end(smcr_rows_t *rows);

#endif /* SMCR_REPORT_TABLES_TABLE_ROWS_H */
