/* How connections end: all data written, announced and read, an answer, and no RDMA WRITE behind.
 * How they go from one link to another: first a failover validation, then what was not
 * acknowledged, and nothing more on the old link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- messages at the end ---- */

/* Who closes with data unread aborts. It has seen those of a message that was acknowledged a round
 * trip before. Urgent data may be read out of their turn. (R-4.8.1-3) */
static void
check_read(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[!arrival->qp->side];
    const smcr_stream_t *in = &reader->in;
    const smcr_rules_probe_t *probe = &smcr_rules_of_conn(conn)->probe[!arrival->qp->side];
    bool urgent = in->stalls && in->stalls->urgent;

    if (!in->known || reader->shares_element || urgent || probe->end <= in->consumed)
        return;
    smcr_breach(arrival, SMCR_EVENT_cdc_closed_unread,
                smcr_doubt_or(smcr_doubt_conn(arrival, conn),
                              smcr_doubt_seen_new(arrival, &probe->sent_message)),
                "The sender closes the connection, but has not reported %" G_GUINT64_FORMAT
                " bytes as read; Linux may have them in a pipe (smc_rx_splice())",
                probe->end - in->consumed);
}

/* A side closes when all its data are written and announced. (R-4.8.1-4, R-2.1-8) */
static void
check_announced(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_slab_t *entries = &arrival->state->entries;
    const smcr_place_t *last = smcr_slab_entry(entries, reader->in.unannounced);
    const smcr_place_t *first = last ? smcr_slab_entry(entries, last->next) : NULL;

    if (first)
        smcr_breach(arrival, SMCR_EVENT_cdc_closed_unannounced,
                    smcr_doubt_conn(arrival, conn),
                    "The sender is done with sending, but has not announced what frame %u wrote",
                    first->frame);
}

/* Whether the side of a connection that a claim is about has ended it by now. */
static bool
side_has_ended(const smcr_doubt_proof_t *claim)
{
    return smcr_conn_side_has_ended(claim->about);
}

/* Who gets an abort sends its own. Linux waits until its program closes, and sends none where it
 * was done before. (R-4.8.2-2) */
static void
check_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *other = &conn->side[arrival->qp->side];
    smcr_doubt_proof_t claim = {.has_come = side_has_ended, .about = other,
                                .deadline = arrival->when.time + 2 * SMCR_TIME_SECOND};

    if (!smcr_conn_side_has_ended(other))
        smcr_breach(arrival, SMCR_EVENT_cdc_abort_unanswered,
                    smcr_doubt_answer(arrival, conn, arrival->qp->side, claim),
                    "The other side does not answer the abort; Linux waits until its program "
                    "closes (smc_close_active())");
}

/* The message ends the connection, or its sender's data. */
SMCR_RULES_CDC(close)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_cdc_t *cdc = message->cdc;

    if (!cdc->state || conn->side[0].moved_frame || conn->side[1].moved_frame)
        return; /* what was not acknowledged may come again */
    if (cdc->state & SMCR_CDC_STATE_ABORT) {
        if (!sender->abort_frame)
            check_answer(arrival, conn);
        return;
    }
    if (cdc->state & SMCR_CDC_STATE_CLOSED && !sender->closed_frame &&
        message->known->cons.believed)
        check_read(arrival, conn);
    if (!smcr_conn_side_has_ended(sender))
        check_announced(arrival, conn);
}

/* Follows the message that closes the connection. */
SMCR_RULES_CDC(note_closed)
{
    if (!(message->cdc->state & SMCR_CDC_STATE_CLOSED) || message->sender->closed_frame)
        return;
    smcr_link_sent_message_t *closed = &smcr_rules_conn(arrival, conn)->closed[!arrival->qp->side];
    *closed = (smcr_link_sent_message_t){.sent = arrival->when.time};
    if (arrival->roce)
        smcr_arrival_track(arrival, closed);
}

/* ---- RDMA WRITEs behind it ---- */

