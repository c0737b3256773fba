/* Knows how what is counted of a capture is kept, and how the data of four taps become the entries
 * of a report: link groups and RMBs, RDMA flows, TCP flows, breaches. Does not know how connections
 * of SMC-R are counted, nor which entries are bad. Called by the rooms within.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "application/application.h"
#include "ended.h"
#include "gaps.h"
#include "host/host.h"
#include "report/others/others.h"
#include "report/packed/packed.h"
#include "report/adapters/adapters.h"
#include "report/classes/classes.h"
#include "report/pause/pause.h"
#include "report/points/ways.h"
#include "report/recovery/recovery.h"
#include "report/series/series.h"
#include "show/show.h"
#include "stream_bytes.h"

/* How long a TCP connection waited for retransmissions: the pauses of a sender before its
 * retransmissions of data that was not acknowledged. */
typedef struct {
    uint64_t sum;      /* all these pauses, nanoseconds */
    uint64_t longest;  /* the longest of them, nanoseconds */
    smcr_when_t begin; /* the segment with which the longest one begins; frame 0: none */
} smcr_collect_tcp_wait_t;

/* What has been counted of one capture, before a report is made of it. A map `X -> Y` has pointers
 * to an X of the state as keys, and pointers to a Y as values. Where the comment of a member names
 * a file, that file defines the type of the values. */
typedef struct smcr_collection {
    wmem_allocator_t *scope;      /* memory pool of the collection; NULL: nothing has been counted,
                                     and no report was made. The members `series` and `subjects`
                                     have pools of their own; if `lets_go` is set, so have each
                                     connection, each TCP connection, and each RDMA flow of a link
                                     group whose first contact is captured */
    smcr_entry_capture_t capture; /* facts of the file: the members up to `passes`;
                                     smcr_collection_report() fills in the later members */
    smcr_entry_ip_t ip;           /* counts of IP packets that are neither TCP nor RoCE */
    wmem_array_t *times;          /* numbers and times of the frames that a report may name; element
                                     smcr_when_t; in ascending order */
    wmem_array_t *clc_times;      /* the same for frames with CLC messages, if the collection
                                     `lets_go`: these times can be forgotten. The first frame of
                                     each link is in `times` all the same; element smcr_when_t */
    uint32_t last_taken_frame;    /* number of the last frame with a packet or message that
                                     smcr_collect_connections_take() got; 0: none */

    wmem_map_t *tcp;   /* TCP connections: tcp.stream -> tcp_conn_t of tcp_flows.c */
    wmem_map_t *hosts; /* text -> the same text: addresses, names of interfaces
                          (smcr_collect_text()) */

    smcr_collect_gap_list_t gaps; /* gaps of RoCE and of TCP, as of the last report */
    smcr_collect_gap_list_t roce_gaps;  /* sequence gaps of RDMA flows in which two packets or more
                                           are missing; and gaps of TCP connections that the
                                           collection has let go of */
    wmem_map_t *rdma;               /* RDMA flows: smcr_qp_t or smcr_rdma_flow_t ->
                                       smcr_collect_followed_t */
    wmem_map_t *flow_times;         /* times of the same flows: the same keys ->
                                       smcr_collect_flow_times_t */
    wmem_array_t *late_steps;       /* out-of-order packets; element smcr_step_back_t *, the step
                                       back that the packet belongs to; NULL: it belongs to no step
                                       back */
    smcr_figure_list_t rdma_list;   /* all flows of `rdma`, in the order of their first packets */
    const uint32_t *flow_numbers;   /* numbers of the flows of the last report, by their index there
                                       (smcr_collect_rdma_flows_number()); valid as long as that
                                       report; NULL: no report yet */
    uint32_t gone_flows;            /* number of flows with packets that were let go of with their
                                       link groups */
    wmem_array_t *uncounted_flows;  /* flows without figures, since FLOWS_MOST flows (followed.c)
                                       have some: a bit for each smcr_rdma_flow_t.index; NULL:
                                       none */
    smcr_entry_icrcs_t stray_icrcs; /* counts of checked ICRCs, of packets that belong to no flow,
                                       or to a flow without figures */

    wmem_map_t *heard; /* last packets of each pair of addresses: pair_t -> pair_heard_t of heard.c;
                          NULL: none yet */
    wmem_map_t *hosts_heard; /* last packet of each sender: its GID, or a key made of its MAC
                                address -> sender_heard_t of heard.c; NULL: none yet */

    smcr_collect_tcp_wait_t tcp_wait; /* waits of the TCP connection that waited longest for
                                         retransmissions */
    smcr_packed_desk_t open_tcp;   /* figures of TCP connections that are open (tcp_flows.c) */
    smcr_packed_desk_t open_conns; /* figures of connections that are open
                                      (smcr_collect_conn_counts_t) */

    wmem_map_t *conns;      /* smcr_conn_t -> smcr_collect_conn_stats_t: figures of each
                               connection */
    wmem_map_t *contacts;   /* smcr_lgr_t -> smcr_collect_conn_stats_t: figures of the connection
                               that made the first contact of the link group */
    wmem_map_t *link_flows; /* smcr_link_t -> smcr_collect_link_flows_t: facts of the two flows of
                               each link */
    wmem_map_t *moves;      /* smcr_link_t -> smcr_collect_moves_t: moves of connections from and to
                               the link; no entry: no connection has moved from or to it */

    wmem_map_t *groups;            /* link groups: smcr_lgr_t -> gathered_group_t of
                                      link_groups.c */
    smcr_figure_list_t group_list; /* all groups of `groups`, in the order of their first packets */

    smcr_others_t *others; /* RoCE packets that are not analysed; NULL: none so far */
    uint32_t roce_frame;   /* last frame with a RoCE packet that was analysed; 0: none */

    smcr_classes_pacing_t *pacing; /* last CNPs; NULL: none so far */
    smcr_classes_shares_t *shares; /* number of packets, and of those with CE, over time; NULL: all
                                      counted packets are Not-ECT */
    smcr_pauses_t *pauses; /* PAUSE and PFC frames; NULL: none so far */
    smcr_pause_header_t header; /* Ethernet header of the current RoCE packet */
    bool has_header;            /* `header` is set: the current RoCE packet has been captured with
                                   its Ethernet header */

    smcr_series_t *series; /* pictures over time; NULL: no page was asked for */

    uint64_t last_time; /* time of the last counted frame, nanoseconds since 1970; 0: none so far,
                           or it has no time */
    bool keeps_frames;  /* notices keep the frames that they count */
    bool lets_go;      /* connections and link groups that have ended are let go of: their memory
                          is freed (see `scope`) */
    const char *interface; /* name of the interface that captured the current frame; NULL: not
                              known, or `lets_go` is not set */
    wmem_array_t *gone_conns;    /* connections that were let go of after their end: a bit for each
                                    smcr.stream */
    wmem_array_t *gone_streams; /* TCP connections that were let go of after TCP had closed them: a
                                   bit for each tcp.stream */
    wmem_map_t *given_up; /* smcr_conn_t -> not NULL: connections that were let go of before they
                             ended */
    wmem_array_t *subjects; /* subjects of the connections of the last report, if the collection
                               `lets_go`; element smcr_collection_subject_t; NULL: no report
                               yet */
    wmem_array_t *gone_groups;  /* link groups that were let go of: a bit for each
                                   smcr_lgr_t.index */
    uint64_t late_packets; /* number of packets and segments that came after the collection had let
                              go of their link group, or of their connection after its end */
    wmem_map_t *icmp_errors; /* ICMP errors of a file with several capture points: hash of an error
                                -> number of the interface that has shown it first, plus 1; NULL:
                                none so far */
    wmem_array_t *item_kinds; /* all notices: expert items, counted by kind, and what a display
                                 filter selects, counted by filter; element counted_items_t of
                                 notices.c */
    wmem_array_t *deferred_checks; /* events that count only if later packets confirm the event;
                                      element claimed_t of notices.c */
    wmem_array_t *frame_items; /* expert items of the current frame, not counted yet; element
                                  counted_items_t of notices.c; NULL: none */
} smcr_collect_t;

