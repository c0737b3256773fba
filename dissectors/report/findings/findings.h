/* Knows what to look at first: causes before what follows from them. Reads entries and notices,
 * and knows no packet. Called when a report is complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* Fills `findings` of the report, worst first, a cause before what follows from it. At most ten.
 * `notices`: the plugin's expert items, and packets that a display filter selects (severity 0),
 * such as "smcr.ecn == 3"; what they lack, no finding has a frame for. Texts are of the scope, or
 * of the report and the notices. */
void smcr_findings_find(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                        uint32_t notice_count, wmem_allocator_t *scope);
