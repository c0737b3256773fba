/* Knows what packets and messages change; the receiver's order of packets decides when a message
 * counts. Does not know how anything is shown. Called through state.h, in the order of the
 * capture, in the first pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- packets of SMC-R, and their messages ---- */

/* A packet of the reliable connection service, or a congestion notification. Finds its link, keeps
 * the order of PSNs, and gives an RDMA WRITE its place. Fills in `arrival->qp` and `psn`.
 *
 * Returns false when its queue pair is not known to carry SMC-R; the record is then not changed. */
bool smcr_state_packet(smcr_arrival_t *arrival);

/* The LLC message of a SEND that smcr_state_packet() has seen. (RFC 7609 3.5, A.3) */
void smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* The CDC message of a SEND that smcr_state_packet() has seen. (RFC 7609 4.7, A.4) */
void smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The TCP connection of this CDC message's connection was reset before, or its sender has closed
 * it: `cdc` ought to say so. Or its reader has: its own last message did. (4.8.1) */
void smcr_state_tcp_ended(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, bool by_reset,
                          bool by_sender, bool by_reader);

/* A message has proven that the queue pair to which the packet goes carries SMC-R. `sender_qpn`:
 * from which it comes, as CONFIRM LINK says; 0: it does not tell. That may be one queue pair of a
 * link whose other one the capture has not shown. */
void smcr_state_prove(const smcr_arrival_t *arrival, uint32_t sender_qpn);

/* ---- RDMA WRITE packets that come before anything that names their connection ---- */

/* Whether a packet that is no SEND can tell nothing, so that there is no need to read it: no queue
 * pair of SMC-R is known yet, and it is no WRITE to keep until one is. It goes to queue pair `qpn`;
 * `address` are the last four bytes of the address or GID. */
bool smcr_state_ignores(const smcr_state_t *state, uint8_t opcode, const uint8_t address[4],
                        uint32_t qpn);

/* A WRITE packet on an unknown queue pair. Gives the record its place, to be completed when the
 * queue pair turns out to carry SMC-R. Returns false when it is no WRITE, or when this queue pair
 * has had so many packets that it will hardly be SMC-R. */
bool smcr_state_unknown_qp_write(const smcr_arrival_t *arrival);

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

/* ---- what hosts tell over netlink (<linux/smc_diag.h>, <linux/smc.h>) ---- */

/* The connection that has fallen back, as its host tells, is that of the same TCP connection which
 * CLC has made `known`. */
void smcr_state_told_fallback(smcr_conn_t *conn, smcr_conn_t *known);

/* A host tells of a socket, a link group or a link, or ends its dump. */
void smcr_state_told(const smcr_arrival_t *arrival, const smcr_told_t *told);

/* ---- packets of RDMA connections that are not SMC-R ---- */

/* A packet that is no packet of a link, as far as is known. `message` is that of RDMA-CM which it
 * carries, NULL when it carries none. Fills in the record. */
void smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message);

/* ---- what the end of a connection or of a link group costs: bytes that are on their way ---- */

typedef struct {
    bool known;           /* the capture lacks nothing that would change the numbers */
    bool reader_known;    /* of one direction: nor what its reader has sent, which `unread` needs */
    unsigned open;        /* connections that neither side has ended */
    uint64_t unread;      /* bytes announced and not read, of both directions */
    uint64_t unannounced; /* bytes written and not announced */
} smcr_cost_t;

/* Of what one connection sends to `side`; `open` says nothing. */
smcr_cost_t smcr_cost_of_direction(const smcr_conn_t *conn, int side);

/* Of one connection, and of all open ones of a group. */
smcr_cost_t smcr_cost_of_conn(const smcr_conn_t *conn);
smcr_cost_t smcr_cost_of_group(smcr_lgr_t *lgr);

/* Whether it is known, and not nothing. */
static inline bool
smcr_cost_is_loss(const smcr_cost_t *cost)
{
    return cost->known && (cost->unread || cost->unannounced);
}

/* Tells the user that something has happened, and what it costs where that is known. `what`: the
 * beginning of the sentence. Returns what was kept. */
smcr_event_t *smcr_cost_tell(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *what,
                             const smcr_cost_t *cost);

/* The group has no link any more: tells the user of its open connections, which are lost. */
void smcr_cost_tell_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);
