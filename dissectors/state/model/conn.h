/* Connections that offer or use SMC-R: from the TCP handshake over CLC to the CDC messages.
 *
 * A connection lives as long as the capture file, and is written in the first pass only. A "point"
 * is an smcr_point_t: a PSN in the flow to a queue pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#pragma once

#include "rmb.h"
#include "stream.h"

typedef struct smcr_exchange smcr_exchange_t;

/* One side of a connection: what it has announced in its Accept or Confirm, what it receives, and
 * what it has sent. Where two directions turn out to be one connection, the members up to
 * `announced` come from one direction and the others from the other (take_direction() in conn.c),
 * so their order counts. */
typedef struct {
    /* ---- what this side receives ---- */
    smcr_stream_t in;     /* the byte stream to this side */
    smcr_rmb_t *rmb;      /* RMB in which this side receives; NULL: not known */
    smcr_point_t valid_from; /* in the flow to this side: the connection began after it */
    /* in the flow to this side: the last packet that was certainly of this connection */
    smcr_point_t last_confirmed_use;
    /* in the flow to this side: the last request whose position in `in` is known */
    smcr_point_t last_positioned_write;
    smcr_point_t last_cdc_received; /* in the flow to this side: the last CDC message to this
                                       side */
    uint8_t rmb_index;    /* RMB element of the connection, 1 to 255; 0: not known */
    bool element_shared;  /* another open connection was given the same element */
    bool token_shared;    /* another open connection was given the same token */
    bool has_token;       /* `token` is known */
    /* how many times in a row heuristics have declined the data to this side; counts up to the
     * limit given to smcr_conn_note_decline() */
    uint8_t heuristic_declines;
    uint32_t token;       /* alert token that CDC messages to this side carry; see `has_token` */
    uint32_t size;        /* of the element with its eyecatcher, bytes; 0: not known */

    /* ---- what this side sends ---- */
    /* in the flow from this side: the last packet when CLC announced this side's element; no
     * queue pair: CLC has announced none */
    smcr_point_t announced_at;
    smcr_link_t *link;      /* link on which this side sent last; NULL: not known */
    uint32_t cursor_update_request; /* slab number of its open request for a cursor update; 0:
                                       none */
    uint16_t cdc_seq_expected; /* sequence number that its last CDC message should have had */
    uint16_t cdc_seq_actual; /* sequence number that its last CDC message had */
    uint32_t first_cdc_frame; /* frame of its first CDC message; 0: none so far */
    uint32_t last_cdc_frame; /* frame of its last CDC message; 0: none so far */
    uint64_t last_cdc_time; /* time of the last CDC message, nanoseconds since the epoch */
    uint64_t mark_time[2];  /* times of two earlier messages, nanoseconds since the epoch: [0] the
                               newer mark, [1] at least SMCR_TIME_DISORDER before it; 0: none */
    uint32_t invalid_cursor_frame; /* frame of its last CDC message with an impossible cursor; 0:
                                      none */
    smcr_cursor_t prod;     /* producer cursor of the last message whose cursors are possible */
    smcr_cursor_t cons;     /* consumer cursor of that message */
    smcr_cursor_t mark_prod[2]; /* producer cursors of the messages at `mark_time` */
    smcr_cursor_t raw_prod;     /* producer cursor of the message in `odd_frame`, as it stands
                                   there */
    smcr_cursor_t raw_cons;     /* consumer cursor of that message, as it stands there */
    uint8_t cdc_flags;      /* producer flags of the last CDC message (A.4) */
    uint8_t cdc_state;      /* connection state flags of the last CDC message (A.4) */
    uint32_t sending_done_frame; /* frame in which it said that it will send no more; 0: not yet */
    uint32_t closed_frame;  /* frame in which it closed the connection; 0: not yet */
    uint32_t abort_frame;   /* frame in which it aborted the connection; 0: not yet */
    uint32_t moved_frame;   /* frame of the last failover validation, which moved this direction to
                               another link; 0: never */
    uint64_t moved_time;    /* time of that message, nanoseconds since the epoch */
    bool unverified;        /* the last CDC message is unverified: neither a message before it nor
                               CLC is in the capture */
    bool last_cdc_missing;  /* the last CDC messages of this side, or of the link that it has left,
                               are missing */
} smcr_conn_side_t;

/* Why a connection does not use SMC-R, but TCP. */
typedef enum {
    SMCR_FALLBACK_NONE,      /* it uses SMC-R, or has not decided yet */
    SMCR_FALLBACK_NO_OPTION, /* the SYN-ACK has no option */
    SMCR_FALLBACK_NO_CLC,    /* data follows the handshake with the option, without CLC */
    SMCR_FALLBACK_NO_ANSWER, /* data follows the Proposal or the Accept */
    SMCR_FALLBACK_DECLINED,  /* a side has sent a Decline */
    SMCR_FALLBACK_TOLD,      /* a host reports it over netlink */
} smcr_fallback_kind_t;

