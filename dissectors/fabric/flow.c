/* Judges the packets of a flow by the rules of docs/fabric.md. PSNs in this file are unwrapped,
 * except those of smcr_sent_t, and where a comment says "of 24 bits". "Late" and "duplicate" are
 * the values SMCR_FLOW_IS_LATE and SMCR_FLOW_IS_COPY of smcr_flow_order_t; a "new" PSN is above all
 * earlier ones.
 *
 * Functions call functions of earlier sections, so read the file from its end. smcr_flow_judge()
 * separates requests from responses. copies.c finds whether a request is a duplicate. Section
 * "order" finds the verdict on every other request. Section "the receiver" finds what the receiver
 * does with the request. Section "steps back" finds why the request was retransmitted.
 * acknowledged.c finds what a response says about the requests of the reverse flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 * */

#include "flow.h"

#include "acknowledged.h"
#include "copies.h"

/* Nanoseconds. If a capture is out of order, only packets with nearly the same time are in the
 * wrong order. Packets whose times differ by more than this are in the right order. */
#define DISORDER_TIME UINT64_C(5000000)

/* So many packets in a row that come before their acknowledgements show that the capture is in
 * order. */
#define TIMELY_LEAST 4

/* Nanoseconds. A sender that goes back retransmits its packets without a longer pause. */
#define BURST_PAUSE UINT64_C(1000000)

/* Nanoseconds. In less time, no sender sends so many packets that their PSNs wrap. */
#define WRAP_TIME UINT64_C(100000000)

/* A request. The verdict on it depends on these members and on the state of its flow. */
typedef struct {
    const smcr_sent_t *packet; /* the headers of the request */
    smcr_psn_t highest;      /* highest PSN of the flow before this request */
    uint32_t reverse_carried; /* number of packets of the reverse flow so far; 0: none, or the
                                 reverse flow is not known */
} request_t;

/* ---- the history of PSNs ---- */

/* Adds a PSN to the history of the flow. The history has to keep all PSNs that the peer has not
 * acknowledged. If the peer has acknowledged nothing, the history keeps as many PSNs as it has room
 * for. Returns NULL if the PSN is so old that its slot has a newer PSN. */
static smcr_seen_packet_t *
add_to_history(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn,
               const smcr_sent_t *packet)
{
    uint64_t under_way = flow->has_acks ? flow->highest - MIN(flow->acked_psn, flow->highest)
                                            : UINT64_MAX;

    return smcr_seen_add(&flow->psn_history, scope, psn, under_way, packet);
}

/* ---- the beginning ---- */

/* Begins the flow with a request whose PSN is `psn`, of 24 bits. */
static void
begin_at(smcr_flow_t *flow, uint32_t psn)
{
    flow->first = flow->expected_psn = smcr_psn_begin(psn);
    flow->highest = flow->first - 1;
    flow->acked_psn = 0;
}

void
smcr_flow_announce(smcr_flow_t *flow, uint32_t psn)
{
    if (flow->first)
        return;
    begin_at(flow, psn);
    flow->first_announced = true;
}

/* Begins the flow anew, for a new connection with this queue pair number, with a request whose PSN
 * is `psn`, of 24 bits. Each member of the flow that has a PSN, or a step of the earlier
 * connection, is reset: packets of the new connection must not be compared with it. */
static void
begin_new_life(smcr_flow_t *flow, uint32_t psn)
{
    flow->gaps.count = 0;
    flow->came_in_gaps = 0;
    flow->filled_gaps.count = flow->lost_later.count = 0;
    flow->corrupt_from = 0;
    flow->steps = (smcr_steps_t){0};
    flow->repeats = (smcr_flow_repeats_t){0};
    flow->psn_history = (smcr_seen_t){0};
    flow->reads = NULL;
    flow->unproven = flow->refused_psn = flow->discarded_up_to = 0;
    flow->sent_psn = flow->burst_psn = 0;
    flow->last_refusal_frame = flow->other_refusal_frame = flow->last_response_frame = 0;
    flow->first_announced = flow->has_acks = false;
    flow->copies = (smcr_flow_copies_t){0};
    flow->mtu = 0;
    flow->far = (smcr_flow_far_t){0};
    flow->early_ack = (smcr_flow_early_t){0};
    begin_at(flow, psn);
}

bool
smcr_flow_is_next(const smcr_flow_t *flow, uint32_t psn)
{
    return !flow->highest || ((flow->highest + 1) & SMCR_PSN_MASK) == psn;
}

bool
smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn)
{
    return flow->psn_history.used && smcr_flow_is_far(flow, psn);
}

