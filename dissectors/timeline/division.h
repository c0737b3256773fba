/* The division of the time of a direction among what its writer did or waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* How the time of one direction is divided, and its longest waits. */
typedef struct {
    smcr_interval_division_t division; /* time of each part, and the longest stretches */
    smcr_interval_t longest_answer; /* longest time that the peer's program took for an answer
                                       (`longest_answer` of smcr_timeline_writer_t) */
    smcr_when_t longest_request;    /* last WRITE of the request of this answer */
    smcr_interval_t latest_message; /* longest time until data were announced (`latest_message` of
                                       smcr_timeline_writer_t) */
} smcr_timeline_direction_t;

/* Reasons to doubt the whole division of a connection's time. */
typedef enum {
    SMCR_TIMELINE_NO_DOUBT, /* no reason to doubt: the division counts as it is */
    /* Packets may be missing anywhere, or may not be recognised; or the capture is out of order by
     * less than 10 ms. Only SMCR_INTERVAL_IS_FULL_READER counts, since captured packets prove it.
     * All other time is unknown. */
    SMCR_TIMELINE_MISSES_MORE,
    /* The capture is out of order by more: all time is unknown. */
    SMCR_TIMELINE_IN_DISORDER,
} smcr_timeline_doubt_t;

/* What may be missing of a connection in the capture, and what limits the time in which it may be
 * missing. All zeros: nothing may be missing. */
typedef struct {
    smcr_timeline_doubt_t doubt; /* reason to doubt the whole division */
    bool last[2];  /* by sender: packets after its last captured packet may be missing */
    bool answer[2]; /* by sender: data after its last captured data may be missing, which may be an
                       answer; only with `last` */
    bool acks[2];  /* by sender: its last acknowledgements may be missing */
    uint32_t closed[2]; /* frame in which the sender has closed the connection, by sender; later
                           packets do not change how the time is divided. Set only if both sides
                           have closed, and the sender has no `wrote_after_end` (smcr_conn_side_t);
                           0: not set */
    /* with `last`: last captured packet of the link before the first packet of the sender that may
     * be missing; frame 0: not known */
    smcr_when_t since[2];
    smcr_when_t heard[2]; /* by sender: last packet of the sender's host on the links of the link
                             group that are not deleted; frame 0: none is known. Afterwards the
                             sender's program may have read data, and its host could not report
                             this */
} smcr_timeline_missing_t;

/* What smcr_timeline_divide() needs to know of one direction, to divide its time. */
typedef struct {
    smcr_interval_t span; /* time to divide */
    smcr_when_t full_since; /* event since which the receive buffer was full of unread data, up to
                               the first packet of the connection; frame 0: none */
    smcr_timeline_missing_t missing; /* what may be missing at the end of `span`, or
                                        anywhere (`doubt`) */
} smcr_timeline_question_t;

/* Divides the time of the direction that `side` writes among the parts. Does not change the
 * timeline, which may get more packets from a live capture. */
smcr_timeline_direction_t smcr_timeline_divide(const smcr_timeline_t *timeline, int side,
                                               const smcr_timeline_question_t *question);

/* The waits of one direction that no packet has ended so far, though no packet is missing that
 * could end them. Frame 0: there is no such wait. */
typedef struct {
    smcr_when_t unread; /* the writer waits for space, and the reader, which has data to read, has
                           read nothing since this event */
    smcr_when_t asked;  /* the reader's host has acknowledged a request of the writer with this
                           packet, and the reader has written nothing since the request */
} smcr_timeline_open_t;

/* Returns the open waits of the direction that `side` writes. A writer that waits for space has no
 * open request: the request may not be complete. */
smcr_timeline_open_t smcr_timeline_open(const smcr_timeline_t *timeline, int side);

/* A receiver of pieces of time. */
typedef struct {
    smcr_interval_sink_t take; /* called with each piece, in ascending order */
    void *data;                /* first argument of `take` */
} smcr_timeline_pieces_t;

/* Calls `pieces->take` with each piece of time of the direction that `side` writes. The shares of
 * all pieces add up to those that smcr_timeline_divide() returns for the same question. Does not
 * change the timeline. */
void smcr_timeline_each_piece(const smcr_timeline_t *timeline, int side,
                              const smcr_timeline_question_t *question,
                              const smcr_timeline_pieces_t *pieces);
