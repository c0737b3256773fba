/* Finds out which TCP segments have reached their receivers. A transmission is here a part of a
 * segment (observed_tcp.c), a range of the sender's sequence numbers. The proofs, for the last
 * capture point before the receiver:
 *
 * - An acknowledgement number, or a SACK block, proves that the receiver has got the range. If the
 *   range was sent once until then, the receiver has got this transmission.
 * - A retransmission proves that the sender has got no acknowledgement. If the last point does not
 *   have the earlier transmission, this transmission was lost. If the last point has it, the
 *   transmission or its acknowledgement was lost after that point. If the receiver has reported
 *   only later bytes with a SACK block (RFC 2018), the transmission was lost.
 * - A SACK block below the acknowledgement number reports a range that has come once more (RFC
 *   2883): no transmission of a range was lost that was sent twice, or that was sent n times and
 *   reported n - 1 times.
 * - If the sender retransmits a range after an acknowledgement that covers it, the acknowledgement
 *   was lost.
 * - An acknowledgement without data has no sequence numbers. But the receiver echoes its time stamp
 *   (RFC 7323, 4.3): a later segment of the receiver with an older time stamp proves the loss, and
 *   one with the same time stamp the arrival, if no other segment has this time stamp.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates_tcp.h"

/* Nanoseconds. If an acknowledgement passed the point next to the sender at least this time before
 * a retransmission, the sender would have received the acknowledgement. So the acknowledgement was
 * lost. */
#define TIME_TO_REACT (5 * SMCR_TIME_MILLISECOND)

/* Nanoseconds. A host may send a segment with an old time stamp although a newer segment has
 * arrived: hosts under emulation have done so 26 ms later. So the echo proves a loss only this time
 * after the segment. The value is the shortest retransmission timeout of Linux. */
#define TIME_TO_ECHO (200 * SMCR_TIME_MILLISECOND)

#define LOOKED_AT_MOST 1024 /* highest number of segments of the receiver in which a proof about one
                               transmission is searched */

/* A transmission of the flow. */
typedef struct {
    uint64_t from;  /* first sequence number, unwrapped */
    uint64_t time;  /* when the transmission passed or would have passed the last point, by the
                       clock of the path's first point, nanoseconds since the epoch */
    uint64_t sent;  /* when it passed or would have passed the first point, by the same clock */
    uint32_t order; /* number of an observation: puts equal times in the order of the file */
    uint32_t span;  /* number of sequence numbers; 0: no data, SYN or FIN */
    bool is_seen;   /* the last point has it undamaged */
    smcr_transmission_t *transmission; /* the transmission, whose fate is to be found */
    const smcr_points_tcp_t *tcp; /* header of the segment */
} sent_part_t;

/* A segment of the receiver, with an acknowledgement. Times are by the clock of the path's first
 * point, nanoseconds since the epoch. */
typedef struct {
    uint64_t time;  /* when it passed or would have passed the last point of the flow */
    uint64_t come;  /* when it passed or would have passed the first point of the flow */
    uint64_t ack;   /* acknowledgement number, unwrapped */
    uint64_t acked; /* highest acknowledgement number up to this segment */
    uint32_t order; /* number of an observation */
    bool is_seen;   /* the last point of the flow has it undamaged */
    bool is_pure;   /* it has no sequence numbers of its own */
    smcr_transmission_t *transmission; /* the transmission of the segment */
    const smcr_points_tcp_t *tcp; /* header of the segment */
} answer_t;

/* A range of sequence numbers, which was sent once or several times. */
typedef struct {
    uint64_t from;  /* first sequence number */
    uint64_t to;    /* sequence number after the last one */
    uint32_t first; /* index of its first transmission in flow_t.sent */
    uint32_t count; /* number of its transmissions */
    uint32_t acked; /* index, plus 1, of the first answer that acknowledges the range; 0: none */
    uint32_t next;  /* index of a later range; all ranges from this one to the one before it are
                       acknowledged. Set if `acked` */
    uint32_t again; /* how often the receiver reports that the range has come once more */
} range_t;

