/* Which connection a CDC message names (RFC 7609 4.7). Called by message_flow.c when the message
 * comes, and by deferred.c when its receiver takes it in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* The connection that the message names by its alert token (RFC 7609 4.7). If the token names no
 * connection of the group, or only one that certainly has ended, CLC messages are missing: the
 * message belongs to a reported socket, or to the other direction of a known connection, or a new
 * connection is made. NULL in two cases: 1. the token names two open connections; 2. the receiver
 * took the packet in before this packet came, and no connection with the token had begun by
 * then. */
smcr_conn_t *smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);
