/* on_links.c
 * What happened to links: lost ones and where their connections went, ones that never came up, link
 * groups that ended under open connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <inttypes.h>
#include <string.h>

#include "flows.h"
#include "report/words/words.h"

typedef struct {
    smcr_finder_t *finder;
    const smcr_link_group_entry_t *group;
    const smcr_link_entry_t *link;
} place_t;

/* What a failover has cost. */
typedef struct {
    unsigned moved;         /* connections that went to another link */
    uint64_t to;            /* number of that link, SMCR_UNKNOWN: several, or not known */
    uint64_t still;         /* nanoseconds without traffic of the one that took longest */
    uint64_t bytes;         /* of theirs that were sent again */
    smcr_when_t first_move;
} move_t;

static const smcr_rdma_entry_t *
flow_of(const smcr_finder_t *finder, uint64_t index)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;

    return index < flows->length ? flows->entries[index] : NULL;
}

/* When the link has last carried packets in both directions; 0: not known. */
static uint64_t
last_time(const place_t *place)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < place->link->flows.length; i++) {
        const smcr_rdma_entry_t *flow =
            flow_of(place->finder, place->link->flows.numbers[i]);
        if (flow && flow->last_frame.frame && (!last || flow->last_frame.time < last))
            last = flow->last_frame.time;
    }
    return last;
}

/* Adds a connection whose `i`th link is the lost one, if it went on to the next. */
static void
add_move(const place_t *place, const smcr_connection_entry_t *conn, uint32_t i, move_t *move)
{
    const smcr_conn_link_entry_t *next;
    uint64_t last = last_time(place);

    if (i + 1 >= conn->links.length)
        return;
    next = conn->links.entries[i + 1];
    move->to = !move->moved || move->to == next->number ? next->number : SMCR_UNKNOWN;
    move->moved++;
    move->first_move = smcr_when_earlier(move->first_move, next->from_frame);
    if (last && next->from_frame.frame && next->from_frame.time > last)
        move->still = MAX(move->still, next->from_frame.time - last);
    move->bytes += conn->client_to_server.repeated_bytes + conn->server_to_client.repeated_bytes;
}

static move_t
moves_from(const place_t *place)
{
    const smcr_list_t *conns = &place->finder->report->connections;
    move_t move = {.to = SMCR_UNKNOWN};

    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_connection_entry_t *conn = conns->entries[i];
        if (conn->link_group != place->group->index)
            continue;
        for (uint32_t j = 0; j < conn->links.length; j++) {
            const smcr_conn_link_entry_t *link = conn->links.entries[j];
            if (link->number == place->link->number)
                add_move(place, conn, j, &move);
        }
    }
    return move;
}

static const char *
move_text(const place_t *place, const move_t *move)
{
    wmem_allocator_t *scope = place->finder->scope;
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    if (!move->moved)
        return "";
    wmem_strbuf_append_printf(text, ": %s moved", smcr_words_things(scope, move->moved, "connection"));
    if (move->to != SMCR_UNKNOWN)
        wmem_strbuf_append_printf(text, " to link %" PRIu64, move->to);
    if (move->still)
        wmem_strbuf_append_printf(text, " after %s", smcr_words_duration(scope, move->still));
    if (move->bytes)
        wmem_strbuf_append_printf(text, ", %s sent again", smcr_words_bytes(scope, move->bytes));
    return wmem_strbuf_finalize(text);
}

/* A link that has failed under connections, or that a side has given up as failed. */
static bool
is_lost(const smcr_link_entry_t *link)
{
    return (link->delete_reason && strstr(link->delete_reason, "lost path")) ||
           (link->moved_from && link->moved_from != SMCR_UNKNOWN);
}

/* One link: where the notice is; of several, where each was deleted. */
static smcr_when_t
when_lost(const place_t *place, const move_t *move)
{
    smcr_notice_t notice = smcr_finder_notice(place->finder, "smcr.link.lost");

    if (notice.count == 1)
        return notice.first;
    return place->link->deleted_frame.frame ? place->link->deleted_frame : move->first_move;
}

