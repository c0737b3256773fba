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

/* One link: where the notice is; of several, where each was deleted. */
static smcr_when_t
when_lost(const place_t *place, const smcr_failover_t *failover)
{
    smcr_notice_t notice = smcr_finder_notice(place->finder, "smcr.link.lost");

    if (notice.count == 1)
        return notice.first;
    return place->link->deleted_frame.frame ? place->link->deleted_frame : failover->first_move;
}

static void
find_lost(const place_t *place)
{
    smcr_finder_t *finder = place->finder;
    smcr_failover_t failover = smcr_failover_of(finder->report, place->group, place->link);
    smcr_finding_entry_t *finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_LINK_LOST, "link_lost",
                                                    1, when_lost(place, &failover));

    finding->text = smcr_finder_text(finder, "The path of %s is lost%s%s",
                                     smcr_words_link(finder->scope, place->group, place->link),
                                     failover.moved ? ": " : "",
                                     smcr_words_failover(finder->scope, &failover));
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

    if (smcr_link_is_lost(place->link))
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
