/* What the timeline keeps of the two directions of a connection: the intervals of each writer, and
 * the states that have not ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "interval.h"
#include "wire/wire.h"

/* Kinds of samples. A sample is one measured time. It is not an interval of interval.h. */
typedef enum {
    /* from the last packet of a WRITE request to the acknowledgement that covers the packet; not
     * measured for a retransmitted packet, nor for a packet after a sequence gap */
    SMCR_TIMELINE_ACK,
    /* from the acknowledgement of the CDC message with which a wait for space begins to the
     * reader's message that frees space; 0: no such acknowledgement came before the reader's
     * message */
    SMCR_TIMELINE_READER,
    /* from the acknowledgement of the CDC message with which a wait for space begins to the
     * reader's message after which half of the buffer is free; 0: no such acknowledgement came
     * before the reader's message */
    SMCR_TIMELINE_DRAIN,
    /* from the acknowledgement of the writer's request to the first WRITE of its peer after the
     * request: the time that the peer's program took to answer */
    SMCR_TIMELINE_ANSWER,
} smcr_timeline_sample_t;

/* The receiver of the samples. */
typedef struct {
    /* called with each sample: `time` in nanoseconds, of the stream that side `writer` writes */
    void (*take)(void *data, int writer, smcr_timeline_sample_t sample, uint64_t time);
    void *data; /* first argument of `take` */
} smcr_timeline_sink_t;

/* A RoCE packet of the connection, but not an acknowledgement. */
typedef struct {
    smcr_when_t when;              /* frame and time of the packet */
    const smcr_record_t *record;   /* record of the packet; its `sender` is known */
    const smcr_ib_headers_t *roce; /* transport headers of the packet */
    const smcr_cdc_t *cdc;         /* CDC message of the packet; NULL: none was decoded */
    const uint32_t *gap_count;     /* number of sequence gaps so far on the link of the packet, by
                                      sender */
    /* the last sequence gap on the link, by sender. Begin: the packet of any connection before the
     * gap; frame 0: not known. End: the acknowledgement that covers all missing packets; frame 0:
     * none so far */
    const smcr_interval_t *last_gap;
    bool is_whole;                 /* the start of the connection is captured */
    /* by sender: the connection has moved to another link with this packet, and packets of the
     * sender are missing on a link of the link group since its last packet of the connection */
    bool may_miss_last[2];
} smcr_timeline_packet_t;

/* The current wait of a writer for space. All zeros: the writer does not wait. */
typedef struct {
    const smcr_record_cdc_rare_t *wait; /* the wait, as the state knows it (smcr_record_cdc_rare_t);
                                           NULL: the writer does not wait */
    smcr_when_t begun;                  /* frame and time of the message with which the wait
                                           begins */
    const smcr_link_t *link;            /* link that carried the CDC message of `begun` */
    const smcr_ack_t *const *filled;   /* points to the acknowledgement of the CDC message of
                                          `begun`; *filled is NULL as long as no acknowledgement has
                                          come */
    smcr_when_t freed;                  /* the reader's first update since the wait began, which
                                           frees space; frame 0: none */
    bool has_space;                     /* the buffer is not full when the wait begins */
    bool may_have_ended;                /* a gap of the writer was noticed after `freed`, or in a
                                           wait with `has_space`: with a missing packet the writer
                                           may have continued */
    smcr_when_t doubtful_since; /* event since which a missing packet of the reader may have freed
                                   space, and so have ended the wait; frame 0: none is missing */
    uint64_t consumed; /* position up to which the reader had reported data as read at the start of
                          the wait; UINT64_MAX: not known */
} smcr_timeline_wait_t;

/* What is known of unread data in the receive buffer of a direction. */
typedef struct {
    uint64_t acked;    /* position up to which the reader's host has acknowledged the announced
                          data; set with `is_known` */
    uint64_t consumed; /* position up to which the reader has reported data as read; 0: none so
                          far */
    uint32_t size;     /* number of data bytes that the receive buffer holds; set with `is_known` */
    bool is_known;     /* `acked` and `size` are known */
    bool is_doubtful;  /* the reader may have reported more data as read than `consumed` */
    bool knows_wait;   /* the reader's host has acknowledged the message with which the writer's
                          wait for space begins */
    smcr_when_t since; /* frame and time since which data lie unread in the buffer; frame 0: no data
                          lie unread, as far as is known */
    smcr_when_t doubtful_since; /* frame and time at which the doubt began; only used with
                                   `is_doubtful` */
} smcr_timeline_unread_t;

/* A gap of a writer: packets of its host are missing on a link of the connection. The writer's next
 * CDC message in order shows whether the missing packets belong to this connection. */
