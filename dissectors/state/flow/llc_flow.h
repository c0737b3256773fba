/* llc_flow.h
 * LLC messages (RFC 7609 3.5.1, 3.5.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_LLC_FLOW_H
#define SMCR_STATE_FLOW_LLC_FLOW_H

#include "state/model/record.h"

/* Whether the state can learn something from messages of a type. */
bool smcr_state_llc_is_known(uint8_t type);

/* The message is sent for the first time: a request, or a response. Returns whether the capture has
 * the request of a response. */
bool smcr_state_llc_exchange(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* The receiver has taken the message in. `requested`: as returned above. */
void smcr_state_llc_apply(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested);

#endif /* SMCR_STATE_FLOW_LLC_FLOW_H */
