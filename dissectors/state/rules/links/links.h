/* Knows the same rules for links, LLC and RMBs, and what they remember (links_checks.h). Does not
 * know what a message changes. Called by the flow: before it learns a message, after it has learned
 * the message, and when something happens to an exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/rules/rules.h"

/* ---- LLC messages (RFC 7609 2.2, 3.5, 4.2, A.3) ---- */

/* Calls the checks of step `when` (ARRIVES or LEARNED) for an LLC message that its receiver takes
 * in: the rows of llc_checks.def. */
void smcr_rules_check_llc(smcr_rules_when_t when, const smcr_exchange_message_t *message);

/* ---- LLC requests and their responses (RFC 7609 3.3, 3.5.4, 3.5.5, C.7) ---- */

/* What happens to an exchange. */
typedef enum {
    SMCR_RULES_ASKED,    /* its request arrives, after those that wait for a response */
    SMCR_RULES_OBEYED,   /* the server begins the change that the client's request asks for */
    SMCR_RULES_REPEATED, /* the client sends the server's request itself, instead of a response */
    SMCR_RULES_ANSWERED, /* its response arrives */
    SMCR_RULES_UNCLEAR,  /* a response arrives that may belong to several requests, or to none */
    SMCR_RULES_UNASKED,  /* a response arrives whose request the capture does not have */
} smcr_rules_happening_t;

/* The exchange to which something happens. */
typedef struct {
    smcr_exchange_request_t *request; /* NULL: not known */
    const bool
        *request_came; /* turns true when the request comes after its response in the
                          capture; of a         response over another link: when the capture
                          has a         request over that link.         NULL: nobody can know */
} smcr_rules_exchange_t;

/* Calls the checks of what happens to the exchange with the message. */
void smcr_rules_check_exchange(smcr_rules_happening_t what, const smcr_exchange_message_t *message,
                               const smcr_rules_exchange_t *exchange);

/* ---- when a link may be used (RFC 7609 3.5.1.5, 3.5.1.6, 3.5.5.1.3) ---- */

/* Checks the operation of a request (4.7) and, of an RDMA WRITE, that it may use the link. The flow
 * has learned nothing of it yet. */
void smcr_rules_check_request(const smcr_arrival_t *arrival);

/* Checks that a CDC message may use the link, likewise. */
void smcr_rules_check_link_use(const smcr_arrival_t *arrival);

/* ---- CLC messages (RFC 7609 2.1, 3.5, A.2, C) ---- */

/* Calls the checks of step `when` for a CLC message, those of the room around this one, too: the
 * rows of check_rows.def. */
void smcr_rules_check_clc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                          const smcr_rules_clc_t *message);
