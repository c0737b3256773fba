/* Calls all rules, and orders the findings: what failed, then what cost time, then what is a risk,
 * then remarks (docs/report.md). Errors come before all others, and information after all others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "findings.h"

#include "subjects.h"

/* Returns the place of the finding's severity in the order: 0 errors, 1 warnings and notes, 2
 * information. Whether a finding is a warning or a note does not change its place. */
static unsigned
place_of_severity(const smcr_finding_t *found)
{
    switch (found->entry.severity) {
    case SMCR_FIGURE_ERROR:
        return 0;
    case SMCR_FIGURE_INFO:
        return 2;
    default:
        return 1;
    }
}

/* Returns a negative number if `one` is smaller than `other`, 0 if both are equal, else a positive
 * number. */
static int
compare(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

/* Compares two findings for sorting. The first difference decides:
 * 1. errors come before warnings and notes, and these before information;
 * 2. the class that stands first in smcr_finding_class_t comes first;
 * 3. in the class of lost time (SMCR_FINDING_COSTS), the finding that cost more time comes first;
 * 4. warnings come before notes, which rule 1 treats alike;
 * 5. the finding of the lower rank comes first;
 * 6. the finding that cost more time comes first;
 * 7. the finding that was made earlier comes first.
 *
 * Returns a negative number if `one` comes first. */
static int
compare_found(const void *one, const void *other)
{
    const smcr_finding_t *a = one, *b = other;
    smcr_finding_class_t class = smcr_finding_class(a->rank);
    const int orders[] = {
        compare(place_of_severity(a), place_of_severity(b)),
        compare(class, smcr_finding_class(b->rank)),
        class == SMCR_FINDING_COSTS ? compare(b->cost, a->cost) : 0,
        compare(b->entry.severity, a->entry.severity),
        compare(a->rank, b->rank),
        compare(b->cost, a->cost),
        compare(a->order, b->order),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(orders); i++)
        if (orders[i])
            return orders[i];
    return 0;
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

/* If findings report a link that never came up and a slow setup, gives the first the cost of the
 * second: the hosts waited for the link, so the slow setup follows from it. Called before the
 * findings are sorted. */
static void
charge_failed_link(const smcr_finder_t *finder)
{
    uint32_t count = wmem_array_get_count(finder->found);
    uint64_t cost = 0;

    for (uint32_t i = 0; i < count; i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        if (found->rank == SMCR_FINDING_BY_SLOW_SETUP)
            cost = MAX(cost, found->cost);
    }
    for (uint32_t i = 0; i < count; i++) {
        smcr_finding_t *found = wmem_array_index(finder->found, i);
        if (found->rank == SMCR_FINDING_BY_LINK_FAILED)
            found->cost = MAX(found->cost, cost);
    }
}

/* Adds the frames of the finding with this number to the list of all frames. */
static void
add_frames(wmem_array_t *all, const smcr_finding_t *found, unsigned number)
{
    for (uint32_t i = 0; i < wmem_array_get_count(found->frames); i++) {
        const uint32_t *frame = wmem_array_index(found->frames, i);
        smcr_finding_frame_t one = {*frame, number};
        wmem_array_append_one(all, one);
    }
}

/* Sorts the findings, and adds the first `most` of them to the report. Returns the frames of these
 * findings. */
static wmem_array_t *
close_list(smcr_finder_t *finder, uint32_t most)
{
    uint32_t count = MIN(wmem_array_get_count(finder->found), most);
    wmem_array_t *frames = wmem_array_new(finder->scope, sizeof(smcr_finding_frame_t));

    charge_failed_link(finder);
    wmem_array_sort(finder->found, compare_found);
    for (uint32_t i = 0; i < count; i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        smcr_entry_finding_t *entry =
            SMCR_FIGURE_ADD(finding, &finder->report->findings, finder->scope);
        *entry = found->entry;
        entry->text = capitalized(finder, entry->text);
        add_frames(frames, found, i + 1);
    }
    return frames;
}

/* Calls all rules, and adds the first `most` findings to the report. Returns the frames of these
 * findings. smcr_finding_on_notices() has to come last, since it makes no finding of what another
 * finding explains. The order of the other calls decides between equal findings
 * (compare_found()). */
static wmem_array_t *
find(smcr_entry_report_t *report, uint32_t most, const smcr_figure_notice_t *notices,
     uint32_t notice_count, wmem_allocator_t *scope)
{
    smcr_finder_t finder = {.report = report,
                            .notices = notices,
                            .notice_count = notice_count,
                            .scope = scope,
                            .found = wmem_array_new(scope, sizeof(smcr_finding_t)),
                            .owners = smcr_figure_flow_owners(report, scope)};

    smcr_finding_on_links(&finder);
    smcr_finding_on_silence(&finder);
    smcr_finding_on_fabric(&finder);
    smcr_finding_on_classes(&finder);
    smcr_finding_on_points(&finder);
    smcr_finding_on_loss(&finder);
    smcr_finding_on_capture(&finder);
    smcr_finding_on_ends(&finder);
    smcr_finding_on_fallbacks(&finder);
    smcr_finding_on_handshakes(&finder);
    smcr_finding_on_tcp(&finder);
    smcr_finding_on_times(&finder);
    smcr_finding_on_answers(&finder);
    smcr_finding_on_notices(&finder);
    return close_list(&finder, most);
}

wmem_array_t *
smcr_findings_find(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                   uint32_t notice_count, wmem_allocator_t *scope)
{
    return find(report, SMCR_FINDINGS_MOST, notices, notice_count, scope);
}

void
smcr_findings_find_all(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                       uint32_t notice_count, wmem_allocator_t *scope)
{
    find(report, UINT32_MAX, notices, notice_count, scope);
}
