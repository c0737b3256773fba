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

/* Appends a message to a list, of which `end` is where the next one goes. Returns the new end. */
static smcr_message_t **
append(smcr_message_t **end, wmem_allocator_t *scope, const smcr_seen_packet_t *first)
{
    smcr_message_t *message = wmem_new(scope, smcr_message_t);

    *message = (smcr_message_t){.begin = {first->frame, first->time}};
    *end = message;
    return &message->next;
}

const smcr_message_t *
smcr_completed(const smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t from, smcr_psn_t to,
               smcr_psn_t fetch)
{
    smcr_message_t *complete = NULL, **end = &complete;
    const smcr_seen_packet_t *asked = fetch ? smcr_seen_find(&flow->seen, fetch) : NULL;

    to = MIN(to, flow->highest);
    if (to >= flow->seen.size) /* what is older is forgotten */
        from = MAX(from, to - flow->seen.size + 1);
    for (smcr_psn_t psn = MAX(from, flow->first); psn <= to; psn++) {
        const smcr_seen_packet_t *last = smcr_seen_find(&flow->seen, psn);
        const smcr_seen_packet_t *first = last && last->ends ? first_packet(flow, last) : NULL;
        if (first)
            end = append(end, scope, first);
    }
    if (asked && asked->fetches && !asked->late)
        append(end, scope, asked);
    return complete;
}
