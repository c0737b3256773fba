/* Knows the UDP packets of the tap of ANCK, the Linux kernel of Alibaba Cloud: copies of CDC
 * messages and of data that the kernel sends to a device which the user has chosen. Does not know
 * what messages mean. Called when dissectors register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* Registers the dissector. Whatever it learns of the tap's headers is valid for one file, and is
 * reset before the next one. */
void smcr_anck_register(void);

/* Registers the heuristic for UDP, after all protocols have registered. */
void smcr_anck_handoff(void);
