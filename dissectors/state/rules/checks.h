/* The checks of CDC messages and RDMA WRITEs, and their arguments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "memory.h"
#include "rules.h"
#include "wire/wire.h"

/* A CDC message, with the state of its sender and receiver before it. */
typedef struct {
    const smcr_conn_side_t *sender;
    const smcr_conn_side_t *receiver;
    const smcr_cdc_t *cdc;
    const smcr_evidence_cursors_t *cursors; /* its cursors, compared with those before; NULL with
                                               SMCR_RULES_ARRIVES */
    int16_t seq_step;     /* from the sequence number before to this one; 0 unless
                             SMCR_RULES_PLACED, as the members below */
    bool may_be_replayed; /* the sender has moved to another link since its last message: it may
                             send messages once more (4.6.2) */
    smcr_doubt_t next_doubt; /* whether this is the sender's next message on the link */
} smcr_rules_cdc_t;

/* Declare a check of CDC messages and of RDMA WRITEs. Its definition begins with
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

/* The goal that a cursor of the stream to `side` ought to have reached the position `end` (bytes)
 * before this packet: with `announced` the producer cursor, otherwise the consumer cursor. Returns
 * the goal, which later has the time when it is reached. A goal that is not reached yet is returned
 * instead of a new one. */
const smcr_rules_goal_t *smcr_rules_set_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                             int side, bool announced, uint64_t end);
