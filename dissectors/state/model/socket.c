/* Keeps reported sockets, and finds them by token, by their addresses and ports, and by their
 * producer cursor.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "socket.h"

#include "store.h"

/* All reports of a capture file. */
typedef struct smcr_sockets {
    GHashTable *by_token;  /* smcr_socket_t, by the host's GID and token */
    GHashTable *by_ends;   /* smcr_socket_t, by addresses and ports; the address and port of the
                              reporting host come first */
    GHashTable *by_cursor; /* smcr_socket_t, by the host's GID and reported producer cursor */
    /* newest socket */
    smcr_socket_t *last;
    const smcr_told_lgr_t *lgr; /* last reported link group */
    wmem_array_t *links;        /* smcr_socket_link_t: reported links */
    GHashTable *listeners;      /* ports of sockets that listen, in the dump `listen_dump` */
    /* dump of `listeners` */
    uint64_t listen_dump;
    uint64_t cut_dump; /* number of the last dump of which a part is missing; UINT64_MAX: none */
    wmem_queue_t *named; /* smcr_conn_t: connections that wait for their TCP conversation */
    wmem_list_t *qps;    /* last result of smcr_socket_qps() */
    uint8_t asked[SMCR_TOLD_ENDS][SMCR_GID_LENGTH]; /* the two GIDs for which `qps` was made */
    uint32_t asked_in;                              /* frame in which `qps` was made */
} smcr_sockets_t;

/* ---- keys ---- */

SMCR_WIRE_KEY(hash_number, equal_numbers, sizeof(smcr_socket_key_t))
SMCR_WIRE_KEY(hash_ends, equal_ends, offsetof(smcr_told_socket_t, state))

/* Returns the key of a token or cursor of the host with this GID. */
static smcr_socket_key_t
key_of(const uint8_t gid[SMCR_GID_LENGTH], uint64_t number)
{
    smcr_socket_key_t key = {.number = number};

    memcpy(key.gid, gid, SMCR_GID_LENGTH);
    return key;
}

/* The cursor as a number, for a key. */
static uint64_t
number_of(smcr_cursor_t cursor)
{
    return (uint64_t)cursor.wrap << 32 | cursor.count;
}

/* ---- keeping ---- */

/* Returns the sockets of the state. The first call makes them, so that a capture without reports
 * has none. */
static smcr_sockets_t *
made(smcr_state_t *state)
{
    smcr_sockets_t *sockets = state->sockets;

    if (sockets)
        return sockets;
    sockets = state->sockets = wmem_new0(state->scope, smcr_sockets_t);
    sockets->by_token = smcr_slab_table(state->scope, hash_number, equal_numbers);
    sockets->by_ends = smcr_slab_table(state->scope, hash_ends, equal_ends);
    sockets->by_cursor = smcr_slab_table(state->scope, hash_number, equal_numbers);
    sockets->qps = wmem_list_new(state->scope);
    sockets->listeners = smcr_slab_table(state->scope, g_direct_hash, g_direct_equal);
    sockets->cut_dump = UINT64_MAX;
    sockets->links = wmem_array_new(state->scope, sizeof(smcr_socket_link_t));
    sockets->named = wmem_queue_new(state->scope);
    return sockets;
}

/* Whether two reports of different hosts describe the same connection: their roles differ, and the
 * GIDs and sizes of own end and peer are exchanged. */
static bool
have_same_ends(const smcr_told_socket_t *a, const smcr_told_socket_t *b)
{
    bool same_gids = smcr_gid_is_same(a->gid[SMCR_TOLD_OWN], b->gid[SMCR_TOLD_PEER]) &&
                     smcr_gid_is_same(a->gid[SMCR_TOLD_PEER], b->gid[SMCR_TOLD_OWN]);
    bool same_sizes = a->size[SMCR_TOLD_OWN] == b->size[SMCR_TOLD_PEER] &&
                      a->size[SMCR_TOLD_PEER] == b->size[SMCR_TOLD_OWN];

    return a->is_server != b->is_server && same_gids && same_sizes;
}

/* Whether two reports are of the two ends of one connection, and not of two connections that have
 * used the same addresses and ports one after the other. The cursors of the later report must not
 * be before the cursors of the earlier report, unless both reports were made within
 * SMCR_TIME_DISORDER. A report from a file has no time: then the cursors only have to fit one
 * moment. */
