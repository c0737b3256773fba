/* What CDC messages may say: sequence numbers, cursors, and nothing after the end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- sequence numbers ---- */

/* They begin at 1. On another link than that of CLC the first ones may have failed before: Linux
 * has counted them (smc_switch_cursor()). (R-4.3-1) */
SMCR_RULES_CDC(number)
{
    smcr_lgr_t *lgr = conn->lgr;

    if (message->cdc->seq == 1 || message->sender->announced.qp != arrival->qp ||
        !message->receiver->announced.qp)
        return;
    smcr_breach(arrival, SMCR_EVENT_cdc_first_number, smcr_doubt_group(arrival, lgr),
                "The first CDC message of its sender has sequence number %u", message->cdc->seq);
}

/* They grow by one. Where requests are absent, or failed on another link, those may be the messages
 * in between. (R-4.3-2) */
SMCR_RULES_CDC(step)
{
    unsigned before = message->sender->cdc_said, now = message->cdc->seq;

    if (message->step <= 0 && !message->replayed && !message->sender->is_new)
        smcr_event_add(arrival, SMCR_EVENT_cdc_seq_backwards,
                       "Sequence number %u follows %u, which frame %u had", now, before,
                       message->sender->cdc_frame);
    else if (message->step > 1 && (message->follows.kind || message->replayed))
        smcr_event_add(arrival, SMCR_EVENT_cdc_seq_gap,
                       "Sequence number %u follows %u: CDC messages before this one are missing",
                       now, before);
    else if (message->step > 1 && !message->sender->is_new)
        smcr_breach(arrival, SMCR_EVENT_cdc_seq_skipped, message->follows,
                    "Sequence number %u follows %u, though no packet is missing", now, before);
}

/* ---- cursors ---- */

/* A cursor is within its element, behind an eyecatcher. One that has not moved may be 0. The wrap
 * count grows by one when the cursor wraps, and only then: a message moves the cursor by one round
 * at most. No cursor goes back behind that of the message before, whatever the size of its element.
 * (R-A.4-5, R-4.3-3, R-A.4-7, R-A.4-9) */
static void
check_cursor(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
             const smcr_rules_cdc_t *message, const char *name,
             const smcr_evidence_cursor_t *cursor, int owner, smcr_cursor_t before,
             smcr_cursor_t now)
{
    smcr_ring_fault_t fault = cursor->told ? SMCR_RING_FAULT_NONE : cursor->fault;

    if (fault == SMCR_RING_FAULT_OUTSIDE && !conn->side[owner].size)
        smcr_breach(arrival, SMCR_EVENT_cdc_cursor_range, message->follows,
                    "The %s cursor is %u: no RMB element is so large", name, now.count);
    else if (fault == SMCR_RING_FAULT_OUTSIDE)
        smcr_breach(arrival, SMCR_EVENT_cdc_cursor_range, message->follows,
                    "The %s cursor is %u, but the data of the RMB element lie from %u to %u", name,
                    now.count, conn->lgr->base[owner], conn->side[owner].size - 1);
    else if (fault == SMCR_RING_FAULT_BACK)
        smcr_breach(arrival, SMCR_EVENT_cdc_cursor_backwards, smcr_doubt_message(arrival),
                    "The %s cursor is behind that of the message before", name);
    else if (fault == SMCR_RING_FAULT_ROUND)
        smcr_breach(arrival, SMCR_EVENT_cdc_wrap, message->follows,
                    "The %s cursor goes from %u:%u to %u:%u, more than one round", name,
                    before.wrap, before.count, now.wrap, now.count);
}

SMCR_RULES_CDC(cursors)
{
    int receiver = arrival->qp->side;
    const smcr_evidence_cursors_t *known = message->known;

    check_cursor(arrival, conn, message, "producer", &known->prod, receiver, message->sender->prod,
                 message->cdc->prod);
    check_cursor(arrival, conn, message, "consumer", &known->cons, !receiver, message->sender->cons,
                 message->cdc->cons);
}

/* ---- cursors of the two sides ---- */

