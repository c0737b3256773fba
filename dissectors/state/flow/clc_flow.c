/* What TCP and CLC messages change: the queue pairs of a link, the RMBs and tokens of a connection,
 * or the fallback of a connection to TCP (RFC 7609 3.5.1, 3.5.2, 3.6, A.1, A.2, C).
 *
 * A CLC message passes four steps. First, it is judged: may this side send it, and which messages
 * before it are missing? Second, the link of an Accept or Confirm is found by the queue pair in the
 * message. Third, the state takes in the RMB, token and sizes of the sender, and the step of the
 * handshake. Fourth, the user gets events. The checks of state/rules/ run in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_flow.h"
#include "credits.h"
#include "early.h"
#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* ---- why a connection does not use SMC-R: decided once, in the frame that proves it ---- */

/* The CLC type of the last step of the handshake so far; 0: no CLC message has come. */
static uint8_t
last_clc_step(const smcr_conn_t *conn)
{
    if (conn->confirm_frame)
        return SMCR_CLC_CONFIRM;
    if (conn->accept_frame)
        return SMCR_CLC_ACCEPT;
    return conn->proposal_frame ? SMCR_CLC_PROPOSAL : 0;
}

/* Notes that the connection does not use SMC-R. `kind`: the reason. `frame`: frame that proves the
 * reason. */
static void
fall_back(smcr_conn_t *conn, smcr_fallback_kind_t kind, uint32_t frame)
{
    conn->fallback.kind = (uint8_t)kind;
    conn->fallback.frame = frame;
    conn->fallback.step = last_clc_step(conn);
    conn->fallback.both_options = conn->option_syn && conn->option_synack;
    conn->fallback.roles_unknown = conn->roles_unknown;
}

/* Notes the fallback that the Decline causes. A Decline after an earlier reason to fall back
 * changes nothing. Only a Decline of version 2 has the operating system of its sender. (A.2.5) */
static void
fall_back_declined(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *decline)
{
    const smcr_clc_decline_t *message = &decline->u.decline;
    smcr_fallback_t *fallback = &conn->fallback;

    if (fallback->kind)
        return;
    fall_back(conn, SMCR_FALLBACK_DECLINED, arrival->when.frame);
    fallback->clc_may_be_missing = conn->clc_cut || !smcr_evidence_tcp_is_whole(arrival, conn);
    fallback->code_cut = decline->lacks_diagnosis;
    fallback->code = message->diagnosis;
    fallback->os = smcr_wire_bits(decline->header.flags, SMCR_MASK_VERSION) >= 2
                       ? smcr_wire_bits(message->os, SMCR_MASK_OS) : 0;
    fallback->by_server = smcr_arrival_role(arrival);
    fallback->outside_subnet = conn->ipv4 && conn->server_outside_subnet;
    fallback->roce_missing = smcr_evidence_lacks_roce(conn);
}

/* ---- the RMB, element and token of a side ---- */

/* Takes in the first PSN with which the queue pair `qp` sends, from an Accept or Confirm. Nothing
 * changes in three cases: 1. the PSN is truncated by snaplen; 2. RoCE and TCP have times of two
 * clocks (`clocks_differ`), so the first RoCE packets may be earlier in the capture than the
 * message, though no packet is missing; 3. the first PSN of the flow is known already. */
static void
take_in_initial_psn(smcr_qp_t *qp, const smcr_clc_t *clc)
{
    bool is_captured = clc->complete || !clc->lacks_psn;

    if (is_captured && !qp->link->lgr->clocks_differ)
        smcr_flow_announce(&smcr_qp_peer(qp)->traffic.flow, clc->u.accept.psn);
}

/* Whether an RMB element or token is given to `conn` while the connection `before`, which has it so
 * far, certainly is open. Data and messages with this element or token may then belong to either
 * connection. `before`: NULL gives false. `side`: owner of the element or token. */
static bool
is_given_twice(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_conn_t *before,
               int side)
{
    return before && before != conn && smcr_doubt_conn_is_open(before, side) &&
           !smcr_doubt_conn(arrival, before).kind;
}

/* Gives the RMB element of the side `owner` to the connection. If TCP and RoCE have times of two
 * clocks, it is not known whether the element's last connection, or the last one of an RMB that was
 * at this address before, had ended: data may belong to either connection. */
