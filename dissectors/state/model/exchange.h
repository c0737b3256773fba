/* exchange.h
 * LLC requests of a link group, and what their responses are found by (RFC 7609 3.3, 3.5.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "record.h"

/* An LLC message, and the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    uint8_t type;    /* enum smcr_llc_type, of version 1 */
    uint32_t key;    /* that the response repeats; 0 where the message has none, or is taken in */
    smcr_qp_t *from, *to;
    int side;        /* that sends it: of `from` */
    smcr_link_t *link;
    smcr_lgr_t *lgr;
    bool response;
    bool requested;  /* a response that is taken in: the capture has its request */
    bool by_server;  /* the server sends it, as far as was known when it came */
    bool all_links;  /* DELETE LINK: it says so */
    bool rejects;    /* a response to ADD LINK: it does */
} smcr_exchange_message_t;

/* A request of a link group. */
typedef struct {
    smcr_exchange_t exchange;
    const smcr_when_t *acked; /* by the adapter of its responder; NULL: the capture has no such
                                 acknowledgement so far */
    smcr_point_t asked;    /* in the flow to its responder: itself */
    smcr_point_t answered; /* in the flow of its responder, when it came */
    struct smcr_rules_links_exchange *rules; /* what rules remember of it; NULL: nothing */
    uint32_t key;      /* tells requests of one type apart: RKey, link number, hash of user data */
    uint8_t type;      /* enum smcr_llc_type, of version 1 */
    int8_t requester;  /* side */
    bool rejected;     /* its response says so */
    bool orderly;      /* DELETE LINK: there is no hurry */
} smcr_exchange_request_t;

/* Whether messages of the type, of version 1, change links of the group. */
static inline bool
smcr_exchange_changes_links(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK;
}

/* The same for keys of RMBs. */
static inline bool
smcr_exchange_changes_rkeys(uint8_t type)
{
    return type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_DELETE_RKEY;
}
