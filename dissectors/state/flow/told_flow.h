/* What hosts report of their sockets, link groups and links over netlink, or in a file of smcss
 * (<linux/smc_diag.h>, <linux/smc.h>), and the connections that get their addresses and ports from
 * these reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Takes in one report: of a socket, of a link group or of a link; or that a dump has ended; or that
 * a part of a dump is missing. */
void smcr_state_report(const smcr_arrival_t *arrival, const smcr_told_t *told);

/* Joins `conn`, which its host reports as fallen back to TCP, with `known`, which CLC has made of
 * the same TCP connection. The reported reason counts if CLC shows no fallback and no Confirm. */
void smcr_state_report_fallback(smcr_conn_t *conn, smcr_conn_t *known);

/* The only socket to which the CDC message can belong, whose token names no known connection.
 * `*side` gets the side of the host that has reported the socket. NULL: there is none. */
smcr_socket_t *smcr_state_report_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc,
                                        int *side);

/* The connection of the socket, or of the report of the other host, if it is in the link group of
 * the message and does not know the token of this direction yet. NULL: otherwise. */
smcr_conn_t *smcr_state_report_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket);

/* Connects the connection with the reported socket. `side`: side of the socket's host. The
 * connection gets the socket's token, addresses, ports, roles, sizes and positions. */
void smcr_state_report_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                            int side);

/* Called before a CDC message of the connection is taken in. If the first message of its sender has
 * a producer cursor before the reported one, the report is of another time or of another host. Then
 * the connection loses its name. */
void smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                             const smcr_cdc_t *cdc);

/* Called after a CDC message of the connection was taken in. Compares the connection once more with
 * the socket that has its token, since the cursors may agree now. */
void smcr_state_report_compare(const smcr_arrival_t *arrival, smcr_conn_t *conn);
