/* Counts the segments of one direction of a TCP connection. The comment of a function names the
 * figures that it counts, and the rule of each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "congestion.h"

#include <math.h>

#define FIRST (UINT64_C(1) << 62) /* start of unwrapped numbers, so that no number falls below 0 */
#define FARTHEST (1 << 30)        /* largest window of TCP, bytes (RFC 7323, 2.3) */

/* ---- numbers of 32 bits ---- */

/* Returns the 64-bit number nearest to `near` whose lower 32 bits are `number`. If `near` is 0, the
 * number is the first one of a direction, and becomes FIRST + `number`. */
static uint64_t
unwrap(uint64_t near, uint32_t number)
{
    if (!near)
        return FIRST + number;
    return near + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)near);
}

/* Unwraps a sequence number of the direction to 64 bits. The result is nearest to the highest
 * sequence number so far. If no segment of the direction has come, it is nearest to the peer's
 * acknowledgement number. */
static uint64_t
unwrap_seq(const smcr_congestion_tcp_direction_t *direction, uint32_t seq)
{
    return unwrap(direction->next_seq ? direction->next_seq : direction->acked, seq);
}

/* Returns `to` - `from`: positive if `to` is ahead of `from`, negative if it is lower. */
static int64_t
distance(uint64_t from, uint64_t to)
{
    return (int64_t)(to - from);
}

/* Whether two sequence numbers are farther apart than the largest window of TCP. Then one of the
 * two numbers does not belong to the stream. */
static bool
are_far(uint64_t one, uint64_t other)
{
    return distance(one, other) > FARTHEST || distance(other, one) > FARTHEST;
}

/* Whether `number` is in the range [from, to). */
static bool
is_between(uint64_t number, uint64_t from, uint64_t to)
{
    return from <= number && number < to;
}

/* Returns how many sequence numbers in [from, to) stand for no byte of data: those of SYN and
 * FIN. */
static uint64_t
no_bytes_between(const smcr_congestion_tcp_direction_t *direction, uint64_t from, uint64_t to)
{
    return (is_between(direction->syn, from, to) ? 1U : 0) +
           (is_between(direction->fin, from, to) ? 1U : 0);
}

/* Returns `whole` - `part`; 0 if `part` is greater. */
static uint64_t
less(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* ---- sent segments ---- */

/* Counts a sent segment in three figures. `segments`: segments without RST. `data_segments`:
 * segments with data. `ipg_s`: time from a segment to the next one, with data or without. */
static void
count_segment(smcr_congestion_tcp_direction_t *direction, wmem_allocator_t *scope,
              const smcr_congestion_tcp_segment_t *segment)
{
    if (direction->counts.segments && segment->time >= direction->last_time)
        smcr_distribution_add(&direction->counts.ipg_s, scope,
                              segment->time - direction->last_time);
    direction->last_time = segment->time;
    direction->counts.segments++;
    direction->counts.data_segments += segment->length ? 1 : 0;
}

/* Counts a segment with time stamps in two figures. `late_segments`: segments whose TSval is below
 * the highest TSval so far. Such a segment came out of order, since the TSvals of a sender never
 * decrease. `tsval_rtt_s`: time from the last segment with a TSval to the first ACK that echoes
 * this TSval. This time counts for the direction whose sender sent the TSval. */
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
        smcr_distribution_add(&reverse->counts.tsval_rtt_s, scope, segment->time - sent);
}

/* The sequence numbers of a segment, unwrapped to 64 bits: from `from` to `to` - 1, SYN and FIN
 * included. */
typedef struct {
    uint64_t from; /* number of the first byte, or of the SYN */
    uint64_t data; /* number of the first byte of data; without data, that of the FIN, or `to` */
    uint64_t to;   /* number after the last byte, or after the FIN */
    bool is_byte; /* the segment is one byte of data, without SYN or FIN */
} segment_place_t;

/* Returns the sequence numbers of the segment. */
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

/* Whether the segment is a keep-alive with one byte. A host sends it when everything has been
 * acknowledged. The byte is the last byte of the stream, or garbage at the same sequence number
 * (RFC 9293, 3.8.4). A keep-alive is no retransmission. A keep-alive without data needs no check,
 * since it has no byte that could be retransmitted. */
