/* A set of numbers, kept as ranges in ascending order that do not overlap: missing PSNs, for
 * example, or the bytes of a stream that have come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#define SMCR_RANGES_OF_STREAM 16 /* at most, of the bytes of a stream */

/* One range. */
typedef struct {
    uint64_t from;  /* the first number of the range */
    uint64_t to;    /* the first number after the range */
    uint32_t frame_before; /* of the caller: frame of the packet before the range; 0: not set */
    uint32_t frame_after; /* of the caller: frame of the packet after the range; 0: not set */
} smcr_range_t;

/* All zeros: the empty set. */
typedef struct {
    smcr_range_t *list; /* in ascending order; NULL: there has been none */
    unsigned count;     /* ranges in the list */
    unsigned room;      /* ranges that the list has memory for */
} smcr_ranges_t;

/*
 * Arguments of the functions below: `scope` is where the list is allocated; the set keeps at most
 * `most` ranges. Before a further range is added, the lowest two become one, which has the numbers
 * between them, too. If smcr_ranges_remove() had to split a range into one too many, it leaves the
 * range whole.
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
