/* flows.c
 * Tells causes apart by what a flow and its reverse flow have counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

uint64_t
smcr_known(uint64_t count)
{
    return count == SMCR_UNKNOWN ? 0 : count;
}

const smcr_rdma_entry_t *
smcr_flow_peer(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;

    return flow->peer < flows->length ? flows->entries[flow->peer] : NULL;
}

uint64_t
smcr_flow_unanswered(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    const smcr_rdma_entry_t *peer = smcr_flow_peer(finder, flow);
    smcr_notice_t silent = smcr_finder_notice(finder, "smcr.peer_silent");

    if (!peer || !silent.count || smcr_known(flow->repeated) < 3)
        return 0;
    if (flow->last_frame.frame < silent.first.frame || flow->last_frame.time < peer->last_frame.time)
        return 0;
    return flow->last_frame.time - peer->last_frame.time;
}

uint64_t
smcr_flow_lost(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    const smcr_causes_entry_t *causes = &flow->repeated_after;
    uint64_t silence = smcr_flow_unanswered(finder, flow);

    if (flow->icrc && smcr_known(flow->icrc->bad))
        return 0;
    if (silence && smcr_known(causes->nak) == 0)
        return 0;
    return smcr_known(causes->nak) + smcr_known(causes->read) + smcr_known(causes->timeout) +
           smcr_known(causes->unknown);
}