/* If the flow has no history of its highest PSN, the second condition is false. */
bool
smcr_flow_can_go_on(const smcr_flow_t *flow, uint32_t psn, smcr_when_t when)
{
    const smcr_seen_packet_t *last = smcr_seen_find(&flow->psn_history, flow->highest);

    if (smcr_psn_distance((uint32_t)(flow->highest & SMCR_PSN_MASK), psn) > 0)
        return true;
    return last && when.time > smcr_seen_last(last).time + WRAP_TIME;
}

/* Returns the unwrapped PSN of a request with `psn`, of 24 bits, that continues the flow after a
 * part of the flow was not captured. The result is above all earlier PSNs of the flow. */
static smcr_psn_t
psn_after_missing(const smcr_flow_t *flow, uint32_t psn)
{
    smcr_psn_t near = smcr_psn_near(flow->highest, psn);

    return near > flow->highest ? near : near + SMCR_PSN_MASK + 1;
}

void
smcr_flow_note_far(smcr_flow_t *flow, uint32_t frame, uint32_t psn)
{
    smcr_flow_far_t *far = &flow->far;
    bool is_successive = far->frame && psn == ((far->psn + 1) & SMCR_PSN_MASK);

    *far = (smcr_flow_far_t){frame, psn, is_successive ? far->count + 1 : 1};
}

/* Returns how many requests that were noted by smcr_flow_note_far() have the PSNs directly before
 * `packet`. Only `packet` proves that these requests belong to the flow. They were captured, so
 * they do not count as missing. */
static uint32_t
count_far_before(const smcr_flow_t *flow, const smcr_sent_t *packet)
{
    const smcr_flow_far_t *far = &flow->far;

    /* the noted request is `packet` itself */
    if (far->frame == packet->when.frame && far->psn == packet->psn)
        return far->count - 1;
    return far->frame && packet->psn == ((far->psn + 1) & SMCR_PSN_MASK) ? far->count : 0;
}

/* ---- the path MTU, and how many PSNs a READ takes ---- */

/* Notes that the requests of the flow take the PSNs up to `psn`: raises `highest` to `psn`, if
 * `highest` is lower. */
static void
raise_highest(smcr_flow_t *flow, smcr_psn_t psn)
{
    if (psn > flow->highest)
        flow->highest = psn;
}

/* Learns that the path MTU is `mtu` bytes; 0: not known, and nothing is learned. `flow` may be
 * NULL. */
static void
set_mtu(smcr_flow_t *flow, uint32_t mtu)
{
    if (!flow || flow->mtu == mtu || mtu == 0)
        return;
    flow->mtu = mtu;
    raise_highest(flow, smcr_reads_settle(flow->reads, mtu));
}

/* ---- order ---- */

/* Records that the PSNs from `from` to `to` - 1 are missing. `frame`: frame of the first packet
 * after these PSNs. */
static void
add_gap(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t from, smcr_psn_t to, uint32_t frame)
{
    smcr_range_t gap = {
        .from = from, .to = to, .frame_before = flow->highest_frame, .frame_after = frame};

    if (flow->gaps.count == SMCR_FLOW_GAPS_KEPT) /* the lowest two become one */
        flow->came_in_gaps += (uint32_t)(flow->gaps.list[1].from - flow->gaps.list[0].to);
    smcr_ranges_append(&flow->gaps, scope, SMCR_FLOW_GAPS_KEPT, gap);
}

/* Records that `psn` is not missing any more. */
static void
fill_gap(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn)
{
    bool is_removed = smcr_ranges_remove(&flow->gaps, scope, SMCR_FLOW_GAPS_KEPT, psn, psn + 1);

    if (!is_removed && smcr_ranges_find(&flow->gaps, psn, psn + 1))
        flow->came_in_gaps++;
}

/* Only PSNs up to the last acknowledged one count: a later gap may still be filled. Ranges that
 * became one are the lowest ones, so `came_in_gaps` is subtracted only if all of the lowest range
 * is acknowledged. */
smcr_flow_lack_t
smcr_flow_lack(const smcr_flow_t *flow)
{
    if (!flow)
        return (smcr_flow_lack_t){.is_known = false};
    smcr_psn_t end = flow->acked_psn + 1;
    const smcr_range_t *first = smcr_ranges_find(&flow->gaps, 0, end);
    bool is_joined = flow->came_in_gaps != 0;
    if (is_joined && (!first || flow->gaps.list[0].to > end))
        return (smcr_flow_lack_t){.is_known = false};
    return (smcr_flow_lack_t){.is_known = true,
                              .packets = smcr_ranges_count(&flow->gaps, 0, end) -
                                         flow->came_in_gaps,
                              .frame = first && !is_joined ? (uint32_t)first->frame_after : 0};
}

/* Whether a packet with `psn`, which is at most the highest PSN, is late: no earlier packet had
 * this PSN, and `psn` is in a gap or before the first PSN of the flow. */
