/* flows.h
 * Questions about the flows of a report: which trouble of a flow has which cause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FINDINGS_FLOWS_H
#define SMCR_REPORT_FINDINGS_FLOWS_H

#include "finder.h"

/* A count that may be unknown, as a number: unknown is none. */
uint64_t smcr_known(uint64_t count);

/* The flow in the other direction; NULL: not known. */
const smcr_rdma_entry_t *smcr_flow_peer(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow);

/* For how long packets were sent again and nothing came back, until the flow's last packet,
 * nanoseconds; 0 where something came back. Needs a notice of a silent peer. */
uint64_t smcr_flow_unanswered(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow);

/* Packets sent again because packets were lost on their way: not because of receive buffers, wrong
 * ICRCs or a dead peer. */
uint64_t smcr_flow_lost(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow);

#endif /* SMCR_REPORT_FINDINGS_FLOWS_H */
