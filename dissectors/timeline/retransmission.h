/* Retransmissions: the time from the first transmission of a packet to its last retransmission, and
 * whether the retransmission was needed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "in_flight.h"

/* Linux retransmits a packet after this time without an acknowledgement, nanoseconds: 4.096 us
 * times two to the power of 15 (SMC_QP_TIMEOUT, net/smc/smc_ib.c). */
#define SMCR_TIMELINE_RETRANSMISSION_TIMEOUT (UINT64_C(4096) << 15)

/* Adds an interval SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT to the writer `side`: the retransmissions
 * in the time `retransmitted` may have been needless. End frame 0: there were no retransmissions,
 * and nothing is added. */
void smcr_timeline_doubt_retransmissions(const smcr_timeline_step_t *step, int side,
                                         const smcr_interval_t *retransmitted);

/* Calls smcr_timeline_doubt_retransmissions() for the writers of both directions. */
void smcr_timeline_doubt_retransmissions_of_both(const smcr_timeline_step_t *step,
                                                 const smcr_interval_t *retransmitted);

/* Whether the acknowledgement of the packet `sent` shows that the writer's last retransmissions may
 * have been needless. This is so if the packet was sent before the last retransmission, and has a
 * higher PSN. A receiver takes in packets in the order of PSNs, so it had the retransmitted packets
 * before, and an earlier acknowledgement may be missing. */
bool smcr_timeline_shows_needless_retransmission(const smcr_timeline_writer_t *writer,
                                                 const smcr_timeline_sent_t *sent);

/* If the packet of `step` is a retransmission, adds its intervals, as far as they are known. */
void smcr_timeline_take_retransmission(const smcr_timeline_step_t *step);
