/* on_notices.c
 * Expert items that no finding speaks of yet. A table says which ones follow from what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <string.h>

#include "report/words/words.h"

/* Severities and groups of Wireshark's expert items (epan/proto.h). */
#define NOTE_ITEM       0x00400000
#define WARN_ITEM       0x00600000
#define ERROR_ITEM      0x00800000
#define SEVERITY_MASK   0x00f00000
#define PROTOCOL_GROUP  0x09000000
#define MALFORMED_GROUP 0x07000000

#define PREFIX "smcr."

/* The item says what another finding says, or follows from it. SMCR_FINDING_RANKS: figures say
 * it. */
static const struct {
    const char *filter;
    smcr_finding_rank_t cause;
} consequences[] = {
    /* what figures say, if it is worth a finding */
    {"smcr.icrc.bad", SMCR_FINDING_RANKS},
    {"smcr.nak", SMCR_FINDING_RANKS},
    {"smcr.rnr_nak", SMCR_FINDING_RANKS},
    {"smcr.congestion", SMCR_FINDING_RANKS},
    {"smcr.packet_retransmitted", SMCR_FINDING_RANKS},
    {"smcr.packet_duplicated", SMCR_FINDING_RANKS},
    {"smcr.peer_silent", SMCR_FINDING_RANKS},
    {"smcr.cm.rejected", SMCR_FINDING_RANKS},
    {"smcr.cm.repeat", SMCR_FINDING_RANKS},
    {"smcr.window.writer_blocked", SMCR_FINDING_RANKS},
    {"smcr.window.full", SMCR_FINDING_RANKS},
    {"smcr.fallback", SMCR_FINDING_RANKS},
    {"smcr.conn.aborted", SMCR_FINDING_RANKS},
    {"smcr.lgr.connections_lost", SMCR_FINDING_RANKS},
    {"smcr.no_roce", SMCR_FINDING_RANKS},
    {"smcr.cut_short", SMCR_FINDING_RANKS},
    {"smcr.conn.began_before", SMCR_FINDING_BY_LATE_START},
    {"smcr.window.late_update", SMCR_FINDING_BY_SLOW_READER},
    {"smcr.window.late_update", SMCR_FINDING_BY_LOSS},
    /* a lost link */
    {"smcr.link.lost", SMCR_FINDING_BY_LINK_LOST},
    {"smcr.conn.moved", SMCR_FINDING_BY_LINK_LOST},
    {"smcr.llc.second_answer", SMCR_FINDING_BY_LINK_LOST},
    {"smcr.link.number_unknown", SMCR_FINDING_BY_LINK_LOST},
    {"smcr.no_response", SMCR_FINDING_BY_LINK_LOST},
    /* a link that never came up */
    {"smcr.llc.second_answer", SMCR_FINDING_BY_LINK_FAILED},
    {"smcr.link.not_confirmed", SMCR_FINDING_BY_LINK_FAILED},
    {"smcr.link.number_unknown", SMCR_FINDING_BY_LINK_FAILED},
    {"smcr.no_response", SMCR_FINDING_BY_LINK_FAILED},
    /* a peer that is gone */
    {"smcr.no_response", SMCR_FINDING_BY_DEAD_PEER},
    {"smcr.tcp_reset_before", SMCR_FINDING_BY_DEAD_PEER},
    {"smcr.tcp_reset_before", SMCR_FINDING_BY_RESET},
    /* a fallback */
    {"smcr.clc.declined", SMCR_FINDING_BY_FALLBACK},
    {"smcr.clc.out_of_sync_decline", SMCR_FINDING_BY_FALLBACK},
    {"smcr.no_response", SMCR_FINDING_BY_FALLBACK},
    {"smcr.no_roce", SMCR_FINDING_BY_FALLBACK},
    /* lost packets */
    {"smcr.packet_ahead", SMCR_FINDING_BY_LOSS},
    {"smcr.write.no_start", SMCR_FINDING_BY_LOSS},
    {"smcr.cdc.sequence_gap", SMCR_FINDING_BY_LOSS},
    {"smcr.cdc.unseen_data", SMCR_FINDING_BY_LOSS},
    {"smcr.cdc.read_too_far", SMCR_FINDING_BY_LOSS},
    {"smcr.no_response", SMCR_FINDING_BY_LOSS},
    {"smcr.llc.late_response", SMCR_FINDING_BY_LOSS},
    {"smcr.cdc.unseen_data", SMCR_FINDING_BY_ICRC},
    {"smcr.cdc.sequence_gap", SMCR_FINDING_BY_ICRC},
    {"smcr.packet_ahead", SMCR_FINDING_BY_ICRC},
    /* a capture that lacks packets */
    {"smcr.packet_ahead", SMCR_FINDING_BY_LACK},
    {"smcr.write.no_start", SMCR_FINDING_BY_LACK},
    {"smcr.cdc.sequence_gap", SMCR_FINDING_BY_LACK},
    {"smcr.cdc.unseen_data", SMCR_FINDING_BY_LACK},
    {"smcr.cdc.read_too_far", SMCR_FINDING_BY_LACK},
    {"smcr.cdc.token_unknown", SMCR_FINDING_BY_LACK},
    {"smcr.llc.no_request", SMCR_FINDING_BY_LACK},
    {"smcr.no_response", SMCR_FINDING_BY_LACK},
    {"smcr.cm.unexpected", SMCR_FINDING_BY_LACK},
    /* a capture that begins late */
    {"smcr.cdc.token_unknown", SMCR_FINDING_BY_LATE_START},
    {"smcr.write.no_start", SMCR_FINDING_BY_LATE_START},
    {"smcr.cdc.unseen_data", SMCR_FINDING_BY_LATE_START},
    {"smcr.cdc.read_too_far", SMCR_FINDING_BY_LATE_START},
    {"smcr.llc.no_request", SMCR_FINDING_BY_LATE_START},
    {"smcr.cm.unexpected", SMCR_FINDING_BY_LATE_START},
    {"smcr.clc.confirm_without_accept", SMCR_FINDING_BY_LATE_START},
};

