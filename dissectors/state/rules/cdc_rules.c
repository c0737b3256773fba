/* Rules for the contents of CDC messages: sequence numbers, cursors, urgent data, and nothing after
 * the end (RFC 7609 4.3 to 4.8, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- sequence numbers ---- */

/* The sequence numbers of a sender begin at 1 on each connection (R-4.3-1). The first CDC message
 * of a sender breaks the rule if it has another number, and no packet of the group is missing. Only
 * messages on the link that CLC has named are judged, and only if Accept and Confirm are captured.
 * On another link the first number may be higher: earlier messages may have failed, and Linux
 * counts failed messages, too (smc_switch_cursor()). */
SMCR_RULES_CDC(check_first_number)
{
    smcr_lgr_t *lgr = conn->lgr;

    if (message->cdc->is_immediate) /* it has no number */
        return;
    if (message->cdc->seq == 1 || message->sender->announced_at.qp != arrival->qp ||
        !message->receiver->announced_at.qp)
        return;
    smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_first_number, smcr_doubt_group(arrival, lgr),
                              "The first CDC message of its sender has sequence number %u",
                              message->cdc->seq);
}

/* Reports a sequence number that is not higher than the number of the sender's last message.
 * Nothing is reported in two cases: 1. the sender may send messages once more after a move; 2. the
 * cursors of the sender's last message could not be checked (`unverified`). */
static void
check_number_back(const smcr_arrival_t *arrival, const smcr_rules_cdc_t *message)
{
    if (!message->cursors->left && !message->sender->unverified)
        smcr_event_add(arrival, SMCR_EVENT_cdc_seq_backwards,
                       "Sequence number %u follows %u, which frame %u had", message->cdc->seq,
                       message->sender->cdc_seq_actual, message->sender->last_cdc_frame);
}

/* Reports a sequence number that is more than one higher than the number of the sender's last
 * message. If CDC messages between these two messages may be missing in the capture, the event is a
 * NOTE. Otherwise the message breaks the rule. But if the cursors of the sender's last message
 * could not be checked (`unverified`), nothing is reported. */
static void
check_number_ahead(const smcr_arrival_t *arrival, const smcr_rules_cdc_t *message)
{
    unsigned before = message->sender->cdc_seq_actual, now = message->cdc->seq;

    if (message->cursors->next.kind || message->cursors->left)
        smcr_event_add(arrival, SMCR_EVENT_cdc_seq_gap,
                       "Sequence gap: number %u follows %u, CDC messages in between are missing",
                       now, before);
    else if (!message->sender->unverified)
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_seq_skipped, message->cursors->next,
                                  "Sequence number %u follows %u, although no packet is "
                                  "missing", now,
                                  before);
}

/* Sequence numbers grow by one (R-4.3-2). A message breaks the rule if its number is the same,
 * lower, or more than one higher than the number of the sender's previous message. Three
 * exceptions:
 *
 * - Messages with the numbers in between may be missing in the capture, or may have failed on
 *   another link. Then the event is a NOTE.
 * - After a move the sender may send messages once more (4.6.2).
 * - The previous message is not verified (`unverified`), so its number is not used. */
SMCR_RULES_CDC(check_step)
{
    if (message->cdc->is_immediate) /* it has no number */
        return;
    if (message->cursors->seq_step <= 0)
        check_number_back(arrival, message);
    else if (message->cursors->seq_step > 1)
        check_number_ahead(arrival, message);
}

/* ---- cursors ---- */

/* A cursor of a message, with the cursor of the same kind in the sender's previous message. */
typedef struct {
    const char *name;                   /* "producer" or "consumer" */
    const smcr_evidence_cursor_t *held; /* result of the comparison of the cursor with earlier
                                           cursors and WRITEs */
    int owner;                          /* side whose RMB element the cursor points into */
    smcr_cursor_t before, now;          /* cursor in the sender's previous message, and in this
                                           message */
} moved_cursor_t;

/* Reports a cursor that points outside the data of its RMB element. `follows`: reason to doubt that
 * the message is the sender's next one after its last captured message. Without a reason the breach
 * is proven. */