/* Returns the memory pool of a new connection or flow: a pool of its own if the collection lets go
 * of them, else the pool of the collection. The new pool is of the kind STRICT, since a pool of any
 * other kind takes 64 kB or more. */
static inline wmem_allocator_t *
smcr_collect_pool(const smcr_collect_t *collection)
{
    return collection->lets_go ? wmem_allocator_new(WMEM_ALLOCATOR_STRICT) : collection->scope;
}

/* Frees the pool of smcr_collect_pool(), unless it is that of the collection. */
static inline void
smcr_collect_pool_free(const smcr_collect_t *collection, wmem_allocator_t *pool)
{
    if (pool != collection->scope)
        wmem_destroy_allocator(pool);
}

/* Adds a number to a set, which is an array of bits. */
static inline void
smcr_collect_bits_set(wmem_array_t *bits, uint32_t number)
{
    static const uint8_t zero;

    while (wmem_array_get_count(bits) <= number / 8)
        wmem_array_append_one(bits, zero);
    *(uint8_t *)wmem_array_index(bits, number / 8) |= (uint8_t)(1 << number % 8);
}

/* Whether the set has the number. */
static inline bool
smcr_collect_bits_has(wmem_array_t *bits, uint32_t number)
{
    return number / 8 < wmem_array_get_count(bits) &&
           *(const uint8_t *)wmem_array_index(bits, number / 8) & 1 << number % 8;
}

