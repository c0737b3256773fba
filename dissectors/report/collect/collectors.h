/* The inner door of report/collect/: the struct that a collection is, and the functions of its
 * parts. There is a part for each of: times of connections, RDMA flows, TCP flows, connections,
 * link groups, expert items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "show/show.h"
#include "stream_bytes.h"
#include "timeline/timeline.h"

/* A collection. All its memory belongs to `scope`. A map `X -> Y` has pointers to an X of the state
 * as keys, and pointers to a Y as values. Where the comment of a member names a file, that file
 * defines the type of the values. */
typedef struct smcr_collection {
    wmem_allocator_t *scope;      /* owns all memory; NULL: the collection is empty */
    smcr_entry_capture_t capture; /* members up to `passes`; smcr_collection_report() fills in the
                                     others */
    smcr_entry_ip_t ip;           /* counts of IP packets that are neither TCP nor RoCE */
    wmem_array_t *times;          /* smcr_when_t: numbers and times of frames that a report may
                                     name; ascending */
    uint32_t last_taken_frame;    /* number of the last frame from which a packet was counted */

    wmem_array_t *tcp; /* tcp_flows.c: pointers to connections, the index is tcp.stream; NULL: no
                          segment was counted */

    uint32_t last_gap_frame;        /* frame of the last RoCE packet before which two or more
                                       packets are missing; 0: none */
    wmem_map_t *rdma;               /* rdma_flows.c: smcr_qp_t or smcr_rdma_flow_t -> followed_t */
    wmem_array_t *late_steps;       /* rdma_flows.c: for each packet that came after later ones, its
                                       smcr_step_back_t *; NULL: it belongs to no step back */
    smcr_figure_list_t rdma_list;   /* all flows of `rdma`, in the order of their first packets */
    smcr_entry_icrcs_t stray_icrcs; /* ICRCs of packets that belong to no flow */

    wmem_map_t *conns;      /* smcr_conn_t -> smcr_collect_conn_stats_t, the figures of the
                               connection */
    wmem_map_t *contacts;   /* smcr_lgr_t -> smcr_collect_conn_stats_t of the connection that made
                               its first contact */
    wmem_map_t *link_flows; /* connections.c: smcr_link_t -> flows_t, its two flows */
    wmem_map_t *moves;      /* smcr_link_t -> smcr_collect_moves_t; no entry: no connection has
                               moved */

    wmem_map_t *groups;            /* link_groups.c: smcr_lgr_t -> gathered_group_t */
    smcr_figure_list_t group_list; /* all groups of `groups`, in the order of their first packets */

    wmem_array_t *item_kinds; /* notices.c: expert items, counted by kind */
    wmem_array_t *deferred_checks; /* notices.c: events that count only if later packets confirm
                                      them */
    wmem_array_t *frame_items; /* notices.c: expert items of the current frame; NULL: none */
} smcr_collect_t;

/* ---- where the time of a connection went (docs/report.md, "Where the time went") ---- */

/* The timeline of a connection, and distributions of times that intervals do not have. Index of
 * each array: side of the writer. */
typedef struct {
    smcr_timeline_t timeline;           /* intervals of both directions */
    smcr_distribution_t ack_time[2];    /* from a WRITE to its acknowledgement
                                           (SMCR_TIMELINE_ACK) */
    smcr_distribution_t reader_time[2]; /* from a full buffer to the reader's update
                                           (SMCR_TIMELINE_READER) */
    smcr_distribution_t drain_time[2];  /* from a full buffer to a half-empty one
                                           (SMCR_TIMELINE_DRAIN) */
} smcr_collect_times_t;

/* Which packets of the connection's link are missing in the capture, before a packet. */
typedef struct {
    const uint32_t *by_sender; /* two counts, by side of the sender: sequence gaps so far */
    bool is_whole;             /* the capture has the connection's CLC Confirm */
} smcr_collect_gaps_t;

