/* table_links.c
 * A row for each link, with its link group, in the words of `smcr linkgroup show`. A link group
 * without links has a row as well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

#include "report/words/words.h"

/* In the words of smc-tools. These show what a host has now: only we know of links that are gone,
 * or were refused. */
static const char *const types[] = {
    [SMCR_FIGURE_GROUP_NONE] = "NONE",
    [SMCR_FIGURE_GROUP_SINGLE] = "SINGLE",
    [SMCR_FIGURE_GROUP_SYMMETRIC] = "SYM",
    [SMCR_FIGURE_GROUP_ASYMMETRIC_PEER] = "ASYMP",
    [SMCR_FIGURE_GROUP_ASYMMETRIC_LOCAL] = "ASYML",
};

static const char *const states[] = {
    [SMCR_FIGURE_STATUS_UNCONFIRMED] = "LINK_ACTIVATING",
    [SMCR_FIGURE_STATUS_ACTIVE] = "LINK_ACTIVE",
    [SMCR_FIGURE_STATUS_REJECTED] = "rejected",
    [SMCR_FIGURE_STATUS_DELETED] = "deleted",
};

/* Connections by the index of their link group: numbers by numbers. */
static wmem_map_t *
count_conns(wmem_allocator_t *scope, const smcr_entry_report_t *report)
{
    wmem_map_t *counts = wmem_map_new(scope, g_direct_hash, g_direct_equal);

    SMCR_FIGURE_EACH(connection, conn, report->connections) {
        void *group = GSIZE_TO_POINTER(conn->link_group);
        size_t count = GPOINTER_TO_SIZE(wmem_map_lookup(counts, group));
        wmem_map_insert(counts, group, GSIZE_TO_POINTER(count + 1));
    }
    return counts;
}

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    NUMBER("LG-ID", 0, group->index) \
    TEXT("Version", 9, smcr_figure_version_words[group->version]) \
    TEXT("LG-Type", 0, types[group->type]) \
    NUMBER("VLAN", 0, group->vlan) \
    TEXT("EID", 10, group->eid) \
    NUMBER("#Conns", 0, conns) \
    NUMBER("Linkid", 0, link->number) \
    TEXT("Link-State", 15, link->index == SMCR_FIGURE_UNKNOWN ? NULL : states[link->state]) \
    TEXT("Client-GID", 22, link->client.gid) \
    QPN("Client-QP", 0, link->client.qpn) \
    TEXT("Server-GID", 22, link->server.gid) \
    QPN("Server-QP", 0, link->server.qpn) \
    NUMBER("MTU", 4, link->mtu_bytes) \
    FRAME("Added in", 0, link->added_frame) \
    FRAME("Deleted in", 0, link->deleted_frame) \
    TEXT("Reason", 20, smcr_figure_delete_reason_words[link->delete_reason]) \
    NUMBER("Moved from", 0, link->moved_from) \
    NUMBER("Moved to", 0, link->moved_to)

static void
add_row(smcr_table_rows_t *rows, const smcr_entry_link_group_t *group, uint64_t conns,
        const smcr_entry_link_t *link)
{
    SMCR_TABLE_CELLS(COLUMNS)
    smcr_table_row_end(rows);
}

static void
fill(smcr_table_rows_t *rows, const smcr_entry_report_t *report)
{
    wmem_map_t *counts = count_conns(rows->scope, report);
    smcr_entry_link_t none;

    smcr_entry_clear(&none, &smcr_entry_link_description);
    none.moved_from = none.moved_to = SMCR_FIGURE_UNKNOWN;
    SMCR_FIGURE_EACH(link_group, group, report->link_groups) {
        uint64_t conns = GPOINTER_TO_SIZE(wmem_map_lookup(counts, GSIZE_TO_POINTER(group->index)));
        for (uint32_t n = 0; n < group->links.length; n++)
            add_row(rows, group, conns, group->links.entries[n]);
        if (group->links.length == 0)
            add_row(rows, group, conns, &none);
    }
}

SMCR_TABLE(links, "SMC-R Links");
