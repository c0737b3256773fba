/* follow.h
 * Follow Stream: `-z follow,smcr,ascii,N`, and the Follow menu.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FOLLOW_H
#define SMCR_FOLLOW_H

#include "compat.h"
#include "state/packet.h"

/* Registers Follow Stream; called once, when protocols register. */
void smcr_follow_register(int proto);

/* Bytes that go on in the stream of packet->conn; `gap` bytes before them are missing. */
void smcr_follow_data(tvbuff_t *data, packet_info *pinfo, const smcr_packet_t *packet,
                      uint64_t gap);

/* In this frame the connection went back to TCP: its data is elsewhere. */
void smcr_follow_fell_back(packet_info *pinfo, const smcr_conn_t *conn);

/* Remembers which connection the frame on display belongs to, for the Follow menu. */
void smcr_follow_select(packet_info *pinfo, const smcr_conn_t *conn);

#endif /* SMCR_FOLLOW_H */
