/* Checks the conditions of evidence.h, and claims that later packets decide. Most of them look for
 * missing packets in the flows of a link group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "evidence.h"

#include "state/model/store.h"

/* The result of a condition without a claim: no doubt if `certain`, otherwise a doubt of `kind`. */
static smcr_doubt_t
doubt_unless(bool certain, smcr_doubt_kind_t kind)
{
    return (smcr_doubt_t){certain ? SMCR_DOUBT_NONE : kind, NULL};
}

/* ---- one flow ---- */

/* Whether no request between `psn` and the first captured request of the flow can be missing: the
 * first captured request is at or before `psn`, or it comes right after `psn` and is known to be
 * the first one of the flow. `psn` 0: before all requests. */
static bool
is_whole_at_start(const smcr_flow_t *flow, smcr_psn_t psn)
{
    bool comes_next = !psn || psn + 1 == flow->first;

    if (!flow->first)
        return false;
    return psn >= flow->first || (flow->first_announced && comes_next);
}

/* Whether the capture has all requests to `qp` after `psn`, and the receiver took in each of them
 * when it came. Acknowledged PSNs without a captured packet count as missing, too. `psn` 0: before
 * all requests of the flow. */
static bool
is_whole(const smcr_qp_t *qp, smcr_psn_t psn)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    if (!is_whole_at_start(flow, psn) || qp->last_late_psn > psn)
        return false;
    return smcr_flow_has_last(flow) &&
           smcr_ranges_count(&flow->gaps, psn + 1, flow->highest + 1) == 0;
}

/* Whether the capture has all requests to the queue pair, from the announced first PSN on. */
static bool
has_all(const smcr_qp_t *qp)
{
    const smcr_flow_t *flow = &qp->traffic.flow;

    return flow->first_announced && is_whole(qp, flow->first - 1);
}

/* ---- one packet ---- */

/* A doubt is never lost by joining. */
smcr_doubt_t
smcr_doubt_or(smcr_doubt_t first, smcr_doubt_t second)
{
    if (!first.kind)
        first.kind = second.kind;
    if (!first.claim)
        first.claim = second.claim;
    return first;
}

smcr_doubt_t
smcr_doubt_message(const smcr_arrival_t *arrival)
{
    return doubt_unless(arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES,
                        SMCR_DOUBT_FATE);
}

bool
smcr_doubt_is_in_time(const smcr_arrival_t *arrival)
{
    return arrival->record->order == SMCR_FLOW_IS_NEXT;
}

bool
smcr_doubt_is_new(const smcr_arrival_t *arrival)
{
    return arrival->qp && arrival->first_sent.frame == arrival->when.frame &&
           arrival->psn == arrival->qp->traffic.flow.highest;
}

/* ---- flows ---- */

smcr_doubt_t
smcr_doubt_since(const smcr_arrival_t *arrival, const smcr_point_t *point)
{
    bool whole = point->qp && is_whole(point->qp, point->psn);

    return smcr_doubt_or(smcr_doubt_message(arrival), doubt_unless(whole, SMCR_DOUBT_ABSENT));
}

smcr_doubt_t
smcr_doubt_before(const smcr_arrival_t *arrival)
{
    bool whole = has_all(arrival->qp);

    return smcr_doubt_or(smcr_doubt_message(arrival), doubt_unless(whole, SMCR_DOUBT_ABSENT));
}

/* Both directions have to be whole, since a request of either side may have changed the link. */
smcr_doubt_t
smcr_doubt_link(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    bool whole = has_all(&link->qp[0]) && has_all(&link->qp[1]);
    smcr_doubt_t doubt = doubt_unless(whole, SMCR_DOUBT_ABSENT);

    doubt = smcr_doubt_or(doubt, doubt_unless(!arrival->state->is_out_of_order, SMCR_DOUBT_PLACE));
    return smcr_doubt_or(smcr_doubt_message(arrival), doubt);
}

/* The condition "group", in which the link `added` does not count, since it has no packets yet.
 * `added`: NULL: all links of the group count. The first contact has to be captured, and no link
 * may be forgotten. */
static smcr_doubt_t
doubt_links(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, const smcr_link_t *added)
{
    bool whole = lgr->first_contact_captured && !lgr->oldest_kept_link;
    smcr_doubt_t doubt = doubt_unless(whole, SMCR_DOUBT_START);

    for (smcr_link_t *link = lgr->newest_link; link && !doubt.kind; link = smcr_link_older(link)) {
        if (link->state == SMCR_LINK_REJECTED || link == added)
            continue;
        doubt = smcr_doubt_or(doubt, doubt_unless(link->packet_count > 0, SMCR_DOUBT_ABSENT));
        doubt = smcr_doubt_or(doubt, smcr_doubt_link(arrival, link));
    }
    return smcr_doubt_or(smcr_doubt_message(arrival), doubt);
}

