/* tcp_way.c
 * Counts what one direction of a TCP connection sends. Above each rule stands what it counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_way.h"

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
unwrap_seq(const smcr_tcp_way_t *way, uint32_t seq)
{
    return unwrap(way->next ? way->next : way->acked, seq);
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
no_bytes_between(const smcr_tcp_way_t *way, uint64_t from, uint64_t to)
{
    return (is_between(way->syn, from, to) ? 1U : 0) + (is_between(way->fin, from, to) ? 1U : 0);
}

static uint64_t
less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* ---- what is sent ---- */

/*
 * `segments`: all but those with RST. `data_segments`: those of them with payload.
 * `ipg_s`: time from one segment to the next one, be it data or not.
 */
static void
count_segment(smcr_tcp_way_t *way, const smcr_tcp_segment_t *segment)
{
    if (way->counts.segments && segment->time >= way->last_time)
        smcr_distribution_add(&way->counts.ipg_s, segment->time - way->last_time);
    way->last_time = segment->time;
    way->counts.segments++;
    way->counts.data_segments += segment->length ? 1 : 0;
}

/*
 * `late_segments`: TSval is below the highest so far.
 * `tsval_rtt_s`: from the last segment with a TSval to the first ACK that echoes it; it stands with
 * the sender of the TSval.
 */
static void
take_timestamps(smcr_tcp_way_t *way, smcr_tcp_way_t *reverse, wmem_allocator_t *scope,
                const smcr_tcp_segment_t *segment)
{
    uint64_t tsval = unwrap(way->tsval, segment->tsval), echo, sent;

    way->any_timestamps = true;
    if (tsval < way->tsval)
        way->counts.late_segments++;
    else
        way->tsval = tsval;
    if (tsval > way->echoed)
        smcr_sent_times_set(&way->stamped, scope, tsval, segment->time, way->echoed);
    if (!(segment->flags & SMCR_TCP_ACK) || !reverse->tsval)
        return;
    echo = unwrap(reverse->tsval, segment->tsecr);
    if (!smcr_sent_times_take(&reverse->stamped, echo, &sent))
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
} place_t;

static place_t
place_of(const smcr_tcp_way_t *way, const smcr_tcp_segment_t *segment)
{
    place_t place = {.from = unwrap_seq(way, segment->seq)};

    place.data = place.from + (segment->flags & SMCR_TCP_SYN ? 1 : 0);
    place.to = place.data + segment->length + (segment->flags & SMCR_TCP_FIN ? 1 : 0);
    place.is_byte = segment->length == 1 && place.to - place.from == 1;
    return place;
}

/* A keep-alive repeats the last byte, or sends another in its place, when everything has been
 * acknowledged (RFC 9293, 3.8.4). One without data repeats nothing anyway. */
static bool
is_keep_alive(const smcr_tcp_way_t *way, place_t place)
{
    return place.is_byte && place.to <= way->acked && (!way->next || place.to == way->next);
}

/*
 * `gaps`: segments that begin above the highest sequence number so far; `gap_bytes`: how far.
 * `repeated_segments`: segments with data, SYN or FIN that begin below it, but keep-alives. What
 * the network has only delayed is among them.
 */
static void
take_sequence(smcr_tcp_way_t *way, place_t place, bool no_length)
{
    int64_t ahead = distance(way->next, place.from);
    bool astray = !way->next || are_far(way->next, place.from);

    if (ahead > 0 && !astray && !way->next_unknown) {
        way->counts.gaps++;
        way->counts.gap_bytes += (uint64_t)ahead;
    }
    if (ahead < 0 && !astray && place.to > place.from && !is_keep_alive(way, place))
        way->counts.repeated_segments++;
    if (astray || place.to >= way->next) {
        way->next = place.to;
        way->next_unknown = no_length;
    }
}

