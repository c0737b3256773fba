/* output.h
 * A report in words and as JSON: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WRITE_OUTPUT_H
#define SMCR_REPORT_WRITE_OUTPUT_H

#include "json.h"
#include "text.h"

#endif /* SMCR_REPORT_WRITE_OUTPUT_H */
