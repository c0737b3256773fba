/* What CDC messages change (RFC 7609 4.5 to 4.8, A.4). Called by deferred.c, and by
 * immediate_flow.c for messages in the place of CDC messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* The connection that the message names by its alert token (RFC 7609 4.7). If the token names no
 * connection of the group, CLC messages are missing: the message belongs to the other direction of
 * a known connection, or a new connection is made. NULL: the token names two open connections, or
 * the packet was taken in before the connection with this token began. */
smcr_conn_t *smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* Finds the RMB of a connection whose CLC messages are not captured, from the address of the last
 * WRITE. The WRITE has to end right before the PSN of the message, and at the producer cursor of
 * the message. Otherwise, or if the RMB is known already, nothing changes. */
void smcr_state_cdc_derive_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               const smcr_cdc_t *cdc);

/* Changes the state by a CDC message of `conn` that its receiver has taken in. Its cursors move the
 * two byte streams, its flags may ask for a cursor update, and its state may end the connection.
 * Fills in `record->cdc_analysis`. */
void smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                            const smcr_cdc_t *cdc);
