/* What happened to each transmission between two neighbouring capture points of a path.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

/* For some packets, no answer of the receiver shows whether they were lost or only not captured.
 * Such a packet counts as lost if at least this many packets were proven to be lost between the two
 * points, and none was proven not to be captured there. It counts as not captured in the opposite
 * case. */
#define SMCR_JUDGE_PROVEN_LEAST 4

/* One way of a segment. */
typedef struct {
    const smcr_chain_t *chain;      /* the points of the path, in their order */
    smcr_points_segment_t *segment; /* the segment between two of these points */
    smcr_points_way_t *way; /* the counts of this way */
    bool is_back;  /* way 1; false: way 0 */
    uint32_t from; /* position in the chain of the point that packets of the way pass first */
    uint32_t to;   /* position of the other point of the segment */
    uint32_t end;  /* position in the chain of the point that packets of the way pass last; not set
                      by smcr_compare_way() */
} smcr_judge_way_t;

/* Which points have the transmission: the two points of a segment, and points before and after the
 * segment. */
typedef struct {
    const smcr_observed_t *from, *to; /* observations at the two points; NULL: none */
    bool before; /* a point before the segment has the transmission */
    bool after;  /* a point after the segment has the transmission */
} smcr_judge_passage_t;

/* Returns at which points of the way the transmission was captured: at the two points of the
 * segment, before the segment and after it, in the direction of the packet. */
smcr_judge_passage_t smcr_judge_passage(const smcr_judge_way_t *way,
                                          const smcr_transmission_t *transmission);

/* Returns the time from the first to the second point, by the chain's estimate of their clocks,
 * nanoseconds. Both points have the packet. */
int64_t smcr_judge_delay(const smcr_judge_way_t *way, const smcr_judge_passage_t *passage);

/* Whether the transmission is of this way: its flow has the same direction. */
bool smcr_judge_is_of_way(const smcr_judge_way_t *way, const smcr_transmission_t *transmission);

/* Judges the transmissions of one way of a segment: sets their verdicts, and counts these in the
 * way. smcr_fates_find() has set their fates. */
void smcr_judge_way(const smcr_judge_way_t *way);

/* Returns the number of events among the transmissions that smcr_judge_undecided() would decide as
 * lost. Consecutive ones in the order of the chain are one event. */
uint64_t smcr_judge_undecided_events(const smcr_judge_way_t *way);

/* Replaces the verdict "undecided" of all transmissions of a way that only the first point of the
 * segment has, except ambiguous ones. `is_lost`: the new verdict is "lost". False: the new verdict
 * is "not captured"; flows whose sending queue pair is not known keep "undecided", since no loss
 * can be proven for them. */
void smcr_judge_undecided(const smcr_judge_way_t *way, bool is_lost);
