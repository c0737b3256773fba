/* What happened to the packets of a flow. A flow is the packets that one queue pair sends to its
 * peer, over a reliable or unreliable connection (InfiniBand Architecture Specification, volume 1,
 * 9.7 and 9.8).
 *
 * docs/fabric.md defines every verdict and its proof. The receiver of a reliable connection takes
 * in requests in the order of their PSNs. It discards a packet that comes after a gap, and the
 * sender retransmits that packet. So the capture has more packets than the receiver takes in. A
 * room that depends on the order of packets asks this module and does not count packets itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "flow_state.h"

/* ---- the verdict on a packet ---- */

/* How the PSN of a packet relates to the earlier packets of its flow. The verdict on a request and
 * the verdict on a response both contain this value. */
typedef enum {
    SMCR_FLOW_IS_NEXT,   /* the PSN is above all earlier PSNs of the flow, and no earlier PSN is
                            known to be missing at the receiver */
    SMCR_FLOW_IS_RETRANSMISSION, /* an earlier packet of the flow had the same PSN, or the PSN
                                    belongs to the response of an earlier READ */
    SMCR_FLOW_IS_LATE,   /* the PSN is at or below the highest PSN of the flow, but no earlier
                            packet had it */
    SMCR_FLOW_IS_AFTER_GAP, /* a lower PSN is missing in the capture; acknowledgements have come,
                               but none covers the missing PSN */
    SMCR_FLOW_IS_COPY,   /* the packet is a duplicate of an earlier packet, made by the network or
                            by the capture */
    SMCR_FLOW_IS_ELSEWHERE, /* the flow is judged at another capture point (points/); no verdict of
                               fabric/ has this value */
} smcr_flow_order_t;

/* What the receiver does with a request, as far as the capture proves. */
typedef enum {
    SMCR_FLOW_RECEIVER_TAKES, /* the receiver takes in the request now; requests with
                                 ..._RECEIVER_WAITS before this request count as taken in first */
    SMCR_FLOW_RECEIVER_WAITS, /* lower PSNs are missing: the request counts as taken in when an
                                 acknowledgement covers them, or when they have come and a new PSN
                                 is sent. If the request is retransmitted, the retransmission
                                 counts instead */
    SMCR_FLOW_RECEIVER_DROPS, /* the receiver discards the request: an earlier request with its PSN
                                 was taken in or waits, the request is a duplicate, or its ICRC is
                                 wrong */
    SMCR_FLOW_RECEIVER_HAD_IT, /* the receiver had already taken in the request: only in the capture
                                  the packets are out of order */
} smcr_flow_receiver_action_t;

/* The verdict on a packet. A member that does not apply to the kind of packet is 0, false or
 * NULL. */
typedef struct {
    smcr_flow_order_t order; /* order of the packet's PSN among the earlier packets of the flow */
    smcr_flow_receiver_action_t receiver_action; /* what the receiver does with a request; of a
                                                    response ..._DROPS if its ICRC is wrong,
                                                    otherwise not set */
    smcr_psn_t psn;          /* PSN of a request, unwrapped; 0: the packet is a response; or its
                                ICRC is wrong, and the flow has no PSN before it */
    smcr_when_t first;       /* For a retransmission: the first packet with the PSN; if the PSN
                                belongs to the response of a READ, the packet of the READ request;
                                frame 0: the flow no longer keeps that packet. For a duplicate: the
                                packet that it duplicates. For any other packet: the packet itself.
                                The time is right for requests that are no duplicates. */
    bool original;           /* of a request that is no duplicate: the packet in `first` is
                                certainly the first packet that the sender sent with this PSN */
    uint32_t after_gap_frame; /* frame of the first packet after the gap; 0: the packet is not after
                                 a gap */
    uint32_t overtaken_by;   /* frame of the first packet after the gap that this late packet fills;
                                0: the packet fills no gap */
    uint32_t missing;        /* number of PSNs that are missing between the highest earlier PSN and
                                this packet's PSN */
    bool acked_before;       /* the packet is a retransmission, and an acknowledgement had already
                                covered its PSN */
    bool first_discarded;    /* the packet is a retransmission, and the receiver has discarded the
                                packet in `first`, which came after a gap */
    bool first_good;         /* the packet is a retransmission: all earlier packets with its PSN had
                                wrong ICRCs, and its own ICRC is not known to be wrong */
    uint32_t refused_frame;  /* frame of the last packet with the PSN before this retransmission, if
                                a NAK or RNR NAK since proves that the receiver did not accept that
                                packet, and no acknowledgement covers the PSN; 0: not proven */
    bool first_missing;      /* the PSN is above all earlier ones, but a NAK or RNR NAK proves that
                                the sender had sent it, or the packet follows such a packet in one
                                burst: the capture may miss its first transmission */
    bool is_old;             /* `first_missing` is true, and an acknowledgement had already covered
                                the PSN: the contents are older than the packet's place in the
                                capture */
    bool peer_silent;        /* the packet proves that the peer has stopped answering; true for one
                                packet of each silence */
    smcr_step_back_t *step;  /* the step back that the packet belongs to; NULL: none */
    uint32_t *discard_proof; /* Points to the number of the frame that proves that the receiver has
                                discarded this packet after a gap; the number is 0 until that frame
                                comes. NULL: the packet is not after a gap, or the PSN history does
                                not keep it. */
} smcr_flow_verdict_t;