static void
give_element(const smcr_arrival_t *arrival, smcr_conn_t *conn, int owner)
{
    smcr_conn_side_t *side = &conn->side[owner];
    smcr_conn_t *before = smcr_rmb_conn(side->rmb, side->rmb_index);

    if (conn->lgr->clocks_differ)
        side->element_shared |= side->rmb->first != side->rmb || (before && before != conn);
    if (is_given_twice(arrival, conn, before, owner))
        side->element_shared = before->side[owner].element_shared = true;
    smcr_rmb_set_conn(arrival->state, side->rmb, side->rmb_index, conn);
}

/* Takes in the size of the elements of the side's RMB. All elements of an RMB have the same size.
 * If an earlier CLC message gave another size, it is not known where elements begin, so each
 * element counts as shared by several connections. The first size stays. But if packets are missing
 * since the RMB was announced, it may be another RMB: then the new size counts. */
static void
take_in_size(smcr_conn_side_t *side)
{
    smcr_rmb_t *rmb = side->rmb;
    uint32_t before = rmb->element_size;
    bool differs = before && before != side->size && smcr_evidence_holds(&rmb->valid_from);

    for (unsigned index = 1; differs && index <= SMCR_WIRE_RMB_INDEX_MAX; index++) {
        smcr_conn_t *conn = smcr_rmb_conn(rmb, index);
        if (conn)
            conn->side[rmb->side].element_shared = true;
    }
    side->element_shared |= differs;
    rmb->element_size = side->size = differs ? before : side->size;
}

/* Gives the token to the connection: CDC messages to the side `owner` name the connection by
 * `token` from now on. Also reports a token that another open connection has, and notes the
 * difference of the connection's two tokens, which some hosts keep the same for all connections. */
static void
give_token(const smcr_arrival_t *arrival, smcr_conn_t *conn, int owner, uint32_t token)
{
    smcr_conn_t *before = smcr_conn_find(arrival->state, conn->lgr, owner, token);

    if (before && before != conn && !smcr_conn_has_closed(before) && !before->decline_frame)
        smcr_event_add(arrival, SMCR_EVENT_token_reused,
                       "Connection %u had this alert token, and its close is not captured",
                       before->index);
    if (is_given_twice(arrival, conn, before, owner))
        conn->side[owner].token_shared = before->side[owner].token_shared = true;
    smcr_conn_set_token(arrival->state, conn, owner, token);
    if (conn->side[!owner].has_token)
        smcr_lgr_note_token_difference(conn->lgr, conn->side[1].token - conn->side[0].token);
}

/* Takes in the First Contact Extension of SMC version 2: the release, and the options that both
 * sides agree on. If the message is truncated, the options may be missing. (smc_clc.h) */
static void
take_in_extension(smcr_lgr_t *lgr, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;

    if (!accept->has_fce)
        return;
    lgr->has_release = true;
    lgr->release = (uint8_t)smcr_wire_bits(accept->os_release, SMCR_MASK_RELEASE);
    bool agrees = !(~accept->vendor_options[0] & SMCR_CLC_VENDOR_IMMEDIATE);
    if (agrees || clc->complete)
        lgr->immediate_agreed = agrees && (lgr->immediate_agreed || !lgr->immediate_known);
    lgr->immediate_known |= clc->complete;
}

/* Takes in version, MTU and credits from an Accept or Confirm of a first contact. In a later
 * contact, the MTU field has no meaning, but Linux copies the MTU of the link into it. So this MTU
 * is used, marked by `mtu_repeated`, if the first contact is not captured. (A.2.3) */
static void
take_in_link_terms(const smcr_conn_t *conn, smcr_qp_t *qp, const smcr_clc_accept_t *accept)
{
    smcr_lgr_t *lgr = qp->link->lgr;
    uint8_t version = smcr_wire_bits(conn->accept_flags, SMCR_MASK_VERSION);

    if (conn->first_contact)
        lgr->version = version <= 2 ? version : 0;
    if (conn->first_contact || (!lgr->first_contact_captured && !qp->mtu)) {
        qp->mtu = smcr_wire_bits(accept->sizes, SMCR_MASK_MTU);
        qp->mtu_repeated = !conn->first_contact;
    }
    if (conn->first_contact)
        smcr_state_credits_begin(qp, accept->credits);
}

/* The number of the RMB element that the side offers. `index`: the number in the message. Numbers
 * begin with 1, so 0 is wrong: element 1 is assumed then, as most RMBs have one element only, if
 * all CLC messages of the group are captured. Otherwise 0 is returned: not known. */
