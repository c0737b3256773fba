/* Connections that offer or use SMC-R: from the TCP handshake over CLC to the CDC messages.
 *
 * A connection lives as long as the capture file, and is written in the first pass only. A "point"
 * is an smcr_point_t: a PSN in the flow to a queue pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "rmb.h"
#include "stream.h"

typedef struct smcr_exchange smcr_exchange_t;

/* One side of a connection: what this side has announced in its Accept or Confirm, what it
 * receives, and what it has sent.
 *
 * The order of the members matters. If two directions turn out to be one connection, the members up
 * to `size` come from one direction, and those from `announced_at` on from the other
 * (take_direction() in conn.c). */
typedef struct {
    /* ---- what this side receives ---- */
    smcr_stream_t in;     /* byte stream that this side receives */
    smcr_rmb_t *rmb;      /* RMB in which this side receives; NULL: not known */
    smcr_point_t valid_from; /* point in the flow to this side after which the connection began */
    /* point in the flow to this side: last packet that certainly was of this connection */
    smcr_point_t last_confirmed_use;
    /* point in the flow to this side: last request whose position in `in` is known */
    smcr_point_t last_positioned_write;
    smcr_point_t last_cdc_received; /* point in the flow to this side: its last CDC message of the
                                       connection */
    uint8_t rmb_index;    /* number of the RMB element of the connection, 1 to 255; 0: not known */
    bool element_shared;  /* another open connection was given this element, too */
    bool token_shared;    /* another open connection was given this token, too */
    bool has_token;       /* `token` is known */
    /* how many times in a row heuristics have declined the data to this side; at most the limit
     * given to smcr_conn_note_decline() */
    uint8_t heuristic_declines;
    uint32_t token;       /* alert token that CDC messages to this side carry; see `has_token` */
    uint32_t size;        /* size of the element with its eyecatcher, bytes; 0: not known */

    /* ---- what this side sends ---- */
    /* point in the flow from this side: last packet before CLC announced this side's element; no
     * queue pair: CLC has not announced the element */
    smcr_point_t announced_at;
    smcr_link_t *link;      /* last link on which this side sent; NULL: not known */
    uint32_t cursor_update_request; /* slab number of the exchange of its open request for a cursor
                                       update; 0: none */
    uint16_t cdc_seq_expected; /* sequence number that its last CDC message should have had */
    uint16_t cdc_seq_actual; /* sequence number that its last CDC message had */
    uint32_t first_cdc_frame; /* frame of its first CDC message; 0: none so far */
    uint32_t last_cdc_frame; /* frame of its last CDC message; 0: none so far */
    uint64_t last_cdc_time; /* time of its last CDC message, nanoseconds since the epoch */
    uint64_t mark_time[2];  /* times of two earlier CDC messages, its marks, nanoseconds since the
                               epoch. [0] is the newer one, and [1] at least SMCR_TIME_DISORDER
                               before [0]. 0: none */
    uint32_t invalid_cursor_frame; /* frame of its last CDC message with an impossible cursor; 0:
                                      none */
    smcr_cursor_t prod;     /* its last possible producer cursor */
    smcr_cursor_t cons;     /* its last possible consumer cursor */
    smcr_cursor_t mark_prod[2]; /* producer cursors of the CDC messages at `mark_time` */
    smcr_cursor_t raw_prod;     /* producer cursor of the message in `invalid_cursor_frame`,
                                   possible or not */
    smcr_cursor_t raw_cons;     /* consumer cursor of the message in `invalid_cursor_frame`,
                                   possible or not */
    uint8_t cdc_flags;      /* producer flags of its last CDC message (A.4) */
    uint8_t cdc_state;      /* connection state flags of its last CDC message (A.4) */
    uint32_t sending_done_frame; /* frame in which this side reported that it will send no more; 0:
                                    not yet */
    uint32_t closed_frame;  /* frame in which this side closed the connection; 0: not yet */
    uint32_t abort_frame;   /* frame in which this side aborted the connection; 0: not yet */
    uint32_t moved_frame;   /* frame of the last message that moved this direction to another link,
                               a failover validation or not; 0: never */
    uint64_t moved_time;    /* time of the message that moved this direction, nanoseconds since the
                               epoch */
    bool unverified;        /* its last CDC message is unverified: earlier messages may be missing,
                               and either CLC has not announced this side's element, or the message
                               is the first one */
    bool last_cdc_missing;  /* its last CDC messages, or the last ones on the link that it has left,
                               are missing */
} smcr_conn_side_t;

