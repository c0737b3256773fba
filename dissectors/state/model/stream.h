/* The byte stream of one direction of a connection, as RDMA WRITEs and CDC messages build it
 * (RFC 7609 4.4 to 4.6), and the RMB element that it goes round in (A.4; net/smc/smc_cdc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

/* ---- an RMB element as a ring: offsets and cursors to positions, which never wrap ---- */

/* An RMB element that data goes round in (RFC 7609 4.4). A cursor counts the rounds, `wrap`, and
 * the offset in the element, `count`. */
typedef struct {
    uint32_t size; /* of the element, bytes; 0: not known */
    uint32_t base; /* offset of the first byte of data, bytes: 0, or 4 after an eyecatcher */
} smcr_ring_t;

/* Bytes that the ring holds; 0: its size is not known. */
static inline uint32_t
smcr_ring_room(const smcr_ring_t *ring)
{
    return ring->size > ring->base ? ring->size - ring->base : 0;
}

/* Whether two cursors have the same round and offset. */
static inline bool
smcr_ring_cursors_are_same(smcr_cursor_t one, smcr_cursor_t other)
{
    return one.wrap == other.wrap && one.count == other.count;
}

/* How far the cursor `to` is ahead of `from`, bytes; negative: it is before `from`. The wrap counts
 * have 16 bits: a difference of more than half of their range is negative. */
int64_t smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to);

/* Why a cursor is impossible, whatever the other side has done. */
typedef enum {
    SMCR_RING_FAULT_NONE,
    SMCR_RING_FAULT_OUTSIDE, /* it points outside of the data of the element; 0 before the first
                                move is allowed */
    SMCR_RING_FAULT_BACK,    /* it is before the sender's last cursor */
    SMCR_RING_FAULT_ROUND,   /* it is more than a round ahead of the sender's last cursor */
} smcr_ring_fault_t;

/* The fault of the cursor `now`, after the cursor `before` of the same sender. */
smcr_ring_fault_t smcr_ring_fault(const smcr_ring_t *ring, smcr_cursor_t before, smcr_cursor_t now);

/* The first position that is not before `position` and lies at `offset` of the element. */
uint64_t smcr_ring_next_position(const smcr_ring_t *ring, uint64_t position, uint32_t offset);

/* The offset of a position in the element, whose size is known. */
static inline uint32_t
smcr_ring_offset(const smcr_ring_t *ring, uint64_t position)
{
    return ring->base + (uint32_t)(position % smcr_ring_room(ring));
}

/* ---- streams ---- */

typedef struct smcr_place smcr_place_t;
typedef struct smcr_stream_announcement smcr_stream_announcement_t;

/* Rarely set members of a stream, allocated on demand: who waits for whom (flow/window.c). */
typedef struct {
    bool is_blocked;          /* the writer reports that it is blocked */
    bool is_full;             /* the element has no free space */
    smcr_when_t blocked;      /* since when the writer is blocked; frame 0: not known */
    smcr_point_t full_at;     /* in the reader's flow: when the element became full */
    struct smcr_record_cdc_rare *wait; /* the writer's last wait for space; NULL: none */
    smcr_point_t wait_at[2];  /* when that wait began: in the writer's flow, and in the reader's */
    uint64_t urgent;          /* position after the last urgent data; 0: none */
    uint64_t urgent_uncertain; /* position: data before it may have been urgent, for a message is
                                  missing; 0: none */
} smcr_stream_stalls_t;

/* The byte stream of one direction. A position counts bytes from the beginning of the
 * connection. */
typedef struct {
    smcr_ring_t ring;    /* the receiver's RMB element */
    uint64_t written;    /* position: all data before it was written by WRITEs that were taken in */
    uint64_t positioned_end; /* position after the request that was located last */
    uint64_t last_write_start; /* position of the first byte of that request */
    uint64_t announced;  /* position up to which a producer cursor has announced data */
    uint64_t consumed;   /* position up to which the reader has read, by its consumer cursor */
    smcr_cursor_t prod;  /* the producer cursor at `announced` */
    smcr_cursor_t cons;  /* the consumer cursor at `consumed` */
    bool positions_known; /* the positions are known */
    bool may_rewrite;    /* a failover has moved it to another link, and nothing new was written
                            since: data that was not acknowledged on the old link may be written
                            once more (4.6) */
    bool was_full;       /* the element was full after the writer's last announcement */
    bool was_full_small; /* that announcement had few bytes, as many as were free: a silly window */
    uint32_t unannounced; /* WRITE packets that wait for a CDC message: slab number of the tail of a
                             circular list; 0: none */
    smcr_stream_announcement_t *unread; /* announcements that are not read yet: tail of a circular
                                           list; NULL: none */
    smcr_stream_stalls_t *stalls;  /* rarely set members; NULL: none */
} smcr_stream_t;

/* The piece of the stream that one WRITE packet carries. */
typedef struct {
    bool known;         /* `position` is known */
    uint64_t position;  /* of its first byte */
    uint32_t rewritten; /* bytes at its beginning that had been written before */
    uint64_t gap;       /* bytes between the data before it and its first byte: their packets are
                           missing */
} smcr_stream_range_t;

/* The stream begins: an element of `size` bytes whose data begins at `base`. */
void smcr_stream_start(smcr_stream_t *stream, uint32_t size, uint32_t base);

/* The stream of a late capture, in an element of unknown size whose data begins at `base`: it has
 * been written up to the cursor `count`; the last `length` bytes are not announced yet. */
void smcr_stream_start_late(smcr_stream_t *stream, uint32_t count, uint32_t length, uint32_t base);

/* Cursors in the first round of an element of unknown size say all. Later ones do not: then nothing
 * is known of the stream any more. Returns whether a producer cursor tells its position. */
bool smcr_stream_can_announce(smcr_stream_t *stream, smcr_cursor_t prod);

/* The part of the element that a request writes to. */
typedef struct {
    uint32_t offset; /* of the first byte in the element, bytes */
    uint32_t length; /* bytes */
} smcr_stream_extent_t;

/* What may be missing since the request that was located last. */
typedef struct {
    uint64_t bytes; /* upper bound of the bytes that missing packets have written; UINT64_MAX: none
                       is known */
    bool reads_missing; /* messages of the reader may be missing, by which it has read more */
    bool reads_early; /* messages of the reader may stand in the capture before the data that they
                         have read */
} smcr_stream_unseen_t;

/* Finds the position of a request. It goes on where the last request ended; otherwise packets are
 * missing in between, or, after a failover, data is written once more. Returns false where the
 * position is not known: more than one round of the element may be missing; or the size is not
 * known, and bytes are missing or the writer begins another round. (RFC 7609 4.4, 4.6) */
bool smcr_stream_locate(smcr_stream_t *stream, smcr_stream_extent_t extent,
                        smcr_stream_unseen_t unseen, uint64_t *position);

/* Position up to which data was written, by WRITEs and by the producer cursor. */
static inline uint64_t
smcr_stream_end(const smcr_stream_t *stream)
{
    return MAX(MAX(stream->written, stream->positioned_end), stream->announced);
}

/* The same of a request that was sent before the one that was located last, which lies at or before
 * that. `between` is at least what was sent from this one up to that. */
bool smcr_stream_locate_earlier(const smcr_stream_t *stream, smcr_stream_extent_t extent,
                                uint64_t between, uint64_t *position);

/* `length` bytes at `position` are written. */
smcr_stream_range_t smcr_stream_write(smcr_stream_t *stream, uint64_t position, uint32_t length);

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
