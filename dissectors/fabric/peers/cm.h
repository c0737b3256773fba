/* Which connections the communication management of a capture sets up and ends, and the state of
 * both their ends (InfiniBand Architecture Specification, volume 1, chapter 12; states move as in
 * Linux 6.1, drivers/infiniband/core/cm.c).
 *
 * A connection is known by the two GIDs that its messages go between, and by the communication IDs
 * of its ends. IDs are used again: a REQ that is no repeat begins a new connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "wire/wire.h"

/* ---- a message, taken out of its MAD (InfiniBand Architecture Specification, volume 1, 12.6 and
 * 12.11; the layouts are those of tables 106 to 120) ---- */

/* All numbers in host byte order. What a message does not have is zero. */
typedef struct {
    uint8_t attribute;    /* enum smcr_ib_cm_attribute: which message it is */
    uint64_t tid;         /* transaction ID */
    uint32_t local_id;    /* communication ID of the sender; SIDR: the request ID. 0: not told */
    uint32_t remote_id;   /* of the receiver; 0: not told */
    uint32_t digest;      /* of the whole MAD: equal in messages of equal bytes */

    bool has_qpn;         /* REQ, REP, SIDR_REP (unless 0): queue pair of the sender */
    uint32_t qpn;         /* 24 bits. REP of an XRC connection: from the field of the EE context */
    bool has_remote_qpn;  /* DREQ, LAP: queue pair of the *receiver* */
    uint32_t remote_qpn;  /* 24 bits */
    bool has_psn;         /* REQ, REP */
    uint32_t starting_psn; /* 24 bits: first PSN that the *receiver* of the message sends with */

    bool has_service;     /* REQ, SIDR_REQ, SIDR_REP */
    uint64_t service_id;
    bool has_port;        /* the service ID is one of RDMA-CM */
    uint16_t port;

    uint8_t answered;     /* MRA, REJ: enum smcr_ib_cm_answered, or 3 */
    uint16_t reason;      /* REJ: enum smcr_ib_cm_reason, or another */
    uint8_t status;       /* SIDR_REP: enum smcr_ib_cm_sidr_status, or another */
} smcr_cm_message_t;

/* Parses `length` bytes at `mad`, the payload of a UD SEND Only to queue pair 1; what is behind the
 * 256 bytes of a MAD is not looked at. Returns whether it is a known message of communication
 * management that is long enough (the table of layouts tells); what follows, private data for
 * instance, may be cut. All messages are sent with the method Send: with any other it is none.
 * `message` is all zeros when it is none. */
bool smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length);

/* ---- the state of both ends ---- */

enum smcr_cm_side { SMCR_CM_CLIENT = 0, SMCR_CM_SERVER = 1 };

/* The newest message of a kind that one end has sent: when it came first. */
typedef struct {
    uint32_t frame;         /* 0: there has been none */
    uint32_t digest;
} smcr_cm_first_t;
#define SMCR_CM_KINDS 7

/* One end of a connection. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH];
    uint32_t qpn;           /* with `qpn_known` */
    uint32_t id;            /* communication ID; SIDR: the request ID (client). 0: not known */
    uint32_t psn;           /* with `psn_known`: first that this end *sends* with */
    uint8_t state;          /* with `state_known`: enum smcr_ib_cm_state, after the last message */
    uint8_t before;         /* state before the last message that moved it when it came */
    uint8_t last_event;     /* last received event that moved the state: smcr_cm_event_t; 0:
                               it has sent one since */
    uint8_t side : 1;       /* of the connection */
    uint8_t qpn_known : 1;
    uint8_t psn_known : 1;
    uint8_t state_known : 1;
} smcr_cm_end_t;

typedef struct {
    uint32_t index;         /* of all connections of the capture, from 0 */
    uint64_t tid;           /* of the REQ, and of its answers; see `tid_known` */
    uint64_t service_id;    /* with `service_known` */
    uint16_t port;          /* with `port_known`: the service ID is one of RDMA-CM */
    uint16_t reason;        /* with `rejected`: of the REJ */
    uint8_t sidr : 1;       /* it is no connection: SIDR asks for a UD queue pair */
    uint8_t roles_known : 1; /* ends[0] is the client; else it is who was seen first */
    uint8_t tid_known : 1;
    uint8_t service_known : 1;
    uint8_t port_known : 1;
    uint8_t rejected : 1;   /* there has been a REJ */
    smcr_cm_end_t ends[2];  /* client: who sends the REQ; server */
    smcr_cm_first_t first[2][SMCR_CM_KINDS]; /* by side: use smcr_cm_frame() */
} smcr_cm_conn_t;

