/* Compares the TCP segments at several capture points (points/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <epan/ipproto.h>

#include "tcp.h"

#include <epan/ipproto.h>

/* Offsets in the header of TCP (RFC 9293, 3.1), bytes. */
enum { SEQUENCE = 4, ACKNOWLEDGED = 8, LENGTH = 12, FLAGS = 13, WINDOW = 14, CHECKSUM = 16 };

#define OPTION_SACK 5 /* kind of the option with SACK blocks (RFC 2018, 3) */
#define SACK_BLOCK 8  /* length of a SACK block, bytes */

/* Reads one option of `length` bytes, if it has SACK blocks or timestamps. Truncated blocks, and
 * timestamps of another length, are ignored. */
static void
read_option(smcr_points_tcp_t *tcp, const uint8_t *option, unsigned length)
{
    bool is_stamp = option[0] == SMCR_HOST_TCP_OPTION_TIMESTAMPS;

    for (unsigned i = 0; option[0] == OPTION_SACK && i < SMCR_POINTS_SACKS; i++) {
        unsigned at = 2 + i * SACK_BLOCK;
        if (at + SACK_BLOCK > length)
            return;
        tcp->sack[i].left = smcr_wire_number32(option + at);
        tcp->sack[i].right = smcr_wire_number32(option + at + SACK_BLOCK / 2);
    }
    if (is_stamp && length == SMCR_HOST_TCP_TIMESTAMPS_LENGTH) {
        tcp->has_timestamps = true;
        tcp->tsval = smcr_wire_number32(option + 2);
        tcp->tsecr = smcr_wire_number32(option + 6);
    }
}

/* Reads `length` captured bytes of options, up to the first malformed one. */
static void
read_options(smcr_points_tcp_t *tcp, const uint8_t *options, unsigned length)
{
    while (length && options[0] != SMCR_HOST_TCP_OPTION_END) {
        unsigned step = smcr_host_tcp_option_length(options, length);

        if (!step)
            return;
        if (step > 1)
            read_option(tcp, options, step);
        options += step;
        length -= step;
    }
}

/* Reads the IP header of the segment, if it is captured. */
static void
read_ip(smcr_points_tcp_t *tcp, tvbuff_t *tvb, const packet_info *pinfo)
{
    smcr_host_bytes_t around = smcr_host_bytes_of(tvb_get_ds_tvb(tvb));
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    uint32_t end = (uint32_t)tvb_raw_offset(tvb);
    smcr_host_ip_packet_t ip;

    if (!smcr_host_ip_packet_before(around, end, &pinfo->src, &pinfo->dst, &ip) &&
        !smcr_host_ip_packet_first(frame, &pinfo->src, &pinfo->dst, &ip))
        return;
    tcp->ip_id = ip.id;
    tcp->traffic_class = ip.traffic_class;
    tcp->hop_limit = ip.hop_limit;
}

/* ---- the checksum ---- */

/* Returns the sum `sum` with the bytes added: as numbers of 32 bits in network byte order, the last
 * one filled up with zeros. If it is folded to 16 bits, it is that of numbers of 16 bits (RFC 1071,
 * 2). */
static uint64_t
add_bytes(uint64_t sum, const uint8_t *bytes, uint32_t length)
{
    uint8_t rest[4] = {0};
    uint32_t whole = length & ~UINT32_C(3);

    for (uint32_t i = 0; i < whole; i += 4)
        sum += smcr_wire_number32(bytes + i);
    if (whole < length)
        memcpy(rest, bytes + whole, length - whole);
    return sum + smcr_wire_number32(rest);
}

