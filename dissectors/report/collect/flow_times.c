/* Durations in an RDMA flow: retransmissions, waits after RNR NAKs, silence of the peer.
 *
 * The peer is silent if it sends nothing while the flow retransmits requests that nobody has
 * answered. A silence begins with the peer's last packet, or with the first request after that
 * packet. It lasts until the peer's next packet, or until the last retransmission if the sender has
 * given up before that. Only retransmissions by the sender's own timer prove a silence. After a NAK
 * or RNR NAK, the peer has asked for the retransmission, so the peer is alive. If packets of the
 * peer may not be captured, the silence is not counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

#include "wire/wire.h"

/* Shortest pause, in nanoseconds, after which a retransmission cannot be the reaction to a NAK: a
 * NAK arrives sooner. The sender's timer has caused such a retransmission (docs/fabric.md, "Steps
 * back"). */
#define PAUSE UINT64_C(64000000)

#define OTHERS_MOST 64 /* maximum number of other silences in the entry of a flow's longest one */

/* ---- the reverse flow ---- */

/* Returns the worse one of two silences. A long silence (SMCR_COLLECT_LONG_SILENCE) is worse than
 * one that is not long. If both or neither are long, the one that lasted longer is worse. */
static const smcr_collect_silence_t *
worse_of(const smcr_collect_silence_t *one, const smcr_collect_silence_t *other)
{
    bool is_long = smcr_collect_silence_is_long(one);

    if (is_long != smcr_collect_silence_is_long(other))
        return is_long ? one : other;
    return smcr_interval_length(one->time) >= smcr_interval_length(other->time) ? one : other;
}

/* Notes a retransmission that is in no long silence. `when`: frame 0: none. */
static void
note_outside(smcr_collect_flow_times_t *times, smcr_when_t when)
{
    times->outside = smcr_figure_when_earlier(times->outside, when);
}

/* Counts a silence that has ended. Of a silence that is not long, only the time counts, not the
 * number of retransmissions. `last`: frame of the last retransmission in the silence. */
static void
count_silence(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, uint32_t last)
{
    smcr_interval_t time = times->silent.time;
    smcr_collect_long_silence_t found = {time, times->silent.first_repeated.frame, last};

    smcr_interval_union_add(&times->silence, scope, time);
    times->silent.is_over = true;
    times->longest = *worse_of(&times->longest, &times->silent);
    if (!smcr_collect_silence_is_long(&times->silent)) {
        note_outside(times, times->silent.first_repeated);
        return;
    }
    if (!times->long_ones)
        times->long_ones = wmem_array_new(scope, sizeof found);
    wmem_array_append_one(times->long_ones, found);
    times->long_silences++;
    times->long_repeated += times->silent.repeated;
}

/* Whether the sender of the retransmissions has given up before `when`: the time since its last
 * retransmission is longer than all the time before. A sender that goes on at most doubles the time
 * from one retransmission to the next. */
static bool
has_given_up(const smcr_collect_silence_t *silence, smcr_when_t when)
{
    return when.time > silence->time.end.time + smcr_interval_length(silence->time);
}

/* Ends the silence, if there is one, with the packet `heard` of the peer; or with the last
 * retransmission, if the sender had given up before. If the intervals move to another flow, `heard`
 * is the last retransmission, too. `is_whole`: no packet of the reverse flow is missing right
 * before the peer's packet. If `is_whole` is false, a missing packet may have ended the silence
 * earlier, and the silence is not counted. */
static void
end_silence(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, smcr_when_t heard,
            bool is_whole)
{
    uint32_t last = times->silent.time.end.frame;

    if (last && is_whole) {
        if (!has_given_up(&times->silent, heard))
            times->silent.time.end = heard;
        count_silence(times, scope, last);
    } else {
        note_outside(times, times->silent.first_repeated);
    }
    times->silent = (smcr_collect_silence_t){.time = {{0, 0}, {0, 0}}};
    times->asked.frame = 0;
}

