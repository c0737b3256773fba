/* rmbs.h
 * The remote memory buffers that messages announce and withdraw.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_RMBS_H
#define SMCR_REPORT_COLLECT_RMBS_H

#include "report/figures/figures.h"
#include "show/show.h"

typedef struct smcr_announced_rmbs smcr_announced_rmbs_t; /* of one report */

/* No RMBs. They live as long as the scope. */
smcr_announced_rmbs_t *smcr_announced_rmbs_new(wmem_allocator_t *scope);

/* A message of CLC or LLC; other packets are left alone. */
void smcr_announced_rmbs_take(smcr_announced_rmbs_t *rmbs, smcr_when_t when,
                              const smcr_tap_t *packet);

/* Adds the RMBs of a link group to `list`. What is added lives as long as `scope`. */
void smcr_announced_rmbs_report(const smcr_announced_rmbs_t *rmbs, const smcr_lgr_t *lgr,
                                smcr_list_t *list, wmem_allocator_t *scope);

#endif /* SMCR_REPORT_COLLECT_RMBS_H */
