/* What hosts report of their sockets over netlink: whose a connection is that began before the
 * capture.
 *
 * A report passes three steps. Judge the socket: may it be the connection that has its token, and
 * do the cursors agree? Place it: at that connection, and at the connection of which it is the
 * other direction. Take it in: addresses, roles, sizes, positions.
 *
 * A socket is joined to a connection by proof. A host reports the token of its own end, which CDC
 * messages to the host carry; the token of the other end is reported by the other host. Without a
 * token, a direction belongs to the socket if its last message stands exactly where the host has
 * written to, and no other socket and no other direction stands there.
 *
 * A report from a file of smcss has no time (`undated`), so its cursors prove nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#include "told_flow.h"
#include "write.h"
#include "state/evidence/evidence.h"
#include "state/model/socket.h"
#include "state/model/store.h"

#define SOCKETS_MAX 4096 /* sockets that are compared with one message */

/* ---- judge: does the capture agree with the report? ---- */

/* What a host reports of one of its two streams. */
typedef struct {
    uint32_t size;      /* of the receiver's RMB element, bytes */
    smcr_cursor_t prod; /* up to here the sender has written */
    smcr_cursor_t cons; /* up to here the receiver has read */
} told_stream_t;

/* The stream to the host that reports, or from it. */
static told_stream_t
told_stream(const smcr_told_socket_t *told, bool to_host)
{
    if (to_host)
        return (told_stream_t){told->size[SMCR_TOLD_OWN], told->rx_prod, told->tx_cons};
    return (told_stream_t){told->size[SMCR_TOLD_PEER], told->tx_prod, told->rx_cons};
}

/* Whether the report may be older than the last messages of `sender`: netlink and RoCE may be
 * captured at different places, so messages within SMCR_TIME_DISORDER may be on either side of a
 * dump. A message well before the report, at one of the two marks, has to be in the reported
 * cursor. */
static bool
may_be_older(const smcr_socket_t *socket, const smcr_ring_t *ring, smcr_cursor_t told,
             const smcr_conn_side_t *sender)
{
    bool recent = socket->time < sender->last_cdc_time + SMCR_TIME_DISORDER;

    for (unsigned i = 0; i < 2 && sender->mark_time[i]; i++)
        recent &= socket->time < sender->mark_time[i] + SMCR_TIME_DISORDER ||
                  smcr_ring_distance(ring, sender->mark_prod[i], told) >= 0;
    return recent;
}

/* Whether the reported producer cursor of `stream` agrees with the last message of `sender`. The
 * message may be ahead of the report if it is not older than the report by much. The report may be
 * ahead only if we wait, `waits`: the message with that cursor may come later in the capture, since
 * dumpcap does not sort the packets of several interfaces, or be missing; the next message
 * decides. */
static bool
cursor_agrees(const smcr_socket_t *socket, const told_stream_t *stream,
              const smcr_conn_side_t *sender, bool waits)
{
    const smcr_ring_t ring = {stream->size, 0};
    int64_t ahead = smcr_ring_distance(&ring, stream->prod, sender->prod);

    if (ahead > 0)
        return may_be_older(socket, &ring, stream->prod, sender) && ahead <= stream->size;
    if (ahead == 0)
        return true;
    return waits && sender->last_cdc_time < socket->time + SMCR_TIME_DISORDER;
}

/* Whether one moment of the host can lie before, or after, the last message of `writer`: both
 * cursors of the message are in the buffers, and neither is ahead of the report where the other is
 * after it. */
static bool
cursors_fit(const smcr_told_socket_t *told, const smcr_conn_side_t *writer, bool to_host)
{
    const told_stream_t stream = told_stream(told, to_host), back = told_stream(told, !to_host);
    const smcr_ring_t ring = {stream.size, 0}, reverse = {back.size, 0};

    return writer->prod.count < ring.size && writer->cons.count < reverse.size &&
           smcr_socket_cursors_agree(smcr_ring_distance(&ring, stream.prod, writer->prod),
                                     smcr_ring_distance(&reverse, back.cons, writer->cons));
}

/* Whether the last message of the side `from` agrees with the report. A side that has sent none
 * agrees; so does a side of which messages are missing since, for they may have moved the host
 * on. */
