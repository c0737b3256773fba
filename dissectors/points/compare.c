/* Judges what happened to each transmission between the capture points of its path.
 *
 * If a point does not have a transmission, there are two proofs: 1. a later point has it, or its
 * receiver got it: the point did not capture it; 2. its receiver did not get it: it was lost before
 * the point. fates.c finds out whether the receiver got it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates.h"
#include "observed_tcp.h"

/* For some packets, no answer of the receiver shows whether they were lost or only not captured.
 * Such a packet counts as lost if at least this many packets were proven to be lost, and none was
 * proven not to be captured. It counts as not captured in the opposite case. */
#define PROVEN_LEAST 4

/* A packet's excess is its delay minus the shortest delay. A packet is delayed only if its excess
 * is at least DELAYED_LEAST (nanoseconds), and at least DELAYED_TIMES times the excess of the
 * median. */
#define DELAYED_LEAST SMCR_TIME_MILLISECOND
#define DELAYED_TIMES 10

/* What the comparison has found. */
typedef struct smcr_compared {
    wmem_array_t *segments; /* element smcr_points_segment_t */
    wmem_array_t *chains;   /* element smcr_chain_t */
    uint32_t *chain_of[2];  /* of RoCE (0) and TCP (1), by index of a path: number of its chain in
                               `chains`, from 1; 0: none */
    uint32_t segment_count; /* number of TCP segments that were compared */
} compared_t;

/* ---- verdicts ---- */

/* One way of a segment. */
typedef struct {
    const smcr_chain_t *chain;
    smcr_points_segment_t *segment;
    smcr_points_way_t *way; /* the counts of this way */
    bool is_back;  /* way 1; false: way 0 */
    uint32_t from; /* position in the chain of the point that packets of the way pass first */
    uint32_t to;   /* position of the other point of the segment */
    uint32_t end;  /* position of the last point that packets of the way pass */
} segment_way_t;

/* Which points have the transmission: the two points of a segment, and points before and after
 * it. */
typedef struct {
    const smcr_observed_t *from, *to; /* observations at the two points; NULL: none */
    bool before; /* a point before the segment has the transmission */
    bool after;  /* a point after the segment has the transmission */
} passage_t;

/* Returns at which points of the way the transmission was captured: at its begin, at its end,
 * before it and after it, in the direction of the packet. */
static passage_t
passage_of(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_chain_t *chain = way->chain;
    passage_t passage = {smcr_chain_at(chain, transmission, way->from),
                         smcr_chain_at(chain, transmission, way->to), false, false};

    for (uint32_t i = 0; i < chain->count; i++) {
        bool has = transmission->at[i] != 0;
        passage.before |= has && (way->is_back ? i > way->from : i < way->from);
        passage.after |= has && (way->is_back ? i < way->to : i > way->to);
    }
    return passage;
}

/* Counts a verdict on the transmission. If the transmission has no verdict so far, the verdict also
 * becomes that of the transmission. */
static void
judge(const segment_way_t *way, smcr_transmission_t *transmission, enum smcr_verdict verdict)
{
    const smcr_observed_t *packet = &way->chain->points->observed[transmission->any];
    smcr_when_t when = {packet->frame, packet->time};

    way->way->verdicts[verdict]++;
    if (!way->way->first[verdict].frame || when.frame < way->way->first[verdict].frame)
        way->way->first[verdict] = when;
    if (transmission->verdict == SMCR_VERDICT_AT_ALL)
        transmission->verdict = verdict;
}

/* Notes that a point of the segment has not captured the transmission. `at`: 0: the point that
 * packets of the way pass first; 1: the other point. */
static void
judge_not_captured(const segment_way_t *way, smcr_transmission_t *transmission, unsigned at)
{
    way->way->not_captured_at[at]++;
    judge(way, transmission, SMCR_VERDICT_NOT_CAPTURED);
}

/* Judges a transmission that only the first point of the segment has. `after`: a point after the
 * segment has the transmission. */
