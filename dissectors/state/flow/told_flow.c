/* What hosts report of their sockets over netlink. A report names a connection that began before
 * the capture: it gives the connection its addresses and ports.
 *
 * A report passes three steps. First, the report is judged: do the addresses, ports, roles and
 * cursors of the socket agree with the connection that has its token? Second, its connection is
 * found. If two connection objects are the two directions of one connection, both are found. Third,
 * the state takes in addresses, roles, sizes and positions from the report.
 *
 * A socket gets a connection only if one of two facts proves it. 1. The token: a host reports the
 * token of its own end, which CDC messages to this host carry. 2. The producer cursor: the last
 * producer cursor of a direction from the host is exactly the reported one, and no other socket and
 * no other direction has this cursor.
 *
 * A report from a file of smcss has no time (`is_from_file`), so its cursors prove nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "told_flow.h"
#include "state/evidence/evidence.h"
#include "state/flow/writes/writes.h"
#include "state/model/socket.h"
#include "state/model/store.h"

#define SOCKETS_MAX 4096 /* maximum number of sockets that are compared with one CDC message */

/* ---- judge: does the capture agree with the report? ---- */

/* One of the two streams of a socket, as its host reports it. */
typedef struct {
    uint32_t size;      /* size of the receiver's RMB element, bytes */
    smcr_cursor_t prod; /* producer cursor: up to where the sender has written */
    smcr_cursor_t cons; /* consumer cursor: up to where the receiver has read */
} told_stream_t;

/* The stream that the reporting host receives, or the stream that it sends. */
static told_stream_t
told_stream(const smcr_told_socket_t *told, bool to_host)
{
    if (to_host)
        return (told_stream_t){told->size[SMCR_TOLD_OWN], told->rx_prod, told->tx_cons};
    return (told_stream_t){told->size[SMCR_TOLD_PEER], told->tx_prod, told->rx_cons};
}

/* Whether the report may be older than the last message of `sender`. Netlink and RoCE may be
 * captured at different places, so a message less than SMCR_TIME_DISORDER before the report may be
 * missing in the report. The report has to include earlier messages. The sender's marks
 * (`mark_prod`) are the producer cursors of two earlier messages. `told`, the reported producer
 * cursor, must not be before a mark that came SMCR_TIME_DISORDER before the report. */
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

/* Whether the reported producer cursor of `stream` agrees with the last message of `sender`. There
 * are three cases:
 *
 * - The message is ahead of the report, by one round at most. They agree if the report may be older
 *   than the message.
 * - The message has the reported cursor. They agree.
 * - The report is ahead. They agree only if `waits` is true: the caller lets the next message
 *   decide. The message with the reported cursor may be missing, or may come later in the capture,
 *   since dumpcap does not sort packets of several interfaces. */
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

/* Whether both cursors of the last message of `writer` fit the report. Two conditions: 1. the
 * offsets lie in the elements; 2. either no cursor is before its reported value, or no cursor is
 * after it. `to_host`: `writer` is the peer of the reporting host; false: `writer` is the reporting
 * host. */
static bool
cursors_fit(const smcr_told_socket_t *told, const smcr_conn_side_t *writer, bool to_host)
{
    const told_stream_t stream = told_stream(told, to_host), back = told_stream(told, !to_host);
    const smcr_ring_t ring = {stream.size, 0}, reverse = {back.size, 0};

    return writer->prod.count < ring.size && writer->cons.count < reverse.size &&
           smcr_socket_cursors_agree(smcr_ring_distance(&ring, stream.prod, writer->prod),
                                     smcr_ring_distance(&reverse, back.cons, writer->cons));
}

/* Whether the last CDC message of the side `from` agrees with the report of `socket`. Also true if
 * the side has sent no message, or if packets after its last captured message are missing, which
 * may explain a difference. `to_host`, `waits`: as for cursors_fit() and cursor_agrees(). */
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

/* Whether the last messages of both sides agree with the report of the host that has `side`.
 * `waits`: as for cursor_agrees(). */
