/* Packets that may be missing: in a flow, in the CLC messages on TCP, and of the two sides of a
 * connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "evidence.h"

#include "state/model/store.h"

/* ---- flows ---- */

uint64_t
smcr_evidence_absent(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    if (!point->qp || point->qp != qp)
        return UINT64_MAX;
    /* the point is before the first captured packet, and the first PSN is not known */
    if (!point->psn && !qp->traffic.flow.first_announced)
        return UINT64_MAX;
    return smcr_ranges_count(&qp->traffic.flow.gaps, point->psn + 1, psn) +
           (qp->last_late_psn > point->psn && qp->last_late_psn < psn);
}

smcr_rmb_t *
smcr_evidence_continued(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    int owner = !arrival->qp->side;

    return smcr_evidence_absent(&lgr->last_confirm_rkey_at[owner], arrival->qp, arrival->psn)
               ? NULL : lgr->last_confirmed_rmb[owner];
}

bool
smcr_evidence_holds(const smcr_point_t *point)
{
    return point->qp &&
           smcr_evidence_absent(point, point->qp, point->qp->traffic.flow.highest) == 0;
}

/* Whether no request is missing after the point, which is in the flow of another link, and none is
 * missing in the flow to `qp`. So no packet is missing between the point and the newest packet of
 * `qp`. */
static bool
joins(const smcr_point_t *point, const smcr_qp_t *qp)
{
    return smcr_evidence_holds(point) &&
           point->qp->traffic.flow.acked_psn <= point->qp->traffic.flow.highest &&
           qp->traffic.flow.first_announced && qp->traffic.flow.gaps.count == 0;
}

uint64_t
smcr_evidence_unseen_bytes(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    uint64_t absent = smcr_evidence_absent(point, qp, psn);

    if (point->qp != qp && joins(point, qp))
        return 0;
    if (absent == UINT64_MAX)
        return absent;
    uint64_t unplaced = (qp->unpositioned - point->unpositioned) & SMCR_POINT_UNPLACED_MASK;
    return (absent + unplaced) * smcr_qp_mtu(qp);
}

smcr_when_t
smcr_evidence_sent(const smcr_arrival_t *arrival)
{
    bool fills = arrival->record->order == SMCR_FLOW_IS_LATE &&
                 arrival->first_sent.frame == arrival->when.frame;

    return fills ? (smcr_when_t){0} : arrival->first_sent;
}

void
smcr_evidence_pass_over(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!arrival->roce || !smcr_ib_is_write(arrival->roce->opcode))
        qp->last_late_frame = arrival->when.frame;
    qp->last_late_psn = MAX(qp->last_late_psn, arrival->psn);
}

/* ---- states of links ---- */

/* Whether one of the ranges was missing at a time between the frames `from` and `to`: the range
 * begins before `to` and ends after `from`. */
static bool
lie_between(const smcr_ranges_t *ranges, uint32_t from, uint32_t to)
{
    for (unsigned i = 0; i < ranges->count; i++)
        if (ranges->list[i].frame_after > from && ranges->list[i].frame_before < to)
            return true;
    return false;
}

/* Whether a request of the flow is missing between the frames `from` and `to`. A request that is
 * acknowledged but not captured counts, if it may be before `to`. So does a request that the
 * receiver waits for, if `to` is UINT32_MAX: the end of the capture. */
static bool
lacks_between(const smcr_flow_t *flow, uint32_t from, uint32_t to)
{
    bool waits = flow->psn_history.used && flow->expected_psn <= flow->highest;

    return lie_between(&flow->gaps, from, to) ||
           (flow->acked_psn > flow->highest && flow->highest_frame < to) ||
           (waits && to == UINT32_MAX);
}

/* Whether a packet to the side of the group may be missing between the frames `from` and `to`.
 * `first`: a packet before the first captured request of a flow counts, too. true also if no packet
 * to the side is captured. */
