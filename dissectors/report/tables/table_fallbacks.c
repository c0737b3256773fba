/* table_fallbacks.c
 * A row for each reason why connections stayed on TCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    TEXT("Code", 10, fallback->code == SMCR_FIGURE_UNKNOWN \
                         ? NULL : smcr_figure_hex_text(rows->scope, fallback->code, 4)) \
    TEXT("By", 6, smcr_figure_role_words[fallback->by]) \
    NUMBER("Count", 0, fallback->count) \
    TEXT("Reason", 0, fallback->reason)

static void
fill(smcr_table_rows_t *rows, const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(fallback, fallback, report->fallbacks) {
        SMCR_TABLE_CELLS(COLUMNS)
        smcr_table_row_end(rows);
    }
}

SMCR_TABLE(fallbacks, "SMC-R Fallbacks");
