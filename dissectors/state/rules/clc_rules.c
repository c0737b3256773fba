/* clc_rules.c
 * What CLC messages may say: the queue pairs of a link group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_rules.h"

#include <string.h>

#include "certain.h"
#include "state/model/store.h"

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
