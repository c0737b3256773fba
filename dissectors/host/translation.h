/* Finds TCP connections that a capture shows a second time, with translated addresses: a host that
 * captures on all its interfaces sees a segment before and after NAT.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/dissectors/packet-tcp.h>

/* First pass: takes a client's SYN with the SMC-R option. If it is a copy of an earlier SYN that
 * has other addresses or ports, its conversation counts as a copy from this frame on, and the
 * conversation of the earlier SYN is returned; else NULL. Both have the initial sequence number and
 * the time stamp, which no two connections share; without time stamps, the same window and options,
 * and one of the addresses is another one.
 * `tcp`: header of the segment. */
conversation_t *smcr_translation_take_syn(packet_info *pinfo, const struct tcpheader *tcp);

/* First pass: takes a segment that begins with a CLC message, in the same way: a copy has its
 * sequence number and its bytes. `message`: the bytes of the segment; `may_be_copy`: the
 * conversation has no connection so far, since its SYN was not captured. */
conversation_t *smcr_translation_take_message(packet_info *pinfo, tvbuff_t *message,
                                              bool may_be_copy);

/* Returns the frame of the segment of which the first one of this packet's TCP conversation is a
 * copy; 0: the conversation is no copy. */
uint32_t smcr_translation_original(packet_info *pinfo);

/* Whether the conversation with this tcp.stream is a copy. */
bool smcr_translation_is_copy(uint32_t tcp_stream);

/* Prepares the tables; called once, when protocols register. */
void smcr_translation_register(void);
