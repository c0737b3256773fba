/* store.c
 * Hands out memory, and checks that the first pass goes forward.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "store.h"

#include <wsutil/ws_assert.h>

void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    return smcr_slab_new(&state->entries, (size + 7) & ~(size_t)7);
}

void
smcr_state_learns(smcr_state_t *state, uint32_t frame)
{
    ws_assert(frame >= state->last_frame);
    state->last_frame = frame;
}
