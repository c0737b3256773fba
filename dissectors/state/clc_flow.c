/* clc_flow.c
 * What CLC messages tell: which queue pairs make a link, which RMBs and tokens a connection has
 * (RFC 7609 3.5.1, 3.5.2, A.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "exchange.h"
#include "state_private.h"
#include "wire/clc_codes.h"

static smcr_qp_key_t
qp_of(const smcr_clc_accept_t *accept)
{
    smcr_qp_key_t key;

    memset(&key, 0, sizeof key); /* it is compared as a whole nowhere, but copied */
    memcpy(key.gid, accept->gid, SMCR_GID_LENGTH);
    key.qpn = accept->qpn;
    return key;
}

/* A link group with one link, of which `side` is known. */
static smcr_end_t *
new_group(smcr_state_t *state, const smcr_qp_key_t *qp, int side, uint32_t frame)
{
    smcr_lgr_t *lgr = smcr_lgr_new(state, frame);
    smcr_link_t *link = smcr_link_new(state, lgr);

    lgr->server = 1;
    smcr_lgr_prove(state, lgr);
    link->announced_frame = frame;
    smcr_end_set(state, link, side, qp);
    return &link->end[side];
}

static void
note_token_reuse(smcr_state_t *state, const smcr_conn_t *conn, const smcr_end_t *end,
                 uint32_t token, smcr_packet_t *packet)
{
    const smcr_conn_t *before = smcr_conn_find(state, conn->lgr, end->side, token);
    bool ended = before && (before->side[0].closed_frame || before->side[1].closed_frame ||
                            before->side[0].abort_frame || before->side[1].abort_frame ||
                            before->decline_frame);

    if (before && before != conn && !ended)
        smcr_event_add(state, packet, SMCR_EVENT_TOKEN_REUSED,
                       "Connection %u had this alert token, and the capture does not show its end",
                       before->index);
}