static bool
is_keep_alive(const smcr_congestion_tcp_direction_t *direction, segment_place_t place)
{
    return place.is_byte && place.to <= direction->acked &&
           (!direction->next_seq || place.to == direction->next_seq);
}

/* Whether the segment belongs to this stream: its sequence number is at most FARTHEST from the
 * highest sequence number so far. Returns false for the first segment of the direction. */
static bool
continues_stream(const smcr_congestion_tcp_direction_t *direction, segment_place_t place)
{
    return direction->next_seq && !are_far(direction->next_seq, place.from);
}

/* Whether data, SYN or FIN of the segment were captured before in another segment. */
static bool
was_captured(const smcr_congestion_tcp_direction_t *direction, segment_place_t place,
             const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t end = place.data + segment->length;
    bool has_syn = place.data > place.from, has_fin = place.to > end;

    if (segment->length && smcr_ranges_find(&direction->captured, place.data, end))
        return true;
    return (has_syn && direction->syn == place.from) || (has_fin && direction->fin == end);
}

/* Whether the segment was captured less than 3 ms after the newest one. No sender has learned of a
 * loss so soon. Wireshark has the same limit. */
static bool
is_soon_after_newest(const smcr_congestion_tcp_newest_t *newest,
                     const smcr_congestion_tcp_segment_t *segment)
{
    const uint64_t soon = 3000000; /* nanoseconds */

    return segment->time >= newest->time && segment->time - newest->time < soon;
}

/* Whether the segment was sent before the newest segment, though it was captured after. Three signs
 * show it, and the first one that exists decides:
 * 1. the time stamps (TSval) of the two segments differ: they never decrease;
 * 2. both have an identification of IPv4, and Linux counts it up for each segment of a connection;
 * 3. the segment comes within 3 ms of the newest segment. */
static bool
was_sent_earlier(const smcr_congestion_tcp_newest_t *newest,
                 const smcr_congestion_tcp_segment_t *segment)
{
    if (segment->timestamps && newest->timestamps && segment->tsval != newest->tsval)
        return (int32_t)(segment->tsval - newest->tsval) < 0;
    if (segment->ip_id > 0 && newest->ip_id > 0 && segment->ip_id != newest->ip_id)
        return (int16_t)(segment->ip_id - newest->ip_id) < 0;
    return is_soon_after_newest(newest, segment);
}

/* Whether the segment is a retransmission: its bytes, SYN or FIN were captured before (`is_known`:
 * the result of was_captured()), or it fills a gap and was sent after the newest segment. In the
 * second case, the first transmission is missing. A keep-alive is no retransmission, nor is a
 * segment that came out of order. */
static bool
is_retransmission(const smcr_congestion_tcp_direction_t *direction, segment_place_t place,
                  const smcr_congestion_tcp_segment_t *segment, bool is_known)
{
    const smcr_congestion_tcp_newest_t *newest = &direction->newest_segment;
    bool is_older = segment->timestamps && newest->timestamps &&
                    (int32_t)(segment->tsval - newest->tsval) < 0;

    if (place.to == place.from || is_keep_alive(direction, place))
        return false;
    return is_known ? !is_older : !was_sent_earlier(newest, segment);
}

/* Counts a segment in three figures. `gaps`: segments that begin above the highest sequence number
 * so far. `gap_bytes`: number of bytes from this sequence number to the segment.
 * `repeated_segments`: segments below this sequence number that were retransmitted. Nothing counts
 * as a gap if the length of the last segment is not known (`next_unknown`). */
static void
count_disorder(smcr_congestion_tcp_direction_t *direction, segment_place_t place,
               const smcr_congestion_tcp_segment_t *segment, bool is_known)
{
    int64_t ahead = distance(direction->next_seq, place.from);

    if (ahead > 0 && !direction->next_unknown) {
        direction->counts.gaps++;
        direction->counts.gap_bytes += (uint64_t)ahead;
    }
    if (ahead < 0 && is_retransmission(direction, place, segment, is_known))
        direction->counts.repeated_segments++;
}

/* Moves the highest sequence number to the end of the segment, unless the segment ends below it. If
 * a segment without data begins above the highest sequence number, bytes before the segment were
 * not captured. These are the newest bytes of the stream, so `newest_missing` is set. `is_known`:
 * the result of was_captured() for the segment. `requests`: member `requests` of the other
 * direction. */
