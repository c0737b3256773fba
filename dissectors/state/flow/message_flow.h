/* What the files of this room ask each other: how packets fared, where RDMA WRITEs belong, what
 * messages change, what they have in common, and who waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"
#include "wire/wire.h"

/* ---- how packets fared, for their records: what fabric/ says, on any RDMA connection ---- */

/* A response to `requests`, NULL where these are not known: what it acknowledges, refuses and
 * completes. Asked before smcr_outcome_judge(). */
smcr_traffic_answer_t smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests);

/* A request or response in `traffic`; `reverse` is what the peer receives, NULL where that is not
 * known. Writes the verdict to the record, to `arrival->psn` and `arrival->sent`. */
smcr_flow_verdict_t smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                                       smcr_traffic_t *reverse);

/* A congestion notification in `traffic`; `reverse` as above. */
void smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                      smcr_traffic_t *reverse);

/* Any packet but a congestion notification: notes its ECN mark, CE. */
void smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                        const smcr_traffic_t *reverse);

/* ---- LLC messages (RFC 7609 3.5.1, 3.5.5, A.3) ---- */

/* Whether the state can learn something from messages of a type. */
bool smcr_state_llc_is_known(uint8_t type);

/* The message is sent for the first time: a request, or a response. Returns whether the capture has
 * the request of a response, and sets right what that says of the response. */
bool smcr_state_llc_exchange(const smcr_arrival_t *arrival, smcr_llc_t *llc);

/* The receiver has taken the message in. `requested`: as returned above. */
void smcr_state_llc_take_in(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested);

/* ---- what hosts have told ---- */

/* The socket that alone can be the connection of the message, whose token means none; the host that
 * tells of it has `*side`. NULL: there is none. */
smcr_socket_t *smcr_state_told_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc,
                                      int *side);

/* Its connection, of which the other direction is known already; NULL: it is not. */
smcr_conn_t *smcr_state_told_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket);

/* The connection is that of the socket. */
void smcr_state_told_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                          int side);

/* The message may show that a host has told of another time, or another host. */
void smcr_state_told_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* After a message of a connection: it may stand now where a host was, or where a file says that it
 * was. */
void smcr_state_told_again(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* ---- requests and their responses: LLC, and the steps of CLC (RFC 7609 3.5, A.3) ---- */

/* A request: opens an exchange. A server's ADD LINK or DELETE LINK also answers a client that
 * asked for it (3.5.5.3); two exchanges that must not run at the same time are a collision. */
void smcr_state_exchange_request(const smcr_exchange_message_t *message);

/* A response: closes the exchange that it answers, where that is known for sure: `*answered`, else
 * NULL. Returns whether the capture has a request that it may answer. */
bool smcr_state_exchange_response(const smcr_exchange_message_t *message,
                                  const smcr_exchange_request_t **answered);

/* Whether the client answers an open request of the server, but for the flag of responses. */
bool smcr_state_exchange_lacks_flag(const smcr_exchange_message_t *message);

/* An exchange that is in no list: a step of the CLC handshake, a cursor update. The message that
 * arrives begins it, or ends it. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);
