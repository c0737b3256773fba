/* words.h
 * Knows numbers with units, and the names of connections and flows, as a report writes them. Does
 * not know Wireshark. Called by whoever writes a line of a report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WORDS_WORDS_H
#define SMCR_REPORT_WORDS_WORDS_H

#include "failover.h"
#include "names.h"
#include "units.h"

#endif /* SMCR_REPORT_WORDS_WORDS_H */