smcr_doubt_t
smcr_doubt_group(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    return doubt_links(arrival, lgr, NULL);
}

/* ---- messages that a host has seen ---- */

/* Software sees a message later than the adapter that acknowledges it. */
smcr_doubt_t
smcr_doubt_seen(const smcr_arrival_t *arrival, uint64_t sent, const smcr_ack_t *acked)
{
    uint64_t round_trip = acked && acked->time > sent ? acked->time - sent : 0;
    bool seen = acked && arrival->when.time > acked->time + MAX(round_trip, SMCR_TIME_MILLISECOND);

    return smcr_doubt_or(doubt_unless(seen, SMCR_DOUBT_UNSEEN),
                         doubt_unless(!arrival->state->is_out_of_order, SMCR_DOUBT_PLACE));
}

smcr_doubt_t
smcr_doubt_seen_new(const smcr_arrival_t *arrival, const smcr_link_sent_message_t *message)
{
    return smcr_doubt_or(doubt_unless(smcr_doubt_is_new(arrival), SMCR_DOUBT_UNSEEN),
                         smcr_doubt_seen(arrival, message->sent, message->acked));
}

/* ---- connections ---- */

smcr_doubt_t
smcr_doubt_conn(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool known = conn->accept_frame && conn->confirm_frame;

    return smcr_doubt_or(doubt_unless(known, SMCR_DOUBT_START),
                         smcr_doubt_group(arrival, conn->lgr));
}

/* Whether the link was deleted after `frame`, or is not deleted and LLC has reported its loss. */
static bool
is_lost_after(const smcr_link_t *link, uint32_t frame)
{
    return link->deleted_frame ? link->deleted_frame > frame : link->lost_frame != 0;
}

/* Whether the group has lost a link since the last CDC message of the side: a link was deleted
 * after this message, or LLC has reported the loss of a link that is not deleted. The side may have
 * ended the connection in a message on the lost link, so it is not certain that the connection is
 * open. */
static bool
has_lost_link(const smcr_conn_t *conn, int side)
{
    const smcr_link_t *link = conn->lgr->newest_link;

    while (link && !is_lost_after(link, conn->side[side].last_cdc_frame))
        link = smcr_link_older(link);
    return link != NULL;
}

bool
smcr_doubt_conn_is_open(const smcr_conn_t *conn, int side)
{
    bool has_begun = conn->accept_frame && conn->confirm_frame;
    bool uses_tcp = conn->decline_frame || conn->fallback.kind;

    return has_begun && !uses_tcp && !smcr_conn_has_closed(conn) && !has_lost_link(conn, side);
}

smcr_doubt_t
smcr_doubt_place(const smcr_arrival_t *arrival)
{
    bool doubtful = arrival->state->several_interfaces || arrival->state->is_out_of_order;

    return doubt_unless(!doubtful, SMCR_DOUBT_PLACE);
}

/* ---- messages that may come later ---- */

/* Copies the claim into memory that lives as long as the capture file. `points`: number of entries
 * that are allocated for the claim's `points`, if there is no doubt. Returns NULL if the claim is
 * not needed. This is so if there is a doubt of another kind than SMCR_DOUBT_ABSENT, or a doubt and
 * no function `has_come`. */
static smcr_doubt_proof_t *
keep_claim(const smcr_arrival_t *arrival, smcr_doubt_t doubt, smcr_doubt_proof_t claim,
           unsigned points)
{
    if (doubt.kind && (doubt.kind != SMCR_DOUBT_ABSENT || !claim.has_come))
        return NULL;
    smcr_doubt_proof_t *kept = smcr_state_alloc0(arrival->state, sizeof *kept);
    *kept = claim;
    kept->state = arrival->state;
    if (points && !doubt.kind)
        kept->points = smcr_state_alloc0(arrival->state, points * sizeof *kept->points);
    return kept;
}

/* Flows of a link group that have to continue if a claim holds. */
typedef struct {
    smcr_lgr_t *lgr;        /* the link group */
    bool to[2];             /* by side: whether the flows to this side have to continue */
    const smcr_link_t *but; /* link whose flows do not matter; NULL: none */
} needed_flows_t;

/* Adds the last packet of each needed flow of the link to the claim. */
static void
add_points(smcr_doubt_proof_t *claim, smcr_link_t *link, const needed_flows_t *needed)
{
    if (link == needed->but || link->state == SMCR_LINK_REJECTED)
        return;
    for (int side = 0; side < 2; side++)
        if (needed->to[side])
            claim->points[claim->count++] = smcr_point_now(&link->qp[side]);
}

/* Keeps the present connections and RMBs of the group from being released, since a kept claim may
 * name any of them. */