/* Why a connection uses TCP and not SMC-R. */
typedef enum {
    SMCR_FALLBACK_NONE,      /* the connection uses SMC-R, or has not decided yet */
    SMCR_FALLBACK_NO_OPTION, /* the SYN-ACK has no option */
    SMCR_FALLBACK_NO_CLC,    /* application data follows the handshake with the option, without
                                CLC */
    SMCR_FALLBACK_NO_ANSWER, /* application data follows the Proposal or the Accept */
    SMCR_FALLBACK_DECLINED,  /* a side has sent a Decline */
    SMCR_FALLBACK_TOLD,      /* a host reports the fallback over netlink */
} smcr_fallback_kind_t;

/* A fallback to TCP, and what was known when it was decided. */
typedef struct {
    uint32_t frame;        /* frame that proves the fallback; 0: no fallback */
    uint32_t code;         /* Decline: its diagnosis; report of a host: the reason; 0: neither */
    uint32_t peer_code;    /* report of a host: diagnosis in the peer's Decline; 0: none */
    uint8_t kind;          /* smcr_fallback_kind_t */
    uint8_t os;            /* Decline of version 2: operating system of its sender
                              (smcr_clc_os_type); 0: none */
    uint8_t step;          /* CLC type of the last step before the fallback; 0: none */
    bool by_server : 1;    /* the server sent the Decline; false: the client did */
    bool both_options : 1; /* SYN and SYN-ACK have the option */
    bool outside_subnet : 1; /* the server's address is not in the subnet of the Proposal */
    bool roce_missing : 1; /* no RoCE packet has come on the link after the Confirm */
    bool clc_may_be_missing : 1; /* CLC messages before the fallback may be missing, also an earlier
                                    Decline */
    bool roles_unknown : 1; /* it is not known which end is the client */
    bool code_cut : 1;     /* the Decline is truncated by snaplen before its diagnosis */
} smcr_fallback_t;

/* A connection. An array of two members is by role (client, server), by sender (client, server), or
 * by side of the link group, as its comment says. */
struct smcr_conn {
    /* ---- TCP. `conversation` has to be first: it is a key in conn.c ---- */
    void *conversation;      /* Wireshark's TCP conversation; the state only keeps the pointer.
                                NULL: not known. Then addresses, ports and `tcp_stream` are not
                                set */
    struct smcr_payload_flow *flow[2]; /* by direction: what payload/ keeps of the bytes; NULL:
                                          none */
    union {
        uint8_t ipv4[2][4];               /* by role, if `ipv4` is set */
        uint8_t (*ipv6)[SMCR_GID_LENGTH]; /* by role, if `ipv4` is not set */
    } addr;                  /* addresses of the ends, in network byte order */
    /* by sender: CLC message of which tcp/ has only a part; NULL: none */
    struct smcr_tcp_begun *partial_clc[2];
    uint16_t port[2];        /* ports, by role; 0: not known */
    uint32_t tcp_stream;     /* number of the TCP connection (tcp.stream) */
    uint32_t conversation_from; /* frame from which on `conversation` has been known */

    /* ---- its place in the capture ---- */
    uint32_t index;          /* number of the connection in the capture, from 0 (smcr.stream) */
    uint64_t begin_time;     /* time of its first frame, nanoseconds since the epoch; 0: none yet */
    smcr_when_t last_activity; /* its last frame so far (smcr_conn_note_activity()) */