/* When a connection began, was ready for data, and ended. Times are nanoseconds since 1970. */
typedef struct {
    uint64_t first;      /* time of its first frame */
    uint64_t last;       /* time of its last frame */
    uint32_t last_frame; /* number of its last frame */
    uint64_t ready;      /* time from which it can carry data; SMCR_FIGURE_UNKNOWN: not known */
    bool has_syn;        /* the capture has its SYN */
    smcr_timeline_doubt_t doubt;
    bool misses_last[2]; /* by sender: its last packets may be missing */
    bool misses_acks[2]; /* by sender: its last acknowledgements may be missing */
} smcr_collect_span_t;

/* Adds the connection's next RoCE packet to its timeline. Memory is allocated in `scope`. */
void smcr_collect_times_take(smcr_collect_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when, const smcr_tap_t *packet,
                             const smcr_collect_gaps_t *gaps);

/* Whether the packet in `frame` fills the receive window for certain. The packet has the event
 * "window full", and the capture has all that the reader sent before: so the sender knew of no more
 * free space than the capture shows. */
bool smcr_collect_times_fills(const smcr_record_t *record, uint32_t frame);

/* Brings the timeline up to frame `now`: applies acknowledgements of the connection's packets that
 * came in frames up to `now`. */
void smcr_collect_times_advance(smcr_collect_times_t *times, wmem_allocator_t *scope,
                                uint32_t now);

/* Swaps everything that is kept by side. Called when the state has swapped the connection's
 * sides. */
void smcr_collect_times_flip(smcr_collect_times_t *times);

/* Moves the figures of writer `side` from `half` to `times`. Called when `half`, counted as a
 * connection of its own, turns out to be one direction of this connection. */
void smcr_collect_times_move(smcr_collect_times_t *times, const smcr_collect_times_t *half,
                             int side);

/* Divides the connection's time by what the writer `side` was doing, and stores the result in
 * `*found`. Returns false, and does not change `*found`, if the clock of the capture goes back
 * between the frames of `span`. */
bool smcr_collect_times_find(const smcr_collect_times_t *times, int side,
                             const smcr_collect_span_t *span, smcr_timeline_direction_t *found);

/* Returns the parts of the time of a direction as an entry, allocated in `scope`. */
smcr_entry_conn_time_t *smcr_collect_times_entry(const smcr_collect_times_t *times,
                                                 const smcr_collect_span_t *span,
                                                 const smcr_timeline_direction_t *direction,
                                                 wmem_allocator_t *scope);

/* Adds the longest waits of a direction to the connection's entry. Memory is allocated in
 * `scope`. */
void smcr_collect_times_add_waits(smcr_entry_connection_t *entry, smcr_figure_role_t writer,
                                  const smcr_timeline_direction_t *direction,
                                  wmem_allocator_t *scope);

/* ---- durations in an RDMA flow ---- */

/* Times of a flow. A response of the reverse flow shows that the peer is alive; "requests" are
 * packets of the flow itself. All zeros: no packet of either flow has come. */
typedef struct {
    smcr_interval_union_t retransmission; /* intervals from a first transmission to its
                                             retransmission */
    smcr_interval_union_t rnr_wait; /* intervals from an RNR NAK to the packet that the RNR NAK asks
                                       for */
    smcr_interval_union_t silence;  /* intervals in which requests are retransmitted and the peer
                                       sends nothing; only those that are over */
    smcr_when_t rnr;       /* last RNR NAK whose packet has not come yet; frame 0: none */
    uint32_t rnr_psn;      /* PSN of that RNR NAK, 24 bits */
    smcr_when_t heard;     /* last packet of the reverse flow; frame 0: none */
    bool is_refused;       /* the last response of the reverse flow is a NAK or RNR NAK */
    smcr_when_t asked;     /* first request after `heard`; frame 0: none */
    smcr_when_t last;      /* last request after `heard`; set together with `asked` */
    uint32_t highest;      /* highest PSN of requests after `heard`, 24 bits; set with `asked` */
    smcr_interval_t silent; /* silence of the peer that is not over; end frame 0: none */
} smcr_collect_flow_times_t;

