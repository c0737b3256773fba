/* exchange_rules.h
 * LLC requests and their responses: which exchanges may run at once, which link carries a response,
 * what comes after a response that does not (RFC 7609 3.3, 3.5.4, 3.5.5, C.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_EXCHANGE_RULES_H
#define SMCR_STATE_RULES_LINKS_EXCHANGE_RULES_H

#include "state/model/record.h"

/* What a message is about; the rest of the exchange is filled in from it. */
typedef struct {
    uint8_t type;      /* enum smcr_llc_type, of version 1 */
    uint8_t llc_type;  /* the same, of its own version */
    int side;          /* that sends the message */
    smcr_link_t *link; /* that carries it */
    uint32_t key;      /* that the response repeats; 0 where the message has none */
    bool all_links;    /* DELETE LINK: it says so */
    bool rejects;      /* a response to ADD LINK: it does */
    const smcr_llc_t *llc; /* the message */
} smcr_rules_topic_t;

/* What an LLC response is found by. */
struct smcr_rules_request {
    smcr_exchange_t exchange;
    const smcr_when_t *acked; /* by the adapter of its responder; NULL: the capture has no such
                                 acknowledgement so far */
    smcr_point_t asked;    /* in the flow to its responder: itself */
    smcr_point_t answered; /* in the flow of its responder, when it came */
    uint64_t over;     /* the exchange is, since then: nanoseconds; 0: not known */
    uint32_t key;      /* tells requests of one type apart: RKey, link number, hash of user data */
    uint8_t type;      /* LLC, without the version bit */
    int8_t requester;  /* side */
    bool rejected;     /* its response says so */
    bool orderly;      /* DELETE LINK: there is no hurry */
};

/* A request arrives; those before it are known. */
void smcr_rules_overlap(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic);

/* It is the last one of those that wait. */
void smcr_rules_asked(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic,
                      smcr_rules_request_t *request);

/* The server does what the client's request has asked for. */
void smcr_rules_obeyed(const smcr_arrival_t *arrival, const smcr_rules_request_t *request);

/* A response arrives, whatever it answers: a link may have been added, or rejected. */
void smcr_rules_added_link(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic);

/* The exchange ends with the message, unless it is an ADD LINK. */
void smcr_rules_ended(const smcr_arrival_t *arrival, smcr_rules_request_t *request);

/* The capture has no request that it may answer; `came` tells later whether there was one. NULL:
 * somebody may have mixed up responses before. */
void smcr_rules_unasked(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic,
                        const bool *came);

/* It answers the request; `came`, where that flowed over another link, tells later whether there
 * was one over its own. */
void smcr_rules_answered(const smcr_arrival_t *arrival, const smcr_rules_topic_t *topic,
                         const smcr_rules_request_t *request, const bool *came);

/* An RDMA WRITE or a CDC message arrives; its sender may wait for a response. */
void smcr_rules_waits(const smcr_arrival_t *arrival);

/* A Decline of the connection arrives. */
void smcr_rules_declined_late(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

#endif /* SMCR_STATE_RULES_LINKS_EXCHANGE_RULES_H */
