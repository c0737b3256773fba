/* Connections that offer or use SMC-R: from the TCP handshake over CLC to the CDC messages.
 *
 * Lives as long as the capture file; written in the first pass only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "rmb.h"
#include "stream.h"

typedef struct smcr_exchange smcr_exchange_t;

/* What one side announced in its Accept or Confirm, and what it sent since. What it receives comes
 * first, then what it sends (conn.c). */
typedef struct {
    smcr_stream_t in;    /* what this side receives */
    smcr_rmb_t *rmb;     /* in which this side receives; NULL: not known */
    /* points in the flow to this side */
    smcr_point_t since;   /* the connection began behind it */
    smcr_point_t sure;    /* the latest at which it was certainly alive */
    smcr_point_t located; /* the latest request in `in` whose position is known */
    smcr_point_t heard;   /* the last CDC message to this side */
    uint8_t rmb_index;   /* element, from 1 */
    bool shares_element, shares_token; /* which another open connection was given, too */
    bool has_token;
    uint8_t declined;    /* how often heuristics declined what this side receives, in a row; at
                            most what smcr_conn_decline() was told */
    uint32_t token;      /* that CDC messages to this side carry */
    uint32_t size;       /* of the element, bytes; 0: not known */
    /* and in the flow from this side */
    smcr_point_t announced; /* when CLC announced this side's element */
    smcr_link_t *link;   /* on which this side sent last */
    uint32_t update;     /* number of an entry: its open request for a cursor update; 0: none */
    uint16_t cdc_seq;    /* the number that the last CDC message from this side had to have, */
    uint16_t cdc_said;   /* and the one that it had */
    uint32_t first_cdc;  /* frame of the first CDC message from this side; 0: none */
    uint32_t cdc_frame;  /* last CDC message from this side; 0: none */
    uint64_t cdc_time;   /* of that, nanoseconds since the epoch */
    uint64_t mark_time[2]; /* of a message, and one SMCR_TIME_DISORDER or more before it; 0: none */
    uint32_t odd_frame;  /* last CDC message from this side with a cursor that cannot be; 0: none */
    smcr_cursor_t prod;  /* of the last message in which they can be */
    smcr_cursor_t cons, mark_prod[2]; /* and those at `mark_time` */
    smcr_cursor_t said_prod, said_cons; /* of the odd message */
    uint8_t cdc_flags, cdc_state;
    uint32_t sending_done_frame, closed_frame, abort_frame; /* 0: not yet */
    uint32_t moved_frame; /* failover validation that moved this direction; 0: never */
    uint64_t moved_time;  /* of that, nanoseconds since the epoch */
    bool is_new;     /* nothing bears out its last message: it follows none, nor CLC */
    bool lacks_last; /* the capture lacks its last messages, or those on a link that it has left */
} smcr_conn_side_t;

/* How a connection left SMC for TCP. */
typedef enum {
    SMCR_FALLBACK_NONE,
    SMCR_FALLBACK_NO_OPTION, /* the SYN-ACK has no option */
    SMCR_FALLBACK_NO_CLC,    /* no CLC follows the option */
    SMCR_FALLBACK_NO_ANSWER, /* data follows the Proposal or the Accept */
    SMCR_FALLBACK_DECLINED,
    SMCR_FALLBACK_TOLD,      /* its host tells, over netlink */
} smcr_fallback_kind_t;

/* That, and what was known when it did. */
typedef struct {
    uint32_t frame;  /* that proves it */
    uint32_t code;   /* of the Decline: its diagnosis; as told by a host: its reason */
    uint32_t peer_code; /* as told by a host: the diagnosis of the peer's Decline; 0: none */
    uint8_t kind;    /* smcr_fallback_kind_t */
    uint8_t os;      /* of the Decline: the sender's operating system (smcr_clc_os_type) */
    uint8_t step;    /* CLC type of the last step before, 0: there was none */
    bool by_server : 1;     /* sent the Decline */
    bool both_options : 1;  /* SYN and SYN-ACK have the option */
    bool other_subnet : 1;  /* the server's address is not in the subnet that the Proposal tells */
    bool no_roce : 1;       /* after the Confirm: no RoCE packet has come on the link */
    bool lacks_clc : 1; /* the capture may lack CLC messages before it, even another Decline */
    bool no_roles : 1;  /* nor is it known who is the client */
    bool no_code : 1;   /* the capture has cut the diagnosis off */
} smcr_fallback_t;