/* The data of a segment counts once; its time is kept for rtt_s. */
static void
take_data(smcr_tcp_way_t *way, wmem_allocator_t *scope, place_t place,
          const smcr_tcp_segment_t *segment)
{
    if (!segment->length || is_keep_alive(way, place))
        return;
    way->payload += smcr_ranges_add(&way->seen, scope, SMCR_STREAM_RANGES, place.data,
                                    place.data + segment->length);
    if (place.data >= way->acked)
        smcr_sent_times_set(&way->sent, scope, place.data, segment->time, way->acked);
}

/* ---- what is acknowledged: it stands with the data ---- */

/*
 * `rtt_s`: from the segment that begins where the last ACK stood, as it was sent last, to the ACK
 * that moves on.
 */
static void
count_rtt(smcr_tcp_way_t *data, uint64_t time)
{
    uint64_t sent;

    if (smcr_sent_times_take(&data->sent, data->acked, &sent) && time >= sent)
        smcr_distribution_add(&data->counts.rtt_s, time - sent);
}

/*
 * `acked_bytes`: how far ACKs have moved since the first one, but SYN, FIN and what SACK blocks had
 * acknowledged before. `ack_elapsed_s`: from the first ACK to the last one that moves.
 */
static uint64_t
move_ack(smcr_tcp_way_t *data, wmem_allocator_t *scope, uint64_t ack, uint64_t time)
{
    uint64_t bytes = less(ack - data->acked, no_bytes_between(data, data->acked, ack));

    count_rtt(data, time);
    bytes = less(bytes, smcr_ranges_remove(&data->sacked, scope, SMCR_STREAM_RANGES, 0, ack));
    data->acked = ack;
    data->counts.acked_bytes += bytes;
    if (time > data->first_ack_time)
        data->counts.ack_elapsed_s = MAX(data->counts.ack_elapsed_s, time - data->first_ack_time);
    return bytes;
}

/*
 * `sacked_bytes`: bytes that SACK blocks acknowledge first. Blocks below the ACK tell of copies
 * (RFC 2883), and count nothing.
 */
static uint64_t
take_sacks(smcr_tcp_way_t *data, wmem_allocator_t *scope, const smcr_tcp_segment_t *segment)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < segment->sacks; i++) {
        uint64_t left = unwrap(data->acked, segment->sack[i].left);
        uint64_t right = unwrap(data->acked, segment->sack[i].right);

        left = MAX(left, data->acked);
        if (data->fin && right == data->fin + 1)
            right = data->fin;
        if (right > left && !are_far(data->acked, right))
            bytes += smcr_ranges_add(&data->sacked, scope, SMCR_STREAM_RANGES, left, right);
    }
    return bytes;
}

/*
 * `acks`: segments with the flag ACK. `duplicate_acks`: those that have the number of the one
 * before, be there data in them or not. An older number counts nothing more. Both stand with their
 * sender. Returns how many bytes are acknowledged that were not before.
 */
