/* Decides by the counts of a flow and of other flows between its hosts which cause the trouble of
 * the flow has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "causes.h"

#include "report/words/words.h"
#include "wire/wire.h"

/* Unknown addresses (NULL) are equal. */
bool
smcr_finding_flow_leads(const smcr_entry_rdma_t *flow, const char *src, const char *dst)
{
    return g_strcmp0(flow->src, src) == 0 && g_strcmp0(flow->dst, dst) == 0;
}

const smcr_entry_rdma_t *
smcr_finding_flow_peer(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;

    return flow->peer < flows->length ? flows->entries[flow->peer] : NULL;
}

smcr_figure_flow_owner_t
smcr_finding_flow_owner(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    bool has_index = flow->index < finder->report->rdma_flows.length;

    return has_index ? finder->owners[flow->index] : (smcr_figure_flow_owner_t){NULL, NULL};
}

/* Whether the flow has SMCR_FINDING_RETRANSMITTED_OFTEN retransmissions or more. */
static bool
is_retransmitted_often(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_or_zero(flow->repeated) >= SMCR_FINDING_RETRANSMITTED_OFTEN;
}

/* Whether the flow is retransmitted often, and half of its packets or more are retransmissions. */
static bool
is_mostly_retransmitted(const smcr_entry_rdma_t *flow)
{
    return is_retransmitted_often(flow) && 2 * flow->repeated >= flow->packets;
}

/* NULL keeps rules from blaming a peer that did not have to answer, or whose answer a display
 * filter hides. */
const smcr_entry_flow_silence_t *
smcr_finding_flow_silence(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, flow).group;
    const smcr_entry_flow_silence_t *silence = flow->longest_silence;

    if (!smcr_figure_or_zero(flow->silences) || !silence || smcr_finder_is_filtered(finder))
        return NULL;
    bool had_ended = group && group->ended_frame.frame &&
                     group->ended_frame.frame <= silence->first_repeated_frame.frame;
    return had_ended ? NULL : silence;
}

/* Whether a packet of the flow is known to have a wrong ICRC. `flow` may be NULL. */
static bool
has_wrong_icrc(const smcr_entry_rdma_t *flow)
{
    return flow && flow->icrc && smcr_figure_or_zero(flow->icrc->bad);
}

bool
smcr_finding_flow_has_wrong_icrc(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return has_wrong_icrc(flow) || has_wrong_icrc(smcr_finding_flow_peer(finder, flow));
}

bool
smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    bool checks_all = finder->report->capture.check_icrc == SMCR_FIGURE_YES;

    return checks_all && smcr_finding_flow_has_wrong_icrc(finder, flow);
}

/* ---- links without any answer ---- */

/* Whether all packets of the flow are SENDs. A link carries data only after the peer has answered
 * CONFIRM LINK, which is a SEND (RFC 7609, A.3.1). A host that sends a WRITE has therefore received
 * an answer on the link. A host that sends an acknowledgement has received a packet. Only a flow
 * with nothing but SENDs may have received neither. */
static bool
only_sends(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (!smcr_ib_operations[flow->opcodes.counts[i].opcode].is_send)
            return false;
    return true;
}

/* Whether the link was announced in the capture before the flow's first packet, and is known not to
 * be active at the end of the capture. Returns false if `link` is NULL. */
static bool
never_became_active(const smcr_entry_link_t *link, const smcr_entry_rdma_t *flow)
{
    if (!link || !link->state || link->state == SMCR_FIGURE_STATUS_ACTIVE)
        return false;
    return link->added_frame.frame && link->added_frame.frame < flow->first_frame.frame;
}

bool
smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    if (flow->kind != SMCR_FIGURE_FLOW_SMCR || smcr_finder_is_filtered(finder))
        return false;
    if (smcr_finding_flow_peer(finder, flow) || !is_retransmitted_often(flow) || !only_sends(flow))
        return false;
    return never_became_active(smcr_finding_flow_owner(finder, flow).link, flow);
}

/* Whether `flow` leads from the receiver of `other` to the sender of `other`, whose addresses are
 * known. False if an address of `flow` is not known. */
static bool
is_opposite(const smcr_entry_rdma_t *flow, const smcr_entry_rdma_t *other)
{
    return flow->src && flow->dst && strcmp(flow->src, other->dst) == 0 &&
           strcmp(flow->dst, other->src) == 0;
}

bool
smcr_finding_host_sends_elsewhere(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    SMCR_FIGURE_EACH(rdma, other, finder->report->rdma_flows)
        if (is_opposite(other, flow))
            return true;
    return false;
}

/* Whether a flow of the opposite direction may carry the answers to the flow: nothing proves which
 * queue pair sends it. */
static bool
may_be_answered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    SMCR_FIGURE_EACH(rdma, other, finder->report->rdma_flows)
        if (is_opposite(other, flow) && other->src_qpn == SMCR_FIGURE_UNKNOWN)
            return true;
    return false;
}

/* False if a flow in the opposite direction, whose sending queue pair is not known, may be the
 * reverse flow. */
bool
smcr_finding_flow_is_unheard(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    bool is_known = flow->src && flow->dst && flow->packets != SMCR_FIGURE_UNKNOWN;

    if (!is_known || smcr_finder_is_filtered(finder) || smcr_finding_flow_peer(finder, flow))
        return false;
    return is_mostly_retransmitted(flow) && !smcr_finding_flow_is_dead_end(finder, flow) &&
           !may_be_answered(finder, flow);
}

