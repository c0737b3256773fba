/* rmb_rules.h
 * Which RMBs a side may announce, and that those in use remain (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_RMB_RULES_H
#define SMCR_STATE_RULES_LINKS_RMB_RULES_H

#include "state/rules/rules.h"

/* A connection that uses the RMB for sure, as its owner has shown by a CDC message; NULL: there is
 * none. */
const smcr_conn_t *smcr_rules_rmb_user(const smcr_rmb_t *rmb);

/* The message that arrives breaks a rule if the connection uses the RMB of `owner`, a side, still:
 * whether the capture may lack its end. `added`: as in smcr_doubt_later_adding(). */
smcr_doubt_t smcr_doubt_use(const smcr_arrival_t *arrival, const smcr_conn_t *conn, int owner,
                            const smcr_link_t *added);

/* The message that arrives gives the RKey of the entry to another RMB. `added`: as in
 * smcr_doubt_later_adding(). */
void smcr_rules_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                       const smcr_link_t *added);

/* The owner of `qp` announces an RMB there. Returns whether it is a new one. */
bool smcr_rules_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                    uint64_t va);

/* Accept or Confirm names an RMB of `qp`, before that is learned. Returns whether nobody has
 * announced it so far. */
bool smcr_rules_rkey_named(const smcr_arrival_t *arrival, smcr_qp_t *qp,
                           const smcr_clc_accept_t *accept);

/* And after: `rmb` is the one that it names. `is_new`: what the first has returned. */
void smcr_rules_rmb_named(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_rmb_t *rmb,
                          bool is_new);

#endif /* SMCR_STATE_RULES_LINKS_RMB_RULES_H */
