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

/* A message that is complete. */
typedef struct smcr_message {
    struct smcr_message *next; /* complete at the same time, in the order of PSNs; NULL: none */
    smcr_when_t begin;         /* its first packet was sent first */
} smcr_message_t;

/*
 * The messages of `flow` whose last packet has a PSN from `from` to `to`, and the READ or atomic
 * with the PSN `fetch` (0: none); others of these are left out. NULL: there is none. They live as
 * long as the scope. A message of which the capture lacks a packet is left out, too.
 */
const smcr_message_t *smcr_completed(const smcr_flow_t *flow, wmem_allocator_t *scope,
                                     smcr_psn_t from, smcr_psn_t to, smcr_psn_t fetch);

#endif /* SMCR_FABRIC_COMPLETION_H */
