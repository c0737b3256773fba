/* What happened to links: lost ones and where their connections went, ones that never came up, link
 * groups that ended under open connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"

typedef struct {
    smcr_finder_t *finder;
    const smcr_entry_link_group_t *group;
    const smcr_entry_link_t *link;
} link_place_t;

static const char *
name_of(const link_place_t *place)
{
    return smcr_words_link(place->finder->scope, place->group->index, place->link->number);
}

/* ---- lost links: where their connections went, and what that has cost ---- */

typedef struct {
    unsigned moved; /* connections that went to another link */
    uint64_t to;    /* number of that link; SMCR_FIGURE_UNKNOWN: several, or not known */
    uint64_t still; /* longest interruption of a moved connection, nanoseconds; 0: unknown */
    smcr_when_t first_move;
} failover_t;

/* When the link has last carried packets in both directions; 0: not known. */
static uint64_t
last_time(const smcr_entry_report_t *report, const smcr_entry_link_t *link)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < link->flows.length; i++) {
        uint64_t index = link->flows.numbers[i];
        const smcr_entry_rdma_t *flow =
            index < report->rdma_flows.length ? report->rdma_flows.entries[index] : NULL;
        if (flow && flow->last_frame.frame && (!last || flow->last_frame.time < last))
            last = flow->last_frame.time;
    }
    return last;
}

/* Adds a connection that has gone on to another link; `last`: when the old one was alive. */
static void
add_move(failover_t *failover, const smcr_entry_conn_link_t *next, uint64_t last)
{
    bool first = !failover->first_move.frame || next->from_frame.frame < failover->first_move.frame;

    failover->to =
        !failover->moved || failover->to == next->number ? next->number : SMCR_FIGURE_UNKNOWN;
    failover->moved++;
    if (next->from_frame.frame && first)
        failover->first_move = next->from_frame;
    if (last && next->from_frame.frame && next->from_frame.time > last)
        failover->still = MAX(failover->still, next->from_frame.time - last);
}

/* The connections that left the link, and where they went. */
static failover_t
failover_of(const link_place_t *place)
{
    failover_t failover = {.to = SMCR_FIGURE_UNKNOWN};
    uint64_t last = last_time(place->finder->report, place->link);

    SMCR_FIGURE_EACH(connection, conn, place->finder->report->connections) {
        if (conn->link_group != place->group->index)
            continue;
        uint32_t before = failover.moved;
        for (uint32_t j = 0; j + 1 < conn->links.length; j++) {
            const smcr_entry_conn_link_t *from = conn->links.entries[j];
            if (from->number == place->link->number)
                add_move(&failover, conn->links.entries[j + 1], last);
        }
        failover.moved = MIN(failover.moved, before + 1); /* however often it moved */
    }
    return failover;
}

/* "3 connections moved to link 1, 4.1 ms after the last message on the old one"; "": none has. */
static const char *
failover_text(wmem_allocator_t *scope, const failover_t *failover)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    if (!failover->moved)
        return "";
    wmem_strbuf_append_printf(text, "%s moved",
                              smcr_words_things(scope, failover->moved, "connection"));
    if (failover->to != SMCR_FIGURE_UNKNOWN)
        wmem_strbuf_append_printf(text, " to link %" PRIu64, failover->to);
    if (failover->still)
        wmem_strbuf_append_printf(text, ", %s after the last message on the old one",
                                  smcr_words_duration(scope, failover->still));
    return wmem_strbuf_finalize(text);
}

static const char *
filter_of_moves(const link_place_t *place, const failover_t *failover)
{
    smcr_finder_t *finder = place->finder;
    const char *group =
        wmem_strdup_printf(finder->scope, "smcr.lgr == %" PRIu64, place->group->index);

    if (smcr_finder_notice(finder, "smcr.conn.moved").count && failover->first_move.frame)
        return wmem_strdup_printf(finder->scope,
                                  "frame.number == %" PRIu32 " || (%s && smcr.conn.moved)",
                                  failover->first_move.frame, group);
    if (failover->to == SMCR_FIGURE_UNKNOWN)
        return group;
    return wmem_strdup_printf(finder->scope, "%s && smcr.link.number == %" PRIu64, group,
                              failover->to);
}

/* Connections go to another link, and nobody says why. */
static void
find_left(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    failover_t failover = failover_of(place);

    smcr_finder_add(finder, SMCR_FIGURE_FOUND_FAILOVER, failover.moved, failover.first_move,
                    filter_of_moves(place, &failover), "%s is left: %s", name_of(place),
                    failover_text(finder->scope, &failover));
}

/* What the connections wrote again, of all links. */
static const char *
rewritten(const smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.stream.rewritten");

    if (!notice.count)
        return "";
    return wmem_strdup_printf(finder->scope, ", %s rewritten",
                              smcr_words_bytes(finder->scope, notice.count));
}