static void
report_outside(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_doubt_t follows,
               const moved_cursor_t *cursor)
{
    uint32_t size = conn->side[cursor->owner].size;

    if (!size)
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_cursor_range, follows,
                                  "The %s cursor is %u: no RMB element is so large", cursor->name,
                                  cursor->now.count);
    else
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_cursor_range, follows,
            "The %s cursor is %u, but the data of the RMB element lie from %u to %u", cursor->name,
            cursor->now.count, conn->lgr->base[cursor->owner], size - 1);
}

/* Three rules hold for each cursor. 1. It lies within its RMB element (R-A.4-5), after the
 * eyecatcher (R-4.3-3). A cursor that has not moved yet may be 0. 2. Its wrap count grows by one
 * only when the cursor wraps (R-A.4-7), so one message moves the cursor by at most one round. 3.
 * The cursor never goes back, whatever the size of its element (R-A.4-9). No breach is reported if
 * the earlier cursor is not proven (`may_be_right` of smcr_evidence_cursor_t).
 *
 * Example: the element has 16 KiB, and the cursor was 0:16000 (wrap count:offset). The next cursor
 * 1:100 is right, but 2:100 and 0:15000 break the rules. */
static void
check_cursor(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
             const smcr_rules_cdc_t *message, const moved_cursor_t *cursor)
{
    smcr_cursor_t before = cursor->before, now = cursor->now;

    if (cursor->held->may_be_right)
        return;
    switch (cursor->held->fault) {
    case SMCR_RING_FAULT_OUTSIDE:
        report_outside(arrival, conn, message->cursors->next, cursor);
        break;
    case SMCR_RING_FAULT_BACK:
        smcr_breach_report(arrival, SMCR_EVENT_cdc_cursor_backwards,
                           "The %s cursor is below that of the previous message", cursor->name);
        break;
    case SMCR_RING_FAULT_ROUND:
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_wrap, message->cursors->next,
                                  "The %s cursor goes from %u:%u to %u:%u, more than one round",
                                  cursor->name, before.wrap, before.count, now.wrap, now.count);
        break;
    case SMCR_RING_FAULT_NONE:
        break;
    }
}

/* The rules of check_cursor(), for both cursors of a message. The producer cursor points into the
 * RMB element of the message's receiver, the consumer cursor into the element of the sender. */
SMCR_RULES_CDC(check_cursors)
{
    int receiver = arrival->qp->side;
    const smcr_conn_side_t *sender = message->sender;
    const smcr_cdc_t *cdc = message->cdc;
    const moved_cursor_t producer = {"producer", &message->cursors->prod, receiver, sender->prod,
                                     cdc->prod};
    const moved_cursor_t consumer = {"consumer", &message->cursors->cons, !receiver, sender->cons,
                                     cdc->cons};

    check_cursor(arrival, conn, message, &producer);
    check_cursor(arrival, conn, message, &consumer);
}

/* ---- cursors of the two sides ---- */

/* At most one goal of each cursor is not reached yet. So an unreached goal stays, even if `end` is
 * beyond its position. */
const smcr_rules_goal_t *
smcr_rules_set_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side, bool announced,
                    uint64_t end)
{
    smcr_rules_side_t *kept = smcr_rules_side(arrival, conn, side);
    smcr_rules_goal_t **goal = announced ? &kept->announced_goal : &kept->consumed_goal;

    if (!*goal || (*goal)->reached_time) { /* an earlier goal that is not reached yet is enough */
        *goal = smcr_state_alloc0(arrival->state, sizeof **goal);
        (*goal)->position = end;
    }
    return *goal;
}

/* Whether no side of the connection has moved to another link. After a move, data that was sent
 * before the move may be sent once more. */
static bool
has_never_moved(const smcr_conn_t *conn)
{
    return !conn->side[0].moved_frame && !conn->side[1].moved_frame;
}

/* Whether the capture has all RDMA WRITEs of the connection before the message, so that announced
 * bytes without a captured WRITE were never written. If TCP and RoCE were captured at two places,
 * the capture may have WRITEs before the sender's first CDC message (`is_first`) even before the
 * CLC messages. The state does not know that such WRITEs belong to the connection. */