struct smcr_conn {
    void *conversation; /* Wireshark's, of TCP; the state only keeps it. NULL: TCP is not known,
                           nor are addresses, ports and `tcp_stream`. It is the first member, by
                           which the connection is found (conn.c) */
    struct smcr_payload_flow *flow[2]; /* by sender: what payload/ keeps of the bytes */
    union {
        uint8_t ipv4[2][4];                /* client, server */
        uint8_t (*ipv6)[SMCR_GID_LENGTH];
    } addr;
    struct smcr_tcp_begun *begun[2]; /* by sender: a CLC message of which tcp/ has a part */
    uint16_t port[2];       /* client, server */
    uint32_t tcp_stream;
    uint32_t known_from;    /* frame from which on its conversation has been known */
    uint32_t index;         /* smcr.stream */
    uint64_t begin_time;    /* of its first frame, nanoseconds since the epoch */
    smcr_when_t passed;     /* its last frame so far: see smcr_conn_pass() */
    uint32_t clc_end[2];    /* by sender: frame in which CLC ended; 0: not yet. What follows is the
                               application's */
    uint32_t proposal_frame, accept_frame, confirm_frame, decline_frame; /* 0: not seen */
    uint8_t clc_asked;       /* CLC type of `clc_step` */
    uint8_t accept_flags;    /* byte 7 of the Accept */
    uint8_t clc_types;       /* that have come: bit 1 is type 1 */
    uint8_t clc_whole;       /* bit by role: the capture has all bytes of CLC so far (absent.c) */
    bool knows_client : 1;   /* the SYN or SYN-ACK came before CLC: it tells who is who */
    bool outside : 1;        /* the client's Proposal has no subnet or prefix of the server */
    bool first_contact : 1;
    bool has_clc : 1;        /* Accept and Confirm, or the Decline: counted in its group */
    bool clc_from_server : 1; /* who sent `clc_step` */
    bool cut_clc : 1;        /* the capture has cut an Accept or Confirm too short to know it */
    bool no_roles : 1;       /* it begins with a Decline: either may be the client */
    bool ipv4 : 1;           /* which addresses it has */
    bool after_end : 1;      /* TCP had ended before: that was another connection of its ports */
    bool option_syn : 1, option_synack : 1; /* SYN and SYN-ACK with the option have been seen */
    bool synack : 1;         /* the SYN-ACK, with or without option */
    bool flips : 1;          /* its sides have changed places (conn.c) */
    bool is_half : 1;        /* it is, or was, one of the group's `halves` */
    uint32_t clc_next[2];    /* by role: number of the byte behind those of CLC so far */
    uint32_t clc_part[2];    /* of that behind bytes that may be a part of CLC; 0: none are */
    smcr_fallback_t fallback;
    uint32_t clc_step; /* number of an entry: the message before, which waits for its answer */
    smcr_lgr_t *lgr;         /* NULL: not known */
    smcr_conn_t *next_of_group; /* the one that joined a group before it */
    smcr_conn_t *next_open;  /* the same, but those that have ended are left out in time */
    struct smcr_rules_conn *rules; /* what rules remember of it; NULL: nothing */
    smcr_socket_t *socket; /* by which a host has named it first; NULL: none has */
    smcr_conn_t *joined;    /* the connection of which it has turned out to be the other direction;
                               NULL: it is one of its own */
    const smcr_conn_t *half; /* which was that other direction; NULL: none was */
    smcr_conn_side_t side[2]; /* by side of the link group */
};

/* The connection that it has turned out to be; `conn` may be NULL. */
static inline smcr_conn_t *
smcr_conn_now(smcr_conn_t *conn)
{
    return conn && conn->joined ? conn->joined : conn;
}

/* Whether its ends are those that a host has told: the capture has none of its handshake. */
static inline bool
smcr_conn_is_late(const smcr_conn_t *conn)
{
    return !conn->synack && !conn->option_syn && !conn->clc_types;
}

/* The connection is one of the group. */
void smcr_conn_join(smcr_conn_t *conn, smcr_lgr_t *lgr);

/* Whether one of the prefixes of the Proposal, or the subnet of the client's address, has the
 * server's address. What the Proposal does not tell is taken for right. */
bool smcr_conn_is_inside(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal);

/* A CLC message of the connection has come. */
void smcr_conn_take_clc(smcr_conn_t *conn);

/* Whether a side has closed or aborted the connection. */
static inline bool
smcr_conn_has_closed(const smcr_conn_t *conn)
{
    return conn->joined || conn->side[0].closed_frame || conn->side[0].abort_frame ||
           conn->side[1].closed_frame || conn->side[1].abort_frame;
}

/* The first connection from `*at` on, along `next_open`, that is neither closed nor aborted nor
 * fallen back. Those before it leave the list. NULL: there is none. */
smcr_conn_t *smcr_conn_open(smcr_conn_t **at);

/* A SYN with the option, a message or a packet on RoCE of the connection goes by. Returns how long
 * it is since the one before in another frame, nanoseconds plus 1; 0: there was none, the clock of
 * the capture goes back, or a packet in between may be of the connection. */
uint64_t smcr_conn_pass(smcr_conn_t *conn, smcr_when_t when);

/* The tables of conn.c in a new state. */
void smcr_conn_start(smcr_state_t *state);

/* A new connection with the next index. */
smcr_conn_t *smcr_conn_new(smcr_state_t *state);

