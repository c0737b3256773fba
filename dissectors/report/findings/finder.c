/* finder.c
 * Collects findings and orders them: by severity, then by place, then as they were found.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <stdarg.h>
#include <string.h>

#include "report/words/words.h"
#include "wire/wire.h"

smcr_entry_finding_t *
smcr_finder_add_item(smcr_finder_t *finder, smcr_figure_severity_t severity,
                     smcr_finding_rank_t place, const char *kind, uint64_t count, smcr_when_t when)
{
    smcr_finding_t found = {.severity = severity, .place = place};

    found.turn = wmem_array_get_count(finder->found);
    smcr_entry_clear(&found.entry, &smcr_entry_finding_description);
    found.entry.severity = severity;
    found.entry.kind = kind;
    found.entry.count = count;
    found.entry.frame = when;
    finder->has[place] = true;
    finder->count[severity][place]++;
    wmem_array_append_one(finder->found, found);
    return &((smcr_finding_t *)wmem_array_index(finder->found, found.turn))->entry;
}

static const struct {
    const char *kind;
    smcr_figure_severity_t severity;
    smcr_finding_rank_t place;
} kinds[] = {
#define FINDING(constant, kind, severity, place, ...) \
    [SMCR_FINDING_FOUND_##constant] = {kind, SMCR_FIGURE_##severity, SMCR_FINDING_##place},
#include "finding_kinds.def"
};

smcr_entry_finding_t *
smcr_finder_add_as(smcr_finder_t *finder, smcr_finding_finding_kind_t kind,
                   smcr_figure_severity_t severity, uint64_t count, smcr_when_t when)
{
    return smcr_finder_add_item(finder, severity, kinds[kind].place, kinds[kind].kind, count, when);
}

smcr_entry_finding_t *
smcr_finder_add(smcr_finder_t *finder, smcr_finding_finding_kind_t kind, uint64_t count,
                smcr_when_t when)
{
    return smcr_finder_add_as(finder, kind, kinds[kind].severity, count, when);
}

static int
compare_found(const void *one, const void *other)
{
    const smcr_finding_t *a = one, *b = other;

    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->turn < b->turn ? -1 : 1;
}

/* Addresses and display filters stay as they are. */
static bool
begins_with_word(const char *text)
{
    size_t length = strcspn(text, " ");

    return length && !memchr(text, ':', length) && !memchr(text, '.', length);
}

/* A sentence, whatever it begins with. */
static const char *
capitalized(const smcr_finder_t *finder, const char *text)
{
    char *sentence = wmem_strdup(finder->scope, text);

    if (begins_with_word(text))
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

        if (strcmp(notice->filter, filter) != 0)
            continue;
        if (!sum.count || (notice->first.frame && notice->first.frame < sum.first.frame))
            sum = *notice;
        sum.count = count;
    }
    return sum;
}

const char *
smcr_finder_text(const smcr_finder_t *finder, const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = wmem_strdup_vprintf(finder->scope, format, arguments);
    va_end(arguments);
    return text;
}

const char *
smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other, uint64_t count)
{
    if (!count)
        return other;
    if (!one || count >= SMCR_FINDING_FILTERS_MOST)
        return NULL;
    return smcr_finder_text(finder, "%s || %s", one, other);
}

bool
smcr_finding_is_timeout(uint64_t code)
{
    return code == SMCR_CLC_DECLINE_TIMEOUT_CL || code == SMCR_CLC_DECLINE_TIMEOUT_AL;
}
