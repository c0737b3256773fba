/* conn_rows.c
 * Counts frames once for each connection, and bytes once for each position.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "conn_rows.h"

#include <string.h>

#include "host/host.h"

#define FIRST (UINT64_C(1) << 62) /* so high that no sequence number can fall below 0 */

/* ---- rows ---- */

static void
set_text(address *to, const char *text)
{
    set_address(to, AT_STRINGZ, (int)strlen(text) + 1, text);
}

static smcr_conn_row_t *
new_row(wmem_allocator_t *scope, const smcr_conn_t *conn)
{
    smcr_conn_row_t *row = wmem_new0(scope, smcr_conn_row_t);
    smcr_ends_t ends = smcr_ends_of(scope, conn);

    row->conn = conn;
    for (unsigned i = 0; i < 2; i++) {
        row->role[i] = smcr_endpoint_role(conn, (int)i);
        set_text(&row->name[i], ends.name[i]);
        copy_address_wmem(scope, &row->host[i], &ends.host[i]);
    }
    return row;
}

/* Returns whether the row is new. */
static bool
find_row(smcr_kept_t *kept, const smcr_conn_t *conn, smcr_conn_row_t **row)
{
    smcr_conn_rows_t *rows = kept->data;

    if (!rows->rows)
        rows->rows = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    *row = wmem_map_lookup(rows->rows, conn);
    if (*row)
        return false;
    *row = new_row(kept->scope, conn);
    wmem_map_insert(rows->rows, conn, *row);
    return true;
}

smcr_conn_row_t *
smcr_conn_rows_make(smcr_kept_t *kept, const smcr_conn_t *conn)
{
    smcr_conn_row_t *row;

    find_row(kept, conn, &row);
    return row;
}

const address *
smcr_conn_rows_link(smcr_kept_t *kept, const smcr_link_t *link)
{
    smcr_conn_rows_t *rows = kept->data;

    if (!rows->links)
        rows->links = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    address *name = wmem_map_lookup(rows->links, link);
    if (name)
        return name;
    name = wmem_new(kept->scope, address);
    set_text(name, smcr_link_name(kept->scope, link));
    wmem_map_insert(rows->links, link, name);
    return name;
}

/* ---- bytes ---- */

/* Data of TCP. */
static uint32_t
take_segment(smcr_row_way_t *way, wmem_allocator_t *scope, const smcr_segment_t *segment)
{
    uint64_t near = way->next ? way->next : FIRST;
    uint64_t from = near + (uint64_t)(int64_t)(int32_t)(segment->seq - (uint32_t)near);

    if (!segment->length)
        return 0;
    way->next = from + segment->length;
    return (uint32_t)smcr_ranges_add(&way->segments, scope, SMCR_STREAM_RANGES, from, way->next);
}

static int
take_bytes(smcr_row_way_t *way, wmem_allocator_t *scope, const smcr_tap_t *packet)
{
    uint32_t bytes = packet->segment ? take_segment(way, scope, packet->segment)
                                     : smcr_stream_bytes_take(&way->stream, scope, packet->record);

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
sender_of(const smcr_conn_row_t *row, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    if (packet->segment)
        return packet->segment->from_server;
    if (packet->roce)
        return record->sender >= 0 ? row->role[record->sender] : 0;
    return record->direction == 1;
}

smcr_conn_share_t
smcr_conn_rows_take(smcr_kept_t *kept, const packet_info *pinfo, const smcr_tap_t *packet,
                    tap_flags_t flags)
{
    smcr_conn_share_t share = {.row = NULL};
    const smcr_conn_t *conn = conn_of(packet);

    if (!conn)
        return share;
    share.is_first = find_row(kept, conn, &share.row);
    share.sender = sender_of(share.row, packet);
    share.frames = share.row->last_frame != pinfo->num;
    share.row->last_frame = pinfo->num;
    share.all_bytes = take_bytes(&share.row->all[share.sender], kept->scope, packet);
    if (!(flags & TL_DISPLAY_FILTER_IGNORED))
        share.bytes = take_bytes(&share.row->shown[share.sender], kept->scope, packet);
    return share;
}
