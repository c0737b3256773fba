/* text_links.c
 * Link groups, their links and what became of them, and failovers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>

#include "report/words/words.h"
#include "text_page.h"

#define LINK_INDENT 6

static const char *
number(const smcr_page_t *page, const char *before, uint64_t value)
{
    return value == SMCR_FIGURE_UNKNOWN
               ? ""
               : wmem_strdup_printf(page->scope, "%s%" PRIu64, before, value);
}

static const char *
peer(const smcr_page_t *page, const char *role, const smcr_entry_peer_t *entry)
{
    if (!entry->host_name)
        return "";
    return wmem_strdup_printf(
        page->scope, "%s %s%s", role, entry->host_name,
        entry->system ? wmem_strdup_printf(page->scope, " (%s)", entry->system) : "");
}

static const char *
type(const smcr_entry_link_group_t *group)
{
    if (group->type == SMCR_FIGURE_GROUP_NONE)
        return "no active link";
    return group->type ? smcr_figure_group_type_words[group->type] : "type not known";
}

static void
write_group(const smcr_page_t *page, const smcr_entry_link_group_t *group)
{
    smcr_page_item(
        page, wmem_strdup_printf(page->scope, "  %-3" PRIu64 " ", group->index),
        smcr_page_list(page, ", ", group->version ? smcr_figure_version_words[group->version] : "",
                       type(group), number(page, "VLAN ", group->vlan),
                       group->eid ? wmem_strdup_printf(page->scope, "EID %s", group->eid) : "",
                       peer(page, "client", &group->peers.client),
                       peer(page, "server", &group->peers.server),
                       smcr_page_things(page, group->rmbs.length, "RMB"),
                       group->ended_frame.frame
                           ? wmem_strdup_printf(page->scope, "ended in %s",
                                                smcr_page_when(page, &group->ended_frame))
                           : "",
                       NULL));
}

static const char *
queue_pair(const smcr_page_t *page, const smcr_entry_queue_pair_t *entry)
{
    return wmem_strdup_printf(page->scope, "%s%s", entry->gid ? entry->gid : "?",
                              number(page, " QP ", entry->qpn));
}

static const char *
fate(const smcr_page_t *page, const smcr_entry_link_group_t *group, const smcr_entry_link_t *link)
{
    const char *reason = smcr_figure_delete_reason_words[link->delete_reason], *when = "";
    const char *state = smcr_figure_link_status_words[link->state];
    /* one link works, and another one was tried alone: a host has no second device */
    bool is_single = group->type == SMCR_FIGURE_GROUP_SINGLE && group->links.length == 2;

    if (link->deleted_frame.frame)
        when = wmem_strdup_printf(page->scope, "frame %" PRIu32, link->deleted_frame.frame);
    if (link->state == SMCR_FIGURE_STATUS_REJECTED && smcr_words_link_is_unused(link) &&
        is_single)
        return "rejected: normal with one device";
    return smcr_page_list(page, ", ", state ? state : "?", reason ? reason : "", when, NULL);
}

static void
write_links(const smcr_page_t *page, const smcr_entry_link_group_t *group)
{
    smcr_text_table_t table = smcr_text_table_new(page, "llll");

    table.indent = LINK_INDENT;
    for (uint32_t i = 0; i < group->links.length && i < SMCR_PAGE_MOST; i++) {
        const smcr_entry_link_t *link = group->links.entries[i];
        smcr_text_table_row(&table, number(page, "link ", link->number),
                            smcr_words_hosts(page->scope, queue_pair(page, &link->client),
                                             queue_pair(page, &link->server)),
                            number(page, "MTU ", link->mtu_bytes), fate(page, group, link));
    }
    smcr_text_table_write(&table);
    smcr_page_more(page, group->links.length, " links");
}

static void
write_failover(const smcr_page_t *page, const smcr_entry_link_group_t *group,
               const smcr_entry_link_t *link)
{
    smcr_words_failover_t failover = smcr_words_failover_of(page->report, group, link);

    smcr_page_line(page, 2, "%s: %s", smcr_words_link(page->scope, group->index, link->number),
                   smcr_page_list(page, "; ",
                                  failover.moved ? smcr_words_failover(page->scope, &failover)
                                                 : "no connection moved",
                                  smcr_page_when(page, &failover.first_move), NULL));
}

/* With a filter, that no connection moved means nothing. A link that never came up had nothing to
 * move. */
static void
write_failovers(const smcr_page_t *page)
{
    uint32_t count = 0;

    SMCR_FIGURE_EACH(link_group, group, page->report->link_groups) {
        SMCR_FIGURE_EACH(link, link, group->links) {
            bool lost = smcr_words_link_is_lost(link) && link->flows.length > 1;
            if (!smcr_words_link_is_left(link) && (!lost || page->report->capture.filter))
                continue;
            if (!count)
                smcr_page_heading(page, "Failovers");
            if (count++ < SMCR_PAGE_MOST)
                write_failover(page, group, link);
        }
    }
    smcr_page_more(page, count, "");
}

void
smcr_text_links(const smcr_page_t *page)
{
    const smcr_figure_list_t *groups = &page->report->link_groups;

    if (!groups->length)
        return;
    smcr_page_heading(page, "Link groups");
    for (uint32_t i = 0; i < groups->length && i < SMCR_PAGE_MOST; i++) {
        write_group(page, groups->entries[i]);
        write_links(page, groups->entries[i]);
    }
    smcr_page_more(page, groups->length, " link groups");
    write_failovers(page);
}
