/* What CLC messages may say: the queue pairs of a link group, and who their sender is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

#define QUEUED SMCR_TIME_SECOND /* no adapter holds a message back for longer */

/* ---- queue pairs of a group ---- */

/* Of a link group. */
typedef struct {
    const smcr_lgr_t *lgr;
    smcr_ib_qp_key_t key;
} announced_qp_t;

/* Whether somebody has announced the queue pair by now. */
static bool
qp_has_come(const smcr_doubt_proof_t *claim)
{
    const announced_qp_t *awaited = claim->about;
    const smcr_qp_t *qp = smcr_qp_find(claim->state, &awaited->key);

    return qp && qp->link->lgr == awaited->lgr;
}

/* `sender`, a side, has not announced the queue pair in the group. */
static smcr_doubt_t
doubt_qp(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender, const smcr_ib_qp_key_t *key)
{
    announced_qp_t *awaited = smcr_state_alloc0(arrival->state, sizeof *awaited);

    *awaited = (announced_qp_t){lgr, *key};
    return smcr_doubt_later(arrival, lgr, sender,
                            (smcr_doubt_proof_t){.has_come = qp_has_come, .about = awaited});
}

/* The one living group with this server whose beginning is captured; NULL: none, or several. */
static smcr_lgr_t *
only_group_with(const smcr_state_t *state, const uint8_t *peer_id)
{
    smcr_lgr_t *found = NULL;

    SMCR_LIST_EACH(smcr_lgr_t *, lgr, state->lgrs) {
        if (lgr->ended_frame || !lgr->all_links || lgr->server == SMCR_LGR_SIDE_UNKNOWN ||
            memcmp(lgr->peer_id[lgr->server], peer_id, SMCR_WIRE_PEER_ID_LENGTH) != 0)
            continue;
        if (found)
            return NULL;
        found = lgr;
    }
    return found;
}

/* Without first contact flag the server names a queue pair of a link that both sides have. The
 * capture has the beginning of a group with this very server, and all that may have announced
 * another link of it. But the link may be of a group that began before the capture: with another
 * client, or beside this group. So nobody is blamed. (R-C.4-1) */
static void
check_known(const smcr_arrival_t *arrival, const uint8_t *peer_id, const smcr_ib_qp_key_t *key)
{
    smcr_lgr_t *lgr = only_group_with(arrival->state, peer_id);

    if (lgr)
        smcr_breach(arrival, SMCR_EVENT_clc_first_contact_wrong,
                    doubt_qp(arrival, lgr, lgr->server, key),
                    "This is no first contact, but link group %u has no such queue pair, nor has "
                    "the capture another group with this server", lgr->index);
}

/* A Confirm names the client's end of an active link of the group, not always of the one that the
 * Accept names; in a first contact there is but one. (R-3.5.2-5) */
SMCR_RULES_CLC(client_qp)
{
    const smcr_clc_accept_t *confirm = &message->clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(confirm->gid, confirm->qpn);
    smcr_lgr_t *lgr = conn->lgr;

    if (!conn->accept_frame)
        return;
    const smcr_qp_t *expected = &conn->side[lgr->server].link->qp[!lgr->server];
    if (smcr_qp_find(arrival->state, &key) == expected)
        return;
    const smcr_qp_t *qp = smcr_qp_of_role(arrival->state, &key, false);
    if (qp && qp->link->lgr == lgr && qp->link->state == SMCR_LINK_ACTIVE)
        return;
    smcr_doubt_t doubt = conn->first_contact ? smcr_doubt_message(arrival)
                                             : doubt_qp(arrival, lgr, !lgr->server, &key);

    smcr_breach(arrival, SMCR_EVENT_link_mismatch, doubt,
                "The queue pair is not the client's end of an active link of the group");
}

/* Whether the link lives, as far as the capture shows; one that is announced, by ADD LINK. */
static bool
lives(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;
    bool added = link->state == SMCR_LINK_ANNOUNCED && link->qp[0].ground != SMCR_GROUND_CLC &&
                 link->qp[1].ground != SMCR_GROUND_CLC;

    return (link->state == SMCR_LINK_ACTIVE || added) && lgr->from_start && !lgr->ended_frame &&
           !lgr->refused;
}

/* A first contact makes a new link, with a queue pair that no other link has; further links of a
 * group come by LLC; and a peer has one role in a group. The number is free again when its link has
 * ended, which the capture may lack. (R-C.4-2, R-2.2.3-1, R-2.2.3-2) */
