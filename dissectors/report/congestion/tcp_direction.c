/* Counts what one direction of a TCP connection sends. Above each rule stands what it counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "congestion.h"

#include <math.h>

#define FIRST (UINT64_C(1) << 62) /* so high that no sequence number can fall below 0 */
#define FARTHEST (1 << 30)        /* the largest window there is (RFC 7323, 2.3), bytes */

/* ---- numbers of 32 bits ---- */

/* The unwrapped number of `number` that is nearest to `near`; the first one where that is 0. */
static uint64_t
unwrap(uint64_t near, uint32_t number)
{
    if (!near)
        return FIRST + number;
    return near + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)near);
}

static uint64_t
unwrap_seq(const smcr_congestion_tcp_direction_t *direction, uint32_t seq)
{
    return unwrap(direction->next_seq ? direction->next_seq : direction->acked, seq);
}

/* How far `to` is ahead of `from`; negative when it is behind. */
static int64_t
distance(uint64_t from, uint64_t to)
{
    return (int64_t)(to - from);
}

/* No window is that large: one of the numbers is not of this stream. */
static bool
are_far(uint64_t one, uint64_t other)
{
    return distance(one, other) > FARTHEST || distance(other, one) > FARTHEST;
}

static bool
is_between(uint64_t number, uint64_t from, uint64_t to)
{
    return from <= number && number < to;
}

/* Sequence numbers from `from` to the one before `to` that are no bytes of the stream: those of
 * SYN and FIN. */
static uint64_t
no_bytes_between(const smcr_congestion_tcp_direction_t *direction, uint64_t from, uint64_t to)
{
    return (is_between(direction->syn, from, to) ? 1U : 0) +
           (is_between(direction->fin, from, to) ? 1U : 0);
}

static uint64_t
less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* ---- what is sent ---- */

/* `segments`: all but those with RST. `data_segments`: those of them with payload.
 * `ipg_s`: time from one segment to the next one, be it data or not. */
static void
count_segment(smcr_congestion_tcp_direction_t *direction,
              const smcr_congestion_tcp_segment_t *segment)
{
    if (direction->counts.segments && segment->time >= direction->last_time)
        smcr_distribution_add(&direction->counts.ipg_s, segment->time - direction->last_time);
    direction->last_time = segment->time;
    direction->counts.segments++;
    direction->counts.data_segments += segment->length ? 1 : 0;
}

/* `late_segments`: TSval is below the highest so far.
 * `tsval_rtt_s`: from the last segment with a TSval to the first ACK that echoes it; it stands with
 * the sender of the TSval. */
static void
take_timestamps(smcr_congestion_tcp_direction_t *direction,
                smcr_congestion_tcp_direction_t *reverse, wmem_allocator_t *scope,
                const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t tsval = unwrap(direction->tsval, segment->tsval), echo, sent;

    direction->any_timestamps = true;
    if (tsval < direction->tsval)
        direction->counts.late_segments++;
    else
        direction->tsval = tsval;
    if (tsval > direction->echoed)
        smcr_congestion_sent_times_set(&direction->sent_by_tsval, scope, tsval, segment->time,
                                       direction->echoed);
    if (!(segment->flags & SMCR_CONGESTION_TCP_ACK) || !reverse->tsval)
        return;
    echo = unwrap(reverse->tsval, segment->tsecr);
    if (!smcr_congestion_sent_times_take(&reverse->sent_by_tsval, echo, &sent))
        return;
    reverse->echoed = MAX(reverse->echoed, echo);
    if (segment->time >= sent)
        smcr_distribution_add(&reverse->counts.tsval_rtt_s, segment->time - sent);
}

/* Where a segment stands in its stream: from `from` to the number before `to`; its data begins at
 * `data`. */
typedef struct {
    uint64_t from, data, to;
    bool is_byte; /* it is one byte of data, without SYN or FIN */
} segment_place_t;

