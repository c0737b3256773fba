/* Frames that come before the CLC messages that announce them. RFC 7609 has an order: Accept,
 * Confirm, then packets on RoCE (3.5.1). A capture has another one if it was put together from
 * interfaces or hosts whose clocks differ. Sequence numbers, queue pairs, RKeys and tokens then
 * show what belongs together. The group is marked by `clocks_differ`, so nothing else rests on the
 * order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "early.h"

#include "state/model/store.h"

#define EARLY (10 * SMCR_TIME_MILLISECOND) /* time by which a packet comes too early, so that the
                                              queues of one interface do not explain it */

/* ---- the order of CLC and RoCE ---- */

/* Whether the link has carried no packet so far, though the capture has its announcement and the
 * first contact of its group. */
static bool
is_idle(const smcr_link_t *link)
{
    bool has_none = link->state == SMCR_LINK_ANNOUNCED && link->packet_count == 0;

    return has_none && link->is_announced && link->lgr->first_contact_captured;
}

/* Whether the first packet to the queue pair came EARLY or more before `time`, nanoseconds since
 * the epoch. */
static bool
began_before(const smcr_qp_t *qp, uint64_t time)
{
    const smcr_flow_t *flow = &qp->traffic.flow;
    const smcr_seen_packet_t *first =
        smcr_flow_psn_history(flow, (uint32_t)(flow->first & SMCR_PSN_MASK));

    return first && first->time + EARLY <= time;
}

/* Whether the link has carried packets before the Confirm of its first contact that a little
 * disorder in the capture does not explain: more packets than its setup has, or one that came EARLY
 * or more before the Confirm. `time`: time of the Confirm, nanoseconds since the epoch. */
static bool
is_in_use(const smcr_link_t *link, uint64_t time)
{
    const uint32_t most = 16; /* highest number of packets with which a link is set up: two LLC
                                 exchanges, and acknowledgements */

    return link->packet_count > most || began_before(&link->qp[0], time) ||
           began_before(&link->qp[1], time);
}

/* The first link of a group is set up after the Confirm of the first contact, and before the server
 * accepts another connection of the group (3.5.1). So the order of the capture is impossible in two
 * cases:
 * 1. the message is of a later contact, and its link has carried no packet so far. This proves
 *    nothing as long as no packet comes later, which begins the link;
 * 2. the message is the Confirm of the first contact, and the link is in use. */
void
smcr_state_early_judge(const smcr_conn_t *conn, smcr_link_t *link, uint8_t type, uint64_t time)
{
    bool is_first_confirm = conn->first_contact && type == SMCR_CLC_CONFIRM;

    if (!conn->first_contact)
        link->lgr->clocks_differ |= is_idle(link);
    else if (is_first_confirm && is_in_use(link, time))
        smcr_lgr_prove_clocks(link->lgr);
}

void
smcr_state_early_tell(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    if (!lgr || !lgr->clocks_proven || lgr->clocks_told)
        return;
    lgr->clocks_told = true;
    smcr_event_add(arrival, SMCR_EVENT_clocks_differ, NULL);
}

void
smcr_state_early_begin(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    if (!link->lgr->clocks_differ || link->index != link->lgr->first_link_index)
        return;
    smcr_lgr_prove_clocks(link->lgr);
    smcr_state_early_tell(arrival, link->lgr);
}

/* ---- the link of an Accept ---- */

/* Whether the first packet of the flow has the initial PSN in the Accept or Confirm of its sender.
 * Queue pairs begin at random PSNs, so the message is of this flow then. */
static bool
has_initial_psn(const smcr_flow_t *flow, const smcr_clc_t *clc)
{
    bool is_captured = clc->complete || !clc->lacks_psn;

    return is_captured && flow->psn_history.used &&
           (flow->first & SMCR_PSN_MASK) == clc->u.accept.psn;
}

/* Whether WRITEs with the RKey in the Accept or Confirm `accept`, and a CDC message with its token,
 * have come to the queue pair, and are of one connection. Both numbers together name the connection
 * of `accept`. */
static bool
has_early_conn(const smcr_arrival_t *arrival, smcr_qp_t *qp, const smcr_clc_accept_t *accept)
{
    const smcr_conn_t *conn =
        smcr_conn_find(arrival->state, qp->link->lgr, qp->side, accept->token);
    const smcr_rmb_t *written = conn ? conn->side[qp->side].rmb : NULL;
    const smcr_rmb_rtoken_t *rtoken = written ? smcr_rmb_rtoken(written, qp) : NULL;

    return rtoken && rtoken->rkey == accept->rkey;
}

/* Whether packets of the link that the Accept announces have come before the Accept. `qp`: known
 * queue pair with the number that the Accept names; NULL gives false. */
static bool
has_begun_before(const smcr_arrival_t *arrival, smcr_qp_t *qp, const smcr_clc_t *clc)
{
    if (!qp || qp->link->is_announced)
        return false;
    return has_initial_psn(&smcr_qp_peer(qp)->traffic.flow, clc) ||
           has_early_conn(arrival, qp, &clc->u.accept);
}

/* Makes the group of `qp` that of the Accept, which comes later than other frames of the group. An
 * Accept without first contact only proves that times of two clocks differ. */
