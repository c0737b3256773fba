/* The figures of a connection of SMC-R, and the functions of the parts that count them and make its
 * entry.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "conn_times.h"

/* Length of the list smcr_collect_direction_t.wait_cursors. A blocked writer may send several CDC
 * messages during one wait, all with the same producer cursor. Comparing the cursors lets each wait
 * count once. */
#define SMCR_COLLECT_BLOCKED_KEPT 16

/* Figures of one direction of a connection. */
typedef struct {
    smcr_entry_conn_direction_t figures; /* entry of the direction, filled while packets come */
    smcr_collect_stream_bytes_t bytes; /* positions of the stream whose bytes `figures.bytes`
                                          counts */
    const smcr_link_t *link;           /* link of the direction's last packet that is no
                                          retransmission; NULL: none so far */

    /* Producer cursors of the writer's last waits: a circular list of SMCR_COLLECT_BLOCKED_KEPT
     * cursors. The index of the newest cursor is `figures.blocked_count` - 1, modulo the length of
     * the list. NULL: the writer has not waited. */
    smcr_cursor_t *wait_cursors;

    uint16_t first_cdc_seq;  /* sequence number of the first captured CDC message, of a failover
                                validation the next number; 1: the direction began in the capture;
                                0: this message was not decoded; valid if `figures.cdc` is not 0 */
    uint32_t unowned_write;  /* frame of the sender's last WRITE, up to the direction's last packet,
                                that may be one of this connection and is not in `figures`; 0:
                                none */
} smcr_collect_direction_t;

/* Element of the list of links that a connection has used, in order of time. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* the link that the connection used next; NULL: this is the
                                           last one */
    const smcr_link_t *link; /* the link that the connection has used */
    smcr_when_t from;        /* first packet of the connection on the link */
} smcr_collect_link_use_t;

/* A first contact: the time between CLC Confirm and the first data of the connection, in which LLC
 * messages set up the link group (RFC 7609, 3.5.1). A step is a first transmission of an LLC
 * message. */
typedef struct {
    smcr_when_t ready;                 /* last packet of the first contact so far: data can flow
                                          after this packet; frame 0: no Confirm yet */
    smcr_when_t sure_until; /* last packet of the first contact before the first missing one; frame
                               0: no packet is missing, or its place is not known */
    smcr_when_t missing_until; /* event before which the last missing packet of the first contact
                                  was sent: the acknowledgement that covers it, or the next packet
                                  of its sender; frame 0: none is missing */
    smcr_when_t step;                  /* last step; before the first step, the CLC Confirm; frame
                                          0: none */
    const smcr_exchange_t *last_request; /* last LLC request of the first contact; NULL: none */
    const smcr_link_t *last_request_link; /* link of `last_request`; NULL: none */
    uint64_t longest_step;             /* longest time between two steps, or from the CLC Confirm to
                                          the first step, nanoseconds */
    const smcr_exchange_t *longest_step_request; /* last request before the longest time; NULL:
                                                    none */
    uint8_t longest_link;              /* number of the link that carries `longest_step_request`; 0:
                                          none */
    bool longest_step_after_response; /* the longest time (`longest_step`) began after the response
                                         of `longest_step_request` */
    bool is_unsure;      /* the durations are not certain: a message is truncated or missing, or
                            time stamps decreased */
    bool is_unread;      /* a message is truncated, or time stamps decreased */
    bool is_over;        /* the first contact is over: data came, or an LLC message that does not
                            belong to the first contact */
    bool is_adding;      /* a link was announced, and is not yet confirmed, rejected or deleted */
} smcr_collect_contact_t;

/* Most of the figures of a connection. They are needed with its packets, and when its entry is
 * made. */
typedef struct {
    smcr_collect_times_t times;            /* timeline of the connection */
    smcr_collect_direction_t direction[2]; /* figures of each direction; index: side of the
                                              sender */
} smcr_collect_conn_counts_t;

/* Figures of a connection. Roles, outcome and ends of the connection are read from `conn` when the
 * report is made, since the state may learn them late. */
