/* The responses that one queue pair sends, and which of them are copies or retransmissions
 * (docs/fabric.md, "Responses"). A response has the PSN of the request that it answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "seen.h"

#define SMCR_RESPONSES_KEPT 16

/* The responses of a flow so far. */
typedef struct {
    smcr_seen_t psn_history; /* history of the READ responses and Atomic ACKs */
    smcr_psn_t highest; /* highest PSN in `psn_history`, unwrapped; 0: there has been none */
    uint32_t reverse_count; /* packets of the reverse flow when the last READ response or Atomic ACK
                               came */
    struct {
        uint32_t frame; /* frame of the response; 0: the entry is free */
        uint32_t psn;   /* its PSN, 24 bits */
        uint16_t id;    /* its IPv4 identification */
    } last_acks[SMCR_RESPONSES_KEPT]; /* circular list of the last ACKs, NAKs and RNR NAKs */
    unsigned newest;    /* index in `last_acks` of the newest entry */
} smcr_responses_t;

/* What can prove that a response is a copy. */
typedef struct {
    bool by_id;     /* the IPv4 identification can prove it; if false, only time can prove that a
                       READ response or Atomic ACK is a copy, and nothing that an ACK is */
    uint32_t reverse_packets; /* number of packets of the reverse flow so far */
} smcr_response_grounds_t;

/* Compares a response with earlier ones, and remembers it. `*responses` is allocated at the first
 * call; NULL: there has been no response. Returns the frame of an earlier response. If `*copy` is
 * true, `packet` is a copy of that response, else a retransmission. 0: `packet` is neither. */
uint32_t smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                             const smcr_sent_t *packet, smcr_response_grounds_t grounds,
                             bool *copy);
