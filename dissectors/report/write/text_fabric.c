/* text_fabric.c
 * How the packets of RDMA fared, in a few lines over all flows, and the flows of other programs;
 * and TCP's marks of congestion, where a connection uses ECN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>

#include "report/words/words.h"
#include "text_page.h"
#include "wire/wire.h"

static void
row(const smcr_page_t *page, const char *name, const char *text)
{
    if (*text)
        smcr_page_item(page, wmem_strdup_printf(page->scope, "  %-13s  ", name), text);
}

static const char *
traffic(const smcr_page_t *page, const smcr_entry_rdma_t *sum)
{
    uint64_t payload = smcr_figure_known(sum->payload_bytes);
    uint64_t cdc = smcr_figure_known(sum->cdc_bytes), llc = smcr_figure_known(sum->llc_bytes);
    const char *shares =
        !cdc && !llc ? ""
                     : wmem_strdup_printf(
                           page->scope, " (data %s, CDC %s, LLC %s)",
                           smcr_words_share(page->scope, payload - cdc - llc, payload),
                           smcr_words_share(page->scope, cdc, payload),
                           smcr_words_share(page->scope, llc, payload));

    return wmem_strdup_printf(page->scope, "%s, %s; payload %s%s, each byte once %s",
                              smcr_words_things(page->scope, sum->packets, "packet"),
                              smcr_words_size(page->scope, sum->bytes),
                              smcr_words_size(page->scope, payload), shares,
                              smcr_words_size(page->scope, sum->goodput_bytes));
}

/* Nothing of the transport; RDMA-CM has timers of its own. */
static const char *
repeated_by_cm(const smcr_page_t *page)
{
    SMCR_FIGURE_EACH(finding, finding, page->report->findings) {
        if (finding->kind == smcr_figure_finding_words[SMCR_FIGURE_FOUND_CM_REPEAT])
            return wmem_strdup_printf(page->scope, "none by RDMA; by RDMA-CM %s",
                                      smcr_words_things(page->scope, finding->count, "message"));
    }
    return "none";
}

static const char *
repeats(const smcr_page_t *page, const smcr_entry_rdma_t *sum)
{
    const smcr_entry_causes_t *causes = &sum->repeated_after;

    if (!sum->repeated)
        return repeated_by_cm(page);
    return wmem_strdup_printf(
        page->scope, "%s (%s): %s", smcr_words_things(page->scope, sum->repeated, "packet"),
        smcr_words_share(page->scope, sum->repeated, sum->packets),
        SMCR_WORDS_COUNTS(page->scope, {causes->nak, "after a NAK"},
                          {causes->icrc, "after a NAK for a wrong ICRC"},
                          {causes->rnr, "after an RNR NAK"},
                          {causes->read, "as a READ was re-requested"},
                          {causes->timeout, "after a timeout"},
                          {causes->unknown, "for an unknown cause"}));
}

static const char *
missing(const smcr_page_t *page, const smcr_entry_rdma_t *sum)
{
    if (!smcr_figure_known(sum->missing))
        return "";
    return wmem_strdup_printf(page->scope, "%s in %s, at first",
                              smcr_words_things(page->scope, sum->missing, "packet"),
                              smcr_words_things(page->scope, sum->gaps, "gap"));
}

static const char *
congestion(const smcr_page_t *page, const smcr_entry_rdma_t *sum)
{
    const smcr_entry_codepoints_t *ecn = &sum->ecn;

    if (!ecn->ce && !sum->cnp)
        return "";
    return smcr_page_list(
        page, ", ",
        ecn->ce ? wmem_strdup_printf(page->scope, "%s marked CE (%s)",
                                     smcr_words_things(page->scope, ecn->ce, "packet"),
                                     smcr_words_share(page->scope, ecn->ce, sum->packets))
                : "",
        smcr_page_things(page, sum->cnp, "CNP"),
        sum->ce_to_cnp_s.count
            ? wmem_strdup_printf(page->scope, "%s of them answer a mark, after %s",
                                 smcr_words_number(page->scope, sum->ce_to_cnp_s.count),
                                 smcr_page_spread(page, &sum->ce_to_cnp_s))
            : "",
        NULL);
}

