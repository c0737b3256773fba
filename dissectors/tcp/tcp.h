/* tcp.h
 * Knows SMC-R on Wireshark's TCP: the option, CLC within the byte stream. Does not know RoCE.
 * Called by the entries for the option and CLC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "wire/wire.h"

/* ---- the option (RFC 7609 A.1) ---- */

/* Kinds of options */
#define SMCR_TCP_MSS 2
#define SMCR_TCP_EXPERIMENT_1 253
#define SMCR_TCP_EXPERIMENT_2 254

/* Whether the experimental option in `tvb` is that of SMC-R. */
bool smcr_tcp_option_is_ours(tvbuff_t *tvb);

/* First pass: learns from that option. `tcp` is of the segment. */
void smcr_tcp_option_learn(packet_info *pinfo, const struct tcpheader *tcp);

/* Shows it. `tcp` is of the segment; NULL: not known. */
void smcr_tcp_option_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const struct tcpheader *tcp);

/* First pass: learns from a segment whose maximum segment size is in `tvb`. Every SYN-ACK has that
 * option: it is how we see one that lacks ours. */
void smcr_tcp_option_learn_mss(tvbuff_t *tvb, packet_info *pinfo, const struct tcpheader *tcp);

/* Says so, if the segment proves that the connection does not use SMC-R. */
void smcr_tcp_option_show_mss(packet_info *pinfo, proto_tree *tree);

/* ---- CLC within the byte stream (RFC 7609 3.5, A.2) ---- */

/* Whether the bytes at `offset` are an eyecatcher; the beginning of one if TCP can give more. */
bool smcr_tcp_clc_begins(tvbuff_t *tvb, int offset, const packet_info *pinfo);

/* Whether the header of the message that begins here, as far as it is there, is one that a CLC
 * message can have. */
bool smcr_tcp_clc_plausible(tvbuff_t *tvb);

/* Dissects bytes of a TCP connection: CLC first, and what follows it as without us. Returns what
 * TCP expects of a dissector. */
int smcr_tcp_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* ---- segments without a message of ours ---- */

/* Called once, when protocols register, after TCP. */
void smcr_tcp_segment_register(void);
