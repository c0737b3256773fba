/* Sets of intervals, one for each kind, and how the time of a direction is divided among them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* What may last. All are of one writer: one direction of a connection. */
typedef enum {
    /* from a WRITE of the writer to a later WRITE of its peer, as long as the writer sends
     * nothing: it may wait for an answer */
    SMCR_INTERVAL_ANSWER,
    SMCR_INTERVAL_TRANSFER,       /* from a WRITE, or a CDC message that announces data, to its
                                     acknowledgement */
    /* the same up to an acknowledgement that names a later packet: its own may be missing */
    SMCR_INTERVAL_MAYBE_TRANSFER,
    /* what may be a transfer may be none: acknowledgements may be missing, from the last packet
     * before missing ones to the first acknowledgement after them, or the announcement of the data
     * may be */
    SMCR_INTERVAL_TRANSFER_IN_DOUBT,
    /* the writer waits for space: from the CDC message that fills the receive buffer or sets
     * writer blocked, to the acknowledgement of the reader's update, or to where the writer goes
     * on */
    SMCR_INTERVAL_FULL,
    /* data lie in the receive buffer: the reader's host has acknowledged them, and its program
     * has not read them */
    SMCR_INTERVAL_UNREAD,
    /* nobody knows what the reader has read: a message of it came after missing packets */
    SMCR_INTERVAL_MAYBE_UNREAD,
    SMCR_INTERVAL_RETRANSMISSION, /* from the first transmission of a packet of the writer to its
                                     last retransmission */
    SMCR_INTERVAL_PEER_RETRANSMISSION, /* the same of a packet of the peer */
    SMCR_INTERVAL_NOT_CAPTURED,   /* packets of the writer are missing: from the last one before
                                     them to the one that settles what it does */
    SMCR_INTERVAL_PEER_NOT_CAPTURED, /* the same of the peer's packets */
    SMCR_INTERVAL_KINDS
} smcr_interval_kind_t;

/* What a moment is charged to: exactly one of these. */
typedef enum {
    SMCR_INTERVAL_IS_NOTHING,  /* nothing to write: no interval holds */
    SMCR_INTERVAL_IS_ANSWER,   /* the writer waits for the peer's answer */
    SMCR_INTERVAL_IS_TRANSFER, /* data are under way */
    /* data may be under way: it is a transfer if the capture misses no acknowledgements */
    SMCR_INTERVAL_IS_MAYBE_TRANSFER,
    /* it waits for space, and nothing unread lies at the reader: data or update are under way */
    SMCR_INTERVAL_IS_FULL_PATH,
    SMCR_INTERVAL_IS_FULL_READER, /* it waits for space, and the reader's program does not read */
    SMCR_INTERVAL_IS_RETRANSMISSION, /* it waits for a retransmission, its own or its peer's */
    SMCR_INTERVAL_IS_UNKNOWN,  /* any of the others */
    SMCR_INTERVAL_PARTS
} smcr_interval_part_t;

/* From one event to another. Where `begin` and `end` are of one time, it is empty. */
typedef struct {
    smcr_when_t begin; /* the frame that begins it, and its time */
    smcr_when_t end;   /* the frame that ends it */
} smcr_interval_t;

/* The intervals of one kind: disjoint, in ascending order; those that touch are one. */
typedef struct {
    smcr_interval_t *entries; /* NULL: there are none */
    uint32_t length;          /* of them */
    uint32_t room;            /* entries that the memory has room for */
} smcr_interval_list_t;

/* A stretch of time that is settled: no event to come changes it. */
typedef struct {
    smcr_interval_t interval;
    uint64_t share[SMCR_INTERVAL_PARTS]; /* nanoseconds for each part: more than one is set in
                                            intervals of kind "mixed" */
} smcr_interval_piece_t;

/* How the time between two events is divided. Times in nanoseconds. */
typedef struct {
    uint64_t share[SMCR_INTERVAL_PARTS]; /* exclusive: they add up to the whole time */
    smcr_interval_t longest_reader;  /* the longest stretch of _IS_FULL_READER; end frame 0: none */
    smcr_interval_t longest_full;    /* of both kinds of full, without a break; likewise */
    smcr_interval_t longest_retransmission; /* likewise */
} smcr_interval_division_t;

/* Intervals that no event to come changes: divided for good. */
typedef struct smcr_interval_settled smcr_interval_settled_t;

/* All intervals of one writer. All zeros: there are none. */
typedef struct {
    smcr_interval_list_t list[SMCR_INTERVAL_KINDS];
    smcr_interval_settled_t *settled; /* what was before all of `list`; NULL: nothing */
} smcr_intervals_t;

/* Most intervals that one writer keeps in `list`, and most settled pieces. */
#define SMCR_INTERVAL_LIST_MOST 128
#define SMCR_INTERVAL_SETTLED_MOST 64

/* Intervals of one kind, of which only the length of their union is asked, and the longest of its
 * parts. All zeros: there are none. */
typedef struct {
    smcr_interval_list_t list; /* the newest ones: at most SMCR_INTERVAL_LIST_MOST */
    smcr_interval_t longest;   /* of those that have left the list; end frame 0: none has */
    smcr_when_t until;         /* end of the last one that has left the list; frame 0: none has */
    uint64_t settled;          /* nanoseconds of those that have left the list */
} smcr_interval_union_t;

/* Length in nanoseconds; 0 where the end is not after the begin. */
static inline uint64_t
smcr_interval_length(smcr_interval_t interval)
{
    return interval.end.time > interval.begin.time ? interval.end.time - interval.begin.time : 0;
}

/* Adds an interval of the kind; one that is empty or ends before its begin is left out. What
 * touches or overlaps an interval of the same kind becomes one with it. What is kept is of
 * `scope`. */
void smcr_intervals_add(smcr_intervals_t *intervals, wmem_allocator_t *scope,
                        smcr_interval_kind_t kind, smcr_interval_t interval);

/* Adds an interval; one that is empty or ends before its begin is left out, and of one that begins
 * before what has left the list, the part before it. What is kept is of `scope`. */
void smcr_interval_union_add(smcr_interval_union_t *all, wmem_allocator_t *scope,
                             smcr_interval_t interval);

/* Adds all that `from` has. */
void smcr_interval_union_join(smcr_interval_union_t *all, wmem_allocator_t *scope,
                              const smcr_interval_union_t *from);

/* Nanoseconds in which at least one of the intervals holds. */
uint64_t smcr_interval_union_length(const smcr_interval_union_t *all);

/* The longest part of the union; end frame 0: there is none. */
smcr_interval_t smcr_interval_union_longest(const smcr_interval_union_t *all);

/* No event before `until` can come any more, nor an interval that begins before it. Where there are
 * more intervals than SMCR_INTERVAL_LIST_MOST, those before it are divided for good, and the
 * shortest of them joined. */
void smcr_intervals_settle(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_when_t until);

/* Divides the time from `span.begin` to `span.end`. */
smcr_interval_division_t smcr_intervals_divide(const smcr_intervals_t *intervals,
                                               smcr_interval_t span);