    /* ---- CLC ---- */
    uint32_t clc_end_frame[2]; /* by sender: frame from which on its bytes are the application's; 0:
                                  no such frame yet */
    uint32_t proposal_frame; /* frame of the Proposal; 0: none */
    uint32_t accept_frame;   /* frame of the Accept; 0: none */
    uint32_t confirm_frame;  /* frame of the Confirm; 0: none */
    uint32_t decline_frame;  /* frame of the first Decline; 0: none */
    uint8_t clc_step_type;   /* CLC type of the message in `clc_step`, which waits for its answer */
    uint8_t accept_flags;    /* byte 7 of the Accept: version, first contact, path (A.2.3) */
    uint8_t clc_types_received; /* CLC types that have come, as bits: bit 1 is type 1 */
    uint8_t clc_complete;    /* senders of which the capture has all CLC bytes so far, as bits: bit
                                0 client, bit 1 server (evidence/absent.c) */

    /* ---- facts of the handshake ---- */
    bool knows_client : 1;   /* a SYN or SYN-ACK came before CLC, and shows who is the client */
    bool server_outside_subnet : 1; /* no subnet and no prefix of the Proposal has the server's
                                       address */
    bool first_contact : 1;  /* the Accept makes a new link group */
    bool clc_finished : 1;   /* Accept and Confirm have come, or a Decline; the connection is then
                                not counted in `unfinished_clc_conns` of its group */
    bool clc_step_by_server : 1; /* the server sent the message in `clc_step` */
    bool clc_cut : 1;        /* an Accept or Confirm is truncated by snaplen before its queue
                                pair */
    bool roles_unknown : 1;  /* it is not known which end is the client: the first captured message
                                is a Decline, or only a host's report of a fallback is captured */
    bool ipv4 : 1;           /* its addresses are IPv4; false: IPv6 */
    bool reuses_ports : 1;   /* an earlier TCP connection with the same addresses and ports had
                                ended */
    bool option_syn : 1;     /* a SYN with the option has come */
    bool option_synack : 1;  /* a SYN-ACK with the option has come */
    bool has_synack : 1;     /* a SYN-ACK has come, with or without the option */
    bool sides_swapped : 1;  /* its two sides have changed places: its link group was joined with
                                another one (conn.c) */
    /* only one of its directions is or was known: it is or was in `one_direction_conns` of its
     * group */
    bool is_one_direction : 1;

    /* ---- sequence numbers of TCP, as Wireshark counts them (evidence/absent.c) ---- */
    uint32_t clc_next_seq[2]; /* by role: sequence number of the first byte after CLC so far */
    /* by role: sequence number of the first byte after bytes that may be a part of a CLC message;
     * 0: there are none */
    uint32_t clc_partial_seq[2];

    /* ---- fallback, link group, and joins ---- */
    smcr_fallback_t fallback;   /* why the connection uses TCP; kind SMCR_FALLBACK_NONE: it does not
                                   use TCP so far */
    uint32_t clc_step;          /* slab number of the exchange of the CLC message that waits for its
                                   answer; 0: none */
    smcr_lgr_t *lgr;            /* its link group; NULL: not known */
    smcr_conn_t *older_in_group; /* connection that joined the group before this one; NULL: none */
    smcr_conn_t *older_open;    /* connection that joined the group before this one and may be open;
                                   NULL: none (smcr_conn_first_open()) */
    struct smcr_rules_conn *rules; /* what the rules remember of the connection; NULL: nothing */
    smcr_socket_t *socket;      /* socket whose report first gave the connection its name; NULL:
                                   none */
    smcr_conn_t *merged_into;   /* connection whose other direction this one has turned out to be;
                                   NULL: this is a connection of its own */
    const smcr_conn_t *merged_half; /* connection that has turned out to be the other direction of
                                       this one; NULL: none */
    smcr_conn_side_t side[2];   /* the two sides, by side of the link group */
};

