/* Keeps a set of numbers as ranges. All searches begin at the end, since callers most often add or
 * look up numbers among the highest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ranges.h"

/* Index of the first range whose `to` is at or above `end`. `to` is the number after the last one
 * of a range, so a range that ends directly before `end` counts. */
static unsigned
find_first_to(const smcr_ranges_t *ranges, uint64_t end)
{
    unsigned i = ranges->count;

    while (i > 0 && ranges->list[i - 1].to >= end)
        i--;
    return i;
}

/* Removes the ranges from index `first` to `last` - 1. */
static void
cut_ranges(smcr_ranges_t *ranges, unsigned first, unsigned last)
{
    memmove(&ranges->list[first], &ranges->list[last],
            (ranges->count - last) * sizeof(smcr_range_t));
    ranges->count -= last - first;
}

/* Inserts the range at index `i` of the list. The ranges at `i` and higher move up by one. */
static void
insert_range(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned i, smcr_range_t range)
{
    if (ranges->count == ranges->room) {
        ranges->room = MAX(2 * ranges->room, 1);
        ranges->list = wmem_realloc(scope, ranges->list, ranges->room * sizeof(smcr_range_t));
    }
    memmove(&ranges->list[i + 1], &ranges->list[i], (ranges->count - i) * sizeof(smcr_range_t));
    ranges->list[i] = range;
    ranges->count++;
}

/* Joins the lowest two ranges to one range, which also includes the numbers between the two
 * ranges. */
static void
join_lowest(smcr_ranges_t *ranges)
{
    ranges->list[1].from = ranges->list[0].from;
    ranges->list[1].frame_before = ranges->list[0].frame_before;
    cut_ranges(ranges, 0, 1);
}

/* Joins `range` with the ranges from index `first` to `last` - 1, all of which touch or overlap
 * `range`. Returns how many numbers are new in the set. */
static uint64_t
melt_ranges(smcr_ranges_t *ranges, unsigned first, unsigned last, smcr_range_t range)
{
    smcr_range_t *into = &ranges->list[first];
    uint64_t had = 0;

    for (unsigned i = first; i < last; i++)
        had += ranges->list[i].to - ranges->list[i].from;
    into->from = MIN(into->from, range.from);
    into->to = MAX(ranges->list[last - 1].to, range.to);
    cut_ranges(ranges, first + 1, last);
    return into->to - into->from - had;
}

/* Numbers that touch a range of the set are joined with it. Only numbers that need a new range meet
 * the limit `most`. */
uint64_t
smcr_ranges_add(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most, uint64_t from,
                uint64_t to)
{
    unsigned first = find_first_to(ranges, from), last = first;
    smcr_range_t range = {.from = from, .to = to};

    if (from >= to)
        return 0;
    while (last < ranges->count && ranges->list[last].from <= to)
        last++;
    if (last > first)
        return melt_ranges(ranges, first, last, range);
    if (ranges->count == most) {
        join_lowest(ranges);
        return smcr_ranges_add(ranges, scope, most, from, to);
    }
    insert_range(ranges, scope, first, range);
    return to - from;
}

void
smcr_ranges_append(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most,
                   smcr_range_t range)
{
    if (ranges->count == most)
        join_lowest(ranges);
    insert_range(ranges, scope, ranges->count, range);
}

/* If the removal would have to split a range of a set with `most` ranges, nothing is removed. */
uint64_t
smcr_ranges_remove(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned most, uint64_t from,
                   uint64_t to)
{
    uint64_t count = smcr_ranges_count(ranges, from, to);
    unsigned first = find_first_to(ranges, from + 1), last;

    if (!count)
        return 0;
    if (ranges->list[first].from < from) {
        bool is_split = ranges->list[first].to > to;
        if (is_split && ranges->count == most)
            return 0;
        if (is_split)
            insert_range(ranges, scope, first, ranges->list[first]);
        ranges->list[first++].to = from;
    }
    for (last = first; last < ranges->count && ranges->list[last].to <= to;)
        last++;
    cut_ranges(ranges, first, last);
    if (first < ranges->count)
        ranges->list[first].from = MAX(ranges->list[first].from, to);
    return count;
}

/* The search ends at the first range below `from`, since ranges are in ascending order. */
uint64_t
smcr_ranges_count(const smcr_ranges_t *ranges, uint64_t from, uint64_t to)
{
    uint64_t count = 0;

    for (unsigned i = ranges->count; i-- > 0 && ranges->list[i].to > from;) {
        uint64_t begin = MAX(ranges->list[i].from, from), end = MIN(ranges->list[i].to, to);
        count += begin < end ? end - begin : 0;
    }
    return count;
}

const smcr_range_t *
smcr_ranges_find(const smcr_ranges_t *ranges, uint64_t from, uint64_t to)
{
    unsigned i = find_first_to(ranges, from + 1);

    return i < ranges->count && ranges->list[i].from < to ? &ranges->list[i] : NULL;
}
