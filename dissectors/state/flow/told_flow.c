/* What hosts tell of their sockets: whose a connection is that began before the capture. Judge the
 * socket: may it be the connection that has its token, and how far it has come? Place it: at that
 * connection, and at the one of which it is the other direction. Take it in: addresses, roles,
 * sizes, positions.
 *
 * A socket is joined by proof. Its token is that of the CDC messages to its host. The token of the
 * other end is the other host's to tell. Else a direction is its own if the last message stands
 * where the host has written to, and no other socket and no other direction stands there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "told_flow.h"
#include "write.h"
#include "state/evidence/evidence.h"
#include "state/model/socket.h"
#include "state/model/store.h"

#define SOCKETS_MAX 4096 /* that are looked at for a message */

/* ---- judge: does the capture bear it out? ---- */

/* Whether the cursor that a host has told is where the last message has it. Hosts and wire may be
 * captured at different places: messages of the last moment may be on either side of a dump.
 * `waits`: the message that has moved the host on may come later, since dumpcap does not sort those
 * of several interfaces, or be absent; then the next one tells. */
static bool
stands_at(const smcr_socket_t *socket, uint32_t size, smcr_cursor_t told,
          const smcr_conn_side_t *sender, bool waits)
{
    const smcr_ring_t ring = {size, 0};
    int64_t ahead = smcr_ring_distance(&ring, told, sender->prod);
    bool recent = socket->time < sender->cdc_time + SMCR_TIME_DISORDER;

    for (unsigned i = 0; i < 2 && sender->mark_time[i]; i++)
        recent &= socket->time < sender->mark_time[i] + SMCR_TIME_DISORDER ||
                  smcr_ring_distance(&ring, sender->mark_prod[i], told) >= 0;
    return ahead > 0 ? recent && ahead <= size
                     : ahead == 0 ||
                           (waits && sender->cdc_time < socket->time + SMCR_TIME_DISORDER);
}

/* Whether the last message of `writer` can be of the connection that is told: its cursors lie in
 * the buffers, and both have come there before that was so, or both after that. */
static bool
is_of_one(const smcr_told_socket_t *told, const smcr_conn_side_t *writer, bool to_host)
{
    const smcr_ring_t ring = {told->size[to_host ? SMCR_TOLD_OWN : SMCR_TOLD_PEER], 0};
    const smcr_ring_t reverse = {told->size[to_host ? SMCR_TOLD_PEER : SMCR_TOLD_OWN], 0};
    smcr_cursor_t prod = to_host ? told->rx_prod : told->tx_prod;
    smcr_cursor_t cons = to_host ? told->rx_cons : told->tx_cons;

    return writer->prod.count < ring.size && writer->cons.count < reverse.size &&
           smcr_socket_agree(smcr_ring_distance(&ring, prod, writer->prod),
                             smcr_ring_distance(&reverse, cons, writer->cons));
}

/* Whether the last messages of both sides stand where the host was. What the capture lacks may have
 * moved the host on. */
static bool
stands_there(const smcr_socket_t *socket, const smcr_conn_t *conn, int side, bool waits)
{
    const smcr_told_socket_t *told = &socket->told;
    const smcr_conn_side_t *own = &conn->side[side], *peer = &conn->side[!side];

    return is_of_one(told, peer, true) && is_of_one(told, own, false) &&
           (!peer->cdc_frame || !smcr_evidence_holds(&own->heard) ||
            stands_at(socket, told->size[SMCR_TOLD_OWN], told->rx_prod, peer, waits)) &&
           (!own->cdc_frame || !smcr_evidence_holds(&peer->heard) ||
            stands_at(socket, told->size[SMCR_TOLD_PEER], told->tx_prod, own, waits));
}

