/* option.h
 * The options of a TCP segment that tell about SMC-R (RFC 7609 A.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_TCP_OPTION_H
#define SMCR_TCP_OPTION_H

#include "compat.h"

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

#endif /* SMCR_TCP_OPTION_H */
