/* Thins the points of a line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "line.h"

/* Returns the time of the bucket's first point among `low` and `high`, nanoseconds. */
static uint64_t
begin_of(const smcr_series_bucket_t *bucket)
{
    return MIN(bucket->low.when.time, bucket->high.when.time);
}

/* Returns the time of the bucket's last point among `low` and `high`, nanoseconds. */
static uint64_t
end_of(const smcr_series_bucket_t *bucket)
{
    return MAX(bucket->low.when.time, bucket->high.when.time);
}

/* Adds the points of `next` to `bucket`, which comes before it. The bucket stays after a hole if it
 * was; a hole between the two is not drawn any more (`after_hole`): it is shorter than the width of
 * the line. */
static void
join(smcr_series_bucket_t *bucket, const smcr_series_bucket_t *next)
{
    if (next->low.value < bucket->low.value)
        bucket->low = next->low;
    if (next->high.value >= bucket->high.value)
        bucket->high = next->high;
    bucket->count += next->count;
}

/* Joins neighbouring buckets that together span at most the width of the line. */
static void
join_neighbours(smcr_series_line_t *line)
{
    uint32_t length = 1;

    for (uint32_t i = 1; i < line->length; i++) {
        smcr_series_bucket_t *last = &line->buckets[length - 1], *next = &line->buckets[i];
        if (end_of(next) - begin_of(last) <= line->width)
            join(last, next);
        else
            line->buckets[length++] = *next;
    }
    line->length = length;
}

/* Makes sure that the line has memory for one more bucket, and has at most SMCR_SERIES_BUCKETS. */
static void
make_room(smcr_series_line_t *line, wmem_allocator_t *scope)
{
    if (line->length < line->room)
        return;
    if (line->room < SMCR_SERIES_BUCKETS) {
        line->room = line->room ? 2 * line->room : 8;
        line->buckets = wmem_realloc(scope, line->buckets, line->room * sizeof *line->buckets);
        return;
    }
    while (line->length > SMCR_SERIES_BUCKETS * 3 / 4) {
        line->width = 2 * line->width + 1;
        join_neighbours(line);
    }
}

/* A point that falls into the last bucket is joined with it. Only a new bucket keeps that the value
 * was not known before it (`after_hole`). */
void
smcr_series_line_add(smcr_series_line_t *line, wmem_allocator_t *scope, smcr_series_point_t point)
{
    const smcr_series_bucket_t one = {point, point, 1, line->is_lost && line->length};

    if (line->length && point.when.time < end_of(&line->buckets[line->length - 1]))
        return; /* `is_lost` stays: this point does not show how the line goes on */
    line->is_lost = false;
    if (line->length &&
        point.when.time - begin_of(&line->buckets[line->length - 1]) <= line->width) {
        join(&line->buckets[line->length - 1], &one);
        return;
    }
    make_room(line, scope);
    line->buckets[line->length++] = one;
}

/* Returns the index of the first bucket that begins after `time`; the number of buckets: none
 * does. */
static uint32_t
first_after(const smcr_series_line_t *line, uint64_t time)
{
    uint32_t at = line->length;

    while (at > 0 && begin_of(&line->buckets[at - 1]) > time)
        at--;
    return at;
}

/* Missing packets bring no points, so the longest time without points counts as the time in which
 * they are missing. */
bool
smcr_series_line_break(smcr_series_line_t *line, uint64_t since, uint64_t now)
{
    uint32_t first = first_after(line, since), longest_at = line->length;

    if (first == line->length)
        return false;
    uint64_t last = end_of(&line->buckets[line->length - 1]), longest = now > last ? now - last : 0;
    for (uint32_t at = MAX(first, 1); at < line->length; at++) {
        uint64_t length = begin_of(&line->buckets[at]) - end_of(&line->buckets[at - 1]);
        if (length > longest) {
            longest = length;
            longest_at = at;
        }
    }
    if (longest_at == line->length)
        return false;
    line->buckets[longest_at].after_hole = true;
    return true;
}
