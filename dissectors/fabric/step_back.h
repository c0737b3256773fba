/* Steps back. A sender goes back to a PSN and retransmits everything from there on (go-back-N,
 * InfiniBand Architecture Specification, volume 1, 9.7.5.1). This module finds which packets belong
 * to one step. It also finds what made the sender go back: a NAK, an RNR NAK, its timer, or the
 * missing response of a READ. docs/fabric.md, "Steps back", defines both.
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

/* The cause of a step back: one of SMCR_CAUSE_... */
typedef enum smcr_cause smcr_step_cause_t;

/* Whether the receiver already had all packets that some steps back have retransmitted. Steps share
 * this object if retransmissions of one step came before those of the step before it were answered
 * (smcr_flow_repeats_t). */
typedef struct {
    uint32_t needless_frame; /* frame of the acknowledgement that proves that the receiver had all
                                of them, so that they were needless; 0: not proven so far */
    bool is_doubtful;        /* it can no longer be proven that the receiver had all of them */
    bool is_partial;         /* the receiver has answered a retransmission when it already had all
                                PSNs that had been sent by then: this one was needless */
} smcr_step_fate_t;

/* One step back. Records of packets point to the step, since its cause may be found later. */
typedef struct {
    uint32_t frame;  /* frame of the step's first packet in the capture */
    smcr_step_fate_t *fate; /* whether the step was needless; NULL: nothing is known of this */
    uint8_t cause;   /* smcr_step_cause_t: why the sender has stepped back */
    smcr_when_t nak; /* The RNR NAK that names the PSN of the step's first packet, the last one if
                        there are several. If there is no RNR NAK, the last NAK that names this PSN.
                        Frame 0: no NAK or RNR NAK names this PSN. */
} smcr_step_back_t;

/* Whether the packets of the step are retransmissions. False if it is not known why the sender has
 * stepped back: the network may only have changed the order of packets; and if `step` is NULL. */
static inline bool
smcr_step_retransmits(const smcr_step_back_t *step)
{
    return step && step->cause != SMCR_CAUSE_NONE;
}

/* What a NAK means for the sender. */
typedef enum {
    SMCR_STEP_REFUSED_OTHERWISE, /* NAK with any other code: it gives the sender no reason to go
                                    back */
    SMCR_STEP_OUT_OF_SEQUENCE,   /* NAK, PSN sequence error: a PSN is missing at the receiver */
    SMCR_STEP_NOT_READY,         /* RNR NAK: the receiver has no receive buffer for a SEND or
                                    a WRITE with immediate data */
} smcr_step_refusal_t;

/* A NAK that has named a PSN, as long as no step has begun with that PSN. */
typedef struct {
    smcr_psn_t psn;   /* PSN that the NAK names; 0: the entry is free */
    uint32_t step;    /* number of the flow's last step when the NAK came; 0: no step before the
                         NAK */
    bool rnr;         /* at least one of the NAKs that have named the PSN is an RNR NAK */
    bool pending;     /* no request has come after the NAK so far */
    smcr_when_t when; /* the last RNR NAK that names the PSN; if no RNR NAK names the PSN, the last
                         NAK that names the PSN */
} smcr_step_nak_t;

#define SMCR_STEP_NAKS_KEPT 4

/* A tentative step: a step that is not proven. The network may have duplicated or reordered the
 * first packet of the step. The step is proven when the requests after the first packet continue
 * the retransmission. */
typedef struct {
    smcr_step_back_t *lone; /* the step in the verdict on the first packet; it counts alone if the
                               tentative step is never proven, and gets the cause and the NAK of
                               `step` with the proof. NULL: there is no tentative step */
    smcr_step_back_t *step; /* the step in the verdicts on the later packets. It gets its cause and
                               its NAK with the proof */
    smcr_psn_t last;        /* highest PSN of the step so far */
    smcr_psn_t first;       /* first PSN that the step retransmits, once it is proven */
    uint32_t number;        /* number that the step gets once it is proven */
    uint32_t nak_count;     /* value of `nak_count` in smcr_steps_t when the step began */
    uint8_t cause;          /* smcr_step_cause_t that the step has once it is proven */
} smcr_step_tentative_t;

/* The last step back of a flow, and the facts by which its next steps are found. All zeros: there
 * has been no request. */
