/* close_rules.h
 * How connections end (RFC 7609 4.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_CLOSE_RULES_H
#define SMCR_STATE_RULES_CLOSE_RULES_H

#include "state/model/record.h"

/* A CDC message of `conn` ends the connection, or its sender's data; what its cursors say is known
 * by now, but not yet that it ends something. */
void smcr_rules_close(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                      const smcr_cdc_t *cdc);

/* An RDMA WRITE request begins that goes to the element of `conn`, one of whose sides has ended. */
void smcr_rules_write_after(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

#endif /* SMCR_STATE_RULES_CLOSE_RULES_H */