/* The connection that `conn` is now: the connection with which it was joined, or `conn` itself.
 * NULL gives NULL. */
static inline smcr_conn_t *
smcr_conn_merged(smcr_conn_t *conn)
{
    return conn && conn->merged_into ? conn->merged_into : conn;
}

/* Whether the connection began before the capture: neither its handshake with the option nor CLC is
 * captured. Its addresses and ports are then known from a host's report only. */
static inline bool
smcr_conn_began_before_capture(const smcr_conn_t *conn)
{
    return !conn->has_synack && !conn->option_syn && !conn->clc_types_received;
}

/* Puts the connection into the link group. If it has been in another group before, it stays in the
 * list of that group. */
void smcr_conn_join(smcr_conn_t *conn, smcr_lgr_t *lgr);

/* Whether one of the IPv6 prefixes of the Proposal, or the subnet of the client's IPv4 address,
 * contains the server's address. Also true if a part of the Proposal or an address is not captured.
 * (A.2.2) */
bool smcr_conn_is_inside(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal);

/* Called after a CLC message of the connection was taken in. Notes in the connection and its group
 * whether CLC is complete, and whether a first contact was declined. */
void smcr_conn_note_clc(smcr_conn_t *conn);

/* Whether a side has closed or aborted the connection, or the connection was joined with another
 * one. */
static inline bool
smcr_conn_has_closed(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];
    bool closed = one->closed_frame || other->closed_frame;

    return conn->merged_into || closed || one->abort_frame || other->abort_frame;
}

/* The first open connection in the list `older_open`, from `*at` on: neither closed nor aborted nor
 * fallen back. Connections before it are removed from the list. NULL: there is none. */
smcr_conn_t *smcr_conn_first_open(smcr_conn_t **at);

/* Notes a frame of the connection: a SYN with the option, a message, or a RoCE packet. Returns the
 * time since its last frame, nanoseconds plus 1. 0: there was no such frame, the clock of the
 * capture goes back, or a packet in between may be of the connection. */
uint64_t smcr_conn_note_activity(smcr_conn_t *conn, smcr_when_t when);

/* Makes the tables of conn.c in a new state. */
void smcr_conn_tables_new(smcr_state_t *state);

/* Makes a connection with the next index. */
smcr_conn_t *smcr_conn_new(smcr_state_t *state);

/* The connection of Wireshark's TCP conversation `conversation`; NULL: there is none. */
smcr_conn_t *smcr_conn_of_conversation(const smcr_state_t *state, void *conversation);

/* Notes that the connection is that of this TCP conversation, whose number is `tcp_stream`. */
void smcr_conn_set_conversation(smcr_state_t *state, smcr_conn_t *conn, void *conversation,
                                uint32_t tcp_stream);

/* Sets addresses and ports of its TCP connection. Arrays are by role: client, server. `gid`:
 * addresses in network byte order, those of IPv4 mapped into IPv6. `port`: in host byte order. */
void smcr_conn_set_ends(smcr_state_t *state, smcr_conn_t *conn, bool ipv4,
                        const uint8_t *const gid[2], const uint16_t port[2]);

/* Removes TCP conversation, addresses and ports of the connection. */
void smcr_conn_drop_conversation(smcr_state_t *state, smcr_conn_t *conn);

/* Number of connections; their indices are 0 to this number minus 1. */
uint32_t smcr_conn_count(const smcr_state_t *state);

/* Calls `visit` with each connection that has a TCP conversation. */
void smcr_conn_each(const smcr_state_t *state, void (*visit)(const smcr_conn_t *conn, void *data),
                    void *data);

/* The connection that CDC messages to `side` of the group name by `token`; NULL: none that is
 * known. */
smcr_conn_t *smcr_conn_find(const smcr_state_t *state, const smcr_lgr_t *lgr, int side,
                            uint32_t token);