typedef struct {
    smcr_when_t since; /* event after which the missing packets were sent; frame 0: there is no
                          gap */
    smcr_when_t until; /* first packet of the writer after the gap that came in order; frame 0: none
                          so far */
    bool is_last; /* the gap is `last_gap` of the packet that showed it (smcr_timeline_packet_t),
                     and its begin is known */
    bool has_unknown_message; /* a CDC message whose meaning is not known came after the gap, so no
                                 later message can show that nothing is missing */
    bool is_proven; /* the missing packet belongs to this connection: see
                       smcr_timeline_take_old_packet() */
    uint32_t consumed; /* `consumed_seen` of the writer before the gap; set with `since` */
} smcr_timeline_gap_t;

/* The timeline of one direction. "The writer" sends data in this direction, and "the reader", its
 * peer, receives the data. All zeros: nothing has been sent. */
typedef struct {
    smcr_intervals_t intervals;        /* intervals of the writer that have already ended */
    struct smcr_timeline_sent *oldest; /* list of packets in flight (in_flight.h): the oldest
                                          packet; NULL: the list is empty */
    struct smcr_timeline_sent **end;   /* pointer at the end of the list `oldest`, to which the next
                                          packet is added; only used if `oldest` is not NULL */
    unsigned in_flight;                /* number of packets in the list `oldest` */
    uint32_t consumed_seen; /* position up to which the reader had reported data as read when the
                               writer's last captured packet came; the low 32 bits */
    smcr_timeline_wait_t wait;         /* current wait of the writer for space */
    smcr_interval_t last_wait;         /* last wait of the writer for space that has ended; end
                                          frame 0: none */
    bool last_wait_has_space; /* `has_space` of this wait (smcr_timeline_wait_t) */
    bool reports_blocked; /* the writer's last CDC message is known to have the flag "writer
                             blocked" */
    /* first packet since which data of the writer exceeds the known space in the buffer, or, if
     * that packet ended a wait for space, the start of this wait. Frame 0: no such data since the
     * reader's last message */
    smcr_when_t no_space_since;
    smcr_timeline_unread_t unread;     /* unread data in the reader's receive buffer */
    /* points to the acknowledgement from which SMCR_TIMELINE_DRAIN is measured; NULL: this time is
     * not being measured */
    const smcr_ack_t *const *draining;
    uint64_t half;            /* position up to which the reader has to read until half of the
                                 buffer is free; set with `draining` */
    smcr_when_t last_seen;    /* last captured packet of the writer; frame 0: none */
    smcr_when_t last_write;   /* last RDMA WRITE with data of the writer; if it is missing, the
                                 begin of its gap; frame 0: none */
    bool last_write_is_late;  /* the packet in `last_write` is a retransmission, whose first
                                 transmission is not captured */
    const smcr_link_t *last_write_link; /* link of the last captured RDMA WRITE; NULL: none */
    uint32_t last_write_psn;  /* PSN of this RDMA WRITE, 24 bits; set with `last_write_link` */
    smcr_when_t last_acked;   /* last acknowledgement of packets of the writer; frame 0: none */
    const smcr_link_t *last_acked_link; /* link of the packets that `last_acked` acknowledges; set
                                           with `last_acked` */
    smcr_when_t acks_missing; /* packet after which acknowledgements of the writer's packets may be
                                 missing; frame 0: there is no such packet, or an acknowledgement
                                 has come since then */
    smcr_when_t acks_complete_from; /* packet after which no acknowledgement is missing any more;
                                       set with `acks_missing` */
    /* Retransmissions of the writer's packets of which it is not known whether they were needed:
     * from the earliest first transmission to the last retransmission. The next acknowledgement
     * clears this member. End frame 0: none is kept. */
    smcr_interval_t retransmitted;
    smcr_interval_t retransmitted_unheard; /* like `retransmitted`, but the peer's next packet of
                                              the connection clears this member, and an
                                              acknowledgement does not */
    uint32_t retransmitted_psn; /* PSN of the writer's last retransmission, 24 bits; only used if
                                   `retransmitted` is set */
    const smcr_step_back_t *needless_step; /* last step back in which the writer retransmitted a
                                              packet that was acknowledged before; NULL: none, or
                                              not known */
    /* points to the acknowledgement of the last packet that may end a request of the writer's
     * application: a WRITE with data, or a CDC message that may announce data. NULL: none, or it is
     * not known which packet is the last one of the request */
    const smcr_ack_t *const *request_acked;
    smcr_when_t unknown_since; /* packet since which it is not known what the writer does; frame 0:
                                  this is known */
    smcr_when_t gap_noticed;  /* last packet of the connection before which packets of the writer
                                 are missing; frame 0: none */
    smcr_when_t missing_since; /* event after which those packets were sent that are missing before
                                  the packet `gap_noticed` */
    smcr_timeline_gap_t gap;  /* current gap of the writer */
    uint32_t gap_counts;      /* frame of `gap_noticed` of the writer's last gap that counts
                                 (smcr_timeline_settle_gap()); 0: none */
    uint64_t unannounced;     /* bytes in the writer's WRITEs since its last CDC message */
    bool has_hole;            /* a WRITE of the writer may be missing: since its last CDC message
                                 with a known meaning, a WRITE has skipped bytes or has no known
                                 position, or the position of this message is not known */
    uint64_t written;         /* highest known position after data that the writer has written */
    uint64_t written_on_left; /* `written`, when the connection last moved to another link; 0: it
                                 has not moved */
    uint64_t write_end;       /* position after the data of the last captured WRITE; 0: none so far;
                                 UINT64_MAX: not known, or the packet did not come in order */
    uint32_t complete_in;     /* frame of the writer's last CDC message, in order, that announced
                                 exactly the data up to `write_end`: no WRITE was missing between
                                 the last captured WRITE and this message; 0: none */
    smcr_when_t last_known;   /* last packet of the writer that was a WRITE in order or a CDC
                                 message with a known meaning; frame 0: none */
    smcr_interval_t longest_answer; /* longest time that the peer's program took for an answer: from
                                       the acknowledgement of the writer's request to the first
                                       WRITE of the peer after the request; end frame 0: none */
    smcr_interval_t pending_answer; /* time of an answer to the writer that
                                       smcr_timeline_confirm_answer() has not counted yet; end frame
                                       0: none */
    smcr_when_t longest_request; /* last WRITE of the request of `longest_answer` */
    smcr_when_t pending_request; /* last WRITE of the request of `pending_answer` */
    smcr_interval_t latest_message; /* longest time between the last WRITE before a CDC message and
                                       the message that announces its data, 10 ms or more; end frame
                                       0: none */
    smcr_cursor_t prod;       /* producer cursor of the writer's last CDC message; set with
                                 `prod_is_end` */
    bool prod_is_end;         /* the writer has no more data than `prod` announces: it has sent no
                                 WRITE since its last CDC message, which came in order, and is not
                                 blocked */
    bool was_read;            /* before any acknowledgement of the writer was captured, its peer had
                                 read all its data: what was sent before the capture has arrived */
    bool has_written;         /* the writer has sent an RDMA WRITE with data */
    bool has_acks;            /* a packet of the writer was acknowledged in the capture */
    bool misses_first;        /* the first data of the writer may be missing */
} smcr_timeline_writer_t;

