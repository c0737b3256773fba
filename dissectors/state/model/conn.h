/* Connections that offer or use SMC-R: from the TCP handshake over CLC to the CDC messages.
 *
 * The state writes a connection in the first pass only. A connection lives as long as the capture
 * file, with one exception: if the capture is read only once, for -z smcr,lines, it may be released
 * after its end (flow/release.c). A "point" is an smcr_point_t: a PSN in the flow to a queue pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "rmb.h"
#include "stream.h"

typedef struct smcr_exchange smcr_exchange_t;

/* One side of a connection: what the Accept or Confirm of this side has announced, what the side
 * receives, and what it has sent. "Last CDC message" in a member's comment means: the last captured
 * CDC message of this connection from this side whose content counts. Failover validations do not
 * count, and messages after a sequence gap count only when the receiver has taken them in.
 * Immediate data in place of a CDC message count as one.
 *
 * The order of the members matters to take_direction() in conn.c, which joins two directions to one
 * connection. For one of the two sides the function copies the members up to `size`, which are
 * about received data. For the other side it copies the members from `announced_at` on, which are
 * about sent data. */
typedef struct {
    /* ---- what this side receives ---- */
    smcr_stream_t in;     /* byte stream that this side receives */
    smcr_rmb_t *rmb;      /* RMB in which this side receives; NULL: not known */
    smcr_point_t valid_from; /* point of the last packet before the connection began, in the flow to
                                this side; PSN 0 after a move to another link; no queue pair: not
                                known */
    /* point of the last packet that certainly belonged to this connection, in the flow to this
     * side; before the first such packet: as `valid_from` */
    smcr_point_t last_confirmed_use;
    /* point of the last request whose position in `in` is known, or of a later CDC message whose
     * producer cursor gives the position of the next request, in the flow to this side; before the
     * first one: as `valid_from` */
    smcr_point_t last_positioned_write;
    smcr_point_t last_cdc_received; /* point of the peer's last CDC message, in the flow to this
                                       side; if the peer moved to another link before its first one:
                                       as `valid_from`. No queue pair: none so far */
    uint8_t rmb_index;    /* number of the RMB element of the connection, 1 to 255; 0: not known */
    /* packets to the RMB element of this side may belong to another connection. Three cases: 1. CLC
     * has given the element to another open connection, too; 2. the element may have had an earlier
     * connection, and the clocks of the group differ, so it is not known whether that one had
     * ended; 3. CLC has given two sizes of the RMB's elements, so it is not known where they
     * begin */
    bool element_shared;
    bool token_shared;    /* CLC has given the alert token of this side to another open connection,
                             too */
    bool has_token;       /* `token` is known */
    /* how many times Wireshark's heuristic dissectors have declined data to this side; at most the
     * argument `most` of smcr_conn_note_decline() */
    uint8_t heuristic_declines;
    uint32_t token;       /* alert token that CDC messages to this side carry; see `has_token` */
    uint32_t size;        /* size of this side's RMB element with its eyecatcher, bytes; 0: not
                             known */

    /* ---- what this side sends ---- */
    /* point of the last packet before CLC announced this side's element, in the flow from this
     * side. If a tap shows the connection: point of the last packet before the first one of the
     * connection. No queue pair: neither is known */
    smcr_point_t announced_at;
    smcr_link_t *link;      /* link of this side's last CDC message or failover validation; before
                               the first one, the link that CLC or a tap has shown; NULL: not
                               known */
    uint32_t cursor_update_request; /* exchange of this side's open request for a consumer cursor
                                       update, by its slab number (smcr_slab_entry()); 0: no such
                                       request is open */
    bool may_have_asked; /* no such request is known, and a missing CDC message of this side, since
                            the peer's last one, may have made one */
    uint16_t cdc_seq_expected; /* sequence number that this side's last CDC message should have had;
                                  if that is not known, the number that it had */
    uint16_t cdc_seq_actual; /* sequence number of this side's last CDC message */
    uint32_t first_cdc_frame; /* frame of this side's first CDC message; 0: none so far */
    uint32_t last_cdc_frame; /* frame of this side's last CDC message; 0: none so far */
    uint64_t last_cdc_time; /* time of this side's last CDC message, nanoseconds since the epoch */
    uint64_t mark_time[2];  /* times of two CDC messages of this side with a possible producer
                               cursor, called its marks, nanoseconds since the epoch; 0: no such
                               message. [0] is the newer mark; [1] came at least SMCR_TIME_DISORDER
                               before [0]. Cursors that a host reports are compared with the
                               marks */
    uint32_t invalid_cursor_frame; /* frame of this side's last CDC message with an impossible
                                      cursor; 0: none */
    smcr_cursor_t prod;     /* last producer cursor of this side that is not impossible (`accepted`
                               of smcr_evidence_cursor_t) */
    smcr_cursor_t cons;     /* last consumer cursor of this side that is not impossible (`accepted`
                               of smcr_evidence_cursor_t) */
    smcr_cursor_t mark_prod[2]; /* producer cursors of the two CDC messages of `mark_time`, in the
                                   same order */
    smcr_cursor_t raw_prod;     /* producer cursor of the message in `invalid_cursor_frame`,
                                   possible or not */
    smcr_cursor_t raw_cons;     /* consumer cursor of the message in `invalid_cursor_frame`,
                                   possible or not */
    uint8_t cdc_flags;      /* producer flags of this side's last CDC message (A.4) */
    uint8_t cdc_state;      /* connection state flags of this side's last CDC message (A.4) */
    uint32_t sending_done_frame; /* frame in which this side reported that it will write no more
                                    data; 0: not yet */
    uint32_t closed_frame;  /* frame in which this side closed the connection; 0: not yet */
    /* points to the first acknowledgement of the message with which this side closed or aborted the
     * connection; *close_acked is NULL until the acknowledgement comes. NULL: there is no such
     * message, or the state has no analysis of it */
    const smcr_ack_t *const *close_acked;
    uint32_t abort_frame;   /* frame in which this side aborted the connection; 0: not yet */
    /* frame of the last CDC message with which this side moved to another link; 0: the side has not
     * moved. This message need not be a failover validation. If the capture has the move before a
     * CDC message that the side had sent on the old link, `moved_frame` is the frame of that
     * message plus 1 */
    uint32_t moved_frame;
    uint64_t moved_time;    /* time of the CDC message with which this side moved, nanoseconds since
                               the epoch; see `moved_frame` */
    bool unverified;        /* the cursors of this side's last CDC message cannot be checked. Two
                               conditions hold: 1. earlier messages of this side may be missing; 2.
                               CLC has not announced this side's element, or the message is the
                               first captured one */
    /* Immediate data have no consumer cursor, but a step: the number of bytes newly read. A step of
     * this side is missing or useless: immediate data are missing, or belong to no known
     * connection, the size of the ring is not known, or a cursor is impossible. From then on
     * immediate data leave `cons` as it is, so `cons` may be too low. Once set, this member stays
     * set; only messages that a tap shows set it anew, each of them */
    bool steps_missing;
    bool writes_missing;    /* the last immediate data of this side gave no producer cursor: `prod`
                               is only a lower bound */
    bool is_step_full;      /* the step in the last immediate data of this side had the highest
                               possible value, so the next step may report only the rest */
    bool last_cdc_missing;  /* CDC messages that this side sent after its last captured CDC message
                               are missing: at the end of the connection, or on the link from which
                               this side has moved */
    bool is_missing;        /* a later message of this side proves that one of its packets of this
                               connection is missing */
    bool has_announced;     /* a CDC message of this side has had another producer cursor than one
                               before */
    bool wrote_after_end;   /* after this side reported its end, an RDMA WRITE to the element of the
                               peer has come, and no CDC message of this side since then. The next
                               CDC message may announce the bytes of the WRITE */
} smcr_conn_side_t;

