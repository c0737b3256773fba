/* cm_state.h
 * A connection that the communication management sets up: its two ends, and how the state of an end
 * moves with the messages that it sends and receives, as in Linux 6.1,
 * drivers/infiniband/core/cm.c. What timers do is not in a capture: an end stays in timewait.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_CM_STATE_H
#define SMCR_FABRIC_PEERS_CM_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm_message.h"
#include "wire/wire.h"

enum smcr_cm_side { SMCR_CM_CLIENT = 0, SMCR_CM_SERVER = 1 };

/* The newest message of a kind that one end has sent: when it came first. */
typedef struct {
    uint32_t frame;         /* 0: there has been none */
    uint32_t digest : 31;
    uint32_t received : 1;  /* one of its packets reached the other end */
} smcr_cm_first_t;
#define SMCR_CM_KINDS 7

/* One end of a connection. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH];
    uint32_t id;            /* communication ID; SIDR: the request ID (client). 0: not known */
    uint32_t qpn;           /* with `qpn_known` */
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

/* A message reaches the end for the first time. */
smcr_cm_move_t smcr_cm_end_receives(smcr_cm_end_t *end, smcr_cm_event_t event);

/* The end sends a message again: it may have answered a repeated request as one that is new. */
void smcr_cm_end_sends_again(smcr_cm_end_t *end, smcr_cm_event_t event);

/* A message reaches the end again: one that was rejected takes a repeated request for a new one. */
void smcr_cm_end_receives_again(smcr_cm_end_t *end, smcr_cm_event_t event);

#endif /* SMCR_FABRIC_PEERS_CM_STATE_H */