static uint8_t
offered_element(const smcr_conn_t *conn, const smcr_lgr_t *lgr, uint8_t index)
{
    bool has_all_clc =
        lgr->first_contact_captured && lgr->unfinished_clc_conns <= !conn->clc_finished;

    return !index && has_all_clc ? 1 : index;
}

/* Takes in the RMB that the side announces, and the connection's element in it. The caller has set
 * the side's `size` and `rmb_index`. If an earlier message has announced this RMB with another
 * size, take_in_size() decides which of the two the side gets. */
static void
take_in_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp,
            const smcr_clc_accept_t *accept)
{
    smcr_conn_side_t *side = &conn->side[qp->side];

    side->rmb = smcr_rmb_announce(arrival->state, qp, accept->rkey, accept->va);
    take_in_size(side);
    side->rmb->address_invalid = smcr_wire_clc_element_overflows(accept);
    give_element(arrival, conn, qp->side);
}

/* Notes that the connection begins here, in the flows to and from the queue pair of the side. */
static void
begin_flow(smcr_conn_side_t *side, smcr_qp_t *qp)
{
    side->valid_from = side->last_confirmed_use = side->last_positioned_write = smcr_point_now(qp);
    side->announced_at = smcr_point_now(smcr_qp_peer(qp));
}

/* Takes in what an Accept or Confirm announces for its sender: link group, peer ID, RMB, token,
 * sizes. The peer ID is ignored if the rules have reported that it differs from the group's
 * (SMCR_EVENT_clc_peer_changed). (A.2.3, A.2.4) */
static void
take_in_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_lgr_t *lgr = qp->link->lgr;
    smcr_conn_side_t *side = &conn->side[qp->side];

    smcr_conn_join(conn, lgr);
    smcr_state_early_judge(conn, qp->link, clc->header.type, arrival->when.time);
    if (!smcr_record_has_event(arrival->record, SMCR_EVENT_clc_peer_changed))
        memcpy(lgr->peer_id[qp->side], accept->peer_id, SMCR_WIRE_PEER_ID_LENGTH);
    take_in_extension(lgr, clc);
    take_in_link_terms(conn, qp, accept);
    if (!smcr_state_early_join(arrival, conn, qp, accept))
        begin_flow(side, qp);
    side->size = smcr_bsize_to_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    side->rmb_index = offered_element(conn, lgr, accept->rmb_index);
    take_in_rmb(arrival, conn, qp, accept);
    smcr_state_exchange_named_rmb(arrival, qp, side->rmb);
    give_token(arrival, conn, qp->side, accept->token);
    conn->side[0].link = conn->side[1].link = qp->link;
    if (clc->header.type == SMCR_CLC_CONFIRM && conn->first_contact) {
        smcr_state_early_confirm(arrival, smcr_qp_peer(qp), clc);
        take_in_initial_psn(qp, clc);
    }
    smcr_record_set_link(arrival->record, qp->link, qp->side);
}

/* ---- the link and group of a CLC message ---- */

/* Makes a link group with one link, of which the queue pair of `side` is known. Side 1 is the
 * server's. Returns this queue pair. */
static smcr_qp_t *
new_group(smcr_state_t *state, const smcr_ib_qp_key_t *key, int side)
{
    smcr_lgr_t *lgr = smcr_lgr_new(state);
    smcr_link_t *link = smcr_link_new(state, lgr);

    lgr->server = 1;
    smcr_qp_set(state, link, side, key, SMCR_GROUND_CLC);
    return &link->qp[side];
}

/* Whether an earlier transmission of the connection's Accept has announced the link. */
static bool
is_announced_for(const smcr_link_t *link, const smcr_conn_t *conn)
{
    return link->is_announced && link->lgr == conn->lgr;
}

/* The server's queue pair on the link that the Accept names. For a first contact, or an unknown
 * queue pair, makes a new group and link, unless an earlier transmission of the Accept has made
 * them, or earlier frames have shown the link. */
