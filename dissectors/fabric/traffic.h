/* What one queue pair receives from its peer: the flow, its congestion marks, the messages that the
 * peer completes, and RDMA WRITE packets that wait for an acknowledgement.
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
 * Specification, annex A17). One CNP answers all marks since the CNP before it. */

/* Packets with CE that one CNP answers: a group. */
typedef struct {
    smcr_when_t first; /* the first packet with CE */
    smcr_when_t cnp;   /* the CNP; frame 0: none has come */
} smcr_ecn_ce_t;

/* Congestion marks of what one queue pair receives. All zeros: there have been none. */
typedef struct {
    smcr_ecn_ce_t *open_group; /* the group that no CNP has answered; NULL: there is none */
    smcr_when_t cnp;     /* the last CNP that the queue pair has received; frame 0: none */
} smcr_ecn_marks_t;

/* What is said of a CNP. */
typedef struct {
    smcr_when_t ce;     /* the first packet with CE that it answers; frame 0: not known */
    smcr_when_t last_cnp; /* the CNP before it in the same flow; frame 0: none */
} smcr_ecn_cnp_t;

/* The queue pair receives a packet with CE. `peer`: the marks of the opposite flow, in which CNPs
 * that answer come; NULL: not known. Returns the group of the packet, allocated from `scope`: its
 * CNP is set when it comes. */
const smcr_ecn_ce_t *smcr_ecn_take_ce(smcr_ecn_marks_t *marks, const smcr_ecn_marks_t *peer,
                                      wmem_allocator_t *scope, smcr_when_t when);

/* The queue pair receives a CNP, which answers the open group of the opposite flow, and closes it.
 * `peer`: the marks of the opposite flow; NULL: not known. */
smcr_ecn_cnp_t smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, smcr_when_t when);

/* ---- acknowledgements ---- */

/* RDMA WRITE packets that are not acknowledged yet. One acknowledgement covers all packets up to
 * its PSN (InfiniBand Architecture Specification, volume 1, 9.7.5). All zeros: none. */
typedef struct {
    struct smcr_unacked_packet *ring; /* circular list, in the order of PSNs; NULL: none yet */
    uint32_t slots;                   /* of the list */
    uint32_t first;                   /* index of the oldest packet */
    uint32_t count;                   /* packets in the list */
} smcr_unacked_t;

/* Adds a packet. `*acked`, which lives as long as `scope`, is set when `psn` is acknowledged. PSNs
 * have to come in ascending order. */
void smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                      const smcr_ack_t **acked);

/* An acknowledgement in the frame `when` covers all packets up to `psn`: they are removed, and
 * their `*acked` points to it. It is kept in the slab. */
void smcr_unacked_acknowledge(smcr_unacked_t *unacked, smcr_slab_t *slab, smcr_psn_t psn,
                              smcr_when_t when);

/* ---- all of it ---- */

/* All zeros: nothing has been received. */
typedef struct {
    smcr_flow_t flow;
    smcr_psn_t completed_psn;   /* messages up to this PSN were reported as complete; 0: none */
    smcr_ecn_marks_t marks;
} smcr_traffic_t;

/* A message that is complete: a SEND or an RDMA WRITE, when its last packet is acknowledged; an
 * RDMA READ or an atomic, when the last packet of its own response has come (InfiniBand
 * Architecture Specification, volume 1, 9.7.5). A message may need several packets: FIRST, MIDDLE
 * and LAST. */
typedef struct {
    uint32_t next;      /* number (slab.h) of the next message that the same response completes, in
                           the order of PSNs; 0: there is none */
    uint32_t frame;     /* in which its first packet was first sent */
    uint64_t time : 63; /* of that frame, nanoseconds since the epoch */
    uint64_t was_retransmitted : 1; /* one of its packets has been retransmitted */
} smcr_completion_t;

/* The next message that the same response completes; NULL: there is none. */
const smcr_completion_t *smcr_completion_next(const smcr_completion_t *message);

/* What a response says of requests. */
typedef struct {
    smcr_when_t acked_request; /* the newest request that it acknowledges; frame 0: not known */
    bool acked_before;       /* the PSN of the response was acknowledged before */
    bool was_retransmitted;  /* the request in `acked_request` or `refused_request` was
                                retransmitted */
    smcr_when_t refused_request; /* the request that a NAK or RNR NAK refuses; frame 0: not known */
    smcr_psn_t acked_psn;    /* highest PSN that the response acknowledges; 0: none */
    const smcr_completion_t *completes; /* the messages that are complete now; NULL: none */
} smcr_traffic_answer_t;

/* What the response `packet` says of `requests`, the traffic in the opposite direction. It has to
 * be called before smcr_traffic_judge() judges the packet. The answer points into the slab. */
smcr_traffic_answer_t smcr_traffic_read_response(smcr_traffic_t *requests, smcr_slab_t *slab,
                                                 const smcr_sent_t *packet);

/* Takes in the next packet and judges it, as smcr_flow_judge() does. `reverse`: the traffic in the
 * opposite direction; NULL: not known. */
smcr_flow_verdict_t smcr_traffic_judge(smcr_traffic_t *traffic, smcr_traffic_t *reverse,
                                       wmem_allocator_t *scope, const smcr_sent_t *packet);
