/* analysis.h
 * Shows what the cursors mean: bytes announced and read, free space, and who waits for whom.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_ANALYSIS_H
#define SMCR_SHOW_ANALYSIS_H

#include "compat.h"
#include "state/state.h"

/* Of a CDC message: in the Info column, and below `tree`. */
void smcr_analysis_summarize(packet_info *pinfo, const smcr_cdc_view_t *view);
void smcr_analysis_show_cdc(tvbuff_t *tvb, proto_tree *tree, const smcr_cdc_view_t *view);

/* Of an RDMA WRITE packet: below `tree`. */
void smcr_analysis_show_write(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                              const smcr_place_t *place);

/* Of an acknowledgement: below `tree`. */
void smcr_analysis_show_ack(tvbuff_t *tvb, proto_tree *tree, const smcr_wait_t *acks);

#endif /* SMCR_SHOW_ANALYSIS_H */
