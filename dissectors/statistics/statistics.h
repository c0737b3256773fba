/* Knows what Wireshark's menus have for every protocol: response times, the tree of messages,
 * conversations and endpoints, the flow graph, conversation filters. Changes no state. Called when
 * protocols register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "show/show.h"

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

/* ---- what the arrows of Wireshark's flow graph say; all texts are of the scope ---- */

/* A label of 18 characters or less, and a sentence. NULL: there is nothing to say. */
typedef struct {
    const char *label, *sentence;
} smcr_arrow_text_t;

/* "The client", "The server"; "Side 0", "Side 1" where `knows_roles` is not set. */
const char *smcr_arrow_subject(bool knows_roles, unsigned role);

/* A segment of the handshake. */
smcr_arrow_text_t smcr_arrow_text_segment(wmem_allocator_t *scope,
                                          const smcr_tap_segment_t *segment);

/* A CLC message; `release`: of SMC version 2 that the link group has agreed on, -1: not known. */
smcr_arrow_text_t smcr_arrow_text_clc(wmem_allocator_t *scope, const smcr_clc_t *clc,
                                      bool from_server, int release);

/* An LLC message (RFC 7609 A.3) that `subject` sends, whose role is 0 (client), 1 (server) or
 * SMCR_LGR_SIDE_UNKNOWN. */
smcr_arrow_text_t smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc,
                                      const char *subject, int role);

/* The connection goes back to TCP. */
smcr_arrow_text_t smcr_arrow_text_fallback(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* An event of a packet. */
smcr_arrow_text_t smcr_arrow_text_event(wmem_allocator_t *scope, const smcr_event_t *event,
                                        const smcr_tap_t *packet, const char *subject);

/* The first packet of those that the sender retransmits. */
smcr_arrow_text_t smcr_arrow_text_resent(wmem_allocator_t *scope, const smcr_record_t *record,
                                         const char *subject);
