/* All that is known of what one queue pair receives from its peer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "flow.h"
#include "slab.h"

/* ---- congestion marks ----
 *
 * A switch sets the ECN codepoint CE in a packet (RFC 3168), and its receiver asks the sender to
 * slow down, with a congestion notification packet (CNP; RoCEv2, InfiniBand Architecture
 * Specification, annex A17). One CNP answers all marks since the one before. */

/* Packets with CE that have the same answer. */
typedef struct {
    smcr_when_t first; /* of them */
    smcr_when_t cnp;   /* that answers them; frame 0: none has */
} smcr_ecn_ce_t;

/* Of what one queue pair receives. All zeros: nothing. */
typedef struct {
    smcr_ecn_ce_t *open; /* CE that no CNP has answered; NULL: none */
    smcr_when_t cnp;  /* the last one that the queue pair has received; frame 0: none */
} smcr_ecn_marks_t;

/* What is said of a CNP. */
typedef struct {
    smcr_when_t ce;     /* the first packet with CE that no CNP had answered; frame 0: not known */
    smcr_when_t before; /* the CNP before, of the same sender; frame 0: none */
} smcr_ecn_cnp_t;

/* The queue pair receives a packet with CE. `peer`: of what its peer receives, NULL where that is
 * not known. Returns what the packet has in common with others; that lives as long as the scope. */
const smcr_ecn_ce_t *smcr_ecn_take_ce(smcr_ecn_marks_t *marks, const smcr_ecn_marks_t *peer,
                                      wmem_allocator_t *scope, smcr_when_t when);

/* The queue pair receives a CNP, for what its peer receives: `peer`, NULL: not known. */
smcr_ecn_cnp_t smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, smcr_when_t when);

/* ---- acknowledgements ---- */

/* RDMA WRITE packets that wait for theirs (InfiniBand Architecture Specification, volume 1, 9.7.5):
 * one acknowledgement covers all packets up to its PSN. */
typedef struct {
    struct smcr_unacked_packet *ring; /* in the order of PSNs */
    uint32_t slots;                   /* of the ring */
    uint32_t first, count;
} smcr_unacked_t;

/* `*acked`, of `scope`, is to say when `psn` is acknowledged. PSNs come in order. */
void smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                      const smcr_when_t **acked);

/* All packets up to `psn` are acknowledged. When, is kept in the slab. */
void smcr_unacked_settle(smcr_unacked_t *unacked, smcr_slab_t *slab, smcr_psn_t psn,
                         smcr_when_t when);

/* ---- all of it ---- */

/* All zeros: nothing has been received. */
typedef struct {
    smcr_flow_t flow;
    smcr_psn_t completed_up_to; /* messages up to here are complete, and no response tells so
                                   again */
    smcr_ecn_marks_t marks;
} smcr_traffic_t;

/* A message that is complete: a SEND or an RDMA WRITE, when its last packet is acknowledged; an
 * RDMA READ or an atomic, when the last packet of its own response has come (InfiniBand
 * Architecture Specification, volume 1, 9.7.5). A message may need several packets: FIRST, MIDDLE
 * and LAST. */
typedef struct {
    uint32_t next;  /* complete at the same time, in the order of PSNs: number of the entry */
    uint32_t frame; /* its first packet was sent first in this one */
    uint64_t time : 63; /* and then, nanoseconds since the epoch */
    uint64_t again : 1; /* one of its packets has been retransmitted */
} smcr_completion_t;

/* The next message that is complete at the same time; NULL: there is none. */
const smcr_completion_t *smcr_completion_next(const smcr_completion_t *message);

/* What a response says of requests. */
typedef struct {
    smcr_when_t acks;        /* the newest request that it acknowledges; frame 0: not known */
    bool again;              /* that was acknowledged before */
    bool sent_again;         /* that was sent more than once */
    smcr_when_t refuses;     /* the request that a NAK or RNR NAK refuses; frame 0: not known */
    smcr_psn_t taken;        /* everything up to this PSN is acknowledged; 0: nothing */
    const smcr_completion_t *completes; /* the messages that are complete now; NULL: none */
} smcr_traffic_answer_t;

/* A response to `requests`; asked before smcr_traffic_take() judges the packet. What the answer
 * points to is in the slab. */
smcr_traffic_answer_t smcr_traffic_answer(smcr_traffic_t *requests, smcr_slab_t *slab,
                                          const smcr_sent_t *packet);

/* The next packet, as smcr_flow_take() has it. */
smcr_flow_verdict_t smcr_traffic_take(smcr_traffic_t *traffic, smcr_traffic_t *reverse,
                                      wmem_allocator_t *scope, const smcr_sent_t *packet);