/* ---- texts of addresses ---- */

/* Returns a text that is equal to `text`, and always the same one, so that it takes memory once. */
const char *smcr_collect_text(const smcr_collect_t *collection, const char *text);

/* Returns the address as text. The text is always the same one, so that it takes memory once, and
 * two texts are equal if their pointers are. */
const char *smcr_collect_host(const smcr_collect_t *collection, const address *host);

/* ---- last packets from one address to another ---- */

/* The last packets from one address to another. */
typedef struct {
    smcr_when_t roce; /* last RoCE packet; frame 0: none */
    smcr_when_t tcp;  /* last TCP segment without RST; frame 0: none */
    smcr_when_t *host; /* last packet of the sender to any address; never NULL */
} smcr_collect_heard_t;

/* A time in which requests are retransmitted, and the peer sends nothing. `other_qp`, `tcp`,
 * `other_link` and `host` have only packets after `proven_frame`. Their frame is 0 if no such
 * packet was captured. */
typedef struct {
    smcr_interval_t time;   /* begins with the peer's last packet, or with the first request after
                               that packet (`heard` and `asked` of smcr_collect_flow_times_t). Ends
                               with the last retransmission so far. When the silence is over, it
                               ends with the peer's next packet, unless the sender had given up
                               before. Frame of the end 0: no silence */
    smcr_when_t first_repeated; /* first retransmission */
    uint32_t lowest;        /* lowest PSN that was retransmitted, 24 bits */
    uint64_t attempts;      /* number of retransmissions of the packet with the PSN `lowest` */
    uint32_t proven_frame;  /* first frame in which the packet that was the `lowest` then was
                               retransmitted a second time: a host that sends something after this
                               frame was alive when it should have answered; 0: none so far */
    uint64_t repeated;      /* number of packets that were retransmitted in this time */
    smcr_when_t other_qp;   /* last packet from the peer's address that another queue pair has
                               received */
    smcr_when_t tcp;        /* last TCP segment of the peer */
    smcr_when_t early;      /* last packet that the peer's host has sent elsewhere after the begin
                               of `time` and not after `proven_frame`; frame 0: none */
    smcr_when_t other_link; /* last packet of the peer's host on another link of the link group,
                               between other addresses */
    smcr_when_t host;       /* last packet of the peer's host, of any protocol and to any address:
                               from the peer's address, or from the MAC address of its device */
    uint64_t link;          /* number of the link of `other_link`, SMCR_FIGURE_UNKNOWN: not known;
                               only set if `other_link` is */
    bool is_over;           /* the silence has ended: the peer has sent a packet since, or the
                               flow's figures were moved to the flow of a link */
} smcr_collect_silence_t;

/* A long silence (SMCR_COLLECT_LONG_SILENCE), and the frames of its retransmissions. */
typedef struct {
    smcr_interval_t time; /* copy of `time` of smcr_collect_silence_t. If the silence is not over,
                             it ends with the last retransmission so far */
    uint32_t first; /* frame of the first retransmission */
    uint32_t last;  /* frame of the last retransmission */
} smcr_collect_long_silence_t;

/* Returns the last packets from the address `from` to the address `to`. Both are GIDs in network
 * byte order; IPv4 addresses are mapped. If there is no such packet, an empty entry is made. */
smcr_collect_heard_t *smcr_collect_heard_of(smcr_collect_t *collection,
                                            const uint8_t from[SMCR_GID_LENGTH],
                                            const uint8_t to[SMCR_GID_LENGTH]);

/* Notes a frame that is neither a RoCE packet nor a TCP segment as the last packet of its sender.
 * Packets of an address that has no part in RoCE or TCP so far are forgotten.
 * `mac`: MAC address of the sender, 6 bytes; NULL: not known. `gid`: IP address of the sender as
 * GID; NULL: none, or not known. */
void smcr_collect_heard_take_other(smcr_collect_t *collection, const uint8_t *mac,
                                   const uint8_t *gid, smcr_when_t when);

/* Notes the MAC address of a device (6 bytes, not zeros), as CLC states it. `gid`: GID of the
 * device. */
void smcr_collect_heard_name_device(smcr_collect_t *collection, const uint8_t gid[SMCR_GID_LENGTH],
                                    const uint8_t *mac);

/* Notes in `silence` the last packets that the silent host has sent elsewhere: those after
 * `proven_frame`, and the last one before (`early`). `same_way`: last packets from the address of
 * the silent host to that of its peer, which is the way of the missing answers. `silent`: queue
 * pair of the silent host, if it belongs to a link; else NULL. */
void smcr_collect_heard_note(const smcr_collect_t *collection, const smcr_collect_heard_t *same_way,
                             const smcr_qp_t *silent, smcr_collect_silence_t *silence);

/* ---- durations in an RDMA flow ---- */