static bool
has_all_writes(const smcr_arrival_t *arrival, const smcr_conn_t *conn, bool is_first)
{
    if (!has_never_moved(conn) || conn->lgr->clocks_differ || smcr_doubt_conn(arrival, conn).kind)
        return false;
    return !is_first || !smcr_doubt_place(arrival).kind;
}

/* Data is written before it is announced (R-2.1-7). A message breaks the rule if its producer
 * cursor is beyond the bytes of all RDMA WRITEs so far. If WRITEs may be missing in the capture,
 * the event is a NOTE. Not judged is a message before which a captured WRITE has no known position:
 * that WRITE may carry the bytes. */
SMCR_RULES_CDC(check_unseen_data)
{
    const smcr_evidence_cursor_t *prod = &message->cursors->prod;
    uint64_t announced = message->receiver->in.announced;
    bool first = !message->receiver->last_cdc_received.qp;

    if (!prod->over || prod->end == announced || (prod->accepted && !message->cursors->placed))
        return;
    uint64_t bytes = MIN(prod->over, prod->end - announced);
    if (has_all_writes(arrival, conn, first))
        smcr_event_add(arrival, SMCR_EVENT_cdc_announced_early,
                       "The message announces %" G_GUINT64_FORMAT " bytes before they are written",
                       bytes);
    else
        smcr_event_add(arrival, SMCR_EVENT_cdc_unseen_data,
                       "No RDMA WRITE so far carries %" G_GUINT64_FORMAT
                       " of the bytes that the message announces", bytes);
}

/* Whether the message announces new data up to a known position, and all messages of the reader are
 * known. */
static bool
announces_known_data(const smcr_rules_cdc_t *message)
{
    const smcr_evidence_cursor_t *prod = &message->cursors->prod;

    return prod->known && prod->end != message->receiver->in.announced && message->cursors->current;
}

/* The producer cursor does not pass the reader's consumer cursor (R-A.4-6). A message breaks the
 * rule if it announces more bytes than fit into the element after the last byte that the reader has
 * reported as read. RDMA WRITEs beyond this limit are reported by another event (check_window() in
 * write_rules.c), so this check applies only if all WRITEs are within the limit. The reader may
 * have reported more in a message that is missing in the capture. The reader's next message shows
 * whether this is so. Not judged is a connection that has moved to another link. Called before the
 * flow takes in the message: the streams are those before the message. */
SMCR_RULES_CDC(check_writer)
{
    const smcr_stream_t *out = &message->receiver->in;
    uint64_t end = message->cursors->prod.end;

    if (!announces_known_data(message) || !has_never_moved(conn))
        return;
    uint32_t room = smcr_ring_room(&out->ring);
    uint64_t limit = out->consumed + room;
    if (!room || end <= limit || out->written > limit)
        return;
    const smcr_rules_goal_t *goal =
        smcr_rules_set_goal(arrival, conn, arrival->qp->side, false, end - limit + out->consumed);
    smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_cursor_ahead,
                              smcr_doubt_other(arrival, conn, &goal->reached_time),
                              "The producer cursor passes the consumer cursor of the reader");
}

/* Whether the capture has all announcements of data with which a consumer cursor of the side
 * `reader` is compared. */
static bool
knows_announced(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int reader)
{
    return smcr_evidence_is_current(conn, reader) &&
           (conn->side[reader].in.announced || !smcr_doubt_conn(arrival, conn).kind);
}

/* A reader reads only bytes that were announced to it (R-A.4-8). A message breaks the rule if its
 * consumer cursor is ahead of the peer's producer cursor. The peer may have announced the bytes in
 * a missing message: the peer's next message shows whether this is so. The event is only a NOTE in
 * two cases: 1. there is another doubt; 2. the connection has moved to another link. Not judged is
 * a cursor that may be right because the earlier one is not proven (`may_be_right`), and any cursor
 * if announcements of the peer are missing (knows_announced()). */
