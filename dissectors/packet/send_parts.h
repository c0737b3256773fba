/* send_parts.h
 * Messages that are longer than the path MTU and come as SEND FIRST, MIDDLE and LAST: ADD LINK of
 * SMCv2 with many RKeys (net/smc/smc_llc.c: up to 8 KiB).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PACKET_SEND_PARTS_H
#define SMCR_PACKET_SEND_PARTS_H

#include "compat.h"

#include <epan/reassemble.h>

#include "state/state.h"

/* Called once, when protocols register. */
void smcr_packet_parts_register(void);

/* Adds this packet's bytes to its message. `more`: further packets follow. Returns what is there of
 * the message; NULL: this packet is cut, or the message is not whole yet in the first pass. */
fragment_head *smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo,
                                     const smcr_record_t *record, bool more);

/* The whole message in its last packet, else NULL. */
tvbuff_t *smcr_packet_parts_message(const fragment_head *parts, const packet_info *pinfo);

/* Shows below `tree` which packets belong together. Returns the message as above, on `payload`. */
tvbuff_t *smcr_packet_parts_show(fragment_head *parts, tvbuff_t *payload, packet_info *pinfo,
                                 proto_tree *tree);

#endif /* SMCR_PACKET_SEND_PARTS_H */
