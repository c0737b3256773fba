/* Keeps the runs of bytes that are there, and the bytes themselves without the holes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "pieces.h"

#define EFFORT_MIN (UINT64_C(1) << 30)
#define EFFORT_PER_BYTE 16
#define EFFORT_PER_RUN 16

void
smcr_pieces_end(smcr_pieces_t *pieces)
{
    wmem_free(NULL, pieces->runs.list);
}

/* The first run that ends behind `position`, NULL: none does, and in `*offset` where among the
 * bytes it begins. It is looked for from the end: pieces come in order, with few exceptions. */
static const smcr_range_t *
find_run(smcr_pieces_t *pieces, uint64_t position, size_t *offset)
{
    const smcr_range_t *run = NULL;

    *offset = pieces->length;
    for (unsigned i = pieces->runs.count; i-- > 0 && pieces->runs.list[i].to > position;) {
        run = &pieces->runs.list[i];
        pieces->effort += EFFORT_PER_RUN;
        *offset -= (size_t)(run->to - run->from);
    }
    return run;
}

static void
insert_bytes(smcr_pieces_t *pieces, size_t offset, const uint8_t *bytes, size_t length)
{
    if (pieces->capacity - pieces->length < length) {
        pieces->capacity = MAX(pieces->length + length, 2 * pieces->capacity);
        pieces->bytes = g_realloc(pieces->bytes, pieces->capacity);
    }
    pieces->effort += pieces->length - offset;
    memmove(pieces->bytes + offset + length, pieces->bytes + offset, pieces->length - offset);
    memcpy(pieces->bytes + offset, bytes, length);
    pieces->length += length;
}

/* How many of `length` bytes at `position` are given up: making room for them between others would
 * cost more and more the longer the stream is, and has cost enough. At its end they cost little. */
static size_t
given_up(const smcr_pieces_t *pieces, uint64_t position, size_t length)
{
    unsigned runs = pieces->runs.count;
    uint64_t last = runs ? pieces->runs.list[runs - 1].to : 0;

    if (pieces->effort <= EFFORT_MIN + EFFORT_PER_BYTE * pieces->length || position >= last)
        return 0;
    return last - position < length ? (size_t)(last - position) : length;
}

void
smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length)
{
    smcr_pieces_reach(pieces, position + length);
    if (length == 0) /* then there may be no `bytes`, either */
        return;
    size_t without = given_up(pieces, position, length);
    position += without;
    bytes += without;
    length -= without;
    while (length > 0) {
        size_t offset;
        const smcr_range_t *next = find_run(pieces, position, &offset);
        bool there = next && next->from <= position;
        uint64_t until = there ? next->to : next ? next->from : UINT64_MAX;
        size_t part = until - position < length ? (size_t)(until - position) : length;

        if (!there) {
            insert_bytes(pieces, offset, bytes, part);
            smcr_ranges_add(&pieces->runs, NULL, UINT_MAX, position, position + part);
        }
        position += part;
        bytes += part;
        length -= part;
    }
}

void
smcr_pieces_reach(smcr_pieces_t *pieces, uint64_t end)
{
    pieces->end = MAX(pieces->end, end);
}

uint64_t
smcr_pieces_missing(const smcr_pieces_t *pieces)
{
    return pieces->end - pieces->length;
}
