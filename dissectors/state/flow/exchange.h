/* exchange.h
 * Requests and their responses: LLC, and the steps of the CLC handshake (RFC 7609 3.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_EXCHANGE_H
#define SMCR_STATE_FLOW_EXCHANGE_H

#include "state/model/record.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"

/*
 * A request: opens an exchange. A server's ADD LINK or DELETE LINK also answers a client that
 * asked for it (3.5.5.3); two exchanges that must not run at the same time are a collision.
 */
void smcr_state_exchange_request(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic);

/* A response: closes the exchange that it answers, where that is known for sure. Returns whether
 * the capture has a request that it may answer. */
bool smcr_state_exchange_response(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic);

/* The link group ends, and with it what is open. */
void smcr_state_exchange_end(const smcr_lgr_t *lgr);

/* An exchange that is in no list: a step of the CLC handshake, a cursor update. The message that
 * arrives begins it, or ends it. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);

#endif /* SMCR_STATE_FLOW_EXCHANGE_H */
