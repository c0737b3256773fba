/* Reads the TCP header of a frame, in passes in which Wireshark's tap `tcp` is silent; the options
 * of a TCP header; and the checksums of a segment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/dissectors/packet-tcp.h>

#define SMCR_HOST_TCP_HEADER 20 /* length of a TCP header without options, bytes */

/* Kinds of TCP options (RFC 9293, 3.1; RFC 7323, 3.2). */
#define SMCR_HOST_TCP_OPTION_END 0
#define SMCR_HOST_TCP_OPTION_NOP 1
#define SMCR_HOST_TCP_OPTION_TIMESTAMPS 8
#define SMCR_HOST_TCP_TIMESTAMPS_LENGTH 10

/* Returns the length of the TCP option at `options`, bytes (RFC 9293, 3.1). `length`: number of
 * captured bytes of options from there on, at least 1. A NOP is a single byte; all other options
 * have at least the bytes kind and length. Returns 0 if the option is malformed or truncated. */
unsigned smcr_host_tcp_option_length(const uint8_t *options, unsigned length);

/* What a checksum shows. */
typedef enum {
    SMCR_HOST_CHECKSUM_UNKNOWN, /* nothing: the adapter may fill in the checksum after the capture,
                                   or bytes that the checksum covers are not captured */
    SMCR_HOST_CHECKSUM_RIGHT,   /* all bytes that the checksum covers are as they were sent */
    SMCR_HOST_CHECKSUM_WRONG,   /* some bytes are not */
} smcr_host_checksum_t;

/* The two checksums of a TCP segment. */
typedef struct {
    smcr_host_checksum_t ip;  /* header checksum of IPv4 (RFC 791, 3.1); unknown: IPv6 */
    smcr_host_checksum_t tcp; /* checksum of TCP (RFC 9293, 3.1) */
} smcr_host_checksums_t;

/* Returns what the checksums of the frame's TCP segment show. A checksum is unknown if the user
 * does not want it validated (preferences ip.check_checksum and tcp.check_checksum). Both are
 * unknown if the frame has no TCP segment of its own, in a whole IP packet with a captured header.
 * Called by dissectors above TCP's, and by those of TCP options. */
smcr_host_checksums_t smcr_host_tcp_checksums(const packet_info *pinfo);

/* First pass: notes that the TCP segment of the frame is damaged, so that its receiver discards
 * it. */
void smcr_host_tcp_set_damaged(packet_info *pinfo);

/* Every pass: whether smcr_host_tcp_set_damaged() was called for the frame. */
bool smcr_host_tcp_is_damaged(const packet_info *pinfo);

/* Reads the TCP header of the frame into `tcp`, as Wireshark's tap `tcp` would hand it over. Fills
 * in ports, addresses, raw numbers, flags, lengths and the number of the connection (tcp.stream);
 * all other members are zero. Called after TCP's dissector.
 *
 * Returns false if the frame has no TCP segment of its own, in a whole IP packet with a captured
 * header: TCP after an extension header of IPv6, fragments of IP, and segments that an ICMP error
 * quotes are not read. */
bool smcr_host_tcp_segment(packet_info *pinfo, struct tcpheader *tcp);