static void
take_sequence(smcr_congestion_tcp_direction_t *direction, segment_place_t place,
              const smcr_congestion_tcp_segment_t *segment, bool is_known,
              uint64_t requests)
{
    int64_t ahead = distance(direction->next_seq, place.from);
    bool continues = continues_stream(direction, place);
    bool is_empty = place.to == place.from;

    if (continues)
        count_disorder(direction, place, segment, is_known);
    if (continues && place.to < direction->next_seq)
        return;
    direction->newest_missing = is_empty && (direction->newest_missing || ahead > 0);
    direction->next_seq = place.to;
    direction->next_unknown = segment->no_length;
    direction->newest_segment = (smcr_congestion_tcp_newest_t){
        .time = segment->time,
        .from = place.from,
        .requests = requests,
        .tsval = segment->tsval,
        .ip_id = segment->ip_id,
        .timestamps = segment->timestamps,
    };
}

/* Adds to `payload` the bytes of the segment that no earlier segment had; none for a keep-alive.
 * Keeps the send time for `rtt_s`, unless the segment begins below the acknowledgement number. */
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

/* ---- acknowledgements: their figures count for the direction of the data ---- */

/* Takes an acknowledgement with a higher ACK number than before. It counts in three figures:
 * 1. `rtt_s`: time from the last transmission of the segment that begins at the old ACK number to
 *    this ACK.
 * 2. `acked_bytes`: bytes by which ACK numbers have moved since the first ACK. SYN, FIN, and bytes
 *    that SACK blocks had acknowledged before do not count.
 * 3. `ack_elapsed_s`: time from the first ACK to the last ACK with a higher number.
 * Returns the bytes that the acknowledgement adds to `acked_bytes`. */
static uint64_t
move_ack(smcr_congestion_tcp_direction_t *data, wmem_allocator_t *scope, uint64_t ack,
         uint64_t time)
{
    uint64_t bytes = less(ack - data->acked, no_bytes_between(data, data->acked, ack)), sent;

    if (smcr_congestion_sent_times_take(&data->sent, data->acked, &sent) && time >= sent)
        smcr_distribution_add(&data->counts.rtt_s, scope, time - sent);
    bytes = less(bytes, smcr_ranges_remove(&data->sacked, scope, SMCR_RANGES_OF_STREAM, 0, ack));
    data->acked = ack;
    data->counts.acked_bytes += bytes;
    if (time > data->first_ack_time)
        data->counts.ack_elapsed_s = MAX(data->counts.ack_elapsed_s, time - data->first_ack_time);
    return bytes;
}

/* Takes the SACK blocks of a segment, for `sacked_bytes`: bytes that SACK blocks acknowledge before
 * an ACK number does. Blocks below the ACK number report duplicates (RFC 2883), and add nothing.
 * Returns the number of bytes that the blocks add. */
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

/* Whether the segment reports data that came twice (D-SACK): its first SACK block ends at its ACK
 * number, or below it (RFC 2883, 4). */
static bool
is_dsack(const smcr_congestion_tcp_segment_t *segment)
{
    return segment->sacks && (int32_t)(segment->ack - segment->sack[0].right) >= 0;
}

/* Whether the segment has neither data nor SYN nor FIN. */
static bool
carries_nothing(const smcr_congestion_tcp_segment_t *segment)
{
    return !segment->length &&
           !(segment->flags & (SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_FIN));
}

/* Takes a segment with ACK. It counts in two figures of the direction of its sender. `acks`:
 * segments with the flag ACK. `duplicate_acks`: segments whose ACK number is the highest one so
 * far, and not a new one, with data or without. A segment with a lower ACK number came out of
 * order, and counts in `acks` only. SACK blocks count in figures of the peer's direction `data`.
 * Returns how many bytes of `data` the segment acknowledges for the first time, by ACK number and
 * SACK blocks. */
