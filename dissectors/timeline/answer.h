/* Answers: how long a writer waits for the answer of its peer's program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Adds the time from `since` to `until` as a wait of the writer `asker` for an answer. Packets of
 * the peer are missing or retransmitted in this time, and the answer may be among them. If the last
 * WRITE of `asker` is in this time, the wait begins with this WRITE. Nothing is added if `asker`
 * has written nothing. */
void smcr_timeline_prolong_answer(const smcr_timeline_step_t *step, int asker, smcr_when_t since,
                                  smcr_when_t until);

/* Counts the time of the pending answer to the writer `side` (`pending_answer`), if there is one,
 * under three conditions: 1. the writer has sent a packet since the answer; 2. no gap of the writer
 * is open, since a missing packet may be a later request, which the peer's WRITE answers; 3. no gap
 * of the peer is open that began before the answer. */
void smcr_timeline_confirm_answer(const smcr_timeline_step_t *step, int side);

/* Drops pending answers, since packets of the writer `side` are missing in its gap. Two answers are
 * dropped: 1. the answer to this writer; 2. the answer to its peer, if the gap began before this
 * answer. */
void smcr_timeline_drop_answers(smcr_timeline_t *timeline, int side);

/* The acknowledgement of the request of the writer `asker` that its peer has not answered so far;
 * frame 0: there is no such request, or this is not known. */
smcr_when_t smcr_timeline_open_request(const smcr_timeline_t *timeline, int asker);

/* Handles the WRITE of `side` in the packet of `step` as a possible answer to its peer. The peer
 * may have waited for this answer since the peer's last WRITE. */
void smcr_timeline_take_answer(const smcr_timeline_step_t *step, int side);
