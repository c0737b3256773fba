/* Reads what a frame has around a RoCE packet: VLAN tags, tunnels, and the IP headers of tunnels.
 * Wireshark's dissectors have already read these headers, but pass only the first VLAN to other
 * dissectors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ip_packet.h"
#include "wire/wire.h"

/* Whether the packet at `offset` of the frame has only an Ethernet header before it, as in most
 * frames: nothing is around it. */
static inline bool
smcr_host_encapsulation_is_bare(const packet_info *pinfo, uint32_t offset)
{
    return offset == 14 && /* length of an Ethernet header */
           pinfo->rec->rec_header.packet_header.pkt_encap == WTAP_ENCAP_ETHERNET;
}

/* Reads the headers from the beginning of the frame to the packet at offset `end`, which has an IP
 * header or a GRH. The bytes before `end` are captured. Known are: VLAN tags (IEEE 802.1Q), MPLS
 * (RFC 3032), PPPoE (RFC 2516), VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2784, RFC 2890), IP
 * in IP (RFC 2003, RFC 2473), ERSPAN. Returns what is around the packet. All members are 0 if
 * another header is before the packet, since the network of the packet is not known then. */
smcr_ib_outer_t smcr_host_encapsulation_read(const packet_info *pinfo, uint32_t end);
