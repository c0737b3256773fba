/* Whether the capture agrees with what a host reports of a socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/socket.h"

/* One of the two streams of a socket, as its host reports it. */
typedef struct {
    uint32_t size;      /* size of the receiver's RMB element, bytes */
    smcr_cursor_t prod; /* producer cursor: up to where the sender has written */
    smcr_cursor_t cons; /* consumer cursor: up to where the receiver has read */
} smcr_state_told_stream_t;

/* Returns the stream that the reporting host receives (`to_host` true), or the stream that it sends
 * (`to_host` false). */
smcr_state_told_stream_t smcr_state_told_stream(const smcr_told_socket_t *told, bool to_host);

/* Whether both cursors of the last message of `writer` fit the report. Two conditions: 1. the
 * offsets lie in the elements; 2. either no cursor is before its reported value, or no cursor is
 * after it. `to_host`: `writer` is the peer of the reporting host; false: `writer` is the reporting
 * host. */
bool smcr_state_told_cursors_fit(const smcr_told_socket_t *told, const smcr_conn_side_t *writer,
                                 bool to_host);

/* Whether the last messages of both sides agree with the report of the host that has `side`.
 * `waits`: a report that is ahead of a message agrees, too, since the next message decides. */
bool smcr_state_told_cursors_agree(const smcr_socket_t *socket, const smcr_conn_t *conn, int side,
                                   bool waits);

/* Whether the reported role, client or server, can be that of `side`. A role that the group has
 * only from a file of smcss does not contradict a report over netlink. */
bool smcr_state_told_has_role(const smcr_lgr_t *lgr, const smcr_told_socket_t *told, int side);

/* Whether the report contradicts no known address, port, role or element size of the connection.
 * `side`: side of the reporting host. */
bool smcr_state_told_is_like(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side);

/* Whether two connection objects, of which only one direction is known, can be the two directions
 * of one connection. `one`: has the direction to `side`. `other`: has the direction from `side`.
 * Four conditions: 1. both objects are in one link group; 2. neither knows the token of the
 * opposite direction; 3. no reader has read more bytes than its writer has announced, by their last
 * cursors; 4. the unread bytes have room in the reported elements. */
bool smcr_state_told_two_directions(const smcr_conn_t *one, const smcr_conn_t *other, int side,
                                    const smcr_told_socket_t *told);
