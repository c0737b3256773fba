/* output.h
 * Knows a report as a page of text and as JSON. Adds no figure. Called when tshark or the window
 * wants one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WRITE_OUTPUT_H
#define SMCR_REPORT_WRITE_OUTPUT_H

#include "json.h"
#include "text.h"

#endif /* SMCR_REPORT_WRITE_OUTPUT_H */