const smcr_rules_goal_t *
smcr_rules_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side, bool announced,
                uint64_t end)
{
    smcr_rules_side_t *kept = smcr_rules_side(arrival, conn, side);
    smcr_rules_goal_t **goal = announced ? &kept->announced : &kept->consumed;

    if (!*goal || (*goal)->when) { /* else the first one will do */
        *goal = smcr_state_alloc0(arrival->state, sizeof **goal);
        (*goal)->end = end;
    }
    return *goal;
}

/* Whether the connection has never left its link: later, what was sent before may come again. */
static bool
stays(const smcr_conn_t *conn)
{
    return !conn->side[0].moved_frame && !conn->side[1].moved_frame;
}

/* Data are written before they are announced. RDMA WRITEs before the first message may have come
 * before CLC tells whose they are, where TCP and RoCE were captured at two places. (R-2.1-7) */
SMCR_RULES_CDC(unseen)
{
    const smcr_evidence_cursor_t *prod = &message->known->prod;
    uint64_t announced = message->receiver->in.announced;
    bool first = !message->receiver->heard.qp;

    if (!prod->over || prod->end == announced || (prod->believed && !message->known->placed))
        return;
    uint64_t bytes = MIN(prod->over, prod->end - announced);
    if (stays(conn) && !smcr_doubt_conn(arrival, conn).kind &&
        !(first && smcr_doubt_place(arrival).kind))
        smcr_event_add(arrival, SMCR_EVENT_cdc_announced_early,
                       "The message announces %" G_GUINT64_FORMAT " bytes before they are written",
                       bytes);
    else
        smcr_event_add(arrival, SMCR_EVENT_cdc_unseen_data,
                       "No RDMA WRITE so far carries %" G_GUINT64_FORMAT
                       " of the bytes that the message announces", bytes);
}

/* The producer cursor does not pass the consumer cursor. WRITEs that do show it. (R-A.4-6) */
SMCR_RULES_CDC(writer)
{
    const smcr_evidence_cursor_t *prod = &message->known->prod;
    const smcr_stream_t *out = &message->receiver->in;
    uint64_t limit = out->consumed + smcr_ring_room(&out->ring);

    if (!prod->known || prod->end == out->announced || !message->known->current ||
        !smcr_ring_room(&out->ring) || prod->end <= limit || out->written > limit || !stays(conn))
        return;
    const smcr_rules_goal_t *goal =
        smcr_rules_goal(arrival, conn, arrival->qp->side, false, prod->end - limit + out->consumed);
    smcr_breach(arrival, SMCR_EVENT_cdc_cursor_ahead, smcr_doubt_other(arrival, conn, &goal->when),
                "The producer cursor passes the consumer cursor of the reader");
}

/* Nobody reads what was not announced to him. (R-A.4-8) */
SMCR_RULES_CDC(reader)
{
    const smcr_evidence_cursor_t *cons = &message->known->cons;
    int reader = !arrival->qp->side;

    if (!cons->over || cons->told || !smcr_evidence_is_current(conn, reader) ||
        (!message->sender->in.announced && smcr_doubt_conn(arrival, conn).kind))
        return;
    const smcr_rules_goal_t *goal = smcr_rules_goal(arrival, conn, reader, true, cons->end);
    smcr_doubt_t doubt = smcr_doubt_other(arrival, conn, &goal->when);
    if (stays(conn) && !doubt.kind)
        smcr_breach(arrival, SMCR_EVENT_cdc_read_unsent, doubt,
                    "The consumer cursor is ahead of the producer cursor");
    else
        smcr_event_add(arrival, SMCR_EVENT_cdc_read_too_far, NULL);
}

static void
note_reached(const smcr_arrival_t *arrival, smcr_rules_goal_t *goal, uint64_t position)
{
    if (goal && !goal->when && position >= goal->end)
        goal->when = arrival->when.time;
}

