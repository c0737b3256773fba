/* Findings about packets that are too big for the path. RoCE packets are never fragmented (DF), so
 * a switch or router with a smaller MTU discards them. It may send an ICMP error, or nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"

/* Returns the length of the longest IP packet that any flow between the hosts of `flow`, in its
 * direction, has brought to the destination, bytes; 0: not known. */
static uint64_t
longest_arrived(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    uint64_t longest = 0;

    SMCR_FIGURE_EACH (rdma, other, finder->report->rdma_flows)
        if (g_strcmp0(other->src, flow->src) == 0 && g_strcmp0(other->dst, flow->dst) == 0)
            longest = MAX(longest, smcr_figure_or_zero(other->acked_longest));
    return longest;
}

/* Returns the payload of the largest packets of the flow's link, bytes: the MTU that both hosts
 * have agreed on; 0: not known. */
static uint64_t
link_mtu(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_t *link = smcr_finding_flow_owner(finder, flow).link;

    return link ? smcr_figure_or_zero(link->mtu_bytes) : 0;
}

/* The RoCE MTU, bytes, that adapters choose on an Ethernet link with the usual MTU of 1,500 bytes.
 * It is used if neither CLC nor RDMA-CM of the link is captured: a sender fills the packets of a
 * long request, so the missing packets were probably as large. */
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
    uint64_t arrived = longest_arrived(finder, flow);
    if (!arrived)
        return false;
    if (stuck->length != SMCR_FIGURE_UNKNOWN)
        return stuck->length > arrived;
    uint64_t mtu = link_mtu(finder, flow);
    return (mtu ? mtu : USUAL_MTU) > arrived;
}

/* Bytes of an IP packet that every path carries: the smallest MTU of IPv6. */
#define EVERY_PATH_CARRIES 1280

const char *
smcr_finding_flow_size_hint(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;
    uint64_t arrived = smcr_figure_or_zero(flow->acked_longest);

    if (!stuck || stuck->length == SMCR_FIGURE_UNKNOWN || smcr_finder_is_filtered(finder))
        return "";
    if (stuck->length <= EVERY_PATH_CARRIES)
        return "";
    if (!arrived || stuck->rnr_naks || stuck->length <= longest_arrived(finder, flow))
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; the receiver acknowledged packets up to %s bytes, and none above: "
                              "check the path MTU, too", smcr_words_number(finder->scope, arrived));
}

/* Returns the beginning of the sentence: "a packet of 4,156 bytes did not arrive". If these
 * packets are missing in the capture: "16 packets before frame 74 are not captured, and did not
 * arrive". */
static const char *
subject_text(const smcr_finder_t *finder, const smcr_entry_flow_stuck_t *stuck)
{
    if (stuck->length != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(finder->scope, "a packet of %s did not arrive",
                                  smcr_words_things(finder->scope, stuck->length, "byte"));
    return wmem_strdup_printf(finder->scope, "%s before frame %" PRIu32
                              " %s not captured, and did not arrive",
                              smcr_words_things(finder->scope, stuck->missing, "packet"),
                              stuck->begin_frame.frame, stuck->missing == 1 ? "is" : "are");
}

/* Returns "check the path MTU (RoCE MTU: 4,096 bytes)"; "check the path MTU" if the RoCE MTU
 * is not known. */
static const char *
question_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    uint64_t mtu = link_mtu(finder, flow);

    if (!mtu)
        return "check the path MTU";
    return wmem_strdup_printf(finder->scope, "check the path MTU (RoCE MTU: %s bytes)",
                              smcr_words_number(finder->scope, mtu));
}

/* Finding: only packets above a certain size are lost. The sender retransmits one request many
 * times. A NAK of the receiver proves that a later, smaller request arrived. No packet as large as
 * the request has ever been acknowledged between the two hosts in this direction. */
static void
find_too_big(smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;
    uint64_t lasted = smcr_figure_or_zero(
        smcr_figure_time_between(stuck->begin_frame, stuck->end_frame));

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_PATH_MTU,
                               .count = stuck->tries,
                               .when = stuck->begin_frame,
                               .frames = SMCR_FINDER_FRAMES(finder, stuck->end_frame),
                               .filter = "smcr.nak || smcr.retransmission",
                               .cost = lasted},
        "%s: %s in %" PRIu64 " tries over %s; packets up to %s bytes arrived: %s%s",
        smcr_words_hosts(finder->scope, flow->src, flow->dst), subject_text(finder, stuck),
        stuck->tries, smcr_words_duration(finder->scope, lasted),
        smcr_words_number(finder->scope, longest_arrived(finder, flow)),
        question_text(finder, flow), smcr_finder_undelivered(finder, flow->src, flow->dst));
}

void
smcr_finding_on_sizes(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *worst = NULL;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows)
        if (smcr_finding_flow_is_too_big(finder, flow) &&
            (!worst || flow->stuck->tries > worst->stuck->tries))
            worst = flow;
    if (worst)
        find_too_big(finder, worst);
}
