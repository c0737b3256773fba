/* ip_header.h
 * The IP header of a RoCEv2 packet. Wireshark's dissector of IP has read it before, but tells
 * nobody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ROCE_IP_HEADER_H
#define SMCR_ROCE_IP_HEADER_H

#include "compat.h"

typedef struct {
    int version;           /* 4 or 6 */
    int offset;            /* in the data source of the packet's buffer */
    int header_length;     /* bytes, with the options of IPv4 */
    uint8_t traffic_class; /* IPv4: type of service; the lower two bits are ECN */
    int32_t id;            /* identification of IPv4; negative: it has none */
    bool is_fragment;
    int length;            /* bytes of header and payload, as the header says; 0: it does not */
} smcr_ip_header_t;

/*
 * Finds the header of the packet whose UDP payload begins at `offset` of `tvb`; that may lie before
 * the buffer. It is looked for right before UDP's, and has the innermost source address.
 *
 * Returns false when it is not there: IP has put fragments together, IPv6 has extension headers,
 * or there is no UDP. `ip` is then not changed.
 */
bool smcr_ip_before(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_ip_header_t *ip);

#endif /* SMCR_ROCE_IP_HEADER_H */
