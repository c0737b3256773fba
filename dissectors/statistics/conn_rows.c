/* conn_rows.c
 * Counts frames once for each connection, and bytes once for each position.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "conn_rows.h"

#include "host/host.h"

#define FIRST (UINT64_C(1) << 62) /* so high that no sequence number can fall below 0 */

/* ---- what is kept ---- */

static GHashTable *all_kept; /* of the open file, by table; NULL: nothing is kept */

static void
free_kept(void *data)
{
    smcr_statistics_kept_t *kept = data;

    wmem_destroy_allocator(kept->scope);
    g_free(kept);
}

smcr_statistics_kept_t *
smcr_statistics_kept_of(const void *table, bool is_empty, size_t size)
{
    if (!all_kept)
        all_kept = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_kept);
    smcr_statistics_kept_t *kept = g_hash_table_lookup(all_kept, table);
    if (kept && !is_empty)
        return kept;
    if (kept) {
        wmem_free_all(kept->scope);
    } else {
        kept = g_new(smcr_statistics_kept_t, 1);
        kept->scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
        g_hash_table_insert(all_kept, (void *)(uintptr_t)table, kept);
    }
    kept->data = wmem_alloc0(kept->scope, size);
    return kept;
}

/* The file is closed: what is kept points into what was known of it. */
static void
forget(void)
{
    if (all_kept)
        g_hash_table_destroy(all_kept);
    all_kept = NULL;
}

void
smcr_statistics_kept_register(void)
{
    register_cleanup_routine(forget);
}

/* ---- rows ---- */

static void
set_text(address *to, const char *text)
{
    set_address(to, AT_STRINGZ, (int)strlen(text) + 1, text);
}

/* What is kept of the key, `size` bytes: zeros if it is new. */
static void *
kept_of(smcr_statistics_kept_t *kept, wmem_map_t **map, const void *key, size_t size)
{
    if (!*map)
        *map = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    return smcr_figure_of(*map, kept->scope, key, size);
}

smcr_conversation_row_t *
smcr_conversation_rows_make(smcr_statistics_kept_t *kept, const smcr_conn_t *conn)
{
    smcr_conversation_rows_t *rows = kept->data;
    smcr_conversation_row_t *row = kept_of(kept, &rows->rows, conn, sizeof *row);

    if (row->conn)
        return row;
    smcr_show_ends_t ends = smcr_show_ends_of(kept->scope, conn);
    row->conn = conn;
    for (unsigned i = 0; i < 2; i++) {
        row->role[i] = smcr_endpoint_role(conn, (int)i);
        set_text(&row->name[i], ends.name[i]);
        copy_address_wmem(kept->scope, &row->host[i], &ends.host[i]);
    }
    return row;
}

const address *
smcr_conversation_rows_link(smcr_statistics_kept_t *kept, const smcr_link_t *link)
{
    smcr_conversation_rows_t *rows = kept->data;

    address *name = kept_of(kept, &rows->links, link, sizeof *name);

    if (!name->data)
        set_text(name, smcr_show_name_of_link(kept->scope, link));
    return name;
}

/* ---- bytes ---- */

/* Data of TCP. */
static uint32_t
take_segment(smcr_conversation_direction_t *direction, wmem_allocator_t *scope,
             const smcr_tap_segment_t *segment)
{
    uint64_t near = direction->next ? direction->next : FIRST;
    uint64_t from = near + (uint64_t)(int64_t)(int32_t)(segment->seq - (uint32_t)near);

    if (!segment->length)
        return 0;
    direction->next = from + segment->length;
    return (uint32_t)smcr_ranges_add(&direction->segments, scope, SMCR_RANGES_OF_STREAM, from,
                                     direction->next);
}

static int
take_bytes(smcr_conversation_direction_t *direction, wmem_allocator_t *scope,
           const smcr_tap_t *packet)
{
    uint32_t bytes =
        packet->segment ? take_segment(direction, scope, packet->segment)
                        : smcr_collect_stream_bytes_take(&direction->stream, scope, packet->record);

    return (int)MIN(bytes, INT32_MAX);
}

/* ---- packets ---- */

static const smcr_conn_t *
conn_of(const smcr_tap_t *packet)
{
    if (packet->segment)
        return packet->segment->conn;
    return packet->record->conn ? packet->record->conn : packet->falls_back;
}

/* Where the sender is not known, the client is taken for it. */
static unsigned
sender_of(const smcr_conversation_row_t *row, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    if (packet->segment)
        return packet->segment->from_server;
    if (packet->roce)
        return record->sender >= 0 ? row->role[record->sender] : 0;
    return record->direction == 1;
}

smcr_conversation_share_t
smcr_conversation_rows_take(smcr_statistics_kept_t *kept, const packet_info *pinfo,
                            const smcr_tap_t *packet, tap_flags_t flags)
{
    smcr_conversation_share_t share = {.row = NULL};
    const smcr_conn_t *conn = conn_of(packet);

    if (!conn)
        return share;
    share.row = smcr_conversation_rows_make(kept, conn);
    share.is_first = !share.row->last_frame;
    share.sender = sender_of(share.row, packet);
    share.frames = share.row->last_frame != pinfo->num;
    share.row->last_frame = pinfo->num;
    share.all_bytes = take_bytes(&share.row->all[share.sender], kept->scope, packet);
    if (!(flags & TL_DISPLAY_FILTER_IGNORED))
        share.bytes = take_bytes(&share.row->shown[share.sender], kept->scope, packet);
    return share;
}
