/* ring.c
 * Arithmetic of rings: no state, no messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ring.h"

uint32_t
smcr_ring_room(const smcr_ring_t *ring)
{
    return ring->size > ring->base ? ring->size - ring->base : 0;
}

int64_t
smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to)
{
    int16_t wraps = (int16_t)(uint16_t)(to.wrap - from.wrap);

    return wraps * (int64_t)smcr_ring_room(ring) + to.count - from.count;
}

uint64_t
smcr_ring_next(const smcr_ring_t *ring, uint64_t position, uint32_t offset)
{
    uint32_t room = smcr_ring_room(ring);

    if (room == 0 || offset < ring->base)
        return position;
    uint32_t here = (uint32_t)(position % room);
    uint32_t there = (offset - ring->base) % room;
    return position + (there >= here ? there - here : room - here + there);
}
