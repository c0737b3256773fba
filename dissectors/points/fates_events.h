/* The packets of a queue pair's flow as events in the order of time. fates_receiver.c and
 * fates_sender.c read them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

#define SMCR_FATES_SLOTS 16384 /* number of PSNs that are kept, a power of two; no sender has more
                                  PSNs under way */

/* A request or response of a flow, at one point of the path. */
typedef struct {
    uint64_t time; /* when the transmission passed or would have passed the point, by the clock of
                      the path's first point, nanoseconds since the epoch */
    uint32_t order; /* number of an observation: puts equal times in the order of the file */
    smcr_transmission_t *transmission; /* the transmission, whose fate is to be found */
    const smcr_observed_t *packet; /* an observation of the transmission */
    uint32_t psns; /* number of PSNs that a request takes: 1, or the number of responses to a
                      READ */
    bool is_response; /* a response; false: a request */
    bool is_seen;  /* the point has the transmission undamaged */
} smcr_fates_event_t;

/* What is known of a PSN. */
typedef struct {
    smcr_psn_t psn; /* the unwrapped PSN; 0: the slot is free */
    smcr_transmission_t *latest;   /* the latest request that begins with the PSN; NULL: none */
    smcr_transmission_t *accepted; /* the latest request that the receiver accepted, as far as the
                                      last point shows; NULL: none */
    uint64_t time;                 /* time of `latest`, as in smcr_fates_event_t */
    bool is_timed;                 /* the point has `latest`, so `time` is no estimate */
    bool was_seen;                 /* the point has a request that begins with the PSN */
    bool came_late;                /* `latest` came to the last point after packets with higher
                                      PSNs, and no NAK for it had come until then */
} smcr_fates_slot_t;

/* Returns the slot of the PSN. `slots`: a hash table of SMCR_FATES_SLOTS slots, in which the low
 * bits of a PSN are the index. If the slot has another PSN, it is emptied first. */
static inline smcr_fates_slot_t *
smcr_fates_slot_of(smcr_fates_slot_t *slots, smcr_psn_t psn)
{
    smcr_fates_slot_t *slot = &slots[psn & (SMCR_FATES_SLOTS - 1)];

    if (slot->psn != psn)
        *slot = (smcr_fates_slot_t){.psn = psn};
    return slot;
}

/* Whether the packet is a response that carries data: of a READ, or of an atomic. */
static inline bool
smcr_fates_is_data(const smcr_observed_t *packet)
{
    return smcr_ib_operations[packet->opcode].is_response && packet->opcode != SMCR_RC_ACK;
}
