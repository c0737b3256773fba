/* A line of a picture: points over time, thinned to what a screen can show, in bounded memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/state.h"

/* A point of a picture. */
typedef struct {
    smcr_when_t when; /* frame and time */
    uint64_t value;   /* position in a byte stream, bytes; in the line of a way a delay
                         (SMCR_SERIES_NO_DELAY) */
} smcr_series_point_t;

/* Neighbouring points: the lowest and the highest of them, so that no spike is lost. Of points with
 * equal values, `low` is the first one and `high` is the last one. */
typedef struct {
    smcr_series_point_t low;  /* point with the lowest value */
    smcr_series_point_t high; /* point with the highest value */
    uint32_t count;           /* number of points */
    bool after_hole;          /* the value of the line was not known for a time before these
                                 points */
} smcr_series_bucket_t;

/* Maximum number of buckets of a line. */
#define SMCR_SERIES_BUCKETS 256

/* A line: its buckets, in the order of their times. All zeros: it has no points. */
typedef struct {
    smcr_series_bucket_t *buckets; /* array of the buckets; NULL: none */
    uint32_t length;               /* number of buckets */
    uint32_t room;                 /* number of buckets for which `buckets` has memory */
    uint64_t width;                /* a bucket spans at most this time, nanoseconds */
    bool is_lost; /* it is not known how the line goes on after its last point */
} smcr_series_line_t;

/* Adds a point to the line. A point whose time is before the last bucket is not added: the clock of
 * the capture went back. If the line is full, its width is doubled until a quarter of its buckets
 * is free at least; a time without points takes no bucket. Memory is allocated in `scope`. */
void smcr_series_line_add(smcr_series_line_t *line, wmem_allocator_t *scope,
                          smcr_series_point_t point);

/* Notes that packets are missing between `since` and `now`, nanoseconds since the epoch: in the
 * longest time without points up to `now`, the value of the line is not known. Returns false, and
 * notes nothing, if this time has not ended, or no point came after `since`. */
bool smcr_series_line_break(smcr_series_line_t *line, uint64_t since, uint64_t now);

/* Returns the highest value of the last bucket; 0: the line has no points, or the value is 0. A
 * line of positions does not fall, so this is the last and highest value of the line. */
static inline uint64_t
smcr_series_line_last(const smcr_series_line_t *line)
{
    return line->length ? line->buckets[line->length - 1].high.value : 0;
}
