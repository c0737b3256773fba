/* Takes packets in, tells what responses say of requests, and brings CE and CNP together, and WRITE
 * packets and their acknowledgements.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

/* When the request was sent that a response with `psn` answers, or its READ. Frame 0: not known. */
static smcr_when_t
request_of(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, read ? read : psn);
    smcr_when_t sent = smcr_reads_sent(flow->reads, read);

    if (sent.frame || !seen)
        return sent;
    return (smcr_when_t){seen->frame, seen->time};
}

static bool
is_again(const smcr_seen_packet_t *packet)
{
    return packet && smcr_seen_last(packet).frame != packet->frame;
}

/* The first packet of the message that ends with a request; NULL where the capture lacks it, or
 * where it may have been sent before. `*again`: whether one of its packets was retransmitted. */
static const smcr_seen_packet_t *
first_packet(const smcr_flow_t *flow, const smcr_seen_packet_t *last, bool *again)
{
    const smcr_seen_packet_t *packet = last;

    *again = is_again(last);
    while (packet && !packet->begins) {
        packet = smcr_seen_find(&flow->seen, packet->psn - 1);
        if (packet && (packet->ends || packet->fetches)) /* it is of another message */
            return NULL;
        *again |= is_again(packet);
    }
    return packet && !packet->late ? packet : NULL;
}

typedef struct {
    smcr_completion_t *first, *last; /* NULL: it is empty */
} list_t;

static void
append(list_t *list, smcr_slab_t *slab, smcr_when_t begin, bool again)
{
    smcr_completion_t *message = smcr_slab_new(slab, sizeof *message);

    message->frame = begin.frame;
    message->time = begin.time & UINT64_MAX >> 1;
    message->again = again;
    if (list->last)
        list->last->next = smcr_slab_number(message);
    else
        list->first = message;
    list->last = message;
}

const smcr_completion_t *
smcr_completion_next(const smcr_completion_t *message)
{
    return smcr_slab_beside(message, message->next);
}

/* When a READ or atomic was sent first; frame 0: not known. */
static smcr_when_t
asked_at(const smcr_flow_t *flow, smcr_psn_t fetch)
{
    smcr_when_t read = smcr_reads_sent(flow->reads, fetch);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, fetch);

    if (read.frame || !seen || !seen->fetches || seen->late)
        return read;
    return (smcr_when_t){seen->frame, seen->time};
}

/* The messages of `flow` whose last packet has a PSN from `from` to `to`, and the READ or atomic
 * with the PSN `fetch` (0: none); others of these are left out. NULL: there is none. They are
 * entries of the slab. Messages with a packet that the capture lacks are left out, too. */
static const smcr_completion_t *
messages_of(const smcr_flow_t *flow, smcr_slab_t *slab, smcr_psn_t from, smcr_psn_t to,
            smcr_psn_t fetch)
{
    list_t complete = {NULL, NULL};
    smcr_when_t asked = asked_at(flow, fetch);

    to = MIN(to, flow->highest);
    if (to >= flow->seen.size) /* what is older is forgotten */
        from = MAX(from, to - flow->seen.size + 1);
    for (smcr_psn_t psn = MAX(from, flow->first); psn <= to; psn++) {
        const smcr_seen_packet_t *last = smcr_seen_find(&flow->seen, psn);
        bool again;
        const smcr_seen_packet_t *first =
            last && last->ends ? first_packet(flow, last, &again) : NULL;
        if (first)
            append(&complete, slab, (smcr_when_t){first->frame, first->time}, again);
    }
    if (asked.frame)
        append(&complete, slab, asked, is_again(smcr_seen_find(&flow->seen, fetch)));
    return complete.first;
}

/* The messages that the response completes. */
static const smcr_completion_t *
complete(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet,
         smcr_psn_t psn, smcr_psn_t taken)
{
    smcr_psn_t from = MAX(requests->completed_up_to, requests->flow.taken) + 1;
    bool ends_read = packet->opcode == SMCR_RC_READ_RESPONSE_LAST ||
                     packet->opcode == SMCR_RC_READ_RESPONSE_ONLY;

    if (taken < from)
        return NULL;
    requests->completed_up_to = taken;
    return messages_of(&requests->flow, slab, from, taken,
                       packet->opcode == SMCR_RC_ATOMIC_ACK ? psn
                       : ends_read ? smcr_reads_find(requests->flow.reads, psn) : 0);
}

