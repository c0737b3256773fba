/* Conversations have a row for each connection. Address A is the client, address B the server; the
 * order means nothing if it is not known which end is the client. The names of both contain the
 * ports, since Wireshark shows ports only for few protocols. The display filter of a row contains
 * the number of the connection, since several connections may use the same ports, one after the
 * other.
 *
 * Endpoints have a row for each host, which counts the packets of its connections. They also have a
 * row for each link, which counts all frames on the link. In the row of a link, "Sent" counts the
 * packets from the client of its link group or, if the client is not known, from side 0.
 *
 * A frame counts once for each connection and each link, and a byte once for each position of the
 * stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include <epan/conversation_table.h>

#include "conversations.h"
#include "host/host.h"

#define FIRST (UINT64_C(1) << 62) /* start of unwrapped sequence numbers, so that no number falls
                                     below 0 */

/* ---- memory of Wireshark's tables, which lasts from one packet to the next ---- */

static GHashTable *all_kept; /* address of Wireshark's table -> smcr_statistics_memory_t; NULL: no
                                table of the open file has a memory */

/* Frees the memory of a table. GLib calls it for each entry when `all_kept` is destroyed. */
static void
free_kept(void *data)
{
    smcr_statistics_memory_t *kept = data;

    wmem_destroy_allocator(kept->scope);
    g_free(kept);
}

/* A table that Wireshark has emptied begins with new memory; the old one is freed at once. */
smcr_statistics_memory_t *
smcr_statistics_find_memory(const void *table, bool is_empty, size_t size)
{
    if (!all_kept)
        all_kept = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_kept);
    smcr_statistics_memory_t *kept = g_hash_table_lookup(all_kept, table);
    if (kept && !is_empty)
        return kept;
    if (kept) {
        wmem_free_all(kept->scope);
    } else {
        kept = g_new(smcr_statistics_memory_t, 1);
        kept->scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
        g_hash_table_insert(all_kept, (void *)(uintptr_t)table, kept);
    }
    kept->data = wmem_alloc0(kept->scope, size);
    return kept;
}

/* Frees the memory of all tables, which points into the state of the file. */
static void
forget_all_kept(void)
{
    if (all_kept)
        g_hash_table_destroy(all_kept);
    all_kept = NULL;
}

/* ---- rows ---- */

/* Sets an address to a text, which the address points to. */
static void
set_text(address *to, const char *text)
{
    set_address(to, AT_STRINGZ, (int)strlen(text) + 1, text);
}

/* Returns the value of `key` in `*map`: `size` bytes, all zeros if the key is new. The first call
 * makes the map. */
static void *
kept_of(smcr_statistics_memory_t *kept, wmem_map_t **map, const void *key, size_t size)
{
    if (!*map)
        *map = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    return smcr_figure_of(*map, kept->scope, key, size);
}

/* The connection is kept (smcr_conn_keep()): the state must not release it while the row points to
 * it. */
smcr_conversation_row_t *
smcr_conversation_find_row(smcr_statistics_memory_t *kept, const smcr_conn_t *conn)
{
    smcr_conversation_rows_t *rows = kept->data;
    smcr_conversation_row_t *row = kept_of(kept, &rows->rows, conn, sizeof *row);

    if (row->conn)
        return row;
    smcr_show_ends_t ends = smcr_show_ends_of(kept->scope, conn);
    row->conn = conn;
    smcr_conn_keep(conn);
    for (unsigned i = 0; i < 2; i++) {
        row->role[i] = smcr_endpoint_role(conn, (int)i);
        set_text(&row->name[i], ends.name[i]);
        copy_address_wmem(kept->scope, &row->host[i], &ends.host[i]);
    }
    return row;
}

/* Returns the link's row in the table. */
static smcr_conversation_link_t *
find_link_row(smcr_statistics_memory_t *kept, const smcr_link_t *link)
{
    smcr_conversation_rows_t *rows = kept->data;
    smcr_conversation_link_t *row = kept_of(kept, &rows->links, link, sizeof *row);

    if (!row->name.data)
        set_text(&row->name, smcr_show_name_of_link(kept->scope, link));
    return row;
}

/* ---- bytes ---- */

/* Counts the data of a TCP segment. Returns how many of its bytes no earlier segment has had. */
static uint32_t
count_segment(smcr_conversation_direction_t *direction, wmem_allocator_t *scope,
              const smcr_tap_segment_t *segment)
{
    uint64_t near = direction->next_seq ? direction->next_seq : FIRST;
    uint64_t from = near + (uint64_t)(int64_t)(int32_t)(segment->seq - (uint32_t)near);

    if (!segment->length)
        return 0;
    direction->next_seq = from + segment->length;
    return (uint32_t)smcr_ranges_add(&direction->segments, scope, SMCR_RANGES_OF_STREAM, from,
                                     direction->next_seq);
}

