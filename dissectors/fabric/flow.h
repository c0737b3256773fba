/* How the packets of a flow fared. A flow is the packets that one queue pair sends to its peer,
 * over a reliable or unreliable connection (InfiniBand Architecture Specification, volume 1, 9.7
 * and 9.8).
 *
 * docs/fabric.md defines every verdict and its proof. The receiver of a reliable connection takes
 * in requests in the order of their PSNs. It discards a packet that comes after a gap, and the
 * sender retransmits that packet. So the capture shows more packets than the receiver takes in. A
 * room that depends on the order of packets asks this module, rather than count the packets itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ranges.h"
#include "reads.h"
#include "responses.h"
#include "step_back.h"

/* ---- the verdict on a packet ---- */

/* How the PSN of a packet relates to the packets before it. Requests and responses both have an
 * order. */
typedef enum {
    SMCR_FLOW_IS_NEXT,   /* the PSN is above all before it, and no gap is known to be open */
    SMCR_FLOW_IS_RETRANSMISSION, /* an earlier packet of the flow had the same PSN */
    SMCR_FLOW_IS_LATE,   /* the PSN is at or below the highest, but no earlier packet had it */
    SMCR_FLOW_IS_AFTER_GAP, /* a lower PSN is missing, and no acknowledgement has covered that
                               PSN */
    SMCR_FLOW_IS_COPY,   /* the network has duplicated an earlier packet */
} smcr_flow_order_t;

/* What the receiver does with a request, as far as the capture proves. */
typedef enum {
    SMCR_FLOW_RECEIVER_TAKES, /* it takes in the request now, after all earlier requests that
                                 wait */
    SMCR_FLOW_RECEIVER_WAITS, /* it takes in the request when the missing PSNs come, or are
                                 acknowledged */
    SMCR_FLOW_RECEIVER_DROPS, /* it drops the request: it has the PSN already, or the ICRC is
                                 wrong */
    SMCR_FLOW_RECEIVER_HAD_IT, /* it has taken in this PSN before: only the capture has the packet
                                  late */
} smcr_flow_receiver_action_t;

/* The verdict on a packet. A member that does not apply to the kind of packet is 0, false or
 * NULL. */
typedef struct {
    smcr_flow_order_t order;
    smcr_flow_receiver_action_t receiver_action; /* what the receiver does with a request; not set
                                                    for a response */
    smcr_psn_t psn;          /* PSN of a request, unwrapped; 0: a corrupt request before the first
                                good one */
    smcr_when_t first;       /* Retransmission or copy: the first packet with the PSN. For a PSN
                                within a READ, the packet of the READ request; frame 0: that packet
                                is forgotten. Any other packet: the packet itself. */
    bool original;           /* the packet in `first` is certainly the first that the sender sent
                                with this PSN */
    uint32_t after_gap_frame; /* frame of the first packet after the gap; 0: the packet is not after
                                 a gap */
    uint32_t overtaken_by;   /* late packet: frame of the first packet after the gap that the late
                                packet fills; 0: it fills no gap */
    uint32_t missing;        /* number of missing PSNs between the highest before and this packet */
    bool acked_before;       /* retransmission: an acknowledgement had already covered the PSN */
    bool first_discarded;    /* retransmission: the first packet with the PSN came after a gap, and
                                the receiver has discarded that first packet */
    bool first_good;         /* retransmission: the first packet with the PSN and a right ICRC */
    bool peer_silent;        /* the peer has stopped answering; set once for each silence */
    smcr_step_back_t *step;  /* the step back that the packet belongs to; NULL: none */
    uint32_t *discard_proof; /* After a gap: points to the number of the frame that proves that the
                                receiver has discarded the packet. The number is 0 until that frame
                                comes. NULL: the packet is not after a gap. */
} smcr_flow_verdict_t;

/* ---- the state of a flow ---- */

/* The last acknowledgement that the capture has before the first request. */
typedef struct {
    bool known;       /* there has been such an acknowledgement; if false, the other members mean
                         nothing */
    uint8_t syndrome; /* syndrome of its AETH */
    uint32_t psn;     /* its PSN, 24 bits */
    smcr_when_t when; /* frame and time of the acknowledgement */
} smcr_flow_early_t;

/* IPv4 identifications of the packets of a flow so far. If a sender gives each packet another
 * identification, a packet with the identification and the PSN of an earlier packet is a copy. All
 * zeros: there has been no packet with an identification. */
typedef struct {
    uint32_t psn;   /* PSN of the last packet, 24 bits */
    uint8_t opcode; /* opcode of the last packet */
    uint16_t id;    /* identification of the last packet */
    bool started;   /* there has been a packet with an identification */
    bool differ;    /* two successive packets had different identifications */
    bool same;      /* two successive packets had the same identification, though their PSNs or
                       opcodes differ */
} smcr_ids_t;

#define SMCR_FLOW_GAPS_KEPT 32
#define SMCR_FLOW_LACKED_KEPT 1024