static bool
group_lacks(const smcr_lgr_t *lgr, int side, uint32_t from, uint32_t to, bool first)
{
    bool seen = false;

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link)) {
        const smcr_qp_t *qp = &link->qp[side];
        bool late = qp->last_late_frame && qp->last_late_frame >= from; /* or truncated */
        const smcr_flow_t *flow = &qp->traffic.flow;
        bool begun = first && flow->first && !flow->first_announced;
        bool unseen = !link->packet_count && link->state == SMCR_LINK_ANNOUNCED &&
                      link->qp[0].number_known && link->qp[1].number_known;
        if (unseen || late || begun || lacks_between(flow, from, to))
            return true;
        seen |= smcr_evidence_has_packets_to(qp);
    }
    return !seen;
}

/* Whether a request of the flow was missing at some time between the frames `since` and `frame`,
 * even if the request came later. */
static bool
lacked(const smcr_flow_t *flow, uint32_t since, uint32_t frame)
{
    return lacks_between(flow, since, frame) || lie_between(&flow->filled_gaps, since, frame);
}

/* Whether a request to the side was missing between the frames `from` and `to` on any link of the
 * group. Requests that came later count, too (lacked()). */
static bool
links_lack(const smcr_lgr_t *lgr, int side, uint32_t from, uint32_t to)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && !lacked(&link->qp[side].traffic.flow, from, to))
        link = smcr_link_older(link);
    return link != NULL;
}

bool
smcr_evidence_lacks_before(const smcr_lgr_t *lgr, uint32_t frame)
{
    return links_lack(lgr, 0, 0, frame) || links_lack(lgr, 1, 0, frame) ||
           lgr->state->is_out_of_order;
}

bool
smcr_evidence_may_lack_link(const smcr_lgr_t *lgr)
{
    return !lgr->link_never_confirmed &&
           (!lgr->first_contact_captured || (group_lacks(lgr, 0, 0, UINT32_MAX, false) &&
                                             group_lacks(lgr, 1, 0, UINT32_MAX, false)));
}

/* Whether the response to CONFIRM LINK may be missing: the receiver of CONFIRM LINK has
 * acknowledged this request, and no later request of the receiver on the link is captured. */
static bool
may_be_confirmed(const smcr_link_t *link)
{
    const smcr_flow_t *flow = &link->qp[0].traffic.flow, *other = &link->qp[1].traffic.flow;
    const smcr_flow_t *asked = flow->highest_frame > other->highest_frame ? flow : other;

    return asked->highest_frame >= link->confirm_frame && asked->acked_psn >= asked->highest &&
           MIN(flow->highest_frame, other->highest_frame) < link->confirm_frame;
}

/* Whether a DELETE LINK after `frame` may name this link, although its own link is not known to
 * belong to the same group. The link number decides. If the number of this link is not known, any
 * number may name this link. */
static bool
may_be_deleted(const smcr_link_t *link, uint32_t frame)
{
    const uint32_t *deletions = link->lgr->state->uncertain_deletions;
    unsigned number = link->number;

    while (!link->has_number && ++number < 256 && deletions[number] <= frame)
        continue;
    return (deletions[0] > frame || (number < 256 && deletions[number] > frame)) &&
           smcr_evidence_may_lack_link(link->lgr);
}

bool
smcr_evidence_knows_link(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;
    uint32_t used =
        MIN(link->qp[0].traffic.flow.highest_frame, link->qp[1].traffic.flow.highest_frame);
    bool guess = link->state_uncertain || link->state == SMCR_LINK_ANNOUNCED;
    uint32_t from = guess ? link->added_frame : used;
    uint32_t to = link->state_frame ? link->state_frame : UINT32_MAX;

    if (!guess && link->state != SMCR_LINK_ACTIVE)
        return true;
    if (link->state == SMCR_LINK_ACTIVE &&
        (link->possible_end_frame >= MAX(used, 1) || may_be_deleted(link, used)))
        return false;
    if (guess && !lgr->first_contact_captured &&
        (link->index == lgr->first_link_index || !link->has_number))
        return false; /* CLC names the link, but CLC came after the link's first packets */
    if (link->state == SMCR_LINK_ANNOUNCED && !lgr->link_never_confirmed && may_be_confirmed(link))
        return false;
    bool lacks = group_lacks(lgr, 0, from, to, guess) || group_lacks(lgr, 1, from, to, guess);
    return (guess && lgr->link_never_confirmed) ||
           (!lacks && !(guess && lgr->state->is_out_of_order));
}

