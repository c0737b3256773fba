/* ack.h
 * Acknowledgements: ACK, NAK and RNR NAK (InfiniBand Architecture Specification, volume 1, 9.7.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_ACK_H
#define SMCR_STATE_FLOW_ACK_H

#include "state/model/record.h"

/* An answer to what the queue pair's peer receives. */
void smcr_ack_take(const smcr_arrival_t *arrival);

#endif /* SMCR_STATE_FLOW_ACK_H */