static void
judge_missing(const segment_way_t *way, smcr_transmission_t *transmission, bool after)
{
    bool is_decided = !transmission->is_ambiguous;

    if (after || (transmission->fate == SMCR_FATE_RECEIVED && is_decided))
        judge_not_captured(way, transmission, 1);
    else if (transmission->fate == SMCR_FATE_LOST && is_decided)
        judge(way, transmission, SMCR_VERDICT_LOST);
    else
        judge(way, transmission, SMCR_VERDICT_UNDECIDED);
}

/* If the second point of the segment is the last point of the way: judges what happened to the
 * transmission after that point. */
static void
judge_after(const segment_way_t *way, smcr_transmission_t *transmission)
{
    if (way->to != way->end || transmission->is_ambiguous)
        return;
    if (transmission->fate == SMCR_FATE_LOST)
        judge(way, transmission, SMCR_VERDICT_LOST_AFTER);
    else if (transmission->fate == SMCR_FATE_UNANSWERED)
        judge(way, transmission, transmission->is_one_of_several ? SMCR_VERDICT_UNDECIDED
                                                                 : SMCR_VERDICT_UNANSWERED);
}

/* Judges how the headers of a packet were changed between the two points. The ECN codepoint of a
 * packet in fragments is not known. */
static void
judge_headers(const segment_way_t *way, smcr_transmission_t *transmission,
              const passage_t *passage)
{
    uint8_t first = passage->from->traffic_class, second = passage->to->traffic_class;
    bool was_marked = (first & SMCR_MASK_ECN) == SMCR_WIRE_ECN_CE;

    if (passage->to->was_fragmented && !passage->from->was_fragmented)
        judge(way, transmission, SMCR_VERDICT_FRAGMENTED);
    else if (!was_marked && (second & SMCR_MASK_ECN) == SMCR_WIRE_ECN_CE)
        judge(way, transmission, SMCR_VERDICT_MARKED);
    if ((first ^ second) & (uint8_t)~SMCR_MASK_ECN)
        judge(way, transmission, SMCR_VERDICT_DSCP_CHANGED);
}

/* Returns how long the packet took between the points, nanoseconds. */
static int64_t
delay_of(const segment_way_t *way, const passage_t *passage)
{
    const smcr_chain_t *chain = way->chain;

    return (int64_t)(smcr_chain_time(chain, way->to, passage->to->time) -
                     smcr_chain_time(chain, way->from, passage->from->time));
}

/* Fills in the delays. `delays`: sorted. */
static void
fill_delay(smcr_points_delay_t *delay, const GArray *delays)
{
    delay->count = delays->len;
    if (!delays->len)
        return;
    delay->least = smcr_chain_quantile(delays, 0);
    delay->median = smcr_chain_quantile(delays, 0.5);
    delay->nearly = smcr_chain_quantile(delays, 0.99);
}

/* Whether a delay is far longer than usual: above the 99th percentile, and far enough above the
 * shortest delay (DELAYED_LEAST, DELAYED_TIMES). */
static bool
is_delayed(const smcr_points_delay_t *usual, int64_t delay)
{
    int64_t excess = delay - usual->least, common = usual->median - usual->least;

    return delay > usual->nearly && excess >= (int64_t)DELAYED_LEAST &&
           excess >= DELAYED_TIMES * common;
}

/* Whether the transmission was overtaken: a packet that passed the first point after it passed the
 * second point before it (RFC 4737, 3.3). `*earliest`: the lowest number of an observation at the
 * second point, among the packets that passed the first point later; 0: none. The function updates
 * `*earliest` by this transmission. */
static bool
is_overtaken(const segment_way_t *way, const smcr_transmission_t *transmission, uint32_t *earliest)
{
    uint32_t number = transmission->at[way->to];
    bool is = *earliest && number > *earliest;

    if (!*earliest || number < *earliest)
        *earliest = number;
    return is;
}

/* Judges the order of the transmissions from index `begin` to `end` - 1, which are of one flow and
 * in the order of time. A transmission is reordered if a later transmission came to the second
 * point earlier. So the loop goes from the last transmission to the first. */
static void
judge_order(const segment_way_t *way, uint32_t begin, uint32_t end)
{
    uint32_t earliest = 0;

    for (uint32_t i = end; i-- > begin;) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        if (transmission->at[way->from] && transmission->at[way->to] &&
            !transmission->is_ambiguous && is_overtaken(way, transmission, &earliest))
            judge(way, transmission, SMCR_VERDICT_REORDERED);
    }
}