/* Takes the next packet of the flow. Memory is allocated in `scope`. */
void smcr_collect_flow_times_take(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Takes the next packet of the reverse flow. */
void smcr_collect_flow_times_hear(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Moves the intervals of `from` to `times`, and clears `from`. Called when a flow turns out to be
 * the flow of a link. */
void smcr_collect_flow_times_move(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_collect_flow_times_t *from);

/* Fills in the durations of the entry: retransmission, waits after RNR NAKs, silence. Memory is
 * allocated in `scope`. */
void smcr_collect_flow_times_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_times_t *times,
                                  wmem_allocator_t *scope);

/* ---- RDMA flows: of links of SMC-R; with the preference smcr.roce, all others, too ---- */

/* Counts a packet of RoCE or InfiniBand in its flow. */
void smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* Counts the ICRC of a packet that belongs to no flow. `icrc`: as smcr_ib_headers_t.icrc; 0: the
 * packet has no checked ICRC, and nothing is counted. */
void smcr_collect_rdma_flows_count_stray_icrc(smcr_collect_t *collection, uint8_t icrc);

/* Adds an entry for each flow to `list`. An entry has the flow's index in the list, and the index
 * of its reverse flow. Memory is allocated in `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                    wmem_allocator_t *scope);

/* Returns an entry, allocated in `scope`, of the RDMA-CM connection of a flow. */
smcr_entry_flow_cm_t *smcr_collect_cm_entry(const smcr_cm_conn_t *conn, wmem_allocator_t *scope);

/* Returns the index of the flow to queue pair `to` in the last report; SMCR_FIGURE_UNKNOWN: no
 * packet of such a flow was counted. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to);

/* ---- TCP connections: all of the capture, with SMC-R and without ---- */

/* Facts of a TCP connection that its entry does not have. Direction `up` is that of the first
 * captured segment, `down` is the other one. A time with frame 0: no such segment was captured. */
typedef struct {
    smcr_when_t first;   /* first segment */
    smcr_when_t last;    /* last segment */
    smcr_when_t syn;     /* first SYN without ACK */
    smcr_when_t reset;   /* first RST */
    smcr_when_t fin[2];  /* first FIN of the client (0) and of the server (1) */
    bool client_known;   /* a SYN or SYN-ACK was captured; false: the sender of `up` counts as
                            client */
    bool client_is_up;   /* the client sends `up` */
    uint16_t up_port;    /* source port of `up` */
    bool may_lack_bytes_of[2]; /* bytes of the stream up (0) or down (1) may be missing */
    bool may_lack_bytes; /* one of `may_lack_bytes_of` is set */
    bool may_lack_end;   /* the last bytes of one of the streams may be missing, also a FIN */
    uint32_t syns;       /* SYNs of the client */
    bool is_connected;   /* a segment other than a SYN without ACK was captured; an RST counts only
                            if the client sent it */
    bool is_disordered;  /* the SYN-ACK comes after an acknowledgement of the client */
    smcr_figure_syn_sign_t syn_sign[2]; /* NOPs that replace the SMC-R option, or Fast Open, in the
                                           SYN (0) and in the SYN-ACK (1) */
    uint64_t isn[2];     /* initial sequence number of client and server; SMCR_FIGURE_UNKNOWN */
    uint64_t payload[2]; /* bytes of the streams up (0) and down (1), each byte once */
} smcr_collect_tcp_facts_t;

/* Counts a segment that Wireshark's tap `tcp` hands over. Called while the frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* Returns the connection with this number (Wireshark's tcp.stream); NULL: no segment of it has been
 * taken, or the number is SMCR_FIGURE_UNKNOWN. The facts change while more segments are taken. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_t *collection,
                                                             uint64_t tcp_stream);

/* Adds an entry for each TCP connection to `list`, in ascending order of tcp.stream. Memory is
 * allocated in `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                                   wmem_allocator_t *scope);

/* ---- connections of SMC-R: bytes, messages, links and times of each ---- */

/* A blocked writer may send several CDC messages with the same producer cursor: they are one wait.
 * This number of last producer cursors is kept, so that each wait counts once. */
#define SMCR_COLLECT_BLOCKED_KEPT 16

/* Figures of one direction of a connection. */
typedef struct {
    smcr_entry_conn_direction_t figures; /* its entry, which is filled while packets come */
    smcr_collect_stream_bytes_t bytes; /* positions of the stream that `figures.bytes` includes */
    const smcr_link_t *link;           /* link of the direction's last packet; NULL: no packet
                                          yet */

    /* Producer cursors of the writer's last waits: a circular list. Its newest entry is
     * `figures.blocked_count` - 1, modulo its length. */
    smcr_cursor_t wait_cursors[SMCR_COLLECT_BLOCKED_KEPT];

    bool has_unowned_writes; /* before the direction's last packet, its flow had a WRITE whose
                                connection is not known: the WRITE may be of this connection */
} smcr_collect_direction_t;

/* A link that a connection has used, in a list in order of time. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* the next link; NULL: the last one */
    const smcr_link_t *link; /* the link */
    smcr_when_t from;        /* first packet of the connection on the link */
} smcr_collect_link_use_t;