SMCR_RULES_CDC(check_reader)
{
    const smcr_evidence_cursor_t *cons = &message->cursors->cons;
    int reader = !arrival->qp->side;

    if (!cons->over || cons->may_be_right || !knows_announced(arrival, conn, reader))
        return;
    const smcr_rules_goal_t *goal = smcr_rules_set_goal(arrival, conn, reader, true, cons->end);
    smcr_doubt_t doubt = smcr_doubt_other(arrival, conn, &goal->reached_time);
    if (has_never_moved(conn) && !doubt.kind)
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_read_unsent, doubt,
                                  "The consumer cursor is ahead of the producer cursor");
    else
        smcr_event_add(arrival, SMCR_EVENT_cdc_read_too_far, NULL);
}

/* Sets the time at which a cursor has reached its goal, if the cursor, now at `position`, has
 * reached it. `goal` may be NULL: there is no goal. */
static void
note_goal_reached(const smcr_arrival_t *arrival, smcr_rules_goal_t *goal, uint64_t position)
{
    if (goal && !goal->reached_time && position >= goal->position)
        goal->reached_time = arrival->when.time;
}

/* Remembers which goals (smcr_rules_goal_t) the cursors have reached with this message, which has
 * moved the cursors of both streams. */
SMCR_RULES_CDC(note_reached_goals)
{
    for (int side = 0; side < 2; side++) {
        const smcr_rules_side_t *kept = smcr_rules_of_side(conn, side);
        const smcr_stream_t *in = &conn->side[side].in;
        note_goal_reached(arrival, kept->announced_goal, in->announced);
        note_goal_reached(arrival, kept->consumed_goal, in->consumed);
    }
}

/* Remembers one message that announces data, until the reader has acknowledged it and has read the
 * data, and a later message announces more. If the reader closes the connection before, it has
 * closed with unread data (conn_rules.c). This counts only if the announcing message was
 * acknowledged. */
SMCR_RULES_CDC(note_probe)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    const smcr_stream_t *out = &message->receiver->in;

    if (!arrival->roce || !view || view->announced_bytes == 0)
        return;
    smcr_rules_probe_t *probe = &smcr_rules_conn(arrival, conn)->unread_probe[arrival->qp->side];
    if (probe->end && (!probe->sent_message.acked || probe->end > out->consumed))
        return;
    probe->end = out->announced;
    smcr_arrival_track(arrival, &probe->sent_message);
}

/* ---- urgent data ---- */

/* Whether the message sets the flag "urgent data present", and the sender's previous message did
 * not. */
static bool
begins_urgent_data(const smcr_rules_cdc_t *message)
{
    bool had_flag = (message->sender->cdc_flags & SMCR_CDC_FLAG_URGENT_PRESENT) != 0;

    return message->cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT && !had_flag;
}

/* With the flag "urgent data present", the producer cursor points to the byte after the urgent data
 * (R-4.7.5-4). A message breaks the rule if the flag is newly set and the producer cursor has not
 * moved. Later messages without new data may keep the flag, so they are not judged. Nor is a
 * message whose producer cursor is not known, or that is not the sender's next one by its
 * number. */
SMCR_RULES_CDC(check_urgent)
{
    bool is_next = message->cursors->seq_step == 1 && !message->cursors->left;

    if (!is_next || !begins_urgent_data(message) || message->cdc->lacks_prod)
        return;
    if (smcr_ring_cursors_are_same(message->sender->prod, message->cdc->prod))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_urgent_flags, message->cursors->next,
            "Urgent data are present, but the producer cursor has not moved");
}

/* Whether the packet writes only bytes that were never written before, all of them after the urgent
 * data. */
static bool
writes_after_urgent(const smcr_place_t *place, const smcr_stream_t *stream)
{
    return place->position >= stream->stalls->urgent && smcr_place_range(place).rewritten == 0;
}

/* After urgent data, a writer waits until the reader has reported that it has received the urgent
 * data (R-4.7.5-2). An RDMA WRITE breaks the rule if it writes new bytes after the urgent data, and
 * the reader has sent no message in between. Any CDC message of the reader counts as the report:
 * the host of the reader may have the data even if its program has not read it. Not judged is a
 * connection that has moved to another link. */
