/* Releases connections and RMBs that have ended, and the history of deleted links, so that their
 * memory serves later ones. For a capture that is read once, and whose figures are written while it
 * is read.
 *
 * A connection is released under four conditions:
 *
 * - It is in a link group, has not fallen back to TCP, and both sides have closed it, or one has
 *   aborted it. Or it is in no link group, and has fallen back to TCP.
 * - The caller has finished with it.
 * - The records of its packets are forgotten (smcr_record_forget()), so no packet points to it.
 * - No pointer to it exists that this file does not know. Code that makes such a pointer calls
 *   smcr_conn_keep(), and the connection is never released.
 *
 * This file knows these pointers: of the list of the link group, RMB elements, alert tokens,
 * requests of the queue pairs, and what the rules keep of other connections of the group. They are
 * removed before the connection is released. Nothing is released if hosts have reported sockets, or
 * if the file has several capture points: then other pointers are possible (knows_pointers()).
 *
 * RMBs of a link group are released when connections of the group are, or when the group has ended,
 * if nothing of the group points to them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"
#include "state/model/store.h"
#include "state/rules/rules.h"

/* Connections that are released at one time. */
typedef struct {
    const smcr_state_t *state; /* state that has the connections */
    const smcr_state_finished_t *finished; /* what the caller has finished with */
    uint32_t frame;     /* records of packets before this frame are forgotten */
    GPtrArray *marked;  /* smcr_conn_t: connections of link groups that may be released */
    GPtrArray *leaving; /* smcr_conn_t: connections that are released: those of `marked` that the
                           list of their link group had, and those without a link group */
    GHashTable *groups; /* smcr_lgr_t: their link groups */
} release_t;

/* Whether SMC-R or the fallback to TCP has ended the connection as this file expects. */
static bool
has_ended(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];
    bool aborted = one->abort_frame || other->abort_frame;

    if (!conn->lgr)
        return conn->fallback.kind != SMCR_FALLBACK_NONE;
    return !conn->fallback.kind && (aborted || (one->closed_frame && other->closed_frame));
}

/* Whether the connection is known in the usual way: by its own CLC messages, and both directions
 * from the beginning; not by a report of its host, and not by a tap. Also, no claim about its link
 * group may need it (`claimed_conns`). */
static bool
is_usual(const smcr_conn_t *conn)
{
    bool is_joined = conn->merged_into || conn->merged_half || conn->is_one_direction;
    const smcr_lgr_t *lgr = conn->lgr;

    if (is_joined || conn->sides_swapped || conn->socket)
        return false;
    return !lgr || (conn->clc_finished && lgr->index != SMCR_LGR_NO_INDEX && !lgr->tapped &&
                    conn->index >= lgr->claimed_conns);
}

/* Whether the connection may be released: the four conditions at the top of this file. The fourth
 * one holds if `is_kept` is false and is_usual() is true. */
static bool
may_leave(const smcr_conn_t *conn, const release_t *release)
{
    bool has_records = conn->last_activity.frame >= release->frame;

    return !conn->is_kept && !has_records && has_ended(conn) && is_usual(conn) &&
           release->finished->has(conn, release->finished->data);
}

/* Marks the connection if it may be released. A connection of a link group leaves only if the list
 * of the group has it (take_from_groups()). */
static void
mark(const smcr_conn_t *const_conn, void *data)
{
    release_t *release = data;
    smcr_conn_t *conn = (smcr_conn_t *)(uintptr_t)const_conn;

    if (!may_leave(conn, release))
        return;
    conn->is_leaving = true;
    g_ptr_array_add(conn->lgr ? release->marked : release->leaving, conn);
    if (conn->lgr)
        g_hash_table_add(release->groups, conn->lgr);
}

/* Notes that the connection has left the list of its link group. */
static void
take(smcr_conn_t *conn, void *release)
{
    conn->is_leaving = false; /* until all lists are searched */
    g_ptr_array_add(((release_t *)release)->leaving, conn);
}

/* Takes the marked connections out of the lists of their link groups, except the newest one of each
 * group, which stays. */
static void
take_from_groups(release_t *release)
{
    GHashTableIter at;
    void *lgr;

    g_hash_table_iter_init(&at, release->groups);
    while (g_hash_table_iter_next(&at, &lgr, NULL))
        smcr_conn_take_leaving(lgr, take, release);
    for (unsigned i = 0; i < release->marked->len; i++)
        ((smcr_conn_t *)release->marked->pdata[i])->is_leaving = false;
    for (unsigned i = 0; i < release->leaving->len; i++)
        ((smcr_conn_t *)release->leaving->pdata[i])->is_leaving = true;
}

/* Makes the link group forget the connections that leave. */
static void
forget_in_group(smcr_state_t *state, smcr_lgr_t *lgr)
{
    smcr_conn_forget_leaving(lgr);
    for (smcr_conn_t *conn = lgr->newest_conn; conn; conn = conn->older_in_group)
        smcr_rules_forget_leaving(conn);
    for (smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group)
        for (int side = 0; side < 2; side++)
            smcr_write_forget_leaving(state, &link->qp[side]);
}