static bool
are_mirrors(const smcr_socket_t *earlier, const smcr_socket_t *later)
{
    const smcr_told_socket_t *a = &earlier->reported, *b = &later->reported;
    const smcr_ring_t to_later = {b->size[SMCR_TOLD_OWN], 0};
    const smcr_ring_t to_earlier = {a->size[SMCR_TOLD_OWN], 0};
    int64_t received = smcr_ring_distance(&to_later, a->tx_prod, b->rx_prod);
    int64_t sent = smcr_ring_distance(&to_earlier, a->rx_prod, b->tx_prod);

    if (!have_same_ends(a, b))
        return false;
    if (a->is_from_file || b->is_from_file)
        return smcr_socket_cursors_agree(received, sent);
    return later->time < earlier->time + SMCR_TIME_DISORDER || (received >= 0 && sent >= 0);
}

/* Looks up the socket that the other host has reported for the same connection. If it is known,
 * each of the two sockets becomes the mirror of the other. */
static void
set_mirror(const smcr_sockets_t *sockets, smcr_socket_t *socket)
{
    const smcr_told_socket_t *told = &socket->reported;
    smcr_told_socket_t ends = {.port = {told->port[SMCR_TOLD_PEER], told->port[SMCR_TOLD_OWN]}};

    memcpy(ends.address[SMCR_TOLD_OWN], told->address[SMCR_TOLD_PEER], SMCR_GID_LENGTH);
    memcpy(ends.address[SMCR_TOLD_PEER], told->address[SMCR_TOLD_OWN], SMCR_GID_LENGTH);
    smcr_socket_t *other = g_hash_table_lookup(sockets->by_ends, &ends);
    if (!other)
        return;
    const smcr_socket_t *earlier = other->time < socket->time ? other : socket;
    if (!are_mirrors(earlier, earlier == other ? socket : other))
        return;
    other->mirror = socket;
    socket->mirror = other;
}

/* Adds the socket to the table by producer cursor. If another socket of the dump has the same
 * cursor, notes this in both sockets instead. */
static void
keep_cursor(GHashTable *by_cursor, smcr_socket_t *socket)
{
    smcr_socket_t *other = g_hash_table_lookup(by_cursor, &socket->by_cursor);

    socket->cursor_shared = other && other != socket && other->dump == socket->dump;
    if (socket->cursor_shared)
        other->cursor_shared = true;
    else
        g_hash_table_replace(by_cursor, &socket->by_cursor, socket);
}

smcr_socket_t *
smcr_socket_of_token(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH], uint32_t token)
{
    const smcr_socket_key_t key = key_of(gid, token);

    return state->sockets ? g_hash_table_lookup(state->sockets->by_token, &key) : NULL;
}

/* The known socket with the token, addresses and ports of the report `told`; NULL: none. The socket
 * of a report without CONNINFO is found by addresses and ports alone. The inode must be the same,
 * too, unless the known socket is from a file, which has no inode. */
static smcr_socket_t *
find(const smcr_state_t *state, const smcr_told_socket_t *told)
{
    smcr_socket_t *socket =
        told->has_conn ? smcr_socket_of_token(state, told->gid[SMCR_TOLD_OWN], told->token)
                       : g_hash_table_lookup(state->sockets->by_ends, told);

    return socket && equal_ends(&socket->reported, told) &&
                   (socket->reported.is_from_file || socket->reported.inode == told->inode)
               ? socket
               : NULL;
}

/* Notes which receive buffers are full in the report `told`. A buffer is full if its whole size is
 * data that its reader has not consumed. Nothing is noted of a report from a file or without
 * CONNINFO. Nothing is noted after the connection of the socket was found, since its packets show
 * more than reports. */
static void
note_full(smcr_socket_t *socket, const smcr_told_socket_t *told, smcr_when_t when)
{
    const smcr_cursor_t prod[] = {told->rx_prod, told->tx_prod};
    const smcr_cursor_t cons[] = {told->tx_cons, told->rx_cons};
    bool has_found_conn = socket->conn || (socket->mirror && socket->mirror->conn);

    if (has_found_conn || !told->has_conn || told->is_from_file)
        return;
    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++) {
        const smcr_ring_t ring = {told->size[end], 0};
        bool is_full =
            ring.size && smcr_ring_distance(&ring, cons[end], prod[end]) == ring.size;
        socket->full[end] = is_full ? when : (smcr_when_t){0, 0};
    }
}

