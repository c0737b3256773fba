/* Reads what a frame has around a RoCE packet: VLAN tags, tunnels, and the IP headers of tunnels.
 * Wireshark's dissectors have already read these headers, but pass only the first VLAN to other
 * dissectors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#include "wire/wire.h"

/* The header with which a frame begins. */
typedef enum {
    SMCR_HOST_LINK_ETHERNET,
    SMCR_HOST_LINK_COOKED,   /* Linux cooked capture (SLL) */
    SMCR_HOST_LINK_COOKED_2, /* its second version (SLL2) */
    SMCR_HOST_LINK_IP,       /* no header: the frame begins with an IP header */
    SMCR_HOST_LINK_OTHER,    /* a header that this module does not know */
} smcr_host_link_t;

/* Reads the headers from the beginning of the frame to the packet at offset `end`, which has an IP
 * header or a GRH. The bytes before `end` are captured. Known are: VLAN tags (IEEE 802.1Q), MPLS
 * (RFC 3032), PPPoE (RFC 2516), VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2784, RFC 2890), IP
 * in IP (RFC 2003, RFC 2473), ERSPAN. Returns what is around the packet. All members are 0 if
 * another header is before the packet, since the network of the packet is not known then. */
smcr_ib_outer_t smcr_host_encapsulation_read(const uint8_t *frame, uint32_t end,
                                             smcr_host_link_t link);
