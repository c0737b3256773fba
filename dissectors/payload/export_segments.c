/* Exports connections as if they had stayed on TCP, for programs that know TCP only: File > Export
 * PDUs to File. Each packet that changes the byte stream becomes a segment. The data of a segment
 * are the new bytes of an RDMA WRITE, or those of its retransmission. A segment acknowledges the
 * bytes that a CDC message reports as read. So the window is the size of the RMB element, in which
 * these bytes are free again. The end of a stream (RFC 7609 4.8) becomes FIN or RST. SYNs are
 * copied from TCP, with the window scale (RFC 7323) that the size needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exported_pdu.h>
#include <epan/in_cksum.h>
#include <wiretap/wtap.h>

enum {
    TCP = 6,           /* number of the protocol in IP headers */
    HOPS = 64,         /* TTL or hop limit that all segments get */
    TCP_HEADER = 20,   /* length of the TCP header without options, bytes */
    OPTION_NOP = 1,    /* kind of the option No-Operation (RFC 9293 3.1) */
    OPTION_SCALE = 3,  /* kind of the option Window Scale (RFC 7323 2.2); its length is also 3 */
    SCALE_OPTION = 4, /* length of the option Window Scale, with a No-Operation before it */
    SCALE_MAX = 14,   /* highest window scale (RFC 7323 2.3) */
    IPV4_HEADER = 20,
    IPV6_HEADER = 40
};

/* State of a connection's exported segments. Indices are roles: 0 client, 1 server. */
typedef struct {
    uint32_t frame;    /* the last frame with which the state was used; 0: none */
    uint32_t acked[2]; /* by role: number of the peer's bytes that the role has acknowledged, modulo
                          2^32 */
    uint32_t end[2];   /* by role: stream position after the last byte that the role has sent,
                          modulo 2^32 */
    bool fin[2];       /* the role has sent a FIN */
    uint8_t scale[2];  /* by role: window scale in its SYN; 0: none, or no SYN of the role so far */
} exported_t;

static int export_tap; /* tap of Export PDUs to which segments are queued; set at registration */
static wmem_map_t *exported_of; /* smcr_conn_t * -> exported_t */

/* Returns the state of a connection. If the current frame comes before the last frame in the state,
 * a new pass has begun, and the state is reset. */
static exported_t *
find_exported(const packet_info *pinfo, const smcr_conn_t *conn)
{
    exported_t *exported = wmem_map_lookup(exported_of, conn);

    if (!exported) {
        exported = wmem_new0(wmem_file_scope(), exported_t);
        wmem_map_insert(exported_of, conn, exported);
    }
    if (pinfo->num < exported->frame)
        *exported = (exported_t){.frame = 0};
    exported->frame = pinfo->num;
    return exported;
}

/* Whether the connection is exported: its ends on TCP are known, and it has not fallen back. */
static bool
is_exported(const smcr_conn_t *conn)
{
    return conn && conn->conversation && !conn->fallback.kind;
}

/* Writes a number of `size` bytes, in network order. */
static void
put_number(uint8_t *to, unsigned size, uint32_t number)
{
    for (; size > 0; number >>= 8)
        to[--size] = (uint8_t)number;
}

/* A TCP segment to write. Indices: 0 sender, 1 receiver. */
typedef struct {
    address ends[2];     /* addresses */
    uint16_t ports[2];   /* ports */
    uint32_t numbers[2]; /* sequence number (0), acknowledgement number (1) */
    unsigned flags;      /* flags of the TCP header */
    uint8_t scale;       /* a SYN: window scale of the sender */
    uint32_t window;     /* window field of the TCP header */
    tvbuff_t *data;      /* NULL: none */
} out_segment_t;

/* Layout of an IP header: offsets, in bytes, of the fields that are not 0. */
typedef struct {
    unsigned header;      /* length of the header */
    unsigned address;     /* length of an address; the two addresses are at the end of the header */
    uint8_t version;      /* first byte: version, and for IPv4 the length of the header */
    unsigned length_at;   /* 2 bytes: length of the packet */
    unsigned length_less; /* number of header bytes that the length field does not count: 0 for
                             IPv4, the whole header for IPv6 */
    unsigned hops_at;     /* 1 byte: TTL or hop limit */
    unsigned protocol_at; /* 1 byte: protocol after the IP header */
} ip_layout_t;

