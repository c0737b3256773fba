/* rdma_flows.h
 * How the packets of each RDMA flow fared: those of SMC-R's links, and, where the user wants to
 * know of them, of all other RDMA connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_RDMA_FLOWS_H
#define SMCR_REPORT_COLLECT_RDMA_FLOWS_H

#include "report/figures/figures.h"
#include "show/show.h"

typedef struct smcr_rdma_flows smcr_collect_rdma_flows_t; /* of one report */

/* No flows. They live as long as the scope. */
smcr_collect_rdma_flows_t *smcr_collect_rdma_flows_new(wmem_allocator_t *scope);

/* A packet of RoCE or InfiniBand. */
void smcr_collect_rdma_flows_take(smcr_collect_rdma_flows_t *flows, smcr_when_t when,
                                  const smcr_tap_t *packet);

/* The ICRC of a packet in no flow, as smcr_ib_headers_t.icrc. */
void smcr_collect_rdma_flows_stray(smcr_collect_rdma_flows_t *flows, uint8_t icrc);

/* The first packet with the mark CE, and the first NAK for another reason than the order of PSNs;
 * frame 0: there has been none. */
typedef struct {
    smcr_when_t ce, refusal;
} smcr_collect_rdma_firsts_t;
smcr_collect_rdma_firsts_t smcr_collect_rdma_flows_firsts(const smcr_collect_rdma_flows_t *flows);

/* Adds the flows to `list`, each with its index and that of the other direction. What is added
 * lives as long as `scope`. */
void smcr_collect_rdma_flows_report(smcr_collect_rdma_flows_t *flows, const smcr_state_t *state,
                                    smcr_figure_list_t *list, wmem_allocator_t *scope);

/* The index of the flow to a queue pair of a link, as in the last report; SMCR_FIGURE_UNKNOWN: it
 * has none. */
uint64_t smcr_collect_rdma_flows_index(const smcr_collect_rdma_flows_t *flows, const smcr_qp_t *to);

#endif /* SMCR_REPORT_COLLECT_RDMA_FLOWS_H */
