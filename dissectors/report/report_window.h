/* report_window.h
 * The report in a window of Wireshark.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_REPORT_WINDOW_H
#define SMCR_REPORT_REPORT_WINDOW_H

#include <stdbool.h>

/* Opens a window with the report of what `filter` selects (NULL: of everything). Returns false
 * where there are no windows, or where the filter is none. */
bool smcr_report_window_open(const char *filter);

/* Puts it into the menu Statistics. Called once, while Wireshark registers protocols. */
void smcr_report_window_register(void);

#endif /* SMCR_REPORT_REPORT_WINDOW_H */