static bool
is_explained(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    for (size_t i = 0; i < G_N_ELEMENTS(consequences); i++) {
        smcr_finding_rank_t cause = consequences[i].cause;
        if (strcmp(consequences[i].filter, notice->filter) != 0)
            continue;
        if (cause == SMCR_FINDING_RANKS || finder->has[cause])
            return true;
    }
    return false;
}

static smcr_figure_severity_t
severity_of(const smcr_figure_notice_t *notice)
{
    switch (notice->severity & SEVERITY_MASK) {
    case ERROR_ITEM:
        return SMCR_FIGURE_ERROR;
    case WARN_ITEM:
        return SMCR_FIGURE_WARN;
    case NOTE_ITEM:
        return SMCR_FIGURE_NOTE;
    default:
        return SMCR_FIGURE_INFO;
    }
}

static smcr_finding_rank_t
place_of(const smcr_figure_notice_t *notice)
{
    if (strcmp(notice->filter, "smcr.window.overwritten") == 0)
        return SMCR_FINDING_BY_OVERWRITTEN;
    if (strcmp(notice->filter, "smcr.icrc.doubted") == 0)
        return SMCR_FINDING_BY_ICRC_DOUBTED;
    if (severity_of(notice) < SMCR_FIGURE_WARN)
        return SMCR_FINDING_BY_NOTICE;
    if (notice->group == MALFORMED_GROUP)
        return SMCR_FINDING_BY_FORMAT;
    return notice->group == PROTOCOL_GROUP ? SMCR_FINDING_BY_RULE : SMCR_FINDING_BY_NOTICE;
}

/* Notes that do no harm: peers do so as a rule, or Linux does, and nothing comes of it. A warning
 * with the same name is told. */
static const char *const harmless[] = {
    "smcr.llc.collision",
    "smcr.link.deleted",
    "smcr.link.delete_asked",
    "smcr.move.old_link",
    "smcr.tcp_closed_before",
    "smcr.cdc.after_close",
    "smcr.cdc.after_done",
    "smcr.cdc.after_abort",
    "smcr.write.after_close",
    "smcr.write.after_end",
    "smcr.window.small_update",
    "smcr.window.small_write",
    "smcr.llc.rfc_layout",
    "smcr.llc.reason_missing",
    "smcr.llc.link_number_unneeded",
    "smcr.llc.type_optional",
    "smcr.rmb.bsize_reserved",
    "smcr.clc.os_unknown",
    "smcr.clc.release_unknown",
    "smcr.clc.direct_differs",
    NULL,
};

static const char *
fault(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    bool rule = notice->group == MALFORMED_GROUP || notice->group == PROTOCOL_GROUP;

    if (!rule || severity_of(notice) < SMCR_FIGURE_WARN)
        return "";
    return wmem_strdup_printf(
        finder->scope, "%s broken%s%s: ", notice->group == MALFORMED_GROUP ? "format" : "rule",
        notice->by ? " by the " : "", notice->by ? smcr_figure_role_words[notice->by] : "");
}

/* What all items of the kind say, behind a colon. */
static const char *
sentence(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    char *text = wmem_strdup(finder->scope, notice->kind ? notice->kind : notice->filter);

    if (g_ascii_isupper(text[0]) && !g_ascii_isupper(text[1]) && strncmp(text, "RDMA", 4) != 0)
        text[0] = g_ascii_tolower(text[0]);
    return text;
}

static void
find_notice(smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    smcr_figure_notice_t sum = smcr_finder_notice(finder, notice->filter);
    bool ours = strncmp(notice->filter, PREFIX, strlen(PREFIX)) == 0;
    /* the name of the item, as a word: "smcr.cdc.after_close" is "cdc_after_close" */
    char *kind = wmem_strdup(finder->scope, notice->filter + (ours ? strlen(PREFIX) : 0));
    smcr_entry_finding_t finding = {.severity = severity_of(notice),
                                    .kind = g_strdelimit(kind, ".", '_'),
                                    .frame = sum.first,
                                    .filter = notice->filter,
                                    .count = sum.count};

    finding.text = wmem_strdup_printf(
        finder->scope, "%s: %s%s%s", smcr_finder_subject(finder, sum.subject), fault(finder, &sum),
        sentence(finder, &sum),
        sum.count > 1
            ? wmem_strdup_printf(finder->scope, " (and %s more in the capture)",
                                 smcr_words_things(finder->scope, sum.count - 1, "time"))
            : "");
    smcr_finder_add_item(finder, place_of(notice), finding);
}

void
smcr_finding_on_notices(smcr_finder_t *finder)
{
    wmem_map_t *told = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        bool is_harmless = severity_of(notice) < SMCR_FIGURE_WARN &&
                           g_strv_contains(harmless, notice->filter);
        if (severity_of(notice) > SMCR_FIGURE_INFO && !is_harmless &&
            !is_explained(finder, notice) && !wmem_map_contains(told, notice->filter))
            find_notice(finder, notice);
        wmem_map_insert(told, notice->filter, NULL);
    }
}
