/* division.h
 * Where the time of a connection went: each direction's, in exclusive parts (docs/report.md,
 * "Where the time went").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_DIVISION_H
#define SMCR_REPORT_COLLECT_DIVISION_H

#include "host/host.h"
#include "report/figures/figures.h"
#include "show/show.h"

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
    smcr_when_t begun; /* the first packet; frame 0: there has been none */
    uint32_t gaps;     /* of the link, so far */
    uint32_t gaps_before; /* the first packet */
} smcr_collect_division_t;

/* The next packet of the connection on RoCE. `gaps`: places where the capture lacks packets of the
 * link, so far. `is_whole`: the capture has the beginning of the connection. */
void smcr_collect_division_take(smcr_collect_division_t *division, wmem_allocator_t *scope,
                                smcr_when_t when, const smcr_tap_t *packet, uint32_t gaps,
                                bool is_whole);

/* Whether the packet of the frame fills the window, as far as anybody can tell. */
bool smcr_collect_division_fills(const smcr_record_t *record, uint32_t frame);

/* Settles what was acknowledged before frame `end`. */
void smcr_collect_division_settle(smcr_collect_division_t *division, wmem_allocator_t *scope,
                                  uint32_t end);

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

#endif /* SMCR_REPORT_COLLECT_DIVISION_H */
