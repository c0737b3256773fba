/* Findings about links: lost links and where their connections moved, links that never came up,
 * link groups that ended with open connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "finder.h"

#include "report/words/words.h"

/* The link for which a rule looks for findings. */
typedef struct {
    smcr_finder_t *finder;                /* the report, and the findings made so far */
    const smcr_entry_link_group_t *group; /* link group of the link */
    const smcr_entry_link_t *link;        /* the link */
} link_place_t;

/* Returns the name of the link: "link 2 of link group 0". */
static const char *
name_of(const link_place_t *place)
{
    return smcr_words_link(place->finder->scope, place->group->index, place->link->number);
}

/* ---- lost links: where their connections moved, and how long the move took ---- */

/* The connections that moved from a link to other links (RFC 7609, 2.3). */
typedef struct {
    unsigned moved;         /* number of connections that moved */
    uint64_t to;            /* number of their new link; SMCR_FIGURE_UNKNOWN: several links, or not
                               known */
    uint64_t interruption;  /* longest interruption of a moved connection, nanoseconds; 0: not
                               known */
    smcr_when_t first_move; /* first frame of a moved connection on its new link; frame 0: none */
} failover_t;

/* Returns when the link last carried packets in both directions, nanoseconds since 1970; 0: not
 * known. This is the earlier one of two times: the time of the last packet of each of its two
 * flows. */
static uint64_t
last_two_way_time(const smcr_entry_report_t *report, const smcr_entry_link_t *link)
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

/* Counts a connection that has moved to the link `next`. `last`: when the old link last carried
 * packets in both directions; 0: not known. The interruption begins at `last`, and ends with the
 * connection's first packet on the new link. */
static void
add_move(failover_t *failover, const smcr_entry_conn_link_t *next, uint64_t last)
{
    bool same_link = !failover->moved || failover->to == next->number;

    failover->to = same_link ? next->number : SMCR_FIGURE_UNKNOWN;
    failover->moved++;
    if (!next->from_frame.frame)
        return;
    failover->first_move = smcr_figure_when_earlier(failover->first_move, next->from_frame);
    if (last && next->from_frame.time > last)
        failover->interruption = MAX(failover->interruption, next->from_frame.time - last);
}

/* Returns the number of connections that moved away from the link, with target and interruption of
 * the moves. A connection that moved away several times counts once. */
static failover_t
gather_moves(const link_place_t *place)
{
    failover_t failover = {.to = SMCR_FIGURE_UNKNOWN};
    uint64_t last = last_two_way_time(place->finder->report, place->link);

    SMCR_FIGURE_EACH(connection, conn, place->finder->report->connections) {
        if (conn->link_group != place->group->index)
            continue;
        uint32_t before = failover.moved;
        for (uint32_t j = 0; j + 1 < conn->links.length; j++) {
            const smcr_entry_conn_link_t *from = conn->links.entries[j];
            if (from->number == place->link->number)
                add_move(&failover, conn->links.entries[j + 1], last);
        }
        failover.moved = MIN(failover.moved, before + 1); /* a connection counts once, however often
                                                             it moved */
    }
    return failover;
}

/* Returns "3 connections moved to link 1, 4.1 ms after the last message on the old one"; "" if no
 * connection has moved. */
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
    if (failover->interruption)
        wmem_strbuf_append_printf(text, ", %s after the last message on the old one",
                                  smcr_words_duration(scope, failover->interruption));
    return wmem_strbuf_finalize(text);
}

/* Returns a display filter that finds the moves. If an expert item reports a move, the filter has
 * the expert item, else the new link, else the link group. */
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

/* Finding: a link is left. Connections move to another link, and no message reports that the link
 * is lost. */
static void
find_left_link(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    failover_t failover = gather_moves(place);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FAILOVER,
                                           .count = failover.moved,
                                           .when = failover.first_move,
                                           .filter = filter_of_moves(place, &failover)},
                    "%s is left: %s", name_of(place), failover_text(finder->scope, &failover));
}

/* Returns ", 12,000 bytes rewritten"; "" if there are none. A byte is rewritten if a connection has
 * written it a second time at the same position, on whatever link. After a move the writer repeats
 * data whose arrival is not proven. */
static const char *
rewritten_text(const smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.stream.rewritten");

    if (!notice.count)
        return "";
    return wmem_strdup_printf(finder->scope, ", %s rewritten",
                              smcr_words_bytes(finder->scope, notice.count));
}

/* Returns the frame of the loss: the frame of the expert item "link lost" if the capture has only
 * one such item (`items`); else the frame in which the link was deleted; else the frame of the
 * first move. */
static smcr_when_t
time_of_loss(const link_place_t *place, const failover_t *failover,
             const smcr_figure_notice_t *items)
{
    if (items->count == 1)
        return items->first;
    return place->link->deleted_frame.frame ? place->link->deleted_frame : failover->first_move;
}

/* Whether the link was in use before the loss. Any of three facts shows this: an expert item
 * reports a lost link, connections moved away from the link, or both flows of the link have
 * packets. */
static bool
was_in_use(const link_place_t *place, const failover_t *failover,
           const smcr_figure_notice_t *items)
{
    return items->count || failover->moved || place->link->flows.length > 1;
}

/* Finding: a link is lost. A DELETE LINK has the reason "lost path", and the link was in use before
 * (was_in_use()). The finding names the number of connections that moved, their new link and their
 * interruption. No finding is made if the link was not in use. No finding is made, either, if the
 * frame of the loss is not known and a display filter of the report may hide it. */
