/* What hosts report of their sockets, link groups and links over netlink, or in a file of smcss
 * (<linux/smc_diag.h>, <linux/smc.h>), and the connections that get their addresses and ports from
 * these reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Takes in one report: of a socket, of a link group or of a link; or that a dump has ended; or that
 * a part of a dump is missing. A dump is all that a host reports in answer to one request. */
void smcr_state_report(const smcr_arrival_t *arrival, const smcr_told_t *told);

/* Joins two objects of one TCP connection: `conn`, which was made of a host's report of a fallback
 * to TCP, and `known`, which was made of captured TCP or CLC. `known` gets the reported fallback if
 * it has no fallback and no Confirm. */
void smcr_state_report_fallback(smcr_conn_t *conn, smcr_conn_t *known);

/* The only reported socket to which the CDC message `cdc` can belong. Called if no connection with
 * the token of the message is known, except one that certainly has ended. `*side` gets the side of
 * the host that has reported the socket. NULL: there is no such socket, or there are several; or
 * the receiver's socket with this token has a connection already, is known from a file of smcss
 * only, or has cursors that the message does not follow. */
smcr_socket_t *smcr_state_report_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc,
                                        int *side);

/* The connection of the socket, or of its mirror: the socket at the other end, as the other host
 * has reported it. NULL: there is no connection, it is in another link group than the arriving
 * message, or the token of the message's direction is known for it already. */
smcr_conn_t *smcr_state_report_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket);

/* Connects the connection with the reported socket. `side`: side of the socket's host. The
 * connection gets from the report what is not known of it: token, addresses, ports, roles, element
 * sizes and positions. */
void smcr_state_report_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                            int side);

/* Called before a CDC message of the connection is taken in. If the first message of its sender has
 * a producer cursor before the reported one, the report is of another time or of another host. Then
 * the connection loses what the report gave (smcr_state_told_disbelieve()). */
void smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                             const smcr_cdc_t *cdc);

/* Called after a CDC message of the connection was taken in. Compares the connection once more with
 * the socket that has its token, since the cursors may agree now. */
void smcr_state_report_compare(const smcr_arrival_t *arrival, smcr_conn_t *conn);
