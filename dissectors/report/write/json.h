/* json.h
 * A report as JSON (schema "smcr-report/1", docs/report.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WRITE_JSON_H
#define SMCR_REPORT_WRITE_JSON_H

#include <stdio.h>

#include "report/figures/figures.h"

/* Writes the report, and a newline. Strings become valid UTF-8, whatever the capture holds. */
void smcr_json_write(FILE *file, const smcr_entry_report_t *report);

#endif /* SMCR_REPORT_WRITE_JSON_H */