/* Takes an acknowledgement, NAK or RNR NAK of the peer. An RNR NAK begins a wait for the packet
 * with its PSN. Another RNR NAK for the same PSN does not begin the wait anew. An acknowledgement
 * of this PSN, or of a later PSN, ends the wait. `is_refused` is set after a NAK or RNR NAK: the
 * peer then expects a retransmission. */
static void
take_acknowledgement(smcr_collect_flow_times_t *times, smcr_when_t when,
                     const smcr_ib_headers_t *roce)
{
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    bool is_rnr = kind == SMCR_IB_SYNDROME_RNR_NAK;

    times->is_refused = is_rnr || kind == SMCR_IB_SYNDROME_NAK;
    if (is_rnr && !(times->rnr.frame && times->rnr_psn == roce->psn)) {
        times->rnr = when;
        times->rnr_psn = roce->psn;
    } else if (!times->is_refused && smcr_psn_distance(times->rnr_psn, roce->psn) >= 0) {
        times->rnr.frame = 0;
    }
}

/* If packets of the peer are missing before this one, the silence is not proven. */
void
smcr_collect_flow_times_hear(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;

    end_silence(times, scope, when, !packet->record->missing_before);
    times->heard = when;
    if (roce->opcode == SMCR_RC_ACK && roce->has_aeth)
        take_acknowledgement(times, when, roce);
    else if (smcr_ib_operations[roce->opcode].is_response)
        times->is_refused = false;
}

/* ---- the flow ---- */

/* Whether the retransmitted packet was already unanswered at `heard`, so that the silence began
 * there. Three conditions hold:
 * 1. the first transmission came before `heard`;
 * 2. no acknowledgement covers the packet;
 * 3. the peer's last response was neither a NAK nor an RNR NAK. */
static bool
was_outstanding(const smcr_collect_flow_times_t *times, const smcr_record_t *record)
{
    return record->first_frame && record->first_frame < times->heard.frame && !record->was_acked &&
           !times->is_refused;
}

/* Counts a retransmission of the lowest packet that is not acknowledged. Its second retransmission
 * proves the silence. `is_first`: the silence begins. */
static void
count_attempt(smcr_collect_silence_t *silence, bool is_first, smcr_when_t when, uint32_t psn)
{
    if (is_first || silence->lowest != psn)
        silence->attempts = 0;
    silence->lowest = psn;
    silence->attempts++;
    if (silence->attempts == 2 && !silence->proven_frame)
        silence->proven_frame = when.frame;
}

/* Begins the silence, or extends it, with the retransmission of the packet `psn` at `when`. */
static void
extend_silence(smcr_collect_silence_t *silence, smcr_when_t begin, smcr_when_t when, uint32_t psn)
{
    bool is_first = !silence->time.end.frame;

    if (is_first || begin.frame < silence->time.begin.frame)
        silence->time.begin = begin;
    if (is_first)
        silence->first_repeated = when;
    silence->time.end = when;
    silence->repeated++;
    if (is_first || smcr_psn_distance(silence->lowest, psn) <= 0)
        count_attempt(silence, is_first, when, psn);
}

/* Whether a request with the PSN of the packet, or a later one, was sent after the peer's last
 * packet. */
static bool
was_asked_since(const smcr_collect_flow_times_t *times, uint32_t psn)
{
    return times->asked.frame && smcr_psn_distance(psn, times->highest) >= 0;
}

/* Whether the retransmission at `when` comes after a pause: more than PAUSE after the request
 * before it or, if no request came after the peer's last packet, after that packet. Also true if
 * the peer's silence has begun before. */
static bool
has_paused(const smcr_collect_flow_times_t *times, smcr_when_t when)
{
    smcr_when_t before = times->asked.frame ? times->last : times->heard;

    return times->silent.time.end.frame || when.time > before.time + PAUSE;
}

