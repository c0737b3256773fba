/* Sets of intervals, one for each kind, and how the time of a direction is divided among them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Kinds of intervals. Each interval belongs to one direction of a connection. The writer sends data
 * in this direction, and the reader, its peer, receives the data. */
typedef enum {
    /* The writer may wait for an answer: from its last RDMA WRITE to a later RDMA WRITE of its
     * peer; or in a time in which packets of the peer are missing or retransmitted, which may be
     * the answer. */
    SMCR_INTERVAL_ANSWER,
    /* Like SMCR_INTERVAL_ANSWER, but it is not known whether the peer's RDMA WRITE follows: at the
     * end of the divided time packets of the peer may be missing. */
    SMCR_INTERVAL_MAYBE_ANSWER,
    SMCR_INTERVAL_TRANSFER,       /* data of the writer are certainly under way */
    /* Data may be under way: an acknowledgement of their packet may be missing in the capture, or
     * the data may have been announced before. */
    SMCR_INTERVAL_MAYBE_TRANSFER,
    /* During this interval, SMCR_INTERVAL_MAYBE_TRANSFER proves no transfer. There are two reasons:
     * 1. Acknowledgements may be missing. 2. The CDC message that first announced the data may be
     * missing. */
    SMCR_INTERVAL_TRANSFER_IN_DOUBT,
    /* The writer waits for space, from the CDC message with which the wait begins. */
    SMCR_INTERVAL_FULL,
    /* The writer may not wait for space any more, though SMCR_INTERVAL_FULL may hold: the reader
     * has freed space, or the capture is out of order, and the writer's data came before the update
     * that freed their space. */
    SMCR_INTERVAL_FREED,
    /* Data lie in the receive buffer: the reader's host has acknowledged the data, and the reader's
     * program has not read them. */
    SMCR_INTERVAL_UNREAD,
    /* It is not known up to which position the reader has read. */
    SMCR_INTERVAL_MAYBE_UNREAD,
    SMCR_INTERVAL_RETRANSMISSION, /* a packet of the writer is retransmitted: from its first
                                     transmission, as far as its time is known, to its last
                                     retransmission */
    SMCR_INTERVAL_PEER_RETRANSMISSION, /* a packet of the reader is retransmitted: from its first
                                          transmission, as far as its time is known, to its last
                                          retransmission */
    /* Retransmissions of either side in this interval may have been needless: the receiver may have
     * had the packet before. */
    SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT,
    /* A retransmission of either side that was certainly needed: its sender had no acknowledgement
     * of the packet. SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT does not matter then. */
    SMCR_INTERVAL_RETRANSMISSION_PROVEN,
    /* A packet of the writer is retransmitted, though the reader's host already had it: from its
     * first transmission to its last retransmission. No side waits for the retransmission. */
    SMCR_INTERVAL_NEEDLESS,
    /* It is not known what the writer does. Mostly its packets are missing: from its last packet
     * before them to the packet from which on it is known again. There are other reasons, such as a
     * message whose meaning is not known. */
    SMCR_INTERVAL_NOT_CAPTURED,
    SMCR_INTERVAL_PEER_NOT_CAPTURED, /* packets of the reader are missing in this time */
    SMCR_INTERVAL_KINDS
} smcr_interval_kind_t;

/* Parts among which the time of a direction is divided. Each moment is charged to exactly one part:
 * what the writer does or waits for at this moment. The order matters: wait_length() of interval.c
 * keeps pieces of the parts from SMCR_INTERVAL_IS_FULL_PATH on longer than pieces of the parts
 * before it. */
