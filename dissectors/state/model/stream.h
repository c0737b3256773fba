/* The byte stream of one direction of a connection, as RDMA WRITEs and CDC messages build it (RFC
 * 7609 4.4 to 4.6), and its RMB element, a ring (A.4; net/smc/smc_cdc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

/* ---- an RMB element as a ring: from offsets and cursors to positions, which never wrap ---- */

/* An RMB element as a ring (RFC 7609 4.4). A cursor of the ring has the number of rounds, `wrap`,
 * and the offset in the element, `count`. */
typedef struct {
    uint32_t size; /* size of the RMB element, bytes; 0: not known */
    uint32_t base; /* offset of the first byte of data, bytes: 0, or 4 after an eyecatcher */
} smcr_ring_t;

/* Number of data bytes that the ring holds; 0: its size is not known, or not larger than `base`. */
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

/* How far the cursor `to` is ahead of the cursor `from`, bytes; negative: `to` is before `from`.
 * Wrap counts have 16 bits: a difference of 0x8000 or more counts as negative. If the ring has no
 * known room, only the offsets count. */
int64_t smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to);

/* Reasons why a cursor is impossible. They are found by comparing the cursor with the element and
 * with an earlier cursor of the same kind and sender. */
typedef enum {
    SMCR_RING_FAULT_NONE,
    SMCR_RING_FAULT_OUTSIDE, /* the cursor points outside of the data of the element; the initial
                                value, wrap 0 and count 0, is no fault */
    SMCR_RING_FAULT_BACK,    /* the cursor is before the earlier cursor */
    SMCR_RING_FAULT_ROUND,   /* the cursor is more than a round ahead of the earlier cursor */
} smcr_ring_fault_t;

/* The fault of the cursor `now`. `before`: an earlier cursor of the same kind, producer or
 * consumer, and sender. */
smcr_ring_fault_t smcr_ring_fault(const smcr_ring_t *ring, smcr_cursor_t before, smcr_cursor_t now);

/* The first position at or after `position` whose offset in the element is `offset`. Returns
 * `position` if the size of the ring is not known, or if `offset` is before the first byte of
 * data. */
uint64_t smcr_ring_next_position(const smcr_ring_t *ring, uint64_t position, uint32_t offset);

/* The offset of a position in the element. The ring must have room (smcr_ring_room()). */
static inline uint32_t
smcr_ring_offset(const smcr_ring_t *ring, uint64_t position)
{
    return ring->base + (uint32_t)(position % smcr_ring_room(ring));
}

/* ---- streams ---- */

typedef struct smcr_place smcr_place_t;
typedef struct smcr_stream_announcement smcr_stream_announcement_t;

/* A CDC message of the reader that frees space. */
typedef struct {
    uint32_t frame; /* frame of the message; 0: none */
    const smcr_ack_t *const *acked; /* points to its acknowledgement, as `space_freed` of
                                       smcr_record_cdc_rare_t */
} smcr_stream_update_t;

#define SMCR_STREAM_UPDATES 4 /* number of these messages that are kept: the last ones */

/* Rarely set members of a stream, allocated on demand: the waits of its writer and reader
 * (flow/writes/window.c). */
typedef struct {
    bool is_blocked;          /* the writer's last CDC message reports that it is blocked, and the
                                 writer has sent no new data since then */
    bool is_full;             /* a message of the writer has filled the RMB element, and no captured
                                 message has freed space since */
    smcr_when_t blocked;      /* frame and time since which the writer is blocked; set with
                                 `is_blocked`; frame 0: not known */
    smcr_point_t full_at;     /* point in the flow from the reader at which the element became
                                 full */
    struct smcr_record_cdc_rare *wait; /* last wait of the writer for free space; NULL: none */
    smcr_point_t wait_at[2];  /* [0]: point in the flow from the writer at which the last wait
                                 began. [1]: likewise in the flow from the reader; but if no message
                                 has freed space since the wait before the last one
                                 (`previous_wait`), point at which that earlier wait began */
    smcr_stream_update_t updates[SMCR_STREAM_UPDATES]; /* the last messages of the reader that have
                                 freed space since this struct exists; the first one is the
                                 latest */
    uint64_t urgent;          /* position of the first byte after the last urgent data; 0: none */
    uint64_t urgent_uncertain; /* position up to which data may be urgent, since the CDC message
                                  with the urgent flag may be missing; 0: no such data */
} smcr_stream_stalls_t;