/* Times of a flow. "Requests" are packets of the flow itself. Packets of the reverse flow show that
 * the peer is alive. All zeros: no packet of either flow has come. */
typedef struct {
    smcr_interval_union_t retransmission; /* intervals from a first transmission to its
                                             retransmission */
    smcr_interval_union_t rnr_wait; /* intervals from an RNR NAK to the packet that the RNR NAK asks
                                       for */
    smcr_interval_union_t silence;  /* intervals, already ended, in which requests are retransmitted
                                       and the peer sends nothing */
    smcr_when_t rnr;       /* first RNR NAK with the PSN `rnr_psn`; frame 0: none, or the packet
                              that it asks for has come or was acknowledged */
    uint32_t rnr_psn;      /* PSN of the RNR NAK `rnr`, 24 bits */
    smcr_when_t heard;     /* a silence of the peer begins here at the earliest: the last packet of
                              the reverse flow, or a later packet of this flow if packets are
                              missing before it or an RNR NAK explains the wait; frame 0: no packet
                              of the reverse flow */
    bool is_refused;       /* the last response of the reverse flow is a NAK or RNR NAK */
    smcr_when_t asked;     /* first request since `heard`: after `heard` if that is a packet of the
                              peer, else the packet at `heard` itself, which is a request of this
                              flow; frame 0: none */
    smcr_when_t last;      /* last request after `heard`; only set while `asked` is set */
    uint32_t highest;      /* highest PSN of the requests after `heard`, 24 bits; only set while
                              `asked` is set */
    smcr_collect_silence_t silent;  /* silence of the peer that has not ended; frame of its end 0:
                                       the peer is not silent */
    smcr_collect_silence_t longest; /* longest silence that has ended: the longest long one, if
                                       there is one; frame of its end 0: none */
    uint64_t long_silences; /* number of long silences that have ended
                               (SMCR_COLLECT_LONG_SILENCE) */
    uint64_t long_repeated; /* number of packets that were retransmitted in the long silences */
    wmem_array_t *long_ones; /* long silences that have ended, in the order of their frames; element
                                smcr_collect_long_silence_t; NULL: none has ended */
    smcr_when_t outside;    /* first retransmission that is neither in a long silence nor in
                               `silent`; frame 0: none */
} smcr_collect_flow_times_t;

/* A silence is long if the same packet was retransmitted at least this number of times. After fewer
 * retransmissions, one of them or its acknowledgement may just be lost. */
#define SMCR_COLLECT_LONG_SILENCE 3

/* Whether the silence is long: no loss of single packets explains it. */
static inline bool
smcr_collect_silence_is_long(const smcr_collect_silence_t *silence)
{
    return silence->attempts >= SMCR_COLLECT_LONG_SILENCE;
}

/* Takes the next packet of the flow that `times` belongs to. `when`: number and time of its frame.
 * Memory is allocated in `scope`. */
void smcr_collect_flow_times_take(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Whether a long silence of the peer (SMCR_COLLECT_LONG_SILENCE) has a retransmission after
 * `frame`. */
bool smcr_collect_flow_times_was_silent(const smcr_collect_flow_times_t *times, uint32_t frame);

/* Takes the next packet of the reverse flow: it ends a silence of the peer. Memory is allocated in
 * `scope`. */
void smcr_collect_flow_times_hear(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when, const smcr_tap_t *packet);

/* Moves the times of `from` to `times`, and clears `from`. Only `long_ones` also stay in `from`.
 * Called when the report is made, if the state has found that `from`, counted as a flow of no link,
 * is the flow of a link. */
void smcr_collect_flow_times_move(smcr_collect_flow_times_t *times, wmem_allocator_t *scope,
                                  smcr_collect_flow_times_t *from);

/* Adds to the durations of the entry: retransmission, waits after RNR NAKs, silence. Fills in the
 * counts of long silences, the longest silence, and the first retransmission outside of long
 * silences. Memory is allocated in `scope`. */
void smcr_collect_flow_times_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_times_t *times,
                                  wmem_allocator_t *scope);

/* Whether the frame retransmits a packet in a long silence of the flow's receiver. The flow is the
 * one of `link` that has such a silence or, if `link` is NULL, the flow `foreign`. */
bool smcr_collect_flow_times_is_in_silence(const smcr_collect_t *collection,
                                           const smcr_link_t *link,
                                           const smcr_rdma_flow_t *foreign, uint32_t frame);

/* ---- sizes of packets in an RDMA flow ---- */

#define SMCR_COLLECT_SENT_KEPT 16 /* number of requests whose lengths are kept */
#define SMCR_COLLECT_TRIES 3      /* number of tries from which on a request counts as stuck */

