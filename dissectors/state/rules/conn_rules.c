/* Rules for the end of connections: all data is written, announced and read, the peer answers, and
 * no RDMA WRITE follows. Rules for the move of a connection to another link: 1. the failover
 * validation is the first message on the new link; 2. the data that was not acknowledged follows;
 * 3. no request uses the old link any more (RFC 7609 4.6, 4.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- CDC messages at the end ---- */

/* Whether the reader's consumer cursor shows which bytes the reader has read. False in three cases:
 * 1. urgent data came, which a program may read before earlier data; 2. another open connection
 * uses the same RMB element (`element_shared`); 3. the positions of the stream are not known. */
static bool
reads_in_order(const smcr_conn_side_t *reader)
{
    bool urgent = reader->in.stalls && reader->in.stalls->urgent;

    return reader->in.positions_known && !reader->element_shared && !urgent;
}

/* A side that closes with data unread aborts (R-4.8.1-3). A message with "connection closed" breaks
 * the rule if its sender has not read all bytes that an earlier message of the peer has announced.
 * The sender has seen this earlier message if the message was acknowledged at least a round trip
 * before. */
static void
check_closed_unread(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[!arrival->qp->side];
    const smcr_stream_t *in = &reader->in;
    const smcr_rules_probe_t *probe = &smcr_rules_of_conn(conn)->unread_probe[!arrival->qp->side];

    if (!reads_in_order(reader) || probe->end <= in->consumed)
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_cdc_closed_unread, smcr_doubt_or(smcr_doubt_conn(arrival, conn),
        smcr_doubt_seen_new(arrival, &probe->sent_message)),
        "The sender closes the connection, but has not reported %" G_GUINT64_FORMAT
        " bytes as read; Linux may have them in a pipe (smc_rx_splice())",
        probe->end - in->consumed);
}

/* A side ends its data only after all of it is written (R-4.8.1-4) and announced (R-2.1-8). A
 * message with "sending done" or "connection closed" breaks the rule if an RDMA WRITE of its sender
 * was not announced by any message. The capture does not show data that was never written, so
 * R-4.8.1-4 cannot be checked. */
static void
check_all_announced(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_slab_t *entries = &arrival->state->entries;
    const smcr_place_t *last = smcr_slab_entry(entries, reader->in.unannounced);
    const smcr_place_t *first = last ? smcr_slab_entry(entries, last->next) : NULL;

    if (first)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_closed_unannounced, smcr_doubt_conn(arrival, conn),
            "The sender is done with sending, but has not announced the bytes of frame %u",
            first->frame);
}

/* True if a report of check_abort_answered() or check_validated() has to be withdrawn later: the
 * side has ended the connection. */
static bool
side_has_ended(const smcr_doubt_proof_t *claim)
{
    return smcr_conn_side_has_ended(claim->about);
}

/* A side that receives an abort answers with an abort (R-4.8.2-2). The rule is broken if the other
 * side does not end the connection within two seconds after an abort. A side that has already ended
 * the connection need not answer. Linux answers only when its program closes. */
static void
check_abort_answered(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *other = &conn->side[arrival->qp->side];
    smcr_doubt_proof_t claim = {.has_come = side_has_ended, .about = other,
                                .deadline = arrival->when.time + 2 * SMCR_TIME_SECOND};

    if (!smcr_conn_side_has_ended(other))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_cdc_abort_unanswered,
            smcr_doubt_answer(arrival, conn, arrival->qp->side, claim),
            "The other side does not answer the abort; Linux waits until its program "
            "closes (smc_close_active())");
}

/* Whether the connection has moved to another link. After a move, data and messages from before the
 * move may be sent once more. */
static bool
has_moved(const smcr_conn_t *conn)
{
    return conn->side[0].moved_frame || conn->side[1].moved_frame;
}

/* The rules of check_abort_answered(), check_closed_unread() and check_all_announced(), for a
 * message that ends the connection or the data of its sender. Not judged is a connection that has
 * moved to another link. */
SMCR_RULES_CDC(check_close)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_cdc_t *cdc = message->cdc;
    bool closes = cdc->state & SMCR_CDC_STATE_CLOSED && !sender->closed_frame;

    if (!(cdc->state & SMCR_CDC_STATE_ENDS) || has_moved(conn))
        return;
    if (cdc->state & SMCR_CDC_STATE_ABORT) {
        if (!sender->abort_frame)
            check_abort_answered(arrival, conn);
        return;
    }
    /* Immediate data (ANCK) that close, or that come after "sending done", have no step of the
     * consumer cursor: what the sender has read since is not known (smc_tx.c) */
    if (closes && message->cursors->cons.accepted && !cdc->is_immediate)
        check_closed_unread(arrival, conn);
    if (!smcr_conn_side_has_ended(sender))
        check_all_announced(arrival, conn);
}

