/* How the packets of a flow fared: what one queue pair sends to its peer (reliable and unreliable
 * connections; InfiniBand Architecture Specification, volume 1, 9.7 and 9.8).
 *
 * docs/fabric.md defines every verdict and its proof. The receiver of a reliable connection takes
 * in requests in the order of their PSNs. It discards a packet that comes after a gap, and the
 * sender retransmits the packet. So the capture shows more packets than the receiver takes in. A
 * room that depends on the order of packets asks this module, rather than count the packets itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ranges.h"
#include "reads.h"
#include "responses.h"
#include "step_back.h"

/* ---- what is said of a packet ---- */

/* How a packet relates to those before it. Of requests and responses. */
typedef enum {
    SMCR_FLOW_IS_NEXT,
    SMCR_FLOW_IS_RETRANSMISSION, /* retransmission: the flow had the PSN before */
    SMCR_FLOW_IS_LATE,   /* the PSN is not above the highest, and no packet had it before */
    SMCR_FLOW_IS_AFTER_GAP, /* after a gap: a PSN is missing that no acknowledgement has covered */
    SMCR_FLOW_IS_COPY,   /* duplicate of a packet, made by the network */
} smcr_flow_order_t;

/* What the receiver does with a request, as far as the capture proves. */
typedef enum {
    SMCR_FLOW_RECEIVER_TAKES, /* takes it in now, after all earlier requests that wait */
    SMCR_FLOW_RECEIVER_WAITS, /* takes it in when the missing PSNs come, or are acknowledged */
    SMCR_FLOW_RECEIVER_DROPS, /* drops it: it has the PSN already, or the ICRC is wrong */
    SMCR_FLOW_RECEIVER_HAD_IT, /* has taken it in before: the capture has the packet only now */
} smcr_flow_receiver_action_t;

/* What is said of a packet. Members of a kind of packet are 0, false or NULL for all others. */
typedef struct {
    smcr_flow_order_t order;
    smcr_flow_receiver_action_t receiver_action; /* of a request */
    smcr_psn_t psn;          /* of a request, unwrapped; 0: a corrupt request before all others */
    smcr_when_t first;       /* retransmission, copy: the first packet with the PSN, of a PSN within
                                a READ the READ; frame 0: forgotten. Else the packet itself */
    bool original;           /* the packet in `first` certainly is the first that the sender sent */
    uint32_t after_gap_frame; /* after a gap: frame of the first packet after that gap */
    uint32_t overtaken_by;   /* late: frame of the first packet after the gap that it fills; 0: it
                                fills none */
    uint32_t missing;        /* PSNs between the highest before and this one, which are missing */
    bool acked_before;       /* retransmission: an acknowledgement had covered the PSN before */
    bool first_discarded;    /* retransmission: the first packet came after a gap, and the receiver
                                has discarded it */
    bool first_good;         /* retransmission: all packets with the PSN before had wrong ICRCs */
    bool peer_silent;        /* the peer has stopped answering; said once for each silence */
    smcr_step_back_t *step;  /* that the packet belongs to; NULL: to none */
    uint32_t *discard_proof; /* after a gap: the frame that proves that the receiver has discarded
                                the packet; 0 until that frame comes. NULL: it is not after a gap */
} smcr_flow_verdict_t;

/* ---- what is known of a flow ---- */

/* An acknowledgement that the capture has before the first request. */
typedef struct {
    bool known;       /* there has been one; all else means something only then */
    uint8_t syndrome; /* of its AETH */
    uint32_t psn;     /* 24 bits */
    smcr_when_t when; /* frame of the acknowledgement */
} smcr_flow_early_t;

/* IPv4 identifications of the packets of a flow so far. Where each packet has another one, a packet
 * with the identification and the PSN of an earlier packet is a copy of that packet. All zeros:
 * there has been none. */
typedef struct {
    uint32_t psn;   /* of the last packet, 24 bits */
    uint8_t opcode; /* of the last packet */
    uint16_t id;    /* of the last packet */
    bool started;   /* there has been a packet with an identification */
    bool differ;    /* two successive packets had different ones */
    bool same;      /* two successive packets, which are no copies by PSN and opcode, had the same
                       */
} smcr_ids_t;

#define SMCR_FLOW_GAPS_KEPT 32
#define SMCR_FLOW_LACKED_KEPT 1024

