/* What TCP and CLC messages tell: which queue pairs make a link, which RMBs and tokens a connection
 * has, or that it goes back to TCP (RFC 7609 3.5.1, 3.5.2, 3.6, A.1, A.2, C). Judge the message:
 * may its sender send it, and what is absent before it? Place it: an Accept or Confirm at the queue
 * pair of its sender. Take it in: what its sender has, and which step it is. Tell what is worth it.
 * Rules are asked in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_flow.h"
#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* ---- why a connection does not use SMC-R: decided once, in the frame that proves it ---- */

static void
fall_back(smcr_conn_t *conn, smcr_fallback_kind_t kind, uint32_t frame)
{
    conn->fallback.kind = (uint8_t)kind;
    conn->fallback.frame = frame;
    conn->fallback.step = conn->confirm_frame    ? SMCR_CLC_CONFIRM
                          : conn->accept_frame   ? SMCR_CLC_ACCEPT
                          : conn->proposal_frame ? SMCR_CLC_PROPOSAL
                                                 : 0;
    conn->fallback.both_options = conn->option_syn && conn->option_synack;
    conn->fallback.no_roles = conn->no_roles;
}

/* A Decline arrives. (A.2.5) */
static void
fall_back_declined(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *decline)
{
    const smcr_clc_decline_t *message = &decline->u.decline;
    smcr_fallback_t *fallback = &conn->fallback;

    if (fallback->kind)
        return;
    fall_back(conn, SMCR_FALLBACK_DECLINED, arrival->when.frame);
    fallback->lacks_clc = conn->cut_clc || !smcr_evidence_tcp_is_whole(arrival, conn);
    fallback->no_code = decline->cut_code;
    fallback->code = message->diagnosis;
    fallback->os = smcr_wire_bits(decline->header.flags, SMCR_MASK_VERSION) >= 2
                       ? smcr_wire_bits(message->os, SMCR_MASK_OS) : 0;
    fallback->by_server = smcr_arrival_role(arrival);
    fallback->other_subnet = conn->ipv4 && conn->outside;
    fallback->no_roce = smcr_evidence_lacks_roce(conn);
}

/* ---- what a side has ---- */

/* The first PSN that the queue pair sends with, if the message is not cut before it. */
static void
take_in_initial_psn(smcr_qp_t *qp, const smcr_clc_t *clc)
{
    if (clc->complete || !clc->cut_psn)
        smcr_flow_start(&smcr_qp_peer(qp)->traffic.flow, clc->u.accept.psn);
}

/* Whether `before` has what `conn` is given as well, and is open for sure. Whose the data or the
 * messages are that come with it is not known any more. */
static bool
is_shared(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_conn_t *before,
          int side)
{
    return before && before != conn && smcr_doubt_conn_is_open(before, side) &&
           !smcr_doubt_conn(arrival, before).kind;
}

static void
give_element(const smcr_arrival_t *arrival, smcr_conn_t *conn, int owner)
{
    smcr_conn_side_t *side = &conn->side[owner];
    smcr_conn_t *before = smcr_rmb_conn(side->rmb, side->rmb_index);

    if (is_shared(arrival, conn, before, owner))
        side->shares_element = before->side[owner].shares_element = true;
    smcr_rmb_set_conn(arrival->state, side->rmb, side->rmb_index, conn);
}

/* All elements of an RMB have one size. Where two were said, nobody knows where elements begin. */
static void
take_in_size(smcr_conn_side_t *side)
{
    smcr_rmb_t *rmb = side->rmb;
    uint32_t before = rmb->element_size;
    bool differs = before && before != side->size && smcr_evidence_holds(&rmb->since);

    for (unsigned index = 1; differs && index <= SMCR_WIRE_RMB_INDEX_MAX; index++) {
        smcr_conn_t *conn = smcr_rmb_conn(rmb, index);
        if (conn)
            conn->side[rmb->side].shares_element = true;
    }
    side->shares_element |= differs;
    rmb->element_size = side->size = differs ? before : side->size;
}

