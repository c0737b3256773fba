/* Keeps RDMA WRITE packets whose connection cannot be found when they come: the queue pair is not
 * known, the first packet of the request has not come, the RKey is not known, no connection is
 * known to use the RMB, or its connection is only likely. Such a packet is called an orphan. Its
 * place is completed when its connection is found, so that a second pass shows place and
 * connection.
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

/* Whether the state would learn nothing from a packet, so that the caller can skip the packet. Must
 * not be asked about a SEND. True under two conditions:
 *
 * - No queue pair of SMC-R is known yet.
 * - The packet is no WRITE, or smcr_state_unknown_qp_write() has noted its queue pair.
 *
 * `opcode`: enum smcr_ib_opcode. `qpn`: queue pair number of the receiver, in host byte order.
 * `address`: the receiver's IP address or GID in network byte order, of `length` bytes, 4 or
 * 16. */
bool smcr_state_can_skip_packet(const smcr_state_t *state, uint8_t opcode, const uint8_t *address,
                                size_t length, uint32_t qpn);

/* Keeps a WRITE packet to an unknown queue pair, and sets the place in the packet's record. Returns
 * false, and keeps nothing, in three cases:
 *
 * - The packet is no WRITE.
 * - The queue pair has had too many WRITE packets, so it is probably not one of SMC-R.
 * - Too many unknown queue pairs are kept.
 *
 * In the last two cases the queue pair is noted, so that smcr_state_can_skip_packet() returns true
 * for its later packets. */
bool smcr_state_unknown_qp_write(const smcr_arrival_t *arrival);

/* Removes the packets that came to the queue pair `key` before it was known, and returns them: a
 * list of smcr_orphan_write_t, which the caller destroys. NULL: there are none. */
wmem_list_t *smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* ---- on queue pairs that are known ---- */

/* Keeps a packet whose connection cannot be found now: a MIDDLE or LAST whose FIRST has not come, a
 * WRITE whose RKey names no RMB for certain, or a WRITE to an RMB that no connection is known to
 * use (smcr_write_has_free_rmb()). */
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
 * at `position`, and these packets get places. Nothing changes if bytes of the request were written
 * before, or if the request would go over the end of the element. */
void smcr_orphan_position_headless(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                   smcr_stream_t *stream, uint64_t position);
