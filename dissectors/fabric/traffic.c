/* Finds what responses say about requests, and when WRITE packets are acknowledged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include "acknowledged.h"

/* Whether the PSN was sent more than once. `packet`: the history of the PSN; NULL: there is
 * none. */
static bool
was_retransmitted(const smcr_seen_packet_t *packet)
{
    return packet && smcr_seen_last(packet).frame != packet->frame;
}

/* The request that a response answers: the request with the PSN of the response. If a READ takes
 * this PSN for its response, the READ. */
typedef struct {
    smcr_psn_t read; /* PSN of the READ; 0: the request is no READ, or not known as one */
    const smcr_seen_packet_t *seen; /* history of the request's PSN; NULL: none */
} answered_t;

/* Finds the request that a response with `psn` answers. */
static answered_t
find_answered(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);

    return (answered_t){read, smcr_seen_find(&flow->psn_history, read ? read : psn)};
}

/* Frame and time of the first packet of the request. Frame 0: not known. */
static smcr_when_t
request_time(const smcr_flow_t *flow, const answered_t *request)
{
    smcr_when_t sent = smcr_reads_sent(flow->reads, request->read);

    if (sent.frame || !request->seen)
        return sent;
    return (smcr_when_t){request->seen->frame, request->seen->time};
}

/* Frame and time of the packet that a response acknowledges with `psn`: the first packet of the
 * request (request_time()). If the receiver has certainly discarded the first packet, because it
 * came after a gap, the response acknowledges the last packet with this PSN. */
static smcr_when_t
acked_time(const smcr_flow_t *flow, smcr_psn_t psn, const answered_t *request)
{
    const smcr_seen_packet_t *seen = request->seen;
    bool is_of_psn = seen && seen->psn == psn;

    return is_of_psn && smcr_seen_was_discarded(seen) && was_retransmitted(seen)
               ? smcr_seen_last(seen) : request_time(flow, request);
}

/* Whether `packet` is certainly not part of the message to which the packet with the next PSN
 * belongs: `packet` ends a message, or is a READ or atomic. `packet` NULL: the packet is missing in
 * the capture, and the result is false. */
static bool
is_of_other_message(const smcr_seen_packet_t *packet)
{
    return packet && (packet->ends || packet->fetches);
}

/* Returns the first packet of the message whose last packet is `last`. The function goes back, PSN
 * by PSN, from the LAST packet to the FIRST. Returns NULL in two cases: 1. a packet of the message
 * is missing in the capture, or the history does not keep it any more; 2. the first packet came out
 * of order, so that an earlier packet with its PSN may be missing. Sets `*again` if one of the
 * packets was retransmitted. */
static const smcr_seen_packet_t *
first_packet(const smcr_flow_t *flow, const smcr_seen_packet_t *last, bool *again)
{
    const smcr_seen_packet_t *packet = last;

    *again = was_retransmitted(last);
    while (packet && !packet->begins) {
        packet = smcr_seen_find(&flow->psn_history, packet->psn - 1);
        if (is_of_other_message(packet))
            return NULL;
        *again |= was_retransmitted(packet);
    }
    return packet && !packet->late ? packet : NULL;
}

/* A list of the messages that one response completes. */
typedef struct {
    smcr_completion_t *first; /* first message of the list; NULL: the list is empty */
    smcr_completion_t *last; /* last message of the list; NULL: the list is empty */
} list_t;

/* Appends a complete message to the list. `begin`: frame and time of its first packet. `again`: one
 * of its packets was retransmitted. */
static void
append_message(list_t *list, smcr_slab_t *slab, smcr_when_t begin, bool again)
{
    smcr_completion_t *message = smcr_slab_new(slab, sizeof *message);

    message->frame = begin.frame;
    message->time = begin.time & UINT64_MAX >> 1;
    message->was_retransmitted = again;
    if (list->last)
        list->last->next = smcr_slab_number(message);
    else
        list->first = message;
    list->last = message;
}

const smcr_completion_t *
smcr_completion_next(const smcr_completion_t *message)
{
    return message->next ? smcr_slab_beside(message, message->next) : NULL;
}

