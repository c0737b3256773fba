/* tcp_flow.h
 * The TCP connection below SMC: handshake with the option, end of CLC, and why a connection went
 * back to TCP (RFC 7609 3.5, 3.6, A.1, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_TCP_FLOW_H
#define SMCR_STATE_FLOW_TCP_FLOW_H

#include "state/model/record.h"

/* What TCP tells of a connection; arrays are client, server. */
typedef struct {
    void *conversation; /* Wireshark's */
    uint32_t stream;    /* tcp.stream */
    bool ipv4;          /* both addresses are; `gid` has them as ::ffff:a.b.c.d */
    uint8_t gid[2][SMCR_GID_LENGTH];
    uint16_t port[2];
} smcr_state_tcp_t;

/* A new connection, that of `tcp->conversation`. */
smcr_conn_t *smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp);

/* A SYN with the option, in `frame`. (A.1) */
void smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, uint32_t frame);

/* A SYN-ACK, with the option or without, in `frame`. Without, it answers that of the SYN with a
 * fallback, unless there was one with the option before. */
void smcr_state_synack(smcr_state_t *state, smcr_conn_t *conn, bool option, uint32_t frame);

/* CLC ends in `frame`, for one `direction` of Wireshark's TCP stream (0 or 1). */
void smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, unsigned direction,
                          uint32_t frame);

/* Bytes of the application arrive on the TCP connection, the first ones of a direction. (3.6) */
void smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);

/* The SYN or SYN-ACK in `frame`: the first byte of what `role` sends, 0 the client, has the number
 * `first`, as Wireshark counts. */
void smcr_state_tcp_begins(smcr_state_t *state, smcr_conn_t *conn, unsigned role, uint32_t first,
                           uint32_t frame);

/* A Decline arrives. (A.2.5) */
void smcr_state_declined(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                         const smcr_clc_t *decline);

#endif /* SMCR_STATE_FLOW_TCP_FLOW_H */
