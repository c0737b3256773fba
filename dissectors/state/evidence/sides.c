/* What the capture proves about the two sides of a connection: which CDC messages may be missing,
 * and whether the connection has ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

#include "state/model/store.h"

/* Whether the capture has all packets of the link to the side after the frame `since`, or messages
 * prove what the missing ones were. true also if the link has no packets at all. */
static bool
has_all_of_link(const smcr_link_t *link, int side, uint32_t since)
{
    const smcr_qp_t *qp = &link->qp[side];

    if (!link->packet_count)
        return true;
    return qp->number_known && (smcr_evidence_has_proven_missing(qp) ||
                                !smcr_evidence_flow_misses(&qp->traffic.flow, since, UINT32_MAX));
}

/* Whether the first CDC message to the side may be missing, if no CDC message to the side is
 * captured: the peer may choose any link of the group for its first message. true if a request to
 * the side may be missing on a link, or if the first contact of the group is not captured. */
static bool
may_miss_first_message(const smcr_conn_t *conn, int side)
{
    const smcr_link_t *link = conn->lgr->newest_link;

    while (link && has_all_of_link(link, side, conn->accept_frame))
        link = smcr_link_older(link);
    return link || !conn->lgr->first_contact_captured;
}

bool
smcr_evidence_has_one_clock(const smcr_conn_t *conn)
{
    return conn->lgr && !conn->lgr->state->several_interfaces;
}

uint32_t
smcr_evidence_first_frame(const smcr_conn_t *conn)
{
    if (!smcr_evidence_has_one_clock(conn))
        return 0;
    return conn->accept_frame ? conn->accept_frame : conn->proposal_frame;
}

/* The later of both acknowledgements counts. A close that is not acknowledged, or not captured,
 * counts as UINT32_MAX, so the result is UINT32_MAX, too. */
uint32_t
smcr_evidence_last_frame(const smcr_conn_t *conn)
{
    uint32_t frame = 0;

    for (int side = 0; side < 2; side++) {
        const smcr_ack_t *const *acked = conn->side[side].close_acked;
        frame = MAX(frame, acked && *acked ? (*acked)->frame : UINT32_MAX);
    }
    return frame;
}

/* Whether packets of a connection may be missing after its last CDC message to one side, `last`.
 * `end`: frame after which the connection has no packets; a gap that begins later does not count. A
 * packet that came out of order counts as missing. */
static bool
lacks_up_to(const smcr_point_t *last, uint32_t end)
{
    const smcr_qp_t *qp = last->qp;
    const smcr_flow_t *flow = &qp->traffic.flow;
    const smcr_range_t *gap = smcr_ranges_find(&flow->gaps, last->psn + 1, UINT64_MAX);

    if (gap && gap->frame_before <= end)
        return true;
    if (!gap && !smcr_flow_has_last(flow) && flow->highest_frame <= end)
        return true;
    return qp->last_late_psn > last->psn && qp->last_late_frame <= end;
}

bool
smcr_evidence_has_all_after(const smcr_point_t *point)
{
    if (point->qp && smcr_evidence_has_proven_missing(point->qp))
        return true;
    return smcr_evidence_holds(point) && smcr_flow_has_last(&point->qp->traffic.flow) &&
           point->qp->last_late_psn <= point->psn;
}

/* Whether the capture has all packets of the connection to `side` after the last CDC message to
 * that side. There are three cases:
 *
 * 1. Both sides have closed, and both closes are acknowledged: no packet up to the later
 *    acknowledgement is missing (smcr_evidence_last_frame()). Not if a WRITE shows that queued data
 *    follows the close (`wrote_after_end`).
 * 2. The sender has closed, and its flow has gone on by SMCR_EVIDENCE_AFTER_CLOSE packets: none of
 *    these is missing.
 * 3. Otherwise: no later packet of the flow is missing.
 * In cases 2 and 3 packets may be missing if later messages prove what they were
 * (smcr_evidence_has_proven_missing()). */
