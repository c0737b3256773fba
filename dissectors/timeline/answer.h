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

/* Called at the writer's next packet after an answer of its peer (`pending_answer`): counts the
 * time of the answer, unless packets of the writer `side` may be missing since its request. A
 * missing packet may be a later request, which the peer's WRITE answers. If a gap was noticed after
 * the answer, nothing happens: the end of the gap decides (smcr_timeline_settle_gap()). */
void smcr_timeline_confirm_answer(const smcr_timeline_step_t *step, int side);

/* The acknowledgement of the request of the writer `asker` that its peer has not answered so far;
 * frame 0: there is no such request, or missing packets may have answered it. */
smcr_when_t smcr_timeline_open_request(const smcr_timeline_t *timeline, int asker);

/* Handles a WRITE of `side` as a possible answer: since its own last WRITE, the peer may have
 * waited for this answer. */
void smcr_timeline_take_answer(const smcr_timeline_step_t *step, int side);