/* A flow: what an end of a TCP connection sends, and what the other end answers. */
typedef struct {
    GArray *sent;     /* sent_part_t, in ascending order of sequence numbers, then of time */
    GArray *answers;  /* answer_t, in the order of time */
    GArray *ranges;   /* range_t, in ascending order of sequence numbers. No two overlap, unless a
                         segment was not cut */
    uint64_t fastest; /* shortest time from a transmission to its acknowledgement at the last point,
                         nanoseconds; 0: not known */
} flow_t;

/* ---- collecting ---- */

/* Returns the unwrapped sequence number that has `number` as its lower 32 bits, and is nearest to
 * `near`. */
static uint64_t
unwrap(uint64_t near, uint32_t number)
{
    return near + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)near);
}

/* Comparison: by time, then by the order in the file. */
static int
compare_times(uint64_t time, uint32_t order, uint64_t other_time, uint32_t other_order)
{
    if (time != other_time)
        return time < other_time ? -1 : 1;
    return order < other_order ? -1 : order > other_order;
}

/* Compares parts for sorting: by the first sequence number, then by length, then by time. */
static int
compare_sent(const void *one, const void *other)
{
    const sent_part_t *a = one, *b = other;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return compare_times(a->time, a->order, b->time, b->order);
}

static int
compare_answers(const void *one, const void *other)
{
    const answer_t *a = one, *b = other;

    return compare_times(a->time, a->order, b->time, b->order);
}

/* Returns the header of the transmission's segment. */
static const smcr_points_tcp_t *
header_of(const smcr_chain_t *chain, const smcr_transmission_t *transmission)
{
    return &chain->points->segments[chain->points->observed[transmission->any].segment].tcp;
}

/* Collects what the flow has sent, sorted by compare_sent(). Its transmissions come in the order of
 * time, so each sequence number is unwrapped near the one before. */
static void
collect_sent(flow_t *flow, const smcr_chain_t *chain, uint32_t number, bool is_back)
{
    uint32_t last = is_back ? 0 : chain->count - 1, first = chain->count - 1 - last;
    uint32_t end = smcr_chain_first_of(chain, number + 1);
    uint64_t near = UINT64_C(1) << 62; /* so that no number falls below 0 */

    for (uint32_t i = smcr_chain_first_of(chain, number); i < end; i++) {
        smcr_transmission_t *transmission = &chain->transmissions[i];
        const smcr_observed_t *part = &chain->points->observed[transmission->any];
        near = unwrap(near, part->psn);
        sent_part_t sent = {
            .from = near,
            .time = smcr_chain_passing_time(chain, transmission, last, is_back),
            .sent = smcr_chain_passing_time(chain, transmission, first, is_back),
            .order = transmission->any,
            .span = part->fetched,
            .is_seen = smcr_chain_is_whole_at(transmission, last),
            .transmission = transmission,
            .tcp = header_of(chain, transmission),
        };
        g_array_append_val(flow->sent, sent);
    }
    g_array_sort(flow->sent, compare_sent);
}

/* Collects the receiver's segments with acknowledgements. A segment in several parts has the same
 * acknowledgement in each. */
static void
collect_answers(flow_t *flow, const smcr_chain_t *chain, uint32_t number, bool is_back)
{
    uint32_t last = is_back ? 0 : chain->count - 1, first = chain->count - 1 - last;
    uint32_t end = smcr_chain_first_of(chain, number + 1);

    for (uint32_t i = smcr_chain_first_of(chain, number); i < end; i++) {
        smcr_transmission_t *transmission = &chain->transmissions[i];
        const smcr_points_tcp_t *tcp = header_of(chain, transmission);
        if (!(tcp->flags & SMCR_POINTS_TCP_ACK))
            continue;
        answer_t answer = {
            .time = smcr_chain_passing_time(chain, transmission, last, !is_back),
            .come = smcr_chain_passing_time(chain, transmission, first, !is_back),
            .order = transmission->any,
            .is_seen = smcr_chain_is_whole_at(transmission, last),
            .is_pure = !chain->points->observed[transmission->any].fetched,
            .transmission = transmission,
            .tcp = tcp,
        };
        g_array_append_val(flow->answers, answer);
    }
    g_array_sort(flow->answers, compare_answers);
}

