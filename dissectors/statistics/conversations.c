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

/* ---- endpoints: filters ---- */

static const char *
endpoint_filter_name(endpoint_item_t *item, conv_filter_type_e type)
{
    if (type != CONV_FT_ANY_ADDRESS)
        return CONV_FILTER_INVALID;
    if (item->myaddress.type == AT_STRINGZ)
        return "smcr.endpoint";
    return item->myaddress.type == AT_IPv4 ? "smcr.ip.addr" : "smcr.ipv6.addr";
}

/* ---- rows of both ---- */

/* What a packet adds to a row. */
typedef struct {
    conv_hash_t *hash;
    packet_info *pinfo;
    int frames, bytes, all_bytes;
} amount_t;

/* Adds frames and bytes to a row of Wireshark's; `sender`: of conversations the role, of endpoints
 * whether it sends. */
typedef void add_t(const amount_t *amount, const void *what, unsigned sender, int frames,
                   int bytes);

static void
add_conversation(const amount_t *amount, const void *what, unsigned sender, int frames, int bytes)
{
    static ct_dissector_info_t info = {filter_name};
    const smcr_conversation_row_t *row = what;

    add_conversation_table_data_with_conv_id(
        amount->hash, &row->name[sender], &row->name[!sender], 0, 0, (conv_id_t)row->conn->index,
        frames, bytes, &amount->pinfo->rel_ts, &amount->pinfo->abs_ts, &info, CONVERSATION_NONE);
}

static void
add_endpoint(const amount_t *amount, const void *what, unsigned sends, int frames, int bytes)
{
    static et_dissector_info_t info = {endpoint_filter_name};

    add_endpoint_table_data(amount->hash, what, 0, sends != 0, frames, bytes, &info, ENDPOINT_NONE);
}

static void
add(const amount_t *amount, add_t *add_row, const void *what, unsigned sender)
{
    conv_hash_t *hash = amount->hash;
    unsigned flags = hash->flags;
    bool selected = !(flags & TL_DISPLAY_FILTER_IGNORED);

    add_row(amount, what, sender, amount->frames, selected ? amount->bytes : amount->all_bytes);
    if (!selected || amount->all_bytes == amount->bytes)
        return;
    hash->flags |= TL_DISPLAY_FILTER_IGNORED; /* those that the filter does not select */
    add_row(amount, what, sender, 0, amount->all_bytes - amount->bytes);
    hash->flags = flags;
}

static smcr_statistics_kept_t *
begin(conv_hash_t *hash, tap_flags_t flags)
{
    smcr_statistics_kept_t *kept =
        smcr_statistics_kept_of(hash, !hash->hashtable, sizeof(smcr_conversation_rows_t));

    hash->flags = flags;
    return kept;
}

static tap_packet_status
take(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data, tap_flags_t flags)
{
    smcr_statistics_kept_t *kept = begin(table, flags);
    smcr_conversation_share_t share = smcr_conversation_rows_take(kept, pinfo, data, flags);
    amount_t amount = {table, pinfo, share.frames, share.bytes, share.all_bytes};

    if (!share.row)
        return TAP_PACKET_DONT_REDRAW;
    if (share.is_first)
        add_conversation(&amount, share.row, 0, 0, 0); /* so that A is the client */
    add(&amount, add_conversation, share.row, share.sender);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status
take_endpoints(void *table, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
               tap_flags_t flags)
{
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    smcr_statistics_kept_t *kept = begin(table, flags);
    smcr_conversation_share_t share = smcr_conversation_rows_take(kept, pinfo, packet, flags);
    amount_t amount = {table, pinfo, share.frames, share.bytes, share.all_bytes};

    for (unsigned role = 0; role < 2 && share.row; role++)
        if (share.row->host[role].type != AT_NONE)
            add(&amount, add_endpoint, &share.row->host[role], role == share.sender);
    if (!packet->roce || !record->link)
        return share.row ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
    amount.frames = 1;
    add(&amount, add_endpoint, smcr_conversation_rows_link(kept, record->link),
        record->sender == smcr_lgr_client_side(record->link->lgr));
    return TAP_PACKET_REDRAW;
}

void
smcr_conversations_register(int proto)
{
    register_conversation_table(proto, true, take, take_endpoints);
}