/* Judges a transmission that both points have. Adds its delay to `delays`. */
static void
judge_passed(const segment_way_t *way, smcr_transmission_t *transmission, const passage_t *passage,
             GArray *delays)
{
    int64_t delay = delay_of(way, passage);

    g_array_append_val(delays, delay);
    way->way->packets++;
    way->way->at_both++;
    judge_headers(way, transmission, passage);
    judge_after(way, transmission);
}

/* Whether the transmission came while all points of the path were capturing. */
static bool
is_in_span(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    return transmission->time >= way->chain->begin && transmission->time <= way->chain->end;
}

/* Whether the transmission certainly goes through the segment. If one of the points has no packet
 * of the flow, the flow may go another way. A transmission that was lost counts as going through
 * the segment. */
static bool
is_on_way(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_chain_t *chain = way->chain;
    const smcr_observed_flow_t *flow = &chain->points->flows[transmission->flow];

    return transmission->fate == SMCR_FATE_LOST ||
           (smcr_observed_has_flow(flow, chain->point[way->from]) &&
            smcr_observed_has_flow(flow, chain->point[way->to]));
}

/* Judges a transmission in the segment. Adds its delay to `delays`. */
static void
judge_transmission(const segment_way_t *way, smcr_transmission_t *transmission, GArray *delays)
{
    passage_t passage = passage_of(way, transmission);

    if (passage.from && passage.to) {
        judge_passed(way, transmission, &passage, delays);
    } else if (!is_on_way(way, transmission) || !is_in_span(way, transmission)) {
        return;
    } else if (passage.from) {
        way->way->packets++;
        judge_missing(way, transmission, passage.after);
    } else if (passage.to) {
        way->way->packets++;
        judge_after(way, transmission);
        judge_not_captured(way, transmission, 0);
    }
}

/* Whether the transmission is of this way: its flow has the same direction. */
static bool
is_of_way(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_points_t *points = way->chain->points;

    return smcr_observed_is_back(points, &points->flows[transmission->flow]) == way->is_back;
}

/* Judges which packets of a way took far longer than usual. */
static void
judge_delays(const segment_way_t *way)
{
    for (uint32_t i = 0; i < way->chain->transmission_count; i++) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        passage_t passage = passage_of(way, transmission);
        if (passage.from && passage.to && is_of_way(way, transmission) &&
            is_delayed(&way->way->delay, delay_of(way, &passage)))
            judge(way, transmission, SMCR_VERDICT_DELAYED);
    }
}

/* ---- what no answer proves ---- */

/* Whether only the first point of the segment has the transmission, and it is undecided whether the
 * transmission was lost or not captured at the second point. */
static bool
is_undecided(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    bool is_missing = transmission->at[way->from] && !transmission->at[way->to];

    return is_missing && transmission->verdict == SMCR_VERDICT_UNDECIDED &&
           !transmission->is_ambiguous && is_of_way(way, transmission);
}

/* Whether it was possible to find out what became of the transmission at its receiver: the queue
 * pair that sends its flow is known (fates.c). */
static bool
is_followed(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    return way->chain->points->flows[transmission->flow].source_qpn != 0;
}

/* Replaces the verdict "undecided" of a transmission. `is_lost`: the new verdict is "lost"; false:
 * "not captured". */
static void
decide(const segment_way_t *way, smcr_transmission_t *transmission, bool is_lost)
{
    transmission->verdict = SMCR_VERDICT_AT_ALL;
    way->way->verdicts[SMCR_VERDICT_UNDECIDED]--;
    way->way->inferred += is_lost;
    if (is_lost)
        judge(way, transmission, SMCR_VERDICT_LOST);
    else
        judge_not_captured(way, transmission, 1);
}

/* Consecutive transmissions of a flow that only the first point of the segment has. */
typedef struct {
    uint32_t begin;      /* index of the first of them */
    uint32_t count;      /* their number */
    bool has_lost;       /* one of them was proven to be lost */
    bool has_not_captured; /* one of them was proven not to be captured */
} missing_run_t;