/* Takes a retransmission: begins a silence, or extends it. The retransmission shows that the peer
 * is silent under four conditions:
 * 1. the capture has a packet of the peer (`heard`);
 * 2. the sender does not wait because of an RNR NAK;
 * 3. the packet was unanswered when the peer sent its last packet (was_outstanding()), or a request
 *    with the same PSN or a later PSN was sent after the peer's last packet (was_asked_since());
 * 4. the retransmission comes after a pause, or the silence has begun before (has_paused()). */
static void
take_silence(smcr_collect_flow_times_t *times, smcr_when_t when, const smcr_tap_t *packet)
{
    bool is_old = was_outstanding(times, packet->record);
    bool proves = is_old || was_asked_since(times, packet->roce->psn);

    if (!times->heard.frame || times->rnr.frame)
        return;
    if (!proves || !has_paused(times, when))
        return;
    smcr_when_t begin = is_old || !times->asked.frame ? times->heard : times->asked;
    extend_silence(&times->silent, begin, when, packet->roce->psn);
}

/* Forgets a silence that has begun, without counting it. Called when packets are missing in the
 * capture, and when an RNR NAK explains the wait. The next silence begins with the packet at `when`
 * at the earliest. */
static void
begin_anew(smcr_collect_flow_times_t *times, smcr_when_t when)
{
    note_outside(times, times->silent.first_repeated);
    times->silent = (smcr_collect_silence_t){.time = {{0, 0}, {0, 0}}};
    times->asked.frame = 0;
    if (times->heard.frame)
        times->heard = when;
}

/* Takes a request: a packet of the flow that is no response. If packets before the request are
 * missing in the capture, the peer's answer may be missing, too. So the silence is forgotten. */
static void
take_request(smcr_collect_flow_times_t *times, smcr_when_t when, const smcr_tap_t *packet)
{
    uint32_t psn = packet->roce->psn;

    if (packet->record->missing_before)
        begin_anew(times, when);
    else if (packet->record->order == SMCR_FLOW_IS_RETRANSMISSION)
        take_silence(times, when, packet);
    if (!times->asked.frame || smcr_psn_distance(times->highest, psn) > 0)
        times->highest = psn;
    if (!times->asked.frame)
        times->asked = when;
    times->last = when;
}

/* Notes the packet if it is a retransmission, and no silence has begun or continued with it. */
static void
note_retransmission(smcr_collect_flow_times_t *times, smcr_when_t when,
                    const smcr_record_t *record)
{
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION &&
        times->silent.time.end.frame != when.frame)
        note_outside(times, when);
}

/* Takes the next packet of the flow into three times: retransmission, wait after an RNR NAK,
 * silence of the peer. Three kinds of packets are ignored: packets that are not of a reliable
 * connection, duplicates made by the network, and responses (acknowledgements, READ responses),
 * which the peer never answers. Of a response that is a retransmission, only the frame is noted
 * (`outside`). */
void
smcr_collect_flow_times_take(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_when_t first = {record->first_frame, record->first_time};

    if (packet->roce->opcode >= SMCR_RC_OPCODES || record->order == SMCR_FLOW_IS_COPY)
        return;
    if (smcr_ib_operations[packet->roce->opcode].is_response) {
        note_retransmission(times, when, record);
        return;
    }
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION && first.time)
        smcr_interval_union_add(&times->retransmission, scope, (smcr_interval_t){first, when});
    if (times->rnr.frame && packet->roce->psn == times->rnr_psn) {
        smcr_interval_union_add(&times->rnr_wait, scope, (smcr_interval_t){times->rnr, when});
        times->rnr.frame = 0;
        begin_anew(times, when);
    }
    take_request(times, when, packet);
    note_retransmission(times, when, record);
}

/* ---- reporting ---- */

/* Whether the frame is between the first and the last retransmission of a silence, or is one of
 * these. */
static bool
is_within(const smcr_collect_long_silence_t *silence, uint32_t frame)
{
    return frame >= silence->first && frame <= silence->last;
}

