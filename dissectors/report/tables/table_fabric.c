/* table_fabric.c
 * A row for each flow of RDMA: a direction of a link, or of the RoCE of another program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

#include "report/words/words.h"

static uint64_t
mean_of(const smcr_distribution_t *times)
{
    return times->count ? (uint64_t)times->sum / times->count : SMCR_FIGURE_UNKNOWN;
}

static uint64_t
longest_of(const smcr_distribution_t *times)
{
    return times->count ? times->max : SMCR_FIGURE_UNKNOWN;
}

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    NUMBER("Flow", 0, flow->index) \
    NUMBER("LG-ID", 0, owner.group ? owner.group->index : SMCR_FIGURE_UNKNOWN) \
    NUMBER("Linkid", 0, owner.link ? owner.link->number : SMCR_FIGURE_UNKNOWN) \
    TEXT("Kind", 5, smcr_figure_flow_kind_words[flow->kind]) \
    TEXT("Source", 22, flow->src) \
    QPN("Source QP", 0, flow->src_qpn) \
    TEXT("Destination", 22, flow->dst) \
    QPN("Destination QP", 0, flow->dst_qpn) \
    NUMBER("Packets", 8, flow->packets) \
    NUMBER("Bytes", 12, flow->bytes) \
    NUMBER("Payload", 12, flow->payload_bytes) \
    NUMBER("Goodput", 12, flow->goodput_bytes) \
    NUMBER("Retransmitted", 0, flow->repeated) \
    NUMBER("Duplicates", 0, flow->copies) \
    NUMBER("Gaps", 0, flow->gaps) \
    NUMBER("Missing", 0, flow->missing) \
    NUMBER("NAKs", 0, smcr_figure_naks_count(&flow->nak)) \
    NUMBER("RNR NAKs", 0, flow->rnr_nak) \
    NUMBER("CE", 5, flow->ecn.ce) \
    NUMBER("CNPs", 5, flow->cnp) \
    SECONDS("ACK mean (s)", 0, mean_of(&flow->ack_time_s)) \
    SECONDS("ACK max (s)", 0, longest_of(&flow->ack_time_s)) \
    SECONDS("Complete mean (s)", 0, mean_of(&flow->completion_time_s)) \
    SECONDS("Complete max (s)", 0, longest_of(&flow->completion_time_s)) \
    NUMBER("Wrong ICRC", 0, flow->icrc ? flow->icrc->bad : SMCR_FIGURE_UNKNOWN)

static void
fill(smcr_table_rows_t *rows, const smcr_entry_report_t *report)
{
    const smcr_figure_flow_owner_t *owners = smcr_figure_flow_owners(report, rows->scope);

    for (uint32_t i = 0; i < report->rdma_flows.length; i++) {
        const smcr_entry_rdma_t *flow = report->rdma_flows.entries[i];
        smcr_figure_flow_owner_t owner = owners[i];
        SMCR_TABLE_CELLS(COLUMNS)
        smcr_table_row_end(rows);
    }
}

SMCR_TABLE(fabric, "SMC-R Fabric");
