/* What became of responses at the sender of a flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fates_events.h"

/* Sets the fates of the responses to a flow. `events`: smcr_fates_event_t, the requests of the flow
 * and their answers, in the order of time at the first point. `slots`: SMCR_FATES_SLOTS slots, all
 * zeros. `first`: unwrapped PSN of the first request. */
void smcr_fates_follow_sender(const GArray *events, smcr_fates_slot_t *slots, smcr_psn_t first);
