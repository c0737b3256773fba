/* Functions by which several rules find the cause of an RDMA flow's trouble.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "finder.h"

/* Returns "; RoCE had failed before (frame 74)", if RoCE between the hosts of the connection had a
 * trouble that began before `frame` and lasted at least up to `frame` or up to the end of the
 * capture: then the finding is a consequence. Otherwise returns "". */
const char *smcr_finding_flow_failed_text(const smcr_finder_t *finder,
                                          const smcr_entry_connection_t *conn, uint32_t frame);

/* Returns the link and the link group of the flow. Both are NULL for a flow of no link, and for the
 * rest entry of the flows, which has no index. */
smcr_figure_flow_owner_t smcr_finding_flow_owner(const smcr_finder_t *finder,
                                                 const smcr_entry_rdma_t *flow);

/* Whether the flow leads from the host `src` to the host `dst`. */
bool smcr_finding_flow_leads(const smcr_entry_rdma_t *flow, const char *src, const char *dst);

/* Returns the flow in the other direction (the reverse flow); NULL: not known. */
const smcr_entry_rdma_t *smcr_finding_flow_peer(const smcr_finder_t *finder,
                                                const smcr_entry_rdma_t *flow);

/* Returns the longest time in which requests of the flow were retransmitted and the peer sent
 * nothing. Returns NULL in three cases: 1. there is no such time in which the same packet was
 * retransmitted three times or more; 2. the link group had ended before: the peer does not have to
 * answer then; 3. a display filter of the report may hide the answers. */
const smcr_entry_flow_silence_t *smcr_finding_flow_silence(const smcr_finder_t *finder,
                                                           const smcr_entry_rdma_t *flow);

/* Whether a packet of the flow or of its reverse flow is known to have a wrong ICRC. Without the
 * preference smcr.check_icrc only messages and doubtful packets are checked. */
bool smcr_finding_flow_has_wrong_icrc(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether wrong ICRCs explain the retransmissions of the flow: all ICRCs are checked, and a packet
 * of the flow or of its reverse flow has a wrong one. So a request or an acknowledgement is
 * damaged. */
bool smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether the flow of SMC-R has only SENDs, is retransmitted often
 * (SMCR_FINDING_RETRANSMITTED_OFTEN), and has no reverse flow. Its link was announced before its
 * first packet, and is known not to be active at the end of the capture. False under a display
 * filter of the report, which may hide packets. */
bool smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether the flow retransmits a request that is never acknowledged, and that is or probably is
 * larger than all packets which arrive at the destination host: the path MTU may be too small for
 * this request (docs/report.md). A NAK has to ask for the request, so that later requests have
 * arrived. False under a display filter of the report, and if packets of the flow or of its reverse
 * flow are damaged. */
bool smcr_finding_flow_is_too_big(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether the capture has RDMA packets from the destination address of the flow to its source
 * address. */
bool smcr_finding_host_sends_elsewhere(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether the flow is retransmitted often (SMCR_FINDING_RETRANSMITTED_OFTEN), half of its packets
 * or more are retransmissions, and no packet of the capture is or may be of the reverse flow.
 * Returns false for a dead end (smcr_finding_flow_is_dead_end()), which another finding reports, if
 * an address is not known, and under a display filter of the report. */
bool smcr_finding_flow_is_unheard(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether nothing that the flow carries arrives, although its sender gets packets of the reverse
 * flow: no request of the flow was ever acknowledged, and the peer retransmits packets that the
 * flow has acknowledged. Each of the two flows is retransmitted often
 * (SMCR_FINDING_RETRANSMITTED_OFTEN), and half of its packets or more are retransmissions. False if
 * a packet is known to have a wrong ICRC, and under a display filter of the report, which may hide
 * acknowledgements. */
bool smcr_finding_flow_is_one_way(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Returns the length of the longest IP packet with an acknowledged request that any flow with the
 * addresses of `flow`, in its direction, has carried, bytes; 0: not known. */
uint64_t smcr_finding_flow_longest_arrived(const smcr_finder_t *finder,
                                           const smcr_entry_rdma_t *flow);

/* Returns the payload of the largest packets of the flow's link, bytes: the MTU that both hosts
 * have agreed on; 0: not known, or the flow belongs to no link. */
uint64_t smcr_finding_flow_mtu(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether packets of the flow came out of order, and the capture shows no other trouble of it: all
 * packets came in the end, the sender retransmitted none, and the receiver asked for none. */
bool smcr_finding_flow_is_disordered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);
