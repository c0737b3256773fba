/* Counts times in buckets. The bucket of a time is found with integers only, so it is the same on
 * each machine, also where the time lies beside a bound.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "histogram.h"

#include <math.h>

enum { BUCKETS = 1 << SMCR_HISTOGRAM_SCALE /* buckets of a power of two */ };

/* The bounds of buckets that lie between 2^30 ns and 2^31 ns: 2^(1/8) s to 2^(8/8) s, in units of
 * 2^-33 ns, rounded down. Only the last one is an integer in nanoseconds. */
static const uint64_t bounds[BUCKETS] = {
    UINT64_C(9367390095664785123),  UINT64_C(10215211334214395865), UINT64_C(11139766950770582417),
    UINT64_C(12148001999904198769), UINT64_C(13247490117328543392), UINT64_C(14446490411353358019),
    UINT64_C(15754009503455335899), UINT64_C(17179869184000000000),
};

/* Returns the number of the highest bit that is set; the lowest bit has number 0. `number` is not
 * 0. */
static unsigned
highest_bit(uint64_t number)
{
    unsigned bit = 0;

    for (unsigned step = 32; step; step /= 2) {
        unsigned shift = (number >> step) ? step : 0;
        number >>= shift;
        bit += shift;
    }
    return bit;
}

/* Between 2^n and 2^(n+1) ns lie as many bounds as between 2^30 and 2^31 ns, in the same
 * proportions. So the time is shifted until its highest bit is bit 63, and compared with `bounds`,
 * whose highest bit is bit 63, too. */
int32_t
smcr_histogram_bucket(uint64_t time)
{
    int32_t bucket;

    if (!time)
        return SMCR_HISTOGRAM_ZERO;
    int exponent = (int)highest_bit(time);
    uint64_t shifted = time << (63 - exponent);
    bucket = BUCKETS * (exponent - 30);
    for (unsigned i = 0; i < BUCKETS; i++)
        bucket += shifted > bounds[i];
    return bucket;
}

/* The harmonic mean of both bounds: its distance from each bound, divided by that bound, is the
 * same, (b - 1) / (b + 1) with the factor b = 2^(1/8). That is 4.33 %. The mean is the lower bound
 * times 2b / (1 + b). */
uint64_t
smcr_histogram_middle(int32_t bucket)
{
    static const double from_lower_bound = 1.0432946174993891;

    if (bucket == SMCR_HISTOGRAM_ZERO)
        return 0;
    unsigned place = (unsigned)(bucket - 1) % BUCKETS; /* index of the lower bound in `bounds` */
    int doublings = (bucket - 1 - (int)place) / BUCKETS;
    double middle = from_lower_bound * ldexp((double)bounds[place], doublings - 33);
    return middle >= 0x1p64 ? UINT64_MAX : (uint64_t)(middle + 0.5);
}

/* Makes room for buckets from `first` to before `end`. */
static void
make_room(smcr_histogram_t *histogram, wmem_allocator_t *scope, int32_t first, int32_t end)
{
    uint32_t length = (uint32_t)(end - first);
    uint64_t *counts = wmem_alloc0_array(scope, uint64_t, length);

    if (histogram->counts)
        memcpy(counts + (histogram->first - first), histogram->counts,
               histogram->length * sizeof *counts);
    wmem_free(scope, histogram->counts);
    histogram->counts = counts;
    histogram->first = first;
    histogram->length = length;
}

/* Room is made before the count is added, since `first` of the histogram may change. */
void
smcr_histogram_add(smcr_histogram_t *histogram, wmem_allocator_t *scope, int32_t bucket,
                   uint64_t count)
{
    /* Room is made for a power of two at a time. */
    int32_t first = bucket & ~(BUCKETS - 1), end = first + BUCKETS;

    if (bucket == SMCR_HISTOGRAM_ZERO) {
        histogram->zeros += count;
        return;
    }
    if (histogram->length) {
        first = MIN(first, histogram->first);
        end = MAX(end, histogram->first + (int32_t)histogram->length);
    }
    if (histogram->length != (uint32_t)(end - first))
        make_room(histogram, scope, first, end);
    histogram->counts[bucket - histogram->first] += count;
}

void
smcr_histogram_join(smcr_histogram_t *histogram, wmem_allocator_t *scope,
                    const smcr_histogram_t *other)
{
    histogram->zeros += other->zeros;
    for (uint32_t i = 0; i < other->length; i++)
        if (other->counts[i])
            smcr_histogram_add(histogram, scope, other->first + (int32_t)i, other->counts[i]);
}

/* The zeros are not in `counts`: they are the lowest ranks. */
int32_t
smcr_histogram_at(const smcr_histogram_t *histogram, uint64_t rank)
{
    uint64_t before = histogram->zeros;
    uint32_t i = 0;

    if (rank <= before)
        return SMCR_HISTOGRAM_ZERO;
    while (i < histogram->length && before + histogram->counts[i] < rank)
        before += histogram->counts[i++];
    return histogram->first + (int32_t)i;
}
