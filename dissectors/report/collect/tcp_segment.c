/* tcp_segment.c
 * Reads a segment's headers where they stand in the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_segment.h"

#include <string.h>

#include "host/host.h"

#define SHORTEST 20 /* bytes of a header without options */
#define PATTERN 14  /* bytes of ports, sequence number, acknowledgement, length and flags */

/* Options (RFC 9293, 3.1; RFC 7323, 3.2; RFC 2018, 3) */
#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define OPTION_TIMESTAMPS 8
#define OPTION_FAST_OPEN 34 /* RFC 7413, 4.1.1 */
#define TIMESTAMPS_LENGTH 10
#define NOPS 6 /* in a row, which no sender needs: bytes of our option */
#define SACK_BLOCK 8

static uint32_t
number32(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 4);
}

/* ---- finding the header ---- */

/* What a TCP header begins with, as on the wire. */
typedef struct {
    uint16_t ports[2];
    uint32_t seq, ack;
    uint16_t flags; /* with the header's length before */
} pattern_t;

static bool
is_at(smcr_host_bytes_t bytes, uint32_t offset, const pattern_t *pattern)
{
    return offset <= bytes.length && bytes.length - offset >= PATTERN &&
           memcmp(&bytes.bytes[offset], pattern, PATTERN) == 0;
}

/* Returns whether `offset` has been found; `try` is looked at first. */
static bool
find(smcr_host_bytes_t bytes, uint32_t try, const pattern_t *pattern, uint32_t *offset)
{
    *offset = try;
    if (!bytes.bytes || is_at(bytes, try, pattern))
        return bytes.bytes != NULL;
    for (*offset = 0; *offset + PATTERN <= bytes.length; ++*offset)
        if (is_at(bytes, *offset, pattern))
            return true;
    return false;
}

/* Where the headers of a segment are. */
typedef struct {
    smcr_host_bytes_t bytes; /* that have the TCP header; none: it has not been found */
    uint32_t tcp;            /* offset in them */
    bool has_ip;
    smcr_host_ip_packet_t ip;
} headers_t;

/* The IP header is before TCP's; where fragments have been put together, in the frame itself. */
static void
find_ip(headers_t *headers, smcr_host_bytes_t frame, const struct tcpheader *tcp, uint32_t try)
{
    const address *src = &tcp->ip_src, *dst = &tcp->ip_dst;

    headers->has_ip =
        (try < headers->tcp &&
         smcr_host_ip_packet_at(headers->bytes, try, src, dst, &headers->ip)) ||
        smcr_host_ip_packet_before(headers->bytes, headers->tcp, src, dst, &headers->ip) ||
        smcr_host_ip_packet_first(frame, src, dst, &headers->ip);
}

/* Looks through the frame, then through what has been put together or decrypted. */
static headers_t
find_headers(const packet_info *pinfo, const struct tcpheader *tcp,
             smcr_collect_tcp_offsets_t *offsets)
{
    uint16_t flags = (uint16_t)(tcp->th_hlen / 4 << 12 | (tcp->th_flags & 0xfff));
    pattern_t pattern = {{g_htons(tcp->th_sport), g_htons(tcp->th_dport)},
                         g_htonl(tcp->th_rawseq),
                         g_htonl(tcp->th_rawack),
                         g_htons(flags)};
    smcr_host_bytes_t frame = {NULL, 0};
    headers_t headers = {.bytes = {NULL, 0}};

    for (const GSList *source = pinfo->data_src; source; source = source->next) {
        smcr_host_bytes_t bytes = smcr_host_bytes_of(get_data_source_tvb(source->data));

        if (source == pinfo->data_src)
            frame = bytes;
        if (!find(bytes, offsets->tcp, &pattern, &headers.tcp))
            continue;
        headers.bytes = bytes;
        find_ip(&headers, frame, tcp, offsets->ip);
        *offsets = (smcr_collect_tcp_offsets_t){headers.ip.offset, headers.tcp};
        break;
    }
    return headers;
}

/* ---- reading it ---- */

static void
read_option(smcr_congestion_tcp_segment_t *segment, const uint8_t *option, unsigned length)
{
    if (option[0] == OPTION_FAST_OPEN)
        segment->sign = MAX(segment->sign, SMCR_FIGURE_SIGN_FAST_OPEN);
    if (option[0] == OPTION_SACK) {
        for (unsigned at = 2;
             at + SACK_BLOCK <= length && segment->sacks < SMCR_CONGESTION_TCP_SACKS;
             at += SACK_BLOCK) {
            segment->sack[segment->sacks].left = number32(option + at);
            segment->sack[segment->sacks].right = number32(option + at + 4);
            segment->sacks++;
        }
    } else if (option[0] == OPTION_TIMESTAMPS && length == TIMESTAMPS_LENGTH) {
        segment->timestamps = true;
        segment->tsval = number32(option + 2);
        segment->tsecr = number32(option + 6);
    }
}

/* `length` bytes of options that are captured; broken ones end them. */
static void
read_options(smcr_congestion_tcp_segment_t *segment, const uint8_t *options, unsigned length)
{
    unsigned nops = 0;

    while (length && options[0] != OPTION_END) {
        unsigned step = options[0] == OPTION_NOP ? 1 : length > 1 ? options[1] : 0;

        if (!step || step > length || (step == 1 && options[0] != OPTION_NOP))
            return;
        nops = step == 1 ? nops + 1 : 0;
        if (nops == NOPS)
            segment->sign = SMCR_FIGURE_SIGN_NOPS;
        if (step > 1)
            read_option(segment, options, step);
        options += step;
        length -= step;
    }
}

/* Total length of the IP packet: as its header says; else of the parts that are known. */
static uint32_t
ip_bytes(const headers_t *headers, const struct tcpheader *tcp, uint32_t length)
{
    uint32_t segment = tcp->th_hlen + length;

    if (headers->has_ip && headers->ip.total_length)
        return headers->ip.total_length;
    if (headers->has_ip && headers->ip.offset < headers->tcp)
        return headers->tcp - headers->ip.offset + segment;
    return segment + (tcp->ip_src.type == AT_IPv6 ? 40 : tcp->ip_src.type == AT_IPv4 ? 20 : 0);
}

smcr_congestion_tcp_segment_t
smcr_collect_tcp_segment(const packet_info *pinfo, const struct tcpheader *tcp,
                         smcr_collect_tcp_offsets_t *offsets)
{
    headers_t headers = find_headers(pinfo, tcp, offsets);
    uint32_t length = tcp->th_have_seglen ? tcp->th_seglen : 0;
    smcr_congestion_tcp_segment_t segment = {
        .time = smcr_capture_when(pinfo).time,
        .seq = tcp->th_rawseq,
        .ack = tcp->th_rawack,
        .length = length,
        .ip_bytes = ip_bytes(&headers, tcp, length),
        .ip_id = headers.has_ip ? headers.ip.id : -1,
        .flags = tcp->th_flags,
        .ecn = headers.has_ip ? headers.ip.traffic_class & SMCR_MASK_ECN : 0,
        .no_length = !tcp->th_have_seglen,
        .no_ecn = !headers.has_ip,
        .ace = tcp->th_use_ace,
    };

    if (headers.bytes.bytes && tcp->th_hlen > SHORTEST) {
        uint32_t options = headers.tcp + SHORTEST, end = headers.tcp + tcp->th_hlen;
        end = MIN(end, headers.bytes.length);
        if (options < end)
            read_options(&segment, &headers.bytes.bytes[options], end - options);
    }
    return segment;
}
