/* v2_rules.h
 * What two peers agree on: versions and paths, and what SMC version 2 adds to that
 * (net/smc/smc_clc.h, net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_V2_RULES_H
#define SMCR_STATE_RULES_V2_RULES_H

#include "state/model/record.h"

/* A Proposal, Accept or Confirm of the right sender arrives: keeps what it offers or takes, which
 * the next ones are held against. */
void smcr_rules_terms(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc);

/* An Accept puts the connection into the group. */
void smcr_rules_joined(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* A CDC message of the connection arrives, before anything is learned of it. */
void smcr_rules_open(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* An LLC message arrives, before anything is learned of it. */
void smcr_rules_llc_terms(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

#endif /* SMCR_STATE_RULES_V2_RULES_H */
