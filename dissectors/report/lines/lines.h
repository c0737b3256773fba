/* Knows how figures are written while packets come: a line of JSON for each connection, link and
 * link group that has ended, for each flow and interval, for each finding, and at the end for what
 * is open. Counts nothing itself. Called by report.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "compat.h"

#define SMCR_LINES_OPTION "smcr,lines" /* the beginning of the argument of -z */

/* Begins to write lines. `argument`: the argument of -z. Returns false, and prints an error, if the
 * argument has a wrong option or a wrong filter, or if the program has windows. */
bool smcr_lines_begin(const char *argument);
