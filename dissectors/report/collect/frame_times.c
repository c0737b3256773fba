/* frame_times.c
 * Keeps the times of some frames in a sorted array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "frame_times.h"

#include <stdlib.h>

void
smcr_collect_frame_times_add(smcr_collect_frame_times_t *times, wmem_allocator_t *scope,
                             smcr_when_t when)
{
    if (times->count && times->frames[times->count - 1].frame >= when.frame)
        return;
    if (times->count == times->room) {
        times->room = times->room ? 2 * times->room : 16;
        times->frames = wmem_realloc(scope, times->frames, times->room * sizeof(smcr_when_t));
    }
    times->frames[times->count++] = when;
}

static int
compare(const void *one, const void *other)
{
    uint32_t a = ((const smcr_when_t *)one)->frame, b = ((const smcr_when_t *)other)->frame;

    return (a > b) - (a < b);
}

smcr_when_t
smcr_collect_frame_times_find(const smcr_collect_frame_times_t *times, uint32_t frame)
{
    smcr_when_t key = {frame, 0};
    const smcr_when_t *found =
        times->count ? bsearch(&key, times->frames, times->count, sizeof key, compare) : NULL;

    return found ? *found : (smcr_when_t){0, 0};
}
