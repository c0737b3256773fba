/* stat_table.h
 * One of Wireshark's tables of statistics, with rows that are made of a report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_TABLES_STAT_TABLE_H
#define SMCR_REPORT_TABLES_STAT_TABLE_H

#include "report/listen/listeners.h"
#include "table_rows.h"

#include <epan/stat_tap_ui.h>

/* What is to be known of a table. */
typedef struct {
    const char *name;  /* of the command line: "smcr,connections" */
    const char *title; /* in the menu */
    const smcr_table_column_t *columns;
    unsigned column_count;
    void (*fill)(smcr_table_rows_t *rows, const smcr_entry_report_t *report);
} smcr_table_kind_t;

/* A table, as Wireshark has it. Lives until the program ends. */
typedef struct {
    stat_tap_table_ui ui; /* the first member: Wireshark hands over its address */
    const smcr_table_kind_t *kind;
    smcr_listeners_t *listeners; /* NULL: nobody has asked for the table yet */
    GPtrArray *retired; /* stat_tap_table: of former rounds, windows may point to their cells */
} smcr_table_t;

/* Makes Wireshark know the table. */
void smcr_table_register(smcr_table_t *table, const smcr_table_kind_t *kind);

#endif /* SMCR_REPORT_TABLES_STAT_TABLE_H */
