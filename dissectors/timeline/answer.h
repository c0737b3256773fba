/* Answers: how long a writer waits for the answer of its peer's program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Adds the time from `since` to `until` to the wait of the writer `asker` for an answer: the answer
 * may be among the peer's packets of this time, which are missing or retransmitted. If `asker`
 * sends a WRITE in this time, the wait begins with this WRITE. */
void smcr_timeline_prolong_answer(const smcr_timeline_step_t *step, int asker, smcr_when_t since,
                                  smcr_when_t until);

/* Handles the peer's last answer to the writer `side`, at the writer's next packet. The time of the
 * answer counts, if no packet of the writer is missing since its request. Otherwise a missing
 * packet may be a later request, to which the peer's WRITE is the answer. If a gap has shown since
 * the answer, the end of the gap decides (smcr_timeline_settle_gap()). */
void smcr_timeline_confirm_answer(const smcr_timeline_step_t *step, int side);

/* The acknowledgement of the request of the writer `asker` that its peer has not answered so far;
 * frame 0: there is no such request, or missing packets may have answered it. */
smcr_when_t smcr_timeline_open_request(const smcr_timeline_t *timeline, int asker);

/* Handles a WRITE of `side` as a possible answer: since its own last WRITE, the peer may have
 * waited for this answer. */
void smcr_timeline_take_answer(const smcr_timeline_step_t *step, int side);