smcr_traffic_answer_t
smcr_traffic_answer(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet)
{
    const smcr_flow_t *flow = &requests->flow;
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);
    smcr_traffic_answer_t answer = {.taken = said.taken};

    if (!said.psn)
        return answer;
    answer.again = said.taken <= flow->taken;
    smcr_psn_t read = smcr_reads_find(flow->reads, said.psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, read ? read : said.psn);
    answer.sent_again = is_again(seen);
    if (said.kind == SMCR_IB_SYNDROME_ACK)
        answer.acks = request_of(flow, said.psn);
    else
        answer.refuses = request_of(flow, said.psn);
    if (packet->when.time < answer.acks.time)
        answer.acks = (smcr_when_t){0, 0};
    answer.completes = complete(requests, slab, packet, said.psn, said.taken);
    return answer;
}

smcr_flow_verdict_t
smcr_traffic_take(smcr_traffic_t *traffic, smcr_traffic_t *reverse, wmem_allocator_t *scope,
                  const smcr_sent_t *packet)
{
    bool anew = !smcr_ib_is_response(packet->opcode) && !packet->corrupt &&
                smcr_flow_begins_anew(&traffic->flow, packet->psn);
    smcr_flow_verdict_t verdict =
        smcr_flow_take(&traffic->flow, reverse ? &reverse->flow : NULL, scope, packet);

    if (anew)
        traffic->completed_up_to = 0;
    return verdict;
}

/* ---- congestion marks ---- */

/* Whether an earlier CNP has answered the open marks: it came before the pair was known. */
static bool
is_answered(const smcr_ecn_marks_t *marked, const smcr_when_t *cnp)
{
    return marked->open && cnp->frame > marked->open->first.frame;
}

const smcr_ecn_ce_t *
smcr_ecn_take_ce(smcr_ecn_marks_t *marks, const smcr_ecn_marks_t *peer, wmem_allocator_t *scope,
                 smcr_when_t when)
{
    if (!marks->open || (peer && is_answered(marks, &peer->cnp))) {
        marks->open = wmem_new0(scope, smcr_ecn_ce_t);
        marks->open->first = when;
    }
    return marks->open;
}

smcr_ecn_cnp_t
smcr_ecn_take_cnp(smcr_ecn_marks_t *marks, smcr_ecn_marks_t *peer, smcr_when_t when)
{
    smcr_ecn_cnp_t cnp = {.before = marks->cnp};

    marks->cnp = when;
    if (!peer || !peer->open)
        return cnp;
    if (!is_answered(peer, &cnp.before)) { /* else it is not known which marks it answers */
        cnp.ce = peer->open->first;
        peer->open->cnp = when;
    }
    peer->open = NULL;
    return cnp;
}

/* ---- acknowledgements ---- */

/* A ring that grows with what a sender has under way. Where the capture lacks the acknowledgements
 * it is full one day, and the oldest packet is given up for each new one. */
#define SLOTS_MIN 16
#define SLOTS_MAX 8192

typedef struct smcr_unacked_packet {
    smcr_psn_t psn;
    const smcr_when_t **acked;
} packet_t;

static packet_t *
slot(const smcr_unacked_t *unacked, uint32_t i)
{
    return &unacked->ring[(unacked->first + i) % unacked->slots];
}

static void
grow(smcr_unacked_t *unacked, wmem_allocator_t *scope)
{
    uint32_t slots = unacked->slots ? 2 * unacked->slots : SLOTS_MIN;
    packet_t *ring = wmem_alloc_array(scope, packet_t, slots);

    for (uint32_t i = 0; i < unacked->count; i++)
        ring[i] = *slot(unacked, i);
    wmem_free(scope, unacked->ring);
    *unacked = (smcr_unacked_t){.ring = ring, .slots = slots, .count = unacked->count};
}

static void
remove_first(smcr_unacked_t *unacked)
{
    unacked->first = (unacked->first + 1) % unacked->slots;
    unacked->count--;
}

void
smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                 const smcr_when_t **acked)
{
    if (unacked->count == unacked->slots && unacked->slots < SLOTS_MAX)
        grow(unacked, scope);
    if (unacked->count == unacked->slots)
        remove_first(unacked);
    *slot(unacked, unacked->count++) = (packet_t){psn, acked};
}

void
smcr_unacked_settle(smcr_unacked_t *unacked, smcr_slab_t *slab, smcr_psn_t psn, smcr_when_t when)
{
    smcr_when_t *kept = NULL;

    while (unacked->count && slot(unacked, 0)->psn <= psn) {
        if (!kept) {
            kept = smcr_slab_new(slab, sizeof *kept);
            *kept = when;
        }
        *slot(unacked, 0)->acked = kept;
        remove_first(unacked);
    }
}
