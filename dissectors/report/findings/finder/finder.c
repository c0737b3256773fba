/* Adds findings to the list with the frames that they rest on, and gives rules the notices and
 * names that their sentences need.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "finder.h"

#include <stdarg.h>

#include "report/words/words.h"
#include "wire/wire.h"

/* ---- the frames that a finding rests on ---- */

wmem_array_t *
smcr_finder_frames(const smcr_finder_t *finder)
{
    return wmem_array_new(finder->scope, sizeof(uint32_t));
}

void
smcr_finder_frames_add(wmem_array_t *frames, smcr_when_t when)
{
    if (when.frame)
        wmem_array_append_one(frames, when.frame);
}

void
smcr_finder_frames_add_ends(wmem_array_t *frames, const smcr_entry_connection_t *conn)
{
    smcr_finder_frames_add(frames, conn->first_frame);
    smcr_finder_frames_add(frames, conn->last_frame);
}

/* A frame 0 is not known, and is left out by smcr_finder_frames_add(). */
wmem_array_t *
smcr_finder_frames_of(const smcr_finder_t *finder, const smcr_when_t *frames, unsigned count)
{
    wmem_array_t *list = smcr_finder_frames(finder);

    for (unsigned i = 0; i < count; i++)
        smcr_finder_frames_add(list, frames[i]);
    return list;
}

/* Whether the display filter admits this value of a field: it has "field == value", or no "field ==
 * " at all. `test`: "field == ". */
static bool
admits(const char *filter, const char *test, uint64_t value)
{
    const char *at = strstr(filter, test);

    for (; at; at = strstr(at + 1, test)) {
        if (g_ascii_strtoull(at + strlen(test), NULL, 10) == value)
            return true;
    }
    return !strstr(filter, test);
}

/* Whether the frame is in the part of the frames that a finding rests on. */
static bool
is_in_part(const smcr_figure_occurrence_t *one, smcr_finder_part_t part)
{
    return part == SMCR_FINDER_ALL || one->is_in_silence == (part == SMCR_FINDER_IN_SILENCES);
}

/* Appends the frames of the notice to the list: those of the part, and of connections and link
 * groups that the display filter admits. */
static void
add_occurrences(wmem_array_t *frames, const smcr_figure_notice_t *notice, const char *filter,
                smcr_finder_part_t part)
{
    for (uint32_t i = 0; i < notice->occurrence_count; i++) {
        const smcr_figure_occurrence_t *one = &notice->occurrences[i];
        if (!is_in_part(one, part))
            continue;
        if (admits(filter, "smcr.stream == ", one->stream) &&
            admits(filter, "smcr.lgr == ", one->group))
            wmem_array_append_one(frames, one->frame);
    }
}

void
smcr_finder_frames_add_notices(const smcr_finder_t *finder, wmem_array_t *frames,
                               const char *filter)
{
    for (uint32_t i = 0; i < finder->notice_count; i++)
        if (strcmp(finder->notices[i].filter, filter) == 0)
            add_occurrences(frames, &finder->notices[i], filter, SMCR_FINDER_ALL);
}

/* Whether the character may be a part of a field's name. */
static bool
is_of_name(char character)
{
    return g_ascii_isalnum(character) || character == '_' || character == '.';
}

/* Whether the display filter `filter` has `part` as a whole, not as a part of a longer name. */
static bool
has_part(const char *filter, const char *part)
{
    for (const char *at = strstr(filter, part); at; at = strstr(at + 1, part)) {
        bool begins = at == filter || !is_of_name(at[-1]);
        if (begins && !is_of_name(at[strlen(part)]))
            return true;
    }
    return false;
}

/* Whether the text of the display filter names the notice. A filter that names smcr.retransmission
 * names both notices of retransmissions, too. */
static bool
selects(const char *filter, const char *notice)
{
    bool is_retransmission = strcmp(notice, "smcr.packet_retransmitted") == 0 ||
                             strcmp(notice, "smcr.packet_retransmitted.ended") == 0;

    return has_part(filter, notice) ||
           (is_retransmission && has_part(filter, "smcr.retransmission"));
}

