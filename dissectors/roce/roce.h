/* Knows SMC-R on Wireshark's InfiniBand: transport headers, which packets are ours. Does not know
 * what messages mean. Called when dissectors register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* Registers the protocol in name only that owns the wrappers; called once, after InfiniBand. */
void smcr_roce_register(void);

/* Puts the wrappers in front of InfiniBand's dissectors, and registers the payload heuristic.
 * Called once, after all protocols have registered. */
void smcr_roce_handoff(void);
