/* A table of the page of text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/tables/tables.h"
#include "text_lines.h"

#define SMCR_TEXT_ROWS_MOST 6 /* maximum number of rows of a table on the page */

/* Writes a table: its heading, up to `page->most` of its rows, what their columns and signs mean,
 * and the number of further rows. If no row is chosen, only the heading is written. A table without
 * a heading is left out. */
void smcr_text_write_table(const smcr_text_page_t *page, const smcr_table_kind_t *kind);
