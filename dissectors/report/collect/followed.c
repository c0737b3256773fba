/* Finds the figures of RDMA flows, or makes them. Also has the functions that both rdma_flows.c and
 * flow_entries.c call for these figures.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "followed.h"

#define FLOWS_MOST 65536 /* number of flows after which no flow gets figures but those of links: a
                            flow takes about 4 kB, so that these take 280 MB */

/* Whether a new flow gets no figures: it is no flow of a link, and FLOWS_MOST flows have figures.
 * `to`: see smcr_collect_follow(). */
static bool
has_no_room(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    return !to && collection->rdma_list.length >= FLOWS_MOST;
}

/* The list is in the order of the first packets: reports number the flows in this order. */
smcr_collect_followed_t *
smcr_collect_follow(smcr_collect_t *collection, const smcr_qp_t *to,
                    const smcr_rdma_flow_t *foreign)
{
    static const smcr_figure_description_t size = {sizeof(smcr_collect_followed_t), 0, NULL};
    const void *which = to ? (const void *)to : foreign;
    smcr_collect_followed_t *flow = which ? wmem_map_lookup(collection->rdma, which) : NULL;

    if (which && !flow && !has_no_room(collection, to)) {
        flow = smcr_figure_list_add(&collection->rdma_list, collection->scope, &size);
        smcr_entry_clear(&flow->figures, &smcr_entry_rdma_description);
        flow->to = to;
        flow->foreign = foreign;
        wmem_map_insert(collection->rdma, which, flow);
        wmem_map_insert(collection->flow_times, which, &flow->times);
    }
    return flow;
}

const smcr_qp_t *
smcr_collect_followed_sender(const smcr_collect_followed_t *flow)
{
    return flow->to ? &flow->to->link->qp[!flow->to->side] : NULL;
}

smcr_collect_followed_t *
smcr_collect_followed_peer(const smcr_collect_t *collection, const smcr_collect_followed_t *flow)
{
    const smcr_qp_t *from = smcr_collect_followed_sender(flow);

    return wmem_map_lookup(collection->rdma, from ? (const void *)from : flow->foreign->peer);
}

smcr_collect_odd_t
smcr_collect_followed_odd(const smcr_collect_followed_t *flow, uint32_t frame)
{
    return flow->odd ? GPOINTER_TO_UINT(wmem_map_lookup(flow->odd, GUINT_TO_POINTER(frame)))
                     : SMCR_COLLECT_NOT_ODD;
}

/* A step back without a cause (SMCR_CAUSE_NONE) counts as one with unknown cause. */
void
smcr_collect_followed_count_cause(smcr_entry_causes_t *causes, const smcr_collect_followed_t *flow,
                                  const smcr_collect_stepped_t *stepped)
{
    const smcr_step_back_t *step = stepped->step;
    bool damaged = smcr_collect_followed_odd(flow,
                                             step->nak.frame) == SMCR_COLLECT_ODD_ASKS_FOR_DAMAGED;
    uint64_t *const counts[] = {
        [SMCR_CAUSE_NONE] = &causes->unknown,    [SMCR_CAUSE_UNKNOWN] = &causes->unknown,
        [SMCR_CAUSE_RNR] = &causes->rnr,
        [SMCR_CAUSE_NAK] = damaged ? &causes->icrc : &causes->nak,
        [SMCR_CAUSE_READ] = &causes->read,       [SMCR_CAUSE_TIMEOUT] = &causes->timeout,
    };

    *counts[step->cause] += stepped->packets;
}

void
smcr_collect_followed_note_elsewhere(const smcr_collect_t *collection,
                                     smcr_collect_followed_t *flow)
{
    if (flow->back)
        smcr_collect_heard_note(collection, flow->back, flow->to, &flow->times.silent);
}