/* Frame and time of the first packet of the READ or atomic with the PSN `fetch`; frame 0: not
 * known. */
static smcr_when_t
fetch_time(const smcr_flow_t *flow, smcr_psn_t fetch)
{
    smcr_when_t read = smcr_reads_sent(flow->reads, fetch);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, fetch);

    if (read.frame || !seen || !seen->fetches || seen->late)
        return read;
    return (smcr_when_t){seen->frame, seen->time};
}

/* Returns a list, in the slab, of complete messages of `flow`; NULL: the list is empty. In the
 * list: 1. the SENDs and WRITEs whose last packet has a PSN from `from` to `to`; 2. the READ or
 * atomic with the PSN `fetch` (0: none). Not in the list: 1. any other READ or atomic, which only
 * its own response completes; 2. a message of which a packet is missing in the capture; 3. a
 * message whose first packet came out of order; 4. a message whose packets the history does not
 * keep any more. */
static const smcr_completion_t *
messages_of(const smcr_flow_t *flow, smcr_slab_t *slab, smcr_psn_t from, smcr_psn_t to,
            smcr_psn_t fetch)
{
    list_t complete = {NULL, NULL};
    smcr_when_t asked = fetch_time(flow, fetch);

    to = MIN(to, flow->highest);
    if (to >= flow->psn_history.size) /* the history does not keep older PSNs */
        from = MAX(from, to - flow->psn_history.size + 1);
    for (smcr_psn_t psn = MAX(from, flow->first); psn <= to; psn++) {
        const smcr_seen_packet_t *last = smcr_seen_find(&flow->psn_history, psn);
        bool again;
        const smcr_seen_packet_t *first =
            last && last->ends ? first_packet(flow, last, &again) : NULL;
        if (first)
            append_message(&complete, slab, (smcr_when_t){first->frame, first->time}, again);
    }
    if (asked.frame)
        append_message(&complete, slab, asked,
                       was_retransmitted(smcr_seen_find(&flow->psn_history, fetch)));
    return complete.first;
}

/* Returns the PSN of the READ or atomic that a response with `psn` completes; 0: the response
 * completes none. The LAST or ONLY packet of the response completes a READ. */
static smcr_psn_t
completed_fetch(const smcr_flow_t *flow, uint8_t opcode, smcr_psn_t psn)
{
    if (opcode == SMCR_RC_ATOMIC_ACK)
        return psn;
    if (opcode == SMCR_RC_READ_RESPONSE_LAST || opcode == SMCR_RC_READ_RESPONSE_ONLY)
        return smcr_reads_find(flow->reads, psn);
    return 0;
}

/* Returns the list of the messages that the response `packet`, with the PSN `psn`, completes. The
 * response acknowledges all PSNs up to `taken`. NULL: the response completes no message. */
static const smcr_completion_t *
complete_messages(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet,
         smcr_psn_t psn, smcr_psn_t taken)
{
    smcr_psn_t from = MAX(requests->completed_psn, requests->flow.acked_psn) + 1;

    if (taken < from)
        return NULL;
    requests->completed_psn = taken;
    return messages_of(&requests->flow, slab, from, taken,
                       completed_fetch(&requests->flow, packet->opcode, psn));
}

/* Does not change the flow, since smcr_traffic_judge() does so later: `acked_psn` of the flow is
 * still the highest PSN that earlier responses have acknowledged. If the time of the acknowledged
 * request is after that of the response, `acked_request` counts as not known. */
smcr_traffic_answer_t
smcr_traffic_read_response(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet)
{
    const smcr_flow_t *flow = &requests->flow;
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);
    smcr_traffic_answer_t answer = {.acked_psn = said.acked_psn};

    if (!said.psn)
        return answer;
    answer.acked_before = said.acked_psn <= flow->acked_psn;
    answered_t request = find_answered(flow, said.psn);
    answer.was_retransmitted = was_retransmitted(request.seen);
    if (said.kind == SMCR_IB_SYNDROME_ACK)
        answer.acked_request = acked_time(flow, said.psn, &request);
    else
        answer.refused_request = request_time(flow, &request);
    if (packet->when.time < answer.acked_request.time)
        answer.acked_request = (smcr_when_t){0, 0};
    answer.completes = complete_messages(requests, slab, packet, said.psn, said.acked_psn);
    return answer;
}

