/* What CDC messages change.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- CDC messages (RFC 7609 4.5 to 4.8, A.4) ---- */

/* The connection that the message names by its token; a new one where none is known. */
smcr_conn_t *smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The receiver has taken the message in. */
void smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                            const smcr_cdc_t *cdc);
