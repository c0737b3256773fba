/* The sockets that hosts have told of, and the connections that they are. A host tells of its own
 * end: its token, its role, its cursors. The token of the other end is told by the other host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "conn.h"

/* A number of the host with this GID: a token, or the producer cursor of a socket. */
typedef struct {
    uint64_t number;
    uint8_t gid[SMCR_GID_LENGTH];
} smcr_socket_key_t;

struct smcr_socket {
    smcr_socket_key_t key, at;   /* its token, and how far it has written */
    smcr_told_socket_t told;     /* as the host has told it last */
    smcr_when_t first;           /* when it has told of the socket first; frame 0: in a file */
    uint64_t time;               /* of the last one, nanoseconds since the epoch */
    uint64_t dump;               /* which that was part of */
    smcr_conn_t *conn;           /* NULL: the capture has shown too little of it */
    const smcr_socket_t *mirror; /* the other end, as its host has told; NULL: it has not */
    bool is_doubtful;            /* the capture contradicts it */
    bool is_one_of_several;      /* others of the dump have written as much */
    uint32_t whole_frame;        /* which has the end of the dump; 0: none has */
    smcr_socket_t *older;        /* the one that was told of before it; NULL: it was the first */
};

/* Whether one moment can be so far before two others: neither is before it and the other behind. */
static inline bool
smcr_socket_agree(int64_t ahead, int64_t other)
{
    return (ahead >= 0 && other >= 0) || (ahead <= 0 && other <= 0);
}

/* The one that was told of first last; NULL: none was. */
smcr_socket_t *smcr_socket_last(const smcr_state_t *state);

/* Keeps what a host tells. A socket with the same ends and token is the same. */
smcr_socket_t *smcr_socket_keep(smcr_state_t *state, const smcr_told_socket_t *told,
                                uint64_t dump, smcr_when_t when);

/* The capture lacks some of what the host tells; whether it does. */
void smcr_socket_cut_dump(smcr_state_t *state, uint64_t dump);
bool smcr_socket_is_cut(const smcr_state_t *state, uint64_t dump);

/* What is kept of that; NULL: nothing, or the token has another socket by now. */
const smcr_socket_t *smcr_socket_of(const smcr_state_t *state, const smcr_told_socket_t *told);

/* The socket that CDC messages to this GID mean by `token`; NULL: none was told of. */
smcr_socket_t *smcr_socket_of_token(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                                    uint32_t token);

/* The socket of the host with this GID that had written up to the cursor, if no other had; NULL:
 * there is none, or the capture may lack others. */
smcr_socket_t *smcr_socket_at(const smcr_state_t *state, const uint8_t gid[SMCR_GID_LENGTH],
                              smcr_cursor_t prod);

/* A socket of the dump that waits for connections; whether one does at the socket's own port. */
void smcr_socket_keep_listener(smcr_state_t *state, const smcr_told_socket_t *told, uint64_t dump);
bool smcr_socket_listens(const smcr_state_t *state, const smcr_socket_t *socket);

/* A link group that a host tells, and a link of the group that was told last. */
void smcr_socket_keep_lgr(smcr_state_t *state, const smcr_told_lgr_t *told);
void smcr_socket_keep_link(smcr_state_t *state, const smcr_told_link_t *told);

/* A link between two GIDs as a host has told it, with its group. */
typedef struct {
    smcr_told_link_t told;
    const smcr_told_lgr_t *lgr;
} smcr_socket_link_t;

/* What the host of `qp` has told of that queue pair's link; NULL: nothing, or it has told of
 * several link groups of its role between these GIDs. */
const smcr_socket_link_t *smcr_socket_link_of(const smcr_state_t *state, const smcr_qp_t *qp);

/* The connection is that of the socket; it waits for its TCP conversation. */
void smcr_socket_set_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* It is not, after all: it has neither name nor TCP conversation any more. */
void smcr_socket_drop_conn(smcr_state_t *state, smcr_socket_t *socket, smcr_conn_t *conn);

/* A connection that waits for that; NULL: none does. */
smcr_conn_t *smcr_socket_next_named(const smcr_state_t *state);

/* The queue pairs of the host between the socket's GIDs: pointers to smcr_qp_t. */
wmem_list_t *smcr_socket_qps(const smcr_state_t *state, const smcr_told_socket_t *told,
                             uint32_t frame);