/* Why a connection uses TCP and not SMC-R. */
typedef enum {
    SMCR_FALLBACK_NONE,      /* the connection uses SMC-R, or its handshake has not decided yet */
    SMCR_FALLBACK_NO_OPTION, /* the SYN-ACK has no SMC-R option */
    SMCR_FALLBACK_NO_CLC,    /* application data follows the TCP handshake, and no Proposal or
                                Accept is captured */
    SMCR_FALLBACK_NO_ANSWER, /* application data follows CLC messages: the peer has not answered
                                with CLC, or its Decline may be missing */
    SMCR_FALLBACK_DECLINED,  /* a side has sent a Decline */
    SMCR_FALLBACK_TOLD,      /* a host reports the fallback */
} smcr_fallback_kind_t;

/* A fallback to TCP, and what was known in the frame that proves the fallback. */
typedef struct {
    uint32_t frame;        /* frame that proves the fallback; 0: no fallback, or only a file of
                              smcss reports it */
    uint32_t code;         /* reason of the fallback: the diagnosis in the Decline, or the reason
                              that a host reports; 0: not known */
    uint32_t peer_code;    /* diagnosis in the peer's Decline, as a host reports; 0: none */
    uint8_t kind;          /* smcr_fallback_kind_t */
    uint8_t os;            /* operating system of the sender (smcr_clc_os_type), which only a
                              Decline of version 2 has; 0: not known */
    uint8_t step;          /* CLC type of the last step of the handshake before the fallback:
                              Proposal, Accept or Confirm; 0: none */
    bool by_server : 1;    /* the server sent the Decline; false: the client did, or there is no
                              Decline */
    bool both_options : 1; /* SYN and SYN-ACK have the SMC-R option */
    bool outside_subnet : 1; /* a Decline has come, and the server's IPv4 address is not in the
                                subnet of the Proposal */
    bool roce_missing : 1; /* a Decline has come after the Confirm, and no RoCE packet has come on
                              the connection's link */
    bool clc_may_be_missing : 1; /* CLC messages before the fallback may be missing or truncated by
                                    snaplen, for example an earlier Decline */
    bool roles_unknown : 1; /* it is not known which end of the TCP connection is the client */
    bool code_cut : 1;     /* the Decline is truncated by snaplen before its diagnosis */
} smcr_fallback_t;

