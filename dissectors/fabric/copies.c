/* Finds duplicates among the requests of a flow (SMCR_FLOW_IS_COPY of flow.h). An IPv4
 * identification proves a duplicate. Where no identification can, the time between two packets
 * proves it, or a router between them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "copies.h"

/* Nanoseconds. The shortest retransmission timer: the timers of adapters and of software run for
 * milliseconds or longer. */
#define TIMER_LEAST UINT64_C(1000000)

/* Compares the identification with that of the packet directly before. An equal identification
 * counts as `same` only if PSN or opcode differ: otherwise the packet may be a duplicate of the one
 * before. */
void
smcr_flow_take_id(smcr_flow_t *flow, const smcr_sent_t *packet)
{
    smcr_ids_t *ids = &flow->copies.ids;
    uint16_t id = (uint16_t)packet->ip_id;

    if (packet->ip_id < 0)
        return;
    if (ids->started && ids->id != id)
        ids->differ = true;
    else if (ids->started)
        ids->same |= ids->psn != packet->psn || ids->opcode != packet->opcode;
    ids->psn = packet->psn;
    ids->opcode = packet->opcode;
    ids->id = id;
    ids->started = true;
}

bool
smcr_flow_knows_copies(const smcr_flow_t *flow)
{
    return flow->copies.ids.differ && !flow->copies.ids.same;
}

bool
smcr_flow_has_no_copies(const smcr_flow_t *flow)
{
    return smcr_flow_knows_copies(flow) || (!flow->copies.timed && !flow->copies.routed);
}

/* Whether the IPv4 identification of `packet` can decide if the packet is a duplicate of an earlier
 * packet with its PSN. True if the identifications of the flow change with each packet. As long as
 * this is not known: true if the identification is not 0. */
static bool
proves_copy_by_id(const smcr_ids_t *ids, const smcr_sent_t *packet)
{
    return packet->ip_id >= 0 && !ids->same && (ids->differ || ids->id != 0);
}

/* Whether the sender may have had a reason to retransmit a request within 100 microseconds. `seen`:
 * history of the request's PSN. `last`: frame and time at which the request was sent last. Any of
 * three reasons is enough:
 *
 * - A NAK or RNR NAK that names the request or an earlier one has come after `last`, or several
 *   that name different requests.
 * - The request is a READ or an atomic, and a response has come after `last`. A sender that gets
 *   the response of a later request knows that the response of its READ is lost.
 * - The request is a READ or an atomic, and no response has come so far. The responses may all be
 *   missing in the capture. */
static bool
may_be_retransmitted_soon(const smcr_flow_t *flow, const smcr_seen_packet_t *seen,
                          smcr_when_t last)
{
    if (flow->last_refusal_frame >= last.frame &&
        (flow->refused_psn <= seen->psn || flow->other_refusal_frame >= last.frame))
        return true;
    return seen->fetches &&
           (!flow->last_response_frame || flow->last_response_frame >= last.frame);
}

/* Longest time, nanoseconds, from a request to its duplicate in a capture that has every packet
 * twice: one and a half times the longest time of earlier duplicates (`distance`), but at least 100
 * microseconds. */
static uint64_t
mirrored_distance(const smcr_flow_t *flow)
{
    return MAX(SMCR_SEEN_SOON, (uint64_t)flow->copies.distance * 3 / 2);
}

/* Number of duplicates with another hop limit from which on the capture counts as one with two
 * points, before and after a router. */
#define ROUTED_COPIES 4

/* Number of duplicates proven by time from which on the capture may count as one that has every
 * packet twice (is_captured_twice()). */
#define TIMED_COPIES 8

/* Whether the capture has the flow's packets before and after a router: duplicates have shown two
 * hop limits. Then hop limits decide, and not times: at one point, a retransmission has the same
 * hop limit as the first transmission; the duplicate at the other point has another hop limit. */
static bool
is_captured_beyond_router(const smcr_flow_t *flow)
{
    return flow && flow->copies.routed == ROUTED_COPIES;
}

/* Whether time has proven that the capture has nearly all packets of the flow twice. */
static bool
is_captured_twice(const smcr_flow_t *flow)
{
    return flow && flow->copies.timed >= TIMED_COPIES &&
           flow->copies.timed >= flow->copies.requests / 8 * 7;
}

/* Whether a request that comes once more before the sender's timer can run out is a duplicate that
 * a queue has held up: the capture has nearly all packets twice, and the receiver has refused no
 * request of the flow. After a refusal, the sender retransmits sooner than its timer. */
static bool
may_be_held_up(const smcr_flow_t *flow)
{
    return is_captured_twice(flow) && !flow->last_refusal_frame;
}

/* Returns the longest time, nanoseconds, from a request to an equal packet that still counts as a
 * duplicate made by the network. `seen`: history of the request's PSN.
 *
 * - A sender that goes back does so after 100 microseconds or more.
 * - If the request has the highest PSN of the flow, no NAK for a gap can make the sender retransmit
 *   it. If the receiver sends responses, the sender waits for its timer: a millisecond or more.
 * - If the capture has every packet twice (mirror port), all duplicates come about equally long
 *   after their requests (mirrored_distance()). A duplicate may be held up in a queue
 *   (may_be_held_up()): then it comes before the sender's timer runs out. */