/* A first contact: the time between CLC Confirm and the first data of the connection, in which LLC
 * messages set up the link group (RFC 7609, 3.5.1). A step is an LLC message that is no
 * retransmission. */
typedef struct {
    smcr_when_t ready;                 /* last packet of the first contact so far, after which data
                                          can flow; frame 0: no Confirm yet */
    smcr_when_t step;                  /* last step, at first the Confirm; frame 0: no Confirm
                                          yet */
    const smcr_exchange_t *last_request; /* last LLC request; NULL: none */
    const smcr_link_t *last_request_link; /* link of `last_request`; NULL: none */
    uint64_t longest_step;             /* longest time between two steps, nanoseconds */
    const smcr_exchange_t *longest_step_request; /* last request before the longest time; NULL:
                                                    none */
    uint8_t longest_link;              /* number of the link of `longest_step_request`; 0: none */
    bool longest_step_after_response; /* the response of `longest_step_request` came before the
                                         longest time, not after it */
    bool is_unsure;      /* a message is truncated or missing, or the clock of the capture went
                            back */
    bool is_over;        /* the first contact is over: data came, or an LLC message that is not of
                            it */
    bool is_adding;      /* a link was announced, and is not yet confirmed, rejected or deleted */
} smcr_collect_contact_t;

/* Figures of a connection. What the state knows better (roles, outcome, ends) is read from `conn`
 * when the report is made. */
typedef struct {
    const smcr_conn_t *conn; /* the connection in the state */
    smcr_when_t first;                     /* first packet or message; frame 0: none yet */
    smcr_when_t last;                      /* last packet or message; frame 0: none yet */
    smcr_when_t clc[SMCR_CLC_CONFIRM + 1]; /* first CLC message, by type; frame 0: none */
    smcr_collect_contact_t contact; /* its setup after CLC; all zeros: no Confirm yet */
    smcr_collect_times_t times;            /* its timeline */
    smcr_collect_direction_t direction[2]; /* index: side of the sender */
    smcr_collect_link_use_t *first_use;    /* first of the links that it has used; NULL: none */
    smcr_collect_link_use_t *last_use;     /* last of the links that it has used; NULL: none */
    uint64_t clc_bytes[2];                 /* bytes of CLC messages from the client (0) and from the
                                              server (1) */
    const char *offered_eids;              /* user EIDs of the Proposal, separated by commas; NULL:
                                              it has none, or was not captured */
    uint8_t version;                       /* SMC version of Accept or Confirm; 0: not known */
    bool is_smcd;                          /* Accept or Confirm agrees on SMC-D */
    bool on_roce;                          /* a RoCE packet of the connection was counted */
    bool sides_swapped;                    /* `conn->sides_swapped` when `direction` and `times`
                                              were last used */
} smcr_collect_conn_stats_t;

/* Takes a packet of a link that belongs to no connection: an LLC message, or a packet that was not
 * decoded. An LLC message belongs to the first contact of the link group if it comes within a
 * second after the message before it, or while a request has no response, or while a link is being
 * added. A later LLC message ends the first contact. */
void smcr_collect_contact_take(smcr_collect_t *collection, smcr_when_t when,
                               const smcr_tap_t *packet);

