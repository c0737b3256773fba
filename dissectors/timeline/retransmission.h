/* Retransmissions: since when a packet was under way that had to be retransmitted, and whether it
 * had to be.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "in_flight.h"

/* Linux retransmits a packet after this time without an acknowledgement, nanoseconds: 4.096 us
 * times two to the power of 15 (SMC_QP_TIMEOUT, net/smc/smc_ib.h). */
#define SMCR_TIMELINE_RETRANSMISSION_TIMEOUT (UINT64_C(4096) << 15)

/* Adds to the intervals of the writer `side` that the retransmissions in this time may have been
 * needless. End frame 0: there are none. */
void smcr_timeline_doubt_retransmissions(const smcr_timeline_step_t *step, int side,
                                         const smcr_interval_t *retransmitted);

/* Does the same for both directions. */
void smcr_timeline_doubt_retransmissions_of_both(const smcr_timeline_step_t *step,
                                                 const smcr_interval_t *retransmitted);

/* Whether the acknowledgement of the packet `sent` shows that the writer's last retransmissions
 * were needless: the receiver has acknowledged a packet that it takes in only after the
 * retransmitted packets, and that was not retransmitted itself so far. So the receiver had all of
 * them before, and an earlier acknowledgement may be missing. */
bool smcr_timeline_shows_needless_retransmission(const smcr_timeline_writer_t *writer,
                                                 const smcr_timeline_sent_t *sent);

/* Adds the intervals of the retransmission, if the packet of `step` is a retransmission. */
void smcr_timeline_take_retransmission(const smcr_timeline_step_t *step);
