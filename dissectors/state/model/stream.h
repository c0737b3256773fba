/* The byte stream of one direction of a connection, as RDMA WRITEs and CDC messages build it
 * (RFC 7609 4.4 to 4.6), and the RMB element that it goes round in (A.4; net/smc/smc_cdc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

/* ---- an RMB element as a ring: offsets and cursors to positions, which never wrap ---- */

typedef struct {
    uint32_t size; /* bytes of the element; 0: not known */
    uint32_t base; /* offset of its first byte of data: 0, or 4 behind an eyecatcher */
} smcr_ring_t;

/* Bytes that the ring holds; 0 when its size is not known. */
static inline uint32_t
smcr_ring_room(const smcr_ring_t *ring)
{
    return ring->size > ring->base ? ring->size - ring->base : 0;
}

static inline bool
smcr_ring_cursors_are_same(smcr_cursor_t one, smcr_cursor_t other)
{
    return one.wrap == other.wrap && one.count == other.count;
}

/* How far `to` is ahead of `from`, in bytes; negative when it is behind. Wrap counts that differ
 * by more than half their range count as behind. */
int64_t smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to);

/* Why a cursor cannot be, whatever the other side has done. */
typedef enum {
    SMCR_RING_FAULT_NONE,
    SMCR_RING_FAULT_OUTSIDE, /* of the data of its element; one that has never moved may be 0 */
    SMCR_RING_FAULT_BACK,    /* behind the one before */
    SMCR_RING_FAULT_ROUND,   /* more than a round ahead of it */
} smcr_ring_fault_t;

smcr_ring_fault_t smcr_ring_fault(const smcr_ring_t *ring, smcr_cursor_t before, smcr_cursor_t now);

/* The first position that is not before `position` and lies at `offset` of the element. */
uint64_t smcr_ring_next(const smcr_ring_t *ring, uint64_t position, uint32_t offset);

/* The offset of a position in the element, whose size is known. */
static inline uint32_t
smcr_ring_offset(const smcr_ring_t *ring, uint64_t position)
{
    return ring->base + (uint32_t)(position % smcr_ring_room(ring));
}

/* ---- streams ---- */

typedef struct smcr_place smcr_place_t;
typedef struct smcr_stream_announcement smcr_stream_announcement_t;

/* Rarely set members, allocated on demand. */
typedef struct {
    bool is_blocked;          /* the writer is */
    bool is_full;             /* the window is */
    smcr_when_t blocked;      /* since when; frame 0: not known */
    smcr_point_t full_at;     /* in the reader's flow */
    struct smcr_record_cdc_rare *wait; /* of the writer for space, the last one; NULL: none */
    smcr_point_t wait_at[2];  /* in its flow, and in the reader's */
    uint64_t urgent;          /* position after the last urgent data; 0: none */
    uint64_t unsure;          /* data before may have been urgent: a message is absent; 0: none */
} smcr_stream_stalls_t;

/* Positions count bytes from the beginning of the connection. */
typedef struct {
    smcr_ring_t ring;    /* of the receiver's element */
    uint64_t written;    /* what is before has been written */
    uint64_t located;    /* end of the request that was located last */
    uint64_t begun;      /* its begin */
    uint64_t announced;  /* by a producer cursor */
    uint64_t consumed;   /* by the reader, as its consumer cursor says */
    smcr_cursor_t prod;  /* the cursors that `announced` and `consumed` stand for */
    smcr_cursor_t cons;
    bool known;          /* the positions mean something */
    bool moved;          /* to another link, and nothing new has been written since: what was not
                            acknowledged on the old one may come again */
    bool filled;         /* the window was full after the writer's last announcement */
    bool filled_small;   /* with a few bytes only, which were all that had been free */
    /* who waits for whom (window.c) */
    uint32_t unannounced;          /* tail of a circular list: WRITE packets that wait to be
                                      announced; 0: there is none */
    smcr_stream_announcement_t *unread; /* tail of a circular list: announced, not read yet */
    smcr_stream_stalls_t *stalls;  /* NULL: there has been none, nor urgent data */
} smcr_stream_t;