/* A fallback to TCP, and what was known when it was decided. */
typedef struct {
    uint32_t frame;        /* frame that proves it; 0: no fallback */
    uint32_t code;         /* Decline: its diagnosis; report of a host: its reason; else 0 */
    uint32_t peer_code;    /* report of a host: diagnosis of the peer's Decline; 0: none */
    uint8_t kind;          /* smcr_fallback_kind_t */
    uint8_t os;            /* Decline of version 2: operating system of its sender
                              (smcr_clc_os_type); else 0 */
    uint8_t step;          /* CLC type of the last step before it; 0: none */
    bool by_server : 1;    /* the server sent the Decline; else the client */
    bool both_options : 1; /* SYN and SYN-ACK have the option */
    bool outside_subnet : 1; /* the server's address is not in the subnet of the Proposal */
    bool roce_missing : 1; /* after the Confirm no RoCE packet has come on the link */
    bool clc_may_be_missing : 1; /* CLC messages before it may be missing, also another Decline */
    bool roles_unknown : 1; /* nobody knows which end is the client */
    bool code_cut : 1;     /* the capture has cut the Decline before its diagnosis */
} smcr_fallback_t;

/* A connection. An array of two is by role (client, server), by sender, or by side of the link
 * group; the member says which. */
struct smcr_conn {
    /* ---- TCP. The conversation has to be the first member, by which conn.c finds it ---- */
    void *conversation;      /* Wireshark's TCP conversation, which the state only keeps. NULL: not
                                known; then addresses, ports and `tcp_stream` are not set */
    struct smcr_payload_flow *flow[2]; /* by direction: what payload/ keeps of the bytes; NULL:
                                          nothing */
    union {
        uint8_t ipv4[2][4];               /* by role, with `ipv4` */
        uint8_t (*ipv6)[SMCR_GID_LENGTH]; /* by role, else */
    } addr;                  /* addresses of the ends, in network byte order */
    /* by sender: a CLC message of which tcp/ has only a part; NULL: none */
    struct smcr_tcp_begun *partial_clc[2];
    uint16_t port[2];        /* by role; 0: not known */
    uint32_t tcp_stream;     /* number that Wireshark gives the TCP connection (tcp.stream) */
    uint32_t conversation_from; /* frame from which on the conversation has been known */

    /* ---- where it lies in the capture ---- */
    uint32_t index;          /* number of the connection in the capture, from 0 (smcr.stream) */
    uint64_t begin_time;     /* time of its first frame, nanoseconds since the epoch; 0: none yet */
    smcr_when_t last_activity; /* its last frame so far (smcr_conn_note_activity()) */

    /* ---- CLC ---- */
    uint32_t clc_end_frame[2]; /* by sender: frame from which on its bytes are the application's; 0:
                                  not yet */
    uint32_t proposal_frame; /* frame of the Proposal; 0: none */
    uint32_t accept_frame;   /* frame of the Accept; 0: none */
    uint32_t confirm_frame;  /* frame of the Confirm; 0: none */
    uint32_t decline_frame;  /* frame of the first Decline; 0: none */
    uint8_t clc_step_type;   /* CLC type of the message that waits for its answer, in `clc_step` */
    uint8_t accept_flags;    /* byte 7 of the Accept: version, first contact, path (A.2.3) */
    uint8_t clc_types_received; /* CLC types that have come: bit 1 is type 1 */
    uint8_t clc_complete;    /* bit 0 client, 1 server: the capture has all CLC bytes of this sender
                                so far (evidence/absent.c) */

    /* ---- facts of the handshake ---- */
    bool knows_client : 1;   /* a SYN or SYN-ACK came before CLC, and says who the client is */
    bool server_outside_subnet : 1; /* no subnet and no prefix of the Proposal has the server's
                                       address */
    bool first_contact : 1;  /* the Accept makes a new link group */
    bool clc_finished : 1;   /* Accept and Confirm have come, or a Decline: `lacking_clc` of the
                                group does not count the connection */
    bool clc_step_by_server : 1; /* the server sent the message in `clc_step` */
    bool clc_cut : 1;        /* the capture has cut an Accept or Confirm before its queue pair */
    bool roles_unknown : 1;  /* nobody knows which end is the client: it begins with a Decline, or a
                                host has reported a fallback */
    bool ipv4 : 1;           /* its addresses are IPv4; else IPv6 */
    bool reuses_ports : 1;   /* an earlier TCP connection with the same ends had ended */
    bool option_syn : 1;     /* a SYN with the option has come */
    bool option_synack : 1;  /* a SYN-ACK with the option has come */
    bool has_synack : 1;     /* a SYN-ACK has come, with or without the option */
    bool sides_swapped : 1;  /* its sides have changed places, since its link group has been joined
                                to another one (conn.c) */
    /* it is or was one of the group's `halves`: one direction whose other one is not known */
    bool is_one_direction : 1;

