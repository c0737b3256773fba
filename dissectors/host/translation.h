/* Finds TCP connections that a capture shows twice, once with translated addresses: a host that
 * captures on all its interfaces sees each segment before and after NAT. Of the two conversations,
 * the one that the capture shows second is called the copy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/dissectors/packet-tcp.h>

#include "ip_packet.h"
#include "wire/wire.h"

/* An end of a TCP connection. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* address, IPv4 mapped */
    uint16_t port;                /* port, host byte order */
} smcr_translation_end_t;

/* A segment before and after the translation of its addresses. Index 0: its sender; 1: its
 * receiver. */
typedef struct {
    smcr_translation_end_t original[2]; /* as the capture shows it first */
    smcr_translation_end_t copy[2];     /* as the capture shows it once more */
} smcr_translation_ends_t;

/* First pass: takes a client's SYN with the SMC-R option. If the SYN is a copy of an earlier SYN
 * with other addresses or ports, its conversation counts as a copy from this frame on. Returns the
 * conversation of the earlier SYN; NULL: the SYN is no copy, or its headers are not captured.
 * `tcp`: header of the segment.
 *
 * The proof: the second SYN comes less than a second after the first one, and has the same initial
 * sequence number and the same time stamp, which two connections hardly ever share. Without a time
 * stamp, or with the time stamp 0: the same sequence number, window and options, and at least one
 * other address. */
conversation_t *smcr_translation_take_syn(packet_info *pinfo, const struct tcpheader *tcp);

/* First pass: takes a segment that begins with a CLC message. A copy has the same sequence number
 * and the same bytes as the original, and at least one other address. Returns what
 * smcr_translation_take_syn() returns. `message`: the bytes of the segment. `may_be_copy`: the
 * conversation has no connection so far, because its SYN was not captured; false: the segment is
 * only kept for comparison with later ones. */
conversation_t *smcr_translation_take_message(packet_info *pinfo, tvbuff_t *message,
                                              bool may_be_copy);

/* First pass: takes a client's SYN without the SMC-R option, in a capture with several points.
 * Returns what smcr_translation_take_syn() returns; the proof is the same. `numbers`: sequence
 * number in the upper 32 bits; in the lower 32 bits the time stamp, or else a hash of window and
 * options. `is_stamped`: the time stamp is there. */
conversation_t *smcr_translation_take_plain_syn(packet_info *pinfo, uint64_t numbers,
                                                bool is_stamped);

/* First pass: takes a segment with data of a connection without SMC-R, whose SYN may not be
 * captured. Returns what smcr_translation_take_message() returns: a copy has the same sequence
 * number and the same first bytes, and another address. Every fourth segment is compared, on
 * average: the bytes decide which, so that all points compare the same ones. `seq`: sequence
 * number; `data`: the captured bytes of data. */
conversation_t *smcr_translation_take_data(packet_info *pinfo, uint32_t seq,
                                           smcr_host_bytes_t data);

/* Returns the frame of the original segment, if the TCP conversation of this packet is a copy: the
 * segment of the other conversation that proves the copy (a SYN, a CLC message, or other data). 0:
 * the conversation is no copy. */
uint32_t smcr_translation_original(packet_info *pinfo);

/* If the TCP conversation of this packet is a copy: returns the original conversation, and sets
 * `ends` to the sender and the receiver of the packet as the original conversation has them. NULL:
 * the conversation is no copy. */
conversation_t *smcr_translation_ends_of_copy(packet_info *pinfo, smcr_translation_end_t ends[2]);

/* Returns the ends of the connection whose original conversation this is, and of its first copy;
 * NULL: the conversation has no copy. */
const smcr_translation_ends_t *smcr_translation_ends(const void *original);

/* Whether the conversation with this tcp.stream is a copy. */
bool smcr_translation_is_copy(uint32_t tcp_stream);

/* Creates the tables of this module; called once, when protocols register. */
void smcr_translation_register(void);