/* A request that is not acknowledged. */
typedef struct {
    uint32_t psn;    /* PSN of the request, 24 bits */
    uint32_t length; /* length of the request's IP packet, bytes; 0: the request is acknowledged, or
                        this element of the ring is not used */
} smcr_collect_sent_t;

/* The request that the receiver expects, and its tries: its transmissions since the receiver has
 * expected it. Until this request or a later one has come in this time, `begin.frame` is 0, and
 * only `next`, `rnr_naks` and `is_refused` may be set. An acknowledgement of the request begins the
 * struct anew, with the next expected request. */
typedef struct {
    smcr_when_t begin; /* first captured try; frame 0: none */
    smcr_when_t end;   /* last captured try */
    uint32_t next;     /* PSN of the expected request, 24 bits; if this request is missing in the
                          capture, PSN of the first captured request after it */
    uint32_t tries;    /* number of captured tries, all of the request with the PSN `next` */
    uint32_t length;   /* length of the IP packet of the expected request, bytes; 0: the request is
                          missing in the capture */
    uint32_t missing;  /* number of missing PSNs from the expected request on; 0: the expected
                          request is captured */
    uint32_t rnr_naks; /* number of RNR NAKs for the expected request */
    uint64_t shortest; /* shortest time between two tries, nanoseconds; 0: fewer than two */
    uint64_t longest;  /* longest time between two tries, nanoseconds */
    uint64_t last;     /* time of the last request with the expected PSN or a higher one,
                          nanoseconds since 1970; set with `begin` */
    bool is_refused;   /* the receiver sent a NAK for the expected request: it has received a later
                          request */
} smcr_collect_stuck_t;

/* Sizes of the requests of a flow. All zeros: no packet has come. */
typedef struct {
    smcr_collect_sent_t sent[SMCR_COLLECT_SENT_KEPT]; /* the last requests, as a ring buffer */
    unsigned sent_next;       /* index in `sent` for the next request */
    unsigned sent_count;      /* number of elements of `sent` that have been set */
    bool is_known;            /* `expected` is known */
    uint32_t expected;        /* PSN that the receiver expects, 24 bits */
    uint32_t acked_longest;   /* length of the longest IP packet that was acknowledged, bytes; 0:
                                 none */
    uint32_t dropped_longest; /* length of the longest IP packet whose element of `sent` was
                                 overwritten since the last acknowledgement, bytes; 0: none */
    smcr_collect_stuck_t stuck; /* the expected request */
} smcr_collect_flow_sizes_t;

/* Takes the next packet of the flow that `sizes` belongs to. */
void smcr_collect_flow_sizes_take(smcr_collect_flow_sizes_t *sizes, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* Takes the headers of the next packet of the reverse flow: it may acknowledge requests. */
void smcr_collect_flow_sizes_hear(smcr_collect_flow_sizes_t *sizes, const smcr_ib_headers_t *roce);

/* Adds to `sizes` the acknowledged sizes of `from`, which has earlier packets of the same flow. A
 * packet of `from` without an acknowledgement counts as acknowledged if an acknowledgement of
 * `sizes` covers it. A stuck request of `from` is not added. */
void smcr_collect_flow_sizes_join(smcr_collect_flow_sizes_t *sizes,
                                  const smcr_collect_flow_sizes_t *from);

/* Fills in the size of the longest packet that has arrived, and the request that never does
 * (`stuck`). `end`: time of the last packet of the capture, nanoseconds since 1970. Memory is
 * allocated in `scope`. */
void smcr_collect_flow_sizes_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_sizes_t *sizes,
                                  uint64_t end, wmem_allocator_t *scope);

/* ---- RDMA flows: of links of SMC-R; with the preference smcr.roce, all others, too ---- */

/* Counts a packet of RoCE or InfiniBand in the figures of its flow. Of a packet that belongs to no
 * flow, or to a flow without figures, only the ICRC is counted, in `stray_icrcs`. */
