/* The timeline of a connection: what the writers of both directions do, packet by packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "interval.h"
#include "wire/wire.h"

/* Single times that are measured besides the intervals. */
typedef enum {
    /* from the last packet of a WRITE request to the acknowledgement that covers it; not of one
     * that was retransmitted before */
    SMCR_TIMELINE_ACK,
    /* from the acknowledgement of the message that fills the receive buffer to the reader's
     * message that frees space; 0: that message comes first */
    SMCR_TIMELINE_READER,
    SMCR_TIMELINE_DRAIN,  /* the same up to where half of the buffer is free */
} smcr_timeline_sample_t;

/* Gets the samples: nanoseconds, of what the side `writer` writes. */
typedef struct {
    void (*take)(void *data, int writer, smcr_timeline_sample_t sample, uint64_t time);
    void *data;
} smcr_timeline_sink_t;

/* A packet of the connection on RoCE that is no acknowledgement. */
typedef struct {
    smcr_when_t when;
    const smcr_record_t *record;   /* with a sender */
    const smcr_ib_headers_t *roce;
    const smcr_cdc_t *cdc;         /* NULL: no CDC message, or truncated by the snap length */
    const uint32_t *gap_count;     /* by sender: places at which the capture misses packets of
                                      the link, so far */
    bool is_whole;                 /* the capture has the beginning of the connection */
    bool may_miss_last;            /* the connection has left another link with this packet, and
                                      packets are missing on a link of its group */
} smcr_timeline_packet_t;

/* The writer's wait for space that is not over. */
typedef struct {
    const smcr_record_cdc_rare_t *wait; /* as the state knows it; NULL: it does not wait */
    smcr_when_t begun;                  /* the message that begins it */
    const smcr_link_t *link;            /* of that message */
    const smcr_ack_t *const *filled;   /* acknowledgement of that message */
    bool is_freed;                      /* the reader has freed space */
    uint64_t consumed; /* position up to which the reader had reported data as read when the wait
                          began; UINT64_MAX: not known */
} smcr_timeline_wait_t;

/* What lies unread in the receive buffer. */
typedef struct {
    uint64_t acked;    /* position up to which announced data are acknowledged; with `is_known` */
    uint64_t consumed; /* position up to which the reader has reported data as read */
    uint32_t size;     /* of the buffer, bytes; 0: not known */
    bool is_known;     /* `acked` and `size` */
    bool is_doubtful;  /* the reader may have reported more than `consumed` */
    bool knows_wait;   /* the reader's host has acknowledged that the writer waits for space */
    smcr_when_t since; /* data lie unread; frame 0: none do */
    smcr_when_t doubtful_since; /* with `is_doubtful` */
} smcr_timeline_unread_t;

/* Packets of a writer are missing on its link. Nobody knows yet whether they are this
 * connection's. */
typedef struct {
    smcr_when_t since; /* its last packet before; frame 0: none are missing */
    smcr_when_t until; /* its first packet in order after; frame 0: none so far */
    bool has_unknown_message; /* a message of it came since, and nobody knows what it says: no later
                                 message can show that nothing is missing */
} smcr_timeline_gap_t;

