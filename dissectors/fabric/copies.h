/* Finds duplicates: a packet that the sender sent once is captured several times, since the network
 * or the capture has duplicated it (docs/fabric.md). Names of the code say "copy" for "duplicate".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "flow_state.h"

/* Whether the flow's IPv4 identifications change with each packet. If so, they distinguish
 * duplicates from retransmissions, and prove the order in which the sender has sent its packets. */
bool smcr_flow_knows_copies(const smcr_flow_t *flow);

/* Whether a retransmission of the flow is certainly no duplicate: identifications distinguish the
 * two, or the flow has had no duplicate so far. */
bool smcr_flow_has_no_copies(const smcr_flow_t *flow);

/* Keeps the IPv4 identification of the flow's next packet, and notes whether it differs from the
 * identification of the packet before. `packet` has a right ICRC. Called before
 * smcr_flow_copied_packet(). */
void smcr_flow_take_id(smcr_flow_t *flow, const smcr_sent_t *packet);

/* Returns frame and time of the earlier packet of which the request `packet` is a duplicate. Frame
 * 0: `packet` is not a duplicate. `seen`: the history of the PSN of `packet`; NULL: there is none.
 * Counts the duplicates that only time or a router proves (`copies` of the flow), so it is called
 * once for a request. */
smcr_when_t smcr_flow_copied_packet(smcr_flow_t *flow, const smcr_seen_packet_t *seen,
                                    const smcr_sent_t *packet);

/* Returns what can prove that the response `packet` of `flow` is a duplicate. `reverse`: the flow
 * of the requests that it answers; NULL: not known. */
smcr_response_grounds_t smcr_flow_response_grounds(const smcr_flow_t *flow,
                                                   const smcr_flow_t *reverse,
                                                   const smcr_sent_t *packet);
