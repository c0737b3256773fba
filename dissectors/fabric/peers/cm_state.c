/* Changes the state of an end by the rules of Linux for sending and receiving. If messages are
 * missing in the capture, no rule may fit; then the new state is the state that the message itself
 * proves. If two messages cross on the wire, their order in the capture may differ from their order
 * at the sender of one of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm_state.h"

#define NOTHING 0xff /* the message proves no state */
#define STAY 0xfe    /* the state does not change */

#define E(event) (1U << SMCR_CM_EVENT_##event)    /* the bit of a kind of message */
#define S(state) (1U << SMCR_IB_CM_STATE_##state) /* the bit of a state */
#define TO(state) SMCR_IB_CM_STATE_##state        /* the number of a state */
#define REJECTED (E(REJ_REQ) | E(REJ_REP) | E(REJ_OTHER))
#define STALE (E(STALE_REQ) | E(STALE_REP) | E(STALE_OTHER))
/* REJs that answer another message than a REQ. */
#define LATER (E(REJ_REP) | E(REJ_OTHER) | E(STALE_REP) | E(STALE_OTHER))
#define ANY_STATE 0xffffU

/* A rule for a change of state. If several rules fit, the first counts. */
typedef struct {
    uint32_t events; /* bits E() of the messages that the rule is for */
    uint32_t states; /* bits S() of the states before the message */
    uint8_t next;    /* state after the message, or STAY */
} transition_t;

/* Rules for a sender: ib_send_cm_req() and the other functions that send. Answers to retransmitted
 * messages: cm_dup_req_handler(), cm_dup_rep_handler(), cm_issue_rej(), cm_issue_drep(). Data that
 * arrives after the REP was sent establishes the connection as an RTU does (cm_establish()), so a
 * DREQ may follow the REP. */
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

/* Rules for a receiver: cm_req_handler() and the other handlers. A message that Linux counts as a
 * duplicate, or drops without an answer, changes nothing. */
