/* Requests that may be missing in the flow to a queue pair, or in the flows of a link group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

#include "state/model/store.h"

/* ---- flows ---- */

/* UINT64_MAX is "not known", and more than any number. */
uint64_t
smcr_evidence_absent(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    if (!point->qp || point->qp != qp)
        return UINT64_MAX;
    /* the point is before the first captured packet of the flow, and no message has announced the
     * first PSN */
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

bool
smcr_evidence_joins(const smcr_point_t *point, const smcr_qp_t *qp)
{
    return smcr_evidence_holds(point) &&
           point->qp->traffic.flow.acked_psn <= point->qp->traffic.flow.highest &&
           qp->traffic.flow.first_announced && qp->traffic.flow.gaps.count == 0;
}

/* An upper bound: each missing packet counts with the whole MTU. */
uint64_t
smcr_evidence_unseen_bytes(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    uint64_t absent = smcr_evidence_absent(point, qp, psn);

    if (point->qp != qp && smcr_evidence_joins(point, qp))
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

/* The content of the packet stays unknown, even if its bytes are captured. */
void
smcr_evidence_pass_over(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!arrival->roce || !smcr_ib_operations[arrival->roce->opcode].is_write)
        qp->last_late_frame = arrival->when.frame;
    qp->last_late_psn = MAX(qp->last_late_psn, arrival->psn);
}

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

/* `expected_psn` counts only at the end: before, a request for which the receiver waits may still
 * come. */
bool
smcr_evidence_flow_misses(const smcr_flow_t *flow, uint32_t from, uint32_t to)
{
    bool has_acked_more = flow->acked_psn > flow->highest;
    bool waits = flow->psn_history.used && flow->expected_psn <= flow->highest;

    if (lie_between(&flow->gaps, from, to))
        return true;
    return (has_acked_more && flow->highest_frame < to) || (waits && to == UINT32_MAX);
}

bool
smcr_evidence_flow_missed(const smcr_flow_t *flow, uint32_t from, uint32_t to)
{
    return smcr_evidence_flow_misses(flow, from, to) || lie_between(&flow->filled_gaps, from, to);
}

/* Deleted links count, too: the connection may have used them before it moved to another link. */
bool
smcr_evidence_links_missed(const smcr_lgr_t *lgr, int side, uint32_t from, uint32_t to)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && !smcr_evidence_flow_missed(&link->qp[side].traffic.flow, from, to))
        link = smcr_link_older(link);
    return link != NULL;
}

bool
smcr_evidence_side_lacks_between(const smcr_lgr_t *lgr, int sender, uint32_t from, uint32_t to)
{
    return lgr->state->is_out_of_order || smcr_evidence_links_missed(lgr, !sender, from, to);
}

bool
smcr_evidence_lacks_between(const smcr_lgr_t *lgr, uint32_t from, uint32_t to)
{
    return smcr_evidence_side_lacks_between(lgr, 0, from, to) ||
           smcr_evidence_side_lacks_between(lgr, 1, from, to);
}

/* Number of requests in the ranges that began to be missing before `frame`. */
static uint64_t
count_before(const smcr_ranges_t *ranges, uint32_t frame)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < ranges->count; i++)
        if (ranges->list[i].frame_before < frame)
            count += ranges->list[i].to - ranges->list[i].from;
    return count;
}

uint64_t
smcr_evidence_count_before(const smcr_lgr_t *lgr, uint32_t frame)
{
    uint64_t count = 0;

    if (lgr->state->is_out_of_order)
        return UINT64_MAX;
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        for (int side = 0; side < 2; side++) {
            const smcr_flow_t *flow = &link->qp[side].traffic.flow;
            if (flow->acked_psn > flow->highest && flow->highest_frame < frame)
                return UINT64_MAX;
            count += count_before(&flow->gaps, frame) + count_before(&flow->filled_gaps, frame);
        }
    return count;
}

/* ---- missing packets that later messages prove ---- */

