/* Knows the same rules for links, LLC and RMBs, and what they remember (links_checks.h). Does not
 * know what a message changes. Called by the flow: before it learns a message, after that, and when
 * something happens to an exchange.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/rules/rules.h"

/* ---- LLC messages (RFC 7609 2.2, 3.5, 4.2, A.3) ---- */

/* An LLC message that its receiver takes in. Its checks are the rows of llc_checks.def. */
void smcr_rules_llc(smcr_rules_when_t when, const smcr_exchange_message_t *message);

/* ---- LLC requests and their responses (RFC 7609 3.3, 3.5.4, 3.5.5, C.7) ---- */

/* What happens to an exchange. */
typedef enum {
    SMCR_RULES_ASKED,    /* its request arrives, behind those that wait */
    SMCR_RULES_OBEYED,   /* the server does what the client's request has asked for */
    SMCR_RULES_REPEATED, /* the client repeats the server's request, instead of a response */
    SMCR_RULES_ANSWERED, /* its response arrives */
    SMCR_RULES_UNCLEAR,  /* a response arrives that may be that of several requests, or of none */
    SMCR_RULES_UNASKED,  /* the capture has no request that the response may answer */
} smcr_rules_happening_t;

/* The exchange to which something happens with a message. */
typedef struct {
    smcr_exchange_request_t *request; /* NULL: not known */
    const bool *came; /* tells later whether the capture has the request after all, too late; of a
                         response over another link, whether it has one over that link. NULL:
                         nobody knows */
} smcr_rules_exchange_t;

void smcr_rules_exchange(smcr_rules_happening_t what, const smcr_exchange_message_t *message,
                         const smcr_rules_exchange_t *exchange);

/* ---- when a link may be used (RFC 7609 3.5.1.5, 3.5.1.6, 3.5.5.1.3) ---- */

/* A request arrives, before anything is learned of it. An RDMA WRITE uses the link. */
void smcr_rules_request(const smcr_arrival_t *arrival);

/* A CDC message does, likewise. */
void smcr_rules_use(const smcr_arrival_t *arrival);

/* ---- CLC messages (RFC 7609 2.1, 3.5, A.2, C) ---- */

/* Asks all checks of a CLC message: the rows of check_rows.def. */
void smcr_rules_clc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                    const smcr_rules_clc_t *message);
