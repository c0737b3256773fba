/* The report as one page of text. The page has four parts. 1. The capture, and facts that limit
 * the report. 2. The findings, in their order. 3. From each table the rows that suffered most,
 * and the rows that carried most. 4. Sentences about the traffic as a whole (text_traffic.c). A
 * text that is longer than a page is written again, with fewer rows and findings.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/words/words.h"
#include "text_table.h"
#include "text_traffic.h"

#define PAGE_LINES    60 /* highest number of lines of the page */
#define FINDINGS_MORE 4 /* the page has up to `most` + FINDINGS_MORE findings (text_lines.h) */

/* ---- the capture ---- */

/* Whether the report has a finding of truncated frames. */
static bool
has_truncation_finding(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(finding, finding, report->findings)
        if (g_strcmp0(finding->kind, "cut_frames") == 0)
            return true;
    return false;
}

/* Writes facts that limit the report: a display filter, truncated frames, too many RDMA flows, RDMA
 * flows that were read in a single pass. Truncated frames are left out if a finding reports
 * them. */
static void
write_limits(const smcr_text_page_t *page)
{
    const smcr_entry_capture_t *capture = &page->report->capture;

    if (capture->filter)
        smcr_text_line(page, "display filter %s; no findings about missing packets",
                       smcr_words_clean(page->scope, capture->filter));
    if (smcr_figure_or_zero(capture->cut_frames) && !has_truncation_finding(page->report))
        smcr_text_line(page, "%s truncated by snaplen",
                       smcr_words_things(page->scope, capture->cut_frames, "frame"));
    if (smcr_figure_or_zero(capture->flows_not_counted))
        smcr_text_line(page, "%s not counted: after 65,536 flows only those of SMC-R are",
                       smcr_words_things(page->scope, capture->flows_not_counted, "RDMA flow"));
    if (capture->passes == 1 && page->report->rdma_flows.length)
        smcr_text_line(page, "read in one pass; two passes show more (tshark -2, or close and open "
                             "the window of the report)");
}

/* Writes the head of the page: size and time of the capture, and what limits the report. */
static void
write_capture(const smcr_text_page_t *page)
{
    const smcr_entry_capture_t *capture = &page->report->capture;
    uint64_t first = capture->first_time, last = capture->last_time;
    const char *when = "";

    if (first != SMCR_FIGURE_UNKNOWN && last != SMCR_FIGURE_UNKNOWN)
        when = wmem_strdup_printf(page->scope, ", %s from %s",
                                  smcr_words_duration(page->scope, last > first ? last - first : 0),
                                  smcr_words_moment(page->scope, first));
    smcr_text_item(page, "", SMCR_TEXT_INDENT,
                   wmem_strdup_printf(page->scope, "%s, %s%s",
                                      smcr_words_things(page->scope, capture->frames, "frame"),
                                      smcr_words_bytes(page->scope, capture->bytes), when));
    write_limits(page);
}

/* ---- findings ---- */

/* Returns the frame and its time since the earliest frame: "frame 4, 0.000123 s"; "frame 4" if the
 * time is not known; "" for frame 0. Wireshark's column Time shows the same time, unless a later
 * frame is the earliest one. */
static const char *
when_of(const smcr_text_page_t *page, const smcr_when_t *when)
{
    uint64_t first = page->report->capture.first_time, micros;

    if (!when->frame)
        return "";
    if (first == SMCR_FIGURE_UNKNOWN || when->time < first)
        return wmem_strdup_printf(page->scope, "frame %" PRIu32, when->frame);
    micros = (when->time - first) / SMCR_TIME_MICROSECOND;
    return wmem_strdup_printf(page->scope, "frame %" PRIu32 ", %" PRIu64 ".%06" PRIu64 " s",
                              when->frame, micros / 1000000, micros % 1000000);
}

/* Returns frame and time of a finding as when_of() does. If the finding shows in the frame with
 * which its worst time ends, such as in a slow answer, adds the beginning: "frame 141, 5.102345 s,
 * since frame 136, 0.101234 s". */
