/* Makes connections, finds them by alert token, and joins two objects that describe the same
 * connection or the same link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "conn.h"

#include "store.h"

/* Entry of the table `tokens`. All members but `conn` are its key. */
typedef struct {
    const smcr_lgr_t *lgr; /* link group of the connection */
    int side;              /* side that receives CDC messages with the token */
    uint32_t token;        /* alert token, in host byte order */
    smcr_conn_t *conn;     /* connection that the token names */
} token_t;

SMCR_WIRE_KEY(hash_token, equal_tokens, offsetof(token_t, conn))

smcr_conn_t *
smcr_conn_new(smcr_state_t *state)
{
    smcr_conn_t *conn = smcr_state_alloc0(state, sizeof(smcr_conn_t));

    conn->index = state->conn_count++;
    return conn;
}

/* The key of the table `conversations` is the pointer `conversation`, the first member of
 * smcr_conn_t. So an entry is a pointer to a connection, and a lookup passes the address of a
 * variable of type void * that has the conversation. */
_Static_assert(offsetof(smcr_conn_t, conversation) == 0, "the conversation must come first");

SMCR_WIRE_KEY(hash_conversation, equal_conversations, sizeof(void *))

void
smcr_conn_tables_new(smcr_state_t *state)
{
    state->tokens = smcr_slab_table(state->scope, hash_token, equal_tokens);
    state->conversations = smcr_slab_table(state->scope, hash_conversation, equal_conversations);
}

smcr_conn_t *
smcr_conn_of_conversation(const smcr_state_t *state, void *conversation)
{
    return g_hash_table_lookup(state->conversations, &conversation);
}

void
smcr_conn_set_conversation(smcr_state_t *state, smcr_conn_t *conn, void *conversation,
                           uint32_t tcp_stream)
{
    conn->conversation = conversation;
    conn->tcp_stream = tcp_stream;
    conn->conversation_from = state->last_frame;
    g_hash_table_add(state->conversations, conn);
}

/* IPv4 addresses are kept without the prefix of mapped addresses, since most connections are IPv4
 * and a connection has to be small. */
void
smcr_conn_set_ends(smcr_state_t *state, smcr_conn_t *conn, bool ipv4, const uint8_t *const gid[2],
                   const uint16_t port[2])
{
    conn->ipv4 = ipv4;
    if (!ipv4)
        conn->addr.ipv6 = wmem_alloc(state->scope, 2 * sizeof *conn->addr.ipv6);
    for (unsigned role = 0; role < 2; role++) {
        if (ipv4)
            memcpy(conn->addr.ipv4[role], gid[role] + SMCR_GID_IPV4_AT, SMCR_GID_IPV4_LENGTH);
        else
            memcpy(conn->addr.ipv6[role], gid[role], SMCR_GID_LENGTH);
        conn->port[role] = port[role];
    }
}

/* The connection leaves the table first: its key is `conversation`. The addresses stay in memory;
 * without ports they mean nothing. */
void
smcr_conn_drop_conversation(smcr_state_t *state, smcr_conn_t *conn)
{
    if (conn->conversation)
        g_hash_table_remove(state->conversations, conn);
    conn->conversation = NULL;
    conn->conversation_from = 0;
    conn->port[0] = conn->port[1] = 0;
}

/* The order is that of a hash table: nothing that is shown may depend on it. */
void
smcr_conn_each(const smcr_state_t *state, void (*visit)(const smcr_conn_t *conn, void *data),
               void *data)
{
    GHashTableIter at;
    void *conn;

    g_hash_table_iter_init(&at, state->conversations);
    while (g_hash_table_iter_next(&at, &conn, NULL))
        visit(conn, data);
}

/* The first frame sets `begin_time`. smcr_state_syn() sets it anew if the first SYN with the option
 * comes later. */
uint64_t
smcr_conn_note_activity(smcr_conn_t *conn, smcr_when_t when)
{
    const smcr_when_t before = conn->last_activity;
    bool is_next = before.frame > (conn->lgr ? conn->lgr->last_ownerless_frame : 0) &&
                   before.frame != when.frame && when.time >= before.time;

    if (!before.frame)
        conn->begin_time = when.time;
    conn->last_activity = when;
    return is_next ? when.time - before.time + 1 : 0;
}