typedef struct {
    smcr_step_nak_t *naks;    /* SMCR_STEP_NAKS_KEPT entries, oldest first; NULL: no NAK so far */
    uint32_t nak_count;       /* number of NAKs (PSN sequence error) and RNR NAKs so far */
    uint32_t numbers;         /* number of steps so far, including tentative steps */
    smcr_step_back_t *step;   /* The last step. NULL: there has been no step; then the members from
                                 `number` to `awaits_first` are not set. */
    uint32_t number;          /* number of the last step, from 1 */
    smcr_psn_t first;         /* first PSN that the step retransmits */
    smcr_psn_t end;           /* last PSN that the step retransmits: the flow's highest when the
                                 step began */
    smcr_psn_t position;      /* highest PSN that the step has sent so far */
    uint16_t position_id;     /* IPv4 identification of the packet with the PSN in `position` */
    bool passed_end;          /* a request with a PSN above `end` has come since the step began */
    bool awaits_first;        /* The step began after a pause, but its first PSN is above the lowest
                                 PSN that is not acknowledged. The cause of the step is the timer
                                 only if the lowest unacknowledged PSN comes, too. */
    bool disorder;            /* the flow has had a late packet that no step back is known to have
                                 retransmitted */
    bool after_pause;         /* a retransmission or late packet has come after a pause, and no new
                                 PSN has come since then */
    bool last_is_repeat;      /* an earlier packet had the PSN of the last request */
    uint16_t after_pause_id;  /* IPv4 identification of the last packet that came after a pause */
    smcr_psn_t last_request;  /* PSN of the last request of the flow; duplicates do not count */
    uint64_t last_activity;   /* time of the last request, NAK or RNR NAK, nanoseconds; 0: none */
    uint64_t rnr_timer;       /* time that the last RNR NAK asked the sender to wait, nanoseconds;
                                 0: none has come */
    smcr_step_tentative_t tentative; /* the step that is not proven yet */
} smcr_steps_t;

/* How the PSN of a request relates to the PSNs before. */
typedef enum {
    SMCR_STEP_REQUEST_NEW,           /* the PSN is above the highest PSN of the flow */
    SMCR_STEP_REQUEST_RETRANSMITTED, /* an earlier packet of the flow had the PSN */
    SMCR_STEP_REQUEST_LATE,          /* the PSN is at or below the highest PSN, but no earlier
                                        packet had it */
} smcr_step_request_kind_t;

/* A request that is not a duplicate made by the network, and the facts that decide to which step it
 * belongs. */
typedef struct {
    smcr_step_request_kind_t kind; /* how the PSN of the request relates to earlier PSNs */
    smcr_psn_t psn;          /* PSN of the request, unwrapped */
    smcr_psn_t highest;      /* highest PSN of the flow before this request */
    smcr_psn_t acked;        /* highest acknowledged PSN of the flow; if no PSN is acknowledged, the
                                PSN before the first PSN of the flow */
    smcr_when_t when;        /* frame and time of the request */
    uint16_t id;             /* IPv4 identification; means something only with `has_sender_order` */
    smcr_seen_steps_t steps; /* the steps in which earlier packets with the PSN were sent */
    bool has_sender_order;   /* The sender gives each packet of the flow a new IPv4 identification.
                                So `id` shows the place of the request in the order of sending, and
                                proves that the request is no duplicate. */
    bool reads_again;        /* the request is a retransmitted READ: its PSN is one of the PSNs that
                                an earlier READ took */
    bool reads_from_within;  /* the request is a retransmitted READ that begins in the middle of an
                                earlier READ: its PSN is not the first PSN of that READ */
    bool is_atomic;          /* the request is a retransmitted atomic */
    bool reverse_has_carried; /* the reverse flow has had a captured packet before the request */
} smcr_step_request_t;

/* The step that a request belongs to. */
typedef struct {
    smcr_step_back_t *step;  /* the step of the request; NULL: the request belongs to no step */
    smcr_seen_steps_t steps; /* the steps in which the PSN has been sent, including this request */
} smcr_step_taken_t;

/* Keeps a NAK or RNR NAK that names `psn`, in the packet `when`, as a possible cause of a later
 * step. SMCR_STEP_REFUSED_OTHERWISE changes nothing. */
void smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn,
                    smcr_step_refusal_t refusal, smcr_when_t when);

/* Takes in the next request of the flow, and returns the step that the request belongs to. Steps
 * are allocated from `scope`. A later request may change the cause of a step. */
smcr_step_taken_t smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope,
                                  const smcr_step_request_t *request);
