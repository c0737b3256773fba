/* Export Objects: the bytes of each direction of each connection as a file.
 *
 * Wireshark asks for whole objects, and does not report the end of the capture. So an object is
 * listed at its first byte, and grows with every further byte. If bytes of the stream are missing
 * in the capture, the object has all other bytes, one after the other, and the name of its file
 * contains the number of missing bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/export_object.h>

#include "pieces.h"

/* The bytes that a packet adds to a stream, or the end of the stream that it shows. */
typedef struct {
    const smcr_conn_t *conn; /* connection of the stream */
    int sender;        /* side of the link group that sends the stream */
    uint64_t position; /* stream position of the data; if `data` is NULL: position of the end of the
                          stream, as far as it is known */
    tvbuff_t *data;    /* NULL: none */
} update_t;

/* The object of one direction of a connection, in one listing. */
typedef struct {
    int64_t key;                  /* key of the stream: 2 * number of the connection + side of the
                                     link group */
    smcr_pieces_t pieces;         /* bytes of the stream; `pieces.bytes` belongs to `entry` */
    export_object_entry_t *entry; /* entry in Wireshark's list, which owns the entry */
    unsigned receiver;            /* role of the receiver in the name of the file */
    uint64_t missing;             /* number of missing bytes in the name of the file */
} stream_t;

static GHashTable *listings; /* the listing of each listener: its tap data -> GHashTable of streams
                                by key */

/* ---- names ---- */

/* Returns the proposed name of the file of a stream, which the caller frees. `receiver`: 0 or 1, a
 * role if it is known which end is the client, else a node as in Follow Stream. `missing`: number
 * of bytes that the capture does not have. */
static char *
file_name(const smcr_conn_t *conn, unsigned receiver, uint64_t missing)
{
    static const char *const directions[2][2] = {
        {"node-1-to-node-0", "node-0-to-node-1"}, /* names as in Follow Stream */
        {"server-to-client", "client-to-server"},
    };
    bool roles = conn->conversation || smcr_evidence_knows_server(conn->lgr);
    const char *direction = directions[roles][receiver];

    if (missing == 0)
        return g_strdup_printf("stream-%u-%s.bin", conn->index, direction);
    return g_strdup_printf("stream-%u-%s-%" PRIu64 "-bytes-missing.bin", conn->index, direction,
                           missing);
}

/* Returns the name of an end of the connection for Export Objects: ADDRESS:PORT; "?": not known.
 * The caller frees the name. */
static char *
end_name(const smcr_conn_t *conn, unsigned role)
{
    address addr;
    uint32_t port;

    if (!smcr_endpoint_address(conn, role, &addr, &port))
        return g_strdup("?");
    char *text = address_to_str(NULL, &addr);
    char *name = g_strdup_printf(addr.type == AT_IPv6 ? "[%s]:%u" : "%s:%u", text, port);
    wmem_free(NULL, text);
    return name;
}

/* Sets the names of the object in the listing of Export Objects. Changes the names only in two
 * cases: 1. the object has no names yet; 2. the receiver or the number of missing bytes has
 * changed. */
static void
set_names(stream_t *stream, const update_t *update)
{
    export_object_entry_t *entry = stream->entry;
    unsigned receiver = !smcr_endpoint_role(update->conn, update->sender);
    uint64_t missing = smcr_pieces_missing(&stream->pieces);

    if (entry->filename && receiver == stream->receiver && missing == stream->missing)
        return;
    g_free(entry->filename);
    g_free(entry->hostname);
    entry->filename = file_name(update->conn, receiver, missing);
    char *from = end_name(update->conn, !receiver), *to = end_name(update->conn, receiver);
    entry->hostname = g_strdup_printf("%s to %s", from, to);
    g_free(from);
    g_free(to);
    stream->receiver = receiver;
    stream->missing = missing;
}

/* ---- listings ---- */

/* Frees the bytes of a stream. Its entry belongs to Wireshark's list, which frees it. */
static void
free_stream(void *data)
{
    stream_t *stream = data;

    smcr_pieces_end(&stream->pieces);
    g_free(stream);
}

/* Returns the streams of Wireshark's list `list`. If the list is empty, forgets earlier streams:
 * some programs list the objects anew without a call of the reset function. */