bool
smcr_evidence_knows_links(const smcr_lgr_t *lgr)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && smcr_evidence_knows_link(link))
        link = smcr_link_older(link);
    return !link && !smcr_evidence_may_lack_link(lgr);
}

/* ---- answers ---- */

bool
smcr_evidence_is_first_answer(const smcr_arrival_t *arrival, const smcr_point_t *asked)
{
    const smcr_qp_t *qp = arrival->qp;

    if (asked->qp != qp)
        return joins(asked, qp);
    return arrival->psn > asked->psn && smcr_evidence_absent(asked, qp, arrival->psn) == 0;
}

bool
smcr_evidence_is_unanswered(const smcr_state_t *state, const smcr_exchange_t *exchange)
{
    const uint64_t wait = UINT64_C(5000000000); /* longest wait of Linux, ns (smc_llc.h) */

    return !exchange->response_frame && !exchange->response_unknowable && !exchange->is_optional &&
           state->last_time > exchange->request_time + wait;
}

/* ---- CLC on TCP ---- */

void
smcr_evidence_tcp_begins(smcr_conn_t *conn, unsigned role, uint32_t first)
{
    conn->knows_client = true;
    conn->clc_next_seq[role] = first;
    conn->clc_complete |= (uint8_t)(1U << role);
}

void
smcr_evidence_tcp_take(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    unsigned role = smcr_arrival_role(arrival);

    /* A Proposal is the first CLC message of a connection. So even if the SYN or SYN-ACK is
     * missing, no CLC bytes can be missing before the Proposal. */
    if (span && role == 0 && conn->clc_types_received == 1U << SMCR_CLC_PROPOSAL) {
        conn->clc_next_seq[0] = conn->clc_complete & 1 ? conn->clc_next_seq[0] : span->first;
        conn->clc_next_seq[1] = conn->clc_complete & 2 ? conn->clc_next_seq[1] : span->acked_seq;
        conn->clc_complete = 3;
    }
    if (!span || (int32_t)(span->first - conn->clc_next_seq[role]) > 0)
        conn->clc_complete &= (uint8_t)~(1U << role);
    if (span && (int32_t)(span->end - conn->clc_next_seq[role]) > 0)
        conn->clc_next_seq[role] = span->end;
}

bool
smcr_evidence_tcp_is_part(smcr_conn_t *conn, unsigned role, const smcr_arrival_span_t *span,
                          bool ends_message)
{
    uint32_t skipped = span->first - conn->clc_next_seq[role];
    bool answers = conn->clc_partial_seq[!role] && conn->clc_partial_seq[!role] == span->acked_seq;
    bool is_behind = !skipped && !conn->clc_cut;

    if (answers || is_behind || skipped + SMCR_CLC_LENGTH_MAX > 2 * SMCR_CLC_LENGTH_MAX)
        return false;
    if (ends_message)
        conn->clc_complete = 0;
    (ends_message ? conn->clc_next_seq : conn->clc_partial_seq)[role] = span->end;
    return true;
}

smcr_evidence_clc_t
smcr_evidence_of_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_arrival_span_t *span = arrival->span;
    unsigned role = smcr_arrival_role(arrival);

    if (!span)
        return (smcr_evidence_clc_t){0};
    return (smcr_evidence_clc_t){
        .is_next =
            smcr_evidence_tcp_precedes(arrival, conn) && span->first == conn->clc_next_seq[role],
        .is_repeat = (int32_t)(conn->clc_next_seq[role] - span->first) > 0,
        .is_overtaken = (int32_t)(conn->clc_next_seq[!role] - span->acked_seq) > 0,
    };
}

/* ---- packets of the two sides of a connection ---- */

/* Whether a CDC message to the side may be missing. Called if none is captured: the peer may choose
 * any link of the group for its first message. true if a request to the side is missing on a link,
 * or if the first contact of the group is not captured. */
static bool
may_hear(const smcr_conn_t *conn, int side)
{
    const smcr_link_t *link = conn->lgr->newest_link;

    while (link && (!link->packet_count ||
                    (link->qp[side].number_known &&
                     !lacks_between(&link->qp[side].traffic.flow, conn->accept_frame, UINT32_MAX))))
        link = smcr_link_older(link);
    return link || !conn->lgr->first_contact_captured;
}

