/* cdc_rules.h
 * What CDC messages may say (RFC 7609 4.3 to 4.8, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_CDC_RULES_H
#define SMCR_STATE_RULES_CDC_RULES_H

#include "state/model/record.h"

/* A CDC message of `conn` arrives, that is no failover validation. */
void smcr_rules_cdc(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc);

#endif /* SMCR_STATE_RULES_CDC_RULES_H */
