/* clc_rules.c
 * What CLC messages may say: the queue pairs of a link group, and who their sender is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_rules.h"

#include <string.h>

#include "certain.h"
#include "state/model/store.h"
#include "wire/wire.h"

/* ---- queue pairs of a group ---- */

/* Of a link group. */
typedef struct {
    const smcr_lgr_t *lgr;
    smcr_qp_key_t key;
} announced_t;

/* Whether somebody has announced the queue pair by now. */
static bool
qp_has_come(const smcr_state_t *state, const smcr_claim_t *claim)
{
    const announced_t *awaited = claim->about;
    const smcr_qp_t *qp = smcr_qp_find(state, &awaited->key);

    return qp && qp->link->lgr == awaited->lgr;
}

/* `sender`, a side, has not announced the queue pair in the group. */
static smcr_doubt_t
doubt_qp(const smcr_arrival_t *arrival, smcr_lgr_t *lgr, int sender, const smcr_qp_key_t *key)
{
    announced_t *awaited = smcr_state_alloc0(arrival->state, sizeof *awaited);

    *awaited = (announced_t){lgr, *key};
    return smcr_doubt_later(arrival, lgr, sender,
                            (smcr_claim_t){.has_come = qp_has_come, .about = awaited});
}

/* The one living group with this server of which the capture has the beginning; NULL: there are
 * several, or none. */
static smcr_lgr_t *
only_group_with(const smcr_state_t *state, const uint8_t *peer_id)
{
    smcr_lgr_t *found = NULL;

    for (wmem_list_frame_t *at = wmem_list_head(state->lgrs); at; at = wmem_list_frame_next(at)) {
        smcr_lgr_t *lgr = wmem_list_frame_data(at);
        if (lgr->ended_frame || lgr->server == SMCR_SIDE_UNKNOWN ||
            memcmp(lgr->peer_id[lgr->server], peer_id, SMCR_PEER_ID_LENGTH) != 0)
            continue;
        if (found)
            return NULL;
        found = lgr;
    }
    return found;
}

/*
 * Without first contact flag the server names a queue pair of a link that both sides have. The
 * capture may have begun late; so the server is wrong only where the capture has the beginning of a
 * group with this very server, and all that may have announced another link. (R-C.4-1)
 */
void
smcr_rules_unknown_server(const smcr_arrival_t *arrival, const smcr_clc_accept_t *accept)
{
    smcr_lgr_t *lgr = only_group_with(arrival->state, accept->peer_id);
    smcr_qp_key_t key = {.qpn = accept->qpn};

    memcpy(key.gid, accept->gid, SMCR_GID_LENGTH);
    if (lgr)
        smcr_breach(arrival, SMCR_EVENT_FIRST_CONTACT_FLAG,
                    doubt_qp(arrival, lgr, lgr->server, &key),
                    "This is no first contact, but link group %u with this server has no such "
                    "queue pair",
                    lgr->index);
}

/* A Confirm names the client's end of an active link of the group, not always of the one that the
 * Accept names; in a first contact there is but one. (R-3.5.2-5) */
void
smcr_rules_unknown_client(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                          const smcr_qp_key_t *key)
{
    smcr_lgr_t *lgr = conn->lgr;
    smcr_doubt_t doubt = conn->first_contact ? smcr_doubt_message(arrival)
                                             : doubt_qp(arrival, lgr, !lgr->server, key);

    smcr_breach(arrival, SMCR_EVENT_WRONG_LINK, doubt,
                "The queue pair is not the client's end of an active link of the group");
}

/* ---- who sends what ---- */

/* The client sends Proposal and Confirm, the server Accept; both may decline. (R-3.2-1) */
bool
smcr_rules_sender(const smcr_arrival_t *arrival, const smcr_conn_t *conn, uint8_t type)
{
    bool by_server = arrival->record->direction == 1;
    bool known = conn->option_syn || conn->synack; /* who the client is */

    if (!known || type < SMCR_CLC_PROPOSAL || type > SMCR_CLC_CONFIRM ||
        (type == SMCR_CLC_ACCEPT) == by_server)
        return false;
    smcr_breach(arrival, SMCR_EVENT_CLC_SENDER, smcr_doubt_message(arrival),
                "Only the %s sends this message", by_server ? "client" : "server");
    return true;
}

/* On a link that both sides have the server does not decline after its Accept, nor the client after
 * its Confirm: the other side may use RDMA already. (R-C.1-2) */
void
smcr_rules_decline(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool by_server = arrival->record->direction == 1;
    uint32_t last = by_server ? conn->accept_frame : conn->confirm_frame;

    if (last && conn->accept_frame && !conn->first_contact)
        smcr_breach(arrival, SMCR_EVENT_DECLINE_LATE, smcr_doubt_message(arrival),
                    "The sender agreed in frame %u, on a link that both sides have", last);
}

/* ---- who it is ---- */

static bool
is_set(const uint8_t *peer_id)
{
    static const uint8_t none[SMCR_PEER_ID_LENGTH] = {0};

    return memcmp(peer_id, none, SMCR_PEER_ID_LENGTH) != 0;
}

static bool
differ(const uint8_t *one, const uint8_t *other)
{
    return is_set(one) && is_set(other) && memcmp(one, other, SMCR_PEER_ID_LENGTH) != 0;
}

/* The client's Confirm repeats the peer ID of its Proposal; a later contact has those of its group.
 * A Proposal without SMC-R of version 1 has none. (R-3.5.1.2-6, R-3.5.2-1) */
static void
check_peer(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_qp_t *qp,
           const smcr_clc_accept_t *accept)
{
    const smcr_lgr_t *lgr = qp->link->lgr;
    bool later = !conn->first_contact && lgr->from_start;
    const char *what = NULL;

    if (later && differ(lgr->peer_id[qp->side], accept->peer_id))
        what = "that of its link group";
    if (qp->side != lgr->server && differ(conn->proposed_id, accept->peer_id))
        what = "that of its Proposal";
    if (what)
        smcr_breach(arrival, SMCR_EVENT_PEER_CHANGED, smcr_doubt_message(arrival),
                    "The peer ID is not %s", what);
}

/* The Confirm repeats the EID of the Accept. (R-V2ACC-6) */
static void
check_eid(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_qp_t *qp,
          const smcr_clc_accept_t *accept)
{
    uint32_t eid = smcr_eid_sum(accept->eid);

    if (qp->side == qp->link->lgr->server)
        conn->eid = eid;
    else if (conn->accept_frame && eid != conn->eid)
        smcr_breach(arrival, SMCR_EVENT_EID_WRONG, smcr_doubt_message(arrival),
                    "The EID is not that of the Accept");
}

void
smcr_rules_announced(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_qp_t *qp,
                     const smcr_clc_accept_t *accept)
{
    check_peer(arrival, conn, qp, accept);
    check_eid(arrival, conn, qp, accept);
}
