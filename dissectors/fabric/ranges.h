/* A set of numbers as ranges in ascending order, none of which overlaps another: absent PSNs, bytes
 * of a stream that have come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#define SMCR_RANGES_OF_STREAM 16 /* at most, of the bytes of a stream */

typedef struct {
    uint64_t from, to; /* `to` is the first behind it */
    uint32_t after, frame; /* what the caller keeps of it: frames before and behind it */
} smcr_range_t;

/* All zeros: the empty set. */
typedef struct {
    smcr_range_t *list; /* NULL: there has been none */
    unsigned count, room;
} smcr_ranges_t;

/*
 * The set keeps at most `most` ranges. Where there would be more, the lowest two become one, with
 * what lies between them; smcr_ranges_remove() leaves the range whole. `list` belongs to `scope`.
 */

/* Adds the numbers from `from` to the one before `to`. Ranges that touch become one. Returns how
 * many were not in the set. */
uint64_t smcr_ranges_add(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                         uint64_t from, uint64_t to);

/* Adds a range that is above all others, and stays a range of its own. */
void smcr_ranges_append(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                        smcr_range_t range);

/* Takes out the numbers from `from` to the one before `to`. Returns how many were in the set. */
uint64_t smcr_ranges_remove(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                            uint64_t from, uint64_t to);

/* How many numbers from `from` to the one before `to` are in the set. */
uint64_t smcr_ranges_count(const smcr_ranges_t *ranges, uint64_t from, uint64_t to);

/* The first range with a number from `from` to the one before `to`; NULL: there is none. */
const smcr_range_t *smcr_ranges_find(const smcr_ranges_t *ranges, uint64_t from, uint64_t to);