static const char *
checks(const smcr_page_t *page, const smcr_entry_rdma_t *sum)
{
    if (page->report->capture.check_icrc != SMCR_FIGURE_YES)
        return "not checked (-o smcr.check_icrc:TRUE)";
    if (!sum->icrc)
        return "";
    return SMCR_WORDS_COUNTS(page->scope, {sum->icrc->good, "right"}, {sum->icrc->bad, "wrong"},
                             {sum->icrc->unverified, "not verified"});
}

/* ---- flows of other programs ---- */

static const char *
queue_pair(const smcr_page_t *page, const char *address, uint64_t qpn)
{
    const char *name = address ? address : "?";

    return qpn == SMCR_FIGURE_UNKNOWN
               ? name
               : wmem_strdup_printf(page->scope, "%s QP %" PRIu64, name, qpn);
}

static const char *
number(const smcr_page_t *page, uint64_t value)
{
    return smcr_figure_known(value) ? smcr_words_number(page->scope, value) : "";
}

/* The states of a healthy connection say nothing. */
static const char *
state_of(const smcr_entry_flow_cm_t *cm)
{
    smcr_figure_cm_state_t state = cm->client_state;

    if (!state || state == SMCR_FIGURE_CM_STATE_KNOWN(SMCR_IB_CM_STATE_ESTABLISHED) ||
        state == SMCR_FIGURE_CM_STATE_KNOWN(SMCR_IB_CM_STATE_TIMEWAIT))
        return "";
    return smcr_figure_cm_state_words[state];
}

/* Which port of RDMA-CM it went to; RDMA-CM itself has queue pair 1. */
static const char *
service_of(const smcr_page_t *page, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_cm_t *cm = flow->cm;

    if (flow->dst_qpn == SMCR_IB_GSI_QPN)
        return "RDMA-CM";
    if (!cm)
        return "";
    return smcr_page_list(page, ", ",
                          cm->port == SMCR_FIGURE_UNKNOWN
                              ? ""
                              : wmem_strdup_printf(page->scope, "port %" PRIu64, cm->port),
                          state_of(cm), NULL);
}

static void
add_flow(smcr_text_table_t *table, const smcr_entry_rdma_t *flow)
{
    const smcr_page_t *page = table->page;

    smcr_text_table_row(
        table,
        wmem_strdup_printf(page->scope, "%s → %s", queue_pair(page, flow->src, flow->src_qpn),
                           queue_pair(page, flow->dst, flow->dst_qpn)),
        smcr_words_number(page->scope, flow->packets),
        smcr_words_size(page->scope, flow->payload_bytes), number(page, flow->repeated),
        number(page, smcr_figure_naks_count(&flow->nak)), number(page, flow->rnr_nak),
        number(page, flow->ecn.ce), service_of(page, flow));
}

static void
write_others(const smcr_page_t *page)
{
    const smcr_figure_list_t *flows = &page->report->rdma_flows;
    smcr_text_table_t table = smcr_text_table_new(page, "lrrrrrrl");
    smcr_page_few_t busiest = {.count = 0};

    SMCR_FIGURE_EACH(rdma, flow, *flows) {
        if (flow->kind != SMCR_FIGURE_FLOW_SMCR)
            smcr_page_few_add(&busiest, flow, smcr_figure_known(flow->packets));
    }
    if (!busiest.count)
        return;
    smcr_text_table_row(&table, "flow of another program", "packets", "payload", "retrans.", "NAKs",
                        "RNR NAKs", "CE", "service");
    for (uint32_t i = 0; i < busiest.length; i++)
        add_flow(&table, busiest.entries[i]);
    smcr_text_table_write(&table);
    smcr_page_more(page, busiest.count, " flows with fewer packets");
}

