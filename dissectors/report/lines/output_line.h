/* Writes a line to standard output: with the head that all lines have, and with the names of the
 * Elastic Common Schema if the user asks for them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "options.h"
#include "report/figures/figures.h"

/* Completes the head of a line: schema, host, point, and whether the option `full` is set. Writes
 * the line, and flushes it. If it cannot be written, prints the error and ends the program with
 * status 2, as tshark does. `scope` owns texts until the line is written. */
void smcr_lines_write(const smcr_lines_options_t *options, smcr_entry_line_t *line,
                      wmem_allocator_t *scope);
