/* Fuzzes rings and byte streams: writes and cursors with any number in them. Positions never go
 * back, and what the functions say of a step fits what they have changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "input.h"
#include "state/model/stream.h"

#define STEPS_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_ring(const smcr_ring_t *ring, uint64_t position, uint32_t offset)
{
    uint32_t room = smcr_ring_room(ring);
    uint64_t next = smcr_ring_next_position(ring, position, offset);

    require(room <= ring->size);
    require(next >= position);
    require(next - position < (room ? room : 1U));
    if (room && offset >= ring->base)
        require(next % room == (offset - ring->base) % room);
    else
        require(next == position);
}

/* Walking back is walking forward, but for the one distance that is its own opposite. */
static void
check_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to)
{
    int64_t ahead = smcr_ring_distance(ring, from, to);

    if ((uint16_t)(to.wrap - from.wrap) != 0x8000)
        require(smcr_ring_distance(ring, to, from) == -ahead);
    require(smcr_ring_distance(ring, from, from) == 0);
}

/* What was sent before lies at or before what was located last, and at its offset. */
static void
check_old(const smcr_stream_t *stream, input_t *input)
{
    smcr_stream_extent_t extent = {input_extreme(input), input_extreme(input)};
    uint32_t room = smcr_ring_room(&stream->ring);
    uint64_t position;

    if (!smcr_stream_locate_earlier(stream, extent, input_extreme(input), &position))
        return;
    require(position + extent.length <= stream->last_write_start);
    require(position % room == (extent.offset - stream->ring.base) % room);
}

static void
write_piece(smcr_stream_t *stream, input_t *input)
{
    uint32_t offset = input_extreme(input);
    uint32_t length = input_extreme(input);
    uint32_t room = smcr_ring_room(&stream->ring);

    check_ring(&stream->ring, stream->written, offset);
    uint64_t written = stream->written, position;
    uint64_t unseen = input_pick(input, 4) ? 0 : input_extreme(input);
    smcr_stream_unseen_t lacks = {unseen, input_pick(input, 2) == 0, input_pick(input, 2) == 0};
    if (!smcr_stream_locate(stream, (smcr_stream_extent_t){offset, length}, lacks, &position))
        return;
    require(position + (stream->may_rewrite ? room : 0U) >= written);
    check_old(stream, input);
    smcr_stream_range_t piece = smcr_stream_write(stream, position, length);
    require(piece.known && piece.position == position);
    require(piece.rewritten <= length);
    require(piece.gap == 0 || piece.rewritten == 0);
    require(stream->written >= written);
    require(stream->written == MAX(written, position + length));
    require(piece.gap == (position > written ? position - written : 0));
    if (piece.rewritten < length)
        require(position + piece.rewritten + piece.gap >= written);
}

static smcr_cursor_t
pick_cursor(input_t *input, smcr_cursor_t before)
{
    uint8_t how = input_byte(input);

    return (smcr_cursor_t){
        (uint16_t)(how & 0x80 ? input_number(input, 2) : before.wrap + (how >> 5 & 1)),
        how & 0x40 ? input_extreme(input) : before.count + (how & 0x1fU),
    };
}

static void
move_cursor(smcr_stream_t *stream, input_t *input, bool producer)
{
    smcr_cursor_t *kept = producer ? &stream->prod : &stream->cons;
    uint64_t *position = producer ? &stream->announced : &stream->consumed;
    smcr_cursor_t before = *kept;
    smcr_cursor_t now = pick_cursor(input, before);
    uint64_t was = *position;

    check_distance(&stream->ring, before, now);
    int64_t step = producer ? smcr_stream_announce(stream, now) : smcr_stream_consume(stream, now);
    require(step == smcr_ring_distance(&stream->ring, before, now));
    require(*position == was + (uint64_t)MAX(step, 0));
    require(step >= 0 || (kept->wrap == before.wrap && kept->count == before.count));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t input = {data, size};
    smcr_stream_t stream;
    uint32_t element = input_extreme(&input);
    uint32_t base = input_pick(&input, 4) == 0 ? input_extreme(&input) : 4 * (element & 1);

    smcr_stream_start(&stream, element, base);
    require(stream.positions_known == (element > base));
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++) {
        uint8_t what = input_byte(&input);
        if (what & 0x10)
            stream.may_rewrite = true;
        if (what % 4 < 2)
            write_piece(&stream, &input);
        else
            move_cursor(&stream, &input, what % 4 == 2);
        uint32_t room = smcr_ring_room(&stream.ring);
        require(smcr_stream_free(&stream) <= room);
        require(smcr_stream_free(&stream) == 0 ||
                smcr_stream_free(&stream) + smcr_stream_unread(&stream) == room);
    }
    return 0;
}
