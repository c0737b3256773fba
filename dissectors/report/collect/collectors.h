/* collectors.h
 * What collects a report: where the time of connections went, RDMA flows, TCP flows, connections,
 * link groups. What each has is of one report; all of them live as long as the scope.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "report/figures/figures.h"
#include "show/show.h"
#include "stream_bytes.h"

/* ---- where the time of a connection went: exclusive parts of each direction (docs/report.md,
 * "Where the time went") ---- */

/* What the writer of a direction is at. */
typedef enum {
    SMCR_COLLECT_IS_UNKNOWN,
    SMCR_COLLECT_IS_IDLE,     /* what for turns out with the next data */
    SMCR_COLLECT_IS_SILENT,   /* it has nothing to write */
    SMCR_COLLECT_IS_ASKING,   /* it waits for an answer of the peer */
    SMCR_COLLECT_IS_FULL,     /* the receive buffer is */
    SMCR_COLLECT_IS_SENDING,  /* data are under way */
    SMCR_COLLECT_IS_REPEATING, /* retransmissions, and waiting for them */
    SMCR_COLLECT_PARTS
} smcr_collect_part_t;

/* What has been spent on each part up to a time, nanoseconds. */
typedef struct {
    uint64_t until;
    uint64_t part[SMCR_COLLECT_PARTS];
} smcr_collect_spent_t;

/* One direction. All zeros: nothing has been sent. */
typedef struct {
    smcr_collect_spent_t spent;
    smcr_collect_spent_t repeated; /* up to the last retransmission */
    smcr_collect_spent_t gap;      /* up to the last packet before absent ones */
    smcr_collect_part_t at;
    uint64_t since;    /* it is at that */
    uint64_t reversed; /* a retransmission of the peer has counted up to here */
    struct smcr_collect_sent *oldest, *newest; /* not acknowledged yet */
    unsigned count, under_way; /* of them; those that are data */
    const smcr_when_t *const *filled, *const *freed; /* acknowledgements of the message that filled
                                                        the buffer, and of that which freed space */
    const smcr_when_t *const *draining; /* acknowledgement of a message that filled it; NULL: half
                                           is free again */
    uint64_t half; /* position up to which that is */
    bool is_known, is_full, is_blocked, has_asked, has_acks;
    smcr_distribution_t ack_time, reader_time, drain_time;
} smcr_collect_writer_t;

typedef struct {
    smcr_collect_writer_t writer[2]; /* by side */
    smcr_collect_writer_t ended[2];  /* at the last frame of the connection */
    smcr_when_t begun; /* the first packet; frame 0: there has been none */
    uint32_t gaps;     /* of the link, so far */
} smcr_collect_division_t;

/* The next packet of the connection on RoCE. `gaps`: places where the capture lacks packets of the
 * link, so far. `is_whole`: the capture has the beginning of the connection. */
void smcr_collect_division_take(smcr_collect_division_t *division, wmem_allocator_t *scope,
                                smcr_when_t when, const smcr_tap_t *packet, uint32_t gaps,
                                bool is_whole);

/* Whether the packet of the frame fills the window, as far as anybody can tell. */
bool smcr_collect_division_fills(const smcr_record_t *record, uint32_t frame);

/* The connection has no frame behind `last_frame`, though packets may have been acknowledged since,
 * up to frame `now`. */
void smcr_collect_division_end(smcr_collect_division_t *division, wmem_allocator_t *scope,
                               uint32_t last_frame, uint32_t now);

/* The times of a connection: nanoseconds since the epoch. */
typedef struct {
    uint64_t first, last; /* of its frames */
    uint64_t ready;       /* it can carry data; SMCR_FIGURE_UNKNOWN */
    bool has_syn;
} smcr_collect_span_t;

/* The parts of what `side` has sent; NULL: the clock of the capture goes back. */
smcr_entry_conn_time_t *smcr_collect_division_entry(smcr_collect_division_t *division, int side,
                                                    const smcr_collect_span_t *span,
                                                    wmem_allocator_t *scope);

/* ---- RDMA flows: those of SMC-R's links; where the user wants it, all others ---- */

typedef struct smcr_rdma_flows smcr_collect_rdma_flows_t; /* of one report */

/* No flows. They live as long as the scope. */
smcr_collect_rdma_flows_t *smcr_collect_rdma_flows_new(wmem_allocator_t *scope);

