/* What a report names: the number of a link group, the time of a frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include <stdlib.h>

/* A group that may be a part of another one comes after all others, so that the numbers of those do
 * not change. */
uint64_t
smcr_collect_lgr_number(const smcr_lgr_t *lgr)
{
    const smcr_state_t *state = smcr_capture_state();

    if (lgr->tapped)
        return SMCR_FIGURE_UNKNOWN;
    if (lgr->index != SMCR_LGR_NO_INDEX || !lgr->newest_link || !state)
        return lgr->index;
    return (uint64_t)smcr_lgr_count(state) + lgr->first_link_index;
}

SMCR_FIGURE_ORDER(by_frame, smcr_when_t, when, when->frame)

/* Both lists are in ascending order of frames: the search is binary. */
smcr_when_t
smcr_collect_when(const smcr_collect_t *collection, uint32_t frame)
{
    wmem_array_t *const lists[] = {collection->times, collection->clc_times};
    smcr_when_t key = {frame, 0};

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        const smcr_when_t *found = bsearch(&key, wmem_array_get_raw(lists[i]),
                                           wmem_array_get_count(lists[i]), sizeof key, by_frame);
        if (found)
            return *found;
    }
    return (smcr_when_t){0, 0};
}

/* The list stays in ascending order of frames, for smcr_collect_when(). */
void
smcr_collect_times_forget(smcr_collect_t *collection, uint32_t frame)
{
    wmem_array_t *kept = wmem_array_new(collection->scope, sizeof(smcr_when_t));

    for (unsigned i = 0; i < wmem_array_get_count(collection->clc_times); i++) {
        const smcr_when_t *when = wmem_array_index(collection->clc_times, i);
        if (when->frame >= frame)
            wmem_array_append(kept, when, 1);
    }
    wmem_destroy_array(collection->clc_times);
    collection->clc_times = kept;
}
