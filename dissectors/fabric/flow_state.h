/* What is kept of one flow: the PSNs that were sent, acknowledged, refused and missed so far.
 * flow.c changes it with each packet; copies.c and acknowledged.c change their parts of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ranges.h"
#include "reads.h"
#include "responses.h"
#include "step_back.h"

/* How the sender of a flow sets the IPv4 identifications of its packets. If the sender gives each
 * packet a new identification, a packet with the identification and the PSN of an earlier packet is
 * a duplicate made by the network. All zeros: no packet has had an identification. */
typedef struct {
    uint32_t psn;   /* PSN of the last packet, 24 bits */
    uint8_t opcode; /* opcode of the last packet */
    uint16_t id;    /* identification of the last packet */
    bool started;   /* a packet with an IPv4 identification has come, so the members above are
                       set */
    bool differ;    /* two successive packets had different identifications */
    bool same;      /* two successive packets had the same identification, though their PSNs or
                       opcodes differ */
} smcr_ids_t;

/* What the duplicates of a flow have shown: whether the capture has every packet twice, or has
 * packets before and after a router. */
typedef struct {
    smcr_ids_t ids;     /* how the sender sets IPv4 identifications */
    uint32_t distance;  /* longest time from a request to a duplicate that only time has proven,
                           nanoseconds, at least 1; duplicates that come much later than earlier
                           ones do not count. 0: the flow has no such duplicate */
    uint32_t timed;     /* number of duplicates that only time has proven */
    uint32_t requests;  /* number of requests since the one of which the first of the duplicates in
                           `timed` is a duplicate, this request included; duplicates do not count */
    uint8_t routed;     /* number of duplicates that came soon after their requests and had another
                           hop limit; not counted beyond 4 */
} smcr_flow_copies_t;

/* The last acknowledgement in the reverse flow before the first request of a flow. None is kept if
 * the first PSN of the flow was announced before. */
typedef struct {
    bool known;       /* an acknowledgement came before the first request; if false, the other
                         members mean nothing */
    uint8_t syndrome; /* syndrome in the AETH of the acknowledgement */
    uint32_t psn;     /* PSN of the acknowledgement, 24 bits */
    smcr_when_t when; /* frame and time of the acknowledgement */
} smcr_flow_early_t;

/* Requests with successive PSNs that are far from the highest PSN of the flow
 * (smcr_flow_note_far()). */
typedef struct {
    uint32_t frame; /* frame of the last of them; 0: there are none */
    uint32_t psn;   /* PSN of the last of them, 24 bits */
    uint32_t count; /* how many they are */
} smcr_flow_far_t;

/* The retransmissions of a flow that the receiver has not answered so far. A receiver that gets a
 * request once more acknowledges its last PSN once more. All zeros: there are none. */
typedef struct {
    smcr_step_fate_t *fate; /* the fate of their steps; set with `count` */
    uint32_t count;         /* number of these retransmissions */
    smcr_psn_t until;       /* highest PSN of the flow when the last of them came: after an
                               acknowledgement of a higher PSN, no answer to them comes; set with
                               `count` */
    smcr_psn_t joined;      /* highest PSN above `until` that the sender sent in one burst with the
                               last of them: its packet may be a retransmission whose first
                               transmission is not captured; 0: none */
    smcr_psn_t ended_by;    /* the first acknowledged PSN above `until`, if it is not above
                               `joined`, or no captured request has it: a further acknowledgement of
                               it shows that the receiver had one of the packets before; 0: none so
                               far */
} smcr_flow_repeats_t;

#define SMCR_FLOW_GAPS_KEPT 32     /* highest number of ranges in `gaps` of a flow */
#define SMCR_FLOW_LACKED_KEPT 1024 /* highest number of ranges in `filled_gaps` and `lost_later` */

/* One flow. All zeros: nothing has been sent. Example of the four PSNs `first` to `highest`, if PSN
 * 106 is missing in the capture:
 *
 *     100   101   102   103   104   105    .    107   108
 *    first     acked_psn             expected_psn    highest
 */
