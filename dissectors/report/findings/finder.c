/* Collects findings. Tells causes apart by what a flow and its reverse flow have counted.
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
                                  .frame = when, .filter = filter};
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

/* ---- which trouble of a flow has which cause ---- */

const smcr_entry_rdma_t *
smcr_finding_flow_peer(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;

    return flow->peer < flows->length ? flows->entries[flow->peer] : NULL;
}

uint64_t
smcr_finding_flow_unanswered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    smcr_figure_notice_t silent = smcr_finder_notice(finder, "smcr.peer_silent");

    if (!peer || !silent.count || smcr_figure_known(flow->repeated) < 3)
        return 0;
    if (flow->last_frame.frame < silent.first.frame ||
        silent.last < peer->last_frame.frame || /* it was heard again */
        flow->last_frame.time < peer->last_frame.time)
        return 0;
    uint64_t end = finder->report->capture.last_time;
    return (end == SMCR_FIGURE_UNKNOWN ? flow->last_frame.time : end) - peer->last_frame.time;
}

static bool
has_bad(const smcr_entry_rdma_t *flow)
{
    return flow && flow->icrc && smcr_figure_known(flow->icrc->bad);
}

bool
smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return has_bad(flow) || has_bad(smcr_finding_flow_peer(finder, flow));
}

/* ---- links on which nobody answers ---- */

/* Who acknowledges has got something; who sends anything but a SEND knows that the link works. */
static bool
only_sends(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (!smcr_ib_is_send(flow->opcodes.counts[i].opcode))
            return false;
    return true;
}

bool
smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_t *link = finder->owners[flow->index].link;

    if (flow->kind != SMCR_FIGURE_FLOW_SMCR || smcr_finding_flow_peer(finder, flow) ||
        smcr_figure_known(flow->repeated) < 3 || !only_sends(flow) ||
        smcr_finder_is_filtered(finder))
        return false;
    return link && link->state && link->state != SMCR_FIGURE_STATUS_ACTIVE &&
           link->added_frame.frame && link->added_frame.frame < flow->first_frame.frame;
}