/* The frame after which neither side sends a packet of the connection: both have closed it, and the
 * closing messages of both are acknowledged. UINT32_MAX: this is not known to have happened. */
static uint32_t
end_frame(const smcr_conn_t *conn)
{
    uint32_t frame = 0;

    for (int side = 0; side < 2; side++) {
        const smcr_ack_t *const *acked = conn->side[side].close_acked;
        frame = MAX(frame, acked && *acked ? (*acked)->frame : UINT32_MAX);
    }
    return frame;
}

/* Whether packets of a connection may be missing after its last CDC message to one side, `last`: a
 * gap begins before the frame `end`, after which the connection has no packets. */
static bool
lacks_up_to(const smcr_point_t *last, uint32_t end)
{
    const smcr_flow_t *flow = &last->qp->traffic.flow;
    const smcr_range_t *gap = smcr_ranges_find(&flow->gaps, last->psn + 1, UINT64_MAX);

    if (gap ? gap->frame_before <= end : !smcr_flow_has_last(flow) && flow->highest_frame <= end)
        return true;
    return last->qp->last_late_psn > last->psn && last->qp->last_late_frame <= end;
}

/* Whether the capture has all packets of the connection to `side` after the last CDC message to
 * that side. After a close only packets that come soon can be the connection's. If both sides have
 * closed, only data that a side has still to send are left: their WRITE shows that they exist. */
static bool
has_last_to(const smcr_conn_t *conn, int side)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[side]);
    const smcr_flow_t *flow = last->qp ? &last->qp->traffic.flow : NULL;
    smcr_psn_t after_close = last->psn + SMCR_EVIDENCE_AFTER_CLOSE;
    const smcr_conn_side_t *sender = &conn->side[!side];
    uint32_t end = end_frame(conn);

    if (!flow)
        return false;
    if (end != UINT32_MAX && !sender->wrote_after_end && !lacks_up_to(last, end))
        return true;
    if (smcr_conn_side_has_closed(sender) && flow->highest >= after_close)
        return smcr_evidence_absent(last, last->qp, after_close) == 0;
    /* Packets that are acknowledged but not captured are missing, too. So are packets for which the
     * receiver waits after a gap. */
    return smcr_evidence_holds(last) && smcr_flow_has_last(flow) &&
           last->qp->last_late_psn <= last->psn;
}

bool
smcr_evidence_is_current(const smcr_conn_t *conn, int side)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[side]);
    const smcr_flow_t *flow = last->qp ? &last->qp->traffic.flow : NULL;
    const smcr_conn_side_t *sender = &conn->side[!side];

    if (!flow || (!sender->last_cdc_frame && may_hear(conn, side)))
        return false; /* the sender may use a link whose packets are missing */
    if (last->qp->link->state == SMCR_LINK_DELETED &&
        links_lack(conn->lgr, side, sender->last_cdc_frame, UINT32_MAX))
        return false; /* the sender may have moved to another link */
    bool means_something =
        !smcr_conn_side_has_invalid_cursor(sender) && !conn->lgr->immediate &&
        !conn->side[side].token_shared;
    return means_something && has_last_to(conn, side) && flow->packet_count > 0 &&
           !sender->last_cdc_missing;
}

/* Whether no request to the queue pair is missing after its first captured request, and the
 * receiver took in each request when it came. */
static bool
is_seamless(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    return flow->packet_count > 0 && !flow->gaps.count && smcr_flow_has_last(flow) &&
           !qp->last_late_psn;
}

/* Whether the group has a closed connection of which only the direction to the side is known. */
static bool
has_ended_half(const smcr_lgr_t *lgr, int side)
{
    SMCR_LIST_EACH(const smcr_conn_t *, half, lgr->one_direction_conns) {
        if (half->side[side].has_token && smcr_conn_side_has_closed(&half->side[!side]))
            return true;
    }
    return false;
}

bool
smcr_evidence_has_end(const smcr_conn_t *conn, int side)
{
    const smcr_lgr_t *lgr = conn->lgr;

    if (conn->side[side].closed_frame || smcr_evidence_is_current(conn, !side))
        return true;
    if (!lgr || conn->side[!side].has_token || lgr->one_direction_conns_forgotten ||
        has_ended_half(lgr, !side))
        return false;
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        if (link->packet_count && (!is_seamless(&link->qp[0]) || !is_seamless(&link->qp[1])))
            return false;
    return true;
}

