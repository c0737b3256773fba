/* What collects a report: where the time of connections went, RDMA flows, TCP flows, connections,
 * link groups, expert items; and what they keep.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "show/show.h"
#include "stream_bytes.h"
#include "timeline/timeline.h"

/* All of it lives as long as the scope. What a map or a list holds is a type of the file that the
 * comment names; keys are addresses. */
typedef struct smcr_collection {
    wmem_allocator_t *scope; /* NULL: nothing has come yet */
    smcr_entry_capture_t capture; /* up to `passes`; the rest is for others */
    smcr_entry_ip_t ip;
    wmem_array_t *times; /* smcr_when_t: frames that may be asked for, in their order */
    uint32_t now; /* frame of the packet that has been taken last */
    wmem_array_t *tcp; /* tcp_flows.c: pointers, by number of the stream; NULL: no segment of it */
    uint32_t lacking;  /* the last RoCE packet that shows that several others are absent */
    wmem_map_t *rdma;  /* rdma_flows.c: flows, by what they are */
    wmem_array_t *late; /* rdma_flows.c: smcr_step_back_t * of late packets; NULL: none */
    smcr_figure_list_t rdma_list; /* the same in the order of their first packets */
    smcr_entry_icrcs_t stray_icrcs; /* of packets in no flow */
    wmem_map_t *conns; /* smcr_conn_t -> smcr_collect_counted_conn_t */
    wmem_map_t *contacts;   /* smcr_lgr_t -> that of its first contact */
    wmem_map_t *link_flows; /* connections.c: smcr_link_t -> both of its flows */
    wmem_map_t *moves;      /* smcr_link_t -> smcr_collect_moves_t; none: never */
    wmem_map_t *groups;     /* link_groups.c: smcr_lgr_t -> group */
    smcr_figure_list_t group_list; /* the same in the order of their first packets */
    wmem_array_t *kinds, *claimed; /* notices.c: kinds of items, and what later packets have to
                                      bear out */
    wmem_array_t *pending; /* notices.c: items of the frame; NULL: none */
} smcr_collect_t;

/* ---- where the time of a connection went (docs/report.md, "Where the time went") ---- */

/* The timeline of a connection, and the times that are measured besides its intervals. */
typedef struct {
    smcr_timeline_t timeline;
    smcr_distribution_t ack_time[2];    /* by side of the writer: SMCR_TIMELINE_ACK */
    smcr_distribution_t reader_time[2]; /* likewise: SMCR_TIMELINE_READER */
    smcr_distribution_t drain_time[2];  /* likewise: SMCR_TIMELINE_DRAIN */
} smcr_collect_times_t;

/* What the capture misses of the connection's link, as of a packet. */
typedef struct {
    const uint32_t *by_sender; /* places at which packets are missing so far */
    bool is_whole;             /* the capture has the beginning of the connection */
} smcr_collect_gaps_t;

/* The span of a connection. Times in nanoseconds since the epoch. */
typedef struct {
    uint64_t first;      /* its first frame */
    uint64_t last;       /* its last frame */
    uint32_t last_frame; /* the same: its number */
    uint64_t ready;      /* it can carry data from here on; SMCR_FIGURE_UNKNOWN */
    bool has_syn;        /* the capture has its SYN */
} smcr_collect_span_t;

/* Takes the next packet of the connection on RoCE. What is kept is of `scope`. */
void smcr_collect_times_take(smcr_collect_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when, const smcr_tap_t *packet,
                             const smcr_collect_gaps_t *gaps);

/* Whether the packet of the frame fills the window, and nothing that its sender knew of the reader
 * is missing. */
bool smcr_collect_times_fills(const smcr_record_t *record, uint32_t frame);

/* Takes acknowledgements up to frame `now`. */
void smcr_collect_times_advance(smcr_collect_times_t *times, wmem_allocator_t *scope,
                                uint32_t now);

/* The sides of the connection change places. */
void smcr_collect_times_flip(smcr_collect_times_t *times);

/* What `side` has written turns out to be of `times`: it was taken for a connection of its own. */
void smcr_collect_times_move(smcr_collect_times_t *times, const smcr_collect_times_t *half,
                             int side);

/* Divides the time of what `side` has sent. Returns false, and leaves *found alone, where the clock
 * of the capture goes back. */
