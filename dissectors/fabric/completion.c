/* completion.c
 * Looks for messages among the requests that a flow remembers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "completion.h"

/* The first packet of the message that ends with a request; NULL where the capture lacks it, or
 * where it may have been sent before. */
static const smcr_seen_packet_t *
first_packet(const smcr_flow_t *flow, const smcr_seen_packet_t *last)
{
    const smcr_seen_packet_t *packet = last;

    while (packet && !packet->begins) {
        packet = smcr_seen_find(&flow->seen, packet->psn - 1);
        if (packet && (packet->ends || packet->fetches)) /* it is of another message */
            return NULL;
    }
    return packet && !packet->late ? packet : NULL;
}

typedef struct {
    smcr_completion_t *first, *last; /* NULL: it is empty */
} list_t;

static void
append(list_t *list, smcr_slab_t *slab, smcr_when_t begin)
{
    smcr_completion_t *message = smcr_slab_new(slab, sizeof *message);

    message->frame = begin.frame;
    message->time = begin.time;
    if (list->last)
        list->last->next = smcr_slab_number(message);
    else
        list->first = message;
    list->last = message;
}

const smcr_completion_t *
smcr_completion_next(const smcr_completion_t *message)
{
    return smcr_slab_beside(message, message->next);
}

/* When a READ or atomic was sent first; frame 0: not known. */
static smcr_when_t
asked_at(const smcr_flow_t *flow, smcr_psn_t fetch)
{
    smcr_when_t read = smcr_reads_sent(flow->reads, fetch);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, fetch);

    if (read.frame || !seen || !seen->fetches || seen->late)
        return read;
    return (smcr_when_t){seen->frame, seen->time};
}

const smcr_completion_t *
smcr_completion_of(const smcr_flow_t *flow, smcr_slab_t *slab, smcr_psn_t from, smcr_psn_t to,
                   smcr_psn_t fetch)
{
    list_t complete = {NULL, NULL};
    smcr_when_t asked = asked_at(flow, fetch);

    to = MIN(to, flow->highest);
    if (to >= flow->seen.size) /* what is older is forgotten */
        from = MAX(from, to - flow->seen.size + 1);
    for (smcr_psn_t psn = MAX(from, flow->first); psn <= to; psn++) {
        const smcr_seen_packet_t *last = smcr_seen_find(&flow->seen, psn);
        const smcr_seen_packet_t *first = last && last->ends ? first_packet(flow, last) : NULL;
        if (first)
            append(&complete, slab, (smcr_when_t){first->frame, first->time});
    }
    if (asked.frame)
        append(&complete, slab, asked);
    return complete.first;
}