SMCR_RULES_WRITE(check_urgent)
{
    const smcr_conn_t *conn = write->conn;
    const uint64_t *answer = smcr_rules_of_side(conn, arrival->qp->side)->urgent_answer;
    const smcr_stream_t *stream = &conn->side[arrival->qp->side].in;
    bool is_unanswered = answer && *answer == 0;

    if (is_unanswered && writes_after_urgent(write->place, stream) && has_never_moved(conn))
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_urgent_overrun,
                                  smcr_doubt_other(arrival, conn, answer),
                                  "The writer does not wait until the reader has read the urgent "
                                  "data");
}

/* The reader reports urgent data at once, however much space its element has (R-4.7.5-3). The rule
 * is broken if a message with "urgent data present" announces data, and the reader sends no CDC
 * message within a second. Linux sends no such message before its program has read the urgent data.
 * Messages that keep the flag, but announce no data, are not judged. */
SMCR_RULES_CDC(expect_urgent_answer)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    int reader = arrival->qp->side;

    if (!(message->cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT) || !view ||
        view->announced_bytes == 0)
        return;
    uint64_t deadline = arrival->when.time + SMCR_TIME_SECOND;
    uint64_t *answer = smcr_state_alloc0(arrival->state, sizeof *answer);
    smcr_doubt_proof_t claim = smcr_doubt_not_by(answer, deadline);

    smcr_rules_side(arrival, conn, reader)->urgent_answer = answer;
    claim.deadline = deadline;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_cdc_urgent_unanswered, smcr_doubt_answer(arrival, conn, reader, claim),
        "For a second the reader does not report the urgent data as read; Linux waits until its "
        "program has read them (smc_rx_update_consumer())");
}

/* Remembers the time of the reader's answer to urgent data: the first CDC message that the reader
 * sends after the urgent data has come. */
SMCR_RULES_CDC(note_urgent_answer)
{
    uint64_t *answer = smcr_rules_of_side(conn, !arrival->qp->side)->urgent_answer;

    if (answer && *answer == 0)
        *answer = arrival->when.time;
}

/* ---- which connection ---- */

/* The side of the group `other` whose host is the same as the host of `side` of the group `lgr`.
 * Compares the peer IDs of both sides. SMCR_LGR_SIDE_UNKNOWN: the two groups are not between the
 * same hosts. */
static int
same_host(const smcr_lgr_t *lgr, int side, const smcr_lgr_t *other)
{
    for (int i = 0; i < 2; i++)
        if (memcmp(lgr->peer_id[side], other->peer_id[i], SMCR_WIRE_PEER_ID_LENGTH) == 0 &&
            memcmp(lgr->peer_id[!side], other->peer_id[!i], SMCR_WIRE_PEER_ID_LENGTH) == 0)
            return i;
    return SMCR_LGR_SIDE_UNKNOWN;
}

/* Whether the connection is in use: both sides have agreed on it, and `sender` has sent CDC
 * messages and has not ended the connection. */
static bool
is_sending(const smcr_conn_t *conn, const smcr_conn_side_t *sender)
{
    return sender->last_cdc_frame && conn->confirm_frame && !smcr_conn_side_has_ended(sender);
}

/* Whether the message continues a connection of the group `other`: the message's token is known in
 * that group, and its sequence number is the next one of that connection. */
static bool
continues_in(const smcr_arrival_t *arrival, const smcr_lgr_t *other, const smcr_cdc_t *cdc)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    int side = other == lgr ? SMCR_LGR_SIDE_UNKNOWN : same_host(lgr, arrival->qp->side, other);

    if (side < 0)
        return false;
    const smcr_conn_t *conn = smcr_conn_find(arrival->state, other, side, cdc->token);
    const smcr_conn_side_t *sender = conn ? &conn->side[!side] : NULL;
    return sender && is_sending(conn, sender) && smcr_conn_side_seq_step(sender, cdc->seq) == 1;
}

/* Whether the capture has no Accept, no Confirm and no earlier CDC message of the connection. */
static bool
is_unknown_conn(const smcr_conn_t *conn)
{
    bool has_clc = conn->accept_frame || conn->confirm_frame;
    bool has_cdc = conn->side[0].last_cdc_frame || conn->side[1].last_cdc_frame;

    return !has_clc && !has_cdc;
}