/* Unwraps the acknowledgement numbers, near the sequence numbers of the flow. */
static void
unwrap_answers(flow_t *flow)
{
    uint64_t near = flow->sent->len ? g_array_index(flow->sent, sent_part_t, 0).from : 0, acked = 0;

    for (unsigned i = 0; i < flow->answers->len; i++) {
        answer_t *answer = &g_array_index(flow->answers, answer_t, i);
        answer->ack = near = unwrap(near, answer->tcp->ack);
        answer->acked = acked = MAX(acked, answer->ack);
    }
}

/* Makes a range of all transmissions with the same first and last sequence number. `flow->sent` is
 * sorted. */
static void
collect_ranges(flow_t *flow)
{
    for (unsigned i = 0; i < flow->sent->len; i++) {
        const sent_part_t *sent = &g_array_index(flow->sent, sent_part_t, i);
        range_t *last = flow->ranges->len
                            ? &g_array_index(flow->ranges, range_t, flow->ranges->len - 1)
                            : NULL;
        range_t range = {.from = sent->from, .to = sent->from + sent->span, .first = i, .count = 1};
        if (last && last->from == range.from && last->to == range.to)
            last->count++;
        else if (sent->span)
            g_array_append_val(flow->ranges, range);
    }
}

/* ---- which answer acknowledges a range ---- */

/* Returns the begin of a range. A function of type smcr_sorted_key_t. */
static uint64_t
begin_of(const void *ranges, uint32_t index)
{
    return g_array_index((const GArray *)ranges, range_t, index).from;
}

/* Returns the index of the first range that begins at `number` or later. */
static uint32_t
range_from(const flow_t *flow, uint64_t number)
{
    return smcr_sorted_first(flow->ranges, flow->ranges->len, begin_of, number);
}

/* Returns the index of the first range, at `index` or later, that is not acknowledged so far. */
static uint32_t
next_unacked_range(flow_t *flow, uint32_t index)
{
    uint32_t open = index;

    while (open < flow->ranges->len && g_array_index(flow->ranges, range_t, open).acked)
        open = g_array_index(flow->ranges, range_t, open).next;
    while (index < open) { /* later searches take the short way */
        range_t *range = &g_array_index(flow->ranges, range_t, index);
        index = range->next;
        range->next = open;
    }
    return open;
}

/* Sets the answer with the index `answer` as the first one that acknowledges the ranges from the
 * index `from` on, up to the sequence number `to`. Ranges that are acknowledged already stay as
 * they are. */
static void
acknowledge(flow_t *flow, uint32_t from, uint64_t to, uint32_t answer)
{
    for (uint32_t i = next_unacked_range(flow, from); i < flow->ranges->len;
         i = next_unacked_range(flow, i)) {
        range_t *range = &g_array_index(flow->ranges, range_t, i);
        if (range->to > to)
            return;
        range->acked = answer + 1;
        range->next = i + 1;
    }
}

/* Counts a report for the ranges between the unwrapped sequence numbers `left` and `right`: a SACK
 * block says that they have come once more (RFC 2883). */
static void
note_again(flow_t *flow, uint64_t left, uint64_t right)
{
    for (uint32_t i = range_from(flow, left); i < flow->ranges->len; i++) {
        range_t *range = &g_array_index(flow->ranges, range_t, i);
        if (range->to > right)
            return;
        range->again++;
    }
}

/* Whether the first SACK block of an answer reports bytes that have come once more: it lies below
 * the acknowledgement number, or in the second block (RFC 2883, 4). */