/* A connection. The comment of an array of two members says how the array is indexed: by role or by
 * sender (0 client, 1 server), by direction (0 from the client, 1 from the server), or by side of
 * the link group. */
struct smcr_conn {
    /* ---- TCP. `conversation` has to be the first member: conn.c uses it as a key ---- */
    void *conversation;      /* Wireshark's TCP conversation; the state only keeps the pointer.
                                NULL: not known. Then `tcp_stream` is not set, and addresses and
                                ports are set only if a host has reported them */
    struct smcr_payload_flow *flow[2]; /* objects in which the room payload/ keeps the state of the
                                          application's bytes, by direction (smcr_conn_set_flow());
                                          NULL: none */
    union {
        uint8_t ipv4[2][4];               /* IPv4 addresses by role, if the member `ipv4` of
                                             smcr_conn is true */
        uint8_t (*ipv6)[SMCR_GID_LENGTH]; /* IPv6 addresses by role, if the member `ipv4` of
                                             smcr_conn is false */
    } addr;                  /* addresses of both TCP ends, in network byte order */
    /* by sender: CLC message whose last bytes have not come yet (room tcp/); NULL: none */
    struct smcr_tcp_begun *partial_clc[2];
    uint16_t port[2];        /* TCP ports in host byte order, by role; 0: not known */
    uint32_t dmb_size[2];    /* sizes of the direct memory buffers that Accept and Confirm of SMC-D
                                announce, bytes, by role of the owner; 0: not announced */
    struct smcr_tapped *tapped; /* what a tap in the kernel of a host shows of the connection
                                   (flow/tapped/tapped.c); NULL: nothing */
    uint32_t tcp_stream;     /* number of the TCP connection (tcp.stream) */
    uint32_t conversation_from; /* frame from which on `conversation` has been known, 0: not known;
                                   of an object of which a direction was joined into another one
                                   (`merged_into`): frame in which it was joined */

    /* ---- its place in the capture ---- */
    uint32_t index;          /* number of the connection in the capture, from 0 (smcr.stream) */
    uint64_t begin_time;     /* time of the connection's first SYN with the option; if no such SYN
                                was captured, of its first frame. Nanoseconds since the epoch; 0:
                                none yet */
    smcr_when_t last_activity; /* frame and time of the connection's last frame so far
                                  (smcr_conn_note_activity()) */

    /* ---- CLC ---- */
    uint32_t clc_end_frame[2]; /* first frame in which the sender's bytes on TCP are no longer CLC,
                                  by sender; 0: not yet */
    uint32_t proposal_frame; /* last frame with the Proposal; 0: none */
    uint32_t accept_frame;   /* frame of the last Accept whose queue pair and RMB are captured; 0:
                                none */
    uint32_t confirm_frame;  /* frame of the last Confirm whose queue pair and RMB are captured; 0:
                                none */
    uint32_t decline_frame;  /* frame of the first Decline; 0: none */
    uint8_t clc_step_type;   /* CLC type of the last step of the handshake; if `clc_step` is set,
                                this message began that exchange */
    uint8_t accept_flags;    /* byte 7 of the Accept message: version, first contact, path
                                (A.2.3) */
    uint8_t clc_types_received; /* types of the CLC messages that have come, one bit for each type:
                                   bit 1 is type 1. A message of an unknown type counts as the type
                                   that its sender has to send next */
    uint8_t clc_complete;    /* bit 0: the capture has all CLC bytes of the client so far; bit 1: of
                                the server (evidence/clc_bytes.c) */

