/* conversations.c
 * A row for each connection. A is the client, B the server, and they stay that. Their names carry
 * the ports, since Wireshark shows ports of a few protocols only; the names of fields in a filter
 * carry the number of the connection, since ports are used again.
 *
 * Of endpoints: a row for each host, which counts the packets of its connections, and one for each
 * link, which counts all packets on it. What the client of the link's group sends is sent by the
 * link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "statistics.h"

#include <epan/conversation_table.h>

#include "conn_rows.h"

/* ---- conversations: filters ---- */

#define NAMES 8 /* a filter has four at most, and is written when all are there */

/* The names of fields that have been handed out last. */
static struct {
    char text[NAMES][64];
    unsigned next;
} names;

/* Wireshark writes == and the name of the end behind it. */
static const char *
filter_name(conv_item_t *item, conv_filter_type_e type)
{
    const char *field = type == CONV_FT_SRC_ADDRESS   ? "smcr.endpoint.src"
                        : type == CONV_FT_DST_ADDRESS ? "smcr.endpoint.dst"
                        : type == CONV_FT_ANY_ADDRESS ? "smcr.endpoint"
                                                      : NULL;
    char *name = names.text[names.next];

    if (!field)
        return CONV_FILTER_INVALID;
    names.next = (names.next + 1) % NAMES;
    snprintf(name, sizeof names.text[0], "smcr.stream==%u && %s", (unsigned)item->conv_id, field);
    return name;
}

/* ---- conversations: rows ---- */

static void
add(conv_hash_t *hash, packet_info *pinfo, const smcr_conversation_share_t *share, unsigned sender,
    int frames, int bytes)
{
    static ct_dissector_info_t info = {filter_name};
    const smcr_conversation_row_t *row = share->row;

    add_conversation_table_data_with_conv_id(
        hash, &row->name[sender], &row->name[!sender], 0, 0, (conv_id_t)row->conn->index, frames,
        bytes, &pinfo->rel_ts, &pinfo->abs_ts, &info, CONVERSATION_NONE);
}

static tap_packet_status
take(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data, tap_flags_t flags)
{
    conv_hash_t *hash = table;
    smcr_statistics_kept_t *kept =
        smcr_statistics_kept_of(hash, !hash->hashtable, sizeof(smcr_conversation_rows_t));
    smcr_conversation_share_t share = smcr_conversation_rows_take(kept, pinfo, data, flags);
    bool selected = !(flags & TL_DISPLAY_FILTER_IGNORED);

    hash->flags = flags;
    if (!share.row)
        return TAP_PACKET_DONT_REDRAW;
    if (share.is_first)
        add(hash, pinfo, &share, 0, 0, 0); /* so that A is the client */
    add(hash, pinfo, &share, share.sender, share.frames, selected ? share.bytes : share.all_bytes);
    if (selected && share.all_bytes != share.bytes) { /* those that the filter does not select */
        hash->flags |= TL_DISPLAY_FILTER_IGNORED;
        add(hash, pinfo, &share, share.sender, 0, share.all_bytes - share.bytes);
        hash->flags = flags;
    }
    return TAP_PACKET_REDRAW;
}

/* ---- endpoints ---- */

static const char *
endpoint_filter_name(endpoint_item_t *item, conv_filter_type_e type)
{
    if (type != CONV_FT_ANY_ADDRESS)
        return CONV_FILTER_INVALID;
    if (item->myaddress.type == AT_STRINGZ)
        return "smcr.endpoint";
    return item->myaddress.type == AT_IPv4 ? "smcr.ip.addr" : "smcr.ipv6.addr";
}

/* What a packet adds to a row. */
typedef struct {
    conv_hash_t *hash;
    int frames, bytes, all_bytes;
} amount_t;

static void
add_endpoint(const amount_t *amount, const address *addr, bool sends)
{
    static et_dissector_info_t info = {endpoint_filter_name};
    conv_hash_t *hash = amount->hash;
    unsigned flags = hash->flags;
    bool selected = !(flags & TL_DISPLAY_FILTER_IGNORED);

    add_endpoint_table_data(hash, addr, 0, sends, amount->frames,
                            selected ? amount->bytes : amount->all_bytes, &info, ENDPOINT_NONE);
    if (!selected || amount->all_bytes == amount->bytes)
        return;
    hash->flags |= TL_DISPLAY_FILTER_IGNORED; /* the bytes of all packets only */
    add_endpoint_table_data(hash, addr, 0, sends, 0, amount->all_bytes - amount->bytes, &info,
                            ENDPOINT_NONE);
    hash->flags = flags;
}

static tap_packet_status
take_endpoints(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
               tap_flags_t flags)
{
    conv_hash_t *hash = table;
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    smcr_statistics_kept_t *kept =
        smcr_statistics_kept_of(hash, !hash->hashtable, sizeof(smcr_conversation_rows_t));
    smcr_conversation_share_t share = smcr_conversation_rows_take(kept, pinfo, packet, flags);
    amount_t amount = {hash, share.frames, share.bytes, share.all_bytes};

    hash->flags = flags;
    for (unsigned role = 0; role < 2 && share.row; role++)
        if (share.row->host[role].type != AT_NONE)
            add_endpoint(&amount, &share.row->host[role], role == share.sender);
    if (!packet->roce || !record->link)
        return share.row ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
    amount.frames = 1;
    add_endpoint(&amount, smcr_conversation_rows_link(kept, record->link),
        record->sender == smcr_lgr_client_side(record->link->lgr));
    return TAP_PACKET_REDRAW;
}

void
smcr_conversations_register(int proto)
{
    register_conversation_table(proto, true, take, take_endpoints);
}
