/* What TCP remembers of the bytes of a connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "state/state.h"

/* Of one direction; kept with the connection. */
struct smcr_payload_flow {
    const smcr_handshake_ends_t *ends; /* between which TCP gets them */
    wmem_tree_t *messages; /* those of more than one packet, by sequence number */
    uint16_t flags;
    uint64_t begin, end; /* what a later pass has given of the bytes before a host named the
                            connection; equal: nothing */
    uint64_t next;   /* without TCP connection: position behind what came last */
    uint32_t offset; /* the same in the RMB element; 0: nothing has come */
};

/* Which of its ends sends the bytes; SMCR_LGR_SIDE_UNKNOWN: not known. */
int smcr_payload_sender(const smcr_record_t *record);

/* Of the conversation that the connection has now; NULL: nothing was given to TCP yet. */
struct smcr_payload_flow *smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender);

/* The same, made where there is none. */
struct smcr_payload_flow *smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn,
                                            unsigned sender);

/* Whether the bytes of an RDMA WRITE packet, which TCP gets next, have no position but that behind
 * those before. The first pass gives it. */
bool smcr_payload_is_taped(const packet_info *pinfo, const smcr_record_t *record);
