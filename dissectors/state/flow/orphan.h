/* Keeps RDMA WRITE packets until their connection is known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- RDMA WRITE packets that come before anything that names their connection ---- */

/* Whether a packet that is no SEND can tell nothing, so that there is no need to read it: no queue
 * pair of SMC-R is known yet, and it is no WRITE to keep until one is. It goes to queue pair `qpn`;
 * `address` are the last four bytes of the address or GID. */
bool smcr_state_ignores(const smcr_state_t *state, uint8_t opcode, const uint8_t address[4],
                        uint32_t qpn);

/* A WRITE packet on an unknown queue pair. Gives the record its place, to be completed when the
 * queue pair turns out to carry SMC-R. Returns false when it is no WRITE, or when this queue pair
 * has had so many packets that it will hardly be SMC-R. */
bool smcr_state_unknown_qp_write(const smcr_arrival_t *arrival);

/* ---- RDMA WRITE packets that come before anything that names their connection: on a queue pair
 * that nobody has announced yet, or without the first packet of their request. What is found out
 * later completes their place, so that a second pass shows them where they belong ---- */

/* A WRITE packet that waits for its connection. */
typedef struct {
    smcr_ib_headers_t roce;
    smcr_psn_t psn; /* of a known queue pair */
    smcr_when_t when;
    smcr_place_t *place;
} smcr_orphan_t;

/* The queue pair `qp` has just become known: takes out the packets that came to it before. Returns
 * a list of smcr_orphan_t that the caller destroys; NULL when there are none. */
wmem_list_t *smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* A MIDDLE or LAST packet whose FIRST has not come. */
void smcr_orphan_add(const smcr_arrival_t *arrival);

/* The request of some orphans has come: they find their places in it, and those that were taken in
 * are handed on when it has an owner and a place. */
void smcr_orphan_place(const smcr_arrival_t *arrival, smcr_write_t *write);

/* A CDC message of `conn` arrives, with the producer cursor `prod`: requests that were likely its
 * own are, and their packets find their places. */
void smcr_orphan_confirm(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_cursor_t prod);

/* A CDC message of `conn` shows that the request right before it, whose owner was not known, ends
 * at `prod` of its stream. The message hands on its bytes. */
void smcr_orphan_claim(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_write_t *write,
                       smcr_cursor_t prod);

/* A CDC message of `conn` arrives that announces data up to `position` in `stream`: what came right
 * before it, of a request whose FIRST is missing, ends there. */
void smcr_orphan_end(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_stream_t *stream,
                     uint64_t position);
