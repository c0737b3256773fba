/* Keeps the send times of numbers in a sorted array. An entry whose answer has come is marked
 * ANSWERED, and stays until the table needs its room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "congestion.h"

#define ANSWERED UINT64_MAX
#define FEW 64 /* number of entries: a table with room for fewer entries drops none, since
                  acknowledgements may come out of order */

/* An entry of the table. */
typedef struct smcr_sent_time {
    uint64_t number; /* sequence number or TSval that was sent */
    uint64_t time; /* when `number` was sent, nanoseconds since 1970; ANSWERED: the answer has
                      come */
} sent_t;

/* Returns the number of an entry: the key by which smcr_sorted_first() searches. */
static uint64_t
number_of(const void *list, uint32_t index)
{
    return ((const sent_t *)list)[index].number;
}

/* Returns the index of `number` in the list or, if the list does not have it, the index where it
 * has to be inserted. A new number is mostly the highest, so the last entry is compared first. */
static uint32_t
place_of(const smcr_congestion_sent_times_t *times, uint64_t number)
{
    uint32_t count = times->count;

    if (!count || times->list[count - 1].number < number)
        return count;
    return smcr_sorted_first(times->list, count, number_of, number);
}

/* Whether the list has `number` at the index `place`. */
static bool
stands_at(const smcr_congestion_sent_times_t *times, uint32_t place, uint64_t number)
{
    return place < times->count && times->list[place].number == number;
}

/* Removes the first entries of the list. `oldest`: how many. */
static void
drop(smcr_congestion_sent_times_t *times, uint32_t oldest)
{
    if (!oldest)
        return;
    times->count -= oldest;
    memmove(times->list, &times->list[oldest], times->count * sizeof(sent_t));
}

/* Makes room for one more entry, if the table is full. A table with room for FEW entries or more
 * first drops the entries below `answered`. If it is then still three quarters full or more, it
 * grows. A table of the largest size drops the half with the lower numbers instead. */
static void
make_room(smcr_congestion_sent_times_t *times, wmem_allocator_t *scope, uint64_t answered)
{
    if (times->count < times->room)
        return;
    if (times->room >= FEW) {
        drop(times, place_of(times, answered));
        if (times->count < times->room - times->room / 4)
            return;
    }
    if (times->room == SMCR_CONGESTION_SENT_TIMES_KEPT) {
        drop(times, times->count / 2);
        return;
    }
    times->room = times->room ? 2 * times->room : 2;
    times->list = wmem_realloc(scope, times->list, times->room * sizeof(sent_t));
}

/* The list stays in ascending order of numbers. */
void
smcr_congestion_sent_times_set(smcr_congestion_sent_times_t *times, wmem_allocator_t *scope,
                               uint64_t number, uint64_t time, uint64_t answered)
{
    uint32_t place = place_of(times, number);

    if (stands_at(times, place, number)) {
        times->list[place].time = time;
        return;
    }
    make_room(times, scope, answered);
    place = place_of(times, number);
    memmove(&times->list[place + 1], &times->list[place], (times->count - place) * sizeof(sent_t));
    times->list[place] = (sent_t){number, time};
    times->count++;
}

/* The entry stays, so that a second answer is recognised. */
bool
smcr_congestion_sent_times_take(smcr_congestion_sent_times_t *times, uint64_t number,
                                uint64_t *time)
{
    uint32_t place = place_of(times, number);

    if (!stands_at(times, place, number) || times->list[place].time == ANSWERED)
        return false;
    *time = times->list[place].time;
    times->list[place].time = ANSWERED;
    return true;
}