static void
find_lost(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    failover_t failover = failover_of(place);
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.link.lost");
    /* one link: where the notice is; of several, where each was deleted */
    smcr_when_t when = notice.count == 1                  ? notice.first
                       : place->link->deleted_frame.frame ? place->link->deleted_frame
                                                          : failover.first_move;
    const char *frame = "";

    bool was_up = notice.count || failover.moved || place->link->flows.length > 1;
    if (!was_up || (!when.frame && smcr_finder_is_filtered(finder)))
        return;
    if (!notice.count)
        frame = wmem_strdup_printf(finder->scope, " || frame.number == %" PRIu32, when.frame);
    const char *filter = wmem_strdup_printf(
        finder->scope,
        "smcr.lgr == %" PRIu64 " && (smcr.link.lost || smcr.link.deleted || smcr.conn.moved%s)",
        place->group->index, frame);
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LINK_LOST, 1, when, filter, "%s is lost%s%s%s",
                    name_of(place), failover.moved ? ": " : "",
                    failover_text(finder->scope, &failover),
                    failover.moved ? rewritten(finder) : "");
}

/* The one that sends on the link, again and again, to nobody; NULL: there is none. */
static const smcr_entry_rdma_t *
dead_end(const link_place_t *place)
{
    const smcr_figure_list_t *flows = &place->finder->report->rdma_flows;

    for (uint32_t i = 0; i < place->link->flows.length; i++) {
        uint64_t index = place->link->flows.numbers[i];
        if (index < flows->length &&
            smcr_finding_flow_is_dead_end(place->finder, flows->entries[index]))
            return flows->entries[index];
    }
    return NULL;
}

/* Its path does not carry packets: the CONFIRM LINK on it gets no answer. */
static void
find_dead_end(const link_place_t *place, const smcr_entry_rdma_t *flow)
{
    smcr_finder_t *finder = place->finder;
    const char *filter =
        wmem_strdup_printf(finder->scope, "smcr.link.index == %" PRIu64, place->link->index);

    uint64_t packets = smcr_figure_known(flow->packets) - smcr_figure_known(flow->copies);

    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LINK_FAILED, packets, flow->first_frame, filter,
                    "%s never came up: %s got no answer to %s, %s of them retransmitted%s",
                    name_of(place), flow->src ? flow->src : "one side",
                    smcr_words_things(finder->scope, packets, "packet"),
                    smcr_words_number(finder->scope, flow->repeated),
                    smcr_finder_undelivered(finder, flow->src, flow->dst));
}

/* It was given up before it carried anything. */
static void
find_unused(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    smcr_when_t asked = smcr_finder_notice(finder, "smcr.link.delete_asked").first;
    const char *filter = wmem_strdup_printf(
        finder->scope, "smcr.lgr == %" PRIu64 " && smcr.llc.link_number == %" PRIu64,
        place->group->index, place->link->number);

    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LINK_UNUSED, 1,
                    smcr_figure_when_earlier(place->link->deleted_frame, asked), filter,
                    "%s never came up: it carried no packet, then was deleted (%s)", name_of(place),
                    smcr_figure_delete_reason_words[place->link->delete_reason]);
}

static void
find_on_link(const link_place_t *place)
{
    const smcr_entry_link_t *link = place->link;
    const smcr_entry_rdma_t *flow = dead_end(place);
    unsigned(*told)[SMCR_FINDING_RANKS] = place->finder->count;
    bool unused = smcr_words_link_is_unused(link) && !smcr_finder_is_filtered(place->finder);

    if (flow)
        find_dead_end(place, flow);
    else if (smcr_words_link_is_lost(link) && unused)
        find_unused(place);
    else if (smcr_words_link_is_lost(link) &&
             told[SMCR_FIGURE_WARN][SMCR_FINDING_BY_LINK_LOST] < SMCR_FINDINGS_MOST)
        find_lost(place);
    else if (smcr_words_link_is_left(link) &&
             told[SMCR_FIGURE_NOTE][SMCR_FINDING_BY_LINK_LOST] < SMCR_FINDINGS_MOST)
        find_left(place);
}

static void
find_group_lost(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.lgr.connections_lost");

    const char *group = "a link group";

    if (notice.subject && notice.subject->group != SMCR_FIGURE_UNKNOWN)
        group = smcr_words_link(finder->scope, notice.subject->group, SMCR_FIGURE_UNKNOWN);
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LINK_GROUP_LOST, notice.count, notice.first,
                    notice.filter, "%s ended with open connections%s", group,
                    notice.count > 1
                        ? wmem_strdup_printf(
                              finder->scope, ", as %s more did",
                              smcr_words_number(finder->scope, notice.count - 1)) : "");
}

/* The last one that had ended before the frame; NULL: none. */
static const smcr_entry_link_group_t *
ended_before(const smcr_finder_t *finder, uint32_t frame)
{
    const smcr_entry_link_group_t *last = NULL;

    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups) {
        uint32_t ended = group->ended_frame.frame;
        if (ended && ended <= frame && (!last || ended > last->ended_frame.frame))
            last = group;
    }
    return last;
}

