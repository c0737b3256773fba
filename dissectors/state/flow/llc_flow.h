/* What LLC messages change (RFC 7609 3.5.1, 3.5.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Whether the state can learn something from messages of this type. `type`: type byte of the wire,
 * with the bit of version 2. */
bool smcr_state_llc_is_known(uint8_t type);

/* Pairs an LLC message with its request or response. Called when the message is sent for the first
 * time. A request opens an exchange, and a response closes an exchange. Returns true if the message
 * is a response, and the capture has a request that it may answer.
 *
 * Corrects `llc`: sets `lacks_response_flag` if a response does not have the response flag. If a
 * response to ADD LINK or CONFIRM LINK names another link than its request, `llc` gets the link of
 * the request. */
bool smcr_state_llc_exchange(const smcr_arrival_t *arrival, smcr_llc_t *llc);

/* Changes the state according to the content of a message that its receiver has taken in.
 * `requested`: result of smcr_state_llc_exchange() for the message; true if the message was sent
 * before. */
void smcr_state_llc_take_in(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested);
