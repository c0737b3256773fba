/* rmbs.h
 * The remote memory buffers that messages announce and withdraw.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_RMBS_H
#define SMCR_REPORT_COLLECT_RMBS_H

#include "frame_times.h"
#include "report/figures/figures.h"
#include "state/state.h"

/* Adds the RMBs of a link group to `list`: those that messages name which the report has seen.
 * `times`: of these. What is added lives as long as `scope`. */
void smcr_collect_rmbs_report(const smcr_lgr_t *lgr, const smcr_collect_frame_times_t *times,
                              smcr_figure_list_t *list, wmem_allocator_t *scope);

#endif /* SMCR_REPORT_COLLECT_RMBS_H */