void smcr_collect_rdma_flows_take(smcr_collect_t *collection, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* Counts the ICRC of a packet that belongs to no flow, or to a flow without figures. `icrc` has the
 * value of smcr_ib_headers_t.icrc: 1 + smcr_ib_icrc_status_t. If `icrc` is 0, the ICRC was not
 * checked, and nothing is counted. */
void smcr_collect_rdma_flows_count_stray_icrc(smcr_collect_t *collection, uint8_t icrc);

/* Adds an entry to `list` for each flow that has packets. Each entry has the index of its flow in
 * the list, and the index of the reverse flow if that has an entry, too. `only_over`: only for
 * flows of link groups that are over (smcr_collect_link_groups_find_over()). Memory is allocated in
 * `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_t *collection, bool only_over,
                                    smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Returns the index, in the last report, of the flow that queue pair `to` receives.
 * SMCR_FIGURE_UNKNOWN: the report has no such flow. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to);

/* Returns the number of a flow of the last report: the index that it would have if the collection
 * had let go of no flow, so that it stays the same. `index`: of the flow in that report;
 * SMCR_FIGURE_UNKNOWN gives the same. */
uint64_t smcr_collect_rdma_flows_number(const smcr_collect_t *collection, uint64_t index);

/* Returns the silence that has not ended so far, in the flow that queue pair `to` receives: the
 * host of `to` is silent. NULL: the host is not silent now, the silence is not long
 * (SMCR_COLLECT_LONG_SILENCE), or the flow has no figures. */
const smcr_collect_silence_t *
smcr_collect_rdma_flows_silence(const smcr_collect_t *collection, const smcr_qp_t *to);

/* Returns the first request to queue pair `to` after the last packet from `to`; frame 0: there is
 * none. If requests are missing in the capture since, or an RNR NAK has explained the wait, it is
 * the first captured request after that. */
smcr_when_t smcr_collect_rdma_flows_asked(const smcr_collect_t *collection, const smcr_qp_t *to);

/* Returns the last packet of the flow that queue pair `to` receives; frame 0: there is none. */
smcr_when_t smcr_collect_rdma_flows_last(const smcr_collect_t *collection, const smcr_qp_t *to);

/* Returns the last acknowledgement of the flow that queue pair `to` receives; frame 0: there is
 * none. */
smcr_when_t smcr_collect_rdma_flows_ack(const smcr_collect_t *collection, const smcr_qp_t *to);

/* ---- TCP connections: all of the capture, with SMC-R and without ---- */

/* The newest data segment of one direction: no other data segment of the direction has a higher
 * sequence number. */
typedef struct {
    uint32_t seq;       /* sequence number of the first byte, as on the wire */
    uint64_t end;       /* sequence number after the last byte, unwrapped; 0: no data segment yet */
    uint32_t sent;      /* number of transmissions of the segment */
    smcr_when_t last;   /* last transmission of the segment */
    bool is_acked;      /* the peer has acknowledged the segment */
    smcr_when_t before; /* last data segment of the direction, a retransmission or a duplicate
                           included; frame 0: none yet */
} smcr_collect_newest_data_t;

/* Facts of a TCP connection that its entry does not have. Direction `up` is that of the first
 * captured segment, `down` is the other one. If the frame of a time is 0, no such segment was
 * captured. */
typedef struct {
    smcr_when_t first;   /* first captured segment of the connection */
    smcr_when_t last;    /* last captured segment of the connection */
    smcr_when_t syn;     /* first SYN without ACK; frame 0: not captured */
    smcr_when_t reset;   /* first RST of either end; frame 0: not captured */
    smcr_figure_role_t reset_by; /* end that sent the first RST; ROLE_NONE: not known, or no RST */
    smcr_when_t fin[2];  /* first FIN; index: 0 of the client, 1 of the server */
    smcr_collect_tcp_wait_t wait; /* waits for retransmissions, of both directions */
    smcr_collect_newest_data_t newest[2]; /* newest data segment; index: 0 `up`, 1 `down` */
    char answer[2][SMCR_APPLICATION_ANSWER_LENGTH]; /* name of the application's first bytes: "HTTP
                                                       400", "a TLS alert"; index: 0 `up`, 1 `down`;
                                                       "": not known */
    bool client_known;   /* a SYN or SYN-ACK was captured; false: the sender of `up` counts as
                            client */
    bool client_is_up;   /* the client sends direction `up`, that of the first captured segment;
                            else the server sends it */
    uint16_t up_port;    /* source port of the segments of direction `up` */
    bool may_lack_bytes_of[2]; /* index: 0 `up`, 1 `down`. Bytes of this direction may not be
                                  captured */
    bool may_lack_bytes; /* bytes of at least one direction may not be captured
                            (`may_lack_bytes_of`) */
    uint32_t bytes_missing_since; /* set with `may_lack_bytes`: frame of the last captured segment
                                     before the first bytes that may not be captured */
    bool may_lack_end;   /* the last bytes or the FIN of one of the two directions may not be
                            captured */
    uint32_t syns;       /* number of SYNs without ACK, retransmitted SYNs included */
    bool is_connected;   /* a segment other than a SYN without ACK was captured; an RST counts only
                            if the client sent it */
    bool is_disordered;  /* the SYN-ACK was captured after an acknowledgement of the client: the
                            capture is out of order */
    smcr_figure_syn_sign_t syn_sign[2]; /* index: 0 the SYN, 1 the SYN-ACK. Sign in the TCP options
                                           why the SMC-R option is missing: NOPs that replace the
                                           option, or Fast Open */
    uint64_t isn[2];     /* initial sequence number; index: 0 client, 1 server; SMCR_FIGURE_UNKNOWN:
                            not known */
    uint64_t payload[2]; /* bytes of data, retransmitted bytes not counted twice; index: 0 `up`, 1
                            `down` */
    bool is_owned;       /* the collection has the figures of a connection of SMC-R over it, as of
                            the last smcr_collect_connections_find_over() */
    bool is_over;        /* the TCP connection has ended, or is given up, as of the same call */
} smcr_collect_tcp_facts_t;

/* Prepares an empty collection. */
void smcr_collect_tcp_flows_begin(smcr_collect_t *collection);

/* Counts a segment that Wireshark's tap `tcp` hands over. Called while the frame is dissected. */
void smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                                 const struct tcpheader *tcp);

