/* Knows how many times are how long: counts of times in buckets whose bounds grow by a constant
 * factor, so that each time is known to 4.4 %. Knows neither what is measured nor Wireshark. Called
 * by the room that has the contents of a report (report/figures/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#include <wsutil/wmem/wmem.h>

/* The buckets are those of an exponential histogram of OpenTelemetry of scale 3, in seconds
 * (opentelemetry.io/docs/specs/otel/metrics/data-model, "ExponentialHistogram"). Bucket i has the
 * times above 2^(i/8) s, up to and including 2^((i+1)/8) s. All histograms have the same bounds, so
 * their counts can be added, and the sum is exact. */

#define SMCR_HISTOGRAM_SCALE 3            /* a power of two has 2^3 buckets */
#define SMCR_HISTOGRAM_ZERO INT32_MIN     /* in place of a bucket: a time of 0 */
#define SMCR_HISTOGRAM_LOWEST (-240)      /* bucket of 1 ns */
#define SMCR_HISTOGRAM_HIGHEST 272        /* bucket of 2^64 - 1 ns */

/* Counts of times. All zeros: no time was counted. The counts take at most 4160 bytes. */
typedef struct {
    uint64_t *counts; /* counts of the buckets from `first` on; NULL: none */
    uint64_t zeros;   /* number of times of 0 */
    int32_t first;    /* bucket of the first count */
    uint32_t length;  /* number of buckets in `counts` */
} smcr_histogram_t;

/* Returns the bucket of a time in nanoseconds. */
int32_t smcr_histogram_bucket(uint64_t time);

/* Returns a time of the bucket, nanoseconds. It differs from each time of the bucket by 4.4 % of
 * that time at most, if rounding to nanoseconds is left aside. */
uint64_t smcr_histogram_middle(int32_t bucket);

/* Adds `count` times of a bucket. Memory is allocated in `scope`. */
void smcr_histogram_add(smcr_histogram_t *histogram, wmem_allocator_t *scope, int32_t bucket,
                        uint64_t count);

/* Adds the counts of `other`. Memory is allocated in `scope`. */
void smcr_histogram_join(smcr_histogram_t *histogram, wmem_allocator_t *scope,
                         const smcr_histogram_t *other);

/* Returns the bucket of the time that has the rank `rank` in ascending order, from 1. The histogram
 * has at least `rank` times. */
int32_t smcr_histogram_at(const smcr_histogram_t *histogram, uint64_t rank);
