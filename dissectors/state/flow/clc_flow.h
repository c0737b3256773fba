/* What CLC messages and TCP segments change: the handshake, and why a connection falls back to TCP
 * (RFC 7609 3.5.1, 3.5.2, 3.6, A.1, A.2, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "state/model/record.h"

/* Learns a CLC message of `conn`, in the order of the TCP stream. `from_server`: the server of the
 * TCP connection sends the message. (A.2) */
void smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                    bool from_server);

/* What TCP shows of a new connection. Arrays are by role: client, server. */
typedef struct {
    void *conversation;              /* Wireshark's TCP conversation; the state only keeps the
                                        pointer */
    uint32_t stream;                 /* number of the TCP connection (tcp.stream) */
    uint32_t frame;                  /* frame that first shows the TCP connection */
    bool ipv4;                       /* both addresses are IPv4, mapped into IPv6 in `gid` */
    uint8_t gid[2][SMCR_GID_LENGTH]; /* addresses, in network byte order */
    uint16_t port[2];                /* ports, in host byte order */
    bool has_ended;                  /* an earlier TCP connection with these addresses and ports has
                                        ended, and no SYN has come since */
    bool roles_unknown;              /* no TCP segment of the connection is captured, so the order
                                        of the two ends in `gid` and `port` is only inferred from
                                        the port numbers */
} smcr_state_tcp_t;

/* Makes the connection of `tcp->conversation`. */
smcr_conn_t *smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp);

/* Notes that NAT translates the addresses of the conversation's connection. */
void smcr_state_translated(const smcr_state_t *state, void *conversation);

/* A segment of the TCP handshake. */
typedef struct smcr_state_syn {
    bool answer;      /* the segment is a SYN-ACK; false: a SYN */
    bool option;      /* the segment has the SMC-R option */
    uint32_t first;   /* relative sequence number of the sender's first byte of data, as Wireshark
                         counts */
    smcr_when_t when; /* frame and time of the segment */
} smcr_state_syn_t;

/* Learns a SYN or SYN-ACK of the connection. If the SYN has the SMC-R option, and the first SYN-ACK
 * does not have it, the connection falls back to TCP. A later SYN-ACK does not cause a fallback.
 * (A.1) */
void smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn);

/* Notes that from `frame` on, the bytes of one end of the TCP connection are no CLC messages any
 * more. `by_server`: the end is the server; false: the client. */
void smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, bool by_server, uint32_t frame);

/* Learns the first bytes of the application in one direction of the TCP connection. `from_server`:
 * the server sends them; false: the client. If no Confirm has come before these bytes, or if a
 * Decline after the Confirm may be missing, the connection has fallen back to TCP. Bytes in the SYN
 * change nothing, since the client sends them before it knows the answer. (3.6) */
void smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);