/* A packet of RoCE or InfiniBand. */
void smcr_collect_rdma_flows_take(smcr_collect_rdma_flows_t *flows, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* The ICRC of a packet in no flow, as smcr_ib_headers_t.icrc. */
void smcr_collect_rdma_flows_stray(smcr_collect_rdma_flows_t *flows, uint8_t icrc);

/* The first packet with the mark CE, and the first NAK for another reason than the order of PSNs;
 * frame 0: there has been none. */
typedef struct {
    smcr_when_t ce, refusal;
} smcr_collect_rdma_firsts_t;
smcr_collect_rdma_firsts_t smcr_collect_rdma_flows_firsts(const smcr_collect_rdma_flows_t *flows);

/* Adds the flows to `list`, each with its index and that of the other direction. What is added
 * lives as long as `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_rdma_flows_t *flows, const smcr_state_t *state,
                                    smcr_figure_list_t *list, wmem_allocator_t *scope);

/* The index of the flow to a queue pair of a link, as in the last report; SMCR_FIGURE_UNKNOWN: it
 * has none. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_rdma_flows_t *flows, const smcr_qp_t *to);

/* ---- TCP connections of a capture, whatever they carry ---- */

typedef struct smcr_tcp_flows smcr_collect_tcp_flows_t;

/* What is known of a TCP connection besides its entry. `up` is the direction of the first segment
 * that was seen. */
typedef struct {
    smcr_when_t first, last; /* segments */
    smcr_when_t syn;         /* first SYN without ACK; frame 0: none has been seen */
    smcr_when_t reset;       /* first RST; frame 0: none */
    smcr_when_t fin[2];      /* first FIN of the client (0) and of the server (1); frame 0: none */
    bool client_known;       /* by a SYN or a SYN-ACK; else the client is taken to send `up` */
    bool client_is_up;
    uint16_t up_port;        /* from which `up` comes */
    bool lacks;              /* the capture may lack bytes of either stream */
    bool lacks_end;          /* of one it lacks the newest bytes, or all: it may have a FIN */
    smcr_when_t ce;          /* first segment with the mark CE that counts; frame 0: none */
    uint32_t syns;           /* of the client */
    bool is_connected;       /* there are segments other than these and RST */
    smcr_figure_syn_sign_t syn_sign[2]; /* of the SYN, and of the SYN-ACK */
    uint64_t isn[2];        /* initial sequence numbers of client and server; SMCR_FIGURE_UNKNOWN */
    uint64_t payload[2];     /* bytes of the streams up (0) and down (1), each once */
} smcr_collect_tcp_facts_t;

/* No flows; lives as long as the scope. */
smcr_collect_tcp_flows_t *smcr_collect_tcp_flows_new(wmem_allocator_t *scope);

/* A segment, as Wireshark's tap `tcp` hands it over, while its frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_tcp_flows_t *flows, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* Numbers of TCP streams are below this. */
uint32_t smcr_collect_tcp_flows_count(const smcr_collect_tcp_flows_t *flows);

/* The connection that Wireshark calls tcp.stream `tcp_stream`; NULL: no segment of it has been
 * taken. It lives as long as the flows, and goes on changing with them. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_tcp_flows_t *flows,
                                                             uint32_t tcp_stream);

/* Adds the flows to `list`, in ascending order of tcp.stream. The entries live as long as
 * `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_tcp_flows_t *flows, smcr_figure_list_t *list,
                                   wmem_allocator_t *scope);

/* ---- connections of SMC-R: what each carried, and how long its ends waited for each other ---- */

/* One direction. */
typedef struct {
    smcr_entry_conn_direction_t figures;
    smcr_collect_stream_bytes_t bytes; /* that figures.bytes has counted */
    const smcr_link_t *link;      /* on which it went last */
    bool is_blocked;              /* the writer has said so last */
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
    uint8_t asked_link, longest_link;
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
    smcr_collect_division_t division;
    smcr_collect_direction_t direction[2]; /* by the side that sends */
    smcr_collect_link_use_t *first_use, *last_use;
    uint64_t clc_bytes[2];            /* by role: client, server */
    const char *offered_eids;         /* by the Proposal, with commas; NULL: not known, or none */
    uint8_t version;                  /* of SMC, that both agree on; 0: not known */
    bool is_smcd, on_roce;            /* agreed on; it has a packet there */
    bool flips;                       /* the sides are those of smcr_conn_t.flips */
} smcr_collect_counted_conn_t;

typedef struct smcr_connections smcr_collect_connections_t; /* of one report */

/* What else tells of connections and link groups. */
typedef struct {
    const smcr_state_t *state;
    const smcr_collect_connections_t *connections;
    const smcr_collect_rdma_flows_t *flows; /* they have been reported before */
    const smcr_collect_tcp_flows_t *tcp;
    wmem_array_t *times; /* smcr_when_t: frames that may be asked for, in their order */
} smcr_collect_sources_t;

/* No connections. They live as long as the scope. */
smcr_collect_connections_t *smcr_collect_connections_new(wmem_allocator_t *scope);

/* A packet or message of a connection; others are left alone. */
void smcr_collect_connections_take(smcr_collect_connections_t *connections, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds the connections to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_connections_report(smcr_collect_connections_t *connections,
                                     const smcr_collect_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

/* What was written again after a connection had moved: in how many bytes, and where first. */
typedef struct {
    smcr_when_t first; /* frame 0: nothing was */
    uint64_t bytes;
} smcr_collect_rewritten_t;
smcr_collect_rewritten_t
smcr_collect_connections_rewritten(const smcr_collect_connections_t *connections);

/* How often connections have moved away from the link, and to it; NULL: never. */
typedef struct {
    uint64_t from, to;
} smcr_collect_moves_t;
const smcr_collect_moves_t *
smcr_collect_connections_moves(const smcr_collect_connections_t *connections,
                               const smcr_link_t *link);

/* Fills in the entry, whose texts live as long as `scope`. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_counted_conn_t *counted,
                                  const smcr_collect_sources_t *sources,
                                  wmem_allocator_t *scope);

/* The number of a link group in the report: its index. Groups that are not proven to be one of
 * their own come behind all others; the oldest link tells them apart. */
uint64_t smcr_collect_lgr_number(const smcr_state_t *state, const smcr_lgr_t *lgr);

/* The frame with its time, of the sources' `times`; frame 0 where that is not known. */
smcr_when_t smcr_collect_when(wmem_array_t *times, uint32_t frame);

/* ---- link groups: their links and what became of these, RMBs that messages announce ---- */

typedef struct smcr_link_groups smcr_collect_link_groups_t; /* of one report */

/* No groups. They live as long as the scope. */
smcr_collect_link_groups_t *smcr_collect_link_groups_new(wmem_allocator_t *scope);

/* A packet or message of a link. `vlan`: of its frame; 0: none. */
void smcr_collect_link_groups_take(smcr_collect_link_groups_t *groups, smcr_when_t when,
                                   const smcr_tap_t *packet, uint32_t vlan);

/* Adds the groups to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_link_groups_report(const smcr_collect_link_groups_t *groups,
                                     const smcr_collect_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);