/* Frees the connection and what only it has. Pointers to it have been removed before (top of this
 * file). */
static void
free_conn(smcr_state_t *state, smcr_conn_t *conn)
{
    for (int side = 0; side < 2; side++)
        smcr_window_free(state, &conn->side[side].in);
    smcr_record_free_parts(state, conn);
    smcr_rules_free_conn(state, conn);
    smcr_conn_free(state, conn);
}

/* Whether all pointers to connections are known: hosts have reported no sockets, and the file has
 * one capture point. */
static bool
knows_pointers(const smcr_state_t *state)
{
    return !state->sockets && !state->points;
}

/* Adds to `rmbs` the RMBs to which something of the link group points: connections, requests of
 * RDMA WRITEs, and the last exchanges about RMBs. */
static void
add_needed_rmbs(const smcr_lgr_t *lgr, GHashTable *rmbs)
{
    for (const smcr_conn_t *conn = lgr->newest_conn; conn; conn = conn->older_in_group)
        for (int side = 0; side < 2; side++)
            g_hash_table_add(rmbs, conn->side[side].rmb);
    for (const smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group)
        for (int side = 0; side < 2; side++)
            smcr_write_add_rmbs(&link->qp[side], rmbs);
    for (int side = 0; side < 2; side++) {
        const smcr_lgr_withdrawal_t *named = &lgr->withdrawn[side];
        g_hash_table_add(rmbs, lgr->last_confirmed_rmb[side]);
        for (unsigned i = 0; i < named->count; i++)
            g_hash_table_add(rmbs, named->rmbs[i]);
    }
}

/* Releases the RMBs of the link group whose life ended before `frame`. Those of a group that a tap
 * shows, or that may be another group (SMCR_LGR_NO_INDEX), stay. */
static void
release_rmbs(smcr_state_t *state, smcr_lgr_t *lgr, uint32_t frame)
{
    if (lgr->tapped || lgr->index == SMCR_LGR_NO_INDEX)
        return;
    GHashTable *needed = g_hash_table_new(g_direct_hash, g_direct_equal);
    smcr_rmb_t *next;
    add_needed_rmbs(lgr, needed);
    for (smcr_rmb_t *rmb = smcr_rmb_take_ended(lgr, frame, needed); rmb; rmb = next) {
        next = rmb->older;
        smcr_rules_free_rmb(state, rmb);
        smcr_rmb_free(state, rmb);
    }
    g_hash_table_destroy(needed);
}

/* Forgets what a link keeps of its last packets, as far as packets that still come do not need it:
 * the highest PSNs stay. */
static void
forget_history(smcr_state_t *state, smcr_link_t *link)
{
    for (int side = 0; side < 2; side++) {
        smcr_qp_t *qp = &link->qp[side];
        smcr_seen_shrink(&qp->traffic.flow.psn_history, state->scope);
        smcr_unacked_free(&qp->unacked, state->scope);
        smcr_write_forget_all(state, qp);
    }
}

/* Forgets the history of the links that were deleted before `frame`. If the group of such a link
 * has ended, also releases RMBs of this group. The list has them in the order of their deletion. */
static void
forget_deleted_links(smcr_state_t *state, uint32_t frame)
{
    wmem_list_frame_t *oldest;

    while ((oldest = wmem_list_head(state->deleted_links))) {
        smcr_link_t *link = wmem_list_frame_data(oldest);
        if (link->deleted_frame >= frame)
            break;
        forget_history(state, link);
        if (link->lgr->ended_frame)
            release_rmbs(state, link->lgr, frame);
        wmem_list_remove_frame(state->deleted_links, oldest);
    }
}

/* All pointers to a leaving connection (top of this file) are removed before it is freed. */
void
smcr_state_forget(smcr_state_t *state, uint32_t frame, const smcr_state_finished_t *finished)
{
    release_t release = {.state = state,
                         .finished = finished,
                         .frame = smcr_record_first_kept(frame),
                         .marked = g_ptr_array_new(),
                         .leaving = g_ptr_array_new(),
                         .groups = g_hash_table_new(g_direct_hash, g_direct_equal)};
    GHashTableIter at;
    void *lgr;

    if (finished && knows_pointers(state))
        smcr_conn_each(state, mark, &release);
    take_from_groups(&release);
    smcr_record_forget(state, frame);
    if (finished && knows_pointers(state))
        forget_deleted_links(state, release.frame);
    g_hash_table_iter_init(&at, release.groups);
    while (g_hash_table_iter_next(&at, &lgr, NULL))
        forget_in_group(state, lgr);
    if (release.leaving->len)
        smcr_conn_forget_leaving_tokens(state);
    for (unsigned i = 0; i < release.leaving->len; i++) {
        finished->release(release.leaving->pdata[i]);
        free_conn(state, release.leaving->pdata[i]);
    }
    g_hash_table_iter_init(&at, release.groups);
    while (g_hash_table_iter_next(&at, &lgr, NULL))
        release_rmbs(state, lgr, release.frame);
    g_ptr_array_free(release.marked, TRUE);
    g_ptr_array_free(release.leaving, TRUE);
    g_hash_table_destroy(release.groups);
}