static bool
last_message_agrees(const smcr_socket_t *socket, const smcr_conn_t *conn, int from, bool to_host,
                    bool waits)
{
    const smcr_conn_side_t *writer = &conn->side[from];
    const told_stream_t stream = told_stream(&socket->reported, to_host);

    if (!writer->last_cdc_frame || !smcr_evidence_holds(&conn->side[!from].last_cdc_received))
        return true;
    return cursor_agrees(socket, &stream, writer, waits);
}

/* Whether the last messages of both sides agree with the report of the host that has `side`. */
static bool
cursors_agree(const smcr_socket_t *socket, const smcr_conn_t *conn, int side, bool waits)
{
    const smcr_told_socket_t *told = &socket->reported;

    return cursors_fit(told, &conn->side[!side], true) &&
           cursors_fit(told, &conn->side[side], false) &&
           last_message_agrees(socket, conn, !side, true, waits) &&
           last_message_agrees(socket, conn, side, false, waits);
}

/* Whether the TCP connection has this address and port at the end `role`: 0 client, 1 server. The
 * address is an IPv6 address, or an IPv4 address mapped into one. */
static bool
has_end(const smcr_conn_t *conn, unsigned role, const uint8_t *address, uint16_t port)
{
    if (conn->port[role] != port)
        return false;
    if (!conn->ipv4)
        return smcr_gid_is_same(conn->addr.ipv6[role], address);
    return smcr_gid_is_ipv4(address) && memcmp(conn->addr.ipv4[role], address + SMCR_GID_IPV4_AT,
                                               SMCR_GID_IPV4_LENGTH) == 0;
}

/* Whether the reported role can be that of `side`. A role that only a file reports gives way to
 * every other report. */
static bool
has_role(const smcr_lgr_t *lgr, const smcr_told_socket_t *told, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN || (lgr->role_source_file && !told->is_from_file) ||
           (lgr->server == side) == told->is_server;
}

/* Whether the report contradicts what is known of one end: size of the element, address, port.
 * `side` is the host's. */
static bool
contradicts_end(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side, unsigned end)
{
    bool is_own = end == SMCR_TOLD_OWN;
    unsigned role = is_own ? told->is_server : !told->is_server;
    uint32_t size = conn->side[is_own ? side : !side].size;

    if (size && size != told->size[end])
        return true;
    return conn->port[role] && !has_end(conn, role, told->address[end], told->port[end]);
}

/* Whether ends, roles and sizes are those of the connection, as far as they are known. The host has
 * `side`. */
static bool
is_like(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side)
{
    if (!has_role(conn->lgr, told, side))
        return false;
    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++)
        if (contradicts_end(told, conn, side, end))
            return false;
    return true;
}

/* Whether a reader at `cons` can have read what a writer has announced up to `prod`, in an element
 * of `size` bytes: not more than was announced, and not a whole round less. */
static bool
can_have_read(uint32_t size, smcr_cursor_t cons, smcr_cursor_t prod)
{
    int64_t unread = smcr_ring_distance(&(smcr_ring_t){size, 0}, cons, prod);

    return unread >= 0 && unread <= size;
}

/* Whether two directions can be of one connection: neither has the token of the other one, and who
 * reads has read what the other one wrote. `one` comes to `side`, and `other` goes from there. */
static bool
are_two_directions(const smcr_conn_t *one, const smcr_conn_t *other, int side,
                   const smcr_told_socket_t *told)
{
    const smcr_conn_side_t *to = &one->side[!side], *from = &other->side[side];
    bool lack_tokens = !one->side[!side].has_token && !other->side[side].has_token;

    return one->lgr == other->lgr && lack_tokens &&
           can_have_read(told->size[SMCR_TOLD_OWN], from->cons, to->prod) &&
           can_have_read(told->size[SMCR_TOLD_PEER], to->cons, from->prod);
}

/* ---- place: which connection ---- */

/* Finds the connection of the socket on one queue pair of the host; NULL: there is none. */
typedef smcr_conn_t *find_t(const smcr_state_t *state, const smcr_qp_t *qp,
                            const smcr_told_socket_t *told);

/* The only connection that `find` has for the socket, on all queue pairs between the two hosts;
 * `*side` is the host's. NULL: there is none, or there are several. */