typedef enum {
    SMCR_INTERVAL_IS_NOTHING,  /* no other part fits: the writer has nothing to write */
    SMCR_INTERVAL_IS_ANSWER,   /* the writer waits for the peer's answer */
    SMCR_INTERVAL_IS_MAYBE_ANSWER, /* the writer waits for the peer's answer, or has nothing to
                                      write; nothing else */
    SMCR_INTERVAL_IS_TRANSFER, /* data are under way to the reader */
    SMCR_INTERVAL_IS_NEEDLESS, /* data are under way to the reader, and a packet is retransmitted
                                  without need meanwhile */
    /* data are under way to the reader. Exception: if acknowledgements are missing, the data may
     * have arrived before this moment */
    SMCR_INTERVAL_IS_MAYBE_TRANSFER,
    /* the writer waits for space, and no unread data are known to lie at the reader: the data, or
     * the reader's update, have not arrived yet */
    SMCR_INTERVAL_IS_FULL_PATH,
    SMCR_INTERVAL_IS_FULL_READER, /* the writer waits for space, and the reader's program does not
                                     read the data in its buffer */
    SMCR_INTERVAL_IS_RETRANSMISSION, /* the writer waits for the retransmission of a packet of its
                                        own or of the peer */
    SMCR_INTERVAL_IS_UNKNOWN,  /* it is not known which of the other parts is right */
    SMCR_INTERVAL_PARTS
} smcr_interval_part_t;

/* An interval of time from one event to another. The interval is empty if both events have the same
 * time. */
typedef struct {
    smcr_when_t begin; /* frame and time of the event that begins the interval */
    smcr_when_t end;   /* frame and time of the event with which the interval ends */
} smcr_interval_t;

/* The intervals of one kind, in ascending order. They do not overlap. Intervals that touch each
 * other are kept as one. */
typedef struct {
    smcr_interval_t *entries; /* array of the intervals; NULL: there are none */
    uint32_t length;          /* number of intervals in `entries` */
    uint32_t room;            /* number of intervals for which `entries` has memory */
} smcr_interval_list_t;

/* A stretch of time, and how it is charged to the parts. If the piece is settled, no later event
 * changes how its time is charged. */
typedef struct {
    smcr_interval_t interval;            /* begin and end of the stretch of time */
    uint64_t share[SMCR_INTERVAL_PARTS]; /* time charged to each part, nanoseconds; several parts
                                            may have a share */
} smcr_interval_piece_t;

/* How the time between two events is divided among the parts. In the members `longest_...`, an end
 * frame of 0 means that there is no such stretch. */
typedef struct {
    uint64_t share[SMCR_INTERVAL_PARTS]; /* time charged to each part, nanoseconds; the sum is the
                                            whole time */
    uint64_t filling; /* part of the transfer in which the writer fills the reader's buffer: the
                         stretches of SMCR_INTERVAL_IS_TRANSFER, SMCR_INTERVAL_IS_NEEDLESS and
                         SMCR_INTERVAL_IS_MAYBE_TRANSFER that end when a wait for space begins,
                         nanoseconds */
    smcr_interval_t longest_reader;  /* longest stretch that is charged to
                                        SMCR_INTERVAL_IS_FULL_READER only */
    smcr_interval_t longest_full;    /* longest stretch that is charged only to
                                        SMCR_INTERVAL_IS_FULL_PATH and
                                        SMCR_INTERVAL_IS_FULL_READER */
    smcr_interval_t longest_retransmission; /* longest stretch that is charged to
                                               SMCR_INTERVAL_IS_RETRANSMISSION only */
} smcr_interval_division_t;

/* The settled pieces of a writer: time whose division is final (interval.c). */
typedef struct smcr_interval_settled smcr_interval_settled_t;

/* All intervals of one writer. All zeros: there are none. */
typedef struct {
    smcr_interval_list_t list[SMCR_INTERVAL_KINDS]; /* the newest intervals, by kind */
    smcr_interval_settled_t *settled; /* settled pieces of the time before all intervals of `list`;
                                         NULL: none */
    uint32_t count; /* number of intervals in all lists */
} smcr_intervals_t;

/* If the lists of a writer have more intervals than this, the time of the older ones is divided
 * into settled pieces, as far as later events cannot change it. Also the maximum number of parts in
 * the list of a union. */
#define SMCR_INTERVAL_LIST_MOST 128
/* Maximum number of settled pieces of a writer. */
#define SMCR_INTERVAL_SETTLED_MOST 64