/* One flow. All zeros: nothing has been sent. Its four PSNs, where the capture misses PSN 106:
 *
 *     100   101   102   103   104   105    .    107   108
 *    first       taken                 in_order      highest
 */
typedef struct {
    smcr_psn_t first;    /* of the first request; 0: there has been none, and none was announced */
    smcr_psn_t highest;  /* that requests have taken; `first` - 1: there has been no request */
    smcr_psn_t acked_psn; /* highest PSN that an acknowledgement covers; 0: there has been none */
    /* that the receiver expects next: it has taken in all requests before, or the capture misses
     * them */
    smcr_psn_t expected_psn;
    bool first_announced; /* the sender has announced `first` before its first request */
    bool has_acks;       /* the reverse flow has carried an acknowledgement */
    uint32_t packet_count; /* packets of any kind, without copies and packets with a wrong ICRC */
    uint32_t last_refusal_frame;  /* of the last NAK or RNR NAK; 0: there has been none */
    uint32_t last_response_frame; /* of the last response of the reverse flow; 0: there has been
                                     none */
    uint32_t reverse_count_at_silence; /* packets of the reverse flow when its silence was said
                                          last; 0: never */
    uint32_t mtu;        /* path MTU, bytes; 0: not known */
    uint32_t highest_frame; /* frame of the first packet with the highest PSN */
    smcr_ranges_t gaps;  /* PSNs that no packet had; `after`, `frame`: the packets around the gap */
    /* PSNs that were missing for a while: a late packet or a CDC message has filled them.
     * `after`, `frame`: the frames between which they were missing */
    smcr_ranges_t filled_gaps;
    smcr_ranges_t lost_later; /* ranges of frames in which a packet of the capture did not reach the
                                 receiver, perhaps */
    smcr_psn_t corrupt_from; /* all requests from this PSN on had wrong ICRCs; 0: the last one had a
                                right one */
    smcr_seen_t psn_history; /* the history of its PSNs */
    smcr_steps_t steps;
    smcr_ids_t ids;
    smcr_flow_early_t early_ack;
    smcr_psn_t refused_psn; /* that the last NAK or RNR NAK named; 0: there has been none */
    smcr_psn_t discarded_up_to; /* the receiver may have discarded requests up to this PSN, which
                                   came after a gap; 0: none */
    smcr_psn_t unproven; /* lowest PSN of the packets after a gap of which neither is proven: that
                            the receiver took them in, or that it discarded them; 0: there is none
                            */
    smcr_reads_t *reads;         /* NULL: there has been no READ */
    smcr_responses_t *responses; /* NULL: there has been no response */
} smcr_flow_t;

/* The sender has announced `psn`, of 24 bits, as its first: in CLC Accept or Confirm, ADD LINK, or
 * REQ or REP of RDMA-CM. Nothing changes when a request has come before. */
void smcr_flow_announce(smcr_flow_t *flow, uint32_t psn);

/* Takes in the next packet of the flow, and judges it. Packets come in the order of the capture.
 * `reverse`: the flow in the other direction, whose requests a response answers, and which changes
 * then; NULL: not known. What the verdict points to is allocated from `scope`, and may change with
 * later packets. */
smcr_flow_verdict_t smcr_flow_judge(smcr_flow_t *flow, smcr_flow_t *reverse,
                                    wmem_allocator_t *scope, const smcr_sent_t *packet);

/* Whether a request with `psn`, of 24 bits, begins a new life of the queue pair: the PSN is more
 * than 131,072 ahead of the highest or more than 16,384 before. False before the first request. */
bool smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn);

/* What a response says of requests (InfiniBand Architecture Specification, volume 1, 9.7.5). */
typedef struct {
    smcr_psn_t psn; /* PSN that the response names; 0: it says nothing, and all else is 0 */
    /* highest PSN that it acknowledges: `psn`, of a NAK or RNR NAK the one before */
    smcr_psn_t acked_psn;
    uint8_t kind; /* enum smcr_ib_syndrome_kind */
} smcr_flow_coverage_t;

/* What the response `packet` says of the requests of `flow`. */
smcr_flow_coverage_t smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet);

/* The history of `psn`, of 24 bits. NULL: no request had the PSN, or it is forgotten. */
const smcr_seen_packet_t *smcr_flow_psn_history(const smcr_flow_t *flow, uint32_t psn);
