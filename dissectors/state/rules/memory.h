/* What the rules of RFC 7609 remember of connections, link groups and RMBs. Only the rooms
 * state/rules/ and state/rules/links/ read these structs. A rule allocates a struct when the rule
 * has something to remember. The struct lives as long as the object that it is about.
 *
 * A frame number of 0 means that there is no such frame. Times are nanoseconds since the epoch. A
 * side is 0 or 1, a side of the link group. An array of two is indexed by side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/model/store.h"

/* Defines two functions for `kept`, a member of owner_t, which points to a smcr_rules_NAME_t.
 * smcr_rules_of_NAME() is for reading: it returns a struct of zeros if `kept` is NULL.
 * smcr_rules_NAME() is for changes: it allocates the struct if `kept` is NULL. */
#define SMCR_RULES_KEPT(name, owner_t, kept) \
    static inline const smcr_rules_##name##_t *smcr_rules_of_##name(const owner_t *owner) \
    { \
        static const smcr_rules_##name##_t nothing; \
        return (kept) ? (kept) : &nothing; \
    } \
    static inline smcr_rules_##name##_t *smcr_rules_##name(const smcr_arrival_t *arrival, \
                                                           owner_t *owner) \
    { \
        return SMCR_STATE_MADE(arrival->state, &(kept)); \
    }

/* The terms on which peers of SMC version 2 agree in a first contact (net/smc/smc_clc.h,
 * smc_clc_first_contact_ext). */
typedef struct {
    uint8_t release;   /* release of SMC version 2; 0: the other members mean nothing */
    uint8_t max_conns; /* maximum number of connections of a link group; 0: not known */
    uint8_t max_links; /* maximum number of links of a link group; 0: not known */
    bool direct;       /* the sender has a route without a gateway */
    uint16_t features; /* bit mask of the features that the sender supports */
} smcr_rules_terms_t;

/* The offer of a Proposal with an SMCv2 extension. */
typedef struct {
    smcr_rules_terms_t terms; /* the offered terms; `direct` is not set, since a Proposal does not
                                 have it */
    uint8_t eid_count;        /* number of EIDs; 0: none, or more than a Proposal may have */
    uint32_t eid[];           /* EIDs of the Proposal, each as its smcr_wire_eid_sum() */
} smcr_rules_offer_t;

/* A reuse: an RMB element or alert token of one connection has been given to another connection. */
typedef struct {
    const smcr_conn_t *new_conn; /* the connection that has been given the element or token; NULL:
                                    it is being released */
    uint64_t time;         /* time of the CLC message that has given the element or token away,
                              nanoseconds since the epoch */
    uint8_t side;          /* side that owns the element or token */
    bool is_token;         /* true: the alert token of the side was reused; false: its RMB element
                              was reused */
} smcr_rules_reuse_t;

/* A failover validation (RFC 7609 4.6.1): the CDC message with which one direction of a connection
 * begins on a new link. */
typedef struct {
    const smcr_link_t *old_link; /* link that the connection has left by the move; NULL: not known,
                                    or the connection was on the new link already */
    smcr_point_t validation_point; /* point of the validation in the flow to its receiver */
    smcr_link_sent_message_t sent_message; /* time of the validation, and its acknowledgement */
    uint32_t frame;          /* frame of the validation */
    uint16_t seq;            /* sequence number of the validation */
} smcr_rules_move_t;

/* A goal of a cursor: a position in a byte stream that the cursor should have reached before a
 * certain packet was sent. */
typedef struct {
    uint64_t position; /* position that the cursor should have reached, bytes since the beginning of
                          the stream */
    uint64_t reached_time; /* time at which the cursor reached the position, nanoseconds since the
                              epoch; 0: not yet */
} smcr_rules_goal_t;

/* A CDC message that announces data. The rules remember the message until its receiver has
 * acknowledged it and read the data, and a later message announces more. */
typedef struct {
    uint64_t end;                          /* position after the announced data; 0: no message is
                                              remembered */
    smcr_link_sent_message_t sent_message; /* time of the message, and its acknowledgement */
} smcr_rules_probe_t;

/* Rarely needed memory of the rules for one side of a connection. */
typedef struct {
    smcr_rules_move_t *validation; /* last failover validation that this side has sent; NULL:
                                      none */
    smcr_rules_goal_t *announced_goal; /* last goal of the producer cursor of the stream to this
                                          side (smcr_rules_set_goal()); NULL: none */
    smcr_rules_goal_t *consumed_goal; /* last goal of the consumer cursor of this side
                                         (smcr_rules_set_goal()); NULL: none */
    uint64_t *urgent_answer;      /* time of this side's first CDC message after the last urgent
                                     data to this side; 0: not sent yet. NULL: no urgent data has
                                     come */
    const smcr_conn_t *next_user; /* connection that now uses this side's RMB element, if
                                     check_reused_element() has reported a breach about that
                                     connection; NULL: none */
    uint32_t unvalidated_write_frame; /* frame of the last RDMA WRITE that this side sent on a new
                                         link before its first CDC message on this link; 0: none */
} smcr_rules_side_t;