/* Adds a transmission to the run if only the first point has it. Returns false if the run ends
 * before the transmission. */
static bool
continues_run(const segment_way_t *way, missing_run_t *run, uint32_t index)
{
    const smcr_transmission_t *transmission = &way->chain->transmissions[index];

    if (!transmission->at[way->from] || transmission->at[way->to])
        return false;
    run->begin = run->count++ ? run->begin : index;
    run->has_lost |= transmission->verdict == SMCR_VERDICT_LOST;
    run->has_not_captured |= transmission->verdict == SMCR_VERDICT_NOT_CAPTURED;
    return true;
}

/* Decides the transmissions of a run. If a flow misses PROVEN_LEAST consecutive transmissions or
 * more at the second point, it was one event. So if one of them was lost, all of them were. */
static void
end_run(const segment_way_t *way, missing_run_t *run)
{
    bool is_burst = run->count >= PROVEN_LEAST && run->has_lost && !run->has_not_captured;

    for (uint32_t i = run->begin; is_burst && i < run->begin + run->count; i++)
        if (is_undecided(way, &way->chain->transmissions[i]))
            decide(way, &way->chain->transmissions[i], true);
    *run = (missing_run_t){.count = 0};
}

/* Decides the transmissions with the index `begin` to `end` - 1, of one flow, that are lost with
 * others in a burst. */
static void
infer_bursts(const segment_way_t *way, uint32_t begin, uint32_t end)
{
    missing_run_t run = {.count = 0};

    for (uint32_t i = begin; i < end; i++)
        if (!continues_run(way, &run, i))
            end_run(way, &run);
    end_run(way, &run);
}

/* Replaces the verdict "undecided" of all transmissions of a way (is_undecided()). `is_lost`: the
 * new verdict is "lost"; false: "not captured", except in flows of which no loss could be
 * proven. */
static void
replace_undecided(const segment_way_t *way, bool is_lost)
{
    for (uint32_t i = 0; i < way->chain->transmission_count; i++) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        if (is_undecided(way, transmission) && (is_lost || is_followed(way, transmission)))
            decide(way, transmission, is_lost);
    }
}

/* Judges one way of a segment. */
static void
judge_way(const segment_way_t *way)
{
    const smcr_chain_t *chain = way->chain;
    GArray *delays = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (uint32_t begin = 0, end; begin < chain->transmission_count; begin = end) {
        uint32_t flow = chain->transmissions[begin].flow;
        bool is_here = is_of_way(way, &chain->transmissions[begin]);
        for (end = begin;
             end < chain->transmission_count && chain->transmissions[end].flow == flow; end++)
            if (is_here)
                judge_transmission(way, &chain->transmissions[end], delays);
        if (!is_here)
            continue;
        judge_order(way, begin, end);
        infer_bursts(way, begin, end);
    }
    smcr_chain_sort(delays);
    fill_delay(&way->way->delay, delays);
    g_array_free(delays, TRUE);
    judge_delays(way);
}

/* Whether two segments lie between the same two points. */
static bool
are_between_same(const smcr_points_segment_t *one, const smcr_points_segment_t *other)
{
    const smcr_points_place_t *a = one->place, *b = other->place;

    return memcmp(a, b, sizeof one->place) == 0 ||
           (memcmp(&a[0], &b[1], sizeof a[0]) == 0 && memcmp(&a[1], &b[0], sizeof a[1]) == 0);
}

/* What was proven about the transmissions between two points, in both directions, of RoCE and
 * TCP. */
typedef struct {
    const smcr_points_segment_t *segment; /* a segment between the two points */
    uint64_t lost;         /* number of transmissions that were lost */
    uint64_t not_captured; /* number of those that one of the points did not capture */
} known_t;

/* Returns what is proven between the two points of the segment. `all`: element known_t; there are
 * few, since a file has at most SMCR_POINTS_MOST points. */
static known_t *
known_between(GArray *all, const smcr_points_segment_t *segment)
{
    const known_t nothing = {segment, 0, 0};
    unsigned i = 0;

    while (i < all->len &&
           !are_between_same(g_array_index(all, known_t, i).segment, segment))
        i++;
    if (i == all->len)
        g_array_append_val(all, nothing);
    return &g_array_index(all, known_t, i);
}

