/* flow_arrows.h
 * Arrows of Wireshark's flow graph: between which hosts, from and to which ports; what they say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "conn_rows.h"

/* ---- arrows ---- */

/* Where an arrow goes. */
typedef struct {
    const address *from, *to; /* NULL: as the packet has them */
    uint16_t ports[2];        /* source, destination; 0: none that is known and fits */
    uint16_t conv;            /* low 16 bits of smcr.stream, as TCP's flow graph has tcp.stream */
} smcr_arrow_ends_t;

/* A graph and the packet that it is drawn for. */
typedef struct {
    seq_analysis_info_t *graph;
    packet_info *pinfo;
} smcr_arrow_drawing_t;

/* What the sender of a packet of the connection sends to the other end. */
smcr_arrow_ends_t smcr_arrow_of_conn(const smcr_conversation_row_t *row, unsigned sender);

/* What a packet sends on its link. `row`: a connection of its link group, whose hosts stand for the
 * RoCE addresses; NULL: none is known. */
smcr_arrow_ends_t smcr_arrow_of_link(const smcr_conversation_row_t *row,
                                     const smcr_record_t *record);

/* Adds an arrow with its label, of 18 characters or less, and its sentence. Returns it; NULL: the
 * packet has no addresses. It is the graph's. */
seq_analysis_item_t *smcr_arrow_draw(const smcr_arrow_drawing_t *drawing,
                                     const smcr_arrow_ends_t *ends, const char *label,
                                     const char *sentence);

/* Other words for an arrow. */
void smcr_arrow_say(seq_analysis_item_t *arrow, const char *label, const char *sentence);

/* Takes the arrow at `link` out of the graph, and frees it. */
void smcr_arrow_remove(seq_analysis_info_t *graph, GList *link);

/* ---- what they say: all texts are of the scope ---- */

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

/* The first packet of those that the sender sends again. */
smcr_arrow_text_t smcr_arrow_text_resent(wmem_allocator_t *scope, const smcr_record_t *record,
                                         const char *subject);

/* The writer was blocked, and goes on with this packet. */
smcr_arrow_text_t smcr_arrow_text_unblocked(wmem_allocator_t *scope, const smcr_record_wait_t *wait,
                                            const char *subject);