static smcr_conn_t *
find_only_conn(const smcr_arrival_t *arrival, const smcr_told_socket_t *told, find_t *find,
               int *side)
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

/* The connection that CDC messages to the host name by the socket's token. */
static smcr_conn_t *
conn_of_token(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    return smcr_conn_find(state, qp->link->lgr, qp->side, told->token);
}

/* ---- take it in ---- */

/* Addresses and ports of both ends, as client and server. */
static void
take_in_ends(smcr_state_t *state, smcr_conn_t *conn, const smcr_told_socket_t *told)
{
    const unsigned own = told->is_server;

    smcr_conn_set_ends(state, conn, smcr_gid_is_ipv4(told->address[SMCR_TOLD_OWN]),
                       (const uint8_t *[]){told->address[own], told->address[!own]},
                       (const uint16_t[]){told->port[own], told->port[!own]});
}

/* The earliest place up to which a reader can have read when the last message of `writer` was sent:
 * one round before the producer cursor. `base`: offset of the first byte in the element. */
static smcr_cursor_t
earliest_cons(const smcr_conn_side_t *writer, uint32_t base)
{
    if (writer->prod.wrap)
        return (smcr_cursor_t){writer->prod.wrap - 1, writer->prod.count};
    return (smcr_cursor_t){0, base};
}

/* The stream that `side` receives begins with the reported size and cursors, unless CLC has
 * announced the size. Captured messages are newer than the report, so their cursors count. The
 * cursors of a file are of an unknown time: then the stream begins with the first captured message,
 * and all but one round before it has been read. */
static void
take_in_stream(smcr_conn_t *conn, int side, const smcr_told_socket_t *told, bool is_own)
{
    smcr_conn_side_t *reader = &conn->side[side];
    const smcr_conn_side_t *writer = &conn->side[!side];
    const told_stream_t stream = told_stream(told, is_own);
    const smcr_ring_t ring = {stream.size, conn->lgr->base[side]};
    smcr_cursor_t cons = told->is_from_file ? earliest_cons(writer, ring.base) : stream.cons;

    smcr_conn_side_update_stream(reader);
    if (reader->size || (told->is_from_file && !writer->last_cdc_frame))
        return;
    smcr_cursor_t prod = writer->last_cdc_frame ? writer->prod : stream.prod;
    reader->size = stream.size;
    smcr_stream_start_told(&reader->in, ring, prod, reader->last_cdc_frame ? reader->cons : cons);
    reader->last_positioned_write = reader->last_cdc_received;
}

/* The reported version and release, where CLC has announced none. Only version 2 has a release. */
static void
take_in_version(smcr_lgr_t *lgr, const smcr_told_lgr_t *told)
{
    bool has_release = told->version > 1;

    if (!lgr->version)
        lgr->version = MAX(told->version, 1);
    if (!lgr->has_release && has_release)
        lgr->release = told->release;
    lgr->has_release |= has_release;
}

/* What the host of the queue pair reports of its link and link group, where CLC and LLC have not
 * announced it. A link that is no longer in the report may belong to another group, which came
 * after the reported one; then number and group are not known any more. */
static void
take_in_link(smcr_state_t *state, smcr_qp_t *qp)
{
    const smcr_socket_link_t *told = smcr_socket_link_of(state, qp);
    smcr_link_t *link = qp->link;
    smcr_lgr_t *lgr = link->lgr;

    if (!told && lgr->netlink_reported[qp->side]) {
        lgr->netlink_reported[qp->side] = NULL;
        link->has_number = false;
    }
    if (!told || link->state == SMCR_LINK_DELETED)
        return;
    lgr->netlink_reported[qp->side] = told->lgr;
    lgr->server = told->lgr->is_server ? qp->side : !qp->side;
    lgr->role_source_file = NULL;
    if (!link->has_number)
        link->number = told->report.number;
    link->has_number = true;
    take_in_version(lgr, told->lgr);
}

