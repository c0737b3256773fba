/* Knows the rules of RFC 7609 that several frames together break (docs/rfc7609.md), and what they
 * remember (memory.h). Does not know what a message changes, nor what the capture lacks. Called by
 * the flow while it learns a message, at each step of smcr_rules_when_t.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/model/record.h"

/* The packet breaks a rule: tells the user. Where requests are absent, it says that they may
 * explain it; where it is doubtful for another reason, it says nothing. */
void smcr_breach(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

/* How far the flow is with a message. The checks of a step are the rows of a table: they hold the
 * message against what was known before, and change nothing that the flow reads. */
typedef enum {
    SMCR_RULES_ARRIVES, /* nothing has been learned of it */
    SMCR_RULES_PLACED,  /* whose it is, and on which link it comes */
    SMCR_RULES_COUNTED, /* how far its cursors have moved */
    SMCR_RULES_LEARNED, /* all but what it ends */
} smcr_rules_when_t;

/* ---- CLC messages, and the application's bytes on TCP (RFC 7609 1, 3.2, 3.5, A.2, C) ---- */

/* A CLC message; its direction is known. Its checks are the rows of check_rows.def. */
typedef struct {
    const smcr_clc_t *clc; /* with the type that is meant; NULL: it means nothing */
    smcr_evidence_clc_t proven;
    bool wrong_sender; /* only the other side sends its type */
    smcr_qp_t *qp;     /* PLACED, LEARNED: an Accept or Confirm, and this one is its sender's */
} smcr_rules_clc_t;

/* Asked by smcr_rules_clc(), which knows those of links, too (links.h). The definition of a check
 * begins with SMCR_RULES_CLC(check). */
#define SMCR_RULES_CLC(check) \
    void smcr_rules_clc_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                                G_GNUC_UNUSED smcr_conn_t *conn, \
                                G_GNUC_UNUSED const smcr_rules_clc_t *message)
#define SMCR_RULES_CLC_CHECK(when, types, check) SMCR_RULES_CLC(check);
#include "check_rows.def"

/* The first bytes of the application arrive in a direction; nothing has been learned of them. */
void smcr_rules_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* ---- CDC messages (RFC 7609 2.3, 4.3 to 4.8, A.4) ---- */

/* A CDC message of the connection is taken in. Its checks are the rows of check_rows.def. */
void smcr_rules_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                    const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known);

/* ---- RDMA WRITEs (RFC 7609 2.1, 4.1, 4.2, 4.7, A.3.7) ---- */

/* An RDMA WRITE, with what the flow knows of it by now. */
typedef struct {
    const smcr_rmb_rtoken_t *entry; /* ARRIVES: what the RKey names on the link; NULL: nothing */
    smcr_conn_t *conn;  /* that uses the element; NULL: none is known */
    bool is_sure;       /* ARRIVES: it can be no other connection's */
    /* COUNTED: of a request that goes to a place where none can go */
    uint64_t end, position; /* up to where the stream went, and where the request begins */
    uint32_t length;        /* bytes */
    const smcr_rmb_t *rmb;     /* PLACED */
    const smcr_place_t *place; /* PLACED, LEARNED: of the packet */
} smcr_rules_write_t;

/* COUNTED: all that came since the last request is known. LEARNED: all messages of the reader are.
 * The checks are the rows of check_rows.def. */
void smcr_rules_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                      const smcr_rules_write_t *write);
