/* foreign.h
 * Packets of RDMA connections that are not SMC-R: whose they are, and how they fared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_FOREIGN_H
#define SMCR_STATE_FLOW_FOREIGN_H

#include "state/model/record.h"

/* A packet that is no packet of a link, as far as is known. `message` is that of RDMA-CM which it
 * carries, NULL when it carries none. Fills in the record. */
void smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message);

/* Frees what the scope does not own; before the scope goes. */
void smcr_state_foreign_end(smcr_state_t *state);

#endif /* SMCR_STATE_FLOW_FOREIGN_H */
