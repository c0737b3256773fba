/* Where a frame has its IP packet. Wireshark's dissector of IP has read its header before, but says
 * little of it to others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

typedef struct {
    const uint8_t *bytes; /* NULL: none */
    uint32_t length;      /* captured */
} smcr_host_bytes_t;

typedef struct {
    uint32_t offset;       /* of the header, in the bytes */
    uint32_t total_length; /* bytes of header and payload, as the header says; 0: it does not */
    uint8_t version;       /* 4 or 6 */
    uint8_t header_length; /* bytes, with IPv4's options, without IPv6's extension headers */
    uint8_t next;          /* protocol of what follows the header */
    uint8_t traffic_class; /* IPv4: type of service; the lower two bits are ECN */
    int32_t id;            /* identification of IPv4; negative: it has none */
    bool is_fragment;      /* of IPv4 */
} smcr_host_ip_packet_t;

/* What a buffer holds. */
smcr_host_bytes_t smcr_host_bytes_of(tvbuff_t *tvb);

/* All of these return whether there is a header; `ip` is not changed where there is none. Addresses
 * of other kinds than IPv4 and IPv6 have none. `dst` may be NULL: any. */

/* A whole header at `offset`, with these addresses. */
bool smcr_host_ip_packet_at(smcr_host_bytes_t bytes, uint32_t offset, const address *src,
                            const address *dst, smcr_host_ip_packet_t *ip);

/* The last one that ends at `end` or before; other headers may lie between. */
bool smcr_host_ip_packet_before(smcr_host_bytes_t bytes, uint32_t end, const address *src,
                                const address *dst, smcr_host_ip_packet_t *ip);

/* The first one. */
bool smcr_host_ip_packet_first(smcr_host_bytes_t bytes, const address *src, const address *dst,
                               smcr_host_ip_packet_t *ip);

/* An ICMP error quotes the packet whose header is at `quote`: the header of the error itself. It
 * may have any addresses. */
bool smcr_host_ip_packet_of_error(smcr_host_bytes_t bytes, uint32_t quote,
                                  smcr_host_ip_packet_t *ip);

/* The header of what the ICMP error with the header `error` quotes. */
bool smcr_host_ip_packet_quoted(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *error,
                                smcr_host_ip_packet_t *ip);