static smcr_qp_t *
server_qp(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(accept->gid, accept->qpn);
    smcr_qp_t *qp = smcr_qp_of_role(arrival->state, &key, true);

    if (qp && (!conn->first_contact || is_announced_for(qp->link, conn)))
        return qp;
    smcr_qp_t *early = smcr_state_early_server_qp(arrival, conn, clc);
    if (early)
        return early;
    smcr_qp_t *before = smcr_qp_find(arrival->state, &key);
    qp = new_group(arrival->state, &key, 1);
    qp->link->lgr->shown_before = conn->first_contact ? before : NULL;
    qp->link->lgr->first_accept = wmem_memdup(arrival->state->scope, accept, sizeof *accept);
    qp->link->lgr->first_contact_captured = conn->first_contact;
    qp->link->is_announced = conn->first_contact;
    if (conn->first_contact) {
        take_in_initial_psn(qp, clc);
        smcr_event_add(arrival, SMCR_EVENT_lgr_first_contact, NULL);
    }
    return qp;
}

/* The client's queue pair that a Confirm names, if the Accept is missing: on a known link, or on a
 * link of a new group. If the known link does not have the RMB in the Confirm, though its group is
 * captured from the first contact on, CONFIRM RKEY is missing, and the queue pair may belong to a
 * newer link: then the result is NULL, not known. `key`: GID and number in the Confirm. */
static smcr_qp_t *
client_qp_alone(smcr_state_t *state, const smcr_ib_qp_key_t *key, const smcr_clc_t *clc)
{
    smcr_qp_t *qp = smcr_qp_of_role(state, key, false);

    if (!qp || smcr_wire_clc_is_first_contact(clc))
        return new_group(state, key, 0);
    bool lacks_rmb =
        qp->link->lgr->first_contact_captured && !smcr_rmb_find(state, qp, clc->u.accept.rkey);
    return lacks_rmb ? NULL : qp;
}

/* Whether nothing but the Accept of `conn` shows the group of the link `named`: the Accept is no
 * first contact, the link has carried no packet, and the group has no other connection. */
static bool
is_known_from_accept_alone(const smcr_conn_t *conn, const smcr_link_t *named)
{
    const smcr_lgr_t *lgr = named->lgr;

    if (lgr->first_contact_captured || !lgr->first_accept || named->packet_count)
        return false;
    return lgr->newest_conn == conn && smcr_lgr_has_one_conn(lgr);
}

/* Whether `qp` certainly is the client's end of an active link in another group than `wrong`. `qp`:
 * NULL gives false. */
static bool
is_of_other_live_link(const smcr_qp_t *qp, const smcr_lgr_t *wrong)
{
    if (!qp || qp->link->lgr == wrong || qp->side == wrong->server)
        return false;
    return qp->link->state == SMCR_LINK_ACTIVE && smcr_evidence_knows_link(qp->link);
}

/* Corrects the link of a connection whose Accept has a wrong queue pair. `named`: link that was
 * made for the Accept. `qp`: queue pair in the Confirm, which is the client's end of a link in use.
 * The client confirms with the queue pair that it uses, so the connection is on the link of `qp`.
 * The group that was made for the Accept is removed. */
static void
correct_link(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_link_t *named, smcr_qp_t *qp)
{
    smcr_lgr_t *wrong = named->lgr;
    smcr_clc_t accept = {.u.accept = *wrong->first_accept};

    smcr_link_forget_qps(arrival->state, named);
    arrival->state->lgr_count -= wrong->index + 1 == arrival->state->lgr_count;
    wrong->newest_link = NULL;
    named->lgr = qp->link->lgr;
    conn->lgr = NULL;
    take_in_side(arrival, conn, smcr_qp_peer(qp), &accept);
}

/* The client's queue pair, after a Confirm. `link`: link that the Accept has named. `key`: GID and
 * number that the Confirm names. `qp`: known queue pair with this key; NULL: none. If the client's
 * queue pair of `link` is not known, it gets the key. Returns the client's queue pair of `link`, or
 * `qp` if `qp` is on another link of the group. */
static smcr_qp_t *
client_qp_of_link(smcr_state_t *state, const smcr_conn_t *conn, smcr_link_t *link,
                  const smcr_ib_qp_key_t *key, smcr_qp_t *qp)
{
    smcr_qp_t *expected = &link->qp[!conn->lgr->server];

    if (!expected->gid_known || smcr_gid_is_same(expected->key.gid, key->gid)) {
        smcr_join_links(state, link, key);
        smcr_qp_set(state, link, expected->side, key, SMCR_GROUND_CLC);
    }
    if (smcr_qp_find(state, key) == expected)
        return expected;
    return qp && qp->link->lgr == conn->lgr ? qp : expected;
}

