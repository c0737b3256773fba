/* Requests and their responses: of LLC, and the steps of the CLC handshake (RFC 7609 3.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Learns an LLC request: opens an exchange, and sets `begins_exchange` in the record. Three
 * requests do not:
 *
 * 1. a client's request that crosses the server's own one, which also answers it
 * 2. a Linux client's DELETE LINK that answers the server's
 * 3. a request whose response may have come before it in the capture. If the capture is out of
 *    order, its exchange is kept nevertheless, but gets no response
 *
 * If the request is a server's ADD LINK or DELETE LINK for which a client has asked, the exchange
 * of the client's request is closed; in case 3 it counts as one whose response cannot be known. A
 * collision is reported under two conditions: 1. the peer has an open request that must not be open
 * together with this request; 2. the sender has not seen the peer's request. (3.5.5.3) */
void smcr_state_exchange_request(const smcr_exchange_message_t *message);

/* Learns an LLC response: closes the exchange of the request that the response certainly answers.
 * `*answered` gets this request; NULL: for no request this is certain. Returns whether the capture
 * has a request that the response may answer. */
bool smcr_state_exchange_response(const smcr_exchange_message_t *message,
                                  const smcr_exchange_request_t **answered);

/* Whether the message is a client's response to an open request of the server on the same link and
 * with the same key, though the message does not have the response flag. */
bool smcr_state_exchange_is_unflagged_response(const smcr_exchange_message_t *message);

/* Takes in that an Accept or Confirm names `rmb`, of the side of the queue pair `owner`, or that
 * such a message is missing, and the peer has written to `rmb`. A host names a new RMB only after
 * the response to its CONFIRM RKEY (3.5.2). If the capture has no
 * response to this request, and packets of the responder are missing since then, the response
 * counts as one of them. Nothing changes if this is not certain, for example if the group has
 * several links. */
void smcr_state_exchange_named_rmb(const smcr_arrival_t *arrival, smcr_qp_t *owner,
                                   const smcr_rmb_t *rmb);

/* Opens an exchange that is in no list of a link group: a step of the CLC handshake, or a cursor
 * update; closes any exchange. The message of `arrival` begins the exchange, or ends the exchange.
 * The closing function sets `ends_exchange` in the record of this message. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);
