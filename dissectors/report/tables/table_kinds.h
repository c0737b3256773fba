/* table_kinds.h
 * What each table shows of a report. Columns have the names that smc-tools give them, where they
 * do; docs/statistics.md says what each is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_TABLES_TABLE_KINDS_H
#define SMCR_REPORT_TABLES_TABLE_KINDS_H

#include "stat_table.h"

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

#endif /* SMCR_REPORT_TABLES_TABLE_KINDS_H */
