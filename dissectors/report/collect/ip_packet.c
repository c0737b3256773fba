/* ip_packet.c
 * Finds IP headers by their addresses, whatever lies around them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ip_packet.h"

#include <string.h>

#define IPV4_SHORTEST 20 /* bytes of a header without options */
#define IPV4_LENGTH 2    /* offsets */
#define IPV4_PROTOCOL 9
#define IPV4_ADDRESSES 12

#define IPV6_HEADER 40 /* bytes */
#define IPV6_LENGTH 4  /* offsets */
#define IPV6_NEXT 6
#define IPV6_ADDRESSES 8

#define ICMP 1 /* protocols in the header before */
#define ICMPV6 58
#define ICMP_HEADER 8 /* bytes of an error before what it quotes */

smcr_bytes_t
smcr_bytes_of(tvbuff_t *tvb)
{
    uint32_t length = tvb ? (uint32_t)tvb_captured_length(tvb) : 0;

    if (!length)
        return (smcr_bytes_t){NULL, 0};
    return (smcr_bytes_t){tvb_get_ptr(tvb, 0, (int)length), length};
}

static uint32_t
get_ntohs(const uint8_t *bytes)
{
    return (uint32_t)(bytes[0] << 8 | bytes[1]);
}

/* ---- headers ---- */

/* Bytes of the IPv4 header at `offset`; 0: there is none. */
static uint32_t
ipv4_header(smcr_bytes_t bytes, uint32_t offset)
{
    uint32_t length;

    if (offset > bytes.length || bytes.length - offset < IPV4_SHORTEST)
        return 0;
    length = 4 * (uint32_t)(bytes.bytes[offset] & 0xf);
    if (bytes.bytes[offset] >> 4 != 4 || length < IPV4_SHORTEST || length > bytes.length - offset)
        return 0;
    return length;
}

static uint32_t
ipv6_header(smcr_bytes_t bytes, uint32_t offset)
{
    if (offset > bytes.length || bytes.length - offset < IPV6_HEADER)
        return 0;
    return bytes.bytes[offset] >> 4 == 6 ? IPV6_HEADER : 0;
}

static void
read_ipv4(smcr_bytes_t bytes, uint32_t offset, smcr_ip_packet_t *ip)
{
    const uint8_t *header = &bytes.bytes[offset];

    *ip = (smcr_ip_packet_t){
        .offset = offset,
        .total_length = get_ntohs(&header[IPV4_LENGTH]),
        .header_length = (uint8_t)ipv4_header(bytes, offset),
        .ecn = header[1] & 3,
    };
}

/* A jumbogram, and a packet that the sender's adapter will cut, have 0 (RFC 2675, 3). */
static void
read_ipv6(smcr_bytes_t bytes, uint32_t offset, smcr_ip_packet_t *ip)
{
    const uint8_t *header = &bytes.bytes[offset];
    uint32_t payload = get_ntohs(&header[IPV6_LENGTH]);

    *ip = (smcr_ip_packet_t){
        .offset = offset,
        .total_length = payload ? IPV6_HEADER + payload : 0,
        .header_length = IPV6_HEADER,
        .ecn = header[1] >> 4 & 3,
    };
}

/* ---- by addresses ---- */

static bool
are_addresses(const uint8_t *bytes, const address *src, const address *dst)
{
    size_t length = (size_t)src->len;

    return memcmp(bytes, src->data, length) == 0 && memcmp(bytes + length, dst->data, length) == 0;
}

bool
smcr_ip_packet_at(smcr_bytes_t bytes, uint32_t offset, const address *src, const address *dst,
                  smcr_ip_packet_t *ip)
{
    if (src->type != dst->type)
        return false;
    if (src->type == AT_IPv4 && ipv4_header(bytes, offset) &&
        are_addresses(&bytes.bytes[offset + IPV4_ADDRESSES], src, dst)) {
        read_ipv4(bytes, offset, ip);
        return true;
    }
    if (src->type == AT_IPv6 && ipv6_header(bytes, offset) &&
        are_addresses(&bytes.bytes[offset + IPV6_ADDRESSES], src, dst)) {
        read_ipv6(bytes, offset, ip);
        return true;
    }
    return false;
}

/* The shortest header with such addresses; 0: there is none. */
static uint32_t
shortest_header(const address *addr)
{
    if (addr->type == AT_IPv4)
        return IPV4_SHORTEST;
    return addr->type == AT_IPv6 ? IPV6_HEADER : 0;
}

bool
smcr_ip_packet_before(smcr_bytes_t bytes, uint32_t end, const address *src, const address *dst,
                      smcr_ip_packet_t *ip)
{
    uint32_t shortest = shortest_header(src);
    smcr_ip_packet_t found;

    if (!shortest || end < shortest || end > bytes.length)
        return false;
    for (uint32_t behind = end - shortest + 1; behind > 0; behind--) {
        if (smcr_ip_packet_at(bytes, behind - 1, src, dst, &found) &&
            found.offset + found.header_length <= end) {
            *ip = found;
            return true;
        }
    }
    return false;
}

bool
smcr_ip_packet_first(smcr_bytes_t bytes, const address *src, const address *dst,
                     smcr_ip_packet_t *ip)
{
    if (!shortest_header(src))
        return false;
    for (uint32_t offset = 0; offset < bytes.length; offset++) {
        if (smcr_ip_packet_at(bytes, offset, src, dst, ip))
            return true;
    }
    return false;
}

/* ---- errors ---- */

static bool
is_ipv4_error(smcr_bytes_t bytes, uint32_t offset, uint32_t quote)
{
    uint32_t length = ipv4_header(bytes, offset);

    return length && offset + length + ICMP_HEADER == quote &&
           bytes.bytes[offset + IPV4_PROTOCOL] == ICMP;
}

static bool
is_ipv6_error(smcr_bytes_t bytes, uint32_t offset, uint32_t quote)
{
    uint32_t length = ipv6_header(bytes, offset);

    return length && offset + length + ICMP_HEADER == quote &&
           bytes.bytes[offset + IPV6_NEXT] == ICMPV6;
}

bool
smcr_ip_packet_of_error(smcr_bytes_t bytes, uint32_t quote, smcr_ip_packet_t *ip)
{
    for (uint32_t offset = 0; offset < quote; offset++) {
        if (is_ipv4_error(bytes, offset, quote)) {
            read_ipv4(bytes, offset, ip);
            return true;
        }
        if (is_ipv6_error(bytes, offset, quote)) {
            read_ipv6(bytes, offset, ip);
            return true;
        }
    }
    return false;
}
