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
    uint32_t frame;  /* frame of the first packet of this message; 0: no such message has come */
    uint32_t digest; /* digest of the message's bytes: a retransmission has an equal digest */
} smcr_cm_first_t;
/* Number of message kinds for which smcr_cm_conn_t.first keeps the newest message. */
#define SMCR_CM_KINDS 7

/* One connection. */
typedef struct {
    uint32_t index;         /* number of the connection in the capture, from 0 */
    uint64_t tid;           /* transaction ID of the REQ or SIDR_REQ and its answers; valid if
                               `tid_known` */
    uint64_t service_id;    /* service ID of the REQ or SIDR_REQ; valid if `service_known` */
    uint16_t port;          /* port number of RDMA-CM; valid if `port_known` */
    uint16_t reason;        /* reason of the REJ, enum smcr_ib_cm_reason or another number; valid if
                               `rejected` */
    uint8_t sidr : 1;       /* the entry is an exchange of SIDR messages, which ask for the number
                               of a UD queue pair, and not a connection */
    uint8_t roles_known : 1; /* ends[0] is the client; if false, ends[0] is the end whose message
                                comes first in the capture */
    uint8_t tid_known : 1;  /* `tid` is valid */
    uint8_t service_known : 1; /* `service_id` is valid */
    uint8_t port_known : 1; /* `port` is valid: the service ID is one of RDMA-CM */
    uint8_t rejected : 1;   /* a REJ has come */
    smcr_cm_end_t ends[2];  /* the client, which sends the REQ, and the server (enum
                               smcr_cm_side) */
    smcr_cm_first_t first[2][SMCR_CM_KINDS]; /* newest messages by side and kind; read them with
                                                smcr_cm_first_frame() */
    uint64_t last[2]; /* time of the last message of each side, nanoseconds since the epoch */
} smcr_cm_conn_t;

typedef struct smcr_cm smcr_cm_t; /* all connections of one capture: the registry */

/* A message that smcr_cm_judge() is to judge. */
typedef struct {
    smcr_when_t when;                 /* frame and time of the packet */
    const uint8_t *source;            /* GID of the sender: 16 bytes, IPv4 addresses mapped */
    const uint8_t *target;            /* GID of the receiver, in the same form */
    smcr_ib_network_t network;        /* VLAN and tunnel of the packet */
    const smcr_cm_message_t *message; /* the parsed message */
    bool has_good_icrc;               /* the ICRC is right; if false, the receiver drops the
                                         message */
} smcr_cm_packet_t;

/* The verdict on a message. */
typedef struct {
    smcr_cm_conn_t *conn; /* the connection, which lives as long as the registry; NULL: the message
                             names no connection, and all other members are zero */
    uint8_t sender;       /* enum smcr_cm_side: ends[sender] has sent the message */
    uint8_t states[2];    /* states of both sides (enum smcr_cm_side) after the message, enum
                             smcr_ib_cm_state; valid if `known` of the side is true */
    bool known[2];        /* the element of `states` for this side is valid */
    uint32_t retransmission_of; /* frame of the first packet with the message that this packet
                                   retransmits; 0: the packet is not a retransmission */
    bool is_copy;         /* the packet is a duplicate of an earlier packet with the message: the
                             network or the capture has made it; then `retransmission_of` is 0 */
    bool unexpected_sent; /* The sender's state before the message does not allow the message:
                             earlier messages are missing in the capture, or the sender errs. Never
                             set for a retransmission. */
    bool unexpected_received; /* The receiver's state before the message does not allow the message,
                                 or the message is a DREQ that names another queue pair than the
                                 receiver's. Never set for a message with a wrong ICRC, for a
                                 retransmission, or for a message that its sender sent before it
                                 received the receiver's last one (SMCR_CM_CROSSED). */
    uint8_t attribute;    /* kind of the message, enum smcr_ib_cm_attribute */
    uint8_t status;       /* status of a SIDR_REP, enum smcr_ib_cm_sidr_status or another number */
    uint16_t reason;      /* reason of a REJ, enum smcr_ib_cm_reason or another number */
} smcr_cm_verdict_t;

/* Returns a new smcr_cm_t without connections, allocated from `scope`. */
smcr_cm_t *smcr_cm_new(wmem_allocator_t *scope);

/* Takes in the next message of the capture, in the order of frames, and judges it. */
smcr_cm_verdict_t smcr_cm_judge(smcr_cm_t *cm, const smcr_cm_packet_t *packet);

/* The newest connection with an end that has the GID and the queue pair `qp`, in the network
 * `network`; NULL: no connection has such an end. The newest connection is the connection whose
 * REQ, REP or SIDR_REP has named the queue pair last in the capture. A DREQ or LAP that names the
 * queue pair of its receiver counts, too, unless an earlier connection with the queue pair is still
 * open. smcr_cm_side_of_qp() finds the end. */
smcr_cm_conn_t *smcr_cm_find_by_qp(const smcr_cm_t *cm, const smcr_ib_qp_key_t *qp,
                                   smcr_ib_network_t network);

/* The side (enum smcr_cm_side) of the connection that has the GID `gid` and the queue pair `qpn`;
 * -1: no side of the connection has both. */
int smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH],
                       uint32_t qpn);

/* The frame of the newest message of the kind `attribute` (enum smcr_ib_cm_attribute) that the side
 * `side` has sent. If the message was retransmitted, the frame of its first packet. 0: the side has
 * sent no such message, or `attribute` is LAP or APR. */
uint32_t smcr_cm_first_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute);
