/* unacked_writes.h
 * RDMA WRITE requests that wait for their acknowledgement, so that the time it takes can be
 * measured. Requests that are sent again before it comes are left out: nobody knows which of their
 * packets is acknowledged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_UNACKED_WRITES_H
#define SMCR_REPORT_COLLECT_UNACKED_WRITES_H

#include "report/figures/figures.h"
#include "state/state.h"

typedef struct smcr_unacked_write smcr_collect_unacked_write_t;

/* Of one direction of a connection. All zeros: none. */
typedef struct {
    smcr_collect_unacked_write_t *oldest, *newest;
    unsigned count;
} smcr_collect_unacked_writes_t;

/* The last packet of a request, which the state knows as `place`. */
void smcr_collect_unacked_writes_add(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope,
                                     smcr_when_t when, const smcr_place_t *place);

/* The packet of frame `first` is sent again. */
void smcr_collect_unacked_writes_repeat(smcr_collect_unacked_writes_t *writes, uint32_t first);

/* Measures the requests that have been acknowledged before `now`. */
void smcr_collect_unacked_writes_settle(smcr_collect_unacked_writes_t *writes,
                                        wmem_allocator_t *scope, uint32_t now,
                                        smcr_distribution_t *times);

#endif /* SMCR_REPORT_COLLECT_UNACKED_WRITES_H */
