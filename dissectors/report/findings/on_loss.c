/* Findings about packets that were lost on the network, and packets that were not captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/words/words.h"
#include "trouble.h"
#include "wire/wire.h"

/* ---- lost packets ---- */

/* Whether other findings explain the retransmissions of this flow: wrong ICRCs, a link that never
 * came up, a peer that stopped answering. If the flow has retransmissions after a NAK for a PSN
 * sequence error, a silent peer does not explain them: the NAK proves a loss. */
static bool
is_explained_elsewhere(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    if (smcr_finding_flow_is_damaged(finder, flow) || smcr_finding_flow_is_dead_end(finder, flow))
        return true;
    return smcr_finding_flow_unanswered(finder, flow) &&
           !smcr_figure_or_zero(flow->repeated_after.nak);
}

/* Returns the number of packets that were retransmitted because of a loss, as far as no other
 * finding explains them. It does not include retransmissions after RNR NAKs, nor the last packets
 * of a link group that has ended (find_group_end()). */
static uint64_t
lost_packets_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    smcr_figure_notice_t ended = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");
    uint64_t needless = flow->last_frame.frame >= ended.first.frame ? ended.count : 0;
    uint64_t repeats = smcr_figure_or_zero(causes->nak) + smcr_figure_or_zero(causes->read) +
                       smcr_figure_or_zero(causes->timeout) + smcr_figure_or_zero(causes->unknown);

    if (is_explained_elsewhere(finder, flow))
        return 0;
    return repeats > needless ? repeats - needless : 0;
}

static void
add_lost(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
         smcr_finding_trouble_t *trouble)
{
    smcr_finding_trouble_add(trouble, flow, lost_packets_of(finder, flow), 0);
}

/* Returns the sum of the flows that have lost packets. `*naks`: their NAKs for a PSN sequence
 * error, which the reverse flows carry. */
static smcr_entry_rdma_t
sum_lossy_flows(const smcr_finder_t *finder, uint64_t *naks)
{
    smcr_entry_rdma_t sum = {0};

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows) {
        const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
        if (!lost_packets_of(finder, flow))
            continue;
        smcr_entry_join(&sum, flow, &smcr_entry_rdma_description, finder->scope);
        *naks += peer ? smcr_figure_or_zero(peer->nak.psn_sequence) : 0;
    }
    return sum;
}

/* Whether a loss is proven: the receiver of requests sent a NAK for a PSN sequence error, or the
 * requester retransmitted a READ since responses were missing. The packet was lost, or another
 * packet overtook it. */
static bool
is_proven(const smcr_entry_causes_t *causes)
{
    return causes->nak || causes->read;
}

#define FEW_PACKETS 3                       /* fewer lost packets cost little */
#define STALL (100 * SMCR_TIME_MILLISECOND) /* a delay that a user notices */

/* Whether 0.2 % of the packets or more were lost. Users of RoCE regard such a loss as a fault. */
static bool
are_many(const smcr_finding_trouble_t *trouble)
{
    return trouble->count * 500 >= trouble->packets;
}

/* The severity if no loss is proven. After a timeout, or for an unknown cause, the retransmission
 * may be needless, and it costs little unless it delayed a message. */
static smcr_figure_severity_t
severity_of_unproven(const smcr_finding_trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    bool is_measured = trouble->slowest != 0;

    if (causes->timeout)
        return trouble->slowest >= STALL ? SMCR_FIGURE_WARN : SMCR_FIGURE_INFO;
    if (is_measured && trouble->slowest < STALL) /* no message was delayed for long */
        return SMCR_FIGURE_INFO;
    return trouble->count >= FEW_PACKETS && are_many(trouble) ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO;
}

static smcr_figure_severity_t
severity_of_loss(const smcr_finding_trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    if (!is_proven(causes))
        return severity_of_unproven(trouble, causes);
    return are_many(trouble) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

/* Returns where the packets were lost. If the capture has all packets in order, they were lost
 * downstream of the capture point. Else some packets were missing in the capture: those that came
 * after later ones were out of order, those that never came were lost. READ responses are not
 * judged by this, since nobody counts the missing ones. */
static const char *
place_of_loss(const smcr_finder_t *finder, const smcr_entry_rdma_t *sum, uint64_t naks)
{
    if (!sum->missing && !sum->repeated_after.read)
        return finder->report->capture.check_icrc == SMCR_FIGURE_YES
                   ? "Packets lost behind the capture point"
                   : "Packets lost behind the capture point, or damaged (-o smcr.check_icrc:TRUE)";
    if (!smcr_finder_notice(finder, "smcr.out_of_order").count && !sum->repeated_after.read)
        return "Packets lost";
    return naks && naks == sum->late_naks ? "Packets out of order" : "Packets lost or out of order";
}

/* Returns why packets were retransmitted, if no loss is proven. The identification of an IPv4
 * header distinguishes a duplicate from a retransmission, however late the duplicate comes. IPv6
 * has no identification, so the packets may be duplicates. */
static const char *
unproven_cause(const smcr_finding_trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    bool is_ipv6 = trouble->at->src && strchr(trouble->at->src, ':');

    if (!causes->timeout)
        return "for a cause that is not known";
    return is_ipv6 ? "without a NAK, as when a timer runs out, or captured twice"
                   : "without a NAK, as when a timer runs out";
}

/* Returns the sentence. `sum`: sum of the flows that have lost packets; `naks`: their NAKs for a
 * PSN sequence error. */
static const char *
text_of_loss(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble,
             const smcr_entry_rdma_t *sum, uint64_t naks)
{
    const smcr_entry_causes_t *causes = &sum->repeated_after;
    const char *packets = wmem_strdup_printf(
        finder->scope, "%s of %s%s", smcr_words_number(finder->scope, trouble->count),
        smcr_words_things(finder->scope, trouble->packets, "packet"),
        smcr_finding_trouble_hosts(finder, trouble));

    if (is_proven(causes))
        return wmem_strdup_printf(finder->scope, "%s; %s retransmitted (%s)%s",
                                  place_of_loss(finder, sum, naks), packets,
                                  SMCR_WORDS_COUNTS(finder->scope, {causes->nak, "after NAKs"},
                                                    {causes->read, "after lost READ responses"},
                                                    {causes->timeout, "after timeouts"},
                                                    {causes->unknown, "for an unknown cause"}),
                                  smcr_finding_trouble_slowest(finder, trouble));
    return wmem_strdup_printf(
        finder->scope, "%s retransmitted %s%s", packets, unproven_cause(trouble, causes),
        trouble->slowest >= STALL ? smcr_finding_trouble_slowest(finder, trouble) : "");
}

static smcr_figure_finding_t
kind_of_loss(const smcr_entry_causes_t *causes)
{
    if (is_proven(causes))
        return SMCR_FIGURE_FOUND_LOSS;
    return causes->timeout ? SMCR_FIGURE_FOUND_TIMEOUTS : SMCR_FIGURE_FOUND_REPEATS;
}

/* Finds how long programs waited for retransmissions, as far as frames prove it. Of each
 * connection, the direction that waited longer counts, since both may wait for the same packet.
 * Returns false if there is no connection over SMC-R, or if the time of one of them is not
 * known. */
static bool
find_cost_of_loss(const smcr_finder_t *finder, uint64_t *cost)
{
    bool has_connection = false;

    *cost = 0;
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_time_t *up = conn->client_to_server.time;
        const smcr_entry_conn_time_t *down = conn->server_to_client.time;
        if (conn->outcome != SMCR_FIGURE_OUTCOME_SMCR)
            continue;
        if (!up || !down)
            return false;
        *cost += MAX(up->retransmission_s, down->retransmission_s);
        has_connection = true;
    }
    return has_connection;
}

