/* move_rules.c
 * How a connection goes from one link to another: first a failover validation, then what was not
 * acknowledged, and nothing more on the old link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

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
    smcr_doubt_proof_t claim = {.has_come = smcr_rules_side_has_ended, .about = receiver};

    if (sender->moved_frame || smcr_rules_of_side(conn, !arrival->qp->side)->strayed_frame ||
        smcr_conn_side_has_ended(sender) || smcr_conn_side_has_ended(receiver))
        return;
    smcr_breach(arrival, SMCR_EVENT_move_not_validated,
                smcr_doubt_later(arrival, conn->lgr, arrival->qp->side, claim),
                "The connection moves from link %u to link %u, but no failover validation comes "
                "first",
                sender->link->number, arrival->qp->link->number);
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
        "(smc_switch_conns())",
        move->from->number, move->frame);
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

    if (!kept->move)
        kept->move = smcr_state_alloc0(arrival->state, sizeof *kept->move);
    *kept->move = (smcr_rules_move_t){
        .from = from != link ? from : NULL,
        .at = smcr_point_at(arrival->qp, arrival->psn),
        .frame = arrival->when.frame,
        .seq = seq,
    };
    smcr_arrival_track(arrival, &kept->move->sent_message);
}

/* ---- all messages ---- */

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
