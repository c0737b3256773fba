/* congestion.h
 * Knows what scetrace measures of ordinary TCP: acknowledgements, repeats, gaps, delays and marks
 * of congestion, of each direction, and the bytes of its stream. Knows neither packets nor SMC-R:
 * a segment comes with its numbers. Called by who reads the segments of a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_CONGESTION_CONGESTION_H
#define SMCR_REPORT_CONGESTION_CONGESTION_H

#include "tcp_direction.h"

#endif /* SMCR_REPORT_CONGESTION_CONGESTION_H */