static const transition_t received[] = {
    {E(REQ), S(IDLE), TO(REQ_RCVD)},
    {E(REQ), ANY_STATE, STAY},
    {E(MRA_REQ), S(REQ_SENT) | S(MRA_REQ_RCVD), TO(MRA_REQ_RCVD)},
    {E(MRA_REP), S(REP_SENT) | S(MRA_REP_RCVD), TO(MRA_REP_RCVD)},
    {E(MRA_REP) | E(MRA_OTHER), S(ESTABLISHED), STAY},
    /* A client that has no REP yet accepts only a REJ that answers its REQ. Any other REJ names an
     * ID of the server, which the client does not know yet (cm_acquire_rejected_id()). A server
     * accepts only a REJ that answers another message than a REQ. */
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

/* By kind of message: the states of its sender and its receiver after the message, which the
 * message proves whatever the states before it were. */
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

/* The events of an MRA and of a REJ lie in the order of the message that they answer (enum
 * smcr_ib_cm_answered). A reserved value counts as "other". */
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

/* Returns the state that follows from `state` and `event` by the rules `transitions`; NOTHING: no
 * rule fits the event and the state. */
static uint8_t
next_state(const transition_t *transitions, unsigned count, smcr_cm_event_t event, uint8_t state)
{
    for (unsigned i = 0; i < count; i++)
        if ((transitions[i].events >> event & 1) && (transitions[i].states >> state & 1))
            return transitions[i].next == STAY ? state : transitions[i].next;
    return NOTHING;
}

#define NEXT_STATE(transitions, event, state) \
    next_state(transitions, G_N_ELEMENTS(transitions), event, state)

/* Sets the state of the end to `state`. Does nothing if `state` is NOTHING. */
static void
enter_state(smcr_cm_end_t *end, uint8_t state)
{
    if (state == NOTHING)
        return;
    end->state = state;
    end->state_known = true;
}

/* Whether the message that the end sends has crossed the message that it received last. No rule
 * fits the state after the received message, but a rule fits the state before the received message.
 * So the end has sent its message first and received the other message second. The function sets
 * the state that follows from this order. */
static bool
take_crossed(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    uint8_t next = end->last_event ? NEXT_STATE(sent, event, end->previous_state) : NOTHING;

    if (next == NOTHING)
        return false;
    uint8_t then = NEXT_STATE(received, (smcr_cm_event_t)end->last_event, next);
    end->previous_state = next;
    enter_state(end, then == NOTHING ? next : then);
    return true;
}

/* The state of an end after it has sent a message that no rule allows in its state: earlier
 * messages are missing in the capture. If the end's state is later than the state that the message
 * proves, the state does not change, because this message is out of order in the capture. But a
 * rejection ends a connection that is established or later: TIMEWAIT. Returns NOTHING if the
 * message proves no state. */
static uint8_t
state_after_unruled(const smcr_cm_end_t *end, smcr_cm_event_t event)
{
    bool rejects = (REJECTED | STALE) >> event & 1;
    uint8_t next = proved[event].sent;

    if (rejects && end->state >= TO(ESTABLISHED))
        next = TO(TIMEWAIT);
    return next == NOTHING ? next : MAX(next, end->state);
}

/* If no rule fits the message and the state of the end, a rule for the end's previous state may
 * fit: the message has then crossed a message of the peer (take_crossed()). */
smcr_cm_move_t
smcr_cm_end_sends(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    uint8_t next = end->state_known ? NEXT_STATE(sent, event, end->state) : proved[event].sent;
    bool ruled = !end->state_known || next != NOTHING;

    if (!ruled && take_crossed(end, event))
        return SMCR_CM_CROSSED;
    end->last_event = SMCR_CM_EVENT_NONE;
    enter_state(end, ruled ? next : state_after_unruled(end, event));
    return ruled ? SMCR_CM_AS_RULED : SMCR_CM_UNEXPECTED;
}

/* The state of an end after it has received a message that no rule allows in its state: earlier
 * messages are missing in the capture. The end gets the state that the message proves, if this is a
 * later state than its own. The state of an end that is idle does not change: its connection is
 * over. NOTHING: no change. */
static uint8_t
state_after_surprise(const smcr_cm_end_t *end, smcr_cm_event_t event)
{
    uint8_t proof = proved[event].received;

    return end->state != TO(IDLE) && proof > end->state ? proof : NOTHING;
}

/* An end whose state is not known takes the state that the message proves. If no rule allows the
 * message in a known state, the end moves only forward (state_after_surprise()). */
smcr_cm_move_t
smcr_cm_end_receives(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    bool known = end->state_known;
    uint8_t next = known ? NEXT_STATE(received, event, end->state) : proved[event].received;
    bool ruled = !known || next != NOTHING;

    if (!ruled)
        next = state_after_surprise(end, event);
    if (next != NOTHING && next != end->state) {
        end->previous_state = end->state;
        end->last_event = known ? (uint8_t)event : SMCR_CM_EVENT_NONE;
    }
    enter_state(end, next);
    return ruled ? SMCR_CM_AS_RULED : SMCR_CM_UNEXPECTED;
}

/* An event without an entry in `waits` has no state that waits for an answer; SMCR_CM_EVENT_PATH,
 * the last event, gives the table its size. Only `previous_state` is kept of the past, so an end
 * can go back by one step. */
void
smcr_cm_end_retransmits(smcr_cm_end_t *end, smcr_cm_event_t event)
{
    /* by request: the states in which the sender of the request waits for the answer */
    static const uint16_t waits[] = {
        [SMCR_CM_EVENT_REQ] = S(REQ_SENT) | S(MRA_REQ_RCVD),
        [SMCR_CM_EVENT_REP] = S(REP_SENT) | S(MRA_REP_RCVD),
        [SMCR_CM_EVENT_DREQ] = S(DREQ_SENT),
        [SMCR_CM_EVENT_SIDR_REQ] = S(SIDR_REQ_SENT),
        [SMCR_CM_EVENT_PATH] = 0,
    };

    bool waited = waits[event] >> end->previous_state & 1;
    bool waits_now = waits[event] >> end->state & 1;

    if (end->last_event && waited && !waits_now) { /* the end retransmits its request, so it has not
                                                      received the answer, though the capture has
                                                      the answer */
        end->last_event = SMCR_CM_EVENT_NONE;
        enter_state(end, end->previous_state);
    } else if (end->state_known && ((REJECTED | STALE | E(SIDR_REP)) >> event & 1)) {
        enter_state(end, NEXT_STATE(sent, event, end->state));
    }
}