static segment_place_t
place_of(const smcr_congestion_tcp_direction_t *direction,
         const smcr_congestion_tcp_segment_t *segment)
{
    segment_place_t place = {.from = unwrap_seq(direction, segment->seq)};

    place.data = place.from + (segment->flags & SMCR_CONGESTION_TCP_SYN ? 1 : 0);
    place.to = place.data + segment->length + (segment->flags & SMCR_CONGESTION_TCP_FIN ? 1 : 0);
    place.is_byte = segment->length == 1 && place.to - place.from == 1;
    return place;
}

/* A keep-alive repeats the last byte, or sends another in its place, when everything has been
 * acknowledged (RFC 9293, 3.8.4). One without data repeats nothing anyway. */
static bool
is_keep_alive(const smcr_congestion_tcp_direction_t *direction, segment_place_t place)
{
    return place.is_byte && place.to <= direction->acked &&
           (!direction->next_seq || place.to == direction->next_seq);
}

/* The segment is of this stream: its number is near the highest one so far. */
static bool
continues_stream(const smcr_congestion_tcp_direction_t *direction, segment_place_t place)
{
    return direction->next_seq && !are_far(direction->next_seq, place.from);
}

/* `gaps`: segments that begin above the highest sequence number so far; `gap_bytes`: how far.
 * `repeated_segments`: segments with data, SYN or FIN that begin below it, without keep-alives.
 * They include segments that the network has delayed. */
static void
count_disorder(smcr_congestion_tcp_direction_t *direction, segment_place_t place)
{
    int64_t ahead = distance(direction->next_seq, place.from);

    if (ahead > 0 && !direction->next_unknown) {
        direction->counts.gaps++;
        direction->counts.gap_bytes += (uint64_t)ahead;
    }
    if (ahead < 0 && place.to > place.from && !is_keep_alive(direction, place))
        direction->counts.repeated_segments++;
}

/* Moves the highest sequence number. A segment without data that begins above it shows that the
 * bytes before are missing. */
static void
take_sequence(smcr_congestion_tcp_direction_t *direction, segment_place_t place, bool no_length)
{
    int64_t ahead = distance(direction->next_seq, place.from);
    bool continues = continues_stream(direction, place);
    bool is_empty = place.to == place.from;

    if (continues)
        count_disorder(direction, place);
    if (continues && place.to < direction->next_seq)
        return;
    direction->newest_missing = is_empty && (direction->newest_missing || ahead > 0);
    direction->next_seq = place.to;
    direction->next_unknown = no_length;
}

/* The data of a segment counts once; its time is kept for rtt_s. */
static void
take_data(smcr_congestion_tcp_direction_t *direction, wmem_allocator_t *scope,
          segment_place_t place, const smcr_congestion_tcp_segment_t *segment)
{
    if (!segment->length || is_keep_alive(direction, place))
        return;
    uint64_t bytes = smcr_ranges_add(&direction->captured, scope, SMCR_RANGES_OF_STREAM, place.data,
                                     place.data + segment->length);
    direction->payload += bytes;
    direction->has_late_data |= bytes && place.data < direction->acked;
    if (place.data >= direction->acked)
        smcr_congestion_sent_times_set(&direction->sent, scope, place.data, segment->time,
                                       direction->acked);
}

/* ---- what is acknowledged: it stands with the data ---- */

/* `rtt_s`: from the segment that begins where the last ACK stood, as it was sent last, to the ACK
 * that moves on.
 * `acked_bytes`: how far ACKs have moved since the first one, but SYN, FIN and what SACK blocks had
 * acknowledged before. `ack_elapsed_s`: from the first ACK to the last one that moves. */