/* Which side is the server. A file that alone says so is noted, since others may contradict it. */
static void
take_in_role(smcr_socket_t *socket, smcr_lgr_t *lgr, int side)
{
    if (!socket->reported.is_from_file)
        lgr->role_source_file = NULL;
    else if (lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        lgr->role_source_file = socket;
    lgr->server = socket->reported.is_server ? side : !side;
}

/* The connection, of which the host has `side`, is that of the socket. */
static void
take_in_socket(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    const smcr_told_socket_t *told = &socket->reported;
    smcr_link_t *link = arrival->qp ? arrival->qp->link : conn->side[!side].link;

    if (!conn->port[0])
        take_in_ends(arrival->state, conn, told);
    take_in_role(socket, conn->lgr, side);
    if (link && !conn->lgr->netlink_reported[side])
        take_in_link(arrival->state, &link->qp[side]);
    take_in_stream(conn, side, told, true);
    take_in_stream(conn, !side, told, false);
    smcr_socket_set_conn(arrival->state, socket, conn);
}

/* ---- the other direction ---- */

/* Whether the direction `half`, which goes from `side`, is open and has no token of the other end,
 * and the capture has all messages of it. A direction whose last messages are missing may stand
 * elsewhere than its last captured message. */
static bool
is_open_half(const smcr_conn_t *half, int side)
{
    if (half->side[side].has_token || !smcr_evidence_is_current(half, !side))
        return false;
    return !smcr_conn_has_closed(half) && smcr_conn_began_before_capture(half);
}

/* The only direction from the host, in its link group, that stands where the socket has written
 * to. */
static smcr_conn_t *
half_at(const smcr_state_t *state _U_, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    const wmem_list_t *halves = qp->link->lgr->one_direction_conns;
    smcr_conn_t *found = NULL;

    SMCR_LIST_EACH(smcr_conn_t *, half, halves) {
        if (!is_open_half(half, qp->side) ||
            !smcr_ring_cursors_are_same(half->side[qp->side].prod, told->tx_prod))
            continue;
        if (found)
            return NULL;
        found = half;
    }
    return found;
}

/* The same in all link groups between the two hosts, if no other socket of the dump has written up
 * to the same cursor. NULL: there is none, or several. */
static smcr_conn_t *
other_half(const smcr_arrival_t *arrival, const smcr_socket_t *socket, int *side)
{
    const smcr_told_socket_t *told = &socket->reported;
    const smcr_socket_t *only =
        smcr_socket_of_cursor(arrival->state, told->gid[SMCR_TOLD_OWN], told->tx_prod);

    return only == socket ? find_only_conn(arrival, told, half_at, side) : NULL;
}

/* Whether the other host has reported its end, and nothing contradicts that report. */
static bool
has_believed_mirror(const smcr_socket_t *socket)
{
    return socket->mirror && !socket->mirror->is_contradicted;
}

/* The connection, of which the host has `side`, after the report of its other host, the mirror:
 * that has the token of the other direction. A direction with this token is joined to the
 * connection. Of a file, the token alone is no proof. Returns the connection that both are. */
static smcr_conn_t *
join_mirror(smcr_state_t *state, const smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    if (!has_believed_mirror(socket) || conn->side[!side].has_token)
        return conn;
    uint32_t token = socket->mirror->reported.token;
    smcr_conn_t *other = smcr_conn_find(state, conn->lgr, !side, token);
    if (!other && !socket->reported.is_from_file && !socket->mirror->reported.is_from_file)
        smcr_conn_set_token(state, conn, !side, token);
    else if (other && are_two_directions(conn, other, side, &socket->reported))
        return smcr_join_directions(state, conn, other, side);
    return conn;
}

/* The connection gets the name of the socket, and what its other host reports. */
static void
name_conn(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    take_in_socket(arrival, socket, join_mirror(arrival->state, socket, conn, side), side);
}

/* ---- reports of hosts ---- */

static const char told_later[] = "The stream stands before where a host has told that it was";
static const char told_cursors[] = "Cursors are not those of the connection with this token";
static const char told_others[] = "Ends, role or sizes are not those of the connection";
static const char told_twice[] = "Another socket has this token";

/* The capture contradicts the report: it names nothing from now on. `text` is why. */
static void
tell_doubt(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    socket->is_contradicted = true;
    smcr_event_add(arrival, SMCR_EVENT_told_otherwise, "%s%s",
                   socket->reported.is_from_file ? "The smcss file is not believed. " : "", text);
}

/* Whether the connection has its name from the socket, or from the report of the other host. The
 * lines of a file are not compared with each other. */
static bool
is_named_by(const smcr_conn_t *conn, const smcr_socket_t *socket)
{
    return conn->socket == socket ||
           (!socket->reported.is_from_file && conn->socket == socket->mirror);
}

/* The report is of another time, or of another host: the connection loses its name, and its
 * positions and sizes are not known any more. A role that the file alone has reported is open
 * again; whoever reports the same, reports it once more. */
static void
disbelieve(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    smcr_conn_t *conn = smcr_conn_merged(socket->conn);

    tell_doubt(arrival, socket, text);
    if (!conn)
        return;
    if (conn->lgr->role_source_file == socket) {
        conn->lgr->role_source_file = NULL;
        conn->lgr->server = SMCR_LGR_SIDE_UNKNOWN;
    }
    if (!conn->socket || !smcr_conn_began_before_capture(conn) || !is_named_by(conn, socket))
        return;
    smcr_socket_drop_conn(arrival->state, socket, conn);
    for (int side = 0; side < 2; side++) {
        conn->side[side].in.positions_known = false;
        conn->side[side].size = 0;
    }
}

/* Keeps the report. If two sockets of one dump have the token, nobody knows whose it is. A file
 * whose token another socket has, too, is of another time. Else the new socket has the token
 * now. */
static smcr_socket_t *
keep_socket(const smcr_arrival_t *arrival, const smcr_told_socket_t *told, uint64_t dump)
{
    smcr_socket_t *before =
        smcr_socket_of_token(arrival->state, told->gid[SMCR_TOLD_OWN], told->token);
    smcr_socket_t *socket = smcr_socket_keep(arrival->state, told, dump, arrival->when);
    bool is_other = before && before != socket;

    socket->is_contradicted = is_other && (told->is_from_file || before->dump == dump);
    if (is_other && !before->is_contradicted &&
        (before->reported.is_from_file || before->dump == dump))
        disbelieve(arrival, before, told_twice);
    return socket;
}

/* Ends and role of the socket are those of the connection. Cursors that agree name it; cursors that
 * contradict it make the socket doubtful; else the next message decides. */
static void
judge_cursors(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    if (cursors_agree(socket, conn, side, false))
        name_conn(arrival, socket, conn, side);
    else if (!cursors_agree(socket, conn, side, true))
        tell_doubt(arrival, socket, told_cursors);
}

static bool
is_named_and_open(const smcr_conn_t *conn)
{
    return conn->socket && !smcr_conn_has_closed(conn);
}

/* A socket of SMC-R, with a token. If it contradicts a connection whose name agrees with the wire,
 * one of the two reports is wrong, and nobody knows which. */
static void
take_in_smcr_socket(const smcr_arrival_t *arrival, smcr_socket_t *socket)
{
    const smcr_told_socket_t *told = &socket->reported;
    int side = 0;
    smcr_conn_t *conn =
        socket->is_contradicted ? NULL : find_only_conn(arrival, told, conn_of_token, &side);

    if (conn && is_like(told, conn, side)) {
        judge_cursors(arrival, socket, conn, side);
    } else if (conn) {
        tell_doubt(arrival, socket, told_others);
        if (is_named_and_open(conn) && cursors_agree(socket, conn, side, false))
            disbelieve(arrival, conn->socket, told_twice);
    }
}

/* A socket that has fallen back to TCP is a connection of its own. The report does not say which
 * end is the client. */
static void
take_in_fallback(smcr_state_t *state, smcr_socket_t *socket)
{
    const smcr_told_socket_t *told = &socket->reported;

    if (socket->conn || !told->port[SMCR_TOLD_PEER])
        return;
    smcr_conn_t *conn = smcr_conn_new(state);
    take_in_ends(state, conn, told);
    conn->roles_unknown = true;
    conn->fallback = (smcr_fallback_t){.kind = SMCR_FALLBACK_TOLD,
                                       .frame = socket->first.frame,
                                       .code = told->reason,
                                       .peer_code = told->peer_reason, .roles_unknown = true};
    smcr_socket_set_conn(state, socket, conn);
}

/* A host that listens on the port of its own end is the server. */
static void
take_in_server(smcr_state_t *state, smcr_socket_t *socket)
{
    smcr_conn_t *conn = socket->conn;

    if (!conn || conn->fallback.kind != SMCR_FALLBACK_TOLD || !conn->roles_unknown ||
        !smcr_socket_listens(state, socket))
        return;
    socket->reported.is_server = true;
    take_in_ends(state, conn, &socket->reported);
    conn->roles_unknown = conn->fallback.roles_unknown = false;
}

/* Marks the sockets of the dump as complete with this frame; those of the same dump, whose end is
 * captured twice, keep their frame. */
static void
mark_whole_dump(const smcr_arrival_t *arrival, uint64_t dump)
{
    smcr_socket_t *socket = smcr_socket_newest(arrival->state);

    for (; socket; socket = socket->older) {
        if (socket->dump != dump || socket->dump_end_frame)
            continue;
        socket->dump_end_frame = arrival->when.frame;
        take_in_server(arrival->state, socket);
    }
}

/* Names the direction that stands where the socket has written to; or joins it to the connection of
 * the socket. If another direction has the token of the socket, its next message decides. */
static void
name_half(const smcr_arrival_t *arrival, smcr_socket_t *socket)
{
    smcr_state_t *state = arrival->state;
    int side = 0;
    smcr_conn_t *half = other_half(arrival, socket, &side);
    smcr_conn_t *conn = smcr_conn_merged(socket->conn);

    if (!half || !is_like(&socket->reported, half, side))
        return;
    if (conn) {
        if (!conn->side[!side].has_token && are_two_directions(conn, half, side, &socket->reported))
            take_in_socket(arrival, socket, smcr_join_directions(state, conn, half, side), side);
    } else if (!smcr_conn_find(state, half->lgr, side, socket->reported.token)) {
        smcr_conn_set_token(state, half, side, socket->reported.token);
        name_conn(arrival, socket, half, side);
    }
}

/* The dump has ended, so all sockets of the host are known: also, which of them alone has written
 * up to a cursor. */
static void
end_dump(const smcr_arrival_t *arrival, uint64_t dump)
{
    mark_whole_dump(arrival, dump);
    for (smcr_socket_t *socket = smcr_socket_newest(arrival->state); socket; socket = socket->older)
        if (socket->dump_end_frame == arrival->when.frame && !socket->is_contradicted)
            name_half(arrival, socket);
}

/* A report of a link: it counts for all queue pairs of the host between the two GIDs. */
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

/* A report of a socket: it listens, has fallen back to TCP, or uses SMC-R. */
static void
take_in_told_socket(const smcr_arrival_t *arrival, const smcr_told_t *told)
{
    const smcr_told_socket_t *socket = &told->u.socket;
    bool fell_back = socket->mode == SMCR_TOLD_FALLBACK && socket->has_fallback;
    bool uses_smcr = socket->mode == SMCR_TOLD_SMCR && socket->has_conn && socket->has_lgr;

    if (socket->state == SMCR_TOLD_LISTEN)
        smcr_socket_keep_listener(arrival->state, socket, told->dump);
    else if (fell_back)
        take_in_fallback(arrival->state,
                         smcr_socket_keep(arrival->state, socket, told->dump, arrival->when));
    else if (uses_smcr)
        take_in_smcr_socket(arrival, keep_socket(arrival, socket, told->dump));
}

void
smcr_state_report(const smcr_arrival_t *arrival, const smcr_told_t *told)
{
    smcr_state_learns(arrival->state, arrival->when.frame);
    if (told->kind == SMCR_TOLD_CUT)
        smcr_socket_cut_dump(arrival->state, told->dump);
    else if (told->kind == SMCR_TOLD_DONE && !smcr_socket_is_cut(arrival->state, told->dump))
        end_dump(arrival, told->dump);
    else if (told->kind == SMCR_TOLD_LGR)
        smcr_socket_keep_lgr(arrival->state, &told->u.lgr);
    else if (told->kind == SMCR_TOLD_LINK)
        take_in_told_link(arrival, &told->u.link);
    else if (told->kind == SMCR_TOLD_SOCKET)
        take_in_told_socket(arrival, told);
}

/* ---- messages after a report ---- */

/* Whether the message can be one of the next to the host of the socket: it announces at most one
 * round more than the host has received. A message with an older cursor that is sent after the
 * report shows that the report is wrong. */
static bool
may_follow(const smcr_arrival_t *arrival, smcr_socket_t *socket, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_told_socket_t *told = &socket->reported;
    const smcr_ring_t ring = {told->size[SMCR_TOLD_OWN], 0};
    int64_t ahead = smcr_ring_distance(&ring, told->rx_prod, cdc->prod);

    if (ahead < 0 && !socket->is_contradicted && arrival->when.time > socket->time)
        disbelieve(arrival, socket, told_later);
    return !socket->is_contradicted && ahead >= 0 && ahead <= ring.size &&
           has_role(qp->link->lgr, told, qp->side);
}

/* Whether the message is the next of the socket: it announces what the host had written at the
 * report, plus the RDMA WRITEs that come right before it and whose owner is not known. Example: at
 * the report the host had written up to 1000, then a WRITE of 200 bytes and a CDC message with 1200
 * follow. */
static bool
is_next_message_of(const smcr_arrival_t *arrival, const smcr_socket_t *socket, smcr_cursor_t prod)
{
    const smcr_ring_t ring = {socket->reported.size[SMCR_TOLD_PEER], 0};
    int64_t unexplained = smcr_ring_distance(&ring, socket->reported.tx_prod, prod);
    smcr_psn_t psn = arrival->psn;

    for (unsigned back = 1; unexplained > 0; back++) {
        const smcr_write_t *write = smcr_write_recent(arrival->qp, back);
        if (!write || write->conn || write->first_psn + write->packets != psn)
            break;
        unexplained -= write->length;
        psn = write->first_psn;
    }
    return unexplained == 0;
}

/* Whether the socket is a candidate for a message from the host with this GID: its dump is
 * complete, and the report of the other end is missing. */
static bool
is_candidate(const smcr_socket_t *socket, const uint8_t *gid)
{
    return !socket->is_contradicted && !socket->mirror && socket->dump_end_frame &&
           smcr_gid_is_same(socket->reported.gid[SMCR_TOLD_OWN], gid);
}

/* The only socket of the sender of which the message is the next. NULL: there is none, or several,
 * or more than SOCKETS_MAX sockets to compare. */
static smcr_socket_t *
socket_of_sender(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const uint8_t *gid = smcr_qp_peer(arrival->qp)->key.gid;
    smcr_socket_t *found = NULL, *socket = smcr_socket_newest(arrival->state);
    unsigned looked_at = 0;

    for (; socket; socket = socket->older) {
        if (++looked_at > SOCKETS_MAX)
            return NULL;
        if (!is_candidate(socket, gid) || !is_next_message_of(arrival, socket, cdc->prod))
            continue;
        if (found)
            return NULL;
        found = socket;
    }
    return found;
}

/* Whether the message can belong to the socket of its sender: to the socket's connection, whose
 * other direction has no token yet; or to none so far, if the roles agree. `side`: the sender's. */
static bool
may_send_for(const smcr_socket_t *socket, const smcr_qp_t *qp, int side)
{
    const smcr_conn_t *conn = smcr_conn_merged(socket->conn);
    const smcr_conn_t none = {.lgr = qp->link->lgr};

    if (conn)
        return conn->lgr == qp->link->lgr && !conn->side[qp->side].has_token;
    return is_like(&socket->reported, &none, side);
}

/* A socket with the token of the message is the receiver's; if it has its connection already, that
 * has ended, and the socket with it. Else the socket may be the sender's. */
smcr_socket_t *
smcr_state_report_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, int *side)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_socket_t *socket = smcr_socket_of_token(arrival->state, qp->key.gid, cdc->token);

    *side = qp->side;
    if (socket) {
        bool follows =
            !socket->reported.is_from_file && !socket->conn && may_follow(arrival, socket, cdc);
        return follows ? socket : NULL;
    }
    if (!arrival->state->sockets)
        return NULL;
    *side = !qp->side;
    socket = socket_of_sender(arrival, cdc);
    return socket && may_send_for(socket, qp, *side) ? socket : NULL;
}

