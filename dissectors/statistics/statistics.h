/* statistics.h
 * Knows what Wireshark's menus have for every protocol: response times, the tree of messages,
 * conversations and endpoints, the flow graph, conversation filters. Changes no state. Called when
 * protocols register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Called once, while Wireshark registers protocols. `proto`: SMC-R. Service Response Time says how
 * long the steps of the CLC handshake take, LLC requests, and cursor updates that somebody has
 * asked for in CDC. */
void smcr_statistics_register(int proto);

/* Called once, after all protocols have registered. The stats tree of messages, by type, version,
 * direction and outcome, comes that late so that sharkd has it, too. */
void smcr_statistics_handoff(void);

/* ---- what else stands in the menus: registered by those above ---- */

/* Statistics > Conversations, and `tshark -z conv,smcr`: the connections of SMC-R. Statistics >
 * Endpoints, and `tshark -z endpoints,smcr`: hosts and links. */
void smcr_conversations_register(int proto);

/* The menus Conversation Filter and Colorize Conversation: the connection of the selected packet,
 * its link, its link group, and the two RMBs of its connection. */
void smcr_conversation_filters_register(void);

/* Statistics > Flow Graph, and `tshark -z flow,smcr,standard`: the life of connections. */
void smcr_graph_register(int proto);