static bool
cursors_agree(const smcr_socket_t *socket, const smcr_conn_t *conn, int side, bool waits)
{
    const smcr_told_socket_t *told = &socket->reported;

    return cursors_fit(told, &conn->side[!side], true) &&
           cursors_fit(told, &conn->side[side], false) &&
           last_message_agrees(socket, conn, !side, true, waits) &&
           last_message_agrees(socket, conn, side, false, waits);
}

/* Whether the TCP connection has this address and port at the end `role`: 0 client, 1 server.
 * `address`: an IPv6 address, or an IPv4 address mapped into IPv6. */
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

/* Whether the reported role, client or server, can be that of `side`. A role that the group has
 * only from a file of smcss does not contradict a report over netlink. */
static bool
has_role(const smcr_lgr_t *lgr, const smcr_told_socket_t *told, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN || (lgr->role_source_file && !told->is_from_file) ||
           (lgr->server == side) == told->is_server;
}

/* Whether the report contradicts what is known of one end of the connection: the size of its
 * element, its address, or its port. `side`: side of the reporting host. `end`: SMCR_TOLD_OWN or
 * SMCR_TOLD_PEER. */
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

/* Whether the report contradicts no known address, port, role or element size of the connection.
 * `side`: side of the reporting host. */
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

/* Whether a reader with the consumer cursor `cons` can be the reader of a writer with the producer
 * cursor `prod`, in an element of `size` bytes. The reader has read no more than was announced, and
 * the unread bytes fit into the element. */
static bool
can_have_read(uint32_t size, smcr_cursor_t cons, smcr_cursor_t prod)
{
    int64_t unread = smcr_ring_distance(&(smcr_ring_t){size, 0}, cons, prod);

    return unread >= 0 && unread <= size;
}

/* Whether two connection objects, of which only one direction is known, can be the two directions
 * of one connection. `one`: has the direction to `side`. `other`: has the direction from `side`.
 * Both objects must be in one link group, neither may know the token of the opposite direction, and
 * each reader's consumer cursor must fit the writer's producer cursor. */
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

/* A function that searches for the connection of the socket `told` on the queue pair `qp` of its
 * host. Returns NULL if there is none. */
typedef smcr_conn_t *find_t(const smcr_state_t *state, const smcr_qp_t *qp,
                            const smcr_told_socket_t *told);

/* Calls `find` for each queue pair of the socket's host whose link is between the two reported
 * GIDs. Returns the only connection that is found; NULL: there is none, or there are several.
 * `*side` gets the side of the socket's host. */
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

/* The connection with the socket's alert token: CDC messages to the host carry this token. */
static smcr_conn_t *
conn_of_token(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    return smcr_conn_find(state, qp->link->lgr, qp->side, told->token);
}

/* ---- the changes that a report makes ---- */

/* Sets addresses and ports of both ends of the connection, by role: client, server. */
static void
take_in_ends(smcr_state_t *state, smcr_conn_t *conn, const smcr_told_socket_t *told)
{
    const unsigned own = told->is_server;

    smcr_conn_set_ends(state, conn, smcr_gid_is_ipv4(told->address[SMCR_TOLD_OWN]),
                       (const uint8_t *[]){told->address[own], told->address[!own]},
                       (const uint16_t[]){told->port[own], told->port[!own]});
}

/* The lowest consumer cursor that the reader can have had when `writer` sent its last message: one
 * round before the writer's producer cursor. `base`: offset of the first byte of data in the
 * element. */
static smcr_cursor_t
earliest_cons(const smcr_conn_side_t *writer, uint32_t base)
{
    if (writer->prod.wrap)
        return (smcr_cursor_t){writer->prod.wrap - 1, writer->prod.count};
    return (smcr_cursor_t){0, base};
}

/* Starts the stream that `side` receives, with the reported size and cursors, unless CLC has
 * announced the size. If a CDC message of the connection is captured, its cursor counts and not the
 * reported one.
 *
 * The cursors in a file are of an unknown time. So with a file the stream starts only when a
 * message of the writer is captured, and with the lowest possible consumer cursor. `is_own`: `side`
 * is the side of the reporting host. */
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

