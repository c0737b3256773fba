/* Findings about links: lost links and where their connections moved, links that never came up,
 * link groups that ended with open connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "subjects.h"

#include "report/findings/finder/causes.h"
#include "report/words/words.h"

/* The link for which a rule looks for findings. */
typedef struct {
    smcr_finder_t *finder;                /* the report, and the findings made so far */
    const smcr_entry_link_group_t *group; /* link group of the link */
    const smcr_entry_link_t *link;        /* the link */
} link_place_t;

/* Returns the name of the link: "link 2"; "link 2 of link group 0" if there are several groups. */
static const char *
name_of(const link_place_t *place)
{
    bool is_only_group = place->finder->report->link_groups.length == 1;
    uint64_t group = is_only_group ? SMCR_FIGURE_UNKNOWN : place->group->index;

    return smcr_words_link(place->finder->scope, group, place->link->number);
}

/* ---- the path of a link ---- */

/* Whether both links have the same path: the same addresses at both ends. An address that is not
 * known gives false. */
static bool
is_same_path(const smcr_entry_link_t *one, const smcr_entry_link_t *other)
{
    bool is_known = one->client.gid && one->server.gid && other->client.gid && other->server.gid;

    return is_known && strcmp(one->client.gid, other->client.gid) == 0 &&
           strcmp(one->server.gid, other->server.gid) == 0;
}

/* Returns the path of the link, for use after its name: " (10.0.1.1 → 10.0.1.2)", from the client
 * to the server; " (10.0.1.1 ↔ 10.0.1.2)" if it is not known which end is the client; "" if an
 * address is not known. */
static const char *
path_text(const link_place_t *place)
{
    wmem_allocator_t *scope = place->finder->scope;
    const smcr_entry_link_t *link = place->link;

    if (!link->client.gid || !link->server.gid)
        return "";
    return wmem_strdup_printf(scope, " (%s)",
                              (place->group->ends ? smcr_figure_ends : smcr_words_hosts)(
                                  scope, link->client.gid, link->server.gid));
}

/* Returns text about the side that first reported that the path is lost: ", as the client
 * reports"; "" if no side has reported this. */
static const char *
reporter_text(const link_place_t *place)
{
    if (!place->link->lost_by)
        return "";
    return wmem_strdup_printf(place->finder->scope, ", as the %s reports",
                              smcr_figure_role_words[place->link->lost_by]);
}

/* Whether the link failed: its path is lost, or it never came up although both ends have set it
 * up. */
static bool
has_failed(const smcr_entry_link_t *link)
{
    bool is_over = link->state == SMCR_FIGURE_STATUS_REJECTED ||
                   link->state == SMCR_FIGURE_STATUS_DELETED;

    return smcr_words_link_is_lost(link) ||
           (is_over && smcr_words_link_was_set_up(link) && !smcr_words_link_was_active(link));
}

/* Whether an earlier link of the group has failed on the same path. The finding of the earlier link
 * reports this link, too (same_path_text()). */
static bool
is_told_before(const link_place_t *place)
{
    SMCR_FIGURE_EACH(link, link, place->group->links) {
        if (link == place->link)
            return false;
        if (is_same_path(link, place->link) && has_failed(link))
            return true;
    }
    return false;
}

/* Returns ", like 2 more links of this path" for the other links of the group that failed on the
 * same path; "" if there are none. */
static const char *
same_path_text(const link_place_t *place)
{
    uint64_t count = 0;

    SMCR_FIGURE_EACH(link, link, place->group->links)
        count += link != place->link && is_same_path(link, place->link) && has_failed(link);
    if (!count)
        return "";
    return wmem_strdup_printf(place->finder->scope, ", like %s of this path",
                              smcr_words_things(place->finder->scope, count, "more link"));
}

/* ---- redundancy ---- */

/* Whether the link was active in the frame. An active state whose begin is not known counts from
 * frame 0 on, one whose end is not known or not reached counts for all later frames. */
static bool
was_active_in(const smcr_entry_link_t *link, uint32_t frame)
{
    SMCR_FIGURE_EACH(link_state, state, link->states)
        if (state->state == SMCR_FIGURE_STATUS_ACTIVE && state->begin_frame.frame <= frame &&
            (!state->end_frame.frame || state->end_frame.frame > frame))
            return true;
    return false;
}

/* Returns the first frame after `frame` in which a link of the group becomes active. Frame 0: none
 * does. */
