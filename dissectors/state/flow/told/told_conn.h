/* Knows which connection a socket is that a host has reported, whether the capture agrees with the
 * report, and what the connection gets from it or loses again. Does not know how a report is read.
 * Called by state/flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/model/socket.h"

/* A function that searches for the connection of the socket `told` on the queue pair `qp` of its
 * host. Returns NULL if there is none. */
typedef smcr_conn_t *smcr_state_told_find_t(const smcr_state_t *state, const smcr_qp_t *qp,
                                            const smcr_told_socket_t *told);

/* Calls `find` for each queue pair of the socket's host whose link is between the two reported
 * GIDs. Returns the only connection that is found; NULL: there is none, or there are several.
 * `*side` gets the side of the socket's host. */
smcr_conn_t *smcr_state_told_only_conn(const smcr_arrival_t *arrival,
                                       const smcr_told_socket_t *told, smcr_state_told_find_t *find,
                                       int *side);

/* Returns the only connection, in all link groups between the two reported GIDs, of which only the
 * direction from the host is known, and whose last producer cursor is the one that `socket`
 * reports. The connection is open and began before the capture, and no CDC message of the host is
 * missing. NULL: there is none, there are several, or another socket of the host reports the same
 * cursor. Called when the dump is complete. `*side` gets the side of the socket's host. */
smcr_conn_t *smcr_state_told_other_half(const smcr_arrival_t *arrival, const smcr_socket_t *socket,
                                        int *side);

/* Sets addresses and ports of both ends of the connection, by role: client, server. */
void smcr_state_told_take_in_ends(smcr_state_t *state, smcr_conn_t *conn,
                                  const smcr_told_socket_t *told);

/* Takes in what the host of the queue pair reports of its link and link group. A known number of
 * the link and a known version are kept. The reported role, client or server, replaces the known
 * one. Nothing is taken in for a deleted link.
 *
 * If an earlier report had the link, and the last one does not, the link may belong to a newer
 * group. Its number and reported group are then unknown. */
void smcr_state_told_take_in_link(smcr_state_t *state, smcr_qp_t *qp);

/* Connects the connection with the reported socket, and takes in the report. `side`: side of the
 * reporting host. */
void smcr_state_told_take_in(const smcr_arrival_t *arrival, smcr_socket_t *socket,
                             smcr_conn_t *conn, int side);

/* Gives the connection the addresses and ports of the socket: first joins it with its other
 * direction, if the other host has reported it, and then takes in the report. `side`: side of the
 * socket's host. */
void smcr_state_told_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                          int side);

/* Reasons why a report is not used, for the event. */
#define SMCR_STATE_TOLD_CURSORS "Cursors are not those of the connection with this token"
#define SMCR_STATE_TOLD_OTHERS  "Ends, role or sizes are not those of the connection"

/* Notes that the capture contradicts the report of `socket`, which is not used for any connection
 * from now on, and adds an event. `text`: the reason, for the event. */
void smcr_state_told_doubt(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text);

/* Stops using the report of `socket`: it is of another time, or of another host. The connection
 * loses its addresses, ports, positions and sizes, if it has them from this report or, over
 * netlink, from the report of the other end (`mirror`). If this report is a line of a file, and was
 * the only source of the group's roles, the roles are unknown from now on. `text`: the reason, for
 * the event. */
void smcr_state_told_disbelieve(const smcr_arrival_t *arrival, smcr_socket_t *socket,
                                const char *text);

/* Compares the cursors of a socket and of a connection whose known addresses, ports and roles
 * agree. `side`: side of the socket's host. If the cursors agree, the connection gets the addresses
 * and ports of the socket (smcr_state_told_name()). If no later message can make them agree, the
 * report is not used. Otherwise nothing happens, and the next message decides. */
void smcr_state_told_judge_cursors(const smcr_arrival_t *arrival, smcr_socket_t *socket,
                                   smcr_conn_t *conn, int side);