static void
announce(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_qp_t *qp,
         const smcr_clc_accept_t *accept)
{
    smcr_lgr_t *lgr = qp->link->lgr;

    smcr_lgr_prove_clocks(lgr);
    if (!conn->first_contact)
        return;
    lgr->first_accept = wmem_memdup(arrival->state->scope, accept, sizeof *accept);
    lgr->first_contact_captured = qp->link->is_announced = true;
    smcr_event_add(arrival, SMCR_EVENT_lgr_first_contact, NULL);
}

/* The server's queue pair on the link that the Confirm has named, if the Accept can name it; NULL:
 * it is another link. `key`: GID and number in the Accept. */
static smcr_qp_t *
qp_after_confirm(smcr_state_t *state, const smcr_conn_t *conn, const smcr_ib_qp_key_t *key)
{
    smcr_link_t *link = conn->side[0].link;
    smcr_qp_t *expected = &link->qp[conn->lgr->server];

    if (!expected->gid_known || smcr_gid_is_same(expected->key.gid, key->gid)) {
        smcr_join_links(state, link, key);
        smcr_qp_set(state, link, expected->side, key, SMCR_GROUND_CLC);
    }
    return smcr_qp_find(state, key) == expected ? expected : NULL;
}

/* Whether a Confirm of the connection has come before this Accept, and has shown the link. */
static bool
is_after_confirm(const smcr_conn_t *conn)
{
    bool has_link = conn->lgr && conn->side[0].link;

    return has_link && conn->confirm_frame && conn->side[0].link == conn->side[1].link;
}

smcr_qp_t *
smcr_state_early_server_qp(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(accept->gid, accept->qpn);
    smcr_qp_t *qp = NULL;

    if (is_after_confirm(conn))
        qp = qp_after_confirm(arrival->state, conn, &key);
    else if (conn->first_contact) {
        qp = smcr_qp_of_role(arrival->state, &key, true);
        qp = has_begun_before(arrival, qp, clc) ? qp : NULL;
    }
    if (qp)
        announce(arrival, conn, qp, accept);
    return qp;
}

/* The client announces in the Confirm with which PSN it begins to send to the server. */
void
smcr_state_early_confirm(const smcr_arrival_t *arrival, smcr_qp_t *server, const smcr_clc_t *clc)
{
    smcr_lgr_t *lgr = server->link->lgr;
    smcr_qp_t *before = lgr->shown_before;

    lgr->shown_before = NULL;
    if (!before || !has_initial_psn(&before->traffic.flow, clc))
        return;
    smcr_lgr_prove_clocks(lgr);
    smcr_join_replaced(arrival->state, server, before);
}

/* ---- the connection of an Accept or Confirm ---- */

/* Whether CDC messages with a token have come before CLC announces the token, in a group whose
 * first contact is captured. Either no packet of the group is missing; or the messages are of a
 * connection that is open, and has the RMB in `accept`, too. `early`: connection that has the token
 * so far. It was made from CDC messages alone. `owner`: queue pair of the sender of `accept`. */
static bool
was_used_early(const smcr_arrival_t *arrival, const smcr_conn_t *early, smcr_qp_t *owner,
               const smcr_clc_accept_t *accept)
{
    const smcr_lgr_t *lgr = early->lgr;

    if (!lgr->first_contact_captured)
        return false;
    return !smcr_evidence_lacks_between(lgr, 0, arrival->when.frame) ||
           (!smcr_conn_has_closed(early) && has_early_conn(arrival, owner, accept));
}

/* Whether CLC and RoCE name another RMB or another token for one of the two sides. `owner`: queue
 * pair of the side that the message `accept` is from. */
static bool
contradict(const smcr_conn_t *conn, const smcr_conn_t *early, const smcr_qp_t *owner,
           const smcr_clc_accept_t *accept)
{
    const smcr_conn_side_t *one = &conn->side[!owner->side], *other = &early->side[!owner->side];
    const smcr_rmb_t *written = early->side[owner->side].rmb;
    const smcr_rmb_rtoken_t *rtoken = written ? smcr_rmb_rtoken(written, owner) : NULL;
    bool is_other_rmb = rtoken && rtoken->rkey != accept->rkey;

    return is_other_rmb || (one->has_token && other->has_token && one->token != other->token);
}

/* The connection that CDC messages alone have shown, and that they name by the token of `accept`;
 * NULL: there is none. `owner`: see contradict(). */
static smcr_conn_t *
early_conn(const smcr_arrival_t *arrival, const smcr_qp_t *owner, const smcr_clc_accept_t *accept)
{
    smcr_conn_t *early =
        smcr_conn_find(arrival->state, owner->link->lgr, owner->side, accept->token);

    return early && !early->socket && smcr_conn_began_before_capture(early) ? early : NULL;
}

/* Every doubt gives no join: what was joined cannot be separated again. */
bool
smcr_state_early_join(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp,
                      const smcr_clc_accept_t *accept)
{
    smcr_lgr_t *lgr = qp->link->lgr;
    smcr_conn_t *early = early_conn(arrival, qp, accept);

    if (!early || early == conn)
        return false;
    if (was_used_early(arrival, early, qp, accept))
        smcr_lgr_prove_clocks(lgr);
    bool has_proof = lgr->clocks_proven && lgr->first_contact_captured;
    if (!has_proof || contradict(conn, early, qp, accept))
        return false;
    smcr_join_early(arrival->state, conn, early);
    return true;
}
