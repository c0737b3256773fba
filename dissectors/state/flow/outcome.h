/* How packets fared that are not of SMC-R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- packets of RDMA connections that are not SMC-R ---- */

/* A packet that is no packet of a link, as far as is known. `message` is that of RDMA-CM which it
 * carries, NULL when it carries none. Fills in the record. */
void smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message);