/* Remembers the first message with which a side closes the connection, and the acknowledgement of
 * this message. */
SMCR_RULES_CDC(note_closed)
{
    if (!(message->cdc->state & SMCR_CDC_STATE_CLOSED) || message->sender->closed_frame)
        return;
    smcr_link_sent_message_t *closed = &smcr_rules_conn(arrival, conn)->closed[!arrival->qp->side];
    *closed = (smcr_link_sent_message_t){.sent = arrival->when.time};
    if (arrival->roce)
        smcr_arrival_track(arrival, closed);
}

/* ---- RDMA WRITEs after the end ---- */

/* True if the report of a check that calls doubt_owner() has to be withdrawn later: another
 * connection uses the element, or the CLC messages of a connection of the group are incomplete. */
static bool
next_has_come(const smcr_doubt_proof_t *claim)
{
    const smcr_conn_t *conn = claim->about;
    const smcr_conn_side_t *reader = &conn->side[claim->key];

    return smcr_rmb_conn(reader->rmb, reader->rmb_index) != conn || conn->lgr->unfinished_clc_conns;
}

/* Returns the reason to doubt that the RMB element still belongs to the connection. There is no
 * reason if two conditions hold: 1. no message of the writer is missing; 2. no message gives the
 * element to another connection within a second after this packet. */
static smcr_doubt_t
doubt_owner(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_doubt_proof_t claim = {.has_come = next_has_come, .about = conn,
                                .key = (uint32_t)qp->side,
                                .deadline = arrival->when.time + SMCR_TIME_SECOND};

    return smcr_doubt_later(arrival, conn->lgr, !qp->side, claim);
}

/* A side writes nothing after its own abort, and nothing after both sides have closed (R-4.8.2-3,
 * R-4.8.1-2). Reports an RDMA WRITE that breaks this rule. Returns whether the RDMA WRITE breaks
 * the rule. */
static bool
check_after_end(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    bool both_closed = writer->closed_frame && reader->closed_frame;
    uint32_t frame = writer->abort_frame ? writer->abort_frame : writer->closed_frame;

    if (!writer->abort_frame && !both_closed)
        return false;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_write_after_end, doubt_owner(arrival, conn),
        "The RDMA WRITE is one of connection %u, which its sender %s in frame %u, as Linux "
        "may do (smc_tx_pending())", conn->index, writer->abort_frame ? "aborted" : "closed",
        frame);
    return true;
}

/* After "sending done" or "connection closed" a side writes no more data (R-4.8.1-1, R-4.8.1-2).
 * Linux breaks this rule: if a program ends early, Linux still writes the data in its queue. The
 * caller has checked that the writer has ended, so each call is a breach, unless packets may be
 * missing. */
static void
check_after_done(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];
    uint32_t done = writer->closed_frame ? writer->closed_frame : writer->sending_done_frame;

    smcr_breach_report_unless(
        arrival, SMCR_EVENT_write_after_close, doubt_owner(arrival, conn),
        "The RDMA WRITE is one of connection %u, whose sender was done in frame %u, as "
        "Linux does when a program ends early (smc_close_active())", conn->index, done);
}

/* If one side closes, and the other side has unsent data, the other side aborts (R-4.8.1-6). The
 * other side breaks the rule if it writes the data instead. It has certainly seen the close if the
 * closing message was acknowledged a round trip before the WRITE. Linux breaks this rule: it writes
 * the data. */
static void
check_after_close_of_reader(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_link_sent_message_t *closed = &smcr_rules_of_conn(conn)->closed[arrival->qp->side];

    smcr_breach_report_unless(
        arrival, SMCR_EVENT_write_after_close,
        smcr_doubt_or(smcr_doubt_seen_new(arrival, closed), doubt_owner(arrival, conn)),
        "The RDMA WRITE comes after its reader closed the connection in frame %u, as Linux does "
        "with unsent data (smc_tx_pending())", reader->closed_frame);
}

/* Whether the packet is a WRITE with data on the link that the writer's last CDC message used, and
 * no side of the connection has ever moved to another link. */
static bool
is_write_in_place(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];

    return !has_moved(conn) && arrival->roce->payload_length &&
           reader->last_cdc_received.qp == arrival->qp;
}

/* The rules of check_after_end(), check_after_done() and check_after_close_of_reader(), for an RDMA
 * WRITE to the RMB element of a connection that one side has ended. */
SMCR_RULES_WRITE(check_ended)
{
    const smcr_conn_t *conn = write->conn;

    if (!conn || !is_write_in_place(arrival, conn))
        return;
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    bool writer_ended = smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]);
    if (!writer_ended && !smcr_conn_side_has_ended(reader))
        return;
    if (check_after_end(arrival, conn))
        return;
    if (writer_ended)
        check_after_done(arrival, conn);
    else if (reader->closed_frame)
        check_after_close_of_reader(arrival, conn);
}


