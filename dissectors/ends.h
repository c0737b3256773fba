/* ends.h
 * The two ends of a connection as Wireshark shows them: address and port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ENDS_H
#define SMCR_ENDS_H

#include "compat.h"
#include "state/conn.h"

/* The address of the TCP connection's client (`role` 0) or server (1), which must be known. It
 * lives as long as the connection. */
void smcr_end_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr);

/*
 * The same and the port. Where the TCP connection is not known: GID and queue pair number of the
 * link's end, as InfiniBand has it; then 0 is side 0 while it is not known which the client is.
 * Returns false when that is not known either.
 */
bool smcr_end_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port);

/* Which role the connection's side has: 0 client, 1 server; the side itself while not known. */
unsigned smcr_end_role(const smcr_conn_t *conn, int side);

#endif /* SMCR_ENDS_H */
