/* Knows how a report is written as a page of text and as JSON. Does not know where figures come
 * from, and adds none. Called when tshark or the window shows a report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdio.h>

#include "report/figures/figures.h"

#define SMCR_PAGE_WIDTH 72             /* width of the page, characters */
#define SMCR_PAGE_MARK  "  %" PRIu32 ". " /* format of the number at the beginning of a finding */

/* Writes the page into `text`: at most 60 lines of 72 characters of UTF-8, however large the
 * capture is. Times are UTC, and nothing depends on the locale. */
void smcr_text_write(GString *text, const smcr_entry_report_t *report);

/* Writes the report as JSON (schema "smcr-report/1", docs/json.md), and a newline. Texts that are
 * not valid UTF-8 are made valid. */
void smcr_json_write(FILE *file, const smcr_entry_report_t *report);