uint32_t
smcr_conn_count(const smcr_state_t *state)
{
    return state->conn_count;
}

smcr_conn_t *
smcr_conn_find(const smcr_state_t *state, const smcr_lgr_t *lgr, int side, uint32_t token)
{
    token_t key = {lgr, side, token, NULL};
    const token_t *found = g_hash_table_lookup(state->tokens, &key);

    return found ? found->conn : NULL;
}

/* If the token has named another connection, it names this one from now on: each token has one
 * entry, which is changed. */
void
smcr_conn_set_token(smcr_state_t *state, smcr_conn_t *conn, int side, uint32_t token)
{
    token_t key = {conn->lgr, side, token, conn};
    token_t *entry = g_hash_table_lookup(state->tokens, &key);

    conn->side[side].has_token = true;
    conn->side[side].token = token;
    if (!entry) {
        entry = smcr_state_alloc0(state, sizeof key);
        *entry = key;
        g_hash_table_add(state->tokens, entry);
    }
    entry->conn = conn;
}

/* Removes both alert tokens of the connection from the table `tokens`, as far as they still name
 * it. */
static void
forget_tokens(smcr_state_t *state, const smcr_conn_t *conn)
{
    for (int i = 0; i < 2; i++) {
        const smcr_conn_side_t *side = &conn->side[i];
        token_t key = {conn->lgr, i, side->token, NULL};
        if (side->has_token && smcr_conn_find(state, conn->lgr, i, side->token) == conn)
            g_hash_table_remove(state->tokens, &key);
    }
}

/* If another connection has got the RMB element since, the element stays with that connection. */
void
smcr_conn_leave_smc(smcr_state_t *state, smcr_conn_t *conn)
{
    forget_tokens(state, conn);
    for (int i = 0; i < 2; i++) {
        const smcr_conn_side_t *side = &conn->side[i];
        if (side->rmb && smcr_rmb_conn(side->rmb, side->rmb_index) == conn)
            smcr_rmb_set_conn(state, side->rmb, side->rmb_index, NULL);
    }
}

/* ---- connections that leave ---- */

/* The newest connection stays even if it is leaving, so that the head of the list does not change.
 * `taken` may free the connection: the list does not use it any more. */
void
smcr_conn_take_leaving(smcr_lgr_t *lgr, void (*taken)(smcr_conn_t *conn, void *data), void *data)
{
    smcr_conn_t **at = lgr->newest_conn ? &lgr->newest_conn->older_in_group : &lgr->newest_conn;

    while (*at) {
        smcr_conn_t *conn = *at;
        if (!conn->is_leaving) {
            at = &conn->older_in_group;
            continue;
        }
        *at = conn->older_in_group;
        lgr->released_until = MAX(lgr->released_until, conn->last_activity.frame);
        taken(conn, data);
    }
}

/* Whether the connection is being released; for smcr_rmb_forget_conns(). */
static bool
is_leaving(const smcr_conn_t *conn)
{
    return conn->is_leaving;
}

/* Must be called before the leaving connections are freed. */
void
smcr_conn_forget_leaving(smcr_lgr_t *lgr)
{
    smcr_conn_t **at = &lgr->newest_open_conn;

    while (*at) {
        if ((*at)->is_leaving)
            *at = (*at)->older_open;
        else
            at = &(*at)->older_open;
    }
    for (smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = rmb->older)
        smcr_rmb_forget_conns(rmb, is_leaving);
}

/* Whether the connection of the token is leaving; then frees the entry of the token. */
static gboolean
is_token_leaving(void *key, G_GNUC_UNUSED void *value, void *state)
{
    token_t *entry = key;
    bool leaves = entry->conn->is_leaving;

    if (leaves)
        smcr_state_free(state, entry, sizeof *entry);
    return leaves;
}

void
smcr_conn_forget_leaving_tokens(smcr_state_t *state)
{
    g_hash_table_foreach_remove(state->tokens, is_token_leaving, state);
}

void
smcr_conn_free(smcr_state_t *state, smcr_conn_t *conn)
{
    g_hash_table_remove(state->conversations, conn);
    if (!conn->ipv4)
        wmem_free(state->scope, conn->addr.ipv6);
    smcr_state_free(state, conn, sizeof *conn);
}