bool
smcr_evidence_is_silent(const smcr_link_t *link)
{
    return link && (link->qp[0].traffic.flow.reverse_count_at_silence ==
                        link->qp[1].traffic.flow.packet_count ||
                    link->qp[1].traffic.flow.reverse_count_at_silence ==
                        link->qp[0].traffic.flow.packet_count);
}

bool
smcr_evidence_knows_reader(const smcr_conn_t *conn, int side)
{
    const smcr_link_t *link = conn->side[side].link;

    return conn->side[side].in.positions_known && smcr_evidence_is_current(conn, side) &&
           /* after an impossible cursor it is not known what the side has read */
           !smcr_conn_side_has_invalid_cursor(&conn->side[side]) &&
           (smcr_conn_has_closed(conn) || !link || smcr_evidence_knows_link(link)) &&
           conn->side[0].has_token && conn->side[1].has_token;
}

bool
smcr_evidence_is_over(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];
    const smcr_point_t *heard = &conn->side[qp->side].last_cdc_received;
    bool replay = sender->moved_frame > sender->last_cdc_frame; /* failover (4.6.1) */
    bool final = (cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) != 0;
    bool ended = smcr_conn_side_has_closed(sender);
    int16_t step = smcr_conn_side_seq_step(sender, cdc->seq);
    uint64_t absent = smcr_evidence_absent(heard, qp, arrival->psn);

    if (!sender->last_cdc_frame || replay || cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        return false;
    if (ended && !final && (absent || step != 1))
        return true;
    if (conn->lgr->unfinished_clc_conns == 0 && conn->accept_frame && conn->confirm_frame)
        return false; /* CLC has given the token to no other connection */
    return absent && (step <= 0 || (heard->qp == qp && (uint64_t)step > arrival->psn - heard->psn));
}

/* Whether no request of the flow was missing between the frames `since` and `frame`, and no
 * captured packet of the flow was lost after the capture point in these frames. */
static bool
is_heard(const smcr_flow_t *flow, uint32_t since, uint32_t frame)
{
    return !lacked(flow, since, frame) && !smcr_ranges_count(&flow->lost_later, since, frame + 1);
}

bool
smcr_evidence_hears_reader(const smcr_record_t *record, uint32_t frame)
{
    const smcr_link_t *link = record->link;
    int side = record->sender;

    if (!link || side < 0)
        return true;
    const smcr_conn_side_t *reader = record->conn ? &record->conn->side[!side] : NULL;
    if (reader && reader->moved_frame && links_lack(link->lgr, side, frame, frame))
        return false; /* the reader's messages may have been on any link */
    const smcr_link_t *other = reader && reader->link ? reader->link : link;
    bool again = record->order == SMCR_FLOW_IS_RETRANSMISSION;
    uint32_t since = again ? record->first_frame : frame;
    const smcr_ranges_t *unheard = &link->qp[!side].traffic.flow.lost_later;
    /* a retransmission must not have been lost itself after the capture point */
    return !(again && smcr_ranges_count(unheard, frame, frame + 1)) &&
           is_heard(&link->qp[side].traffic.flow, since, frame) &&
           is_heard(&other->qp[side].traffic.flow, since, frame);
}

/* First frame after the last gap between the point and `psn` in the flow to `qp`. A request whose
 * content is not known (`last_late_psn`) counts as a gap. 0: no gap. UINT32_MAX: the point is in
 * another flow, and a request may be missing there. If the point is not set: the last gap before
 * `psn`. */
static uint32_t
last_gap(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    const smcr_ranges_t *gaps = &qp->traffic.flow.gaps;
    smcr_psn_t from = point->qp == qp ? point->psn + 1 : 0;
    const smcr_range_t *gap;
    uint32_t frame = 0;

    if (point->qp && point->qp != qp && !smcr_evidence_holds(point))
        return UINT32_MAX;
    if (qp->last_late_frame && qp->last_late_psn >= from)
        frame = qp->last_late_frame + 1;
    for (; (gap = smcr_ranges_find(gaps, from, psn)) != NULL; from = gap->to)
        frame = MAX(frame, gap->frame_after);
    return frame;
}