/* Whether the address is that of TCP; `role` 0 is the client. */
static bool
has_end(const smcr_conn_t *conn, unsigned role, const uint8_t *address, uint16_t port)
{
    const uint8_t *ipv4 = smcr_gid_is_ipv4(address) ? address + SMCR_GID_IPV4_AT : NULL;

    return conn->port[role] == port &&
           (conn->ipv4 ? ipv4 && memcmp(conn->addr.ipv4[role], ipv4, SMCR_GID_IPV4_LENGTH) == 0
                       : smcr_gid_is_same(conn->addr.ipv6[role], address));
}

/* Whether the host that has `side` has its role. A file loses against all others. */
static bool
has_role(const smcr_lgr_t *lgr, const smcr_told_socket_t *told, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN || (lgr->server_of_file && !told->undated) ||
           (lgr->server == side) == told->is_server;
}

/* Whether ends, roles and sizes are those of the connection of which the host has `side`, as far as
 * the capture tells them. */
static bool
is_like(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side)
{
    if (!has_role(conn->lgr, told, side))
        return false;
    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++) {
        unsigned role = end == SMCR_TOLD_OWN ? told->is_server : !told->is_server;
        uint32_t size = conn->side[end == SMCR_TOLD_OWN ? side : !side].size;
        if ((size && size != told->size[end]) ||
            (conn->port[role] && !has_end(conn, role, told->address[end], told->port[end])))
            return false;
    }
    return true;
}

/* Whether two directions can be of one connection: who reads has not read more than was announced,
 * and not a whole round less. `one` is what comes to `side`. */
static bool
go_together(const smcr_conn_t *one, const smcr_conn_t *other, int side,
            const smcr_told_socket_t *told)
{
    const smcr_conn_side_t *to = &one->side[!side], *from = &other->side[side];
    const uint32_t own = told->size[SMCR_TOLD_OWN], peer = told->size[SMCR_TOLD_PEER];
    int64_t unread = smcr_ring_distance(&(smcr_ring_t){own, 0}, from->cons, to->prod);
    int64_t unread_by_peer = smcr_ring_distance(&(smcr_ring_t){peer, 0}, to->cons, from->prod);

    return one->lgr == other->lgr && !one->side[!side].has_token && !other->side[side].has_token &&
           unread >= 0 && unread <= own && unread_by_peer >= 0 && unread_by_peer <= peer;
}

/* ---- place: which connection ---- */

/* What the queue pair of the host has of the socket; NULL: nothing. */
typedef smcr_conn_t *find_t(const smcr_state_t *state, const smcr_qp_t *qp,
                            const smcr_told_socket_t *told);

/* What alone is found of the socket on the queue pairs between the two hosts; `*side` is the
 * host's. NULL: the capture has nothing, or several. */
static smcr_conn_t *
find_alone(const smcr_arrival_t *arrival, const smcr_told_socket_t *told, find_t *find, int *side)
{
    wmem_list_t *qps = smcr_socket_qps(arrival->state, told, arrival->when.frame);
    smcr_conn_t *found = NULL;

    SMCR_LIST_EACH(const smcr_qp_t *, qp, qps) {
        smcr_conn_t *conn = find(arrival->state, qp, told);
        if (found && conn && conn != found)
            return NULL;
        if (conn) {
            found = conn;
            *side = qp->side;
        }
    }
    return found;
}

/* The connection that messages to the host mean by the socket's token. */
static smcr_conn_t *
conn_of_token(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    return smcr_conn_find(state, qp->link->lgr, qp->side, told->token);
}

/* ---- take it in ---- */

static void
take_in_ends(smcr_state_t *state, smcr_conn_t *conn, const smcr_told_socket_t *told)
{
    const unsigned own = told->is_server;

    smcr_conn_set_ends(state, conn, smcr_gid_is_ipv4(told->address[SMCR_TOLD_OWN]),
                       (const uint8_t *[]){told->address[own], told->address[!own]},
                       (const uint16_t[]){told->port[own], told->port[!own]});
}

