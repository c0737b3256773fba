/* gaps.c
 * Ranges of absent PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "gaps.h"

#include <string.h>

typedef struct smcr_gap {
    smcr_psn_t from, to; /* `to` is the first that is not absent */
    uint32_t frame;      /* of the first packet behind it */
} gap_t;

static void
remove_gap(smcr_gaps_t *gaps, unsigned i)
{
    gaps->count--;
    memmove(&gaps->list[i], &gaps->list[i + 1], (gaps->count - i) * sizeof(gap_t));
}

static void
make_room(smcr_gaps_t *gaps)
{
    if (gaps->count < SMCR_GAPS_KEPT)
        return;
    gaps->list[1].from = gaps->list[0].from;
    remove_gap(gaps, 0);
}

void
smcr_gaps_add(smcr_gaps_t *gaps, wmem_allocator_t *scope, smcr_psn_t from, smcr_psn_t to,
              uint32_t frame)
{
    if (!gaps->list)
        gaps->list = wmem_alloc_array(scope, gap_t, SMCR_GAPS_KEPT);
    make_room(gaps);
    gaps->list[gaps->count++] = (gap_t){from, to, frame};
}

/* The gap with `psn`; `count` when it is in none. The newest are asked for most. */
static unsigned
find(const smcr_gaps_t *gaps, smcr_psn_t psn)
{
    for (unsigned i = gaps->count; i-- > 0 && gaps->list[i].to > psn;)
        if (gaps->list[i].from <= psn)
            return i;
    return gaps->count;
}

bool
smcr_gaps_has(const smcr_gaps_t *gaps, smcr_psn_t psn)
{
    return find(gaps, psn) < gaps->count;
}

void
smcr_gaps_fill(smcr_gaps_t *gaps, smcr_psn_t psn)
{
    unsigned i = find(gaps, psn);

    if (i == gaps->count)
        return;
    gap_t *gap = &gaps->list[i];
    if (gap->from == psn) {
        gap->from++;
    } else if (gap->to == psn + 1) {
        gap->to--;
    } else if (gaps->count < SMCR_GAPS_KEPT) { /* else it stays whole: more are said to be absent */
        memmove(gap + 1, gap, (gaps->count - i) * sizeof(gap_t));
        gaps->count++;
        gap[0].to = psn;
        gap[1].from = psn + 1;
    }
    if (gap->from == gap->to)
        remove_gap(gaps, i);
}

uint32_t
smcr_gaps_frame(const smcr_gaps_t *gaps, smcr_psn_t from, smcr_psn_t to)
{
    uint32_t frame = 0;

    for (unsigned i = gaps->count; i-- > 0 && gaps->list[i].to > from;)
        if (gaps->list[i].from < to)
            frame = gaps->list[i].frame;
    return frame;
}

uint64_t
smcr_gaps_count(const smcr_gaps_t *gaps, smcr_psn_t from, smcr_psn_t to)
{
    uint64_t count = 0;

    for (unsigned i = gaps->count; i-- > 0 && gaps->list[i].to > from;) {
        smcr_psn_t begin = MAX(gaps->list[i].from, from), end = MIN(gaps->list[i].to, to);
        count += begin < end ? end - begin : 0;
    }
    return count;
}

/* ---- wrong ICRCs ---- */

void
smcr_gaps_corrupt(smcr_gaps_t *gaps, smcr_psn_t psn)
{
    if (!gaps->corrupt)
        gaps->corrupt = psn;
}

void
smcr_gaps_close(smcr_gaps_t *gaps, wmem_allocator_t *scope, smcr_psn_t psn, smcr_psn_t highest,
                uint32_t frame)
{
    smcr_psn_t from = gaps->corrupt;

    if (!from || psn < from)
        return;
    if (from < psn)
        smcr_gaps_add(gaps, scope, from, MIN(psn, highest + 1), frame);
    gaps->corrupt = psn < highest ? psn + 1 : 0;
}