/* The count stops at `most`, so it never wraps. */
bool
smcr_conn_note_decline(smcr_conn_t *conn, int side, uint8_t most)
{
    uint8_t *declined = &conn->side[side].heuristic_declines;

    if (*declined < most)
        ++*declined;
    return *declined == most;
}

/* Removes the connection from both lists of its group. `conn->lgr` does not change: the caller sets
 * it. */
static void
leave_group(const smcr_conn_t *conn)
{
    smcr_lgr_t *lgr = conn->lgr;
    smcr_conn_t **at = &lgr->newest_conn, **at_open = &lgr->newest_open_conn;

    while (*at && *at != conn)
        at = &(*at)->older_in_group;
    if (*at)
        *at = conn->older_in_group;
    while (*at_open && *at_open != conn)
        at_open = &(*at_open)->older_open;
    if (*at_open)
        *at_open = conn->older_open;
    lgr->unfinished_clc_conns -= !conn->clc_finished;
}

/* A connection is in one group at most. The newest is first in both lists. */
void
smcr_conn_join(smcr_conn_t *conn, smcr_lgr_t *lgr)
{
    if (conn->lgr == lgr)
        return;
    if (conn->lgr)
        leave_group(conn);
    conn->older_in_group = lgr->newest_conn;
    conn->older_open = lgr->newest_open_conn;
    lgr->newest_conn = lgr->newest_open_conn = conn;
    lgr->unfinished_clc_conns += !conn->clc_finished;
    conn->lgr = lgr;
}

/* Returns an IPv4 address in the client's subnet. `told`: the subnet field of the Proposal. `bits`:
 * number of bits of the subnet mask, at most 32. Linux sends the network address, which is
 * returned. A sender that follows the RFC sends the mask; then the client's address is returned,
 * though NAT may have changed it. */
static const uint8_t *
subnet_of(const smcr_conn_t *conn, const uint8_t *told, unsigned bits)
{
    uint32_t mask = bits ? UINT32_MAX << (32 - bits) : 0;

    return smcr_wire_number(told, sizeof mask) == mask ? conn->addr.ipv4[0] : told;
}

/* Whether the first `bits` bits of both addresses are equal. */
static bool
has_bits(const uint8_t *one, const uint8_t *other, unsigned bits)
{
    unsigned bytes = bits / 8;
    uint8_t rest = (uint8_t)(0xff00 >> bits % 8);

    return memcmp(one, other, bytes) == 0 && (!rest || !((one[bytes] ^ other[bytes]) & rest));
}

/* Whether the server's IPv4 address is in the subnet of the client. A mask of more than 32 bits
 * breaks the format: then any address counts as inside. */
static bool
is_in_subnet(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal)
{
    uint8_t bits = proposal->subnet_length;

    return bits > 32 ||
           has_bits(subnet_of(conn, proposal->subnet, bits), conn->addr.ipv4[1], bits);
}

/* Whether the server's address has one of the kept IPv6 prefixes. A prefix of more than 128 bits
 * breaks the format: then any address counts as inside. */
static bool
is_in_prefixes(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal)
{
    for (unsigned at = 0; at < proposal->prefixes_kept; at++) {
        unsigned bits = proposal->prefixes[at][SMCR_GID_LENGTH];
        if (bits > 128 || has_bits(proposal->prefixes[at], conn->addr.ipv6[1], bits))
            return true;
    }
    return false;
}

/* Every doubt gives true: the rule about the subnet is then not examined. */
bool
smcr_conn_is_inside(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal)
{
    unsigned kept = proposal->prefixes_kept;

    if (conn->ipv4)
        return is_in_subnet(conn, proposal);
    if (!conn->conversation || kept < proposal->prefix_count || kept == 0)
        return true;
    return is_in_prefixes(conn, proposal);
}

/* Whether the diagnosis of the Decline shows that the first link of the group was not confirmed.
 * Every diagnosis shows this, except for the timeout of ADD LINK. False if the diagnosis is not
 * captured. (smc_clc.h, SMC_CLC_DECL_TIMEOUT_AL) */
static bool
was_declined_early(const smcr_conn_t *conn)
{
    return conn->decline_frame && !conn->fallback.code_cut &&
           conn->fallback.code != SMCR_CLC_DECLINE_TIMEOUT_AL;
}

