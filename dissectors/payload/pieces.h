/* The bytes of one direction of a connection, put in the order of the stream, whatever the order
 * in which they came.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"

/* All zeros: nothing is there yet. */
typedef struct {
    smcr_ranges_t runs; /* what is there */
    uint64_t end;    /* of what is known to be in the stream, there or not */
    uint8_t *bytes;  /* of all runs, one after the other; g_malloc */
    size_t length;   /* of them */
    size_t capacity;
    uint64_t effort; /* bytes that were moved or looked at to find room between others */
} smcr_pieces_t;

/* `bytes` are at `position`, counted from the beginning of the stream. What is there already
 * stays as it is. Where room between others has cost too much, they count as missing. */
void smcr_pieces_add(smcr_pieces_t *pieces, uint64_t position, const uint8_t *bytes, size_t length);

/* The stream is known to go on up to `end`. */
void smcr_pieces_reach(smcr_pieces_t *pieces, uint64_t end);

/* How many bytes before the end are not there. */
uint64_t smcr_pieces_missing(const smcr_pieces_t *pieces);

/* Frees all but the bytes. */
void smcr_pieces_end(smcr_pieces_t *pieces);