typedef struct smcr_collect_conn_stats {
    const smcr_conn_t *conn; /* the connection in the state */
    wmem_allocator_t *scope; /* memory pool that owns everything of the connection */
    const char *interface;   /* interface that captured its first packet; NULL: not known, or the
                                collection does not let go of connections */
    smcr_collection_end_t end; /* whether it has ended, as of the last
                                  smcr_collect_connections_find_over() */
    struct smcr_collect_conn_stats *partner; /* the other half of the connection, of TCP or of RoCE,
                                                as is probable (halves.c); NULL: none */
    smcr_when_t first;                     /* first packet or message; frame 0: none yet */
    smcr_when_t last;                      /* last packet or message; frame 0: none yet */
    smcr_when_t clc[SMCR_CLC_CONFIRM + 1]; /* first CLC message of each type; index: type of the
                                              message; frame 0: none */
    bool clc_continues[SMCR_CLC_CONFIRM + 1]; /* only the first bytes of the message in `clc` are
                                                 captured together: it ends in a later segment */
    smcr_when_t decline[2];                /* first Decline; index: 0 of the client, 1 of the
                                              server; frame 0: none */
    smcr_collect_contact_t contact; /* setup of the connection after the CLC Confirm */
    smcr_packed_object_t kept;             /* figures that are packed while they are not used */
    smcr_collect_conn_counts_t *counts;    /* figures of `kept`, unpacked by
                                              smcr_collect_conn_open(); valid until
                                              SMCR_PACKED_OPEN other connections have been
                                              opened (report/packed/) */
    smcr_collect_link_use_t *first_use;    /* first link that the connection has used; NULL: none */
    smcr_collect_link_use_t *last_use;     /* last link that the connection has used; NULL: none */
    uint64_t retransmission_most; /* longest time that retransmissions may have taken, nanoseconds;
                                     SMCR_FIGURE_UNKNOWN: not known. Set when the report is made */
    /* by sender: smcr_collect_link_flows_missing_since(). Set when the report is made */
    smcr_when_t missing_since[2];
    uint64_t clc_bytes[2];                 /* bytes of CLC messages; index: 0 from the client, 1
                                              from the server */
    bool has_cut_clc[2];                   /* a CLC message of this sender may be complete, but is
                                              not captured to its end or has an unknown type; index
                                              as `clc_bytes` */
    const char *offered_eids;              /* user EIDs of the Proposal, separated by commas; NULL:
                                              the Proposal has none or was not captured */
    uint8_t version;                       /* SMC version of Accept or Confirm; 0: not known */
    bool is_smcd;                          /* Accept or Confirm agrees on SMC-D */
    bool on_roce;                          /* a RoCE packet of the connection was counted */
    smcr_series_conn_t *pictures;          /* pictures over time; NULL: none; set when the report is
                                              made */
    bool sides_swapped;                    /* value of `conn->sides_swapped` to which the sides in
                                              `counts` belong */
    bool client_is_second;                 /* half of RoCE: the addresses of its `partner` show that
                                              side 1 of the link group is the client, which RoCE
                                              does not show */
} smcr_collect_conn_stats_t;

/* Returns the side of the connection's client in its link group; 0 if it is not known. */
static inline int
smcr_collect_conn_client_side(const smcr_collect_conn_stats_t *counted)
{
    return counted->client_is_second ? 1 : smcr_lgr_client_side(counted->conn->lgr);
}

/* Opens the figures of a connection: sets `counts`. */
static inline void
smcr_collect_conn_open(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    counted->counts = smcr_packed_open(&collection->open_conns, collection->scope, &counted->kept,
                                       counted->scope);
}

/* Whether a tap has copied the connection's messages and data. */
static inline bool
smcr_collect_conn_is_tapped(const smcr_conn_t *conn)
{
    return conn->lgr && conn->lgr->tapped;
}

/* Whether a tap has copied the connection's messages and data, and they are of SMC-D. */
static inline bool
smcr_collect_conn_is_tapped_smcd(const smcr_conn_t *conn)
{
    return smcr_collect_conn_is_tapped(conn) && conn->lgr->tapped == SMCR_LGR_TAPPED_SMCD;
}

/* Whether a request on a link of the connection's link group is missing anywhere in the capture. */
static inline bool
smcr_collect_conn_lacks_packets(const smcr_conn_t *conn)
{
    return smcr_evidence_lacks_between(conn->lgr, 0, UINT32_MAX);
}

