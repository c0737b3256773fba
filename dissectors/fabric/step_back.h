/* Steps back: a sender goes back to a PSN and retransmits everything from there on (go-back-N,
 * InfiniBand Architecture Specification, volume 1, 9.7.5.1). Which packets belong to one step, and
 * what made the sender go back: a NAK, an RNR NAK, its timer, or the response of a READ that did
 * not come. docs/fabric.md, "Steps back", defines both.
 *
 * Example: PSN 102 does not reach the receiver.
 *
 *     request   100  101  102  103  104             102  103  104   105
 *     response                           NAK(102)
 *                                                   `----step----'
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "seen.h"

/* Why a sender has gone back: one of SMCR_CAUSE_... */
typedef enum smcr_cause smcr_step_cause_t;

/* One step back. Records of packets point to it, since its cause may be found later. */
typedef struct {
    uint32_t frame;  /* of the first packet */
    uint8_t cause;   /* smcr_step_cause_t */
    smcr_when_t nak; /* the NAK that names the PSN of the first packet: the last RNR NAK, or, if
                        there is none, the last NAK; frame 0: no NAK names the PSN */
} smcr_step_back_t;

/* What a NAK says. */
typedef enum {
    SMCR_STEP_REFUSED_OTHERWISE, /* a NAK with another code: no reason to go back */
    SMCR_STEP_OUT_OF_SEQUENCE,   /* NAK, PSN sequence error: a PSN is missing at the receiver */
    SMCR_STEP_NOT_READY,         /* RNR NAK: the receiver has no buffer for a SEND */
} smcr_step_refusal_t;

/* A NAK of a PSN that no step has begun with since. */
typedef struct {
    smcr_psn_t psn;   /* that the NAK names; 0: the entry is free */
    uint32_t step;    /* number of the last step when the NAK came; 0: there had been none */
    bool rnr;         /* at least one of the NAKs that name the PSN was an RNR NAK */
    bool pending;     /* no request has come since the NAK */
    smcr_when_t when; /* the last RNR NAK, or, if there is none, the last NAK */
} smcr_step_nak_t;

#define SMCR_STEP_NAKS_KEPT 4

/* A step that is not proven. It begins with a packet that may be a copy, or that the network may
 * have reordered. It is proven when the requests after that packet continue the retransmission. */
typedef struct {
    smcr_step_back_t *lone; /* what is said of the first packet unless the step is proven; NULL:
                               there is no tentative step */
    smcr_step_back_t *step; /* what is said of the packets after the first one */
    smcr_psn_t last;        /* PSN of the last packet of the step */
    smcr_psn_t first;       /* first PSN that the step retransmits, once it is proven */
    uint32_t number;        /* that the step has once it is proven */
    uint32_t nak_count;     /* `nak_count` of the flow when the step began */
    uint8_t cause;          /* smcr_step_cause_t that the step has once it is proven */
} smcr_step_tentative_t;

/* The steps back of a flow. All zeros: there has been no request. */
typedef struct {
    smcr_step_nak_t *naks;    /* SMCR_STEP_NAKS_KEPT entries, oldest first; NULL: no NAK so far */
    uint32_t nak_count;       /* NAKs (PSN sequence error) and RNR NAKs so far */
    uint32_t numbers;         /* numbers given to steps and tentative steps so far */
    smcr_step_back_t *step;   /* the last step; NULL: there has been none, and the next members,
                                 down to `awaits_first`, mean nothing */
    uint32_t number;          /* of the last step, from 1 */
    smcr_psn_t first;         /* first PSN that the step retransmits */
    smcr_psn_t end;           /* last PSN of the step: the flow's highest when the step began */
    smcr_psn_t position;      /* highest PSN that has been sent in the step */
    uint16_t position_id;     /* IPv4 identification of the packet with PSN `position` */
    bool passed_end;          /* a request above `end` has come since the step began */
    bool awaits_first;        /* the step began after a pause, but above the first PSN that is not
                                 acknowledged: its cause is the timer only if that PSN comes, too */
    bool disorder;            /* the flow has had a late packet */
    bool after_pause;         /* since the last new PSN, a retransmission or late packet has come
                                 after a pause */
    uint16_t after_pause_id;  /* IPv4 identification of the last packet that came after a pause */
    smcr_psn_t last_request;  /* PSN of the last request of the flow, copies left out */
    uint64_t last_activity;   /* time of the last request, NAK or RNR NAK, nanoseconds; 0: none */
    uint64_t rnr_timer;       /* that the last RNR NAK asked for, nanoseconds; 0: none has come */
    smcr_step_tentative_t tentative; /* the tentative step */
} smcr_steps_t;

/* How a request relates to the PSNs before it. */
typedef enum {
    SMCR_STEP_REQUEST_NEW,           /* above the highest PSN */
    SMCR_STEP_REQUEST_RETRANSMITTED, /* the flow had the PSN before */
    SMCR_STEP_REQUEST_LATE,          /* at or below the highest, but no packet had the PSN so far */
} smcr_step_request_kind_t;

/* A request that is no copy. */
typedef struct {
    smcr_step_request_kind_t kind;
    smcr_psn_t psn;
    smcr_psn_t highest;      /* PSN of the flow before this request */
    smcr_psn_t acked;        /* highest acknowledged PSN; before any: the one before the first PSN
                                */
    smcr_when_t when;        /* frame of the request */
    uint16_t id;             /* IPv4 identification; means something only with `has_sender_order` */
    smcr_seen_steps_t steps; /* in which the PSN was sent before */
    bool has_sender_order;   /* the identifications of the flow change with each packet: `id` proves
                                when the request was sent, and that it is no copy */
    bool reads_again;        /* a READ, retransmitted, of a PSN that an earlier READ takes */
    bool reads_from_within;  /* a READ, retransmitted, whose PSN is not the first of an earlier
                                READ */
    bool reverse_has_carried; /* the capture has had a packet of the reverse flow */
} smcr_step_request_t;

/* Which step a request belongs to. */
typedef struct {
    smcr_step_back_t *step;  /* NULL: it belongs to none */
    smcr_seen_steps_t steps; /* in which the PSN has been sent, this request included */
} smcr_step_taken_t;

/* The receiver refuses `psn` with a NAK or RNR NAK in the frame `when`. */
void smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn,
                    smcr_step_refusal_t refusal, smcr_when_t when);

/* Takes in the next request of the flow, and finds the step that it belongs to. Steps are allocated
 * from `scope`; the cause of a step may change with each later request. */
smcr_step_taken_t smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope,
                                  const smcr_step_request_t *request);
