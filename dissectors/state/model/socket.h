/* Sockets that hosts have reported, and their connections. A host reports its own end of a
 * connection: token, role, cursors. If both hosts of a connection have reported their ends, each of
 * the two sockets is called the mirror of the other socket.
 *
 * Hosts report over netlink: a dump is all that a host reports in answer to one request. A report
 * may also come from a file with the output of smcss. Such a report has no time (`is_from_file`).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "conn.h"

/* Key of a table of sockets: a number of the host with this GID. The number is a token or a
 * producer cursor. */
typedef struct {
    uint64_t number; /* the token, or the producer cursor as one number */
    uint8_t gid[SMCR_GID_LENGTH]; /* GID of the host, in network byte order */
} smcr_socket_key_t;

/* A reported socket. */
struct smcr_socket {
    smcr_socket_key_t by_token;  /* key of the socket in the table by GID and token */
    smcr_socket_key_t by_cursor; /* key of the socket in the table by GID and reported producer
                                    cursor */
    smcr_told_socket_t reported; /* last report of the socket */
    smcr_when_t first;           /* frame and time of the first report over netlink; frame 0: all
                                    reports so far are from a file */
    uint64_t time;               /* time of the last report, nanoseconds since the epoch; 0: it is
                                    from a file */
    /* by the end that receives, SMCR_TOLD_OWN or SMCR_TOLD_PEER: frame and time of the last report
     * over netlink before the connection of the socket was found, if the receive buffer of this end
     * was full in this report. Packets of the connection may come before the report. Frame 0: the
     * buffer was not full, or there is no such report */
    smcr_when_t full[SMCR_TOLD_ENDS];
    smcr_when_t peer_closed; /* first report over netlink in which the peer has closed the
                                connection and the reporting host has not; frame 0: none, or the
                                socket has lost its connection (smcr_socket_drop_conn()) */
    uint64_t dump;               /* number of the dump with the last report */
    smcr_conn_t *conn;           /* connection of the socket; NULL: not known */
    const smcr_socket_t *mirror; /* socket of the other end, which the other host has reported;
                                    NULL: none */
    bool is_contradicted;        /* the last report is not used: the capture contradicts it, or
                                    another report does */
    bool cursor_shared;          /* another socket of the same dump reports the same producer
                                    cursor */
    uint32_t dump_end_frame;     /* frame with the end of the dump of the last report; 0: not
                                    captured so far */
    smcr_socket_t *older;        /* socket that was reported for the first time right before this
                                    one; NULL: none */
};

/* Whether both cursors of a CDC message can belong to one moment, seen from a host's report. This
 * is so if both cursors are at or after their reported values, or if both are at or before their
 * reported values. `ahead`: number of bytes by which one cursor is after its reported value;
 * negative: before it. `other`: likewise for the other cursor. */
static inline bool
smcr_socket_cursors_agree(int64_t ahead, int64_t other)
{
    return (ahead >= 0 && other >= 0) || (ahead <= 0 && other <= 0);
}

/* The socket that was reported for the first time last; its member `older` leads to all other
 * sockets. NULL: there is none. */
smcr_socket_t *smcr_socket_newest(const smcr_state_t *state);

/* Keeps the report `told` of a socket, which belongs to the dump with the number `dump`. A report
 * with the same ends, token, inode and mode as a kept socket is a newer report of this socket; a
 * socket from a file has no inode to compare. `when`: frame and time of the report. Returns the
 * socket. */
smcr_socket_t *smcr_socket_keep(smcr_state_t *state, const smcr_told_socket_t *told,
                                uint64_t dump, smcr_when_t when);

/* Notes that a part of the dump with this number is missing, so that not all sockets of the host
 * are known. Only the last such dump is kept. */
void smcr_socket_cut_dump(smcr_state_t *state, uint64_t dump);

/* Whether a part of the dump with this number is missing; false if a part of a later dump is
 * missing, too. */
bool smcr_socket_is_cut(const smcr_state_t *state, uint64_t dump);

/* The kept socket of the report `told`; NULL: there is none, or another socket has its token, or
 * its addresses and ports, now. */
const smcr_socket_t *smcr_socket_of(const smcr_state_t *state, const smcr_told_socket_t *told);

/* The reported socket of the host with this GID that CDC messages to the host name by `token`;
 * NULL: no such socket is reported. */
smcr_socket_t *smcr_socket_of_token(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                                    uint32_t token);

/* The only socket of the host with this GID whose reported producer cursor is `prod`. NULL: there
 * is none, one dump has several, or the end of the dump is not captured, so that there may be
 * others. */
smcr_socket_t *smcr_socket_of_cursor(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                                     smcr_cursor_t prod);

/* Keeps the own port of a socket that listens for TCP connections. `dump`: number of the dump that
 * reports the socket. */
void smcr_socket_keep_listener(smcr_state_t *state, const smcr_told_socket_t *told, uint64_t dump);

/* Whether another socket of the same dump listens at the own port of `socket`. The host of both
 * sockets then is the server of the connection. `socket`: a kept socket. */
bool smcr_socket_listens(const smcr_state_t *state, const smcr_socket_t *socket);

/* Keeps the report of a link group. */
void smcr_socket_keep_lgr(smcr_state_t *state, const smcr_told_lgr_t *told);

/* Keeps the report of a link, which belongs to the last reported link group. */
void smcr_socket_keep_link(smcr_state_t *state, const smcr_told_link_t *told);

/* The report of a link between two GIDs, with its group. */
typedef struct {
    /* report of the link */
    smcr_told_link_t report;
    const smcr_told_lgr_t *lgr; /* report of the link group to which the link belongs */
} smcr_socket_link_t;

/* The report of the link of `qp` by the host of `qp`. NULL: there is no such report, or the host
 * reports several links between the two GIDs, so it is not known which of them is the link of
 * `qp`. */
const smcr_socket_link_t *smcr_socket_link_of(const smcr_state_t *state, const smcr_qp_t *qp);

/* Notes that `conn` is the connection of `socket`. If `conn` has no socket so far, and its TCP
 * conversation is not known, `conn` is added to a queue (smcr_socket_take_named()). */
void smcr_socket_set_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* Notes that `conn` is not the connection of `socket`. `conn` loses its socket (`socket` of
 * smcr_conn) and its TCP conversation. The full buffers and the close that the host reported for
 * `socket` are forgotten, since they do not belong to `conn`. */
void smcr_socket_drop_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* Removes the next connection that waits for its TCP conversation from the queue, and returns it;
 * NULL: there is none. */
smcr_conn_t *smcr_socket_take_named(const smcr_state_t *state);

/* A list of smcr_qp_t: all queue pairs of the reporting host whose links are between the two GIDs
 * of the report `told`. The list is valid until the next call. `frame`: the present frame; queue
 * pairs that are learned later in this frame may be missing in the list. A report must have been
 * kept before. */
wmem_list_t *smcr_socket_qps(const smcr_state_t *state, const smcr_told_socket_t *told,
                             uint32_t frame);
