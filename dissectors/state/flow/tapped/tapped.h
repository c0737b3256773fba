/* Knows what a tap in the kernel of a host shows of connections: copies of CDC messages and of
 * data, but no packet of a network. Does not know the header of a tap. Called through state.h, in
 * the first pass, in the order of the capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "packets.h"

/* Learns the place of the data: in the receiver's RMB element, the data follows the previous data
 * of this direction. Fills in `parts` and `*notice`, and returns the number of parts. Returns 0 if
 * the data has no place. There are three cases: 1. the packet is not learned, since it is from
 * another interface than the first packet of this direction, or since the RoCE packets of the
 * connection are captured; 2. the data is a copy of other data, which may be missing; 3. the data
 * is too late: its sender has ended its stream. */
unsigned smcr_tapped_take_data(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                               smcr_tapped_data_t data,
                               smcr_tapped_part_t parts[SMCR_TAPPED_PARTS],
                               smcr_tapped_notice_t *notice);

/* Learns the place of the CDC message `cdc`, and fills in `*part` and `*verdict`. Sets `cdc->seq`
 * to the number with which the state learns the message: messages without a number are counted. Of
 * a message that is truncated, only the place is learned. If the size of the receiver's RMB element
 * is not known, replaces the cursors by positions that count from the first captured byte. Returns
 * false if the state does not learn the message. There are three cases: 1. the packet is from
 * another interface, or the RoCE packets of the connection are captured, as for data; 2. the
 * message is a copy of an earlier one; 3. the message is out of order. */
bool smcr_tapped_take_message(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                              smcr_cdc_t *cdc, smcr_tapped_part_t *part,
                              smcr_tapped_verdict_t *verdict);

/* Whether the tapped connection has ended, so that a further packet with the same addresses and
 * ports belongs to a new connection: both sides have closed or aborted, and the last packet came at
 * least SMCR_TIME_DISORDER before. Also true if its positions have become too high. False if the
 * packet may be a copy. `sender`: role of the packet's sender. `interface`: interface of the
 * capture file. `time`: time of the packet, nanoseconds since the epoch. */
bool smcr_tapped_has_ended(const smcr_conn_t *conn, unsigned sender, uint32_t interface,
                           uint64_t time);