static uint64_t
take_ack(smcr_tcp_way_t *way, smcr_tcp_way_t *data, wmem_allocator_t *scope,
         const smcr_tcp_segment_t *segment)
{
    uint64_t ack, bytes = 0, sacked;

    way->counts.acks++;
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
        way->counts.duplicate_acks++;
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
take_sce(smcr_tcp_way_t *way, const smcr_tcp_segment_t *segment)
{
    if (segment->ecn != SMCR_ECN_ECT_1) {
        if (way->sce_run)
            smcr_distribution_add(&way->counts.sce_run_length, way->sce_run);
        way->sce_run = 0;
        return;
    }
    if (way->counts.sce && segment->time >= way->last_sce_time)
        smcr_distribution_add(&way->counts.sce_ipg_s, segment->time - way->last_sce_time);
    way->last_sce_time = segment->time;
    way->counts.sce++;
    way->sce_run++;
}

/*
 * `ce`: Congestion Experienced; `ece`, `cwr`: the echo of it, and the answer; `esce`: NS, the echo
 * of SCE. `esce_acked_bytes`: what ACKs with it acknowledge, also by SACK blocks. Accurate ECN uses
 * the three flags for something else.
 */
static void
take_marks(smcr_tcp_way_t *way, smcr_tcp_way_t *reverse, const smcr_tcp_segment_t *segment,
           uint64_t acknowledged)
{
    uint16_t flags = segment->ace ? 0 : segment->flags;

    way->counts.ce += segment->ecn == SMCR_ECN_CE ? 1 : 0;
    way->counts.ece += flags & SMCR_TCP_ECE ? 1 : 0;
    way->counts.cwr += flags & SMCR_TCP_CWR ? 1 : 0;
    if (flags & SMCR_TCP_NS) {
        way->counts.esce++;
        reverse->counts.esce_acked_bytes += acknowledged;
    }
    take_sce(way, segment);
}

/* Marks count on segments with ACK, without SYN and FIN, not behind their sender's FIN. */
static bool
may_have_marks(const smcr_tcp_way_t *way, const smcr_tcp_segment_t *segment)
{
    return segment->flags & SMCR_TCP_ACK &&
           !(segment->flags & (SMCR_TCP_SYN | SMCR_TCP_FIN)) && !way->fin;
}

/* ---- all of it ---- */

/* SYN and FIN, where they stand. */
static void
take_ends(smcr_tcp_way_t *way, place_t place, uint16_t flags)
{
    if (flags & SMCR_TCP_SYN)
        way->syn = place.from;
    if (flags & SMCR_TCP_FIN)
        way->fin = place.to - 1;
}

/* `packets` and `ip_bytes` are of all segments, also of those with RST, which count nowhere
 * else. */
void
smcr_tcp_way_take(smcr_tcp_way_t *way, smcr_tcp_way_t *reverse, wmem_allocator_t *scope,
                  const smcr_tcp_segment_t *segment)
{
    bool marks = may_have_marks(way, segment);
    uint64_t acknowledged = 0;
    place_t place;

    way->counts.packets++;
    way->counts.ip_bytes += segment->ip_bytes;
    way->any_ecn |= !segment->no_ecn;
    if (segment->flags & SMCR_TCP_RST)
        return;
    place = place_of(way, segment);
    count_segment(way, segment);
    if (segment->timestamps)
        take_timestamps(way, reverse, scope, segment);
    take_data(way, scope, place, segment);
    take_sequence(way, place, segment->no_length);
    take_ends(way, place, segment->flags);
    if (segment->flags & SMCR_TCP_ACK)
        acknowledged = take_ack(way, reverse, scope, segment);
    if (marks)
        take_marks(way, reverse, segment, acknowledged);
}

/* 100 times `part` by `whole`, or not a number. */
static double
percent(uint64_t part, uint64_t whole)
{
    return part == SMCR_UNKNOWN || !whole ? NAN : 100.0 * (double)part / (double)whole;
}

/* What no segment told is not known: ECN without IP headers, lateness without time stamps. */
static void
blank_unknown(const smcr_tcp_way_t *way, smcr_tcp_way_entry_t *entry)
{
    if (entry->packets && !way->any_ecn)
        entry->ce = entry->sce = SMCR_UNKNOWN;
    if (entry->segments && !way->any_timestamps)
        entry->late_segments = SMCR_UNKNOWN;
    if (!way->acked)
        entry->ack_elapsed_s = SMCR_UNKNOWN;
}

void
smcr_tcp_way_report(const smcr_tcp_way_t *way, smcr_tcp_way_entry_t *entry)
{
    bool moves = way->acked && way->counts.ack_elapsed_s > 0;

    *entry = way->counts;
    if (way->sce_run)
        smcr_distribution_add(&entry->sce_run_length, way->sce_run);
    blank_unknown(way, entry);
    entry->derived.sce_percent = percent(entry->sce, entry->data_segments);
    entry->derived.ce_percent = percent(entry->ce, entry->data_segments);
    entry->derived.esce_acked_bytes_percent =
        percent(entry->esce_acked_bytes, entry->acked_bytes);
    entry->derived.goodput_bit_s =
        moves ? 8e9 * (double)entry->acked_bytes / (double)entry->ack_elapsed_s : NAN;
}