/* Whether the element has another connection by now, or the capture lacks the beginning of one. */
static bool
next_has_come(const smcr_doubt_proof_t *claim)
{
    const smcr_conn_t *conn = claim->about;
    const smcr_conn_side_t *reader = &conn->side[claim->key];

    return smcr_rmb_conn(reader->rmb, reader->rmb_index) != conn || conn->lgr->lacking_clc;
}

/* Nothing is absent since the last message of the writer, and for a second nothing tells of another
 * connection that may have the element. */
static smcr_doubt_t
doubt_whose(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_doubt_proof_t claim = {.has_come = next_has_come, .about = conn,
                                .key = (uint32_t)qp->side,
                                .deadline = arrival->when.time + SMCR_TIME_SECOND};

    return smcr_doubt_later(arrival, conn->lgr, !qp->side, claim);
}

/* After its abort, or when both sides have closed, a side writes nothing. (R-4.8.1-2, R-4.8.2-3) */
static bool
check_end(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    uint32_t frame = writer->abort_frame ? writer->abort_frame : writer->closed_frame;

    if (!writer->abort_frame && !(writer->closed_frame && reader->closed_frame))
        return false;
    smcr_breach(arrival, SMCR_EVENT_write_after_end, doubt_whose(arrival, conn),
                "The RDMA WRITE is one of connection %u, which its sender %s in frame %u, as Linux "
                "may do (smc_tx_pending())",
                conn->index, writer->abort_frame ? "aborted" : "closed", frame);
    return true;
}

/* After sending done or connection closed a side writes no more. (R-4.8.1-1, R-4.8.1-2) */
static void
check_done(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];
    uint32_t done = writer->closed_frame ? writer->closed_frame : writer->sending_done_frame;

    smcr_breach(arrival, SMCR_EVENT_write_after_close, doubt_whose(arrival, conn),
                "The RDMA WRITE is one of connection %u, whose sender was done in frame %u, as "
                "Linux does when a program ends early (smc_close_active())", conn->index, done);
}

/* Who has data left when the other side closes aborts. It has seen a close that was acknowledged a
 * round trip before. (R-4.8.1-6) */
static void
check_peer(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_link_sent_message_t *closed = &smcr_rules_of_conn(conn)->closed[arrival->qp->side];

    smcr_breach(arrival, SMCR_EVENT_write_after_close,
                smcr_doubt_or(smcr_doubt_seen_new(arrival, closed),
                              doubt_whose(arrival, conn)),
                "The RDMA WRITE comes after its reader closed the connection in frame %u, as Linux "
                "does with what it has left (smc_tx_pending())", reader->closed_frame);
}

/* A request goes to the element of a connection, one of whose sides has ended. */
SMCR_RULES_WRITE(end)
{
    const smcr_conn_t *conn = write->conn;
    const smcr_conn_side_t *writer = conn ? &conn->side[!arrival->qp->side] : NULL;
    const smcr_conn_side_t *reader = conn ? &conn->side[arrival->qp->side] : NULL;

    if (!conn || (!smcr_conn_side_has_ended(writer) && !smcr_conn_side_has_ended(reader)) ||
        writer->moved_frame || reader->moved_frame || !arrival->roce->payload_length ||
        reader->heard.qp != arrival->qp || check_end(arrival, conn))
        return;
    if (smcr_conn_side_has_ended(writer))
        check_done(arrival, conn);
    else if (reader->closed_frame)
        check_peer(arrival, conn);
}

#define ENDS (SMCR_CDC_STATE_SENDING_DONE | SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)

/* ---- before the move ---- */

/* A failover validation comes first on the new link. Linux moves a connection without it which one
 * side closes (smc_switch_conns()); so does an abort, which any link may carry. What the receiver
 * sends next shows whether the mover knew more than the capture. A second move is not judged: the
 * links may be captured at two places. (R-4.6.1-1) */
