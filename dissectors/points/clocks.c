/* Bounds the offset between two clocks by a line between two convex hulls.
 *
 * All arithmetic is relative to a sample, so that a double is exact to a nanosecond for some weeks,
 * however far the clocks are apart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clocks.h"

/* Highest drift between two clocks that is searched, in seconds per second. The oscillators of
 * hosts differ less from their nominal frequency. */
#define DRIFT_MOST 1e-3

#define STEPS 100 /* steps of a search; each step halves an interval, or reduces it to two thirds */

/* Nanoseconds. If all time stamps are whole microseconds, the capture has rounded them down. */
#define MICROSECOND 1000

/* A bound of the line, from one sample. */
typedef struct {
    double at;    /* time since hulls_t.begin, nanoseconds */
    double bound; /* upper or lower bound of the offset at this time, minus hulls_t.reference,
                     nanoseconds; a lower bound with the other sign (hull_t.sign) */
} bound_t;

/* The convex hull of the bounds of one direction. */
typedef struct {
    bound_t *bounds; /* the bounds, in the order of time */
    uint32_t count;  /* number of bounds */
    double sign;     /* 1: upper bounds; -1: lower bounds, which are kept with the other sign */
} hull_t;

/* The two hulls between which the line runs. */
typedef struct {
    hull_t upper;      /* upper bounds: from packets that pass the first point first */
    hull_t lower;      /* lower bounds: from packets of the other direction */
    uint64_t begin;    /* time of the earliest sample, nanoseconds since the epoch */
    int64_t reference; /* `distance` of one sample, which is subtracted from all distances */
    double end;        /* time from `begin` to the latest sample, nanoseconds */
    double resolution; /* unit of the time stamps, nanoseconds: a distance may be wrong by as
                          much */
} hulls_t;

/* ---- hulls ---- */

/* Compares bounds for sorting, by time, then by value. */
static int
compare_bounds(const void *one, const void *other)
{
    const bound_t *a = one, *b = other;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->bound < b->bound ? -1 : a->bound > b->bound;
}

/* Whether the middle one of three bounds lies on or above the line through the other two. Such a
 * bound is no part of the lower hull. */
static bool
is_needless(const bound_t *left, const bound_t *middle, const bound_t *right)
{
    return (middle->bound - left->bound) * (right->at - left->at) >=
           (right->bound - left->bound) * (middle->at - left->at);
}

/* Keeps the lower convex hull of bounds in the order of time (Andrew's monotone chain). */
static void
keep_hull(hull_t *hull)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < hull->count; i++) {
        while (kept > 1 && is_needless(&hull->bounds[kept - 2], &hull->bounds[kept - 1],
                                       &hull->bounds[i]))
            kept--;
        hull->bounds[kept++] = hull->bounds[i];
    }
    hull->count = kept;
}

/* Makes the hull of the samples of one direction. `sign`: see hull_t. */
static void
make_hull(hull_t *hull, const hulls_t *hulls, smcr_clock_samples_t samples, double sign)
{
    hull->sign = sign;
    hull->count = samples.count;
    hull->bounds = g_new(bound_t, samples.count + 1);
    for (uint32_t i = 0; i < samples.count; i++) {
        const smcr_clock_sample_t *sample = &samples.samples[i];
        double distance = (double)(sample->distance - hulls->reference);
        hull->bounds[i] = (bound_t){(double)(sample->time - hulls->begin),
                                    sign * distance + hulls->resolution};
    }
    qsort(hull->bounds, hull->count, sizeof *hull->bounds, compare_bounds);
    keep_hull(hull);
}

/* Widens the span of time from `hulls->begin` to `*end` by the samples, and notes whether their
 * times have fractions of microseconds. */
static void
take_span(hulls_t *hulls, smcr_clock_samples_t samples, uint64_t *end)
{
    for (uint32_t i = 0; i < samples.count; i++) {
        const smcr_clock_sample_t *sample = &samples.samples[i];
        hulls->begin = MIN(hulls->begin, sample->time);
        *end = MAX(*end, sample->time);
        if (sample->time % MICROSECOND || sample->distance % MICROSECOND)
            hulls->resolution = 1;
    }
}

/* ---- the line ---- */

/* Returns the highest offset, at hulls_t.begin, of a line with the drift `drift` that is not above
 * any bound of the hull. For a hull of lower bounds: the lowest offset of a line that is not below
 * any of them, with the other sign. */
static double
limit(const hull_t *hull, double drift)
{
    double lowest = G_MAXDOUBLE;

    for (uint32_t i = 0; i < hull->count; i++) {
        double offset = hull->bounds[i].bound - hull->sign * drift * hull->bounds[i].at;
        lowest = MIN(lowest, offset);
    }
    return lowest;
}

/* Returns how far a line with the drift `drift` can be moved between the two hulls, nanoseconds;
 * negative: no such line fits between them. */
static double
room(const hulls_t *hulls, double drift)
{
    return limit(&hulls->upper, drift) + limit(&hulls->lower, drift);
}