static const ip_layout_t ipv4_layout = {.header = IPV4_HEADER, .address = 4, .version = 0x45,
                                        .length_at = 2, .hops_at = 8, .protocol_at = 9};
static const ip_layout_t ipv6_layout = {.header = IPV6_HEADER, .address = 16, .version = 0x60,
                                        .length_at = 4, .length_less = IPV6_HEADER, .hops_at = 7,
                                        .protocol_at = 6};

static const ip_layout_t *
layout_of(bool ipv4)
{
    return ipv4 ? &ipv4_layout : &ipv6_layout;
}

/* Length of the TCP header: a SYN has the option Window Scale. */
static unsigned
tcp_length(const out_segment_t *segment)
{
    return TCP_HEADER + ((segment->flags & TH_SYN) ? SCALE_OPTION : 0);
}

/* Length of the segment's data, bytes, captured or not. */
static unsigned
data_length(const out_segment_t *segment)
{
    return segment->data ? tvb_reported_length(segment->data) : 0;
}

/* Length of the captured part of the segment's data, bytes. */
static unsigned
captured_length(const out_segment_t *segment)
{
    return segment->data ? tvb_captured_length(segment->data) : 0;
}

/* Writes the IP header that ends at `tcp`, without the IPv4 checksum. Members that are not written
 * have to be zero before. */
static void
write_ip_header(uint8_t *tcp, const ip_layout_t *layout, const out_segment_t *segment)
{
    uint8_t *ip = tcp - layout->header;
    unsigned length = layout->header + tcp_length(segment) + data_length(segment);

    ip[0] = layout->version;
    put_number(ip + layout->length_at, 2, length - layout->length_less);
    ip[layout->hops_at] = HOPS;
    ip[layout->protocol_at] = TCP;
    for (unsigned i = 0; i < 2; i++)
        memcpy(tcp - (2 - i) * layout->address, segment->ends[i].data, layout->address);
}

/* Writes the TCP header, without its checksum. Its length has to be tcp_length(): a SYN has the
 * option for the window scale. */
static void
write_tcp_header(uint8_t *tcp, const out_segment_t *segment)
{
    for (unsigned i = 0; i < 2; i++) {
        put_number(tcp + 2 * i, 2, segment->ports[i]);
        put_number(tcp + 4 + 4 * i, 4, segment->numbers[i]);
    }
    tcp[12] = (uint8_t)(tcp_length(segment) / 4 << 4);
    tcp[13] = (uint8_t)segment->flags;
    put_number(tcp + 14, 2, segment->window);
    if (segment->flags & TH_SYN) {
        const uint8_t option[SCALE_OPTION] = {OPTION_NOP, OPTION_SCALE, 3, segment->scale};
        memcpy(tcp + TCP_HEADER, option, sizeof option);
    }
}

/* Writes two checksums: the checksum of TCP, for which missing bytes of the data do not count, and
 * the checksum of the IPv4 header. Both are over the other members, which are written before. */
static void
write_checksums(uint8_t *tcp, const ip_layout_t *layout, const out_segment_t *segment)
{
    unsigned addresses = 2 * layout->address;
    uint8_t *ip = tcp - layout->header, pseudo[8] = {0};
    const vec_t parts[] = {{tcp - addresses, (int)addresses},
                           {pseudo, (int)sizeof pseudo},
                           {tcp, (int)(tcp_length(segment) + captured_length(segment))}};

    pseudo[3] = TCP;
    put_number(pseudo + 4, 4, tcp_length(segment) + data_length(segment));
    uint16_t sum = (uint16_t)in_cksum(parts, array_length(parts)); /* in network order */
    memcpy(tcp + 16, &sum, sizeof sum);
    sum = ip_checksum(ip, IPV4_HEADER);
    if (layout == &ipv4_layout)
        memcpy(ip + 10, &sum, sizeof sum);
}

/* Queues a segment for the tap: Wireshark writes the bytes of the buffer as they are. Captured
 * bytes and headers are in the buffer; `tvb_reported_length` counts the data that follow it. */