typedef struct {
    smcr_psn_t first;    /* PSN of the first request; 0: no request has come, and none was
                            announced */
    /* Highest PSN that requests have taken, including the PSNs for the responses of READs. If no
     * request has come since `first` was announced, the PSN before `first`. */
    smcr_psn_t highest;
    smcr_psn_t acked_psn; /* highest PSN that an acknowledgement covers; 0: none covers a PSN of the
                             flow so far */
    uint64_t acked_time;  /* time of the first acknowledgement of `acked_psn`, nanoseconds since the
                             epoch */
    /* The PSN that the receiver expects next. The receiver has taken in all lower PSNs, even if
     * packets of these PSNs are missing in the capture. */
    smcr_psn_t expected_psn;
    bool first_announced; /* the sender has announced `first` before its first request */
    smcr_flow_copies_t copies; /* what the flow's duplicates have shown so far (copies.h) */
    bool has_acks;       /* the reverse flow has carried a response: an ACK, NAK or RNR NAK, a READ
                            response or an Atomic ACK */
    uint32_t packet_count; /* number of packets of the flow, requests and responses, without
                              duplicates and packets with a wrong ICRC */
    uint32_t last_refusal_frame;  /* frame of the last NAK or RNR NAK in the reverse flow for a
                                     request of this flow; 0: none */
    uint32_t other_refusal_frame; /* frame of the last NAK or RNR NAK that named another PSN than
                                     `refused_psn`; 0: none */
    uint32_t last_response_frame; /* frame of the last response in the reverse flow; 0: none */
    uint32_t reverse_count_at_silence; /* number of packets of the reverse flow when `peer_silent`
                                          of a verdict was last set; 0: never */
    uint32_t mtu;        /* path MTU, bytes; 0: not known */
    uint32_t highest_frame; /* frame of the last request whose own PSN was above all earlier PSNs;
                               0: none so far */
    /* PSNs below `highest` that no packet with a right ICRC has had so far. In each range,
     * `frame_before` and `frame_after` are the frames of the packets before and after the gap. If
     * there are more than SMCR_FLOW_GAPS_KEPT ranges, the two lowest become one, which includes
     * PSNs that have come. */
    smcr_ranges_t gaps;
    uint32_t came_in_gaps; /* number of PSNs in `gaps` that have come all the same: they lie between
                              two ranges that became one, or came later into a range that could not
                              be split */
    /* PSNs that were missing between the frames `frame_before` and `frame_after`. There are three
     * cases: a late packet filled the gap; the sequence number of a CDC message on another link
     * shows that a packet of this flow is missing in the capture; or a message that a tap has
     * copied shows that an earlier one may be missing. */
    smcr_ranges_t filled_gaps;
    smcr_ranges_t lost_later; /* ranges of frame numbers: in each range, a captured packet of the
                                 flow may have been lost between the capture point and the
                                 receiver */
    smcr_psn_t corrupt_from; /* lowest PSN from which on, up to `highest`, all requests so far have
                                had wrong ICRCs; 0: there is none */
    smcr_seen_t psn_history; /* the history of the flow's PSNs (seen.h) */
    smcr_steps_t steps;          /* the steps back of the flow (step_back.h) */
    smcr_flow_repeats_t repeats; /* retransmissions that the receiver has not answered */
    smcr_flow_early_t early_ack; /* last acknowledgement before the first captured request; it
                                    stays when this request has come */
    smcr_psn_t refused_psn; /* PSN that the last NAK or RNR NAK named; 0: none */
    smcr_psn_t burst_psn;   /* PSN of the last packet whose `first_missing` is true; 0: none */
    uint64_t burst_time;    /* time of that packet, nanoseconds since the epoch */
    uint32_t timely;        /* number of requests, each with a PSN above all earlier ones, since one
                               of them came after its acknowledgement */
    smcr_psn_t sent_psn;    /* highest PSN that was sent, as a NAK or RNR NAK proves; 0: there is
                               none */
    smcr_psn_t discarded_up_to; /* highest PSN of the requests that the receiver discards because
                                   of its last NAK or RNR NAK; 0: none. They are retransmitted
                                   before `expected_psn` passes them */
    smcr_psn_t unproven; /* Lowest PSN of the packets after a gap whose fate is open: nothing proves
                            that the receiver took them in, or that it discarded them. 0: there is
                            no such packet. */
    smcr_flow_far_t far;         /* the last requests whose PSNs are far from `highest` */
    smcr_reads_t *reads;         /* the last READs of this flow; NULL: there has been no READ */
    smcr_responses_t *responses; /* the responses of this flow; NULL: there has been none */
} smcr_flow_t;

/* The largest distances between a request's PSN and the highest PSN of its flow. If the distance is
 * larger, the queue pair number has been reused by a new connection (a new life of the queue
 * pair). */
#define SMCR_FLOW_FAR_AHEAD 131072 /* a new connection is more likely than so many packets in a row
                                      that were not captured */
#define SMCR_FLOW_FAR_BEHIND 16384 /* no sender retransmits a PSN that is more than this below the
                                      highest PSN */

/* Whether `psn`, of 24 bits, is farther from the highest PSN of the flow than these distances. The
 * flow has had a request, or its first PSN was announced. */
static inline bool
smcr_flow_is_far(const smcr_flow_t *flow, uint32_t psn)
{
    int32_t distance = smcr_psn_distance((uint32_t)(flow->highest & SMCR_PSN_MASK), psn);

    return distance > SMCR_FLOW_FAR_AHEAD || distance < -SMCR_FLOW_FAR_BEHIND;
}

/* Whether nothing shows that the last packets of the flow are missing in the capture: no
 * acknowledgement covers a PSN above the highest captured one, and the receiver waits for no packet
 * with a lower PSN. Gaps that acknowledgements cover do not count. */
static inline bool
smcr_flow_has_last(const smcr_flow_t *flow)
{
    return flow->acked_psn <= flow->highest && flow->expected_psn > flow->highest;
}
