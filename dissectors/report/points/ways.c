/* Makes the entries of capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ways.h"

#define RESOLUTION 1000 /* coarsest unit of time stamps, nanoseconds */

static double
seconds(int64_t nanoseconds)
{
    return (double)nanoseconds / (double)SMCR_TIME_SECOND;
}

/* Returns the name of a point. If both points of the segment have the same interface name, the name
 * gets the number of the interface. In a Linux cooked capture it always gets the index of the
 * network device (field sll.ifindex). */
static const char *
point_name(const smcr_points_segment_t *segment, unsigned at, smcr_way_name_t *name,
           wmem_allocator_t *scope)
{
    const smcr_points_place_t *place = &segment->place[at], *far = &segment->place[!at];
    const char *own = name(place->interface), *other = name(far->interface);

    if (place->device)
        return wmem_strdup_printf(scope, "%s%sinterface index %" PRIu32, own ? own : "",
                                  own ? ", " : "", place->device);
    if (!own)
        return wmem_strdup_printf(scope, "interface %" PRIu32, place->interface);
    if (g_strcmp0(own, other) == 0)
        return wmem_strdup_printf(scope, "%s (%" PRIu32 ")", own, place->interface);
    return wmem_strdup(scope, own);
}

/* Returns the members of the line that fill_clock() reads for the opposite order of the points: the
 * offset of the first clock from the second one. */
static smcr_clock_line_t
reversed(const smcr_clock_line_t *line)
{
    return (smcr_clock_line_t){
        .is_bounded = line->is_bounded,
        .offset = -line->offset,
        .lowest = -line->highest,
        .highest = -line->lowest,
        .drift_lowest = -line->drift_highest,
        .drift_highest = -line->drift_lowest,
    };
}

/* Fills in offset and drift of the clock at the second point of the way, from the clock at the
 * first one. */
static void
fill_clock(smcr_entry_way_clock_t *entry, const smcr_clock_line_t *line)
{
    const double million = 1e6;

    *entry = (smcr_entry_way_clock_t){
        .offset_s = seconds(line->offset),
        .offset_least_s = seconds(line->lowest),
        .offset_most_s = seconds(line->highest),
        .drift_least_ppm = line->drift_lowest * million,
        .drift_most_ppm = line->drift_highest * million,
    };
}

/* Fills in the delays of the way, which has packets at both points. `error`: error of the clocks'
 * offset, nanoseconds. */
static void
fill_delay(smcr_entry_way_delay_t *entry, const smcr_points_delay_t *delay, int64_t error)
{
    *entry = (smcr_entry_way_delay_t){
        .min_s = seconds(delay->least),
        .median_s = seconds(delay->median),
        .p99_s = seconds(delay->nearly),
        .error_s = seconds(error),
    };
}

/* Fills in clock and delays of the way, as far as they are known: the clocks agree, and their
 * offset has bounds. `is_back`: the way passes the points of the segment in the other order. */
static void
fill_times(smcr_entry_way_t *entry, const smcr_points_segment_t *segment, bool is_back)
{
    const smcr_clock_line_t *line = &segment->clock, back = reversed(line);

    entry->clocks_agree = smcr_figure_truth(segment->clock_agrees);
    if (!segment->clock_agrees || !line->is_bounded)
        return;
    fill_clock(&entry->clock, is_back ? &back : line);
    if (segment->way[is_back].delay.count)
        fill_delay(&entry->delay, &segment->way[is_back].delay, line->error);
}

/* Fills in the counts of the way, and the first frames that they count. `lost_after_frame` is the
 * first frame without an answer if no packet was lost after the second point. */
static void
fill_counts(smcr_entry_way_t *entry, const smcr_points_way_t *way)
{
    entry->packets = way->packets;
    entry->at_both = way->at_both;
    entry->lost = way->verdicts[SMCR_VERDICT_LOST];
    entry->lost_inferred = way->inferred;
    entry->lost_after = way->verdicts[SMCR_VERDICT_LOST_AFTER];
    entry->unanswered = way->verdicts[SMCR_VERDICT_UNANSWERED];
    entry->not_captured_from = way->not_captured_at[0];
    entry->not_captured_to = way->not_captured_at[1];
    entry->reordered = way->verdicts[SMCR_VERDICT_REORDERED];
    entry->marked_ce = way->verdicts[SMCR_VERDICT_MARKED];
    entry->dscp_changed = way->verdicts[SMCR_VERDICT_DSCP_CHANGED];
    entry->delayed = way->verdicts[SMCR_VERDICT_DELAYED];
    entry->fragmented = way->verdicts[SMCR_VERDICT_FRAGMENTED];
    entry->options_changed = way->verdicts[SMCR_VERDICT_OPTIONS];
    entry->damaged = way->verdicts[SMCR_VERDICT_DAMAGED];
    entry->undecided = way->verdicts[SMCR_VERDICT_UNDECIDED];
    entry->lost_frame = way->first[SMCR_VERDICT_LOST];
    entry->lost_after_frame = way->first[SMCR_VERDICT_LOST_AFTER].frame
                                  ? way->first[SMCR_VERDICT_LOST_AFTER]
                                  : way->first[SMCR_VERDICT_UNANSWERED];
    entry->not_captured_frame = way->first[SMCR_VERDICT_NOT_CAPTURED];
    entry->reordered_frame = way->first[SMCR_VERDICT_REORDERED];
    entry->marked_frame = way->first[SMCR_VERDICT_MARKED];
    entry->options_frame = way->first[SMCR_VERDICT_OPTIONS];
    entry->damaged_frame = way->first[SMCR_VERDICT_DAMAGED];
}

