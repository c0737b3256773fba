/* Reads the TCP header of a frame (RFC 9293, 3.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_segment.h"

#include <epan/conversation.h>
#include <epan/ipproto.h>

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
