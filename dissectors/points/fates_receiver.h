/* What became of requests at the receiver of a flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fates_events.h"

/* Sets the fates of a flow's requests. `events`: smcr_fates_event_t, the requests of the flow and
 * their answers, in the order of time at the last point. `slots`: SMCR_FATES_SLOTS slots, all
 * zeros. `first`: unwrapped PSN of the first request. */
void smcr_fates_follow_receiver(const GArray *events, smcr_fates_slot_t *slots, smcr_psn_t first);