static void
find_lost(const place_t *place)
{
    smcr_finder_t *finder = place->finder;
    move_t move = moves_from(place);
    smcr_finding_entry_t *finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_LINK_LOST, "link_lost",
                                                    1, when_lost(place, &move));

    finding->text = smcr_finder_text(finder, "The path of %s is lost%s",
                                     smcr_words_link(finder->scope, place->group, place->link),
                                     move_text(place, &move));
    finding->filter = smcr_finder_text(
        finder,
        "smcr.lgr == %" PRIu64 " && (smcr.link.lost || smcr.link.deleted || smcr.conn.moved)",
        place->group->index);
}

/* Nothing was ever confirmed on it. */
static void
find_failed(const place_t *place)
{
    smcr_finder_t *finder = place->finder;
    const smcr_link_entry_t *link = place->link;
    smcr_when_t when =
        link->added_frame.frame ? link->added_frame : place->group->first_frame;
    smcr_finding_entry_t *finding =
        smcr_finder_add(finder, SMCR_NOTE, SMCR_BY_LINK_FAILED, "link_failed", 1, when);

    finding->text = smcr_finder_text(finder, "The setup of %s is not complete: CONFIRM LINK has no response",
                                     smcr_words_link(finder->scope, place->group, link));
    finding->filter = smcr_finder_text(finder, "smcr.lgr == %" PRIu64 " && smcr.llc",
                                       place->group->index);
}

static void
find_on_link(const place_t *place)
{
    const char *state = place->link->state;

    if (is_lost(place->link))
        find_lost(place);
    else if (state && strcmp(state, "unconfirmed") == 0)
        find_failed(place);
}

static void
find_group_lost(smcr_finder_t *finder)
{
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.lgr.connections_lost");
    smcr_finding_entry_t *finding;

    if (!notice.count)
        return;
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_GROUP_LOST, "link_group_lost", notice.count,
                              notice.first);
    finding->text = notice.text;
    finding->filter = "smcr.lgr.connections_lost";
}

/* ---- a peer that stopped answering ---- */

/* The flow to which nothing has come back for the longest time; NULL: not known. */
static const smcr_rdma_entry_t *
silent_flow(const smcr_finder_t *finder, uint64_t *silence)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;
    const smcr_rdma_entry_t *silent = NULL;

    for (uint32_t i = 0; i < flows->length; i++) {
        const smcr_rdma_entry_t *flow = flows->entries[i];
        uint64_t time = smcr_flow_unanswered(finder, flow);
        if (time > *silence) {
            *silence = time;
            silent = flow;
        }
    }
    return silent;
}

static void
find_dead_peer(smcr_finder_t *finder)
{
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.peer_silent");
    uint64_t silence = 0;
    const smcr_rdma_entry_t *flow = silent_flow(finder, &silence);
    smcr_finding_entry_t *finding;

    if (!notice.count)
        return;
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_DEAD_PEER, "dead_peer", notice.count,
                              notice.first);
    finding->filter = "smcr.peer_silent || smcr.packet_retransmitted";
    if (flow)
        finding->text = smcr_finder_text(
            finder, "%s stopped answering: %s from %s sent again, no answer for %s", flow->dst,
            smcr_finder_things(finder, flow->repeated, "packet"), flow->src,
            smcr_words_duration(finder->scope, silence));
    else
        finding->text = "A peer stopped answering: the same packets are sent again and again";
}

void
smcr_find_on_links(smcr_finder_t *finder)
{
    const smcr_list_t *groups = &finder->report->link_groups;

    for (uint32_t i = 0; i < groups->length; i++) {
        const smcr_link_group_entry_t *group = groups->entries[i];
        for (uint32_t j = 0; j < group->links.length; j++)
            find_on_link(&(place_t){finder, group, group->links.entries[j]});
    }
    find_group_lost(finder);
    find_dead_peer(finder);
}