static void
keep_members(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    lgr->claimed_conns = arrival->state->conn_count;
    lgr->claimed_rmb = lgr->newest_rmb;
}

/* Adds the claim to `doubt`. If `doubt` is no doubt, the claim holds only if the needed flows
 * continue, and keep_claim() returns a claim. Otherwise the claim depends on no flow. */
static smcr_doubt_t
claim_flows(const smcr_arrival_t *arrival, smcr_doubt_t doubt, const needed_flows_t *needed,
            smcr_doubt_proof_t claim)
{
    smcr_lgr_t *lgr = needed->lgr;
    smcr_doubt_proof_t *kept = keep_claim(arrival, doubt, claim, 2 * lgr->link_count);

    if (kept)
        keep_members(arrival, lgr);
    doubt.claim = kept;
    if (doubt.kind)
        return doubt;
    for (smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        add_points(kept, link, needed);
    return doubt;
}

smcr_doubt_t
smcr_doubt_later(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender,
                 smcr_doubt_proof_t claim)
{
    const needed_flows_t needed = {.lgr = lgr, .to = {sender == 1, sender == 0}};

    return claim_flows(arrival, smcr_doubt_group(arrival, lgr), &needed, claim);
}

smcr_doubt_t
smcr_doubt_later_of_both(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, const smcr_link_t *but,
                         smcr_doubt_proof_t claim)
{
    const needed_flows_t needed = {.lgr = lgr, .to = {true, true}, .but = but};

    return claim_flows(arrival, smcr_doubt_group(arrival, lgr), &needed, claim);
}

smcr_doubt_t
smcr_doubt_later_adding(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, const smcr_link_t *added,
                smcr_doubt_proof_t claim)
{
    const needed_flows_t needed = {.lgr = lgr, .to = {true, true}, .but = added};

    return claim_flows(arrival, doubt_links(arrival, lgr, added), &needed, claim);
}

smcr_doubt_t
smcr_doubt_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int sender,
                  smcr_doubt_proof_t claim)
{
    if (smcr_doubt_conn(arrival, conn).kind)
        return (smcr_doubt_t){SMCR_DOUBT_UNSEEN, NULL};
    return smcr_doubt_later(arrival, conn->lgr, sender, claim);
}

/* Adds the claim to `doubt`. If `doubt` is no doubt, the claim holds only if the flow to the queue
 * pair continues, and keep_claim() returns a claim. Otherwise the claim depends on no flow. */
static smcr_doubt_t
claim_flow(const smcr_arrival_t *arrival, smcr_doubt_t doubt, smcr_qp_t *qp,
           smcr_doubt_proof_t claim)
{
    smcr_doubt_proof_t *kept = keep_claim(arrival, doubt, claim, 1);

    if (kept)
        keep_members(arrival, qp->link->lgr);
    doubt.claim = kept;
    if (!doubt.kind)
        kept->points[kept->count++] = smcr_point_now(qp);
    return doubt;
}

smcr_doubt_t
smcr_doubt_later_on(const smcr_arrival_t *arrival, smcr_link_t *link, int sender,
                    smcr_doubt_proof_t claim)
{
    return claim_flow(arrival, smcr_doubt_link(arrival, link), &link->qp[!sender], claim);
}

smcr_doubt_t
smcr_doubt_next(const smcr_arrival_t *arrival, const smcr_point_t *point, smcr_doubt_proof_t claim)
{
    return claim_flow(arrival, smcr_doubt_since(arrival, point), point->qp, claim);
}

/* True if the claim of smcr_doubt_not_by() is refuted: the event whose time is `*when` has happened
 * by the time `bound` of the claim. */
SMCR_DOUBT_CLAIM(has_happened, const uint64_t *when, *when && *when <= claim->bound)

smcr_doubt_proof_t
smcr_doubt_not_by(const uint64_t *when, uint64_t by)
{
    return (smcr_doubt_proof_t){.has_come = has_happened, .about = when, .bound = by};
}

/* `*when`, the time of the event that refutes the claim, is read later. So it must live as long as
 * the state. */
smcr_doubt_t
smcr_doubt_other(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const uint64_t *when)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];

    if (arrival->state->is_out_of_order)
        return doubt_unless(false, SMCR_DOUBT_PLACE);
    return smcr_doubt_next(arrival, smcr_evidence_last_to(sender),
                           smcr_doubt_not_by(when, arrival->when.time + SMCR_TIME_DISORDER));
}

smcr_doubt_t
smcr_doubt_until(const smcr_arrival_t *arrival, smcr_doubt_proof_t claim)
{
    smcr_doubt_t doubt = smcr_doubt_message(arrival);

    doubt.claim = keep_claim(arrival, doubt, claim, 0);
    return doubt;
}

