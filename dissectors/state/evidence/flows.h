/* Requests that may be missing in the flows of a link group, between two frames or after a point.
 * Only the modules of this room include it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "evidence.h"

/* Whether no packet is missing between `point`, which is in the flow of another link, and the
 * newest packet to `qp`: no request is missing after the point in its own flow, and no request is
 * missing in the flow to `qp`. */
bool smcr_evidence_joins(const smcr_point_t *point, const smcr_qp_t *qp);

/* Whether messages prove of all packets that are missing in the flow to `qp` what they were
 * (smcr_evidence_prove_missing()). False if packets came out of order, since then a missing packet
 * may have come after all. */
bool smcr_evidence_has_proven_missing(const smcr_qp_t *qp);

/* Whether a request of the flow is missing between the frames `from` and `to`. `to` UINT32_MAX: up
 * to the end of the capture. Two kinds of requests count as missing, too: 1. requests that are
 * acknowledged but not captured, and that may be before `to`; 2. up to the end of the capture,
 * requests for which the receiver waits. A request that came later does not count; see
 * smcr_evidence_flow_missed(). */
bool smcr_evidence_flow_misses(const smcr_flow_t *flow, uint32_t from, uint32_t to);

/* Whether a request of the flow was missing at some time between the frames `from` and `to`, even
 * if the request came later. */
bool smcr_evidence_flow_missed(const smcr_flow_t *flow, uint32_t from, uint32_t to);

/* Whether a request to the side was missing at some time between the frames `from` and `to` on any
 * link of the group. Requests that came later count, too. */
bool smcr_evidence_links_missed(const smcr_lgr_t *lgr, int side, uint32_t from, uint32_t to);