static uint64_t
take_ack(smcr_congestion_tcp_direction_t *direction, smcr_congestion_tcp_direction_t *data,
         wmem_allocator_t *scope, const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t ack, bytes = 0, sacked;

    direction->counts.acks++;
    ack = data->acked ? unwrap(data->acked, segment->ack) : unwrap_seq(data, segment->ack);
    if (!data->acked || are_far(data->acked, ack)) {
        data->first_ack_time = data->acked ? data->first_ack_time : segment->time;
        data->acked = data->first_acked = ack;
        data->sacked.count = 0;
        take_sacks(data, scope, segment); /* the SACK blocks are kept, and count in no
                                             figure, if this ACK is the first or its number is
                                             far from the earlier ones */
        return 0;
    }
    bool is_repeated = ack == data->acked;
    if (ack > data->acked)
        bytes = move_ack(data, scope, ack, segment->time);
    else if (is_repeated)
        direction->counts.duplicate_acks++;
    direction->requests += segment->sacks || (is_repeated && carries_nothing(segment));
    sacked = take_sacks(data, scope, segment);
    data->counts.sacked_bytes += sacked;
    data->counts.dsacks += is_dsack(segment);
    return bytes + sacked;
}

/* ---- marks ---- */

/* Counts a segment in three figures of SCE (Some Congestion Experienced). `sce`: segments marked
 * ECT(1), by which routers report some congestion. `sce_ipg_s`: time from one marked segment to the
 * next one. `sce_run_length`: number of consecutive marked segments; a segment without the mark
 * ends the run. */
static void
take_sce(smcr_congestion_tcp_direction_t *direction, wmem_allocator_t *scope,
         const smcr_congestion_tcp_segment_t *segment)
{
    if (segment->ecn != SMCR_WIRE_ECN_ECT_1) {
        if (direction->sce_run)
            smcr_distribution_add(&direction->counts.sce_run_length, scope, direction->sce_run);
        direction->sce_run = 0;
        return;
    }
    if (direction->counts.sce && segment->time >= direction->last_sce_time)
        smcr_distribution_add(&direction->counts.sce_ipg_s, scope,
                              segment->time - direction->last_sce_time);
    direction->last_sce_time = segment->time;
    direction->counts.sce++;
    direction->sce_run++;
}

/* Counts a segment in the figures of congestion marks:
 * 1. `ce`: segments marked CE (Congestion Experienced).
 * 2. `ece`: segments with the flag ECE, which echoes the mark CE.
 * 3. `cwr`: segments with the flag CWR, which answers the echo.
 * 4. `esce`: segments with the flag NS, which echoes SCE.
 * 5. `esce_acked_bytes`: bytes that segments with NS acknowledge, also by SACK blocks.
 * With Accurate ECN the flags NS, CWR and ECE are a counter, so figures 2 to 5 do not count the
 * segment. */
static void
take_marks(smcr_congestion_tcp_direction_t *direction, smcr_congestion_tcp_direction_t *reverse,
           wmem_allocator_t *scope, const smcr_congestion_tcp_segment_t *segment,
           uint64_t acknowledged)
{
    uint16_t flags = segment->ace ? 0 : segment->flags;

    direction->counts.ce += segment->ecn == SMCR_WIRE_ECN_CE ? 1 : 0;
    direction->counts.ece += flags & SMCR_CONGESTION_TCP_ECE ? 1 : 0;
    direction->counts.cwr += flags & SMCR_CONGESTION_TCP_CWR ? 1 : 0;
    if (flags & SMCR_CONGESTION_TCP_NS) {
        direction->counts.esce++;
        reverse->counts.esce_acked_bytes += acknowledged;
    }
    take_sce(direction, scope, segment);
}

/* ---- duplicates made by the network or by the capture ---- */

/* Returns a hash of the numbers that are equal in a segment and its duplicates, and differ in most
 * other segments (is_copy_of() decides); 0: there is no such hash. A retransmission mostly differs
 * in the identification of IPv4, or in the time stamp. If a segment has neither, the hash includes
 * `heard`: how many packets the other side has sent. A duplicate comes before the other side's next
 * packet. An acknowledgement without data, identification and time stamp equals the next such
 * acknowledgement, so it has no hash. */
static uint64_t
identity_of(const smcr_congestion_tcp_segment_t *segment, uint64_t heard)
{
    const uint16_t takes_a_number = SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_FIN;
    bool is_told_apart = segment->ip_id > 0 || segment->timestamps;
    const uint32_t parts[] = {segment->seq,   segment->ack,   segment->length, segment->flags,
                              segment->tsval, segment->tsecr, (uint32_t)segment->ip_id,
                              is_told_apart ? 0 : (uint32_t)heard};
    uint64_t identity = UINT64_C(14695981039346656037); /* start value of the hash FNV-1a */

    if (!is_told_apart && !segment->length && !(segment->flags & takes_a_number))
        return 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        identity = (identity ^ parts[i]) * UINT64_C(1099511628211);
    return identity;
}

