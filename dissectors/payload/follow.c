/* Follow Stream: collects the bytes of both directions of a connection, in the order of the stream.
 * Data after a sequence gap wait until the missing bytes come, or until the reader reports the data
 * as read: then the missing bytes are missing only in the capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/follow.h>

#include "fields.h"
#include "tcp_state.h"

#define REPLACED_MAX 16384 /* number of newest records among which a retransmission finds the data
                              that it replaces: more than two senders usually have unacknowledged */
#define WAITING_MAX 1024 /* maximum number of waiting packets of one direction: more than a sender
                            usually has unacknowledged */

/* Whether the server sends the packet. If the direction is not known, side 1 of the link group
 * counts as the server. */
static bool
is_from_server(const smcr_record_t *record)
{
    return record->direction >= 0 ? record->direction == 1 : record->sender == 1;
}

/* ---- records of Follow Stream ---- */

/* Returns a piece of the followed stream with a copy of the bytes. Wireshark frees it. */
static follow_record_t *
new_record(const packet_info *pinfo, bool from_server, const void *bytes, unsigned length)
{
    follow_record_t *record = g_new0(follow_record_t, 1);

    record->is_server = from_server;
    record->packet_num = pinfo->num;
    record->abs_ts = pinfo->abs_ts;
    record->data = g_byte_array_sized_new(length);
    g_byte_array_append(record->data, bytes, length);
    return record;
}

static void
free_record(void *record)
{
    g_byte_array_free(((follow_record_t *)record)->data, TRUE);
    g_free(record);
}

/* Adds a record to the text of Follow Stream. */
static void
add_record(follow_info_t *follow, follow_record_t *record)
{
    follow->bytes_written[record->is_server] += record->data->len;
    follow->payload = g_list_prepend(follow->payload, record);
}

/* Adds a text of the plugin to the stream, in the direction of the sender. */
static void
add_text(follow_info_t *follow, const packet_info *pinfo, bool from_server, const char *text)
{
    add_record(follow, new_record(pinfo, from_server, text, (unsigned)strlen(text)));
}

/* Adds a text with the number of missing bytes of the stream. Adds nothing if `missing` is 0. */
static void
add_missing(follow_info_t *follow, const packet_info *pinfo, bool from_server, uint64_t missing)
{
    if (missing)
        add_text(follow, pinfo, from_server,
                 wmem_strdup_printf(pinfo->pool, "[%" PRIu64 " bytes missing in capture file]",
                                    missing));
}

/* Adds data to the text of Follow Stream. If bytes are missing before the data, first adds a text
 * with their number. Leaves out bytes that earlier packets have carried. The text owns the record
 * from then on, or the record is freed. follow->seq and record->seq are the low 32 bits of stream
 * positions. Positions that this function compares are less than 2 GiB apart. */
static void
deliver_record(follow_info_t *follow, const packet_info *pinfo, follow_record_t *record)
{
    uint32_t *next = &follow->seq[record->is_server];
    int32_t missing = (int32_t)(record->seq - *next);
    uint32_t end = record->seq + record->data->len;

    if ((int32_t)(end - *next) <= 0) {
        free_record(record); /* earlier packets have already carried the data */
        return;
    }
    if (missing < 0) {
        g_byte_array_remove_range(record->data, 0, (unsigned)-missing);
        record->seq = *next;
    } else {
        add_missing(follow, pinfo, record->is_server, (uint64_t)missing);
    }
    *next = end;
    add_record(follow, record);
}

/* Comparison for a list with the highest stream position first. New data are inserted from the
 * beginning of the list, and in most cases have the highest position. */
static int
later_first(const void *one, const void *other)
{
    const follow_record_t *a = one, *b = other;

    return (int32_t)(b->seq - a->seq);
}

/* Adds the waiting data whose positions are before `until`, the lowest position first. They leave
 * the list, and deliver_record() frees them or adds them to the text. */
static void
deliver_waiting(follow_info_t *follow, const packet_info *pinfo, bool from_server, uint32_t until)
{
    GList **waiting = &follow->fragments[from_server];
    GList *at = g_list_last(*waiting);

    while (at && (int32_t)(((follow_record_t *)at->data)->seq - until) < 0) {
        GList *before = at->prev;
        deliver_record(follow, pinfo, at->data);
        *waiting = g_list_delete_link(*waiting, at);
        at = before;
    }
}

/* Keeps data after a gap until the gap is filled. If more than WAITING_MAX packets wait, the gap
 * before the first one counts as never filled, and its data are added. */
