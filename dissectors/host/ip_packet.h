/* Finds the IP header in a frame. Wireshark's IP dissector has already read the header, but passes
 * only a few of its values to other dissectors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* The captured bytes of a frame, or of a part of it. */
typedef struct {
    const uint8_t *bytes; /* the bytes; NULL: none */
    uint32_t length;      /* number of bytes */
} smcr_host_bytes_t;

/* Values of an IP header, integers in host order. */
typedef struct {
    uint32_t offset;       /* offset of the header in the bytes */
    uint32_t total_length; /* length of header and payload in bytes, according to the header; 0: the
                              length field of the header is 0 */
    uint8_t version;       /* IP version: 4 or 6 */
    uint8_t header_length; /* length of the header in bytes, with the options of IPv4, without the
                              extension headers of IPv6 */
    uint8_t next;          /* protocol number of the next header */
    uint8_t traffic_class; /* IPv4: type of service; the lower two bits are ECN */
    uint8_t hop_limit;     /* IPv4: TTL */
    int32_t id;            /* identification of IPv4; negative: IPv6, which has none */
    bool is_fragment;      /* a fragment of IPv4; false: a whole packet, or IPv6 */
} smcr_host_ip_packet_t;

/* Returns the captured bytes of a buffer, which may be NULL. The bytes live as long as the
 * buffer. */
smcr_host_bytes_t smcr_host_bytes_of(tvbuff_t *tvb);

/* Returns the captured bytes of the frame that is dissected. They live as long as the frame is
 * dissected. */
smcr_host_bytes_t smcr_host_bytes_of_frame(const packet_info *pinfo);

/* The smcr_host_ip_packet functions look for an IP header in `bytes`. If they find the header, they
 * read it into `ip` and return true. If not, they return false and do not change `ip`. `src` and
 * `dst` are the addresses that the header must have; `dst` NULL: any destination. With addresses
 * other than IPv4 and IPv6 the functions return false. */

/* Looks for the header at offset `offset`. The header must be captured as a whole. */
bool smcr_host_ip_packet_at(smcr_host_bytes_t bytes, uint32_t offset, const address *src,
                            const address *dst, smcr_host_ip_packet_t *ip);

/* Looks for the last header that ends at or before offset `end`. Headers of other protocols may lie
 * between the IP header and `end`. */
bool smcr_host_ip_packet_before(smcr_host_bytes_t bytes, uint32_t end, const address *src,
                                const address *dst, smcr_host_ip_packet_t *ip);

/* Looks for the first header in `bytes`. */
bool smcr_host_ip_packet_first(smcr_host_bytes_t bytes, const address *src, const address *dst,
                               smcr_host_ip_packet_t *ip);

/* Looks for the IP header of an ICMP error, which may have any addresses. The error quotes a packet
 * whose IP header is at offset `quote`. */
bool smcr_host_ip_packet_of_error(smcr_host_bytes_t bytes, uint32_t quote,
                                  smcr_host_ip_packet_t *ip);

/* Looks for the IP header of the packet that an ICMP error quotes. `error`: the IP header of the
 * ICMP error. */
bool smcr_host_ip_packet_quoted(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *error,
                                smcr_host_ip_packet_t *ip);

/* Writes the source address of the IP header `ip`, which was found in `bytes`, to `gid` as a GID
 * (16 bytes, network byte order): IPv4 as a mapped address. */
void smcr_host_ip_packet_source(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *ip,
                                uint8_t *gid);

/* Returns the length of the IP packet in bytes, headers included. If the length field is 0, as in
 * packets that the sender's adapter will split (segmentation offload), the packet counts up to the
 * end of the frame. */
static inline uint32_t
smcr_host_ip_packet_length(const packet_info *pinfo, const smcr_host_ip_packet_t *ip)
{
    return ip->total_length ? ip->total_length : pinfo->fd->pkt_len - ip->offset;
}