static GHashTable *
find_listing(export_object_list_t *list)
{
    if (!listings)
        listings = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
                                         (GDestroyNotify)g_hash_table_destroy);
    GHashTable *listing = g_hash_table_lookup(listings, list);
    if (!listing || !list->get_entry(list->gui_data, 0)) {
        listing = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_stream);
        g_hash_table_insert(listings, list, listing);
    }
    return listing;
}

/* Returns the object of a stream. Makes and lists the object if it does not exist yet. */
static stream_t *
find_stream(export_object_list_t *list, const packet_info *pinfo, const update_t *update)
{
    GHashTable *listing = find_listing(list);
    int64_t key = (int64_t)update->conn->index * 2 + update->sender;
    stream_t *stream = g_hash_table_lookup(listing, &key);

    if (stream)
        return stream;
    stream = g_new0(stream_t, 1);
    stream->key = key;
    stream->entry = g_new0(export_object_entry_t, 1);
    stream->entry->pkt_num = pinfo->num;
    stream->entry->content_type = g_strdup("application/octet-stream");
    set_names(stream, update);
    g_hash_table_insert(listing, &stream->key, stream);
    list->add_entry(list->gui_data, stream->entry);
    return stream;
}

/* Adds the update to its stream. The stream is listed if this is its first update. The listed entry
 * points to the bytes of the stream, which may move when it grows: so it is set each time. */
static void
add_update(export_object_list_t *list, const packet_info *pinfo, const update_t *update)
{
    stream_t *stream = find_stream(list, pinfo, update);

    smcr_pieces_note_end(&stream->pieces, update->position);
    if (update->data) {
        unsigned length = tvb_captured_length(update->data);
        smcr_pieces_add(&stream->pieces, update->position,
                        tvb_get_ptr(update->data, 0, (int)length), length);
        smcr_pieces_note_end(&stream->pieces, update->position + tvb_reported_length(update->data));
    }
    stream->entry->payload_data = stream->pieces.bytes;
    stream->entry->payload_len = stream->pieces.length;
    set_names(stream, update);
}

/* If the packet is a retransmission of a packet that the receiver has refused, replaces the bytes
 * of that packet by its own. */
static void
replace_refused(export_object_list_t *list, const packet_info *pinfo, const smcr_tap_t *packet)
{
    const update_t update = {.conn = packet->record->conn, .sender = packet->record->sender};
    smcr_payload_fresh_t fresh;
    uint32_t replaced;

    if (!packet->data ||
        !smcr_payload_find_replacing_bytes(packet->data, packet->record, &fresh, &replaced))
        return;
    unsigned length = tvb_captured_length(fresh.data);
    smcr_pieces_replace(&find_stream(list, pinfo, &update)->pieces, fresh.position,
                        tvb_get_ptr(fresh.data, 0, (int)length), length);
}

/* Adds the bytes of held packets (smcr_tap_t.delivered) to their streams. */
static void
add_held_updates(export_object_list_t *list, const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_record_t record;
    tvbuff_t *data;

    for (unsigned i = 0; (data = smcr_payload_next_buffered(packet, &i, &record)); tvb_free(data))
        add_update(list, pinfo,
                   &(update_t){.conn = record.conn,
                               .sender = record.sender,
                               .position = smcr_place_range(record.write_location).position,
                               .data = data});
}

/* Called by Wireshark for each packet of the tap `smcr`. A CDC message without data may still show
 * that the stream is longer than the captured bytes. */
static tap_packet_status
export_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
              tap_flags_t flags _U_)
{
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    smcr_payload_fresh_t fresh;
    bool has_data = packet->data && smcr_payload_find_new_bytes(packet->data, record, &fresh);
    const smcr_record_cdc_t *cdc = smcr_record_cdc_in_order(record);
    update_t update = {.conn = record->conn, .sender = record->sender};

    add_held_updates(tapdata, pinfo, packet);
    replace_refused(tapdata, pinfo, packet);
    if (has_data) {
        update.position = fresh.position;
        update.data = fresh.data;
    } else if (cdc) {
        update.position = cdc->announced;
    }
    if (!has_data && update.position == 0)
        return TAP_PACKET_DONT_REDRAW;
    add_update(tapdata, pinfo, &update);
    return TAP_PACKET_REDRAW;
}

/* Called by Wireshark when a listing is to begin anew: forgets all listings. */
static void
forget_listings(void)
{
    if (listings)
        g_hash_table_destroy(listings);
    listings = NULL;
}

void
smcr_export_register(int proto)
{
    smcr_tap_add(register_export_object(proto, export_packet, forget_listings), NULL);
}
