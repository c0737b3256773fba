/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "gaps.h"

/* A joined gap may include frames between which nothing is missing. It leaves out no gap. */
void
smcr_collect_gaps_add(smcr_collect_gap_list_t *gaps, smcr_collect_gap_t gap)
{
    if (gaps->count < SMCR_COLLECT_GAPS_MOST) {
        gaps->list[gaps->count++] = gap;
        return;
    }
    smcr_collect_gap_t *last = &gaps->list[gaps->count - 1];
    last->since = MIN(last->since, gap.since);
    last->until = MAX(last->until, gap.until);
}

/* The lowest begin counts, since gaps may overlap. */
uint32_t
smcr_collect_gaps_begin(const smcr_collect_gap_list_t *gaps, uint32_t frame)
{
    uint32_t since = UINT32_MAX;

    for (unsigned i = 0; i < gaps->count; i++)
        if (gaps->list[i].until > frame)
            since = MIN(since, gaps->list[i].since);
    return since;
}

/* A gap that ends in `frame` goes, since smcr_collect_gaps_begin() does not count it either. The
 * gaps that stay keep their order. */
void
smcr_collect_gaps_forget(smcr_collect_gap_list_t *gaps, uint32_t frame)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < gaps->count; i++)
        if (gaps->list[i].until > frame)
            gaps->list[kept++] = gaps->list[i];
    gaps->count = kept;
}