/* Adds what is proven of one way of a segment. */
static void
add_known(known_t *known, const smcr_points_way_t *way)
{
    known->lost += way->verdicts[SMCR_VERDICT_LOST];
    known->not_captured += way->not_captured_at[0] + way->not_captured_at[1];
}

/* ---- paths ---- */

/* Adds the segment between the points at `position` - 1 and `position`, with the verdicts on its
 * two ways. A way is judged only if both points have shown packets of it. The first way goes from
 * the first point to the second one, the other way back. */
static void
add_segment(compared_t *result, const smcr_chain_t *chain, uint32_t position)
{
    const smcr_points_t *points = chain->points;
    const smcr_observed_path_t *path = &points->paths[chain->path];
    smcr_points_segment_t segment = {
        .is_tcp = points->is_tcp,
        .place = {points->places[chain->point[position - 1]],
                  points->places[chain->point[position]]},
        .order_known = chain->order_known,
        .clock_agrees = chain->clock_agrees[position],
        .clock = chain->clock[position],
    };
    memcpy(segment.gid, path->gid, sizeof segment.gid);
    const segment_way_t ways[2] = {
        {chain, &segment, &segment.way[0], false, position - 1, position, chain->count - 1},
        {chain, &segment, &segment.way[1], true, position, position - 1, 0},
    };
    for (unsigned i = 0; i < 2; i++)
        if (smcr_observed_has_way(path, chain->point[position - 1], i) &&
            smcr_observed_has_way(path, chain->point[position], i))
            judge_way(&ways[i]);
    wmem_array_append_one(result->segments, segment);
}

/* Returns 1 if the transmission was lost and only the first point on its way has it, -1 if only the
 * second point has it, 0 otherwise. The chain has two points. */
static int
lost_after(const smcr_chain_t *chain, const smcr_transmission_t *transmission)
{
    bool has_both = transmission->at[0] && transmission->at[1];
    bool is_back =
        smcr_observed_is_back(chain->points, &chain->points->flows[transmission->flow]);

    if (transmission->fate != SMCR_FATE_LOST || has_both)
        return 0;
    return transmission->at[is_back] ? 1 : -1;
}

/* Whether two points, whose order nothing has shown, are in the opposite order: then more lost
 * packets are at the second point only than at the first only. A packet that was lost between two
 * points is at the first; to be at the second only, it must also have been missed by the capture at
 * the first. */
static bool
is_turned(const smcr_chain_t *chain)
{
    int64_t at_first = 0;

    if (chain->order_known || chain->count != 2)
        return false;
    for (uint32_t i = 0; i < chain->transmission_count; i++)
        at_first += lost_after(chain, &chain->transmissions[i]);
    return at_first < 0;
}

/* Makes the chain of a path, and finds out what its receivers got. */
static void
follow_path(smcr_chain_t *chain, smcr_points_t *points, uint32_t path, bool turned)
{
    smcr_chain_make(chain, points, path, points->observed, turned);
    if (chain->count > 1)
        smcr_fates_find(chain);
}

/* Makes the chain of the path's points, adds a way for each two neighbours, and keeps the chain in
 * `result`. If the times show that the points are in the wrong order, turns the chain. A path with
 * one point has no chain. */
static void
compare_path(smcr_points_t *points, compared_t *result, uint32_t path)
{
    smcr_chain_t chain;

    follow_path(&chain, points, path, false);
    if (chain.count < 2)
        return;
    if (is_turned(&chain)) {
        wmem_free(points->scope, chain.transmissions);
        follow_path(&chain, points, path, true);
    }
    for (uint32_t i = 1; i < chain.count; i++)
        add_segment(result, &chain, i);
    wmem_array_append_one(result->chains, chain);
    result->chain_of[points->is_tcp][path] = wmem_array_get_count(result->chains);
}

/* Returns the way `is_back` of the segment with the index `number`. The segments of a chain follow
 * each other in the result. `chain` of the returned way is NULL if there is no such segment; `end`
 * is not set. */
