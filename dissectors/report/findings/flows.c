/* flows.c
 * Tells causes apart by what a flow and its reverse flow have counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "wire/wire.h"

const smcr_entry_rdma_t *
smcr_finding_flow_peer(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;

    return flow->peer < flows->length ? flows->entries[flow->peer] : NULL;
}

uint64_t
smcr_finding_flow_unanswered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    smcr_figure_notice_t silent = smcr_finder_notice(finder, "smcr.peer_silent");

    if (!peer || !silent.count || smcr_figure_known(flow->repeated) < 3)
        return 0;
    if (flow->last_frame.frame < silent.first.frame ||
        silent.last < peer->last_frame.frame || /* it was heard again */
        flow->last_frame.time < peer->last_frame.time)
        return 0;
    uint64_t end = finder->report->capture.last_time;
    return (end == SMCR_FIGURE_UNKNOWN ? flow->last_frame.time : end) - peer->last_frame.time;
}

static bool
has_bad(const smcr_entry_rdma_t *flow)
{
    return flow && flow->icrc && smcr_figure_known(flow->icrc->bad);
}

bool
smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return has_bad(flow) || has_bad(smcr_finding_flow_peer(finder, flow));
}

/* ---- links on which nobody answers ---- */

/* Who acknowledges has got something; who sends anything but a SEND knows that the link works. */
static bool
only_sends(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (!smcr_ib_is_send(flow->opcodes.counts[i].opcode))
            return false;
    return true;
}

bool
smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_t *link = finder->owners[flow->index].link;

    if (flow->kind != SMCR_FIGURE_FLOW_SMCR || smcr_finding_flow_peer(finder, flow) ||
        smcr_figure_known(flow->repeated) < 3 || !only_sends(flow) ||
        smcr_finder_is_filtered(finder))
        return false;
    return link && link->state && link->state != SMCR_FIGURE_STATUS_ACTIVE &&
           link->added_frame.frame && link->added_frame.frame < flow->first_frame.frame;
}

uint64_t
smcr_finding_flow_repeats(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    /* after the end of a link group its last packets go out again: nobody takes them any more */
    smcr_figure_notice_t ended = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");
    uint64_t needless = flow->last_frame.frame >= ended.first.frame ? ended.count : 0;
    uint64_t repeats = smcr_figure_known(causes->nak) + smcr_figure_known(causes->read) +
                       smcr_figure_known(causes->timeout) + smcr_figure_known(causes->unknown);

    if (smcr_finding_flow_is_damaged(finder, flow) || smcr_finding_flow_is_dead_end(finder, flow))
        return 0;
    if (smcr_finding_flow_unanswered(finder, flow) && !smcr_figure_known(causes->nak))
        return 0;
    return repeats > needless ? repeats - needless : 0;
}