/* Sets the reported SMC version and release if CLC has announced none. Only version 2 has a
 * release. */
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

/* Takes in what the host of the queue pair reports of its link and link group. A link number from
 * LLC and a version from CLC are kept.
 *
 * If an earlier report had the link, and the last one does not, the link may belong to a newer
 * group. Its number and reported group are then unknown. */
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

/* Sets the server's side of the group by the report of `socket`. If a line of a smcss file is the
 * only source of the role, notes this socket in `role_source_file`, since another report may
 * contradict it. */
static void
take_in_role(smcr_socket_t *socket, smcr_lgr_t *lgr, int side)
{
    if (!socket->reported.is_from_file)
        lgr->role_source_file = NULL;
    else if (lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        lgr->role_source_file = socket;
    lgr->server = socket->reported.is_server ? side : !side;
}

/* Connects the connection with the reported socket, and takes in the report. `side`: side of the
 * reporting host. */
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

/* Whether a reported socket may still be found for `half`, a connection of which only the direction
 * from `side` is known. Three conditions: 1. the token of the opposite direction is not known; 2.
 * the connection is open and began before the capture; 3. no CDC message of `side` can be missing,
 * so its last producer cursor is known. */
static bool
is_open_half(const smcr_conn_t *half, int side)
{
    if (half->side[side].has_token || !smcr_evidence_is_current(half, !side))
        return false;
    return !smcr_conn_has_closed(half) && smcr_conn_began_before_capture(half);
}

/* For find_only_conn(): the only connection in the link group of `qp` of which only the direction
 * from the host is known, and whose last producer cursor is the reported one. NULL: there is none,
 * or there are several. */
static smcr_conn_t *
find_half_at(const smcr_state_t *state _U_, const smcr_qp_t *qp, const smcr_told_socket_t *told)
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

/* The only connection, in all link groups between the two reported GIDs, that find_half_at() finds
 * for the socket. No other socket of the dump may report the same producer cursor. NULL: there is
 * none, or there are several. `*side` gets the side of the socket's host. */
static smcr_conn_t *
other_half(const smcr_arrival_t *arrival, const smcr_socket_t *socket, int *side)
{
    const smcr_told_socket_t *told = &socket->reported;
    const smcr_socket_t *only =
        smcr_socket_of_cursor(arrival->state, told->gid[SMCR_TOLD_OWN], told->tx_prod);

    return only == socket ? find_only_conn(arrival, told, find_half_at, side) : NULL;
}

/* Whether the other host has reported its end of the connection, and the capture does not
 * contradict that report. */
static bool
has_believed_mirror(const smcr_socket_t *socket)
{
    return socket->mirror && !socket->mirror->is_contradicted;
}

/* Joins the connection with its other direction, by the report of the other host (the socket's
 * mirror), which has the token of the other direction. If no connection has this token, `conn` gets
 * it, unless one of the two reports is from a file: then the token alone is no proof. `side`: side
 * of the socket's host. Returns the connection of both directions. */
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

/* Gives the connection the addresses and ports of the socket: first joins it with its other
 * direction (join_mirror()), and then takes in the report. `side`: side of the socket's host. */
static void
name_conn(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    take_in_socket(arrival, socket, join_mirror(arrival->state, socket, conn, side), side);
}

/* ---- reports of hosts ---- */

static const char told_later[] = "The position in the stream is below the one that a host has "
                                 "reported";
static const char told_cursors[] = "Cursors are not those of the connection with this token";
static const char told_others[] = "Ends, role or sizes are not those of the connection";
static const char told_twice[] = "Another socket has this token";

/* Notes that the capture contradicts the report of `socket`, which is not used for any connection
 * from now on, and adds an event. `text`: the reason, for the event. */
static void
report_doubt(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    socket->is_contradicted = true;
    smcr_event_add(arrival, SMCR_EVENT_told_otherwise, "%s%s",
                   socket->reported.is_from_file ? "The smcss file is ignored. " : "", text);
}

/* Whether the connection has its addresses and ports from the report of `socket`, or from the
 * report of the other host (the mirror). A line of a file does not count for the mirror's
 * connection. */
static bool
is_named_by(const smcr_conn_t *conn, const smcr_socket_t *socket)
{
    return conn->socket == socket ||
           (!socket->reported.is_from_file && conn->socket == socket->mirror);
}

/* Stops using the report of `socket`: it is of another time, or of another host. The connection
 * loses its addresses, ports, positions and sizes, if it has them from this report or, over
 * netlink, from the report of the other end (`mirror`). If this report is a line of a file, and was
 * the only source of the group's roles, the roles are unknown from now on. `text`: the reason, for
 * the event. */
static void
disbelieve(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    smcr_conn_t *conn = smcr_conn_merged(socket->conn);

    report_doubt(arrival, socket, text);
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

/* Keeps the report of a socket. If an earlier socket has the same token, there are three cases:
 *
 * - Both sockets are in one dump: it is not known which socket has the token, so neither report is
 *   used.
 * - One report is from a file: the file is of another time, so its report is not used.
 * - Otherwise the host has given the token to the new socket. */
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

/* Compares the cursors of a socket and of a connection that have equal addresses, ports and roles.
 * If the cursors agree, the connection gets the name of the socket. If no later message can make
 * them agree, the report is not used. Otherwise nothing happens, and the next message decides. */
static void
judge_cursors(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn, int side)
{
    if (cursors_agree(socket, conn, side, false))
        name_conn(arrival, socket, conn, side);
    else if (!cursors_agree(socket, conn, side, true))
        report_doubt(arrival, socket, told_cursors);
}

/* Whether the connection has the name of a socket and has not closed. */
static bool
is_named_and_open(const smcr_conn_t *conn)
{
    return conn->socket && !smcr_conn_has_closed(conn);
}

/* Takes in a report of a socket that uses SMC-R, and so has a token. If addresses, ports, role or
 * sizes contradict the connection with this token, the report is not used. If the cursors agree
 * nevertheless, the earlier report that has named this connection may be the wrong one, so that
 * report is not used either. */
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
        report_doubt(arrival, socket, told_others);
        if (is_named_and_open(conn) && cursors_agree(socket, conn, side, false))
            disbelieve(arrival, conn->socket, told_twice);
    }
}

