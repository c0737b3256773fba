/* close_rules.c
 * How connections end: all data written, announced and read, an answer, and no RDMA WRITE behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- messages ---- */

/* Who closes with data unread aborts. It has seen those of a message that was acknowledged a round
 * trip before. Urgent data may be read out of their turn. (R-4.8.1-3) */
static void
check_read(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_stream_t *in = &conn->side[!arrival->qp->side].in;
    const smcr_rules_probe_t *probe = &smcr_rules_of_conn(conn)->probe[!arrival->qp->side];
    bool urgent = in->stalls && in->stalls->urgent;

    if (!in->known || urgent || probe->end <= in->consumed)
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

bool
smcr_rules_side_has_ended(const smcr_doubt_proof_t *claim)
{
    return smcr_conn_side_has_ended(claim->about);
}

/* Who gets an abort sends its own. Linux waits until its program closes, and sends none where it
 * was done before. (R-4.8.2-2) */
static void
check_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *other = &conn->side[arrival->qp->side];
    smcr_doubt_proof_t claim = {
        .has_come = smcr_rules_side_has_ended,
        .about = other,
        .deadline = arrival->when.time + 2 * SMCR_TIME_SECOND,
    };

    if (!smcr_conn_side_has_ended(other))
        smcr_breach(arrival, SMCR_EVENT_cdc_unanswered,
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

/* ---- RDMA WRITEs ---- */

/* Whether the element has another connection by now, or the capture lacks the beginning of one. */
static bool
next_has_come(const smcr_doubt_proof_t *claim)
{
    const smcr_conn_t *conn = claim->about;
    const smcr_conn_side_t *reader = &conn->side[claim->key];

    return smcr_rmb_conn(reader->rmb, reader->rmb_index) != conn ||
           !smcr_doubt_lgr_has_conns(conn->lgr);
}

/* Nothing is absent since the last message of the writer, and for a second nothing tells of another
 * connection that may have the element. */
static smcr_doubt_t
doubt_whose(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_doubt_proof_t claim = {
        .has_come = next_has_come,
        .about = conn,
        .key = (uint32_t)qp->side,
        .deadline = arrival->when.time + SMCR_TIME_SECOND,
    };

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
                "Linux does when a program ends early (smc_close_active())",
                conn->index, done);
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
                "does with what it has left (smc_tx_pending())",
                reader->closed_frame);
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