static smcr_when_t
next_active(const smcr_entry_link_group_t *group, uint32_t frame)
{
    smcr_when_t first = {0, 0};

    SMCR_FIGURE_EACH(link, link, group->links)
        SMCR_FIGURE_EACH(link_state, state, link->states)
            if (state->state == SMCR_FIGURE_STATUS_ACTIVE && state->begin_frame.frame > frame)
                first = smcr_figure_when_earlier(first, state->begin_frame);
    return first;
}

/* Returns text about the redundancy of the group after a link failed in `frame`: "; no
 * redundancy until frame 660" if a link becomes active later, else "; no redundancy since frame
 * 264", or "; no redundancy" if the link never was active. Returns "" if the number of other
 * active links in `frame` was not exactly one, if the state of a link is not known, or if
 * `frame` is 0. */
static const char *
redundancy_text(const link_place_t *place, uint32_t frame)
{
    const smcr_entry_link_group_t *group = place->group;
    smcr_when_t again = next_active(group, frame);
    unsigned active = 0;

    SMCR_FIGURE_EACH(link, link, group->links) {
        if (!link->state)
            return "";
        active += link != place->link && was_active_in(link, frame);
    }
    if (active != 1 || !frame)
        return "";
    if (again.frame)
        return wmem_strdup_printf(place->finder->scope, "; no redundancy until frame %" PRIu32,
                                  again.frame);
    if (!smcr_words_link_was_active(place->link))
        return "; no redundancy";
    return wmem_strdup_printf(place->finder->scope, "; no redundancy since frame %" PRIu32, frame);
}

/* ---- lost links: where their connections moved, and how long the move took ---- */

/* The connections that moved from a link to other links (RFC 7609, 2.3). */
typedef struct {
    unsigned moved;         /* number of connections that moved */
    const smcr_entry_connection_t *first; /* the first of them; NULL: none */
    uint64_t to;            /* number of their new link; SMCR_FIGURE_UNKNOWN: several links, or not
                               known */
    uint64_t interruption;  /* upper bound of the longest interruption of a moved connection,
                               nanoseconds; 0: not known */
    bool may_have_waited;   /* a writer of a moved connection waited for retransmissions, or it is
                               not known whether it did */
    smcr_when_t first_move; /* first frame of a moved connection on its new link; frame 0: none */
    wmem_array_t *frames;   /* first frame of each moved connection on its new link */
} failover_t;

/* Returns the flow with the index `number` in the list of the report's flows, as a link names its
 * flows (`flows` of its entry); NULL: the list is shorter. A link names only flows of the same
 * report. The number of smcr_collection_flow_number() is another one: it counts flows that were let
 * go of, too. */
static const smcr_entry_rdma_t *
flow_of_number(const smcr_entry_report_t *report, uint64_t number)
{
    return number < report->rdma_flows.length ? report->rdma_flows.entries[number] : NULL;
}

/* Returns when the link last worked, nanoseconds since 1970; 0: not known. This is the last packet
 * of the flow that ended first. If requests got no answer at the end of the link, the time is that
 * of the beginning of this silence, if it is later: the link may have been idle before. Packets of
 * one direction alone do not show that they arrived. */
static uint64_t
last_work_time(const smcr_entry_report_t *report, const smcr_entry_link_t *link)
{
    uint64_t last = UINT64_MAX, unanswered = 0;
    unsigned directions = 0;

    for (uint32_t i = 0; i < link->flows.length; i++) {
        const smcr_entry_rdma_t *flow = flow_of_number(report, link->flows.numbers[i]);
        if (!flow || !flow->last_frame.frame)
            continue;
        directions++;
        last = MIN(last, flow->last_frame.time);
        const smcr_entry_flow_silence_t *silence = flow->longest_silence;
        if (silence && silence->is_over != SMCR_FIGURE_YES)
            unanswered = silence->begin_frame.time;
    }
    return directions == 2 ? MAX(last, unanswered) : 0;
}

/* Counts a move of a connection to the link `next`. `last`: when the old link last worked
 * (last_work_time()); 0: not known. The interruption begins at `last`, and ends with the
 * connection's first packet on the new link. If connections have moved to different links,
 * `failover->to` becomes SMCR_FIGURE_UNKNOWN. */
static void
add_move(failover_t *failover, const smcr_entry_conn_link_t *next, uint64_t last)
{
    bool same_link = !failover->moved || failover->to == next->number;

    failover->to = same_link ? next->number : SMCR_FIGURE_UNKNOWN;
    failover->moved++;
    if (!next->from_frame.frame)
        return;
    failover->first_move = smcr_figure_when_earlier(failover->first_move, next->from_frame);
    smcr_finder_frames_add(failover->frames, next->from_frame);
    if (last && next->from_frame.time > last)
        failover->interruption = MAX(failover->interruption, next->from_frame.time - last);
}