/* What `side` receives. Messages that the capture has are newer than what was told. What a file
 * tells is of any time: it waits for a message, before which all but a round has been read. */
static void
take_in_stream(smcr_conn_t *conn, int side, const smcr_told_socket_t *told, bool is_own)
{
    smcr_conn_side_t *reader = &conn->side[side];
    const smcr_conn_side_t *writer = &conn->side[!side];
    uint32_t size = told->size[is_own ? SMCR_TOLD_OWN : SMCR_TOLD_PEER];
    const smcr_ring_t ring = {size, conn->lgr->base[side]};
    smcr_cursor_t prod = is_own ? told->rx_prod : told->tx_prod;
    smcr_cursor_t cons = is_own ? told->tx_cons : told->rx_cons;

    smcr_conn_side_catch_up(reader);
    if (reader->size || (told->undated && !writer->cdc_frame))
        return; /* CLC has told it */
    if (told->undated && writer->prod.wrap)
        cons = (smcr_cursor_t){writer->prod.wrap - 1, writer->prod.count};
    else if (told->undated)
        cons = (smcr_cursor_t){0, ring.base};
    reader->size = size;
    smcr_stream_start_told(&reader->in, ring, writer->cdc_frame ? writer->prod : prod,
                           reader->cdc_frame ? reader->cons : cons);
    reader->located = reader->heard;
}

/* What the host of the queue pair tells of its link and link group, where CLC and LLC have not. */
static void
take_in_link(smcr_state_t *state, smcr_qp_t *qp)
{
    const smcr_socket_link_t *link = smcr_socket_link_of(state, qp);
    smcr_lgr_t *lgr = qp->link->lgr;

    if (!link && lgr->told[qp->side]) { /* it may be that of another group, which came after it */
        lgr->told[qp->side] = NULL;
        qp->link->has_number = false;
    }
    if (!link || qp->link->state == SMCR_LINK_DELETED)
        return;
    lgr->told[qp->side] = link->lgr;
    lgr->server = link->lgr->is_server ? qp->side : !qp->side;
    lgr->server_of_file = NULL;
    if (!qp->link->has_number)
        qp->link->number = link->told.number;
    qp->link->has_number = true;
    if (!lgr->version)
        lgr->version = MAX(link->lgr->version, 1);
    if (!lgr->has_release && link->lgr->version > 1)
        lgr->release = link->lgr->release;
    lgr->has_release |= link->lgr->version > 1;
}

