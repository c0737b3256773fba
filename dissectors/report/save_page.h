/* Saving the page from a window.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "listen/listeners.h"

/* Saves the page of the packets that the display filter `filter` selects; NULL: of all packets. The
 * connections that `choice` chooses get pictures. The file `path` is written after Wireshark has
 * read the packets once more. Called in a program with windows, but not while listeners are
 * drawn. */
void smcr_report_save_page(const char *path, const char *filter, const smcr_series_t *choice);

/* Saves the page in a new file of the folder for temporary files, and opens it in the user's
 * browser. A file that cannot be made is reported to the user. Otherwise as
 * smcr_report_save_page(). */
void smcr_report_open_page(const char *filter, const smcr_series_t *choice);

/* Removes the listeners of a page that was written, or that could not be written. */
void smcr_report_end_page(void);
