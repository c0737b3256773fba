/* Finds the IP header in a frame. Wireshark's dissector of IP has read the header before, but
 * passes on only a few of its values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* The captured bytes of a frame, or of a part of it. */
typedef struct {
    const uint8_t *bytes; /* NULL: none */
    uint32_t length;      /* how many there are */
} smcr_host_bytes_t;

/* Values of an IP header, integers in host order. */
typedef struct {
    uint32_t offset;       /* offset of the header in the bytes */
    uint32_t total_length; /* bytes of header and payload, as the header states; 0: the header
                              states none */
    uint8_t version;       /* 4 or 6 */
    uint8_t header_length; /* bytes; with the options of IPv4, without extension headers of IPv6 */
    uint8_t next;          /* protocol number of the next header */
    uint8_t traffic_class; /* IPv4: type of service; the lower two bits are ECN */
    int32_t id;            /* identification of IPv4; negative: IPv6, which has none */
    bool is_fragment;      /* a fragment of IPv4; false: a whole packet, or IPv6 */
} smcr_host_ip_packet_t;

/* Returns the captured bytes of a buffer, which may be NULL. The bytes live as long as the
 * buffer. */
smcr_host_bytes_t smcr_host_bytes_of(tvbuff_t *tvb);

/* Each of the next functions looks for a header, reads the header into `ip`, and returns whether
 * there is one. If there is none, `ip` does not change. `src`, `dst`: the addresses of the header;
 * `dst` may be NULL: any. Addresses other than IPv4 and IPv6 have no header. */

/* Reads the header at byte `offset`, if it is captured as a whole. */
bool smcr_host_ip_packet_at(smcr_host_bytes_t bytes, uint32_t offset, const address *src,
                            const address *dst, smcr_host_ip_packet_t *ip);

/* Reads the last header that ends at byte `end` or before; other headers may lie in between. */
bool smcr_host_ip_packet_before(smcr_host_bytes_t bytes, uint32_t end, const address *src,
                                const address *dst, smcr_host_ip_packet_t *ip);

/* Reads the first header. */
bool smcr_host_ip_packet_first(smcr_host_bytes_t bytes, const address *src, const address *dst,
                               smcr_host_ip_packet_t *ip);

/* Reads the header of an ICMP error that quotes the packet whose header is at byte `quote`. The
 * error may have any addresses. */
bool smcr_host_ip_packet_of_error(smcr_host_bytes_t bytes, uint32_t quote,
                                  smcr_host_ip_packet_t *ip);

/* Reads the header of the packet that an ICMP error quotes. `error`: the header of the error. */
bool smcr_host_ip_packet_quoted(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *error,
                                smcr_host_ip_packet_t *ip);
