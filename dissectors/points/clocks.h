/* The offset between the clocks of two capture points.
 *
 * A packet that passes point A and then point B shows an upper bound of the offset of B's clock
 * from A's: its time at B minus its time at A is the offset plus its delay. A packet of the other
 * direction shows a lower bound. Clocks also drift, so the offset is a line over time: it runs
 * below all upper bounds and above all lower bounds. Only points of the two convex hulls bound it
 * (Zhang, Liu, Xia: Clock synchronization algorithms for network measurements, INFOCOM 2002); the
 * bounds of a line below or above points are a linear programme (Moon, Skelly, Towsley: Estimation
 * and removal of clock skew from network delay measurements, INFOCOM 1999).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

/* One packet that both points have captured. */
typedef struct {
    uint64_t time;    /* time of the packet at the first point, nanoseconds since the epoch */
    int64_t distance; /* time of the packet at the second point minus `time`, nanoseconds */
} smcr_clock_sample_t;

/* Samples of one direction. */
typedef struct {
    const smcr_clock_sample_t *samples; /* the samples, in any order; NULL: none */
    uint32_t count;                     /* number of samples */
} smcr_clock_samples_t;

/* The offset of the second clock from the first clock, as a line over time. */
typedef struct {
    uint64_t begin;  /* time of the earliest sample, nanoseconds since the epoch */
    uint64_t end;    /* time of the latest sample, nanoseconds since the epoch */
    int64_t offset;  /* offset at `begin`, nanoseconds */
    double drift;    /* change of the offset, nanoseconds for each nanosecond */
    bool is_bounded; /* samples of both directions bound the line; if false, the members below are
                        0. (Two points with one clock: true, and all other members are 0.) */
    int64_t lowest;  /* lowest offset at `begin` that no sample contradicts, nanoseconds */
    int64_t highest; /* highest offset at `begin` that no sample contradicts, nanoseconds */
    double drift_lowest;  /* lowest drift that no sample contradicts, as `drift` */
    double drift_highest; /* highest drift that no sample contradicts, as `drift` */
    int64_t error;   /* upper bound of the difference between the line and the true offset, from
                        `begin` to `end`, nanoseconds */
} smcr_clock_line_t;

/* Finds the line. `forward`: packets that pass the first point first; `back`: packets of the other
 * direction. If there are samples of one direction only, the line is not bounded and has no drift;
 * its offset is that of the sample with the shortest delay, widened by the unit of the time stamps.
 * If there are no samples, all members are 0. Returns false if no line fits to the samples of both
 * directions, and sets only `begin` and `end` then: for example, a clock was set meanwhile, or the
 * packets do not pass the points in this order. */
bool smcr_clock_line_find(smcr_clock_samples_t forward, smcr_clock_samples_t back,
                          smcr_clock_line_t *line);

/* Returns the offset of the second clock, nanoseconds, at `time` of the first clock, nanoseconds
 * since the epoch. */
int64_t smcr_clock_offset(const smcr_clock_line_t *line, uint64_t time);