/* The connection, of which the host has `side`, is that of the socket. */
static void
take_in_socket(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    const smcr_told_socket_t *told = &socket->told;
    smcr_link_t *link = arrival->qp ? arrival->qp->link : conn->side[!side].link;

    if (!conn->port[0])
        take_in_ends(arrival->state, conn, told);
    if (!told->undated)
        conn->lgr->server_of_file = NULL;
    else if (conn->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        conn->lgr->server_of_file = socket;
    conn->lgr->server = told->is_server ? side : !side;
    if (link && !conn->lgr->told[side])
        take_in_link(arrival->state, &link->qp[side]);
    take_in_stream(conn, side, told, true);
    take_in_stream(conn, !side, told, false);
    smcr_socket_set_conn(arrival->state, socket, conn);
}

/* ---- the other direction ---- */

/* The direction, from the host, that alone of its link group stands where the socket has written
 * to. Behind what the capture lacks it may stand elsewhere. */
static smcr_conn_t *
half_at(const smcr_state_t *state _U_, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    const wmem_list_t *halves = qp->link->lgr->halves;
    smcr_conn_t *found = NULL;

    SMCR_LIST_EACH(smcr_conn_t *, half, halves) {
        const smcr_conn_side_t *writer = &half->side[qp->side];
        if (writer->has_token || !smcr_evidence_is_current(half, !qp->side) ||
            smcr_conn_has_closed(half) || !smcr_conn_is_late(half) ||
            !smcr_ring_cursors_are_same(writer->prod, told->tx_prod))
            continue;
        if (found)
            return NULL;
        found = half;
    }
    return found;
}

/* The same in all link groups between the two hosts, if no other socket has written so far. */
static smcr_conn_t *
other_half(const smcr_arrival_t *arrival, const smcr_socket_t *socket, int *side)
{
    const smcr_told_socket_t *told = &socket->told;

    return smcr_socket_at(arrival->state, told->gid[SMCR_TOLD_OWN], told->tx_prod) == socket
               ? find_alone(arrival, told, half_at, side) : NULL;
}

/* The connection, of which the host has `side`, with what its other host tells. */
static smcr_conn_t *
with_mirror(smcr_state_t *state, const smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    if (!socket->mirror || socket->mirror->is_doubtful || conn->side[!side].has_token)
        return conn;
    uint32_t token = socket->mirror->told.token;
    smcr_conn_t *other = smcr_conn_find(state, conn->lgr, !side, token);
    if (!other && !socket->told.undated && !socket->mirror->told.undated)
        smcr_conn_set_token(state, conn, !side, token);
    else if (other && go_together(conn, other, side, &socket->told))
        return smcr_join_directions(state, conn, other, side);
    return conn;
}

static void
name_conn(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    take_in_socket(arrival, socket, with_mirror(arrival->state, socket, conn, side), side);
}

/* ---- what hosts tell ---- */

static const char told_later[] = "The stream stands before where a host has told that it was";
static const char told_cursors[] = "Cursors are not those of the connection with this token";
static const char told_others[] = "Ends, role or sizes are not those of the connection";
static const char told_twice[] = "Another socket has this token";

static void
tell_doubt(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    socket->is_doubtful = true;
    smcr_event_add(arrival, SMCR_EVENT_told_otherwise, "%s%s",
                   socket->told.undated ? "The smcss file is not believed. " : "", text);
}

/* What the host has told is of another time, or of another host: the connection has no name, and
 * how far it has come is not known. */
static void
disbelieve(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    smcr_conn_t *conn = smcr_conn_now(socket->conn);

    tell_doubt(arrival, socket, text);
    if (conn && conn->lgr->server_of_file == socket) { /* who tells the same says so again */
        conn->lgr->server_of_file = NULL;
        conn->lgr->server = SMCR_LGR_SIDE_UNKNOWN;
    }
    if (!conn || !conn->socket || !smcr_conn_is_late(conn) ||
        (conn->socket != socket && (socket->told.undated || conn->socket != socket->mirror)))
        return;
    smcr_socket_drop_conn(arrival->state, socket, conn);
    for (int side = 0; side < 2; side++) {
        conn->side[side].in.known = false;
        conn->side[side].size = 0;
    }
}

/* Another socket has the token: nobody knows whose it is, or a file is of another time. */
static smcr_socket_t *
keep_socket(const smcr_arrival_t *arrival, const smcr_told_socket_t *told, uint64_t dump)
{
    smcr_socket_t *before =
        smcr_socket_of_token(arrival->state, told->gid[SMCR_TOLD_OWN], told->token);
    smcr_socket_t *socket = smcr_socket_keep(arrival->state, told, dump, arrival->when);
    bool is_other = before && before != socket;

    socket->is_doubtful = is_other && (told->undated || before->dump == dump);
    if (is_other && !before->is_doubtful && (before->told.undated || before->dump == dump))
        disbelieve(arrival, before, told_twice);
    return socket;
}

/* The socket is like the connection: believed, doubted, or judged at the next message. */
static void
judge_cursors(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    if (stands_there(socket, conn, side, false))
        name_conn(arrival, socket, conn, side);
    else if (!stands_there(socket, conn, side, true))
        tell_doubt(arrival, socket, told_cursors);
}

/* A socket of SMC-R, with a token. */
static void
take_in_told(const smcr_arrival_t *arrival, smcr_socket_t *socket)
{
    const smcr_told_socket_t *told = &socket->told;
    int side = 0;
    smcr_conn_t *conn =
        socket->is_doubtful ? NULL : find_alone(arrival, told, conn_of_token, &side);

    if (conn && is_like(told, conn, side)) {
        judge_cursors(arrival, socket, conn, side);
    } else if (conn) {
        tell_doubt(arrival, socket, told_others);
        if (conn->socket && !smcr_conn_has_closed(conn) && stands_there(socket, conn, side, false))
            disbelieve(arrival, conn->socket, told_twice); /* both cannot be, and each may */
    }
}

/* A socket that has fallen back to TCP. Which end is the client is not told. */
static void
take_in_fallback(smcr_state_t *state, smcr_socket_t *socket)
{
    const smcr_told_socket_t *told = &socket->told;

    if (socket->conn || !told->port[SMCR_TOLD_PEER])
        return;
    smcr_conn_t *conn = smcr_conn_new(state);
    take_in_ends(state, conn, told);
    conn->no_roles = true;
    conn->fallback = (smcr_fallback_t){.kind = SMCR_FALLBACK_TOLD,
                                       .frame = socket->first.frame,
                                       .code = told->reason,
                                       .peer_code = told->peer_reason, .no_roles = true};
    smcr_socket_set_conn(state, socket, conn);
}

/* A host that listens on the port of its own end is the server. */
static void
take_in_server(smcr_state_t *state, smcr_socket_t *socket)
{
    smcr_conn_t *conn = socket->conn;

    if (!conn || conn->fallback.kind != SMCR_FALLBACK_TOLD || !conn->no_roles ||
        !smcr_socket_listens(state, socket))
        return;
    socket->told.is_server = true;
    take_in_ends(state, conn, &socket->told);
    conn->no_roles = conn->fallback.no_roles = false;
}

/* All sockets of the host are known now: so is which of them alone has written so far. */
static void
end_dump(const smcr_arrival_t *arrival, uint64_t dump)
{
    smcr_state_t *state = arrival->state;

    for (smcr_socket_t *socket = smcr_socket_last(state); socket; socket = socket->older) {
        if (socket->dump != dump || socket->whole_frame) /* a copy of the end is no other end */
            continue;
        socket->whole_frame = arrival->when.frame;
        take_in_server(state, socket);
    }
    for (smcr_socket_t *socket = smcr_socket_last(state); socket; socket = socket->older) {
        int side = 0;
        bool asks = socket->whole_frame == arrival->when.frame && !socket->is_doubtful;
        smcr_conn_t *half = asks ? other_half(arrival, socket, &side) : NULL;
        smcr_conn_t *conn = smcr_conn_now(socket->conn);
        if (!half || !is_like(&socket->told, half, side) ||
            (!conn && smcr_conn_find(state, half->lgr, side, socket->told.token)))
            continue; /* or it waits for what the one with its token says next */
        if (!conn) {
            smcr_conn_set_token(state, half, side, socket->told.token);
            name_conn(arrival, socket, half, side);
        } else if (!conn->side[!side].has_token && go_together(conn, half, side, &socket->told)) {
            take_in_socket(arrival, socket, smcr_join_directions(state, conn, half, side), side);
        }
    }
}

static void
take_in_told_link(const smcr_arrival_t *arrival, const smcr_told_link_t *told)
{
    smcr_told_socket_t ends = {.has_lgr = true};

    smcr_socket_keep_link(arrival->state, told);
    memcpy(ends.gid, told->gid, sizeof ends.gid);
    wmem_list_t *qps = smcr_socket_qps(arrival->state, &ends, arrival->when.frame);
    SMCR_LIST_EACH(smcr_qp_t *, qp, qps)
        take_in_link(arrival->state, qp);
}

void
smcr_state_told(const smcr_arrival_t *arrival, const smcr_told_t *told)
{
    const smcr_told_socket_t *socket = &told->u.socket;
    bool is_socket = told->kind == SMCR_TOLD_SOCKET;

    smcr_state_learns(arrival->state, arrival->when.frame);
    if (told->kind == SMCR_TOLD_CUT)
        smcr_socket_cut_dump(arrival->state, told->dump);
    else if (told->kind == SMCR_TOLD_DONE && !smcr_socket_is_cut(arrival->state, told->dump))
        end_dump(arrival, told->dump);
    else if (told->kind == SMCR_TOLD_LGR)
        smcr_socket_keep_lgr(arrival->state, &told->u.lgr);
    else if (told->kind == SMCR_TOLD_LINK)
        take_in_told_link(arrival, &told->u.link);
    if (is_socket && socket->state == SMCR_TOLD_LISTEN)
        smcr_socket_keep_listener(arrival->state, socket, told->dump);
    else if (is_socket && socket->mode == SMCR_TOLD_FALLBACK && socket->has_fallback)
        take_in_fallback(arrival->state,
                         smcr_socket_keep(arrival->state, socket, told->dump, arrival->when));
    else if (is_socket && socket->mode == SMCR_TOLD_SMCR && socket->has_conn && socket->has_lgr)
        take_in_told(arrival, keep_socket(arrival, socket, told->dump));
}

/* ---- what the wire shows after that ---- */

/* Whether the message can be what comes to the host next, or soon. */
static bool
may_follow(const smcr_arrival_t *arrival, smcr_socket_t *socket, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_told_socket_t *told = &socket->told;
    const smcr_ring_t ring = {told->size[SMCR_TOLD_OWN], 0};
    int64_t ahead = smcr_ring_distance(&ring, told->rx_prod, cdc->prod);

    if (ahead < 0 && !socket->is_doubtful && arrival->when.time > socket->time)
        disbelieve(arrival, socket, told_later);
    return !socket->is_doubtful && ahead >= 0 && ahead <= ring.size &&
           has_role(qp->link->lgr, told, qp->side);
}

/* Whether the host of the socket had written up to the message, but for RDMA WRITEs that come right
 * before it and whose owner is not known. */
static bool
goes_on_to(const smcr_arrival_t *arrival, const smcr_socket_t *socket, smcr_cursor_t prod)
{
    const smcr_ring_t ring = {socket->told.size[SMCR_TOLD_PEER], 0};
    int64_t written = smcr_ring_distance(&ring, socket->told.tx_prod, prod);
    smcr_psn_t psn = arrival->psn;
    const smcr_write_t *write;

    for (unsigned back = 1; written > 0 && (write = smcr_write_last(arrival->qp, back)) != NULL &&
                            !write->conn && write->first_psn + write->packets == psn;
         back++) {
        written -= write->length;
        psn = write->first_psn;
    }
    return written == 0;
}

/* The socket of the sender that alone goes on to the message, of those of which the other end is
 * not known. NULL: there is none, or there are very many. */
static smcr_socket_t *
socket_of_sender(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const uint8_t *gid = smcr_qp_peer(arrival->qp)->key.gid;
    smcr_socket_t *found = NULL, *socket = smcr_socket_last(arrival->state);
    unsigned looked_at = 0;

    for (; socket; socket = socket->older) {
        if (++looked_at > SOCKETS_MAX)
            return NULL;
        if (socket->is_doubtful || socket->mirror || !socket->whole_frame ||
            !smcr_gid_is_same(socket->told.gid[SMCR_TOLD_OWN], gid) ||
            !goes_on_to(arrival, socket, cdc->prod))
            continue;
        if (found)
            return NULL;
        found = socket;
    }
    return found;
}

smcr_socket_t *
smcr_state_told_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, int *side)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_socket_t *socket = smcr_socket_of_token(arrival->state, qp->key.gid, cdc->token);

    *side = qp->side;
    if (socket) /* one that has its connection is over, as that is */
        return !socket->told.undated && !socket->conn && may_follow(arrival, socket, cdc)
                   ? socket : NULL;
    if (!arrival->state->sockets)
        return NULL;
    *side = !qp->side;
    socket = socket_of_sender(arrival, cdc);
    const smcr_conn_t *conn = socket ? smcr_conn_now(socket->conn) : NULL;
    const smcr_conn_t none = {.lgr = qp->link->lgr};
    bool fits = socket && (conn ? conn->lgr == qp->link->lgr && !conn->side[qp->side].has_token
                                : is_like(&socket->told, &none, *side));
    return fits ? socket : NULL;
}