/* One flow. All zeros: nothing has been sent. Example of the four PSNs, if the capture misses PSN
 * 106:
 *
 *     100   101   102   103   104   105    .    107   108
 *    first     acked_psn             expected_psn    highest
 */
typedef struct {
    smcr_psn_t first;    /* PSN of the first request; 0: no request has come, and none was
                            announced */
    /* highest PSN of all requests, and of the responses that their READs ask for; `first` - 1:
     * there has been no request */
    smcr_psn_t highest;
    smcr_psn_t acked_psn; /* highest PSN that an acknowledgement covers; 0: there has been none */
    uint64_t acked_time;  /* time of the first acknowledgement of `acked_psn`, nanoseconds since the
                             epoch */
    /* The PSN that the receiver expects next. It has taken in all requests before this PSN, or the
     * capture misses them. */
    smcr_psn_t expected_psn;
    bool first_announced; /* the sender has announced `first` before its first request */
    bool has_acks;       /* the reverse flow has carried an acknowledgement */
    uint32_t packet_count; /* number of packets of any kind; copies and packets with a wrong ICRC do
                              not count */
    uint32_t last_refusal_frame;  /* frame of the last NAK or RNR NAK; 0: none */
    uint32_t last_response_frame; /* frame of the last response in the reverse flow; 0: none */
    uint32_t reverse_count_at_silence; /* packets of the reverse flow when `peer_silent` was set
                                          last; 0: never */
    uint32_t mtu;        /* path MTU, bytes; 0: not known */
    uint32_t highest_frame; /* frame of the first packet with the highest PSN */
    /* PSNs that no packet had. `frame_before` and `frame_after` are the frames of the packets on
     * both sides of the gap. */
    smcr_ranges_t gaps;
    /* PSNs that were missing for a while, until a late packet or a CDC message filled them.
     * `frame_before` and `frame_after` are the frames between which they were missing. */
    smcr_ranges_t filled_gaps;
    smcr_ranges_t lost_later; /* ranges of frames; in each of them a packet that the capture has may
                                 have been lost on the way to the receiver */
    smcr_psn_t corrupt_from; /* all requests from this PSN on had wrong ICRCs; 0: the last request
                                had a right ICRC */
    smcr_seen_t psn_history; /* the history of the flow's PSNs (seen.h) */
    smcr_steps_t steps;
    smcr_ids_t ids;
    smcr_flow_early_t early_ack;
    smcr_psn_t refused_psn; /* PSN that the last NAK or RNR NAK named; 0: none */
    smcr_psn_t discarded_up_to; /* highest PSN of the requests after a gap that the receiver may
                                   have discarded; 0: none */
    smcr_psn_t unproven; /* Lowest PSN of the packets after a gap whose fate is open: nothing proves
                            that the receiver took them in, or that it discarded them. 0: there is
                            no such packet. */
    smcr_reads_t *reads;         /* the last READs; NULL: there has been no READ */
    smcr_responses_t *responses; /* the responses of this flow; NULL: there has been none */
} smcr_flow_t;

/* The sender has announced `psn`, of 24 bits, as its first PSN: in CLC Accept or Confirm, in ADD
 * LINK, or in REQ or REP of RDMA-CM. An announcement after the first request changes nothing. */
void smcr_flow_announce(smcr_flow_t *flow, uint32_t psn);

/* Takes in the next packet of the flow, and judges it. Packets come in the order of the capture.
 * `reverse` is the flow in the other direction; NULL: not known. A response answers requests of
 * `reverse`, and changes that flow. What the verdict points to is allocated from `scope`, and may
 * change with later packets. */
smcr_flow_verdict_t smcr_flow_judge(smcr_flow_t *flow, smcr_flow_t *reverse,
                                    wmem_allocator_t *scope, const smcr_sent_t *packet);

/* Whether a request with `psn`, of 24 bits, begins a new life of the queue pair: its PSN is more
 * than 131,072 after the highest PSN, or more than 16,384 before it. False before the first
 * request. */
bool smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn);

/* What a response says about requests (InfiniBand Architecture Specification, volume 1, 9.7.5). */
typedef struct {
    smcr_psn_t psn; /* PSN that the response names; 0: the response says nothing, and all members
                       are 0 */
    /* highest PSN that the response acknowledges: an ACK acknowledges `psn`, a NAK or RNR NAK the
     * PSN before */
    smcr_psn_t acked_psn;
    uint8_t kind; /* enum smcr_ib_syndrome_kind; a response with data counts as an ACK */
} smcr_flow_coverage_t;

/* What the response `packet` says about the requests of `flow`. */
smcr_flow_coverage_t smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet);

/* The history of `psn`, of 24 bits. NULL: no request had the PSN, or the PSN is forgotten. */
const smcr_seen_packet_t *smcr_flow_psn_history(const smcr_flow_t *flow, uint32_t psn);