/* Returns the sum `sum`, folded to a one's complement sum of 16 bits (RFC 1071). */
static uint16_t
folded(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Returns whether the checksum of the segment is right (RFC 9293, 3.1), SMCR_POINTS_CHECKSUM_...
 * The kernel writes the sum of the pseudo-header alone into a segment whose checksum an adapter is
 * to compute, and into one that it has merged of several; others write 0. */
static uint8_t
checksum_of(smcr_host_bytes_t segment, uint32_t reported, const packet_info *pinfo)
{
    uint64_t around = IP_PROTO_TCP + (uint64_t)reported;
    uint16_t own = smcr_wire_number16(segment.bytes + CHECKSUM);

    if (segment.length < reported || pinfo->fragmented)
        return SMCR_POINTS_CHECKSUM_UNKNOWN;
    around = add_bytes(around, pinfo->src.data, (uint32_t)pinfo->src.len);
    around = add_bytes(around, pinfo->dst.data, (uint32_t)pinfo->dst.len);
    if (!own || own == folded(around))
        return SMCR_POINTS_CHECKSUM_UNKNOWN;
    return folded(add_bytes(around, segment.bytes, reported)) == UINT16_MAX
               ? SMCR_POINTS_CHECKSUM_RIGHT
               : SMCR_POINTS_CHECKSUM_WRONG;
}

/* Reads the options of a TCP header, which begin at `options`. `length`: their length; `captured`:
 * how many bytes are captured from there on. Returns false if they are truncated, but for a SYN or
 * SYN-ACK: its hash `tcp->options` stays 0 then. */
static bool
take_options(smcr_points_tcp_t *tcp, const uint8_t *options, uint32_t length, uint32_t captured)
{
    bool is_syn = tcp->flags & SMCR_POINTS_TCP_SYN;

    read_options(tcp, options, MIN(length, captured));
    if (is_syn && captured >= length)
        tcp->options = smcr_wire_hash(options, length);
    return is_syn || captured >= length;
}

/* Reads the TCP header at the beginning of `tvb`. Returns false if it was not captured whole, or if
 * its length is impossible. The options of a SYN or SYN-ACK may be truncated: they are longer than
 * those of other segments, which the same snap length may leave whole. */
static bool
read_header(smcr_points_tcp_t *tcp, tvbuff_t *tvb, const packet_info *pinfo)
{
    smcr_host_bytes_t bytes = smcr_host_bytes_of(tvb);

    if (bytes.length < SMCR_HOST_TCP_HEADER)
        return false;
    unsigned header = (bytes.bytes[LENGTH] >> 4) * 4U, reported = tvb_reported_length(tvb);
    if (header < SMCR_HOST_TCP_HEADER || header > reported)
        return false;
    *tcp = (smcr_points_tcp_t){
        .seq = smcr_wire_number32(bytes.bytes + SEQUENCE),
        .ack = smcr_wire_number32(bytes.bytes + ACKNOWLEDGED),
        .length = reported - header,
        .flags = bytes.bytes[FLAGS],
        .window = smcr_wire_number16(bytes.bytes + WINDOW),
        .checksum = checksum_of(bytes, reported, pinfo),
    };
    if (!take_options(tcp, bytes.bytes + SMCR_HOST_TCP_HEADER, header - SMCR_HOST_TCP_HEADER,
                      bytes.length - SMCR_HOST_TCP_HEADER))
        return false;
    read_ip(tcp, tvb, pinfo);
    return true;
}

/* Whether the TCP connection of this conversation has shown no sign of SMC-R up to this frame. */
static bool
is_plain(const packet_info *pinfo, conversation_t *conversation)
{
    const smcr_conn_t *conn = smcr_conn_of_conversation(smcr_capture_state(), conversation);

    return !conn || pinfo->num < conn->conversation_from;
}

/* ---- connections without SMC-R behind NAT ---- */

/* If the segment's conversation is the copy of one with a sign of SMC-R, notes this in the state,
 * and claims the copy for the CLC dissector. `original`: the other conversation; NULL: it is no
 * copy. */
static void
note_translated(packet_info *pinfo, conversation_t *original)
{
    if (!original || !smcr_conn_of_conversation(smcr_capture_state(), original))
        return;
    smcr_state_translated(smcr_capture_state(), original);
    smcr_handshake_claim_translated(pinfo);
}

/* If the segment is a client's SYN without a sign of SMC-R: finds out whether another point has
 * shown it with other addresses. */
static void
take_plain_syn(packet_info *pinfo, const smcr_points_tcp_t *tcp)
{
    uint64_t seq = (uint64_t)tcp->seq << 32;
    bool is_syn = (tcp->flags & (SMCR_POINTS_TCP_SYN | SMCR_POINTS_TCP_ACK)) == SMCR_POINTS_TCP_SYN;
    bool is_stamped = tcp->has_timestamps && tcp->tsval;
    uint32_t other = is_stamped ? tcp->tsval : tcp->options ^ tcp->window;

    if (is_syn && !smcr_handshake_find_conn(pinfo) && !smcr_translation_original(pinfo))
        note_translated(pinfo, smcr_translation_take_plain_syn(pinfo, seq | other, is_stamped));
}

/* Finds the ends of the segment's connection, as the capture has shown them first, and whether the
 * connection is plain (is_plain()). Returns the conversation; NULL: it is not known. */
static conversation_t *
find_ends(packet_info *pinfo, smcr_translation_end_t ends[2], bool *plain)
{
    conversation_t *original = smcr_translation_ends_of_copy(pinfo, ends);

    conversation_t *conversation = original ? original : find_conversation_pinfo(pinfo, 0);

    *plain = conversation && is_plain(pinfo, conversation);
    if (original)
        return original;
    smcr_endpoint_gid(&pinfo->src, ends[0].gid);
    smcr_endpoint_gid(&pinfo->dst, ends[1].gid);
    ends[0].port = (uint16_t)pinfo->srcport;
    return conversation;
}

/* Fills in ends and connection of the segment. Returns false if its conversation is not known. */
static bool
fill_ends(packet_info *pinfo, smcr_points_tcp_segment_t *segment)
{
    smcr_translation_end_t ends[2];
    conversation_t *conversation = find_ends(pinfo, ends, &segment->is_plain);

    if (!conversation)
        return false;
    segment->port = ends[0].port;
    segment->connection = get_tcp_conversation_data(conversation, pinfo)->stream;
    memcpy(segment->gid[0], ends[0].gid, SMCR_GID_LENGTH);
    memcpy(segment->gid[1], ends[1].gid, SMCR_GID_LENGTH);
    return true;
}

/* Finds out whether another point has shown the data of the segment with other addresses. If so,
 * its connection is joined with that of the other point, and its earlier segments with it. `tvb`:
 * the segment, from its header on; `taken`: the segment, which was taken. */
static void
take_plain_data(tvbuff_t *tvb, packet_info *pinfo, smcr_points_t *points,
                const smcr_points_tcp_segment_t *taken)
{
    smcr_host_bytes_t data = smcr_host_bytes_of(tvb);
    uint32_t header = tvb_reported_length(tvb) - taken->tcp->length;
    smcr_points_tcp_segment_t original = *taken;

    if (data.length <= header || smcr_translation_original(pinfo))
        return;
    data.bytes += header;
    data.length -= header;
    note_translated(pinfo, smcr_translation_take_data(pinfo, taken->tcp->seq, data));
    if (smcr_translation_original(pinfo) && fill_ends(pinfo, &original))
        smcr_points_join_tcp(points, taken, &original);
}

/* Takes the segment at the beginning of `tvb`. A segment whose header cannot be read, or whose
 * conversation is not known, is left out. `points`: the capture points of the file. */
static void
take_segment(tvbuff_t *tvb, packet_info *pinfo, smcr_points_t *points)
{
    bool takes_plain = smcr_capture_compares_all_tcp();
    smcr_points_tcp_t tcp;
    smcr_points_tcp_segment_t segment = {
        .when = smcr_capture_when(pinfo),
        .place = {smcr_capture_interface(pinfo), smcr_capture_device(pinfo)},
        .tcp = &tcp,
    };

    smcr_capture_note_name(pinfo);
    if (!read_header(&tcp, tvb, pinfo))
        return;
    if (takes_plain)
        take_plain_syn(pinfo, &tcp);
    if (!fill_ends(pinfo, &segment))
        return;
    bool is_alone = smcr_points_take_tcp(points, &segment);
    if (is_alone && segment.is_plain && takes_plain)
        take_plain_data(tvb, pinfo, points, &segment);
}

/* This runs for the segments of all TCP connections, so without several points it costs nothing but
 * a test. */
void
smcr_tcp_take_point(tvbuff_t *tvb, packet_info *pinfo)
{
    smcr_points_t *points = smcr_state_points(smcr_capture_state());

    if (points && pinfo->ptype == PT_TCP) /* TCP has dissected the segment */
        take_segment(tvb, pinfo, points);
}

/* A segment after extension headers of IPv6 is not found. */
void
smcr_tcp_take_point_of_option(tvbuff_t *option, packet_info *pinfo)
{
    tvbuff_t *source = tvb_get_ds_tvb(option);
    smcr_host_ip_packet_t ip;

    if (!smcr_state_points(smcr_capture_state()) ||
        !smcr_host_ip_packet_before(smcr_host_bytes_of(source), (uint32_t)tvb_raw_offset(option),
                                    &pinfo->net_src, &pinfo->net_dst, &ip))
        return;
    int header = (int)(ip.offset + ip.header_length);
    int length = (int)ip.total_length - ip.header_length;

    if (ip.next == IP_PROTO_TCP && length >= SMCR_HOST_TCP_HEADER)
        smcr_tcp_take_point(tvb_new_subset_length(source, header, length), pinfo);
}