/* Makes a connection of a socket that has fallen back to TCP, unless the socket has one, or the
 * report has no ports. The report does not say which end is the client. */
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

/* Sets the roles of a connection that has fallen back to TCP: if another socket of the host listens
 * on the same port, the host is the server. */
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

/* Notes this frame as the end of the dump, in each socket of the dump. If the end of the dump is
 * captured twice, the first one counts. */
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

/* Finds the only connection of which only the direction from the host is known, and whose last
 * producer cursor is the reported one (other_half()). If the socket has a connection, the two are
 * joined. If not, the found connection gets the socket's token and name, unless another connection
 * has this token. */
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

/* Takes in the end of a dump: all sockets of the host are known now, so it is known whether only
 * one socket has a certain cursor. */
static void
end_dump(const smcr_arrival_t *arrival, uint64_t dump)
{
    mark_whole_dump(arrival, dump);
    for (smcr_socket_t *socket = smcr_socket_newest(arrival->state); socket; socket = socket->older)
        if (socket->dump_end_frame == arrival->when.frame && !socket->is_contradicted)
            name_half(arrival, socket);
}

/* Takes in a report of a link. It applies to all queue pairs of the host between the two GIDs. */
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

/* Takes in a report of a socket. A socket listens, has fallen back to TCP, or uses SMC-R. */
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

/* A dump that is cut never ends: proofs that need a whole dump are not drawn from it. */
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

/* Whether the message can follow the report of `socket`, whose host receives the message: its
 * producer cursor is at most one round of the element after the reported one. If the cursor is
 * before the reported one, though the message came after the report, the report is wrong and is not
 * used any more. */
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

