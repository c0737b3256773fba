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

/* One packet of which both points have a copy. */
typedef struct {
    uint64_t time;    /* its time at the first point, nanoseconds since the epoch */
    int64_t distance; /* its time at the second point minus `time`, nanoseconds */
} smcr_clock_sample_t;

/* Samples of one direction, in the order in which they came. */
typedef struct {
    const smcr_clock_sample_t *samples;
    uint32_t count; /* number of samples */
} smcr_clock_samples_t;

/* A line: the offset of the second clock from the first. */
typedef struct {
    uint64_t begin;  /* time at which the line begins, nanoseconds since the epoch */
    uint64_t end;    /* time up to which samples bound it, nanoseconds since the epoch */
    int64_t offset;  /* offset at `begin`, nanoseconds */
    double drift;    /* change of the offset, nanoseconds for each nanosecond */
    bool is_bounded; /* samples of both directions bound it: the members below are set */
    int64_t lowest;  /* lowest offset at `begin` that no sample contradicts, nanoseconds */
    int64_t highest; /* highest one */
    double drift_lowest;  /* lowest drift that no sample contradicts */
    double drift_highest; /* highest one */
    int64_t error;   /* the line is nowhere further than this from the true one, nanoseconds */
} smcr_clock_line_t;

/* Finds the line. `forward`: packets that pass the first point first; `back`: packets of the other
 * direction. Samples of one direction only, or none, give a line through the shortest distance,
 * which is not bounded. Returns false if the samples of both directions contradict each other: a
 * clock was set meanwhile, or the packets do not pass the points in this order. */
bool smcr_clock_line_find(smcr_clock_samples_t forward, smcr_clock_samples_t back,
                          smcr_clock_line_t *line);

/* Returns the offset at this time of the first clock, nanoseconds. */
int64_t smcr_clock_offset(const smcr_clock_line_t *line, uint64_t time);