/* ---- before the move ---- */

/* Whether one of the sides has ended the connection. */
static bool
is_ending(const smcr_conn_t *conn)
{
    return smcr_conn_side_has_ended(&conn->side[0]) || smcr_conn_side_has_ended(&conn->side[1]);
}

/* A failover validation is the first message of a connection on a new link (R-4.6.1-1). The rule is
 * broken if a sender's first packet on a new link is an RDMA WRITE, or a CDC message that is no
 * validation. Exceptions:
 *
 * - A connection that a side has ended is not judged. Linux moves such a connection without a
 *   validation (smc_switch_conns()), and an abort may come on any link.
 * - The receiver may have ended the connection in a message that is missing. The receiver's next
 *   messages show whether this is so.
 * - A second move is not judged: the two links may have been captured at two places, so the order
 *   of their packets is not certain. */
static void
check_validated(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_conn_side_t *receiver = &conn->side[arrival->qp->side];
    smcr_doubt_proof_t claim = {.has_come = side_has_ended, .about = receiver};

    if (sender->moved_frame ||
        smcr_rules_of_side(conn, !arrival->qp->side)->unvalidated_write_frame || is_ending(conn))
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_move_not_validated,
        smcr_doubt_later(arrival, conn->lgr, arrival->qp->side, claim),
        "The connection moves from link %u to link %u, but no failover validation comes "
        "first", sender->link->number, arrival->qp->link->number);
}

/* ---- after the move ---- */

/* A sender completes its requests on the old link before it sends the failover validation on the
 * new link (R-2.3-6). A request on the old link breaks the rule if its sender has seen the
 * acknowledgement of the validation. Linux breaks this rule: it does not wait for requests that are
 * not completed. */
static void
check_old_link(const smcr_arrival_t *arrival, const smcr_rules_move_t *move)
{
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_move_old_link,
        smcr_doubt_or(smcr_doubt_message(arrival),
                      smcr_doubt_seen(arrival, move->sent_message.sent, move->sent_message.acked)),
        "The connection left link %u in frame %u, and still sends on it, as Linux may do "
        "(smc_switch_conns())", move->old_link->number, move->frame);
}

/* After a failover, a sender's failover validation has the sequence number of one of its earlier
 * messages (R-4.6.1-2), and takes no number of its own. The next message, new or retransmitted, has
 * a higher number than the validation (R-4.6.2-1). The next message on the new link breaks the rule
 * if its number is the same or lower. */
static void
check_number_after_move(const smcr_arrival_t *arrival, const smcr_rules_move_t *move,
                        const smcr_cdc_t *cdc)
{
    int16_t step = (int16_t)(uint16_t)(cdc->seq - move->seq);

    if (step <= 0)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_move_number, smcr_doubt_since(arrival, &move->validation_point),
            "Sequence number %u follows the failover validation of number %u in frame %u", cdc->seq,
            move->seq, move->frame);
}

/* ---- the validation ---- */

/* Remembers a failover validation that has just arrived. `seq`: sequence number in the
 * validation. */
static void
note_validation(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint16_t seq)
{
    const smcr_link_t *link = arrival->qp->link, *from = conn->side[!arrival->qp->side].link;
    smcr_rules_side_t *kept = smcr_rules_side(arrival, conn, !arrival->qp->side);

    *SMCR_STATE_MADE(arrival->state, &kept->validation) = (smcr_rules_move_t){
        .old_link = from != link ? from : NULL,
        .validation_point = smcr_point_at(arrival->qp, arrival->psn),
        .frame = arrival->when.frame,
        .seq = seq,
    };
    smcr_arrival_track(arrival, &kept->validation->sent_message);
}

/* ---- CDC messages and RDMA WRITEs that move ---- */

/* Whether the sender's last CDC message was on another link than `link`. False if the sender has
 * sent no CDC message. */
static bool
is_on_other_link(const smcr_conn_side_t *sender, const smcr_link_t *link)
{
    return sender->link && sender->link != link && sender->last_cdc_frame;
}

/* Whether the message is the sender's first one after a failover validation in the same flow. */
static bool
follows_validation(const smcr_arrival_t *arrival, const smcr_rules_move_t *move,
                   const smcr_conn_side_t *sender)
{
    return move && move->validation_point.qp == arrival->qp && move->frame > sender->last_cdc_frame;
}

/* The rules of check_old_link(), check_validated() and check_number_after_move(), for a CDC
 * message. A message that ends the connection may come on the old or on the new link. */
