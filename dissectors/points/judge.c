/* Judges what happened to each transmission between the capture points of its path. A point that
 * does not have a transmission did not capture it, if a later point has the transmission or its
 * receiver got it. If its receiver did not get the transmission, it was lost before the first point
 * that does not have it. fates.c finds out whether the receiver got a transmission.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "judge.h"

/* This number or more of consecutive packets of a flow that one point does not have are one event
 * (a burst). */
#define BURST_LEAST 3

/* A packet's excess is its delay minus the shortest delay. A packet is delayed only if its excess
 * is at least DELAYED_LEAST (nanoseconds), and at least DELAYED_TIMES times the excess of the
 * median. */
#define DELAYED_LEAST SMCR_TIME_MILLISECOND
#define DELAYED_TIMES 10

/* On way 1, the points before the segment have higher positions in the chain. */
smcr_judge_passage_t
smcr_judge_passage(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_chain_t *chain = way->chain;
    smcr_judge_passage_t passage = {smcr_chain_at(chain, transmission, way->from),
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
judge(const smcr_judge_way_t *way, smcr_transmission_t *transmission, enum smcr_verdict verdict)
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
judge_not_captured(const smcr_judge_way_t *way, smcr_transmission_t *transmission, unsigned at)
{
    way->way->not_captured_at[at]++;
    judge(way, transmission, SMCR_VERDICT_NOT_CAPTURED);
}

/* Judges a transmission that only the first point of the segment has. `after`: a point after the
 * segment has the transmission. */
static void
judge_missing(const smcr_judge_way_t *way, smcr_transmission_t *transmission, bool after)
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
 * transmission after that point. An ambiguous transmission is not judged. */
static void
judge_after(const smcr_judge_way_t *way, smcr_transmission_t *transmission)
{
    if (way->to != way->end || transmission->is_ambiguous)
        return;
    if (transmission->fate == SMCR_FATE_LOST)
        judge(way, transmission, SMCR_VERDICT_LOST_AFTER);
    else if (transmission->fate == SMCR_FATE_UNANSWERED)
        judge(way, transmission, transmission->is_one_of_several ? SMCR_VERDICT_UNDECIDED
                                                                 : SMCR_VERDICT_UNANSWERED);
}

/* Whether the two points show a SYN or SYN-ACK with other TCP options: a router or firewall between
 * them has changed or removed an option. */
static bool
has_other_options(const smcr_judge_way_t *way, const smcr_judge_passage_t *passage)
{
    const smcr_observed_segment_t *segments = way->chain->points->segments;
    uint32_t first = segments ? segments[passage->from->segment].tcp.options : 0;
    uint32_t second = segments ? segments[passage->to->segment].tcp.options : 0;

    return first && second && first != second;
}

/* Judges how the headers of a packet were changed between the two points. The ECN codepoint of a
 * packet in fragments is not known: an earlier fragment may have a CE mark that the last one does
 * not have. */
static void
judge_headers(const smcr_judge_way_t *way, smcr_transmission_t *transmission,
              const smcr_judge_passage_t *passage)
{
    uint8_t first = passage->from->traffic_class, second = passage->to->traffic_class;
    bool was_marked = (first & SMCR_MASK_ECN) == SMCR_WIRE_ECN_CE;
    bool has_ecn = !passage->from->was_fragmented && !passage->to->was_fragmented;

    if (passage->to->was_fragmented && !passage->from->was_fragmented)
        judge(way, transmission, SMCR_VERDICT_FRAGMENTED);
    else if (has_ecn && !was_marked && (second & SMCR_MASK_ECN) == SMCR_WIRE_ECN_CE)
        judge(way, transmission, SMCR_VERDICT_MARKED);
    if ((first ^ second) & (uint8_t)~SMCR_MASK_ECN)
        judge(way, transmission, SMCR_VERDICT_DSCP_CHANGED);
    if (has_other_options(way, passage))
        judge(way, transmission, SMCR_VERDICT_OPTIONS);
}

int64_t
smcr_judge_delay(const smcr_judge_way_t *way, const smcr_judge_passage_t *passage)
{
    const smcr_chain_t *chain = way->chain;

    return (int64_t)(smcr_chain_time(chain, way->to, passage->to->time) -
                     smcr_chain_time(chain, way->from, passage->from->time));
}

/* Fills in the figures of sorted delays. If there are none, only `count` is set. */
static void
fill_delay(smcr_points_delay_t *delay, const GArray *delays)
{
    delay->count = delays->len;
    if (!delays->len)
        return;
    delay->least = smcr_chain_quantile(delays, 0);
    delay->median = smcr_chain_quantile(delays, 0.5);
    delay->nearly = smcr_chain_quantile(delays, 0.99);
    delay->most = smcr_chain_quantile(delays, 1);
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

/* Whether another packet overtook the transmission between the points: that packet passed the first
 * point later, and the second point earlier (RFC 4737, 3.3). `*earliest`: the lowest number of an
 * observation at the second point, among the packets that passed the first point later; 0: none.
 * The function updates `*earliest` by this transmission. */
static bool
is_overtaken(const smcr_judge_way_t *way, const smcr_transmission_t *transmission,
             uint32_t *earliest)
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
judge_order(const smcr_judge_way_t *way, uint32_t begin, uint32_t end)
{
    uint32_t earliest = 0;

    for (uint32_t i = end; i-- > begin;) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        if (transmission->at[way->from] && transmission->at[way->to] &&
            !transmission->is_ambiguous && is_overtaken(way, transmission, &earliest))
            judge(way, transmission, SMCR_VERDICT_REORDERED);
    }
}

/* Whether the transmission was damaged on its way, in any segment. An acknowledgement without a
 * retransmission contradicts that: the receiver has got the packet undamaged. */
static bool
was_damaged(const smcr_transmission_t *transmission)
{
    return transmission->damaged && transmission->fate != SMCR_FATE_RECEIVED;
}

/* Whether the first point of the segment has the transmission undamaged, and the second one
 * damaged. */
static bool
shows_damage(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    return smcr_chain_is_whole_at(transmission, way->from) &&
           !smcr_chain_is_whole_at(transmission, way->to);
}

/* Judges a transmission that both points have: whether it was damaged between them; if it was
 * damaged nowhere, its headers, and what happened to it after the segment. Adds its delay to
 * `delays`. Headers of a damaged packet may be wrong, and its receiver discards it. */
static void
judge_passed(const smcr_judge_way_t *way, smcr_transmission_t *transmission,
             const smcr_judge_passage_t *passage, GArray *delays)
{
    int64_t delay = smcr_judge_delay(way, passage);

    g_array_append_val(delays, delay);
    way->way->packets++;
    way->way->at_both++;
    if (!was_damaged(transmission)) {
        judge_headers(way, transmission, passage);
        judge_after(way, transmission);
    } else if (shows_damage(way, transmission)) {
        judge(way, transmission, SMCR_VERDICT_DAMAGED);
    }
}

/* Whether the point at `position` was capturing when the transmission passed it, or would have
 * passed it: between the point's first packet and its last one. The point does not have the
 * transmission. The point at the position `known`, the other one of the segment, has it. */
static bool
was_capturing(const smcr_judge_way_t *way, const smcr_transmission_t *transmission,
              uint32_t position, uint32_t known)
{
    const smcr_chain_t *chain = way->chain;
    const smcr_points_t *points = chain->points;
    const int64_t *usual = chain->way[way->is_back];
    uint32_t point = chain->point[position];
    uint64_t there = smcr_chain_time(chain, known, smcr_chain_at(chain, transmission, known)->time);
    uint64_t here = there + (uint64_t)(usual[position] - usual[known]);

    return here >= smcr_chain_time(chain, position, points->begin[point]) + chain->variation &&
           here + chain->variation <= smcr_chain_time(chain, position, points->end[point]);
}

/* Whether one point of the segment has the transmission, and the other one was capturing then. */
static bool
is_in_span(const smcr_judge_way_t *way, const smcr_transmission_t *transmission,
           const smcr_judge_passage_t *passage)
{
    if (passage->from)
        return was_capturing(way, transmission, way->to, way->from);
    return passage->to && was_capturing(way, transmission, way->from, way->to);
}

/* Whether the transmission certainly goes through the segment. If one of the points has no packet
 * of the flow, the flow may go another way. A transmission that was lost counts as going through
 * the segment. */
static bool
is_on_way(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_chain_t *chain = way->chain;
    const smcr_observed_flow_t *flow = &chain->points->flows[transmission->flow];

    return transmission->fate == SMCR_FATE_LOST ||
           (smcr_observed_has_flow(flow, chain->point[way->from]) &&
            smcr_observed_has_flow(flow, chain->point[way->to]));
}

/* Whether the TCP segment has a wrong checksum, so that its header may be damaged: then the other
 * point may have it with another header. RoCE packets with a wrong ICRC are no transmissions of
 * their own. */
static bool
is_doubtful(const smcr_judge_way_t *way, const smcr_observed_t *observed)
{
    const smcr_points_t *points = way->chain->points;

    return points->is_tcp && points->segments[observed->segment].tcp.checksum ==
                                 SMCR_POINTS_CHECKSUM_WRONG;
}

/* Judges a transmission in the segment, and counts it once in `way->way->packets`. Adds its delay
 * to `delays` if both points have it. A transmission that only one point has is not judged if it
 * need not pass the other point, if the other point was not capturing at that time, or if
 * is_doubtful(). */
static void
judge_transmission(const smcr_judge_way_t *way, smcr_transmission_t *transmission,
                   GArray *delays)
{
    smcr_judge_passage_t passage = smcr_judge_passage(way, transmission);

    if (passage.from && passage.to) {
        judge_passed(way, transmission, &passage, delays);
    } else if (!is_on_way(way, transmission) || !is_in_span(way, transmission, &passage)) {
        return;
    } else if (passage.from) {
        way->way->packets++;
        judge_missing(way, transmission, passage.after);
    } else if (!is_doubtful(way, passage.to)) {
        way->way->packets++;
        judge_after(way, transmission);
        judge_not_captured(way, transmission, 0);
    }
}

bool
smcr_judge_is_of_way(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    const smcr_points_t *points = way->chain->points;

    return smcr_observed_is_back(points, &points->flows[transmission->flow]) == way->is_back;
}

/* Judges which packets of a way took far longer than usual. */
static void
judge_delays(const smcr_judge_way_t *way)
{
    for (uint32_t i = 0; i < way->chain->transmission_count; i++) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        smcr_judge_passage_t passage = smcr_judge_passage(way, transmission);
        if (passage.from && passage.to && smcr_judge_is_of_way(way, transmission) &&
            is_delayed(&way->way->delay, smcr_judge_delay(way, &passage)))
            judge(way, transmission, SMCR_VERDICT_DELAYED);
    }
}

/* ---- what no answer proves ---- */

/* Whether only the first point of the segment has the transmission, which is of this way and not
 * ambiguous, and it is undecided whether the transmission was lost or not captured at the second
 * point. */
static bool
is_undecided(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    bool is_missing = transmission->at[way->from] && !transmission->at[way->to];

    return is_missing && transmission->verdict == SMCR_VERDICT_UNDECIDED &&
           !transmission->is_ambiguous && smcr_judge_is_of_way(way, transmission);
}

/* Whether it was possible to find out what became of the transmission at its receiver: the queue
 * pair that sends its flow is known (fates.c). */
static bool
is_followed(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    return way->chain->points->flows[transmission->flow].source_qpn != 0;
}

/* Replaces the verdict "undecided" of a transmission. `is_lost`: the new verdict is "lost"; false:
 * "not captured". */
static void
replace_undecided(const smcr_judge_way_t *way, smcr_transmission_t *transmission, bool is_lost)
{
    transmission->verdict = SMCR_VERDICT_AT_ALL; /* none: judge() replaces no other verdict */
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

/* Adds the transmission with the index `index` to the run if only the first point of the segment
 * has it. Otherwise returns false: the run ends before it. */
static bool
continues_run(const smcr_judge_way_t *way, missing_run_t *run, uint32_t index)
{
    const smcr_transmission_t *transmission = &way->chain->transmissions[index];

    if (!transmission->at[way->from] || transmission->at[way->to])
        return false;
    run->begin = run->count++ ? run->begin : index;
    run->has_lost |= transmission->verdict == SMCR_VERDICT_LOST;
    run->has_not_captured |= transmission->verdict == SMCR_VERDICT_NOT_CAPTURED;
    return true;
}

/* Decides the undecided transmissions of a run, and empties the run. A run is the consecutive
 * transmissions of a flow that the second point does not have. A run of BURST_LEAST or more is one
 * event. So if one of them was proven to be lost, and none not to be captured, all of them were
 * lost. */
static void
end_run(const smcr_judge_way_t *way, missing_run_t *run)
{
    bool is_burst = run->count >= BURST_LEAST && run->has_lost && !run->has_not_captured;

    for (uint32_t i = run->begin; is_burst && i < run->begin + run->count; i++)
        if (is_undecided(way, &way->chain->transmissions[i]))
            replace_undecided(way, &way->chain->transmissions[i], true);
    *run = (missing_run_t){.count = 0};
}

/* Decides the undecided transmissions of one flow that were lost with others in a burst. The flow's
 * transmissions have the indexes `begin` to `end` - 1. */
static void
infer_bursts(const smcr_judge_way_t *way, uint32_t begin, uint32_t end)
{
    missing_run_t run = {.count = 0};

    for (uint32_t i = begin; i < end; i++)
        if (!continues_run(way, &run, i))
            end_run(way, &run);
    end_run(way, &run);
}

/* Runs of undecided transmissions count once, since one burst may have lost them all. */
uint64_t
smcr_judge_undecided_events(const smcr_judge_way_t *way)
{
    uint64_t events = 0;
    bool continues = false; /* the transmission before was undecided */

    for (uint32_t i = 0; i < way->chain->transmission_count; i++) {
        bool is = is_undecided(way, &way->chain->transmissions[i]);
        events += is && !continues;
        continues = is;
    }
    return events;
}

/* Only "undecided" is replaced: a verdict that was proven before stays. */
void
smcr_judge_undecided(const smcr_judge_way_t *way, bool is_lost)
{
    for (uint32_t i = 0; i < way->chain->transmission_count; i++) {
        smcr_transmission_t *transmission = &way->chain->transmissions[i];
        if (is_undecided(way, transmission) && (is_lost || is_followed(way, transmission)))
            replace_undecided(way, transmission, is_lost);
    }
}

/* The transmissions of a flow are adjacent in the chain. Order and bursts are judged for each flow,
 * delays over all flows. */
void
smcr_judge_way(const smcr_judge_way_t *way)
{
    const smcr_chain_t *chain = way->chain;
    GArray *delays = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (uint32_t begin = 0, end; begin < chain->transmission_count; begin = end) {
        uint32_t flow = chain->transmissions[begin].flow;
        bool is_here = smcr_judge_is_of_way(way, &chain->transmissions[begin]);
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
