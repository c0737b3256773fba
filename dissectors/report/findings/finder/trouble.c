/* Sums up one kind of trouble over RDMA flows, and names its hosts in a sentence.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trouble.h"

#include "causes.h"

#include "report/words/words.h"
#include "wire/wire.h"

/* Returns the number of packets of the flow, without duplicates that the network or the capture has
 * made. */
static uint64_t
packets_once(const smcr_entry_rdma_t *flow)
{
    uint64_t copies = smcr_figure_or_zero(flow->copies) + smcr_figure_or_zero(flow->cnp_copies);
    uint64_t packets = smcr_figure_or_zero(flow->packets);

    return packets - MIN(packets, copies);
}

/* Each flow is compared with the worst flow before it (`at`). */
void
smcr_finding_trouble_add(smcr_finding_trouble_t *trouble, const smcr_entry_rdma_t *flow,
                         uint64_t count, uint64_t retransmitted)
{
    const smcr_entry_rdma_t *at = trouble->at;

    if (!count)
        return;
    if (at && flow->src && !smcr_finding_flow_leads(flow, at->src, at->dst)) {
        bool back = smcr_finding_flow_leads(flow, at->dst, at->src);
        trouble->both |= back;
        trouble->others |= !back;
        trouble->other_sources |= g_strcmp0(flow->src, at->src) != 0;
        trouble->other_targets |= g_strcmp0(flow->dst, at->dst) != 0;
    }
    if (!at || count > trouble->most) {
        trouble->at = flow;
        trouble->most = count;
    }
    trouble->count += count;
    trouble->packets += packets_once(flow);
    trouble->retransmitted += retransmitted;
    const smcr_distribution_t *times = smcr_distribution_get(flow->repeated_completion_time_s);
    trouble->slowest = MAX(trouble->slowest, times->max);
}

/* The hosts are those of the worst flow; "several hosts" if any other pair is in trouble, too. */
const char *
smcr_finding_trouble_hosts(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    const smcr_entry_rdma_t *flow = trouble->at;

    if (!flow || !flow->src || !flow->dst)
        return "";
    if (trouble->others && !trouble->other_targets)
        return wmem_strdup_printf(finder->scope, " from several hosts to %s", flow->dst);
    if (trouble->others && !trouble->other_sources)
        return wmem_strdup_printf(finder->scope, " from %s to several hosts", flow->src);
    if (trouble->others)
        return wmem_strdup_printf(finder->scope, " of several hosts, most from %s to %s", flow->src,
                                  flow->dst);
    return wmem_strdup_printf(finder->scope,
                              trouble->both ? " between %s and %s" : " from %s to %s", flow->src,
                              flow->dst);
}

const char *
smcr_finding_trouble_sender(const smcr_finding_trouble_t *trouble, const char *several)
{
    bool known = trouble->at && trouble->at->src && !trouble->other_sources;

    return known ? trouble->at->src : several;
}

/* Shortest time of a message that a finding names, nanoseconds. */
#define NOTABLE_TIME (10 * SMCR_TIME_MILLISECOND)

const char *
smcr_finding_trouble_slowest(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    if (trouble->slowest < NOTABLE_TIME || smcr_finder_has_two_clocks(finder))
        return "";
    return wmem_strdup_printf(finder->scope, "; worst RDMA message latency %s",
                              smcr_words_duration(finder->scope, trouble->slowest));
}

/* The rest entry counts, too: it has no hosts. */
smcr_finding_trouble_t
smcr_finding_trouble_sum(const smcr_finder_t *finder, smcr_finding_add_flow_t *add)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;
    smcr_finding_trouble_t trouble = {0};

    for (uint32_t i = 0; i < flows->length + flows->rest; i++)
        add(finder, flows->entries[i], &trouble);
    return trouble;
}

const char *
smcr_finding_trouble_retransmitted(const smcr_finder_t *finder, uint64_t packets)
{
    if (!packets)
        return "";
    return wmem_strdup_printf(finder->scope, "; %s retransmitted",
                              smcr_words_things(finder->scope, packets, "packet"));
}