static const char *
when_of_finding(const smcr_text_page_t *page, const smcr_entry_finding_t *finding)
{
    const char *when = when_of(page, &finding->frame);

    if (!finding->begin_frame.frame || finding->end_frame.frame != finding->frame.frame)
        return when;
    return wmem_strdup_printf(page->scope, "%s, since %s", when,
                              when_of(page, &finding->begin_frame));
}

const char *
smcr_text_filter(wmem_allocator_t *scope, const smcr_entry_finding_t *finding, uint32_t number,
                 bool is_marked)
{
    if (!finding->frame.frame)
        return NULL;
    return is_marked ? wmem_strdup_printf(scope, "smcr.finding == %" PRIu32, number)
                     : finding->filter;
}

/* Whether `tshark -2 -Y 'smcr.finding == 1'` finds the frames of the findings under their numbers
 * in this report. It finds those of the first pass (finding_marks.h). A host that reports a socket
 * late names a connection in the second pass only, which may change findings. Findings of a report
 * with a display filter have other numbers. */
static bool
are_frames_marked(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(connection, conn, report->connections)
        if (conn->named_by)
            return false;
    return !report->capture.filter;
}

/* Writes a finding: severity and sentence in the first lines, then frame, time and, if
 * `page->has_filters`, the display filter. These three are in one line if they fit into it. The
 * filter stands as an option of tshark; smcr.finding needs two passes. */
static void
write_finding(const smcr_text_page_t *page, uint32_t number, const smcr_entry_finding_t *finding)
{
    const char *mark = wmem_strdup_printf(page->scope, SMCR_PAGE_MARK "%-5s ", number,
                                          smcr_figure_severity_words[finding->severity]);
    const char *when = when_of_finding(page, finding), *line = "";
    const char *filter = smcr_text_filter(page->scope, finding, number, page->is_marked);
    const char *indent = wmem_strdup_printf(page->scope, "%*s", (int)smcr_text_width(mark), "");

    if (filter && page->has_filters)
        line = wmem_strdup_printf(page->scope, "  %s-Y '%s'", page->is_marked ? "-2 " : "", filter);
    smcr_text_item(page, mark, smcr_text_width(mark), finding->text);
    if (!*when)
        return;
    if (smcr_text_width(mark) + smcr_text_width(when) + smcr_text_width(line) <= SMCR_PAGE_WIDTH) {
        smcr_text_item(page, indent, smcr_text_width(mark),
                       wmem_strdup_printf(page->scope, "%s%s", when, line));
        return;
    }
    smcr_text_item(page, indent, smcr_text_width(mark), when);
    if (*line)
        smcr_text_item(page, indent, smcr_text_width(mark), line + strspn(line, " "));
}

/* Returns the number of RoCE packets that are not known to be SMC-R, and that the report has not
 * analysed. */
static uint64_t
count_others(const smcr_entry_report_t *report)
{
    return report->other_roce ? report->other_roce->packets : 0;
}

/* Whether all findings are for information (severity "info"). True if there are no findings. */
static bool
are_findings_informative(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(finding, finding, report->findings)
        if (finding->severity != SMCR_FIGURE_INFO)
            return false;
    return true;
}

/* Returns that no fault was found, with the protocols that were examined: SMC-R and TCP or, with
 * the preference smcr.roce, all RoCE packets. Truncated frames may hide that RoCE packets are
 * SMC-R. */
static const char *
no_fault_text(const smcr_entry_report_t *report)
{
    if (report->capture.smcr_roce == SMCR_FIGURE_YES)
        return "No fault found";
    if (report->connections.length || report->rdma_flows.length)
        return "No fault of SMC-R or TCP found";
    return smcr_words_may_hide_smcr(report) ? "No SMC-R recognised; no fault of TCP found"
                                            : "No SMC-R; no fault of TCP found";
}

/* Writes that no fault was found. */
static void
write_no_fault(const smcr_text_page_t *page)
{
    const smcr_entry_report_t *report = page->report;

    smcr_text_line(page, "%s in %s.%s", no_fault_text(report),
                   report->capture.filter ? "these frames" : "this capture",
                   report->findings.length ? " For information:" : "");
}

/* Writes that `count` RoCE packets were not examined, which are not known to be SMC-R: those of a
 * connection that began before the capture may be. `has_examined`: the report has examined other
 * packets. */
