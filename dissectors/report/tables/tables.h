/* Knows the tables that a report makes: their columns, and the cells of each row. Knows neither
 * Wireshark nor how a cell is written. Rooms that write rows include it: report/, report/page/ and
 * report/write/.
 *
 * A column has the name that smc-tools give to the same figure, if they have it; docs/statistics.md
 * explains each column. "The page" is the page of text, and not the one of HTML, which has the
 * columns of Wireshark's tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* Kinds of cells, and their types in C. NULL and SMCR_FIGURE_UNKNOWN: not known. */
#define SMCR_TABLE_KINDS(X)                                                                        \
    X(TEXT, const char *) /* a text, left-aligned */                                               \
    X(NUMBER, uint64_t)   /* a number that cannot be added: an index, a frame */                   \
    X(COUNT, uint64_t)                                                                             \
    X(BYTES, uint64_t)                                                                             \
    X(SECONDS, uint64_t) /* nanoseconds, written as seconds */

#define KIND(kind, type) SMCR_TABLE_##kind,
typedef enum { SMCR_TABLE_KINDS(KIND) } smcr_table_cell_kind_t;
#undef KIND

/* A cell. Its value is in the member whose name is the kind of its column. */
#define KIND(kind, type) type kind;
typedef struct {
    union { SMCR_TABLE_KINDS(KIND) };
    bool is_of_tcp; /* the number is one of RDMA, and the connection of the row has no data over
                       RDMA; only the page of text shows this */
    bool at_least; /* the number is a lower bound */
    uint64_t most; /* if `at_least`: an upper bound in the unit of the number; 0: not known */
} smcr_table_cell_t;
#undef KIND

/* A column of a table of Wireshark's, of the page, or of both. */
typedef struct {
    smcr_table_cell_kind_t kind; /* kind of the cells in this column */
    const char *name; /* name in Wireshark's table; NULL: only the page has the column */
    const char *page; /* name on the page; NULL: the page does not have the column */
    unsigned width;   /* minimum width in Wireshark's table, characters; a longer `name` makes the
                         column wider */
} smcr_table_column_t;

/* A receiver of the rows of a table. `busy` and `troubled` are two ranks of a row, to be compared
 * with those of other rows of the same table. `busy`: how much the row has carried. `troubled`: how
 * much it has suffered. The page shows the rows with the highest values. */
typedef struct {
    const smcr_entry_report_t *report; /* the report whose rows are wanted */
    wmem_allocator_t *scope; /* memory pool of the table: of its heading, and of what makes rows */
    wmem_allocator_t *texts; /* memory pool that owns the texts of a row's cells; emptied after the
                                row, so that many rows take no memory */
    /* receives one row: a cell for each column of the table; copies the texts that it keeps */
    void (*take)(void *context, const smcr_table_cell_t *cells, uint64_t busy, uint64_t troubled);
    void *context; /* first argument of the function `take` */
} smcr_table_row_sink_t;

/* A kind of table. */
typedef struct {
    const char *name;  /* option of -z that shows the table, such as "smcr,connections" */
    const char *title; /* title of the table in Wireshark's menu */
    const char *note;  /* what the page's columns with these names mean, written below rows that
                          have a number there; NULL: the names of the columns suffice */
    const char *(*heading)(const smcr_table_row_sink_t *taker); /* returns the heading on the page.
                                                                   The page leaves the table out if
                                                                   this pointer is NULL, or if the
                                                                   function returns NULL */
    /* makes all rows of the table, and passes each row to the receiver */
    void (*fill)(const smcr_table_row_sink_t *taker);
    const smcr_table_column_t *columns; /* columns of the table */
    unsigned column_count;              /* number of columns */
} smcr_table_kind_t;

/* All tables, in the order of the menu and of the page. */
#define SMCR_TABLES(TABLE)                                                                         \
    TABLE(connections)                                                                             \
    TABLE(directions) /* directions of connections */                                              \
    TABLE(links)      /* links and their link groups */                                            \
    TABLE(rmbs)                                                                                    \
    TABLE(fallbacks)                                                                               \
    TABLE(fabric)                                                                                  \
    TABLE(times)                                                                                   \
    TABLE(points) /* capture points */                                                             \
    TABLE(breaches)

#define SMCR_TABLE_OF(name) extern const smcr_table_kind_t smcr_table_of_##name;
SMCR_TABLES(SMCR_TABLE_OF)
#undef SMCR_TABLE_OF

/* ---- how a table is written down ---- */

/* A table is a macro LIST(X) with a line X(kind, name, page, width, value) for each column, and a
 * function fill_<table>(), which passes each row to the receiver. The columns and the cells are
 * made from the same list.
 */
#define SMCR_TABLE_COLUMN(kind, name, page, width, value) {SMCR_TABLE_##kind, name, page, width},
#define SMCR_TABLE_CELL(kind, name, page, width, value) {.kind = value},
#define SMCR_TABLE_OF_TCP(is) , .is_of_tcp = is /* after a value that may be of RDMA only */
#define SMCR_TABLE_AT_LEAST(is) , .at_least = is /* after a value: it is a lower bound if `is` */
#define SMCR_TABLE_AT_MOST(bound) , .most = bound /* after SMCR_TABLE_AT_LEAST: an upper bound */
/* Passes a row to the receiver, and then frees its texts. The values of LIST are expressions: they
 * read the variables of the caller by their names. */
#define SMCR_TABLE_ROW(taker, LIST, busy, troubled)                                                \
    ((taker)->take((taker)->context, (const smcr_table_cell_t[]){LIST(SMCR_TABLE_CELL)}, busy,     \
                   troubled),                                                                      \
     wmem_free_all((taker)->texts))
/* Defines the kind of table smcr_table_of_<name>, without a note or with one. */
#define SMCR_TABLE(name, title, LIST, heading) SMCR_TABLE_NOTED(name, title, NULL, LIST, heading)
#define SMCR_TABLE_NOTED(name, title, note, LIST, heading)                                         \
    static const smcr_table_column_t name##_columns[] = {LIST(SMCR_TABLE_COLUMN)};                 \
    const smcr_table_kind_t smcr_table_of_##name = {"smcr," #name, title,        note,             \
                                                    heading,       fill_##name, name##_columns,    \
                                                    G_N_ELEMENTS(name##_columns)}

/* Three columns: mean, p99 and maximum of a distribution of times. */
#define SMCR_TABLE_SPREAD(X, name, spread)                                                         \
    X(SECONDS, name " mean (s)", NULL, 0,                                                          \
      (spread) ? (spread)->sum / (spread)->count : SMCR_FIGURE_UNKNOWN)                            \
    X(SECONDS, name " p99 (s)", NULL, 0, smcr_distribution_quantile(spread, 990))                  \
    X(SECONDS, name " max (s)", NULL, 0, (spread) ? (spread)->max : SMCR_FIGURE_UNKNOWN)

/* Number of a frame for a cell; frame 0 is not known. */
#define SMCR_TABLE_FRAME(when) ((when).frame ? (when).frame : SMCR_FIGURE_UNKNOWN)
