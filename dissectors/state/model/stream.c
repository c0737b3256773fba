/* Keeps up to which position a stream has been written, announced and read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "stream.h"

/* ---- rings ---- */

int64_t
smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to)
{
    int16_t wraps = (int16_t)(uint16_t)(to.wrap - from.wrap);

    return wraps * (int64_t)smcr_ring_room(ring) + to.count - from.count;
}

/* Whether a cursor points outside of the data of its element. If the size of the element is not
 * known, only a cursor beyond the largest size that CLC can announce is outside. The initial cursor
 * 0 counts as inside, even if the data begins after an eyecatcher. */
static bool
is_outside(const smcr_ring_t *ring, smcr_cursor_t cursor)
{
    if (!cursor.wrap && !cursor.count)
        return false;
    if (!ring->size)
        return cursor.count >= smcr_bsize_to_bytes(SMCR_BSIZE_512M);
    return cursor.count < ring->base || cursor.count >= ring->size;
}

/* A cursor with several faults gets the first one in the order of these tests. */
smcr_ring_fault_t
smcr_ring_fault(const smcr_ring_t *ring, smcr_cursor_t before, smcr_cursor_t now)
{
    int16_t wraps = (int16_t)(uint16_t)(now.wrap - before.wrap);

    if (wraps < 0 || (wraps == 0 && now.count < before.count))
        return SMCR_RING_FAULT_BACK;
    if (is_outside(ring, now))
        return SMCR_RING_FAULT_OUTSIDE;
    if (wraps > 1 || (wraps == 1 && now.count > before.count))
        return SMCR_RING_FAULT_ROUND;
    return SMCR_RING_FAULT_NONE;
}

/* The result is less than one round after `position`. Positions count the bytes of the stream and
 * never wrap; offsets count from the begin of the element, with the eyecatcher. */
uint64_t
smcr_ring_next_position(const smcr_ring_t *ring, uint64_t position, uint32_t offset)
{
    uint32_t room = smcr_ring_room(ring);

    if (room == 0 || offset < ring->base)
        return position;
    uint32_t here = (uint32_t)(position % room);
    uint32_t there = (offset - ring->base) % room;
    return position + (there >= here ? there - here : room - here + there);
}

/* ---- streams ---- */

/* The first `base` bytes of an element are the eyecatcher, and are no data: both cursors begin
 * after them. An element that is not larger than `base` has no positions. */
void
smcr_stream_start(smcr_stream_t *stream, uint32_t size, uint32_t base)
{
    *stream = (smcr_stream_t){
        .positions_known = size > base,
        .ring = {size, base},
        .prod = {0, base},
        .cons = {0, base},
    };
}

/* Position 0 is the first byte of the round in which `count` is. As long as the size of the element
 * is not known, the stream has positions in this round only (smcr_stream_can_announce()). */
void
smcr_stream_start_late(smcr_stream_t *stream, uint32_t count, uint32_t length, uint32_t base)
{
    uint32_t written = count - base;

    *stream = (smcr_stream_t){
        .positions_known = true,
        .ring = {0, base},
        .written = written,
        .positioned_end = written,
        .last_write_start = written - length,
        .announced = written - length,
        .prod = {0, count - length},
        .cons = {0, base},
    };
}

/* The lowest position at which the next request can write: the end of all bytes that are written,
 * located, read or announced, even if their packets are missing. `unseen`: upper bound of the bytes
 * that missing packets before the request have written. If `unseen` is 0, cursors do not count,
 * since the capture may have a CDC message before the data that it announces. After a failover
 * (`may_rewrite`) the producer cursor does not count, since announced data may be written once
 * more. */
static uint64_t
earliest(const smcr_stream_t *stream, uint64_t unseen)
{
    uint64_t consumed = unseen ? stream->consumed : 0;
    uint64_t done = MAX(MAX(consumed, stream->written), stream->positioned_end);

    return stream->may_rewrite || !unseen ? done : MAX(done, stream->announced);
}

/* Finds the position of a request after a failover. The request writes either new data, at
 * `*position`, or data that was sent on the old link, one round before `*position`. The data is new
 * in two cases: 1. `*position` is in the first round; 2. `*position` is `next`, and the data fits
 * into the free space. Otherwise one round is subtracted from `*position`. `next`: end of the data
 * before the request (earliest_of_request()). Returns false if missing packets leave open which
 * case it is; `*position` means nothing then. (RFC 7609 4.6.1) */
