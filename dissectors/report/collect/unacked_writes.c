/* unacked_writes.c
 * A list of few requests, the oldest first: where nobody acknowledges, old ones are given up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "unacked_writes.h"

#define UNACKED_MAX 256

struct smcr_unacked_write {
    smcr_collect_unacked_write_t *next; /* newer */
    const smcr_place_t *place;
    smcr_when_t sent;
    bool again; /* it was sent again */
};

static void
remove_oldest(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope)
{
    smcr_collect_unacked_write_t *oldest = writes->oldest;

    writes->oldest = oldest->next;
    if (!writes->oldest)
        writes->newest = NULL;
    writes->count--;
    wmem_free(scope, oldest);
}

void
smcr_collect_unacked_writes_add(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope,
                                smcr_when_t when, const smcr_place_t *place)
{
    smcr_collect_unacked_write_t *write = wmem_new(scope, smcr_collect_unacked_write_t);

    *write = (smcr_collect_unacked_write_t){.place = place, .sent = when};
    if (writes->newest)
        writes->newest->next = write;
    else
        writes->oldest = write;
    writes->newest = write;
    if (++writes->count > UNACKED_MAX)
        remove_oldest(writes, scope);
}

void
smcr_collect_unacked_writes_repeat(smcr_collect_unacked_writes_t *writes, uint32_t first)
{
    for (smcr_collect_unacked_write_t *write = writes->oldest; write; write = write->next)
        if (write->sent.frame == first)
            write->again = true;
}

void
smcr_collect_unacked_writes_settle(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope,
                                   uint32_t now, smcr_distribution_t *times)
{
    while (writes->oldest) {
        const smcr_collect_unacked_write_t *write = writes->oldest;
        const smcr_when_t *acked = write->place->acked;

        if (!acked || acked->frame >= now)
            return;
        if (!write->again && acked->time >= write->sent.time)
            smcr_distribution_add(times, acked->time - write->sent.time);
        remove_oldest(writes, scope);
    }
}
