/* Pictures over time: a line keeps its lowest and highest points whatever is joined, in bounded
 * memory; bins of a flow keep what is counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "report/series/series.h"

#define POINTS 100000

static wmem_allocator_t *scope; /* from the beginning of main() to its end */

static smcr_series_point_t
at(uint64_t time, uint64_t value)
{
    return (smcr_series_point_t){{(uint32_t)time + 1, time}, value};
}

/* Adds up the points of a line. Checks that its buckets do not overlap. */
static uint64_t
count(const smcr_series_line_t *line)
{
    uint64_t sum = 0, end = 0;

    g_assert_cmpuint(line->length, <=, SMCR_SERIES_BUCKETS);
    for (uint32_t i = 0; i < line->length; i++) {
        const smcr_series_bucket_t *bucket = &line->buckets[i];
        sum += bucket->count;
        g_assert_cmpuint(MIN(bucket->low.when.time, bucket->high.when.time), >=, end);
        end = MAX(bucket->low.when.time, bucket->high.when.time);
        g_assert_cmpuint(bucket->low.value, <=, bucket->high.value);
    }
    return sum;
}

/* Whether the line has a point with these numbers. */
static bool
has(const smcr_series_line_t *line, uint64_t time, uint64_t value)
{
    for (uint32_t i = 0; i < line->length; i++)
        if ((line->buckets[i].low.when.time == time && line->buckets[i].low.value == value) ||
            (line->buckets[i].high.when.time == time && line->buckets[i].high.value == value))
            return true;
    return false;
}

/* Few points stay as they are. */
static void
test_few_points(void)
{
    smcr_series_line_t line = {0};

    for (uint64_t i = 0; i < SMCR_SERIES_BUCKETS; i++)
        smcr_series_line_add(&line, scope, at(i * i, i % 7));
    g_assert_cmpuint(line.length, ==, SMCR_SERIES_BUCKETS);
    for (uint64_t i = 0; i < SMCR_SERIES_BUCKETS; i++)
        g_assert_true(has(&line, i * i, i % 7));
}

/* Of many points, the spike and the dent stay, and all are counted. */
static void
test_spikes_stay(void)
{
    smcr_series_line_t line = {0};

    for (uint64_t i = 0; i < POINTS; i++) {
        uint64_t spike = i == 77777 ? 999 : 500;
        smcr_series_line_add(&line, scope, at(i, i == 33333 ? 1 : spike));
    }
    g_assert_cmpuint(count(&line), ==, POINTS);
    g_assert_true(has(&line, 77777, 999));
    g_assert_true(has(&line, 33333, 1));
}

/* A pause takes no bucket: both bursts keep their details. */
static void
test_pauses_stay_empty(void)
{
    const uint64_t pause = 1000000000;
    smcr_series_line_t line = {0};
    uint32_t in_first = 0;

    for (uint64_t i = 0; i < POINTS; i++)
        smcr_series_line_add(&line, scope, at(i < POINTS / 2 ? i : pause + i, i));
    g_assert_cmpuint(count(&line), ==, POINTS);
    while (in_first < line.length && line.buckets[in_first].high.when.time < pause)
        in_first++;
    g_assert_cmpuint(in_first, >, SMCR_SERIES_BUCKETS / 8);
    g_assert_cmpuint(line.length - in_first, >, SMCR_SERIES_BUCKETS / 8);
    g_assert_true(has(&line, POINTS / 2 - 1, POINTS / 2 - 1));
    g_assert_true(has(&line, pause + POINTS / 2, POINTS / 2));
}

/* A point before the last one is not added: the clock went back. So it does not end a hole. */
static void
test_clock_goes_back(void)
{
    smcr_series_line_t line = {0};

    smcr_series_line_add(&line, scope, at(10, 1));
    smcr_series_line_add(&line, scope, at(9, 2));
    smcr_series_line_add(&line, scope, at(10, 3));
    g_assert_cmpuint(count(&line), ==, 2);
    g_assert_cmpuint(smcr_series_line_last(&line), ==, 3);
    line.is_lost = true;
    smcr_series_line_add(&line, scope, at(9, 4));
    g_assert_true(line.is_lost);
    smcr_series_line_add(&line, scope, at(20, 5));
    g_assert_true(!line.is_lost && line.buckets[line.length - 1].after_hole);
}

