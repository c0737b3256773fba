/* Knows the rules of RFC 7609 for links, LLC and RMBs that several frames together break, and the
 * memory that they need (links_checks.h). Does not know what a message changes. Called by
 * state/flow at three times: before it learns a message, after it has learned the message, and when
 * the state of an exchange changes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "state/model/record.h"
#include "state/rules/rules.h"

/* ---- LLC messages (RFC 7609 2.2, 3.5, 4.2, A.3) ---- */

/* Calls the checks of step `when` (ARRIVES or LEARNED) for an LLC message that its receiver takes
 * in. The checks are the rows of llc_checks.def. */
void smcr_rules_check_llc(smcr_rules_when_t when, const smcr_exchange_message_t *message);

/* ---- LLC requests and their responses (RFC 7609 3.3, 3.5.4, 3.5.5, C.7) ---- */

/* The events in the life of an exchange. */
typedef enum {
    SMCR_RULES_ASKED,    /* the request arrives that begins the exchange; older requests may still
                            wait for their responses */
    SMCR_RULES_OBEYED,   /* the server begins the change for which the client's request has asked */
    SMCR_RULES_REPEATED, /* the client sends the same request as the server, instead of a response
                            to the server's request */
    SMCR_RULES_ANSWERED, /* its response arrives */
    SMCR_RULES_UNCLEAR,  /* a response arrives, and it is not clear which request it answers, if
                            any */
    SMCR_RULES_UNASKED,  /* a response arrives whose request the capture does not have */
} smcr_rules_happening_t;

/* The exchange to which an event happens. */
typedef struct {
    smcr_exchange_request_t *request; /* NULL: not known */
    /* Points to a flag that becomes true when the request comes after its response in the capture.
     * If the response came over another link than the request: true when a request comes over the
     * link of the response. NULL: the capture can never show this. */
    const bool *request_came;
    /* another response of the type waits for its request, too: a request that comes later may
     * belong to either */
    bool has_other_response;
} smcr_rules_exchange_t;

/* Calls the checks for the event `what` of the exchange. `message`: the message that causes the
 * event. */
void smcr_rules_check_exchange(smcr_rules_happening_t what, const smcr_exchange_message_t *message,
                               const smcr_rules_exchange_t *exchange);

/* ---- when a link may be used (RFC 7609 3.5.1.5, 3.5.1.6, 3.5.5.1.3) ---- */

/* Checks a request that state/flow has not learned yet: 1. whether SMC-R uses the request's
 * operation (4.7); 2. for an RDMA WRITE, whether its sender may use the link. */
void smcr_rules_check_request(const smcr_arrival_t *arrival);

/* Checks whether the sender of a CDC message may use the link that carries the message. state/flow
 * has not learned the message yet. */
void smcr_rules_check_link_use(const smcr_arrival_t *arrival);

/* ---- CLC messages (RFC 7609 2.1, 3.5, A.2, C) ---- */

/* Calls the checks of step `when` for a CLC message. The checks are the rows of check_rows.def, and
 * include those of the room state/rules. */
void smcr_rules_check_clc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                          const smcr_rules_clc_t *message);
