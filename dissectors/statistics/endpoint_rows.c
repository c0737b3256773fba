/* endpoint_rows.c
 * A row for each host, which counts the packets of its connections, and one for each link, which
 * counts all packets on it. What the client of the link's group sends is sent by the link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "menus.h"

#include <epan/conversation_table.h>

#include "conn_rows.h"

static const char *
filter_name(endpoint_item_t *item, conv_filter_type_e type)
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
add(const amount_t *amount, const address *addr, bool sends)
{
    static et_dissector_info_t info = {filter_name};
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

tap_packet_status
smcr_conversation_endpoints_take(void *table, packet_info *pinfo, epan_dissect_t *edt _U_,
                                 const void *data, tap_flags_t flags)
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
            add(&amount, &share.row->host[role], role == share.sender);
    if (!packet->roce || !record->link)
        return share.row ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
    amount.frames = 1;
    add(&amount, smcr_conversation_rows_link(kept, record->link),
        record->sender == smcr_lgr_client_side(record->link->lgr));
    return TAP_PACKET_REDRAW;
}
