/* text.c
 * Puts the sections of the page together. The first one says what the capture is, and what limits
 * what can be said of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "output.h"

#include "report/words/words.h"
#include "text_page.h"

static void
write_limits(const smcr_page_t *page, const smcr_entry_capture_t *capture)
{
    if (capture->filter)
        smcr_page_line(page, 2, "only frames that match: %s",
                       smcr_words_clean(page->scope, capture->filter));
    if (smcr_figure_known(capture->cut_frames))
        smcr_page_line(page, 2, "%s cut: the capture has only their beginnings",
                       smcr_words_things(page->scope, capture->cut_frames, "frame"));
    if (smcr_figure_known(page->report->dropped))
        smcr_page_line(page, 2, "%s dropped while capturing",
                       smcr_words_things(page->scope, page->report->dropped, "packet"));
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
    smcr_text_findings(&page);
    wmem_destroy_allocator(page.scope);
}
