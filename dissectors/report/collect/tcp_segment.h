/* tcp_segment.h
 * A TCP segment as the report counts it. Wireshark's tap `tcp` has neither the IP header nor the
 * time stamps: they are read from the frame's bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_TCP_SEGMENT_H
#define SMCR_REPORT_COLLECT_TCP_SEGMENT_H

#include "compat.h"
#include "report/congestion/congestion.h"

/* Offsets in the frame where the last segment of a flow had its headers, to try them first; zeros:
 * there was none. */
typedef struct {
    uint32_t ip, tcp;
} smcr_collect_tcp_offsets_t;

/* What the tap hands over, and what the frame's bytes tell besides; `offsets` are brought up to
 * date. Where the headers are not found (they are cut off, say), there are no time stamps and
 * no SACK blocks, `no_ecn` is set, and the length of the IP packet is made of its parts. */
smcr_congestion_tcp_segment_t smcr_collect_tcp_segment(const packet_info *pinfo,
                                                       const struct tcpheader *tcp,
                                                       smcr_collect_tcp_offsets_t *offsets);

#endif /* SMCR_REPORT_COLLECT_TCP_SEGMENT_H */
