/* cm_state.h
 * How the state of one end of a connection moves with the messages that it sends and receives, as
 * in Linux 6.1, drivers/infiniband/core/cm.c. What timers do is not in a capture: an end stays in
 * timewait.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_CM_STATE_H
#define SMCR_FABRIC_CM_STATE_H

#include "cm.h"

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

#endif /* SMCR_FABRIC_CM_STATE_H */