static bool
reports_again(const answer_t *answer)
{
    const smcr_points_tcp_t *tcp = answer->tcp;
    uint64_t left = unwrap(answer->ack, tcp->sack[0].left);
    uint64_t right = unwrap(answer->ack, tcp->sack[0].right);

    if (tcp->sack[0].left == tcp->sack[0].right)
        return false;
    return right <= answer->ack || (tcp->sack[1].left != tcp->sack[1].right &&
                                    left >= unwrap(answer->ack, tcp->sack[1].left) &&
                                    right <= unwrap(answer->ack, tcp->sack[1].right));
}

/* Takes the SACK blocks of the answer with the index `number`. The first one may report bytes that
 * have come once more (RFC 2883); it acknowledges nothing then. `is_new`: the answer is no further
 * part of the segment before it (observed_tcp.c). The parts of a segment report such bytes once. */
static void
take_blocks(flow_t *flow, uint32_t number, bool is_new)
{
    const answer_t *answer = &g_array_index(flow->answers, answer_t, number);
    bool is_again = reports_again(answer);

    for (unsigned block = 0; block < SMCR_POINTS_SACKS; block++) {
        uint64_t left = unwrap(answer->ack, answer->tcp->sack[block].left);
        uint64_t right = unwrap(answer->ack, answer->tcp->sack[block].right);
        if (left >= right)
            continue;
        if (block || !is_again)
            acknowledge(flow, range_from(flow, left), right, number);
        else if (is_new)
            note_again(flow, left, right);
    }
}

/* Finds for each range the first answer that acknowledges it. */
static void
take_answers(flow_t *flow)
{
    const smcr_points_tcp_t *before = NULL;

    for (unsigned i = 0; i < flow->answers->len; i++) {
        const answer_t *answer = &g_array_index(flow->answers, answer_t, i);
        acknowledge(flow, 0, answer->ack, i);
        take_blocks(flow, i, answer->tcp != before);
        before = answer->tcp;
    }
}

/* Returns the first answer that acknowledges the range; NULL: none. */
static const answer_t *
answer_of(const flow_t *flow, const range_t *range)
{
    return range->acked ? &g_array_index(flow->answers, answer_t, range->acked - 1) : NULL;
}

/* Returns the transmission `nth` (from 0) of the range. */
static sent_part_t *
sent_of(const flow_t *flow, const range_t *range, uint32_t nth)
{
    return &g_array_index(flow->sent, sent_part_t, range->first + nth);
}

/* Returns the time from the only transmission of a range to its acknowledgement, nanoseconds; 0:
 * not known, or the range was sent several times. */
static uint64_t
answer_time(const flow_t *flow, const range_t *range)
{
    const answer_t *answer = answer_of(flow, range);
    const sent_part_t *sent = sent_of(flow, range, 0);

    if (!answer || !answer->is_seen || !sent->is_seen || range->count > 1)
        return 0;
    return answer->time > sent->time ? answer->time - sent->time : 0;
}

/* Finds the shortest time from a transmission to its acknowledgement. */
static void
find_fastest(flow_t *flow)
{
    for (unsigned i = 0; i < flow->ranges->len; i++) {
        uint64_t time = answer_time(flow, &g_array_index(flow->ranges, range_t, i));
        if (time && (!flow->fastest || time < flow->fastest))
            flow->fastest = time;
    }
}

/* ---- the fate of a range's transmissions ---- */

/* Returns the time of an answer. A function of type smcr_sorted_key_t. */
static uint64_t
time_of(const void *answers, uint32_t index)
{
    return g_array_index((const GArray *)answers, answer_t, index).time;
}

/* Returns the index of the first answer at `time` or later. */
static uint32_t
answer_from(const flow_t *flow, uint64_t time)
{
    return smcr_sorted_first(flow->answers, flow->answers->len, time_of, time);
}

/* Whether the answer reports bytes after the range that were sent after `time`, and not the
 * range. */
