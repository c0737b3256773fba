/* The parts of a collection, and what they keep: the time of connections, RDMA flows, TCP flows,
 * connections, link groups, expert items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "show/show.h"
#include "stream_bytes.h"
#include "timeline/timeline.h"

/* What is kept of a capture. All of it lives as long as the scope. The values of maps and lists are
 * types of the file that the comment names; the keys are addresses of state. */
typedef struct smcr_collection {
    wmem_allocator_t *scope;      /* NULL: no packet or frame has been taken */
    smcr_entry_capture_t capture; /* its members up to `passes`; the others are filled in later */
    smcr_entry_ip_t ip;           /* counts of IP packets that are neither TCP nor RoCE */
    wmem_array_t *times;          /* smcr_when_t: frames whose time may be needed, ascending */
    uint32_t last_taken_frame;    /* number of the frame that was taken last */

    wmem_array_t *tcp; /* tcp_flows.c: pointers, by tcp.stream; NULL: no segment of the stream */

    uint32_t last_gap_frame;        /* the last RoCE packet before which others are missing */
    wmem_map_t *rdma;               /* rdma_flows.c: queue pair or flow -> followed flow */
    wmem_array_t *late_steps;       /* rdma_flows.c: smcr_step_back_t * of late packets; or NULL */
    smcr_figure_list_t rdma_list;   /* the same flows, in the order of their first packets */
    smcr_entry_icrcs_t stray_icrcs; /* ICRCs of packets in no flow */

    wmem_map_t *conns;      /* smcr_conn_t -> smcr_collect_conn_stats_t */
    wmem_map_t *contacts;   /* smcr_lgr_t -> the counted connection of its first contact */
    wmem_map_t *link_flows; /* connections.c: smcr_link_t -> both of its flows */
    wmem_map_t *moves;      /* smcr_link_t -> smcr_collect_moves_t; no entry: no move */

    wmem_map_t *groups;            /* link_groups.c: smcr_lgr_t -> group */
    smcr_figure_list_t group_list; /* the same groups, in the order of their first packets */

    wmem_array_t *item_kinds; /* notices.c: expert items, counted by kind */
    wmem_array_t *deferred_checks; /* notices.c: events that count once later packets confirm
                                      them */
    wmem_array_t *frame_items; /* notices.c: items of the current frame; NULL: none */
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
    smcr_timeline_doubt_t doubt;
    bool misses_last[2]; /* by sender: its last packets may be missing */
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

/* ---- what lasts in an RDMA flow ---- */

/* All zeros: the flow has had no packet. */
typedef struct {
    smcr_interval_union_t retransmission; /* from a first transmission to a retransmission */
    smcr_interval_union_t rnr_wait; /* from an RNR NAK to the packet that it asks for */
    smcr_interval_union_t silence;  /* requests are retransmitted, and the reverse flow has none;
                                       only those that are over */
    smcr_when_t rnr;       /* RNR NAK whose packet has not come; frame 0: none */
    uint32_t rnr_psn;      /* that it names, 24 bits */
    smcr_when_t heard;     /* last packet of the reverse flow; frame 0: none yet */
    bool is_refused;       /* the last response of the reverse flow is a NAK or RNR NAK */
    smcr_when_t asked;     /* first request since `heard`; frame 0: none */
    smcr_when_t last;      /* last request since `heard`; likewise */
    uint32_t highest;      /* PSN of the requests since `heard`, 24 bits; with `asked` */
    smcr_interval_t silent; /* the silence that lasts; end frame 0: none does */
} smcr_collect_flow_times_t;

/* Takes the next packet of the flow. What is kept is of `scope`. */
void smcr_collect_flow_times_take(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Takes the next packet of its reverse flow. */
void smcr_collect_flow_times_hear(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Moves what lasted in `from` to `times`: it was the same flow. */
void smcr_collect_flow_times_move(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_collect_flow_times_t *from);

/* Fills in what lasts; changes nothing. What is added to the entry is of `scope`. */
void smcr_collect_flow_times_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_times_t *times,
                                  wmem_allocator_t *scope);

/* ---- RDMA flows: those of SMC-R's links; where the user wants it, all others ---- */

/* A packet of RoCE or InfiniBand. */
void smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* Counts the ICRC of a packet in no flow. `icrc`: as smcr_ib_headers_t.icrc; 0: nothing to count.
 */
void smcr_collect_rdma_flows_count_stray_icrc(smcr_collect_t *collection, uint8_t icrc);

/* Adds the flows to `list`, each with its index and that of the other direction. What is added
 * lives as long as `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                    wmem_allocator_t *scope);

/* Describes the RDMA-CM connection of a flow. The entry lives as long as `scope`. */
smcr_entry_flow_cm_t *smcr_collect_cm_entry(const smcr_cm_conn_t *conn, wmem_allocator_t *scope);

/* The flow to a queue pair of a link, as in the last report; SMCR_FIGURE_UNKNOWN: it has none. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to);

/* ---- TCP connections of a capture, whatever they carry ---- */

/* What is known of a TCP connection besides its entry. `up`: the direction of the first captured
 * segment; `down`: the other one. Frame 0 in a time: such a segment has not been captured. */
typedef struct {
    smcr_when_t first;   /* first segment */
    smcr_when_t last;    /* last segment */
    smcr_when_t syn;     /* first SYN without ACK */
    smcr_when_t reset;   /* first RST */
    smcr_when_t fin[2];  /* first FIN of the client (0) and of the server (1) */
    bool client_known;   /* a SYN or a SYN-ACK shows the client; else `up` is taken for its side */
    bool client_is_up;   /* the client sends `up` */
    uint16_t up_port;    /* source port of `up` */
    bool may_lack_bytes_of[2]; /* bytes of the stream up (0) or down (1) may be missing */
    bool may_lack_bytes; /* bytes of either stream may be missing */
    bool may_lack_end;   /* the newest bytes of a stream may be missing, with a FIN among them */
    uint32_t syns;       /* SYNs of the client */
    bool is_connected;   /* there are segments other than SYN, SYN-ACK and RST */
    bool is_disordered;  /* the SYN-ACK comes after an acknowledgement of the client */
    smcr_figure_syn_sign_t syn_sign[2]; /* what the options of SYN (0) and SYN-ACK (1) show */
    uint64_t isn[2];     /* initial sequence number of client and server; SMCR_FIGURE_UNKNOWN */
    uint64_t payload[2]; /* bytes of the streams up (0) and down (1), each byte once */
} smcr_collect_tcp_facts_t;

/* A segment, as Wireshark's tap `tcp` hands it over, while its frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* Returns the connection with this number (Wireshark's tcp.stream); NULL: no segment of it has been
 * taken, or the number is SMCR_FIGURE_UNKNOWN. The facts change while more segments are taken. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_t *collection,
                                                             uint64_t tcp_stream);

/* Adds the flows to `list`, in ascending order of tcp.stream. The entries are of `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                                   wmem_allocator_t *scope);

/* ---- connections of SMC-R: what each carried, and how long its ends waited for each other ---- */

/* Cursors at which a writer waited that are kept, to count each wait once. */
#define SMCR_COLLECT_BLOCKED_KEPT 16

/* What was counted of one direction. */
typedef struct {
    smcr_entry_conn_direction_t figures;
    smcr_collect_stream_bytes_t bytes; /* positions that figures.bytes has counted */
    const smcr_link_t *link;           /* link of the last packet; NULL: none yet */

    /* Producer cursors at which the writer waited last: a circular list. */
    smcr_cursor_t wait_cursors[SMCR_COLLECT_BLOCKED_KEPT];

    bool has_unowned_writes; /* before its last packet, its flow has WRITEs of no known
                                connection */
} smcr_collect_direction_t;

/* A link that the connection has used, from a frame on. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* the next link; NULL: the last one */
    const smcr_link_t *link;
    smcr_when_t from; /* first packet on it */
} smcr_collect_link_use_t;

/* A first contact: from the Confirm to where the connection can carry data, while LLC sets up the
 * link group. */
typedef struct {
    smcr_when_t ready;                 /* its last packet so far; frame 0: no Confirm yet */
    smcr_when_t step;                  /* its last packet that is no retransmission */
    const smcr_exchange_t *last_request; /* its last LLC request; NULL: none */
    const smcr_link_t *last_request_link; /* link of that request; NULL: none */
    uint64_t longest_step;             /* longest time between two messages, nanoseconds */
    const smcr_exchange_t *longest_step_request; /* the last request before that time; NULL: none */
    uint8_t longest_link;              /* number of that request's link; 0: none */
    bool longest_step_after_response; /* the response of that request came before that time, not
                                         after it */
    bool is_unsure;      /* a message is cut or missing, or its time is before an earlier one's */
    bool is_over;        /* it has ended, or data have come */
    bool is_adding;      /* a link is neither confirmed nor rejected nor deleted yet */
} smcr_collect_contact_t;

/* What was counted of a connection. */
typedef struct {
    const smcr_conn_t *conn;
    smcr_when_t first;                     /* first packet or message; frame 0: none yet */
    smcr_when_t last;                      /* last packet or message; frame 0: none yet */
    smcr_when_t clc[SMCR_CLC_CONFIRM + 1]; /* first CLC message, by type; frame 0: none */
    smcr_collect_contact_t contact;
    smcr_collect_times_t times;            /* where its time went */
    smcr_collect_direction_t direction[2]; /* by the side that sends */
    smcr_collect_link_use_t *first_use;    /* the links it has used, in order; NULL: none */
    smcr_collect_link_use_t *last_use;     /* the last of these */
    uint64_t clc_bytes[2];                 /* bytes of CLC from the client (0), the server (1) */
    const char *offered_eids;              /* of the Proposal, with commas; NULL: none, unknown */
    uint8_t version;                       /* of SMC, as agreed; 0: not known */
    bool is_smcd;                          /* both have agreed on SMC-D */
    bool on_roce;                          /* a RoCE packet of it has been taken */
    bool sides_swapped;                    /* the state had swapped the sides when they were used */
} smcr_collect_conn_stats_t;

/* An LLC message of a link, or a packet of it that was not decoded. It belongs to the first contact
 * of the link group if it comes within a second of the message before, or while a request has no
 * response. A later message ends the first contact. */
void smcr_collect_contact_take(smcr_collect_t *collection, smcr_when_t when,
                               const smcr_tap_t *packet);

/* Whether an LLC request of the first contact had no response before the frame, or a link is still
 * being added. */
bool smcr_collect_contact_awaits(const smcr_collect_contact_t *contact, uint32_t frame);

/* A packet or message of a connection; others are left alone. */
void smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds the connections to `list`, in the order of their indices. What is added is of `scope`. */
void smcr_collect_connections_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                     wmem_allocator_t *scope);