/* The connection of Wireshark's TCP conversation `conversation`, NULL when it has none. */
smcr_conn_t *smcr_conn_of(const smcr_state_t *state, void *conversation);

/* From now on the connection is that of this conversation, which has this tcp.stream. */
void smcr_conn_set_conversation(smcr_state_t *state, smcr_conn_t *conn, void *conversation,
                                uint32_t tcp_stream);

/* The ends of its TCP connection, client and server; an IPv4 address is mapped. */
void smcr_conn_set_ends(smcr_state_t *state, smcr_conn_t *conn, bool ipv4,
                        const uint8_t *const gid[2], const uint16_t port[2]);

/* It is that of no conversation any more, and has no addresses and ports. */
void smcr_conn_drop_conversation(smcr_state_t *state, smcr_conn_t *conn);

/* Connections so far; their indices are 0 to this minus 1. */
uint32_t smcr_conn_count(const smcr_state_t *state);

/* Calls `visit` with each connection whose TCP connection is known. */
void smcr_conn_each(const smcr_state_t *state, void (*visit)(const smcr_conn_t *conn, void *data),
                    void *data);

/* The connection that CDC messages to `side` of the group mean by `token`; NULL: none known. */
smcr_conn_t *smcr_conn_find(const smcr_state_t *state, const smcr_lgr_t *lgr, int side,
                            uint32_t token);

/* From now on `token` means this connection. */
void smcr_conn_set_token(smcr_state_t *state, smcr_conn_t *conn, int side, uint32_t token);

/* The connection has left SMC: its tokens and RMB elements mean nothing any more. */
void smcr_conn_leave(smcr_state_t *state, smcr_conn_t *conn);

/* Whether the side has said that it will write no more, or that it is done with the connection. */
static inline bool
smcr_conn_side_has_ended(const smcr_conn_side_t *side)
{
    return side->sending_done_frame || side->closed_frame || side->abort_frame;
}

/* The stream, which may be known later than the messages came, learns what the side has read. */
static inline void
smcr_conn_side_catch_up(smcr_conn_side_t *side)
{
    if (side->in.known && side->cdc_frame)
        smcr_stream_consume(&side->in, side->cons);
}

/* Whether the side has said that it has read up to `end`; before it says anything, up to the end of
 * an eyecatcher at most. */
static inline bool
smcr_conn_side_has_read_to(const smcr_conn_side_t *side, smcr_cursor_t end)
{
    return side->cdc_frame ? smcr_ring_cursors_are_same(side->cons, end)
                           : end.wrap == 0 && end.count <= SMCR_WIRE_EYECATCHER_LENGTH;
}

/* By how much the number of the side's next CDC message grows. Who has counted wrong once may go on
 * from there. */
static inline int16_t
smcr_conn_side_step(const smcr_conn_side_t *sender, uint16_t seq)
{
    bool goes_on = seq == (uint16_t)(sender->cdc_said + 1);

    return goes_on ? 1 : (int16_t)(uint16_t)(seq - sender->cdc_seq);
}

/* Whether the last CDC message of the side has a cursor that cannot be. */
static inline bool
smcr_conn_side_is_odd(const smcr_conn_side_t *side)
{
    return side->odd_frame && side->odd_frame == side->cdc_frame;
}

/* Whether data in the element of `side` is the connection's, and CDC tells its place in the stream:
 * not where WRITEs announce themselves, nor where two connections have the element. */
static inline bool
smcr_conn_owns_element(const smcr_conn_t *conn, int side)
{
    return !conn->lgr->immediate && !conn->side[side].shares_element;
}

/* The connection is certainly alive where `qp` receives the request with `psn`. */
void smcr_conn_is_alive(smcr_conn_t *conn, smcr_qp_t *qp, smcr_psn_t psn);

static inline void
smcr_conn_set_flow(smcr_conn_t *conn, unsigned direction, struct smcr_payload_flow *flow)
{
    conn->flow[direction] = flow;
}

/* Heuristics have declined what `side` receives. Returns whether `most` times in a row. */
bool smcr_conn_decline(smcr_conn_t *conn, int side, uint8_t most);

/* The direction of what `side` sends: 0 client to server, 1 server to client, -1 not known. */
static inline int
smcr_conn_direction(const smcr_lgr_t *lgr, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? SMCR_LGR_SIDE_UNKNOWN : side == lgr->server;
}

/* ---- what turns out to be one (conn.c). Records of before lead to what they are now ---- */

/* Two directions of a group are one connection: `one` comes to `side`, and `other` goes from there.
 * Returns the one that has been named, else the older, which both are from now on. */
smcr_conn_t *smcr_join_directions(smcr_state_t *state, smcr_conn_t *one, smcr_conn_t *other,
                                  int side);

/* A message, or an acknowledgement, names the queue pair of `link` that is not known. Where that is
 * known of another link which began before the capture, and nothing else of it is, both links are
 * one; so are their groups. */
void smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key);
