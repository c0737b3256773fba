/* clc_flow.h
 * CLC messages (RFC 7609 3.5.1, 3.5.2, A.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_CLC_FLOW_H
#define SMCR_STATE_FLOW_CLC_FLOW_H

#include "state/model/record.h"

/* A CLC message of `conn` arrives, in the order of the TCP stream. `from_server`: which side of the
 * TCP connection sent it. */
void smcr_state_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                    bool from_server);

#endif /* SMCR_STATE_FLOW_CLC_FLOW_H */