/* A union of intervals. Reports need only its length. All zeros: there are no intervals. */
typedef struct {
    smcr_interval_list_t list; /* newest parts of the union, at most SMCR_INTERVAL_LIST_MOST */
    smcr_when_t settled_from;  /* begin of the first part that was removed from `list`; frame 0: no
                                  part was removed */
    smcr_when_t until;         /* end of the last part that was removed from `list`; frame 0: no
                                  part was removed */
    uint64_t settled;          /* total length of the parts that were removed from `list`,
                                  nanoseconds */
    uint64_t uncounted;        /* maximum time of the union that `settled` and `list` do not count,
                                  nanoseconds: time of late intervals before `until`, and time that
                                  may belong to both of two joined unions */
} smcr_interval_union_t;

/* Length of the interval, nanoseconds; 0 if its end is not after its begin. */
static inline uint64_t
smcr_interval_length(smcr_interval_t interval)
{
    return interval.end.time > interval.begin.time ? interval.end.time - interval.begin.time : 0;
}

/* Adds an interval of the kind `kind`. An interval whose end is not after its begin is not added.
 * If the interval touches or overlaps intervals of the same kind, they are joined into one. Memory
 * is allocated in `scope`. */
void smcr_intervals_add(smcr_intervals_t *intervals, wmem_allocator_t *scope,
                        smcr_interval_kind_t kind, smcr_interval_t interval);

/* Adds an interval to the union. Not added are: 1. an interval whose end is not after its begin;
 * 2. the time before `all->until`, whose parts were removed from the list: it only raises the upper
 * bound (smcr_interval_union_length_most()). Memory is allocated in `scope`. */
void smcr_interval_union_add(smcr_interval_union_t *all, wmem_allocator_t *scope,
                             smcr_interval_t interval);

/* Adds all intervals of the union `from` to the union `all`. Of the settled parts only the total
 * lengths are known. If parts of both unions may overlap, the time that may belong to both counts
 * once. Then the length of `all` is a lower bound. */
void smcr_interval_union_join(smcr_interval_union_t *all, wmem_allocator_t *scope,
                              const smcr_interval_union_t *from);

/* Length of the union, nanoseconds: the time in which at least one of its intervals holds. It may
 * be too low in two cases: 1. an interval with time before `all->until` was added; 2. two unions
 * were joined, and one of them had settled parts. */
uint64_t smcr_interval_union_length(const smcr_interval_union_t *all);

/* Upper bound of the length of the union within the span, nanoseconds. Intervals in the list are
 * cut to the span; the parts that were removed from the list count in full. */
uint64_t smcr_interval_union_length_most(const smcr_interval_union_t *all, smcr_interval_t span);

/* Whether there are more than SMCR_INTERVAL_LIST_MOST intervals, which smcr_intervals_settle()
 * reduces. */
static inline bool
smcr_intervals_are_many(const smcr_intervals_t *intervals)
{
    return intervals->count > SMCR_INTERVAL_LIST_MOST;
}

/* Settles the intervals before `until`, if there are many (smcr_intervals_are_many()). The time
 * before `until` is then divided into pieces for good. If there are more than
 * SMCR_INTERVAL_SETTLED_MOST pieces, neighbouring pieces are joined, those with the shortest waits
 * first. Of an interval that is added later, the time before `until` does not count any more. So
 * `until` must not be after the begin of a state that has not ended (settle_intervals() of
 * writer.c). */
void smcr_intervals_settle(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_when_t until);

/* A function that takes one piece of time after the other, in ascending order. */
typedef void (*smcr_interval_sink_t)(void *data, const smcr_interval_piece_t *piece);

/* Calls `sink` with each piece of the time from `span.begin` to `span.end`: first the idle time
 * before the settled pieces, then these pieces, some of which are charged to several parts, then
 * pieces of one part each. */
void smcr_intervals_each_piece(const smcr_intervals_t *intervals, smcr_interval_t span,
                               smcr_interval_sink_t sink, void *data);

/* Divides the time from `span.begin` to `span.end` among the parts. */
smcr_interval_division_t smcr_intervals_divide(const smcr_intervals_t *intervals,
                                               smcr_interval_t span);
