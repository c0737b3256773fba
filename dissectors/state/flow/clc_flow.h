/* What CLC messages change, and TCP below SMC: the handshake, and why a connection falls back to
 * TCP (RFC 7609 3.5.1, 3.5.2, 3.6, A.1, A.2, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#pragma once

#include "state/model/record.h"

/* A CLC message of `conn` arrives, in the order of the TCP stream. `from_server`: the server of the
 * TCP connection sends it. (A.2) */
void smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                    bool from_server);

/* What TCP shows of a connection. Arrays are by role: client, server. */
typedef struct {
    void *conversation;              /* Wireshark's; the state only keeps it */
    uint32_t stream;                 /* tcp.stream */
    uint32_t frame;                  /* number of the frame in which TCP shows it */
    bool ipv4;                       /* both addresses are IPv4, in `gid` as ::ffff:a.b.c.d */
    uint8_t gid[2][SMCR_GID_LENGTH]; /* addresses, in network byte order */
    uint16_t port[2];                /* in host byte order */
    bool has_ended;                  /* a connection of these ports has ended before, and no SYN
                                        has come since */
} smcr_state_tcp_t;

/* A new connection, that of `tcp->conversation`. */
smcr_conn_t *smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp);

/* A segment of the TCP handshake. */
typedef struct smcr_state_syn {
    bool answer;      /* a SYN-ACK; else a SYN */
    bool option;      /* it has the SMC-R option */
    uint32_t first;   /* relative sequence number of the first byte of data of its sender, as
                         Wireshark counts */
    smcr_when_t when; /* its frame and time */
} smcr_state_syn_t;

/* A SYN or SYN-ACK of the connection. A SYN-ACK without the option, as the answer to a SYN with it,
 * is a fallback to TCP; unless a SYN-ACK has come before, which then decides. (A.1) */
void smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn);

/* From `frame` on, what the server (or the client) sends on the TCP connection is no CLC any
 * more. */
void smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, bool by_server, uint32_t frame);

/* The first bytes of the application in one direction of the TCP connection: SMC-R is not used,
 * unless a Confirm has come. (3.6) */
void smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);