static bool
has_last_to(const smcr_conn_t *conn, int side)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[side]);
    const smcr_flow_t *flow = last->qp ? &last->qp->traffic.flow : NULL;
    smcr_psn_t after_close = last->psn + SMCR_EVIDENCE_AFTER_CLOSE;
    const smcr_conn_side_t *sender = &conn->side[!side];
    uint32_t end = smcr_evidence_last_frame(conn);

    if (!flow)
        return false;
    if (end != UINT32_MAX && !sender->wrote_after_end && !lacks_up_to(last, end))
        return true;
    if (smcr_conn_side_has_closed(sender) && flow->highest >= after_close)
        return smcr_evidence_absent(last, last->qp, after_close) == 0 ||
               smcr_evidence_has_proven_missing(last->qp);
    return smcr_evidence_has_all_after(last);
}

/* Whether CDC messages to `side` may be missing that the other side has sent on another link than
 * that of `last`, the last CDC message to `side`. */
static bool
may_miss_on_other_links(const smcr_conn_t *conn, int side, const smcr_point_t *last)
{
    uint32_t last_frame = conn->side[!side].last_cdc_frame;
    bool has_moved = last->qp->link->state == SMCR_LINK_DELETED;

    if (!last_frame && may_miss_first_message(conn, side))
        return true;
    return has_moved && smcr_evidence_links_missed(conn->lgr, side, last_frame, UINT32_MAX);
}

/* Whether the cursors in CDC messages to `side` show what the sender has written and read. Four
 * conditions: 1. the last cursors are possible; 2. no immediate data of unknown meaning are sent in
 * place of CDC messages; 3. no step in immediate data is missing; 4. the token names this
 * connection alone. */
static bool
has_usable_cursors(const smcr_conn_t *conn, int side)
{
    const smcr_conn_side_t *sender = &conn->side[!side];

    if (smcr_conn_side_has_invalid_cursor(sender) || sender->steps_missing)
        return false;
    return !conn->lgr->immediate && !conn->side[side].token_shared;
}

/* Every doubt gives false. */
bool
smcr_evidence_is_current(const smcr_conn_t *conn, int side)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[side]);

    if (!last->qp || may_miss_on_other_links(conn, side, last))
        return false;
    if (!has_usable_cursors(conn, side) || conn->side[!side].last_cdc_missing)
        return false;
    return smcr_evidence_has_packets_to(last->qp) && has_last_to(conn, side);
}

/* Whether no pair of a WRITE and the CDC message that announces it can be missing after the point.
 * Either no packet is missing, or only one packet is missing, and at least
 * SMCR_EVIDENCE_ANNOUNCED_WITHIN packets of the flow follow the missing one. False if the last
 * packet of the flow may be missing (smcr_flow_has_last()), or if a request came late. */
static bool
misses_no_pair(const smcr_point_t *last)
{
    const smcr_flow_t *flow = &last->qp->traffic.flow;
    const smcr_range_t *gap = smcr_ranges_find(&flow->gaps, last->psn + 1, UINT64_MAX);

    if (!smcr_flow_has_last(flow) || last->qp->last_late_psn > last->psn)
        return false;
    if (smcr_evidence_absent(last, last->qp, flow->highest) > 1)
        return false;
    return !gap || flow->highest >= gap->to + SMCR_EVIDENCE_ANNOUNCED_WITHIN - 1;
}

/* Every doubt gives true: the caller must not say that the stream is complete. */
bool
smcr_evidence_may_miss_data_to(const smcr_conn_t *conn, int side)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[side]);

    if (!last->qp || may_miss_on_other_links(conn, side, last))
        return true;
    if (!has_usable_cursors(conn, side) || conn->side[!side].last_cdc_missing)
        return true;
    return !smcr_evidence_has_packets_to(last->qp) ||
           !(misses_no_pair(last) || has_last_to(conn, side));
}

