/* cdc_rules.h
 * What CDC messages may say (RFC 7609 4.3 to 4.8, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_CDC_RULES_H
#define SMCR_STATE_RULES_CDC_RULES_H

#include "state/model/record.h"

/* A CDC message of `conn` arrives, that is no failover validation. */
void smcr_rules_cdc(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* A CDC message, whose RDMA WRITEs all have a known place, announces `bytes` that nobody has
 * written. Returns whether the capture proves that. */
bool smcr_rules_announced_early(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                                uint64_t bytes);

/* Whether a CDC message has announced more than its reader has space for, and the WRITEs do not
 * show that. */
bool smcr_rules_passes_reader(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* It has, and the capture has all messages of the reader so far; `goal` is what the reader ought to
 * have consumed. */
void smcr_rules_producer(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                         const smcr_stream_cursor_deadline_t *goal);

/* A CDC message says that more was read than was announced; `goal` is that. Returns whether the
 * capture proves it. */
bool smcr_rules_consumer(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                         const smcr_stream_cursor_deadline_t *goal);

/* An RDMA WRITE of the connection goes behind urgent data, and their reader has sent nothing since;
 * `*answer` is as below. */
void smcr_rules_urgent_wait(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                            const uint64_t *answer);

/* A CDC message announces urgent data; `*answer` will be when their reader sends something,
 * nanoseconds since the epoch. */
void smcr_rules_urgent_answer(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                              const uint64_t *answer);

/* A CDC message has a token that nobody has announced in its link group. */
void smcr_rules_token(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

#endif /* SMCR_STATE_RULES_CDC_RULES_H */
