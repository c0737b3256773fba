/* What CDC messages show of the RMB element in which their receiver gets data, if the CLC messages
 * that announce it are not captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Finds the RMB of a connection whose CLC messages are not captured, from the address of the last
 * WRITE. The WRITE has to end right before the PSN of the message, and at the producer cursor of
 * the message. Otherwise, or if the RMB is known already, nothing changes. */
void smcr_state_cdc_derive_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               const smcr_cdc_t *cdc);

/* Learns the size of the element to which the sender of the arriving CDC message writes, for a
 * connection whose CLC messages are not captured. The size shows when the producer cursor of the
 * message is one round after the previous one. From then on, positions in the stream are known. */
void smcr_state_cdc_learn_size(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               const smcr_cdc_t *cdc);
