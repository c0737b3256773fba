/* Rules for the contents of CLC messages: the queue pairs of a link group, the IP area, the RMB
 * elements and alert tokens of connections, and the identity of the sender (RFC 7609 3.5, A.2,
 * C.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

#define QUEUED SMCR_TIME_SECOND /* no adapter delays a message for longer than this */

/* ---- queue pairs of a group ---- */

/* The subject of a claim: the queue pair `key` may have been announced by a side of the link group
 * `lgr`. */
typedef struct {
    const smcr_lgr_t *lgr;
    smcr_ib_qp_key_t key; /* GID and number */
} announced_qp_t;

/* True if the report of a check that calls doubt_qp() has to be withdrawn later: the side has
 * announced the queue pair in the group. */
static bool
qp_has_come(const smcr_doubt_proof_t *claim)
{
    const announced_qp_t *awaited = claim->about;
    const smcr_qp_t *qp = smcr_qp_find(claim->state, &awaited->key);

    return qp && qp->link->lgr == awaited->lgr;
}

/* Returns the reason to doubt that the side `sender` has never announced the queue pair `key` in
 * the group: the announcement may be missing in the capture. */
static smcr_doubt_t
doubt_qp(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender, const smcr_ib_qp_key_t *key)
{
    announced_qp_t *awaited = smcr_state_alloc0(arrival->state, sizeof *awaited);

    *awaited = (announced_qp_t){lgr, *key};
    return smcr_doubt_later(arrival, lgr, sender,
                            (smcr_doubt_proof_t){.has_come = qp_has_come, .about = awaited});
}

/* Whether the group has not ended, and its server has this peer ID. */
static bool
has_server(const smcr_lgr_t *lgr, const uint8_t *peer_id)
{
    if (lgr->ended_frame || !lgr->newest_link || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return false;
    return memcmp(lgr->peer_id[lgr->server], peer_id, SMCR_WIRE_PEER_ID_LENGTH) == 0;
}

/* The only group that an Accept of this server without the first contact flag can mean: the
 * server's group that has not ended. NULL: there is none, or there are several, so nothing can be
 * judged. */
static smcr_lgr_t *
only_group_with(const smcr_state_t *state, const uint8_t *peer_id)
{
    smcr_lgr_t *found = NULL;

    SMCR_LIST_EACH(smcr_lgr_t *, lgr, state->lgrs) {
        if (!has_server(lgr, peer_id))
            continue;
        if (found)
            return NULL;
        found = lgr;
    }
    return found;
}

/* Without the first contact flag, the server names a queue pair of a link that both sides have
 * (R-C.4-1). An Accept breaks the rule if it names another queue pair. The server must have only
 * one group, whose beginning is captured, and no message that may have announced a further link may
 * be missing. The event is only a NOTE: the queue pair may belong to an unknown group that began
 * before the capture. */
static void
check_known_qp(const smcr_arrival_t *arrival, const uint8_t *peer_id, const smcr_ib_qp_key_t *key)
{
    smcr_lgr_t *lgr = only_group_with(arrival->state, peer_id);

    if (lgr)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_clc_first_contact_wrong, doubt_qp(arrival, lgr, lgr->server, key),
            "This is no first contact, but link group %u has no such queue pair, and no other "
            "group with this server is captured", lgr->index);
}

/* Whether the queue pair is the client's, on an active link of the group. */
static bool
is_active_end_of_client(const smcr_state_t *state, const smcr_lgr_t *lgr,
                        const smcr_ib_qp_key_t *key)
{
    const smcr_qp_t *qp = smcr_qp_of_role(state, key, false);

    return qp && qp->link->lgr == lgr && qp->link->state == SMCR_LINK_ACTIVE;
}

/* A Confirm names the client's queue pair on an active link of the group (R-3.5.2-5). A Confirm
 * breaks the rule if it names any other queue pair. In a later contact the Confirm and the Accept
 * may name different links. Nothing is reported if the queue pair may belong to a link whose ADD
 * LINK is missing in the capture. */
