/* Finding about PAUSE and PFC frames: ports that ask their peers to stop sending, and flows that
 * stood still meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"
#include "report/pause/pause.h"
#include "report/words/words.h"

/* Time of pauses that makes the finding a warning, nanoseconds. Common pauses last some
 * microseconds. */
#define LONG_PAUSE (10 * SMCR_TIME_MILLISECOND)

#define LARGE_PART 10 /* pauses of at least one part in so many of a time cost senders much of it */

/* Whether the pauses of `one` weigh more than those of `other`: they lasted longer or, if the time
 * is equal, have more frames. */
static bool
is_heavier(const smcr_entry_pause_t *one, const smcr_entry_pause_t *other)
{
    if (one->paused_most_s != other->paused_most_s)
        return one->paused_most_s > other->paused_most_s;
    return one->frames > other->frames;
}

/* Returns the port and class that was paused longest; NULL: the capture has no pauses. */
static const smcr_entry_pause_t *
heaviest_pause(const smcr_finder_t *finder)
{
    const smcr_entry_pause_t *heaviest = NULL;

    SMCR_FIGURE_EACH(pause, pause, finder->report->pauses)
        if (!heaviest || is_heavier(pause, heaviest))
            heaviest = pause;
    return heaviest;
}

/* Returns the flow that stood still longest while a port paused its class; NULL: none did. */
static const smcr_entry_rdma_t *
stillest_flow(const smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *stillest = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->pause &&
            (!stillest || flow->pause->still_most_s > stillest->pause->still_most_s))
            stillest = flow;
    return stillest;
}

/* Whether the class was, or may have been, paused for a large part of the capture, or for a time
 * without a break that is far longer than a common pause. The speed of the link decides how long
 * the quanta of a frame last. Without it only a port that renews its pauses before they would be
 * over keeps its peer from sending for so long. */
static bool
is_storm(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    uint64_t covered = smcr_words_covered(&finder->report->capture);
    uint64_t paused = MIN(pause->paused_most_s, covered);
    bool is_large_part = paused >= LONG_PAUSE && paused >= covered / LARGE_PART;

    SMCR_FIGURE_EACH(pause_interval, interval, pause->intervals)
        if (interval->frames > 1 && interval->paused_most_s >= LONG_PAUSE * LARGE_PART)
            return true;
    return is_large_part && pause->frames > 1;
}

/* Returns what the frames pause, and for how much of the capture: "class 3 for 101 ms of 2.0 s";
 * without the speed of the link at most: "all classes for ≤34 ms of 2.0 s". */
static const char *
paused_text(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    wmem_allocator_t *scope = finder->scope;

    if (!smcr_words_pauses_a_class(pause))
        return smcr_words_paused_class(scope, pause);
    return wmem_strdup_printf(scope, "%s for %s of %s", smcr_words_paused_class(scope, pause),
                              smcr_words_paused_time(scope, pause, capture),
                              smcr_words_duration(scope, smcr_words_covered(capture)));
}

/* Returns what is known of flows in the paused class, if none of them is known to have stood
 * still. */
static const char *
flows_text(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    bool ignores_roce = capture->smcr_roce != SMCR_FIGURE_YES && capture->roce_frames;

    if (!smcr_words_pauses_a_class(pause))
        return "no effect on senders";
    if (pause->has_flow == SMCR_FIGURE_YES)
        return "no flow is seen to stand still";
    if (pause->has_flow == SMCR_FIGURE_MAYBE)
        return "which flows are of this class is not known without VLAN tags";
    return ignores_roce ? "flows are not analysed without -o smcr.roce:TRUE"
                        : "no RDMA flow of this class comes after these frames";
}

/* Returns how long the flow was paused: "598 ms"; without the speed of the link "6.3 ms to
 * 632 ms". */
static const char *
still_time(const smcr_finder_t *finder, const smcr_entry_flow_pause_t *pause)
{
    const char *least = smcr_words_duration(finder->scope, pause->still_s);
    const char *most = smcr_words_duration(finder->scope, pause->still_most_s);

    if (g_str_equal(least, most))
        return most;
    return wmem_strdup_printf(finder->scope, "%s to %s", least, most);
}

/* Returns how the flow stood still: "A → B sent nothing for 650 ms (598 ms paused)"; "A → B
 * stood still 12 times, for 240 µs". */
static const char *
still_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_pause_t *pause = flow->pause;
    wmem_allocator_t *scope = finder->scope;
    const char *name = smcr_words_flow(scope, flow);
    const char *still = still_time(finder, pause);
    uint64_t gap = smcr_figure_time_between(pause->longest->begin_frame,
                                            pause->longest->end_frame);

    if (pause->standstills > 1 || gap == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "%s stood still %s times, for %s", name,
                                  smcr_words_number(scope, pause->standstills), still);
    return wmem_strdup_printf(scope, "%s sent nothing for %s (%s paused)", name,
                              smcr_words_duration(scope, gap), still);
}

/* Returns the number of other ports and classes that are paused: " (and 2 more)". */
static const char *
others_text(const smcr_finder_t *finder)
{
    uint32_t others = finder->report->pauses.length - 1;

    if (!others)
        return "";
    return wmem_strdup_printf(finder->scope, " (and %" PRIu32 " more)", others);
}

/* Finding: a port sends PAUSE or PFC frames. They ask the peer of the link to stop sending: the
 * port, or what lies after it, takes in packets more slowly than they come. The finding is a
 * warning if the pauses are long, or take a large part of the time. If a flow stood still, the
 * finding has this time as its cost. That a flow in the class sent nothing is what the frames
 * prove; they do not prove that it had something to send. */
void
smcr_finding_on_pauses(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, SMCR_PAUSE_FILTER);
    const smcr_entry_pause_t *pause = heaviest_pause(finder);
    const smcr_entry_rdma_t *flow = stillest_flow(finder);
    wmem_allocator_t *scope = finder->scope;

    if (!pause)
        return;
    uint64_t still = flow ? flow->pause->still_most_s : 0;
    uint64_t paused = smcr_figure_or_zero(pause->paused_s);
    bool is_long = MAX(paused, still) >= LONG_PAUSE || is_storm(finder, pause);
    const char *kind = pause->kind == SMCR_FIGURE_PAUSE_ALL ? "PAUSE frame" : "PFC frame";
    smcr_finder_add_as(
        finder, is_long ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE,
        &(smcr_finder_facts_t){
            .kind = SMCR_FIGURE_FOUND_PAUSE,
            .count = notice.count,
            .when = notice.first,
            .filter = SMCR_PAUSE_FILTER,
            .rank = still ? SMCR_FINDING_BY_STANDSTILL : 0,
            .cost = still,
            .frames = flow ? SMCR_FINDER_FRAMES(finder, flow->pause->longest->begin_frame,
                                                flow->pause->longest->end_frame)
                           : NULL},
        "%s of port %s %s %s%s; %s", smcr_words_things(scope, pause->frames, kind),
        pause->port_mac ? pause->port_mac : "?", pause->frames == 1 ? "pauses" : "pause",
        paused_text(finder, pause), others_text(finder),
        flow ? still_text(finder, flow) : flows_text(finder, pause));
}