/* One direction. All zeros: nothing has been sent. */
typedef struct {
    smcr_intervals_t intervals;
    struct smcr_timeline_sent *oldest; /* in flight: not acknowledged yet; NULL: nothing is */
    struct smcr_timeline_sent **end;   /* where the next one goes; with `oldest` */
    unsigned in_flight;                /* packets */
    smcr_timeline_wait_t wait;
    smcr_timeline_unread_t unread;
    /* acknowledgement of a message that filled the buffer; NULL: half of it is free */
    const smcr_ack_t *const *draining;
    uint64_t half;            /* position up to which the reader has to read for that */
    smcr_when_t last_seen;    /* its last packet; frame 0: none */
    smcr_when_t last_write;   /* its last RDMA WRITE with data; likewise */
    smcr_when_t last_acked;   /* the last acknowledgement of its packets; likewise */
    const smcr_link_t *last_acked_link; /* of those packets; with `last_acked` */
    smcr_when_t acks_missing; /* acknowledgements of its packets may be missing since; frame 0:
                                 none, or no longer */
    /* acknowledgement of its last announcement; NULL: none */
    const smcr_ack_t *const *request_acked;
    smcr_when_t unknown_since; /* begin of _NOT_CAPTURED; frame 0: what it does is known */
    smcr_when_t gap_noticed;  /* the last packet after missing ones; frame 0: none */
    smcr_timeline_gap_t gap;
    uint64_t unannounced;     /* bytes of its WRITEs since its last CDC message */
    smcr_when_t last_known;   /* its last WRITE or CDC message in order; frame 0: none */
    smcr_interval_t longest_answer; /* from the acknowledgement of its request to the peer's first
                                       WRITE after it: the time of the peer's program; end frame 0:
                                       none */
    smcr_interval_t pending_answer; /* likewise, of its newest request: it counts once the writer's
                                       next packet shows that no later request is missing */
    bool has_written;         /* an RDMA WRITE with data */
    bool has_acks;            /* an acknowledgement of one of its packets is known */
    bool misses_first;        /* the capture does not have its first data */
} smcr_timeline_writer_t;

/* All zeros: there has been no packet. */
typedef struct {
    smcr_timeline_writer_t writer[2]; /* by side of the link group */
    smcr_when_t begun;    /* the first packet; frame 0: there has been none */
    smcr_when_t latest;   /* the packet with the latest time */
    const smcr_link_t *link[2]; /* on which the last packet of each sender came */
    uint32_t gaps[2];     /* places of `link` that are counted, by sender */
    bool is_late;         /* it began before the capture */
    smcr_when_t last_gap; /* the last packet of either side after missing ones; frame 0: none */
    bool misses_acks;     /* acknowledgements may be missing anywhere */
} smcr_timeline_t;

/* Where the time of one direction went, as of the end of a capture or of a live one so far. */
typedef struct {
    smcr_interval_division_t division;
    smcr_interval_t longest_answer; /* as in smcr_timeline_writer_t */
} smcr_timeline_direction_t;

/* What may be wrong with the packets of a connection. */
typedef enum {
    SMCR_TIMELINE_NO_DOUBT,
    /* packets may be missing anywhere: only the reader's part counts, which captured packets
     * prove, and the rest is unknown */
    SMCR_TIMELINE_MISSES_MORE,
    /* the capture is not in the order of the wire: nothing is proven */
    SMCR_TIMELINE_IN_DISORDER,
} smcr_timeline_doubt_t;

/* What is asked of a direction. */
typedef struct {
    smcr_interval_t span; /* from the event with which the connection can carry data to its last
                             frame */
    smcr_timeline_doubt_t doubt;
    bool misses_last[2];  /* by sender: its last packets may be missing */
    bool misses_acks[2];  /* by sender: its last acknowledgements may be missing */
} smcr_timeline_question_t;

/* Takes the next packet, in the order of the capture. What is kept is of `scope`. */
void smcr_timeline_take(smcr_timeline_t *timeline, wmem_allocator_t *scope,
                        const smcr_timeline_packet_t *packet, const smcr_timeline_sink_t *sink);

/* Takes what acknowledgements up to frame `now` settle. */
void smcr_timeline_advance(smcr_timeline_t *timeline, wmem_allocator_t *scope, uint32_t now,
                           const smcr_timeline_sink_t *sink);

/* Divides the time of what `side` writes. Changes nothing: a live capture goes on. */
smcr_timeline_direction_t smcr_timeline_divide(const smcr_timeline_t *timeline, int side,
                                               const smcr_timeline_question_t *question);

/* Forgets the sides' names: what was of side 0 is of side 1, and the other way round. */
void smcr_timeline_flip(smcr_timeline_t *timeline);
