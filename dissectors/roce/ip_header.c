/* ip_header.c
 * Finds the IP header of a packet in the bytes of its frame, tunnels or not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ip_header.h"

#include <string.h>

enum { UDP_LENGTH = 8, IPV4_MIN = 20, IPV4_MAX = 60, IPV6_LENGTH = 40, IP_UDP = 17 };

static int
get_16(const uint8_t *bytes)
{
    return bytes[0] << 8 | bytes[1];
}

/* `end`: of the header, in the frame. */
static bool
find_ipv4(tvbuff_t *frame, int end, const address *source, smcr_ip_header_t *found)
{
    for (int length = IPV4_MIN; length <= MIN(IPV4_MAX, end); length += 4) {
        const uint8_t *ip = tvb_get_ptr(frame, end - length, IPV4_MIN);
        if (ip[0] != (0x40 | length / 4) || ip[9] != IP_UDP ||
            memcmp(ip + 12, source->data, 4) != 0)
            continue;
        *found = (smcr_ip_header_t){
            .version = 4,
            .offset = end - length,
            .header_length = length,
            .traffic_class = ip[1],
            .id = get_16(ip + 4),
            .is_fragment = (get_16(ip + 6) & 0x3fff) != 0, /* more fragments, or an offset */
            .length = get_16(ip + 2),
        };
        return true;
    }
    return false;
}

static bool
find_ipv6(tvbuff_t *frame, int end, const address *source, smcr_ip_header_t *found)
{
    if (end < IPV6_LENGTH)
        return false;
    const uint8_t *ip = tvb_get_ptr(frame, end - IPV6_LENGTH, IPV6_LENGTH);
    if (ip[0] >> 4 != 6 || ip[6] != IP_UDP || memcmp(ip + 8, source->data, 16) != 0)
        return false;
    int payload = get_16(ip + 4); /* 0: a jumbogram */
    *found = (smcr_ip_header_t){
        .version = 6,
        .offset = end - IPV6_LENGTH,
        .header_length = IPV6_LENGTH,
        .traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4),
        .id = -1,
        .length = payload ? IPV6_LENGTH + payload : 0,
    };
    return true;
}

bool
smcr_ip_before(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_ip_header_t *ip)
{
    tvbuff_t *frame = tvb_get_ds_tvb(tvb);
    int end = tvb_raw_offset(tvb) + offset - UDP_LENGTH;

    if (end > (int)tvb_captured_length(frame))
        return false;
    if (pinfo->net_src.type == AT_IPv4)
        return find_ipv4(frame, end, &pinfo->net_src, ip);
    return pinfo->net_src.type == AT_IPv6 && find_ipv6(frame, end, &pinfo->net_src, ip);
}
