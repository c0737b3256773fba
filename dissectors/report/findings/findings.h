/* Knows what to look at first: causes before their consequences. Reads the entries and notices of a
 * report, and no packet. Called when a report is complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* Fills `findings` of the report, the most severe first, of equally severe ones the cause before
 * its consequences. At most ten.
 *
 * `notices`: the plugin's expert items; and counts of packets that a display filter selects, such
 * as "smcr.ecn == 3", with severity 0. A finding whose kind has no notice has no frame.
 * `notice_count`: their number. Texts are of `scope`, or of the report and the notices. */
void smcr_findings_find(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                        uint32_t notice_count, wmem_allocator_t *scope);