static bool
is_late(const smcr_flow_t *flow, smcr_psn_t psn)
{
    return !smcr_seen_find(&flow->psn_history, psn) &&
           !smcr_reads_find(flow->reads, psn) &&
           (psn < flow->first || smcr_ranges_find(&flow->gaps, psn, psn + 1));
}

/* Returns the lowest gap before `psn` that acknowledgements do not wholly cover. The receiver of a
 * reliable connection discards the packet with `psn` as long as that gap is open. NULL: there is no
 * open gap, the connection is unreliable, the packet has a wrong ICRC, or no acknowledgement has
 * come so far. Without acknowledgements nothing is proven: both the packets in the gap and the
 * responses may be missing in the capture. */
static const smcr_range_t *
find_open_gap(const smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn)
{
    if (packet->opcode >= SMCR_RC_OPCODES || packet->corrupt || !flow->has_acks)
        return NULL;
    return smcr_ranges_find(&flow->gaps, MAX(flow->acked_psn + 1, flow->first), psn);
}

/* Allocates `discard_proof` for a packet that came after a gap: 0 until a later frame proves that
 * the receiver has discarded the packet, then the number of that frame. */
static void
begin_proof(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_seen_packet_t *seen,
            smcr_flow_verdict_t *verdict)
{
    verdict->discard_proof = smcr_seen_rare(seen, scope)->discard_proof =
        wmem_new0(scope, uint32_t);
    flow->unproven = flow->unproven ? flow->unproven : verdict->psn;
}

/* Finds the order of a request whose PSN is above all earlier PSNs: SMCR_FLOW_IS_NEXT or
 * SMCR_FLOW_IS_AFTER_GAP. Records the PSNs between the highest earlier PSN and the PSN of the
 * request as missing. */
static void
judge_new_order(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
                smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;

    if (flow->highest + 1 < psn) {
        verdict->missing = (uint32_t)(psn - flow->highest - 1);
        if (packet->goes_on)
            verdict->missing -= count_far_before(flow, packet);
        add_gap(flow, scope, flow->highest + 1, psn, packet->when.frame);
    }
    const smcr_range_t *gap = find_open_gap(flow, packet, psn);
    verdict->after_gap_frame = gap ? gap->frame_after : 0;
    verdict->order = verdict->after_gap_frame ? SMCR_FLOW_IS_AFTER_GAP : SMCR_FLOW_IS_NEXT;
}

/* Whether a packet with `psn`, which comes after its acknowledgement, follows a retransmission. */
static bool
follows_repeat(const smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn)
{
    const smcr_steps_t *steps = &flow->steps;

    return steps->last_is_repeat && psn == steps->last_request + 1 &&
           packet->when.time < steps->last_activity + DISORDER_TIME;
}

/* Whether a packet whose PSN is above all earlier ones is a retransmission whose first transmission
 * is not captured: its acknowledgement came before it. The capture may also be out of order: then
 * most packets come after their acknowledgements, or this packet comes at most DISORDER_TIME after
 * its acknowledgement, and the result is false. A packet that follows a retransmission is a
 * retransmission in any case. Counts the packets in a row that come before their acknowledgements
 * (`timely`). */
static bool
comes_after_ack(smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn)
{
    if (psn > flow->acked_psn) {
        flow->timely++;
        return false;
    }
    bool is_usually_timely = flow->timely >= TIMELY_LEAST;
    flow->timely = 0;
    return (is_usually_timely && packet->when.time > flow->acked_time + DISORDER_TIME) ||
           follows_repeat(flow, packet, psn);
}

/* Whether the capture may miss the first transmission of a packet whose PSN is above all earlier
 * ones. One of three conditions is enough: 1. a NAK or RNR NAK proves that the PSN was sent before;
 * 2. the packet was acknowledged before (`is_old`); 3. the packet follows such a packet in one
 * burst. A sender that goes back retransmits all that it has sent since, and the capture does
 * not show how much that is. If true, notes the packet as the last one of the burst. */
static bool
misses_first(smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn, bool is_old)
{
    bool follows = flow->burst_psn && psn == flow->burst_psn + 1 &&
                   packet->when.time < flow->burst_time + BURST_PAUSE;

    if (!is_old && !follows && psn > flow->sent_psn)
        return false;
    flow->burst_psn = psn;
    flow->burst_time = packet->when.time;
    return true;
}

/* Notes a request with the PSN `psn`, above all earlier ones, if it comes in one burst with
 * retransmissions that the receiver has not answered. */
static void
join_repeats(smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn)
{
    if (!flow->repeats.count) /* as nearly always */
        return;
    bool is_burst = flow->steps.last_request + 1 == psn &&
                    packet->when.time < flow->steps.last_activity + BURST_PAUSE;
    smcr_psn_t last = MAX(flow->repeats.until, flow->repeats.joined);
    if (is_burst && psn == last + 1)
        flow->repeats.joined = psn;
}

