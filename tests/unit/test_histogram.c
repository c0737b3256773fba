/* Histograms: each time is in its bucket, and known to 5 %; sums are exact; the limits of times,
 * counts and memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/histogram/histogram.h"

#include <math.h>

#include "report/figures/figures.h"

#define SECOND UINT64_C(1000000000) /* nanoseconds */

static void
check_limits(void)
{
    static const struct {
        uint64_t time;
        int32_t bucket;
    } rows[] = {
        {0, SMCR_HISTOGRAM_ZERO},
        {1, SMCR_HISTOGRAM_LOWEST},
        {UINT64_MAX, SMCR_HISTOGRAM_HIGHEST},
        {SECOND, -1}, /* a bound belongs to the bucket below it */
        {SECOND + 1, 0},
        {SECOND - 1, -1},
        {2 * SECOND, 7},
        {2 * SECOND + 1, 8},
        {SECOND / 2, -9},
        {SECOND / 512, -73},
        {SECOND / 512 + 1, -72},
        {1024 * SECOND, 79},
        {1090507732, 0}, /* 2^(1/8) s is 1.090507732665... */
        {1090507733, 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(smcr_histogram_bucket(rows[i].time), ==, rows[i].bucket);
}

/* Both sides of each bound, which is computed with other means than the code has. */
static void
check_bounds(void)
{
    for (int32_t bucket = SMCR_HISTOGRAM_LOWEST + 8; bucket < SMCR_HISTOGRAM_HIGHEST - 40;
         bucket++) {
        uint64_t below = (uint64_t)(1e9L * exp2l((long double)bucket / 8));
        g_assert_cmpint(smcr_histogram_bucket(below), <, bucket);
        g_assert_cmpint(smcr_histogram_bucket(below + 1), >=, bucket);
        g_assert_cmpint(smcr_histogram_bucket(below + 1), <=, bucket + 8);
    }
}

/* The middle of a bucket is within 4.4 % of each of its times, and 1 ns for the rounding. */
static void
check_error(void)
{
    uint64_t time = 1;

    for (; time < UINT64_MAX / 5 * 4; time += time / 100 + 1) {
        uint64_t middle = smcr_histogram_middle(smcr_histogram_bucket(time));
        uint64_t error = middle > time ? middle - time : time - middle;
        g_assert_cmpuint(error, <=, time / 1000 * 44 + time % 1000 * 44 / 1000 + 1);
    }
    g_assert_cmpuint(smcr_histogram_middle(SMCR_HISTOGRAM_ZERO), ==, 0);
    g_assert_cmpuint(smcr_histogram_middle(SMCR_HISTOGRAM_HIGHEST), >, UINT64_MAX / 10 * 9);
}

/* Counts in any order give the same counts; joined ones are those of all. */
static void
check_sums(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_histogram_t up = {0}, down = {0}, all = {0};
    uint64_t times = 0;

    for (int32_t bucket = SMCR_HISTOGRAM_LOWEST; bucket <= SMCR_HISTOGRAM_HIGHEST; bucket++) {
        smcr_histogram_add(&up, scope, bucket, 2);
        smcr_histogram_add(&down, scope,
                           SMCR_HISTOGRAM_LOWEST + SMCR_HISTOGRAM_HIGHEST - bucket, 3);
        times += 5;
    }
    smcr_histogram_add(&up, scope, SMCR_HISTOGRAM_ZERO, 7);
    smcr_histogram_join(&all, scope, &down);
    smcr_histogram_join(&all, scope, &up);
    g_assert_cmpuint(all.zeros, ==, 7);
    g_assert_cmpuint(all.length * sizeof *all.counts, <=, 4176);
    for (uint64_t rank = 1; rank <= times + 7; rank++)
        g_assert_cmpint(smcr_histogram_at(&all, rank), ==,
                        rank <= 7 ? SMCR_HISTOGRAM_ZERO
                                  : SMCR_HISTOGRAM_LOWEST + (int32_t)((rank - 8) / 5));
    wmem_destroy_allocator(scope);
}

/* ---- distributions ---- */

/* The time with the rank is known from all times: 1 to `count` microseconds. */
static void
check_quantiles(void)
{
    static const unsigned per_mille[] = {1, 500, 950, 990, 999, 1000};

    for (unsigned count = 1; count <= 3000; count = count * 3 / 2 + 1) {
        wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
        smcr_distribution_t *times = NULL;
        for (unsigned i = 0; i < count; i++)
            smcr_distribution_add_time(&times, scope, 1000 * (i * 7919 % count + 1));
        for (unsigned i = 0; i < G_N_ELEMENTS(per_mille); i++) {
            uint64_t rank = (count * per_mille[i] + 999) / 1000;
            double right = 1000.0 * (double)rank;
            double found = (double)smcr_distribution_quantile(times, per_mille[i]);
            if (count % 7919)
                g_assert_cmpfloat(fabs(found - right), <=, right * 0.0434 + 1);
        }
        g_assert_cmpuint(smcr_distribution_quantile(times, 1000), ==, times->max);
        wmem_destroy_allocator(scope);
    }
    g_assert_cmpuint(smcr_distribution_quantile(NULL, 500), ==, SMCR_FIGURE_UNKNOWN);
}

/* Times in one bucket need no histogram, and a time in another makes one with all of them. */
static void
check_memory(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_distribution_t *times = NULL, *zeros = NULL;

    for (unsigned i = 0; i < 100; i++)
        smcr_distribution_add_time(&times, scope, SECOND + 1 + i);
    g_assert_null(times->histogram);
    g_assert_cmpuint(smcr_distribution_histogram(times, scope).counts[0], ==, 100);
    g_assert_cmpuint(smcr_distribution_quantile(times, 500), ==, SECOND + 100); /* not above max */
    smcr_distribution_add_time(&times, scope, 0);
    smcr_distribution_add_time(&times, scope, UINT64_MAX);
    smcr_histogram_t histogram = smcr_distribution_histogram(times, scope);
    g_assert_cmpuint(histogram.zeros, ==, 1);
    g_assert_cmpuint(histogram.counts[0 - histogram.first], ==, 100);
    g_assert_cmpuint(histogram.counts[SMCR_HISTOGRAM_HIGHEST - histogram.first], ==, 1);
    smcr_distribution_add_time(&zeros, scope, 0);
    smcr_distribution_add_time(&zeros, scope, 0);
    g_assert_null(zeros->histogram);
    g_assert_cmpuint(smcr_distribution_quantile(zeros, 990), ==, 0);
    wmem_destroy_allocator(scope);
}

/* A sum of entries is the distribution of all times, and changes none of the entries. */
static void
check_entries(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_entry_rdma_t sum = {0}, flows[3] = {0};

    for (unsigned i = 0; i < 300; i++)
        smcr_distribution_add_time(&flows[i % 2].ack_time_s, scope, (i + 1) * SECOND);
    for (unsigned i = 0; i < 3; i++)
        smcr_entry_join(&sum, &flows[i], &smcr_entry_rdma_description, scope);
    smcr_histogram_t all = smcr_distribution_histogram(sum.ack_time_s, scope);
    smcr_histogram_t odd = smcr_distribution_histogram(flows[0].ack_time_s, scope);
    uint64_t counts[2] = {0};
    for (uint32_t i = 0; i < all.length; i++)
        counts[0] += all.counts[i];
    for (uint32_t i = 0; i < odd.length; i++)
        counts[1] += odd.counts[i];
    g_assert_cmpuint(counts[0], ==, 300);
    g_assert_cmpuint(counts[1], ==, 150);
    g_assert_cmpuint(sum.ack_time_s->count, ==, 300);
    g_assert_cmpuint(flows[0].ack_time_s->count, ==, 150);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/histogram/limits", check_limits);
    g_test_add_func("/histogram/bounds", check_bounds);
    g_test_add_func("/histogram/error", check_error);
    g_test_add_func("/histogram/sums", check_sums);
    g_test_add_func("/histogram/quantiles", check_quantiles);
    g_test_add_func("/histogram/memory", check_memory);
    g_test_add_func("/histogram/entries", check_entries);
    return g_test_run();
}