/* Whether the frame is in a long silence that has ended. */
static bool
is_in_past_silence(const smcr_collect_flow_times_t *times, uint32_t frame)
{
    unsigned count = times->long_ones ? wmem_array_get_count(times->long_ones) : 0;

    for (unsigned i = 0; i < count; i++)
        if (is_within(wmem_array_index(times->long_ones, i), frame))
            return true;
    return false;
}

/* Looks at the silence that has not ended, and at the last long one that has: the list is in the
 * order of frames. */
bool
smcr_collect_flow_times_was_silent(const smcr_collect_flow_times_t *times, uint32_t frame)
{
    unsigned count = times->long_ones ? wmem_array_get_count(times->long_ones) : 0;
    const smcr_collect_long_silence_t *past =
        count ? wmem_array_index(times->long_ones, count - 1) : NULL;
    bool is_open = smcr_collect_silence_is_long(&times->silent);

    return (past && past->last > frame) || (is_open && times->silent.time.end.frame > frame);
}

/* Returns the silence that has not ended. Its end so far is its last retransmission. */
static smcr_collect_long_silence_t
open_silence(const smcr_collect_flow_times_t *times)
{
    return (smcr_collect_long_silence_t){times->silent.time, times->silent.first_repeated.frame,
                                         times->silent.time.end.frame};
}

/* Whether the frame, which retransmits a packet, is in a long silence of the receiver of the flow
 * `which`, a smcr_qp_t or smcr_rdma_flow_t (key of `flow_times`). */
static bool
is_in_silence_of(const smcr_collect_t *collection, const void *which, uint32_t frame)
{
    const smcr_collect_flow_times_t *times =
        which ? wmem_map_lookup(collection->flow_times, which) : NULL;

    if (!times)
        return false;
    const smcr_collect_long_silence_t open = open_silence(times);
    bool is_open = smcr_collect_silence_is_long(&times->silent) && is_within(&open, frame);
    return is_open || is_in_past_silence(times, frame);
}

/* While the receiver of one flow of a link is silent, the other flow has no packets. So the frame
 * is of the flow that has the silence. */
bool
smcr_collect_flow_times_is_in_silence(const smcr_collect_t *collection, const smcr_link_t *link,
                                      const smcr_rdma_flow_t *foreign, uint32_t frame)
{
    if (!link)
        return is_in_silence_of(collection, foreign, frame);
    return is_in_silence_of(collection, &link->qp[0], frame) ||
           is_in_silence_of(collection, &link->qp[1], frame);
}

/* Compares two long silences for sorting, by the frame in which they end. */
SMCR_FIGURE_ORDER(by_last_frame, smcr_collect_long_silence_t, silence, silence->time.end.frame)

/* Adds the long silences of `from` (NULL: none), which stay there, too, since expert items name the
 * flow of their time. The list stays in the order of frames: smcr_collect_flow_times_was_silent()
 * looks at its last element only. */
static void
add_long_ones(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, wmem_array_t *from)
{
    if (!from)
        return;
    if (!times->long_ones)
        times->long_ones = wmem_array_new(scope, sizeof(smcr_collect_long_silence_t));
    wmem_array_append(times->long_ones, wmem_array_get_raw(from), wmem_array_get_count(from));
    wmem_array_sort(times->long_ones, by_last_frame);
}

/* The silence of `from` ends with its last retransmission: later packets belong to the link's
 * flow. */
void
smcr_collect_flow_times_move(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                             smcr_collect_flow_times_t *from)
{
    end_silence(from, scope, from->silent.time.end, true);
    smcr_interval_union_join(&times->retransmission, scope, &from->retransmission);
    smcr_interval_union_join(&times->rnr_wait, scope, &from->rnr_wait);
    smcr_interval_union_join(&times->silence, scope, &from->silence);
    times->longest = *worse_of(&times->longest, &from->longest);
    times->long_silences += from->long_silences;
    times->long_repeated += from->long_repeated;
    note_outside(times, from->outside);
    wmem_array_t *ended = from->long_ones;
    add_long_ones(times, scope, ended);
    memset(from, 0, sizeof *from);
    from->long_ones = ended;
}