bool smcr_collect_times_find(const smcr_collect_times_t *times, int side,
                             const smcr_collect_span_t *span, smcr_timeline_direction_t *found);

/* The parts of the time, as an entry of `scope`. */
smcr_entry_conn_time_t *smcr_collect_times_entry(const smcr_collect_times_t *times,
                                                 const smcr_collect_span_t *span,
                                                 const smcr_timeline_direction_t *direction,
                                                 wmem_allocator_t *scope);

/* Adds the longest waits of the direction to the connection. What is added is of `scope`. */
void smcr_collect_times_add_waits(smcr_entry_connection_t *entry, smcr_figure_role_t writer,
                                  const smcr_timeline_direction_t *direction,
                                  wmem_allocator_t *scope);

/* ---- RDMA flows: those of SMC-R's links; where the user wants it, all others ---- */

/* A packet of RoCE or InfiniBand. */
void smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* The ICRC of a packet in no flow, as smcr_ib_headers_t.icrc. */
void smcr_collect_rdma_flows_stray(smcr_collect_t *collection, uint8_t icrc);

/* Adds the flows to `list`, each with its index and that of the other direction. What is added
 * lives as long as `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                    wmem_allocator_t *scope);

/* The flow to a queue pair of a link, as in the last report; SMCR_FIGURE_UNKNOWN: it has none. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to);

/* ---- TCP connections of a capture, whatever they carry ---- */

/* What is known of a TCP connection besides its entry. `up`: the direction of the first segment. */
typedef struct {
    smcr_when_t first, last; /* segments */
    smcr_when_t syn;         /* first SYN without ACK; frame 0: none has been seen */
    smcr_when_t reset;       /* first RST; frame 0: none */
    smcr_when_t fin[2];      /* first FIN of the client (0) and of the server (1); frame 0: none */
    bool client_known;       /* by a SYN or a SYN-ACK; else the client is taken to send `up` */
    bool client_is_up;
    uint16_t up_port;        /* from which `up` comes */
    bool lacks_of[2];        /* it may lack bytes of the stream up (0), and down (1) */
    bool lacks;              /* of either */
    bool lacks_end;          /* of one it lacks the newest bytes, or all: it may have a FIN */
    uint32_t syns;           /* of the client */
    bool is_connected;       /* there are segments other than these and RST */
    bool is_disordered;      /* the SYN-ACK comes behind an acknowledgement of the client */
    smcr_figure_syn_sign_t syn_sign[2]; /* of the SYN, and of the SYN-ACK */
    uint64_t isn[2];        /* initial sequence numbers of client and server; SMCR_FIGURE_UNKNOWN */
    uint64_t payload[2];     /* bytes of the streams up (0) and down (1), each once */
} smcr_collect_tcp_facts_t;

/* A segment, as Wireshark's tap `tcp` hands it over, while its frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* The connection that Wireshark calls tcp.stream `tcp_stream`, SMCR_FIGURE_UNKNOWN among others;
 * NULL: no segment of it has been taken. It goes on changing with the collection. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_t *collection,
                                                             uint64_t tcp_stream);

/* Adds the flows to `list`, in ascending order of tcp.stream. The entries are of `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                                   wmem_allocator_t *scope);

/* ---- connections of SMC-R: what each carried, and how long its ends waited for each other ---- */

/* One direction. */
#define SMCR_COLLECT_BLOCKED_KEPT 16
typedef struct {
    smcr_entry_conn_direction_t figures;
    smcr_collect_stream_bytes_t bytes; /* that figures.bytes has counted */
    const smcr_link_t *link;      /* on which it went last */
    smcr_cursor_t blocked[SMCR_COLLECT_BLOCKED_KEPT]; /* up to where its writer waited last */
    bool has_unowned; /* its flow has WRITEs of no connection before its last packet */
} smcr_collect_direction_t;

/* A link that the connection has used, from a frame on. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* later */
    const smcr_link_t *link;
    smcr_when_t from;
} smcr_collect_link_use_t;

/* From the Confirm to where the connection can carry data: LLC of a first contact. */
typedef struct {
    smcr_when_t ready, step;   /* its last packet, and its last one that is no retransmission */
    const smcr_exchange_t *asked, *longest_of; /* NULL: none */
    uint64_t longest;          /* between two messages, nanoseconds */
    const smcr_link_t *asked_on; /* NULL: on none */
    uint8_t longest_link;
    bool is_unsure;      /* a message is cut or absent, or its time is before that of another */
    bool is_over;        /* it has ended, or data have come */
    bool is_adding;      /* a link that is neither confirmed nor refused nor deleted */
    bool longest_behind; /* its response, which was there before */
} smcr_collect_contact_t;