static void
keep_waiting(follow_info_t *follow, const packet_info *pinfo, follow_record_t *record)
{
    bool from_server = record->is_server;
    GList **waiting = &follow->fragments[from_server];

    *waiting = g_list_insert_sorted(*waiting, record, later_first);
    const follow_record_t *overdue = g_list_nth_data(*waiting, WAITING_MAX);
    if (overdue)
        deliver_waiting(follow, pinfo, from_server, overdue->seq + 1);
}

/* Whether data have to wait for missing bytes. Any of three conditions is enough: 1. the packet of
 * the data came after a sequence gap; 2. a later frame may fill the gap before the data; 3. other
 * data of the direction wait already, and bytes are missing before these data. */
static bool
has_to_wait(const follow_info_t *follow, const smcr_record_t *from,
            const smcr_payload_fresh_t *fresh)
{
    bool from_server = is_from_server(from);
    int32_t ahead = (int32_t)((uint32_t)fresh->position - follow->seq[from_server]);

    return from->receiver_action == SMCR_FLOW_RECEIVER_WAITS || fresh->gap_may_be_filled ||
           (follow->fragments[from_server] && ahead > 0);
}

/* Whether more than 2 GiB are missing before the data, so that comparisons of 32-bit positions do
 * not work. */
static bool
lacks_too_much(const follow_info_t *follow, bool from_server, const smcr_payload_fresh_t *fresh)
{
    return (uint32_t)fresh->position != follow->seq[from_server] &&
           fresh->position > (uint64_t)follow->bytes_written[from_server] + INT32_MAX;
}

/* If more than 2 GiB are missing before the data, adds a text for the missing bytes. Afterwards the
 * data are less than 2 GiB after the text, so that deliver_record() can compare positions. */
static void
skip_large_gap(follow_info_t *follow, const packet_info *pinfo, bool from_server,
               const smcr_payload_fresh_t *fresh)
{
    uint32_t *next = &follow->seq[from_server];

    if (follow->bytes_written[from_server] == 0) /* the beginning of the text: nothing is missing if
                                                    the capture starts mid-connection */
        *next = (uint32_t)fresh->position - (uint32_t)fresh->gap;
    if (fresh->gap > INT32_MAX) {
        add_missing(follow, pinfo, from_server, fresh->gap);
        *next = (uint32_t)fresh->position;
    } else if (lacks_too_much(follow, from_server, fresh)) {
        add_text(follow, pinfo, from_server, "[more than 2 GiB missing in capture file]");
        *next = (uint32_t)fresh->position;
    }
}

/* Adds the data of a packet, and the data that have waited for them. Data that have to wait
 * themselves are only kept. */
static void
add_data(follow_info_t *follow, const packet_info *pinfo, const smcr_record_t *from,
         const smcr_payload_fresh_t *fresh)
{
    unsigned length = tvb_captured_length(fresh->data);
    bool from_server = is_from_server(from);
    const uint32_t *next = &follow->seq[from_server];
    follow_record_t *record = new_record(pinfo, from_server,
                                         tvb_get_ptr(fresh->data, 0, (int)length), length);

    record->seq = (uint32_t)fresh->position;
    if (has_to_wait(follow, from, fresh)) {
        keep_waiting(follow, pinfo, record);
        return;
    }
    skip_large_gap(follow, pinfo, from_server, fresh);
    deliver_record(follow, pinfo, record);
    uint32_t before;
    do { /* loop: adds waiting data up to the next gap */
        before = *next;
        deliver_waiting(follow, pinfo, from_server, before + 1);
    } while (*next != before);
}

/* Copies to the data of `record` the bytes of `fresh` that have the same stream positions. */
static void
overwrite_record(const follow_record_t *record, const smcr_payload_fresh_t *fresh)
{
    uint32_t ahead = (uint32_t)fresh->position - record->seq;
    unsigned length = tvb_captured_length(fresh->data);

    if (ahead < record->data->len)
        tvb_memcpy(fresh->data, record->data->data + ahead, 0,
                   MIN(length, record->data->len - ahead));
}

/* Returns the record with the data of the packet in `frame`; NULL: there is none among the first
 * REPLACED_MAX records of the list. The text of Follow Stream has its newest record first. So if
 * a text about missing bytes has the same frame, the search finds the data, which were added
 * after the text. */
static const follow_record_t *
find_record(const GList *records, bool from_server, uint32_t frame)
{
    unsigned left = REPLACED_MAX;

    for (; records && left > 0; records = records->next, left--) {
        const follow_record_t *record = records->data;
        if (record->packet_num == frame && record->is_server == from_server)
            return record;
    }
    return NULL;
}