static void
queue_bytes(packet_info *pinfo, const ip_layout_t *layout, const out_segment_t *segment)
{
    exp_pdu_data_t *pdu = wmem_new0(pinfo->pool, exp_pdu_data_t);
    unsigned captured = captured_length(segment);

    pdu->tlv_buffer_len = layout->header + tcp_length(segment) + captured;
    pdu->tvb_reported_length = data_length(segment) - captured;
    pdu->tlv_buffer = wmem_alloc0(pinfo->pool, pdu->tlv_buffer_len);
    uint8_t *tcp = pdu->tlv_buffer + layout->header;
    if (captured)
        tvb_memcpy(segment->data, tcp + tcp_length(segment), 0, captured);
    write_ip_header(tcp, layout, segment);
    write_tcp_header(tcp, segment);
    write_checksums(tcp, layout, segment);
    tap_queue_packet(export_tap, pinfo, pdu);
}

/* A segment that a role sends. */
typedef struct {
    unsigned role;   /* the role: 0 client, 1 server */
    unsigned flags;  /* flags of the TCP header */
    uint32_t number; /* sequence number */
    tvbuff_t *data;  /* NULL: none */
} outgoing_t;

/* Returns the acknowledgement number of a role: the number after the last byte that the role has
 * read, or after the peer's FIN if the role has read all bytes. */
static uint32_t
acknowledgement_number(const exported_t *exported, unsigned role)
{
    bool has_read_all = exported->acked[role] == exported->end[!role];

    return 1 + exported->acked[role] + (exported->fin[!role] && has_read_all);
}

/* Returns the side of the link group that has the role in the connection. */
static unsigned
side_of(const smcr_conn_t *conn, unsigned role)
{
    return smcr_endpoint_role(conn, 0) != role;
}

/* Number of bytes that fit into the RMB element of the role; 0: not known, as in the first pass
 * before CLC. */
static uint32_t
room_of(const smcr_conn_t *conn, unsigned role)
{
    unsigned side = side_of(conn, role);
    uint32_t size = conn->side[side].size;

    return size - MIN(size, conn->lgr ? conn->lgr->base[side] : 0);
}

/* Returns the least window scale with which the header has room for the window. */
static uint8_t
scale_of(uint32_t room)
{
    uint8_t scale = 0;

    while (scale < SCALE_MAX && room >> scale > UINT16_MAX)
        scale++;
    return scale;
}

/* Returns the window field of a segment that the role sends: the room of its RMB element, shifted
 * by the window scale. The window of a SYN is not scaled. If the capture does not have the role's
 * SYN, no window is scaled. If the room is not known, the field has its highest value. */
static uint32_t
window_field(const smcr_conn_t *conn, const exported_t *exported, const outgoing_t *sending)
{
    uint32_t room = room_of(conn, sending->role);
    bool is_scaled = !(sending->flags & TH_SYN);

    if (!room)
        return UINT16_MAX;
    return MIN(is_scaled ? room >> exported->scale[sending->role] : room, UINT16_MAX);
}

/* Fills in addresses, ports, window and acknowledgement number of a segment, and queues it. */
static void
queue_segment(packet_info *pinfo, const smcr_conn_t *conn, const outgoing_t *sending)
{
    unsigned role = sending->role;
    out_segment_t segment = {.ports = {conn->port[role], conn->port[!role]},
                                 .numbers = {sending->number},
                                 .flags = sending->flags,
                                 .data = sending->data};
    exported_t *exported = find_exported(pinfo, conn);

    if (sending->flags & TH_SYN)
        exported->scale[role] = segment.scale = scale_of(room_of(conn, role));
    segment.window = window_field(conn, exported, sending);
    if (sending->flags & TH_ACK)
        segment.numbers[1] = acknowledgement_number(exported, role);
    smcr_endpoint_tcp_address(conn, role, &segment.ends[0]);
    smcr_endpoint_tcp_address(conn, !role, &segment.ends[1]);
    queue_bytes(pinfo, layout_of(conn->ipv4), &segment);
}

/* ---- segments of a packet ---- */

/* Exports the new bytes of an RDMA WRITE packet as a segment, or a retransmission as a
 * retransmission. A packet without captured bytes becomes a truncated segment, so that the cursors
 * of TCP follow those of SMC-R. */