static bool
locate_moved(const smcr_stream_t *stream, smcr_stream_extent_t extent, uint64_t next,
             smcr_stream_unseen_t unseen, uint64_t *position)
{
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t forward = *position;
    bool fits = forward + extent.length <= stream->consumed + room;
    bool goes_on = forward < room || (forward == next && fits);

    if (!goes_on)
        *position = forward - room;
    if (forward < room)
        return true;
    return !unseen.reads_missing && (goes_on || !fits || unseen.bytes == 0);
}

/* Whether the position of the request may also be one round later, since the bytes of a whole round
 * may be missing before the request. `skipped`: number of bytes that the request skips if it is not
 * one round later. False if the size of the ring is not known: such a ring is used in its first
 * round only. */
static bool
may_be_round_later(const smcr_stream_t *stream, smcr_stream_unseen_t unseen, uint64_t skipped)
{
    uint32_t room = smcr_ring_room(&stream->ring);

    return unseen.bytes && room && unseen.bytes >= skipped + room;
}

/* The lowest position at which this request can write. If messages of the reader may come too early
 * in the capture (`reads_early`), and the request would skip more bytes than can be missing,
 * cursors do not count. */
static uint64_t
earliest_of_request(const smcr_stream_t *stream, smcr_stream_extent_t extent,
                    smcr_stream_unseen_t unseen)
{
    uint64_t seen = earliest(stream, 0), next = earliest(stream, unseen.bytes);
    uint64_t forward = smcr_ring_next_position(&stream->ring, next, extent.offset);
    bool stands_too_early =
        unseen.reads_early && !stream->may_rewrite && forward - seen > unseen.bytes;

    return stands_too_early ? seen : next;
}

/* A request writes at the lowest possible position that has its offset in the element. Examples, in
 * a ring of 100 bytes whose positions before 130 are written: the request with offset 30 is at
 * position 130; the request with offset 20 is at position 220, 90 bytes later. If 190 bytes may be
 * missing, the request with offset 20 may also be at position 320, so its position is not known. */
bool
smcr_stream_locate(smcr_stream_t *stream, smcr_stream_extent_t extent, smcr_stream_unseen_t unseen,
                   uint64_t *position)
{
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t next = earliest_of_request(stream, extent, unseen);
    uint64_t forward = smcr_ring_next_position(&stream->ring, next, extent.offset);

    if (extent.offset < stream->ring.base) /* the eyecatcher does not belong to the stream */
        return false;
    if (room == 0 && extent.offset != next + stream->ring.base) {
        stream->positions_known = false;
        return false;
    }
    *position = forward;
    if (stream->may_rewrite && !locate_moved(stream, extent, next, unseen, position))
        return false;
    if (!stream->may_rewrite && may_be_round_later(stream, unseen, forward - next))
        return false;
    stream->last_write_start = *position;
    stream->positioned_end = *position + extent.length;
    return true;
}

/* The offset gives the position within a round, but not the round. So the result is known only if
 * exactly one position with this offset is at most `between` bytes before the last located
 * request. */
bool
smcr_stream_locate_earlier(const smcr_stream_t *stream, smcr_stream_extent_t extent,
                           uint64_t between, uint64_t *position)
{
    uint32_t room = smcr_ring_room(&stream->ring);

    if (room == 0 || extent.offset < stream->ring.base)
        return false;
    uint64_t end = (uint64_t)extent.offset - stream->ring.base + extent.length;
    if (end > room)
        return false;
    uint64_t back = (stream->last_write_start % room + room - end % room) % room;
    if (back > between || back + room <= between || stream->last_write_start < back + extent.length)
        return false;
    *position = stream->last_write_start - back - extent.length;
    return true;
}

/* `written` never decreases. */
smcr_stream_range_t
smcr_stream_write(smcr_stream_t *stream, uint64_t position, uint32_t length)
{
    uint64_t end = position + length;
    smcr_stream_range_t piece = {.known = true, .position = position};

    if (position > stream->written)
        piece.gap = position - stream->written;
    else
        piece.rewritten = (uint32_t)(end < stream->written ? length : stream->written - position);
    if (end > stream->written) {
        stream->written = end;
        stream->may_rewrite &= end < stream->positioned_end; /* data may be written once more until
                                                                new data has filled the stream up to
                                                                `positioned_end` */
    }
    return piece;
}

/* The position of the offset `count`, which is in the data of the element, in the round with the
 * number `round`, from 0. */
