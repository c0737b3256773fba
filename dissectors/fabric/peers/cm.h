/* Which connections the communication management of a capture sets up and ends (InfiniBand
 * Architecture Specification, volume 1, chapter 12).
 *
 * The two GIDs that messages go between, and the communication IDs of both ends, identify a
 * connection. Hosts use IDs again: a REQ that is no retransmission begins a new connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm_state.h"

/* The newest message of a kind that one end has sent. */
typedef struct {
    uint32_t frame;  /* of its first packet; 0: there has been none */
    uint32_t digest; /* of its bytes: a retransmission has the same */
} smcr_cm_first_t;
#define SMCR_CM_KINDS 7

/* One connection. */
typedef struct {
    uint32_t index;         /* of all connections of the capture, from 0 */
    uint64_t tid;           /* transaction ID of the REQ and its answers; with `tid_known` */
    uint64_t service_id;    /* with `service_known` */
    uint16_t port;          /* port number of RDMA-CM; with `port_known` */
    uint16_t reason;        /* enum smcr_ib_cm_reason, or another, of the REJ; with `rejected` */
    uint8_t sidr : 1;       /* no connection: SIDR asks for a UD queue pair */
    uint8_t roles_known : 1; /* ends[0] is the client; else ends[0] is the end that was seen first
                                */
    uint8_t tid_known : 1;
    uint8_t service_known : 1;
    uint8_t port_known : 1; /* the service ID is one of RDMA-CM */
    uint8_t rejected : 1;   /* there has been a REJ */
    smcr_cm_end_t ends[2];  /* enum smcr_cm_side: the client, which sends the REQ, and the server */
    smcr_cm_first_t first[2][SMCR_CM_KINDS]; /* by side and kind: read with smcr_cm_first_frame() */
} smcr_cm_conn_t;

typedef struct smcr_cm smcr_cm_t; /* all connections of one capture */

/* A message on its way. */
typedef struct {
    smcr_when_t when;                 /* frame of the packet */
    const uint8_t *source;            /* GID of the sender: IP address, IPv4 mapped, 16 bytes */
    const uint8_t *target;            /* GID of the receiver, likewise */
    const smcr_cm_message_t *message; /* parsed */
    bool has_good_icrc;               /* false: the receiver drops it, since its ICRC is wrong */
} smcr_cm_packet_t;

/* What is said of a message. */
typedef struct {
    smcr_cm_conn_t *conn; /* lives as long as the registry; NULL: the message names no connection,
                             and all else is zero */
    uint8_t sender;       /* enum smcr_cm_side: ends[sender] has sent it */
    uint8_t states[2];    /* enum smcr_ib_cm_state, by side, after the message; with `known` */
    bool known[2];        /* by side: the state is known */
    uint32_t retransmission_of; /* retransmission: frame of the message's first packet; 0: it is no
                                   retransmission */
    bool unexpected_sent; /* no sender in this state sends the message: the capture misses messages,
                             or the sender errs. Never for a retransmission */
    bool unexpected_received; /* a receiver in this state refuses the message, or a DREQ names a
                                 queue pair that is not the receiver's. Never for a message that is
                                 lost */
    uint8_t attribute;    /* enum smcr_ib_cm_attribute, of the message */
    uint8_t status;       /* enum smcr_ib_cm_sidr_status or another, of a SIDR_REP */
    uint16_t reason;      /* enum smcr_ib_cm_reason or another, of a REJ */
} smcr_cm_verdict_t;

/* A registry without connections, allocated from `scope`. */
smcr_cm_t *smcr_cm_new(wmem_allocator_t *scope);

/* Takes in the next message of the capture, in the order of frames, and judges it. */
smcr_cm_verdict_t smcr_cm_judge(smcr_cm_t *cm, const smcr_cm_packet_t *packet);

/* The newest connection of which an end has this GID and the queue pair `qpn`; NULL: there is none.
 * It is the connection whose REQ, REP or SIDR_REP has named the queue pair last.
 * smcr_cm_side_of_qp() says which of its ends it is. */
smcr_cm_conn_t *smcr_cm_find_by_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH],
                                   uint32_t qpn);

/* The side (enum smcr_cm_side) of a connection that has this GID and the queue pair `qpn`; -1:
 * neither has them. */
int smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH],
                       uint32_t qpn);

/* The frame of the message `attribute` (enum smcr_ib_cm_attribute) of a side: the first packet of
 * its newest message, retransmissions left out. 0: the side has sent none, or the attribute is LAP
 * or APR. */
uint32_t smcr_cm_first_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute);