/* Whether the time, in nanoseconds, is 0 as far as the resolution of time stamps shows. */
static bool
is_nothing(int64_t time)
{
    return time >= -RESOLUTION && time <= RESOLUTION;
}

/* Whether a packet of the way was changed between the points. */
static bool
has_changed(const smcr_points_way_t *way)
{
    static const enum smcr_verdict changes[] = {SMCR_VERDICT_MARKED, SMCR_VERDICT_DSCP_CHANGED,
                                                SMCR_VERDICT_FRAGMENTED, SMCR_VERDICT_OPTIONS,
                                                SMCR_VERDICT_DAMAGED};

    for (unsigned i = 0; i < G_N_ELEMENTS(changes); i++)
        if (way->verdicts[changes[i]])
            return true;
    return false;
}

/* Whether both points show all packets of the way, unchanged and at the same times. */
static bool
is_same_way(const smcr_points_way_t *way)
{
    return !has_changed(way) && way->packets == way->at_both && is_nothing(way->delay.least) &&
           is_nothing(way->delay.most);
}

/* Whether both points show all packets of the segment, unchanged and at the same times, and nothing
 * shows the order of the points. */
static bool
is_same_segment(const smcr_points_segment_t *segment)
{
    return is_nothing(segment->clock.offset) && !segment->order_known &&
           is_same_way(&segment->way[0]) && is_same_way(&segment->way[1]);
}

/* Whether the two points of the segment have the same capture: no segment between them is in
 * `differing`, of any hosts, of RoCE or TCP. */
static bool
is_same_capture(const GPtrArray *differing, const smcr_points_segment_t *segment)
{
    for (unsigned i = 0; i < differing->len; i++)
        if (smcr_points_are_same(g_ptr_array_index(differing, i), segment))
            return false;
    return true;
}

/* Returns the pairs of points that do not have the same capture: for each pair, a segment that is
 * not is_same_segment(). The caller frees the list. */
static GPtrArray *
differing_points(const smcr_points_segment_t *segments, uint32_t count)
{
    GPtrArray *differing = g_ptr_array_new();

    for (uint32_t i = 0; i < count; i++)
        if (!is_same_segment(&segments[i]) && is_same_capture(differing, &segments[i]))
            g_ptr_array_add(differing, (gpointer)(uintptr_t)&segments[i]);
    return differing;
}

/* Adds the entry of one direction of a segment, which is a pair of neighbouring points, and returns
 * it. `at`: 0: the packets pass the points in the order of `segment->place`; 1: in the opposite
 * order. */
static smcr_entry_way_t *
add_way(const smcr_points_segment_t *segment, unsigned at, smcr_way_name_t *name,
        smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const smcr_points_way_t *way = &segment->way[at];
    smcr_entry_way_t *entry = SMCR_FIGURE_ADD(way, list, scope);

    entry->from = point_name(segment, at, name, scope);
    entry->to = point_name(segment, !at, name, scope);
    entry->from_interface = segment->place[at].interface;
    entry->to_interface = segment->place[!at].interface;
    entry->src = smcr_figure_gid_text(scope, segment->gid[at]);
    entry->dst = smcr_figure_gid_text(scope, segment->gid[!at]);
    entry->transport =
        segment->is_tcp ? SMCR_FIGURE_TRANSPORT_TCP : SMCR_FIGURE_TRANSPORT_ROCE;
    fill_counts(entry, way);
    fill_times(entry, segment, at);
    return entry;
}

/* The comparison comes first: it may be older than the last packets. */
void
smcr_ways_report(smcr_points_t *points, smcr_way_name_t *name, smcr_figure_list_t *list,
                 wmem_allocator_t *scope)
{
    uint32_t count = 0;

    if (!points)
        return;
    smcr_points_compare(points);
    const smcr_points_segment_t *segments = smcr_points_segments(points, &count);
    GPtrArray *differing = differing_points(segments, count);
    for (uint32_t i = 0; i < count; i++) {
        bool is_same = is_same_capture(differing, &segments[i]);
        for (unsigned at = 0; at < 2; at++)
            if (segments[i].way[at].packets)
                add_way(&segments[i], at, name, list, scope)->same_capture =
                    smcr_figure_truth(is_same);
    }
    g_ptr_array_free(differing, TRUE);
}
