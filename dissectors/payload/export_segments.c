/* The connections as if they had stayed on TCP, for programs that know TCP only: File > Export
 * PDUs to File. Each packet becomes the segment that carries what it adds to the byte stream: its
 * bytes are data, what a CDC message reports as read is acknowledged, and the end of a stream
 * (RFC 7609 4.8) is FIN or RST. SYNs are those of TCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exported_pdu.h>
#include <epan/in_cksum.h>
#include <wiretap/wtap.h>

enum { TCP = 6, HOPS = 64, TCP_HEADER = 20, IPV4_HEADER = 20, IPV6_HEADER = 40 };

/* What the segments of a connection have told so far, by role. */
typedef struct {
    uint32_t frame;    /* the last one */
    uint32_t taken[2]; /* bytes that it has acknowledged */
    uint32_t end[2];   /* of its data */
    bool fin[2];       /* its stream has ended */
} told_t;

static int export_tap;
static wmem_map_t *told_of; /* smcr_conn_t * -> told_t */

/* Nothing is told where the frames come from the beginning again. */
static told_t *
find_told(const packet_info *pinfo, const smcr_conn_t *conn)
{
    told_t *told = wmem_map_lookup(told_of, conn);

    if (!told) {
        told = wmem_new0(wmem_file_scope(), told_t);
        wmem_map_insert(told_of, conn, told);
    }
    if (pinfo->num < told->frame)
        *told = (told_t){.frame = 0};
    told->frame = pinfo->num;
    return told;
}

/* Whether TCP's ends of it are known, and it has left TCP. */
static bool
is_exported(const smcr_conn_t *conn)
{
    return conn && conn->conversation && !conn->fallback.kind;
}

/* A number of `size` bytes, in the order of the wire. */
static void
put(uint8_t *to, unsigned size, uint32_t number)
{
    for (; size > 0; number >>= 8)
        to[--size] = (uint8_t)number;
}

/* The headers of a segment from ends[0] to ends[1], in front of its data, of which `captured` bytes
 * of `length` are there. */
static void
write_headers(uint8_t *tcp, const address ends[2], const uint16_t ports[2], unsigned flags,
              const uint32_t numbers[2], unsigned captured, unsigned length)
{
    bool ipv4 = ends[0].type == AT_IPv4;
    unsigned addresses = ipv4 ? 4 : 16;
    uint8_t *ip = tcp - (ipv4 ? IPV4_HEADER : IPV6_HEADER), pseudo[8] = {0};
    const vec_t parts[] = {{tcp - 2 * addresses, (int)(2 * addresses)},
                           {pseudo, (int)sizeof pseudo},
                           {tcp, (int)(TCP_HEADER + captured)}};

    ip[0] = ipv4 ? 0x45 : 0x60;
    put(ip + (ipv4 ? 2 : 4), 2, TCP_HEADER + length + (ipv4 ? IPV4_HEADER : 0));
    ip[ipv4 ? 8 : 7] = HOPS;
    ip[ipv4 ? 9 : 6] = TCP;
    for (unsigned i = 0; i < 2; i++) {
        memcpy(tcp - (2 - i) * addresses, ends[i].data, addresses);
        put(tcp + 2 * i, 2, ports[i]);
        put(tcp + 4 + 4 * i, 4, numbers[i]);
    }
    tcp[12] = TCP_HEADER / 4 << 4;
    tcp[13] = (uint8_t)flags;
    put(tcp + 14, 2, UINT16_MAX); /* the window, of which nothing is told */
    pseudo[3] = TCP;
    put(pseudo + 4, 4, TCP_HEADER + length);
    uint16_t sum = (uint16_t)in_cksum(parts, array_length(parts)); /* in the order of the wire */
    memcpy(tcp + 16, &sum, sizeof sum);
    sum = ip_checksum(ip, IPV4_HEADER);
    if (ipv4)
        memcpy(ip + 10, &sum, sizeof sum);
}

