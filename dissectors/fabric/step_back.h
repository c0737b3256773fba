/* step_back.h
 * Steps back: a sender goes back to a PSN and sends everything from there again (go-back-N,
 * InfiniBand Architecture Specification, volume 1, 9.7.5.1). docs/fabric.md defines what belongs to
 * a step and what its cause is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "sent.h"
#include "wire/wire.h"

typedef enum smcr_cause smcr_step_cause_t;

/* What records point to: the cause may be found out later. */
typedef struct {
    uint32_t frame;  /* of the first packet */
    uint8_t cause;   /* smcr_step_cause_t */
    smcr_when_t nak; /* that named the PSN of the first packet: the last RNR NAK, or else the last
                        NAK; frame 0: none did */
} smcr_step_back_t;

/* A NAK that the sender has not followed yet. */
#define SMCR_STEP_NAKS_KEPT 4
typedef struct {
    smcr_psn_t psn;     /* 0: none */
    uint32_t step;      /* number of the step in which it came */
    uint32_t arrival;   /* NAKs of the flow so far, with it */
    bool rnr;           /* an RNR NAK was among them */
    smcr_when_t when;   /* the last RNR NAK, or, if there is none, the last NAK */
    bool fresh;         /* it came behind the flow's last request */
} smcr_step_nak_t;

/* A packet from which the sender may go on. */
typedef struct {
    smcr_step_back_t *lone;  /* what is said of the packet itself; NULL: there is no such packet */
    smcr_step_back_t *step;  /* what is said of those behind it */
    smcr_psn_t last;         /* PSN that was sent last since */
    /* the step, if the sender does go on */
    smcr_psn_t begin;
    uint32_t number;
    uint32_t naks;           /* that had come before it */
    uint8_t cause;
} smcr_step_candidate_t;

/* The steps back of a flow. */
typedef struct {
    smcr_step_nak_t *naks; /* SMCR_STEP_NAKS_KEPT, the newest comes last; NULL: there has been
                              none */
    uint32_t arrivals;       /* NAKs so far */
    uint32_t numbers;        /* of steps and guesses so far */
    smcr_step_back_t *step;  /* the last one; NULL: there has been none */
    uint32_t number;         /* of it, from 1 */
    smcr_psn_t first, end;   /* of it */
    smcr_psn_t position;     /* its highest packet */
    bool passed;             /* a request above its end has come */
    smcr_psn_t before;       /* the last request of all */
    smcr_step_candidate_t candidate;
} smcr_steps_t;

/* A request that is no copy. */
typedef struct {
    smcr_psn_t psn;
    smcr_psn_t highest;  /* of the requests before it */
    smcr_psn_t taken;    /* covered by acknowledgements */
    uint32_t frame;
    uint32_t step, candidate_step; /* numbers of steps in which the PSN was sent last; 0: in none */
    bool repeat, late;   /* both false: new, above the highest PSN */
    bool proven;         /* its identification shows that a repeat was sent again */
    bool read;           /* an RDMA READ, of a PSN that an RDMA READ had before */
    bool within;         /* and not as its first one */
    bool reverse_has_carried; /* the reverse flow has carried something */
} smcr_step_request_t;

/* A NAK (`rnr`: an RNR NAK; `sequence`: a NAK with code PSN sequence error) names `psn`. */
void smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn, bool rnr,
                    bool sequence, smcr_when_t when);

/* The step back that the request belongs to; NULL: to none. The numbers in the request become those
 * of the step in which it is sent, and of the one that this may turn out to be. */
smcr_step_back_t *smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope,
                                  smcr_step_request_t *request);