/* Returns the frames that a finding rests on: its own frame, the frames of its rule, and the frames
 * of the notices that its filter names. `frames` and `part` are as in smcr_finder_facts_t. */
static wmem_array_t *
frames_of(const smcr_finder_t *finder, const smcr_entry_finding_t *entry, wmem_array_t *frames,
          smcr_finder_part_t part)
{
    if (!frames)
        frames = smcr_finder_frames(finder);
    smcr_finder_frames_add(frames, entry->frame);
    for (uint32_t i = 0; i < finder->notice_count && entry->filter; i++)
        if (selects(entry->filter, finder->notices[i].filter))
            add_occurrences(frames, &finder->notices[i], entry->filter, part);
    return frames;
}

/* ---- adding findings ---- */

/* Appends a finding to the list, and counts it. */
static void
add_found(smcr_finder_t *finder, smcr_finding_t found)
{
    found.order = wmem_array_get_count(finder->found);
    finder->has_rank[found.rank] = true;
    finder->rank_count[found.entry.severity][found.rank]++;
    wmem_array_append_one(finder->found, found);
}

void
smcr_finder_add_item(smcr_finder_t *finder, smcr_finding_rank_t rank, smcr_entry_finding_t entry)
{
    add_found(finder, (smcr_finding_t){.entry = entry,
                                       .rank = rank,
                                       .frames = frames_of(finder, &entry, NULL,
                                                           SMCR_FINDER_ALL)});
}

/* Severity and rank of each kind of finding. */
static const struct {
    smcr_figure_severity_t severity; /* severity of findings of this kind */
    smcr_finding_rank_t rank;        /* their rank, unless a rule chooses another one */
} kinds[] = {
#define FINDING(constant, word, severity, rank, ...) \
    [SMCR_FIGURE_FOUND_##constant] = {SMCR_FIGURE_##severity, SMCR_FINDING_##rank},
#include "report/figures/finding_kinds.def"
};

/* Adds a finding with the sentence `sentence`, and with the rank in `facts` or, if that is 0, the
 * rank of its kind. Also with another rank in `facts`, the finding explains the expert items that
 * its kind explains: so the rank of the kind is set in `has_rank`, too. */
static void
add_sentence(smcr_finder_t *finder, smcr_figure_severity_t severity,
             const smcr_finder_facts_t *facts, const char *sentence)
{
    smcr_entry_finding_t entry = {.severity = severity,
                                  .kind = smcr_figure_finding_words[facts->kind],
                                  .text = sentence,
                                  .count = facts->count,
                                  .frame = facts->when,
                                  .begin_frame = facts->begin,
                                  .end_frame = facts->end,
                                  .filter = facts->filter};

    smcr_finding_t found = {.entry = entry,
                            .rank = facts->rank ? facts->rank : kinds[facts->kind].rank,
                            .cost = facts->cost,
                            .frames = frames_of(finder, &entry, facts->frames, facts->part)};
    finder->has_rank[kinds[facts->kind].rank] = true;
    add_found(finder, found);
}

/* With a count of 0 no finding is made, so rules need not check the count. */
void
smcr_finder_add(smcr_finder_t *finder, const smcr_finder_facts_t *facts, const char *format, ...)
{
    va_list arguments;

    if (!facts->count)
        return;
    va_start(arguments, format);
    add_sentence(finder, kinds[facts->kind].severity, facts,
                 wmem_strdup_vprintf(finder->scope, format, arguments));
    va_end(arguments);
}

/* With a count of 0 no finding is made, so rules need not check the count. */
void
smcr_finder_add_as(smcr_finder_t *finder, smcr_figure_severity_t severity,
                   const smcr_finder_facts_t *facts, const char *format, ...)
{
    va_list arguments;

    if (!facts->count)
        return;
    va_start(arguments, format);
    add_sentence(finder, severity, facts, wmem_strdup_vprintf(finder->scope, format, arguments));
    va_end(arguments);
}

/* Whether the subject of an expert item is this connection, which may have two numbers:
 * `roce_stream` is the one of its RoCE packets, if that differs. */
static bool
is_about_connection(const smcr_figure_subject_t *subject, const smcr_entry_connection_t *conn)
{
    return subject->stream != SMCR_FIGURE_UNKNOWN &&
           (conn->stream == subject->stream || conn->roce_stream == subject->stream);
}

/* The connection is preferred to the link, since its name says more to a user. */
const char *
smcr_finder_subject(const smcr_finder_t *finder, const smcr_figure_subject_t *subject)
{
    if (!subject)
        return "the capture";
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        if (is_about_connection(subject, conn))
            return smcr_words_connection(finder->scope, conn);
    if (subject->group != SMCR_FIGURE_UNKNOWN)
        return smcr_words_link(finder->scope, subject->group, subject->link);
    return subject->src ? smcr_words_hosts(finder->scope, subject->src, subject->dst)
                        : "the capture";
}

/* Whether the two hosts are source and destination, in this order. */
static bool
is_from_to(const smcr_figure_subject_t *hosts, const char *src, const char *dst)
{
    return g_strcmp0(hosts->src, src) == 0 && g_strcmp0(hosts->dst, dst) == 0;
}

/* Whether the notice is an ICMP error that quotes a packet between these hosts, in either
 * direction. */
static bool
is_icmp_between(const smcr_figure_notice_t *notice, const char *one, const char *other)
{
    return strncmp(notice->filter, "icmp", 4) == 0 &&
           (is_from_to(notice->subject, one, other) || is_from_to(notice->subject, other, one));
}

/* The texts come in the order of the notices. */
const char *
smcr_finder_undelivered(const smcr_finder_t *finder, const char *one, const char *other)
{
    wmem_strbuf_t *text = wmem_strbuf_new(finder->scope, "");

    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        if (is_icmp_between(notice, one, other))
            wmem_strbuf_append_printf(text, "; ICMP (frame %" PRIu32 "): %s",
                                      notice->first.frame, notice->kind);
    }
    return wmem_strbuf_finalize(text);
}

