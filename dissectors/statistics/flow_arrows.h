/* flow_arrows.h
 * Arrows of Wireshark's flow graph: between which hosts, from and to which ports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_FLOW_ARROWS_H
#define SMCR_STATISTICS_FLOW_ARROWS_H

#include "conn_rows.h"

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

#endif /* SMCR_STATISTICS_FLOW_ARROWS_H */
