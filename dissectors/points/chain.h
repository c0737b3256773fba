/* The chain of a path: its capture points in the order in which packets pass them, and its
 * transmissions. A transmission is one sending of a packet; each point has at most one observation
 * of it (observed.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "observed.h"

/* What became of a transmission at its receiver, as far as later packets show. */
typedef enum {
    SMCR_FATE_UNKNOWN,    /* nothing is known */
    SMCR_FATE_PENDING,    /* not decided: the receiver expects its PSN, and the last point does not
                             have the transmission */
    SMCR_FATE_RECEIVED,   /* the receiver has got it */
    SMCR_FATE_LOST,       /* the receiver has not got it */
    SMCR_FATE_DOUBTFUL,   /* not decided yet: the last point has it, and its PSN was retransmitted
                             though no NAK asked for that */
    SMCR_FATE_UNANSWERED, /* the transmission was lost, or its acknowledgement was */
    SMCR_FATE_DISCARDED,  /* the receiver discarded it, or would have discarded it: the receiver
                             expected a lower PSN, or already had this PSN */
} smcr_fate_t;

/* A transmission. */
typedef struct {
    uint32_t at[SMCR_POINTS_OF_PATH]; /* by position of the point in the chain: number of the
                                         observation; 0: the point does not have the
                                         transmission */
    uint64_t time;  /* time of the earliest observation (RoCE: undamaged), by the clock of the
                       path's first point, nanoseconds since the epoch */
    uint32_t flow;  /* index of the flow */
    uint32_t any;   /* number of any one observation of the transmission */
    uint8_t damaged; /* bit n: the point at position n has the transmission damaged (its ICRC or TCP
                        checksum is wrong), and a point before has it undamaged */
    smcr_fate_t fate;          /* what became of the transmission at its receiver */
    enum smcr_verdict verdict; /* the first verdict on the transmission, or the one that has
                                  replaced "undecided"; SMCR_VERDICT_AT_ALL: there is none */
    bool is_one_of_several; /* several packets were retransmitted together. With
                               SMCR_FATE_UNANSWERED: any of them may be the packet that was lost */
    bool is_ambiguous; /* the observations may belong to another transmission with equal values */
} smcr_transmission_t;

/* The points of a path, in the order in which way 0 passes them. */
typedef struct {
    const smcr_points_t *points;         /* all points of the file */
    uint32_t path;                       /* index of the path */
    uint32_t count;                      /* number of points of the chain */
    uint8_t point[SMCR_POINTS_OF_PATH];  /* by position: index of the point */
    bool order_known;                    /* the order of the points is known */
    smcr_clock_line_t clock[SMCR_POINTS_OF_PATH]; /* by position: offset of the point's clock from
                                                     the clock of the point before; not set for
                                                     position 0 */
    bool clock_agrees[SMCR_POINTS_OF_PATH]; /* by position: as smcr_points_segment_t.clock_agrees,
                                               for `clock`; not set for position 0 */
    int64_t usual[2]; /* by way: usual delay between the first and the last point, nanoseconds; 0
                         also if not known */
    int64_t way[2][SMCR_POINTS_OF_PATH]; /* by way and position: usual time of a packet at the
                                            point minus its time at the point of position 0,
                                            nanoseconds */
    uint64_t variation; /* how much the delays between neighbouring points differ, without the
                           longest hundredth of them, added up over the chain, nanoseconds */
    smcr_transmission_t *transmissions;  /* in the order of flows, and of time within a flow */
    uint32_t transmission_count;         /* number of transmissions */
} smcr_chain_t;

/* Sorts int64_t values, the smallest first. */
void smcr_chain_sort(GArray *values);

/* Returns the quantile `part` (0 to 1) of sorted int64_t values: 0.5 for the median. `values` has
 * at least one value. */
int64_t smcr_chain_quantile(const GArray *values, double part);

/* Converts `time`, by the clock of the point at `position`, to the clock of the chain's first
 * point. Both are nanoseconds since the epoch. */
uint64_t smcr_chain_time(const smcr_chain_t *chain, uint32_t position, uint64_t time);

/* Converts `time`, by the clock of the chain's first point, to the clock of the point at
 * `position`. Both are nanoseconds since the epoch. */
uint64_t smcr_chain_time_at(const smcr_chain_t *chain, uint32_t position, uint64_t time);

/* Returns the observation of the transmission at the point at `position`; NULL: the point does not
 * have the transmission. */
static inline const smcr_observed_t *
smcr_chain_at(const smcr_chain_t *chain, const smcr_transmission_t *transmission, uint32_t position)
{
    uint32_t number = transmission->at[position];

    return number ? &chain->points->observed[number] : NULL;
}

/* Whether the point at `position` has the transmission, and no earlier point shows that it is
 * damaged there. */
static inline bool
smcr_chain_is_whole_at(const smcr_transmission_t *transmission, uint32_t position)
{
    return transmission->at[position] && !(transmission->damaged >> position & 1);
}

/* Returns how far apart the times of one transmission at two points may be, nanoseconds: twice the
 * longer usual delay, plus a millisecond, plus twice the error of each clock's offset. */
uint64_t smcr_chain_widest(const smcr_chain_t *chain);

/* Returns when a packet with the usual delay passes the chain's first point, by the clock of that
 * point, nanoseconds since the epoch. `time`: when the packet passed the point at `position`, by
 * the clock of the point at `position`. `is_back`: the packet is of way 1. */
uint64_t smcr_chain_departure(const smcr_chain_t *chain, uint32_t position, bool is_back,
                              uint64_t time);

/* Returns when the transmission passed the point at `position`, by the clock of the chain's first
 * point, nanoseconds since the epoch. If the point does not have the transmission, returns when it
 * would have passed: at its earliest observation or, for the last point of the way, the usual delay
 * of the whole chain after that. `is_back`: the transmission is of way 1. */
uint64_t smcr_chain_passing_time(const smcr_chain_t *chain, const smcr_transmission_t *transmission,
                                 uint32_t position, bool is_back);

/* Returns the index of the flow's first transmission; if the flow has none, of the first one of a
 * flow with a higher index; `transmission_count`: there is none. The transmissions of a flow follow
 * each other. */
uint32_t smcr_chain_first_of(const smcr_chain_t *chain, uint32_t flow);

/* Returns the index of the flow with the responses to the flow with the index `flow`; the number of
 * all flows: the flow with the responses is not known. */
uint32_t smcr_chain_answers_of(const smcr_chain_t *chain, uint32_t flow);

/* Makes the chain of the path with the index `path`. `count` of the chain is below 2 if no two
 * points show the same traffic. `observed`: the observations of the file; sets their
 * `transmission`. `is_turned`: if the chain has two points and nothing shows their order, the point
 * that would be the first one becomes the second. */
void smcr_chain_make(smcr_chain_t *chain, const smcr_points_t *points, uint32_t path,
                     smcr_observed_t *observed, bool is_turned);

/* Returns the position in the chain of the point with the index `point`; `count` of the chain: the
 * point is not in the chain. */
uint32_t smcr_chain_position(const smcr_chain_t *chain, uint32_t point);
