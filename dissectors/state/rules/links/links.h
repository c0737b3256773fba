/* links.h
 * Knows the same rules for links, LLC and RMBs. Does not know what a message changes. Called by
 * the flow, as the other rules are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_LINKS_H
#define SMCR_STATE_RULES_LINKS_LINKS_H

#include "state/rules/rules.h"

/* An LLC message, and the two queue pairs of the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    uint8_t type;   /* enum smcr_llc_type, of version 1 */
    smcr_qp_t *from, *to;
    smcr_link_t *link;
    smcr_lgr_t *lgr;
    bool response;
    bool requested; /* a response: the capture has its request */
    bool by_server; /* the server sends it, as far as was known when it came */
} smcr_rules_message_t;

/* ---- what LLC messages may say, and who may send them (RFC 7609 2.2.1, 3.5.1.5, A.3) ---- */

/* An LLC message arrives, before anything is learned of it. Asks all functions below that take such
 * a message, but smcr_rules_link_learned(). */
void smcr_rules_llc(const smcr_rules_message_t *message);

/* ---- LLC requests and their responses (RFC 7609 3.3, 3.5.4, 3.5.5, C.7) ---- */

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

/* Whether messages of the type, of version 1, change links of the group, or keys of RMBs. */
bool smcr_rules_changes_links(uint8_t type);
bool smcr_rules_changes_rkeys(uint8_t type);

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

/* An RDMA WRITE or a CDC message arrives; its sender may wait for a response. Asked by
 * smcr_rules_use(). */
void smcr_rules_waits(const smcr_arrival_t *arrival);

/* A Decline of the connection arrives. */
void smcr_rules_declined_late(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

/* ---- CONFIRM LINK and ADD LINK (RFC 7609 2.2, 3.5.1.5, 3.5.1.6, A.3.1, A.3.2) ---- */

void smcr_rules_link(const smcr_rules_message_t *message);

/* All has been learned of the message. */
void smcr_rules_link_learned(const smcr_rules_message_t *message);

/* A CLC message that names the queue pair arrives, or CONFIRM LINK from it. */
void smcr_rules_vlan(const smcr_arrival_t *arrival, const smcr_qp_t *qp);

/* ---- how many links of each kind a group may have (RFC 7609 2.2.1, 2.2.2) ---- */

/* The maximum of links that both sides have agreed on; UINT_MAX: it is not known. */
unsigned smcr_rules_maximum(const smcr_lgr_t *lgr);

/* A response to CONFIRM LINK has confirmed a link. */
void smcr_rules_count(const smcr_arrival_t *arrival);

/* The client asks for a link, by ADD LINK. */
void smcr_rules_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

/* ---- DELETE LINK (RFC 7609 2.2.1, 3.5.5.1.3, 3.5.5.1.4, A.3.4, C.7.1) ---- */

void smcr_rules_delete_link(const smcr_rules_message_t *message);

/* ---- when a link may be used (RFC 7609 3.5.1.5, 3.5.1.6, 3.5.5.1.3) ---- */

/* An RDMA WRITE or a CDC message arrives, before anything is learned of it. */
void smcr_rules_use(const smcr_arrival_t *arrival);

/* A message that needs its link arrives. */
void smcr_rules_deleted(const smcr_arrival_t *arrival);

/* An LLC message but CONFIRM LINK arrives on a link that must be there. */
void smcr_rules_llc_use(const smcr_rules_message_t *message);

/* A link was offered, accepted, confirmed, rejected or deleted, as far as the message tells: asked
 * by smcr_rules_link_learned(). */
void smcr_rules_second(const smcr_rules_message_t *message);

/* ---- RMBs that a side may announce, and those in use (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3) ---- */

/* A connection that uses the RMB for sure, as its owner has shown by a CDC message; NULL: there is
 * none. */
const smcr_conn_t *smcr_rules_rmb_user(const smcr_rmb_t *rmb);

/* The message that arrives gives the RKey of the entry to another RMB. `added`: as in
 * smcr_doubt_later_adding(). */
void smcr_rules_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                       const smcr_link_t *added);

/* The owner of `qp` announces an RMB there, or its Accept or Confirm names one, before that is
 * learned. Returns whether it is a new one. */
bool smcr_rules_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                    uint64_t va);

/* After an Accept or Confirm: `rmb` is the one that it names. `is_new`: as returned above. */
void smcr_rules_rmb_named(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_rmb_t *rmb,
                          bool is_new);

/* ---- RTokens that LLC tells, and withdraws (RFC 7609 3.5.5.2, A.3.3, A.3.5, A.3.7) ---- */

void smcr_rules_keys(const smcr_rules_message_t *message);

/* ---- lists of RTokens that a CONTINUATION goes on with (RFC 7609 3.5.5.2.3, A.3.3, A.3.6) ---- */

void smcr_rules_continuation(const smcr_rules_message_t *message);

#endif /* SMCR_STATE_RULES_LINKS_LINKS_H */