/* Notes that CDC messages to `side` name the connection by `token` from now on. */
void smcr_conn_set_token(smcr_state_t *state, smcr_conn_t *conn, int side, uint32_t token);

/* Takes tokens and RMB elements from the connection, which has left SMC: other connections may get
 * them. */
void smcr_conn_leave_smc(smcr_state_t *state, smcr_conn_t *conn);

/* Whether the side has reported that it will write no more, or has closed or aborted. (4.8) */
static inline bool
smcr_conn_side_has_ended(const smcr_conn_side_t *side)
{
    return side->sending_done_frame || side->closed_frame || side->abort_frame;
}

/* Moves the position up to which the side has read to its last consumer cursor. The stream may have
 * become known only after the message with this cursor. */
static inline void
smcr_conn_side_update_stream(smcr_conn_side_t *side)
{
    if (side->in.positions_known && side->last_cdc_frame)
        smcr_stream_consume(&side->in, side->cons);
}

/* Whether the side has read up to the cursor `end`, as its last CDC message says. Before its first
 * message the side has read nothing, so `end` has to be at the begin of the element or of its
 * data. */
static inline bool
smcr_conn_side_has_read_to(const smcr_conn_side_t *side, smcr_cursor_t end)
{
    return side->last_cdc_frame ? smcr_ring_cursors_are_same(side->cons, end)
                           : end.wrap == 0 && end.count <= SMCR_WIRE_EYECATCHER_LENGTH;
}

/* Step from the sequence number of the side's last CDC message to `seq`; 1: `seq` is the next
 * number. A sender that has counted wrong once may go on from the wrong number, so this step is 1,
 * too. (A.4) */
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
 * give its position. This is not so if two open connections share the element, or if WRITEs with
 * immediate data replace CDC messages. */
static inline bool
smcr_conn_owns_element(const smcr_conn_t *conn, int side)
{
    return !conn->lgr->immediate && !conn->side[side].element_shared;
}

/* Notes that the request with `psn` to the queue pair `qp` certainly belongs to the connection. If
 * the connection was known in no flow, it began before this request. If it was known in the flow to
 * another queue pair, it has moved, and may have used the whole flow to `qp`. */
void smcr_conn_confirm_use(smcr_conn_t *conn, smcr_qp_t *qp, smcr_psn_t psn);

/* Notes what payload/ keeps of the bytes of one direction: 0 client to server, 1 server to
 * client. */
static inline void
smcr_conn_set_flow(smcr_conn_t *conn, unsigned direction, struct smcr_payload_flow *flow)
{
    conn->flow[direction] = flow;
}

/* Notes that heuristics have declined the data that `side` receives. Returns whether they have
 * declined `most` times in a row. */
bool smcr_conn_note_decline(smcr_conn_t *conn, int side, uint8_t most);

/* The direction of the data that `side` sends: 0 client to server, 1 server to client, -1 not
 * known. */
static inline int
smcr_conn_direction(const smcr_lgr_t *lgr, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? SMCR_LGR_SIDE_UNKNOWN : side == lgr->server;
}

/* ---- joining: two directions, or two half-known links, turn out to be one. Earlier records lead
 * to the connection and link that result (smcr_record_complete()) ---- */

/* Joins two directions of a group, which are one connection: `one` goes to `side`, and `other`
 * comes from `side`. Returns the connection of both: the one that a host has named, otherwise the
 * older one. */
smcr_conn_t *smcr_join_directions(smcr_state_t *state, smcr_conn_t *one, smcr_conn_t *other,
                                  int side);

/* Joins two links if a message or an acknowledgement shows that they are one. `link`: a link with
 * an unknown queue pair. `key`: this queue pair, which the packet names. If a half-known link has
 * the queue pair `key`, both links are one, and so are their groups. Half-known: the link began
 * before the capture, and only one queue pair is known of the link and its group. */
void smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key);
