/* The bytes of one direction of a connection, sorted by stream position, in whatever order they
 * come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"

/* The bytes of one direction that have come so far. All zeros: none. */
typedef struct {
    smcr_ranges_t runs; /* positions of the bytes that have come */
    uint64_t known_end; /* highest known end of the stream: a position */
    uint8_t *bytes;     /* bytes of all runs, one run after the other; from g_malloc; NULL: none */
    size_t length;      /* bytes in `bytes` */
    size_t capacity;    /* allocated size of `bytes` */
    uint64_t effort;    /* bytes moved and runs looked at so far to insert bytes between others */
} smcr_pieces_t;

/* Adds `length` bytes at `position`, counted from the beginning of the stream. Bytes that have come
 * before do not change. Bytes whose insertion would cost too much are not kept: they count as
 * missing. `bytes` may be NULL if `length` is 0. */
void smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length);

/* Notes that the stream has bytes up to the position `end`. */
void smcr_pieces_note_end(smcr_pieces_t *pieces, uint64_t end);

/* Returns how many bytes below the known end of the stream have not come. */
uint64_t smcr_pieces_missing(const smcr_pieces_t *pieces);

/* Frees everything but `bytes`, which the caller frees with g_free(). */
void smcr_pieces_end(smcr_pieces_t *pieces);
