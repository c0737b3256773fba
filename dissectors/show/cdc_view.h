/* cdc_view.h
 * Shows what the cursors of a CDC message mean for the data of either direction: bytes announced
 * and read, free space, and who waited for whom.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_CDC_VIEW_H
#define SMCR_SHOW_CDC_VIEW_H

#include "compat.h"
#include "state/state.h"

/* In the Info column. */
void smcr_show_cdc_summary(packet_info *pinfo, const smcr_record_cdc_t *view);

/* A subtree per direction, below `tree`. The record has a view. */
void smcr_show_cdc_view(packet_info *pinfo, proto_tree *tree, const smcr_record_t *record);

#endif /* SMCR_SHOW_CDC_VIEW_H */
