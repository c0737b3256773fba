/* Adds up, for each address, the figures of RDMA flows that describe the adapter with this address:
 * how it sends, and how it reacts to what it receives. Lumina (SIGCOMM 2023, "Understanding the
 * Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina") measures the same with packets
 * that its switch loses or marks on purpose.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "adapters.h"

#include <math.h>

#include "report/recovery/recovery.h"

#define WITHHELD_FEW 8 /* smallest number of withheld CNPs from which a limit is inferred; if fewer
                          CNPs are missing, the network may have lost them */

/* ---- finding ---- */

/* The adapters of a report. */
typedef struct {
    wmem_map_t *by_name;      /* address and network as text -> smcr_entry_adapter_t */
    smcr_figure_list_t *list; /* the entries of the adapters */
    wmem_allocator_t *scope;  /* memory pool of the report */
} adapters_t;

/* Returns tunnel and VLANs of a flow as text, which is a part of a key. `network` NULL: neither
 * tunnel nor VLAN; the text is "". */
static const char *
name_of(wmem_allocator_t *scope, const smcr_entry_flow_network_t *network)
{
    if (!network)
        return "";
    return wmem_strdup_printf(scope, " %u %" PRIu64 " %" PRIu64 " %" PRIu64,
                              (unsigned)network->tunnel, network->tunnel_id, network->vlan,
                              network->outer_vlan);
}

/* Returns the entry of the adapter that has the address in the flow's network, which is made if
 * there is none. */
static smcr_entry_adapter_t *
adapter_of(const adapters_t *adapters, const smcr_entry_rdma_t *flow, const char *addr)
{
    wmem_allocator_t *scope = adapters->scope;
    const smcr_entry_flow_network_t *network = flow->network;
    const char *name = wmem_strdup_printf(scope, "%s%s", addr, name_of(scope, network));
    smcr_entry_adapter_t *adapter = wmem_map_lookup(adapters->by_name, name);

    if (adapter)
        return adapter;
    adapter = SMCR_FIGURE_ADD(adapter, adapters->list, scope);
    adapter->addr = wmem_strdup(scope, addr);
    if (network)
        adapter->network = wmem_memdup(scope, network, sizeof *network);
    wmem_map_insert(adapters->by_name, name, adapter);
    return adapter;
}

/* ---- adding up ---- */

/* Adds the figures of the flow that describe the adapter of its sender: how the adapter
 * retransmits, and how its CNPs are paced. */
static void
add_sender(const adapters_t *adapters, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;
    wmem_allocator_t *scope = adapters->scope;
    bool retransmits =
        recovery && (recovery->nak_to_resend_s || recovery->timeout_s || recovery->retry_s);

    if (!flow->src || (!retransmits && !flow->cnp))
        return;
    smcr_entry_adapter_t *adapter = adapter_of(adapters, flow, flow->src);
    adapter->cnp += smcr_figure_cnps_count(flow);
    adapter->cnp_pacing = smcr_entry_join_maybe(adapter->cnp_pacing, flow->cnp_pacing,
                                                &smcr_entry_flow_pacing_description, scope);
    if (!retransmits)
        return;
    smcr_distribution_join_times(&adapter->nak_to_resend_s, scope, recovery->nak_to_resend_s);
    smcr_distribution_join_times(&adapter->timeout_s, scope, recovery->timeout_s);
    smcr_distribution_join_times(&adapter->retry_s, scope, recovery->retry_s);
    adapter->go_back_n += recovery->go_back_n;
    adapter->selective += recovery->selective;
}

/* Adds the figures of the flow that describe the adapter of its receiver: how soon the adapter
 * sends NAKs and CNPs, and which CNPs it withholds. */
static void
add_receiver(const adapters_t *adapters, const smcr_entry_rdma_t *flow)
{
    const smcr_distribution_t *naks = flow->recovery ? flow->recovery->gap_to_nak_s : NULL;
    wmem_allocator_t *scope = adapters->scope;

    if (!flow->dst || (!naks && !flow->ce_to_cnp_s && !flow->withheld))
        return;
    smcr_entry_adapter_t *adapter = adapter_of(adapters, flow, flow->dst);
    smcr_distribution_join_times(&adapter->gap_to_nak_s, scope, naks);
    smcr_distribution_join_times(&adapter->ce_to_cnp_s, scope, flow->ce_to_cnp_s);
    adapter->withheld = smcr_entry_join_maybe(adapter->withheld, flow->withheld,
                                              &smcr_entry_flow_withheld_description, scope);
}

/* ---- conclusions ---- */

/* Returns how the adapter retransmits, by the counts of both ways; NOT_KNOWN: it has done
 * neither. */