/* Of the times without points since a packet, the longest one is the unknown one. */
static void
test_longest_time_is_unknown(void)
{
    smcr_series_line_t line = {0};

    for (uint64_t i = 0; i < 6; i++)
        smcr_series_line_add(&line, scope, at(i * i * 10, i));
    g_assert_false(smcr_series_line_break(&line, 250, 300)); /* no point came after 250 */
    g_assert_false(smcr_series_line_break(&line, 30, 400));  /* the time after 250 is the longest */
    for (uint32_t i = 0; i < line.length; i++)
        g_assert_false(line.buckets[i].after_hole);
    g_assert_true(smcr_series_line_break(&line, 30, 260));
    g_assert_true(line.buckets[5].after_hole && !line.buckets[4].after_hole);
}

/* Bins keep all packets, however long the capture is. There are at most SMCR_SERIES_FLOWS flows,
 * and pause frames beside them. */
static void
test_bins(void)
{
    smcr_series_t *series = smcr_series_new();
    const smcr_record_t record = smcr_record_new();
    const smcr_ib_headers_t roce = {.length = 100};
    uint64_t bytes = 0, packets = 0;
    char keys[SMCR_SERIES_FLOWS + 1];

    for (uint64_t i = 0; i < POINTS; i++)
        smcr_series_take_flow(series, keys,
                              &(smcr_series_packet_t){{1, 5000 + i * i}, &record, &roce, {0, 0}});
    for (unsigned i = 0; i <= SMCR_SERIES_FLOWS; i++)
        smcr_series_take_flow(series, &keys[i],
                              &(smcr_series_packet_t){{1, 5000}, &record, &roce, {0, 0}});
    for (unsigned i = 0; i < SMCR_SERIES_BINS; i++) {
        bytes += series->flow[0]->bin[i].bytes;
        packets += series->flow[0]->bin[i].packets;
    }
    g_assert_cmpuint(packets, ==, POINTS + 1);
    g_assert_cmpuint(bytes, ==, 100 * (POINTS + 1));
    g_assert_cmpuint(series->flow_count, ==, SMCR_SERIES_FLOWS);
    smcr_series_take_flow(series, NULL, &(smcr_series_packet_t){.when = {1, 5000}});
    g_assert_cmpuint(series->flow_count, ==, SMCR_SERIES_FLOWS + 1);
    g_assert_cmpuint(series->flow[SMCR_SERIES_FLOWS]->bin[0].packets, ==, 1);
    g_assert_cmpuint(series->begin, ==, 5000);
    g_assert_cmpuint(series->width * SMCR_SERIES_BINS, >, (uint64_t)(POINTS - 1) * (POINTS - 1));
    smcr_series_free(series);
}

/* Pieces of the same part are one; a piece of several parts stays by itself. */
static void
test_lanes(void)
{
    smcr_series_direction_t direction = {.scope = scope};
    smcr_interval_piece_t piece = {.interval = {{1, 0}, {2, 10}}};

    piece.share[SMCR_INTERVAL_IS_TRANSFER] = 10;
    smcr_series_add_lane(&direction, &piece);
    piece.interval = (smcr_interval_t){{2, 10}, {3, 20}};
    smcr_series_add_lane(&direction, &piece);
    piece.interval = (smcr_interval_t){{3, 20}, {4, 30}};
    piece.share[SMCR_INTERVAL_IS_TRANSFER] = 4;
    piece.share[SMCR_INTERVAL_IS_UNKNOWN] = 6;
    smcr_series_add_lane(&direction, &piece);
    piece.interval = (smcr_interval_t){{4, 30}, {4, 30}};
    smcr_series_add_lane(&direction, &piece);
    g_assert_cmpuint(direction.lane_count, ==, 2);
    g_assert_cmpuint(direction.lanes[0].share[SMCR_INTERVAL_IS_TRANSFER], ==, 20);
    g_assert_cmpuint(direction.lanes[0].interval.end.frame, ==, 3);
    g_assert_cmpuint(direction.lanes[1].share[SMCR_INTERVAL_IS_UNKNOWN], ==, 6);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    g_test_add_func("/series/few_points", test_few_points);
    g_test_add_func("/series/spikes_stay", test_spikes_stay);
    g_test_add_func("/series/pauses_stay_empty", test_pauses_stay_empty);
    g_test_add_func("/series/clock_goes_back", test_clock_goes_back);
    g_test_add_func("/series/longest_time_is_unknown", test_longest_time_is_unknown);
    g_test_add_func("/series/bins", test_bins);
    g_test_add_func("/series/lanes", test_lanes);
    int result = g_test_run();

    wmem_destroy_allocator(scope);
    return result;
}