/* Whether equal numbers alone prove that a later segment is a duplicate. A retransmission has
 * another time stamp, and another identification of IPv4. So if a segment has a time stamp and an
 * identification, an equal segment is a duplicate, however late it comes. For a SYN, the time stamp
 * is enough. */
static bool
has_proof_of_copy(const smcr_congestion_tcp_segment_t *segment)
{
    return segment->timestamps &&
           (segment->ip_id > 0 || segment->flags & SMCR_CONGESTION_TCP_SYN);
}

/* Whether two equal segments are at most 100 microseconds apart. No sender retransmits so soon, so
 * the second segment is a duplicate. */
static bool
is_soon_after(uint64_t before, uint64_t time)
{
    const uint64_t soon = 100000; /* nanoseconds */

    return time >= before && time - before <= soon;
}

/* Whether a segment that equals an earlier one, time stamp included, is a duplicate of it, however
 * late it comes: it has data, a SYN or a FIN, and the peer has asked for no retransmission since. A
 * retransmission by the sender's timer has a later time stamp. */
static bool
is_copy_by_timestamp(const smcr_congestion_tcp_recent_t *before,
                     const smcr_congestion_tcp_direction_t *reverse,
                     const smcr_congestion_tcp_segment_t *segment)
{
    return segment->timestamps && !carries_nothing(segment) &&
           before->requests == reverse->requests;
}

/* Whether a segment that equals an earlier one was captured at another point at nearly the same
 * time: so it is a duplicate, whatever it carries. The clocks of two points may be apart. */
static bool
is_copy_at_other_point(const smcr_congestion_tcp_recent_t *before,
                       const smcr_congestion_tcp_segment_t *segment)
{
    const uint64_t apart_most = 50 * SMCR_TIME_MILLISECOND; /* no timer runs out sooner */
    uint64_t apart = before->time > segment->time ? before->time - segment->time
                                                  : segment->time - before->time;

    return before->place != segment->place && apart <= apart_most;
}

/* Whether a segment that equals an earlier one is a duplicate of it. `reverse`: the direction of
 * the peer. */
static bool
is_copy_of(const smcr_congestion_tcp_recent_t *before,
           const smcr_congestion_tcp_direction_t *reverse,
           const smcr_congestion_tcp_segment_t *segment)
{
    return has_proof_of_copy(segment) || is_soon_after(before->time, segment->time) ||
           is_copy_at_other_point(before, segment) ||
           is_copy_by_timestamp(before, reverse, segment);
}

/* Keeps a segment for the comparison with later segments, in the place of the oldest one if
 * SMCR_CONGESTION_TCP_RECENT segments are kept. */
static void
keep_recent(smcr_congestion_tcp_direction_t *direction, wmem_allocator_t *scope,
            smcr_congestion_tcp_recent_t segment)
{
    uint32_t place = direction->newest++ % SMCR_CONGESTION_TCP_RECENT;

    if (place >= direction->recent_room) {
        direction->recent_room = MAX(2 * direction->recent_room, 4);
        direction->recent = wmem_realloc(scope, direction->recent,
                                         direction->recent_room * sizeof *direction->recent);
    }
    direction->recent[place] = segment;
}

/* Whether the segment is a duplicate that the network or the capture has made (`copies`) of one of
 * the last SMCR_CONGESTION_TCP_RECENT segments. Keeps the segment for the comparison with later
 * segments, if it is no duplicate. */
static bool
is_copy(smcr_congestion_tcp_direction_t *direction,
        const smcr_congestion_tcp_direction_t *reverse, wmem_allocator_t *scope,
        const smcr_congestion_tcp_segment_t *segment)
{
    uint32_t kept = MIN(direction->newest, SMCR_CONGESTION_TCP_RECENT);
    smcr_congestion_tcp_recent_t now = {segment->time,
                                        identity_of(segment, reverse->counts.packets),
                                        reverse->requests, segment->place};

    direction->any_identity |= now.identity != 0;
    for (unsigned i = 0; now.identity && i < kept; i++) {
        const smcr_congestion_tcp_recent_t *before = &direction->recent[i];
        if (before->identity == now.identity && is_copy_of(before, reverse, segment))
            return true;
    }
    keep_recent(direction, scope, now);
    return false;
}