/* Takes in a request whose PSN is above all earlier PSNs. The order of the steps matters: 1.
 * `highest` is raised over the PSNs of an earlier READ, whose end is known now; 2. the order of the
 * request is judged by `highest`; 3. `highest` is raised to the PSNs of the request itself. */
static void
take_new(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
         smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;

    join_repeats(flow, packet, psn);
    verdict->is_old = comes_after_ack(flow, packet, psn);
    verdict->first_missing = misses_first(flow, packet, psn, verdict->is_old);
    verdict->original = !verdict->first_missing;
    raise_highest(flow, smcr_reads_end(flow->reads, psn));
    judge_new_order(flow, scope, packet, verdict);
    flow->highest = psn;
    flow->highest_frame = packet->when.frame;
    if (packet->corrupt && !flow->corrupt_from)
        flow->corrupt_from = psn;
    smcr_seen_packet_t *seen = add_to_history(flow, scope, psn, packet);
    if (seen && verdict->after_gap_frame)
        begin_proof(flow, scope, seen, verdict);
    if (packet->opcode == SMCR_RC_READ_REQUEST)
        raise_highest(flow, smcr_reads_add(&flow->reads, scope, psn, packet, flow->mtu));
}

/* Records between which two frames `psn` was missing, when a late packet in `frame` fills `gap`. If
 * a NAK has named `psn` or a lower PSN, `psn` was still missing at the receiver in the frame of the
 * NAK. */
static void
note_filled_gap(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_range_t *gap,
                smcr_psn_t psn, uint32_t frame)
{
    bool was_refused = flow->refused_psn && flow->refused_psn <= psn;
    smcr_range_t lacked = {
        .from = psn,
        .to = psn + 1,
        .frame_before = MAX(gap->frame_before, was_refused ? flow->last_refusal_frame : 0),
        .frame_after = frame,
    };

    smcr_ranges_append(&flow->filled_gaps, scope, SMCR_FLOW_LACKED_KEPT, lacked);
}

/* Handles a late READ: the PSNs that the READ takes for its responses are not missing any more. */
static void
take_late_read(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
               smcr_psn_t psn)
{
    smcr_psn_t last = smcr_reads_add_late(&flow->reads, scope, psn, packet, flow->mtu);

    while (++psn <= MIN(last, flow->highest))
        fill_gap(flow, scope, psn);
    raise_highest(flow, last);
}

/* Takes in a late packet: its PSN was missing until now. The network has reordered the packet, or
 * the packet is a retransmission and the capture misses an earlier packet with the PSN. */
static void
take_late(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
          smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;
    const smcr_range_t *gap = smcr_ranges_find(&flow->gaps, psn, psn + 1);

    verdict->order = SMCR_FLOW_IS_LATE;
    verdict->original = false;
    if (gap) {
        verdict->overtaken_by = gap->frame_after;
        note_filled_gap(flow, scope, gap, psn, packet->when.frame);
    }
    if (!packet->corrupt)
        fill_gap(flow, scope, psn);
    smcr_seen_packet_t *seen = add_to_history(flow, scope, psn, packet);
    if (seen)
        seen->late = true;
    if (packet->opcode == SMCR_RC_READ_REQUEST && !packet->corrupt)
        take_late_read(flow, scope, packet, psn);
}

/* Whether a retransmission proves that the peer has stopped answering. The proof is the third
 * retransmission of one PSN, if no packet of the reverse flow has come between these
 * retransmissions. `reverse_carried`: number of packets of the reverse flow so far. If it is 0,
 * nothing is proven, because the whole reverse flow may be missing in the capture. Returns true
 * only for one packet of each silence. */
static bool
is_silence(smcr_flow_t *flow, uint32_t reverse_carried, smcr_seen_rare_t *more)
{
    enum { REPEATS = 3 };

    if (!reverse_carried)
        return false;
    if (more->reverse_packets_before != reverse_carried) {
        more->reverse_packets_before = reverse_carried;
        more->retransmissions = 0;
    }
    if (more->retransmissions < REPEATS)
        more->retransmissions++;
    if (more->retransmissions < REPEATS || flow->reverse_count_at_silence == reverse_carried)
        return false;
    flow->reverse_count_at_silence = reverse_carried;
    return true;
}

/* Frame and time of the first packet with `psn`. If a READ takes `psn` for its response: frame and
 * time of the READ request. Frame 0: the flow no longer keeps that packet. */
static smcr_when_t
first_packet_of(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, read ? read : psn);

    if (seen)
        return (smcr_when_t){seen->frame, seen->time};
    return smcr_reads_sent(flow->reads, read == psn ? 0 : read);
}

/* Handles a retransmission with a right ICRC, if no earlier packet with `psn` is known to have had
 * one: `psn` is not missing any more, nor are the higher PSNs of a READ that takes `psn`. */
