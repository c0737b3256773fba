/* The connection of a reported socket: how it is found, and what it gets from the report or loses
 * again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "told_conn.h"
#include "state/evidence/evidence.h"
#include "state/model/store.h"
#include "told_judge.h"

/* Two queue pairs that lead to one connection do not contradict each other. */
smcr_conn_t *
smcr_state_told_only_conn(const smcr_arrival_t *arrival, const smcr_told_socket_t *told,
                          smcr_state_told_find_t *find, int *side)
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

/* The report has its own end and the end of the peer; the connection has the ends by role.
 * `client`: index of the client's end in the report. This needs SMCR_TOLD_OWN to be 0. */
void
smcr_state_told_take_in_ends(smcr_state_t *state, smcr_conn_t *conn, const smcr_told_socket_t *told)
{
    const unsigned client = told->is_server;

    smcr_conn_set_ends(state, conn, smcr_gid_is_ipv4(told->address[SMCR_TOLD_OWN]),
                       (const uint8_t *[]){told->address[client], told->address[!client]},
                       (const uint16_t[]){told->port[client], told->port[!client]});
}

/* The lowest consumer cursor that the reader can have had when `writer` sent its last message: one
 * round before the writer's producer cursor; if this cursor is in the first round, the start of the
 * data. `base`: offset of the first byte of data in the element. */
static smcr_cursor_t
earliest_cons(const smcr_conn_side_t *writer, uint32_t base)
{
    if (writer->prod.wrap)
        return (smcr_cursor_t){writer->prod.wrap - 1, writer->prod.count};
    return (smcr_cursor_t){0, base};
}

/* Starts the stream that `side` receives, with the reported size and cursors, unless the size of
 * its element is known. If a CDC message of the connection is captured, its cursor counts and not
 * the reported one.
 *
 * The cursors in a file are of an unknown time. So with a file the stream starts only when a
 * message of the writer is captured, and with the lowest possible consumer cursor. `is_own`: `side`
 * is the side of the reporting host. */
static void
take_in_stream(smcr_conn_t *conn, int side, const smcr_told_socket_t *told, bool is_own)
{
    smcr_conn_side_t *reader = &conn->side[side];
    const smcr_conn_side_t *writer = &conn->side[!side];
    const smcr_state_told_stream_t stream = smcr_state_told_stream(told, is_own);
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

/* Nothing is taken in for a deleted link, since a later link may have its number. The roles that a
 * host reports over netlink replace those of a smcss file. */
void
smcr_state_told_take_in_link(smcr_state_t *state, smcr_qp_t *qp)
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

/* Addresses and ports that are known stay. */
void
smcr_state_told_take_in(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                        int side)
{
    const smcr_told_socket_t *told = &socket->reported;
    smcr_link_t *link = arrival->qp ? arrival->qp->link : conn->side[!side].link;

    if (!conn->port[0])
        smcr_state_told_take_in_ends(arrival->state, conn, told);
    take_in_role(socket, conn->lgr, side);
    if (link && !conn->lgr->netlink_reported[side])
        smcr_state_told_take_in_link(arrival->state, &link->qp[side]);
    take_in_stream(conn, side, told, true);
    take_in_stream(conn, !side, told, false);
    smcr_socket_set_conn(arrival->state, socket, conn);
}

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

/* For smcr_state_told_only_conn(): the only connection in the link group of `qp` of which only the
 * direction from the host is known, and whose last producer cursor is the reported one. NULL: there
 * is none, or there are several. */
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

/* Callers ask only when the dump is complete: then all sockets of the host are known. */
smcr_conn_t *
smcr_state_told_other_half(const smcr_arrival_t *arrival, const smcr_socket_t *socket, int *side)
{
    const smcr_told_socket_t *told = &socket->reported;
    const smcr_socket_t *only =
        smcr_socket_of_cursor(arrival->state, told->gid[SMCR_TOLD_OWN], told->tx_prod);

    return only == socket ? smcr_state_told_only_conn(arrival, told, find_half_at, side) : NULL;
}

/* Whether the other host has reported its end of the connection, and the capture does not
 * contradict this report of the other host. */
static bool
has_valid_mirror(const smcr_socket_t *socket)
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
    if (!has_valid_mirror(socket) || conn->side[!side].has_token)
        return conn;
    uint32_t token = socket->mirror->reported.token;
    smcr_conn_t *other = smcr_conn_find(state, conn->lgr, !side, token);
    if (!other && !socket->reported.is_from_file && !socket->mirror->reported.is_from_file)
        smcr_conn_set_token(state, conn, !side, token);
    else if (other && smcr_state_told_two_directions(conn, other, side, &socket->reported))
        return smcr_join_directions(state, conn, other, side);
    return conn;
}

void
smcr_state_told_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                     int side)
{
    smcr_state_told_take_in(arrival, socket, join_mirror(arrival->state, socket, conn, side), side);
}

/* ---- doubt ---- */

void
smcr_state_told_doubt(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
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

/* Roles that are known from a line of a file only are forgotten, even if the connection has its
 * addresses and ports from another source. */
void
smcr_state_told_disbelieve(const smcr_arrival_t *arrival, smcr_socket_t *socket, const char *text)
{
    smcr_conn_t *conn = smcr_conn_merged(socket->conn);

    smcr_state_told_doubt(arrival, socket, text);
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

/* If a later message can explain a difference, nothing is decided yet. */
void
smcr_state_told_judge_cursors(const smcr_arrival_t *arrival, smcr_socket_t *socket,
                              smcr_conn_t *conn, int side)
{
    if (smcr_state_told_cursors_agree(socket, conn, side, false))
        smcr_state_told_name(arrival, socket, conn, side);
    else if (!smcr_state_told_cursors_agree(socket, conn, side, true))
        smcr_state_told_doubt(arrival, socket, SMCR_STATE_TOLD_CURSORS);
}
