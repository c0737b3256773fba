/* unacked.c
 * A ring that grows with what a sender has under way. Where the capture lacks the acknowledgements
 * it is full one day, and the oldest packet is given up for each new one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "unacked.h"

#define SLOTS_MIN 16
#define SLOTS_MAX 8192

typedef struct smcr_unacked_packet {
    smcr_psn_t psn;
    const smcr_when_t **acked;
} packet_t;

static packet_t *
slot(const smcr_unacked_t *unacked, uint32_t i)
{
    return &unacked->ring[(unacked->first + i) % unacked->slots];
}

static void
grow(smcr_unacked_t *unacked, wmem_allocator_t *scope)
{
    uint32_t slots = unacked->slots ? 2 * unacked->slots : SLOTS_MIN;
    packet_t *ring = wmem_alloc_array(scope, packet_t, slots);

    for (uint32_t i = 0; i < unacked->count; i++)
        ring[i] = *slot(unacked, i);
    wmem_free(scope, unacked->ring);
    *unacked = (smcr_unacked_t){.ring = ring, .slots = slots, .count = unacked->count};
}

static void
remove_first(smcr_unacked_t *unacked)
{
    unacked->first = (unacked->first + 1) % unacked->slots;
    unacked->count--;
}

void
smcr_unacked_add(smcr_unacked_t *unacked, wmem_allocator_t *scope, smcr_psn_t psn,
                 const smcr_when_t **acked)
{
    if (unacked->count == unacked->slots && unacked->slots < SLOTS_MAX)
        grow(unacked, scope);
    if (unacked->count == unacked->slots)
        remove_first(unacked);
    *slot(unacked, unacked->count++) = (packet_t){psn, acked};
}

bool
smcr_unacked_covers(const smcr_unacked_t *unacked, smcr_psn_t psn)
{
    return unacked->count && slot(unacked, 0)->psn <= psn;
}

void
smcr_unacked_forget(smcr_unacked_t *unacked)
{
    unacked->count = 0;
}

void
smcr_unacked_settle(smcr_unacked_t *unacked, smcr_psn_t psn, const smcr_when_t *when)
{
    while (smcr_unacked_covers(unacked, psn)) {
        *slot(unacked, 0)->acked = when;
        remove_first(unacked);
    }
}
