/* The responses that one queue pair sends, and which of them are duplicates or retransmissions
 * (docs/fabric.md, "Responses"). A response has the PSN of the request that it answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "seen.h"

#define SMCR_RESPONSES_KEPT 16 /* number of ACKs, NAKs and RNR NAKs of a flow that are kept */

/* An ACK, NAK or RNR NAK. */
typedef struct {
    uint32_t frame;    /* frame of the response; 0: the entry is free */
    uint32_t psn;      /* PSN of the response, 24 bits */
    uint64_t time;     /* time of the response, nanoseconds since the epoch */
    uint16_t id;       /* IPv4 identification of the response */
    uint8_t hop_limit; /* TTL or hop limit of the response; 0: not known */
    uint8_t syndrome;  /* syndrome of the response */
    bool has_copy;     /* a duplicate of the response has come that only time proves */
} smcr_response_ack_t;

/* The responses of a flow so far. */
typedef struct {
    smcr_seen_t psn_history; /* history of the READ responses and Atomic ACKs */
    smcr_psn_t highest; /* highest PSN in `psn_history`, unwrapped; 0: the history is empty */
    uint32_t reverse_count; /* number of packets of the reverse flow when the last READ response or
                               Atomic ACK came: if it has not changed since, the peer has requested
                               nothing anew */
    uint32_t quiet_frame; /* frame of the first READ response or Atomic ACK since the last packet of
                             the reverse flow; 0: none */
    smcr_response_ack_t last_acks[SMCR_RESPONSES_KEPT]; /* circular list of the last ACKs, NAKs and
                                                           RNR NAKs */
    unsigned newest;    /* index in `last_acks` of the newest entry */
} smcr_responses_t;

/* What can prove that a response is a duplicate. */
typedef struct {
    bool by_id;     /* An equal IPv4 identification proves a duplicate, and another one disproves
                       it. If false, the other members decide. */
    bool is_beyond_router;  /* the capture has packets before and after a router */
    uint64_t twice_within;  /* the capture has nearly all packets twice, the second one after so
                               many nanoseconds at most; 0: it has not */
    uint32_t reverse_packets; /* number of packets of the reverse flow so far. If it has not grown
                                 since the last READ response or Atomic ACK, the peer has requested
                                 nothing since, so an equal response may be a duplicate */
} smcr_response_grounds_t;

/* Compares the response `packet` with earlier responses of its flow, and keeps `packet` for later
 * comparisons. `*responses` is NULL before the first call, which allocates it from `scope`. Returns
 * the frame of the earlier response that `packet` repeats, and sets `*copy`: true if `packet` is a
 * duplicate made by the network, false if `packet` is a retransmission. An ACK, NAK or RNR NAK is
 * never found to be a retransmission. Returns 0 and sets `*copy` to false if `packet` repeats no
 * earlier response. */
uint32_t smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                             const smcr_sent_t *packet, smcr_response_grounds_t grounds,
                             bool *copy);