static segment_way_t
find_way(const compared_t *result, uint32_t number, bool is_back)
{
    smcr_points_segment_t *segment = wmem_array_index(result->segments, number);
    segment_way_t way = {.segment = segment, .way = &segment->way[is_back], .is_back = is_back};
    uint32_t first = 0; /* number of the first segment of the chain */

    for (unsigned i = 0; i < wmem_array_get_count(result->chains); i++) {
        const smcr_chain_t *chain = wmem_array_index(result->chains, i);
        uint32_t position = number - first + 1;
        if (position < chain->count) {
            way.chain = chain;
            way.from = is_back ? position : position - 1;
            way.to = is_back ? position - 1 : position;
            break;
        }
        first += chain->count - 1;
    }
    return way;
}

/* Decides the transmissions with the verdict "undecided" between two capture points. If at least
 * PROVEN_LEAST transmissions of both ways are lost and none was not captured, all of them are lost.
 * In the opposite case, all of them were not captured. */
static void
infer_verdicts(const compared_t *result)
{
    unsigned count = wmem_array_get_count(result->segments);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(known_t));

    for (unsigned i = 0; i < 2 * count; i++) {
        const smcr_points_segment_t *segment = wmem_array_index(result->segments, i / 2);
        add_known(known_between(all, segment), &segment->way[i % 2]);
    }
    for (unsigned i = 0; i < 2 * count; i++) {
        const segment_way_t way = find_way(result, i / 2, i % 2);
        const known_t *known = known_between(all, way.segment);
        if (known->lost >= PROVEN_LEAST && !known->not_captured)
            replace_undecided(&way, true);
        else if (known->not_captured >= PROVEN_LEAST && !known->lost)
            replace_undecided(&way, false);
    }
    g_array_free(all, TRUE);
}

/* Frees what an earlier comparison has found. */
static void
free_result(smcr_points_t *points)
{
    compared_t *result = points->result;

    for (unsigned i = 0; i < wmem_array_get_count(result->chains); i++) {
        smcr_chain_t *chain = wmem_array_index(result->chains, i);
        wmem_free(points->scope, chain->transmissions);
    }
    wmem_destroy_array(result->chains);
    wmem_destroy_array(result->segments);
    for (unsigned i = 0; i < 2; i++)
        wmem_free(points->scope, result->chain_of[i]);
    wmem_free(points->scope, result);
}

/* Compares the points of all paths with known flows. `points`: of RoCE or of TCP. */
static void
compare_paths(smcr_points_t *points, compared_t *result)
{
    result->chain_of[points->is_tcp] =
        wmem_alloc0_array(points->scope, uint32_t, points->path_count + 1);
    for (uint32_t i = 0; i < points->path_count; i++)
        if (points->paths[i].is_known)
            compare_path(points, result, i);
}

/* Whether no packet has come since the last comparison. */
static bool
is_compared(const smcr_points_t *points)
{
    uint32_t segments = points->tcp ? points->tcp->segment_count : 0;

    return points->result && points->compared == points->count &&
           points->result->segment_count == segments;
}

void
smcr_points_compare(smcr_points_t *points)
{
    if (is_compared(points))
        return;
    if (points->result)
        free_result(points);
    compared_t *result = wmem_new0(points->scope, compared_t);
    result->segments = wmem_array_new(points->scope, sizeof(smcr_points_segment_t));
    result->chains = wmem_array_new(points->scope, sizeof(smcr_chain_t));
    points->result = result;
    points->compared = points->count;
    compare_paths(points, result);
    if (points->tcp) {
        smcr_observed_cut(points->tcp, points);
        compare_paths(points->tcp, result);
        result->segment_count = points->tcp->segment_count;
    }
    infer_verdicts(result);
}

/* ---- what others ask ---- */

const smcr_points_segment_t *
smcr_points_segments(const smcr_points_t *points, uint32_t *count)
{
    const compared_t *result = points->result;

    *count = result ? wmem_array_get_count(result->segments) : 0;
    return *count ? wmem_array_get_raw(result->segments) : NULL;
}

