/* Requests and their responses: of LLC, and the steps of the CLC handshake (RFC 7609 3.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* An LLC request: opens an exchange. A server's ADD LINK or DELETE LINK also closes the exchange of
 * a client that has asked for it. Two open exchanges that exclude each other are reported as a
 * collision. (3.5.5.3) */
void smcr_state_exchange_request(const smcr_exchange_message_t *message);

/* An LLC response: closes the exchange of the request that it certainly answers, and puts the
 * request into `*answered`; NULL: no request is certain. Returns whether the capture has a request
 * that the response may answer. */
bool smcr_state_exchange_response(const smcr_exchange_message_t *message,
                                  const smcr_exchange_request_t **answered);

/* Whether the message is a client's response to an open request of the server, though the flag of
 * responses is not set. */
bool smcr_state_exchange_is_unflagged_response(const smcr_exchange_message_t *message);

/* An exchange that is in no list of a group: a step of the CLC handshake, or a cursor update. The
 * message begins it; or ends it, and the record of the message leads to the exchange. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);
