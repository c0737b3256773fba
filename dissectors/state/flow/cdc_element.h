/* What CDC messages show of the RMB element in which their receiver gets data, if the CLC messages
 * that announce it are not captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Finds the RMB in which the receiver of the message gets data, from the last WRITE before the
 * message, if the RMB of the connection is not known or not alive. The last packet of this WRITE
 * has to have the PSN right before the message. The WRITE is taken to end at the producer cursor of
 * the message, and the RMB has to begin at a page. If the RMB was found in this way before, checks
 * it with this WRITE instead. In all other cases nothing changes. */
void smcr_state_cdc_derive_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               const smcr_cdc_t *cdc);

/* Learns the size of the element to which the sender of the arriving CDC message writes, if the
 * size is not known. Two conditions: 1. the producer cursor of the message is one round after the
 * previous one; 2. the WRITEs right before the message show where the element ends. If the size is
 * learned, positions in the stream are known from then on. */
void smcr_state_cdc_learn_size(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                               const smcr_cdc_t *cdc);