bool
smcr_evidence_is_next(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[arrival->qp->side]);
    bool begins = !sender->last_cdc_frame && sender->announced_at.qp;

    if (sender->moved_frame > sender->last_cdc_frame || (!sender->last_cdc_frame && !begins))
        return false;
    return last->qp == arrival->qp ? smcr_evidence_absent(last, arrival->qp, arrival->psn) == 0
                                   : begins && joins(last, arrival->qp);
}

/* ---- cursors of a CDC message ---- */

/* Compares a cursor of a CDC message with the sender's earlier cursor of the same kind. Sets
 * `fault`, `believed`, `told` and `known` of the result. After a move to another link the sender
 * may send earlier cursors once more, so a cursor that goes back is no fault.
 *
 * - `owner`: side in whose element the cursor points.
 * - `before`: the sender's last possible cursor of this kind.
 * - `said`: the cursor in the sender's last impossible message, possible or not.
 * - `now`: the cursor in this message.
 * - `next`: no packet is missing after the sender's last message. */
static smcr_evidence_cursor_t
judge_cursor(const smcr_conn_t *conn, int owner, const smcr_conn_side_t *sender,
             smcr_cursor_t before, smcr_cursor_t said, smcr_cursor_t now, bool next)
{
    const smcr_conn_side_t *reader = &conn->side[owner];
    const smcr_stream_t *in = &reader->in;
    const smcr_ring_t ring =
        in->positions_known ? in->ring : (smcr_ring_t){reader->size, conn->lgr->base[owner]};
    bool again = sender->moved_frame > sender->last_cdc_frame || (!sender->last_cdc_frame && !next);
    bool odd = smcr_conn_side_has_invalid_cursor(sender);
    bool agrees = odd && smcr_ring_fault(&ring, said, now) == SMCR_RING_FAULT_NONE;
    bool proven =
        !sender->unverified && in->consumed <= in->announced &&
        (sender->announced_at.qp || (in->positions_known && in->announced <= in->written));
    smcr_evidence_cursor_t cursor = {.fault = smcr_ring_fault(&ring, again ? now : before, now)};

    if (cursor.fault == SMCR_RING_FAULT_ROUND && (!next || odd || conn->lgr->immediate))
        cursor.fault = SMCR_RING_FAULT_NONE;
    cursor.told = agrees || (cursor.fault == SMCR_RING_FAULT_BACK && !proven) ||
                  (cursor.fault == SMCR_RING_FAULT_ROUND && sender->unverified);
    cursor.believed =
        cursor.fault == SMCR_RING_FAULT_NONE || (agrees && !proven && !in->positions_known);
    cursor.known = cursor.believed && in->positions_known && smcr_conn_owns_element(conn, owner);
    return cursor;
}

/* Sets `end` and `over` of a cursor, and clears `known` if the size of the element is not known and
 * the cursor has another wrap. `position`: stream position of the earlier cursor `at`. `now`: the
 * cursor. `bound`: stream position that the cursor must not exceed. */
static void
place_cursor(smcr_evidence_cursor_t *cursor, const smcr_ring_t *ring, uint64_t position,
             smcr_cursor_t at, smcr_cursor_t now, uint64_t bound)
{
    int64_t step = smcr_ring_distance(ring, at, now);

    cursor->known &= smcr_ring_room(ring) || at.wrap == now.wrap;
    cursor->end = position + (uint64_t)MAX(step, 0);
    /* only a cursor that is after the earlier cursor can exceed `bound` for the first time */
    bool moves = cursor->known && cursor->end > position;
    cursor->over = moves && cursor->end > bound ? cursor->end - bound : 0;
}

