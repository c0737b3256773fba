/* Rules for sending and receiving, and what a message proves where no rule applies. A capture may
 * lack messages, and it may have those that cross on the wire in another order than their senders.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm.h"

#define NOTHING 0xff /* is proved */
#define STAY 0xfe    /* in the same state */

#define E(event) (1U << SMCR_CM_EVENT_##event)
#define S(state) (1U << SMCR_IB_CM_STATE_##state)
#define TO(state) SMCR_IB_CM_STATE_##state
#define REJECTED (E(REJ_REQ) | E(REJ_REP) | E(REJ_OTHER))
#define STALE (E(STALE_REQ) | E(STALE_REP) | E(STALE_OTHER))
#define LATER (E(REJ_REP) | E(REJ_OTHER) | E(STALE_REP) | E(STALE_OTHER))
#define ANY_STATE 0xffffU

/* The first that fits is valid. */
typedef struct {
    uint32_t events;
    uint32_t states;
    uint8_t next;
} transition_t;

/* ib_send_cm_req() and so on; answers to repeated messages: cm_dup_req_handler(),
 * cm_dup_rep_handler(), cm_issue_rej(), cm_issue_drep(). Data that arrives after the REP has been
 * sent establishes the connection as an RTU does (cm_establish()). */
static const transition_t sent[] = {
    {E(REQ), S(IDLE), TO(REQ_SENT)},
    {E(MRA_REQ), S(REQ_RCVD) | S(MRA_REQ_SENT), TO(MRA_REQ_SENT)},
    {E(MRA_REP), S(REP_RCVD) | S(MRA_REP_SENT), TO(MRA_REP_SENT)},
    {E(MRA_OTHER), S(ESTABLISHED), STAY},
    {E(STALE_REP), S(REP_RCVD), TO(REQ_SENT)},
    {REJECTED | STALE, S(REQ_SENT) | S(MRA_REQ_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_RCVD) |
                           S(MRA_REP_SENT), TO(IDLE)},
    {REJECTED | STALE, S(REP_SENT) | S(MRA_REP_RCVD), TO(TIMEWAIT)},
    {STALE, S(TIMEWAIT), STAY},
    {E(REP), S(REQ_RCVD) | S(MRA_REQ_SENT), TO(REP_SENT)},
    {E(RTU), S(REP_RCVD) | S(MRA_REP_SENT) | S(ESTABLISHED), TO(ESTABLISHED)},
    {E(DREQ), S(ESTABLISHED) | S(REP_SENT) | S(MRA_REP_RCVD), TO(DREQ_SENT)},
    {E(DREP), S(DREQ_RCVD), TO(TIMEWAIT)},
    {E(DREP), S(TIMEWAIT) | S(IDLE), STAY},
    {E(SIDR_REQ), S(IDLE), TO(SIDR_REQ_SENT)},
    {E(SIDR_REP), S(SIDR_REQ_RCVD), TO(IDLE)},
    {E(PATH), ANY_STATE, STAY},
};

