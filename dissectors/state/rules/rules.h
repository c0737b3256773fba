/* Knows the rules of RFC 7609 that several frames together break (docs/rfc7609.md), and the memory
 * that they need (memory.h). Does not know what a message changes, nor which packets are missing in
 * the capture. Called by state/flow while it learns a message, at each step of smcr_rules_when_t.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/model/record.h"

/* Reports that the packet of `arrival` breaks a rule. The packet alone proves the breach. The event
 * `event`, with the sentence of `format`, is added to the record of the packet. Nothing is added if
 * the receiver has not taken in the packet as it came (smcr_doubt_message()). */
void smcr_breach_report(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *format,
                        ...) G_GNUC_PRINTF(3, 4);

/* Reports that the packet of `arrival` breaks a rule, if the capture proves the breach. The packet
 * alone does not prove the breach: `doubt` decides what is added to the record of the packet:
 *
 * - SMCR_DOUBT_NONE: the event `event` with the sentence of `format`.
 * - SMCR_DOUBT_ABSENT (missing requests may explain the packet): the event
 *   SMCR_EVENT_breach_doubtful.
 * - any other doubt: nothing.
 *
 * If `doubt` has a claim, the event is shown only if later packets confirm the claim. Neither
 * function adds anything in a link group whose TCP and RoCE packets have times of two clocks
 * (`clocks_differ`). */
void smcr_breach_report_unless(const smcr_arrival_t *arrival, smcr_event_id_t event,
                               smcr_doubt_t doubt, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Makes the rules forget that elements or tokens of `conn` were given to connections that are
 * leaving (`is_leaving`). */
void smcr_rules_forget_leaving(smcr_conn_t *conn);

/* Frees what the rules keep of the connection, which is freed next. What a later acknowledgement
 * may still be written to stays, and what is rare (conn_rules.c). */
void smcr_rules_free_conn(smcr_state_t *state, smcr_conn_t *conn);

/* Frees what the rules keep of the RMB, which is freed next. */
void smcr_rules_free_rmb(smcr_state_t *state, smcr_rmb_t *rmb);

/* The step at which a check is called: how much state/flow has learned of a message. The checks of
 * a step are the rows of check_rows.def and links/llc_checks.def. The checks compare the message
 * with what was known before the message, as far as state/flow has not changed it at that step. The
 * checks change nothing that state/flow reads. */
typedef enum {
    SMCR_RULES_ARRIVES, /* state/flow has learned nothing of the message yet; of CDC, the RMB and
                           the size of its element may be inferred already */
    SMCR_RULES_PLACED,  /* state/flow has learned the message's connection, sender and link */
    SMCR_RULES_COUNTED, /* state/flow has learned the positions of the message's cursors, or of the
                           WRITE, in the byte streams */
    SMCR_RULES_LEARNED, /* state/flow has learned the whole message, except for the end of a
                           connection or exchange that the message may bring */
} smcr_rules_when_t;

/* ---- CLC messages, and the application's bytes on TCP (RFC 7609 1, 3.2, 3.5, A.2, C) ---- */

/* A CLC message whose sender (client or server) is known. Its checks are the rows of
 * check_rows.def. */
typedef struct {
    const smcr_clc_t *clc; /* the message; if its type does not fit its sender, with the type that
                              the sender must have meant. NULL: the message has no meaning, or the
                              packet has data of the application instead */
    smcr_evidence_clc_t evidence; /* what the capture proves about the message's place among the CLC
                                     messages */
    bool wrong_sender;     /* the message has a type that only the other side may send */
    smcr_qp_t *qp;         /* queue pair of the sender, which an Accept or Confirm names; NULL for
                              other types and at ARRIVES */
    const smcr_rmb_t *rmb; /* RMB that an Accept or Confirm names, as it was before the message;
                              NULL: the RMB is new, or `qp` is NULL. Set from PLACED on */
} smcr_rules_clc_t;

/* Declares a check of CLC messages. Its definition begins with SMCR_RULES_CLC(check).
 * smcr_rules_check_clc() calls the checks, including those of links (links.h). */
#define SMCR_RULES_CLC(check) \
    void smcr_rules_clc_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                                G_GNUC_UNUSED smcr_conn_t *conn, \
                                G_GNUC_UNUSED const smcr_rules_clc_t *message)
#define SMCR_RULES_CLC_CHECK(when, types, check) SMCR_RULES_CLC(check);
#include "check_rows.def"

/* Checks the first bytes of the application in one direction of the TCP connection (R-1-2, C.5,
 * C.6). state/flow calls this function before it learns these bytes. */
void smcr_rules_check_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* ---- CDC messages (RFC 7609 2.3, 4.3 to 4.8, A.4) ---- */

/* Calls the checks of step `when` (rows of check_rows.def) for a CDC message that its receiver
 * takes in. `known`: comparison of the message's cursors with the sender's earlier cursors; NULL at
 * ARRIVES. */
void smcr_rules_check_cdc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                          const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known);

/* ---- RDMA WRITEs (RFC 7609 2.1, 4.1, 4.2, 4.7, A.3.7) ---- */

/* An RDMA WRITE, and what state/flow knows of the WRITE at each step. Some members are set only at
 * the steps that their comments name (smcr_rules_when_t). */
typedef struct {
    const smcr_rmb_rtoken_t *rtoken; /* RToken that the RKey of the WRITE names on the link; NULL:
                                        the RKey names none. Set at step ARRIVES */
    smcr_conn_t *conn;         /* connection that uses the RMB element; NULL: not known */
    bool is_certain_owner;     /* no other connection can use the RMB element. Set at step
                                  ARRIVES */
    uint64_t previous_end;     /* end of the stream before this request, by WRITEs and the
                                  producer cursor (smcr_stream_end()). Set at step COUNTED */
    uint64_t position;         /* position in the stream of this request's first byte. Set at step
                                  COUNTED */
    uint32_t length;           /* length of this request, bytes. Set at step COUNTED */
    const smcr_rmb_t *rmb;     /* RMB that the WRITE writes to. Set at step PLACED */
    const smcr_place_t *place; /* place of the packet in the RMB and in the stream. Set at the steps
                                  PLACED and LEARNED */
} smcr_rules_write_t;

/* Calls the checks of step `when` (rows of check_rows.def) for an RDMA WRITE. state/flow calls this
 * function:
 *
 * - ARRIVES: for each new request, unless two open connections share the RMB element.
 * - COUNTED: for a request whose place does not follow from the previous request, if no packet
 *   between the two requests is missing.
 * - PLACED: for each packet whose RMB is certain.
 * - LEARNED: for each packet that the receiver takes in, if its position is known and no message of
 *   the reader is missing. Not for WRITEs that a tap of a host shows. */
void smcr_rules_check_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                            const smcr_rules_write_t *write);