/* Messages, as far as states differ by them. */
typedef enum {
    SMCR_CM_EVENT_NONE,
    SMCR_CM_EVENT_REQ,
    SMCR_CM_EVENT_MRA_REQ, /* an MRA that answers a REQ, and so on */
    SMCR_CM_EVENT_MRA_REP,
    SMCR_CM_EVENT_MRA_OTHER,
    SMCR_CM_EVENT_REJ_REQ,
    SMCR_CM_EVENT_REJ_REP,
    SMCR_CM_EVENT_REJ_OTHER,
    SMCR_CM_EVENT_STALE_REQ, /* a REJ with the reason that the connection is stale */
    SMCR_CM_EVENT_STALE_REP,
    SMCR_CM_EVENT_STALE_OTHER,
    SMCR_CM_EVENT_REP,
    SMCR_CM_EVENT_RTU,
    SMCR_CM_EVENT_DREQ,
    SMCR_CM_EVENT_DREP,
    SMCR_CM_EVENT_SIDR_REQ,
    SMCR_CM_EVENT_SIDR_REP,
    SMCR_CM_EVENT_PATH, /* LAP, APR: they move nothing here */
} smcr_cm_event_t;

smcr_cm_event_t smcr_cm_event_of(const smcr_cm_message_t *message);

/* What became of the state of an end. */
typedef enum {
    SMCR_CM_AS_RULED,   /* by a rule for its state, or the state was not known */
    SMCR_CM_CROSSED,    /* sent before what the capture shows it to receive before */
    SMCR_CM_UNEXPECTED, /* no rule: the state is what the message proves, if it proves anything */
} smcr_cm_move_t;

/* The end sends a message for the first time. */
smcr_cm_move_t smcr_cm_end_sends(smcr_cm_end_t *end, smcr_cm_event_t event);

/* A message reaches the end. */
smcr_cm_move_t smcr_cm_end_receives(smcr_cm_end_t *end, smcr_cm_event_t event);

/* The end retransmits a message: it still waits for the answer, though the capture may have one; or
 * it has answered a repeated request as one that is new. */
void smcr_cm_end_sends_again(smcr_cm_end_t *end, smcr_cm_event_t event);

/* ---- connections ---- */

typedef struct smcr_cm smcr_cm_t; /* what is known of one capture */

/* A message on its way. */
typedef struct {
    smcr_when_t when;
    const uint8_t *source, *target; /* GIDs, 16 bytes: IP addresses of the packet, IPv4 mapped */
    const smcr_cm_message_t *message;
    bool received; /* false: it was sent, but cannot arrive, since its ICRC is wrong */
} smcr_cm_packet_t;

/* What is said of a message. */
typedef struct {
    smcr_cm_conn_t *conn; /* lives as long as the registry; NULL: nothing can be said, and all else
                             is zero */
    uint8_t sender;       /* side: ends[sender] sent it */
    uint8_t states[2];    /* by side, after the message: enum smcr_ib_cm_state; 0 when not known */
    bool known[2];        /* whether that state is */
    uint32_t repeat_of;   /* frame of the first packet of the same message; 0: this is the first */
    bool unexpected_sent; /* the sender, in the state that the capture shows, would not send it:
                             the capture lacks messages, or it is an error. Never for a repeat */
    bool unexpected_received; /* the receiver, in the state that the capture shows, would refuse it,
                                 or a DREQ names another queue pair. Never for one that is lost */
    uint8_t attribute, status; /* of the message, as is the next */
    uint16_t reason;
} smcr_cm_verdict_t;

/* A registry without connections, which goes with `scope`. */
smcr_cm_t *smcr_cm_new(wmem_allocator_t *scope);

/* The next message of the capture. Frames come in order. */
smcr_cm_verdict_t smcr_cm_take(smcr_cm_t *cm, const smcr_cm_packet_t *packet);

/* The newest connection one of whose ends has this GID and queue pair; NULL: there is none. A REQ,
 * a REP or a SIDR_REP that names the queue pair again takes it over. Which of its ends it is:
 * smcr_cm_side_of_qp(). */
smcr_cm_conn_t *smcr_cm_of_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH],
                              uint32_t qpn);

/* The side of a connection that has this GID and queue pair, -1: neither has. */
int smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH],
                       uint32_t qpn);

/* The frame in which a side first sent the message `attribute` (enum smcr_ib_cm_attribute); where
 * it sent several that differ, the last of these. 0: the capture has none, or it is a LAP or an
 * APR.
 */
uint32_t smcr_cm_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute);