static bool
reports_later_only(const flow_t *flow, const answer_t *answer, const range_t *range, uint64_t time)
{
    bool reports_later = false;

    if (answer->ack > range->from)
        return false;
    for (unsigned i = 0; i < SMCR_POINTS_SACKS; i++) {
        uint64_t left = unwrap(answer->ack, answer->tcp->sack[i].left);
        uint64_t right = unwrap(answer->ack, answer->tcp->sack[i].right);
        uint32_t at = range_from(flow, left);
        if (left >= right)
            continue;
        if (left < range->to && right > range->from)
            return false;
        if (left < range->to || at == flow->ranges->len)
            continue;
        const range_t *later = &g_array_index(flow->ranges, range_t, at);
        reports_later |= sent_of(flow, later, 0)->time > time;
    }
    return reports_later;
}

/* Whether an answer between a transmission and the next one of the same range proves that the
 * receiver has got later bytes, and not this transmission. */
static bool
is_passed_over(const flow_t *flow, const range_t *range, uint32_t nth)
{
    const sent_part_t *sent = sent_of(flow, range, nth), *next = sent_of(flow, range, nth + 1);
    uint32_t begin = answer_from(flow, sent->time);

    for (uint32_t i = begin; i < flow->answers->len && i - begin < LOOKED_AT_MOST; i++) {
        const answer_t *answer = &g_array_index(flow->answers, answer_t, i);
        if (answer->time >= next->time)
            return false;
        if (reports_later_only(flow, answer, range, sent->time))
            return true;
    }
    return false;
}

/* Whether all bytes before the range, and not the range, had been acknowledged when its
 * transmission `nth` (from 0) was sent. The sender then waited for this range, which caused the
 * retransmission. */
static bool
is_cause(const flow_t *flow, const range_t *range, uint32_t nth)
{
    uint32_t before = answer_from(flow, sent_of(flow, range, nth)->time);

    return before && g_array_index(flow->answers, answer_t, before - 1).acked == range->from;
}

/* Whether the receiver has got all transmissions of the range: it reports each of them but the
 * first as one that has come once more. */
static bool
has_come_each_time(const range_t *range)
{
    return range->again && range->again + 1 >= range->count;
}

/* Returns the fate of the transmission `nth` (from 0) of a range, which was retransmitted before
 * the range was acknowledged. */
static smcr_fate_t
fate_of_earlier(const flow_t *flow, const range_t *range, uint32_t nth)
{
    const sent_part_t *sent = sent_of(flow, range, nth);

    if (range->again)
        return has_come_each_time(range) ? SMCR_FATE_RECEIVED : SMCR_FATE_UNKNOWN;
    if (!sent->is_seen || is_passed_over(flow, range, nth))
        return SMCR_FATE_LOST;
    return is_cause(flow, range, nth + 1) ? SMCR_FATE_UNANSWERED : SMCR_FATE_UNKNOWN;
}

/* Whether the answer echoes the time stamp of this transmission or a later one (RFC 7323, 4.3). */
static bool
echoes(const answer_t *answer, const sent_part_t *sent)
{
    return answer->tcp->has_timestamps && sent->tcp->has_timestamps &&
           (int32_t)(answer->tcp->tsecr - sent->tcp->tsval) >= 0;
}

/* Whether the receiver may have had the transmission when it sent the answer: the answer echoes its
 * time stamp or a later one, or did not come too soon after it. */
static bool
may_answer(const flow_t *flow, const answer_t *answer, const sent_part_t *sent)
{
    if (answer->time >= sent->time && echoes(answer, sent))
        return true;
    return answer->time >= sent->time + flow->fastest / 2;
}

/* Returns the number (from 0) of the transmission that the receiver has acknowledged: the last one
 * that it may have answered (may_answer()). A transmission that the last point has is preferred to
 * those that it does not have. If the receiver can have answered none, returns 0. If there is no
 * acknowledgement, returns `range->count`. */