/* Whether the message is the next one that the host of the socket sends on the socket's connection:
 * its producer cursor `prod` is the reported one plus the bytes of the RDMA WRITEs right before the
 * message, whose connection is not known. Example: at the time of the report the host had written
 * up to 1000; then a WRITE of 200 bytes and a CDC message with the cursor 1200 follow. */
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

/* Whether the socket may have sent a message from the host with this GID. Three conditions: 1. its
 * report is not contradicted; 2. its dump is complete; 3. the other host has not reported the other
 * end. */
static bool
is_candidate(const smcr_socket_t *socket, const uint8_t *gid)
{
    return !socket->is_contradicted && !socket->mirror && socket->dump_end_frame &&
           smcr_gid_is_same(socket->reported.gid[SMCR_TOLD_OWN], gid);
}

/* The only socket of the sending host that can have sent the message (is_next_message_of()). NULL:
 * there is none, there are several, or there are more than SOCKETS_MAX sockets to compare. */
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

/* Whether a message to `qp` can belong to `socket`, whose host is the sender. If the socket has a
 * connection, the connection must be in the group of `qp`, and must not have a token for the side
 * of `qp` yet. Otherwise the reported role must fit. `side`: side of the sender. */
static bool
may_send_for(const smcr_socket_t *socket, const smcr_qp_t *qp, int side)
{
    const smcr_conn_t *conn = smcr_conn_merged(socket->conn);
    const smcr_conn_t none = {.lgr = qp->link->lgr};

    if (conn)
        return conn->lgr == qp->link->lgr && !conn->side[qp->side].has_token;
    return is_like(&socket->reported, &none, side);
}

/* A socket of the receiver's host with the token of the message is the receiving end. If this
 * socket has a connection already, the socket has ended, and the token names a newer one, so the
 * result is NULL. If no socket has the token, the message may belong to a socket of the sender's
 * host. */
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

/* Only the first message of a direction can refute the report: later ones have gone on from
 * there. */
void
smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_stream_t *stream = &conn->side[qp->side].in;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];

    bool is_first = conn->socket && !sender->last_cdc_frame && !cdc->lacks_prod;

    if (is_first && stream->positions_known &&
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

/* Whether the line `told` of a smcss file is from the host that receives the message, at `qp`. If
 * the connection has a name and the roles are known, the role in the line decides; otherwise the
 * GID in the line decides. */
static bool
is_line_of_receiver(const smcr_told_socket_t *told, const smcr_conn_t *conn, const smcr_qp_t *qp)
{
    if (!conn->socket || conn->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return smcr_gid_is_same(told->gid[SMCR_TOLD_OWN], qp->key.gid);
    return (conn->lgr->server == qp->side) == told->is_server;
}

/* Stops using `socket`, a line of a smcss file that contradicts the connection. If another line is
 * the only source of the group's roles, and the two lines contradict each other, it is not known
 * which line is right, so that line is not used either. `host`: side of the line's host.
 * `is_other`: `socket` has named another connection before, so it stays in use. */
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

/* Whether the mirror of `socket` allows that `socket` belongs to `conn`: the mirror has no
 * connection, has `conn`, or has the other direction of `conn`. `host`: side of the host of
 * `socket`. */
static bool
mirror_agrees(const smcr_socket_t *socket, const smcr_conn_t *conn, int host)
{
    const smcr_conn_t *mirror = socket->mirror ? smcr_conn_merged(socket->mirror->conn) : NULL;

    return !mirror || mirror == conn || are_two_directions(conn, mirror, host, &socket->reported);
}

/* Called after a CDC message of the connection. Compares the connection with `socket`, a line of a
 * smcss file that has the token of the connection. A file has no time, so its cursors do not prove
 * the connection. The token proves the connection under two conditions: 1. no other connection has
 * this token; 2. nothing contradicts the line or its mirror. Then the connection gets the name of
 * the socket. */
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
