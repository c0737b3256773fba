/* distribution.h
 * How a measured quantity is spread: what is needed for its mean and its variance, so that two
 * distributions can be added up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_DISTRIBUTION_H
#define SMCR_REPORT_FIGURES_DISTRIBUTION_H

#include <stdint.h>

/* All zeros: nothing has been measured. Times are in nanoseconds. */
typedef struct {
    uint64_t count, sum, min, max;
    double sum_of_squares;
} smcr_distribution_t;

/* One more measurement. */
void smcr_distribution_add(smcr_distribution_t *distribution, uint64_t value);

/* All measurements of `other`. */
void smcr_distribution_join(smcr_distribution_t *distribution, const smcr_distribution_t *other);

#endif /* SMCR_REPORT_FIGURES_DISTRIBUTION_H */
