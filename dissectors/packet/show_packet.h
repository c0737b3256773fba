/* show_packet.h
 * The second half of a packet's way: from its record, which is not changed any more, to fields,
 * expert items, the Info column, the tap and the dissectors of the application's data.
 *
 * Nothing here knows what carries the packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PACKET_SHOW_PACKET_H
#define SMCR_PACKET_SHOW_PACKET_H

#include "learn.h"

/* Shows a packet that smcr_packet_learn() has taken. Returns whether it has a payload to show. */
bool smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet);

/* Shows an acknowledgement, or what else carries no data: only what the state knows of it. `tvb` is
 * where its fields are. */
void smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                            const smcr_packet_t *packet);

/* Shows the RDMA connection of a packet that is not SMC-R; its record has a flow. */
void smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                              const smcr_packet_t *packet);

#endif /* SMCR_PACKET_SHOW_PACKET_H */