static void
take_first_good(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);

    do
        fill_gap(flow, scope, psn++);
    while (read && psn <= flow->highest && smcr_reads_find(flow->reads, psn) == read);
    if (flow->corrupt_from && flow->corrupt_from < psn)
        flow->corrupt_from = psn <= flow->highest ? psn : 0;
}

/* Returns the frame of the last packet with the PSN, if a NAK or RNR NAK has named the PSN, or a
 * lower PSN, since that packet. Then the receiver waits for the named PSN, and has not accepted the
 * packet. Returns 0 if this is not proven, or if an acknowledgement covers the PSN. */
static uint32_t
find_refused(const smcr_flow_t *flow, const smcr_seen_packet_t *seen,
             const smcr_flow_verdict_t *verdict)
{
    uint32_t last = smcr_seen_last(seen).frame;
    bool is_refused = flow->refused_psn <= verdict->psn && flow->last_refusal_frame > last;

    return is_refused && !verdict->acked_before ? last : 0;
}

/* Compares a retransmission with `seen`, the history of its PSN, for the verdict. Adds the packet
 * to the history, unless its ICRC is wrong. */
static void
compare_with_history(smcr_flow_t *flow, wmem_allocator_t *scope, const request_t *request,
                     smcr_seen_packet_t *seen, smcr_flow_verdict_t *verdict)
{
    const smcr_sent_t *packet = request->packet;
    smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);

    if (!verdict->acked_before && smcr_seen_awaits_proof(seen))
        *more->discard_proof = packet->when.frame; /* proof: a sender retransmits packets that the
                                                      receiver has discarded */
    verdict->first_discarded = smcr_seen_was_discarded(seen);
    verdict->first_good = !seen->had_good_icrc && !packet->corrupt;
    if (!packet->corrupt) {
        verdict->refused_frame = find_refused(flow, seen, verdict);
        seen->had_good_icrc = true;
        smcr_seen_retransmit(seen, scope, packet);
    }
    if (packet->opcode < SMCR_RC_OPCODES)
        verdict->peer_silent = is_silence(flow, request->reverse_carried, more);
}

/* Whether the first packet with a retransmitted PSN may have been lost between the capture point
 * and the receiver: as far as the capture shows, the receiver has taken in the PSN, but no
 * acknowledgement has covered it so far. */
static bool
may_be_lost_later(const smcr_flow_t *flow, const smcr_flow_verdict_t *verdict)
{
    return !verdict->acked_before && verdict->psn < flow->expected_psn;
}

/* Takes in a retransmission. A sender may retransmit only the last part of a READ. The PSN of such
 * a request lies in the middle of the first READ and has no history yet; the history of this PSN
 * begins now. */
static void
take_retransmission(smcr_flow_t *flow, wmem_allocator_t *scope, const request_t *request,
                    smcr_flow_verdict_t *verdict)
{
    const smcr_sent_t *packet = request->packet;
    smcr_psn_t psn = verdict->psn;
    smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, psn);

    verdict->order = SMCR_FLOW_IS_RETRANSMISSION;
    verdict->acked_before = flow->acked_psn >= psn;
    verdict->first = first_packet_of(flow, psn);
    verdict->original = seen && seen->frame == verdict->first.frame && !seen->late;
    if (!packet->corrupt && (!seen || !seen->had_good_icrc))
        take_first_good(flow, scope, psn);
    if (!seen) {
        add_to_history(flow, scope, psn, packet);
        return;
    }
    if (may_be_lost_later(flow, verdict))
        smcr_ranges_add(&flow->lost_later, scope, SMCR_FLOW_LACKED_KEPT, seen->frame,
                        packet->when.frame);
    compare_with_history(flow, scope, request, seen, verdict);
}

/* ---- the receiver ---- */

/* Whether the PSN before `psn` belongs to a READ whose request the receiver has accepted. */
static bool
follows_taken_read(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = psn > flow->expected_psn ? smcr_reads_find(flow->reads, psn - 1) : 0;

    return read && read < flow->expected_psn;
}

/* Whether the receiver takes in this request as the next one. Any of four conditions is enough:
 *
 * - The request has the expected PSN.
 * - An acknowledgement covers the PSN before the request, and came DISORDER_TIME or more before
 *   the request: the receiver has all earlier requests, even if some are missing in the capture. If
 *   the acknowledgement came less than DISORDER_TIME before, the earlier requests may still come in
 *   the capture.
 * - `psn` follows a READ whose request the receiver has taken in. The PSNs in between belong to the
 *   response of the READ.
 * - The capture has no acknowledgement of the flow, and the request is the next one of the flow
 *   (SMCR_FLOW_IS_NEXT). Then missing PSNs count as missing in the capture only. */
