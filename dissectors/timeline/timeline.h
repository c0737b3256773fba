/* Knows what lasts: the intervals of time in which a writer waits, sends, retransmits or is not
 * captured, for each direction of a connection, and the part to which each moment is charged.
 * Does not know the tap, the report or its words. Called by the report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* The design. Everything that lasts is an interval. An interval has a kind, a begin and an end.
 *
 * Several kinds may hold at one moment. Example: a packet is retransmitted while the receive buffer
 * is full. The table `moment_cases` of interval.c has the rules by which each moment is charged to
 * one part.
 *
 * Time about which nothing is known is an interval, too. Example: where packets are missing,
 * SMCR_INTERVAL_NOT_CAPTURED lasts from the last packet before them to the packet from which on it
 * is known what the sender does.
 *
 *     packet of either side ---> writer.c: who does what
 *                                  |---> transfer.c, in_flight.c: data under way
 *                                  |---> buffer.c: unread data, waits for space
 *                                  |---> answer.c, retransmission.c, gap.c
 *                                  v
 *                       directions.c: intervals of each writer (interval.h)
 *                                  v
 *     report, page <--- division.c: shares of time, longest waits
 *
 * Limitations: only a listener of the tap keeps intervals, so a report has them and plain
 * dissection does not. If a direction has more than SMCR_INTERVAL_LIST_MOST intervals, those of the
 * older time are replaced by pieces of time, each with the share of each part.
 *
 * Sections: RFC 7609 4.5 (flow control), 4.5.1 (updates of the consumer cursor); the writer blocked
 * flag as in Linux, net/smc/smc_tx.c. */

#include "division.h"
#include "writer.h"