/* The byte stream of one direction. A position counts bytes from the beginning of the connection;
 * if that is not captured, from an assumed beginning. */
typedef struct {
    smcr_ring_t ring;    /* RMB element of the stream's receiver, as a ring */
    uint64_t written;    /* position up to which the receiver has taken in data of WRITEs */
    uint64_t positioned_end; /* position at which the next request begins, if no further packet is
                                missing: the end of the last located request, or a later producer
                                cursor, as far as missing WRITEs explain the step to this cursor. A
                                request is located when its position is known */
    uint64_t last_write_start; /* position of the first byte of the last located request, or
                                  position of the producer cursor of a later CDC message that
                                  announces all located requests */
    uint64_t announced;  /* position up to which a producer cursor has announced data */
    uint64_t consumed;   /* position up to which the reader has read, according to its consumer
                            cursor */
    smcr_cursor_t prod;  /* producer cursor at `announced` */
    smcr_cursor_t cons;  /* consumer cursor at `consumed` */
    bool positions_known; /* the positions `written` to `consumed` are known */
    bool may_rewrite;    /* the writer may write earlier data once more: a failover has moved the
                            stream to another link, and no request of new data was completed since.
                            Only data that was not acknowledged on the old link may be written once
                            more (4.6) */
    bool is_relative;    /* a tap shows the stream, and its positions count from the first
                            captured byte, or are assumed in another way */
    bool was_full;       /* the last CDC message that announced data has filled the RMB element */
    bool was_full_small; /* silly window: the last two CDC messages that announced data have filled
                            the RMB element, and the last one announced few bytes */
    uint16_t first_wrap; /* wrap count of the producer cursor with which smcr_stream_start_told()
                            has started the stream; 0 if another function has started it */
    uint32_t unannounced; /* circular list of WRITE packets that no CDC message has announced yet:
                             slab number (smcr_slab_entry()) of its tail; 0: none */
    smcr_stream_announcement_t *unread; /* announcements of data that the reader has not read yet:
                                           tail of a circular list; NULL: none */
    smcr_stream_stalls_t *stalls;  /* rarely set members; NULL: none */
} smcr_stream_t;

/* The piece of the stream that one WRITE packet carries. */
typedef struct {
    bool known;         /* `position` is known */
    uint64_t position;  /* position of the piece's first byte in the stream */
    uint32_t rewritten; /* number of bytes at the start of the piece that an earlier packet had
                           already written */
    uint64_t gap;       /* number of missing bytes before the piece: from the end of the data that
                           was written so far to the first byte of the piece */
} smcr_stream_range_t;

/* Starts the stream in an RMB element of `size` bytes whose data begins at offset `base`. */
void smcr_stream_start(smcr_stream_t *stream, uint32_t size, uint32_t base);

/* Starts the stream of a connection whose begin is not captured, in an element of unknown size
 * whose data begins at `base`. The stream has been written up to the cursor offset `count`; the
 * round of this cursor counts as the first one. The last `length` bytes have not been announced
 * yet. */
void smcr_stream_start_late(smcr_stream_t *stream, uint32_t count, uint32_t length, uint32_t base);

/* Returns whether the producer cursor `prod` gives a position in the stream. If the size of the
 * element is not known, only a cursor in the round of the stream's last producer cursor does; a
 * cursor in another round makes all later positions of the stream unknown. */
bool smcr_stream_can_announce(smcr_stream_t *stream, smcr_cursor_t prod);

/* The part of the element that a request writes to. */
typedef struct {
    uint32_t offset; /* offset of the first byte in the element, bytes */
    uint32_t length; /* length, bytes */
} smcr_stream_extent_t;