/* Whether `sum` has expert items of several connections, or the first item of `notice` is known to
 * be of another connection than the first item of `sum`. */
static bool
has_other_conn(const smcr_figure_notice_t *sum, const smcr_figure_notice_t *notice)
{
    const smcr_figure_subject_t *one = sum->subject, *other = notice->subject;
    bool are_known = one && other && one->stream != SMCR_FIGURE_UNKNOWN &&
                     other->stream != SMCR_FIGURE_UNKNOWN;

    return sum->has_other_conns || (are_known && one->stream != other->stream);
}

/* `notice->last` is 0 if the notice has one frame only. */
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
        bool has_others = notice->has_other_conns || has_other_conn(&sum, notice);
        if (!sum.count || (notice->first.frame && notice->first.frame < sum.first.frame))
            sum = *notice;
        sum.count = count;
        sum.last = last;
        sum.has_other_conns = has_others;
    }
    return sum;
}

bool
smcr_finder_has_two_clocks(const smcr_finder_t *finder)
{
    return smcr_finder_notice(finder, "smcr.captured_late").count != 0;
}

smcr_when_t
smcr_finder_first(const smcr_finder_t *finder, const char *one, const char *other)
{
    return smcr_figure_when_earlier(smcr_finder_notice(finder, one).first,
                                    smcr_finder_notice(finder, other).first);
}

const char *
smcr_finder_frame_or(const smcr_finder_t *finder, smcr_when_t when, const char *filter)
{
    return wmem_strdup_printf(finder->scope, "frame.number == %" PRIu32 " || %s", when.frame,
                              filter);
}

/* Once the result was NULL, it is NULL for all further connections, so that the filter never
 * selects only some of them. */
const char *
smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other, uint64_t count)
{
    if (!count)
        return other;
    if (!one || count >= SMCR_FINDING_FILTERS_MOST)
        return NULL;
    return wmem_strdup_printf(finder->scope, "%s || %s", one, other);
}

const char *
smcr_finder_or_damaged(const smcr_finder_t *finder, const char *begin)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    bool lacks_icrcs = smcr_figure_or_zero(capture->cut_frames) != 0;

    if (capture->check_icrc == SMCR_FIGURE_YES && !lacks_icrcs)
        return "";
    return wmem_strdup_printf(finder->scope, "%sdamaged%s", begin,
                              lacks_icrcs ? "" : " (-o smcr.check_icrc:TRUE)");
}
