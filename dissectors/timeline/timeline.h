/* Knows what lasts: the intervals of time in which a writer waits, sends, retransmits or cannot be
 * seen, for each direction of a connection, and what each moment is charged to. Does not know who
 * listens, or what a report says of it. Called with each packet of the tap by the report, which
 * asks it when it is made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* The design. Everything that lasts is an interval: it has a kind, a begin and an end, and these
 * are the frames that prove it. Intervals are only ever added. Several kinds may hold at one
 * moment: a packet is retransmitted while the receive buffer is full. Which of them the moment is
 * charged to is decided when somebody asks (smcr_timeline_divide()), by one table: see `part_of()`
 * in interval.c. So nothing is added up on the way, and nothing has to be taken back.
 *
 * What is not known is an interval, too: "not captured" lasts from the last packet before a gap of
 * the capture to the packet that settles what its sender is doing.
 *
 *     writer's packet ----> writer.c ----> intervals of the writer: transfer, full, retransmission
 *     reader's packet ----> writer.c ----> the same writer: update, unread data, answer
 *     report, page   <---- interval.c <--- shares of time, longest waits
 *
 * Limitations: intervals are kept for what listens to the tap, so a report has them and plain
 * dissection does not. Above SMCR_INTERVAL_LIST_MOST intervals a direction keeps the long ones, and
 * joins runs of short ones into one interval of kind "mixed", which knows the share of each part.
 *
 * Sections: RFC 7609 4.5 (flow control), 4.5.1 (updates of the consumer cursor); the writer blocked
 * flag as in Linux, net/smc/smc_tx.c. No epan. */

#include "writer.h"
