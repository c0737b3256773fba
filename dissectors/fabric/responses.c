/* Finds duplicates and retransmissions among responses. READ responses and Atomic ACKs are kept by
 * PSN (seen.h), in the same way as requests. ACKs, NAKs and RNR NAKs are not kept by PSN, because
 * many of them have equal PSNs: the last 16 of them are kept in a list.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "responses.h"

/* Whether the response was captured on the other side of a router than an earlier response.
 * `before`, `hop_limit`: time and hop limit of the earlier one. */
static bool
is_beyond_router(smcr_when_t before, uint8_t hop_limit, const smcr_sent_t *packet,
                 smcr_response_grounds_t grounds)
{
    return smcr_seen_is_beyond_router(before, hop_limit, packet) ||
           (grounds.is_beyond_router && smcr_seen_has_other_limit(hop_limit, packet));
}

/* Whether `packet`, which looks like the earlier acknowledgement `ack`, is the second one of two
 * captures of `ack`: the capture has each packet twice, and `packet` comes soon enough after `ack`.
 * False if a duplicate of `ack` has already come. */
static bool
is_second_of_two(const smcr_response_ack_t *ack, const smcr_sent_t *packet,
                 smcr_response_grounds_t grounds)
{
    return grounds.twice_within && !ack->has_copy &&
           smcr_seen_is_within((smcr_when_t){ack->frame, ack->time}, packet->when,
                               grounds.twice_within);
}

/* Whether `packet` is a duplicate of the earlier ACK, NAK or RNR NAK `ack`, which has its PSN: the
 * IPv4 identification proves it, or where no identification does, a router between the two, or that
 * the capture has each packet twice. Notes a duplicate that only time proves. */
static bool
is_copy_of_ack(smcr_response_ack_t *ack, const smcr_sent_t *packet,
               smcr_response_grounds_t grounds)
{
    if (grounds.by_id)
        return ack->id == packet->ip_id;
    if (ack->syndrome != packet->syndrome)
        return false;
    if (is_beyond_router((smcr_when_t){ack->frame, ack->time}, ack->hop_limit, packet, grounds))
        return true;
    bool is_second = is_second_of_two(ack, packet, grounds);
    ack->has_copy |= is_second;
    return is_second;
}

/* The frame of the latest ACK, NAK or RNR NAK of which `packet` is a duplicate; 0: `packet` is a
 * duplicate of none of the last 16. */
static uint32_t
find_same_ack(smcr_responses_t *responses, const smcr_sent_t *packet,
              smcr_response_grounds_t grounds)
{
    for (unsigned i = 0; i < SMCR_RESPONSES_KEPT; i++) {
        unsigned at = (responses->newest + SMCR_RESPONSES_KEPT - i) % SMCR_RESPONSES_KEPT;
        smcr_response_ack_t *ack = &responses->last_acks[at];
        if (ack->frame && ack->psn == packet->psn && is_copy_of_ack(ack, packet, grounds))
            return ack->frame;
    }
    return 0;
}

/* Takes in an ACK, NAK or RNR NAK. Returns the frame of the response of which `packet` is a
 * duplicate; 0: `packet` is not a duplicate. A short time between two equal ACKs alone proves
 * nothing: a receiver answers several retransmissions with several equal ACKs, one directly after
 * the other. */
static uint32_t
take_ack(smcr_responses_t *responses, const smcr_sent_t *packet, smcr_response_grounds_t grounds)
{
    uint32_t copied = find_same_ack(responses, packet, grounds);

    if (copied)
        return copied;
    responses->newest = (responses->newest + 1) % SMCR_RESPONSES_KEPT;
    responses->last_acks[responses->newest] = (smcr_response_ack_t){
        .frame = packet->when.frame,
        .psn = packet->psn,
        .time = packet->when.time,
        .id = (uint16_t)packet->ip_id,
        .hop_limit = packet->hop_limit,
        .syndrome = packet->syndrome,
    };
    return 0;
}

/* Whether `packet` is a duplicate of the last response with its PSN, if IPv4 identifications do not
 * decide this. Either of two proofs is enough: 1. the two were captured on different sides of a
 * router; 2. `packet` comes at most 100 microseconds after that response, and the peer has sent no
 * packet in between: it has not requested the response anew. If the capture has each packet twice,
 * a packet of the peer may come between the two: then it is enough that none has come since the
 * last READ response or Atomic ACK. */
static bool
is_copy_by_time(const smcr_responses_t *responses, const smcr_seen_packet_t *seen,
                const smcr_sent_t *packet, smcr_response_grounds_t grounds)
{
    smcr_when_t last = smcr_seen_last(seen);

    if (is_beyond_router(last, smcr_seen_last_hop_limit(seen), packet, grounds))
        return true;
    if (responses->reverse_count != grounds.reverse_packets ||
        (last.frame < responses->quiet_frame && !grounds.twice_within))
        return false;
    return smcr_seen_is_within(last, packet->when, SMCR_SEEN_SOON);
}

/* Returns the frame of the response of which the READ response or Atomic ACK `packet` is a
 * duplicate; 0: `packet` is not a duplicate. `seen`: the history of the responses with the PSN of
 * `packet`. */
static uint32_t
copied_data(const smcr_responses_t *responses, const smcr_seen_packet_t *seen,
            const smcr_sent_t *packet, smcr_response_grounds_t grounds)
{
    bool is_copy_of_last;

    if (grounds.by_id && seen->id == packet->ip_id)
        return seen->frame;
    if (grounds.by_id)
        is_copy_of_last = smcr_seen_last_id(seen) == packet->ip_id;
    else
        is_copy_of_last = is_copy_by_time(responses, seen, packet, grounds);
    return is_copy_of_last ? smcr_seen_last(seen).frame : 0;
}

/* Takes in a READ response or Atomic ACK. Arguments and return value are those of
 * smcr_responses_take(). */
static uint32_t
take_data(smcr_responses_t *responses, wmem_allocator_t *scope, const smcr_sent_t *packet,
          smcr_response_grounds_t grounds, bool *copy)
{
    if (!responses->highest)
        responses->highest = smcr_psn_begin(packet->psn);
    smcr_psn_t psn = smcr_psn_near(responses->highest, packet->psn);
    smcr_seen_packet_t *seen = smcr_seen_find(&responses->psn_history, psn);
    uint32_t copied = seen ? copied_data(responses, seen, packet, grounds) : 0;

    responses->highest = MAX(responses->highest, psn);
    if (responses->reverse_count != grounds.reverse_packets)
        responses->quiet_frame = packet->when.frame;
    responses->reverse_count = grounds.reverse_packets;
    *copy = copied != 0;
    if (copied)
        return copied;
    if (!seen) {
        smcr_seen_add(&responses->psn_history, scope, psn, 0, packet);
        return 0;
    }
    smcr_seen_retransmit(seen, scope, packet);
    return seen->frame;
}

/* READ responses and Atomic ACKs are kept by PSN, all others in the order in which they come. */
uint32_t
smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                    const smcr_sent_t *packet, smcr_response_grounds_t grounds, bool *copy)
{
    if (!*responses)
        *responses = wmem_new0(scope, smcr_responses_t);
    if (packet->opcode != SMCR_RC_ACK)
        return take_data(*responses, scope, packet, grounds, copy);
    uint32_t copied = take_ack(*responses, packet, grounds);
    *copy = copied != 0;
    return copied;
}