static void
check_validated(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_conn_side_t *receiver = &conn->side[arrival->qp->side];
    smcr_doubt_proof_t claim = {.has_come = side_has_ended, .about = receiver};

    if (sender->moved_frame || smcr_rules_of_side(conn, !arrival->qp->side)->strayed_frame ||
        smcr_conn_side_has_ended(sender) || smcr_conn_side_has_ended(receiver))
        return;
    smcr_breach(arrival, SMCR_EVENT_move_not_validated,
                smcr_doubt_later(arrival, conn->lgr, arrival->qp->side, claim),
                "The connection moves from link %u to link %u, but no failover validation comes "
                "first", sender->link->number, arrival->qp->link->number);
}

/* ---- after the move ---- */

/* What was written on the old link is complete before the validation. Its sender has seen that this
 * was acknowledged. (R-2.3-6) */
static void
check_old_link(const smcr_arrival_t *arrival, const smcr_rules_move_t *move)
{
    smcr_breach(
        arrival, SMCR_EVENT_move_old_link,
        smcr_doubt_or(smcr_doubt_message(arrival),
                      smcr_doubt_seen(arrival, move->sent_message.sent, move->sent_message.acked)),
        "The connection left link %u in frame %u, and still sends on it, as Linux may do "
        "(smc_switch_conns())", move->from->number, move->frame);
}

/* The validation has the number of a message that was sent, and takes none: what comes behind it,
 * new or again, has a higher one. (R-4.6.1-2, R-4.6.2-1) */
static void
check_number(const smcr_arrival_t *arrival, const smcr_rules_move_t *move, const smcr_cdc_t *cdc)
{
    int16_t step = (int16_t)(uint16_t)(cdc->seq - move->seq);

    if (step <= 0)
        smcr_breach(arrival, SMCR_EVENT_move_number, smcr_doubt_since(arrival, &move->at),
                    "Sequence number %u follows the failover validation of number %u in frame %u",
                    cdc->seq, move->seq, move->frame);
}

/* ---- the validation ---- */

static void
keep(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint16_t seq)
{
    const smcr_link_t *link = arrival->qp->link, *from = conn->side[!arrival->qp->side].link;
    smcr_rules_side_t *kept = smcr_rules_side(arrival, conn, !arrival->qp->side);

    *SMCR_STATE_MADE(arrival->state, &kept->move) = (smcr_rules_move_t){
        .from = from != link ? from : NULL,
        .at = smcr_point_at(arrival->qp, arrival->psn),
        .frame = arrival->when.frame,
        .seq = seq,
    };
    smcr_arrival_track(arrival, &kept->move->sent_message);
}

/* ---- what moves ---- */

SMCR_RULES_CDC(move)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_cdc_t *cdc = message->cdc;
    const smcr_rules_move_t *move = smcr_rules_of_side(conn, !arrival->qp->side)->move;
    const smcr_link_t *link = arrival->qp->link;
    bool closing = cdc->state & ENDS || smcr_conn_side_has_ended(sender);
    bool elsewhere = sender->link && sender->link != link && sender->cdc_frame;

    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        keep(arrival, conn, cdc->seq);
    else if (move && move->from == link && !closing)
        check_old_link(arrival, move);
    else if (elsewhere && !closing)
        check_validated(arrival, conn);
    else if (move && move->at.qp == arrival->qp && move->frame > sender->cdc_frame)
        check_number(arrival, move, cdc);
}

/* A request to the connection's element comes from a sender that is not known to be on this link.
 */
SMCR_RULES_WRITE(link)
{
    smcr_conn_t *conn = write->conn;

    if (!conn || write->is_sure || smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]))
        return;
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_rules_move_t *move = smcr_rules_of_side(conn, !arrival->qp->side)->move;
    const smcr_link_t *link = arrival->qp->link;
    bool left = move && move->from == link;
    bool elsewhere = sender->link && sender->link != link && sender->cdc_frame;

    if ((!left && !elsewhere) || smcr_doubt_group(arrival, conn->lgr).kind)
        return; /* or it may be another connection's */
    if (left) {
        check_old_link(arrival, move);
    } else {
        check_validated(arrival, conn);
        smcr_rules_side(arrival, conn, !arrival->qp->side)->strayed_frame = arrival->when.frame;
    }
}