/* Whether the capture has the first CDC message of each direction of which it has any, and of one
 * at least: messages are numbered from 1 (A.4). Then at most TCP and CLC came before the capture.
 * The figures have to be open (smcr_collect_conn_open()). */
bool smcr_collect_conn_has_first_data(const smcr_collect_conn_stats_t *counted);

/* Facts of the two flows of a link. Index: 1 for packets whose sender is side 1 of the link group,
 * 0 for all other packets. */
typedef struct {
    uint32_t gaps[2]; /* number of sequence gaps in the flow so far */
    uint32_t last[2]; /* frame of the last packet other than an acknowledgement or a CNP; 0: none */
    smcr_when_t newest[2]; /* request with the highest PSN so far; frame 0: none */
    /* the last sequence gap: from `newest` before it to the acknowledgement that covers all missing
     * packets; end frame 0: none so far */
    smcr_interval_t gap[2];
    smcr_ack_t acked_newest[2]; /* acknowledgement with the highest PSN so far of requests of the
                                   sender; frame 0: none */
    /* Last WRITE whose connection is not known, though a message has announced its RKey, or the
     * packet with its RKey is missing: frame; 0: none. */
    uint32_t unowned[2];
    uint32_t unannounced_rkey[2]; /* last WRITE whose RKey no captured message has announced: frame;
                                     0: none */
    bool has_unannounced_rkey[2]; /* `unannounced_rkey` is the last WRITE request, which the next
                                     packet may continue */
    /* packet from which on no packet of the flow is missing: its first packet, or its packet after
     * the last sequence gap; frame 0: none so far */
    smcr_when_t whole_since[2];
    uint32_t first_psn[2]; /* PSN of the first request, 24 bits; set with `last` */
    /* first acknowledgement of a captured request by this side; frame 0: none so far */
    smcr_when_t acked[2];
    /* packet before the oldest open sequence gap: gaps are open until one acknowledgement covers
     * all of them; frame 0: none is open */
    smcr_when_t open_gap[2];
    uint32_t open_psn[2]; /* PSN of the packet after the newest of these gaps, 24 bits; set with
                             `open_gap` */
    bool is_disordered; /* a request came out of order, or its first transmission is not captured */
    /* Times of retransmissions, of both flows: from the first transmission of a packet to its
     * retransmission; of missing packets from the packet before the sequence gap to the
     * acknowledgement that covers them, since both of their transmissions may be missing. */
    smcr_interval_union_t repeated;
} smcr_collect_link_flows_t;

/* ---- counting ---- */

/* Returns the figures of a connection; makes them if there are none. The state may have counted the
 * other half of the connection as a connection of its own, and joined both later (`merged_half`).
 * Then the figures of that half are added, if both are in one memory pool. */
smcr_collect_conn_stats_t *smcr_collect_conn_of(smcr_collect_t *collection,
                                                const smcr_conn_t *conn);

/* Swaps the figures of both sides if the state has swapped the sides of the connection. The state
 * does so when it learns which half links belong together. The figures then stay with their
 * hosts. */
void smcr_collect_conn_follow_sides(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted);

/* Takes a packet that belongs to no connection: an LLC message, or a packet that was not decoded. A
 * first contact that is under way includes an LLC message in three cases:
 * 1. the LLC message comes within a second after the message before it;
 * 2. a request has no response yet;
 * 3. a link is being added.
 * Any other LLC message but TEST LINK ends the first contact. */
void smcr_collect_contact_take(smcr_collect_t *collection, smcr_when_t when,
                               const smcr_tap_t *packet);

/* Whether the first contact still waits before `frame`: its last LLC request has no response, or a
 * link is being added. */
bool smcr_collect_contact_awaits(const smcr_collect_contact_t *contact, uint32_t frame);

/* Returns the frame of the last WRITE so far that may be one of the connection of `record`, though
 * this is not known; 0: none. The WRITE has the sender and the link of `record`. A WRITE whose RKey
 * was never announced is none of a connection whose RKey on this link is known. `record`: of a
 * packet of a connection. */
uint32_t smcr_collect_link_flows_last_unowned(const smcr_collect_link_flows_t *flows,
                                              const smcr_record_t *record);

