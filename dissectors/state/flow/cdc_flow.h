/* What CDC messages change (RFC 7609 4.5 to 4.8, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* The connection that the message names by its alert token (RFC 7609 4.7). A token that means none
 * in the group makes a new connection, or the other direction of one whose CLC messages are
 * missing. NULL: the token may mean two connections, or meant another one when an old message was
 * sent. */
smcr_conn_t *smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The receiver has taken the message of `conn` in: its cursors move the two byte streams, its flags
 * ask for what they ask, and its state may end the connection. Fills in `record->view`. */
void smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                            const smcr_cdc_t *cdc);