typedef struct {
    const smcr_conn_t *conn;
    smcr_when_t first, last;          /* frame 0: not seen */
    smcr_when_t clc[SMCR_CLC_CONFIRM + 1]; /* likewise, by type */
    smcr_collect_contact_t contact;
    smcr_collect_times_t times;
    smcr_collect_direction_t direction[2]; /* by the side that sends */
    smcr_collect_link_use_t *first_use, *last_use;
    uint64_t clc_bytes[2];            /* by role: client, server */
    const char *offered_eids;         /* by the Proposal, with commas; NULL: not known, or none */
    uint8_t version;                  /* of SMC, that both agree on; 0: not known */
    bool is_smcd, on_roce;            /* agreed on; it has a packet there */
    bool flips;                       /* the sides are those of smcr_conn_t.flips */
} smcr_collect_counted_conn_t;

/* A packet or message of a connection; others are left alone. */
void smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds the connections to `list`, in the order of their indices. What is added is of `scope`. */
void smcr_collect_connections_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                     wmem_allocator_t *scope);

/* How often connections have moved away from a link, and to it. */
typedef struct {
    uint64_t from, to;
} smcr_collect_moves_t;

/* Fills in the entry, whose texts are of `scope`. `tcp`: of its TCP connection; NULL: not known. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_counted_conn_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp, uint32_t lacking,
                                  const smcr_collect_t *collection, wmem_allocator_t *scope);

/* The number of a link group in the report: its index. Groups that are not proven to be one of
 * their own come behind all others; the oldest link tells them apart. */
uint64_t smcr_collect_lgr_number(const smcr_lgr_t *lgr);

/* The frame with its time, one of those that may be asked for; frame 0 where that is not known. */
smcr_when_t smcr_collect_when(const smcr_collect_t *collection, uint32_t frame);

/* ---- link groups: their links and what became of these, RMBs that messages announce ---- */

/* A packet or message of a link. */
void smcr_collect_link_groups_take(smcr_collect_t *collection, const packet_info *pinfo,
                                   const smcr_tap_t *packet);

/* Adds the groups to `list`, in the order of their indices. What is added lives as long as
 * `scope`. RDMA flows have been reported before. */
void smcr_collect_link_groups_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                                     wmem_allocator_t *scope);

/* ---- the expert items of the plugin, counted by kind and by who has caused them ---- */

/* Nothing has been counted. */
void smcr_collect_notices_begin(smcr_collect_t *collection);

/* An expert item of the frame; others than those of the plugin are left alone. */
void smcr_collect_notices_take(smcr_collect_t *collection, const packet_info *pinfo,
                               const expert_info_t *item);

/* Counts `number` of what a display filter selects, at `first`: no expert item, severity 0. */
void smcr_collect_notices_note(smcr_collect_t *collection, const char *filter, smcr_when_t first,
                               uint64_t number);

/* The packet or message that the items since the last one are about. */
void smcr_collect_notices_blame(smcr_collect_t *collection, const smcr_tap_t *packet);

/* The same in the first pass: what later packets have to bear out counts once they do. */
void smcr_collect_notices_claim(smcr_collect_t *collection, const packet_info *pinfo,
                                const smcr_tap_t *packet);

/* The frame is done with. */
void smcr_collect_notices_end_frame(smcr_collect_t *collection, const packet_info *pinfo);

/* All of them: smcr_figure_notice_t, in the order in which they came first, of `scope`. */
wmem_array_t *smcr_collect_notices_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Adds to `list` what breaks a format or a rule. What is added lives as long as `scope`. */
void smcr_collect_notices_report_breaches(const smcr_collect_t *collection,
                                          smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Counts an ICMP error of `frame` that quotes a packet of RoCE or TCP; `error` is its own IP
 * header. Its notice has severity 0, a filter that begins with "icmp", and the hosts of the quoted
 * packet. */
void smcr_collect_notices_undelivered(smcr_collect_t *collection, const packet_info *pinfo,
                                      smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error);
