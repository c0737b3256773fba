/* tcp_rules.h
 * What comes when on a TCP connection that offers or uses SMC-R (RFC 7609 1, 3.2, C.1 to C.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_TCP_RULES_H
#define SMCR_STATE_RULES_TCP_RULES_H

#include "state/model/record.h"

/* The first byte of a direction of the connection, `role` 0: the client's, has the number `first`:
 * the capture has its SYN. */
void smcr_rules_tcp_begins(smcr_conn_t *conn, unsigned role, uint32_t first);

/* A CLC message arrives; its direction is known, and nothing has been learned of it. Returns false
 * when only the other side sends it: it means nothing. */
bool smcr_rules_clc(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc);

/* The first bytes of the application arrive in a direction; nothing has been learned of them. */
void smcr_rules_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* Notes of LLC messages, which begin the first link of a group and offer the second one, when they
 * were sent and acknowledged. */
void smcr_rules_set_up(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* An RDMA WRITE or CDC message arrives on a link. */
void smcr_rules_out_of_sync(const smcr_arrival_t *arrival);

#endif /* SMCR_STATE_RULES_TCP_RULES_H */
