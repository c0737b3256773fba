/* text.h
 * A report as one page of text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WRITE_TEXT_H
#define SMCR_REPORT_WRITE_TEXT_H

#include <glib.h>

#include "report/figures/figures.h"

/* Appends the page: lines of at most 100 columns in UTF-8, whatever the capture holds. Times are
 * UTC, and nothing depends on the locale. */
void smcr_text_write(GString *text, const smcr_entry_report_t *report);

#endif /* SMCR_REPORT_WRITE_TEXT_H */
