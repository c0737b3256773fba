/* move_rules.h
 * How a connection goes from one link to another (RFC 7609 2.3, 4.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_MOVE_RULES_H
#define SMCR_STATE_RULES_MOVE_RULES_H

#include "state/model/record.h"

/* A CDC message of the connection arrives, before anything is learned of it. */
void smcr_rules_move(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* A WRITE request begins that goes to the connection's element, but its sender is not known to be
 * on this link. */
void smcr_rules_stray_write(const smcr_arrival_t *arrival, smcr_conn_t *conn);

#endif /* SMCR_STATE_RULES_MOVE_RULES_H */
