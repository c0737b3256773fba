/* Knows how the two ends of an RDMA flow recover from loss and disorder: how soon the receiver
 * sends a NAK after a gap, how soon and how the sender retransmits, how late packets come that the
 * network has reordered. Knows neither Wireshark nor how RDMA flows are found. Called by the rooms
 * that count packets (report/collect/) and that describe adapters (report/adapters/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* A request of the flow: a packet of a reliable connection that is no response, and no duplicate
 * made by the network. */
typedef struct {
    smcr_when_t when;        /* the packet */
    uint32_t psn;            /* PSN, 24 bits */
    smcr_flow_order_t order; /* verdict on the PSN */
    uint32_t missing;        /* number of PSNs missing between the highest PSN before and `psn` */
    bool is_read;            /* RDMA READ: takes a PSN for each packet of its response */
    bool was_acked;          /* an acknowledgement had covered the PSN before */
    uint64_t first_time;     /* of a retransmission: time of the first transmission; 0: not known,
                                or the sender may have retransmitted the packet unseen since */
    const smcr_step_back_t *step; /* the sender's step back to which it belongs, whose cause may be
                                     found later; NULL: none */
} smcr_recovery_request_t;

typedef struct smcr_recovery smcr_recovery_t;

/* The recovery of a flow. All zeros: no request so far. */
typedef struct {
    smcr_recovery_t *rare; /* what most flows do not need; NULL: no gap, NAK, retransmission or
                              out-of-order packet so far */
    uint32_t highest;      /* highest PSN of the flow's requests, 24 bits; see `has_highest` */
    uint32_t acked;        /* highest acknowledged PSN, 24 bits; see `acked_time` */
    bool has_highest;      /* `highest` is set */
    uint64_t acked_time;   /* when the PSN was acknowledged, nanoseconds since 1970; 0: no PSN
                              was */
} smcr_recovery_flow_t;

/* Takes the next request of the flow. Memory is allocated in `scope`. */
void smcr_recovery_take_request(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
                                const smcr_recovery_request_t *request);

/* Takes an acknowledgement of all PSNs up to `psn`. */
void smcr_recovery_take_ack(smcr_recovery_flow_t *flow, smcr_when_t when, uint32_t psn);

/* Takes a NAK for a PSN sequence error, which names `psn` of this flow. */
void smcr_recovery_take_nak(smcr_recovery_flow_t *flow, wmem_allocator_t *scope, smcr_when_t when,
                            uint32_t psn);

/* Returns the entry of the flow's recovery, allocated in `scope`; NULL: nothing had to be
 * recovered. Does not change the flow. */
smcr_entry_flow_recovery_t *smcr_recovery_report(const smcr_recovery_flow_t *flow,
                                                 wmem_allocator_t *scope);

/* Returns the first packet of the flow that the network has reordered; frame 0: none. */
smcr_when_t smcr_recovery_reordered(const smcr_recovery_flow_t *flow);

/* Returns the value n of the Local ACK Timeout, 4.096 µs * 2^n, that fits the times between two
 * retransmissions of a PSN by the sender's timer: none is shorter, and none more than four times as
 * long (InfiniBand Architecture Specification, volume 1, 9.7.6.1.3), each within 5 %. `retries`: in
 * nanoseconds; NULL: none. SMCR_FIGURE_UNKNOWN: no value fits, or no time is known. */
uint64_t smcr_recovery_ack_timeout(const smcr_distribution_t *retries);

/* Adds the recovery of `other` to that of `flow`. Both are parts of the same flow. Memory is
 * allocated in `scope`. */
void smcr_recovery_join(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
                        const smcr_recovery_flow_t *other);
