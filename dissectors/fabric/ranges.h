/* A set of numbers, kept as ranges in ascending order that do not overlap. Examples: missing PSNs,
 * or the bytes of a stream that have come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#define SMCR_RANGES_OF_STREAM 16 /* highest number of ranges in a set of stream positions */

/* A range of numbers. */
typedef struct {
    uint64_t from;  /* the first number of the range */
    uint64_t to;    /* the first number after the range */
    uint32_t frame_before; /* frame of the packet before the range; 0: not set */
    uint32_t frame_after; /* frame of the packet after the range; 0: not set */
} smcr_range_t;

/* A set of numbers. All zeros: the empty set. */
typedef struct {
    smcr_range_t *list; /* the ranges in ascending order; NULL: no range has been added so far */
    unsigned count;     /* number of ranges in the list */
    unsigned room;      /* number of ranges that the list has memory for */
} smcr_ranges_t;

/*
 * Arguments of the functions of this header: the list of ranges is allocated from `scope`. `most`
 * is the highest number of ranges that the set keeps. If a set with `most` ranges gets another
 * range, its two lowest ranges first become one range, which includes the numbers between the two.
 * If smcr_ranges_remove() would have to split a range of a set with `most` ranges, the function
 * leaves that range whole.
 */

/* Adds the numbers from `from` to `to` - 1. Ranges that touch become one. Returns how many of the
 * numbers were not in the set. */
uint64_t smcr_ranges_add(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                         uint64_t from, uint64_t to);

/* Adds a range that is higher than all ranges of the set. The new range stays a range of its own,
 * even if it touches the range below. */
void smcr_ranges_append(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                        smcr_range_t range);

/* Removes the numbers from `from` to `to` - 1. Returns how many of these numbers were in the
 * set. */
uint64_t smcr_ranges_remove(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                            uint64_t from, uint64_t to);

/* How many of the numbers from `from` to `to` - 1 are in the set. */
uint64_t smcr_ranges_count(const smcr_ranges_t *ranges, uint64_t from, uint64_t to);

/* The lowest range that has a number from `from` to `to` - 1; NULL: there is none. */
const smcr_range_t *smcr_ranges_find(const smcr_ranges_t *ranges, uint64_t from, uint64_t to);