smcr_conn_t *
smcr_state_report_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket)
{
    const smcr_socket_t *mirror = socket->mirror;
    smcr_conn_t *conn = socket->conn;

    if (!conn && mirror)
        conn = mirror->conn;
    conn = smcr_conn_merged(conn);
    bool fits = conn && conn->lgr == arrival->qp->link->lgr &&
                !conn->side[arrival->qp->side].has_token;
    return fits ? conn : NULL;
}

void
smcr_state_report_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                       int side)
{
    if (!conn->side[side].has_token)
        smcr_conn_set_token(arrival->state, conn, side, socket->reported.token);
    name_conn(arrival, socket, conn, side);
}

void
smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_stream_t *stream = &conn->side[qp->side].in;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];

    if (conn->socket && !sender->last_cdc_frame && stream->positions_known &&
        smcr_ring_distance(&stream->ring, stream->prod, cdc->prod) < 0)
        disbelieve(arrival, conn->socket, told_later);
}

void
smcr_state_report_fallback(smcr_conn_t *conn, smcr_conn_t *known)
{
    if (!known->fallback.kind && !known->confirm_frame)
        known->fallback = conn->fallback;
    conn->merged_into = known;
}

/* Whether the line of the file is that of the host which receives the message. A connection that
 * has a name has roles, which say so; else the GID does. */