/* A packet that two points have. */
typedef struct {
    smcr_when_t when; /* frame and time of the packet, from when_of() */
    int64_t delay;    /* time from the first to the second point, nanoseconds */
} delayed_t;

/* Compares delays for sorting, by time, then by frame. */
static int
by_time(const void *one, const void *other)
{
    const delayed_t *a = one, *b = other;

    if (a->when.time != b->when.time)
        return a->when.time < b->when.time ? -1 : 1;
    return (a->when.frame > b->when.frame) - (a->when.frame < b->when.frame);
}

/* Returns the passage of the transmission. Its `from` is NULL if the transmission is of the other
 * way, or if one of the two points does not have it. */
static passage_t
whole_passage(const segment_way_t *way, const smcr_transmission_t *transmission)
{
    passage_t passage = passage_of(way, transmission);

    if (!passage.to || !is_of_way(way, transmission))
        passage.from = NULL;
    return passage;
}

/* Returns the position of the point on which the analysis of the path runs; 0: that point is not in
 * the chain. */
static uint32_t
analysed_at(const smcr_chain_t *chain)
{
    uint32_t position = smcr_chain_position(chain, chain->points->paths[chain->path].preferred);

    return position < chain->count ? position : 0;
}

/* Returns frame and time of a packet that both points of the segment have: at the point `at` (a
 * position) if it is one of the two; otherwise at the first point, with the time by the clock of
 * the point `at`. So the times of all packets of a chain are by one clock. */
static smcr_when_t
when_of(const segment_way_t *way, const passage_t *passage, uint32_t at)
{
    const smcr_observed_t *observed = way->to == at ? passage->to : passage->from;
    bool is_there = way->to == at || way->from == at;

    if (is_there)
        return (smcr_when_t){observed->frame, observed->time};
    uint64_t first = smcr_chain_time(way->chain, way->from, observed->time);
    return (smcr_when_t){observed->frame, smcr_chain_time_at(way->chain, at, first)};
}

void
smcr_points_delays(const smcr_points_t *points, uint32_t number, bool is_back,
                   smcr_points_take_delay_t *take, void *context)
{
    const compared_t *result = points->result;
    segment_way_t way = find_way(result, number, is_back);

    if (!way.chain || !way.segment->clock_agrees || !way.segment->clock.is_bounded)
        return;
    uint32_t at = analysed_at(way.chain);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(delayed_t));
    for (uint32_t i = 0; i < way.chain->transmission_count; i++) {
        passage_t passage = whole_passage(&way, &way.chain->transmissions[i]);
        if (!passage.from)
            continue;
        delayed_t one = {when_of(&way, &passage, at), delay_of(&way, &passage)};
        g_array_append_val(all, one);
    }
    g_array_sort(all, by_time);
    for (unsigned i = 0; i < all->len; i++) {
        const delayed_t *one = &g_array_index(all, delayed_t, i);
        take(context, one->when, one->delay);
    }
    g_array_free(all, TRUE);
}

/* Returns the frame of an observation; smcr_sorted_key_t. */
static uint64_t
frame_of(const void *observed, uint32_t index)
{
    return ((const smcr_observed_t *)observed)[index].frame;
}

/* Returns the first observation of a frame; NULL: there is none. A TCP segment may have several,
 * one for each of its parts. */
static const smcr_observed_t *
observed_in(const smcr_points_t *points, uint32_t frame)
{
    if (!points->count)
        return NULL;
    const smcr_observed_t *list = &points->observed[1]; /* element 0 is not used */
    uint32_t first = smcr_sorted_first(list, points->count, frame_of, frame);

    return first < points->count && list[first].frame == frame ? &list[first] : NULL;
}

bool
smcr_points_is_copy(const smcr_points_t *points, uint32_t frame)
{
    const smcr_observed_t *observed = points ? observed_in(points, frame) : NULL;

    return observed && observed->is_copy;
}

/* Whether the offset between the clocks at two positions of the chain is known: at each position
 * after the lower one, packets of both directions bound the offset from the clock before. */
static bool
is_offset_known(const smcr_chain_t *chain, uint32_t one, uint32_t other)
{
    for (uint32_t i = MIN(one, other) + 1; i <= MAX(one, other); i++) {
        if (!chain->clock_agrees[i] || !chain->clock[i].is_bounded)
            return false;
    }
    return true;
}