static void
check_taken(const smcr_arrival_t *arrival, const smcr_qp_t *qp, bool first_contact)
{
    const smcr_link_t *link = qp ? qp->link : NULL;
    bool active = link && link->state == SMCR_LINK_ACTIVE;

    if (!link || !lives(link))
        return;
    smcr_doubt_t doubt = active ? smcr_doubt_group(arrival, link->lgr)
                                : smcr_doubt_message(arrival); /* it has no packets */
    smcr_breach(arrival, SMCR_EVENT_clc_qp_taken, doubt,
                "Link group %u has this queue pair%s, and the capture does not show the end of "
                "the link",
                link->lgr->index,
                !first_contact ? " as the client's"
                : active       ? ""
                               : ", which ADD LINK has announced");
}

SMCR_RULES_CLC(server_qp)
{
    const smcr_state_t *state = arrival->state;
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(accept->gid, accept->qpn);
    bool first_contact = smcr_wire_clc_is_first_contact(message->clc);

    if (!smcr_wire_clc_names_qp(message->clc) ||
        (!first_contact && smcr_qp_of_role(state, &key, true)))
        return;
    check_taken(arrival, smcr_qp_find(state, &key), first_contact);
    if (!first_contact)
        check_known(arrival, accept->peer_id, &key);
}

/* ---- where the peers are ---- */

static bool
is_ipv6(const smcr_conn_t *conn)
{
    static const uint8_t other[SMCR_GID_IPV4_AT] = {0}; /* addresses that are none of IP */

    return conn->conversation && !conn->ipv4 &&
           memcmp(conn->addr.ipv6[0], other, sizeof other) != 0;
}

/* Over IPv4 a Proposal has a mask, over IPv6 prefixes. (R-A.2.2-4) */
SMCR_RULES_CLC(area)
{
    const smcr_clc_proposal_t *proposal = &message->clc->u.proposal;

    if (!message->clc->complete || !proposal->has_ip_area)
        return;
    if (conn->ipv4 && proposal->prefix_count)
        smcr_breach(arrival, SMCR_EVENT_clc_area_wrong, smcr_doubt_message(arrival),
                    "The connection is one of IPv4, but the Proposal has prefixes of IPv6");
    else if (is_ipv6(conn) && (proposal->subnet_length || !proposal->prefix_count))
        smcr_breach(arrival, SMCR_EVENT_clc_area_wrong, smcr_doubt_message(arrival),
                    "The connection is one of IPv6, but the Proposal has %s",
                    proposal->subnet_length ? "a subnet of IPv4" : "no prefix");
}

/* In version 1 the server accepts a first contact only in the client's subnet or prefix. It may
 * have a second address there, and behind NAT it has another one than the client has reached.
 * (R-3.5.1.2-2) */
SMCR_RULES_CLC(subnet)
{
    const smcr_clc_t *clc = message->clc;

    if (smcr_wire_clc_names_qp(clc) && smcr_wire_clc_is_first_contact(clc) &&
        conn->outside && smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION) == 1)
        smcr_breach(arrival, SMCR_EVENT_clc_other_subnet, smcr_doubt_message(arrival),
                    "The server accepts, but the address that the client has reached is in no "
                    "subnet or prefix of the Proposal");
}

/* ---- what a connection uses ---- */

/* Whether the RMB has been withdrawn by now. */
SMCR_DOUBT_CLAIM(rmb_has_gone, const smcr_rmb_t *rmb, !smcr_rmb_is_alive(rmb))

/* All elements of an RMB have one size. DELETE RKEY may have come in between. (R-2.1-4) */
SMCR_RULES_CLC(element_size)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    const smcr_rmb_t *rmb = smcr_rmb_same(arrival->state, qp, accept->rkey, accept->va);
    uint32_t size = smcr_bsize_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));

    if (!rmb || !rmb->element_size || rmb->element_size == size)
        return;
    smcr_doubt_proof_t claim = {.has_come = rmb_has_gone, .about = rmb};
    smcr_doubt_t doubt = smcr_doubt_later(arrival, qp->link->lgr, qp->side, claim);
    smcr_breach(arrival, SMCR_EVENT_rmb_changed, smcr_doubt_or(smcr_doubt_place(arrival), doubt),
                "The elements of this RMB had %u bytes, now they have %u", rmb->element_size, size);
}

/* `conn` gets an RMB element, or an alert token, of `side`. `before` has had it; NULL: nobody. */
static void
note_given(const smcr_arrival_t *arrival, smcr_conn_t *before, const smcr_conn_t *conn, int side,
           bool token)
{
    if (!before || before == conn || smcr_rules_of_conn(before)->reused)
        return;
    smcr_rules_reuse_t *reused = smcr_state_alloc0(arrival->state, sizeof *reused);
    *reused = (smcr_rules_reuse_t){conn, arrival->when.time, (uint8_t)side, token};
    smcr_rules_conn(arrival, before)->reused = reused;
}

