/* statistics.h
 * Knows what Wireshark's menus have for every protocol: response times, the tree of messages,
 * conversations and endpoints, the flow graph, conversation filters. Changes no state. Called when
 * protocols register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_STATISTICS_H
#define SMCR_STATISTICS_STATISTICS_H

/* Called once, while Wireshark registers protocols. `proto`: SMC-R. */
void smcr_statistics_register(int proto);

/* Called once, after all protocols have registered. */
void smcr_statistics_handoff(void);

#endif /* SMCR_STATISTICS_STATISTICS_H */