/* Linux sends its last DELETE LINK again and again: the peer's queue pair is gone. */
static void
find_group_end(smcr_finder_t *finder)
{
    smcr_figure_notice_t again = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");
    const smcr_entry_link_group_t *group = ended_before(finder, again.first.frame);
    const char *reason = "";

    if (!group)
        return;
    SMCR_FIGURE_EACH(link, link, group->links)
        if (link->delete_reason && !*reason)
            reason = wmem_strdup_printf(finder->scope, ", %s",
                                        smcr_figure_delete_reason_words[link->delete_reason]);
    const char *filter = wmem_strdup_printf(
        finder->scope, "frame.number == %" PRIu32 " || smcr.packet_retransmitted.ended",
        group->ended_frame.frame);
    smcr_finder_add(
        finder, SMCR_FIGURE_FOUND_LINK_GROUP_ENDED, again.count, group->ended_frame, filter,
        "Link group %" PRIu64 " ended%s; its last packets were retransmitted %s: harmless",
        group->index, reason, smcr_words_things(finder->scope, again.count, "time"));
}

/* ---- a peer that stopped answering ---- */

/* Whether all connections of its link group had ended before the frame. */
static bool
is_over(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, uint32_t frame)
{
    const smcr_entry_link_group_t *group = finder->owners[flow->index].group;
    unsigned ended = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!group || conn->link_group != group->index)
            continue;
        if (conn->close == SMCR_FIGURE_CLOSE_OPEN || conn->close == SMCR_FIGURE_CLOSE_UNKNOWN ||
            conn->last_frame.frame >= frame)
            return false;
        ended++;
    }
    return ended != 0;
}

/* The flow to which nothing has come back for the longest time, one that somebody needs (`*needed`)
 * before others; NULL: not known. */
static const smcr_entry_rdma_t *
silent_flow(const smcr_finder_t *finder, uint32_t frame, uint64_t *silence, bool *needed)
{
    const smcr_entry_rdma_t *silent = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        uint64_t time = smcr_finding_flow_unanswered(finder, flow);
        bool is_needed = time && !is_over(finder, flow, frame);
        if (is_needed > *needed || (is_needed == *needed && time > *silence)) {
            *needed = is_needed;
            *silence = time;
            silent = flow;
        }
    }
    return silent;
}

/* Packets are retransmitted to somebody of whom the capture has no packet at all. */
static bool
has_unheard_peer(const smcr_finder_t *finder)
{
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        if (!smcr_finding_flow_peer(finder, flow) && smcr_figure_known(flow->repeated) >= 3)
            return true;
    }
    return false;
}

static void
find_dead_peer(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.peer_silent");
    uint64_t silence = 0;
    bool needed = false;
    const smcr_entry_rdma_t *flow = silent_flow(finder, notice.first.frame, &silence, &needed);
    const char *text = wmem_strdup_printf(
        finder->scope, "%s: the same packets are retransmitted, and nobody answers",
        smcr_finder_subject(finder, notice.subject));

    if (smcr_finder_is_filtered(finder) || (!flow && !has_unheard_peer(finder)))
        return;
    /* what came back before the packet was sent for the fourth time, the capture may lack */
    silence = MIN(silence, finder->report->capture.last_time - notice.first.time);
    if (flow)
        text = wmem_strdup_printf(
            finder->scope,
            "%s stopped answering: %s from %s, and no packet came back on RoCE%s%s"
            "%s%s",
            flow->dst, smcr_words_things(finder->scope, flow->repeated, "retransmission"),
            flow->src, silence ? " for " : "",
            silence ? smcr_words_duration(finder->scope, silence) : "",
            needed ? "" : "; the connections had ended before",
            smcr_finder_undelivered(finder, flow->src, flow->dst));
    /* what a host that has reset its connections does is no cause of that */
    smcr_when_t reset = smcr_finder_notice(finder, "tcp.flags.reset == 1").first;
    smcr_finder_add_as(
        finder,
        reset.frame && reset.frame < notice.first.frame ? SMCR_FIGURE_FOUND_DEAD_AFTER
                                                        : SMCR_FIGURE_FOUND_DEAD_PEER,
        flow && !needed ? SMCR_FIGURE_INFO : SMCR_FIGURE_WARN, notice.count, notice.first,
        "smcr.peer_silent || smcr.retransmission", "%s", text);
}

void
smcr_finding_on_links(smcr_finder_t *finder)
{
    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups) {
        for (uint32_t j = 0; j < group->links.length; j++)
            find_on_link(&(link_place_t){finder, group, group->links.entries[j]});
    }
    find_group_lost(finder);
    find_group_end(finder);
    find_dead_peer(finder);
}