/* The client's queue pair that a Confirm names: on the link that the Accept has named, if the
 * Accept is captured. NULL: not known. If the Accept is not captured, an event reports this. If the
 * Confirm shows that the Accept's queue pair is on another known link, the connection moves to that
 * link (correct_link()). */
static smcr_qp_t *
client_qp(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    smcr_ib_qp_key_t key = smcr_qp_key(clc->u.accept.gid, clc->u.accept.qpn);
    smcr_state_t *state = arrival->state;

    if (!conn->accept_frame) {
        smcr_event_add(arrival, SMCR_EVENT_clc_confirm_without_accept,
                       state->damage ? "The Accept before this Confirm is not captured, truncated "
                                       "or damaged" : NULL);
        return client_qp_alone(state, &key, clc);
    }
    smcr_link_t *link = conn->side[conn->lgr->server].link;
    smcr_qp_t *qp = smcr_qp_of_role(state, &key, false);
    if (is_known_from_accept_alone(conn, link) && is_of_other_live_link(qp, link->lgr)) {
        correct_link(arrival, conn, link, qp);
        return qp;
    }
    return client_qp_of_link(state, conn, link, &key, qp);
}

/* Whether the message is, or may be, an Accept or Confirm that is truncated by snaplen before the
 * end of its RMB's address. A message that is truncated before its type may be an Accept or
 * Confirm. */
static bool
is_cut_before_qp(const smcr_clc_t *clc)
{
    bool may_agree = smcr_wire_clc_agrees(clc->header.type) || !clc->header.type;

    return may_agree && !smcr_wire_clc_names_qp(clc) && !clc->malformed && !clc->smcd;
}

/* Finds the link and group of an Accept. An Accept that comes after its Confirm shows that clocks
 * differ. Returns the queue pair of the server. */
static smcr_qp_t *
place_accept(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    bool is_late = conn->confirm_frame && !conn->accept_frame;

    conn->accept_frame = arrival->when.frame;
    conn->first_contact = smcr_wire_clc_is_first_contact(clc);
    smcr_qp_t *qp = server_qp(arrival, conn, clc);
    if (is_late)
        smcr_lgr_prove_clocks(qp->link->lgr);
    return qp;
}

/* Finds the link and group of an Accept or Confirm, and sets the roles of the group: the server
 * sends the Accept, the client the Confirm. Returns the queue pair of the sender. NULL: the message
 * is no Accept or Confirm of SMC-R, is truncated before the end of its RMB's address, or the queue
 * pair is not known. */
static smcr_qp_t *
place_agreement(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    bool accepts = clc->header.type == SMCR_CLC_ACCEPT;
    smcr_qp_t *qp;

    if (accepts)
        conn->accept_flags = clc->header.flags;
    conn->clc_cut |= is_cut_before_qp(clc);
    if (!smcr_wire_clc_agrees(clc->header.type) || !smcr_wire_clc_names_qp(clc))
        return NULL;
    if (accepts) {
        qp = place_accept(arrival, conn, clc);
    } else {
        qp = client_qp(arrival, conn, clc);
        conn->confirm_frame = arrival->when.frame;
    }
    if (!qp)
        return NULL;
    smcr_lgr_set_server(qp->link->lgr, accepts ? qp->side : !qp->side);
    smcr_lgr_give_index(arrival->state, qp->link->lgr);
    return qp;
}

/* ---- the steps of the handshake, and the changes that a CLC message makes ---- */

/* Takes in a Decline, which ends SMC for the connection: other connections may get its tokens and
 * RMB elements. */
static void
take_in_decline(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    if (!conn->decline_frame)
        conn->decline_frame = arrival->when.frame;
    conn->roles_unknown |= !smcr_evidence_clc_knows_client(conn) &&
                      !smcr_evidence_tcp_knows_client(conn);
    fall_back_declined(arrival, conn, clc);
    smcr_conn_leave_smc(arrival->state, conn);
}

/* Whether a message of this type is no new step of the handshake. Either its sender sends the last
 * message once more, or the message is a Proposal that the capture has after the Accept, or an
 * Accept that it has after the Confirm. `waiting`: exchange of the last message, which waits for
 * its answer; NULL: none. */
static bool
adds_no_step(const smcr_conn_t *conn, const smcr_exchange_t *waiting, uint8_t type,
             bool from_server)
{
    bool is_copy =
        waiting && conn->clc_step_type == type && conn->clc_step_by_server == from_server;
    bool is_late_proposal = type == SMCR_CLC_PROPOSAL && conn->accept_frame;
    bool is_late_accept = type == SMCR_CLC_ACCEPT && conn->confirm_frame;

    return is_copy || is_late_proposal || is_late_accept;
}