static bool
is_expected(const smcr_flow_t *flow, const smcr_sent_t *packet, const smcr_flow_verdict_t *verdict)
{
    bool is_after_acked = verdict->psn == flow->acked_psn + 1 &&
                          packet->when.time >= flow->acked_time + DISORDER_TIME;
    bool is_next_without_acks = !flow->has_acks && verdict->order == SMCR_FLOW_IS_NEXT;

    return verdict->psn == flow->expected_psn || is_after_acked || is_next_without_acks ||
           follows_taken_read(flow, verdict->psn);
}

/* Returns what a receiver that expects a lower PSN does with a request. `is_known`: an earlier
 * packet had the PSN, and its ICRC was not wrong. If the PSN that the last NAK named is still
 * missing at the receiver, the receiver discards the request; this is noted in
 * `discarded_up_to`. */
static smcr_flow_receiver_action_t
fate_out_of_order(smcr_flow_t *flow, smcr_psn_t psn, bool is_known)
{
    if (is_known)
        return SMCR_FLOW_RECEIVER_DROPS;
    if (flow->refused_psn >= flow->expected_psn)
        flow->discarded_up_to = MAX(flow->discarded_up_to, psn);
    return SMCR_FLOW_RECEIVER_WAITS;
}

/* Returns what the receiver does with a request, and raises `expected_psn` if the receiver takes it
 * in. If the request is the next one of the flow (SMCR_FLOW_IS_NEXT), the sender is not
 * retransmitting lower PSNs. So the receiver has accepted the captured lower PSNs, and
 * `expected_psn` is raised past them first (smcr_flow_advance_in_order()). */
static smcr_flow_receiver_action_t
fate_of(smcr_flow_t *flow, const smcr_sent_t *packet, const smcr_flow_verdict_t *verdict)
{
    bool is_known = verdict->order == SMCR_FLOW_IS_RETRANSMISSION && !verdict->first_good;

    if (packet->corrupt)
        return SMCR_FLOW_RECEIVER_DROPS;
    if (verdict->order == SMCR_FLOW_IS_NEXT)
        smcr_flow_advance_in_order(flow, verdict->psn, true);
    if (verdict->psn < flow->expected_psn)
        return is_known ? SMCR_FLOW_RECEIVER_DROPS : SMCR_FLOW_RECEIVER_HAD_IT;
    if (packet->opcode < SMCR_RC_OPCODES && !is_expected(flow, packet, verdict))
        return fate_out_of_order(flow, verdict->psn, is_known);
    flow->expected_psn = verdict->psn + 1;
    return SMCR_FLOW_RECEIVER_TAKES;
}

/* ---- steps back ---- */

/* Converts the order of a request to the kind that step_back.h uses. */
static smcr_step_request_kind_t
request_kind(smcr_flow_order_t order)
{
    if (order == SMCR_FLOW_IS_RETRANSMISSION)
        return SMCR_STEP_REQUEST_RETRANSMITTED;
    return order == SMCR_FLOW_IS_LATE ? SMCR_STEP_REQUEST_LATE : SMCR_STEP_REQUEST_NEW;
}

/* Whether the IPv4 identification of a retransmission or late packet proves its place in the order
 * in which the sender sent its packets. False if the flow no longer keeps the first packet with its
 * PSN. */
static bool
has_sender_order(const smcr_flow_t *flow, const smcr_sent_t *packet,
                 const smcr_flow_verdict_t *verdict)
{
    return packet->ip_id >= 0 && verdict->first.frame && smcr_flow_knows_copies(flow);
}

/* Sets the members of `sent` that apply only to retransmissions. `seen`: the history of the
 * request's PSN; NULL: there is none. */
static void
describe_retransmission(const smcr_flow_t *flow, const smcr_seen_packet_t *seen, uint8_t opcode,
                        smcr_step_request_t *sent)
{
    if (seen && seen->rare)
        sent->steps = seen->rare->steps;
    sent->is_atomic = opcode == SMCR_RC_CMP_SWAP || opcode == SMCR_RC_FETCH_ADD;
    if (opcode != SMCR_RC_READ_REQUEST)
        return;
    smcr_psn_t read = smcr_reads_find(flow->reads, sent->psn);
    sent->reads_again = read != 0;
    sent->reads_from_within = read && read != sent->psn;
}

/* Finds the step back that the request belongs to, and records that step in the history of the
 * PSN. */
