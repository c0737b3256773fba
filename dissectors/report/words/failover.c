/* failover.c
 * Compares when connections went on with when their link last carried packets in both directions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "words.h"

#include <inttypes.h>

bool
smcr_words_link_is_lost(const smcr_entry_link_t *link)
{
    return link->delete_reason == SMCR_FIGURE_FOR_SMCR_LLC_DELETE_LOST_PATH;
}

bool
smcr_words_link_is_left(const smcr_entry_link_t *link)
{
    return link->moved_from && link->moved_from != SMCR_FIGURE_UNKNOWN;
}

bool
smcr_words_link_is_unused(const smcr_entry_link_t *link)
{
    return !link->flows.length && !smcr_words_link_is_left(link);
}

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
add_move(smcr_words_failover_t *failover, const smcr_entry_conn_link_t *next, uint64_t last)
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

smcr_words_failover_t
smcr_words_failover_of(const smcr_entry_report_t *report, const smcr_entry_link_group_t *group,
                       const smcr_entry_link_t *link)
{
    smcr_words_failover_t failover = {.to = SMCR_FIGURE_UNKNOWN};
    uint64_t last = last_time(report, link);

    SMCR_FIGURE_EACH(connection, conn, report->connections) {
        if (conn->link_group != group->index)
            continue;
        uint32_t before = failover.moved;
        for (uint32_t j = 0; j + 1 < conn->links.length; j++) {
            const smcr_entry_conn_link_t *from = conn->links.entries[j];
            if (from->number == link->number)
                add_move(&failover, conn->links.entries[j + 1], last);
        }
        failover.moved = MIN(failover.moved, before + 1); /* however often it moved */
    }
    return failover;
}

const char *
smcr_words_failover(wmem_allocator_t *scope, const smcr_words_failover_t *failover)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    if (!failover->moved)
        return "";
    wmem_strbuf_append_printf(text, "%s moved",
                              smcr_words_things(scope, failover->moved, "connection"));
    if (failover->to != SMCR_FIGURE_UNKNOWN)
        wmem_strbuf_append_printf(text, " to link %" PRIu64, failover->to);
    if (failover->still)
        wmem_strbuf_append_printf(text, ", %s after the last message on it",
                                  smcr_words_duration(scope, failover->still));
    return wmem_strbuf_finalize(text);
}
