/* Calls all rules, and orders the findings: by severity, then by rank (the order of causes), then
 * by the time that programs waited, then by the order in which the rules made them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "findings.h"

#include "finder.h"

/* Gives some findings a better rank. If programs waited longer because of a trouble than because of
 * all lost packets together, the trouble is no consequence of the lost packets. Its finding gets
 * the rank of lost packets; the higher cost then puts it before the finding of lost packets.
 * Example: one slow program waited 72.9 s, and 105 harmless retransmissions cost 39 ms. The finding
 * of the slow program comes first. */
static void
rank_long_waits(const smcr_finder_t *finder)
{
    uint32_t count = wmem_array_get_count(finder->found);
    uint64_t cost_of_loss = UINT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        if (found->rank == SMCR_FINDING_BY_LOSS && found->has_cost)
            cost_of_loss = found->cost;
    }
    for (uint32_t i = 0; i < count; i++) {
        smcr_finding_t *found = wmem_array_index(finder->found, i);
        if (found->has_cost && found->cost > cost_of_loss)
            found->rank = SMCR_FINDING_BY_LOSS;
    }
}

/* Compares two findings for sorting: by severity, rank, cost and order, as the head of this file
 * says. Returns -1 if `one` comes first. */
static int
compare_found(const void *one, const void *other)
{
    const smcr_finding_t *a = one, *b = other;

    if (a->entry.severity != b->entry.severity)
        return a->entry.severity > b->entry.severity ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Returns the text with a capital letter at its beginning. A first word with a colon or a dot stays
 * unchanged: it is an address or a display filter. */
static const char *
capitalized(const smcr_finder_t *finder, const char *text)
{
    char *sentence = wmem_strdup(finder->scope, text);
    size_t length = strcspn(text, " ");

    if (length && !memchr(text, ':', length) && !memchr(text, '.', length))
        sentence[0] = g_ascii_toupper(sentence[0]);
    return sentence;
}

/* Sorts the findings, and adds the first SMCR_FINDINGS_MOST of them to the report. */
static void
close_list(smcr_finder_t *finder)
{
    uint32_t count = MIN(wmem_array_get_count(finder->found), SMCR_FINDINGS_MOST);

    rank_long_waits(finder);
    wmem_array_sort(finder->found, compare_found);
    for (uint32_t i = 0; i < count; i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        smcr_entry_finding_t *entry =
            SMCR_FIGURE_ADD(finding, &finder->report->findings, finder->scope);
        *entry = found->entry;
        entry->text = capitalized(finder, entry->text);
    }
}

void
smcr_findings_find(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                   uint32_t notice_count, wmem_allocator_t *scope)
{
    smcr_finder_t finder = {.report = report,
                            .notices = notices,
                            .notice_count = notice_count,
                            .scope = scope,
                            .found = wmem_array_new(scope, sizeof(smcr_finding_t)),
                            .owners = smcr_figure_flow_owners(report, scope)};

    smcr_finding_on_links(&finder);
    smcr_finding_on_fabric(&finder);
    smcr_finding_on_loss(&finder);
    smcr_finding_on_capture(&finder);
    smcr_finding_on_connections(&finder);
    smcr_finding_on_handshakes(&finder);
    smcr_finding_on_tcp(&finder);
    smcr_finding_on_times(&finder);
    smcr_finding_on_notices(&finder);
    close_list(&finder);
}