/* Whether a message of this type answers the last message. The Accept answers the Proposal, the
 * Confirm answers the Accept, and a Decline of the other side answers a Proposal or an Accept.
 * `waiting`: exchange of the last message; NULL gives false. */
static bool
answers_step(const smcr_conn_t *conn, const smcr_exchange_t *waiting, uint8_t type,
             bool from_server)
{
    uint8_t next = conn->clc_step_type == SMCR_CLC_PROPOSAL ? SMCR_CLC_ACCEPT : SMCR_CLC_CONFIRM;
    bool declines = type == SMCR_CLC_DECLINE;

    return waiting && conn->clc_step_by_server != from_server && (declines || type == next);
}

/* Ends the exchange `waiting` of the last message with the arriving message. A Decline may also
 * answer a message that is not captured. If this is possible, the response of the exchange is noted
 * as unknowable. It is possible unless the sequence numbers of TCP prove that no CLC bytes are
 * missing before the Decline. Exported PDUs have no sequence numbers, and leave nothing out. */
static void
end_step(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_exchange_t *waiting,
         const smcr_rules_clc_t *message)
{
    uint8_t type = message->clc->header.type;
    bool has_numbers = arrival->span || conn->clc_next_seq[0] || conn->clc_next_seq[1];
    bool may_answer_other = type == SMCR_CLC_DECLINE && has_numbers && !message->evidence.is_next;

    if (may_answer_other) {
        waiting->response_unknowable = true;
        return;
    }
    smcr_state_exchange_close(arrival, waiting);
    waiting->step = smcr_wire_clc_step(conn->clc_step_type, type);
}

/* Takes in a step of the CLC handshake: Proposal, Accept or Confirm. Accept and Confirm answer the
 * previous message of the other side. Proposal and Accept begin an exchange, which waits for its
 * answer. Copies and late messages are left out (adds_no_step()). */
static void
take_in_step(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_rules_clc_t *message)
{
    uint8_t type = message->clc->header.type;
    smcr_exchange_t *waiting = smcr_slab_entry(&arrival->state->entries, conn->clc_step);
    bool from_server = smcr_arrival_role(arrival);

    if (adds_no_step(conn, waiting, type, from_server))
        return;
    if (answers_step(conn, waiting, type, from_server))
        end_step(arrival, conn, waiting, message);
    conn->clc_step = 0;
    if (type == SMCR_CLC_PROPOSAL || type == SMCR_CLC_ACCEPT) {
        arrival->record->begins_exchange = smcr_state_exchange_open(arrival);
        conn->clc_step = smcr_slab_number(arrival->record->begins_exchange);
    }
    conn->clc_step_type = type;
    conn->clc_step_by_server = from_server;
}

/* ---- the message ---- */

/* The CLC type that the sender of the arriving message has to send next. A message of an unknown
 * type counts as a message of this type. */
static unsigned
next_clc_type(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    if (smcr_arrival_role(arrival))
        return SMCR_CLC_ACCEPT;
    return (conn->clc_types_received & 1U << SMCR_CLC_PROPOSAL) ? SMCR_CLC_CONFIRM
                                                                : SMCR_CLC_PROPOSAL;
}

/* Whether it is the sender's turn in the handshake. Two conditions: 1. the message that the sender
 * has to send next (next_clc_type()) has not come; 2. the message of the peer that comes before it
 * in the handshake has come. */
static bool
is_turn_of_sender(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    unsigned before = 1U << (next_clc_type(arrival, conn) - 1), types = conn->clc_types_received;

    return types & before && !(types & before << 1);
}

/* Whether the queue pair in the message certainly belongs to the other side of the connection. */
static bool
names_qp_of_peer(const smcr_arrival_t *arrival, const smcr_clc_t *clc)
{
    smcr_ib_qp_key_t key = smcr_qp_key(clc->u.accept.gid, clc->u.accept.qpn);
    const smcr_qp_t *other = smcr_qp_of_role(arrival->state, &key, !smcr_arrival_role(arrival));

    return other && smcr_evidence_knows_server(other->link->lgr);
}

/* Whether an Accept of the client, or a Confirm of the server, is right except for its type. Two
 * conditions: 1. it is the turn of the sender in the handshake; 2. the message does not name a
 * queue pair of the peer. */