/* Whether a writer of the connection waited for retransmissions, or may have done so. */
static bool
may_have_waited(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_time_t *times[] = {conn->client_to_server.time,
                                             conn->server_to_client.time};

    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++)
        if (!times[i] || times[i]->retransmission_most_s)
            return true;
    return false;
}

/* Whether a connection has used this link: the link has the number, and was there when the use
 * began. A group may give the number of a deleted link to a new one. */
static bool
is_use_of(const smcr_entry_conn_link_t *use, const smcr_entry_link_t *link)
{
    uint32_t from = use->from_frame.frame;
    bool was_deleted = link->deleted_frame.frame && link->deleted_frame.frame < from;

    return use->number == link->number && from >= link->added_frame.frame && !was_deleted;
}

/* Returns how many connections moved away from the link, to which link, and for how long the moves
 * interrupted them. A connection that moved away several times counts once. */
static failover_t
gather_moves(const link_place_t *place)
{
    failover_t failover = {.to = SMCR_FIGURE_UNKNOWN, .frames = smcr_finder_frames(place->finder)};
    uint64_t last = last_work_time(place->finder->report, place->link);

    SMCR_FIGURE_EACH(connection, conn, place->finder->report->connections) {
        if (conn->link_group != place->group->index)
            continue;
        uint32_t before = failover.moved;
        for (uint32_t j = 0; j + 1 < conn->links.length; j++) {
            const smcr_entry_conn_link_t *from = conn->links.entries[j];
            if (is_use_of(from, place->link))
                add_move(&failover, conn->links.entries[j + 1], last);
        }
        bool has_moved = failover.moved > before;
        if (has_moved && !failover.first)
            failover.first = conn;
        failover.may_have_waited |= has_moved && may_have_waited(conn);
        failover.moved = MIN(failover.moved, before + 1); /* a connection counts once, even if it
                                                             moved several times */
    }
    return failover;
}

/* Returns "10.0.0.1:46464 → 10.0.0.2:8080 and 2 more connections moved to link 1, interrupted for
 * at most 4.1 ms"; "... moved to link 1, at most 4.1 ms after the old link last worked" if none of
 * them waited for retransmissions; "" if no connection has moved. */
static const char *
failover_text(wmem_allocator_t *scope, const failover_t *failover)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    if (!failover->moved)
        return "";
    wmem_strbuf_append_printf(text, "%s moved",
                              smcr_words_connections(scope, failover->first, failover->moved));
    if (failover->to != SMCR_FIGURE_UNKNOWN)
        wmem_strbuf_append_printf(text, " to link %" PRIu64, failover->to);
    if (failover->interruption)
        wmem_strbuf_append_printf(text,
                                  failover->may_have_waited
                                      ? ", interrupted for at most %s"
                                      : ", at most %s after the old link last worked",
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
                                           .frames = failover.frames,
                                           .filter = filter_of_moves(place, &failover)},
                    "%s%s is no longer used: %s", name_of(place), path_text(place),
                    failover_text(finder->scope, &failover));
}

/* Returns ", 12,000 bytes rewritten"; "" if there are none. A byte is rewritten if a connection has
 * written it a second time at the same position, on any link. After a move, a writer rewrites data
 * that may not have arrived. The notice of the field smcr.stream.rewritten counts bytes of the
 * whole capture (count_write()), not of one link. */
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
 * one such item (`items`); else the frame of the report; else the frame in which the link was
 * deleted; else the frame of the first move. */
static smcr_when_t
time_of_loss(const link_place_t *place, const failover_t *failover,
             const smcr_figure_notice_t *items)
{
    if (items->count == 1)
        return items->first;
    if (place->link->lost_frame.frame)
        return place->link->lost_frame;
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
    smcr_finder_frames_add(failover.frames, place->link->lost_frame);
    smcr_finder_frames_add(failover.frames, place->link->deleted_frame);
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_LOST,
                               .count = 1,
                               .when = when,
                               .frames = failover.frames,
                               .filter = filter},
        "%s%s is lost%s%s%s%s%s%s", name_of(place), path_text(place), same_path_text(place),
        reporter_text(place), failover.moved ? "; " : "",
        failover_text(finder->scope, &failover), failover.moved ? rewritten_text(finder) : "",
        redundancy_text(place, when.frame));
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