    /* ---- facts of the TCP and CLC handshake ---- */
    bool knows_client : 1;   /* a SYN or SYN-ACK came before CLC, and shows who is the client */
    bool server_outside_subnet : 1; /* the server's address is in no subnet and no IPv6 prefix of
                                       the Proposal */
    bool first_contact : 1;  /* the last Accept has the flag "first contact": it makes a new link
                                group */
    bool clc_finished : 1;   /* Accept and Confirm have come, or a Decline has come, or the object
                                was joined into the one that CLC has announced. Such a connection is
                                not counted in `unfinished_clc_conns` of its group */
    bool clc_step_by_server : 1; /* the server sent the last step of the handshake
                                    (`clc_step_type`) */
    bool clc_cut : 1;        /* a message that is, or may be, an Accept or Confirm is truncated by
                                snaplen before the end of its RMB's address */
    bool roles_unknown : 1;  /* it is not known which TCP end is the client */
    bool ipv4 : 1;           /* the addresses are IPv4; false: IPv6 */
    bool is_translated : 1;  /* the capture has the TCP connection with other addresses or ports,
                                too: NAT lies between client and server */
    bool reuses_ports : 1;   /* an earlier TCP connection with the same addresses and ports had
                                ended */
    bool option_syn : 1;     /* a SYN with the SMC-R option has come */
    bool option_synack : 1;  /* a SYN-ACK with the SMC-R option has come */
    bool has_synack : 1;     /* a SYN-ACK has come, with or without the option */
    bool sides_swapped : 1;  /* sides 0 and 1 of the connection have changed places, since its link
                                group was joined with another one (conn.c) */
    /* only one direction of the connection is known, or was known in the past: the connection is or
     * was in `one_direction_conns` of its group */
    bool is_one_direction : 1;
    bool is_kept : 1;        /* something that may outlive the connection points to it, so it is not
                                released (smcr_conn_keep()) */
    bool is_leaving : 1;     /* the connection is being released (flow/release.c) */

    /* ---- sequence numbers of TCP, as Wireshark counts them (evidence/clc_bytes.c) ---- */
    uint32_t clc_next_seq[2]; /* sequence number of the first byte after the CLC messages so far, by
                                 sender */
    /* sequence number of the first byte after bytes that may be a part of a CLC message, by sender;
     * 0: there are no such bytes */
    uint32_t clc_partial_seq[2];

    /* ---- fallback, link group, and joins ---- */
    smcr_fallback_t fallback;   /* why the connection uses TCP; kind SMCR_FALLBACK_NONE: no fallback
                                   so far */
    uint32_t clc_step;          /* exchange of the CLC message that waits for its answer, by its
                                   slab number (smcr_slab_entry()); 0: none */
    smcr_lgr_t *lgr;            /* link group of the connection; NULL: not known */
    smcr_conn_t *older_in_group; /* connection that joined the group before this one; NULL: none */
    smcr_conn_t *older_open;    /* connection that joined the group before this one and may be open,
                                   in the list for smcr_conn_first_open(); NULL: none */
    struct smcr_rules_conn *rules; /* what state/rules/ keeps of the connection; NULL: nothing */
    smcr_socket_t *socket;      /* socket whose report first gave the connection its name; NULL:
                                   none */
    smcr_conn_t *merged_into;   /* object into which this one was joined, since both were parts of
                                   one connection: its two directions, its messages and its CLC, or
                                   a reported fallback and its TCP connection. Only the other object
                                   counts. NULL: this object counts */
    const smcr_conn_t *merged_half; /* last object of which a direction was joined into this one
                                       (its `merged_into` is this one); NULL: none */
    /* of a connection of which only one direction is known: the opposite direction, known as
     * another connection, that its last messages have fitted (count_fitting() in cdc_conn.c); NULL:
     * none so far */
    const smcr_conn_t *fitting_half;
    smcr_cursor_t fitting_cursor; /* consumer cursor of the last message that `fitting_half` fits */
    uint32_t fitting_count;       /* number of such messages, one after the other, each with another
                                     consumer cursor than the one before */
    smcr_conn_side_t side[2];   /* the two sides, by side of the link group */
};