static void
find_step(smcr_flow_t *flow, wmem_allocator_t *scope, const request_t *request,
          smcr_flow_verdict_t *verdict)
{
    const smcr_sent_t *packet = request->packet;
    smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, verdict->psn);
    smcr_step_request_t sent = {
        .kind = request_kind(verdict->order),
        .psn = verdict->psn,
        .highest = request->highest,
        .acked = MAX(flow->acked_psn, flow->first - 1),
        .when = packet->when,
        .id = (uint16_t)packet->ip_id,
        .reverse_has_carried = request->reverse_carried != 0,
    };

    if (sent.kind != SMCR_STEP_REQUEST_NEW)
        sent.has_sender_order = has_sender_order(flow, packet, verdict);
    if (sent.kind == SMCR_STEP_REQUEST_RETRANSMITTED)
        describe_retransmission(flow, seen, packet->opcode, &sent);
    smcr_step_taken_t taken = smcr_steps_take(&flow->steps, scope, &sent);
    verdict->step = taken.step;
    if (seen && (seen->rare || taken.steps.last || taken.steps.tentative))
        smcr_seen_rare(seen, scope)->steps = taken.steps;
}

/* ---- requests ---- */

/* Sets verdict->psn, the unwrapped PSN of a request. The first request begins the flow, unless its
 * first PSN was announced. A request whose PSN is too far away begins the flow anew
 * (begin_new_life()), unless its content proves that the flow goes on (`goes_on` of smcr_sent_t). A
 * request with a wrong ICRC never begins a flow, because its PSN may be wrong. */
static void
unwrap_psn(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
       smcr_flow_verdict_t *verdict)
{
    if (packet->corrupt) {
        verdict->psn = flow->first ? smcr_psn_near(flow->highest, packet->psn) : 0;
        return;
    }
    if (!flow->first) {
        begin_at(flow, packet->psn);
        smcr_flow_take_early_ack(flow, scope);
    } else if (smcr_flow_is_far(flow, packet->psn)) {
        if (packet->goes_on) {
            verdict->psn = psn_after_missing(flow, packet->psn);
            return;
        }
        begin_new_life(flow, packet->psn);
        smcr_flow_take_id(flow, packet);
    }
    verdict->psn = smcr_psn_near(flow->highest, packet->psn);
}

/* Whether `psn` continues a retransmission: the PSN of the last request is below the highest, and
 * `psn` is the PSN directly after the last request. False if both PSNs belong to the same READ. */
static bool
continues_retransmission(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t last = flow->steps.last_request;

    if (last >= flow->highest || psn != last + 1)
        return false;
    smcr_psn_t read = smcr_reads_find(flow->reads, last);
    return !read || smcr_reads_find(flow->reads, psn) != read;
}

/* Whether `psn` is a PSN that the sender may send next. Used for requests with a wrong ICRC: if the
 * result is true, the PSN of the request is likely to be right, and the request counts as sent. */
static bool
comes_next(const smcr_flow_t *flow, smcr_psn_t psn)
{
    return flow->first &&
           (psn == flow->highest + 1 || continues_retransmission(flow, psn));
}

/* Called for a request with a right ICRC. If the requests directly before this request had wrong
 * ICRCs, their PSNs are missing at the receiver. These PSNs become a gap, which begins with
 * `corrupt_from`. PSNs above `psn` that were sent before stay in the run. */
static void
close_corrupt_run(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn, uint32_t frame)
{
    if (!flow->corrupt_from || psn < flow->corrupt_from)
        return;
    if (flow->corrupt_from < psn)
        add_gap(flow, scope, flow->corrupt_from, MIN(psn, flow->highest + 1), frame);
    flow->corrupt_from = psn < flow->highest ? psn + 1 : 0;
}

/* Notes that the receiver answers the request if it already had it (smcr_flow_await_repeat()). Only
 * a retransmission that is no duplicate counts (smcr_flow_has_no_copies()); a READ or atomic has
 * answers of another kind. Nothing is noted of a request that comes in order. */
static void
await_repeat(smcr_flow_t *flow, wmem_allocator_t *scope, const request_t *request,
             const smcr_flow_verdict_t *verdict)
{
    const smcr_sent_t *packet = request->packet;
    bool is_certain = verdict->order == SMCR_FLOW_IS_RETRANSMISSION && !packet->corrupt &&
                      smcr_flow_has_no_copies(flow);

    if (verdict->order != SMCR_FLOW_IS_NEXT)
        smcr_flow_await_repeat(flow, scope, verdict->step,
                               is_certain && !smcr_ib_operations[packet->opcode].fetches_data);
}

/* Takes in a request that is not a duplicate, and sets what the verdict says of its order, of a
 * step back, and of the receiver. A PSN above the highest one is new. Any other PSN is late
 * (is_late()) or retransmitted. */
static void
take_original(smcr_flow_t *flow, wmem_allocator_t *scope, const request_t *request,
              smcr_flow_verdict_t *verdict)
{
    const smcr_sent_t *packet = request->packet;

    if (!packet->corrupt)
        close_corrupt_run(flow, scope, verdict->psn, packet->when.frame);
    if (verdict->psn > request->highest)
        take_new(flow, scope, packet, verdict);
    else if (is_late(flow, verdict->psn))
        take_late(flow, scope, packet, verdict);
    else
        take_retransmission(flow, scope, request, verdict);
    if (packet->opcode < SMCR_RC_OPCODES)
        find_step(flow, scope, request, verdict);
    await_repeat(flow, scope, request, verdict);
    verdict->receiver_action = fate_of(flow, packet, verdict);
}