/* Finding: a link never came up, although one side has sent packets on the link. This side
 * retransmits its CONFIRM LINK (RFC 7609, A.3.1), and the capture has no packet of the other side
 * on this link. So the path between the RNICs of the link does not carry packets. */
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
                                           .frames = SMCR_FINDER_FRAMES(
                                               finder, place->link->added_frame, flow->last_frame),
                                           .filter = filter},
                    "%s%s never came up%s: %s got no answer to %s, %s of them retransmissions%s%s",
                    name_of(place), path_text(place), same_path_text(place),
                    flow->src ? flow->src : "one side",
                    smcr_words_things(finder->scope, packets, "packet"),
                    smcr_words_number(finder->scope, flow->repeated),
                    smcr_finder_undelivered(finder, flow->src, flow->dst),
                    redundancy_text(place, flow->first_frame.frame));
}

/* Returns text about the end of the attempt to set up a link: the side that reported the lost path,
 * and the time since ADD LINK, if its frame is known and earlier. If no lost path was reported, the
 * text only has the last state of the link. */
static const char *
attempt_text(const link_place_t *place)
{
    wmem_allocator_t *scope = place->finder->scope;
    const smcr_entry_link_t *link = place->link;
    smcr_when_t added = link->added_frame, lost = link->lost_frame;
    const char *who = link->lost_by
                          ? wmem_strdup_printf(scope, "the %s",
                                               smcr_figure_role_words[link->lost_by])
                          : "one side";

    if (!lost.frame)
        return wmem_strdup_printf(scope, "later the link was %s",
                                  smcr_figure_link_status_words[link->state]);
    if (!added.frame || lost.time <= added.time)
        return wmem_strdup_printf(scope, "%s reported a lost path for this link", who);
    return wmem_strdup_printf(scope,
                              "%s after ADD LINK (frame %" PRIu32 "), %s reported a lost path for "
                              "this link",
                              smcr_words_duration(scope, lost.time - added.time), added.frame, who);
}

/* Whether the link has other devices than all earlier links of the group, at both ends: a path of
 * its own, which should carry packets. */
static bool
has_own_path(const link_place_t *place)
{
    SMCR_FIGURE_EACH(link, link, place->group->links) {
        if (link == place->link)
            return true;
        if (g_strcmp0(link->client.gid, place->link->client.gid) == 0 ||
            g_strcmp0(link->server.gid, place->link->server.gid) == 0)
            return false;
    }
    return true;
}

/* Finding: a link never came up. Both ends have announced their queue pairs in ADD LINK, the
 * capture has no packet of the link, and the link ended when Linux gives up its setup
 * (smcr_words_link_was_given_up()). Either a DELETE LINK has the reason "lost path", or the client
 * rejects the link that it had accepted. The finding is a warning if the link has a path of its
 * own: both hosts have two devices, and the group has no redundancy. */
static void
find_unused_link(const link_place_t *place)
{
    smcr_finder_t *finder = place->finder;
    const smcr_entry_link_t *link = place->link;
    smcr_when_t asked = smcr_finder_notice(finder, "smcr.link.delete_asked").first;
    smcr_when_t when = link->lost_frame.frame ? link->lost_frame : link->deleted_frame;
    const char *filter = wmem_strdup_printf(
        finder->scope, "smcr.lgr == %" PRIu64 " && smcr.llc.link_number == %" PRIu64,
        place->group->index, link->number);
    bool matters = has_own_path(place) && smcr_words_link_was_set_up(link);

    if (!when.frame)
        when = asked.frame ? asked : link->added_frame;
    smcr_finder_add_as(
        finder, matters ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_UNUSED,
                               .count = 1,
                               .when = when,
                               .frames = SMCR_FINDER_FRAMES(finder, link->added_frame, asked,
                                                            link->lost_frame, link->deleted_frame),
                               .filter = filter},
        "%s%s never came up%s: no packet of this link is captured; %s%s", name_of(place),
        path_text(place), same_path_text(place), attempt_text(place),
        redundancy_text(place, when.frame));
}

/* Whether fewer than SMCR_FINDINGS_MOST findings of lost links with this severity were made. */
static bool
has_room_for(const smcr_finder_t *finder, smcr_figure_severity_t severity)
{
    return finder->rank_count[severity][SMCR_FINDING_BY_LINK_LOST] < SMCR_FINDINGS_MOST;
}

