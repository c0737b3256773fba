/* A row for each direction between two neighbouring capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/words/words.h"
#include "tables.h"

/* Returns seconds as nanoseconds, for a cell. A delay below 0 is within its error, and becomes
 * 0. */
static uint64_t
nanoseconds(double value)
{
    if (value != value) /* not a number: not known */
        return SMCR_FIGURE_UNKNOWN;
    return value > 0 ? (uint64_t)(value * (double)SMCR_TIME_SECOND + 0.5) : 0;
}

static const char *
transport_name(const smcr_entry_way_t *way)
{
    return way->transport == SMCR_FIGURE_TRANSPORT_TCP ? "TCP" : "RoCE";
}

/* Whether the median of the delays is known, and not above its error: the page then shows its upper
 * bound only. */
static bool
is_within_error(const smcr_entry_way_t *way)
{
    return way->delay.median_s <= way->delay.error_s; /* false if it is not a number: not known */
}

/* Returns the median of the delays, nanoseconds. If it is within its error, returns its lower
 * bound, which is 0. */
static uint64_t
usual_delay(const smcr_entry_way_t *way)
{
    return is_within_error(way) ? 0 : nanoseconds(way->delay.median_s);
}

/* Returns the upper bound of the median of the delays, nanoseconds: at least a microsecond, the
 * unit of many time stamps. */
static uint64_t
longest_usual_delay(const smcr_entry_way_t *way)
{
    return MAX(nanoseconds(way->delay.median_s + way->delay.error_s), SMCR_TIME_MICROSECOND);
}

#define WAY(X)                                                                                     \
    X(TEXT, NULL, "from → to", 0, smcr_words_hosts(taker->texts, way->from, way->to))              \
    X(TEXT, NULL, "of", 0, transport_name(way))                                                    \
    X(COUNT, NULL, "packets", 0, way->packets)                                                     \
    X(COUNT, NULL, "lost", 0, way->lost)                                                           \
    X(COUNT, NULL, "after", 0, way->lost_after + way->unanswered)                                  \
    X(COUNT, NULL, "undec.", 0, way->undecided)                                                    \
    X(SECONDS, NULL, "delay", 0,                                                                   \
      usual_delay(way) SMCR_TABLE_AT_LEAST(is_within_error(way))                                   \
          SMCR_TABLE_AT_MOST(longest_usual_delay(way)))                                            \
    X(TEXT, "From", NULL, 8, way->from)                                                            \
    X(TEXT, "To", NULL, 8, way->to)                                                                \
    X(TEXT, "Source", NULL, 15, way->src)                                                          \
    X(TEXT, "Destination", NULL, 15, way->dst)                                                     \
    X(TEXT, "Of", NULL, 0, transport_name(way))                                                    \
    X(COUNT, "Packets", NULL, 8, way->packets)                                                     \
    X(COUNT, "At both", NULL, 8, way->at_both)                                                     \
    X(COUNT, "Lost between", NULL, 0, way->lost)                                                   \
    X(COUNT, "Damaged", NULL, 0, way->damaged)                                                     \
    X(COUNT, "Lost after", NULL, 0, way->lost_after)                                               \
    X(COUNT, "Unanswered", NULL, 0, way->unanswered)                                               \
    X(COUNT, "Not captured", NULL, 0, way->not_captured_from + way->not_captured_to)               \
    X(COUNT, "Undecided", NULL, 0, way->undecided)                                                 \
    X(COUNT, "Out of order", NULL, 0, way->reordered)                                              \
    X(COUNT, "Marked CE", NULL, 0, way->marked_ce)                                                 \
    X(COUNT, "DSCP changed", NULL, 0, way->dscp_changed)                                           \
    X(COUNT, "Delayed", NULL, 0, way->delayed)                                                     \
    X(COUNT, "Fragmented", NULL, 0, way->fragmented)                                               \
    X(SECONDS, "Delay min (s)", NULL, 0, nanoseconds(way->delay.min_s))                            \
    X(SECONDS, "Delay median (s)", NULL, 0, nanoseconds(way->delay.median_s))                      \
    X(SECONDS, "Delay p99 (s)", NULL, 0, nanoseconds(way->delay.p99_s))                            \
    X(SECONDS, "Delay ± (s)", NULL, 0, nanoseconds(way->delay.error_s))

/* Makes a row for each way between two points. A way with more lost or damaged packets has a higher
 * rank. */
static void
fill_points(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(way, way, taker->report->points)
        SMCR_TABLE_ROW(taker, WAY, way->packets,
                       way->lost + way->damaged + way->lost_after);
}

/* Whether both points have one clock: no bound of offset and drift is known to differ from 0. The
 * bounds of an offset that was measured with packets are never equal. */
static bool
is_one_clock(const smcr_entry_way_clock_t *clock)
{
    return !(clock->offset_least_s < 0) && !(clock->offset_most_s > 0) &&
           !(clock->drift_least_ppm < 0) && !(clock->drift_most_ppm > 0);
}

/* Returns the heading, with the offset of the clocks of the first two points; NULL: the capture has
 * no two points of a path, so the page has no such table. */
static const char *
heading_of_points(const smcr_table_row_sink_t *taker)
{
    const smcr_figure_list_t *ways = &taker->report->points;

    if (!ways->length)
        return NULL;
    const smcr_entry_way_t *way = ways->entries[0];
    if (way->clock.offset_s != way->clock.offset_s) /* not a number: not known */
        return "Capture points: the offset of their clocks is not known";
    if (is_one_clock(&way->clock))
        return "Capture points: they have one clock";
    wmem_allocator_t *scope = taker->scope;
    return wmem_strdup_printf(
        scope, "Capture points: clock of %s %s to %s s ahead of %s, drift %s to %s ppm", way->to,
        smcr_words_decimal(scope, way->clock.offset_least_s, 6),
        smcr_words_decimal(scope, way->clock.offset_most_s, 6), way->from,
        smcr_words_decimal(scope, way->clock.drift_least_ppm, 1),
        smcr_words_decimal(scope, way->clock.drift_most_ppm, 1));
}

SMCR_TABLE(points, "SMC-R Capture Points", WAY, heading_of_points);
