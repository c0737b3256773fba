/* Knows the statistics that Wireshark's menus have for every protocol: response times, the tree of
 * messages, conversations and endpoints, the flow graph, conversation filters. Does not know how to
 * learn from packets: it changes no state. Called when protocols register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "show/show.h"

/* Registers everything that this header declares, except the stats tree. `proto`: SMC-R. Also
 * registers Service Response Time: the durations of the steps of the CLC handshake, of LLC
 * requests, and of cursor updates that a CDC message has requested. */
void smcr_statistics_register(int proto);

/* Registers the stats tree of messages, by type, version, direction and outcome. Must be called
 * after all protocols have registered. If the tree were registered earlier, sharkd would not have
 * it. */
void smcr_statistics_handoff(void);

/* ---- the other menus, which smcr_statistics_register() registers ---- */

/* Registers Statistics > Conversations, `tshark -z conv,smcr`: the connections of SMC-R; and
 * Statistics > Endpoints, `tshark -z endpoints,smcr`: hosts and links. */
void smcr_conversations_register(int proto);

/* Registers the menus Conversation Filter and Colorize Conversation: the connection of the selected
 * packet, its link, its link group, and the two RMBs of its connection. */
void smcr_conversation_filters_register(void);

/* Registers Statistics > Flow Graph, `tshark -z flow,smcr,standard`: the life of connections. */
void smcr_graph_register(int proto);

/* ---- texts of arrows in Wireshark's flow graph; all texts live as long as `scope` ---- */

/* The texts of an arrow. */
typedef struct {
    const char *label;    /* text above the arrow, a few words; NULL: no arrow */
    const char *sentence; /* sentence in the comment column of the graph; NULL: no arrow */
} smcr_arrow_text_t;

/* Returns the subject of a sentence. If `knows_roles`, `role` is 0 or 1, and the subject is "The
 * client" or "The server". Else `role` is a side of the link group, and the subject is "Side 0" or
 * "Side 1". */
const char *smcr_arrow_subject(bool knows_roles, unsigned role);

/* Returns the text of a SYN or SYN-ACK with the SMC-R option (RFC 7609 3.1). */
smcr_arrow_text_t smcr_arrow_text_segment(wmem_allocator_t *scope,
                                          const smcr_tap_segment_t *segment);

/* Returns the text of a CLC message (RFC 7609 A.2). `release`: the release of SMC version 2 that
 * the link group has agreed on; -1: not known. */
smcr_arrow_text_t smcr_arrow_text_clc(wmem_allocator_t *scope, const smcr_clc_t *clc,
                                      bool from_server, int release);

/* Returns the text of an LLC message (RFC 7609 A.3). `subject`: the sender, as the subject of the
 * sentence. `role`: role of the sender, 0 client, 1 server; SMCR_LGR_SIDE_UNKNOWN: not known. */
smcr_arrow_text_t smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc,
                                      const char *subject, int role);

/* Returns the text of a fallback to TCP, with its reason. */
smcr_arrow_text_t smcr_arrow_text_fallback(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* Returns the text of an event of a packet that `subject` sends. If the event has no arrow, label
 * and sentence are NULL. */
smcr_arrow_text_t smcr_arrow_text_event(wmem_allocator_t *scope, const smcr_event_t *event,
                                        const smcr_tap_t *packet, const char *subject);

/* Returns the text of a retransmitted packet. `subject`: the sender, as the subject of the
 * sentence. If the packet belongs to a step back (go-back-N), the text describes the whole step
 * back. */
smcr_arrow_text_t smcr_arrow_text_resent(wmem_allocator_t *scope, const smcr_record_t *record,
                                         const char *subject);
