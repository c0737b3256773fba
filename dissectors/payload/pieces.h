/* The bytes of one direction of a connection, put in the order of the stream, whatever the order
 * in which they came.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"

/* The bytes of one direction, as far as they have come. All zeros: none has. */
typedef struct {
    smcr_ranges_t runs; /* positions of the bytes that have come */
    uint64_t known_end; /* position after the last byte that the stream is known to have */
    uint8_t *bytes;     /* of all runs, one after the other; g_malloc; NULL: none */
    size_t length;      /* bytes in `bytes` */
    size_t capacity;    /* bytes that `bytes` has room for */
    uint64_t effort;    /* bytes moved or looked at so far to make room between others */
} smcr_pieces_t;

/* Adds `length` bytes at `position`, counted from the beginning of the stream. Bytes that have come
 * before stay as they are. Bytes for which room would cost too much are not kept: they count as
 * missing. `bytes` may be NULL if `length` is 0. */
void smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length);

/* Notes that the stream has bytes up to the position `end`. */
void smcr_pieces_note_end(smcr_pieces_t *pieces, uint64_t end);

/* Returns how many bytes before the end of the stream have not come. */
uint64_t smcr_pieces_missing(const smcr_pieces_t *pieces);

/* Frees everything but `bytes`, which the caller frees with g_free(). */
void smcr_pieces_end(smcr_pieces_t *pieces);
