/* flows.c
 * Tells causes apart by what a flow and its reverse flow have counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

#include <string.h>

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
    if (flow->last_frame.frame < silent.first.frame ||
        flow->last_frame.time < peer->last_frame.time)
        return 0;
    return flow->last_frame.time - peer->last_frame.time;
}

static bool
has_bad(const smcr_rdma_entry_t *flow)
{
    return flow && flow->icrc && smcr_known(flow->icrc->bad);
}

bool
smcr_flow_is_damaged(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    return has_bad(flow) || has_bad(smcr_flow_peer(finder, flow));
}

bool
smcr_flow_is_dead_end(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    bool ours = flow->kind && strcmp(flow->kind, "smc-r") == 0;

    return ours && !smcr_flow_peer(finder, flow) && smcr_known(flow->repeated) >= 3;
}

/* After the end of a link group its last packets go out again: nobody takes them any more. */
static uint64_t
sent_to_nobody(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    smcr_notice_t ended = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");

    return flow->last_frame.frame >= ended.first.frame ? ended.count : 0;
}

uint64_t
smcr_flow_repeats(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow)
{
    const smcr_causes_entry_t *causes = &flow->repeated_after;
    uint64_t needless = sent_to_nobody(finder, flow);
    uint64_t repeats = smcr_known(causes->nak) + smcr_known(causes->read) +
                       smcr_known(causes->timeout) + smcr_known(causes->unknown);

    if (smcr_flow_is_damaged(finder, flow) || smcr_flow_is_dead_end(finder, flow))
        return 0;
    if (smcr_flow_unanswered(finder, flow) && !smcr_known(causes->nak))
        return 0;
    return repeats > needless ? repeats - needless : 0;
}