SMCR_RULES_CLC(check_client_qp)
{
    const smcr_clc_accept_t *confirm = &message->clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(confirm->gid, confirm->qpn);
    smcr_lgr_t *lgr = conn->lgr;

    if (!conn->accept_frame)
        return;
    const smcr_qp_t *expected = &conn->side[lgr->server].link->qp[!lgr->server];
    if (smcr_qp_find(arrival->state, &key) == expected ||
        is_active_end_of_client(arrival->state, lgr, &key))
        return;
    smcr_doubt_t doubt = conn->first_contact ? smcr_doubt_message(arrival)
                                             : doubt_qp(arrival, lgr, !lgr->server, &key);

    smcr_breach_report_unless(
        arrival, SMCR_EVENT_link_mismatch, doubt,
        "The queue pair is not the client's end of an active link of the group");
}

/* Whether ADD LINK has announced the link, and no CLC message has named a queue pair of the
 * link. */
static bool
is_announced_by_llc(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && link->qp[0].ground != SMCR_GROUND_CLC &&
           link->qp[1].ground != SMCR_GROUND_CLC;
}

/* Whether the link is in use, as far as the capture shows. Three conditions: 1. the link is active
 * or was announced by ADD LINK; 2. its group has not ended; 3. the first contact of the group is
 * captured, and was not declined. */
static bool
is_link_alive(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;
    bool group_lives =
        lgr->first_contact_captured && !lgr->ended_frame && !lgr->first_contact_declined;

    return group_lives && (link->state == SMCR_LINK_ACTIVE || is_announced_by_llc(link));
}

/* The reason why the Accept may not name the queue pair, for the text of the event; "": the text
 * needs none. */
static const char *
text_of_taken(bool first_contact, bool active)
{
    if (!first_contact)
        return " as the client's";
    return active ? "" : ", which ADD LINK has announced";
}

/* An Accept may not name a queue pair that is in use, for three reasons: a first contact makes a
 * new link, with a queue pair that no other link has (R-C.4-2); further links of a group come by
 * LLC (R-2.2.3-1); a peer has one role in a group (R-2.2.3-2). The Accept breaks the rule if it
 * names a queue pair of a link in use. The event is a NOTE for an active link, which may have ended
 * in packets that are missing in the capture. A link that was only announced had no packets that
 * could be missing. */
static void
check_taken(const smcr_arrival_t *arrival, const smcr_qp_t *qp, bool first_contact)
{
    const smcr_link_t *link = qp ? qp->link : NULL;

    if (!link || !is_link_alive(link))
        return;
    bool active = link->state == SMCR_LINK_ACTIVE;
    smcr_doubt_t doubt = active ? smcr_doubt_group(arrival, link->lgr)
                                : smcr_doubt_message(arrival);
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_clc_qp_taken, doubt,
        "Link group %u has this queue pair%s, and the end of the link is not "
        "captured", link->lgr->index, text_of_taken(first_contact, active));
}

/* The rules of check_taken() and check_known_qp(), for the queue pair of an Accept. Without the
 * first contact flag, an Accept breaks no rule if it names a known queue pair of the server. */
SMCR_RULES_CLC(check_server_qp)
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
        check_known_qp(arrival, accept->peer_id, &key);
}

/* ---- addresses of the peers ---- */

/* Whether the TCP connection uses IPv6. The state keeps the addresses of a connection over neither
 * IPv4 nor IPv6 as zeros. */
static bool
is_ipv6(const smcr_conn_t *conn)
{
    static const uint8_t other[SMCR_GID_IPV4_AT] = {0}; /* first bytes of the kept address if its
                                                           protocol is not IP */

    return conn->conversation && !conn->ipv4 &&
           memcmp(conn->addr.ipv6[0], other, sizeof other) != 0;
}

/* The fault of the IP area of a Proposal over IPv6; NULL: the area is right. */
static const char *
find_wrong_over_ipv6(const smcr_clc_proposal_t *proposal)
{
    if (proposal->subnet_length)
        return "a subnet of IPv4";
    return proposal->prefix_count ? NULL : "no prefix";
}

/* Over IPv4 a Proposal has a subnet mask, over IPv6 it has prefixes (R-A.2.2-4). A Proposal breaks
 * the rule if its IP area is of the other address family or, over IPv6, has no prefix. Not judged
 * is a Proposal that is truncated by snaplen, or has no IP area. */
SMCR_RULES_CLC(check_area)
{
    const smcr_clc_proposal_t *proposal = &message->clc->u.proposal;

    if (!message->clc->complete || !proposal->has_ip_area)
        return;
    const char *wrong = find_wrong_over_ipv6(proposal);
    if (conn->ipv4 && proposal->prefix_count)
        smcr_breach_report(arrival, SMCR_EVENT_clc_area_wrong,
                           "The connection is one of IPv4, but the Proposal has prefixes of IPv6");
    else if (wrong && is_ipv6(conn))
        smcr_breach_report(arrival, SMCR_EVENT_clc_area_wrong,
                           "The connection is one of IPv6, but the Proposal has %s", wrong);
}