smcr_conn_t *
smcr_state_told_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket)
{
    const smcr_socket_t *mirror = socket->mirror;
    smcr_conn_t *conn = smcr_conn_now(socket->conn ? socket->conn : mirror ? mirror->conn : NULL);

    return conn && conn->lgr == arrival->qp->link->lgr && !conn->side[arrival->qp->side].has_token
               ? conn : NULL;
}

void
smcr_state_told_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                     int side)
{
    if (!conn->side[side].has_token)
        smcr_conn_set_token(arrival->state, conn, side, socket->told.token);
    name_conn(arrival, socket, conn, side);
}

void
smcr_state_told_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_stream_t *stream = &conn->side[qp->side].in;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];

    if (conn->socket && !sender->cdc_frame && stream->known &&
        smcr_ring_distance(&stream->ring, stream->prod, cdc->prod) < 0)
        disbelieve(arrival, conn->socket, told_later);
}

void
smcr_state_told_fallback(smcr_conn_t *conn, smcr_conn_t *known)
{
    if (!known->fallback.kind && !known->confirm_frame)
        known->fallback = conn->fallback;
    conn->joined = known;
}

/* What a file tells is of any time, so the token is its proof: one connection has it. Where the
 * other direction has its name, this one has it when both are one. */
static void
compare_with_file(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn)
{
    const smcr_told_socket_t *told = &socket->told;
    int side = arrival->qp->side;
    bool to_host = !conn->socket || conn->lgr->server == SMCR_LGR_SIDE_UNKNOWN
                       ? smcr_gid_is_same(told->gid[SMCR_TOLD_OWN], arrival->qp->key.gid)
                       : (conn->lgr->server == side) == told->is_server;
    int host = to_host ? side : !side;
    bool is_other = socket->conn && smcr_conn_now(socket->conn) != conn;
    smcr_conn_t *mirror = socket->mirror ? smcr_conn_now(socket->mirror->conn) : NULL;

    if (!is_like(told, conn, host)) {
        smcr_socket_t *other = conn->lgr->server_of_file;
        if (other && !has_role(conn->lgr, told, host)) /* nobody knows which line is right */
            disbelieve(arrival, other, told_others);
        if (!is_other && other != socket)
            disbelieve(arrival, socket, told_others);
    } else if (is_other) {
        disbelieve(arrival, socket, "Two connections have this token");
    } else if (!is_of_one(told, &conn->side[!side], to_host)) {
        disbelieve(arrival, socket, told_cursors);
    } else if (!mirror || mirror == conn || go_together(conn, mirror, host, told)) {
        name_conn(arrival, socket, conn, host);
    }
}

void
smcr_state_told_again(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    uint32_t token = conn->side[qp->side].token;
    smcr_socket_t *socket =
        conn->socket ? conn->socket
                     : smcr_socket_of_token(arrival->state, qp->key.gid, token);

    if (!socket || socket->is_doubtful)
        return;
    if (socket->told.undated)
        compare_with_file(arrival, socket, conn);
    else if (!socket->conn && is_like(&socket->told, conn, qp->side))
        judge_cursors(arrival, socket, conn, qp->side);
}
