/* Sockets that hosts have reported over netlink, and the connections that they are. A host reports
 * its own end: token, role, cursors. The token of the other end is reported by the other host,
 * whose report is the mirror.
 *
 * A dump is all that one request for reports brings; a file of smcss has no time (`undated`).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#pragma once

#include "conn.h"

/* Key of a table: a number of the host with this GID, a token or a producer cursor. */
typedef struct {
    uint64_t number;
    uint8_t gid[SMCR_GID_LENGTH]; /* in network byte order */
} smcr_socket_key_t;

/* A reported socket. */
struct smcr_socket {
    smcr_socket_key_t by_token;  /* by its token */
    smcr_socket_key_t by_cursor; /* by the producer cursor up to which it has written */
    smcr_told_socket_t reported; /* the last report */
    smcr_when_t first;           /* frame and time of the first report; frame 0: from a file */
    uint64_t time;               /* of the last report, nanoseconds since the epoch */
    uint64_t dump;               /* number of the dump that has the last report */
    smcr_conn_t *conn;           /* its connection; NULL: not known */
    const smcr_socket_t *mirror; /* report of the other end, by the other host; NULL: none */
    bool is_contradicted;        /* the capture contradicts the report */
    bool cursor_shared;          /* another socket of the dump has written up to the same cursor */
    uint32_t dump_end_frame;     /* frame that has the end of the dump; 0: not captured so far */
    smcr_socket_t *older;        /* the socket that was reported before it; NULL: it was the
                                    first */
};

/* Whether two cursors agree on one moment: the moment is before both, or after both. `ahead`,
 * `other`: how far each cursor is ahead of its value at that moment, bytes. */
static inline bool
smcr_socket_cursors_agree(int64_t ahead, int64_t other)
{
    return (ahead >= 0 && other >= 0) || (ahead <= 0 && other <= 0);
}

/* The newest socket, from which `older` leads to all others; NULL: there is none. */
smcr_socket_t *smcr_socket_newest(const smcr_state_t *state);

/* Keeps the report of a host. A report with the same ends and token is of the same socket. */
smcr_socket_t *smcr_socket_keep(smcr_state_t *state, const smcr_told_socket_t *told,
                                uint64_t dump, smcr_when_t when);

/* A part of the dump is missing, so nobody knows all sockets of the host. */
void smcr_socket_cut_dump(smcr_state_t *state, uint64_t dump);

/* Whether a part of the dump is missing. */
bool smcr_socket_is_cut(const smcr_state_t *state, uint64_t dump);

/* The kept socket of the report; NULL: none, or another socket has its token now. */
const smcr_socket_t *smcr_socket_of(const smcr_state_t *state, const smcr_told_socket_t *told);

/* The socket that CDC messages to this GID name by `token`; NULL: none is reported. */
smcr_socket_t *smcr_socket_of_token(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                                    uint32_t token);

/* The only socket of the host with this GID that has written up to the cursor `prod`. NULL: there
 * is none or several, or the end of the dump is not captured, so there may be others. */
smcr_socket_t *smcr_socket_of_cursor(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                                     smcr_cursor_t prod);

/* Keeps a socket of the dump that listens for connections. */
void smcr_socket_keep_listener(smcr_state_t *state, const smcr_told_socket_t *told, uint64_t dump);

/* Whether a socket of the same dump listens at the socket's own port: then its host is the
 * server. */
bool smcr_socket_listens(const smcr_state_t *state, const smcr_socket_t *socket);

/* Keeps the report of a link group. */
void smcr_socket_keep_lgr(smcr_state_t *state, const smcr_told_lgr_t *told);

/* Keeps the report of a link, which belongs to the link group that was reported last. */
void smcr_socket_keep_link(smcr_state_t *state, const smcr_told_link_t *told);

/* The report of a link between two GIDs, with its group. */
typedef struct {
    smcr_told_link_t report;
    const smcr_told_lgr_t *lgr; /* its link group */
} smcr_socket_link_t;

/* What the host of `qp` reports of the link of that queue pair. NULL: nothing, or several link
 * groups of its role between these GIDs, so nobody knows which is meant. */
const smcr_socket_link_t *smcr_socket_link_of(const smcr_state_t *state, const smcr_qp_t *qp);

/* The connection is that of the socket; it waits in a queue for its TCP conversation. */
void smcr_socket_set_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* The connection is not that of the socket after all: it loses its name and TCP conversation. */
void smcr_socket_drop_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* Takes the next connection that waits for its TCP conversation; NULL: none does. */
smcr_conn_t *smcr_socket_take_named(const smcr_state_t *state);

/* The queue pairs of the host on links between the GIDs of the socket: a list of smcr_qp_t
 * pointers. */
wmem_list_t *smcr_socket_qps(const smcr_state_t *state, const smcr_told_socket_t *told,
                             uint32_t frame);
