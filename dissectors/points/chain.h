/* The transmissions of a path, and the capture points that they pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "observed.h"

/* What became of a transmission at its receiver, as far as later packets show. */
typedef enum {
    SMCR_FATE_UNKNOWN,
    SMCR_FATE_PENDING,    /* the receiver expected it; the last point does not have it */
    SMCR_FATE_RECEIVED,   /* its receiver has got it */
    SMCR_FATE_LOST,       /* its receiver has not got it */
    SMCR_FATE_DOUBTFUL,   /* it was retransmitted, and no NAK asked for that */
    SMCR_FATE_UNANSWERED, /* it was lost, or its acknowledgement was */
    SMCR_FATE_DISCARDED,  /* its receiver discarded it, or would have: a packet before it was lost,
                             or it came before */
} smcr_fate_t;

/* A transmission. */
typedef struct {
    uint32_t at[SMCR_POINTS_OF_PATH]; /* number of its observation at each point of the path, in the
                                         order of way 0; 0: the point does not have it */
    uint64_t time;  /* when it passed the first point that has it, by the clock of the path's first
                       point, nanoseconds since the epoch */
    uint32_t flow;  /* index of the flow */
    uint32_t any;   /* number of one of its observations */
    smcr_fate_t fate;
    enum smcr_verdict verdict;
    bool is_one_of_several; /* with SMCR_FATE_UNANSWERED: it may be another one of the packets that
                               were retransmitted together */
    bool is_ambiguous; /* its observations may belong to an equal transmission nearby */
} smcr_transmission_t;

/* The points of a path, in the order in which way 0 passes them. */
typedef struct {
    const smcr_points_t *points;
    uint32_t path;                       /* index of the path */
    uint32_t count;                      /* number of points */
    uint8_t point[SMCR_POINTS_OF_PATH];  /* indexes of the points */
    bool order_known;                    /* the order is known */
    smcr_clock_line_t clock[SMCR_POINTS_OF_PATH]; /* offset of the clock of each point from that of
                                                     the point before; not set for the first */
    bool clock_agrees[SMCR_POINTS_OF_PATH]; /* the same: the samples do not contradict each other */
    int64_t usual[2]; /* usual delay of way 0 and 1 from the first point to the last, nanoseconds */
    uint64_t begin;   /* from here on ... */
    uint64_t end;     /* ... up to here all points were capturing; by the first point's clock */
    smcr_transmission_t *transmissions;  /* in the order of flows, and of time within a flow */
    uint32_t transmission_count;
} smcr_chain_t;

/* Sorts int64_t values, the smallest first. */
void smcr_chain_sort(GArray *values);

/* Returns the value below which the part `part` (0 to 1) of sorted int64_t values lies. `values`
 * has at least one value. */
int64_t smcr_chain_quantile(const GArray *values, double part);

/* Returns a time of the `position`-th point by the clock of the first one. */
uint64_t smcr_chain_time(const smcr_chain_t *chain, uint32_t position, uint64_t time);

/* Returns the observation of the transmission at the position; NULL: the point does not have it. */
static inline const smcr_observed_t *
smcr_chain_at(const smcr_chain_t *chain, const smcr_transmission_t *transmission, uint32_t position)
{
    uint32_t number = transmission->at[position];

    return number ? &chain->points->observed[number] : NULL;
}

/* Makes the chain of a path. Its `count` is below 2 if no two points show the same traffic.
 * `observed`: the observations of the file, in which the numbers of transmissions are noted. */
void smcr_chain_make(smcr_chain_t *chain, const smcr_points_t *points, uint32_t path,
                     smcr_observed_t *observed);

/* Returns the place of the point, by its index, in the chain; `count` if it is not in it. */
uint32_t smcr_chain_position(const smcr_chain_t *chain, uint32_t point);
