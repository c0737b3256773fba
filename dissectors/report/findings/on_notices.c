/* Expert items that no other finding explains become findings themselves. Tables name the items
 * that are consequences of a finding, and those that are harmless.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "subjects.h"

#include "application/application.h"
#include "report/words/words.h"

/* Severities and groups of Wireshark's expert items (epan/proto.h). */
#define NOTE_ITEM       0x00400000
#define WARN_ITEM       0x00600000
#define ERROR_ITEM      0x00800000
#define SEVERITY_MASK   0x00f00000
#define PROTOCOL_GROUP  0x09000000
#define MALFORMED_GROUP 0x07000000

#define PREFIX "smcr."

/* Expert items that may be consequences of missing or truncated packets. Each of these items
 * reports that a fact is not known; a missing packet may have shown this fact. */
#define OF_LACK                                                                                    \
    "cdc.token_unknown", "write.no_start", "cdc.unseen_data", "cdc.read_too_far",                  \
        "llc.no_request", "cm.unexpected", "clc.confirm_without_accept", "rkey_unknown",           \
        "rkey_not_confirmed", "link.number_unknown", "token_reused"

/* Names of expert items, without their prefix "smcr.". Index: rank. An item in the row of a rank
 * reports the same trouble as a finding of this rank, or a consequence of that trouble. A row ends
 * with NULL, so it has one name less than elements. The row
 * SMCR_FINDING_RANKS has items whose counts are figures of the report: other rules make findings of
 * these figures. */
static const char *const consequences[SMCR_FINDING_RANKS + 1][20] = {
    [SMCR_FINDING_RANKS] = {"icrc.bad", "nak", "rnr_nak", "congestion", "packet_retransmitted",
        "packet_duplicated", "peer_silent", "cm.rejected", "cm.repeat", "window.writer_blocked",
        "window.full", "fallback", "conn.aborted", "lgr.connections_lost", "no_roce", "cut_short"},
    [SMCR_FINDING_BY_LATE_START] = {"conn.began_before", OF_LACK},
    [SMCR_FINDING_BY_CUT] = {OF_LACK},
    [SMCR_FINDING_BY_NO_ROCE] = {OF_LACK},
    [SMCR_FINDING_BY_SLOW_READER] = {"window.late_update"},
    [SMCR_FINDING_BY_SIZE] = {"packet_ahead"},
    [SMCR_FINDING_BY_LOSS] = {"window.late_update", "packet_ahead", "write.no_start",
        "cdc.sequence_gap", "cdc.unseen_data", "cdc.read_too_far", "no_response",
        "llc.late_response"},
    [SMCR_FINDING_BY_LINK_LOST] = {"link.lost", "conn.moved", "llc.second_answer",
        "link.number_unknown", "no_response"},
    [SMCR_FINDING_BY_LINK_FAILED] = {"llc.second_answer", "link.not_confirmed",
        "link.number_unknown", "no_response"},
    [SMCR_FINDING_BY_DEAD_PEER] = {"no_response", "tcp_reset_before"},
    [SMCR_FINDING_BY_RESET] = {"tcp_reset_before"},
    [SMCR_FINDING_BY_HANDSHAKE] = {"clc.data_instead", "no_response"},
    [SMCR_FINDING_BY_FALLBACK] = {"clc.declined", "clc.out_of_sync_decline", "no_response"},
    [SMCR_FINDING_BY_ICRC] = {"cdc.unseen_data", "cdc.sequence_gap", "packet_ahead"},
    [SMCR_FINDING_BY_CLOCKS_DIFFER] = {"captured_late", "clocks_differ", "no_response",
        "llc.late_response", "conn.began_before", "packet_ahead", "cdc.sequence_gap", OF_LACK},
    [SMCR_FINDING_BY_DISORDER] = {"packet_ahead"},
    [SMCR_FINDING_BY_LACK] = {"packet_ahead", "cdc.sequence_gap", "no_response", OF_LACK},
};

/* Whether the items in the row `rank` of `consequences` are explained. They are if a finding of
 * this rank was made. The items in row SMCR_FINDING_RANKS are always explained. */
static bool
holds_row(const smcr_finder_t *finder, unsigned rank)
{
    return rank == SMCR_FINDING_RANKS || finder->has_rank[rank];
}

/* Whether the item may be about RoCE packets of a connection whose TCP connection the report has
 * found later (`roce_stream`): it says that a connection began before the capture, or that a token
 * is not known, and the report has found the TCP connection of at least one connection. */
static bool
is_joined_half(const smcr_finder_t *finder, const char *name)
{
    if (strcmp(name, "conn.began_before") != 0 && strcmp(name, "cdc.token_unknown") != 0)
        return false;
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        if (conn->roce_stream != SMCR_FIGURE_UNKNOWN)
            return true;
    return false;
}

/* Whether a finding explains the item. `name`: name of the item without its prefix. Example: after
 * a finding of lost packets (BY_LOSS), "cdc.sequence_gap" is no finding of its own. */
