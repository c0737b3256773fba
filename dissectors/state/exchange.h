/* exchange.h
 * Requests and their responses: LLC, and the steps of the CLC handshake (RFC 7609 3.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_EXCHANGE_H
#define SMCR_STATE_EXCHANGE_H

#include "packet.h"

/* What a message is about; the rest of the exchange is filled in from it. */
typedef struct {
    uint8_t type;      /* enum smcr_llc_type, of version 1 */
    int side;          /* that sends the message */
    smcr_link_t *link; /* that carries it */
    uint32_t key;      /* that the response has to repeat; 0 when there is none */
} smcr_topic_t;

/*
 * A request: opens an exchange. A server's ADD LINK or DELETE LINK also answers a client that
 * asked for it (3.5.5.3); two exchanges that must not run at the same time are a collision.
 */
void smcr_exchange_request(smcr_state_t *state, const smcr_topic_t *topic, smcr_when_t when,
                           smcr_packet_t *packet);

/* A response: closes the exchange that it fits best. */
void smcr_exchange_response(smcr_state_t *state, const smcr_topic_t *topic, smcr_when_t when,
                            smcr_packet_t *packet);

/* An exchange that is in no list: a step of the CLC handshake. */
smcr_exchange_t *smcr_exchange_open(smcr_state_t *state, smcr_when_t when);
void smcr_exchange_close(smcr_exchange_t *exchange, smcr_when_t when);

#endif /* SMCR_STATE_EXCHANGE_H */
