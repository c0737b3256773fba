/* What TCP remembers of the bytes of a connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "state/state.h"

/* What TCP remembers of one direction of a connection; kept with the connection, file scope. */
struct smcr_payload_flow {
    const smcr_handshake_ends_t *ends; /* the ends between which TCP gets the bytes */
    wmem_tree_t *messages; /* messages of several packets, as TCP keeps them, by sequence number */
    uint16_t flags;        /* of TCP's flow */
    /* position of the first byte that a later pass has given to dissectors, of the bytes before
     * a host named the connection */
    uint64_t belated_begin;
    uint64_t belated_end; /* position after the last of these bytes; equal to `begin`: none was
                             given */
    uint64_t next_position; /* without TCP connection: position after the last byte that was
                               given */
    uint32_t next_offset; /* the same place as offset in the RMB element; 0: no byte was given */
};

/* Which of its ends sends the bytes, 0 or 1: a role where the TCP connection is known, else a side
 * of the link group. SMCR_LGR_SIDE_UNKNOWN: not known. The record has a connection. */
int smcr_payload_sender(const smcr_record_t *record);

/* The flow of the conversation that the connection has now; NULL: TCP has got no byte yet. */
struct smcr_payload_flow *smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender);

/* The same; makes a flow if there is none. */
struct smcr_payload_flow *smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn,
                                            unsigned sender);

/* Whether only the order of the bytes of an RDMA WRITE packet is known, so that their position is
 * the one after the bytes before. The first pass gives them this position; call it there when TCP
 * gets the bytes next. */
bool smcr_payload_is_arrival_ordered(const packet_info *pinfo, const smcr_record_t *record);
