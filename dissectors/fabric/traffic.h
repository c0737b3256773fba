/* What one queue pair receives from its peer: the flow, the messages that the peer completes, and
 * RDMA WRITE packets that are not acknowledged yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 * */

#pragma once

#include "flow.h"
#include "marks.h"
#include "slab.h"

/* ---- acknowledgements ---- */

/* A queue of packets that are not acknowledged yet. One acknowledgement covers all
 * packets up to its PSN (InfiniBand Architecture Specification, volume 1, 9.7.5). All zeros: the
 * queue is empty. */
typedef struct {
    struct smcr_unacked_packet *ring; /* circular list, in the order of PSNs; NULL: none yet */
    uint32_t slots;                   /* number of slots in `ring` */
    uint32_t first;                   /* index of the oldest packet */
    uint32_t count;                   /* number of packets in the list */
} smcr_unacked_t;

/* Adds the RDMA WRITE packet with the PSN `psn` to the queue. When an acknowledgement covers `psn`,
 * `*acked` is set to that acknowledgement. `*acked` has to live as long as `scope`. Callers add
 * PSNs in ascending order. */
void smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                      const smcr_ack_t **acked);

/* Handles the acknowledgement of `psn` in the packet `when`. The acknowledgement covers all packets
 * of the queue up to `psn`. The function removes these packets from the queue, and sets `*acked` of
 * each packet (smcr_unacked_add()) to the acknowledgement, which is kept in the slab. */
void smcr_unacked_acknowledge(smcr_unacked_t *unacked, smcr_slab_t *slab, smcr_psn_t psn,
                              smcr_when_t when);

/* Forgets the packets of the queue, and frees its memory. */
void smcr_unacked_free(smcr_unacked_t *unacked, wmem_allocator_t *scope);

/* ---- traffic ---- */

/* All that is known of the packets that one queue pair receives. All zeros: nothing has been
 * received. */
typedef struct {
    smcr_flow_t flow;           /* the packets that the queue pair receives */
    smcr_psn_t completed_psn;   /* highest PSN up to which smcr_traffic_read_response() has returned
                                   the complete messages, or up to which they count as returned,
                                   since no record can report them (peers/rdma.c); 0: none */
    smcr_ecn_marks_t marks;     /* congestion marks in the packets of `flow` */
} smcr_traffic_t;

/* A complete message. A SEND or an RDMA WRITE is complete when its last packet is acknowledged. An
 * RDMA READ or an atomic is complete when the last packet of its own response has come (InfiniBand
 * Architecture Specification, volume 1, 9.7.5). A message has one packet (ONLY), or FIRST, any
 * number of MIDDLE, and LAST. */
typedef struct {
    uint32_t next;      /* next message that the same response completes, in the order of PSNs, by
                           its slab number (smcr_slab_entry()); 0: none */
    uint32_t frame;     /* frame of the message's first packet, when it was sent for the first
                           time */
    uint64_t time : 63; /* time of `frame`, nanoseconds since the epoch */
    uint64_t was_retransmitted : 1; /* one of the message's packets has been retransmitted */
} smcr_completion_t;

/* The next message that the same response completes; NULL: there is none. */
const smcr_completion_t *smcr_completion_next(const smcr_completion_t *message);

/* What a response says about requests. */
typedef struct {
    smcr_when_t acked_request; /* the newest request that the response acknowledges; frame 0: not
                                  known */
    bool acked_before;       /* an earlier response has already acknowledged `acked_psn` */
    bool was_retransmitted;  /* the request in `acked_request` or `refused_request` was
                                retransmitted */
    smcr_when_t refused_request; /* the request that a NAK or RNR NAK refuses; frame 0: not known */
    smcr_psn_t acked_psn;    /* highest PSN that the response acknowledges; 0: none */
    const smcr_completion_t *completes; /* first message that the response completes; NULL: none */
} smcr_traffic_answer_t;

/* What the response `packet` says about `requests`, the traffic in the opposite direction. Call
 * this function before smcr_traffic_judge() judges the packet. The answer points into the slab. */
smcr_traffic_answer_t smcr_traffic_read_response(smcr_traffic_t *requests, smcr_slab_t *slab,
                                                 const smcr_sent_t *packet);

/* Takes in the next packet of `traffic` and returns the verdict of smcr_flow_judge() on the packet.
 * `reverse`: the traffic in the opposite direction; NULL: not known. */
smcr_flow_verdict_t smcr_traffic_judge(smcr_traffic_t *traffic, smcr_traffic_t *reverse,
                                       wmem_allocator_t *scope, const smcr_sent_t *packet);
