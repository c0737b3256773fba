/* clc_stream.h
 * CLC messages within the byte stream of a TCP connection (RFC 7609 3.5, A.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_TCP_CLC_STREAM_H
#define SMCR_TCP_CLC_STREAM_H

#include "compat.h"

/* Whether the bytes at `offset` are an eyecatcher; the beginning of one if TCP can give more. */
bool smcr_tcp_clc_begins(tvbuff_t *tvb, int offset, const packet_info *pinfo);

/* Whether the header of the message that begins here, as far as it is there, is one that a CLC
 * message can have. */
bool smcr_tcp_clc_plausible(tvbuff_t *tvb);

/* Dissects bytes of a TCP connection: CLC first, and what follows it as without us. Returns what
 * TCP expects of a dissector. */
int smcr_tcp_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Called once, after all protocols have registered. */
void smcr_tcp_clc_handoff(void);

#endif /* SMCR_TCP_CLC_STREAM_H */