/* The message has moved the cursors of both streams. */
SMCR_RULES_CDC(reached)
{
    for (int side = 0; side < 2; side++) {
        const smcr_rules_side_t *kept = smcr_rules_of_side(conn, side);
        const smcr_stream_t *in = &conn->side[side].in;
        note_reached(arrival, kept->announced, in->announced);
        note_reached(arrival, kept->consumed, in->consumed);
    }
}

/* Follows one message that announces data, until the reader has read them. */
SMCR_RULES_CDC(probe)
{
    const smcr_record_cdc_t *view = arrival->record->view;
    const smcr_stream_t *out = &message->receiver->in;

    if (!arrival->roce || !view || view->len == 0)
        return;
    smcr_rules_probe_t *probe = &smcr_rules_conn(arrival, conn)->probe[arrival->qp->side];
    if (probe->end && (!probe->sent_message.acked || probe->end > out->consumed))
        return;
    probe->end = out->announced;
    smcr_arrival_track(arrival, &probe->sent_message);
}

/* ---- urgent data ---- */

/* With urgent data present the producer cursor has advanced to the byte behind them. The flag may
 * stay on until the next data. (R-4.7.5-4) */
SMCR_RULES_CDC(urgent)
{
    smcr_cursor_t before = message->sender->prod, now = message->cdc->prod;
    bool present = (message->cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT) != 0;
    bool again = (message->sender->cdc_flags & SMCR_CDC_FLAG_URGENT_PRESENT) != 0;

    if (present && !again && message->step == 1 && !message->replayed && before.wrap == now.wrap &&
        before.count == now.count)
        smcr_breach(arrival, SMCR_EVENT_cdc_urgent_flags, message->follows,
                    "Urgent data are present, but the producer cursor is where it was before");
}

/* The piece is new, and goes behind urgent data whose reader has sent nothing since: the writer
 * waits until the reader says that it has them. Any message of the reader may say so.
 * (R-4.7.5-2) */
SMCR_RULES_WRITE(urgent)
{
    const smcr_conn_t *conn = write->conn;
    const smcr_place_t *place = write->place;
    const uint64_t *answer = smcr_rules_of_side(conn, arrival->qp->side)->urgent_answer;
    const smcr_stream_t *stream = &conn->side[arrival->qp->side].in;

    if (answer && *answer == 0 && place->position >= stream->stalls->urgent &&
        smcr_place_piece(place).rewritten == 0 && stays(conn))
        smcr_breach(arrival, SMCR_EVENT_cdc_urgent_overrun, smcr_doubt_other(arrival, conn, answer),
                    "The writer does not wait until its urgent data have been taken");
}

/* The reader tells at once that it has urgent data, whatever space there is. Linux waits until its
 * program has read them. The flag may go on behind them. (R-4.7.5-3) */
SMCR_RULES_CDC(urgent_answer)
{
    const smcr_record_cdc_t *view = arrival->record->view;
    int reader = arrival->qp->side;

    if (!(message->cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT) || !view || view->len == 0)
        return;
    uint64_t deadline = arrival->when.time + SMCR_TIME_SECOND;
    uint64_t *answer = smcr_state_alloc0(arrival->state, sizeof *answer);
    smcr_doubt_proof_t claim = smcr_doubt_not_by(answer, deadline);

    smcr_rules_side(arrival, conn, reader)->urgent_answer = answer;
    claim.deadline = deadline;
    smcr_breach(arrival, SMCR_EVENT_cdc_urgent_unanswered,
                smcr_doubt_answer(arrival, conn, reader, claim),
                "For a second the reader does not tell that it has the urgent data; Linux waits "
                "until its program has read them (smc_rx_update_consumer())");
}

/* The reader of urgent data sends something. */
SMCR_RULES_CDC(heard)
{
    uint64_t *answer = smcr_rules_of_side(conn, !arrival->qp->side)->urgent_answer;

    if (answer && *answer == 0)
        *answer = arrival->when.time;
}

/* ---- whose message ---- */

