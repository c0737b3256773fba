/* store.c
 * Hands out memory without a header for each piece.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "store.h"

#include <assert.h>

void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (size > state->slab_left) {
        state->slab_left = MAX(size, SLAB_SIZE);
        state->slab = wmem_alloc0(state->scope, state->slab_left);
    }
    void *piece = state->slab;
    state->slab += size;
    state->slab_left -= size;
    return piece;
}

void
smcr_state_learns(smcr_state_t *state, uint32_t frame)
{
    assert(frame >= state->last_frame);
    state->last_frame = frame;
}