/* Fills in the delay between two observations of one transmission, `before` and `here`. */
static void
note_delay(const smcr_chain_t *chain, const smcr_observed_t *before, const smcr_observed_t *here,
           smcr_points_note_t *note)
{
    uint32_t from = smcr_chain_position(chain, before->point);
    uint32_t to = smcr_chain_position(chain, here->point);

    note->has_delay = is_offset_known(chain, from, to);
    note->delay = (int64_t)(smcr_chain_time(chain, to, here->time) -
                            smcr_chain_time(chain, from, before->time));
}

/* Fills in `note` for the observation `observed` of the transmission: the frames of the other
 * observations, the delay from the point before, and the verdict, which only the last point that
 * has the transmission gets. */
static void
fill_note(const smcr_chain_t *chain, const smcr_transmission_t *transmission,
          const smcr_observed_t *observed, smcr_points_note_t *note)
{
    const smcr_points_t *points = chain->points;
    bool is_back = smcr_observed_is_back(points, &points->flows[observed->flow]);
    const smcr_observed_t *seen[SMCR_POINTS_OF_PATH];
    uint32_t count = 0, copies = 0;

    for (uint32_t i = 0; i < chain->count; i++) {
        seen[count] = smcr_chain_at(chain, transmission, is_back ? chain->count - 1 - i : i);
        count += seen[count] != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (seen[i] != observed)
            note->copies[copies++] = seen[i]->frame;
        else if (i)
            note_delay(chain, seen[i - 1], observed, note);
    }
    note->verdict =
        seen[count - 1] == observed ? transmission->verdict : SMCR_VERDICT_AT_ALL;
    note->time =
        smcr_chain_time(chain, smcr_chain_position(chain, observed->point), observed->time);
    note->has_time = true;
}

/* Adds a frame to the list of copies, unless the list has it or is full. */
static void
add_copy(smcr_points_note_t *note, uint32_t frame)
{
    uint32_t i = 0;

    while (i < SMCR_POINTS_OF_PATH && note->copies[i] && note->copies[i] != frame)
        i++;
    if (i < SMCR_POINTS_OF_PATH)
        note->copies[i] = frame;
}

/* Adds to the note of a TCP segment what is known of a further part of it: its copies, and its
 * verdict if the parts before have none. */
static void
add_part(smcr_points_note_t *note, const smcr_points_note_t *part)
{
    for (unsigned i = 0; i < SMCR_POINTS_OF_PATH && part->copies[i]; i++)
        add_copy(note, part->copies[i]);
    note->verdict = note->verdict == SMCR_VERDICT_AT_ALL ? part->verdict : note->verdict;
}

/* Fills in `note` for an observation. Returns false if nothing is known of its packet. `points`: of
 * RoCE or of TCP. */
static bool
find_note(const compared_t *result, const smcr_points_t *points, const smcr_observed_t *observed,
          smcr_points_note_t *note)
{
    *note = (smcr_points_note_t){.verdict = SMCR_VERDICT_AT_ALL};
    uint32_t path = points->flows[observed->flow].path;
    uint32_t number =
        result && observed->transmission ? result->chain_of[points->is_tcp][path] : 0;
    if (!number)
        return false;
    const smcr_chain_t *chain = wmem_array_index(result->chains, number - 1);
    const smcr_transmission_t *transmission = &chain->transmissions[observed->transmission - 1];
    fill_note(chain, transmission, observed, note);
    return true;
}

bool
smcr_points_note(const smcr_points_t *points, uint32_t frame, smcr_points_note_t *note)
{
    const smcr_observed_t *observed = observed_in(points, frame);
    const smcr_points_t *own = points;
    smcr_points_note_t part;

    if (!observed) {
        own = points->tcp;
        observed = own ? observed_in(own, frame) : NULL;
    }
    if (!observed || !find_note(points->result, own, observed, note))
        return false;
    while (observed++ < &own->observed[own->count] && observed->frame == frame) {
        find_note(points->result, own, observed, &part);
        add_part(note, &part);
    }
    return true;
}