static uint64_t
move_ack(smcr_congestion_tcp_direction_t *data, wmem_allocator_t *scope, uint64_t ack,
         uint64_t time)
{
    uint64_t bytes = less(ack - data->acked, no_bytes_between(data, data->acked, ack)), sent;

    if (smcr_congestion_sent_times_take(&data->sent, data->acked, &sent) && time >= sent)
        smcr_distribution_add(&data->counts.rtt_s, time - sent);
    bytes = less(bytes, smcr_ranges_remove(&data->sacked, scope, SMCR_RANGES_OF_STREAM, 0, ack));
    data->acked = ack;
    data->counts.acked_bytes += bytes;
    if (time > data->first_ack_time)
        data->counts.ack_elapsed_s = MAX(data->counts.ack_elapsed_s, time - data->first_ack_time);
    return bytes;
}

/* `sacked_bytes`: bytes that SACK blocks acknowledge first. Blocks below the ACK tell of copies
 * (RFC 2883), and count nothing. */
static uint64_t
take_sacks(smcr_congestion_tcp_direction_t *data, wmem_allocator_t *scope,
           const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < segment->sacks; i++) {
        uint64_t left = unwrap(data->acked, segment->sack[i].left);
        uint64_t right = unwrap(data->acked, segment->sack[i].right);

        left = MAX(left, data->acked);
        if (data->fin && right == data->fin + 1)
            right = data->fin;
        if (right > left && !are_far(data->acked, right))
            bytes += smcr_ranges_add(&data->sacked, scope, SMCR_RANGES_OF_STREAM, left, right);
    }
    return bytes;
}

/* `acks`: segments with the flag ACK. `duplicate_acks`: those that have the number of the one
 * before, be there data in them or not. An older number counts nothing more. Both stand with their
 * sender. Returns how many bytes are acknowledged that were not before. */
static uint64_t
take_ack(smcr_congestion_tcp_direction_t *direction, smcr_congestion_tcp_direction_t *data,
         wmem_allocator_t *scope, const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t ack, bytes = 0, sacked;

    direction->counts.acks++;
    ack = data->acked ? unwrap(data->acked, segment->ack) : unwrap_seq(data, segment->ack);
    if (!data->acked || are_far(data->acked, ack)) {
        data->first_ack_time = data->acked ? data->first_ack_time : segment->time;
        data->acked = ack;
        data->sacked.count = 0;
        take_sacks(data, scope, segment); /* before the count begins */
        return 0;
    }
    if (ack > data->acked)
        bytes = move_ack(data, scope, ack, segment->time);
    else if (ack == data->acked)
        direction->counts.duplicate_acks++;
    sacked = take_sacks(data, scope, segment);
    data->counts.sacked_bytes += sacked;
    return bytes + sacked;
}

/* ---- marks ---- */

/*
 * `sce`: ECT(1), by which routers tell of some congestion. `sce_ipg_s`: time from one to the next.
 * `sce_run_length`: how many come one behind another; a run ends with a segment without the mark.
 */
static void
take_sce(smcr_congestion_tcp_direction_t *direction, const smcr_congestion_tcp_segment_t *segment)
{
    if (segment->ecn != SMCR_WIRE_ECN_ECT_1) {
        if (direction->sce_run)
            smcr_distribution_add(&direction->counts.sce_run_length, direction->sce_run);
        direction->sce_run = 0;
        return;
    }
    if (direction->counts.sce && segment->time >= direction->last_sce_time)
        smcr_distribution_add(&direction->counts.sce_ipg_s,
                              segment->time - direction->last_sce_time);
    direction->last_sce_time = segment->time;
    direction->counts.sce++;
    direction->sce_run++;
}

/* `ce`: Congestion Experienced; `ece`, `cwr`: the echo of it, and the answer; `esce`: NS, the echo
 * of SCE. `esce_acked_bytes`: what ACKs with it acknowledge, also by SACK blocks. Accurate ECN uses
 * the three flags for something else. */