static void
give_token(const smcr_arrival_t *arrival, smcr_conn_t *conn, int owner, uint32_t token)
{
    smcr_conn_t *before = smcr_conn_find(arrival->state, conn->lgr, owner, token);

    if (before && before != conn && !smcr_conn_has_closed(before) && !before->decline_frame)
        smcr_event_add(arrival, SMCR_EVENT_token_reused,
                       "Connection %u had this alert token, and the capture does not show its end",
                       before->index);
    if (is_shared(arrival, conn, before, owner))
        conn->side[owner].shares_token = before->side[owner].shares_token = true;
    smcr_conn_set_token(arrival->state, conn, owner, token);
    if (conn->side[!owner].has_token)
        smcr_lgr_take_lead(conn->lgr, conn->side[1].token - conn->side[0].token);
}

/* What Accept and Confirm say of the side that sends them. */
static void
take_in_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_state_t *state = arrival->state;
    smcr_lgr_t *lgr = qp->link->lgr;
    smcr_conn_side_t *side = &conn->side[qp->side];
    uint8_t version = smcr_wire_bits(conn->accept_flags, SMCR_MASK_VERSION);

    smcr_conn_join(conn, lgr);
    if (!smcr_record_has_event(arrival->record, SMCR_EVENT_clc_peer_changed)) /* not believed */
        memcpy(lgr->peer_id[qp->side], accept->peer_id, SMCR_WIRE_PEER_ID_LENGTH);
    if (accept->has_fce) {
        lgr->has_release = true;
        lgr->release = (uint8_t)smcr_wire_bits(accept->os_release, SMCR_MASK_RELEASE);
        lgr->immediate_known |= clc->complete;
        lgr->immediate_agreed |= !(~accept->vendor_options[0] & SMCR_CLC_VENDOR_IMMEDIATE);
    }
    if (conn->first_contact)
        lgr->version = version <= 2 ? version : 0;
    /* later it means nothing, but Linux repeats it */
    if (conn->first_contact || (!lgr->from_start && !qp->mtu)) {
        qp->mtu = smcr_wire_bits(accept->sizes, SMCR_MASK_MTU);
        qp->mtu_repeated = !conn->first_contact;
    }
    side->size = smcr_bsize_bytes(smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    side->rmb_index = accept->rmb_index;
    if (!side->rmb_index && lgr->from_start && lgr->lacking_clc <= !conn->has_clc)
        side->rmb_index = 1; /* most RMBs have one element; the capture has all that use others */
    side->since = side->sure = side->located = smcr_point_now(qp);
    side->announced = smcr_point_now(smcr_qp_peer(qp));
    side->rmb = smcr_rmb_announce(state, qp, accept->rkey, accept->va);
    take_in_size(side);
    side->rmb->misplaced = smcr_wire_clc_is_beyond(accept);
    give_element(arrival, conn, qp->side);
    give_token(arrival, conn, qp->side, accept->token);
    conn->side[0].link = conn->side[1].link = qp->link;
    if (clc->header.type == SMCR_CLC_CONFIRM && conn->first_contact)
        take_in_initial_psn(qp, clc);
    smcr_record_set_link(arrival->record, qp->link, qp->side);
}

/* ---- place it ---- */

/* A link group with one link; the queue pair of `side` is known. */
static smcr_qp_t *
new_group(smcr_state_t *state, const smcr_ib_qp_key_t *key, int side)
{
    smcr_lgr_t *lgr = smcr_lgr_new(state);
    smcr_link_t *link = smcr_link_new(state, lgr);

    lgr->server = 1;
    smcr_qp_set(state, link, side, key, SMCR_GROUND_CLC);
    return &link->qp[side];
}

/* The server's queue pair: of the link that the Accept names, a new one in a first contact. */
static smcr_qp_t *
server_qp(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_clc_t *clc)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_ib_qp_key_t key = smcr_qp_key(accept->gid, accept->qpn);
    smcr_qp_t *qp = smcr_qp_of_role(arrival->state, &key, true);

    if (qp && (!conn->first_contact || qp->link->lgr == conn->lgr)) /* the latter came before */
        return qp;
    qp = new_group(arrival->state, &key, 1);
    qp->link->lgr->accept = wmem_memdup(arrival->state->scope, accept, sizeof *accept);
    qp->link->lgr->from_start = conn->first_contact;
    if (conn->first_contact) {
        take_in_initial_psn(qp, clc);
        smcr_event_add(arrival, SMCR_EVENT_lgr_first_contact, NULL);
    }
    return qp;
}