/* Counts the application's bytes of a packet, on TCP or on RoCE. Returns how many bytes no earlier
 * packet has had. */
static int
count_bytes(smcr_conversation_direction_t *direction, wmem_allocator_t *scope,
            const smcr_tap_t *packet)
{
    uint32_t bytes =
        packet->segment ? count_segment(direction, scope, packet->segment)
                        : smcr_collect_stream_bytes_take(&direction->stream, scope, packet->record);

    return (int)MIN(bytes, INT32_MAX);
}

/* ---- packets ---- */

/* Returns the connection of the packet; NULL: not known. */
static const smcr_conn_t *
conn_of(const smcr_tap_t *packet)
{
    if (packet->segment)
        return packet->segment->conn;
    return packet->record->conn ? packet->record->conn : packet->falls_back;
}

/* Returns the role of the packet's sender: 0 client, 1 server. If the sender is not known, returns
 * 0. */
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

/* A frame counts once for a row, though it may have several packets. Packets that the filter does
 * not select count in `all_counts` only. */
smcr_conversation_update_t
smcr_conversation_count_packet(smcr_statistics_memory_t *kept, const packet_info *pinfo,
                               const smcr_tap_t *packet, tap_flags_t flags)
{
    smcr_conversation_update_t share = {.row = NULL};
    const smcr_conn_t *conn = conn_of(packet);

    if (!conn)
        return share;
    share.row = smcr_conversation_find_row(kept, conn);
    share.is_first = !share.row->last_frame;
    share.sender = sender_of(share.row, packet);
    share.frames = share.row->last_frame != pinfo->num;
    share.row->last_frame = pinfo->num;
    share.all_bytes = count_bytes(&share.row->all_counts[share.sender], kept->scope, packet);
    if (!(flags & TL_DISPLAY_FILTER_IGNORED))
        share.bytes = count_bytes(&share.row->filtered_counts[share.sender], kept->scope, packet);
    return share;
}

/* ---- conversations: filters ---- */

#define NAMES 8 /* number of texts that are kept. One filter needs up to four texts, and Wireshark
                   uses them before it calls filter_name() for the next filter */

/* The last texts that filter_name() has returned: a circular list. */
static struct {
    char text[NAMES][64]; /* the texts, terminated by 0 */
    unsigned next;        /* index of the text that the next call overwrites */
} names;

/* Returns the field that a filter of this type compares with the name of an end; NULL: the table
 * offers no filter of this type. */
static const char *
field_of(conv_filter_type_e type)
{
    switch (type) {
    case CONV_FT_SRC_ADDRESS:
        return "smcr.endpoint.src";
    case CONV_FT_DST_ADDRESS:
        return "smcr.endpoint.dst";
    case CONV_FT_ANY_ADDRESS:
        return "smcr.endpoint";
    default:
        return NULL;
    }
}

/* Returns the beginning of a filter, up to the name of the field. Wireshark appends "==" and the
 * name of the end. */
static const char *
filter_name(conv_item_t *item, conv_filter_type_e type)
{
    const char *field = field_of(type);
    char *name = names.text[names.next];

    if (!field)
        return CONV_FILTER_INVALID;
    names.next = (names.next + 1) % NAMES;
    snprintf(name, sizeof names.text[0], "smcr.stream==%u && %s", (unsigned)item->conv_id, field);
    return name;
}

/* ---- endpoints: filters ---- */

/* Returns the field with which Wireshark filters an endpoint: a link (address type AT_STRINGZ) or a
 * host. */
static const char *
endpoint_filter_name(endpoint_item_t *item, conv_filter_type_e type)
{
    if (type != CONV_FT_ANY_ADDRESS)
        return CONV_FILTER_INVALID;
    if (item->myaddress.type == AT_STRINGZ)
        return "smcr.endpoint";
    return item->myaddress.type == AT_IPv4 ? "smcr.ip.addr" : "smcr.ipv6.addr";
}

/* ---- rows of both tables ---- */

/* The frames and bytes that a packet adds to a row. */
typedef struct {
    /* Wireshark's table, to which the row belongs */
    conv_hash_t *hash;
    packet_info *pinfo; /* frame of the packet */
    int frames, bytes, all_bytes; /* as in smcr_conversation_update_t */
} amount_t;

/* A function that adds frames and bytes to a row. `what`: the connection, host or link of the row.
 * `sender`: in a table of conversations, the role of the sender; in a table of endpoints, 1 if the
 * endpoint sends, else 0. */
