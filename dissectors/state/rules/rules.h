/* Knows the rules of RFC 7609 that several frames together break (docs/rfc7609.md), and what they
 * remember (memory.h). Does not know what a message changes, nor which packets are missing in the
 * capture. Called by the flow while it learns a message, at each step of smcr_rules_when_t.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/model/record.h"

/* Reports that the packet of `arrival` breaks a rule: adds the event with the text of `format` to
 * its record, if the capture proves the breach (`doubt` is SMCR_DOUBT_NONE). It adds
 * SMCR_EVENT_breach_doubtful instead where missing requests may explain the packet
 * (SMCR_DOUBT_ABSENT), and nothing with any other doubt. Where `doubt` has a claim, the event is
 * shown only if later packets bear the claim out. */
void smcr_breach_report(const smcr_arrival_t *arrival, smcr_event_id_t event, smcr_doubt_t doubt,
                        const char *format, ...) G_GNUC_PRINTF(4, 5);

/* How much the flow has learned of a message. The checks of a step are the rows of a table. They
 * compare the message with what was known before, and change nothing that the flow reads. */
typedef enum {
    SMCR_RULES_ARRIVES, /* nothing of it */
    SMCR_RULES_PLACED,  /* its connection, its sender and its link */
    SMCR_RULES_COUNTED, /* the positions of its cursors, or of the WRITE, in the streams */
    SMCR_RULES_LEARNED, /* all of it, except for the end of a connection or exchange */
} smcr_rules_when_t;

/* ---- CLC messages, and the application's bytes on TCP (RFC 7609 1, 3.2, 3.5, A.2, C) ---- */

/* A CLC message whose direction is known. Its checks are the rows of check_rows.def. */
typedef struct {
    const smcr_clc_t *clc; /* with the type that its sender means; NULL: the message has no meaning,
                              or data of the application come instead */
    smcr_evidence_clc_t evidence; /* what the capture proves of its place among the CLC messages */
    bool wrong_sender;     /* only the other side sends messages of its type */
    smcr_qp_t *qp;         /* queue pair of its sender, which an Accept or Confirm names; only with
                              PLACED and LEARNED, and NULL for other types */
} smcr_rules_clc_t;

/* Declares a check of CLC messages; its definition begins with SMCR_RULES_CLC(check). It is called
 * by smcr_rules_check_clc(), which has the checks of links, too (links.h). */
#define SMCR_RULES_CLC(check) \
    void smcr_rules_clc_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                                G_GNUC_UNUSED smcr_conn_t *conn, \
                                G_GNUC_UNUSED const smcr_rules_clc_t *message)
#define SMCR_RULES_CLC_CHECK(when, types, check) SMCR_RULES_CLC(check);
#include "check_rows.def"

/* Checks the first bytes of the application in a direction of the TCP connection (R-1-2, C.5, C.6).
 * The flow has learned nothing of them yet. */
void smcr_rules_check_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* ---- CDC messages (RFC 7609 2.3, 4.3 to 4.8, A.4) ---- */

/* Calls the checks of step `when` for a CDC message that its receiver takes in: the rows of
 * check_rows.def. `known` has the cursors of the message, compared with those before; NULL with
 * ARRIVES. */
void smcr_rules_check_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                          const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known);

/* ---- RDMA WRITEs (RFC 7609 2.1, 4.1, 4.2, 4.7, A.3.7) ---- */

/* An RDMA WRITE, with what the flow knows of it by now. A member that names a step is set in this
 * step only. */
typedef struct {
    const smcr_rmb_rtoken_t *rtoken; /* ARRIVES: what the RKey names on the link; NULL: nothing */
    smcr_conn_t *conn;         /* that uses the element; NULL: not known */
    bool is_certain_owner;     /* ARRIVES: no other connection can use the element */
    uint64_t previous_end;     /* COUNTED: position after the request before, bytes */
    uint64_t position;         /* COUNTED: position of this request, bytes */
    uint32_t length;           /* COUNTED: of this request, bytes */
    const smcr_rmb_t *rmb;     /* PLACED: in which it writes */
    const smcr_place_t *place; /* PLACED, LEARNED: of the packet in the RMB and in the stream */
} smcr_rules_write_t;

/* Calls the checks of step `when` for an RDMA WRITE: the rows of check_rows.def. ARRIVES is for
 * each request; COUNTED for a request that goes to a place where none can go, when all that came
 * since the last request is known; PLACED for each packet; LEARNED for each packet, when all
 * messages of the reader are known. */
void smcr_rules_check_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                            const smcr_rules_write_t *write);
