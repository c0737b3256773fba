/* clc_rules.h
 * What CLC messages may say (RFC 7609 3.5.2, A.2, C.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_CLC_RULES_H
#define SMCR_STATE_RULES_CLC_RULES_H

#include "state/model/record.h"

/* An Accept or Confirm of the connection announces its sender, which has the queue pair. */
void smcr_rules_announced(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp,
                          const smcr_clc_accept_t *accept);

/* An Accept without first contact flag names a queue pair that the capture does not know. */
void smcr_rules_unknown_server(const smcr_arrival_t *arrival, const smcr_clc_accept_t *accept);

/* A Confirm names the queue pair `key`, which is not known as the client's end of an active link of
 * the connection's group. */
void smcr_rules_unknown_client(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                               const smcr_ib_qp_key_t *key);

/* An Accept names the queue pair, for a first contact or for one of the other role; `qp` is it as
 * it was known, NULL: it was not. */
void smcr_rules_taken_qp(const smcr_arrival_t *arrival, const smcr_qp_t *qp, bool first_contact);

/* A Proposal arrives that has an IP area. */
void smcr_rules_area(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                     const smcr_clc_proposal_t *proposal);

/* An Accept arrives on the connection. */
void smcr_rules_subnet(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                       const smcr_clc_t *clc);

/* An Accept or Confirm gives the RMB, of the side with `qp`, elements of `size` bytes. */
void smcr_rules_element_size(const smcr_arrival_t *arrival, const smcr_qp_t *qp,
                             const smcr_rmb_t *rmb, uint32_t size);

/* An Accept or Confirm of `conn` names an RMB element, or an alert token, of `side`. `before`: the
 * connection that had it, NULL: none. */
void smcr_rules_given_away(const smcr_arrival_t *arrival, smcr_conn_t *before,
                           const smcr_conn_t *conn, int side, bool token);

/* A CDC message of the connection arrives, before anything is learned of it. */
void smcr_rules_goes_on(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                        const smcr_cdc_t *cdc);

#endif /* SMCR_STATE_RULES_CLC_RULES_H */