/* Counts a packet in the facts of its link, for the packet's sender. Returns the facts of both
 * flows of the link. */
const smcr_collect_link_flows_t *smcr_collect_link_flows_take(smcr_collect_t *collection,
                                                              const smcr_tap_t *packet,
                                                              smcr_when_t when);

/* Returns an upper bound of the time for which retransmissions may have held up the connection
 * while it was open, nanoseconds. The bound is the sum of three times:
 * 1. from the begin of the connection to the acknowledgements of the first requests on its link,
 *    since packets from before the capture may have been retransmitted;
 * 2. from the first transmission of each retransmitted packet of the link to its retransmission;
 * 3. the times in which missing packets of the link may have been retransmitted.
 * SMCR_FIGURE_UNKNOWN: the packets of the link do not show this. */
uint64_t smcr_collect_link_flows_retransmission_most(const smcr_collect_t *collection,
                                                     const smcr_collect_conn_stats_t *counted);

/* Returns the last captured packet of the connection's link before the first packet of `sender`
 * that may be missing after the connection's last captured packet: the packet before a sequence
 * gap, or the last one of the flow. Frame 0: not known. */
smcr_when_t smcr_collect_link_flows_missing_since(const smcr_collect_t *collection,
                                                  const smcr_collect_conn_stats_t *counted,
                                                  int sender);

/* ---- all connections ---- */

/* Returns the figures of all connections, as smcr_collect_conn_stats_t *, in the order of the
 * indices of connections. */
wmem_array_t *smcr_collect_conns_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Makes sure that each connection has its figures once, and finds the halves that belong
 * together. Returns the figures of all connections. */
wmem_array_t *smcr_collect_conns_complete(smcr_collect_t *collection, wmem_allocator_t *scope);

/* Returns the facts of the TCP connection. NULL: the state has no TCP conversation of the
 * connection, or the collection has none of its segments. */
const smcr_collect_tcp_facts_t *
smcr_collect_conn_tcp_facts(const smcr_collect_t *collection,
                            const smcr_collect_conn_stats_t *counted);

/* ---- the entry of a connection ---- */

/* Fills in the entry of a connection from its figures `counted`. Memory is allocated in `scope`.
 * `tcp`: facts of the TCP connection; NULL: not known. `collection` has the gaps of the capture. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp,
                                  const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Returns how the handshake of CLC ended without a result: TCP ended, a CLC message was never
 * acknowledged, or the server sent other data in place of an Accept. A new entry, allocated in
 * `scope`. NULL: the handshake had a result, has not ended, or its end is not known. `tcp`: facts
 * of the TCP connection; NULL: not known. `fallback`: frame that proves the fallback; frame 0:
 * none. */
smcr_entry_conn_handshake_end_t *
smcr_collect_handshake_end(const smcr_collect_conn_stats_t *counted,
                           const smcr_collect_tcp_facts_t *tcp, smcr_when_t fallback,
                           wmem_allocator_t *scope);

/* Finds for connections that are known from RoCE alone the TCP connections that they probably are:
 * sets `partner` of both. `all`: figures of all connections, as smcr_collect_conn_stats_t *. Memory
 * is allocated in `scope`. */
void smcr_collect_halves_pair(smcr_collect_t *collection, wmem_array_t *all,
                              wmem_allocator_t *scope);

/* Makes one entry of two halves. `entry`: entry of the RoCE half, which gets the result. `clc`:
 * entry of the half of TCP and CLC. */
void smcr_collect_halves_join(smcr_entry_connection_t *entry, const smcr_entry_connection_t *clc);

/* Returns how TCP ended; SMCR_FIGURE_CLOSE_UNKNOWN: not known. `tcp` may be NULL. */
smcr_figure_close_t smcr_collect_conn_tcp_close(const smcr_collect_tcp_facts_t *tcp);

/* Whether the TCP handshake has not succeeded: a RST answers the SYN, or the SYN is retransmitted
 * at least twice and gets no answer. */
bool smcr_collect_conn_never_connected(const smcr_collect_tcp_facts_t *tcp);