/* The side of the group that is the same host as `side` of the other one. */
static int
same_host(const smcr_lgr_t *lgr, int side, const smcr_lgr_t *other)
{
    for (int i = 0; i < 2; i++)
        if (memcmp(lgr->peer_id[side], other->peer_id[i], SMCR_WIRE_PEER_ID_LENGTH) == 0 &&
            memcmp(lgr->peer_id[!side], other->peer_id[!i], SMCR_WIRE_PEER_ID_LENGTH) == 0)
            return i;
    return SMCR_LGR_SIDE_UNKNOWN;
}

/* Whether the message goes on in that group: it is the next one of a connection that is open. */
static bool
goes_on_in(const smcr_arrival_t *arrival, const smcr_lgr_t *other, const smcr_cdc_t *cdc)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    int side = other == lgr ? SMCR_LGR_SIDE_UNKNOWN : same_host(lgr, arrival->qp->side, other);
    const smcr_conn_t *conn =
        side < 0 ? NULL : smcr_conn_find(arrival->state, other, side, cdc->token);
    const smcr_conn_side_t *sender = conn ? &conn->side[!side] : NULL;

    return sender && sender->cdc_frame && conn->confirm_frame &&
           !smcr_conn_side_has_ended(sender) && smcr_conn_side_step(sender, cdc->seq) == 1;
}

/* Whether the message is the first sign of its connection. */
static bool
is_first_sign(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_point_t *since = &conn->side[arrival->qp->side].since;

    return !conn->accept_frame && !conn->confirm_frame && !conn->side[0].cdc_frame &&
           !conn->side[1].cdc_frame && since->qp == arrival->qp && since->psn + 1 == arrival->psn;
}

/* A message travels in the group whose CLC has announced its token. Where the capture has all of a
 * group but lacks CLC of a connection, its first message has number 1. (R-A.4-4) */
SMCR_RULES_CDC(token)
{
    unsigned found = 0;

    if (message->cdc->seq == 1 || !is_first_sign(arrival, conn))
        return;
    SMCR_LIST_EACH(const smcr_lgr_t *, lgr, arrival->state->lgrs)
        found += goes_on_in(arrival, lgr, message->cdc);
    if (found == 1)
        smcr_breach(arrival, SMCR_EVENT_cdc_other_group,
                    smcr_doubt_group(arrival, arrival->qp->link->lgr),
                    "The connection with this token belongs to another link group of the hosts");
}

/* Whether the capture lacks the Confirm. */
SMCR_DOUBT_CLAIM(confirm_is_absent, const smcr_conn_t *conn, !conn->confirm_frame)

/* The client sends its Confirm before its data. (R-3.5.2-7) */
SMCR_RULES_CDC(confirmed)
{
    smcr_doubt_proof_t claim = {.has_come = confirm_is_absent, .about = conn};
    int side = arrival->qp->side;

    if (!conn->accept_frame || conn->confirm_frame || conn->lgr->server != side)
        return;
    smcr_breach(arrival, SMCR_EVENT_cdc_before_confirm,
                smcr_doubt_or(smcr_doubt_place(arrival),
                              smcr_doubt_later(arrival, conn->lgr, !side, claim)),
                "The client sends this before its Confirm, or TCP and RoCE were captured at two "
                "places");
}

/* ---- nothing after the end ---- */

/* After connection closed a side sends nothing more but an abort; after that, nothing at all. After
 * sending done it writes no more data, so it announces none. Where the reader's element was full
 * when the sender spoke last, Linux goes on with what it has queued, whatever it has said
 * (smc_cdc_msg_recv_action(), smc_tx_pending()): the NOTE smcr.write.after_close tells of that.
 * (R-4.8.1-1, R-4.8.1-2, R-4.8.2-3) */
