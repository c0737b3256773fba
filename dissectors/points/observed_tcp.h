/* The TCP segments that capture points have shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "observed.h"

/* Makes the observations of a struct of TCP segments, for a comparison: the parts of all segments.
 * `all`: the struct whose member `tcp` it is. */
void smcr_observed_cut(smcr_points_t *points, const smcr_points_t *all);