/* cm_req_handler() and so on. What Linux counts as a duplicate, or drops without a word, stays. */
static const transition_t received[] = {
    {E(REQ), S(IDLE), TO(REQ_RCVD)},
    {E(REQ), ANY_STATE, STAY},
    {E(MRA_REQ), S(REQ_SENT) | S(MRA_REQ_RCVD), TO(MRA_REQ_RCVD)},
    {E(MRA_REP), S(REP_SENT) | S(MRA_REP_RCVD), TO(MRA_REP_RCVD)},
    {E(MRA_REP) | E(MRA_OTHER), S(ESTABLISHED), STAY},
    /* A client that has no answer yet takes none that names an ID of the server, and the reverse
     * (cm_acquire_rejected_id()). */
    {E(REJ_REQ), S(REQ_SENT) | S(MRA_REQ_RCVD), TO(IDLE)},
    {E(STALE_REQ), S(REQ_SENT) | S(MRA_REQ_RCVD), TO(TIMEWAIT)},
    {LATER, S(REQ_SENT) | S(MRA_REQ_RCVD), STAY},
    {E(REJ_REP) | E(REJ_OTHER), S(REP_SENT) | S(MRA_REP_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT),
     TO(IDLE)},
    {LATER, S(REP_SENT) | S(MRA_REP_RCVD) | S(REQ_RCVD) | S(MRA_REQ_SENT) | S(DREQ_SENT) |
                S(REP_RCVD) | S(MRA_REP_SENT) | S(ESTABLISHED), TO(TIMEWAIT)},
    {E(REP), S(REQ_SENT) | S(MRA_REQ_RCVD), TO(REP_RCVD)},
    {E(RTU), S(REP_SENT) | S(MRA_REP_RCVD), TO(ESTABLISHED)},
    {E(RTU), S(ESTABLISHED) | S(DREQ_SENT) | S(DREQ_RCVD) | S(TIMEWAIT), STAY},
    {E(DREQ), S(REP_SENT) | S(MRA_REP_RCVD) | S(ESTABLISHED) | S(DREQ_SENT), TO(DREQ_RCVD)},
    {E(DREQ), S(DREQ_RCVD) | S(TIMEWAIT) | S(IDLE), STAY},
    {E(DREP), S(DREQ_SENT) | S(DREQ_RCVD), TO(TIMEWAIT)},
    {E(DREP), S(TIMEWAIT) | S(IDLE), STAY},
    {E(SIDR_REQ), S(IDLE), TO(SIDR_REQ_RCVD)},
    {E(SIDR_REP), S(SIDR_REQ_SENT), TO(IDLE)},
    {E(PATH), ANY_STATE, STAY},
};

/* The state after a message that an end sends or receives, whatever came before. */
static const struct {
    uint8_t sent, received;
} proved[] = {
    [SMCR_CM_EVENT_REQ] = {TO(REQ_SENT), TO(REQ_RCVD)},
    [SMCR_CM_EVENT_MRA_REQ] = {TO(MRA_REQ_SENT), TO(MRA_REQ_RCVD)},
    [SMCR_CM_EVENT_MRA_REP] = {TO(MRA_REP_SENT), TO(MRA_REP_RCVD)},
    [SMCR_CM_EVENT_MRA_OTHER] = {NOTHING, NOTHING},
    [SMCR_CM_EVENT_REJ_REQ] = {TO(IDLE), TO(IDLE)},
    [SMCR_CM_EVENT_REJ_REP] = {TO(IDLE), TO(IDLE)},
    [SMCR_CM_EVENT_REJ_OTHER] = {NOTHING, NOTHING},
    [SMCR_CM_EVENT_STALE_REQ] = {TO(IDLE), TO(TIMEWAIT)},
    [SMCR_CM_EVENT_STALE_REP] = {NOTHING, TO(TIMEWAIT)},
    [SMCR_CM_EVENT_STALE_OTHER] = {NOTHING, NOTHING},
    [SMCR_CM_EVENT_REP] = {TO(REP_SENT), TO(REP_RCVD)},
    [SMCR_CM_EVENT_RTU] = {TO(ESTABLISHED), TO(ESTABLISHED)},
    [SMCR_CM_EVENT_DREQ] = {TO(DREQ_SENT), TO(DREQ_RCVD)},
    [SMCR_CM_EVENT_DREP] = {TO(TIMEWAIT), TO(TIMEWAIT)},
    [SMCR_CM_EVENT_SIDR_REQ] = {TO(SIDR_REQ_SENT), TO(SIDR_REQ_RCVD)},
    [SMCR_CM_EVENT_SIDR_REP] = {TO(IDLE), TO(IDLE)},
    [SMCR_CM_EVENT_PATH] = {NOTHING, NOTHING},
};