/* Returns the connection into which `conn` was joined, or `conn` itself if it was not joined. NULL
 * gives NULL. */
static inline smcr_conn_t *
smcr_conn_merged(smcr_conn_t *conn)
{
    return conn && conn->merged_into ? conn->merged_into : conn;
}

/* Whether the connection began before the capture. This is so if no SYN-ACK, no SYN with the option
 * and no CLC message of the connection is captured. */
static inline bool
smcr_conn_began_before_capture(const smcr_conn_t *conn)
{
    return !conn->has_synack && !conn->option_syn && !conn->clc_types_received;
}

/* Whether the connection had begun when the packet to `qp` with the PSN `psn` was sent. An earlier
 * packet with the same token may belong to another connection. `conn` NULL gives false. */
static inline bool
smcr_conn_had_begun(const smcr_conn_t *conn, const smcr_qp_t *qp, smcr_psn_t psn)
{
    return conn && smcr_point_is_before(&conn->side[qp->side].valid_from, qp, psn);
}

/* Notes that something points to the connection which may outlive it: the connection stays as long
 * as the capture file. NULL changes nothing. */
static inline void
smcr_conn_keep(const smcr_conn_t *conn)
{
    if (conn)
        ((smcr_conn_t *)(uintptr_t)conn)->is_kept = true;
}

/* Whether the group has had one connection only. */
static inline bool
smcr_lgr_has_one_conn(const smcr_lgr_t *lgr)
{
    return lgr->newest_conn && !lgr->newest_conn->older_in_group && !lgr->released_until;
}

/* Puts the connection into the link group. A connection that is in another group leaves the lists
 * of that group. */
void smcr_conn_join(smcr_conn_t *conn, smcr_lgr_t *lgr);

/* Whether the server is inside the client's network: one of the IPv6 prefixes of the Proposal, or
 * the subnet of the client's IPv4 address, contains the server's address. True in every doubt, for
 * example if a part of the Proposal is not captured. (A.2.2) */
bool smcr_conn_is_inside(const smcr_conn_t *conn, const smcr_clc_proposal_t *proposal);

/* After a CLC message: notes in the connection and its group whether the CLC handshake is complete,
 * and whether a first contact was declined. */
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

/* Returns the first open connection of a list that begins at `*at` and is linked by `older_open`. A
 * connection is open if it has not closed, aborted or fallen back to TCP, and was not joined with
 * another one. Connections before the result are removed from the list. NULL: no connection of the
 * list is open. */
smcr_conn_t *smcr_conn_first_open(smcr_conn_t **at);

/* Notes a frame of the connection. `when`: number and time of this frame. Returns the time since
 * the connection's last frame, nanoseconds plus 1. Returns 0 in four cases: 1. the connection has
 * no earlier frame; 2. the last frame is this frame; 3. the clock of the capture goes back; 4.
 * since the last frame a WRITE has come whose connection was not known, and which may belong to
 * this connection. */
uint64_t smcr_conn_note_activity(smcr_conn_t *conn, smcr_when_t when);

/* Makes the tables of connections by token and by TCP conversation (`tokens` and `conversations` of
 * smcr_state) for a new state. */
void smcr_conn_tables_new(smcr_state_t *state);

/* Makes a connection with the next index. */
smcr_conn_t *smcr_conn_new(smcr_state_t *state);

/* The connection of Wireshark's TCP conversation `conversation`; NULL: there is none. */
smcr_conn_t *smcr_conn_of_conversation(const smcr_state_t *state, void *conversation);

/* Sets the TCP conversation of the connection, from the present frame on. `tcp_stream`: number of
 * this TCP conversation. */
void smcr_conn_set_conversation(smcr_state_t *state, smcr_conn_t *conn, void *conversation,
                                uint32_t tcp_stream);

/* Sets the TCP addresses and ports of the connection. Arrays are by role: client, server. `ipv4`:
 * both addresses are IPv4. `gid`: addresses in network byte order, IPv4 addresses mapped into IPv6.
 * `port`: in host byte order. */