    /* ---- sequence numbers of TCP, as Wireshark counts them (evidence/absent.c) ---- */
    uint32_t clc_next_seq[2]; /* by role: number of the first byte after CLC so far */
    /* by role: number of the first byte after those that may be a part of a CLC message; 0:
     * there are none */
    uint32_t clc_partial_seq[2];

    /* ---- what has become of it ---- */
    smcr_fallback_t fallback;   /* why it uses TCP; kind SMCR_FALLBACK_NONE: it does not, so far */
    uint32_t clc_step;          /* slab number of the CLC message that waits for its answer; 0:
                                   none */
    smcr_lgr_t *lgr;            /* its link group; NULL: not known */
    smcr_conn_t *older_in_group; /* the connection that joined the group before it; NULL: none */
    smcr_conn_t *older_open;    /* the same, without most of those that have ended */
    struct smcr_rules_conn *rules; /* what the rules remember of it; NULL: nothing */
    smcr_socket_t *socket;      /* socket whose report has named it first; NULL: none has */
    smcr_conn_t *merged_into;   /* the connection whose other direction it has turned out to be;
                                   NULL: it is a connection of its own */
    const smcr_conn_t *merged_half; /* the connection that has turned out to be its other direction;
                                       NULL: none has */
    smcr_conn_side_t side[2];   /* by side of the link group */
};

/* The connection that `conn` is now: the one to which it was joined, else itself. NULL stays
 * NULL. */
static inline smcr_conn_t *
smcr_conn_merged(smcr_conn_t *conn)
{
    return conn && conn->merged_into ? conn->merged_into : conn;
}

/* Whether the connection began before the capture: neither its handshake with the option nor CLC is
 * in the capture. Its ends are then known from a host's report, if at all. */
static inline bool
smcr_conn_began_before_capture(const smcr_conn_t *conn)
{
    return !conn->has_synack && !conn->option_syn && !conn->clc_types_received;
}

/* The connection is in the link group from now on, unless it is in one already. */
void smcr_conn_join(smcr_conn_t *conn, smcr_lgr_t *lgr);

/* Whether one of the IPv6 prefixes of the Proposal, or the subnet of the client's IPv4 address, has
 * the server's address. Also true where the capture lacks a part of the Proposal or the addresses.
 * (A.2.2) */
bool smcr_conn_is_inside(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal);

/* A CLC message of the connection was taken in: notes in connection and group whether CLC is
 * complete, and whether a first contact was declined. */
void smcr_conn_note_clc(smcr_conn_t *conn);

/* Whether a side has closed or aborted the connection, or it is no connection of its own any
 * more. */
static inline bool
smcr_conn_has_closed(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];
    bool closed = one->closed_frame || other->closed_frame;

    return conn->merged_into || closed || one->abort_frame || other->abort_frame;
}

/* The first open connection of the list `next_open` from `*at` on: neither closed nor aborted nor
 * fallen back. Removes the ones before it from the list. NULL: there is none. */
smcr_conn_t *smcr_conn_first_open(smcr_conn_t **at);

/* A frame of the connection passes: a SYN with the option, a message, or a packet on RoCE. Returns
 * the time since its frame before, nanoseconds plus 1; 0: there was none, the clock of the capture
 * goes back, or a packet in between may be of the connection. */
uint64_t smcr_conn_note_activity(smcr_conn_t *conn, smcr_when_t when);

/* Makes the tables of conn.c in a new state. */
void smcr_conn_tables_new(smcr_state_t *state);

/* A new connection with the next index. */
smcr_conn_t *smcr_conn_new(smcr_state_t *state);

/* The connection of Wireshark's TCP conversation `conversation`, NULL when it has none. */
smcr_conn_t *smcr_conn_of_conversation(const smcr_state_t *state, void *conversation);

/* The connection is that of this TCP conversation, whose number is `tcp_stream`, from now on. */
void smcr_conn_set_conversation(smcr_state_t *state, smcr_conn_t *conn, void *conversation,
                                uint32_t tcp_stream);

/* Sets the ends of its TCP connection. Arrays are by role: client, server. `gid`: addresses in
 * network byte order, those of IPv4 mapped into IPv6; `port`: in host byte order. */
void smcr_conn_set_ends(smcr_state_t *state, smcr_conn_t *conn, bool ipv4,
                        const uint8_t *const gid[2], const uint16_t port[2]);

/* The connection loses its TCP conversation, addresses and ports. */
void smcr_conn_drop_conversation(smcr_state_t *state, smcr_conn_t *conn);

/* How many connections there are; their indices are 0 to this minus 1. */
uint32_t smcr_conn_count(const smcr_state_t *state);