/* A connection is subtracted from `unfinished_clc_conns` once, when it is complete for the first
 * time. */
void
smcr_conn_note_clc(smcr_conn_t *conn)
{
    bool complete = conn->decline_frame || (conn->accept_frame && conn->confirm_frame);

    if (conn->lgr) {
        conn->lgr->unfinished_clc_conns -= complete && !conn->clc_finished;
        conn->lgr->first_contact_declined |= conn->first_contact && conn->decline_frame;
        conn->lgr->link_never_confirmed |= conn->first_contact && was_declined_early(conn);
    }
    conn->clc_finished |= complete;
}

smcr_conn_t *
smcr_conn_first_open(smcr_conn_t **at)
{
    while (*at && (smcr_conn_has_closed(*at) || (*at)->fallback.kind))
        *at = (*at)->older_open;
    return *at;
}

/* The last confirmed use never goes back within a flow. */
void
smcr_conn_confirm_use(smcr_conn_t *conn, smcr_qp_t *qp, smcr_psn_t psn)
{
    smcr_conn_side_t *reader = &conn->side[qp->side];

    /* the side has used another queue pair so far, or none */
    if (reader->valid_from.qp != qp)
        reader->valid_from = smcr_point_at(qp, reader->valid_from.qp ? 0 : psn - 1);
    if (reader->last_confirmed_use.qp != qp || reader->last_confirmed_use.psn < psn)
        reader->last_confirmed_use = smcr_point_at(qp, psn);
}

/* ---- two directions of a connection ---- */

/* Joins the connection object `other` into `conn`: copies what `other` knows of the data to `side`.
 * From now on `merged_into` of `other` points to `conn`. */
static void
take_direction(smcr_state_t *state, smcr_conn_t *conn, smcr_conn_t *other, int side)
{
    smcr_conn_side_t *receiver = &conn->side[side], *sender = &conn->side[!side];
    const size_t sent_at = offsetof(smcr_conn_side_t, announced_at);

    memcpy(receiver, &other->side[side], sent_at);
    memcpy((uint8_t *)sender + sent_at, (const uint8_t *)&other->side[!side] + sent_at,
           sizeof *sender - sent_at);
    if (receiver->rmb && smcr_rmb_conn(receiver->rmb, receiver->rmb_index) == other)
        smcr_rmb_set_conn(state, receiver->rmb, receiver->rmb_index, conn);
    smcr_conn_set_token(state, conn, side, receiver->token);
    if (!conn->rules)
        conn->rules = other->rules;
    other->merged_into = conn;
    other->conversation_from = state->last_frame;
    conn->merged_half = other;
}

/* Records of the joined object lead to the one that stays (`merged_into`). */
smcr_conn_t *
smcr_join_directions(smcr_state_t *state, smcr_conn_t *one, smcr_conn_t *other, int side)
{
    bool first = one->socket || (!other->socket && one->index < other->index);

    wmem_list_remove(one->lgr->one_direction_conns, one);
    wmem_list_remove(one->lgr->one_direction_conns, other);
    if (first)
        take_direction(state, one, other, !side);
    else
        take_direction(state, other, one, side);
    return first ? one : other;
}

/* `early` is known by at least one token. The reader of the joined stream may have reported in
 * `conn` how far it has read. */
void
smcr_join_early(smcr_state_t *state, smcr_conn_t *conn, smcr_conn_t *early)
{
    wmem_list_remove(early->lgr->one_direction_conns, early);
    for (int side = 0; side < 2; side++)
        if (early->side[side].has_token)
            take_direction(state, conn, early, side);
    for (int side = 0; side < 2; side++)
        smcr_conn_side_update_stream(&conn->side[side]);
    early->lgr->unfinished_clc_conns -= !early->clc_finished;
    early->clc_finished = true;
}

/* ---- two half links, with their link groups ---- */

/* A queue pair that moves to another link, when two link objects are joined. */
typedef struct {
    const smcr_qp_t *before; /* object of the queue pair in the link that is given up */
    smcr_qp_t *now;          /* object of the same queue pair in the link that stays */
} moved_t;