/* Takes in a request. A duplicate is not taken in. Nor is a request with a wrong ICRC, since its
 * PSN may be wrong, unless the sender may have sent this PSN next (comes_next()).
 * `reverse_carried`: number of packets of the reverse flow so far. */
static void
take_request(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
             uint32_t reverse_carried, smcr_flow_verdict_t *verdict)
{
    unwrap_psn(flow, scope, packet, verdict);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, verdict->psn);
    smcr_when_t copied = smcr_flow_copied_packet(flow, seen, packet);

    if (copied.frame) {
        verdict->order = SMCR_FLOW_IS_COPY;
        verdict->receiver_action = SMCR_FLOW_RECEIVER_DROPS;
        verdict->first = copied;
    } else if (packet->corrupt && !comes_next(flow, verdict->psn)) {
        verdict->receiver_action = SMCR_FLOW_RECEIVER_DROPS; /* the ICRC is wrong, so the PSN may be
                                                                wrong */
    } else {
        request_t request = {packet, flow->highest, reverse_carried};
        flow->copies.requests += flow->copies.timed != 0;
        take_original(flow, scope, &request, verdict);
    }
}

/* ---- packets ---- */

/* Learns from the IPv4 identification and the length of a packet with a right ICRC. The payload of
 * a FIRST or MIDDLE packet always has the length of the path MTU, which is the same in both
 * directions. `operation`: the low five bits of the opcode, without the service. */
static void
take_properties(smcr_flow_t *flow, smcr_flow_t *reverse, const smcr_sent_t *packet,
                uint8_t operation)
{
    smcr_flow_take_id(flow, packet);
    if (!smcr_ib_operations[operation].is_first_or_middle)
        return;
    set_mtu(flow, packet->payload_length);
    set_mtu(reverse, packet->payload_length);
}

/* Judges a response with a right ICRC. If the response is not a duplicate, also learns what the
 * response says about the requests of `reverse`; NULL: the reverse flow is not known. Of a
 * duplicate or retransmission, `first` of the verdict has the frame of the earlier response, and no
 * time. */
static void
judge_response(smcr_flow_t *flow, smcr_flow_t *reverse, wmem_allocator_t *scope,
               const smcr_sent_t *packet, smcr_flow_verdict_t *verdict)
{
    smcr_response_grounds_t grounds = smcr_flow_response_grounds(flow, reverse, packet);
    bool copy;
    uint32_t earlier = smcr_responses_take(&flow->responses, scope, packet, grounds, &copy);

    if (earlier) {
        verdict->order = copy ? SMCR_FLOW_IS_COPY : SMCR_FLOW_IS_RETRANSMISSION;
        verdict->first = (smcr_when_t){earlier, 0};
    }
    if (reverse && !copy) {
        reverse->last_response_frame = packet->when.frame;
        smcr_flow_settle_repeats(reverse, packet, smcr_flow_has_no_copies(flow));
        smcr_flow_take_response(reverse, scope, packet);
    }
}

/* Identifications and the path MTU are learned first, since the verdict needs them. `packet_count`
 * is raised last, since the verdict needs the number of earlier packets. */
smcr_flow_verdict_t
smcr_flow_judge(smcr_flow_t *flow, smcr_flow_t *reverse, wmem_allocator_t *scope,
                const smcr_sent_t *packet)
{
    smcr_flow_verdict_t verdict = {.first = packet->when, .original = true};
    uint8_t operation = packet->opcode & (uint8_t)~SMCR_MASK_SERVICE;
    bool is_request = packet->opcode < SMCR_RD && !smcr_ib_operations[operation].is_response;

    if (!packet->corrupt)
        take_properties(flow, reverse, packet, operation);
    if (packet->corrupt && !is_request)
        verdict.receiver_action = SMCR_FLOW_RECEIVER_DROPS; /* the response has a wrong ICRC, so its
                                                               receiver discards it */
    else if (smcr_ib_operations[packet->opcode].is_response)
        judge_response(flow, reverse, scope, packet, &verdict);
    else
        take_request(flow, scope, packet, reverse ? reverse->packet_count : 0, &verdict);
    flow->packet_count += verdict.order != SMCR_FLOW_IS_COPY && !packet->corrupt;
    return verdict;
}

const smcr_seen_packet_t *
smcr_flow_psn_history(const smcr_flow_t *flow, uint32_t psn)
{
    return flow->first ? smcr_seen_find(&flow->psn_history, smcr_psn_near(flow->highest, psn))
                       : NULL;
}
