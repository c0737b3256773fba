/* times.h
 * Units of time, in nanoseconds: all times are kept in these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_TIMES_H
#define SMCR_WIRE_TIMES_H

#include <stdint.h>

#define SMCR_TIME_MICROSECOND UINT64_C(1000)
#define SMCR_TIME_MILLISECOND UINT64_C(1000000)
#define SMCR_TIME_SECOND UINT64_C(1000000000)

#endif /* SMCR_WIRE_TIMES_H */