static smcr_figure_recovery_way_t
recovery_of(const smcr_entry_adapter_t *adapter)
{
    if (adapter->go_back_n && adapter->selective)
        return SMCR_FIGURE_RECOVERY_IS_BOTH;
    if (adapter->selective)
        return SMCR_FIGURE_RECOVERY_IS_SELECTIVE;
    return adapter->go_back_n ? SMCR_FIGURE_RECOVERY_GOES_BACK
                              : SMCR_FIGURE_RECOVERY_NOT_KNOWN;
}

/* A kind of limit for CNPs, with the times that show whether an adapter has this limit. */
typedef struct {
    smcr_figure_cnp_scope_t scope;       /* whose CNPs the limit counts together */
    const smcr_distribution_t *pacing;   /* times between CNPs that it limits; NULL: none */
    const smcr_distribution_t *withheld; /* times from the last of these CNPs to a marked packet for
                                            which the adapter sent no CNP */
} limit_t;

/* Whether a limit of this kind explains both the CNPs that came, and those that were withheld. An
 * adapter with such a limit never sends two CNPs in a shorter time than the limit, and withholds a
 * CNP only within this time after the last one. The network delays packets, so times may differ by
 * 5 %. */
static bool
fits(const limit_t *limit)
{
    uint64_t most = limit->pacing ? limit->pacing->min : UINT64_MAX / 2;

    return limit->withheld->max <= most + most / 20;
}

/* Returns a time as seconds; NAN: not known. */
static double
seconds_of(uint64_t time)
{
    return time == SMCR_FIGURE_UNKNOWN ? (double)NAN : (double)time / (double)SMCR_TIME_SECOND;
}

/* Returns the limit of CNPs that the `count` candidates show together: its scope, if only one
 * candidate fits, and bounds of the time between two CNPs that include every candidate that fits.
 * NULL: no candidate fits. */
static smcr_entry_cnp_limit_t *
limit_of(const limit_t *limits, unsigned count, wmem_allocator_t *scope)
{
    uint64_t least = SMCR_FIGURE_UNKNOWN, most = 0;
    unsigned fitting = 0;
    smcr_figure_cnp_scope_t which = SMCR_FIGURE_CNP_SCOPE_NOT_KNOWN;

    for (unsigned i = 0; i < count; i++) {
        if (!fits(&limits[i]))
            continue;
        which = fitting++ ? SMCR_FIGURE_CNP_SCOPE_NOT_KNOWN : limits[i].scope;
        least = MIN(least, limits[i].withheld->max);
        most = MAX(most, limits[i].pacing ? limits[i].pacing->min : SMCR_FIGURE_UNKNOWN);
    }
    if (!fitting)
        return NULL;
    smcr_entry_cnp_limit_t *limit = wmem_new(scope, smcr_entry_cnp_limit_t);
    *limit = (smcr_entry_cnp_limit_t){which, seconds_of(least), seconds_of(most)};
    return limit;
}

/* Concludes what limits the CNPs of the adapter; leaves it unknown if the adapter has sent no CNP,
 * or has withheld fewer than WITHHELD_FEW. */
static void
conclude_limit(smcr_entry_adapter_t *adapter, wmem_allocator_t *scope)
{
    const smcr_entry_flow_withheld_t *withheld = adapter->withheld;
    const smcr_entry_flow_pacing_t *pacing = adapter->cnp_pacing;

    if (!withheld || !pacing || withheld->flow_s->count < WITHHELD_FEW)
        return;
    const limit_t limits[] = {
        {SMCR_FIGURE_CNP_SCOPE_FLOW, pacing->flow_s, withheld->flow_s},
        {SMCR_FIGURE_CNP_SCOPE_PAIR, pacing->pair_s, withheld->pair_s},
        {SMCR_FIGURE_CNP_SCOPE_ADDRESS, pacing->source_s, withheld->source_s},
    };
    adapter->cnp_limit = limit_of(limits, G_N_ELEMENTS(limits), scope);
}

/* All flows are added before anything is concluded of an adapter. */
void
smcr_adapters_report(const smcr_figure_list_t *flows, smcr_figure_list_t *list,
                     wmem_allocator_t *scope)
{
    adapters_t adapters = {wmem_map_new(scope, g_str_hash, g_str_equal), list, scope};

    SMCR_FIGURE_EACH (rdma, flow, *flows) {
        add_sender(&adapters, flow);
        add_receiver(&adapters, flow);
    }
    SMCR_FIGURE_EACH (adapter, adapter, *list) {
        adapter->ack_timeout = smcr_recovery_ack_timeout(adapter->retry_s);
        adapter->recovery = recovery_of(adapter);
        conclude_limit(adapter, scope);
    }
}