/* Whether the message is the first captured sign of its connection: no Accept, Confirm or earlier
 * CDC message of it is captured, so the state made the connection for this message. */
static bool
is_first_sign(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_point_t *since = &conn->side[arrival->qp->side].valid_from;

    return is_unknown_conn(conn) && since->qp == arrival->qp && since->psn + 1 == arrival->psn;
}

/* A CDC message travels in the link group whose CLC has announced its token (R-A.4-4). A message
 * breaks the rule if its token is not known in its group, and the message continues exactly one
 * open connection of another group of the same hosts. A message with sequence number 1 is not
 * judged: it may begin a connection of its own group whose CLC messages are missing. */
SMCR_RULES_CDC(check_token)
{
    unsigned found = 0;

    if (message->cdc->seq == 1 || message->cdc->is_immediate || !is_first_sign(arrival, conn))
        return;
    SMCR_LIST_EACH(const smcr_lgr_t *, lgr, arrival->state->lgrs)
        found += continues_in(arrival, lgr, message->cdc);
    if (found == 1)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_other_group, smcr_doubt_group(arrival, arrival->qp->link->lgr),
            "The connection with this token belongs to another link group of the hosts");
}

/* True if the report of check_confirmed() has to be withdrawn later: the Confirm has still not
 * come, so it may be missing in the capture. */
SMCR_DOUBT_CLAIM(confirm_is_missing, const smcr_conn_t *conn, !conn->confirm_frame)

/* The client sends its Confirm before its data (R-3.5.2-7). A CDC message of the client breaks the
 * rule if it comes after the Accept and before the Confirm. The order of TCP and RoCE packets
 * proves something only if both were captured at the same point of the network. */
SMCR_RULES_CDC(check_confirmed)
{
    smcr_doubt_proof_t claim = {.has_come = confirm_is_missing, .about = conn};
    int side = arrival->qp->side;

    if (!conn->accept_frame || conn->confirm_frame || conn->lgr->server != side)
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_cdc_before_confirm, smcr_doubt_or(smcr_doubt_place(arrival),
        smcr_doubt_later(arrival, conn->lgr, !side, claim)),
        "The client sends this before its Confirm, or TCP and RoCE were captured at two "
        "places");
}

/* ---- nothing after the end ---- */

/* Whether the message announces new data, though its sender has reported before that it is done
 * with sending. */
static bool
announces_after_done(const smcr_rules_cdc_t *message)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_stream_t *in = &message->receiver->in;
    bool is_known = in->positions_known && message->cursors->prod.accepted;

    return sender->sending_done_frame && is_known &&
           smcr_ring_distance(&in->ring, sender->prod, message->cdc->prod) > 0;
}

/* Three rules hold for the CDC messages of a side that ends a connection: 1. After "connection
 * closed" the side sends nothing but an abort (R-4.8.1-2). 2. After its abort it sends nothing at
 * all (R-4.8.2-3). 3. After "sending done" it announces no more data (R-4.8.1-1).
 *
 * Exception to rules 1 and 3: if the reader's element was full at the last announcement, Linux
 * still sends the data that it has queued (smc_cdc_msg_recv_action(), smc_tx_pending()). Then only
 * the WRITEs are reported: smcr.write.after_close, or smcr.write.after_end if both sides have
 * closed. */
SMCR_RULES_CDC(check_after_end)
{
    const smcr_conn_side_t *sender = message->sender;
    bool aborts = (message->cdc->state & SMCR_CDC_STATE_ABORT) != 0;

    if (sender->abort_frame)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_after_abort, message->cursors->next,
            "The sender aborted the connection in frame %u, but continues, as Linux may do "
            "(smc_tx_pending())", sender->abort_frame);
    else if (message->receiver->in.was_full)
        return;
    else if (sender->closed_frame && !aborts)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_after_close, message->cursors->next,
            "The sender closed the connection in frame %u, but continues, as Linux may do "
            "(smc_tx_pending())", sender->closed_frame);
    else if (announces_after_done(message))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_after_done, message->cursors->next,
            "The message announces data, although its sender was done in frame %u, as Linux may do "
            "(smc_tx_pending())", sender->sending_done_frame);
}

