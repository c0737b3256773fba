/* What hosts report of their sockets, link groups and links over netlink, or in a file of smcss
 * (<linux/smc_diag.h>, <linux/smc.h>), and the connections that get a name by that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* A report: of a socket, a link group or a link; or the end of a dump; or a part of a dump is
 * missing. */
void smcr_state_report(const smcr_arrival_t *arrival, const smcr_told_t *told);

/* `conn` has fallen back to TCP, as its host reports, and is of the same TCP connection as `known`,
 * which CLC has made: both are one from now on. The reported reason counts if CLC shows none. */
void smcr_state_report_fallback(smcr_conn_t *conn, smcr_conn_t *known);

/* The only socket that the CDC message can belong to, whose token is not that of a known
 * connection. `*side` is the side of the host that has reported the socket. NULL: there is none. */
smcr_socket_t *smcr_state_report_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc,
                                        int *side);

/* The connection of the socket, if it is in the link group of the message and its other direction
 * is known already; NULL: else. */
smcr_conn_t *smcr_state_report_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket);

/* The connection is that of the socket, whose host has `side`: it gets the socket's token, name,
 * roles, sizes and positions. */
void smcr_state_report_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                            int side);

/* Before a CDC message of a connection is taken in: a producer cursor before the reported one shows
 * that the report is of another time or of another host, so the connection loses its name. */
void smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                             const smcr_cdc_t *cdc);

/* After a CDC message of a connection was taken in: compares the connection with the socket that
 * has its token once more, since the cursors may agree now. */
void smcr_state_report_compare(const smcr_arrival_t *arrival, smcr_conn_t *conn);