/* How often connections have moved away from a link, and to it. */
typedef struct {
    uint64_t from; /* moves away from the link */
    uint64_t to;   /* moves to it */
} smcr_collect_moves_t;

/* Fills in the entry of a connection; its texts live as long as `scope`. `tcp`: its TCP connection;
 * NULL: not known. `lacking`: the last frame that shows missing packets; 0: none. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp, uint32_t lacking,
                                  const smcr_collect_t *collection, wmem_allocator_t *scope);

/* The number of a link group in the report: its index. A group that may be a part of another one
 * has a number after all others, made of the index of its oldest link. */
uint64_t smcr_collect_lgr_number(const smcr_lgr_t *lgr);

/* Returns the frame with its time. Frame 0: the time is not known, since nobody was expected to
 * need it. */
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
void smcr_collect_notices_count(smcr_collect_t *collection, const char *filter, smcr_when_t first,
                                uint64_t number);

/* The pending items since the last call are about this packet or message: notes its side and
 * subject. */
void smcr_collect_notices_set_subject(smcr_collect_t *collection, const smcr_tap_t *packet);

/* Keeps events of the packet that later packets have to confirm. Called in the first pass, in which
 * Wireshark does not hand over their expert items. */
void smcr_collect_notices_defer(smcr_collect_t *collection, const packet_info *pinfo,
                                const smcr_tap_t *packet);

/* The frame is complete: counts its pending items. */
void smcr_collect_notices_end_frame(smcr_collect_t *collection, const packet_info *pinfo);

/* All of them: smcr_figure_notice_t, in the order in which they came first, of `scope`. */
wmem_array_t *smcr_collect_notices_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Adds the expert items that report a broken format or rule to `list`. The entries live as long as
 * `scope`. */
void smcr_collect_notices_report_breaches(const smcr_collect_t *collection,
                                          smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Counts an ICMP error of `frame` that quotes a packet of RoCE or TCP; `error` is its own IP
 * header. Its notice has severity 0, a filter that begins with "icmp", and the hosts of the quoted
 * packet. */
void smcr_collect_notices_undelivered(smcr_collect_t *collection, const packet_info *pinfo,
                                      smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error);
