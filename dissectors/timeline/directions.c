/* Adds to what the timeline keeps of the two directions of a connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "directions.h"

void
smcr_timeline_add(const smcr_timeline_step_t *step, int side, smcr_interval_kind_t kind,
                  smcr_when_t begin, smcr_when_t end)
{
    if (begin.time < step->timeline->begun.time)
        begin = step->timeline->begun;
    smcr_intervals_add(&step->timeline->writer[side].intervals, step->scope, kind,
                       (smcr_interval_t){begin, end});
}

bool
smcr_timeline_hears_acks(const smcr_timeline_t *timeline, int side)
{
    const smcr_link_t *link = timeline->link[side];

    return timeline->writer[side].has_acks || !link || link->lgr->tapped ||
           link->qp[!side].traffic.flow.has_acks;
}

const smcr_ack_t *
smcr_timeline_ack_before(const smcr_ack_t *const *acked, uint32_t frame)
{
    return acked && *acked && (*acked)->frame < frame ? *acked : NULL;
}

/* Every array by side has to be swapped here. */
void
smcr_timeline_flip(smcr_timeline_t *timeline)
{
    smcr_timeline_writer_t writer = timeline->writer[0];
    const smcr_link_t *link = timeline->link[0];
    uint32_t gaps = timeline->gaps[0];

    timeline->writer[0] = timeline->writer[1];
    timeline->writer[1] = writer;
    timeline->link[0] = timeline->link[1];
    timeline->link[1] = link;
    timeline->gaps[0] = timeline->gaps[1];
    timeline->gaps[1] = gaps;
}