/* What may be missing in the capture between the last located request and the next request. */
typedef struct {
    uint64_t bytes; /* upper bound of the bytes that missing packets have written; UINT64_MAX: no
                       bound is known */
    bool reads_missing; /* messages of the reader may be missing, so the reader may have read more
                           than is known; needed only after a failover (`may_rewrite`) */
    bool reads_early; /* messages of the reader may come too early in the capture: before the data
                         that they report as read */
} smcr_stream_unseen_t;

/* Finds the position of a request in the stream. `extent`: the part of the element that the request
 * writes to. `unseen`: what may be missing before the request. A request begins where the last
 * request ended, with two exceptions: 1. packets between the two requests are missing; 2. data is
 * written once more after a failover.
 *
 * Returns false if the position is not known. There are four causes: 1. the bytes of a whole round
 * may be missing; 2. the size of the element is not known, and the request does not begin where the
 * last one ended; 3. the offset is in the eyecatcher; 4. after a failover, the request may be new
 * or a retransmission. (RFC 7609 4.4, 4.6) */
bool smcr_stream_locate(smcr_stream_t *stream, smcr_stream_extent_t extent,
                        smcr_stream_unseen_t unseen, uint64_t *position);

/* Highest position up to which data was written, according to WRITEs and to the producer cursor. */
static inline uint64_t
smcr_stream_end(const smcr_stream_t *stream)
{
    return MAX(MAX(stream->written, stream->positioned_end), stream->announced);
}

/* Finds the position of an older request, which the writer sent before the last located request.
 * `between`: upper bound of the number of bytes that the writer has sent from the start of the
 * older request up to the start of the last located request. Returns false if the position is not
 * known. */
bool smcr_stream_locate_earlier(const smcr_stream_t *stream, smcr_stream_extent_t extent,
                                uint64_t between, uint64_t *position);

/* Notes that a packet has written `length` bytes at `position`. Returns the piece of the stream
 * that the packet carries. */
smcr_stream_range_t smcr_stream_write(smcr_stream_t *stream, uint64_t position, uint32_t length);

/* Finds the position that is `before` bytes before the producer cursor `prod`. `prod`: a recent
 * cursor, less than 32,768 rounds from the last cursor that has announced data. The positions of
 * the stream have to be known. Returns false in two cases: 1. the size of the ring is not known; 2.
 * the cursor is in the eyecatcher, or less than `before` bytes after the start of the stream. */
bool smcr_stream_position_before(const smcr_stream_t *stream, smcr_cursor_t prod, uint32_t before,
                                 uint64_t *position);

/* As smcr_stream_position_before(), but for a cursor that came before the positions of the stream
 * were known. Returns false also if the wrap count has begun anew in between: the position is not
 * known then. */
bool smcr_stream_position_before_start(const smcr_stream_t *stream, smcr_cursor_t prod,
                                       uint32_t before, uint64_t *position);

/* Starts the stream of a connection that began before the capture. `ring`: its element. `prod` and
 * `cons`: cursors up to which the stream was written and read. If the positions are known already,
 * only the size of the element is set. */
void smcr_stream_start_told(smcr_stream_t *stream, smcr_ring_t ring, smcr_cursor_t prod,
                            smcr_cursor_t cons);

/* Moves `announced` of the stream forward to the producer cursor `prod`. Returns the number of
 * bytes that the cursor newly announces; negative: the cursor goes back, and nothing changes. */
int64_t smcr_stream_announce(smcr_stream_t *stream, smcr_cursor_t prod);

/* Moves `consumed` of the stream forward to the consumer cursor `cons`. Returns the number of bytes
 * that were newly read; negative: the cursor goes back, and nothing changes. */
int64_t smcr_stream_consume(smcr_stream_t *stream, smcr_cursor_t cons);

/* Number of bytes that are announced and that the reader has not read. */
static inline uint64_t
smcr_stream_unread(const smcr_stream_t *stream)
{
    return stream->announced > stream->consumed ? stream->announced - stream->consumed : 0;
}

/* Space in the element that is free for the writer, bytes; 0: none, or the size is not known. */
uint64_t smcr_stream_free(const smcr_stream_t *stream);
