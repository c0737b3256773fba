/* text_tcp.c
 * TCP's marks of congestion, where a connection uses ECN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/words/words.h"
#include "text_page.h"

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
                             smcr_page_list(page, ", ", smcr_page_count(page, sum->ce, "marked CE"),
                                            smcr_page_count(page, sum->sce, "marked ECT(1)"),
                                            smcr_page_count(page, sum->ece, "with ECE"),
                                            smcr_page_count(page, sum->cwr, "with CWR"),
                                            smcr_page_count(page, sum->esce, "with NS"), NULL))
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
