/* Knows a report as a page of text and as JSON. Adds no figure. Called when tshark or the window
 * wants one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdio.h>

#include "report/figures/figures.h"

#define SMCR_PAGE_WIDTH 72             /* columns */
#define SMCR_PAGE_MARK  "  %" PRIu32 ". " /* a finding begins with its number */

/* Writes the page: at most 60 lines, and 72 columns in UTF-8, whatever the capture holds. Times are
 * UTC, and nothing depends on the locale. */
void smcr_text_write(GString *text, const smcr_entry_report_t *report);

/* Writes the report as JSON (schema "smcr-report/1", docs/report.md), and a newline. Strings become
 * valid UTF-8, whatever the capture holds. */
void smcr_json_write(FILE *file, const smcr_entry_report_t *report);