/* What Accept and Confirm say of the side that sends them. */
static void
learn_side(smcr_state_t *state, smcr_conn_t *conn, smcr_end_t *end,
           const smcr_clc_accept_t *accept, uint32_t frame, smcr_packet_t *packet)
{
    smcr_lgr_t *lgr = end->link->lgr;
    smcr_conn_side_t *side = &conn->side[end->side];

    conn->lgr = lgr;
    memcpy(lgr->peer_id[end->side], accept->peer_id, SMCR_PEER_ID_LENGTH);
    memcpy(end->mac, accept->mac, SMCR_MAC_LENGTH);
    end->mtu = smcr_bits(accept->sizes, SMCR_MASK_MTU);
    side->clc_frame = frame;
    side->size = smcr_buffer_size_bytes(smcr_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    side->rmb_index = accept->rmb_index;
    if (!smcr_rmb_find(state, end, accept->rkey) && lgr->from_start && !conn->first_contact)
        smcr_event_add(state, packet, SMCR_EVENT_RKEY_NOT_CONFIRMED, NULL);
    side->rmb = smcr_rmb_announce(state, end, accept->rkey, accept->va);
    side->rmb->element_size = side->size;
    smcr_rmb_set_conn(state, side->rmb, accept->rmb_index, conn);
    note_token_reuse(state, conn, end, accept->token, packet);
    smcr_conn_set_token(state, conn, end->side, accept->token);
    conn->side[0].link = conn->side[1].link = end->link;
}

static void
learn_initial_psn(smcr_end_t *end, uint32_t psn)
{
    end->initial_psn = psn;
    end->psn_known = true;
    smcr_psn_start(&smcr_end_other(end)->order, psn);
}

/* No first contact, on a queue pair that the capture does not know: it began late, or the server
 * is wrong. The latter where the capture has the beginning of a group with this very server. */
static void
check_unknown_group(smcr_state_t *state, const smcr_clc_accept_t *accept, smcr_packet_t *packet)
{
    for (wmem_list_frame_t *at = wmem_list_head(state->lgrs); at; at = wmem_list_frame_next(at)) {
        const smcr_lgr_t *lgr = wmem_list_frame_data(at);
        if (!lgr->from_start || lgr->ended_frame ||
            memcmp(lgr->peer_id[lgr->server], accept->peer_id, SMCR_PEER_ID_LENGTH) != 0)
            continue;
        smcr_event_add(state, packet, SMCR_EVENT_FIRST_CONTACT_FLAG,
                       "This is no first contact, but link group %u with this server has no such "
                       "queue pair",
                       lgr->index);
        return;
    }
}

/* The queue pair's end of a link whose server (or client) it is. A queue pair of a link that is
 * gone, or of the other role, has been set up again and the capture lacks how: NULL. */
static smcr_end_t *
end_of_role(const smcr_state_t *state, const smcr_qp_key_t *qp, bool server)
{
    smcr_end_t *end = smcr_end_find(state, qp);

    if (!end || end->link->state == SMCR_LINK_DELETED || end->link->state == SMCR_LINK_REJECTED)
        return NULL;
    int known = end->link->lgr->server;
    return known == SMCR_SIDE_UNKNOWN || (known == end->side) == server ? end : NULL;
}

static void
take_accept(smcr_state_t *state, smcr_conn_t *conn, const smcr_clc_t *clc, smcr_when_t when,
            smcr_packet_t *packet)
{
    const smcr_clc_accept_t *accept = &clc->u.accept;
    smcr_qp_key_t qp = qp_of(accept);
    smcr_end_t *end = end_of_role(state, &qp, true);

    conn->accept_frame = when.frame;
    conn->version = smcr_bits(clc->header.flags, SMCR_MASK_VERSION);
    conn->first_contact = (clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT) != 0;
    if (!conn->first_contact && !end)
        check_unknown_group(state, accept, packet);
    if (conn->first_contact || !end) {
        end = new_group(state, &qp, 1, when.frame);
        end->link->lgr->from_start = conn->first_contact;
        if (conn->first_contact) {
            if (clc->complete)
                learn_initial_psn(end, accept->psn);
            smcr_event_add(state, packet, SMCR_EVENT_FIRST_CONTACT, NULL);
        }
    }
    smcr_lgr_t *lgr = end->link->lgr;
    if (lgr->server == SMCR_SIDE_UNKNOWN)
        lgr->server = end->side;
    smcr_lgr_prove(state, lgr);
    lgr->version = conn->version;
    if (conn->first_contact)
        memcpy(lgr->eid, accept->eid, SMCR_EID_LENGTH);
    learn_side(state, conn, end, accept, when.frame, packet);
    smcr_packet_set_link(packet, end->link, end->side);
}

/* The client's end: of the link that the server's Accept named, if the capture has it. */
static smcr_end_t *
client_end(smcr_state_t *state, smcr_conn_t *conn, const smcr_qp_key_t *qp, smcr_when_t when,
           smcr_packet_t *packet)
{
    smcr_end_t *end = end_of_role(state, qp, false);

    if (!conn->accept_frame) {
        smcr_event_add(state, packet, SMCR_EVENT_CONFIRM_WITHOUT_ACCEPT, NULL);
        return end ? end : new_group(state, qp, 0, when.frame);
    }
    smcr_link_t *link = conn->side[conn->lgr->server].link;
    smcr_end_t *expected = &link->end[!conn->lgr->server];
    bool same_device = !expected->gid_known ||
                       memcmp(expected->qp.gid, qp->gid, SMCR_GID_LENGTH) == 0;
    if (same_device)
        smcr_end_set(state, link, expected->side, qp);
    if (smcr_end_find(state, qp) == expected)
        return expected;
    smcr_event_add(state, packet, SMCR_EVENT_WRONG_LINK,
                   "The queue pair is not the client's end of the link that Accept names");
    return end && end->link->lgr == conn->lgr ? end : expected;
}

static void
check_first_confirm(smcr_state_t *state, const smcr_end_t *client, smcr_packet_t *packet)
{
    const smcr_end_t *server = &client->link->end[!client->side];

    if (server->mtu && client->mtu > server->mtu)
        smcr_event_add(state, packet, SMCR_EVENT_MTU, NULL);
}

static void
take_confirm(smcr_state_t *state, smcr_conn_t *conn, const smcr_clc_t *clc, smcr_when_t when,
             smcr_packet_t *packet)
{
    const smcr_clc_accept_t *confirm = &clc->u.accept;
    smcr_qp_key_t qp = qp_of(confirm);
    smcr_end_t *end = client_end(state, conn, &qp, when, packet);
    smcr_lgr_t *lgr = end->link->lgr;

    conn->confirm_frame = when.frame;
    conn->version = smcr_bits(clc->header.flags, SMCR_MASK_VERSION);
    if (lgr->server == SMCR_SIDE_UNKNOWN)
        lgr->server = !end->side;
    smcr_lgr_prove(state, lgr);
    learn_side(state, conn, end, confirm, when.frame, packet);
    if (conn->first_contact) {
        if (clc->complete)
            learn_initial_psn(end, confirm->psn);
        check_first_confirm(state, end, packet);
    }
    smcr_packet_set_link(packet, end->link, end->side);
}

/* Each message but the last answers the one before and waits for its own answer. */
static void
take_step(smcr_state_t *state, smcr_conn_t *conn, uint8_t type, smcr_when_t when,
          smcr_packet_t *packet)
{
    if (conn->clc_step && type != SMCR_CLC_PROPOSAL) {
        packet->answers = conn->clc_step;
        smcr_exchange_close(conn->clc_step, when);
        conn->clc_step = NULL;
    }
    if (type == SMCR_CLC_PROPOSAL || type == SMCR_CLC_ACCEPT)
        conn->clc_step = packet->asks = smcr_exchange_open(state, when);
}

static bool
usable(const smcr_clc_t *clc)
{
    return (clc->complete || clc->cut_usable) && !clc->smcd;
}

void
smcr_state_clc(smcr_state_t *state, smcr_conn_t *conn, const smcr_clc_t *clc, smcr_when_t when,
               smcr_packet_t *packet)
{
    packet->conn = conn;
    packet->sender = packet->direction = SMCR_SIDE_UNKNOWN;
    take_step(state, conn, clc->header.type, when, packet);
    switch (clc->header.type) {
    case SMCR_CLC_PROPOSAL:
        conn->proposal_frame = when.frame;
        conn->has_subnet = clc->complete && clc->u.proposal.has_ip_area;
        memcpy(conn->subnet, clc->u.proposal.subnet, sizeof conn->subnet);
        conn->subnet_length = clc->u.proposal.subnet_length;
        packet->direction = 0;
        break;
    case SMCR_CLC_ACCEPT:
        packet->direction = 1;
        if (usable(clc))
            take_accept(state, conn, clc, when, packet);
        break;
    case SMCR_CLC_CONFIRM:
        packet->direction = 0;
        if (usable(clc))
            take_confirm(state, conn, clc, when, packet);
        break;
    case SMCR_CLC_DECLINE:
        if (!conn->decline_frame)
            conn->decline_frame = when.frame;
        smcr_conn_leave(state, conn);
        break;
    default:
        break;
    }
}
