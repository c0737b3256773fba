/* completion.h
 * When a message is complete: a SEND or an RDMA WRITE, when its last packet is acknowledged; an
 * RDMA READ or an atomic, when the last packet of its own response has come (InfiniBand
 * Architecture Specification, volume 1, 9.7.5). A message may need several packets: FIRST, MIDDLE
 * and LAST.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_COMPLETION_H
#define SMCR_FABRIC_COMPLETION_H

#include "flow.h"
#include "slab.h"

/* A message that is complete. */
typedef struct {
    uint32_t next;  /* complete at the same time, in the order of PSNs: number of the entry */
    uint32_t frame; /* its first packet was sent first in this one */
    uint64_t time;  /* and then, nanoseconds since the epoch */
} smcr_completion_t;

/* The messages of `flow` whose last packet has a PSN from `from` to `to`, and the READ or atomic
 * with the PSN `fetch` (0: none); others of these are left out. NULL: there is none. They are
 * entries of the slab. Messages with a packet that the capture lacks are left out, too. */
const smcr_completion_t *smcr_completion_of(const smcr_flow_t *flow, smcr_slab_t *slab,
                                            smcr_psn_t from, smcr_psn_t to, smcr_psn_t fetch);

/* The next message that is complete at the same time; NULL: there is none. */
const smcr_completion_t *smcr_completion_next(const smcr_completion_t *message);

#endif /* SMCR_FABRIC_COMPLETION_H */