/* Whether the network has changed the order of packets: the packet has a PSN below earlier ones
 * (`order` is SMCR_FLOW_IS_LATE) and is no retransmission. `step`: the step back that the packet
 * belongs to; NULL: none. */
static inline bool
smcr_flow_is_out_of_order(unsigned order, const smcr_step_back_t *step)
{
    return order == SMCR_FLOW_IS_LATE && !smcr_step_retransmits(step);
}

/* ---- the calls ---- */

/* Packets that the receiver has acknowledged, and that the capture does not have. */
typedef struct {
    bool is_known;    /* the members below are known */
    uint64_t packets; /* number of these packets */
    uint32_t frame;   /* frame of the packet after the first of them; 0: none, or not known */
} smcr_flow_lack_t;

/* Returns which acknowledged packets of the flow the capture does not have so far. Not known if
 * `flow` is NULL, or if `came_in_gaps` is not 0 and acknowledgements do not cover all of the lowest
 * range in `gaps`. */
smcr_flow_lack_t smcr_flow_lack(const smcr_flow_t *flow);

/* Sets the PSN `psn`, of 24 bits, that the sender has announced as its first PSN. The announcement
 * is in CLC Accept or Confirm, in ADD LINK, or in REQ or REP of RDMA-CM. An announcement after the
 * first request, or a second announcement, changes nothing. */
void smcr_flow_announce(smcr_flow_t *flow, uint32_t psn);

/* Takes in the next packet of the flow and returns the verdict on the packet. Callers pass each
 * packet once, in the order of the capture. `reverse` is the flow in the other direction; NULL: not
 * known. A response answers requests of `reverse`, so the function changes `reverse`, too. Objects
 * that the verdict points to are allocated from `scope`, and may change with later packets. */
smcr_flow_verdict_t smcr_flow_judge(smcr_flow_t *flow, smcr_flow_t *reverse,
                                    wmem_allocator_t *scope, const smcr_sent_t *packet);

/* Whether `psn`, of 24 bits, follows the highest PSN of the flow. True if no request has come and
 * no first PSN was announced. */
bool smcr_flow_is_next(const smcr_flow_t *flow, uint32_t psn);

/* Whether a request with `psn`, of 24 bits, proves that the queue pair number now belongs to a new
 * connection, if its content does not prove that the flow goes on (`goes_on` of smcr_sent_t). The
 * proof: `psn` is more than 131,072 above the highest PSN of the flow, or more than 16,384 below
 * the highest PSN. Returns false before the first request. */
bool smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn);

/* Whether a request at `when` with `psn`, of 24 bits, that is far from the highest PSN of the flow
 * can come after a part of the flow that was not captured. Either of two conditions is enough: 1.
 * `psn` is above the highest PSN. 2. More than 100 ms have passed since the last packet with the
 * highest PSN: then the PSNs may have wrapped meanwhile, and the request is not out of order. */
bool smcr_flow_can_go_on(const smcr_flow_t *flow, uint32_t psn, smcr_when_t when);

/* Notes a request in `frame` with `psn`, of 24 bits, that is far from the highest PSN of the flow,
 * if it is not known whether the request belongs to the flow. Requests with successive PSNs are
 * noted together. If this request once more, or the one with the next PSN, proves that the flow
 * goes on, the noted requests were packets of the flow, and are not counted as missing. */
void smcr_flow_note_far(smcr_flow_t *flow, uint32_t frame, uint32_t psn);

/* The history of `psn`, of 24 bits. NULL: no request had the PSN, or the flow no longer keeps the
 * history of the PSN. */
const smcr_seen_packet_t *smcr_flow_psn_history(const smcr_flow_t *flow, uint32_t psn);