/* Returns the facts of the TCP connection with this number (Wireshark's tcp.stream). NULL: no
 * segment of the connection has been taken, the collection has let go of the connection, or the
 * number is SMCR_FIGURE_UNKNOWN. Segments that are taken later change the returned struct. */
const smcr_collect_tcp_facts_t *smcr_collect_tcp_flows_facts(const smcr_collect_t *collection,
                                                             uint64_t tcp_stream);

/* Returns the facts of all TCP connections in ascending order of tcp.stream, as
 * smcr_collect_tcp_facts_t *. Memory is allocated in `scope`. */
wmem_array_t *smcr_collect_tcp_flows_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Adds an entry for each TCP connection to `list`, in ascending order of tcp.stream. The entries
 * are made one by one (smcr_figure_maker_t). `only_over`: only for those whose `is_over` is set.
 * Memory is allocated in `scope`. */
void smcr_collect_tcp_flows_report(const smcr_collect_t *collection, bool only_over,
                                   smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Notes that a connection of SMC-R uses the TCP connection, which the collection must have.
 * `is_over`: the connection of SMC-R has ended or is given up. */
void smcr_collect_tcp_flows_own(const smcr_collect_t *collection, uint32_t tcp_stream,
                                bool is_over);

/* Lets go of the TCP connections whose `is_over` is set. */
void smcr_collect_tcp_flows_let_go(smcr_collect_t *collection);

/* Frees the memory of all TCP connections that have a pool of their own. */
void smcr_collect_tcp_flows_free(smcr_collect_t *collection);

/* Whether TCP has ended the connection: an RST, or a FIN of both ends. */
static inline bool
smcr_collect_tcp_flows_has_closed(const smcr_collect_tcp_facts_t *tcp)
{
    return tcp->reset.frame || (tcp->fin[0].frame && tcp->fin[1].frame);
}

/* Returns the gap of a TCP connection in which bytes may be missing; `until` 0: there is none, or
 * the client has got no answer to its SYN. */
smcr_collect_gap_t smcr_collect_tcp_flows_gap(const smcr_collect_tcp_facts_t *tcp);

/* ---- link groups: their links, the fate of each link, and the RMBs that messages announce ---- */

/* Takes a packet or message of a link: keeps the facts that it shows about the link group. A packet
 * without link is ignored. */
void smcr_collect_link_groups_take(smcr_collect_t *collection, const packet_info *pinfo,
                                   const smcr_tap_t *packet);

/* Whether the group may have had a link in use of which the capture has no packet: its packets may
 * have added links, and may have carried data of any connection of the group. */
bool smcr_collect_link_groups_has_unseen(const smcr_collect_t *collection, const smcr_lgr_t *lgr);

/* Which link groups a report has. */
typedef enum {
    SMCR_COLLECT_GROUPS_WITH_RMBS, /* all, with their RMBs, which takes time for each connection */
    SMCR_COLLECT_GROUPS,           /* all, without RMBs */
    SMCR_COLLECT_GROUPS_OVER,      /* those that are over, without RMBs */
} smcr_collect_groups_t;

/* Adds an entry for each link group that `groups` selects to `list`, in the order of their indices.
 * Memory is allocated in `scope`. Called after smcr_collect_rdma_flows_report(), which numbers the
 * flows that links refer to. */
void smcr_collect_link_groups_report(const smcr_collect_t *collection, smcr_collect_groups_t groups,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Finds the link groups that are over. Six conditions hold: the first contact of the group is
 * captured; the group has ended; no packet of its RDMA flows has come for `patience->idle`; nothing
 * that a finding may count has happened to their packets; the collection has none of the group's
 * connections; smcr_collect_link_groups_let_go() has not decided that the group stays. The newest
 * group is never over. Returns whether there are any. */
bool smcr_collect_link_groups_find_over(smcr_collect_t *collection,
                                        const smcr_collection_patience_t *patience);

/* Lets go of the link groups that the last smcr_collect_link_groups_find_over() has found, and of
 * their RDMA flows. `may_go` false: these groups are never found again instead. Later packets of
 * groups that have gone are not to be counted (smcr_collect_link_groups_has_gone()). */
void smcr_collect_link_groups_let_go(smcr_collect_t *collection, bool may_go);

/* Whether the collection has let go of the link group of the packet. */
bool smcr_collect_link_groups_has_gone(const smcr_collect_t *collection, const smcr_tap_t *packet);

/* Frees the memory of all RDMA flows that have a pool of their own. */
void smcr_collect_rdma_flows_free(smcr_collect_t *collection);

/* How often connections have moved from one link to another, counted for one link (failover, RFC
 * 7609, 4.6.2). */
typedef struct {
    uint64_t from; /* number of moves from this link to another one */
    uint64_t to;   /* number of moves from another link to this one */
} smcr_collect_moves_t;

/* Returns the number of a link group in the report: the index of the group. A group that may be a
 * part of another group has no index. Its number is then the count of link groups plus the index of
 * its oldest link, so the group comes after all groups with an index. SMCR_FIGURE_UNKNOWN: the
 * group stands for what a tap has copied (anck/), and has no number. */
uint64_t smcr_collect_lgr_number(const smcr_lgr_t *lgr);

/* ---- times of frames ---- */

/* Returns number and time of the frame. The returned frame is 0 if `frame` is 0, or if the
 * collection has not kept the time of the frame. */
smcr_when_t smcr_collect_when(const smcr_collect_t *collection, uint32_t frame);

/* Forgets the times of CLC messages before the frame `frame`. */
void smcr_collect_times_forget(smcr_collect_t *collection, uint32_t frame);

/* ---- the plugin's expert items, counted by kind and by the side that caused them ---- */

/* Makes the lists of an empty collection. */
void smcr_collect_notices_begin(smcr_collect_t *collection);

/* Keeps an expert item of the current frame. Expert items of other protocols are ignored. */
void smcr_collect_notices_take(smcr_collect_t *collection, const packet_info *pinfo,
                               const expert_info_t *item);

/* Adds `number` packets to the notice of a display filter. `first`: frame of the first of these
 * packets. The notice is no expert item: its severity is 0. The text `filter` is not copied, and
 * must live as long as the collection. */
void smcr_collect_notices_count(smcr_collect_t *collection, const char *filter, smcr_when_t first,
                                uint64_t number);

/* Counts a frame whose time stamp is `back` nanoseconds before that of an earlier frame. `filter`:
 * SMCR_FIGURE_CLOCK_FILTER or SMCR_FIGURE_UNSORTED_FILTER. The notice is no expert item: its
 * severity is 0. */
void smcr_collect_notices_count_step_back(smcr_collect_t *collection, const char *filter,
                                          smcr_when_t when, uint64_t back);

/* Counts an error that the application's protocol reports on the connection, in the frame of
 * `when`. `filter`: display filter of such errors; the text is not copied, and must live as long as
 * the collection. The notice is no expert item: its severity is 0. */
void smcr_collect_notices_count_error(smcr_collect_t *collection, const char *filter,
                                      smcr_when_t when, const smcr_conn_t *conn);

/* Notes connection, link and sender of `packet` for the expert items that were kept since the last
 * call. These items are about `packet`, since Wireshark hands over expert items before their
 * packet. */
void smcr_collect_notices_set_subject(smcr_collect_t *collection, const smcr_tap_t *packet);

/* Keeps what counts as an expert item only if later packets confirm it: events of the packet, a
 * CLC Confirm without RoCE packets so far, and, if the collection `keeps_frames`, a request without
 * a response so far. Called in the first pass, which raises no expert item for these. */
void smcr_collect_notices_defer(smcr_collect_t *collection, const packet_info *pinfo,
                                const smcr_tap_t *packet);

/* Counts the expert items that were kept for the current frame. Called when the frame is
 * complete. */
void smcr_collect_notices_end_frame(smcr_collect_t *collection, const packet_info *pinfo);

/* Returns the notices, in the order of their first frames. Breaches of rules for several packets
 * are left out if TCP and RoCE have times of two clocks (`clocks_differ` of the link group). The
 * array has elements smcr_figure_notice_t, and is allocated in `scope`. */
wmem_array_t *smcr_collect_notices_all(const smcr_collect_t *collection, wmem_allocator_t *scope);

/* Adds an entry to `list` for each kind of expert item that reports a broken format or rule. Memory
 * is allocated in `scope`. */
void smcr_collect_notices_report_breaches(const smcr_collect_t *collection,
                                          smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Counts an ICMP error in `frame` that quotes a packet of RoCE or TCP: "destination unreachable",
 * and of RoCE also "packet too big". Ignores other ICMP errors, and an error that another capture
 * point has shown before. `error`: the IP header of the ICMP error itself. The notice has severity
 * 0, a filter that begins with "icmp", and the hosts of the quoted packet. */
void smcr_collect_notices_undelivered(smcr_collect_t *collection, const packet_info *pinfo,
                                      smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error);
