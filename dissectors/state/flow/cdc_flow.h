/* What CDC messages change (RFC 7609 4.5 to 4.8, A.4). Called by deferred.c, and by
 * immediate_flow.c for messages in the place of CDC messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Changes the state by a CDC message of `conn` that its receiver has taken in. Its cursors move the
 * two byte streams, its flags may ask for a cursor update, and its state may end the connection.
 * Fills in `record->cdc_analysis`, if one of the cursors gives a position in its stream. */
void smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                            const smcr_cdc_t *cdc);
