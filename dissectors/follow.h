/* follow.h
 * Follow Stream: `-z follow,smcr,ascii,N`, and the Follow menu.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FOLLOW_H
#define SMCR_FOLLOW_H

#include "compat.h"
#include "state/record.h"

/* Registers Follow Stream; called once, when protocols register. */
void smcr_follow_register(int proto);

/* Bytes of the stream of packet->conn that begin at `position`; the `gap` bytes before are missing,
 * as far as is known. */
void smcr_follow_data(tvbuff_t *data, packet_info *pinfo, const smcr_record_t *packet,
                      uint64_t position, uint64_t gap);

/* The sender of the packet has read the other direction's bytes before `position`. */
void smcr_follow_read(packet_info *pinfo, const smcr_record_t *packet, uint64_t position);

/* In this frame the connection went back to TCP: its data is elsewhere. */
void smcr_follow_fell_back(packet_info *pinfo, const smcr_conn_t *conn);

#endif /* SMCR_FOLLOW_H */
