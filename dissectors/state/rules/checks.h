/* The checks of CDC messages and RDMA WRITEs, and their arguments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "memory.h"
#include "rules.h"
#include "wire/wire.h"

/* A CDC message, and the two sides of its connection as far as state/flow/ has changed them at this
 * step (smcr_rules_when_t). */
typedef struct {
    const smcr_conn_side_t *sender;   /* side that sends the message */
    const smcr_conn_side_t *receiver; /* the other side */
    const smcr_cdc_t *cdc;            /* the decoded message */
    const smcr_evidence_cursors_t *cursors; /* cursors of the message, compared with the cursors in
                                               the sender's last message; NULL at
                                               SMCR_RULES_ARRIVES */
} smcr_rules_cdc_t;

/* Declare a check of CDC messages and a check of RDMA WRITEs. The definition of a check begins with
 * SMCR_RULES_CDC(check) or SMCR_RULES_WRITE(check). */
#define SMCR_RULES_CDC(check) \
    void smcr_rules_cdc_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                                G_GNUC_UNUSED smcr_conn_t *conn, \
                                G_GNUC_UNUSED const smcr_rules_cdc_t *message)
#define SMCR_RULES_WRITE(check) \
    void smcr_rules_write_##check(const smcr_arrival_t *arrival, const smcr_rules_write_t *write)
#define SMCR_RULES_CDC_CHECK(when, which, check) SMCR_RULES_CDC(check);
#define SMCR_RULES_WRITE_CHECK(when, check) SMCR_RULES_WRITE(check);
#include "check_rows.def"

/* Sets a goal: a cursor of the stream to `side` must have reached the position `end` (bytes) before
 * this packet was sent. With `announced`, the cursor is the producer cursor, otherwise the consumer
 * cursor. Returns the goal; its `reached_time` is set when the cursor reaches the position. If the
 * last goal of this cursor is not reached yet, the function returns that goal and makes no new
 * one. */
const smcr_rules_goal_t *smcr_rules_set_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                             int side, bool announced, uint64_t end);