/* Returns the entry of a silence, allocated in `scope`. */
static smcr_entry_flow_silence_t *
silence_entry(const smcr_collect_silence_t *silence, wmem_allocator_t *scope)
{
    smcr_entry_flow_silence_t *entry = wmem_new(scope, smcr_entry_flow_silence_t);

    *entry = (smcr_entry_flow_silence_t){
        .begin_frame = silence->time.begin,
        .end_frame = silence->time.end,
        .first_repeated_frame = silence->first_repeated,
        .is_over = smcr_figure_truth(silence->is_over),
        .attempts = silence->attempts,
        .repeated = silence->repeated,
        .other_queue_pair_frame = silence->other_qp,
        .other_link_frame = silence->other_link,
        .other_link = silence->other_link.frame ? silence->link : SMCR_FIGURE_UNKNOWN,
        .tcp_frame = silence->tcp,
        .host_frame = silence->host,
        .early_frame = silence->early};
    return entry;
}

/* Compares long silences for sorting: the one that began first comes first. */
SMCR_FIGURE_ORDER(by_begin, smcr_collect_long_silence_t, silence, silence->time.begin.frame)

/* Returns all long silences of the flow in the order of their frames, also the one that still
 * lasts. The array is allocated in `scope`. */
static wmem_array_t *
long_silences(const smcr_collect_flow_times_t *times, wmem_allocator_t *scope)
{
    wmem_array_t *all = wmem_array_new(scope, sizeof(smcr_collect_long_silence_t));
    const smcr_collect_long_silence_t open = open_silence(times);

    if (times->long_ones)
        wmem_array_append(all, wmem_array_get_raw(times->long_ones),
                          wmem_array_get_count(times->long_ones));
    if (smcr_collect_silence_is_long(&times->silent))
        wmem_array_append_one(all, open);
    wmem_array_sort(all, by_begin);
    return all;
}

/* Fills in the other long silences of the flow: their time together, and the first OTHERS_MOST of
 * them. */
static void
fill_others(smcr_entry_flow_silence_t *entry, const smcr_collect_flow_times_t *times,
            wmem_allocator_t *scope)
{
    wmem_array_t *all = long_silences(times, scope);

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        const smcr_collect_long_silence_t *each = wmem_array_index(all, i);
        if (each->time.begin.frame == entry->begin_frame.frame)
            continue;
        entry->others_s += smcr_interval_length(each->time);
        if (entry->others.length < OTHERS_MOST)
            *SMCR_FIGURE_ADD(flow_silent_time, &entry->others, scope) =
                (smcr_entry_flow_silent_time_t){each->time.begin, each->time.end};
    }
}

/* Adds to the durations of the entry, which may have those of another flow. A silence that still
 * lasts counts, too. */
void
smcr_collect_flow_times_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_times_t *times,
                             wmem_allocator_t *scope)
{
    const smcr_collect_silence_t *longest = worse_of(&times->silent, &times->longest);
    bool lasts = smcr_collect_silence_is_long(&times->silent);

    entry->retransmission_s += smcr_interval_union_length(&times->retransmission);
    entry->rnr_wait_s += smcr_interval_union_length(&times->rnr_wait);
    entry->silent_s += smcr_interval_union_length(&times->silence) +
                       smcr_interval_length(times->silent.time);
    entry->silences = times->long_silences + lasts;
    entry->silent_repeated = times->long_repeated + (lasts ? times->silent.repeated : 0);
    entry->repeated_frame = smcr_figure_when_earlier(entry->repeated_frame, times->outside);
    if (!lasts)
        entry->repeated_frame =
            smcr_figure_when_earlier(entry->repeated_frame, times->silent.first_repeated);
    if (!longest->time.end.frame)
        return;
    entry->longest_silence = silence_entry(longest, scope);
    fill_others(entry->longest_silence, times, scope);
}
