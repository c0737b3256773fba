/* table_fabric.c
 * Flows of RDMA: the directions of links, and of the RoCE of other programs; and broken rules.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tables.h"

#include "report/words/words.h"

/* ---- a row for each flow ---- */

/* With those that ask to wait. */
static uint64_t
naks_of(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_sum(smcr_figure_naks_count(&flow->nak), flow->rnr_nak);
}

#define FLOW(X)                                                                                    \
    X(TEXT, NULL, "flow", 0,                                                                       \
      smcr_words_hosts(taker->scope,                                                               \
                       smcr_words_queue_pair(taker->scope, flow->src, flow->src_qpn),              \
                       smcr_words_queue_pair(taker->scope, flow->dst, flow->dst_qpn)))             \
    X(COUNT, NULL, "packets", 0, flow->packets)                                                    \
    X(COUNT, NULL, "retrans.", 0, flow->repeated)                                                  \
    X(COUNT, NULL, "NAKs", 0, naks_of(flow))                                                       \
    X(COUNT, NULL, "CE+CNP", 0, smcr_figure_sum(flow->ecn.ce, flow->cnp))                          \
    X(NUMBER, "Flow", NULL, 0, flow->index)                                                        \
    X(NUMBER, "LG-ID", NULL, 0, owner.group ? owner.group->index : SMCR_FIGURE_UNKNOWN)            \
    X(NUMBER, "Linkid", NULL, 0, owner.link ? owner.link->number : SMCR_FIGURE_UNKNOWN)            \
    X(TEXT, "Kind", NULL, 5, smcr_figure_flow_kind_words[flow->kind])                              \
    X(TEXT, "Source", NULL, 22, flow->src)                                                         \
    X(TEXT, "Source QP", NULL, 0, smcr_words_qpn(taker->scope, flow->src_qpn))                     \
    X(TEXT, "Destination", NULL, 22, flow->dst)                                                    \
    X(TEXT, "Destination QP", NULL, 0, smcr_words_qpn(taker->scope, flow->dst_qpn))                \
    X(COUNT, "Packets", NULL, 8, flow->packets)                                                    \
    X(BYTES, "Bytes", NULL, 12, flow->bytes)                                                       \
    X(BYTES, "Payload", NULL, 12, flow->payload_bytes)                                             \
    X(BYTES, "Goodput", NULL, 12, flow->goodput_bytes)                                             \
    X(COUNT, "Retransmitted", NULL, 0, flow->repeated)                                             \
    X(COUNT, "Duplicates", NULL, 0, flow->copies)                                                  \
    X(COUNT, "Gaps", NULL, 0, flow->gaps)                                                          \
    X(COUNT, "Missing", NULL, 0, flow->missing)                                                    \
    X(COUNT, "NAKs", NULL, 0, smcr_figure_naks_count(&flow->nak))                                  \
    X(COUNT, "RNR NAKs", NULL, 0, flow->rnr_nak)                                                   \
    X(COUNT, "CE", NULL, 5, flow->ecn.ce)                                                          \
    X(COUNT, "CNPs", NULL, 5, flow->cnp)                                                           \
    SMCR_TABLE_SPREAD(X, "ACK", flow->ack_time_s)                                                  \
    SMCR_TABLE_SPREAD(X, "Complete", flow->completion_time_s)                                      \
    X(COUNT, "Wrong ICRC", NULL, 0, flow->icrc ? flow->icrc->bad : SMCR_FIGURE_UNKNOWN)

static uint64_t
trouble_of(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_known(flow->repeated) + smcr_figure_known(naks_of(flow)) +
           smcr_figure_known(flow->missing) + smcr_figure_known(flow->ecn.ce) +
           smcr_figure_known(flow->cnp) + (flow->icrc ? smcr_figure_known(flow->icrc->bad) : 0);
}

static void
fill_fabric(const smcr_table_taker_t *taker)
{
    const smcr_figure_flow_owner_t *owners = smcr_figure_flow_owners(taker->report, taker->scope);

    SMCR_FIGURE_EACH(rdma, flow, taker->report->rdma_flows) {
        smcr_figure_flow_owner_t owner = owners[flow->index];
        SMCR_TABLE_ROW(taker, FLOW, smcr_figure_known(flow->packets), trouble_of(flow));
    }
}

#define PLURAL(count, thing) ((count) == 1 ? thing : thing "s")

/* All packets, also those in no flow. */
static const char *
heading_of_fabric(const smcr_table_taker_t *taker)
{
    const smcr_figure_list_t *flows = &taker->report->rdma_flows;
    smcr_entry_rdma_t sum = {0};
    uint64_t naks;

    if (!flows->length)
        return NULL;
    for (uint32_t i = 0; i < flows->length + flows->rest; i++)
        smcr_entry_join(&sum, flows->entries[i], &smcr_entry_rdma_description, taker->scope);
    naks = smcr_figure_naks_count(&sum.nak);
    return wmem_strdup_printf(
        taker->scope, "RDMA: %s",
        SMCR_WORDS_COUNTS(taker->scope, {sum.packets, PLURAL(sum.packets, "packet")},
                          {sum.repeated, "retransmitted"}, {sum.missing, "missing at first"},
                          {sum.copies, PLURAL(sum.copies, "duplicate")},
                          {naks, PLURAL(naks, "NAK")},
                          {sum.rnr_nak, PLURAL(sum.rnr_nak, "RNR NAK")}, {sum.ecn.ce, "marked CE"},
                          {sum.cnp, PLURAL(sum.cnp, "CNP")},
                          {sum.icrc ? sum.icrc->bad : 0, "with a wrong ICRC"}));
}

SMCR_TABLE(fabric, "SMC-R Fabric", FLOW, heading_of_fabric);

/* ---- a row for each kind of broken rule or format, and who breaks it ---- */

#define BREACH(X)                                                                                  \
    X(TEXT, "Filter", "filter", 33, wmem_strdup_printf(taker->scope, "smcr.%s", breach->kind))     \
    X(TEXT, "By", "by", 6, smcr_figure_role_words[breach->by])                                     \
    X(COUNT, "Count", "count", 7, breach->count)                                                   \
    X(NUMBER, "First frame", "first frame", 0, SMCR_TABLE_FRAME(breach->frame))

static void
fill_breaches(const smcr_table_taker_t *taker)
{
    SMCR_FIGURE_EACH(breach, breach, taker->report->breaches)
        SMCR_TABLE_ROW(taker, BREACH, breach->count, 0);
}

static const char *
heading_of_breaches(const smcr_table_taker_t *taker)
{
    return taker->report->breaches.length ? "Breaches of RFC 7609 and of formats" : NULL;
}

SMCR_TABLE(breaches, "SMC-R Breaches", BREACH, heading_of_breaches);