/* Lost packets, which a reliable queue pair retransmits. There are three kinds of findings. NAKs
 * and repeated READs prove a loss; else a timer of the sender ran out; else the cause is not known.
 * A proven loss is a warning from 0.2 % of the packets on. No finding is made if another one
 * explains the retransmissions (is_explained_elsewhere()). */
static void
find_lost(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_lost);
    uint64_t naks = 0;
    smcr_entry_rdma_t sum = sum_lossy_flows(finder, &naks);
    const smcr_entry_causes_t *causes = &sum.repeated_after;

    smcr_finder_facts_t facts = {
        .kind = kind_of_loss(causes),
        .count = trouble.count,
        .when = smcr_finder_first(finder, "smcr.nak", "smcr.packet_retransmitted"),
        .filter = "smcr.nak || smcr.retransmission"};

    if (!trouble.count)
        return;
    facts.has_cost = find_cost_of_loss(finder, &facts.cost);
    smcr_finder_add_as(finder, severity_of_loss(&trouble, causes), &facts, "%s",
                       text_of_loss(finder, &trouble, &sum, naks));
}

/* ---- packets that are not captured ---- */

/* Whether the flow is of an unreliable connection (UC): its receiver sends no acknowledgements, and
 * its sender retransmits nothing. */
static bool
is_unreliable(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (flow->opcodes.counts[i].opcode >> 5 == 1) /* the upper three bits of the opcode are the
                                                         transport: 1 is UC */
            return true;
    return false;
}

/* Whether packets that are missing in the capture may have been lost on the network: the peer or
 * the sender has reacted to them. If the peer is not known, neither is this. */
static bool
may_be_lost(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);

    return !peer || smcr_figure_or_zero(flow->repeated) ||
           smcr_figure_or_zero(peer->nak.psn_sequence) ||
           smcr_finding_flow_is_damaged(finder, flow);
}

/* Adds the missing packets that the receiver got: it asked for no retransmission, and there was
 * none.
 */
static void
add_missing(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
            smcr_finding_trouble_t *trouble)
{
    if (!may_be_lost(finder, flow) || is_unreliable(flow))
        smcr_finding_trouble_add(trouble, flow, smcr_figure_or_zero(flow->missing), 0);
}

/* Returns why the capture does not have the packets, as the end of a sentence. */
static const char *
cause_of_missing(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    const char *comma = trouble->others ? "," : "";

    if (trouble->at && is_unreliable(trouble->at))
        return " of UC, which retransmits none: lost, or not captured";
    if (!smcr_finder_notice(finder, "smcr.out_of_order").count)
        return wmem_strdup_printf(finder->scope, "%s that nobody retransmitted", comma);
    return wmem_strdup_printf(finder->scope, "%s that nobody retransmitted, or has %s out of order",
                              comma, trouble->count == 1 ? "it" : "them");
}

/* Packets that were not captured: the capture has a sequence gap that is never filled, and neither
 * side reacts. So the receiver got the packets, and only the capture does not have them. UC never
 * reacts, so its packets may be lost or not captured. No finding is made under a display filter of
 * the report, which hides packets itself. */
static void
find_missing(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_missing);

    if (smcr_finder_is_filtered(finder))
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NOT_CAPTURED,
                               .count = trouble.count,
                               .when = smcr_finder_notice(finder, "smcr.packet_ahead").first,
                               .filter = "smcr.packet_ahead"},
        "The capture lacks %s%s%s", smcr_words_things(finder->scope, trouble.count, "RoCE packet"),
        smcr_finding_trouble_hosts(finder, &trouble), cause_of_missing(finder, &trouble));
}

void
smcr_finding_on_loss(smcr_finder_t *finder)
{
    find_lost(finder);
    find_missing(finder);
}
