/* Knows what a user should look at first: causes before their consequences. Reads the entries and
 * notices of a report, and no packet. Called when a report is complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* A frame that a finding rests on: it shows the trouble that the finding reports. */
typedef struct {
    uint32_t frame;  /* number of the frame */
    unsigned number; /* number of the finding in the report, from 1 */
} smcr_finding_frame_t;

/* Fills in the findings of the report, ten at most. Errors come first, and information comes last.
 * Warnings and notes are in the order of their classes (smcr_finding_class_t). Within a class, a
 * cause comes before its consequences, unless a finding is more severe or cost more time.
 *
 * `notices`: the plugin's expert items, and counts of packets that a display filter selects, such
 * as "smcr.ecn == 3", with severity 0. Many findings take the frame to look at from a notice:
 * without that notice they have no frame. `notice_count`: number of `notices`. Texts of
 * findings are allocated in `scope`, or belong to the report or to the notices.
 *
 * Returns the frames that the findings rest on: an array of smcr_finding_frame_t in `scope`,
 * ordered by the number of the finding. A pair of frame and number may occur twice. The array has
 * all frames only if the notices have their occurrences. */
wmem_array_t *smcr_findings_find(smcr_entry_report_t *report,
                                 const smcr_figure_notice_t *notices, uint32_t notice_count,
                                 wmem_allocator_t *scope);

/* Fills in all findings of the report as smcr_findings_find() does, without the limit of ten.
 * Unlike that function, it does not return the frames on which the findings rest. */
void smcr_findings_find_all(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                            uint32_t notice_count, wmem_allocator_t *scope);
