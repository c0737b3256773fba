/* finder.c
 * Collects findings and orders them: by severity, then by place, then as they were found.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <stdarg.h>

#include "report/words/words.h"
#include "wire/wire.h"

void
smcr_finder_add_item(smcr_finder_t *finder, smcr_finding_rank_t place, smcr_entry_finding_t entry)
{
    smcr_finding_t found = {entry, place, wmem_array_get_count(finder->found)};

    finder->has[place] = true;
    finder->count[entry.severity][place]++;
    wmem_array_append_one(finder->found, found);
}

static const struct {
    smcr_figure_severity_t severity;
    smcr_finding_rank_t place;
} kinds[] = {
#define FINDING(constant, word, severity, place, ...) \
    [SMCR_FIGURE_FOUND_##constant] = {SMCR_FIGURE_##severity, SMCR_FINDING_##place},
#include "report/figures/finding_kinds.def"
};

void
smcr_finder_add_as(smcr_finder_t *finder, smcr_figure_finding_t kind, int severity, uint64_t count,
                   smcr_when_t when, const char *filter, const char *format, ...)
{
    smcr_entry_finding_t entry = {.kind = smcr_figure_finding_words[kind],
                                  .count = count,
                                  .frame = when,
                                  .filter = filter};
    va_list arguments;

    if (!count)
        return;
    entry.severity = severity == SMCR_FINDER_OF_ROW ? kinds[kind].severity
                                                    : (smcr_figure_severity_t)severity;
    va_start(arguments, format);
    entry.text = wmem_strdup_vprintf(finder->scope, format, arguments);
    va_end(arguments);
    smcr_finder_add_item(finder, kinds[kind].place, entry);
}

static int
compare_found(const void *one, const void *other)
{
    const smcr_finding_t *a = one, *b = other;

    if (a->entry.severity != b->entry.severity)
        return a->entry.severity > b->entry.severity ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->turn < b->turn ? -1 : 1;
}

/* A sentence, whatever it begins with. Addresses and display filters stay as they are. */
static const char *
capitalized(const smcr_finder_t *finder, const char *text)
{
    char *sentence = wmem_strdup(finder->scope, text);
    size_t length = strcspn(text, " ");

    if (length && !memchr(text, ':', length) && !memchr(text, '.', length))
        sentence[0] = g_ascii_toupper(sentence[0]);
    return sentence;
}

void
smcr_finder_close(smcr_finder_t *finder)
{
    uint32_t count = MIN(wmem_array_get_count(finder->found), SMCR_FINDINGS_MOST);

    wmem_array_sort(finder->found, compare_found);
    for (uint32_t i = 0; i < count; i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        smcr_entry_finding_t *entry = smcr_figure_list_add(&finder->report->findings, finder->scope,
                                                           &smcr_entry_finding_description);
        *entry = found->entry;
        entry->text = capitalized(finder, entry->text);
    }
}

const char *
smcr_finder_subject(const smcr_finder_t *finder, const smcr_figure_subject_t *subject)
{
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        if (subject && subject->stream != SMCR_FIGURE_UNKNOWN && conn->stream == subject->stream)
            return smcr_words_connection(finder->scope, conn);
    if (subject && subject->group != SMCR_FIGURE_UNKNOWN)
        return smcr_words_link(finder->scope, subject->group, subject->link);
    return subject && subject->src ? smcr_words_hosts(finder->scope, subject->src, subject->dst)
                                   : "the capture";
}

const char *
smcr_finder_undelivered(const smcr_finder_t *finder, const char *one, const char *other)
{
    wmem_strbuf_t *text = wmem_strbuf_new(finder->scope, "");

    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        const smcr_figure_subject_t *hosts = notice->subject;
        if (strncmp(notice->filter, "icmp", 4) != 0 ||
            !((g_strcmp0(hosts->src, one) == 0 && g_strcmp0(hosts->dst, other) == 0) ||
              (g_strcmp0(hosts->src, other) == 0 && g_strcmp0(hosts->dst, one) == 0)))
            continue;
        wmem_strbuf_append_printf(text, "; ICMP (frame %" PRIu32 ") of %s", notice->first.frame,
                                  notice->kind);
    }
    return wmem_strbuf_finalize(text);
}

bool
smcr_finder_is_filtered(const smcr_finder_t *finder)
{
    return finder->report->capture.filter != NULL;
}

smcr_figure_notice_t
smcr_finder_notice(const smcr_finder_t *finder, const char *filter)
{
    smcr_figure_notice_t sum = {0};

    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        uint64_t count = sum.count + notice->count;
        uint32_t last = MAX(sum.last, MAX(notice->last, notice->first.frame));

        if (strcmp(notice->filter, filter) != 0)
            continue;
        if (!sum.count || (notice->first.frame && notice->first.frame < sum.first.frame))
            sum = *notice;
        sum.count = count;
        sum.last = last;
    }
    return sum;
}

smcr_when_t
smcr_finder_first(const smcr_finder_t *finder, const char *one, const char *other)
{
    return smcr_figure_when_earlier(smcr_finder_notice(finder, one).first,
                                    smcr_finder_notice(finder, other).first);
}

const char *
smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other, uint64_t count)
{
    if (!count)
        return other;
    if (!one || count >= SMCR_FINDING_FILTERS_MOST)
        return NULL;
    return wmem_strdup_printf(finder->scope, "%s || %s", one, other);
}

bool
smcr_finding_is_timeout(uint64_t code)
{
    return code == SMCR_CLC_DECLINE_TIMEOUT_CL || code == SMCR_CLC_DECLINE_TIMEOUT_AL;
}