smcr_evidence_cursors_t
smcr_evidence_of_cursors(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                         const smcr_cdc_t *cdc)
{
    smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side], *receiver = &conn->side[qp->side];
    const smcr_stream_t *out = &receiver->in, *in = &sender->in;
    const smcr_point_t *last = smcr_evidence_last_to(receiver);
    bool first = cdc->seq == 1 && receiver->valid_from.qp && sender->announced_at.qp;
    bool next = smcr_evidence_is_next(arrival, conn);
    bool counts = next && (sender->last_cdc_frame || !smcr_doubt_group(arrival, conn->lgr).kind);
    bool odd = smcr_conn_side_has_invalid_cursor(sender);
    bool moved = sender->moved_frame > sender->last_cdc_frame;
    int step = sender->last_cdc_frame ? smcr_conn_side_seq_step(sender, cdc->seq) : first;
    bool follows = step == 1,
         left = sender->announced_at.qp && sender->announced_at.qp->link != qp->link;
    uint32_t gap = last_gap(last, qp, arrival->psn);
    if (sender->last_cdc_frame ? step > 1 && last->qp && (moved || last->qp != qp) : left && !first)
        gap = sender->last_cdc_frame && !moved ? MAX(gap, sender->moved_frame)
                                               : arrival->when.frame;
    smcr_evidence_cursor_t prod =
        judge_cursor(conn, qp->side, sender, sender->prod, sender->raw_prod, cdc->prod, next);
    smcr_evidence_cursor_t cons =
        judge_cursor(conn, !qp->side, sender, sender->cons, sender->raw_cons, cdc->cons, next);
    bool placed = last->qp == qp ? qp->unpositioned_psn <= last->psn
                                 : first && joins(last, qp) && !qp->unpositioned_psn;
    bool whole = gap == 0 && !odd && (last->qp != qp || qp->last_late_psn <= last->psn);
    place_cursor(&prod, &out->ring, out->announced, out->prod, cdc->prod, out->written);
    place_cursor(&cons, &in->ring, in->consumed, in->cons, cdc->cons, in->announced);
    prod.believed &=
        !prod.over || out->may_rewrite || !whole || !placed ||
        smcr_evidence_unseen_bytes(&receiver->last_positioned_write, qp, arrival->psn) != 0;
    bool current = smcr_evidence_is_current(conn, !qp->side);
    cons.believed &= !cons.over || !current;
    return (smcr_evidence_cursors_t){
        .follows = follows && !odd,
        .prod = prod,
        .cons = cons,
        .seq = counts && !sender->unverified ? (uint16_t)(sender->cdc_seq_expected + 1) : cdc->seq,
        .same = smcr_conn_side_has_read_to(sender, cdc->cons),
        .since = odd ? MAX(sender->invalid_cursor_frame, gap) : follows && !moved ? 0 : gap,
        .left = moved ? sender->moved_frame : 0,
        .current = current,
        .placed = placed, .whole = whole,
    };
}

bool
smcr_evidence_is_astray(const smcr_arrival_t *arrival, const smcr_conn_t *conn, uint64_t skipped,
                        uint64_t unseen)
{
    int side = arrival->qp->side;
    const smcr_conn_side_t *writer = &conn->side[!side];
    bool told = writer->moved_frame <= writer->last_cdc_frame;
    bool introduced = conn->socket || (conn->accept_frame && conn->confirm_frame &&
                                       conn->lgr->base_known[side]);

    return skipped > unseen && told && introduced &&
           !smcr_doubt_since(arrival, &conn->side[side].last_positioned_write).kind;
}

bool
smcr_evidence_owns(const smcr_conn_t *conn, const smcr_qp_t *qp, smcr_psn_t psn, uint32_t offset)
{
    enum { ABSENT_MAX = 2 };
    const smcr_conn_side_t *reader = &conn->side[qp->side];
    const smcr_conn_side_t *writer = &conn->side[!qp->side];
    uint64_t absent = smcr_evidence_absent(&reader->last_confirmed_use, qp, psn);

    /* a writer that has sent no CDC message yet may choose any link of the group */
    if (!writer->last_cdc_frame && reader->last_confirmed_use.qp != qp)
        return joins(&reader->last_confirmed_use, qp);
    if (psn <= reader->last_confirmed_use.psn) /* an earlier PSN */
        return reader->last_confirmed_use.qp == qp &&
               smcr_point_is_before(&reader->valid_from, qp, psn);
    if (absent == 0)
        return true;
    return absent <= ABSENT_MAX && !smcr_conn_side_has_ended(reader) &&
           reader->in.positions_known && offset > reader->in.ring.base &&
           smcr_ring_next_position(&reader->in.ring, reader->in.positioned_end, offset) -
                   reader->in.positioned_end <=
               absent * smcr_qp_mtu(qp);
}
