/* The result of a comparison of capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "judge.h"

/* The result of a comparison. */
typedef struct smcr_compared {
    wmem_array_t *segments; /* element smcr_points_segment_t */
    wmem_array_t *chains;   /* element smcr_chain_t */
    uint32_t *chain_of[2];  /* of RoCE (0) and TCP (1), by index of a path: number of its chain in
                               `chains`, from 1; 0: none. NULL: no packets or segments were
                               compared */
    uint32_t segment_count; /* number of TCP segments that were compared; 0: none */
} smcr_compared_t;

/* Returns the way `is_back` of the segment with the index `number`, which is below the number of
 * segments. `end` of the returned way is not set. */
smcr_judge_way_t smcr_compare_way(const smcr_compared_t *result, uint32_t number, bool is_back);
