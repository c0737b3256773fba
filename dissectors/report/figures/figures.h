/* figures.h
 * What a report says, and how it is written down: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_FIGURES_H
#define SMCR_REPORT_FIGURES_FIGURES_H

#include "choices.h"
#include "entries.h"
#include "notice.h"
#include "texts.h"

#endif /* SMCR_REPORT_FIGURES_FIGURES_H */