/* In version 1 the server accepts a first contact only if it is in the client's subnet or prefix
 * (R-3.5.1.2-2). An Accept breaks the rule if the address that the client has connected to is
 * outside the client's subnet and all its prefixes. The event is a NOTE, since the server may have
 * a second address in the subnet, or a router may have translated its address (NAT). */
SMCR_RULES_CLC(check_subnet)
{
    const smcr_clc_t *clc = message->clc;

    if (smcr_wire_clc_names_qp(clc) && smcr_wire_clc_is_first_contact(clc) &&
        conn->server_outside_subnet && smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION) == 1)
        smcr_breach_report(
            arrival, SMCR_EVENT_clc_other_subnet,
            "The server accepts, but its address is in no subnet or prefix of the Proposal");
}

/* ---- RMB elements and tokens ---- */

/* True if the report of check_element_size() has to be withdrawn later: the RMB is not alive any
 * more. */
SMCR_DOUBT_CLAIM(rmb_has_gone, const smcr_rmb_t *rmb, !smcr_rmb_is_alive(rmb))

/* All elements of an RMB have the same size (R-2.1-4). An Accept or Confirm breaks the rule if it
 * names a known RMB with another element size. If a DELETE RKEY came before the message, the RKey
 * names a new RMB, and the new size is right. The next messages of the RMB's owner show whether
 * such a DELETE RKEY is missing in the capture. */
SMCR_RULES_CLC(check_element_size)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    const smcr_rmb_t *rmb = message->rmb;
    uint32_t size = smcr_bsize_to_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));

    if (!rmb || !rmb->element_size || rmb->element_size == size)
        return;
    smcr_doubt_proof_t claim = {.has_come = rmb_has_gone, .about = rmb};
    smcr_doubt_t doubt = smcr_doubt_later(arrival, qp->link->lgr, qp->side, claim);
    smcr_breach_report_unless(arrival, SMCR_EVENT_rmb_changed,
                              smcr_doubt_or(smcr_doubt_place(arrival), doubt),
                              "The elements of this RMB had %u bytes, now they have %u",
                              rmb->element_size, size);
}

/* Remembers that CLC gives `conn` an RMB element of `side` or, with `token`, an alert token of
 * `side`. `before`: the connection that has used this element or token so far; NULL: none. Of the
 * connections that reuse something of `before`, only the first one is remembered. */
static void
note_given(const smcr_arrival_t *arrival, smcr_conn_t *before, const smcr_conn_t *conn, int side,
           bool token)
{
    if (!before || before == conn || smcr_rules_of_conn(before)->reuse)
        return;
    smcr_rules_reuse_t *reused = smcr_state_alloc0(arrival->state, sizeof *reused);
    *reused = (smcr_rules_reuse_t){conn, arrival->when.time, (uint8_t)side, token};
    smcr_rules_conn(arrival, before)->reuse = reused;
}

/* Remembers the RMB element and the alert token that an Accept or Confirm gives to the
 * connection. */
SMCR_RULES_CLC(note_given)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;

    if (message->rmb)
        note_given(arrival, smcr_rmb_conn(message->rmb, accept->rmb_index), conn, qp->side, false);
    note_given(arrival, smcr_conn_find(arrival->state, qp->link->lgr, qp->side, accept->token),
               conn, qp->side, true);
}

/* Whether both sides have agreed on the connection by Accept and Confirm, and neither side has
 * declined it. */
static bool
is_agreed(const smcr_conn_t *conn)
{
    return conn->accept_frame && conn->confirm_frame && !conn->decline_frame;
}

/* Whether the message continues the connection. Three conditions: 1. its sequence number is the
 * next one of its sender; 2. the message does not close or abort the connection; 3. the sender has
 * not ended the connection in an earlier message. */
static bool
continues_conn(const smcr_conn_side_t *sender, const smcr_cdc_t *cdc)
{
    bool ends = (cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) != 0;

    return !ends && smcr_conn_side_seq_step(sender, cdc->seq) == 1 &&
           !smcr_conn_side_has_ended(sender);
}

