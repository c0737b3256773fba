/* The checks of CDC messages and RDMA WRITEs, and what those of CDC messages are given.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "memory.h"
#include "rules.h"
#include "wire/wire.h"

/* A CDC message, with what its sender has said before. */
typedef struct {
    const smcr_conn_side_t *sender, *receiver;
    const smcr_cdc_t *cdc;
    const smcr_evidence_cursors_t *known; /* ARRIVES: NULL */
    /* SMCR_RULES_PLACED */
    int16_t step;         /* of the sequence number */
    bool replayed;        /* the connection has moved since: messages may come again (4.6.2) */
    smcr_doubt_t follows; /* this is the sender's next message on the link */
} smcr_rules_cdc_t;

/* What a check is given: its definition begins with SMCR_RULES_CDC(check) or
 * SMCR_RULES_WRITE(check). */
#define SMCR_RULES_CDC(check) \
    void smcr_rules_cdc_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                                G_GNUC_UNUSED smcr_conn_t *conn, \
                                G_GNUC_UNUSED const smcr_rules_cdc_t *message)
#define SMCR_RULES_WRITE(check) \
    void smcr_rules_write_##check(const smcr_arrival_t *arrival, const smcr_rules_write_t *write)
#define SMCR_RULES_CDC_CHECK(when, which, check) SMCR_RULES_CDC(check);
#define SMCR_RULES_WRITE_CHECK(when, check) SMCR_RULES_WRITE(check);
#include "check_rows.def"

/* What a cursor of the stream to the side, the announced or the consumed position, ought to have
 * reached before this packet; it will say when it has. */
const smcr_rules_goal_t *smcr_rules_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                         int side, bool announced, uint64_t end);
