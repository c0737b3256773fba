/* Knows the pictures of a page, over time: positions and marks of connections, parts of their time,
 * and rates of flows, each thinned and in bounded memory. Does not know how a page is written.
 * Called by the rooms of report/ that collect, and by those that make a page.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "line.h"
#include "points/points.h"
#include "timeline/timeline.h"

/* The lines of a direction: positions in its byte stream, over time. SERIES_LINE(name). */
#define SMCR_SERIES_LINES(SERIES_LINE)                                                             \
    SERIES_LINE(written)      /* RDMA WRITEs: end of the data that the writer has written */       \
    SERIES_LINE(announced)    /* CDC messages: producer cursor of the writer */                    \
    SERIES_LINE(acknowledged) /* acknowledgements of the reader's host that cover WRITEs */        \
    SERIES_LINE(read)         /* CDC messages: consumer cursor of the reader */                    \
    SERIES_LINE(edge)         /* end of the receive buffer: `read` and the size of the buffer */

/* The marks of a direction: what happened, at the position that was reached. SERIES_MARK(name). */
#define SMCR_SERIES_MARKS(SERIES_MARK)                                                             \
    SERIES_MARK(retransmission) /* packet of the connection that the writer retransmitted */       \
    SERIES_MARK(nak)            /* NAK of the reader's host, on the link of the connection */      \
    SERIES_MARK(rnr)            /* RNR NAK of the reader's host, on the link of the connection */  \
    SERIES_MARK(gap)            /* packets of the writer's host that are missing in the capture */ \
    SERIES_MARK(ce)             /* packet of the connection with the congestion mark CE */         \
    SERIES_MARK(outer_ce)       /* packet of the connection with CE on its tunnel's header only */ \
    SERIES_MARK(cnp)            /* CNP that asks the writer's host to send less */                 \
    SERIES_MARK(urgent)         /* announcement of urgent data */                                  \
    SERIES_MARK(failover)       /* first packet of the writer on another link */

#define DECLARE(name) SMCR_SERIES_##name,
typedef enum { SMCR_SERIES_LINES(DECLARE) SMCR_SERIES_LINE_COUNT } smcr_series_line_id_t;
typedef enum { SMCR_SERIES_MARKS(DECLARE) SMCR_SERIES_MARK_COUNT } smcr_series_mark_id_t;
#undef DECLARE

/* Maximum number of packets that wait for their acknowledgement, for each direction. */
#define SMCR_SERIES_PENDING 128

/* A WRITE packet that waits for its acknowledgement. */
typedef struct {
    const smcr_place_t *place; /* place of the packet's data, from its record; its member `acked` is
                                  the acknowledgement */
    uint64_t end;              /* position after the last byte of the packet */
} smcr_series_pending_t;

/* The pictures of one direction of a connection. */
typedef struct {
    smcr_series_line_t line[SMCR_SERIES_LINE_COUNT]; /* positions over time */
    smcr_series_line_t mark[SMCR_SERIES_MARK_COUNT]; /* what happened */
    const smcr_link_t *link;                         /* last link on which the writer sent; NULL:
                                                        none */
    bool is_write_unknown; /* the position of the last WRITE packet is not known */
    smcr_series_pending_t pending[SMCR_SERIES_PENDING]; /* ring of packets without
                                                           acknowledgement; if it is full, the
                                                           oldest one is dropped */
    uint32_t pending_first;                          /* index of the oldest packet in `pending` */
    uint32_t pending_count;                          /* number of packets in `pending` */
    smcr_interval_piece_t *lanes; /* pieces of time and the parts they are charged to, in ascending
                                     order; NULL: not known, or not asked for yet */
    uint32_t lane_count;          /* number of pieces in `lanes` */
    uint32_t lane_room;           /* number of pieces for which `lanes` has memory */
    wmem_allocator_t *scope;      /* memory pool that owns the pictures */
} smcr_series_direction_t;

/* The pictures of a connection. */
typedef struct {
    const smcr_conn_t *conn;              /* the connection in the state */
    bool sides_swapped;                   /* `conn->sides_swapped` at the last packet */
    bool client_is_second;                /* the report has found that side 1 is the client, which
                                             the link group does not show */
    smcr_series_direction_t direction[2]; /* index: side of the link group that writes */
} smcr_series_conn_t;

/* Number of bins of time of a flow. */
#define SMCR_SERIES_BINS 512

/* What a flow sent in one bin of time. */
typedef struct {
    uint64_t bytes;           /* bytes of its IP packets */
    uint32_t packets;         /* number of its packets */
    uint32_t retransmissions; /* number of its retransmitted packets */
    uint32_t ce;              /* number of its packets with the congestion mark CE */
    uint32_t outer_ce;        /* number of its packets with CE on their tunnel's header only */
    uint32_t cnp;             /* number of its congestion notification packets */
    bool misses_packets;      /* packets of the flow that are missing in the capture may belong to
                                 this time */
} smcr_series_bin_t;