/* An owner gives an RMB element (R-3.5.2-3) or an alert token (R-A.2.3-9) to another connection
 * only when the connection that has used it is over. Suppose that an Accept or Confirm has given
 * the element or token to a new connection, and both sides have agreed on it. Then the owner breaks
 * the rule if it still sends a CDC message of the old connection. Four conditions:
 *
 * 1. The message is the owner's next one on the old connection.
 * 2. It comes more than QUEUED after the Accept or Confirm: Linux before 5.17 does not wait for
 *    messages in the queue of its adapter (smc_cdc_tx_dismiss_slots()).
 * 3. It neither closes nor aborts the old connection. An owner may close once more, since an
 *    earlier close may have been lost.
 * 4. The owner has not ended the old connection before, with "sending done", a close or an
 *    abort. */
SMCR_RULES_CDC(check_element_in_use)
{
    const smcr_rules_reuse_t *reused = smcr_rules_of_conn(conn)->reuse;
    const smcr_conn_t *other = reused ? reused->new_conn : NULL;
    int owner = !arrival->qp->side;

    if (!other || owner != reused->side || !is_agreed(other) ||
        !continues_conn(&conn->side[owner], message->cdc))
        return;
    smcr_doubt_t doubt = {SMCR_DOUBT_NONE, NULL};
    if (arrival->when.time <= reused->time + QUEUED)
        doubt.kind = SMCR_DOUBT_UNSEEN;
    const char *what = reused->is_token ? "alert token" : "RMB element";
    smcr_breach_report_unless(
        arrival, reused->is_token ? SMCR_EVENT_token_in_use : SMCR_EVENT_rmb_element_in_use,
        smcr_doubt_or(smcr_doubt_place(arrival), doubt),
        "The sender has given its %s to connection %u, but continues with this one", what,
        other->index);
}

/* ---- the peer ID and EID ---- */

/* Whether two peer IDs differ. False if one of them is not known, which is the value zero. */
static bool
peer_ids_differ(const uint8_t *one, const uint8_t *other)
{
    static const uint8_t none[SMCR_WIRE_PEER_ID_LENGTH] = {0};

    return memcmp(one, none, sizeof none) != 0 && memcmp(other, none, sizeof none) != 0 &&
           memcmp(one, other, sizeof none) != 0;
}

/* The client's Confirm repeats the peer ID of its Proposal (R-3.5.1.2-6). In a later contact, each
 * side has the peer ID of its link group (R-3.5.2-1). A message breaks the rule if its peer ID
 * differs. A Proposal that does not offer SMC-R of version 1 has no peer ID. In a later contact
 * there is a doubt: a host may have restarted, with a new peer ID, and may use the queue pair in a
 * new group whose beginning is not captured. This is excluded if the PSNs of the queue pair go
 * on. */
SMCR_RULES_CLC(check_peer)
{
    const smcr_qp_t *qp = message->qp;
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_lgr_t *lgr = qp->link->lgr;
    const uint8_t *proposed = smcr_rules_of_conn(conn)->proposed_id;
    bool later = !conn->first_contact && lgr->first_contact_captured;

    if (qp->side != lgr->server && peer_ids_differ(proposed, accept->peer_id))
        smcr_breach_report(arrival, SMCR_EVENT_clc_peer_changed,
                           "The peer ID is not that of its Proposal");
    else if (later && peer_ids_differ(lgr->peer_id[qp->side], accept->peer_id))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_clc_peer_changed,
            smcr_doubt_later_on(arrival, qp->link, qp->side, (smcr_doubt_proof_t){0}),
            "The peer ID is not that of its link group");
}

/* The Confirm repeats the EID of the Accept (R-V2ACC-6), which this function remembers. A Confirm
 * breaks the rule if its EID differs. If the Accept already has an EID that the Proposal does not
 * offer, check_offered() in v2_rules.c reports that, and the Confirm is not checked. */
SMCR_RULES_CLC(check_eid)
{
    const smcr_qp_t *qp = message->qp;
    uint32_t eid = smcr_wire_eid_sum(message->clc->u.accept.eid);
    uint32_t before = smcr_rules_of_conn(conn)->eid;

    if (eid == before)
        return;
    if (qp->side == qp->link->lgr->server)
        smcr_rules_conn(arrival, conn)->eid = eid;
    else if (conn->accept_frame && !smcr_rules_of_conn(conn)->eid_is_wrong)
        smcr_breach_report(arrival, SMCR_EVENT_clc_eid_wrong, "The EID is not that of the Accept");
}