/* Whether the first contact still waits before `frame`: its last LLC request has no response, or a
 * link is being added. */
bool smcr_collect_contact_awaits(const smcr_collect_contact_t *contact, uint32_t frame);

/* Counts a packet or message in its connection. A packet without connection may be a step of a
 * first contact. */
void smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds an entry for each connection to `list`, in the order of their indices. Memory is allocated
 * in `scope`. */
void smcr_collect_connections_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                     wmem_allocator_t *scope);

/* How often connections have moved between a link and others (failover, RFC 7609, 4.6.2). */
typedef struct {
    uint64_t from; /* moves from this link to another */
    uint64_t to;   /* moves from another link to this one */
} smcr_collect_moves_t;

/* Fills in the entry of a connection. Memory is allocated in `scope`. `tcp`: its TCP connection;
 * NULL: not known. `lacking`: the last frame of the capture that shows missing packets; 0: none. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp, uint32_t lacking,
                                  const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Returns the number of a link group in the report: its index. A group that may be a part of
 * another group has no index; its number is the count of link groups plus the index of its oldest
 * link, so it comes after all others. */
uint64_t smcr_collect_lgr_number(const smcr_lgr_t *lgr);

/* Returns the frame with its time. Frame 0: the collection does not have the time of this frame, or
 * the report did not count the frame. */
smcr_when_t smcr_collect_when(const smcr_collect_t *collection, uint32_t frame);

/* ---- link groups: their links, the fate of each link, and the RMBs that messages announce ---- */

/* Takes a packet or message of a link: keeps what it shows of the link group. */
void smcr_collect_link_groups_take(smcr_collect_t *collection, const packet_info *pinfo,
                                   const smcr_tap_t *packet);

/* Adds an entry for each link group to `list`, in the order of their indices. Memory is allocated
 * in `scope`. Called after smcr_collect_rdma_flows_report(), which numbers the flows that links
 * refer to. */
void smcr_collect_link_groups_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                                     wmem_allocator_t *scope);

/* ---- the plugin's expert items, counted by kind and by the side that caused them ---- */

/* Makes the lists of an empty collection. */
void smcr_collect_notices_begin(smcr_collect_t *collection);

/* Keeps an expert item of the current frame. Expert items of other protocols are ignored. */
void smcr_collect_notices_take(smcr_collect_t *collection, const packet_info *pinfo,
                               const expert_info_t *item);

/* Counts `number` packets that a display filter selects, the first in frame `first`. The notice is
 * no expert item: its severity is 0. */
void smcr_collect_notices_count(smcr_collect_t *collection, const char *filter, smcr_when_t first,
                                uint64_t number);

/* Notes connection, link and sender of the expert items that were kept since the last call: they
 * are about this packet or message. Wireshark hands over expert items before their packet. */
void smcr_collect_notices_set_subject(smcr_collect_t *collection, const smcr_tap_t *packet);

/* Keeps those events of the packet that count only if later packets confirm them. Called in the
 * first pass, in which these events have no expert items yet. */
void smcr_collect_notices_defer(smcr_collect_t *collection, const packet_info *pinfo,
                                const smcr_tap_t *packet);

/* Counts the expert items that were kept for the current frame. Called when the frame is
 * complete. */
void smcr_collect_notices_end_frame(smcr_collect_t *collection, const packet_info *pinfo);

/* Returns all notices, in the order of their first frames: an array of smcr_figure_notice_t, of
 * `scope`. */
wmem_array_t *smcr_collect_notices_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Adds an entry to `list` for each kind of expert item that reports a broken format or rule. Memory
 * is allocated in `scope`. */
void smcr_collect_notices_report_breaches(const smcr_collect_t *collection,
                                          smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Counts an ICMP error "destination unreachable" in `frame` that quotes a packet of RoCE or TCP.
 * `error`: the IP header of the ICMP error itself. The notice has severity 0, a filter that begins
 * with "icmp", and the hosts of the quoted packet. */
void smcr_collect_notices_undelivered(smcr_collect_t *collection, const packet_info *pinfo,
                                      smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error);