/* A concave function of the drift, whose maximum best_drift() finds. `at`: a time since
 * hulls_t.begin, nanoseconds. */
typedef double target_t(const hulls_t *hulls, double drift, double at);

/* A target_t: how far a line with this drift can be moved between the hulls (room()). `at` is not
 * used. */
static double
target_room(const hulls_t *hulls, double drift, double at G_GNUC_UNUSED)
{
    return room(hulls, drift);
}

/* A target_t: the highest offset, at the time `at`, that a line with this drift has if it is not
 * above the upper hull. */
static double
target_high(const hulls_t *hulls, double drift, double at)
{
    return limit(&hulls->upper, drift) + drift * at;
}

/* A target_t: the lowest offset, at the time `at`, that a line with this drift has if it is not
 * below the lower hull; with the other sign. */
static double
target_low(const hulls_t *hulls, double drift, double at)
{
    return limit(&hulls->lower, drift) - drift * at;
}

/* Returns the drift, between the two limits in `between`, for which `target` is highest. */
static double
best_drift(const hulls_t *hulls, target_t *target, double at, const double between[2])
{
    double low = between[0], high = between[1];

    for (unsigned i = 0; i < STEPS; i++) {
        double third = (high - low) / 3;
        if (target(hulls, low + third, at) < target(hulls, high - third, at))
            low += third;
        else
            high -= third;
    }
    return (low + high) / 2;
}

/* Returns the drift nearest to `far` with which a line fits between the hulls, by bisection. A line
 * with the drift `inside` fits. */
static double
drift_limit(const hulls_t *hulls, double inside, double far)
{
    for (unsigned i = 0; i < STEPS; i++) {
        double middle = (inside + far) / 2;
        if (room(hulls, middle) >= 0)
            inside = middle;
        else
            far = middle;
    }
    return inside;
}

/* Fills in the line if there are samples of both directions. Returns false if no line fits between
 * the hulls. Bounds and error are rounded outwards, so that the true offset stays within them. */
static bool
find_between(const hulls_t *hulls, smcr_clock_line_t *line)
{
    const double all[2] = {-DRIFT_MOST, DRIFT_MOST};
    double best = best_drift(hulls, target_room, 0, all);

    if (room(hulls, best) < 0)
        return false;
    const double drift[2] = {drift_limit(hulls, best, -DRIFT_MOST),
                             drift_limit(hulls, best, DRIFT_MOST)};
    double error = 0, middle = (drift[0] + drift[1]) / 2;
    double offset = (limit(&hulls->upper, middle) - limit(&hulls->lower, middle)) / 2;
    for (unsigned i = 0; i < 2; i++) {
        double at = i ? hulls->end : 0;
        double high = target_high(hulls, best_drift(hulls, target_high, at, drift), at);
        double low = -target_low(hulls, best_drift(hulls, target_low, at, drift), at);
        error = MAX(error, MAX(high - offset - middle * at, offset + middle * at - low));
        if (i)
            continue;
        line->highest = hulls->reference + (int64_t)high + 1;
        line->lowest = hulls->reference + (int64_t)low - 1;
    }
    line->drift_lowest = drift[0];
    line->drift_highest = drift[1];
    line->drift = middle;
    line->offset = hulls->reference + (int64_t)offset;
    line->error = (int64_t)error + 2;
    line->is_bounded = true;
    return true;
}

/* Fills in the line if there are samples of one direction only. The line has no drift, and touches
 * the hull. */
static void
find_beside(const hulls_t *hulls, smcr_clock_line_t *line)
{
    if (hulls->upper.count)
        line->offset = hulls->reference + (int64_t)limit(&hulls->upper, 0);
    else if (hulls->lower.count)
        line->offset = hulls->reference - (int64_t)limit(&hulls->lower, 0);
}

/* The first distance is subtracted from all others (`reference`), so that a double is exact to a
 * nanosecond. */
bool
smcr_clock_line_find(smcr_clock_samples_t forward, smcr_clock_samples_t back,
                     smcr_clock_line_t *line)
{
    uint64_t end = 0;
    bool found = true;
    hulls_t hulls = {.begin = UINT64_MAX, .resolution = MICROSECOND};

    *line = (smcr_clock_line_t){.begin = 0};
    if (!forward.count && !back.count)
        return true;
    hulls.reference = forward.count ? forward.samples[0].distance : back.samples[0].distance;
    take_span(&hulls, forward, &end);
    take_span(&hulls, back, &end);
    hulls.end = (double)(end - hulls.begin);
    line->begin = hulls.begin;
    line->end = end;
    make_hull(&hulls.upper, &hulls, forward, 1);
    make_hull(&hulls.lower, &hulls, back, -1);
    if (forward.count && back.count)
        found = find_between(&hulls, line);
    else
        find_beside(&hulls, line);
    g_free(hulls.upper.bounds);
    g_free(hulls.lower.bounds);
    return found;
}

int64_t
smcr_clock_offset(const smcr_clock_line_t *line, uint64_t time)
{
    return line->offset + (int64_t)(line->drift * (double)(int64_t)(time - line->begin));
}