SMCR_RULES_CDC(end)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_stream_t *in = &message->receiver->in;
    bool aborts = (message->cdc->state & SMCR_CDC_STATE_ABORT) != 0;

    if (sender->abort_frame)
        smcr_breach(arrival, SMCR_EVENT_cdc_after_abort, message->follows,
                    "The sender aborted the connection in frame %u, but goes on, as Linux may do "
                    "(smc_tx_pending())", sender->abort_frame);
    else if (in->filled)
        return;
    else if (sender->closed_frame && !aborts)
        smcr_breach(arrival, SMCR_EVENT_cdc_after_close, message->follows,
                    "The sender closed the connection in frame %u, but goes on, as Linux may do "
                    "(smc_tx_pending())", sender->closed_frame);
    else if (sender->sending_done_frame && in->known && message->known->prod.believed &&
             smcr_ring_distance(&in->ring, sender->prod, message->cdc->prod) > 0)
        smcr_breach(arrival, SMCR_EVENT_cdc_after_done, message->follows,
                    "The message announces data, though its sender was done in frame %u, as Linux "
                    "may do (smc_tx_pending())", sender->sending_done_frame);
}

/* A side does not take back that it is done with sending. (R-4.8.1-7) */
SMCR_RULES_CDC(flags)
{
    const uint8_t ended =
        SMCR_CDC_STATE_SENDING_DONE | SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT;

    if (message->sender->cdc_state == SMCR_CDC_STATE_SENDING_DONE && !(message->cdc->state & ended))
        smcr_breach(arrival, SMCR_EVENT_cdc_flag_withdrawn, message->follows,
                    "Sending done was set in frame %u, and is no longer set",
                    message->sender->cdc_frame);
}

/* Who is offered an element in use aborts the connection that had it. That its sender knows of the
 * offer is proven by what it has sent on the next connection of the element. Told once of each.
 * (R-4.4.2-2) */
SMCR_RULES_CDC(reused)
{
    const smcr_conn_side_t *of = message->receiver;
    const smcr_conn_t *next = of->rmb ? smcr_rmb_conn(of->rmb, of->rmb_index) : NULL;
    int reader = arrival->qp->side;
    smcr_doubt_t doubt = smcr_doubt_conn(arrival, conn);

    if (!next || next == conn || !next->confirm_frame || !next->side[!reader].cdc_frame ||
        message->cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT) ||
        smcr_rules_of_side(conn, reader)->next == next)
        return;
    if (!doubt.kind)
        smcr_rules_side(arrival, conn, reader)->next = next;
    smcr_breach(arrival, SMCR_EVENT_cdc_after_reuse, doubt,
                "The RMB element belongs to connection %u by now, but the sender does not abort, "
                "as Linux, which does not look (smc_connect_rdma())", next->index);
}

/* ---- all messages ---- */

/* Which messages a check is asked of; see check_rows.def. */
enum { FIRST = 1, NEW = 2, OTHER = 4, BUT_FIRST = NEW | OTHER, ALL = FIRST | BUT_FIRST };

/* Whether it is the sender's next message on the same link, or its first one. */
static smcr_doubt_t
doubt_next(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_point_t *before = smcr_evidence_last_to(&conn->side[arrival->qp->side]);
    smcr_point_t other_link = {0};

    if (!conn->side[!arrival->qp->side].cdc_frame && smcr_evidence_is_next(arrival, conn))
        return smcr_doubt_message(arrival);
    return smcr_doubt_since(arrival, before->qp == arrival->qp ? before : &other_link);
}

void
smcr_rules_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
               const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    smcr_rules_cdc_t message = {sender, &conn->side[arrival->qp->side], cdc, known, 0,
                                false,  {SMCR_DOUBT_NONE, NULL}};
    unsigned kind = ALL;

    if (when == SMCR_RULES_PLACED) {
        message.step = smcr_conn_side_step(sender, cdc->seq);
        message.replayed = sender->moved_frame > sender->cdc_frame;
        message.follows = doubt_next(arrival, conn);
        kind = !sender->cdc_frame                         ? FIRST
               : message.step <= 0 || sender->moved_frame ? OTHER /* it may come again */
                                                          : NEW;
    }
#define SMCR_RULES_CDC_CHECK(step, which, check) \
    if (when == SMCR_RULES_##step && kind & (which)) \
        smcr_rules_cdc_##check(arrival, conn, &message);
#include "check_rows.def"
}