void smcr_conn_set_ends(smcr_state_t *state, smcr_conn_t *conn, bool ipv4,
                        const uint8_t *const gid[2], const uint16_t port[2]);

/* ---- connections that leave: their memory serves later connections (flow/release.c) ---- */

/* Takes the connections that are leaving (`is_leaving`) out of the list of the group, and calls
 * `taken` with each. The newest connection of the group stays. */
void smcr_conn_take_leaving(smcr_lgr_t *lgr, void (*taken)(smcr_conn_t *conn, void *data),
                            void *data);

/* Removes connections that are leaving from the list `newest_open_conn` of the group, and from its
 * RMB elements. */
void smcr_conn_forget_leaving(smcr_lgr_t *lgr);

/* Removes the alert tokens of all connections that are leaving. */
void smcr_conn_forget_leaving_tokens(smcr_state_t *state);

/* Frees the connection, which nothing points to. Its TCP conversation then has no connection. */
void smcr_conn_free(smcr_state_t *state, smcr_conn_t *conn);

/* Forgets the TCP conversation, the addresses and the ports of the connection. */
void smcr_conn_drop_conversation(smcr_state_t *state, smcr_conn_t *conn);

/* Number of connections so far, also of released and joined ones; their indices are 0 to this
 * number minus 1. */
uint32_t smcr_conn_count(const smcr_state_t *state);

/* Calls `visit` with each connection that has a TCP conversation. */
void smcr_conn_each(const smcr_state_t *state, void (*visit)(const smcr_conn_t *conn, void *data),
                    void *data);

/* Returns the connection of the group that CDC messages to `side` name by the alert token `token`.
 * NULL: no known connection has this token. */
smcr_conn_t *smcr_conn_find(const smcr_state_t *state, const smcr_lgr_t *lgr, int side,
                            uint32_t token);

/* Notes that CDC messages to `side` name the connection by `token` from now on. */
void smcr_conn_set_token(smcr_state_t *state, smcr_conn_t *conn, int side, uint32_t token);

/* Frees the alert tokens and RMB elements of the connection, since the connection does not use SMC
 * any more. Other connections may get these tokens and elements. */
void smcr_conn_leave_smc(smcr_state_t *state, smcr_conn_t *conn);

/* Whether the side has closed or aborted: it neither writes nor reads any more. (4.8) */
static inline bool
smcr_conn_side_has_closed(const smcr_conn_side_t *side)
{
    return side->closed_frame || side->abort_frame;
}

/* Whether the side has reported that it will write no more, or has closed or aborted. (4.8) */
static inline bool
smcr_conn_side_has_ended(const smcr_conn_side_t *side)
{
    return side->sending_done_frame || smcr_conn_side_has_closed(side);
}

/* Moves `consumed` of the stream that the side reads forward to the consumer cursor of the side's
 * last CDC message, if the positions of the stream are known. Needed if they became known only
 * after this message. */
static inline void
smcr_conn_side_update_stream(smcr_conn_side_t *side)
{
    if (side->in.positions_known && side->last_cdc_frame)
        smcr_stream_consume(&side->in, side->cons);
}

/* Whether the side has read exactly up to the cursor `end`, according to its last CDC message.
 * Before its first CDC message a side has read nothing; the result is then true only if `end` is at
 * the start of the element or of its data. */
static inline bool
smcr_conn_side_has_read_to(const smcr_conn_side_t *side, smcr_cursor_t end)
{
    return side->last_cdc_frame ? smcr_ring_cursors_are_same(side->cons, end)
                           : end.wrap == 0 && end.count <= SMCR_WIRE_EYECATCHER_LENGTH;
}

/* Returns `seq` minus the sequence number that the sender's last CDC message should have had: 1 if
 * `seq` is the next number. Also returns 1 if the last message had a wrong number, and `seq` is the
 * number after this wrong number: a sender that has counted wrong may continue from there. (A.4) */
static inline int16_t
smcr_conn_side_seq_step(const smcr_conn_side_t *sender, uint16_t seq)
{
    bool goes_on = seq == (uint16_t)(sender->cdc_seq_actual + 1);

    return goes_on ? 1 : (int16_t)(uint16_t)(seq - sender->cdc_seq_expected);
}

/* Whether the side has moved to another link after its last CDC message (failover, 4.6.1). Until
 * its next new message the side may send earlier messages once more. */
static inline bool
smcr_conn_side_has_moved(const smcr_conn_side_t *side)
{
    return side->moved_frame > side->last_cdc_frame;
}

