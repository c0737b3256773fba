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

/* Returns the memory pool of a new flow: its own if the collection may let go of the link group. A
 * group whose first contact is not captured stays: other flows may be joined to its flows. */
static wmem_allocator_t *
pool_of(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    return to && to->link->lgr->first_contact_captured ? smcr_collect_pool(collection)
                                                       : collection->scope;
}

/* The list is in the order of the first packets: reports number the flows in this order. */
smcr_collect_followed_t *
smcr_collect_follow(smcr_collect_t *collection, const smcr_qp_t *to,
                    const smcr_rdma_flow_t *foreign)
{
    const void *which = to ? (const void *)to : foreign;
    smcr_collect_followed_t *flow = which ? wmem_map_lookup(collection->rdma, which) : NULL;

    if (which && !flow && !has_no_room(collection, to)) {
        wmem_allocator_t *scope = pool_of(collection, to);
        flow = wmem_new0(scope, smcr_collect_followed_t);
        smcr_figure_list_append(&collection->rdma_list, collection->scope, flow);
        flow->scope = scope;
        flow->gone_before = collection->gone_flows;
        smcr_entry_clear(&flow->figures, &smcr_entry_rdma_description);
        flow->to = to;
        flow->foreign = foreign;
        wmem_map_insert(collection->rdma, which, flow);
        wmem_map_insert(collection->flow_times, which, &flow->times);
    }
    return flow;
}

/* Whether packets of the flow were lost, damaged, retransmitted, duplicated or out of order, or the
 * flow has a NAK or RNR NAK. */
static bool
has_loss(const smcr_collect_followed_t *flow)
{
    const smcr_entry_rdma_t *figures = &flow->figures;
    const smcr_entry_naks_t *naks = &figures->nak;
    uint64_t refused = naks->psn_sequence + naks->invalid_request + naks->remote_access +
                       naks->remote_operational + naks->invalid_rd + figures->rnr_nak;

    return flow->odd || flow->icrc.bad ||
           refused + figures->repeated + figures->gaps + figures->copies > 0;
}

/* Whether the flow has a mark or a CNP, or stood still while a port was paused. */
static bool
has_congestion(const smcr_collect_followed_t *flow)
{
    const smcr_entry_rdma_t *figures = &flow->figures;

    return flow->pause.count || figures->ecn.ce + figures->outer_ce + figures->cnp > 0;
}

bool
smcr_collect_followed_is_calm(const smcr_collect_followed_t *flow)
{
    if (!flow)
        return true;
    bool was_silent = flow->times.long_silences || flow->times.silent.time.end.frame;
    return !was_silent && !has_loss(flow) && !has_congestion(flow);
}

void
smcr_collect_followed_let_go(smcr_collect_t *collection)
{
    smcr_figure_list_t *list = &collection->rdma_list;
    uint32_t kept = 0, gone = 0;

    for (uint32_t i = 0; i < list->length; i++) {
        smcr_collect_followed_t *flow = list->entries[i];
        if (!flow->is_over) {
            flow->gone_before += gone;
            list->entries[kept++] = flow;
            continue;
        }
        gone += flow->figures.packets > 0; /* only such flows have an index */
        wmem_map_remove(collection->rdma, flow->to);
        wmem_map_remove(collection->flow_times, flow->to);
        smcr_collect_pool_free(collection, flow->scope);
    }
    list->length = kept;
    collection->gone_flows += gone;
}

void
smcr_collect_rdma_flows_free(smcr_collect_t *collection)
{
    for (uint32_t i = 0; i < collection->rdma_list.length; i++) {
        const smcr_collect_followed_t *flow = collection->rdma_list.entries[i];
        smcr_collect_pool_free(collection, flow->scope);
    }
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