/* If the packet is a retransmission of a packet that the receiver has refused, replaces the data of
 * that packet by its own. The data stay in their place in the text. */
static void
replace_refused(const follow_info_t *follow, const smcr_tap_t *packet)
{
    bool from_server = is_from_server(packet->record);
    smcr_payload_fresh_t fresh;
    uint32_t frame;

    if (!packet->data ||
        !smcr_payload_find_replacing_bytes(packet->data, packet->record, &fresh, &frame))
        return;
    const follow_record_t *record = find_record(follow->fragments[from_server], from_server, frame);
    if (!record)
        record = find_record(follow->payload, from_server, frame);
    if (record)
        overwrite_record(record, &fresh);
}

/* Frees all records that have been collected, and begins both directions anew. */
static void
clear_records(follow_info_t *follow)
{
    g_list_free_full(follow->payload, free_record);
    follow->payload = NULL;
    for (unsigned side = 0; side < 2; side++) {
        follow->bytes_written[side] = follow->seq[side] = 0;
        g_list_free_full(follow->fragments[side], free_record);
        follow->fragments[side] = NULL;
    }
}

/* Whether Follow Stream already has this client of the connection. The port is compared only if
 * the TCP connection is known. */
static bool
is_same_client(const follow_info_t *follow, const smcr_conn_t *conn, const address *client,
               uint32_t port)
{
    return addresses_equal(&follow->client_ip, client) &&
           (!conn->conversation || follow->client_port == port);
}

/* Sets the ends of the connection. In the first pass, a host may report the TCP connection over
 * netlink after the first data. Data collected before had other positions, and perhaps the wrong
 * direction, so they are removed. */
static void
set_ends(follow_info_t *follow, const smcr_conn_t *conn)
{
    address client, server;
    uint32_t ports[2];

    if (!smcr_endpoint_address(conn, 0, &client, &ports[0]) ||
        !smcr_endpoint_address(conn, 1, &server, &ports[1]))
        return;
    if (is_same_client(follow, conn, &client, ports[0]))
        return;
    clear_records(follow);
    free_address(&follow->client_ip);
    free_address(&follow->server_ip);
    copy_address(&follow->client_ip, &client);
    copy_address(&follow->server_ip, &server);
    follow->client_port = ports[0];
    follow->server_port = ports[1];
}

/* Adds the data of held packets (smcr_tap_t.delivered). */
static void
add_held(follow_info_t *follow, const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_payload_fresh_t fresh;
    smcr_record_t record;
    tvbuff_t *data;

    for (unsigned i = 0; (data = smcr_payload_next_buffered(packet, &i, &record)); tvb_free(data))
        if (record.conn == packet->record->conn && /* the held bytes may belong to another
                                                      connection than the followed one */
            smcr_payload_find_new_bytes(data, &record, &fresh))
            add_data(follow, pinfo, &record, &fresh);
}

/* Adds a text if the connection has fallen back to TCP: its bytes are in the TCP stream. */
static void
add_fallback(follow_info_t *follow, const packet_info *pinfo, const smcr_conn_t *conn)
{
    set_ends(follow, conn);
    add_text(follow, pinfo, false,
             wmem_strdup_printf(
                 pinfo->pool,
                 "[The connection fell back to TCP: %s. Follow TCP stream %u instead.]\n",
                 smcr_show_fallback_reason(pinfo->pool, &conn->fallback), conn->tcp_stream));
}

/* Called by Wireshark for each packet of the followed connection. A CDC message that reports data
 * as read releases waiting data up to that position. A fallback to TCP is shown as a text. */
static tap_packet_status
follow_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
              tap_flags_t flags _U_)
{
    follow_info_t *follow = tapdata;
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    const smcr_record_cdc_t *cdc = smcr_record_cdc_in_order(record);
    smcr_payload_fresh_t fresh;
    bool has_data = packet->data && smcr_payload_find_new_bytes(packet->data, record, &fresh);

    if (packet->falls_back)
        add_fallback(follow, pinfo, packet->falls_back);
    if (cdc || has_data)
        set_ends(follow, record->conn);
    if (cdc && cdc->has_consumed)
        deliver_waiting(follow, pinfo, !is_from_server(record), (uint32_t)cdc->consumed);
    add_held(follow, pinfo, packet);
    if (has_data)
        add_data(follow, pinfo, record, &fresh);
    else
        replace_refused(follow, packet);
    return TAP_PACKET_DONT_REDRAW;
}

