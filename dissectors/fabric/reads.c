/* Keeps the PSN ranges of the last READs of a flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "reads.h"

/* Lowest and highest path MTU of InfiniBand, bytes. Path MTUs are powers of two. */
#define MTU_MIN 256
#define MTU_MAX 4096

#define SIZE_FIRST 4 /* first size of the circular list */

/* Returns how many packets the response to a READ of `length` bytes has, with a path MTU of `mtu`
 * bytes. The response to a READ of 0 bytes has one packet. */
static uint32_t
packets_for(uint32_t length, uint32_t mtu)
{
    return length ? length / mtu + (length % mtu != 0) : 1;
}

/* Returns the newest READ of the list, which must not be empty. */
static smcr_read_t *
newest_read(smcr_reads_t *reads)
{
    return &reads->reads[(reads->count - 1) % reads->size];
}

/* Makes room for one more READ if the list is full. The list grows up to SMCR_READS_KEPT slots.
 * After that, the newest READ overwrites the oldest. */
static void
grow_list(smcr_reads_t *reads, wmem_allocator_t *scope)
{
    if (reads->count != reads->size || reads->size >= SMCR_READS_KEPT)
        return;
    reads->size = reads->size ? 2 * reads->size : SIZE_FIRST;
    reads->reads = wmem_realloc(scope, reads->reads, reads->size * sizeof *reads->reads);
}

/* `count` is raised before the entry is written, since newest_read() finds the entry by `count`. */
smcr_psn_t
smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
               const smcr_sent_t *packet, uint32_t mtu)
{
    uint32_t length = packet->dma_length;

    if (!*reads)
        *reads = wmem_new0(scope, smcr_reads_t);
    smcr_reads_t *all = *reads;

    grow_list(all, scope);
    all->count++;
    all->open_length = mtu || length <= MTU_MIN ? 0 : length;
    *newest_read(all) = (smcr_read_t){
        .first = psn,
        .last = psn + packets_for(length, mtu ? mtu : MTU_MAX) - 1,
        .sent = packet->when,
    };
    return newest_read(all)->last;
}

/* The late READ gets the place before the newest READ in the list, and `open_length` stays that of
 * the newest READ. An earlier packet with the late request may be missing in the capture, so `sent`
 * of the late READ is not known. */
smcr_psn_t
smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                    const smcr_sent_t *packet, uint32_t mtu)
{
    bool is_only = !*reads;
    uint32_t open = is_only ? 0 : (*reads)->open_length;
    smcr_read_t before = is_only ? (smcr_read_t){.first = 0} : *newest_read(*reads);
    smcr_psn_t last = smcr_reads_add(reads, scope, psn, packet, mtu);
    smcr_reads_t *all = *reads;

    newest_read(all)->sent = (smcr_when_t){0, 0};
    if (!is_only) {
        all->reads[(all->count - 2) % all->size] = *newest_read(all);
        *newest_read(all) = before;
    }
    all->open_length = open;
    return last;
}

/* If the path MTU was not known, smcr_reads_add() has assumed the highest one, so `last` was the
 * lowest possible PSN. The READ is corrected once: then `open_length` is 0. */
smcr_psn_t
smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu)
{
    if (!reads || !reads->open_length)
        return 0;
    smcr_psn_t last = newest_read(reads)->first + packets_for(reads->open_length, mtu) - 1;
    newest_read(reads)->last = last;
    reads->open_length = 0;
    return last;
}

/* The loop goes from the largest path MTU to the smallest, so the last value that fits is the
 * highest PSN. */
smcr_psn_t
smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next)
{
    smcr_psn_t last = 0;

    if (!reads || !reads->open_length)
        return 0;
    for (uint32_t mtu = MTU_MAX; mtu >= MTU_MIN; mtu /= 2) {
        smcr_psn_t end = newest_read(reads)->first + packets_for(reads->open_length, mtu);
        if (end <= next)
            last = end - 1;
    }
    newest_read(reads)->last = MAX(newest_read(reads)->last, last);
    reads->open_length = 0;
    return last;
}

/* The READ that takes `psn`; NULL: no READ in the list does. */
static const smcr_read_t *
find_read(const smcr_reads_t *reads, smcr_psn_t psn)
{
    uint32_t count = reads ? MIN(reads->count, reads->size) : 0;

    for (uint32_t i = 0; i < count; i++)
        if (reads->reads[i].first <= psn && psn <= reads->reads[i].last)
            return &reads->reads[i];
    return NULL;
}

smcr_psn_t
smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn)
{
    const smcr_read_t *read = find_read(reads, psn);

    return read ? read->first : 0;
}

smcr_when_t
smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn)
{
    const smcr_read_t *read = find_read(reads, psn);

    return read && read->first == psn ? read->sent : (smcr_when_t){0, 0};
}
