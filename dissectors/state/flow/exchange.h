/* Requests and their responses: of LLC, and the steps of the CLC handshake (RFC 7609 3.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Learns an LLC request: opens an exchange. If a server's ADD LINK or DELETE LINK follows a
 * client's wish for it, the wish is closed. If the peer has an open request which excludes this
 * one, and which the sender has not seen, a collision is reported. (3.5.5.3) */
void smcr_state_exchange_request(const smcr_exchange_message_t *message);

/* Learns an LLC response: closes the exchange of the request that it certainly answers. `*answered`
 * gets this request; NULL: none is certain. Returns whether the capture has a request that the
 * response may answer. */
bool smcr_state_exchange_response(const smcr_exchange_message_t *message,
                                  const smcr_exchange_request_t **answered);

/* Whether the message is a client's response to an open request of the server, though it does not
 * have the response flag. */
bool smcr_state_exchange_is_unflagged_response(const smcr_exchange_message_t *message);

/* Opens and closes an exchange that is in no list of a link group: a step of the CLC handshake, or
 * a cursor update. The message of `arrival` begins the exchange, or ends it.
 * `record->ends_exchange` of the message that ends it is set. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);