static void
find_lost_link(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    failover_t failover = gather_moves(place);
    smcr_figure_notice_t items = smcr_finder_notice(finder, "smcr.link.lost");
    smcr_when_t when = time_of_loss(place, &failover, &items);
    const char *frame = "";

    if (!was_in_use(place, &failover, &items) || (!when.frame && smcr_finder_is_filtered(finder)))
        return;
    if (!items.count)
        frame = wmem_strdup_printf(finder->scope, " || frame.number == %" PRIu32, when.frame);
    const char *filter = wmem_strdup_printf(
        finder->scope,
        "smcr.lgr == %" PRIu64 " && (smcr.link.lost || smcr.link.deleted || smcr.conn.moved%s)",
        place->group->index, frame);
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){
            .kind = SMCR_FIGURE_FOUND_LINK_LOST, .count = 1, .when = when, .filter = filter},
        "%s is lost%s%s%s", name_of(place), failover.moved ? ": " : "",
        failover_text(finder->scope, &failover), failover.moved ? rewritten_text(finder) : "");
}

/* Returns the flow of the link whose packets are retransmitted without any answer
 * (smcr_finding_flow_is_dead_end()); NULL: no flow of the link. */
static const smcr_entry_rdma_t *
dead_end_flow(const link_place_t *place)
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

/* Finding: a link never came up, and one side tried. This side retransmits its CONFIRM LINK (RFC
 * 7609, A.3.1), and the capture has no packet of the other side on this link. So the path between
 * the RNICs of the link does not carry packets. */
static void
find_dead_end(const link_place_t *place, const smcr_entry_rdma_t *flow)
{
    smcr_finder_t *finder = place->finder;
    const char *filter =
        wmem_strdup_printf(finder->scope, "smcr.link.index == %" PRIu64, place->link->index);

    uint64_t packets = smcr_figure_or_zero(flow->packets) - smcr_figure_or_zero(flow->copies);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_FAILED,
                                           .count = packets,
                                           .when = flow->first_frame,
                                           .filter = filter},
                    "%s never came up: %s got no answer to %s, %s of them retransmitted%s",
                    name_of(place), flow->src ? flow->src : "one side",
                    smcr_words_things(finder->scope, packets, "packet"),
                    smcr_words_number(finder->scope, flow->repeated),
                    smcr_finder_undelivered(finder, flow->src, flow->dst));
}

/* Finding: a link never came up, and nobody tried. A DELETE LINK with the reason "lost path" ends
 * the link, and the capture has no packet of the link. */
static void
find_unused_link(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    smcr_when_t asked = smcr_finder_notice(finder, "smcr.link.delete_asked").first;
    const char *filter = wmem_strdup_printf(
        finder->scope, "smcr.lgr == %" PRIu64 " && smcr.llc.link_number == %" PRIu64,
        place->group->index, place->link->number);

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_UNUSED,
                               .count = 1,
                               .when = smcr_figure_when_earlier(place->link->deleted_frame, asked),
                               .filter = filter},
        "%s never came up: it carried no packet, then was deleted (%s)", name_of(place),
        smcr_figure_delete_reason_words[place->link->delete_reason]);
}

/* Whether fewer than SMCR_FINDINGS_MOST findings of lost links with this severity were made. */
static bool
has_room_for(const smcr_finder_t *finder, smcr_figure_severity_t severity)
{
    return finder->rank_count[severity][SMCR_FINDING_BY_LINK_LOST] < SMCR_FINDINGS_MOST;
}

/* Whether the capture shows that the link was not used. Returns false under a display filter of the
 * report, which may hide packets of the link. */
static bool
was_never_used(const link_place_t *place)
{
    return smcr_words_link_is_unused(place->link) && !smcr_finder_is_filtered(place->finder);
}

/* Makes at most one finding about a link. The rules are tried in a fixed order: a rule whose
 * finding says more about the cause comes first. */
static void
find_on_link(const link_place_t *place)
{
    const smcr_entry_link_t *link = place->link;
    const smcr_entry_rdma_t *flow = dead_end_flow(place);
    bool is_lost = smcr_words_link_is_lost(link);

    if (flow)
        find_dead_end(place, flow);
    else if (is_lost && was_never_used(place))
        find_unused_link(place);
    else if (is_lost && has_room_for(place->finder, SMCR_FIGURE_WARN))
        find_lost_link(place);
    else if (smcr_words_link_is_left(link) && has_room_for(place->finder, SMCR_FIGURE_NOTE))
        find_left_link(place);
}

/* Finding: link groups end with open connections. An expert item reports each such group. The
 * finding names the group of the first item. */
static void
find_group_lost(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.lgr.connections_lost");

    const char *group = "a link group";

    if (notice.subject && notice.subject->group != SMCR_FIGURE_UNKNOWN)
        group = smcr_words_link(finder->scope, notice.subject->group, SMCR_FIGURE_UNKNOWN);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_GROUP_LOST,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "%s ended with open connections%s", group,
                    notice.count > 1
                        ? wmem_strdup_printf(finder->scope, ", as %s more did",
                                             smcr_words_number(finder->scope, notice.count - 1))
                        : "");
}

/* Returns the link group that ended last, of all groups that ended in `frame` or an earlier frame;
 * NULL: no group did. */
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

/* Finding: a link group ends, and its last packets are retransmitted. This is harmless. The peer
 * has destroyed its queue pair, so nobody acknowledges the last DELETE LINK that Linux sends. The
 * finding is made only if the capture has the end of a link group before the first of these
 * retransmissions. */
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
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_GROUP_ENDED,
                                           .count = again.count,
                                           .when = group->ended_frame,
                                           .filter = filter},
                    "Link group %" PRIu64
                    " ended%s; its last packets were retransmitted %s: harmless",
                    group->index, reason, smcr_words_things(finder->scope, again.count, "time"));
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
}
