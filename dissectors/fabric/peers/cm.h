/* The connections that communication management sets up and ends in a capture (InfiniBand
 * Architecture Specification, volume 1, chapter 12).
 *
 * A connection is identified by the GIDs of its two ends and the communication IDs of both. Hosts
 * reuse IDs: a REQ that is no retransmission begins a new connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm_state.h"

/* The newest message of one kind from one end. */
typedef struct {
    uint32_t frame;  /* frame of the first packet of this message; 0: there has been none */
    uint32_t digest; /* digest of its bytes: a retransmission has the same digest */
} smcr_cm_first_t;
#define SMCR_CM_KINDS 7

/* One connection. */
typedef struct {
    uint32_t index;         /* number of the connection in the capture, from 0 */
    uint64_t tid;           /* transaction ID of the REQ and its answers; set with `tid_known` */
    uint64_t service_id;    /* set with `service_known` */
    uint16_t port;          /* port number of RDMA-CM; set with `port_known` */
    uint16_t reason;        /* reason of the REJ, enum smcr_ib_cm_reason or another; set with
                               `rejected` */
    uint8_t sidr : 1;       /* not a connection: SIDR asks for a UD queue pair */
    uint8_t roles_known : 1; /* ends[0] is the client; if false, ends[0] is the end that the capture
                                has first */
    uint8_t tid_known : 1;
    uint8_t service_known : 1;
    uint8_t port_known : 1; /* the service ID is one of RDMA-CM */
    uint8_t rejected : 1;   /* there has been a REJ */
    smcr_cm_end_t ends[2];  /* the client, which sends the REQ, and the server (enum
                               smcr_cm_side) */
    smcr_cm_first_t first[2][SMCR_CM_KINDS]; /* newest messages by side and kind; read them with
                                                smcr_cm_first_frame() */
} smcr_cm_conn_t;

typedef struct smcr_cm smcr_cm_t; /* all connections of one capture */

/* A message that smcr_cm_judge() is to judge. */
typedef struct {
    smcr_when_t when;                 /* frame of the packet */
    const uint8_t *source;            /* GID of the sender: 16 bytes, IPv4 addresses mapped */
    const uint8_t *target;            /* GID of the receiver, in the same form */
    const smcr_cm_message_t *message; /* the parsed message */
    bool has_good_icrc;               /* the ICRC is right; if false, the receiver drops the
                                         message */
} smcr_cm_packet_t;

/* The verdict on a message. */
typedef struct {
    smcr_cm_conn_t *conn; /* the connection, which lives as long as the registry; NULL: the message
                             names no connection, and all other members are zero */
    uint8_t sender;       /* enum smcr_cm_side: ends[sender] has sent the message */
    uint8_t states[2];    /* states of both sides after the message, enum smcr_ib_cm_state; set with
                             `known` */
    bool known[2];        /* by side: the state is known */
    uint32_t retransmission_of; /* frame of the first packet of the message that this one
                                   retransmits; 0: it is no retransmission */
    bool unexpected_sent; /* A sender in this state does not send the message: the capture misses
                             messages, or the sender errs. Never set for a retransmission. */
    bool unexpected_received; /* A receiver in this state refuses the message, or a DREQ names a
                                 queue pair that is not the receiver's. Never set for a message with
                                 a wrong ICRC. */
    uint8_t attribute;    /* which message it is, enum smcr_ib_cm_attribute */
    uint8_t status;       /* status of a SIDR_REP, enum smcr_ib_cm_sidr_status or another */
    uint16_t reason;      /* reason of a REJ, enum smcr_ib_cm_reason or another */
} smcr_cm_verdict_t;

/* A registry without connections, allocated from `scope`. */
smcr_cm_t *smcr_cm_new(wmem_allocator_t *scope);

/* Takes in the next message of the capture, in the order of frames, and judges it. */
smcr_cm_verdict_t smcr_cm_judge(smcr_cm_t *cm, const smcr_cm_packet_t *packet);

/* The newest connection with an end that has this GID and the queue pair `qpn`; NULL: there is
 * none. Newest means that its REQ, REP or SIDR_REP was the last to name the queue pair.
 * smcr_cm_side_of_qp() finds the end. */
smcr_cm_conn_t *smcr_cm_find_by_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH],
                                   uint32_t qpn);

/* The side (enum smcr_cm_side) of a connection that has this GID and the queue pair `qpn`; -1:
 * neither side has. */
int smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH],
                       uint32_t qpn);

/* The frame of the newest message `attribute` (enum smcr_ib_cm_attribute) that a side has sent. The
 * frame is that of its first packet, not of a retransmission. 0: the side has sent none, or the
 * attribute is LAP or APR. */
uint32_t smcr_cm_first_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute);
