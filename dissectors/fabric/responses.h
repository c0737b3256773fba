/* responses.h
 * What one queue pair answers: repeats and copies of it. Responses have the PSNs of the requests
 * that they answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_RESPONSES_H
#define SMCR_FABRIC_RESPONSES_H

#include "seen.h"
#include "sent.h"

#define SMCR_RESPONSES_KEPT 16

typedef struct {
    smcr_seen_t seen;   /* READ responses and Atomic ACKs */
    smcr_psn_t highest; /* of these; 0: there has been none */
    struct {
        uint32_t frame, psn;
        uint16_t id;
    } kept[SMCR_RESPONSES_KEPT]; /* ACKs and NAKs */
    unsigned newest;
} smcr_responses_t;

/* The frame of the earlier response that this one copies or repeats; 0: neither. `changes`: the
 * flow's identifications change. `*copy`: it is a copy. */
uint32_t smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                             const smcr_sent_t *packet, bool changes, bool *copy);

#endif /* SMCR_FABRIC_RESPONSES_H */