static void
take_marks(smcr_congestion_tcp_direction_t *direction, smcr_congestion_tcp_direction_t *reverse,
           const smcr_congestion_tcp_segment_t *segment, uint64_t acknowledged)
{
    uint16_t flags = segment->ace ? 0 : segment->flags;

    direction->counts.ce += segment->ecn == SMCR_WIRE_ECN_CE ? 1 : 0;
    direction->counts.ece += flags & SMCR_CONGESTION_TCP_ECE ? 1 : 0;
    direction->counts.cwr += flags & SMCR_CONGESTION_TCP_CWR ? 1 : 0;
    if (flags & SMCR_CONGESTION_TCP_NS) {
        direction->counts.esce++;
        reverse->counts.esce_acked_bytes += acknowledged;
    }
    take_sce(direction, segment);
}

/* ---- copies ---- */

/* What a segment shares with its copies alone: the identification of IPv4 or, where there is none,
 * the time stamp tells it from others. Without either, that so many packets were `heard` of the
 * other side; 0: nothing tells one acknowledgement from the next. */
static uint64_t
identity_of(const smcr_congestion_tcp_segment_t *segment, uint64_t heard)
{
    const uint16_t takes_a_number = SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_FIN;
    bool is_told_apart = segment->ip_id > 0 || segment->timestamps;
    const uint32_t parts[] = {segment->seq,   segment->ack,   segment->length, segment->flags,
                              segment->tsval, segment->tsecr, (uint32_t)segment->ip_id,
                              is_told_apart ? 0 : (uint32_t)heard};
    uint64_t identity = UINT64_C(14695981039346656037); /* FNV-1a */

    if (!is_told_apart && !segment->length && !(segment->flags & takes_a_number))
        return 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        identity = (identity ^ parts[i]) * UINT64_C(1099511628211);
    return identity;
}

/* A retransmission has another time stamp, and another identification of IPv4. So a segment that
 * has both, and the same ones as an earlier segment, is a copy however late it comes. A SYN needs
 * no identification. */
static bool
has_proof_of_copy(const smcr_congestion_tcp_segment_t *segment)
{
    return segment->timestamps &&
           (segment->ip_id > 0 || segment->flags & SMCR_CONGESTION_TCP_SYN);
}

/* Less than 100 microseconds: no sender has retransmitted so soon, above all where it has received
 * nothing since. */
static bool
is_soon_after(uint64_t before, uint64_t time)
{
    const uint64_t soon = 100000; /* nanoseconds */

    return time >= before && time - before <= soon;
}

/* `copies`: segments that the network or the capture has doubled. They count as packets, and
 * nowhere else. */
static bool
is_copy(smcr_congestion_tcp_direction_t *direction,
        const smcr_congestion_tcp_direction_t *reverse,
        const smcr_congestion_tcp_segment_t *segment)
{
    bool is_proven = has_proof_of_copy(segment);
    smcr_congestion_tcp_recent_t now = {segment->time,
                                        identity_of(segment, reverse->counts.packets)};

    direction->any_identity |= now.identity != 0;
    for (unsigned i = 0; now.identity && i < SMCR_CONGESTION_TCP_RECENT; i++) {
        const smcr_congestion_tcp_recent_t *before = &direction->recent[i];
        bool is_same = before->identity == now.identity;
        if (is_same && (is_proven || is_soon_after(before->time, now.time)))
            return true;
    }
    direction->recent[direction->newest++ % SMCR_CONGESTION_TCP_RECENT] = now;
    return false;
}

/* ---- all of it ---- */

/* Marks count on segments with ACK and without SYN or FIN, until their sender's FIN. */
static bool
can_have_marks(const smcr_congestion_tcp_direction_t *direction, uint16_t flags)
{
    const uint16_t takes_a_number = SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_FIN;

    return (flags & SMCR_CONGESTION_TCP_ACK) && !(flags & takes_a_number) && !direction->fin;
}

/* The places of SYN and FIN in the stream. */
static void
note_ends(smcr_congestion_tcp_direction_t *direction, uint16_t flags, segment_place_t place)
{
    if (flags & SMCR_CONGESTION_TCP_SYN)
        direction->syn = place.from;
    if (flags & SMCR_CONGESTION_TCP_FIN)
        direction->fin = place.to - 1;
}

