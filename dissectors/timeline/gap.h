/* Gaps: missing packets of a writer. Its next CDC message shows whether they belonged to the
 * connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Notes whether it is known what the writer `side` does, from the packet of `step` on. `is_known`
 * true ends the time in which this was not known. */
void smcr_timeline_set_known(const smcr_timeline_step_t *step, int side, bool is_known);

/* Handles a packet whose first transmission is missing, and was acknowledged before. Its contents
 * are older than its place in the capture, so the packet is handled as one that is missing. */
void smcr_timeline_take_old_packet(const smcr_timeline_step_t *step);

/* Adds to the intervals of the writer `side` the time that the current gap of `sender` makes
 * unknown, since the missing packets may belong to this connection. If `sender` is the writer
 * itself, it is not known what the writer did in this time. If `sender` is its peer, a missing
 * packet may have freed space for the writer, or may have been an answer. `end`: end of the gap of
 * the writer itself, used if no packet of the writer has come in order since the gap; and of the
 * gap of its peer, if the missing packet belongs to this connection. */
void smcr_timeline_add_gap(const smcr_timeline_step_t *step, int sender, int side, smcr_when_t end);

/* Ends the current gap of the writer `side` at the writer's next CDC message in order, which shows
 * whether the missing packets belong to this connection. `view`: what the message means; NULL: not
 * known.
 *
 * CDC messages of a connection are numbered, and report how many bytes were written. No packet
 * of this connection is missing if four conditions hold: 1. the number of the message is the
 * number of the last message plus 1; 2. the WRITEs of all bytes that the message newly announces
 * are captured; 3. no message whose meaning is not known has come since the gap; 4. the gap is
 * not proven (`is_proven`). Otherwise the gap counts. Also counts the pending answers that no
 * open gap puts in doubt (smcr_timeline_confirm_answer()). */
void smcr_timeline_settle_gap(const smcr_timeline_step_t *step, int side,
                              const smcr_record_cdc_t *view);

/* Handles a packet of the writer `side` that came in order: from this packet on it is known what
 * the writer does. */
void smcr_timeline_take_order(const smcr_timeline_step_t *step, int side);

/* Looks for sequence gaps before this packet, of both senders. Each link has a count of its gaps.
 * If the connection has just moved to another link, earlier gaps of the new link do not count, but
 * packets that may be missing on a left link do (`may_miss_last`). */
void smcr_timeline_look_for_gaps(const smcr_timeline_step_t *step);
