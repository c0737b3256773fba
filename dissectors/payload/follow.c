/* Collects the bytes of both directions of a connection, in the order of the stream. Data behind
 * a PSN gap wait until what is before them comes, or until the reader says that it has read them,
 * which shows that only the capture lacks what is before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/follow.h>

#include "fields.h"
#include "talk.h"

#define WAITING_MAX 1024      /* pieces of one direction: what a sender may have under way */

static bool
is_from_server(const smcr_record_t *record)
{
    return record->direction >= 0 ? record->direction == 1 : record->sender == 1;
}

/* ---- records of Follow Stream ---- */

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

static void
add_record(follow_info_t *follow, follow_record_t *record)
{
    follow->bytes_written[record->is_server] += record->data->len;
    follow->payload = g_list_prepend(follow->payload, record);
}

static void
add_text(follow_info_t *follow, const packet_info *pinfo, bool from_server, const char *text)
{
    add_record(follow, new_record(pinfo, from_server, text, (unsigned)strlen(text)));
}

static void
add_missing(follow_info_t *follow, const packet_info *pinfo, bool from_server, uint64_t missing)
{
    if (missing)
        add_text(follow, pinfo, from_server,
                 wmem_strdup_printf(pinfo->pool, "[%" PRIu64 " bytes missing in capture file]",
                                    missing));
}

/* Adds data whose turn it is. follow->seq and record->seq are the low 32 bits of positions, of
 * which no two that meet here are 2 GiB apart. */
static void
deliver(follow_info_t *follow, const packet_info *pinfo, follow_record_t *record)
{
    uint32_t *next = &follow->seq[record->is_server];
    int32_t missing = (int32_t)(record->seq - *next);
    uint32_t end = record->seq + record->data->len;

    if ((int32_t)(end - *next) <= 0) {
        free_record(record); /* came before */
        return;
    }
    if (missing < 0)
        g_byte_array_remove_range(record->data, 0, (unsigned)-missing);
    else
        add_missing(follow, pinfo, record->is_server, (uint64_t)missing);
    *next = end;
    add_record(follow, record);
}

/* The last ones come first in the list: data mostly come in order. */
static int
later_first(const void *one, const void *other)
{
    const follow_record_t *a = one, *b = other;

    return (int32_t)(b->seq - a->seq);
}

/* Adds what waits and begins before `until`. */
static void
deliver_waiting(follow_info_t *follow, const packet_info *pinfo, bool from_server, uint32_t until)
{
    GList **waiting = &follow->fragments[from_server];
    GList *at = g_list_last(*waiting);

    while (at && (int32_t)(((follow_record_t *)at->data)->seq - until) < 0) {
        GList *before = at->prev;
        deliver(follow, pinfo, at->data);
        *waiting = g_list_delete_link(*waiting, at);
        at = before;
    }
}

/* Data behind a gap. Where more wait than a sender has under way, the first ones wait in vain. */
static void
keep_waiting(follow_info_t *follow, const packet_info *pinfo, follow_record_t *record)
{
    bool from_server = record->is_server;
    GList **waiting = &follow->fragments[from_server];

    *waiting = g_list_insert_sorted(*waiting, record, later_first);
    const follow_record_t *in_vain = g_list_nth_data(*waiting, WAITING_MAX);
    if (in_vain)
        deliver_waiting(follow, pinfo, from_server, in_vain->seq + 1);
}

static void
take_data(follow_info_t *follow, const packet_info *pinfo, const smcr_record_t *from,
          const smcr_payload_fresh_t *fresh)
{
    unsigned length = tvb_captured_length(fresh->data);
    bool from_server = is_from_server(from);
    uint32_t *next = &follow->seq[from_server];
    follow_record_t *record = new_record(pinfo, from_server,
                                         tvb_get_ptr(fresh->data, 0, (int)length), length);

    record->seq = (uint32_t)fresh->position;
    bool behind = follow->fragments[from_server] && (int32_t)(record->seq - *next) > 0;
    if (from->fate == SMCR_FLOW_FATE_WAIT || fresh->waits || behind) {
        keep_waiting(follow, pinfo, record);
        return;
    }
    if (follow->bytes_written[from_server] == 0) /* the capture may begin late */
        *next = record->seq - (uint32_t)fresh->gap;
    if (fresh->gap > INT32_MAX) {
        add_missing(follow, pinfo, from_server, fresh->gap);
        *next = record->seq;
    } else if (record->seq != *next &&
               fresh->position > (uint64_t)follow->bytes_written[from_server] + INT32_MAX) {
        /* 32 bits do not tell how many */
        add_text(follow, pinfo, from_server, "[more than 2 GiB missing in capture file]");
        *next = record->seq;
    }
    deliver(follow, pinfo, record);
    uint32_t before;
    do { /* what waits, as far as it goes on without a gap */
        before = *next;
        deliver_waiting(follow, pinfo, from_server, before + 1);
    } while (*next != before);
}

