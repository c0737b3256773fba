/* How many bytes of the application one direction of a connection has carried over RDMA: the figure
 * `bytes` of reports and of Wireshark's conversations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"
#include "state/state.h"

/* Which bytes of a direction have been counted. All zeros: none. */
typedef struct {
    smcr_ranges_t positions; /* positions of the stream that have been counted */
    bool has_unpositioned;   /* a packet has been counted whose position is not known */
} smcr_collect_stream_bytes_t;

/* Takes a packet of the direction. Returns how many bytes of the application the packet adds: bytes
 * of an RDMA WRITE at positions that no earlier packet had. If the position is not known, the
 * packet adds all its bytes. Four kinds of packets add 0: packets that are no RDMA WRITE, WRITEs
 * whose RMB element is not known (no `write_location`), duplicates made by the network, and
 * retransmissions if the position of this or of an earlier packet is not known. Memory is allocated
 * in `scope`. */
uint32_t smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                                        const smcr_record_t *record);
