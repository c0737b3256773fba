/* packet.h
 * Knows the two halves of a packet's way: learn, then show. Does not know what carries the packet.
 * Called by each transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PACKET_PACKET_H
#define SMCR_PACKET_PACKET_H

#include "learn.h"
#include "send_parts.h"
#include "show_packet.h"

#endif /* SMCR_PACKET_PACKET_H */