/* The client's queue pair where the capture lacks the Accept: that of the link, if the capture has
 * it. NULL: it has no message that announces the RMB on that link, so the queue pair may have been
 * set up again in between. */
static smcr_qp_t *
client_qp_alone(smcr_state_t *state, const smcr_ib_qp_key_t *key, const smcr_clc_t *clc)
{
    smcr_qp_t *qp = smcr_qp_of_role(state, key, false);

    if (!qp || smcr_wire_clc_is_first_contact(clc))
        return new_group(state, key, 0);
    return qp->link->lgr->from_start && !smcr_rmb_find(state, qp, clc->u.accept.rkey) ? NULL : qp;
}

/* The Accept has named a queue pair of no link, and the Confirm names `qp`, the client's end of one
 * that lives. Then the connection is on that one. */
static bool
is_corrected(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_link_t *named, smcr_qp_t *qp)
{
    smcr_lgr_t *wrong = named->lgr;

    if (wrong->from_start || !wrong->accept || named->packet_count || wrong->conns != conn ||
        conn->next_of_group || !qp || qp->link->lgr == wrong || qp->side == wrong->server ||
        qp->link->state != SMCR_LINK_ACTIVE || !smcr_evidence_knows_link(qp->link))
        return false;
    smcr_clc_t accept = {.u.accept = *wrong->accept};
    smcr_link_forget(arrival->state, named);
    arrival->state->lgr_count -= wrong->index + 1 == arrival->state->lgr_count;
    wrong->all_links = NULL;
    named->lgr = qp->link->lgr;
    conn->lgr = NULL;
    take_in_side(arrival, conn, smcr_qp_peer(qp), &accept);
    return true;
}

/* The client's queue pair: of the link that the Accept named, if the capture has it. NULL: not
 * known. */
static smcr_qp_t *
client_qp(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    smcr_ib_qp_key_t from = smcr_qp_key(clc->u.accept.gid, clc->u.accept.qpn), *key = &from;
    smcr_state_t *state = arrival->state;

    if (!conn->accept_frame) {
        smcr_event_add(arrival, SMCR_EVENT_clc_confirm_without_accept, NULL);
        return client_qp_alone(state, key, clc);
    }
    smcr_link_t *link = conn->side[conn->lgr->server].link;
    smcr_qp_t *qp = smcr_qp_of_role(state, key, false);
    if (is_corrected(arrival, conn, link, qp))
        return qp;
    smcr_qp_t *expected = &link->qp[!conn->lgr->server];
    bool same_device = !expected->gid_known || smcr_gid_is_same(expected->key.gid, key->gid);
    if (same_device)
        smcr_join_links(state, link, key);
    if (same_device)
        smcr_qp_set(state, link, expected->side, key, SMCR_GROUND_CLC);
    if (smcr_qp_find(state, key) == expected)
        return expected;
    return qp && qp->link->lgr == conn->lgr ? qp : expected;
}

/* The queue pair of the sender of an Accept or Confirm; NULL: it names none, or none is known. */
static smcr_qp_t *
place(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    bool accepts = clc->header.type == SMCR_CLC_ACCEPT;
    bool agrees = smcr_wire_clc_agrees(clc->header.type);
    bool names_qp = smcr_wire_clc_names_qp(clc);
    smcr_qp_t *qp;

    if (accepts)
        conn->accept_flags = clc->header.flags;
    if ((agrees || !clc->header.type) && !names_qp) /* without a type it is cut before that */
        conn->cut_clc |= !clc->malformed && !clc->smcd;
    if (!agrees || !names_qp)
        return NULL;
    if (accepts) {
        conn->accept_frame = arrival->when.frame;
        conn->first_contact = smcr_wire_clc_is_first_contact(clc);
        qp = server_qp(arrival, conn, clc);
    } else {
        qp = client_qp(arrival, conn, clc);
        conn->confirm_frame = arrival->when.frame;
    }
    if (!qp)
        return NULL;
    smcr_lgr_set_server(qp->link->lgr, accepts ? qp->side : !qp->side);
    smcr_lgr_prove(arrival->state, qp->link->lgr);
    return qp;
}

