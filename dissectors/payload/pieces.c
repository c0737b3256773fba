/* pieces.c
 * Keeps the runs of bytes that are there, and the bytes themselves without the holes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "pieces.h"

#include <string.h>

#define EFFORT_MIN (UINT64_C(1) << 30)
#define EFFORT_PER_BYTE 16

typedef struct {
    uint64_t start, end; /* positions in the stream */
} run_t;

static run_t *
run_at(const smcr_pieces_t *pieces, unsigned i)
{
    return &g_array_index(pieces->runs, run_t, i);
}

void
smcr_pieces_start(smcr_pieces_t *pieces)
{
    *pieces = (smcr_pieces_t){.runs = g_array_new(FALSE, FALSE, sizeof(run_t))};
}

void
smcr_pieces_end(smcr_pieces_t *pieces)
{
    g_array_free(pieces->runs, TRUE);
    pieces->runs = NULL;
}

/* The first run that ends behind `position`, and in `*offset` where among the bytes it begins. It
 * is looked for from the end: pieces come in order, with few exceptions. */
static unsigned
find_run(smcr_pieces_t *pieces, uint64_t position, size_t *offset)
{
    unsigned i = pieces->runs->len;

    *offset = pieces->length;
    while (i > 0 && run_at(pieces, i - 1)->end > position) {
        i--;
        pieces->effort += sizeof(run_t);
        *offset -= (size_t)(run_at(pieces, i)->end - run_at(pieces, i)->start);
    }
    return i;
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

/* The bytes of [start, end) are there now, before those of run `i`. */
static void
insert_run(smcr_pieces_t *pieces, unsigned i, uint64_t start, uint64_t end)
{
    run_t run = {start, end};

    if (i > 0 && run_at(pieces, i - 1)->end == start)
        run_at(pieces, --i)->end = end;
    else
        g_array_insert_val(pieces->runs, i, run);
    if (i + 1 < pieces->runs->len && run_at(pieces, i + 1)->start == end) {
        run_at(pieces, i)->end = run_at(pieces, i + 1)->end;
        g_array_remove_index(pieces->runs, i + 1);
    }
}

/* How many of `length` bytes at `position` are given up: making room for them between others would
 * cost more and more the longer the stream is, and has cost enough. At its end they cost little. */
static size_t
given_up(const smcr_pieces_t *pieces, uint64_t position, size_t length)
{
    unsigned runs = pieces->runs->len;
    uint64_t last = runs ? run_at(pieces, runs - 1)->end : 0;

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
        unsigned i = find_run(pieces, position, &offset);
        const run_t *next = i < pieces->runs->len ? run_at(pieces, i) : NULL;
        bool there = next && next->start <= position;
        uint64_t until = there ? next->end : next ? next->start : UINT64_MAX;
        size_t part = until - position < length ? (size_t)(until - position) : length;

        if (!there) {
            insert_bytes(pieces, offset, bytes, part);
            insert_run(pieces, i, position, position + part);
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
