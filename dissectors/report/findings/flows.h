/* flows.h
 * Questions about the flows of a report: which trouble of a flow has which cause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FINDINGS_FLOWS_H
#define SMCR_REPORT_FINDINGS_FLOWS_H

#include "finder.h"

/* Before any other question about a flow: finds out to which link and link group each belongs. */
void smcr_finding_flows_find_homes(smcr_finder_t *finder);

/* The flow in the other direction; NULL: not known. */
const smcr_entry_rdma_t *smcr_finding_flow_peer(const smcr_finder_t *finder,
                                                const smcr_entry_rdma_t *flow);

/* For how long packets were sent again and nothing came back, until the flow's last packet,
 * nanoseconds; 0 where something came back. Needs a notice of a silent peer. */
uint64_t smcr_finding_flow_unanswered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether a packet with a wrong ICRC went one way or the other: it explains repeats of both. */
bool smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether packets of SMC-R go out again and again on a link whose other end never says anything:
 * a link that was announced in the capture, and that nobody has used. */
bool smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Packets sent again, but for causes that findings of their own explain: receive buffers, wrong
 * ICRCs, a peer or a link that is dead, a link group that has ended. */
uint64_t smcr_finding_flow_repeats(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

#endif /* SMCR_REPORT_FINDINGS_FLOWS_H */
