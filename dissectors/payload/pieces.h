/* The bytes of one direction of a connection, sorted by stream position. Callers may add the bytes
 * in any order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"

/* The bytes of one direction that have been added so far. All zeros: none. */
typedef struct {
    smcr_ranges_t runs; /* stream positions of the added bytes */
    uint64_t known_end; /* the stream has at least the bytes before this position */
    uint8_t *bytes;     /* bytes of all runs, one run after the other; from g_malloc; NULL: none */
    size_t length;      /* number of bytes in `bytes` */
    size_t capacity;    /* allocated size of `bytes`, in bytes */
    uint64_t effort;    /* cost so far of inserting bytes between others: number of bytes moved and
                           runs looked at */
} smcr_pieces_t;

/* Adds `length` bytes at `position`, counted from the beginning of the stream. At positions that
 * have bytes already, the earlier bytes stay. If the insertion between other bytes would cost too
 * much time, the new bytes are not added and stay missing. `bytes` may be NULL if `length` is 0. */
void smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length);

/* Replaces `length` bytes at `position` that have been added. Bytes that are not there, or not all
 * in one run, are not added or replaced. */
void smcr_pieces_replace(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes,
                         size_t length);

/* Notes that the stream has at least `end` bytes. */
void smcr_pieces_note_end(smcr_pieces_t *pieces, uint64_t end);

/* Returns how many bytes before pieces->known_end have not been added. */
uint64_t smcr_pieces_missing(const smcr_pieces_t *pieces);

/* Frees the members of `pieces` except `bytes`, which the caller frees with g_free(). */
void smcr_pieces_end(smcr_pieces_t *pieces);