/* Notes the first report over netlink in which the peer of the host has closed the connection, and
 * the host has not. */
static void
note_close(smcr_socket_t *socket, const smcr_told_socket_t *told, smcr_when_t when)
{
    bool is_half_closed = told->has_conn && told->rx_state & SMCR_CDC_STATE_CLOSED &&
                          !(told->tx_state & SMCR_CDC_STATE_CLOSED);

    if (is_half_closed && !told->is_from_file && !socket->peer_closed.frame)
        socket->peer_closed = when;
}

/* The keys of the tables are members of the socket, so an entry is removed before its key
 * changes. */
smcr_socket_t *
smcr_socket_keep(smcr_state_t *state, const smcr_told_socket_t *told, uint64_t dump,
                 smcr_when_t when)
{
    smcr_sockets_t *sockets = made(state);
    const uint8_t *gid = told->gid[SMCR_TOLD_OWN];
    smcr_socket_t *socket = find(state, told);

    if (!socket || socket->reported.mode != told->mode) {
        socket = smcr_state_alloc0(state, sizeof *socket);
        socket->older = sockets->last;
        sockets->last = socket;
    } else if (g_hash_table_lookup(sockets->by_cursor, &socket->by_cursor) == socket) {
        g_hash_table_remove(sockets->by_cursor, &socket->by_cursor);
    }
    note_full(socket, told, when);
    note_close(socket, told, when);
    socket->reported = *told;
    socket->by_token = key_of(gid, told->token);
    socket->by_cursor = key_of(gid, number_of(told->tx_prod));
    if (!socket->first.frame)
        socket->first = when;
    socket->time = when.time;
    socket->dump = dump;
    socket->dump_end_frame = 0;
    g_hash_table_replace(sockets->by_ends, &socket->reported, socket);
    if (!told->has_conn)
        return socket;
    g_hash_table_replace(sockets->by_token, &socket->by_token, socket);
    keep_cursor(sockets->by_cursor, socket);
    set_mirror(sockets, socket);
    return socket;
}

void
smcr_socket_cut_dump(smcr_state_t *state, uint64_t dump)
{
    made(state)->cut_dump = dump;
}

bool
smcr_socket_is_cut(const smcr_state_t *state, uint64_t dump)
{
    return state->sockets && state->sockets->cut_dump == dump;
}

/* The listeners of an earlier dump are forgotten: ports may have been closed since. */
void
smcr_socket_keep_listener(smcr_state_t *state, const smcr_told_socket_t *told, uint64_t dump)
{
    smcr_sockets_t *sockets = made(state);

    if (sockets->listen_dump != dump)
        g_hash_table_remove_all(sockets->listeners);
    sockets->listen_dump = dump;
    g_hash_table_add(sockets->listeners, GUINT_TO_POINTER(told->port[SMCR_TOLD_OWN]));
}

bool
smcr_socket_listens(const smcr_state_t *state, const smcr_socket_t *socket)
{
    return state->sockets->listen_dump == socket->dump &&
           g_hash_table_contains(state->sockets->listeners,
                                 GUINT_TO_POINTER(socket->reported.port[SMCR_TOLD_OWN]));
}

/* ---- link groups and links ---- */

void
smcr_socket_keep_lgr(smcr_state_t *state, const smcr_told_lgr_t *told)
{
    smcr_told_lgr_t *kept = smcr_state_alloc0(state, sizeof *kept);

    *kept = *told;
    made(state)->lgr = kept;
}

/* A later report of the same link replaces the earlier one. Without a reported group a link is not
 * kept. */
void
smcr_socket_keep_link(smcr_state_t *state, const smcr_told_link_t *told)
{
    smcr_sockets_t *sockets = made(state);
    smcr_socket_link_t link = {*told, sockets->lgr};

    for (unsigned i = 0; link.lgr && i < wmem_array_get_count(sockets->links); i++) {
        smcr_socket_link_t *before = wmem_array_index(sockets->links, i);
        if (before->lgr->id != link.lgr->id || before->report.number != told->number ||
            memcmp(before->report.gid, told->gid, sizeof told->gid) != 0)
            continue;
        *before = link;
        return;
    }
    if (link.lgr)
        wmem_array_append_one(sockets->links, link);
}

/* Whether the reported link may be the link of `qp`: both have the same two GIDs, and the host of
 * `qp`, which has reported the link, has the same role in both link groups. */
