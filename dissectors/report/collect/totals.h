/* totals.h
 * How much a capture holds, and how much of it is neither TCP nor RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_TOTALS_H
#define SMCR_REPORT_COLLECT_TOTALS_H

#include "compat.h"
#include "report/figures/figures.h"

typedef struct {
    smcr_entry_capture_t capture; /* up to `passes`; the rest is for others */
    smcr_entry_ip_t ip;
    int proto_ip, proto_ipv6, proto_tcp, proto_infiniband, proto_icmp, proto_icmpv6;
} smcr_collect_totals_t;

/* Nothing has been counted. Dissectors have registered before. */
void smcr_collect_totals_init(smcr_collect_totals_t *totals);

/* A frame, as Wireshark's tap `frame` hands it over, while it is dissected. */
void smcr_collect_totals_take(smcr_collect_totals_t *totals, const packet_info *pinfo,
                              epan_dissect_t *edt);

#endif /* SMCR_REPORT_COLLECT_TOTALS_H */
