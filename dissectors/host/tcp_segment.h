/* Reads the TCP header of a frame, in passes in which Wireshark's tap `tcp` is silent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/dissectors/packet-tcp.h>

/* Reads the TCP header of the frame into `tcp`, as Wireshark's tap `tcp` would hand it over. Fills
 * in ports, addresses, raw numbers, flags, lengths and the number of the connection (tcp.stream);
 * all other members are zero. Called after TCP's dissector.
 *
 * Returns false if the frame has no TCP segment of its own, in a whole IP packet with a captured
 * header: TCP after an extension header of IPv6, fragments of IP, and segments that an ICMP error
 * quotes are not read. */
bool smcr_host_tcp_segment(packet_info *pinfo, struct tcpheader *tcp);