static bool
has_only_wrong_type(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_clc_t *clc)
{
    return smcr_wire_clc_agrees(clc->header.type) && smcr_wire_clc_names_qp(clc) &&
           is_turn_of_sender(arrival, conn) && !names_qp_of_peer(arrival, clc);
}

/* Whether a message of this type has the wrong sender: the client sends Proposal and Confirm, the
 * server the Accept. False if TCP does not show which end is the client. (3.5.1) */
static bool
has_wrong_sender(const smcr_conn_t *conn, uint8_t type, bool from_server)
{
    bool has_one_sender = type >= SMCR_CLC_PROPOSAL && type <= SMCR_CLC_CONFIRM;

    return has_one_sender && smcr_evidence_tcp_knows_client(conn) &&
           (type == SMCR_CLC_ACCEPT) != from_server;
}

/* Whether the server's address is outside of the subnet and all prefixes of the Proposal. False if
 * NAT translates the addresses: then the captured address is not the server's. False also if the
 * Proposal is truncated, or has no subnet. */
static bool
has_outside_server(const smcr_conn_t *conn, const smcr_clc_t *clc)
{
    return !conn->is_translated && clc->complete && clc->u.proposal.has_ip_area &&
           !smcr_conn_is_inside(conn, &clc->u.proposal);
}

/* Changes the connection, its link and its group by the CLC message. The type and the sequence
 * numbers of a message that TCP retransmits are not counted again. */
static void
take_in_message(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_rules_clc_t *message)
{
    const smcr_clc_t *clc = message->clc;
    uint8_t type = clc->header.type;

    if (!message->evidence.is_repeat) {
        unsigned step = type <= SMCR_CLC_DECLINE ? type : next_clc_type(arrival, conn);
        conn->clc_types_received |= (uint8_t)(1U << step);
        smcr_evidence_tcp_take(arrival, conn);
    }
    if (type == SMCR_CLC_PROPOSAL) {
        conn->proposal_frame = arrival->when.frame;
        conn->server_outside_subnet = has_outside_server(conn, clc);
    }
    if (message->qp)
        take_in_side(arrival, conn, message->qp, clc);
    if (clc->smcd)
        conn->dmb_size[smcr_arrival_role(arrival)] = clc->dmb_size;
    if (type == SMCR_CLC_DECLINE)
        take_in_decline(arrival, conn, clc);
    smcr_conn_note_clc(conn);
}

/* The rules see the state before the message (ARRIVES, PLACED) and after it (LEARNED), so the order
 * of these steps stays. `clc` is not changed: `meant` has the type that the message should have. */
void
smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
               bool from_server)
{
    uint8_t type = clc->header.type;
    smcr_clc_t meant = *clc;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->conn = conn;
    arrival->record->direction = from_server;
    bool wrong_sender = has_wrong_sender(conn, type, from_server);
    bool means_it = !wrong_sender || has_only_wrong_type(arrival, conn, clc);
    if (wrong_sender)
        meant.header.type = (uint8_t)next_clc_type(arrival, conn);
    smcr_rules_clc_t message = {.clc = means_it ? &meant : NULL,
                                .evidence = smcr_evidence_of_clc(arrival, conn),
                                .wrong_sender = wrong_sender};
    smcr_rules_check_clc(SMCR_RULES_ARRIVES, arrival, conn, &message);
    if (!means_it) {
        smcr_evidence_tcp_take(arrival, conn);
        return;
    }
    take_in_step(arrival, conn, &message);
    message.qp = place_agreement(arrival, conn, &meant);
    if (message.qp) {
        const smcr_clc_accept_t *accept = &meant.u.accept;
        message.rmb = smcr_rmb_same(arrival->state, message.qp, accept->rkey, accept->va);
        smcr_rules_check_clc(SMCR_RULES_PLACED, arrival, conn, &message);
    }
    take_in_message(arrival, conn, &message);
    if (message.qp)
        smcr_rules_check_clc(SMCR_RULES_LEARNED, arrival, conn, &message);
    smcr_state_early_tell(arrival, conn->lgr);
    /* the direction of the record is that of the TCP connection, even if the link group has other
     * roles */
    arrival->record->direction = conn->roles_unknown ? SMCR_LGR_SIDE_UNKNOWN : from_server;
}

/* ---- TCP: the handshake, and the data after CLC ---- */