static bool
is_line_of_receiver(const smcr_told_socket_t *told, const smcr_conn_t *conn, const smcr_qp_t *qp)
{
    if (!conn->socket || conn->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return smcr_gid_is_same(told->gid[SMCR_TOLD_OWN], qp->key.gid);
    return (conn->lgr->server == qp->side) == told->is_server;
}

/* The line of the file contradicts the connection, so it is not believed. If another line has given
 * the group its roles, and the two lines contradict each other, nobody knows which is right:
 * neither is believed. `is_other`: the line has named another connection before. */
static void
disbelieve_line(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int host,
                bool is_other)
{
    smcr_socket_t *other = conn->lgr->role_source_file;

    if (other && !has_role(conn->lgr, &socket->reported, host))
        disbelieve(arrival, other, told_others);
    if (!is_other && other != socket)
        disbelieve(arrival, socket, told_others);
}

/* Whether the line of the other end agrees: it has no connection, or this one, or the other
 * direction of this one. */
static bool
mirror_agrees(const smcr_socket_t *socket, const smcr_conn_t *conn, int host)
{
    const smcr_conn_t *mirror = socket->mirror ? smcr_conn_merged(socket->mirror->conn) : NULL;

    return !mirror || mirror == conn || are_two_directions(conn, mirror, host, &socket->reported);
}

/* A message of a connection whose token a file reports. The report has no time, so its cursors do
 * not prove the connection; the token does, if only one connection has it, and nothing contradicts
 * the line. If the other direction has its name already, this one gets it when both are joined. */
static void
compare_with_file(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn)
{
    const smcr_told_socket_t *told = &socket->reported;
    int side = arrival->qp->side;
    bool to_host = is_line_of_receiver(told, conn, arrival->qp);
    int host = to_host ? side : !side;
    bool is_other = socket->conn && smcr_conn_merged(socket->conn) != conn;

    if (!is_like(told, conn, host))
        disbelieve_line(arrival, socket, conn, host, is_other);
    else if (is_other)
        disbelieve(arrival, socket, "Two connections have this token");
    else if (!cursors_fit(told, &conn->side[!side], to_host))
        disbelieve(arrival, socket, told_cursors);
    else if (mirror_agrees(socket, conn, host))
        name_conn(arrival, socket, conn, host);
}

void
smcr_state_report_compare(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    uint32_t token = conn->side[qp->side].token;
    smcr_socket_t *socket =
        conn->socket ? conn->socket
                     : smcr_socket_of_token(arrival->state, qp->key.gid, token);

    if (!socket || socket->is_contradicted)
        return;
    if (socket->reported.is_from_file)
        compare_with_file(arrival, socket, conn);
    else if (!socket->conn && is_like(&socket->reported, conn, qp->side))
        judge_cursors(arrival, socket, conn, qp->side);
}