static bool
is_explained(const smcr_finder_t *finder, const char *name)
{
    for (unsigned rank = 0; rank <= SMCR_FINDING_RANKS; rank++)
        if (holds_row(finder, rank) && g_strv_contains(consequences[rank], name))
            return true;
    return false;
}

/* Returns the severity of a finding about the notice: the severity of the expert item. */
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

/* Returns the rank that a finding of the expert item has. Errors and warnings of Wireshark's group
 * "malformed" report a broken format. Errors and warnings of the group "protocol" report a broken
 * rule. */
static smcr_finding_rank_t
rank_of(const smcr_figure_notice_t *notice)
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

/* Expert items of harmless events. Healthy peers cause these events, often by a habit of Linux, and
 * no trouble follows. Items with the severity note make no finding. An item that is a warning or an
 * error makes a finding, also if its name is in this list. */
static const char *const harmless[] = {
    "llc.collision", "link.deleted", "link.delete_asked", "move.old_link", "tcp_closed_before",
    "cdc.after_close", "cdc.after_done", "cdc.after_abort", "write.after_close", "write.after_end",
    "window.small_update", "window.small_write", "llc.rfc_layout", "llc.reason_missing",
    "llc.link_number_unneeded", "llc.type_optional", "rmb.bsize_reserved", "clc.os_unknown",
    "clc.release_unknown", "clc.direct_differs", NULL,
};

/* Whether the item is a harmless note. `name`: name of the item without its prefix "smcr.". */
static bool
is_harmless(const smcr_figure_notice_t *notice, const char *name)
{
    return severity_of(notice) < SMCR_FIGURE_WARN && g_strv_contains(harmless, name);
}

/* Returns "rule broken by the client: " or "format broken by the client: ", without the side if it
 * is not known: "rule broken: ". "" if the item reports neither a broken format nor a broken rule,
 * or is only a note. */
static const char *
fault_text(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    bool is_format = notice->group == MALFORMED_GROUP;
    const char *broken = is_format ? "format" : "rule";

    if (!is_format && notice->group != PROTOCOL_GROUP)
        return "";
    if (severity_of(notice) < SMCR_FIGURE_WARN)
        return "";
    if (!notice->by)
        return wmem_strdup_printf(finder->scope, "%s broken: ", broken);
    return wmem_strdup_printf(finder->scope, "%s broken by the %s: ", broken,
                              smcr_figure_role_words[notice->by]);
}

/* Returns the sentence of the item, for use after a colon. The first word begins with a lower-case
 * letter, except if the word is an abbreviation. */
static const char *
item_text(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    char *text = wmem_strdup(finder->scope, notice->kind ? notice->kind : notice->filter);

    if (g_ascii_isupper(text[0]) && !g_ascii_isupper(text[1]) && strncmp(text, "RDMA", 4) != 0)
        text[0] = g_ascii_tolower(text[0]);
    return text;
}

/* Returns how often the items were counted: "30 times"; "the first of 30, on more than one
 * connection". */
static const char *
times_text(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    if (notice->has_other_conns)
        return wmem_strdup_printf(finder->scope, "the first of %s, on more than one connection",
                                  smcr_words_number(finder->scope, notice->count));
    return smcr_words_things(finder->scope, notice->count, "time");
}

/* Makes a finding of all items of one kind. The sentence has the subject of the first item, the
 * side that broke a rule, the text of the first item, and the number of items. */
static void
find_item(smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    smcr_figure_notice_t sum = smcr_finder_notice(finder, notice->filter);
    /* the name of the item, as a word: "smcr.cdc.after_close" is "cdc_after_close" */
    char *kind = wmem_strdup(finder->scope, notice->filter + strlen(PREFIX));
    smcr_entry_finding_t finding = {.severity = severity_of(notice),
                                    .kind = g_strdelimit(kind, ".", '_'),
                                    .frame = sum.first,
                                    .filter = notice->filter, .count = sum.count};

    finding.text = wmem_strdup_printf(
        finder->scope, "%s: %s%s%s", smcr_finder_subject(finder, sum.subject),
        fault_text(finder, &sum), item_text(finder, &sum),
        sum.count > 1 ? wmem_strdup_printf(finder->scope, " (%s)", times_text(finder, &sum)) : "");
    smcr_finder_add_item(finder, rank_of(notice), finding);
}

/* Makes a finding of ICMP errors about RoCE packets that are larger than the path MTU. */
static void
find_too_big(smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    const smcr_figure_subject_t *hosts = notice->subject;
    wmem_array_t *frames = smcr_finder_frames(finder);

    smcr_finder_frames_add_notices(finder, frames, notice->filter);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_PATH_MTU,
                                           .count = notice->count,
                                           .when = notice->first,
                                           .frames = frames,
                                           .filter = strchr(hosts->src, ':')
                                                         ? "icmpv6.type == 2"
                                                         : "icmp.type == 3 && icmp.code == 4"},
                    "%s: packets exceed the path MTU and are lost; %s: %s",
                    smcr_words_hosts(finder->scope, hosts->src, hosts->dst),
                    smcr_words_things(finder->scope, notice->count, "ICMP error"), notice->kind);
}

