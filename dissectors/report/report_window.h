/* report_window.h
 * The window of a report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

/* Opens a window with the report of what `filter` selects (NULL: of everything). Returns false
 * where there are no windows, or where the filter is none. */
bool smcr_report_open_window(const char *filter);
