/* clc_rules.h
 * What CLC messages may say (RFC 7609 3.5.2, A.2, C.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_CLC_RULES_H
#define SMCR_STATE_RULES_CLC_RULES_H

#include "state/model/record.h"

/* A CLC message arrives, whose direction is known. Returns whether only the other side sends it. */
bool smcr_rules_sender(const smcr_arrival_t *arrival, const smcr_conn_t *conn, uint8_t type);

/* An Accept or Confirm of the connection announces its sender, which has the queue pair. */
void smcr_rules_announced(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_qp_t *qp,
                          const smcr_clc_accept_t *accept);

/* A Decline arrives, before anything is learned of it. */
void smcr_rules_decline(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* An Accept without first contact flag names a queue pair that the capture does not know. */
void smcr_rules_unknown_server(const smcr_arrival_t *arrival, const smcr_clc_accept_t *accept);

/* A Confirm names the queue pair `key`, which is not known as the client's end of an active link of
 * the connection's group. */
void smcr_rules_unknown_client(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                               const smcr_qp_key_t *key);

#endif /* SMCR_STATE_RULES_CLC_RULES_H */