/* Whether side 0 of the link that is given up is side 1 of the link that stays. */
static bool
turns(const moved_t *moved)
{
    return moved->before->side != moved->now->side;
}

/* If the point is in the flow to the moved queue pair, it is in the flow to `moved->now` from now
 * on. */
static void
move_point(smcr_point_t *point, const moved_t *moved)
{
    if (point->qp == moved->before)
        point->qp = moved->now;
}

/* Makes side 0 of the connection side 1, and side 1 side 0. */
static void
turn_conn(smcr_conn_t *conn)
{
    const smcr_conn_side_t first = conn->side[0];

    conn->side[0] = conn->side[1];
    conn->side[1] = first;
    conn->sides_swapped = !conn->sides_swapped;
}

/* Moves the connection to the link group of `moved->now`, in which its sides may be the other ones
 * (turns()). */
static void
move_conn(smcr_state_t *state, smcr_conn_t *conn, const moved_t *moved)
{
    forget_tokens(state, conn);
    if (turns(moved))
        turn_conn(conn);
    conn->lgr = NULL;
    smcr_conn_join(conn, moved->now->link->lgr);
    for (int i = 0; i < 2; i++) {
        smcr_conn_side_t *side = &conn->side[i];
        smcr_point_t *points[] = {&side->valid_from, &side->last_confirmed_use,
                                  &side->last_positioned_write, &side->last_cdc_received,
                                  &side->announced_at};
        for (unsigned at = 0; at < G_N_ELEMENTS(points); at++)
            move_point(points[at], moved);
        if (side->link == moved->before->link)
            side->link = moved->now->link;
        if (side->has_token)
            smcr_conn_set_token(state, conn, i, side->token);
    }
}

/* Moves the RMB to the link group of `moved->now`, with its RToken on the joined link. The caller
 * clears the list of the old group. */
static void
move_rmb(smcr_state_t *state, smcr_rmb_t *rmb, const moved_t *moved)
{
    const smcr_rmb_rtoken_t *rtoken = smcr_rmb_rtoken(rmb, moved->before);

    rmb->lgr = moved->now->link->lgr;
    rmb->side = (int8_t)moved->now->side;
    move_point(&rmb->valid_from, moved);
    if (rtoken)
        smcr_rmb_add_rtoken(state, rmb, moved->now, rtoken->rkey, rtoken->va);
    rmb->older = rmb->lgr->newest_rmb;
    rmb->lgr->newest_rmb = rmb;
    rmb->lgr->rmb_count[rmb->side] += smcr_rmb_is_alive(rmb);
}

/* Moves all connections and RMBs of the group `lgr` to the link group of `moved->now`. Afterwards
 * `lgr` has none. */
static void
move_members(smcr_state_t *state, smcr_lgr_t *lgr, const moved_t *moved)
{
    smcr_conn_t *next_conn;
    smcr_rmb_t *next_rmb;

    for (smcr_conn_t *conn = lgr->newest_conn; conn; conn = next_conn) {
        next_conn = conn->older_in_group;
        move_conn(state, conn, moved);
    }
    for (smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = next_rmb) {
        next_rmb = rmb->older;
        move_rmb(state, rmb, moved);
    }
    SMCR_LIST_EACH(smcr_conn_t *, half, lgr->one_direction_conns)
        wmem_list_append(moved->now->link->lgr->one_direction_conns, half);
    lgr->newest_conn = lgr->newest_open_conn = NULL;
    lgr->newest_rmb = NULL;
    moved->now->link->lgr->claimed_rmb = moved->now->link->lgr->newest_rmb;
}

/* Adds to the group `now` what is known of the sides of `lgr`, as far as `now` does not know it.
 * `turned`: side 0 of `lgr` is side 1 of `now`. */
static void
move_sides(const smcr_lgr_t *lgr, smcr_lgr_t *now, bool turned)
{
    if (now->server == SMCR_LGR_SIDE_UNKNOWN && lgr->server != SMCR_LGR_SIDE_UNKNOWN) {
        now->server = turned ? !lgr->server : lgr->server;
        now->role_source_file = lgr->role_source_file;
    }
    for (int side = 0; side < 2; side++) {
        int before = side ^ turned;
        if (!now->base_known[side])
            now->base[side] = lgr->base[before];
        now->base_known[side] |= lgr->base_known[before];
        if (!now->netlink_reported[side])
            now->netlink_reported[side] = lgr->netlink_reported[before];
    }
}

