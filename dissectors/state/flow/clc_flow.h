/* What CLC messages, and TCP below SMC, change.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- CLC messages (RFC 7609 3.5.1, 3.5.2, A.2) ---- */

/* A CLC message of `conn` arrives, in the order of the TCP stream. `from_server`: which side of the
 * TCP connection sent it. */
void smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                    bool from_server);

/* ---- TCP below SMC, and why a connection went back to it (RFC 7609 3.5, 3.6, A.1, C) ---- */

/* What TCP tells of a connection; arrays are client, server. */
typedef struct {
    void *conversation; /* Wireshark's */
    uint32_t stream;    /* tcp.stream */
    uint32_t frame;     /* in which that is told */
    bool ipv4;          /* both addresses are; `gid` has them as ::ffff:a.b.c.d */
    uint8_t gid[2][SMCR_GID_LENGTH];
    uint16_t port[2];
    bool has_ended; /* an earlier connection of these ports, without a SYN in between */
} smcr_state_tcp_t;

/* A new connection, that of `tcp->conversation`. */
smcr_conn_t *smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp);

/* A SYN or, as `answer`, a SYN-ACK. */
typedef struct smcr_state_syn {
    bool answer, option;
    uint32_t first; /* number of the first byte of what its sender sends, as Wireshark counts */
    smcr_when_t when;
} smcr_state_syn_t;

/* A SYN-ACK without the option answers that of the SYN with a fallback, unless there was one with
 * the option before. (A.1) */
void smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn);

/* What the server sends, or the client, is CLC no more from `frame` on. */
void smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, bool by_server, uint32_t frame);

/* Bytes of the application arrive on the TCP connection, the first ones of a direction. (3.6) */
void smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);
