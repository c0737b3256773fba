/* Keeps the bytes of a stream that have been added: their positions as runs (ranges of positions),
 * and the bytes of all runs in one buffer, one run directly after the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "pieces.h"

/* Upper bound of smcr_pieces_t.effort: EFFORT_MIN, plus EFFORT_PER_BYTE for each byte that has been
 * added. */
#define EFFORT_MIN (UINT64_C(1) << 30)
#define EFFORT_PER_BYTE 16
#define EFFORT_PER_RUN 16 /* effort of looking at a run; moving a byte has the effort 1 */

void
smcr_pieces_end(smcr_pieces_t *pieces)
{
    wmem_free(NULL, pieces->runs.list);
}

/* Returns the first run that ends after `position`; NULL: no run ends after `position`. Sets
 * `*offset` to the offset of the run's bytes in the buffer. The search begins at the last run,
 * since bytes mostly come in order. Its cost is added to `effort`. */
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

/* Makes room in the buffer at `offset`, and copies the bytes there. Adds the number of bytes that
 * have to move to `pieces->effort`. */
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

/* Returns how many of `length` bytes at `position` are not kept, because their insertion would cost
 * too much. An insertion moves all bytes after the inserted ones. The total effort of a stream has
 * an upper bound. Above the bound, only bytes at the end of the stream are kept, because they move
 * no other bytes. */
static size_t
bytes_given_up(const smcr_pieces_t *pieces, uint64_t position, size_t length)
{
    unsigned runs = pieces->runs.count;
    uint64_t last = runs ? pieces->runs.list[runs - 1].to : 0;

    if (pieces->effort <= EFFORT_MIN + EFFORT_PER_BYTE * pieces->length || position >= last)
        return 0;
    return last - position < length ? (size_t)(last - position) : length;
}

/* Returns the end of the first part of the bytes: the part has either only bytes that are kept
 * already, or only new bytes. `is_kept`: the run `next` has the first byte; the part then ends with
 * this run. Otherwise the part ends at the beginning of `next`. `next` NULL: no run comes after the
 * bytes, so the result is UINT64_MAX. */
static uint64_t
end_of_part(const smcr_range_t *next, bool is_kept)
{
    if (is_kept)
        return next->to;
    return next ? next->from : UINT64_MAX;
}

/* The end is noted for bytes that are given up, too: they then show as missing. */
void
smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length)
{
    smcr_pieces_note_end(pieces, position + length);
    if (length == 0) /* without new bytes `bytes` may be NULL, so nothing is copied */
        return;
    size_t without = bytes_given_up(pieces, position, length);
    position += without;
    bytes += without;
    length -= without;
    while (length > 0) {
        size_t offset;
        const smcr_range_t *next = find_run(pieces, position, &offset);
        bool is_kept = next && next->from <= position; /* the first byte is kept already */
        uint64_t until = end_of_part(next, is_kept);
        size_t part = until - position < length ? (size_t)(until - position) : length;

        if (!is_kept) {
            insert_bytes(pieces, offset, bytes, part);
            smcr_ranges_add(&pieces->runs, NULL, UINT_MAX, position, position + part);
        }
        position += part;
        bytes += part;
        length -= part;
    }
}

/* All or nothing: bytes of two runs are not replaced. */
void
smcr_pieces_replace(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length)
{
    size_t offset;
    const smcr_range_t *run = find_run(pieces, position, &offset);

    if (run && run->from <= position && run->to - position >= length)
        memcpy(pieces->bytes + offset + (size_t)(position - run->from), bytes, length);
}

void
smcr_pieces_note_end(smcr_pieces_t *pieces, uint64_t end)
{
    pieces->known_end = MAX(pieces->known_end, end);
}

uint64_t
smcr_pieces_missing(const smcr_pieces_t *pieces)
{
    return pieces->known_end - pieces->length;
}
