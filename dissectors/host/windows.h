/* windows.h
 * The windows that Wireshark has, and tshark has not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_HOST_WINDOWS_H
#define SMCR_HOST_WINDOWS_H

#include "compat.h"

#include <epan/funnel.h>

/* What makes text windows; NULL: the program has no windows. */
const funnel_ops_t *smcr_host_window_ops(void);

/* The number of the last frame of the file, as far as it has been read; 0 in programs without
 * windows, or without a file. */
uint32_t smcr_host_windows_last_frame(void);

/* Called once at start. */
void smcr_host_windows_register(void);

#endif /* SMCR_HOST_WINDOWS_H */
