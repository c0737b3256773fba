/* Knows how what the taps bring becomes the entries of a report: connections, link groups and
 * RMBs, RDMA flows, TCP flows, breaches. Does not know what is bad, or how it is written. Called
 * by listeners.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "report/figures/figures.h"
#include "show/show.h"

typedef struct smcr_collection smcr_collection_t;

/* Nothing has been seen. Freed by smcr_collection_free(). */
smcr_collection_t *smcr_collection_new(void);
void smcr_collection_free(smcr_collection_t *collection);

/* Forgets everything: the next frame is the first one of a new pass, or of another file. */
void smcr_collection_empty(smcr_collection_t *collection);

/* Wireshark's taps of these names, and our own. */
typedef enum {
    SMCR_COLLECTION_FRAME, /* comes last for each frame */
    SMCR_COLLECTION_TCP,
    SMCR_COLLECTION_SMCR,
    SMCR_COLLECTION_EXPERT,
    SMCR_COLLECTION_TAPS
} smcr_collection_tap_t;

/* What a tap hands over. */
void smcr_collection_take(smcr_collection_t *collection, smcr_collection_tap_t tap,
                          packet_info *pinfo, epan_dissect_t *edt, const void *data);

/* What has been seen, as a report without findings. It lives as long as `scope`, and no longer than
 * until more is taken or forgotten. `filter`: of what was seen; NULL: everything. */
smcr_entry_report_t *smcr_collection_report(smcr_collection_t *collection, const char *filter,
                                            wmem_allocator_t *scope);

/* The expert items of the plugin, and what else findings may be about; `*count`: how many. `report`
 * is made of the same collection; the notices live as long as it does. */
const smcr_figure_notice_t *smcr_collection_notices(const smcr_collection_t *collection,
                                                    const smcr_entry_report_t *report,
                                                    wmem_allocator_t *scope, uint32_t *count);
