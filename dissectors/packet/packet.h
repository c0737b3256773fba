/* packet.h
 * The two halves of the way of a packet, whatever carries it: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PACKET_PACKET_H
#define SMCR_PACKET_PACKET_H

#include "learn.h"
#include "send_parts.h"
#include "show_packet.h"

#endif /* SMCR_PACKET_PACKET_H */