/* A side does not withdraw "sending done" (R-4.8.1-7). A message breaks the rule if it has none of
 * the three flags "sending done", "closed" and "abort", and the sender's previous message had
 * "sending done". Not judged is a message after one with "closed" or "abort": check_after_end()
 * judges it. */
SMCR_RULES_CDC(check_flags)
{
    uint8_t before = message->sender->cdc_state & SMCR_CDC_STATE_ENDS;

    if (before == SMCR_CDC_STATE_SENDING_DONE && !(message->cdc->state & SMCR_CDC_STATE_ENDS))
        smcr_breach_report_unless(arrival, SMCR_EVENT_cdc_flag_withdrawn, message->cursors->next,
                                  "Sending done was set in frame %u, and is no longer set",
                                  message->sender->last_cdc_frame);
}

/* The connection that uses the RMB element of `side` after `conn`, if both sides have agreed on it
 * and the peer of `side` has sent a CDC message on it. NULL: there is no such connection. */
static const smcr_conn_t *
find_next_user(const smcr_conn_t *conn, int side)
{
    const smcr_conn_side_t *of = &conn->side[side];
    const smcr_conn_t *next = of->rmb ? smcr_rmb_conn(of->rmb, of->rmb_index) : NULL;

    if (!next || next == conn)
        return NULL;
    return next->confirm_frame && next->side[!side].last_cdc_frame ? next : NULL;
}

/* If a peer offers an element that is in use to another connection, the other side aborts the old
 * connection of the element (R-4.4.2-2). A message of the old connection breaks the rule if it does
 * not close or abort the connection. The sender must know of the offer: the sender has already sent
 * a CDC message on the element's next connection. A certain breach is reported once for each next
 * connection (`next_user`). */
SMCR_RULES_CDC(check_reused_element)
{
    int reader = arrival->qp->side;
    const smcr_conn_t *next = find_next_user(conn, reader);

    if (!next || message->cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT) ||
        smcr_rules_of_side(conn, reader)->next_user == next)
        return;
    smcr_doubt_t doubt = smcr_doubt_conn(arrival, conn);
    if (!doubt.kind)
        smcr_rules_side(arrival, conn, reader)->next_user = next;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_cdc_after_reuse, doubt,
        "The RMB element now belongs to connection %u, but the sender does not abort, as Linux, "
        "which does not check (smc_connect_rdma())", next->index);
}

/* ---- all messages ---- */

/* The kinds of CDC messages, by which check_rows.def selects those that a check is for. */
enum {
    FIRST = 1, /* the first CDC message of its sender on the connection */
    NEW = 2,   /* a later message in order, whose sender has never left its link */
    OTHER = 4, /* a later message that may have been sent before: the sender may have left its link,
                  or the message is out of order */
    BUT_FIRST = NEW | OTHER,
    ALL = FIRST | BUT_FIRST
};

/* The kind of a CDC message (FIRST, NEW or OTHER). Needs the comparison of its cursors, so the step
 * is PLACED or a later one. */
static unsigned
kind_of_placed(const smcr_rules_cdc_t *message)
{
    if (!message->sender->last_cdc_frame)
        return FIRST;
    return message->cursors->seq_step <= 0 || message->sender->moved_frame ? OTHER : NEW;
}

/* Reports breaches. Changes only the memory of the rules (memory.h). */
void
smcr_rules_check_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                     const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    smcr_rules_cdc_t message = {.sender = sender,
                                .receiver = &conn->side[arrival->qp->side],
                                .cdc = cdc,
                                .cursors = known};
    unsigned kind = when == SMCR_RULES_PLACED ? kind_of_placed(&message) : ALL;

#define SMCR_RULES_CDC_CHECK(step, which, check) \
    if (when == SMCR_RULES_##step && kind & (which)) \
        smcr_rules_cdc_##check(arrival, conn, &message);
#include "check_rows.def"
}
