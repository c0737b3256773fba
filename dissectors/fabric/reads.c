/* reads.c
 * Ranges of PSNs of the last READs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "reads.h"

#define MTU_MIN 256
#define MTU_MAX 4096

static uint32_t
packets(uint32_t length, uint32_t mtu)
{
    return length ? length / mtu + (length % mtu != 0) : 1;
}

smcr_psn_t
smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn, uint32_t length,
               uint32_t mtu)
{
    if (!*reads)
        *reads = wmem_new0(scope, smcr_reads_t);
    smcr_reads_t *all = *reads;

    all->newest = (all->newest + 1) % SMCR_READS_KEPT;
    all->open = mtu || length <= MTU_MIN ? 0 : length;
    all->kept[all->newest].first = psn;
    all->kept[all->newest].last = psn + packets(length, mtu ? mtu : MTU_MAX) - 1;
    return all->kept[all->newest].last;
}

smcr_psn_t
smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn, uint32_t length,
                    uint32_t mtu)
{
    smcr_reads_t before = *reads ? **reads : (smcr_reads_t){.open = 0};
    smcr_psn_t last = smcr_reads_add(reads, scope, psn, length, mtu);
    smcr_reads_t *all = *reads;

    all->kept[before.newest] = all->kept[all->newest];
    all->kept[all->newest] = before.kept[before.newest];
    all->open = before.open;
    return last;
}

smcr_psn_t
smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu)
{
    if (!reads || !reads->open)
        return 0;
    smcr_psn_t last = reads->kept[reads->newest].first + packets(reads->open, mtu) - 1;
    reads->kept[reads->newest].last = last;
    reads->open = 0;
    return last;
}

smcr_psn_t
smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next)
{
    smcr_psn_t last = 0;

    if (!reads || !reads->open)
        return 0;
    for (uint32_t mtu = MTU_MAX; mtu >= MTU_MIN; mtu /= 2) {
        smcr_psn_t end = reads->kept[reads->newest].first + packets(reads->open, mtu);
        if (end <= next)
            last = end - 1;
    }
    reads->kept[reads->newest].last = MAX(reads->kept[reads->newest].last, last);
    reads->open = 0;
    return last;
}

smcr_psn_t
smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn)
{
    for (unsigned i = 0; reads && i < SMCR_READS_KEPT; i++)
        if (reads->kept[i].first && reads->kept[i].first <= psn && psn <= reads->kept[i].last)
            return reads->kept[i].first;
    return 0;
}