/* Called by Wireshark: returns the display filter of a connection, by its number. Wireshark frees
 * it. */
static char *
index_filter(unsigned stream, unsigned sub_stream _U_)
{
    return g_strdup_printf("smcr.stream eq %u", stream);
}

/* Called by Wireshark for the selected packet: sets `*stream` to the number of its connection, and
 * returns the display filter of the connection, which Wireshark frees. NULL: the packet has no
 * connection. */
static char *
conv_filter(epan_dissect_t *edt _U_, packet_info *pinfo, unsigned *stream, unsigned *sub_stream _U_)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    if (!conn)
        return NULL;
    *stream = conn->index;
    return index_filter(conn->index, 0);
}

/* Called by Wireshark: returns a display filter for the connections between two addresses and
 * ports, whichever end is the client. Wireshark frees it. */
static char *
address_filter(address *src, address *dst, int src_port, int dst_port)
{
    char *one = address_to_str(NULL, src);
    char *other = address_to_str(NULL, dst);
    char *filter = g_strdup_printf(
        "(smcr.client.addr == \"%s\" and smcr.client.port == %d and smcr.server.addr == \"%s\" "
        "and smcr.server.port == %d) or (smcr.client.addr == \"%s\" and smcr.client.port == %d "
        "and smcr.server.addr == \"%s\" and smcr.server.port == %d)",
        one, src_port, other, dst_port, other, dst_port, one, src_port);

    wmem_free(NULL, one);
    wmem_free(NULL, other);
    return filter;
}

/* Called by Wireshark: a port as text, which the caller of Follow Stream frees with `allocator`. */
static char *
port_text(wmem_allocator_t *allocator, unsigned port)
{
    return wmem_strdup_printf(allocator, "%u", port);
}

/* Returns how many streams the window offers: the numbers of connections, from 0. */
static uint32_t
stream_count(void)
{
    const smcr_state_t *state = smcr_capture_state();

    return state ? smcr_conn_count(state) : 0;
}

void
smcr_follow_register(int proto)
{
    compat_register_follow_stream(proto, SMCR_TAP, conv_filter, index_filter, address_filter,
                                  port_text, follow_packet, stream_count);
}

/* TLS, HTTP, WebSocket and HTTP2 have functions that find the stream of a frame. These functions
 * work only for TCP. The plugin wraps them: during the call, a RoCE frame gets the addresses and
 * ports of a TCP segment. */

enum { ABOVE = 4 };
static follow_conv_filter_func above[ABOVE]; /* the functions of these protocols; set at hand-off */

/* Finds the stream of a frame by the function `find` of a protocol above TCP. For a RoCE frame,
 * `find` gets addresses and ports of the TCP connection, or of its stand-in. For all other frames,
 * it gets the frame as it is. Returns its result: a display filter, which Wireshark frees, or
 * NULL. */
static char *
filter_above(follow_conv_filter_func find, epan_dissect_t *edt, packet_info *pinfo,
             unsigned *stream, unsigned *sub_stream)
{
    const smcr_conn_t *conn = pinfo->ptype == PT_TCP ? NULL : smcr_selected_conn(pinfo);
    packet_info as_tcp = *pinfo;

    if (conn && (conn->flow[0] || conn->flow[1]))
        smcr_handshake_set_ends(&as_tcp, conn->flow[conn->flow[0] == NULL]->ends, 0);
    return find(edt, &as_tcp, stream, sub_stream);
}

/* Defines a function for each protocol, since Wireshark does not pass the protocol as an
 * argument. */
#define FILTER_ABOVE(i) \
    static char *filter_##i(epan_dissect_t *edt, packet_info *pinfo, unsigned *stream, \
                            unsigned *sub_stream) \
    { \
        return filter_above(above[i], edt, pinfo, stream, sub_stream); \
    }
FILTER_ABOVE(0)
FILTER_ABOVE(1)
FILTER_ABOVE(2)
FILTER_ABOVE(3)

/* A protocol that this Wireshark does not know is left out. */
void
smcr_follow_handoff(void)
{
    static const char *const names[ABOVE] = {"TLS", "HTTP", "WebSocket", "HTTP2"};
    static const follow_conv_filter_func filters[ABOVE] = {filter_0, filter_1, filter_2, filter_3};

    for (unsigned i = 0; i < ABOVE; i++) {
        register_follow_t *follower = get_follow_by_name(names[i]);
        if (!follower)
            continue;
        above[i] = get_follow_conv_func(follower);
        compat_wrap_follow_stream(follower, filters[i]);
    }
}