/* ---- take it in ---- */

static void
take_in_decline(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc)
{
    if (!conn->decline_frame)
        conn->decline_frame = arrival->when.frame;
    conn->no_roles |= !smcr_evidence_clc_knows_client(conn) &&
                      !smcr_evidence_tcp_knows_client(conn);
    fall_back_declined(arrival, conn, clc);
    smcr_conn_leave(arrival->state, conn);
}

/* Each message but the last answers that of the other side before, and waits for its own answer. A
 * capture may have the Proposal behind its answer; it then changes nothing. A Decline may follow
 * any message, also one that the capture lacks. */
static void
take_in_step(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_rules_clc_t *message)
{
    uint8_t type = message->clc->header.type;
    smcr_exchange_t *waiting = smcr_slab_entry(&arrival->state->entries, conn->clc_step);
    bool from_server = smcr_arrival_role(arrival), declines = type == SMCR_CLC_DECLINE;
    uint8_t next = conn->clc_asked == SMCR_CLC_PROPOSAL ? SMCR_CLC_ACCEPT : SMCR_CLC_CONFIRM;

    bool again = waiting && conn->clc_asked == type && conn->clc_from_server == from_server;
    if (again || (type == SMCR_CLC_PROPOSAL && conn->accept_frame))
        return;
    bool answers = waiting && conn->clc_from_server != from_server && (declines || type == next);
    bool certain = !declines || !arrival->span || message->proven.is_next;
    if (answers && !certain) {
        waiting->is_doubtful = true;
    } else if (answers) {
        smcr_state_exchange_close(arrival, waiting);
        waiting->step = smcr_wire_clc_step(conn->clc_asked, type);
    }
    conn->clc_step = 0;
    if (type == SMCR_CLC_PROPOSAL || type == SMCR_CLC_ACCEPT) {
        arrival->record->asks = smcr_state_exchange_open(arrival);
        conn->clc_step = smcr_slab_number(arrival->record->asks);
    }
    conn->clc_asked = type;
    conn->clc_from_server = from_server;
}

/* ---- the message ---- */

/* The type of what its sender is to send next: a message of an unknown type stands in its place. */
static unsigned
due(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    if (smcr_arrival_role(arrival))
        return SMCR_CLC_ACCEPT;
    return conn->clc_types & 1U << SMCR_CLC_PROPOSAL ? SMCR_CLC_CONFIRM : SMCR_CLC_PROPOSAL;
}

/* Whether an Accept or Confirm of the wrong side is the other one of the two, which is due: it has
 * come where that has to come, and does not name a queue pair of the other side. */
static bool
is_due(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_clc_t *clc)
{
    smcr_ib_qp_key_t key = smcr_qp_key(clc->u.accept.gid, clc->u.accept.qpn);
    unsigned before = 1U << (due(arrival, conn) - 1), types = conn->clc_types;
    const smcr_qp_t *other = smcr_qp_of_role(arrival->state, &key, !smcr_arrival_role(arrival));

    return smcr_wire_clc_agrees(clc->header.type) && smcr_wire_clc_names_qp(clc) &&
           types & before && !(types & before << 1) &&
           !(other && smcr_evidence_knows_server(other->link->lgr));
}

static void
take_in_message(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_rules_clc_t *message)
{
    const smcr_clc_t *clc = message->clc;
    uint8_t type = clc->header.type;

    if (!message->proven.is_repeat) {
        conn->clc_types |= (uint8_t)(1U << (type <= SMCR_CLC_DECLINE ? type : due(arrival, conn)));
        smcr_evidence_tcp_take(arrival, conn);
    }
    if (type == SMCR_CLC_PROPOSAL) {
        conn->proposal_frame = arrival->when.frame;
        conn->outside = clc->complete && clc->u.proposal.has_ip_area &&
                        !smcr_conn_is_inside(conn, &clc->u.proposal);
    }
    if (message->qp)
        take_in_side(arrival, conn, message->qp, clc);
    if (type == SMCR_CLC_DECLINE)
        take_in_decline(arrival, conn, clc);
    smcr_conn_take_clc(conn);
}

