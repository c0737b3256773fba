/* conversation_filters.h
 * The menus Conversation Filter and Colorize Conversation: the connection of the selected packet,
 * its link, its link group, and the two RMBs of its connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_CONVERSATION_FILTERS_H
#define SMCR_STATISTICS_CONVERSATION_FILTERS_H

/* Called once, while Wireshark registers protocols. */
void smcr_conversation_filters_register(void);

#endif /* SMCR_STATISTICS_CONVERSATION_FILTERS_H */