typedef void add_t(const amount_t *amount, const void *what, unsigned sender, int frames,
                   int bytes);

/* Adds frames and bytes that `sender` has sent to the row of the connection `what`. Wireshark
 * compares the pair of addresses and the number, so each connection has one row. */
static void
add_conversation(const amount_t *amount, const void *what, unsigned sender, int frames, int bytes)
{
    static ct_dissector_info_t info = {filter_name};
    const smcr_conversation_row_t *row = what;

    add_conversation_table_data_with_conv_id(
        amount->hash, &row->name[sender], &row->name[!sender], 0, 0, (conv_id_t)row->conn->index,
        frames, bytes, &amount->pinfo->rel_ts, &amount->pinfo->abs_ts, &info, CONVERSATION_NONE);
}

/* Adds frames and bytes to the row of the endpoint `what`, as sent or received. `sends` 0:
 * received. */
static void
add_endpoint(const amount_t *amount, const void *what, unsigned sends, int frames, int bytes)
{
    static et_dissector_info_t info = {endpoint_filter_name};

    add_endpoint_table_data(amount->hash, what, 0, sends != 0, frames, bytes, &info, ENDPOINT_NONE);
}

/* Adds a packet to a row. Wireshark keeps two sums of bytes for a row: one of all packets, one of
 * the packets that the filter selects. A selected packet may repeat bytes of an earlier packet that
 * was not selected: these bytes are new in the second sum only. For them, a correction is added to
 * the first sum only. */
static void
add_amount(const amount_t *amount, add_t *add_row, const void *what, unsigned sender)
{
    conv_hash_t *hash = amount->hash;
    unsigned flags = hash->flags;
    bool selected = !(flags & TL_DISPLAY_FILTER_IGNORED);

    add_row(amount, what, sender, amount->frames, selected ? amount->bytes : amount->all_bytes);
    if (!selected || amount->all_bytes == amount->bytes)
        return;
    hash->flags |= TL_DISPLAY_FILTER_IGNORED; /* with this flag Wireshark changes the sum of all
                                                 packets only */
    add_row(amount, what, sender, 0, amount->all_bytes - amount->bytes);
    hash->flags = flags;
}

/* Returns the memory of the table, and stores the flags of the current call in the table. */
static smcr_statistics_memory_t *
begin_table(conv_hash_t *hash, tap_flags_t flags)
{
    smcr_statistics_memory_t *kept =
        smcr_statistics_find_memory(hash, !hash->hashtable, sizeof(smcr_conversation_rows_t));

    hash->flags = flags;
    return kept;
}

/* Called by Wireshark for each packet of the tap `smcr`: counts the packet in the row of its
 * connection. */
static tap_packet_status
count_for_conversations(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                        tap_flags_t flags)
{
    smcr_statistics_memory_t *kept = begin_table(table, flags);
    smcr_conversation_update_t share = smcr_conversation_count_packet(kept, pinfo, data, flags);
    amount_t amount = {table, pinfo, share.frames, share.bytes, share.all_bytes};

    if (!share.row)
        return TAP_PACKET_DONT_REDRAW;
    if (share.is_first)
        add_conversation(&amount, share.row, 0, 0, 0); /* an addition of zero frames and bytes from
                                                          client to server: the first addition to a
                                                          row decides that the client is address
                                                          A */
    add_amount(&amount, add_conversation, share.row, share.sender);
    return TAP_PACKET_REDRAW;
}

/* Called by Wireshark for each packet of the tap `smcr`: counts the packet in the rows of both
 * hosts of its connection, and in the row of its link. */
static tap_packet_status
count_for_endpoints(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                    tap_flags_t flags)
{
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    smcr_statistics_memory_t *kept = begin_table(table, flags);
    smcr_conversation_update_t share = smcr_conversation_count_packet(kept, pinfo, packet, flags);
    amount_t amount = {table, pinfo, share.frames, share.bytes, share.all_bytes};

    for (unsigned role = 0; role < 2 && share.row; role++)
        if (share.row->host[role].type != AT_NONE)
            add_amount(&amount, add_endpoint, &share.row->host[role], role == share.sender);
    if (!packet->roce || !record->link)
        return share.row ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
    smcr_conversation_link_t *row = find_link_row(kept, record->link);
    amount.frames = row->last_frame != pinfo->num;
    row->last_frame = pinfo->num;
    add_amount(&amount, add_endpoint, &row->name,
        record->sender == smcr_lgr_client_side(record->link->lgr));
    return TAP_PACKET_REDRAW;
}

void
smcr_conversations_register(int proto)
{
    register_cleanup_routine(forget_all_kept);
    register_conversation_table(proto, true, count_for_conversations, count_for_endpoints);
}
