/* How many bytes of the application one direction of a connection has carried over RDMA: the figure
 * `bytes` of reports and of Wireshark's conversations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"
#include "state/state.h"

/* What has been counted of a direction. All zeros: nothing. */
typedef struct {
    smcr_ranges_t positions; /* of the stream that have been seen */
    bool has_unpositioned;   /* bytes have been counted whose position is not known */
} smcr_collect_stream_bytes_t;

/* A packet of the direction. Returns how many bytes it adds: those of a WRITE whose positions have
 * not been seen before. Where a position is not known, all bytes of the packet count, unless it is
 * a repeat. `scope`: of what is kept. */
uint32_t smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                                        const smcr_record_t *record);