/* What the rules remember of a connection. */
typedef struct smcr_rules_conn {
    uint8_t proposed_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the Proposal; zeros: not known */
    smcr_rules_offer_t *offer;          /* offer of the Proposal; NULL: the Proposal has no SMCv2
                                           extension, is truncated, or is not captured */
    smcr_rules_reuse_t *reuse;          /* first reuse of an element or token of this connection;
                                           NULL: none */
    smcr_rules_side_t *side[2];         /* what the rules remember of each side; NULL: nothing */
    smcr_link_sent_message_t closed[2]; /* first CDC message with "connection closed", with its
                                           acknowledgement, by sender */
    smcr_rules_probe_t unread_probe[2]; /* the remembered CDC message that announces data, by
                                           receiver of the data */
    uint32_t eid;             /* smcr_wire_eid_sum() of the Accept's EID; 0: the Accept has none, or
                                 is not captured */
    uint32_t malformed_frame; /* frame of the last malformed CLC message; 0: none */
    smcr_rules_terms_t terms; /* terms of the Accept; valid if `has_terms` is true */
    uint8_t proposal_flags;   /* byte 7 of the Proposal; 0: the Proposal is not captured */
    bool has_terms : 1;       /* the Accept has a first contact extension whose terms break no
                                 rule */
    bool eid_is_wrong : 1;    /* the Accept has an EID that the Proposal does not offer */
    bool malformed_by_server : 1; /* the server has sent the message in `malformed_frame` */
    bool last_by_server : 1;      /* the server has sent the last CLC message */
    bool mtu_reserved : 1;    /* the last CLC message is an Accept with a reserved MTU code */
    bool out_of_sync : 1;     /* a Decline of the connection has the S flag (out of sync) */
    bool is_counted : 1;      /* the connection was added to `open_conns` of its group */
    bool ended : 1;           /* one side has closed or aborted the connection, so the connection
                                 was subtracted from `open_conns`; only set with `is_counted` */
} smcr_rules_conn_t;

/* The LLC messages that set up a link group, in the order in which they come. */
enum {
    SMCR_RULES_SET_UP_CONFIRMED, /* response to the first CONFIRM LINK */
    SMCR_RULES_SET_UP_OFFERED,   /* the server's first ADD LINK request after the response to
                                    CONFIRM LINK */
    SMCR_RULES_SET_UP_ANSWERED,  /* the first response to the ADD LINK request
                                    SMCR_RULES_SET_UP_OFFERED */
    SMCR_RULES_SET_UP_STEPS
};

/* What the rules remember of a link group. */
typedef struct smcr_rules_lgr {
    smcr_rules_terms_t terms;   /* terms of the group's first contact; zeros: version 1, not known,
                                   or the terms break a rule (`has_terms`) */
    uint64_t declined_time;     /* time of the Decline of the group's first contact; 0: none */
    uint32_t open_conns;        /* number of connections of the group that have had a CDC message,
                                   and that no side has closed or aborted; only counted if `terms`
                                   has a maximum (count_open_conns()) */
    struct smcr_crowd *excess;  /* claim that the group has too many connections (v2_rules.c); NULL:
                                   none */
    /* times and acknowledgements of the LLC messages that have set up the group; zeros: the message
     * has not come */
    smcr_link_sent_message_t set_up[SMCR_RULES_SET_UP_STEPS];
    uint64_t out_of_sync_time;  /* time at which the side `out_of_sync_side` had certainly seen a
                                   Decline with the S flag (out of sync), nanoseconds since the
                                   epoch; 0: no side has seen such a Decline */
    int out_of_sync_side;       /* side that has to end the group; set with `out_of_sync_time` */
} smcr_rules_lgr_t;

/* What the rules remember of an RMB. */
typedef struct smcr_rules_rmb {
    smcr_point_t refused_point; /* point of the last negative response to CONFIRM RKEY, in the flow
                                   to the owner of the RMB; valid if `refused_frame` is not 0 */
    uint32_t refused_frame; /* frame of the negative response to CONFIRM RKEY; 0: none, or the owner
                               has announced the RMB once more since */
    uint64_t agreed_time;   /* time of the first positive response to CONFIRM RKEY after a CLC
                               message named the RMB too early or the peer refused the RMB,
                               nanoseconds since the epoch; 0: no such response */
} smcr_rules_rmb_t;

SMCR_RULES_KEPT(conn, smcr_conn_t, owner->rules)
SMCR_RULES_KEPT(lgr, smcr_lgr_t, owner->rules)

/* What the rules remember of one side of a connection, for reading; a struct of zeros if nothing is
 * remembered. */
static inline const smcr_rules_side_t *
smcr_rules_of_side(const smcr_conn_t *conn, int side)
{
    static const smcr_rules_side_t nothing;

    return conn->rules && conn->rules->side[side] ? conn->rules->side[side] : &nothing;
}

/* What the rules remember of one side of a connection, for changes. The first call allocates the
 * struct. */
static inline smcr_rules_side_t *
smcr_rules_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rules_conn(arrival, conn)->side[side]);
}

/* What the rules remember of an RMB, for reading; a struct of zeros if nothing is remembered. */
static inline const smcr_rules_rmb_t *
smcr_rules_of_rmb(const smcr_rmb_t *rmb)
{
    static const smcr_rules_rmb_t nothing;

    return rmb->more && rmb->more->rules ? rmb->more->rules : &nothing;
}

/* What the rules remember of an RMB, for changes. The first call allocates the struct. */
static inline smcr_rules_rmb_t *
smcr_rules_rmb(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rmb_make_rare(arrival->state, rmb)->rules);
}