/* smcr_flow_begins_anew() is called before the verdict, which changes the flow. */
smcr_flow_verdict_t
smcr_traffic_judge(smcr_traffic_t *traffic, smcr_traffic_t *reverse, wmem_allocator_t *scope,
                   const smcr_sent_t *packet)
{
    bool anew = !smcr_ib_operations[packet->opcode].is_response && !packet->corrupt &&
                !packet->goes_on && smcr_flow_begins_anew(&traffic->flow, packet->psn);
    smcr_flow_verdict_t verdict =
        smcr_flow_judge(&traffic->flow, reverse ? &reverse->flow : NULL, scope, packet);

    if (anew)
        traffic->completed_psn = 0;
    return verdict;
}

/* ---- acknowledgements ---- */

/* Lowest and highest number of slots in the circular list of packets that are not acknowledged. If
 * the acknowledgements are missing in the capture, the list becomes full. Then each new packet
 * replaces the oldest packet, whose acknowledgement stays unknown. */
#define SLOTS_MIN 16
#define SLOTS_MAX 8192

/* A packet that is not acknowledged yet. */
typedef struct smcr_unacked_packet {
    smcr_psn_t psn; /* unwrapped PSN of the packet */
    const smcr_ack_t **acked; /* see smcr_unacked_add() */
} packet_t;

/* Returns packet number `i` of the queue, counted from the oldest packet. */
static packet_t *
slot_at(const smcr_unacked_t *unacked, uint32_t i)
{
    return &unacked->ring[(unacked->first + i) % unacked->slots];
}

/* Doubles the number of slots of the circular list; makes SLOTS_MIN slots if there are none. The
 * oldest packet moves to slot 0. */
static void
grow_list(smcr_unacked_t *unacked, wmem_allocator_t *scope)
{
    uint32_t slots = unacked->slots ? 2 * unacked->slots : SLOTS_MIN;
    packet_t *ring = wmem_alloc_array(scope, packet_t, slots);

    for (uint32_t i = 0; i < unacked->count; i++)
        ring[i] = *slot_at(unacked, i);
    wmem_free(scope, unacked->ring);
    *unacked = (smcr_unacked_t){.ring = ring, .slots = slots, .count = unacked->count};
}

/* Removes the oldest packet from the queue. */
static void
remove_oldest(smcr_unacked_t *unacked)
{
    unacked->first = (unacked->first + 1) % unacked->slots;
    unacked->count--;
}

/* If the list is full, the oldest packet is dropped: its `acked` stays as it is. */
void
smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                 const smcr_ack_t **acked)
{
    if (unacked->count == unacked->slots && unacked->slots < SLOTS_MAX)
        grow_list(unacked, scope);
    if (unacked->count == unacked->slots)
        remove_oldest(unacked);
    *slot_at(unacked, unacked->count++) = (packet_t){psn, acked};
}

void
smcr_unacked_free(smcr_unacked_t *unacked, wmem_allocator_t *scope)
{
    wmem_free(scope, unacked->ring);
    *unacked = (smcr_unacked_t){0};
}

/* All packets of one acknowledgement share one object, which counts them (smcr_ack_hold()). None is
 * made if the queue has no such packet. */
void
smcr_unacked_acknowledge(smcr_unacked_t *unacked, smcr_slab_t *slab, smcr_psn_t psn,
                         smcr_when_t when)
{
    smcr_ack_t *kept = NULL;

    while (unacked->count && slot_at(unacked, 0)->psn <= psn) {
        if (!kept) {
            kept = smcr_slab_new(slab, sizeof *kept);
            *kept = smcr_ack_new(when, psn);
        }
        *slot_at(unacked, 0)->acked = smcr_ack_hold(kept);
        remove_oldest(unacked);
    }
}
