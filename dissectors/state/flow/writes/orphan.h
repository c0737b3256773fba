/* Keeps RDMA WRITE packets whose connection is not known when they come: packets to a queue pair
 * that no message has announced yet, and packets without the first packet of their request. Such a
 * packet is called an orphan. Its place is completed when its connection is found, so that a second
 * pass shows both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* A WRITE packet that waits for its connection. */
typedef struct {
    smcr_ib_headers_t headers; /* transport headers of the packet */
    smcr_psn_t psn;         /* PSN of the packet, without wrap; 0: its queue pair is not known */
    smcr_when_t when;       /* frame and time of the packet */
    smcr_place_t *write_location; /* place in the packet's record, which is completed when the
                                     connection is found */
} smcr_orphan_write_t;

/* ---- on queue pairs that are not known ---- */

/* Whether a packet other than a SEND teaches the state nothing, so that the caller can skip the
 * packet. This is so under two conditions: 1. no queue pair of SMC-R is known yet; 2. the packet is
 * no WRITE that smcr_state_unknown_qp_write() would keep. `opcode`: enum smcr_ib_opcode. `qpn`:
 * queue pair number of the receiver, in host byte order. `address`: the receiver's IP address or
 * GID in network byte order, of `length` bytes, 4 or 16. */
bool smcr_state_can_skip_packet(const smcr_state_t *state, uint8_t opcode, const uint8_t *address,
                                size_t length, uint32_t qpn);

/* Keeps a WRITE packet on an unknown queue pair, whose record gets a place. Returns false in three
 * cases: 1. the packet is no WRITE; 2. this queue pair has had too many WRITE packets, so it is
 * probably not one of SMC-R; 3. too many unknown queue pairs are kept. In cases 2 and 3 the queue
 * pair is noted, so that smcr_state_can_skip_packet() skips its later packets. */
bool smcr_state_unknown_qp_write(const smcr_arrival_t *arrival);

/* Removes the packets that came to the queue pair `key` before it was known, and returns them: a
 * list of smcr_orphan_write_t, which the caller destroys. NULL: there are none. */
wmem_list_t *smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* ---- on queue pairs that are known ---- */

/* Keeps a packet whose request or RMB is not known: a MIDDLE or LAST whose FIRST has not come, or a
 * WRITE with an unknown RKey. */
void smcr_orphan_add(const smcr_arrival_t *arrival);

/* Gives places to the orphans that belong to the request `write`, whose first packet has come. The
 * bytes of orphans that the receiver has taken in go to the application's dissectors as soon as the
 * request has a connection and a position. */
void smcr_orphan_place(const smcr_arrival_t *arrival, smcr_write_t *write);

/* Learns from the arriving CDC message of `conn`, which has the producer cursor `prod`, that
 * requests whose likely connection is `conn` belong to `conn`. Orphans of these requests get
 * places. */
void smcr_orphan_confirm_owner(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               smcr_cursor_t prod);

/* Learns from the arriving CDC message of `conn` that the request `write`, right before the
 * message, belongs to `conn` and ends at the producer cursor `prod`. The message hands the bytes of
 * the request's orphans on to the application's dissectors. */
void smcr_orphan_assign_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                             const smcr_write_t *write, smcr_cursor_t prod);

/* Learns that the arriving CDC message of `conn` announces `stream` up to `position`. If the
 * packets right before the message are of a request whose first packet is missing, the request ends
 * at `position`, and these packets get places. */
void smcr_orphan_position_headless(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                   smcr_stream_t *stream, uint64_t position);
