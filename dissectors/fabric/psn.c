/* psn.c
 * Keeps for each direction of a queue pair the PSN that the receiver waits for, and which frame
 * had a PSN first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "psn.h"

#define SLOTS_FIRST 16
#define SLOTS_ENOUGH 128 /* unless more is under way */
#define SLOTS_MAX 8192 /* more than a sender has under way */

int32_t
smcr_psn_distance(uint32_t from, uint32_t to)
{
    uint32_t ahead = (to - from) & SMCR_PSN_MASK;

    return ahead < (SMCR_PSN_MASK + 1) / 2 ? (int32_t)ahead
                                           : (int32_t)ahead - (int32_t)(SMCR_PSN_MASK + 1);
}

void
smcr_psn_start(smcr_psn_t *order, uint32_t psn)
{
    if (order->started)
        return;
    order->started = true;
    order->next = psn & SMCR_PSN_MASK;
}

static void
grow(smcr_psn_t *order, wmem_allocator_t *scope)
{
    uint32_t slots = order->slots ? order->slots * 2 : SLOTS_FIRST;
    smcr_psn_seen_t *seen = wmem_alloc0_array(scope, smcr_psn_seen_t, slots);

    for (uint32_t i = 0; i < order->slots; i++)
        if (order->seen[i].frame)
            seen[order->seen[i].psn & (slots - 1)] = order->seen[i];
    wmem_free(scope, order->seen);
    order->seen = seen;
    order->slots = slots;
}

/* Whether more slots would keep packets that may still be sent again. */
static bool
want_more(const smcr_psn_t *order, uint32_t psn)
{
    if (order->used < order->slots / 2 || order->slots >= SLOTS_MAX)
        return false;
    return order->slots < SLOTS_ENOUGH || !order->acknowledged ||
           (uint32_t)smcr_psn_distance(order->taken, psn) >= order->slots;
}

/* Remembers `frame` as the first with `psn`, or returns the one that was. PSNs that are far apart
 * push each other out; only as many as half fill the slots get more of them. */
static uint32_t
first_frame_of(smcr_psn_t *order, wmem_allocator_t *scope, uint32_t psn, uint32_t frame)
{
    smcr_psn_seen_t *slot = order->slots ? &order->seen[psn & (order->slots - 1)] : NULL;

    while (!slot || (slot->frame && slot->psn != psn && want_more(order, psn))) {
        grow(order, scope);
        slot = &order->seen[psn & (order->slots - 1)];
    }
    if (slot->frame && slot->psn == psn)
        return slot->frame;
    order->used += !slot->frame;
    slot->psn = psn;
    slot->frame = frame;
    slot->time = 0;
    return 0;
}

smcr_psn_order_t
smcr_psn_take(smcr_psn_t *order, wmem_allocator_t *scope, uint32_t psn, uint32_t frame,
              uint32_t *first_frame)
{
    psn &= SMCR_PSN_MASK;
    smcr_psn_start(order, psn);

    int32_t distance = smcr_psn_distance(order->next, psn);
    *first_frame = first_frame_of(order, scope, psn, frame);
    if (distance < 0)
        return SMCR_PSN_OLD;
    if (distance > 0 && order->acknowledged)
        return SMCR_PSN_AHEAD;
    order->next = (psn + 1) & SMCR_PSN_MASK;
    return SMCR_PSN_NEXT;
}

smcr_psn_seen_t *
smcr_psn_seen(const smcr_psn_t *order, uint32_t psn)
{
    smcr_psn_seen_t *slot = order->slots ? &order->seen[psn & (order->slots - 1)] : NULL;

    return slot && slot->frame && slot->psn == psn ? slot : NULL;
}

bool
smcr_psn_acknowledge(smcr_psn_t *order, uint32_t psn)
{
    order->acknowledged = true;
    order->taken = psn;
    if (!order->started || smcr_psn_distance(order->next, psn) < 0)
        return false;
    order->next = (psn + 1) & SMCR_PSN_MASK;
    return true;
}