/* Fills in why the connection fell back to TCP, if it did so. `tcp` may be NULL. */
void smcr_collect_conn_fill_fallback(smcr_entry_connection_t *entry,
                                     const smcr_collect_conn_stats_t *counted,
                                     const smcr_collect_tcp_facts_t *tcp,
                                     const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Returns the outcome of the connection. If CLC has certainly never begun, this is TCP, and not a
 * fallback. `tcp` may be NULL. `last_time`: when the capture ends, nanoseconds since 1970;
 * SMCR_FIGURE_UNKNOWN: not known. */
smcr_figure_outcome_t smcr_collect_conn_outcome(const smcr_collect_conn_stats_t *counted,
                                                const smcr_collect_tcp_facts_t *tcp,
                                                uint64_t last_time);

/* Whether the connection is known from RoCE alone, and another connection may have the rest of its
 * packets: one that a CLC message has begun after the first packets of this connection. This
 * happens if TCP and RoCE have times of two clocks, or if RoCE packets of a new link group came
 * before its Accept. */
bool smcr_collect_conn_may_go_on_as_other(const smcr_conn_t *conn);

/* Fills in how the connection ended, and whether it goes on after the capture. `tcp` may be
 * NULL. */
void smcr_collect_conn_fill_close(smcr_entry_connection_t *entry,
                                  const smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp,
                                  const smcr_collect_gap_list_t *gaps);

/* Whether the direction that the side `sender` sends is captured. Three conditions:
 * 1. a RoCE packet of the connection was counted;
 * 2. a packet of `sender` is captured, of the connection or on its last link, or this link is not
 *    known;
 * 3. no other connection shares the RMB element or the alert token that these packets name. */
bool smcr_collect_conn_is_captured(const smcr_collect_conn_stats_t *counted, int sender);

/* Fills in a direction of a connection over RDMA. If the direction is not captured
 * (smcr_collect_conn_is_captured()), no figure is known. `is_part`: the last messages of the
 * connection may be missing. `sender`: side that sends the direction. */
void smcr_collect_conn_fill_direction(smcr_entry_conn_direction_t *entry,
                                      const smcr_collect_conn_stats_t *counted, bool is_part,
                                      int sender);

/* Fills in a direction of a connection over TCP. `role`: role of the sender, 0 client, 1 server.
 * `tcp` may be NULL. `may_go_elsewhere`: the end of the handshake may be missing. Then data may go
 * over RDMA, and no figure is known. */
void smcr_collect_conn_fill_tcp_direction(smcr_entry_conn_direction_t *entry,
                                          const smcr_collect_conn_stats_t *counted,
                                          const smcr_collect_tcp_facts_t *tcp, unsigned role,
                                          bool may_go_elsewhere);

/* Returns the packet from which on the connection could carry data; frame 0: not known. */
smcr_when_t smcr_collect_conn_ready(const smcr_collect_conn_stats_t *counted);

/* Time before which the connection certainly could not carry data, nanoseconds since 1970: that of
 * smcr_collect_conn_ready() if this packet is known, else a lower bound of it, from the first
 * contact or CLC. 0: not known. */
uint64_t smcr_collect_conn_connecting_until(const smcr_collect_conn_stats_t *counted);

/* Returns the time after which the setup of the connection was certainly over, nanoseconds; at most
 * the time of its first packet on RoCE. SMCR_FIGURE_UNKNOWN: it has no such packet. */
uint64_t smcr_collect_conn_ready_until(const smcr_collect_conn_stats_t *counted);

/* Whether the captured CLC messages of the connection are in the order in which hosts send them. */
bool smcr_collect_conn_has_ordered_clc(const smcr_collect_conn_stats_t *counted);

/* Fills in how long the steps of the setup took. `tcp` may be NULL. */
void smcr_collect_conn_fill_setup(smcr_entry_connection_t *entry,
                                  const smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp, wmem_allocator_t *scope);

/* Fills in both directions of a connection: over RDMA, or over TCP. `tcp` may be NULL. */
void smcr_collect_conn_fill_directions(smcr_entry_connection_t *entry,
                                       smcr_collect_conn_stats_t *counted,
                                       const smcr_collect_tcp_facts_t *tcp,
                                       const smcr_collect_t *collection,
                                       wmem_allocator_t *scope);
