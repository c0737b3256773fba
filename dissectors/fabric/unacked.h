/* unacked.h
 * RDMA WRITE packets that wait for their acknowledgement (InfiniBand Architecture Specification,
 * volume 1, 9.7.5): one acknowledgement covers all packets up to its PSN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "flow.h"

typedef struct {
    struct smcr_unacked_packet *ring; /* in the order of PSNs */
    uint32_t slots;                   /* of the ring */
    uint32_t first, count;
} smcr_unacked_t;

/* `*acked`, which lives as long as `scope`, is to say when `psn` is acknowledged. PSNs come in
 * order. */
void smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                      const smcr_when_t **acked);

/* Whether an acknowledgement of everything up to and including `psn` is one of any of them. */
bool smcr_unacked_covers(const smcr_unacked_t *unacked, smcr_psn_t psn);

/* When those that wait were acknowledged will never be known. */
void smcr_unacked_forget(smcr_unacked_t *unacked);

/* These packets are acknowledged; `when` lives as long as they do. */
void smcr_unacked_settle(smcr_unacked_t *unacked, smcr_psn_t psn, const smcr_when_t *when);