static uint64_t
position_in_round(const smcr_ring_t *ring, uint64_t round, uint32_t count)
{
    return round * smcr_ring_room(ring) + count - ring->base;
}

/* Sets `*position` to the position that is `before` bytes before the position `end` of the cursor
 * `prod`. Returns false as smcr_stream_position_before() does. */
static bool
go_back(const smcr_ring_t *ring, smcr_cursor_t prod, int64_t end, uint32_t before,
        uint64_t *position)
{
    *position = (uint64_t)end - before;
    return smcr_ring_room(ring) && prod.count >= ring->base && end >= before;
}

/* The wrap count has 16 bits. So the distance from the last producer cursor counts: it is right as
 * long as the two cursors are less than 32,768 rounds apart. */
bool
smcr_stream_position_before(const smcr_stream_t *stream, smcr_cursor_t prod, uint32_t before,
                            uint64_t *position)
{
    int64_t end =
        (int64_t)stream->announced + smcr_ring_distance(&stream->ring, stream->prod, prod);

    return go_back(&stream->ring, prod, end, before, position);
}

/* The stream may have gone on by any number of rounds since. So the round is counted from the one
 * in which the stream started (`first_wrap`). */
bool
smcr_stream_position_before_start(const smcr_stream_t *stream, smcr_cursor_t prod, uint32_t before,
                                  uint64_t *position)
{
    int16_t rounds = (int16_t)(uint16_t)(prod.wrap - stream->first_wrap);
    int64_t round = stream->first_wrap + rounds;

    if (round < 0 || prod.count < stream->ring.base)
        return false;
    uint64_t end = position_in_round(&stream->ring, (uint64_t)round, prod.count);
    return go_back(&stream->ring, prod, (int64_t)end, before, position);
}

/* The initial cursor 0 is where data begins, even after an eyecatcher. */
static smcr_cursor_t
cursor_in_data(const smcr_ring_t *ring, smcr_cursor_t cursor)
{
    return (smcr_cursor_t){cursor.wrap, MAX(cursor.count, ring->base)};
}

/* The wrap count of `prod` may have begun anew since `cons`: then `prod` is 65,536 rounds later
 * than its wrap count says. */
void
smcr_stream_start_told(smcr_stream_t *stream, smcr_ring_t ring, smcr_cursor_t prod,
                       smcr_cursor_t cons)
{
    if (stream->positions_known) {
        stream->ring.size = ring.size;
        return;
    }
    stream->ring = ring;
    stream->prod = cursor_in_data(&ring, prod);
    stream->cons = cursor_in_data(&ring, cons);
    stream->first_wrap = prod.wrap;
    int64_t unread = smcr_ring_distance(&ring, stream->cons, stream->prod);
    stream->consumed = position_in_round(&ring, cons.wrap, stream->cons.count);
    stream->announced = unread >= 0 ? stream->consumed + (uint64_t)unread
                                    : position_in_round(&ring, prod.wrap, stream->prod.count);
    stream->written = stream->positioned_end = stream->last_write_start = stream->announced;
    stream->positions_known = smcr_ring_room(&ring) != 0;
}

bool
smcr_stream_can_announce(smcr_stream_t *stream, smcr_cursor_t prod)
{
    if (smcr_ring_room(&stream->ring) == 0 && prod.wrap != stream->prod.wrap)
        stream->positions_known = false;
    return stream->positions_known;
}

/* Moves `*cursor` forward to `next`, and adds the step to `*position`. Returns the step in bytes;
 * if it is negative, nothing moves. */
static int64_t
advance(const smcr_ring_t *ring, smcr_cursor_t *cursor, uint64_t *position, smcr_cursor_t next)
{
    int64_t step = smcr_ring_distance(ring, *cursor, next);

    if (step >= 0) {
        *position += (uint64_t)step;
        *cursor = next;
    }
    return step;
}

int64_t
smcr_stream_announce(smcr_stream_t *stream, smcr_cursor_t prod)
{
    return advance(&stream->ring, &stream->prod, &stream->announced, prod);
}

int64_t
smcr_stream_consume(smcr_stream_t *stream, smcr_cursor_t cons)
{
    return advance(&stream->ring, &stream->cons, &stream->consumed, cons);
}

uint64_t
smcr_stream_free(const smcr_stream_t *stream)
{
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t unread = smcr_stream_unread(stream);

    return unread < room ? room - unread : 0;
}