void
smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
               bool from_server)
{
    uint8_t type = clc->header.type;
    smcr_clc_t meant = *clc;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->conn = conn;
    arrival->record->direction = from_server;
    /* only the client sends Proposal and Confirm, and only the server Accept */
    bool wrong_sender = smcr_evidence_tcp_knows_client(conn) && type >= SMCR_CLC_PROPOSAL &&
                        type <= SMCR_CLC_CONFIRM && (type == SMCR_CLC_ACCEPT) != from_server;
    bool means_it = !wrong_sender || is_due(arrival, conn, clc); /* but for its type */
    if (wrong_sender)
        meant.header.type = (uint8_t)due(arrival, conn);
    smcr_rules_clc_t message = {.clc = means_it ? &meant : NULL,
                                .proven = smcr_evidence_of_clc(arrival, conn),
                                .wrong_sender = wrong_sender};
    smcr_rules_clc(SMCR_RULES_ARRIVES, arrival, conn, &message);
    if (!means_it) {
        smcr_evidence_tcp_take(arrival, conn);
        return;
    }
    take_in_step(arrival, conn, &message);
    message.qp = place(arrival, conn, &meant);
    if (message.qp)
        smcr_rules_clc(SMCR_RULES_PLACED, arrival, conn, &message);
    take_in_message(arrival, conn, &message);
    if (message.qp)
        smcr_rules_clc(SMCR_RULES_LEARNED, arrival, conn, &message);
    /* as TCP has it, whatever the link says */
    arrival->record->direction = conn->no_roles ? SMCR_LGR_SIDE_UNKNOWN : from_server;
}

/* ---- TCP: the handshake, and what follows CLC ---- */

smcr_conn_t *
smcr_state_tcp(smcr_state_t *state, const smcr_state_tcp_t *tcp)
{
    smcr_conn_t *conn = smcr_conn_new(state);

    smcr_conn_set_conversation(state, conn, tcp->conversation, tcp->stream);
    smcr_conn_set_ends(state, conn, tcp->ipv4, (const uint8_t *[]){tcp->gid[0], tcp->gid[1]},
                       tcp->port);
    conn->known_from = tcp->frame;
    conn->after_end = tcp->has_ended;
    return conn;
}

void
smcr_state_syn(smcr_state_t *state, smcr_conn_t *conn, const smcr_state_syn_t *syn)
{
    bool again = conn->synack;

    smcr_state_learns(state, syn->when.frame);
    if (syn->option)
        smcr_conn_pass(conn, syn->when);
    if (!conn->clc_types) /* else it is of an earlier handshake, seen again */
        smcr_evidence_tcp_begins(conn, syn->answer, syn->first);
    conn->synack |= syn->answer;
    conn->option_synack |= syn->option && syn->answer;
    conn->option_syn |= syn->option && !syn->answer;
    if (syn->answer && !syn->option && !again && conn->option_syn && !conn->fallback.kind)
        fall_back(conn, SMCR_FALLBACK_NO_OPTION, syn->when.frame);
}

void
smcr_state_clc_ended(smcr_state_t *state, smcr_conn_t *conn, bool by_server, uint32_t frame)
{
    smcr_state_learns(state, frame);
    if (conn->clc_end[by_server] == 0)
        conn->clc_end[by_server] = frame;
}

void
smcr_state_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server)
{
    bool asked = conn->proposal_frame || conn->accept_frame;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->direction = from_server;
    smcr_rules_tcp_data(arrival, conn);
    bool whole = !conn->cut_clc && smcr_evidence_tcp_is_whole(arrival, conn);
    bool declined = conn->confirm_frame && arrival->span && !whole && !conn->side[0].cdc_frame &&
                    !conn->side[1].cdc_frame;
    if (conn->fallback.kind || (conn->confirm_frame && !declined))
        return;
    fall_back(conn, asked || declined ? SMCR_FALLBACK_NO_ANSWER : SMCR_FALLBACK_NO_CLC,
              arrival->when.frame);
    conn->fallback.lacks_clc = !whole;
}