/* Whether no request to the queue pair is missing after its first captured request, and none counts
 * as missing although it is captured (`last_late_psn`). */
static bool
is_seamless(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    return flow->packet_count > 0 && !flow->gaps.count && smcr_flow_has_last(flow) &&
           !qp->last_late_psn;
}

/* Whether all links of the group that have packets are seamless in both directions. */
static bool
has_seamless_links(const smcr_lgr_t *lgr)
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link)) {
        bool is_whole = is_seamless(&link->qp[0]) && is_seamless(&link->qp[1]);
        if (link->packet_count && !is_whole)
            return false;
    }
    return true;
}

/* Whether the group has a connection that its sender has closed, and of which only the direction to
 * the side is known. */
static bool
has_ended_half(const smcr_lgr_t *lgr, int side)
{
    SMCR_LIST_EACH(const smcr_conn_t *, half, lgr->one_direction_conns) {
        if (half->side[side].has_token && smcr_conn_side_has_closed(&half->side[!side]))
            return true;
    }
    return false;
}

/* Messages of the side may be listed as another connection: one of which only this direction is
 * known. Such a connection gives false. */
bool
smcr_evidence_sent_no_message(const smcr_conn_t *conn, int side)
{
    const smcr_lgr_t *lgr = conn->lgr;

    if (!lgr || conn->side[!side].has_token || lgr->one_direction_conns_forgotten)
        return false;
    SMCR_LIST_EACH(const smcr_conn_t *, half, lgr->one_direction_conns) {
        if (half->side[!side].has_token)
            return false;
    }
    return has_seamless_links(lgr);
}

/* Every doubt gives false: the end may not be captured. */
bool
smcr_evidence_has_end(const smcr_conn_t *conn, int side)
{
    const smcr_lgr_t *lgr = conn->lgr;

    if (conn->side[side].closed_frame || smcr_evidence_is_current(conn, !side))
        return true;
    if (!lgr || conn->side[!side].has_token)
        return false;
    /* the messages of the side may be listed as another connection of the group */
    bool may_be_other = lgr->one_direction_conns_forgotten || has_ended_half(lgr, !side);
    return !may_be_other && has_seamless_links(lgr);
}

/* Whether the side of the link has stopped answering requests, and has sent no packet since then.
 * Also true if no packet of the side is captured: both counts are 0 then. */
static bool
is_silent_side(const smcr_link_t *link, int side)
{
    const smcr_flow_t *requests = &link->qp[side].traffic.flow;

    return requests->reverse_count_at_silence == link->qp[!side].traffic.flow.packet_count;
}

bool
smcr_evidence_is_silent(const smcr_link_t *link)
{
    return link && (is_silent_side(link, 0) || is_silent_side(link, 1));
}

/* Every doubt gives false: then unread bytes are not reported. */
bool
smcr_evidence_knows_reader(const smcr_conn_t *conn, int side)
{
    const smcr_conn_side_t *reader = &conn->side[side];
    const smcr_link_t *link = reader->link;

    if (!conn->side[0].has_token || !conn->side[1].has_token)
        return false;
    /* after a message with an impossible cursor it is not known how far the side has read */
    if (!reader->in.positions_known || smcr_conn_side_has_invalid_cursor(reader))
        return false;
    if (!smcr_evidence_is_current(conn, side))
        return false;
    return smcr_conn_has_closed(conn) || !link || smcr_evidence_knows_link(link);
}

/* Whether the arriving message cannot belong to the connection, by its sequence number: the number
 * did not grow since the sender's last message, or grew by more than the PSN, though both messages
 * came to the same queue pair: each message takes a PSN. `step`: growth of the
 * sequence number since the sender's last message. `last`: point of the sender's last message. */
static bool
has_foreign_number(const smcr_arrival_t *arrival, const smcr_point_t *last, int16_t step)
{
    if (step <= 0)
        return true;
    return last->qp == arrival->qp && (uint64_t)step > arrival->psn - last->psn;
}