/* In the first pass a host may name the connection late: what came before had other positions, and
 * maybe the other direction. */
static void
set_ends(follow_info_t *follow, const smcr_conn_t *conn)
{
    address client, server;
    uint32_t ports[2];

    if (!smcr_endpoint_address(conn, 0, &client, &ports[0]) ||
        !smcr_endpoint_address(conn, 1, &server, &ports[1]) ||
        (addresses_equal(&follow->client_ip, &client) &&
         (!conn->conversation || follow->client_port == ports[0])))
        return;
    g_list_free_full(follow->payload, free_record);
    follow->payload = NULL;
    for (unsigned side = 0; side < 2; side++) {
        follow->bytes_written[side] = follow->seq[side] = 0;
        g_list_free_full(follow->fragments[side], free_record);
        follow->fragments[side] = NULL;
    }
    free_address(&follow->client_ip);
    free_address(&follow->server_ip);
    copy_address(&follow->client_ip, &client);
    copy_address(&follow->server_ip, &server);
    follow->client_port = ports[0];
    follow->server_port = ports[1];
}

static void
take_held(follow_info_t *follow, const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_payload_fresh_t fresh;
    smcr_record_t record;
    tvbuff_t *data;

    for (unsigned i = 0; (data = smcr_payload_next_held(packet, &i, &record)); tvb_free(data))
        if (record.conn == packet->record->conn && /* else it is not known which one is followed */
            smcr_payload_fresh_bytes(data, &record, &fresh))
            take_data(follow, pinfo, &record, &fresh);
}

static tap_packet_status
follow_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
              tap_flags_t flags _U_)
{
    follow_info_t *follow = tapdata;
    const smcr_tap_t *packet = data;
    const smcr_record_t *record = packet->record;
    smcr_payload_fresh_t fresh;
    bool has_data = packet->data && smcr_payload_fresh_bytes(packet->data, record, &fresh);
    const smcr_conn_t *fallen = packet->falls_back;

    if (fallen) {
        set_ends(follow, fallen);
        add_text(follow, pinfo, false,
                 wmem_strdup_printf(
                     pinfo->pool,
                     "[The connection fell back to TCP: %s. Follow TCP stream %u instead.]\n",
                     smcr_show_fallback_reason(pinfo->pool, &fallen->fallback),
                     fallen->tcp_stream));
    }
    if (record->view || has_data)
        set_ends(follow, record->conn);
    if (record->view && record->view->has_consumed)
        deliver_waiting(follow, pinfo, !is_from_server(record), (uint32_t)record->view->consumed);
    take_held(follow, pinfo, packet);
    if (has_data)
        take_data(follow, pinfo, record, &fresh);
    return TAP_PACKET_DONT_REDRAW;
}

static char *
index_filter(unsigned stream, unsigned sub_stream _U_)
{
    return g_strdup_printf("smcr.stream eq %u", stream);
}

static char *
conv_filter(epan_dissect_t *edt _U_, packet_info *pinfo, unsigned *stream, unsigned *sub_stream _U_)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    if (!conn)
        return NULL;
    *stream = conn->index;
    return index_filter(conn->index, 0);
}

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

static char *
port_text(wmem_allocator_t *allocator, unsigned port)
{
    return wmem_strdup_printf(allocator, "%u", port);
}

/* Where the GUI ends its choice of streams. */
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

/* ---- protocols above TCP, whose functions know only its frames ---- */

enum { ABOVE = 4 };
static follow_conv_filter_func above[ABOVE]; /* from handoff until Wireshark ends */

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

/* Of each protocol: Wireshark does not say which one it asks about. */
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