/* A flow with new packets, of which few are retransmitted, has an answer: then acknowledgements are
 * missing in the capture. */
bool
smcr_finding_flow_is_one_way(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    bool is_known = peer && peer->recovery && flow->packets != SMCR_FIGURE_UNKNOWN &&
                    peer->packets != SMCR_FIGURE_UNKNOWN;

    if (!is_known || smcr_finder_is_filtered(finder) || smcr_figure_or_zero(flow->acked_longest))
        return false;
    return peer->recovery->needless >= SMCR_FINDING_RETRANSMITTED_OFTEN &&
           is_mostly_retransmitted(flow) && is_mostly_retransmitted(peer) &&
           !smcr_finding_flow_has_wrong_icrc(finder, flow);
}

/* ---- packets that are too big for the path ---- */

/* All flows between the hosts share the path, so a long packet of any of them proves that such
 * packets pass. */
uint64_t
smcr_finding_flow_longest_arrived(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    uint64_t longest = 0;

    SMCR_FIGURE_EACH (rdma, other, finder->report->rdma_flows)
        if (smcr_finding_flow_leads(other, flow->src, flow->dst))
            longest = MAX(longest, smcr_figure_or_zero(other->acked_longest));
    return longest;
}

uint64_t
smcr_finding_flow_mtu(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_t *link = smcr_finding_flow_owner(finder, flow).link;

    return link ? smcr_figure_or_zero(link->mtu_bytes) : 0;
}

/* The RoCE MTU, bytes, that adapters choose on an Ethernet link with the usual MTU of 1,500 bytes.
 * It is used if the MTU of the link is not known: a sender fills the packets of a long request, so
 * the missing packets were probably as large. */
#define USUAL_MTU 1024

/* What the wire shows: a NAK asks for the request that is never acknowledged, so a later request of
 * the same host has arrived. What follows: the path loses only requests above a certain size. */
bool
smcr_finding_flow_is_too_big(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;

    if (!stuck || stuck->is_refused != SMCR_FIGURE_YES)
        return false;
    if (smcr_finder_is_filtered(finder) || smcr_finding_flow_is_damaged(finder, flow))
        return false;
    uint64_t arrived = smcr_finding_flow_longest_arrived(finder, flow);
    if (!arrived)
        return false;
    if (stuck->length != SMCR_FIGURE_UNKNOWN)
        return stuck->length > arrived;
    uint64_t mtu = smcr_finding_flow_mtu(finder, flow);
    return (mtu ? mtu : USUAL_MTU) > arrived;
}

/* ---- failures that last, and disorder ---- */

/* Returns the first packet of the flow's trouble; frame 0: there is none. The trouble is a request
 * that is too big for the path, or else the longest silence, if it lasts up to `frame` or up to the
 * end of the capture. */
static smcr_when_t
lasting_failure(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, uint32_t frame)
{
    const smcr_entry_flow_silence_t *silence = flow->longest_silence;

    if (smcr_finding_flow_is_too_big(finder, flow))
        return flow->stuck->begin_frame;
    bool lasts = silence && (silence->is_over == SMCR_FIGURE_NO ||
                             silence->end_frame.frame >= frame);
    return lasts ? silence->begin_frame : (smcr_when_t){0, 0};
}

/* Returns the first packet of a trouble that RoCE between two hosts had before `frame`: requests
 * got no answer up to this frame or to the end of the capture, or packets were too big for the
 * path. Frame 0: there is none, or an address is not known (NULL). */
static smcr_when_t
failed_before(const smcr_finder_t *finder, const char *one, const char *other, uint32_t frame)
{
    smcr_when_t first = {0, 0};

    if (!one || !other)
        return first;
    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows) {
        bool is_there = smcr_finding_flow_leads(flow, one, other);
        bool is_back = smcr_finding_flow_leads(flow, other, one);
        smcr_when_t failed =
            is_there || is_back ? lasting_failure(finder, flow, frame) : (smcr_when_t){0, 0};
        if (failed.frame && failed.frame < frame)
            first = smcr_figure_when_earlier(first, failed);
    }
    return first;
}

/* A failure of either direction counts. The text is the end of a sentence, so it begins with ";
 * ". */
const char *
smcr_finding_flow_failed_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                              uint32_t frame)
{
    smcr_when_t failed = failed_before(finder, conn->client.addr, conn->server.addr, frame);

    if (!failed.frame)
        return "";
    return wmem_strdup_printf(finder->scope, "; RoCE had failed before (frame %" PRIu32 ")",
                              failed.frame);
}

/* Whether the delay of most out-of-order packets is known, so that they did come out of order. The
 * delay of a packet with a PSN before the flow's first one is not known: such a packet may have
 * been lost before the capture began, and retransmitted. */
static bool
is_late_measured(const smcr_entry_flow_recovery_t *recovery)
{
    uint64_t measured = recovery->late_s ? recovery->late_s->count : 0;
    uint64_t others = recovery->reordered - MIN(recovery->reordered, measured);

    return measured && others * 8 <= measured;
}

/* False in every case of doubt: then other rules examine the flow. */
bool
smcr_finding_flow_is_disordered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    bool is_asked_for = peer && smcr_figure_or_zero(peer->nak.psn_sequence);

    if (!recovery || recovery->unfilled || !is_late_measured(recovery))
        return false;
    return !recovery->refilled && !is_asked_for && !smcr_figure_or_zero(flow->repeated);
}