/* The timeline of a connection. All zeros: there has been no packet. */
typedef struct {
    smcr_timeline_writer_t writer[2]; /* the two directions, by the side of the link group that is
                                         the writer */
    smcr_when_t begun;    /* first packet of the connection; frame 0: there has been none */
    smcr_when_t latest;   /* packet with the latest time */
    const smcr_link_t *link[2]; /* link of the connection's last packet; both entries of the array
                                   are equal */
    uint32_t gaps[2];     /* by sender: `gap_count` of the last packet (smcr_timeline_packet_t) */
    bool is_late;         /* the start of the connection is not captured */
    bool is_aborted;      /* a captured CDC message aborts the connection */
    smcr_when_t last_gap; /* last packet of the connection before which packets of either side are
                             missing on the same link; frame 0: none */
    bool misses_acks;     /* acknowledgements may be missing anywhere in the capture */
} smcr_timeline_t;

/* What the modules of the timeline need to take in a packet or an acknowledgement. */
typedef struct {
    smcr_timeline_t *timeline; /* timeline of the connection */
    wmem_allocator_t *scope;   /* scope of memory that the timeline keeps */
    const smcr_timeline_packet_t *packet; /* packet that the timeline takes in; NULL: none */
    const smcr_timeline_sink_t *sink;     /* receiver of the samples (smcr_timeline_sample_t); NULL
                                             while time is divided, since no sample is taken then */
} smcr_timeline_step_t;

/* Swaps the two sides: the direction of side 0 becomes the direction of side 1, and the direction
 * of side 1 becomes the direction of side 0. */
void smcr_timeline_flip(smcr_timeline_t *timeline);

/* Adds an interval of the writer `side`. Times in a capture may go back. So a begin before the
 * first packet of the connection is replaced by this first packet. */
void smcr_timeline_add(const smcr_timeline_step_t *step, int side, smcr_interval_kind_t kind,
                       smcr_when_t begin, smcr_when_t end);

/* Whether the capture has an acknowledgement of a packet of the writer `side`, or of another packet
 * of its host on the connection's link. True also in two cases: 1. the connection has had no
 * packet; 2. the tap of a host shows the connection, which then has no acknowledgements, so that
 * none is missing. If the result is false, it is not known when packets arrived, nor which of them
 * the receiver had when they were retransmitted. */
bool smcr_timeline_hears_acks(const smcr_timeline_t *timeline, int side);

/* The acknowledgement `*acked`, if it came before `frame`; NULL: there is none before `frame`. */
const smcr_ack_t *smcr_timeline_ack_before(const smcr_ack_t *const *acked, uint32_t frame);