/* Joins the group `lgr` into the group of `moved->now`: both objects are the same link group. */
static void
move_lgr(smcr_state_t *state, smcr_lgr_t *lgr, const moved_t *moved)
{
    smcr_lgr_t *now = moved->now->link->lgr;

    move_members(state, lgr, moved);
    now->one_direction_conns_forgotten |= lgr->one_direction_conns_forgotten;
    now->token_difference_changes |= lgr->token_difference_changes;
    now->token_unmatched |= lgr->token_unmatched;
    if (lgr->knows_token_difference)
        smcr_lgr_note_token_difference(now, turns(moved) ? -lgr->token_difference
                                                         : lgr->token_difference);
    now->immediate |= lgr->immediate;
    now->immediate_agreed |= lgr->immediate_agreed;
    now->has_plain_messages |= lgr->has_plain_messages;
    move_sides(lgr, now, turns(moved));
    lgr->newest_link = NULL;
}

/* Whether nothing but `qp` is known of its link and its link group. Three conditions: 1. nothing
 * proves that its group differs from all other groups (SMCR_LGR_NO_INDEX); 2. of its other queue
 * pair only the GID is known; 3. the group has no other link. */
static bool
is_half_known(const smcr_qp_t *qp)
{
    const smcr_link_t *link = qp->link;

    return !link->qp[!qp->side].number_known && link->qp[!qp->side].gid_known &&
           link->lgr->index == SMCR_LGR_NO_INDEX && link->lgr->link_count == 1;
}

/* Whether `to` and `from` can be the same queue pair. `from`: the only known queue pair of another
 * link. The number of `to` must not be known, and the number of its peer must be. Both links have
 * to be between the same two devices, as far as the GID of `to` is known. */
static bool
can_be_one(smcr_qp_t *to, smcr_qp_t *from)
{
    const smcr_qp_t *peer = smcr_qp_peer(to);

    if (to->number_known || !peer->number_known ||
        !smcr_qp_is_at(smcr_qp_peer(from), peer->key.gid))
        return false;
    return !to->gid_known || smcr_qp_is_at(to, from->key.gid);
}

/* Joins the link of `from`, of which only `from` is known, into `link`: the queue pair `from` is
 * the same as the queue pair `to` of `link`. */
static void
join_half_link(smcr_state_t *state, smcr_link_t *link, smcr_qp_t *to, smcr_qp_t *from)
{
    smcr_link_t *before = from->link;
    smcr_lgr_t *lgr = before->lgr;

    wmem_map_remove(state->qps, &from->key);
    *to = *from;
    to->link = link;
    to->side = !from->side;
    wmem_map_insert(state->qps, &to->key, to);
    link->packet_count += before->packet_count;
    link->added_frame = MIN(link->added_frame, before->added_frame);
    wmem_list_remove(state->half_known_links, link);
    wmem_list_remove(state->half_known_links, before);
    before->merged_into = link;
    move_lgr(state, lgr, &(moved_t){from, to});
}

/* Whether nothing but `from` and perhaps the number of its peer is known of its link and its link
 * group, and the link may be that of `now`. */
static bool
is_alone(smcr_qp_t *from, smcr_qp_t *now)
{
    const smcr_qp_t *peer = smcr_qp_peer(from), *other = smcr_qp_peer(now);
    const smcr_lgr_t *lgr = from->link->lgr;

    if (is_half_known(from))
        return true;
    if (lgr->first_contact_captured || lgr->link_count != 1 || peer->traffic.flow.packet_count)
        return false;
    return peer->number_known && other->number_known &&
           smcr_qp_has_key(peer, other->key.gid, other->key.qpn);
}

/* The queue pair `from` stays as it is, but nothing finds it any more: `now` has its key, and goes
 * on with its flows. */
