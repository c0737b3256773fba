/* figures.h
 * Knows what a report says: one table (entries.def) of all entries and their members, with the
 * words that they choose among (choices.def): structs, JSON, schema and sums come from it. Knows
 * neither Wireshark nor where a figure comes from. Every room of report/ includes it.
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