static void
write_others(const smcr_text_page_t *page, uint64_t count, bool has_examined)
{
    smcr_text_line(page,
                   "%s%s %s not known to be SMC-R, and not analysed. To analyse %s, set the "
                   "preference \"Analyse other RoCE packets, too\" (-o smcr.roce:TRUE).",
                   has_examined ? "" : "No SMC-R is recognised. ",
                   smcr_words_things(page->scope, count, "RoCE packet"), count == 1 ? "is" : "are",
                   count == 1 ? "it" : "them");
}

/* Writes the first lines of the findings. If there are no frames, writes that. Else, if all
 * findings are for information, writes that packets not known to be SMC-R were not analysed, if
 * there are some; and that no fault was found, unless these packets are all that there is. */
static void
write_health(const smcr_text_page_t *page)
{
    const smcr_entry_report_t *report = page->report;
    uint64_t other_packets = count_others(report);
    bool has_traffic =
        report->connections.length || report->rdma_flows.length || report->tcp_flows.length;
    bool has_examined = has_traffic || !other_packets;

    if (!report->capture.frames)
        smcr_text_line(page, "No frames.");
    if (!report->capture.frames || !are_findings_informative(report))
        return;
    if (has_examined)
        write_no_fault(page);
    if (other_packets)
        write_others(page, other_packets, has_examined);
}

/* Writes the findings, in their order. Writes at most FINDINGS_MORE findings more than a table may
 * have rows. */
static void
write_findings(const smcr_text_page_t *page)
{
    const smcr_figure_list_t *findings = &page->report->findings;
    uint32_t most = MIN(findings->length, page->most + FINDINGS_MORE);

    g_string_append(page->text, "\nFindings\n");
    write_health(page);
    for (uint32_t i = 0; i < most; i++)
        write_finding(page, i + 1, findings->entries[i]);
    if (most < findings->length)
        smcr_text_line(page, "and %s: -z smcr,json",
                       smcr_words_things(page->scope, findings->length - most, "more finding"));
}

/* ---- the page ---- */

/* Writes the page with at most `most` rows in each table, in the place of what `text` had. Returns
 * its number of lines. */
static unsigned
write_page(GString *text, const smcr_entry_report_t *report, unsigned most, bool has_filters)
{
    smcr_text_page_t page = {text, report, wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
                             SMCR_PAGE_WIDTH, most, are_frames_marked(report), has_filters};
    unsigned lines = 0;

    g_string_truncate(text, 0);
    write_capture(&page);
    write_findings(&page);
#define WRITE(name) smcr_text_write_table(&page, &smcr_table_of_##name);
    SMCR_TABLES(WRITE)
#undef WRITE
    smcr_text_write_translations(&page);
    smcr_text_write_classes(&page);
    smcr_text_write_congestion(&page);
    smcr_text_write_pauses(&page);
    smcr_text_write_tcp(&page);
    wmem_destroy_allocator(page.scope);
    for (const char *at = text->str; *at; at++)
        lines += *at == '\n';
    return lines;
}

void
smcr_text_write(GString *text, const smcr_entry_report_t *report, bool has_filters)
{
    unsigned most = SMCR_TEXT_ROWS_MOST;

    while (write_page(text, report, most, has_filters) > PAGE_LINES && most)
        most--;
}

/* ---- parts of the page ---- */

/* Lines have no width here: whoever shows them breaks them. */
void
smcr_text_write_part(GString *text, const smcr_entry_report_t *report, smcr_text_part_t part)
{
    static void (*const writers[])(const smcr_text_page_t *) = {
        [SMCR_TEXT_limits] = write_limits,
        [SMCR_TEXT_health] = write_health,
        [SMCR_TEXT_classes] = smcr_text_write_classes,
        [SMCR_TEXT_congestion] = smcr_text_write_congestion,
        [SMCR_TEXT_tcp] = smcr_text_write_tcp,
    };
    G_STATIC_ASSERT(G_N_ELEMENTS(writers) == SMCR_TEXT_PART_COUNT);
    smcr_text_page_t page = {.text = text,
                             .report = report,
                             .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
                             .width = G_MAXINT};

    writers[part](&page);
    wmem_destroy_allocator(page.scope);
}