static bool
is_link_of(const smcr_socket_link_t *link, const smcr_qp_t *qp)
{
    const smcr_qp_t *peer = &qp->link->qp[!qp->side];
    int server = qp->link->lgr->server;

    if (!smcr_qp_is_at(qp, link->report.gid[SMCR_TOLD_OWN]) ||
        !smcr_qp_is_at(peer, link->report.gid[SMCR_TOLD_PEER]))
        return false;
    return server == SMCR_LGR_SIDE_UNKNOWN || (server == qp->side) == link->lgr->is_server;
}

/* Two reports prove nothing. */
const smcr_socket_link_t *
smcr_socket_link_of(const smcr_state_t *state, const smcr_qp_t *qp)
{
    const smcr_socket_link_t *found = NULL;

    for (unsigned i = 0; state->sockets && i < wmem_array_get_count(state->sockets->links); i++) {
        const smcr_socket_link_t *link = wmem_array_index(state->sockets->links, i);
        if (!is_link_of(link, qp))
            continue;
        if (found)
            return NULL;
        found = link;
    }
    return found;
}

/* ---- finding ---- */

smcr_socket_t *
smcr_socket_newest(const smcr_state_t *state)
{
    return state->sockets ? state->sockets->last : NULL;
}

const smcr_socket_t *
smcr_socket_of(const smcr_state_t *state, const smcr_told_socket_t *told)
{
    return state->sockets ? find(state, told) : NULL;
}

/* A cursor that two sockets share proves nothing. */
smcr_socket_t *
smcr_socket_of_cursor(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                      smcr_cursor_t prod)
{
    const smcr_socket_key_t key = key_of(gid, number_of(prod));
    smcr_socket_t *socket =
        state->sockets ? g_hash_table_lookup(state->sockets->by_cursor, &key) : NULL;

    return socket && socket->dump_end_frame && !socket->cursor_shared ? socket : NULL;
}

/* A connection that has a socket of one host keeps it: the socket of the other host gets the
 * connection, too. */
void
smcr_socket_set_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn)
{
    socket->conn = conn;
    if (conn->socket)
        return;
    conn->socket = socket;
    if (!conn->conversation)
        wmem_queue_push(state->sockets->named, conn);
}

/* The connection leaves the queue of smcr_socket_take_named(): without a socket it has no addresses
 * for a TCP conversation. */
void
smcr_socket_drop_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn)
{
    wmem_list_remove(state->sockets->named, conn);
    smcr_conn_drop_conversation(state, conn);
    socket->conn = NULL;
    memset(socket->full, 0, sizeof socket->full);
    socket->peer_closed.frame = 0;
    conn->socket = NULL;
}

smcr_conn_t *
smcr_socket_take_named(const smcr_state_t *state)
{
    return state->sockets && wmem_queue_count(state->sockets->named)
               ? wmem_queue_pop(state->sockets->named) : NULL;
}

/* Callback for each queue pair, `value`, of the table `qps` of smcr_state: appends the queue pair
 * to the result list `qps` of the sockets in `data`, if its link is between the two GIDs in
 * `asked`. */
static void
add_qp(void *key _U_, void *value, void *data)
{
    smcr_sockets_t *sockets = data;
    smcr_qp_t *qp = value;

    if (smcr_qp_is_at(qp, sockets->asked[SMCR_TOLD_OWN]) &&
        smcr_qp_is_at(smcr_qp_peer(qp), sockets->asked[SMCR_TOLD_PEER]))
        wmem_list_append(sockets->qps, qp);
}

/* The list is kept for one frame: queue pairs may be learned between two frames. */
wmem_list_t *
smcr_socket_qps(const smcr_state_t *state, const smcr_told_socket_t *told, uint32_t frame)
{
    smcr_sockets_t *sockets = state->sockets;

    if (sockets->asked_in == frame &&
        memcmp(sockets->asked, told->gid, sizeof sockets->asked) == 0)
        return sockets->qps; /* the previous call had the same arguments: reports of sockets that
                                share a link group mostly come one after the other */
    sockets->asked_in = frame;
    memcpy(sockets->asked, told->gid, sizeof sockets->asked);
    wmem_destroy_list(sockets->qps);
    sockets->qps = wmem_list_new(state->scope);
    wmem_map_foreach(state->qps, add_qp, sockets);
    return sockets->qps;
}