SMCR_RULES_CDC(check_move)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_cdc_t *cdc = message->cdc;
    const smcr_rules_move_t *move = smcr_rules_of_side(conn, !arrival->qp->side)->validation;
    const smcr_link_t *link = arrival->qp->link;
    bool goes_on = !(cdc->state & SMCR_CDC_STATE_ENDS) && !smcr_conn_side_has_ended(sender);
    bool on_old_link = goes_on && move && move->old_link == link;

    if (conn->lgr->immediate_agreed) /* ANCK defines no validation with immediate data */
        return;
    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        note_validation(arrival, conn, cdc->seq);
    else if (on_old_link)
        check_old_link(arrival, move);
    else if (goes_on && is_on_other_link(sender, link))
        check_validated(arrival, conn);
    else if (follows_validation(arrival, move, sender))
        check_number_after_move(arrival, move, cdc);
}

/* Reports an RDMA WRITE that breaks a rule for moves between links. There are two breaches: 1. the
 * writer still uses the link that it has left; 2. the writer uses a link to which it has not moved.
 * If requests of the group are missing, the element may belong to another connection, and nothing
 * is reported. */
static void
check_link_of_writer(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    int side = !arrival->qp->side;
    const smcr_rules_move_t *move = smcr_rules_of_side(conn, side)->validation;
    const smcr_link_t *link = arrival->qp->link;
    bool on_old_link = move && move->old_link == link;

    if (!on_old_link && !is_on_other_link(&conn->side[side], link))
        return;
    if (smcr_doubt_group(arrival, conn->lgr).kind)
        return;
    if (on_old_link) {
        check_old_link(arrival, move);
    } else {
        check_validated(arrival, conn);
        smcr_rules_side(arrival, conn, side)->unvalidated_write_frame = arrival->when.frame;
    }
}

/* The rules for moves between links (check_link_of_writer()), for an RDMA WRITE to an RMB element
 * of the connection. A WRITE is judged if three conditions hold: 1. `is_certain_owner` is false:
 * otherwise the connection already uses the link of the WRITE; 2. the writer has not ended the
 * connection; 3. the peers have not agreed on immediate data (ANCK). */
SMCR_RULES_WRITE(check_link)
{
    smcr_conn_t *conn = write->conn;

    if (!conn || write->is_certain_owner || conn->lgr->immediate_agreed ||
        smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]))
        return;
    check_link_of_writer(arrival, conn);
}

/* ---- connections that leave ---- */

/* Only pointers to other connections are cleared: the memory of `conn` itself stays. */
void
smcr_rules_forget_leaving(smcr_conn_t *conn)
{
    smcr_rules_conn_t *kept = conn->rules;

    if (kept && kept->reuse && kept->reuse->new_conn && kept->reuse->new_conn->is_leaving)
        kept->reuse->new_conn = NULL;
    for (int side = 0; kept && side < 2; side++) {
        smcr_rules_side_t *of = kept->side[side];
        if (of && of->next_user && of->next_user->is_leaving)
            of->next_user = NULL;
    }
}

/* Whether an acknowledgement that is still to come would be written into the message. */
static bool
awaits_ack(const smcr_link_sent_message_t *message)
{
    return message->sent && !message->acked;
}

/* Frees the memory of the rules for the connection. If one of its messages still awaits an
 * acknowledgement, the memory stays until the capture file is closed, since the acknowledgement is
 * written into it. */
static void
free_kept(smcr_state_t *state, smcr_rules_conn_t *kept)
{
    for (int side = 0; side < 2; side++) {
        if (awaits_ack(&kept->closed[side]) || awaits_ack(&kept->unread_probe[side].sent_message))
            return;
    }
    for (int side = 0; side < 2; side++) {
        smcr_record_free_ack(state, kept->closed[side].acked);
        smcr_record_free_ack(state, kept->unread_probe[side].sent_message.acked);
    }
    smcr_state_free(state, kept, sizeof *kept);
}

/* `rules` points to all that the rules keep of a connection. A new member that is allocated has to
 * be freed here. Not freed are times of urgent answers, which are rare. */
void
smcr_rules_free_conn(smcr_state_t *state, smcr_conn_t *conn)
{
    smcr_rules_conn_t *kept = conn->rules;

    for (int side = 0; kept && side < 2; side++) {
        smcr_rules_side_t *of = kept->side[side];
        if (!of)
            continue;
        /* a validation stays: it is rare, and acknowledgements of several may be awaited */
        smcr_state_free(state, of->announced_goal, sizeof *of->announced_goal);
        smcr_state_free(state, of->consumed_goal, sizeof *of->consumed_goal);
        smcr_state_free(state, of, sizeof *of);
    }
    if (!kept)
        return;
    if (kept->offer)
        smcr_state_free(state, kept->offer,
                        sizeof *kept->offer + kept->offer->eid_count * sizeof *kept->offer->eid);
    smcr_state_free(state, kept->reuse, sizeof *kept->reuse);
    free_kept(state, kept);
}