/* Whether the last CDC message of the side has an impossible cursor. */
static inline bool
smcr_conn_side_has_invalid_cursor(const smcr_conn_side_t *side)
{
    return side->invalid_cursor_frame && side->invalid_cursor_frame == side->last_cdc_frame;
}

/* Whether data in the RMB element of `side` certainly belongs to the connection, and CDC cursors
 * give the position of the data. False in two cases: 1. `element_shared` of the side is set; 2.
 * WRITEs of the group have immediate data of unknown meaning (`immediate` of smcr_lgr), which may
 * be in place of CDC messages. */
static inline bool
smcr_conn_owns_element(const smcr_conn_t *conn, int side)
{
    return !conn->lgr->immediate && !conn->side[side].element_shared;
}

/* Notes that the request with `psn` to the queue pair `qp` certainly belongs to the connection. Two
 * cases change `valid_from`, too: 1. The connection has used no queue pair of this side before: it
 * counts as begun right before this request. 2. It has used another queue pair: it has moved to
 * another link, and any earlier request to `qp` may belong to it. */
void smcr_conn_confirm_use(smcr_conn_t *conn, smcr_qp_t *qp, smcr_psn_t psn);

/* Sets the object in which the room payload/ keeps the state of the application's bytes in one
 * direction. `direction`: role of the sender (0 client, 1 server); if the TCP connection is not
 * known, the sender's side of the link group, after `sides_swapped`. */
static inline void
smcr_conn_set_flow(smcr_conn_t *conn, unsigned direction, struct smcr_payload_flow *flow)
{
    conn->flow[direction] = flow;
}

/* Notes that Wireshark's heuristic dissectors have declined data that `side` receives. Returns
 * whether they have declined data to this side `most` times. */
bool smcr_conn_note_decline(smcr_conn_t *conn, int side, uint8_t most);

/* The direction of the data that `side` sends: 0 client to server, 1 server to client, -1 not
 * known. */
static inline int
smcr_conn_direction(const smcr_lgr_t *lgr, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? SMCR_LGR_SIDE_UNKNOWN : side == lgr->server;
}

/* ---- joining two objects that describe the same connection, or the same link. Records that point
 * to the removed object are corrected by smcr_record_complete() ---- */

/* Joins the link of `from`, the only queue pair of the link that has had packets, into the link of
 * `now`, which is the same queue pair: CLC or ADD LINK has announced it after the first packets.
 * Nothing changes if more of the link, or of its group, is known. */
void smcr_join_replaced(smcr_state_t *state, smcr_qp_t *now, smcr_qp_t *from);

/* Finds the link that ADD LINK offers in the group `lgr`, if Accepts of later contacts have named
 * it before: then clocks differ. The link, and the connections and RMBs of its group, move to
 * `lgr`. `key`, `psn`: the server's queue pair in ADD LINK, and the PSN with which it begins (24
 * bits, host byte order). Returns the link; NULL: no message has named it, or this is not certain.
 * (A.2.3, A.3.2) */
smcr_link_t *smcr_join_offered(smcr_state_t *state, smcr_lgr_t *lgr, const smcr_ib_qp_key_t *key,
                               uint32_t psn);

/* Joins `early`, which CDC messages alone have shown, into `conn`, which CLC has announced in the
 * same group: both are one connection. */
void smcr_join_early(smcr_state_t *state, smcr_conn_t *conn, smcr_conn_t *early);

/* Joins two connection objects of a group. They are the same connection, but each object knows only
 * one direction. `one` knows the data to `side`, and `other` knows the data from `side`. Returns
 * the object that counts from now on. This is the object with a host's report or, without a report,
 * the older object. */
smcr_conn_t *smcr_join_directions(smcr_state_t *state, smcr_conn_t *one, smcr_conn_t *other,
                                  int side);

/* Joins two link objects if a message or an acknowledgement shows that they are one link. `link`:
 * the link that stays. `key`: queue pair that the packet names; it may be the unknown queue pair of
 * `link`. If another link that began before the capture has the queue pair `key`, and nothing else
 * is known of this other link and its group, the two links are joined, and so are their groups.
 * Changes nothing if both queue pairs of `link` are known. If the first contact of the group of
 * `link` is captured, joins only if the first packet to `key` has the initial PSN that the Accept
 * of this group announces: then clocks differ. */
void smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key);