/* The rates of an RDMA flow. */
typedef struct {
    const void *key;    /* identifies the flow while packets come; NULL: no flow, but the pause
                           frames of all ports, which are counted in `packets` of the bins */
    uint64_t number;    /* index of the flow in the report; UINT64_MAX: the report does not have
                           it */
    uint64_t newest;    /* time of its request with the highest PSN so far, nanoseconds since the
                           epoch; 0: none */
    smcr_series_bin_t bin[SMCR_SERIES_BINS]; /* bin i begins `i * width` after `begin` */
} smcr_series_flow_t;

/* Maximum number of connections and of flows that have pictures. The pause frames of all ports
 * have one more place, as one flow. */
#define SMCR_SERIES_CONNS 32
#define SMCR_SERIES_FLOWS 32

/* Maximum number of directions between two capture points that have pictures. */
#define SMCR_SERIES_WAYS 16

/* Value that stands for a delay of 0 in the line of a way. A delay may be below 0, since the clocks
 * of two points are known with an error; the line has the sum of delay and SMCR_SERIES_NO_DELAY. */
#define SMCR_SERIES_NO_DELAY ((uint64_t)1 << 62)

/* All pictures of a page. */
typedef struct {
    wmem_allocator_t *scope; /* memory pool that owns the pictures; NULL: there are none */
    GHashTable *chosen;      /* numbers of the connections that get pictures, as GUINT_TO_POINTER(
                                number + 1); NULL: the first SMCR_SERIES_CONNS get them */
    smcr_series_conn_t *conn[SMCR_SERIES_CONNS]; /* connections with pictures */
    uint32_t conn_count;                         /* number of entries of `conn` */
    smcr_series_flow_t *flow[SMCR_SERIES_FLOWS + 1]; /* flows with pictures, and the pause frames */
    uint32_t flow_count;                             /* number of entries of `flow` */
    smcr_series_line_t way[SMCR_SERIES_WAYS]; /* delays between two capture points, above
                                                 SMCR_SERIES_NO_DELAY, in the order of `points` of
                                                 the report */
    uint32_t way_count;                       /* number of entries of `way` */
    uint64_t begin; /* time at which bin 0 of all flows begins, nanoseconds since the epoch */
    uint64_t width; /* length of a bin of all flows, nanoseconds; 0: neither a packet of a
                       flow nor a pause frame has come */
} smcr_series_t;

/* Returns empty pictures. The caller frees them by smcr_series_free(). */
smcr_series_t *smcr_series_new(void);
void smcr_series_free(smcr_series_t *series);

/* Forgets all pictures. The choice of connections stays. */
void smcr_series_empty(smcr_series_t *series);

/* Forgets the choice of connections: the first ones get pictures. */
void smcr_series_choose_none(smcr_series_t *series);

/* Chooses the connection with this number: only chosen connections get pictures from now on. */
void smcr_series_choose(smcr_series_t *series, uint64_t stream);

/* Forgets the choice of connections, and chooses those that are chosen in `other`. */
void smcr_series_choose_same(smcr_series_t *series, const smcr_series_t *other);

/* A RoCE packet, as the pictures need it. */
typedef struct {
    smcr_when_t when;              /* frame and time */
    const smcr_record_t *record;   /* record of the packet */
    const smcr_ib_headers_t *roce; /* transport headers */
    smcr_when_t gap_begin;         /* if packets are missing before this one: the last packet before
                                      them; frame 0: not known. smcr_series_take_flow() does not
                                      read it */
} smcr_series_packet_t;

/* Takes a RoCE packet into the pictures of its connection, and of the connections on its link. */
void smcr_series_take(smcr_series_t *series, const smcr_series_packet_t *packet);

/* Takes a RoCE packet into the rates of the flow `key`. If `key` is NULL, takes a pause frame, of
 * which only `when` is read. */
void smcr_series_take_flow(smcr_series_t *series, const void *key,
                           const smcr_series_packet_t *packet);

/* Notes the index of the flow `key` in the report, if the flow has pictures. */
void smcr_series_number_flow(smcr_series_t *series, const void *key, uint64_t number);

/* Takes the delays between capture points, in the place of those that were taken before. `points`
 * may be NULL: there are none. */
void smcr_series_take_delays(smcr_series_t *series, const smcr_points_t *points);

/* Returns the pictures of the connection; NULL: it has none. Before, adds to the pictures the
 * acknowledgements that have come since the connection's last packet, and ends the line `edge` of a
 * direction of whose reader no packet is known. */
smcr_series_conn_t *smcr_series_conn(smcr_series_t *series, const smcr_conn_t *conn);

/* Adds a piece of time to the lanes of a direction. `direction` is an smcr_series_direction_t.
 * Pieces come in ascending order and without gaps. A piece is joined with the last lane if both are
 * charged wholly to the same part. The timeline keeps few pieces (SMCR_INTERVAL_SETTLED_MOST), so
 * lanes need no bound of their own. */
void smcr_series_add_lane(void *direction, const smcr_interval_piece_t *piece);