/* Whether CLC proves that no other connection of the group has the token of this connection. */
static bool
has_unique_token(const smcr_conn_t *conn)
{
    return conn->accept_frame && conn->confirm_frame && conn->lgr->unfinished_clc_conns == 0;
}

/* A doubt gives false: the message then belongs to the known connection. */
bool
smcr_evidence_is_over(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];
    const smcr_point_t *last = &conn->side[qp->side].last_cdc_received;
    bool is_replay = smcr_conn_side_has_moved(sender) || cdc->flags & SMCR_CDC_FLAG_FAILOVER;
    bool is_final = (cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) != 0;
    bool goes_on_closed = smcr_conn_side_has_closed(sender) && !is_final;
    int16_t step = smcr_conn_side_seq_step(sender, cdc->seq);
    uint64_t absent = smcr_evidence_absent(last, qp, arrival->psn);

    if (!sender->last_cdc_frame || is_replay)
        return false;
    bool is_next = !absent && step == 1;
    if (goes_on_closed && !is_next)
        return true;
    return absent && !has_unique_token(conn) && has_foreign_number(arrival, last, step);
}

/* Whether the capture has no acknowledgement of the flow to the queue pair, though it has requests
 * of the flow: then nothing shows which of them were lost after the capture point. What a tap shows
 * has no acknowledgements, and none is missing. */
static bool
misses_all_acks(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    return flow->first && !flow->has_acks && !qp->link->lgr->tapped;
}

/* Whether no request of the flow to the queue pair was missing between the frames `since` and
 * `frame`, and no captured packet of the flow was lost after the capture point in these frames.
 * False if the capture has no acknowledgements of the flow: then losses do not show. */
static bool
knows_received(const smcr_qp_t *qp, uint32_t since, uint32_t frame)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    return !misses_all_acks(qp) && !smcr_evidence_flow_missed(flow, since, frame) &&
           !smcr_ranges_count(&flow->lost_later, since, frame + 1);
}

/* Whether the packet of the record, in `frame`, is a retransmission that was itself lost downstream
 * of the capture point. */
static bool
is_lost_retransmission(const smcr_record_t *record, uint32_t frame)
{
    const smcr_flow_t *flow = &record->link->qp[!record->sender].traffic.flow;

    return record->order == SMCR_FLOW_IS_RETRANSMISSION &&
           smcr_ranges_count(&flow->lost_later, frame, frame + 1);
}

/* Whether the writer has received no other packet of the reader than the captured ones, on other
 * links than that of the record in `frame`. `writer`: side that has sent the record's packet.
 * `since`: frame in which this packet was sent for the first time. */
static bool
knows_reader_elsewhere(const smcr_record_t *record, int writer, uint32_t since, uint32_t frame)
{
    const smcr_conn_side_t *reader = &record->conn->side[!writer];
    bool is_elsewhere = reader->link && reader->link != record->link;
    bool may_use_any_link = reader->moved_frame != 0;

    if (may_use_any_link && smcr_evidence_links_missed(record->link->lgr, writer, since, frame))
        return false;
    return !is_elsewhere || knows_received(&reader->link->qp[writer], since, frame);
}

/* For a retransmission the time since its first transmission counts: messages of the reader may be
 * missing in this time. */
bool
smcr_evidence_hears_reader(const smcr_record_t *record, uint32_t frame)
{
    const smcr_link_t *link = record->link;
    int writer = record->sender;

    if (!link || writer < 0)
        return true;
    bool is_retransmission = record->order == SMCR_FLOW_IS_RETRANSMISSION;
    uint32_t since = is_retransmission ? record->first_frame : frame;
    if (is_lost_retransmission(record, frame))
        return false;
    return knows_received(&link->qp[writer], since, frame) &&
           (!record->conn || knows_reader_elsewhere(record, writer, since, frame));
}