static uint32_t
accepted_of(const flow_t *flow, const range_t *range)
{
    const answer_t *answer = answer_of(flow, range);
    uint32_t accepted = 0;
    bool is_seen = false;

    if (!answer)
        return range->count;
    for (uint32_t i = 0; i < range->count; i++) {
        const sent_part_t *sent = sent_of(flow, range, i);
        if (!may_answer(flow, answer, sent) || (is_seen && !sent->is_seen))
            continue;
        accepted = i;
        is_seen = sent->is_seen;
    }
    return accepted;
}

/* `sent`: a transmission that was sent after an acknowledgement of its range. The sender
 * retransmits only what it holds for unacknowledged. So the acknowledgements without data that
 * passed the first point at least TIME_TO_REACT before were lost. */
static void
lose_answers(const flow_t *flow, const range_t *range, const sent_part_t *sent)
{
    uint32_t begin = range->acked - 1;

    for (uint32_t i = begin; i < flow->answers->len && i - begin < LOOKED_AT_MOST; i++) {
        answer_t *answer = &g_array_index(flow->answers, answer_t, i);
        if (answer->come + TIME_TO_REACT > sent->sent)
            return;
        if (answer->is_pure && answer->ack >= range->to)
            answer->transmission->fate = SMCR_FATE_LOST;
    }
}

/* Whether the last point has a retransmission of the range from before the acknowledgement. The
 * receiver may have answered it instead of the first transmission. */
static bool
has_rival(const flow_t *flow, const range_t *range)
{
    const answer_t *answer = answer_of(flow, range);

    for (uint32_t i = 1; answer && i < range->count; i++)
        if (sent_of(flow, range, i)->is_seen && sent_of(flow, range, i)->time <= answer->time)
            return true;
    return false;
}

/* Whether the receiver has certainly got the transmission `nth` (from 0) of the range. Either it
 * got each of the transmissions, or this is the one that it acknowledged and: the last point has
 * it; or it is the first one, and no other can have been acknowledged. `accepted`: from
 * accepted_of(). */
static bool
is_received(const flow_t *flow, const range_t *range, uint32_t nth, uint32_t accepted)
{
    if (has_come_each_time(range))
        return true;
    if (nth != accepted)
        return false;
    return sent_of(flow, range, nth)->is_seen || (!nth && !has_rival(flow, range));
}

/* Sets the fates of a range's transmissions. A transmission of which the answers prove nothing
 * keeps its fate. */
static void
settle_range(const flow_t *flow, const range_t *range)
{
    const answer_t *answer = answer_of(flow, range);
    uint32_t accepted = accepted_of(flow, range);

    for (uint32_t i = 0; i < range->count; i++) {
        const sent_part_t *sent = sent_of(flow, range, i);
        bool is_late = answer && i && sent->time > answer->time;
        bool is_followed = i + 1 < MIN(range->count, accepted + 1);
        if (is_late)
            lose_answers(flow, range, sent);
        if (is_followed)
            sent->transmission->fate = fate_of_earlier(flow, range, i);
        else if (is_received(flow, range, i, accepted))
            sent->transmission->fate = SMCR_FATE_RECEIVED;
    }
}

/* ---- acknowledgements without data ---- */

/* Whether `sent` has a time stamp, and no other segment of the flow has the same. `stamps`: TSval
 * -> number of transmissions of the flow with it. */
static bool
has_own_stamp(GHashTable *stamps, const sent_part_t *sent)
{
    void *key = GUINT_TO_POINTER(sent->tcp->tsval);

    return sent->tcp->has_timestamps &&
           GPOINTER_TO_UINT(g_hash_table_lookup(stamps, key)) == 1;
}

/* Returns what an answer proves about an acknowledgement without data, by the time stamps.
 * `is_taken`: if the receiver gets the segment, it echoes the segment's time stamp from then on.
 * Returns SMCR_FATE_PENDING if a later answer may prove something. */