/* True if the claim of smcr_doubt_heard() is refuted: 1. the receiver has sent a packet after the
 * claim was made; or 2. the sender has got an acknowledgement, which may be missing: it has stepped
 * back to a PSN after the retransmitted packet. */
SMCR_DOUBT_CLAIM(is_heard, const smcr_qp_t *qp,
                 qp->link->qp[!qp->side].traffic.flow.packet_count > claim->key ||
                     qp->traffic.flow.steps.first > claim->bound)

/* `key` is the number of packets that the receiver has sent so far: one more refutes the claim. */
const smcr_doubt_proof_t *
smcr_doubt_heard(const smcr_arrival_t *arrival)
{
    smcr_doubt_proof_t claim = {.has_come = is_heard,
                                .about = arrival->qp,
                                .key = smcr_qp_peer(arrival->qp)->traffic.flow.packet_count,
                                .bound = arrival->psn};

    return keep_claim(arrival, (smcr_doubt_t){0}, claim, 0);
}

/* Whether the flow continues after the point, and no packet is missing right after the point.
 * `all_of_it`: no packet of the flow may be missing after the point at all. */
static bool
goes_on(const smcr_point_t *point, bool all_of_it)
{
    const smcr_qp_t *qp = point->qp;
    const smcr_flow_t *flow = &qp->traffic.flow;
    smcr_psn_t next = point->psn + 1;

    if (flow->highest <= point->psn || qp->last_late_psn > point->psn)
        return false;
    if (all_of_it)
        return is_whole(qp, point->psn);
    return !smcr_ranges_find(&flow->gaps, next, next + 1);
}

/* Later packets may change the result. */
bool
smcr_doubt_proof_holds(const smcr_state_t *state, const smcr_doubt_proof_t *claim)
{
    if (claim->deadline && state->last_time <= claim->deadline)
        return false;
    for (unsigned i = 0; i < claim->count; i++)
        if (!goes_on(&claim->points[i], claim->deadline != 0))
            return false;
    return !claim->has_come || !claim->has_come(claim);
}

/* ---- RMBs ---- */

/* True if the claim of smcr_doubt_rkey() is refuted: the RKey has been announced, or a message that
 * is not captured whole may have announced it: a CLC message of the group, or ADD LINK. */
SMCR_DOUBT_CLAIM(rkey_has_come, const smcr_qp_t *owner,
                 smcr_rmb_find(claim->state, owner, claim->key) ||
                 owner->link->lgr->unfinished_clc_conns || owner->link->lgr->lacks_rtokens)

smcr_doubt_t
smcr_doubt_rkey(const smcr_arrival_t *arrival, const smcr_qp_t *owner, uint32_t rkey)
{
    smcr_doubt_proof_t claim = {.has_come = rkey_has_come, .about = owner, .key = rkey};

    return smcr_doubt_later(arrival, owner->link->lgr, owner->side, claim);
}

/* A connection that used an RMB when a message came. */
typedef struct {
    const smcr_conn_t *conn; /* the connection that used the RMB */
    int owner;       /* side of the connection that owns the RMB */
    smcr_point_t at; /* point of the message in its flow; no queue pair: the message came over
                        TCP */
} use_t;

/* True if the claim of smcr_doubt_use() is refuted: the connection may have ended before the
 * message. There are two cases:
 *
 * - The owner of the RMB has closed, and its last CDC message is not after the message in the same
 *   flow.
 * - The owner has sent no CDC message, or the peer has closed, or a Decline has come. If the owner
 *   has sent nothing, the connection may not have begun. */
static bool
has_ended(const smcr_doubt_proof_t *claim)
{
    const use_t *use = claim->about;
    const smcr_conn_side_t *owner = &use->conn->side[use->owner];
    const smcr_conn_side_t *peer = &use->conn->side[!use->owner];

    if (smcr_conn_side_has_closed(owner))
        return !use->at.qp || !peer->last_cdc_received.qp ||
               peer->last_cdc_received.qp != use->at.qp ||
               peer->last_cdc_received.psn <= use->at.psn;
    return !owner->last_cdc_frame || smcr_conn_side_has_closed(peer) || use->conn->decline_frame;
}

/* `use` belongs to the claim, which is judged later. A CLC message has no queue pair, so its point
 * stays unset. */
smcr_doubt_t
smcr_doubt_use(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int owner,
               const smcr_link_t *added)
{
    use_t *use = smcr_state_alloc0(arrival->state, sizeof *use);

    *use = (use_t){.conn = conn, .owner = owner};
    if (arrival->qp)
        use->at = smcr_point_at(arrival->qp, arrival->psn);
    return smcr_doubt_later_adding(arrival, conn->lgr, added,
                                   (smcr_doubt_proof_t){.has_come = has_ended, .about = use});
}
