/* Keeps RDMA WRITE packets that come before anything that names their connection: on a queue pair
 * that nobody has announced yet, or without the first packet of their request. What is found out
 * later completes their place, so that a second pass shows them where they belong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* A WRITE packet that waits for its connection. */
typedef struct {
    smcr_ib_headers_t headers; /* its transport headers */
    smcr_psn_t psn;         /* unwrapped; 0 on an unknown queue pair */
    smcr_when_t when;       /* its frame, and the time of it */
    smcr_place_t *write_location; /* of its record; gets what turns out */
} smcr_orphan_write_t;

/* ---- on queue pairs that are not known ---- */

/* Whether a packet that is no SEND can tell nothing, so that there is no need to read it: no queue
 * pair of SMC-R is known yet, and it is no WRITE that would be kept. `opcode`: enum smcr_ib_opcode;
 * `qpn`: the queue pair number to which it goes, in host byte order; `address`: the last four bytes
 * of the IP address or GID to which it goes. */
bool smcr_state_can_skip_packet(const smcr_state_t *state, uint8_t opcode, const uint8_t address[4],
                                uint32_t qpn);

/* A WRITE packet on an unknown queue pair is kept, and its record gets a place. Returns false when
 * it is no WRITE, or when this queue pair has had so many packets that it will hardly be SMC-R. */
bool smcr_state_unknown_qp_write(const smcr_arrival_t *arrival);

/* The queue pair `key` has just become known: takes out the packets that came to it before. Returns
 * a list of smcr_orphan_write_t that the caller destroys; NULL when there are none. */
wmem_list_t *smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* ---- on queue pairs that are known ---- */

/* Keeps a packet whose request or RMB is not known: a MIDDLE or LAST whose FIRST has not come, or a
 * WRITE with an unknown RKey. */
void smcr_orphan_add(const smcr_arrival_t *arrival);

/* The first packet of `write` has come: the orphans of this request find their places in it. Those
 * that the receiver has taken in are handed on when the request has a connection and a position. */
void smcr_orphan_place(const smcr_arrival_t *arrival, smcr_write_t *write);

/* A CDC message of `conn` arrives, with the producer cursor `prod`. Requests that were likely to be
 * of this connection are, and their orphans find their places. */
void smcr_orphan_confirm_owner(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               smcr_cursor_t prod);

/* A CDC message of `conn` shows that the request right before it, whose connection was not known,
 * ends at the producer cursor `prod`. The message hands on the bytes of its packets. */
void smcr_orphan_assign_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                             const smcr_write_t *write, smcr_cursor_t prod);

/* A CDC message of `conn` arrives that announces `stream` up to `position`. If the packets right
 * before it are of a request whose FIRST is missing, that request ends there. */
void smcr_orphan_position_headless(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                   smcr_stream_t *stream, uint64_t position);
