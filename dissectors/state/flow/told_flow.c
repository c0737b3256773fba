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
#include "state/flow/told/told_conn.h"
#include "state/flow/told/told_judge.h"
#include "state/flow/writes/writes.h"
#include "state/model/store.h"

#define SOCKETS_MAX 4096 /* maximum number of sockets that are compared with one CDC message */

static const char told_later[] = "The position in the stream is below the one that a host has "
                                 "reported";
static const char told_twice[] = "Another socket has this token";

/* ---- reports of hosts ---- */

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

/* Whether the connection has its addresses and ports from a report, and has not closed. */
static bool
is_named_and_open(const smcr_conn_t *conn)
{
    return conn->socket && !smcr_conn_has_closed(conn);
}

/* Takes in a report of a socket that uses SMC-R, and so has a token. If addresses, ports, role or
 * sizes contradict the connection with this token, the report is not used. If the cursors agree
 * nevertheless, the earlier report that has given this connection its addresses and ports may be
 * the wrong one, so the earlier report is not used either. */
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

/* Notes this frame as the end of the dump, in each socket of the dump, and sets the roles of these
 * sockets' connections that have fallen back to TCP (take_in_server()). If the end of the dump is
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

/* Takes in a report of a socket that listens, has fallen back to TCP, or uses SMC-R. A report of
 * any other socket changes nothing. */
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

/* If a part of a dump is missing, its end is not noted: a proof by cursor needs all sockets of the
 * host. */
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
        smcr_state_told_disbelieve(arrival, socket, told_later);
    return !socket->is_contradicted && ahead >= 0 && ahead <= ring.size &&
           smcr_state_told_has_role(qp->link->lgr, told, qp->side);
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
 * of `qp` yet. Otherwise the side may have the reported role, as far as is known. `side`: side of
 * the sender. */
static bool
may_send_for(const smcr_socket_t *socket, const smcr_qp_t *qp, int side)
{
    const smcr_conn_t *conn = smcr_conn_merged(socket->conn);
    const smcr_conn_t none = {.lgr = qp->link->lgr};

    if (conn)
        return conn->lgr == qp->link->lgr && !conn->side[qp->side].has_token;
    return smcr_state_told_is_like(&socket->reported, &none, side);
}

/* A socket of the receiver's host with the token of the message is the receiving end. The result is
 * NULL if this socket has a connection already: the socket has ended, and the token names a newer
 * one. It is also NULL if a file reports the socket, and if the message does not follow its cursors
 * (may_follow()). If no socket has the token, the message may belong to a socket of the sender's
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

/* The connection may have been joined with its other direction since it was noted. */
smcr_conn_t *
smcr_state_report_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket)
{
    const smcr_socket_t *mirror = socket->mirror;
    smcr_conn_t *conn = socket->conn;

    if (!conn && mirror)
        conn = mirror->conn;
    conn = smcr_conn_merged(conn);
    bool fits =
        conn && conn->lgr == arrival->qp->link->lgr && !conn->side[arrival->qp->side].has_token;
    return fits ? conn : NULL;
}

void
smcr_state_report_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                       int side)
{
    if (!conn->side[side].has_token)
        smcr_conn_set_token(arrival->state, conn, side, socket->reported.token);
    smcr_state_told_name(arrival, socket, conn, side);
}

/* Only the first captured message of a direction is compared with the reported cursor. */
void
smcr_state_report_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_stream_t *stream = &conn->side[qp->side].in;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];

    bool is_first = conn->socket && !sender->last_cdc_frame && !cdc->lacks_prod;

    if (is_first && stream->positions_known &&
        smcr_ring_distance(&stream->ring, stream->prod, cdc->prod) < 0)
        smcr_state_told_disbelieve(arrival, conn->socket, told_later);
}

void
smcr_state_report_fallback(smcr_conn_t *conn, smcr_conn_t *known)
{
    if (!known->fallback.kind && !known->confirm_frame)
        known->fallback = conn->fallback;
    conn->merged_into = known;
}

/* Whether the line `told` of a smcss file is from the host that receives the message, at `qp`. If
 * the connection has its addresses and ports from a report, and the roles are known, the role in
 * the line decides; otherwise the GID in the line decides. */
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

    if (other && !smcr_state_told_has_role(conn->lgr, &socket->reported, host))
        smcr_state_told_disbelieve(arrival, other, SMCR_STATE_TOLD_OTHERS);
    if (!is_other && other != socket)
        smcr_state_told_disbelieve(arrival, socket, SMCR_STATE_TOLD_OTHERS);
}

/* Whether the mirror of `socket` allows that `socket` belongs to `conn`: the mirror has no
 * connection, has `conn`, or has the other direction of `conn`. `host`: side of the host of
 * `socket`. */
static bool
mirror_agrees(const smcr_socket_t *socket, const smcr_conn_t *conn, int host)
{
    const smcr_conn_t *mirror = socket->mirror ? smcr_conn_merged(socket->mirror->conn) : NULL;

    return !mirror || mirror == conn ||
           smcr_state_told_two_directions(conn, mirror, host, &socket->reported);
}

/* Called after a CDC message of the connection. Compares the connection with `socket`, a line of a
 * smcss file that has the token of the connection. A file has no time, so its cursors do not prove
 * the connection. The token proves the connection under two conditions: 1. no other connection has
 * this token; 2. nothing contradicts the line or its mirror. Then the connection gets the addresses
 * and ports of the socket. */
static void
compare_with_file(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn)
{
    const smcr_told_socket_t *told = &socket->reported;
    int side = arrival->qp->side;
    bool to_host = is_line_of_receiver(told, conn, arrival->qp);
    int host = to_host ? side : !side;
    bool is_other = socket->conn && smcr_conn_merged(socket->conn) != conn;

    if (!smcr_state_told_is_like(told, conn, host))
        disbelieve_line(arrival, socket, conn, host, is_other);
    else if (is_other)
        smcr_state_told_disbelieve(arrival, socket, "Two connections have this token");
    else if (!smcr_state_told_cursors_fit(told, &conn->side[!side], to_host))
        smcr_state_told_disbelieve(arrival, socket, SMCR_STATE_TOLD_CURSORS);
    else if (mirror_agrees(socket, conn, host))
        smcr_state_told_name(arrival, socket, conn, host);
}

/* A socket that contradicts the capture is not compared again. */
void
smcr_state_report_compare(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_qp_t *qp = arrival->qp;
    uint32_t token = conn->side[qp->side].token;
    smcr_socket_t *socket =
        conn->socket ? conn->socket : smcr_socket_of_token(arrival->state, qp->key.gid, token);

    if (!socket || socket->is_contradicted)
        return;
    if (socket->reported.is_from_file)
        compare_with_file(arrival, socket, conn);
    else if (!socket->conn && smcr_state_told_is_like(&socket->reported, conn, qp->side))
        smcr_state_told_judge_cursors(arrival, socket, conn, qp->side);
}
