/* stream.c
 * Keeps how far a stream has been written, announced and read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "stream.h"

void
smcr_stream_start(smcr_stream_t *stream, uint32_t size, uint32_t base)
{
    *stream = (smcr_stream_t){
        .known = size > base,
        .ring = {size, base},
        .prod = {0, base},
        .cons = {0, base},
    };
}

void
smcr_stream_start_late(smcr_stream_t *stream, uint32_t written, uint32_t length)
{
    *stream = (smcr_stream_t){
        .known = true,
        .written = written,
        .announced = written - length,
        .prod = {0, written - length},
    };
}

/* What comes next is not before this: bytes that were read, or rounds that were announced, have
 * been written, even if the capture lacks them. */
static uint64_t
earliest(const smcr_stream_t *stream)
{
    uint64_t done = stream->consumed > stream->written ? stream->consumed : stream->written;

    return stream->announced > done + smcr_ring_room(&stream->ring) ? stream->announced : done;
}

void
smcr_stream_move(smcr_stream_t *stream)
{
    stream->moved = true;
}

bool
smcr_stream_locate(smcr_stream_t *stream, uint32_t offset, uint32_t length, uint64_t *position)
{
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t next = earliest(stream);
    uint64_t forward = smcr_ring_next(&stream->ring, next, offset);
    bool fits = forward + length <= stream->consumed + room;

    stream->known = room || offset == next;
    if (!stream->moved || forward < room || (forward == next && fits))
        *position = forward;
    else
        *position = forward - room;
    return stream->known;
}

smcr_piece_t
smcr_stream_write(smcr_stream_t *stream, uint64_t position, uint32_t length)
{
    uint64_t end = position + length;
    smcr_piece_t piece = {.known = true, .position = position};

    if (position > stream->written)
        piece.gap = position - stream->written;
    else
        piece.rewritten = (uint32_t)(end < stream->written ? length : stream->written - position);
    if (end > stream->written) {
        stream->written = end;
        stream->moved = false;
    }
    return piece;
}

bool
smcr_stream_can_announce(smcr_stream_t *stream, smcr_cursor_t prod)
{
    if (smcr_ring_room(&stream->ring) == 0 && prod.wrap != stream->prod.wrap)
        stream->known = false;
    return stream->known;
}

bool
smcr_stream_can_consume(const smcr_stream_t *stream, smcr_cursor_t cons)
{
    return smcr_ring_room(&stream->ring) || cons.wrap == stream->cons.wrap;
}

int64_t
smcr_stream_announce(smcr_stream_t *stream, smcr_cursor_t prod)
{
    int64_t step = smcr_ring_distance(&stream->ring, stream->prod, prod);

    if (step < 0)
        return step;
    stream->announced += (uint64_t)step;
    stream->prod = prod;
    return step;
}

int64_t
smcr_stream_consume(smcr_stream_t *stream, smcr_cursor_t cons)
{
    int64_t step = smcr_ring_distance(&stream->ring, stream->cons, cons);

    if (step < 0)
        return step;
    stream->consumed += (uint64_t)step;
    stream->cons = cons;
    return step;
}

uint64_t
smcr_stream_unread(const smcr_stream_t *stream)
{
    return stream->announced > stream->consumed ? stream->announced - stream->consumed : 0;
}

uint64_t
smcr_stream_free(const smcr_stream_t *stream)
{
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t unread = smcr_stream_unread(stream);

    return unread < room ? room - unread : 0;
}