/* A piece of the stream that one WRITE packet carries. */
typedef struct {
    bool known;
    uint64_t position;  /* of its first byte */
    uint32_t rewritten; /* bytes at its beginning that had been written before */
    uint64_t gap;       /* bytes before it that the capture lacks */
} smcr_stream_piece_t;

/* The stream begins: an element of `size` bytes whose data begins at `base`. */
void smcr_stream_start(smcr_stream_t *stream, uint32_t size, uint32_t base);

/* The stream of a late capture, in an element of unknown size whose data begins at `base`: it has
 * been written up to the cursor `count`; the last `length` bytes are not announced yet. */
void smcr_stream_start_late(smcr_stream_t *stream, uint32_t count, uint32_t length, uint32_t base);

/* Cursors in the first round of an element of unknown size say all. Later ones do not: then nothing
 * is known of the stream any more. Returns whether a producer cursor tells its position. */
bool smcr_stream_can_announce(smcr_stream_t *stream, smcr_cursor_t prod);

/* Where in the element a request writes. */
typedef struct {
    uint32_t offset, length; /* bytes */
} smcr_stream_extent_t;

/* What the capture may lack since the last request that was located. */
typedef struct {
    uint64_t bytes; /* at most so many were written; UINT64_MAX: no bound is known */
    bool reads;     /* the reader may have read more than its messages in the capture say */
    bool early;     /* its messages may stand before what they say was read */
} smcr_stream_unseen_t;

/* Where in the stream a request goes. It goes on where the last one ended; else the capture lacks
 * some, or, after a failover, they are written again. Returns false when that is not known: more
 * than one round of the element may be missing, or its size is not known, and bytes are missing or
 * the writer begins another round. */
bool smcr_stream_locate(smcr_stream_t *stream, smcr_stream_extent_t extent,
                        smcr_stream_unseen_t unseen, uint64_t *position);

/* Up to where it has been written, as WRITEs and the producer cursor tell. */
static inline uint64_t
smcr_stream_reach(const smcr_stream_t *stream)
{
    return MAX(MAX(stream->written, stream->located), stream->announced);
}

/* The same of a request that was sent before the one that was located last, which lies at or before
 * that. `between` is at least what was sent from this one up to that. */
bool smcr_stream_locate_old(const smcr_stream_t *stream, smcr_stream_extent_t extent,
                            uint64_t between, uint64_t *position);

/* `length` bytes at `position` are written. */
smcr_stream_piece_t smcr_stream_write(smcr_stream_t *stream, uint64_t position, uint32_t length);

/* The position `before` bytes before a producer cursor, where the ring's size is known. */
bool smcr_stream_position_before(const smcr_stream_t *stream, smcr_cursor_t prod, uint32_t before,
                                 uint64_t *position);

/* The stream of a late capture, of which a host has told its element of `size` bytes, and how far
 * it was written and read. What is known of it already, stays. */
void smcr_stream_start_told(smcr_stream_t *stream, smcr_ring_t ring, smcr_cursor_t prod,
                            smcr_cursor_t cons);

/* A producer cursor arrives. Returns the bytes that it announces, negative when it goes back. */
int64_t smcr_stream_announce(smcr_stream_t *stream, smcr_cursor_t prod);

/* A consumer cursor arrives. Returns the bytes that were read, negative when it goes back. */
int64_t smcr_stream_consume(smcr_stream_t *stream, smcr_cursor_t cons);

/* Bytes announced and not yet read, and the space that is left for the writer. */
static inline uint64_t
smcr_stream_unread(const smcr_stream_t *stream)
{
    return stream->announced > stream->consumed ? stream->announced - stream->consumed : 0;
}

uint64_t smcr_stream_free(const smcr_stream_t *stream);
