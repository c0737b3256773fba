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

#include "state/evidence/evidence.h"
#include "state/model/store.h"
#include "told.h"
#include "told_conn.h"
#include "told_judge.h"

static const char told_twice[] = "Another socket has this token";

/* The connection with the socket's alert token: CDC messages to the host carry this token. */
static smcr_conn_t *
conn_of_token(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_told_socket_t *told)
{
    return smcr_conn_find(state, qp->link->lgr, qp->side, told->token);
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
        smcr_state_told_disbelieve(arrival, before, told_twice);
    return socket;
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
    smcr_conn_t *conn = socket->is_contradicted
                            ? NULL
                            : smcr_state_told_only_conn(arrival, told, conn_of_token, &side);

    if (conn && smcr_state_told_is_like(told, conn, side)) {
        smcr_state_told_judge_cursors(arrival, socket, conn, side);
    } else if (conn) {
        smcr_state_told_doubt(arrival, socket, SMCR_STATE_TOLD_OTHERS);
        if (is_named_and_open(conn) && smcr_state_told_cursors_agree(socket, conn, side, false))
            smcr_state_told_disbelieve(arrival, conn->socket, told_twice);
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
    smcr_state_told_take_in_ends(state, conn, told);
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
    smcr_state_told_take_in_ends(state, conn, &socket->reported);
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
 * producer cursor is the reported one. If the socket has a connection, the two are joined. If not,
 * the found connection gets the socket's token and name, unless another connection has this
 * token. */
static void
name_half(const smcr_arrival_t *arrival, smcr_socket_t *socket)
{
    smcr_state_t *state = arrival->state;
    int side = 0;
    smcr_conn_t *half = smcr_state_told_other_half(arrival, socket, &side);
    smcr_conn_t *conn = smcr_conn_merged(socket->conn);

    if (!half || !smcr_state_told_is_like(&socket->reported, half, side))
        return;
    if (conn) {
        if (!conn->side[!side].has_token &&
            smcr_state_told_two_directions(conn, half, side, &socket->reported))
            smcr_state_told_take_in(arrival, socket, smcr_join_directions(state, conn, half, side),
                                    side);
    } else if (!smcr_conn_find(state, half->lgr, side, socket->reported.token)) {
        smcr_conn_set_token(state, half, side, socket->reported.token);
        smcr_state_told_name(arrival, socket, half, side);
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
        smcr_state_told_take_in_link(arrival->state, qp);
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