/* Whether the capture has nearly all packets of the link, as far as sequence numbers show it: both
 * directions of the link have packets, and of each direction at most a tenth is missing. */
static bool
is_nearly_whole(const smcr_finder_t *finder, const smcr_entry_link_t *link)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;

    for (uint32_t i = 0; i < link->flows.length; i++) {
        uint64_t index = link->flows.numbers[i];
        const smcr_entry_rdma_t *flow = index < flows->length ? flows->entries[index] : NULL;
        if (!flow || smcr_figure_or_zero(flow->missing) * 10 > smcr_figure_or_zero(flow->packets))
            return false;
    }
    return link->flows.length == 2;
}

/* Whether the capture shows that the link was not used. The hosts gave up the link in its setup,
 * and the packets of the link would have passed where those of the group's other links passed: the
 * capture has nearly all packets of each of these. A capture that misses single packets does not
 * miss all packets of one link. Returns false under a display filter of the report, which may hide
 * packets of the link. */
static bool
was_never_used(const link_place_t *place)
{
    bool has_other = false;

    if (!smcr_words_link_is_unused(place->link) || !smcr_words_link_was_given_up(place->link) ||
        smcr_finder_is_filtered(place->finder))
        return false;
    SMCR_FIGURE_EACH(link, other, place->group->links) {
        if (!other->flows.length)
            continue;
        if (!is_nearly_whole(place->finder, other))
            return false;
        has_other = true;
    }
    return has_other;
}

/* Makes at most one finding about a link. The rules are tried in a fixed order: a rule whose
 * finding says more about the cause comes first. Links that failed on the same path are one
 * finding, of the first of them. Links that were lost, and links that were left, get findings only
 * up to a number (has_room_for()). */
static void
find_on_link(const link_place_t *place)
{
    const smcr_entry_link_t *link = place->link;
    const smcr_entry_rdma_t *flow = dead_end_flow(place);

    if ((flow || has_failed(link)) && is_told_before(place))
        return;
    if (flow)
        find_dead_end(place, flow);
    else if (has_failed(link) && was_never_used(place))
        find_unused_link(place);
    else if (smcr_words_link_is_lost(link) && has_room_for(place->finder, SMCR_FIGURE_WARN))
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
                        ? wmem_strdup_printf(finder->scope, "; so did %s more",
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

/* Returns the first reason that DELETE LINK gives for the end of the group's links: " (reason:
 * operator initiated)", with its frame if a later DELETE LINK ended the group; "" if none has a
 * reason. Appends its frame to `frames`. */
static const char *
end_reason_text(const smcr_finder_t *finder, const smcr_entry_link_group_t *group,
                wmem_array_t *frames)
{
    SMCR_FIGURE_EACH(link, link, group->links) {
        const char *reason = smcr_figure_delete_reason_words[link->delete_reason];
        uint32_t frame = link->deleted_frame.frame;
        if (!link->delete_reason)
            continue;
        smcr_finder_frames_add(frames, link->deleted_frame);
        if (!frame || frame == group->ended_frame.frame)
            return wmem_strdup_printf(finder->scope, " (reason: %s)", reason);
        return wmem_strdup_printf(finder->scope, " (reason in frame %" PRIu32 ": %s)", frame,
                                  reason);
    }
    return "";
}

/* Finding: a link group ends, and its last packets are retransmitted. This is harmless. The peer
 * has destroyed its queue pair, so the last DELETE LINK of Linux gets no acknowledgement. The
 * finding is made only if the capture has the end of a link group before the first of these
 * retransmissions. */
static void
find_group_end(smcr_finder_t *finder)
{
    smcr_figure_notice_t again = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");
    const smcr_entry_link_group_t *group = ended_before(finder, again.first.frame);
    wmem_array_t *frames = smcr_finder_frames(finder);

    if (!group)
        return;
    const char *reason = end_reason_text(finder, group, frames);
    const char *filter = wmem_strdup_printf(
        finder->scope, "frame.number == %" PRIu32 " || smcr.packet_retransmitted.ended",
        group->ended_frame.frame);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LINK_GROUP_ENDED,
                                           .count = again.count,
                                           .when = group->ended_frame,
                                           .frames = frames,
                                           .filter = filter},
                    "Link group %" PRIu64
                    " ended%s; %s followed: harmless",
                    group->index, reason,
                    smcr_words_things(finder->scope, again.count, "retransmission"));
}

/* The findings of links are made before those of link groups, whose end may be a consequence. */
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