static smcr_fate_t
echo_of(const answer_t *answer, const sent_part_t *sent, bool is_taken)
{
    int32_t newer = (int32_t)(answer->tcp->tsecr - sent->tcp->tsval);

    if (!answer->tcp->has_timestamps)
        return SMCR_FATE_PENDING;
    if (newer >= 0)
        return newer ? SMCR_FATE_UNKNOWN : SMCR_FATE_RECEIVED;
    if (answer->time < sent->time + TIME_TO_ECHO)
        return SMCR_FATE_PENDING;
    return is_taken ? SMCR_FATE_LOST : SMCR_FATE_UNKNOWN;
}

/* Returns the fate of an acknowledgement without data, whose time stamp no other segment has. The
 * receiver echoes the time stamp of a segment if it has acknowledged all bytes before the segment
 * (RFC 7323, 4.3). */
static smcr_fate_t
fate_of_pure(const flow_t *flow, const sent_part_t *sent)
{
    uint32_t begin = answer_from(flow, sent->time);
    bool is_taken =
        begin && g_array_index(flow->answers, answer_t, begin - 1).acked >= sent->from;

    for (uint32_t i = begin; i < flow->answers->len && i - begin < LOOKED_AT_MOST; i++) {
        const answer_t *answer = &g_array_index(flow->answers, answer_t, i);
        smcr_fate_t fate = echo_of(answer, sent, is_taken);
        if (fate != SMCR_FATE_PENDING)
            return fate;
    }
    return SMCR_FATE_UNKNOWN;
}

/* Sets the fates of acknowledgements without data that no other proof has set. */
static void
settle_pure(const flow_t *flow)
{
    GHashTable *stamps = g_hash_table_new(g_direct_hash, g_direct_equal);

    for (unsigned i = 0; i < flow->sent->len; i++) {
        void *key = GUINT_TO_POINTER(g_array_index(flow->sent, sent_part_t, i).tcp->tsval);
        unsigned count = GPOINTER_TO_UINT(g_hash_table_lookup(stamps, key));
        g_hash_table_insert(stamps, key, GUINT_TO_POINTER(count + 1));
    }
    for (unsigned i = 0; i < flow->sent->len; i++) {
        sent_part_t *sent = &g_array_index(flow->sent, sent_part_t, i);
        bool is_pure = !sent->span && (sent->tcp->flags & SMCR_POINTS_TCP_ACK);
        bool is_open = sent->transmission->fate == SMCR_FATE_UNKNOWN;
        if (is_pure && is_open && has_own_stamp(stamps, sent))
            sent->transmission->fate = fate_of_pure(flow, sent);
    }
    g_hash_table_destroy(stamps);
}

/* ---- all of it ---- */

/* Follows the flow with the index `number`, and sets the fates of its transmissions. Each step
 * needs the results of the steps before it. The arrays live as long as this call. */
static void
follow_flow(const smcr_chain_t *chain, uint32_t number)
{
    bool is_back = smcr_observed_is_back(chain->points, &chain->points->flows[number]);
    flow_t flow = {
        .sent = g_array_new(FALSE, FALSE, sizeof(sent_part_t)),
        .answers = g_array_new(FALSE, FALSE, sizeof(answer_t)),
        .ranges = g_array_new(FALSE, FALSE, sizeof(range_t)),
    };

    collect_sent(&flow, chain, number, is_back);
    collect_answers(&flow, chain, smcr_chain_answers_of(chain, number), is_back);
    unwrap_answers(&flow);
    collect_ranges(&flow);
    take_answers(&flow);
    find_fastest(&flow);
    for (unsigned i = 0; i < flow.ranges->len; i++)
        settle_range(&flow, &g_array_index(flow.ranges, range_t, i));
    settle_pure(&flow);
    g_array_free(flow.sent, TRUE);
    g_array_free(flow.answers, TRUE);
    g_array_free(flow.ranges, TRUE);
}

/* Sequence numbers belong to one direction of one connection, so each flow is followed alone. */
void
smcr_fates_find_tcp(smcr_chain_t *chain)
{
    const smcr_points_t *points = chain->points;

    for (uint32_t i = 0; i < points->flow_count; i++)
        if (points->flows[i].path == chain->path)
            follow_flow(chain, i);
}