/* ---- duplicates that another capture point has cut otherwise ----
 *
 * A host hands large segments to its adapter, which cuts them; the adapter of the receiver puts
 * segments together. So two capture points show the same bytes in different segments. The pieces
 * have the time stamps of the large segment, and IPv4 identifications that count up from its own
 * (RFC 6864 leaves that to the sender; adapters and Linux do so). */

/* Whether the segment may be the piece number `pieces`, from 0, of the newest segment, which
 * another capture point shows as a whole. `pieces`: how much higher its IPv4 identification is. All
 * pieces but the last have the same length, so the distance between the beginnings of both segments
 * is a multiple of `pieces`. */
static bool
counts_pieces(segment_place_t place, uint64_t newest_from, int pieces)
{
    const uint64_t piece_least = 88; /* bytes of data: TCP's smallest MSS */
    uint64_t offset = place.from - newest_from;

    if (!pieces)
        return true;
    return offset % (uint64_t)pieces == 0 && offset / (uint64_t)pieces >= piece_least;
}

/* Whether the IPv4 identification says that the segment is no retransmission: it is lower than that
 * of the newest segment, or exactly as much higher as a piece of the newest segment has it
 * (counts_pieces()). */
static bool
id_excludes_retransmission(const smcr_congestion_tcp_newest_t *newest, segment_place_t place,
                const smcr_congestion_tcp_segment_t *segment)
{
    int pieces = (int16_t)(segment->ip_id - newest->ip_id);

    if (pieces < 0)
        return true;
    return place.from >= newest->from && counts_pieces(place, newest->from, pieces);
}

/* Whether the segment has data, and all its bytes, and its FIN if it has one, were captured in
 * other segments. Returns false for a segment with SYN. */
static bool
is_all_captured(const smcr_congestion_tcp_direction_t *direction, segment_place_t place,
                const smcr_congestion_tcp_segment_t *segment)
{
    uint64_t end = place.data + segment->length;
    bool has_syn = place.data > place.from, has_fin = place.to > end;

    if (!segment->length || has_syn || (has_fin && direction->fin != end))
        return false;
    return smcr_ranges_count(&direction->captured, place.data, end) == segment->length;
}

/* Whether the segment was sent before the newest one, or is a piece of it. If the time stamps
 * (TSval) differ, the lower one was sent earlier. If they are equal, the IPv4 identifications
 * decide (id_excludes_retransmission()). If time stamps or identifications are missing, the segment
 * must also come less than 3 ms after the newest one. Returns false if both are missing. */
static bool
may_be_part_of_newest(const smcr_congestion_tcp_newest_t *newest, segment_place_t place,
                      const smcr_congestion_tcp_segment_t *segment)
{
    bool has_timestamps = segment->timestamps && newest->timestamps;
    bool has_ids = segment->ip_id > 0 && newest->ip_id > 0;

    if (has_timestamps && segment->tsval != newest->tsval)
        return (int32_t)(segment->tsval - newest->tsval) < 0;
    if (!(has_timestamps && has_ids) && !is_soon_after_newest(newest, segment))
        return false;
    return has_ids ? id_excludes_retransmission(newest, place, segment) : has_timestamps;
}

/* Whether the segment is a duplicate of bytes that were captured in other segments, before or after
 * an adapter has cut them. The peer has asked for no retransmission since the newest segment, so
 * the segment is no retransmission. */
static bool
is_cut_otherwise(const smcr_congestion_tcp_direction_t *direction,
                 const smcr_congestion_tcp_direction_t *reverse, segment_place_t place,
                 const smcr_congestion_tcp_segment_t *segment)
{
    const smcr_congestion_tcp_newest_t *newest = &direction->newest_segment;

    return is_all_captured(direction, place, segment) && !is_keep_alive(direction, place) &&
           reverse->requests == newest->requests &&
           may_be_part_of_newest(newest, place, segment);
}

/* ---- all figures of a segment ---- */

/* Whether the ECN marks and flags of a segment count. Three conditions hold: the segment has ACK,
 * it has no SYN and no FIN, and its sender has sent no FIN before. */
static bool
can_have_marks(const smcr_congestion_tcp_direction_t *direction, uint16_t flags)
{
    const uint16_t takes_a_number = SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_FIN;

    return (flags & SMCR_CONGESTION_TCP_ACK) && !(flags & takes_a_number) && !direction->fin;
}