/* Calls `visit` with each connection whose TCP connection is known. */
void smcr_conn_each(const smcr_state_t *state, void (*visit)(const smcr_conn_t *conn, void *data),
                    void *data);

/* The connection that CDC messages to `side` of the group name by `token`; NULL: none is known. */
smcr_conn_t *smcr_conn_find(const smcr_state_t *state, const smcr_lgr_t *lgr, int side,
                            uint32_t token);

/* CDC messages to `side` name the connection by `token` from now on. */
void smcr_conn_set_token(smcr_state_t *state, smcr_conn_t *conn, int side, uint32_t token);

/* The connection has left SMC: its tokens and RMB elements are free for other connections. */
void smcr_conn_leave_smc(smcr_state_t *state, smcr_conn_t *conn);

/* Whether the side has reported that it will write no more, or has closed or aborted. (4.8) */
static inline bool
smcr_conn_side_has_ended(const smcr_conn_side_t *side)
{
    return side->sending_done_frame || side->closed_frame || side->abort_frame;
}

/* Moves the position up to which the side has read to its last consumer cursor: the stream may have
 * become known after that message. */
static inline void
smcr_conn_side_update_stream(smcr_conn_side_t *side)
{
    if (side->in.positions_known && side->last_cdc_frame)
        smcr_stream_consume(&side->in, side->cons);
}

/* Whether the side has read up to the cursor `end`, as its last CDC message says. Before its first
 * message, only nothing has been read: `end` is at most the end of an eyecatcher. */
static inline bool
smcr_conn_side_has_read_to(const smcr_conn_side_t *side, smcr_cursor_t end)
{
    return side->last_cdc_frame ? smcr_ring_cursors_are_same(side->cons, end)
                           : end.wrap == 0 && end.count <= SMCR_WIRE_EYECATCHER_LENGTH;
}

/* The step from the sequence number of the side's last CDC message to `seq`; 1: the next one. A
 * sender that has counted wrong once may count on from the wrong number, so this is 1, too.
 * (A.4) */
static inline int16_t
smcr_conn_side_seq_step(const smcr_conn_side_t *sender, uint16_t seq)
{
    bool goes_on = seq == (uint16_t)(sender->cdc_seq_actual + 1);

    return goes_on ? 1 : (int16_t)(uint16_t)(seq - sender->cdc_seq_expected);
}

/* Whether the last CDC message of the side has an impossible cursor. */
static inline bool
smcr_conn_side_has_invalid_cursor(const smcr_conn_side_t *side)
{
    return side->invalid_cursor_frame && side->invalid_cursor_frame == side->last_cdc_frame;
}

/* Whether data in the RMB element of `side` certainly belongs to the connection, and CDC cursors
 * give its position. Neither holds if two open connections share the element, nor if WRITEs with
 * immediate data take the place of CDC messages. */
static inline bool
smcr_conn_owns_element(const smcr_conn_t *conn, int side)
{
    return !conn->lgr->immediate && !conn->side[side].element_shared;
}

/* The request with `psn` to the queue pair `qp` certainly belongs to the connection. If nothing was
 * known of the flow to `qp`, the connection began before that request; if it has moved there from
 * another link, it may use the whole flow. */
void smcr_conn_confirm_use(smcr_conn_t *conn, smcr_qp_t *qp, smcr_psn_t psn);

/* payload/ keeps `flow` for the bytes of the direction: 0 client to server, 1 server to client. */
static inline void
smcr_conn_set_flow(smcr_conn_t *conn, unsigned direction, struct smcr_payload_flow *flow)
{
    conn->flow[direction] = flow;
}

/* Heuristics have declined the data that `side` receives. Returns whether they have done so `most`
 * times in a row. */
bool smcr_conn_note_decline(smcr_conn_t *conn, int side, uint8_t most);

/* The direction of the data that `side` sends: 0 client to server, 1 server to client, -1 not
 * known. */
static inline int
smcr_conn_direction(const smcr_lgr_t *lgr, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? SMCR_LGR_SIDE_UNKNOWN : side == lgr->server;
}

/* ---- joining: two directions, or two half-known links, turn out to be one. Earlier records lead
 * to what their connection and link are now (smcr_record_complete()) ---- */

/* Two directions of a group are one connection: `one` goes to `side`, and `other` goes from there.
 * Returns the connection that both are now: the one that a host has named, else the older one. */
smcr_conn_t *smcr_join_directions(smcr_state_t *state, smcr_conn_t *one, smcr_conn_t *other,
                                  int side);

/* A message, or an acknowledgement, names the unknown queue pair of `link`: it is `key`. If a
 * half-known link has this queue pair, both links are one, and so are their groups. Half-known: the
 * link began before the capture, and only this queue pair is known of it and of its group. */
void smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key);
