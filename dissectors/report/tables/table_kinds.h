/* table_kinds.h
 * What each table shows of a report. Columns have the names that smc-tools give them, where they
 * do; docs/statistics.md says what each is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_TABLES_TABLE_KINDS_H
#define SMCR_REPORT_TABLES_TABLE_KINDS_H

#include "stat_table.h"

extern const smcr_table_kind_t smcr_table_of_connections;
extern const smcr_table_kind_t smcr_table_of_links; /* and their link groups */
extern const smcr_table_kind_t smcr_table_of_rmbs;
extern const smcr_table_kind_t smcr_table_of_fallbacks;
extern const smcr_table_kind_t smcr_table_of_fabric;

#endif /* SMCR_REPORT_TABLES_TABLE_KINDS_H */