/* The connection is found by the conversation from now on. `reuses_ports`: an earlier connection
 * with these ports has ended. */
smcr_conn_t *
smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp)
{
    smcr_conn_t *conn = smcr_conn_new(state);

    smcr_conn_set_conversation(state, conn, tcp->conversation, tcp->stream);
    smcr_conn_set_ends(state, conn, tcp->ipv4, (const uint8_t *[]){tcp->gid[0], tcp->gid[1]},
                       tcp->port);
    conn->conversation_from = tcp->frame;
    conn->reuses_ports = tcp->has_ended;
    conn->roles_unknown = tcp->roles_unknown;
    return conn;
}

/* The comparison of subnets is taken back, since it was made with another address. */
void
smcr_state_translated(const smcr_state_t *state, void *conversation)
{
    smcr_conn_t *conn = smcr_conn_of_conversation(state, conversation);

    if (!conn)
        return;
    conn->is_translated = true;
    conn->server_outside_subnet = false; /* the address that was compared is not the server's */
}

/* Notes which segments of the TCP handshake have come, and whether they have the option. */
static void
note_option(smcr_conn_t *conn, const smcr_state_syn_t *syn)
{
    conn->has_synack |= syn->answer;
    conn->option_synack |= syn->option && syn->answer;
    conn->option_syn |= syn->option && !syn->answer;
}

/* Whether the client has offered SMC, and the connection has not fallen back to TCP. */
static bool
may_use_smcr(const smcr_conn_t *conn)
{
    return conn->option_syn && !conn->fallback.kind;
}

/* The first SYN-ACK decides. If the SYN has the option and the first SYN-ACK does not have it, the
 * server refuses SMC. The sequence numbers of a SYN or SYN-ACK that comes after CLC messages are
 * not used, since the segment belongs to another TCP connection. */
void
smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn)
{
    bool is_first_answer = syn->answer && !conn->has_synack;

    smcr_state_learns(state, syn->when.frame);
    if (syn->option)
        smcr_conn_note_activity(conn, syn->when);
    if (syn->option && !syn->answer && !conn->option_syn)
        conn->begin_time = syn->when.time;
    if (!conn->clc_types_received)
        smcr_evidence_tcp_begins(conn, syn->answer, syn->first);
    note_option(conn, syn);
    if (is_first_answer && !syn->option && may_use_smcr(conn))
        fall_back(conn, SMCR_FALLBACK_NO_OPTION, syn->when.frame);
}

void
smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, bool by_server, uint32_t frame)
{
    smcr_state_learns(state, frame);
    if (conn->clc_end_frame[by_server] == 0)
        conn->clc_end_frame[by_server] = frame;
}

/* Whether a Decline after the Confirm may be missing: CLC messages may be missing, and no CDC
 * message shows that the connection uses RDMA. */
static bool
may_have_been_declined(const smcr_arrival_t *arrival, const smcr_conn_t *conn, bool clc_is_whole)
{
    bool has_cdc = conn->side[0].last_cdc_frame || conn->side[1].last_cdc_frame;

    return conn->confirm_frame && arrival->span && !clc_is_whole && !has_cdc;
}

/* Whether the data is in the SYN (TCP Fast Open, RFC 7413). The client sends such data before it
 * knows whether the server supports SMC, so the data does not show a fallback. */
static bool
is_in_syn(const smcr_arrival_t *arrival, const smcr_conn_t *conn, bool from_server)
{
    return !from_server && conn->option_syn && !conn->has_synack &&
           arrival->when.frame == conn->conversation_from;
}

/* Application data on TCP before a Confirm shows that the connection does not use SMC-R.
 * With SMC-R a host sends no application data on TCP. */
void
smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server)
{
    bool asked = conn->proposal_frame || conn->accept_frame;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->direction = from_server;
    if (is_in_syn(arrival, conn, from_server))
        return;
    smcr_rules_check_tcp_data(arrival, conn);
    bool whole = !conn->clc_cut && smcr_evidence_tcp_is_whole(arrival, conn);
    bool declined = may_have_been_declined(arrival, conn, whole);
    if (conn->fallback.kind || (conn->confirm_frame && !declined))
        return;
    fall_back(conn, asked || declined ? SMCR_FALLBACK_NO_ANSWER : SMCR_FALLBACK_NO_CLC,
              arrival->when.frame);
    conn->fallback.clc_may_be_missing = !whole;
}