/* Makes a finding of ICMP errors about packets of RoCE or TCP. If the sentence of another finding
 * has the ICMP error already, no finding is made. */
static void
find_undelivered(smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    const smcr_figure_subject_t *hosts = notice->subject;
    const char *error = wmem_strdup_printf(finder->scope, "; ICMP (frame %" PRIu32 "): %s",
                                           notice->first.frame, notice->kind);
    wmem_array_t *frames = smcr_finder_frames(finder);

    for (unsigned i = 0; i < wmem_array_get_count(finder->found); i++) {
        const smcr_finding_t *found = wmem_array_index(finder->found, i);
        if (strstr(found->entry.text, error))
            return;
    }
    if (strstr(notice->kind, "too big")) {
        find_too_big(finder, notice);
        return;
    }
    smcr_finder_frames_add_notices(finder, frames, notice->filter);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_UNDELIVERED,
                                           .count = notice->count,
                                           .when = notice->first,
                                           .frames = frames,
                                           .filter = strchr(hosts->src, ':') ? "icmpv6.type == 1"
                                                                             : "icmp.type == 3"},
                    "%s: packets not delivered; %s: %s",
                    smcr_words_hosts(finder->scope, hosts->src, hosts->dst),
                    smcr_words_things(finder->scope, notice->count, "ICMP error"), notice->kind);
}

/* Finding: the application's protocol reports errors, in messages at the beginning of a WRITE. The
 * errors are the application's, not SMC-R's: one finding of the lowest severity has all of them.
 * The filter has the frame of the first WRITE, since Wireshark may show the message in a later
 * frame. */
static void
find_application_errors(smcr_finder_t *finder)
{
    wmem_strbuf_t *text = wmem_strbuf_new(finder->scope, "");
    wmem_strbuf_t *filter = wmem_strbuf_new(finder->scope, "");
    wmem_array_t *frames = smcr_finder_frames(finder);
    const smcr_figure_notice_t *first = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        const smcr_application_error_t *error =
            smcr_application_error_with_filter(notice->filter);
        if (!error)
            continue;
        wmem_strbuf_append_printf(text, "%s%s (%s)", count ? ", " : "", error->name,
                                  times_text(finder, notice));
        wmem_strbuf_append_printf(filter, " || %s", error->filter);
        smcr_finder_frames_add_notices(finder, frames, notice->filter);
        if (!first || notice->first.frame < first->first.frame)
            first = notice;
        count += notice->count;
    }
    if (!first)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_APPLICATION_ERRORS,
                                           .count = count,
                                           .when = first->first,
                                           .frames = frames,
                                           .filter = wmem_strdup_printf(
                                               finder->scope, "frame.number == %" PRIu32 "%s",
                                               first->first.frame, wmem_strbuf_finalize(filter))},
                    "%s: the application's protocol reports errors: %s",
                    smcr_finder_subject(finder, first->subject), wmem_strbuf_finalize(text));
}

/* Whether the item reports a broken rule that rests on the order of packets, and the times of the
 * capture do not show this order. */
static bool
is_of_unknown_order(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    return finder->has_rank[SMCR_FINDING_BY_CLOCKS_DIFFER] &&
           rank_of(notice) == SMCR_FINDING_BY_RULE;
}

/* Makes findings of the expert items that no finding so far explains. Five kinds of items make no
 * finding: comments and chats, harmless notes, items of a kind that another notice has, broken
 * rules while the order of packets is not known, and those that may be about a connection of which
 * the report has found the other half (is_joined_half()). */
void
smcr_finding_on_notices(smcr_finder_t *finder)
{
    wmem_map_t *told = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    for (uint32_t i = 0; i < finder->notice_count; i++)
        if (strncmp(finder->notices[i].filter, "icmp", 4) == 0)
            find_undelivered(finder, &finder->notices[i]);
    find_application_errors(finder);
    for (uint32_t i = 0; i < finder->notice_count; i++) {
        const smcr_figure_notice_t *notice = &finder->notices[i];
        if (severity_of(notice) <=
            SMCR_FIGURE_INFO) /* severity 0: the notice counts packets that a display filter
                                 selects, and is no expert item */
            continue;
        const char *name = notice->filter + strlen(PREFIX);
        bool is_known = is_explained(finder, name) || is_joined_half(finder, name) ||
                        is_of_unknown_order(finder, notice);
        if (!is_harmless(notice, name) && !is_known &&
            !wmem_map_contains(told, name))
            find_item(finder, notice);
        wmem_map_insert(told, name, NULL);
    }
}