SMCR_RULES_CLC(note_given)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    const smcr_rmb_t *rmb = smcr_rmb_same(arrival->state, qp, accept->rkey, accept->va);

    if (rmb)
        note_given(arrival, smcr_rmb_conn(rmb, accept->rmb_index), conn, qp->side, false);
    note_given(arrival, smcr_conn_find(arrival->state, qp->link->lgr, qp->side, accept->token),
               conn, qp->side, true);
}

/* An owner hands out an element, or an alert token, when its last connection is over. It was not,
 * if its owner goes on with it, in the order of its messages and for longer than a message waits in
 * an adapter that has to retransmit others: Linux before 5.17 does not wait for what it has queued
 * (smc_cdc_tx_dismiss_slots()). What closes it may come again, and have been lost before.
 * (R-3.5.2-3, R-A.2.3-9) */
SMCR_RULES_CDC(goes_on)
{
    const smcr_cdc_t *cdc = message->cdc;
    const smcr_rules_reuse_t *reused = smcr_rules_of_conn(conn)->reused;
    const smcr_conn_t *other = reused ? reused->by : NULL;
    int owner = !arrival->qp->side;
    bool next = smcr_conn_side_step(&conn->side[owner], cdc->seq) == 1;

    if (!other || owner != reused->side || !next ||
        cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT) ||
        !other->accept_frame || !other->confirm_frame || other->decline_frame ||
        smcr_conn_side_has_ended(&conn->side[owner]))
        return;
    smcr_doubt_t doubt = {SMCR_DOUBT_NONE, NULL};
    if (arrival->when.time <= reused->time + QUEUED)
        doubt.kind = SMCR_DOUBT_UNSEEN;
    smcr_breach(arrival, reused->token ? SMCR_EVENT_token_in_use : SMCR_EVENT_rmb_element_in_use,
                smcr_doubt_or(smcr_doubt_place(arrival), doubt),
                "The sender has given its %s to connection %u, but goes on with this one",
                reused->token ? "alert token" : "RMB element", other->index);
}

/* ---- who it is ---- */

/* Whether two peer IDs that are known, so not all zeros, are not the same. */
static bool
differ(const uint8_t *one, const uint8_t *other)
{
    static const uint8_t none[SMCR_WIRE_PEER_ID_LENGTH] = {0};

    return memcmp(one, none, sizeof none) != 0 && memcmp(other, none, sizeof none) != 0 &&
           memcmp(one, other, sizeof none) != 0;
}

/* The client's Confirm repeats the peer ID of its Proposal; a later contact has those of its group.
 * A Proposal without SMC-R of version 1 has none. A host that has started anew has another peer ID,
 * and may have the queue pair for another group, whose beginning the capture lacks: it is the same
 * one if its flow goes on. (R-3.5.1.2-6, R-3.5.2-1) */
SMCR_RULES_CLC(peer)
{
    const smcr_qp_t *qp = message->qp;
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_lgr_t *lgr = qp->link->lgr;
    bool later = !conn->first_contact && lgr->from_start;

    if (qp->side != lgr->server && differ(smcr_rules_of_conn(conn)->proposed_id, accept->peer_id))
        smcr_breach(arrival, SMCR_EVENT_clc_peer_changed, smcr_doubt_message(arrival),
                    "The peer ID is not that of its Proposal");
    else if (later && differ(lgr->peer_id[qp->side], accept->peer_id))
        smcr_breach(arrival, SMCR_EVENT_clc_peer_changed,
                    smcr_doubt_later_on(arrival, qp->link, qp->side, (smcr_doubt_proof_t){0}),
                    "The peer ID is not that of its link group");
}

/* The Confirm repeats the EID of the Accept. (R-V2ACC-6) */
SMCR_RULES_CLC(eid)
{
    const smcr_qp_t *qp = message->qp;
    uint32_t eid = smcr_wire_eid_sum(message->clc->u.accept.eid);
    uint32_t before = smcr_rules_of_conn(conn)->eid;

    if (eid == before)
        return;
    if (qp->side == qp->link->lgr->server)
        smcr_rules_conn(arrival, conn)->eid = eid;
    else if (conn->accept_frame && !smcr_rules_of_conn(conn)->eid_is_wrong)
        smcr_breach(arrival, SMCR_EVENT_clc_eid_wrong, smcr_doubt_message(arrival),
                    "The EID is not that of the Accept");
}