/* A segment that `role` sends; `number`: of its first byte, or of its flags. `data` may be NULL. */
static void
queue_segment(packet_info *pinfo, const smcr_conn_t *conn, unsigned role, unsigned flags,
              uint32_t number, tvbuff_t *data)
{
    const told_t *told = find_told(pinfo, conn);
    bool all = told->fin[!role] && told->taken[role] == told->end[!role]; /* FIN, too */
    const uint32_t numbers[] = {number, flags & TH_ACK ? 1 + told->taken[role] + all : 0};
    const uint16_t ports[] = {conn->port[role], conn->port[!role]};
    unsigned captured = data ? tvb_captured_length(data) : 0;
    unsigned length = data ? tvb_reported_length(data) : 0;
    unsigned headers = (conn->ipv4 ? IPV4_HEADER : IPV6_HEADER) + TCP_HEADER;
    exp_pdu_data_t *segment = wmem_new0(pinfo->pool, exp_pdu_data_t);
    address ends[2];

    smcr_endpoint_tcp_address(conn, role, &ends[0]);
    smcr_endpoint_tcp_address(conn, !role, &ends[1]);
    segment->tlv_buffer_len = headers + captured; /* Wireshark writes these bytes as they are */
    segment->tvb_reported_length = length - captured;
    segment->tlv_buffer = wmem_alloc0(pinfo->pool, segment->tlv_buffer_len);
    if (captured)
        tvb_memcpy(data, segment->tlv_buffer + headers, 0, captured);
    write_headers(segment->tlv_buffer + headers - TCP_HEADER, ends, ports, flags, numbers, captured,
                  length);
    tap_queue_packet(export_tap, pinfo, segment);
}

/* ---- what a packet tells ---- */

static void
queue_data(packet_info *pinfo, const smcr_record_t *record, tvbuff_t *data)
{
    smcr_payload_fresh_t fresh;

    if (!is_exported(record->conn) || record->direction < 0 ||
        !smcr_payload_fresh_bytes(data, record, &fresh))
        return;
    uint32_t number = 1 + (uint32_t)fresh.position;
    uint32_t *end = &find_told(pinfo, record->conn)->end[record->direction];
    *end = MAX(*end, number - 1 + tvb_reported_length(fresh.data));
    queue_segment(pinfo, record->conn, (unsigned)record->direction, TH_ACK | TH_PUSH, number,
                  fresh.data);
}

/* Of a CDC message: it tells what its sender has read, and where its stream ends. */
static void
queue_view(packet_info *pinfo, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_record_cdc_t *view = record->view;
    unsigned role = record->direction == 1;

    if (!is_exported(record->conn) || record->direction < 0)
        return;
    told_t *told = find_told(pinfo, record->conn);
    uint32_t before = told->taken[role], number = 1 + (uint32_t)view->announced + told->fin[role];
    bool aborts = packet->cdc && packet->cdc->state & SMCR_CDC_STATE_ABORT;
    bool ends = view->last && !told->fin[role];
    told->fin[role] |= ends && !aborts;
    if (view->has_consumed)
        told->taken[role] = (uint32_t)view->consumed;
    if (aborts || ends || told->taken[role] != before)
        queue_segment(pinfo, record->conn, role, TH_ACK | (aborts ? TH_RST : ends ? TH_FIN : 0),
                      number, NULL);
}

/* Of TCP: SYNs, and an end of which CDC has told nothing. */
static void
queue_tcp(packet_info *pinfo, const smcr_tap_segment_t *segment)
{
    const smcr_conn_t *conn = segment->conn;
    unsigned role = segment->from_server;

    if (!is_exported(conn))
        return;
    bool has_ended = smcr_conn_side_has_ended(&conn->side[smcr_endpoint_role(conn, 0) != role]);
    if (segment->flags & TH_SYN)
        queue_segment(pinfo, conn, role, segment->flags & (TH_SYN | TH_ACK), 0, NULL);
    else if (segment->flags & (TH_FIN | TH_RST) && !has_ended)
        queue_segment(pinfo, conn, role, segment->flags & (TH_FIN | TH_RST | TH_ACK),
                      1 + find_told(pinfo, conn)->end[role], NULL);
}

static void
queue_packet(packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_record_t held;
    tvbuff_t *data;

    for (unsigned i = 0; (data = smcr_payload_next_held(packet, &i, &held)); tvb_free(data))
        queue_data(pinfo, &held, data);
    if (packet->data)
        queue_data(pinfo, packet->record, packet->data);
    if (packet->record->view)
        queue_view(pinfo, packet);
    if (packet->segment)
        queue_tcp(pinfo, packet->segment);
}

void
smcr_export_segments_register(void)
{
    told_of = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                     g_direct_equal);
    export_tap = register_export_pdu_tap_with_encap("SMC-R as TCP", WTAP_ENCAP_RAW_IP);
    smcr_tap_add(export_tap, queue_packet);
}