/* `packets` and `ip_bytes` are of all segments: also of RST and copies, which count nowhere else.
 */
void
smcr_congestion_tcp_direction_take(smcr_congestion_tcp_direction_t *direction,
                                   smcr_congestion_tcp_direction_t *reverse,
                                   wmem_allocator_t *scope,
                                   const smcr_congestion_tcp_segment_t *segment)
{
    uint16_t flags = segment->flags;
    bool has_marks = can_have_marks(direction, flags);
    uint64_t acknowledged = 0;

    direction->counts.packets++;
    direction->counts.ip_bytes += segment->ip_bytes;
    direction->any_ecn |= !segment->no_ecn;
    if (flags & SMCR_CONGESTION_TCP_RST)
        return;
    if (is_copy(direction, reverse, segment)) {
        direction->counts.copies++;
        return;
    }
    segment_place_t place = place_of(direction, segment);
    count_segment(direction, segment);
    if (segment->timestamps)
        take_timestamps(direction, reverse, scope, segment);
    take_data(direction, scope, place, segment);
    take_sequence(direction, place, segment->no_length);
    note_ends(direction, flags, place);
    if (flags & SMCR_CONGESTION_TCP_ACK)
        acknowledged = take_ack(direction, reverse, scope, segment);
    if (has_marks)
        take_marks(direction, reverse, segment, acknowledged);
}

bool
smcr_congestion_tcp_direction_may_lack_bytes(const smcr_congestion_tcp_direction_t *direction)
{
    uint64_t end = MAX(direction->next_seq, direction->acked);

    return !direction->syn || direction->has_late_data ||
           direction->payload < end - direction->syn -
                                    no_bytes_between(direction, direction->syn, end);
}

bool
smcr_congestion_tcp_direction_may_lack_end(const smcr_congestion_tcp_direction_t *direction)
{
    bool is_fin_unanswered = direction->fin && direction->acked < direction->next_seq;

    return !direction->next_seq || direction->newest_missing ||
           direction->acked > direction->next_seq || is_fin_unanswered;
}

/* 100 times `part` by `whole`, or not a number. */
static double
percent(uint64_t part, uint64_t whole)
{
    return part == SMCR_FIGURE_UNKNOWN || !whole ? NAN : 100.0 * (double)part / (double)whole;
}

/* Counts that no segment could show are not known: ECN without IP headers, late segments without
 * time stamps, copies where nothing tells one segment from another. */
static void
mark_unknown(const smcr_congestion_tcp_direction_t *direction, smcr_entry_tcp_direction_t *entry)
{
    if (entry->packets && !direction->any_ecn)
        entry->ce = entry->sce = SMCR_FIGURE_UNKNOWN;
    if (entry->segments && !direction->any_timestamps)
        entry->late_segments = SMCR_FIGURE_UNKNOWN;
    if (entry->segments && !direction->any_identity)
        entry->copies = SMCR_FIGURE_UNKNOWN;
    if (!direction->acked)
        entry->ack_elapsed_s = SMCR_FIGURE_UNKNOWN;
}

void
smcr_congestion_tcp_direction_report(const smcr_congestion_tcp_direction_t *direction,
                                     smcr_entry_tcp_direction_t *entry)
{
    bool moves = direction->acked && direction->counts.ack_elapsed_s > 0;

    *entry = direction->counts;
    if (direction->sce_run)
        smcr_distribution_add(&entry->sce_run_length, direction->sce_run);
    mark_unknown(direction, entry);
    entry->derived.sce_percent = percent(entry->sce, entry->data_segments);
    entry->derived.ce_percent = percent(entry->ce, entry->data_segments);
    entry->derived.esce_acked_bytes_percent = percent(entry->esce_acked_bytes, entry->acked_bytes);
    entry->derived.goodput_bit_s =
        moves ? 8e9 * (double)entry->acked_bytes / (double)entry->ack_elapsed_s : NAN;
}
