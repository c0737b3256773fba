/* byte_ranges.c
 * Keeps a set of numbers as ranges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "byte_ranges.h"

#include <string.h>

typedef struct smcr_byte_range {
    uint64_t from, to; /* `to` is the first behind it */
} range_t;

/* The ranges from number `first` to the one before `last` leave the list. */
static void
cut(smcr_byte_ranges_t *ranges, unsigned first, unsigned last)
{
    memmove(&ranges->list[first], &ranges->list[last], (ranges->count - last) * sizeof(range_t));
    ranges->count = (uint8_t)(ranges->count - (last - first));
}

/* There will be room for one more range. */
static void
make_room(smcr_byte_ranges_t *ranges, wmem_allocator_t *scope)
{
    if (ranges->count < ranges->room)
        return;
    ranges->room = (uint8_t)(ranges->room ? 2 * ranges->room : 1);
    ranges->list = wmem_realloc(scope, ranges->list, ranges->room * sizeof(range_t));
}

static void
insert(smcr_byte_ranges_t *ranges, wmem_allocator_t *scope, unsigned place, range_t range)
{
    make_room(ranges, scope);
    memmove(&ranges->list[place + 1], &ranges->list[place],
            (ranges->count - place) * sizeof(range_t));
    ranges->list[place] = range;
    ranges->count++;
}

/* The first range that ends at `from` or behind; most often that is the last one of all. */
static unsigned
first_touched(const smcr_byte_ranges_t *ranges, uint64_t from)
{
    unsigned place = ranges->count;

    while (place > 0 && ranges->list[place - 1].to >= from)
        place--;
    return place;
}

/* `range` and those that it touches, from number `first` to the one before `last`, become one.
 * Returns how many numbers are new. */
static uint64_t
melt(smcr_byte_ranges_t *ranges, range_t range, unsigned first, unsigned last)
{
    range_t *into = &ranges->list[first];
    uint64_t had = 0;

    for (unsigned i = first; i < last; i++)
        had += ranges->list[i].to - ranges->list[i].from;
    into->from = MIN(into->from, range.from);
    into->to = MAX(ranges->list[last - 1].to, range.to);
    if (last > first + 1)
        cut(ranges, first + 1, last);
    return into->to - into->from - had;
}

uint64_t
smcr_byte_ranges_add(smcr_byte_ranges_t *ranges, wmem_allocator_t *scope, uint64_t from,
                     uint64_t to)
{
    unsigned first = first_touched(ranges, from), last = first;
    range_t range = {from, to};

    if (from >= to)
        return 0;
    while (last < ranges->count && ranges->list[last].from <= to)
        last++;
    if (last > first)
        return melt(ranges, range, first, last);
    if (ranges->count == SMCR_BYTE_RANGES_KEPT) {
        ranges->list[1].from = ranges->list[0].from;
        cut(ranges, 0, 1);
        return smcr_byte_ranges_add(ranges, scope, from, to);
    }
    insert(ranges, scope, first, range);
    return to - from;
}

uint64_t
smcr_byte_ranges_remove(smcr_byte_ranges_t *ranges, uint64_t below)
{
    uint64_t removed = 0;
    unsigned whole = 0;

    for (; whole < ranges->count && ranges->list[whole].to <= below; whole++)
        removed += ranges->list[whole].to - ranges->list[whole].from;
    if (whole < ranges->count && ranges->list[whole].from < below) {
        removed += below - ranges->list[whole].from;
        ranges->list[whole].from = below;
    }
    if (whole)
        cut(ranges, 0, whole);
    return removed;
}
