/* distribution.c
 * Adds measurements.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "distribution.h"

void
smcr_distribution_add(smcr_distribution_t *distribution, uint64_t value)
{
    smcr_distribution_t one = {1, value, value, value, (double)value * (double)value};

    smcr_distribution_join(distribution, &one);
}

void
smcr_distribution_join(smcr_distribution_t *distribution, const smcr_distribution_t *other)
{
    if (!other->count)
        return;
    if (!distribution->count || other->min < distribution->min)
        distribution->min = other->min;
    if (other->max > distribution->max)
        distribution->max = other->max;
    distribution->count += other->count;
    distribution->sum += other->sum;
    distribution->sum_of_squares += other->sum_of_squares;
}
