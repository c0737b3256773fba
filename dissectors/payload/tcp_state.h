/* State of Wireshark's TCP for the bytes of a connection, kept apart from that of the TCP
 * segments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "state/state.h"

/* State of Wireshark's TCP for one direction of a connection. Kept with the connection, in file
 * scope. */
struct smcr_payload_flow {
    const smcr_handshake_ends_t *ends; /* the ends between which TCP gets the bytes */
    wmem_tree_t *messages; /* messages of several packets, by sequence number; the tree
                              `multisegment_pdus` of TCP's flow */
    uint16_t flags;        /* flags of TCP's flow */
    /* bytes that came before a host named the connection: position of the first byte that a later
     * pass has given to dissectors */
    uint64_t belated_begin;
    uint64_t belated_end; /* position after the last byte that a later pass has given; equal to
                             `belated_begin`: none was given */
    uint64_t next_position; /* without TCP connection: position after the last byte that TCP has
                               got */
    uint32_t next_offset; /* offset of `next_position` in the RMB element; 0: TCP has got no byte */
};

/* Returns which end of the connection sends the bytes, 0 or 1: a role if the TCP connection is
 * known, else a side of the link group. SMCR_LGR_SIDE_UNKNOWN: not known. The record has a
 * connection. */
int smcr_payload_sender(const smcr_record_t *record);

/* Returns the state of a direction, for the conversation that the connection has now; NULL: TCP has
 * got no byte yet. */
struct smcr_payload_flow *smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender);

/* Returns the same as smcr_payload_find_flow(); makes the state if there is none. */
struct smcr_payload_flow *smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn,
                                            unsigned sender);

/* Returns whether only the order of an RDMA WRITE packet's bytes is known, not their position. Such
 * bytes get the position after the bytes before them. The first pass assigns this position, so it
 * must call this function right before TCP gets the bytes. */
bool smcr_payload_is_arrival_ordered(const packet_info *pinfo, const smcr_record_t *record);
