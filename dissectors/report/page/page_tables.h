/* The block of the page with the tables that Wireshark shows, too, and with sentences of the report
 * as text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* Appends the block: {"lines": {part of the report: its lines}, "tables": an array of tables}. A
 * table is {"name", "heading", "columns": [[kind, name]], "rows": arrays of cells, "count": number
 * of all rows}. A number that is known by its bounds is the cell [lower, upper or null]. */
void smcr_html_append_tables(GString *json, const smcr_entry_report_t *report);