smcr_cm_event_t
smcr_cm_event_of(const smcr_cm_message_t *message)
{
    static const smcr_cm_event_t events[] = {
        [SMCR_IB_CM_REQ - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_REQ,
        [SMCR_IB_CM_MRA - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_MRA_REQ,
        [SMCR_IB_CM_REJ - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_REJ_REQ,
        [SMCR_IB_CM_REP - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_REP,
        [SMCR_IB_CM_RTU - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_RTU,
        [SMCR_IB_CM_DREQ - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_DREQ,
        [SMCR_IB_CM_DREP - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_DREP,
        [SMCR_IB_CM_SIDR_REQ - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_SIDR_REQ,
        [SMCR_IB_CM_SIDR_REP - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_SIDR_REP,
        [SMCR_IB_CM_LAP - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_PATH,
        [SMCR_IB_CM_APR - SMCR_IB_CM_REQ] = SMCR_CM_EVENT_PATH,
    };
    smcr_cm_event_t event = events[message->attribute - SMCR_IB_CM_REQ];

    if (message->attribute == SMCR_IB_CM_REJ && message->reason == SMCR_IB_CM_REASON_STALE_CONN)
        event = SMCR_CM_EVENT_STALE_REQ;
    if (message->attribute == SMCR_IB_CM_REJ || message->attribute == SMCR_IB_CM_MRA)
        event += MIN(message->answered, SMCR_IB_CM_ANSWERS_OTHER);
    return event;
}

/* The state that the rules give, NOTHING when there is none for this state. */
static uint8_t
next_of(const transition_t *transitions, unsigned count, smcr_cm_event_t event, uint8_t state)
{
    for (unsigned i = 0; i < count; i++)
        if ((transitions[i].events >> event & 1) && (transitions[i].states >> state & 1))
            return transitions[i].next == STAY ? state : transitions[i].next;
    return NOTHING;
}

#define WHEN(transitions, event, state) \
    next_of(transitions, G_N_ELEMENTS(transitions), event, state)

static void
enter(smcr_cm_end_t *end, uint8_t state)
{
    if (state == NOTHING)
        return;
    end->state = state;
    end->state_known = true;
}

/* The message left before the one that the end received last arrived. */
static bool
crosses(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    uint8_t next = end->last_event ? WHEN(sent, event, end->before) : NOTHING;

    if (next == NOTHING)
        return false;
    uint8_t then = WHEN(received, (smcr_cm_event_t)end->last_event, next);
    end->before = next;
    enter(end, then == NOTHING ? next : then);
    return true;
}

smcr_cm_move_t
smcr_cm_end_sends(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    uint8_t next = end->state_known ? WHEN(sent, event, end->state) : proved[event].sent;
    bool ruled = !end->state_known || next != NOTHING;

    if (!ruled && crosses(end, event))
        return SMCR_CM_CROSSED;
    end->last_event = SMCR_CM_EVENT_NONE;
    if (!ruled) { /* it went on from a later state only if the capture has a message too late */
        bool rejects = ((REJECTED | STALE) >> event & 1) && end->state >= TO(ESTABLISHED);
        next = rejects ? TO(TIMEWAIT) : proved[event].sent;
        if (next != NOTHING)
            next = MAX(next, end->state);
    }
    enter(end, next);
    return ruled ? SMCR_CM_AS_RULED : SMCR_CM_UNEXPECTED;
}

smcr_cm_move_t
smcr_cm_end_receives(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    bool known = end->state_known;
    uint8_t next = known ? WHEN(received, event, end->state) : proved[event].received;
    bool ruled = !known || next != NOTHING;
    uint8_t proof = proved[event].received;

    /* Messages are missing that took it on; one that is idle has ended. */
    if (!ruled && end->state != TO(IDLE) && proof != NOTHING && proof > end->state)
        next = proof;
    if (next != NOTHING && next != end->state) {
        end->before = end->state;
        end->last_event = known ? (uint8_t)event : SMCR_CM_EVENT_NONE;
    }
    enter(end, next);
    return ruled ? SMCR_CM_AS_RULED : SMCR_CM_UNEXPECTED;
}

void
smcr_cm_end_sends_again(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    static const uint16_t waits[] = {
        [SMCR_CM_EVENT_REQ] = S(REQ_SENT) | S(MRA_REQ_RCVD),
        [SMCR_CM_EVENT_REP] = S(REP_SENT) | S(MRA_REP_RCVD),
        [SMCR_CM_EVENT_DREQ] = S(DREQ_SENT),
        [SMCR_CM_EVENT_SIDR_REQ] = S(SIDR_REQ_SENT),
        [SMCR_CM_EVENT_PATH] = 0,
    };

    if (end->last_event && (waits[event] >> end->before & 1) && !(waits[event] >> end->state & 1)) {
        end->last_event = SMCR_CM_EVENT_NONE; /* it waits for the answer, which did not arrive */
        enter(end, end->before);
    } else if (end->state_known && ((REJECTED | STALE | E(SIDR_REP)) >> event & 1)) {
        enter(end, WHEN(sent, event, end->state));
    }
}
