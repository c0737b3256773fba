/* The place of packets: of an RDMA WRITE in the byte stream, of a part of a SEND in its message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Finds the request of a WRITE packet, and its place in the RMB element and in the byte stream. The
 * packet's bytes, and the message in its immediate data, change the state now, or later if the
 * packet comes after a PSN gap. */
void smcr_state_place_write(const smcr_arrival_t *arrival);

/* Notes the place of a SEND packet in its message, if the message has several packets. If a packet
 * of the message came after a PSN gap, the message is not reassembled, so its content is not
 * known. */
void smcr_state_place_send(const smcr_arrival_t *arrival);

/* Notes a packet with a wrong ICRC, if it is the first packet of a WRITE request, or continues a
 * request whose first packet has a wrong ICRC. */
void smcr_state_note_damaged_write(const smcr_arrival_t *arrival);
