/* Reads the TCP header of a frame, and checks the checksums of a segment (RFC 9293, 3.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_segment.h"

#include <epan/conversation.h>
#include <epan/in_cksum.h>
#include <epan/prefs-int.h>
#include <epan/prefs.h>
#include <epan/ipproto.h>

#include "fields.h"
#include "ip_packet.h"
#include "wire/wire.h"

/* 0 ends the caller's loop: an option of no length would never end it. */
unsigned
smcr_host_tcp_option_length(const uint8_t *options, unsigned length)
{
    if (options[0] == SMCR_HOST_TCP_OPTION_NOP)
        return 1;
    if (length <= 1 || options[1] < 2 || options[1] > length)
        return 0;
    return options[1];
}

/* Finds the IP header before the TCP segment of the frame. Returns false if there is none, if the
 * packet is a fragment, or if less than a TCP header without options was captured. */
static bool
find_ip(smcr_host_bytes_t frame, const packet_info *pinfo, smcr_host_ip_packet_t *ip)
{
    if (pinfo->ptype != PT_TCP || pinfo->flags.in_error_pkt ||
        !smcr_host_ip_packet_first(frame, &pinfo->net_src, &pinfo->net_dst, ip))
        return false;
    return ip->next == IP_PROTO_TCP && !ip->is_fragment &&
           ip->offset + ip->header_length + SMCR_HOST_TCP_HEADER <= frame.length;
}

/* Whether the header at `bytes` has the ports that TCP's dissector has read. */
static bool
has_ports(const uint8_t *bytes, const packet_info *pinfo)
{
    return smcr_wire_number16(bytes) == pinfo->srcport &&
           smcr_wire_number16(bytes + 2) == pinfo->destport;
}

/* Returns the number of bytes from the TCP header to the end of the IP packet. */
static uint32_t
segment_length(const packet_info *pinfo, const smcr_host_ip_packet_t *ip)
{
    uint32_t packet = smcr_host_ip_packet_length(pinfo, ip);

    return packet > ip->header_length ? packet - ip->header_length : 0;
}

/* The number of the connection is that of the conversation which TCP's dissector has made or found
 * for this frame. Without this conversation the result is false. */
bool
smcr_host_tcp_segment(packet_info *pinfo, struct tcpheader *tcp)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip;

    if (!find_ip(frame, pinfo, &ip))
        return false;
    const uint8_t *bytes = &frame.bytes[ip.offset + ip.header_length];
    conversation_t *conversation =
        find_conversation(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_TCP, pinfo->srcport,
                          pinfo->destport, 0);

    if (!has_ports(bytes, pinfo) || !conversation)
        return false;
    uint32_t length = segment_length(pinfo, &ip);
    uint8_t header = (uint8_t)(bytes[12] >> 4 << 2);
    *tcp = (struct tcpheader){
        .th_rawseq = smcr_wire_number32(bytes + 4),
        .th_rawack = smcr_wire_number32(bytes + 8),
        .th_have_seglen = length >= header,
        .th_seglen = length >= header ? length - header : 0,
        .th_sport = (uint16_t)pinfo->srcport,
        .th_dport = (uint16_t)pinfo->destport,
        .th_hlen = header,
        .th_flags = smcr_wire_number16(bytes + 12) & TH_MASK,
        .th_stream = get_tcp_conversation_data(conversation, pinfo)->stream,
        .ip_src = pinfo->src,
        .ip_dst = pinfo->dst,
    };
    return true;
}

/* ---- checksums ---- */

enum { IPV4_CHECKSUM = 10, TCP_CHECKSUM = 16, CHECKSUM_LENGTH = 2 }; /* offsets; length, bytes */

/* The addresses in the two kinds of IP headers: offset, and length of both together, bytes. */
enum { IPV4_ADDRESSES = 12, IPV4_ADDRESSES_LENGTH = 8 };
enum { IPV6_ADDRESSES = 8, IPV6_ADDRESSES_LENGTH = 32 };

/* Returns the sum over the pseudo-header with this length of the segment, and over `bytes` bytes of
 * the segment, as it would be in the checksum field. The pseudo-header of IPv4 has other fields
 * than that of IPv6, but the same sum. */