static void
queue_data(packet_info *pinfo, const smcr_record_t *record, tvbuff_t *data)
{
    smcr_payload_fresh_t fresh;

    if (!is_exported(record->conn) || record->direction < 0)
        return;
    bool has_bytes = smcr_payload_find_accepted_bytes(data, pinfo, record, &fresh) ||
                     smcr_payload_find_truncated_bytes(data, record, &fresh) ||
                     smcr_payload_find_repeated_bytes(data, record, &fresh);
    if (!has_bytes)
        return;
    const outgoing_t sending = {.role = (unsigned)record->direction,
                               .flags = TH_ACK | TH_PUSH,
                               .number = 1 + (uint32_t)fresh.position,
                               .data = fresh.data};
    uint32_t *end = &find_exported(pinfo, record->conn)->end[record->direction];
    *end = MAX(*end, sending.number - 1 + tvb_reported_length(fresh.data));
    queue_segment(pinfo, record->conn, &sending);
}

/* Returns the flags of the segment for a CDC message: RST if its sender aborts the connection, FIN
 * if the sender ends its stream; 0: neither of them. */
static unsigned
end_flags(const smcr_tap_t *packet, const exported_t *exported, unsigned role)
{
    if (packet->cdc && packet->cdc->state & SMCR_CDC_STATE_ABORT)
        return TH_RST;
    return packet->record->cdc_analysis->ends_stream && !exported->fin[role] ? TH_FIN : 0;
}

/* Exports a CDC message as a segment, if it changes how much its sender has read, or ends a
 * stream. */
static void
queue_cdc(packet_info *pinfo, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_record_cdc_t *cdc = record->cdc_analysis;
    unsigned role = record->direction == 1;

    if (!is_exported(record->conn) || record->direction < 0)
        return;
    exported_t *exported = find_exported(pinfo, record->conn);
    uint32_t before = exported->acked[role];
    unsigned ends = end_flags(packet, exported, role);
    const outgoing_t sending = {.role = role,
                               .flags = TH_ACK | ends,
                               .number = 1 + (uint32_t)cdc->announced + exported->fin[role]};
    exported->fin[role] |= ends == TH_FIN;
    if (cdc->has_consumed)
        exported->acked[role] = (uint32_t)cdc->consumed;
    if (ends || exported->acked[role] != before)
        queue_segment(pinfo, record->conn, &sending);
}

/* Exports a segment of TCP: a SYN, or a FIN or RST of a side whose stream CDC has not ended. */
static void
queue_tcp(packet_info *pinfo, const smcr_tap_segment_t *segment)
{
    const smcr_conn_t *conn = segment->conn;
    unsigned role = segment->from_server;
    outgoing_t sending = {.role = role};

    if (!is_exported(conn))
        return;
    bool has_ended = smcr_conn_side_has_ended(&conn->side[side_of(conn, role)]);
    if (segment->flags & TH_SYN) {
        sending.flags = segment->flags & (TH_SYN | TH_ACK);
        queue_segment(pinfo, conn, &sending);
    } else if (segment->flags & (TH_FIN | TH_RST) && !has_ended) {
        sending.flags = segment->flags & (TH_FIN | TH_RST | TH_ACK);
        sending.number = 1 + find_exported(pinfo, conn)->end[role];
        queue_segment(pinfo, conn, &sending);
    }
}

/* Exports a packet of the tap: the bytes of held packets (smcr_tap_t.delivered), its own bytes, a
 * CDC message, or a TCP segment. */
static void
queue_packet(packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_record_t held;
    tvbuff_t *data;

    for (unsigned i = 0; (data = smcr_payload_next_buffered(packet, &i, &held)); tvb_free(data))
        queue_data(pinfo, &held, data);
    if (packet->data)
        queue_data(pinfo, packet->record, packet->data);
    if (smcr_record_cdc_in_order(packet->record))
        queue_cdc(pinfo, packet);
    if (packet->segment)
        queue_tcp(pinfo, packet->segment);
}

void
smcr_export_segments_register(void)
{
    exported_of = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                     g_direct_equal);
    export_tap = register_export_pdu_tap_with_encap("SMC-R as TCP", WTAP_ENCAP_RAW_IP);
    smcr_tap_add(export_tap, queue_packet);
}
