/* words.h
 * Numbers and names as a report has them: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WORDS_WORDS_H
#define SMCR_REPORT_WORDS_WORDS_H

#include "failover.h"
#include "names.h"
#include "units.h"

#endif /* SMCR_REPORT_WORDS_WORDS_H */