/* Keeps the sequence numbers of SYN and FIN. A FIN that is captured after its acknowledgement was
 * counted in `acked_bytes` as a byte, which is subtracted now. */
static void
note_ends(smcr_congestion_tcp_direction_t *direction, uint16_t flags, segment_place_t place)
{
    if (flags & SMCR_CONGESTION_TCP_SYN)
        direction->syn = place.from;
    if (!(flags & SMCR_CONGESTION_TCP_FIN))
        return;
    if (!direction->fin && is_between(place.to - 1, direction->first_acked, direction->acked))
        direction->counts.acked_bytes = less(direction->counts.acked_bytes, 1);
    direction->fin = place.to - 1;
}

/* Counts each segment in `packets` and `ip_bytes`. A segment with RST, and a duplicate, counts in
 * no other figure; a duplicate also in `copies`. */
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
    segment_place_t place = place_of(direction, segment);
    if (is_copy(direction, reverse, scope, segment) ||
        is_cut_otherwise(direction, reverse, place, segment)) {
        direction->counts.copies++;
        return;
    }
    count_segment(direction, scope, segment);
    if (segment->timestamps)
        take_timestamps(direction, reverse, scope, segment);
    bool is_known = was_captured(direction, place, segment);
    take_data(direction, scope, place, segment);
    take_sequence(direction, place, segment, is_known, reverse->requests);
    note_ends(direction, flags, place);
    if (flags & SMCR_CONGESTION_TCP_ACK)
        acknowledged = take_ack(direction, reverse, scope, segment);
    if (has_marks)
        take_marks(direction, reverse, scope, segment, acknowledged);
}

/* Sequence numbers are unwrapped. SYN and FIN take a sequence number each and are no bytes of the
 * stream (RFC 9293, 3.4): no_bytes_between() subtracts them. */
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

/* Returns `part` in percent of `whole`; NAN: one of them is not known, or `whole` is 0. */
static double
percent(uint64_t part, uint64_t whole)
{
    bool is_known = part != SMCR_FIGURE_UNKNOWN && whole != SMCR_FIGURE_UNKNOWN;

    return is_known && whole ? 100.0 * (double)part / (double)whole : NAN;
}

/* Whether the last acknowledged number may be that of a FIN that was not captured. Then one of
 * `acked_bytes` may be no byte. The number is a byte for sure if a segment with it was captured, or
 * if the sender has sent a higher number. */
static bool
may_have_acked_fin(const smcr_congestion_tcp_direction_t *direction)
{
    uint64_t last = direction->acked - 1;

    if (!direction->counts.acked_bytes || direction->fin)
        return false;
    return direction->acked >= direction->next_seq &&
           !smcr_ranges_find(&direction->captured, last, direction->acked);
}

/* Sets figures to not known if no segment could show them: ECN marks if no IP header was found,
 * late segments without time stamps, duplicates if no segment has an identity, the time of
 * acknowledgements if there is no acknowledgement, acknowledged bytes if one of them may be a
 * FIN. */
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
    if (!may_have_acked_fin(direction))
        return;
    entry->acked_bytes = SMCR_FIGURE_UNKNOWN;
    if (entry->esce_acked_bytes)
        entry->esce_acked_bytes = SMCR_FIGURE_UNKNOWN;
}

/* Does not change the counts: reports are made while segments still come. */
void
smcr_congestion_tcp_direction_report(const smcr_congestion_tcp_direction_t *direction,
                                     smcr_entry_tcp_direction_t *entry, wmem_allocator_t *scope)
{
    bool moves = direction->acked && direction->counts.ack_elapsed_s > 0 &&
                 !may_have_acked_fin(direction);

    *entry = direction->counts;
    if (direction->sce_run) /* the run may go on: only the entry has it */
        smcr_distribution_add_to_copy(&entry->sce_run_length, scope, direction->sce_run);
    mark_unknown(direction, entry);
    entry->derived.sce_percent = percent(entry->sce, entry->data_segments);
    entry->derived.ce_percent = percent(entry->ce, entry->data_segments);
    entry->derived.esce_acked_bytes_percent = percent(entry->esce_acked_bytes, entry->acked_bytes);
    entry->derived.goodput_bit_s =
        moves ? 8e9 * (double)entry->acked_bytes / (double)entry->ack_elapsed_s : NAN;
}
