/* The state of one end of a connection of communication management (InfiniBand Architecture
 * Specification, volume 1, 12.9; states change as in Linux 6.1, drivers/infiniband/core/cm.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm_message.h"
#include "fabric/fabric.h"

enum smcr_cm_side { SMCR_CM_CLIENT = 0, SMCR_CM_SERVER = 1 };

/* One end of a connection. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* IP address of the host, IPv4 mapped */
    smcr_ib_network_t network; /* VLAN and tunnel of the connection's messages */
    uint32_t qpn;           /* number of the end's queue pair, 24 bits; valid if `qpn_known` */
    uint32_t id;            /* communication ID, or the request ID of a SIDR client; 0: not known */
    uint32_t psn;           /* first PSN that this end *sends* with, 24 bits; valid if
                               `psn_known` */
    uint8_t state;          /* state of the end after the last message, enum smcr_ib_cm_state; valid
                               if `state_known` */
    uint8_t previous_state; /* state before the last received message that has changed the state */
    uint8_t last_event;     /* smcr_cm_event_t of the last received message that has changed the
                               state; 0: no such message, or the end has sent a message since */
    uint8_t side : 1;       /* side of the end, enum smcr_cm_side */
    uint8_t qpn_known : 1;  /* `qpn` is valid */
    uint8_t psn_known : 1;  /* `psn` is valid */
    uint8_t state_known : 1; /* `state` is valid */
} smcr_cm_end_t;

/* Kinds of messages that the rules for states distinguish. */
typedef enum {
    SMCR_CM_EVENT_NONE,
    SMCR_CM_EVENT_REQ,
    SMCR_CM_EVENT_MRA_REQ, /* MRA that answers a REQ; the suffixes REP and OTHER name the answered
                              message in the same way */
    SMCR_CM_EVENT_MRA_REP,
    SMCR_CM_EVENT_MRA_OTHER,
    SMCR_CM_EVENT_REJ_REQ,
    SMCR_CM_EVENT_REJ_REP,
    SMCR_CM_EVENT_REJ_OTHER,
    SMCR_CM_EVENT_STALE_REQ, /* REJ with the reason "stale connection", which answers a REQ */
    SMCR_CM_EVENT_STALE_REP,
    SMCR_CM_EVENT_STALE_OTHER,
    SMCR_CM_EVENT_REP,
    SMCR_CM_EVENT_RTU,
    SMCR_CM_EVENT_DREQ,
    SMCR_CM_EVENT_DREP,
    SMCR_CM_EVENT_SIDR_REQ,
    SMCR_CM_EVENT_SIDR_REP,
    SMCR_CM_EVENT_PATH, /* LAP or APR: neither changes a state in this module */
} smcr_cm_event_t;

/* The kind of a parsed message. */
smcr_cm_event_t smcr_cm_event_of(const smcr_cm_message_t *message);

/* How the state of an end has changed. */
typedef enum {
    SMCR_CM_AS_RULED,   /* a rule fits the message and the state, or the state was not known */
    SMCR_CM_CROSSED,    /* No rule fits the message and the state. A rule fits the message and the
                           state before the last received message: the two messages have crossed on
                           the wire. */
    SMCR_CM_UNEXPECTED, /* no rule fits: if the message proves a state, the end gets that state */
} smcr_cm_move_t;

/* Changes the state of an end that sends a message for the first time. Returns how the message fits
 * the state before. */
smcr_cm_move_t smcr_cm_end_sends(smcr_cm_end_t *end, smcr_cm_event_t event);

/* Changes the state of an end that receives a message. Returns how the message fits the state
 * before: SMCR_CM_AS_RULED or SMCR_CM_UNEXPECTED. */
smcr_cm_move_t smcr_cm_end_receives(smcr_cm_end_t *end, smcr_cm_event_t event);

/* Changes the state of an end that retransmits a message. If the message is a request whose answer
 * the capture already has, the end did not receive the answer: it returns to the state in which it
 * waits for the answer. If the message is a REJ or SIDR_REP, the end has received the request once
 * more, and its state changes as if it sent the answer for the first time. */
void smcr_cm_end_retransmits(smcr_cm_end_t *end, smcr_cm_event_t event);