void
smcr_text_fabric(const smcr_page_t *page)
{
    const smcr_figure_list_t *flows = &page->report->rdma_flows;
    smcr_entry_rdma_t sum = {0};

    for (uint32_t i = 0; i < flows->length + flows->rest; i++)
        smcr_entry_join(&sum, flows->entries[i], &smcr_entry_rdma_description, page->scope);
    if (!flows->length && page->report->capture.smcr_roce == SMCR_FIGURE_YES)
        return;
    smcr_page_heading(page, "RDMA on the wire");
    if (!flows->length) {
        smcr_page_line(page, 2, page->report->capture.roce_frames
                                    ? "none of SMC-R; other programs' was not looked at"
                                    : "none");
        return;
    }
    row(page, "traffic", traffic(page, &sum));
    row(page, "retransmitted", repeats(page, &sum));
    row(page, "NAKs", smcr_words_naks(page->scope, &sum.nak));
    row(page, "RNR NAKs",
        SMCR_WORDS_COUNTS(page->scope, {sum.rnr_nak, "for want of a receive buffer"}));
    row(page, "missing", missing(page, &sum));
    row(page, "duplicates", smcr_page_things(page, sum.copies, "packet"));
    row(page, "congestion", congestion(page, &sum));
    row(page, "ICRC", checks(page, &sum));
    row(page, "messages",
        sum.completion_time_s.count
            ? wmem_strdup_printf(page->scope, "complete after %s",
                                 smcr_page_spread(page, &sum.completion_time_s))
            : "");
    write_others(page);
}

/* ---- TCP ---- */

static void
add_up(const smcr_page_t *page, smcr_entry_tcp_direction_t *sum, uint32_t *users)
{
    SMCR_FIGURE_EACH(tcp, flow, page->report->tcp_flows) {
        bool agreed =
            flow->ecn_initiated == SMCR_FIGURE_YES && flow->ecn_accepted == SMCR_FIGURE_YES;
        if (!agreed && !flow->up.ce && !flow->down.ce && !flow->up.sce && !flow->down.sce)
            continue;
        (*users)++;
        smcr_entry_join(sum, &flow->up, &smcr_entry_tcp_direction_description, page->scope);
        smcr_entry_join(sum, &flow->down, &smcr_entry_tcp_direction_description, page->scope);
    }
}

static void
write_marks(const smcr_page_t *page, const smcr_entry_tcp_direction_t *sum)
{
    smcr_page_line(page, 2, "%s; %s",
                   smcr_words_things(page->scope, sum->data_segments, "data segment"),
                   sum->ce || sum->sce || sum->ece || sum->cwr || sum->esce
                       ? wmem_strdup_printf(
                             page->scope, "segments of any kind: %s",
                             SMCR_WORDS_COUNTS(page->scope, {sum->ce, "marked CE"},
                                               {sum->sce, "marked ECT(1)"}, {sum->ece, "with ECE"},
                                               {sum->cwr, "with CWR"}, {sum->esce, "with NS"}))
                       : "no marks");
    if (sum->rtt_s.count)
        smcr_page_line(page, 2, "round trip: %s", smcr_page_spread(page, &sum->rtt_s));
    if (smcr_figure_known(sum->repeated_segments))
        smcr_page_line(page, 2, "retransmitted: %s",
                       smcr_words_things(page->scope, sum->repeated_segments, "segment"));
}

void
smcr_text_tcp(const smcr_page_t *page)
{
    smcr_entry_tcp_direction_t sum = {0};
    uint32_t users = 0;

    add_up(page, &sum, &users);
    if (!users)
        return;
    smcr_page_heading(page, "ECN of TCP");
    smcr_page_line(
        page, 2, "used by %s of %s", smcr_words_number(page->scope, users),
        smcr_words_things(page->scope, page->report->tcp_flows.length, "TCP connection"));
    write_marks(page, &sum);
}