void
smcr_join_replaced(smcr_state_t *state, smcr_qp_t *now, smcr_qp_t *from)
{
    smcr_link_t *before = from->link;
    smcr_lgr_t *lgr = before->lgr;

    if (before->merged_into || lgr == now->link->lgr || !is_alone(from, now))
        return;
    if (!now->traffic.flow.packet_count)
        now->traffic = from->traffic;
    now->link->packet_count += before->packet_count;
    now->link->added_frame = MIN(now->link->added_frame, before->added_frame);
    wmem_list_remove(state->half_known_links, before);
    before->merged_into = now->link;
    before->merged_unturned = now->side == from->side;
    move_lgr(state, lgr, &(moved_t){from, now});
}

/* Whether the group has one link, no packet of which has come, and only CLC messages of later
 * contacts have shown the group. */
static bool
is_known_from_later_contact(const smcr_lgr_t *lgr)
{
    bool is_later = lgr->first_accept && !lgr->first_contact_captured;

    return is_later && lgr->link_count == 1 && lgr->newest_link->packet_count == 0;
}

/* Moves the connection to the group `now`. Its sides, RMBs and links stay. */
static void
move_to_group(smcr_state_t *state, smcr_conn_t *conn, smcr_lgr_t *now)
{
    forget_tokens(state, conn);
    smcr_conn_join(conn, now);
    for (int side = 0; side < 2; side++)
        if (conn->side[side].has_token)
            smcr_conn_set_token(state, conn, side, conn->side[side].token);
}

/* Moves all connections and RMBs of the group `lgr`, and the difference of its tokens, to the group
 * `now`. */
static void
move_all(smcr_state_t *state, smcr_lgr_t *lgr, smcr_lgr_t *now)
{
    smcr_rmb_t *rmb;

    if (lgr->knows_token_difference)
        smcr_lgr_note_token_difference(now, lgr->token_difference);
    while (lgr->newest_conn)
        move_to_group(state, lgr->newest_conn, now);
    while ((rmb = lgr->newest_rmb)) {
        lgr->newest_rmb = rmb->older;
        rmb->lgr = now;
        rmb->older = now->newest_rmb;
        now->newest_rmb = rmb;
        now->rmb_count[rmb->side] += smcr_rmb_is_alive(rmb);
    }
    now->claimed_rmb = now->newest_rmb;
}

/* Every doubt gives no join. An Accept of a later contact names the initial PSN of its link, too,
 * and queue pairs begin at random PSNs. Both groups must have their server on the same side, as
 * they do if CLC messages have shown both. */
smcr_link_t *
smcr_join_offered(smcr_state_t *state, smcr_lgr_t *lgr, const smcr_ib_qp_key_t *key, uint32_t psn)
{
    const smcr_qp_t *server = smcr_qp_find(state, key);
    smcr_lgr_t *before = server ? server->link->lgr : lgr;

    if (before == lgr || !is_known_from_later_contact(before))
        return NULL;
    if (server->side != before->server || before->server != lgr->server ||
        before->first_accept->psn != psn)
        return NULL;
    smcr_link_t *link = server->link;
    smcr_lgr_prove_clocks(lgr);
    smcr_link_move(link, lgr);
    move_all(state, before, lgr);
    state->lgr_count -= before->index + 1 == state->lgr_count;
    wmem_list_remove(state->lgrs, before);
    return link;
}

/* Whether the first packet to `client`, the only known queue pair of its link, has the initial PSN
 * that the Accept of the group `lgr` announces: the server has sent it on the link of the
 * Accept. */
static bool
begins_as_announced(const smcr_lgr_t *lgr, const smcr_qp_t *client)
{
    const smcr_flow_t *flow = &client->traffic.flow;

    return lgr->first_accept && client->side == lgr->server && flow->psn_history.used &&
           (flow->first & SMCR_PSN_MASK) == lgr->first_accept->psn;
}

/* Every doubt gives no join: two links that were joined cannot be separated again. If the first
 * contact of the group is captured, no packet comes before it, unless clocks differ. */
void
smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key)
{
    smcr_qp_t *from = smcr_qp_find(state, key);
    bool has_begun = link->lgr->first_contact_captured;

    if (!from || from->link == link || !is_half_known(from))
        return;
    if (has_begun && !begins_as_announced(link->lgr, from))
        return;
    smcr_qp_t *to = &link->qp[!from->side];
    if (!can_be_one(to, from))
        return;
    if (has_begun)
        smcr_lgr_prove_clocks(link->lgr);
    join_half_link(state, link, to, from);
}
