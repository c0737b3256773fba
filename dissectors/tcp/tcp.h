/* tcp.h
 * Knows SMC-R on Wireshark's TCP: the option, CLC within the byte stream. Does not know RoCE.
 * Called when dissectors register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "wire/wire.h"

/* Called once, when protocols register, after TCP. */
void smcr_tcp_segment_register(void);

/* Each hooks its dissector in; called once, after all protocols have registered. */
void smcr_tcp_option_handoff(void);
void smcr_tcp_clc_handoff(void);
