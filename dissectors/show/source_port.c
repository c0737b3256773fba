/* source_port.c
 * RoCE does not name the queue pair that sends a packet; the record does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "source_port.h"

#define NOBODY UINT32_MAX /* what InfiniBand's dissector begins with */

/* Returns whether it is known. */
static bool
source_of(const smcr_record_t *record, const smcr_ib_headers_t *roce, uint32_t *qpn)
{
    if (roce->has_src_qpn) {
        *qpn = roce->src_qpn;
        return true;
    }
    if (record->link && record->sender_known) {
        *qpn = record->link->qp[record->sender].key.qpn;
        return true;
    }
    if (!record->rdma || !record->rdma->ground)
        return false;
    *qpn = record->rdma->src_qpn;
    return true;
}

void
smcr_show_no_source_port(packet_info *pinfo)
{
    if (pinfo->srcport == NOBODY)
        pinfo->srcport = 0;
}

void
smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce)
{
    uint32_t qpn;

    if (source_of(record, roce, &qpn))
        pinfo->srcport = qpn;
    else
        smcr_show_no_source_port(pinfo);
}
