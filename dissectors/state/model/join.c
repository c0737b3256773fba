/* join.c
 * Joins what turns out to be one: the two links of which a late capture has shown one queue pair
 * each, with their link groups, and the two directions of a connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "conn.h"

#include "store.h"

/* ---- connections ---- */

void
smcr_join_directions(smcr_state_t *state, smcr_conn_t *conn, smcr_conn_t *other, int side)
{
    smcr_conn_side_t *receiver = &conn->side[side], *sender = &conn->side[!side];
    const size_t sent_at = offsetof(smcr_conn_side_t, announced);

    memcpy(receiver, &other->side[side], sent_at);
    memcpy((uint8_t *)sender + sent_at, (const uint8_t *)&other->side[!side] + sent_at,
           sizeof *sender - sent_at);
    if (receiver->rmb && smcr_rmb_conn(receiver->rmb, receiver->rmb_index) == other)
        smcr_rmb_set_conn(state, receiver->rmb, receiver->rmb_index, conn);
    smcr_conn_set_token(state, conn, side, receiver->token);
    if (!conn->rules)
        conn->rules = other->rules;
    other->joined = conn;
    conn->half = other;
}

/* ---- links ---- */

/* A queue pair that has become one of another link. */
typedef struct {
    const smcr_qp_t *before;
    smcr_qp_t *now;
} moved_t;

static void
move_point(smcr_point_t *point, const moved_t *moved)
{
    if (point->qp == moved->before)
        point->qp = moved->now;
}

/* Its sides change places. */
static void
move_conn(smcr_state_t *state, smcr_conn_t *conn, const moved_t *moved)
{
    const smcr_conn_side_t first = conn->side[0];

    smcr_conn_forget_tokens(state, conn);
    conn->side[0] = conn->side[1];
    conn->side[1] = first;
    conn->flips = !conn->flips;
    conn->lgr = NULL;
    smcr_conn_join(conn, moved->now->link->lgr);
    for (int i = 0; i < 2; i++) {
        smcr_conn_side_t *side = &conn->side[i];
        smcr_point_t *points[] = {&side->since, &side->sure, &side->located, &side->heard,
                                  &side->announced};
        for (unsigned at = 0; at < G_N_ELEMENTS(points); at++)
            move_point(points[at], moved);
        if (side->link == moved->before->link)
            side->link = moved->now->link;
        if (side->has_token)
            smcr_conn_set_token(state, conn, i, side->token);
    }
}

static void
move_rmb(smcr_state_t *state, smcr_rmb_t *rmb, const moved_t *moved)
{
    const smcr_rmb_rtoken_t *rtoken = smcr_rmb_rtoken(rmb, moved->before);

    rmb->lgr = moved->now->link->lgr;
    rmb->side = (int8_t)moved->now->side;
    move_point(&rmb->since, moved);
    if (rtoken)
        smcr_rmb_add_rtoken(state, rmb, moved->now, rtoken->rkey, rtoken->va);
    rmb->older = rmb->lgr->rmbs;
    rmb->lgr->rmbs = rmb;
    rmb->lgr->rmb_count[rmb->side] += smcr_rmb_is_alive(rmb);
}

static void
move_lgr(smcr_state_t *state, smcr_lgr_t *lgr, const moved_t *moved)
{
    smcr_lgr_t *now = moved->now->link->lgr;
    smcr_conn_t *next_conn;
    smcr_rmb_t *next_rmb;

    for (smcr_conn_t *conn = lgr->conns; conn; conn = next_conn) {
        next_conn = conn->next_of_group;
        move_conn(state, conn, moved);
    }
    for (smcr_rmb_t *rmb = lgr->rmbs; rmb; rmb = next_rmb) {
        next_rmb = rmb->older;
        move_rmb(state, rmb, moved);
    }
    for (wmem_list_frame_t *at = wmem_list_head(lgr->halves); at; at = wmem_list_frame_next(at))
        wmem_list_append(now->halves, wmem_list_frame_data(at));
    now->lacks_halves |= lgr->lacks_halves;
    now->immediate |= lgr->immediate;
    if (now->server == SMCR_LGR_SIDE_UNKNOWN && lgr->server != SMCR_LGR_SIDE_UNKNOWN) {
        now->server = !lgr->server;
        now->server_of_file = lgr->server_of_file;
    }
    for (int side = 0; side < 2; side++) {
        if (!now->base_known[side])
            now->base[side] = lgr->base[!side];
        now->base_known[side] |= lgr->base_known[!side];
        now->told[side] = now->told[side] ? now->told[side] : lgr->told[!side];
    }
    lgr->conns = lgr->open = NULL;
    lgr->rmbs = NULL;
    lgr->all_links = NULL;
}

/* Whether the link began before the capture, and all that is known of it is `qp`. */
static bool
is_half_known(const smcr_qp_t *qp)
{
    const smcr_link_t *link = qp->link;

    return !link->qp[!qp->side].known && link->qp[!qp->side].gid_known &&
           link->lgr->index == SMCR_LGR_NO_INDEX && link->lgr->link_count == 1;
}

void
smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key)
{
    smcr_qp_t *from = smcr_qp_find(state, key);

    if (!from || from->link == link || !is_half_known(from) || link->lgr->from_start)
        return;
    smcr_qp_t *to = &link->qp[!from->side];
    const smcr_qp_t *peer = smcr_qp_peer(to);
    if (to->known || !peer->known || !smcr_qp_is_at(smcr_qp_peer(from), peer->key.gid) ||
        (to->gid_known && !smcr_qp_is_at(to, key->gid)))
        return;
    smcr_link_t *before = from->link;
    smcr_lgr_t *lgr = before->lgr;
    wmem_map_remove(state->qps, key);
    *to = *from;
    to->link = link;
    to->side = !from->side;
    wmem_map_insert(state->qps, &to->key, to);
    link->packet_count += before->packet_count;
    link->added_frame = MIN(link->added_frame, before->added_frame);
    wmem_list_remove(state->half_known, link);
    wmem_list_remove(state->half_known, before);
    before->joined = link;
    move_lgr(state, lgr, &(moved_t){from, to});
}