static uint64_t
longest_distance(const smcr_flow_t *flow, const smcr_seen_packet_t *seen)
{
    bool is_newest = seen->psn == flow->highest && flow->steps.last_request == seen->psn;

    if (flow->has_acks && !seen->fetches && (is_newest || may_be_held_up(flow)))
        return TIMER_LEAST;
    return mirrored_distance(flow);
}

/* Whether time proves that `packet` is a duplicate of an earlier request with the same PSN. `seen`
 * is the history of that PSN. The two packets come soon after each other (longest_distance()), and
 * the sender has no reason to retransmit so soon. In addition, one of two conditions holds:
 *
 * - The request comes right before the packet: no other request comes between the two.
 * - The capture has every packet twice, as a mirror port of a switch sends it, so that other
 *   requests come between the two. An earlier duplicate has shown this (`distance`). The PSN of the
 *   packet is below that of the last request: a packet with a higher PSN may belong to a sender
 *   that has gone back, and retransmits everything from there on. */
static bool
is_copy_by_time(const smcr_flow_t *flow, const smcr_seen_packet_t *seen,
                const smcr_sent_t *packet)
{
    bool may_be_mirrored = flow->copies.distance && seen->psn < flow->steps.last_request;

    if (flow->steps.last_request != seen->psn && !may_be_mirrored)
        return false;
    smcr_when_t last = smcr_seen_last(seen);
    return !may_be_retransmitted_soon(flow, seen, last) &&
           smcr_seen_is_within(last, packet->when, longest_distance(flow, seen));
}

/* Counts a duplicate that only its distance in time from the earlier packet proves, and keeps the
 * longest such distance. `distance`: nanoseconds from the last packet with the PSN to the
 * duplicate. A distance much longer than all earlier ones is not kept: the network made that
 * duplicate, not a mirror port. */
static void
note_copy_distance(smcr_flow_t *flow, uint64_t distance)
{
    flow->copies.requests = MAX(flow->copies.requests, 1);
    flow->copies.timed++;
    if (flow->copies.distance && distance > mirrored_distance(flow))
        return;
    flow->copies.distance = MAX(flow->copies.distance, (uint32_t)MAX(distance, 1));
}

/* Whether the packet was captured on the other side of a router than the last request with its PSN:
 * the two packets prove it, or earlier duplicates of the flow have proved it (`routed`), and the
 * hop limits of the two differ. `seen`: the history of that PSN. Counts duplicates of the first
 * kind, so it is called once for a packet. */
static bool
is_copy_beyond_router(smcr_flow_t *flow, const smcr_seen_packet_t *seen, const smcr_sent_t *packet)
{
    smcr_when_t last = smcr_seen_last(seen);
    uint8_t hop_limit = smcr_seen_last_hop_limit(seen);

    if (smcr_seen_is_beyond_router(last, hop_limit, packet)) {
        flow->copies.routed = (uint8_t)MIN(flow->copies.routed + 1, ROUTED_COPIES);
        return true;
    }
    return is_captured_beyond_router(flow) && smcr_seen_has_other_limit(hop_limit, packet);
}

/* Whether `packet` is a duplicate of the last request with its PSN, which its identification cannot
 * show. `seen`: the history of that PSN. Notes how far apart duplicates are that only time
 * proves. */
static bool
is_copy_without_id(smcr_flow_t *flow, const smcr_seen_packet_t *seen, const smcr_sent_t *packet)
{
    smcr_when_t last = smcr_seen_last(seen);

    if (!seen->had_good_icrc || packet->corrupt)
        return false;
    if (is_copy_beyond_router(flow, seen, packet))
        return true;
    if (!is_copy_by_time(flow, seen, packet))
        return false;
    note_copy_distance(flow, packet->when.time - last.time);
    return true;
}

/* The first and the last packet with the PSN are compared by identification; time and router prove
 * only duplicates of the last one. */
smcr_when_t
smcr_flow_copied_packet(smcr_flow_t *flow, const smcr_seen_packet_t *seen,
                        const smcr_sent_t *packet)
{
    bool is_copy_of_last;

    if (!seen)
        return (smcr_when_t){0, 0};
    if (!proves_copy_by_id(&flow->copies.ids, packet))
        is_copy_of_last = is_copy_without_id(flow, seen, packet);
    else if (!seen->corrupt && seen->id == packet->ip_id)
        return (smcr_when_t){seen->frame, seen->time};
    else
        is_copy_of_last = seen->had_good_icrc && smcr_seen_last_id(seen) == packet->ip_id;
    return is_copy_of_last ? smcr_seen_last(seen) : (smcr_when_t){0, 0};
}

/* All grounds are returned, and smcr_responses_take() uses the first that decides. If the reverse
 * flow is not known, there is no ground but the IPv4 identification. */
smcr_response_grounds_t
smcr_flow_response_grounds(const smcr_flow_t *flow, const smcr_flow_t *reverse,
                           const smcr_sent_t *packet)
{
    return (smcr_response_grounds_t){
        .by_id = proves_copy_by_id(&flow->copies.ids, packet),
        .is_beyond_router = is_captured_beyond_router(reverse),
        .twice_within = is_captured_twice(reverse) ? TIMER_LEAST : 0,
        .reverse_packets = reverse ? reverse->packet_count : 0,
    };
}
