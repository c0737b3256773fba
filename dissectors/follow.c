/* follow.c
 * Collects the bytes of both directions of a connection, in the order of the stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "follow.h"

#include <string.h>

#include <epan/follow.h>
#include <wsutil/wmem/wmem.h>

#include "dissector_state.h"
#include "fields.h"

#define KEY_SELECTED 0x53454c /* of the packet's own data, in the pool of the packet */

/* What the tap carries. */
typedef struct {
    const smcr_conn_t *conn;
    bool from_server;
    uint64_t gap;
    tvbuff_t *data;   /* NULL: `text` stands for it */
    const char *text;
} piece_t;

static int follow_tap = -1;

/* ---- from the dissectors ---- */

void
smcr_follow_data(tvbuff_t *data, packet_info *pinfo, const smcr_packet_t *packet, uint64_t gap)
{
    if (!have_tap_listener(follow_tap))
        return;
    piece_t *piece = wmem_new0(pinfo->pool, piece_t);

    piece->conn = packet->conn;
    piece->from_server = packet->direction >= 0 ? packet->direction == 1 : packet->sender == 1;
    piece->gap = gap;
    piece->data = data;
    tap_queue_packet(follow_tap, pinfo, piece);
}

void
smcr_follow_fell_back(packet_info *pinfo, const smcr_conn_t *conn)
{
    if (!have_tap_listener(follow_tap))
        return;
    piece_t *piece = wmem_new0(pinfo->pool, piece_t);

    piece->conn = conn;
    piece->text = wmem_strdup_printf(
        pinfo->pool, "[The connection fell back to TCP: %s. Follow TCP stream %u instead.]\n",
        conn->fallback_reason, conn->tcp_stream);
    tap_queue_packet(follow_tap, pinfo, piece);
}

void
smcr_follow_select(packet_info *pinfo, const smcr_conn_t *conn)
{
    p_add_proto_data(pinfo->pool, pinfo, proto_smcr, KEY_SELECTED,
                     wmem_memdup(pinfo->pool, &conn->index, sizeof conn->index));
}

/* ---- to the user ---- */

static void
add_record(follow_info_t *follow, const packet_info *pinfo, bool from_server, const uint8_t *bytes,
           unsigned length)
{
    follow_record_t *record = g_new0(follow_record_t, 1);

    record->is_server = from_server;
    record->packet_num = pinfo->num;
    record->abs_ts = pinfo->abs_ts;
    record->data = g_byte_array_sized_new(length);
    g_byte_array_append(record->data, bytes, length);
    follow->bytes_written[from_server] += length;
    follow->payload = g_list_prepend(follow->payload, record);
}

static void
set_ends(follow_info_t *follow, const smcr_conn_t *conn)
{
    if (follow->client_port || !conn->has_tcp)
        return;
    address ends[2];

    for (unsigned role = 0; role < 2; role++) {
        if (conn->ipv4)
            set_address(&ends[role], AT_IPv4, 4, conn->addr[role] + 12);
        else
            set_address(&ends[role], AT_IPv6, SMCR_GID_LENGTH, conn->addr[role]);
    }
    follow->client_port = conn->port[0];
    follow->server_port = conn->port[1];
    copy_address(&follow->client_ip, &ends[0]);
    copy_address(&follow->server_ip, &ends[1]);
}

static tap_packet_status
follow_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
              tap_flags_t flags _U_)
{
    follow_info_t *follow = tapdata;
    const piece_t *piece = data;

    set_ends(follow, piece->conn);
    if (piece->text) {
        add_record(follow, pinfo, false, (const uint8_t *)piece->text,
                   (unsigned)strlen(piece->text));
        return TAP_PACKET_DONT_REDRAW;
    }
    if (piece->gap) {
        char *missing = g_strdup_printf("[%" PRIu64 " bytes missing in capture file]", piece->gap);
        add_record(follow, pinfo, piece->from_server, (const uint8_t *)missing,
                   (unsigned)strlen(missing));
        g_free(missing);
    }
    unsigned length = tvb_captured_length(piece->data);
    add_record(follow, pinfo, piece->from_server, tvb_get_ptr(piece->data, 0, (int)length), length);
    return TAP_PACKET_DONT_REDRAW;
}

static char *
conv_filter(epan_dissect_t *edt _U_, packet_info *pinfo, unsigned *stream, unsigned *sub_stream _U_)
{
    const uint32_t *index = p_get_proto_data(pinfo->pool, pinfo, proto_smcr, KEY_SELECTED);

    if (!index)
        return NULL;
    *stream = *index;
    return g_strdup_printf("smcr.stream eq %u", *index);
}

static char *
index_filter(unsigned stream, unsigned sub_stream _U_)
{
    return g_strdup_printf("smcr.stream eq %u", stream);
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
    return smcr_state ? smcr_conn_count(smcr_state) : 0;
}

void
smcr_follow_register(int proto)
{
    follow_tap = register_tap("smcr_follow");
    compat_register_follow_stream(proto, "smcr_follow", conv_filter, index_filter, address_filter,
                                  port_text, follow_packet, stream_count);
}