static uint16_t
sum_of(const uint8_t *header, const smcr_host_ip_packet_t *ip, uint32_t length, int bytes)
{
    bool is_ipv4 = ip->version == 4;
    const uint8_t *segment = header + ip->header_length;
    uint8_t rest[8] = {0, 0, (uint8_t)(length >> 8), (uint8_t)length, 0, 0, 0, IP_PROTO_TCP};
    vec_t parts[] = {
        {header + (is_ipv4 ? IPV4_ADDRESSES : IPV6_ADDRESSES),
         is_ipv4 ? IPV4_ADDRESSES_LENGTH : IPV6_ADDRESSES_LENGTH},
        {rest, sizeof rest},
        {segment, bytes},
    };

    return (uint16_t)in_cksum(parts, bytes ? 3 : 2);
}

/* Whether the checksum field has a value that a host writes if its adapter fills in the checksum:
 * 0, or the sum over the pseudo-header alone, with or without the length of the segment. */
static bool
is_left_to_adapter(const uint8_t *header, const smcr_host_ip_packet_t *ip, uint32_t length)
{
    uint16_t field;

    memcpy(&field, header + ip->header_length + TCP_CHECKSUM, CHECKSUM_LENGTH);
    return field == 0 || (field ^ sum_of(header, ip, length, 0)) == 0xffff ||
           (field ^ sum_of(header, ip, 0, 0)) == 0xffff;
}

/* An adapter that fills in the header checksum of IPv4 gets 0 from its host. */
static smcr_host_checksum_t
judge_ip(const uint8_t *header, const smcr_host_ip_packet_t *ip)
{
    if (ip->version != 4 || smcr_wire_number16(header + IPV4_CHECKSUM) == 0)
        return SMCR_HOST_CHECKSUM_UNKNOWN;
    return ip_checksum(header, ip->header_length) == 0 ? SMCR_HOST_CHECKSUM_RIGHT
                                                       : SMCR_HOST_CHECKSUM_WRONG;
}

static smcr_host_checksum_t
judge_tcp(const uint8_t *header, const smcr_host_ip_packet_t *ip, uint32_t captured)
{
    uint32_t length = ip->total_length - ip->header_length;

    if (ip->total_length < ip->header_length || length < SMCR_HOST_TCP_HEADER ||
        ip->total_length > captured)
        return SMCR_HOST_CHECKSUM_UNKNOWN;
    if (sum_of(header, ip, length, (int)length) == 0)
        return SMCR_HOST_CHECKSUM_RIGHT;
    return is_left_to_adapter(header, ip, length) ? SMCR_HOST_CHECKSUM_UNKNOWN
                                                  : SMCR_HOST_CHECKSUM_WRONG;
}

/* Whether Wireshark's preference "check_checksum" of the protocol, "ip" or "tcp", is on. */
static bool
validates(const char *protocol)
{
    module_t *module = prefs_find_module(protocol);
    pref_t *preference = module ? prefs_find_preference(module, "check_checksum") : NULL;

    return preference && prefs_get_bool_value(preference, pref_current);
}

/* Tools that rewrite captures (other addresses, names or sequence numbers) often leave the old
 * checksums. So a wrong checksum means damage only if the user wants checksums validated. CLC of a
 * segment with a wrong checksum does not count (tcp/damage.c). */
smcr_host_checksums_t
smcr_host_tcp_checksums(const packet_info *pinfo)
{
    smcr_host_checksums_t found = {SMCR_HOST_CHECKSUM_UNKNOWN, SMCR_HOST_CHECKSUM_UNKNOWN};
    bool validates_ip = validates("ip"), validates_tcp = validates("tcp");
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip;

    if (!(validates_ip || validates_tcp) || !find_ip(frame, pinfo, &ip))
        return found;
    const uint8_t *header = &frame.bytes[ip.offset];
    if (validates_ip)
        found.ip = judge_ip(header, &ip);
    if (validates_tcp)
        found.tcp = judge_tcp(header, &ip, frame.length - ip.offset);
    return found;
}

/* ---- damaged segments ---- */

#define DAMAGED 0x100 /* key of p_add_proto_data() */

void
smcr_host_tcp_set_damaged(packet_info *pinfo)
{
    static char damaged; /* only its address is used */

    p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, DAMAGED, &damaged);
}

bool
smcr_host_tcp_is_damaged(const packet_info *pinfo)
{
    packet_info frame = {.fd = pinfo->fd};

    return p_get_proto_data(wmem_file_scope(), &frame, proto_smcr, DAMAGED) != NULL;
}
