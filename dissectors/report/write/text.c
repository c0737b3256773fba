/* text.c
 * Puts the sections of the page together. The first one says what the capture is, and what limits
 * what can be said of it; the last ones are broken rules, and what to look at, worst first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "output.h"

#include <inttypes.h>

#include "report/words/words.h"
#include "text_page.h"

/* ---- the capture ---- */

static void
write_limits(const smcr_page_t *page, const smcr_entry_capture_t *capture)
{
    if (capture->filter)
        smcr_page_line(page, 2, "only frames that match: %s",
                       smcr_words_clean(page->scope, capture->filter));
    if (smcr_figure_known(capture->cut_frames))
        smcr_page_line(page, 2, "%s cut: the capture has only their beginnings",
                       smcr_words_things(page->scope, capture->cut_frames, "frame"));
    if (capture->passes == 1 && page->report->rdma_flows.length)
        smcr_page_line(page, 2, "read in one pass: two (tshark -2) know more of causes");
}

static void
write_copies(const smcr_page_t *page)
{
    uint64_t copies = 0;

    SMCR_FIGURE_EACH(tcp, flow, page->report->tcp_flows) {
        copies += smcr_figure_known(flow->up.copies) + smcr_figure_known(flow->down.copies);
    }
    if (copies)
        smcr_page_line(page, 2, "%s of TCP are duplicates, and count once",
                       smcr_words_things(page->scope, copies, "packet"));
}

static void
write_capture(const smcr_page_t *page)
{
    const smcr_entry_capture_t *capture = &page->report->capture;
    uint64_t first = capture->first_time, last = capture->last_time;

    g_string_append(page->text, "Capture\n");
    smcr_page_line(page, 2, "%s, %s", smcr_words_things(page->scope, capture->frames, "frame"),
                   smcr_words_bytes(page->scope, capture->bytes));
    if (first != SMCR_FIGURE_UNKNOWN && last != SMCR_FIGURE_UNKNOWN)
        smcr_page_line(page, 2, "from %s to %s, %s", smcr_words_moment(page->scope, first),
                       smcr_words_moment(page->scope, last),
                       smcr_words_duration(page->scope, last > first ? last - first : 0));
    write_limits(page, capture);
    write_copies(page);
}

/* ---- findings ---- */

#define FINDING_INDENT 10

static void
write_breaches(const smcr_page_t *page)
{
    const smcr_figure_list_t *breaches = &page->report->breaches;
    smcr_text_table_t table = smcr_text_table_new(page, "rlll");

    if (!breaches->length)
        return;
    smcr_page_heading(page, "Breaches of RFC 7609 and of formats");
    for (uint32_t i = 0; i < breaches->length && i < SMCR_PAGE_MOST; i++) {
        const smcr_entry_breach_t *breach = breaches->entries[i];
        const char *by = "";
        if (breach->by)
            by = wmem_strdup_printf(page->scope, "by the %s", smcr_figure_role_words[breach->by]);
        smcr_text_table_row(&table, smcr_words_number(page->scope, breach->count),
                            wmem_strdup_printf(page->scope, "smcr.%s", breach->kind), by,
                            smcr_page_when(page, &breach->frame));
    }
    smcr_text_table_write(&table);
    smcr_page_more(page, breaches->length, " kinds: Analyze > Expert Information");
}

static void
write_finding(const smcr_page_t *page, uint32_t number, const smcr_entry_finding_t *finding)
{
    const char *mark = wmem_strdup_printf(page->scope, "%2" PRIu32 ". %-5s ", number,
                                          smcr_figure_severity_words[finding->severity]);
    const char *when = smcr_page_when(page, &finding->frame);
    const char *filter =
        finding->filter ? wmem_strdup_printf(page->scope, "-Y '%s'", finding->filter) : "";
    const char *both = smcr_page_list(page, "  ", when, filter, NULL);

    smcr_page_item(page, mark, finding->text);
    if (g_utf8_strlen(both, -1) <= SMCR_PAGE_WIDTH - FINDING_INDENT) {
        smcr_page_line(page, FINDING_INDENT, "%s", both);
        return;
    }
    smcr_page_line(page, FINDING_INDENT, "%s", when);
    smcr_page_line(page, FINDING_INDENT, "%s", filter);
}

/* Frames of RoCE that no flow has: of other programs, which nobody has looked at. */
static uint64_t
others(const smcr_entry_report_t *report)
{
    uint64_t frames = report->capture.roce_frames;

    SMCR_FIGURE_EACH(rdma, flow, report->rdma_flows)
        frames -= MIN(frames, flow->packets);
    return report->capture.smcr_roce == SMCR_FIGURE_YES ? 0 : frames;
}

/* Only of what has been looked at. */
static void
write_health(const smcr_page_t *page)
{
    const smcr_entry_report_t *report = page->report;
    bool all = report->capture.smcr_roce == SMCR_FIGURE_YES;
    bool smcr = report->connections.length || report->rdma_flows.length;

    SMCR_FIGURE_EACH(finding, finding, report->findings)
        if (finding->severity != SMCR_FIGURE_INFO)
            return;
    if (!report->capture.frames)
        return;
    if (smcr || report->tcp_flows.length || !others(report))
        smcr_page_line(page, 2, "Nothing is wrong%s, as far as %s.%s",
                       all ? "" : smcr ? " with SMC-R and TCP" : " with TCP; no SMC-R is here",
                       report->capture.filter ? "these frames show" : "this capture shows",
                       report->findings.length ? " But:" : "");
    if (others(report))
        smcr_page_line(page, 2, "%s%s of other programs %s not looked at: -o smcr.roce:TRUE",
                       smcr ? "" : "No SMC-R here. ",
                       smcr_words_things(page->scope, others(report), "RoCE packet"),
                       others(report) == 1 ? "was" : "were");
}

static void
write_findings(const smcr_page_t *page)
{
    const smcr_figure_list_t *findings = &page->report->findings;
    const smcr_entry_capture_t *capture = &page->report->capture;

    write_breaches(page);
    smcr_page_heading(page, "Look at");
    if (!capture->frames)
        smcr_page_line(page, 2, "No frames.");
    else if (capture->filter)
        smcr_page_line(page, 2,
                       "Findings about what is missing are left out, because of the filter.");
    write_health(page);
    for (uint32_t i = 0; i < findings->length; i++)
        write_finding(page, i + 1, findings->entries[i]);
}

/* ---- the page ---- */

void
smcr_text_write(GString *text, const smcr_entry_report_t *report)
{
    smcr_page_t page = {
        .text = text, .report = report, .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK)};

    write_capture(&page);
    smcr_text_connections(&page);
    smcr_text_links(&page);
    smcr_text_waits(&page);
    smcr_text_fabric(&page);
    smcr_text_tcp(&page);
    write_findings(&page);
    wmem_destroy_allocator(page.scope);
}
