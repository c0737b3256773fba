/* endpoints.h
 * The two endpoints of a connection as Wireshark shows them: address and port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

/* The address of the TCP connection's client (`role` 0) or server (1), which must be known. It
 * lives as long as the connection. */
void smcr_endpoint_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr);

/*
 * The same and the port. Where the TCP connection is not known: GID and queue pair number of the
 * link's queue pair, as InfiniBand has it; then 0 is side 0 while it is not known which the client
 * is. Returns false when that is not known either.
 */
bool smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port);

/* Which role the connection's side has: 0 client, 1 server; the side itself while not known. */
unsigned smcr_endpoint_role(const smcr_conn_t *conn, int side);

/* The address that a GID is; it points into the GID. */
void smcr_endpoint_of_gid(const uint8_t gid[SMCR_GID_LENGTH], address *addr);

/* Writes an address as a GID; addresses that are none become all zeros. */
void smcr_endpoint_gid(const address *from, uint8_t gid[SMCR_GID_LENGTH]);
