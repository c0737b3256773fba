/* Knows the tables that a report makes: their columns, and what stands in each row. Knows neither
 * Wireshark nor how a cell is written. Called by whoever writes rows: Wireshark's tables
 * (Statistics > SMC-R ..., -z smcr,connections), and the page of text.
 *
 * Columns have the names that smc-tools give them, where they do; docs/statistics.md says what each
 * is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* Kinds of cells, and what C has for them. NULL and SMCR_FIGURE_UNKNOWN: not known. */
#define SMCR_TABLE_KINDS(X)                                                                        \
    X(TEXT, const char *) /* at the left of its column; may hold what is not fit for a line */     \
    X(NUMBER, uint64_t)   /* which means nothing when added: an index, a frame */                  \
    X(COUNT, uint64_t)                                                                             \
    X(BYTES, uint64_t)                                                                             \
    X(SECONDS, uint64_t) /* nanoseconds, written as seconds */

#define KIND(kind, type) SMCR_TABLE_##kind,
typedef enum { SMCR_TABLE_KINDS(KIND) } smcr_table_cell_kind_t;
#undef KIND

#define KIND(kind, type) type kind;
typedef struct {
    union { SMCR_TABLE_KINDS(KIND) };
    bool at_least; /* a number that is known in part: the page says so */
} smcr_table_cell_t;
#undef KIND

typedef struct {
    smcr_table_cell_kind_t kind;
    const char *name; /* NULL: only the page has it */
    const char *page; /* its head on the page; NULL: the page does not have it */
    unsigned width;   /* characters of the table, at least; the name may be longer */
} smcr_table_column_t;

/* Who takes the rows of a table. `busy`, `troubled`: how much a row has carried, and has suffered,
 * compared with other rows of the table. */
typedef struct {
    const smcr_entry_report_t *report;
    wmem_allocator_t *scope; /* of the texts of cells */
    void (*take)(void *context, const smcr_table_cell_t *cells, uint64_t busy, uint64_t troubled);
    void *context;
} smcr_table_row_sink_t;

/* What is to be known of a table. */
typedef struct {
    const char *name;  /* of the command line: "smcr,connections" */
    const char *title; /* in the menu */
    const char *(*heading)(const smcr_table_row_sink_t *taker); /* on the page; NULL, or it returns
                                                                   NULL: the page leaves it out */
    void (*fill)(const smcr_table_row_sink_t *taker);
    const smcr_table_column_t *columns;
    unsigned column_count;
} smcr_table_kind_t;

/* In the order of the menu, and of the page. */
#define SMCR_TABLES(TABLE)                                                                         \
    TABLE(connections)                                                                             \
    TABLE(directions) /* of connections */                                                         \
    TABLE(links)      /* and their link groups */                                                  \
    TABLE(rmbs)                                                                                    \
    TABLE(fallbacks)                                                                               \
    TABLE(fabric)                                                                                  \
    TABLE(breaches)

#define SMCR_TABLE_OF(name) extern const smcr_table_kind_t smcr_table_of_##name;
SMCR_TABLES(SMCR_TABLE_OF)
#undef SMCR_TABLE_OF

/* ---- how a table is written down ---- */

/*
 * A table is a list of columns, LIST(X) with rows X(kind, name, page, width, value), and a function
 * fill_<table>() which gives each row to the taker. From the list come the columns and the cells.
 */
#define SMCR_TABLE_COLUMN(kind, name, page, width, value) {SMCR_TABLE_##kind, name, page, width},
#define SMCR_TABLE_CELL(kind, name, page, width, value) {.kind = value},
#define SMCR_TABLE_AT_LEAST(is) , .at_least = is /* behind a value */
#define SMCR_TABLE_ROW(taker, LIST, busy, troubled)                                                \
    (taker)->take((taker)->context, (const smcr_table_cell_t[]){LIST(SMCR_TABLE_CELL)}, busy,      \
                  troubled)
#define SMCR_TABLE(name, title, LIST, heading)                                                     \
    static const smcr_table_column_t name##_columns[] = {LIST(SMCR_TABLE_COLUMN)};                 \
    const smcr_table_kind_t smcr_table_of_##name = {                                               \
        "smcr," #name, title, heading, fill_##name, name##_columns, G_N_ELEMENTS(name##_columns)}

/* Mean and maximum of a distribution. */
#define SMCR_TABLE_SPREAD(X, name, spread)                                                         \
    X(SECONDS, name " mean (s)", NULL, 0,                                                          \
      (spread).count ? (spread).sum / (spread).count : SMCR_FIGURE_UNKNOWN)                        \
    X(SECONDS, name " max (s)", NULL, 0, (spread).count ? (spread).max : SMCR_FIGURE_UNKNOWN)

#define SMCR_TABLE_FRAME(when) ((when).frame ? (when).frame : SMCR_FIGURE_UNKNOWN)
