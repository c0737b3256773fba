/* analysis.h
 * The subtree [SMC-R analysis], or [RDMA analysis] on other connections: how the packet fared on
 * its way, what became of its data, and what a response answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_ANALYSIS_H
#define SMCR_SHOW_ANALYSIS_H

#include "compat.h"
#include "state/state.h"

/* Below `tree`; nothing where there is nothing to say. `roce`: headers of the packet, NULL: TCP
 * carries it. */
void smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_record_t *record, const smcr_ib_headers_t *roce);

#endif /* SMCR_SHOW_ANALYSIS_H */