/* Number of packets that are missing in the flow to `qp`, as far as captured packets and
 * acknowledgements show. */
static uint64_t
count_missing(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;
    uint64_t after = flow->acked_psn > flow->highest ? flow->acked_psn - flow->highest : 0;

    return smcr_ranges_count(&flow->gaps, 0, UINT64_MAX) + after;
}

void
smcr_evidence_prove_missing(smcr_qp_t *qp, uint64_t packets)
{
    if (qp->proven_missing + packets <= count_missing(qp))
        qp->proven_missing += (uint32_t)packets;
}

/* Nothing is proven if more seems missing than the sequence gap has room for. */
void
smcr_evidence_take_missing(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint64_t messages,
                           uint64_t bytes)
{
    smcr_qp_t *qp = arrival->qp;
    const smcr_point_t *last = &conn->side[qp->side].last_cdc_received;
    uint64_t mtu = smcr_qp_mtu(qp);
    uint64_t packets = messages + (bytes + mtu - 1) / mtu;
    uint64_t absent = smcr_evidence_absent(last, qp, arrival->psn);

    if (!packets || absent == UINT64_MAX || packets > absent)
        return;
    conn->side[!qp->side].is_missing = true;
    smcr_evidence_prove_missing(qp, packets);
}

/* Every doubt gives false. */
bool
smcr_evidence_has_proven_missing(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;
    bool is_disordered = flow->filled_gaps.count || qp->last_late_psn;

    if (!qp->proven_missing || is_disordered || qp->link->lgr->state->is_out_of_order)
        return false;
    return flow->expected_psn > flow->highest && count_missing(qp) == qp->proven_missing;
}

/* Whether an acknowledgement after the frame `from` shows that the sender of the flow had sent
 * packets, and none of them is captured so far. No sequence gap shows these packets, since the
 * first PSN of the flow was not announced. */
static bool
missed_first_requests(const smcr_flow_t *flow, uint32_t from)
{
    return flow->early_ack.known && flow->early_ack.when.frame > from;
}

/* Whether a packet of the connection to the queue pair may have been missing between the frames
 * `from` and `to`. */
static bool
may_miss_own(const smcr_conn_t *conn, const smcr_qp_t *qp, uint32_t from, uint32_t to)
{
    const smcr_flow_t *flow = &qp->traffic.flow;
    bool are_others = !conn->side[!qp->side].is_missing && smcr_evidence_has_proven_missing(qp);

    return missed_first_requests(flow, from) ||
           (!are_others && smcr_evidence_flow_missed(flow, from, to));
}

/* Every doubt gives true: a packet of this connection may be missing. */
bool
smcr_evidence_conn_lacks_between(const smcr_conn_t *conn, uint32_t from, uint32_t to)
{
    const smcr_lgr_t *lgr = conn->lgr;

    if (lgr->state->is_out_of_order)
        return true;
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        for (int side = 0; side < 2; side++)
            if (may_miss_own(conn, &link->qp[side], from, to))
                return true;
    return false;
}

/* ---- answers ---- */

/* The sender may answer on another link than that of its last packet before the request. Then
 * `asked` is of another queue pair, and no packet of the two flows may be missing. */
bool
smcr_evidence_is_first_answer(const smcr_arrival_t *arrival, const smcr_point_t *asked)
{
    const smcr_qp_t *qp = arrival->qp;

    if (asked->qp != qp)
        return smcr_evidence_joins(asked, qp);
    return arrival->psn > asked->psn && smcr_evidence_absent(asked, qp, arrival->psn) == 0;
}

bool
smcr_evidence_is_unanswered(const smcr_state_t *state, const smcr_exchange_t *exchange)
{
    const uint64_t wait = UINT64_C(5000000000); /* longest wait of Linux, ns (smc_llc.h) */

    return !exchange->response_frame && !exchange->response_unknowable && !exchange->is_optional &&
           state->last_time > exchange->request_time + wait;
}

