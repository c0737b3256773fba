/* What rules remember of connections and link groups, and no other room asks for. A rule makes it
 * when it has something to remember. It lives as long as the capture file.
 *
 * A frame number of 0 means that there is no such frame. Times are nanoseconds since the epoch. A
 * side is 0 or 1, a side of the link group; an array of two is by side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/model/store.h"

/* Defines two functions for `kept`, a member of owner_t, which points to a smcr_rules_NAME_t.
 * smcr_rules_of_NAME() is for reading: it returns zeros where nothing is remembered.
 * smcr_rules_NAME() is for changes: it allocates the struct when it is missing. */
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

/* What peers of SMC version 2 agree on in a first contact (net/smc/smc_clc.h,
 * smc_clc_first_contact_ext). */
typedef struct {
    uint8_t release;   /* of version 2; 0: the members below mean nothing */
    uint8_t max_conns; /* most connections of a link group; 0: not known */
    uint8_t max_links; /* most links of a link group; 0: not known */
    bool direct;       /* the sender has a route without a gateway */
    uint16_t features; /* bit mask of the features that the sender supports */
} smcr_rules_terms_t;

/* What a Proposal with an SMCv2 extension offers. */
typedef struct {
    smcr_rules_terms_t terms; /* without `direct`, which a Proposal does not have */
    uint8_t eid_count;        /* number of EIDs; 0: none, or more than a Proposal may have */
    uint32_t eid[];           /* smcr_wire_eid_sum() of each EID */
} smcr_rules_offer_t;

/* The reuse of what a connection uses: another connection has been given it. */
typedef struct {
    const smcr_conn_t *new_conn; /* the other connection */
    uint64_t time;         /* of the CLC message that has given it */
    uint8_t side;          /* that owns it */
    bool is_token;         /* it is the alert token of the side; otherwise its RMB element */
} smcr_rules_reuse_t;

/* A failover validation (RFC 7609 4.6.1): the CDC message with which one direction of a connection
 * begins on a new link. */
typedef struct {
    const smcr_link_t *old_link; /* the link that the connection has left; NULL: not known */
    smcr_point_t validation_point; /* of the message, in the flow to its receiver */
    smcr_link_sent_message_t sent_message; /* the validation, and its acknowledgement */
    uint32_t frame;          /* that has the message */
    uint16_t seq;            /* its sequence number */
} smcr_rules_move_t;

/* A position in a byte stream that a cursor ought to have reached before a message. */
typedef struct {
    uint64_t position; /* the position, bytes since the begin of the stream */
    uint64_t reached_time; /* when the cursor reached it; 0: not yet */
} smcr_rules_goal_t;

/* A CDC message that announces data, followed until its receiver has read them. */
typedef struct {
    uint64_t end;                          /* position after the data; 0: no message is followed */
    smcr_link_sent_message_t sent_message; /* the message, and its acknowledgement */
} smcr_rules_probe_t;

/* Rarely needed members of one side of a connection. */
typedef struct {
    smcr_rules_move_t *validation; /* last failover validation of this sender; NULL: none */
    smcr_rules_goal_t *announced_goal; /* last goal of what is announced to this side; NULL: none */
    smcr_rules_goal_t *consumed_goal; /* last goal of what this side has consumed; NULL: none */
    uint64_t *urgent_answer;      /* when this side sent its first message after urgent data came to
                                     it; 0: not yet. NULL: no urgent data came */
    const smcr_conn_t *next_user; /* connection that uses this side's element by now, reported as a
                                     breach; NULL: none */
    uint32_t unvalidated_write_frame; /* WRITE of this side that went to another link before any CDC
                                         message did; 0: none */
} smcr_rules_side_t;

/* Of a connection. */
typedef struct smcr_rules_conn {
    uint8_t proposed_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the Proposal; zeros: not known */
    const smcr_rules_offer_t *offer;    /* of the Proposal; NULL: it has no SMCv2 extension */
    smcr_rules_reuse_t *reuse;          /* first reuse of an element or token; NULL: none */
    smcr_rules_side_t *side[2];         /* NULL: nothing is remembered of the side */
    smcr_link_sent_message_t closed[2]; /* by sender: its message with connection closed */
    smcr_rules_probe_t unread_probe[2]; /* by receiver: a message whose data it has not read */
    uint32_t eid;             /* smcr_wire_eid_sum() of the Accept's EID; 0: it has none */
    uint32_t malformed_frame; /* last malformed CLC message; 0: none */
    smcr_rules_terms_t terms; /* of the Accept; only with `has_terms` */
    uint8_t proposal_flags;   /* byte 7 of the Proposal; 0: it is missing */
    bool has_terms : 1;       /* the Accept has a first contact extension that breaks no rule */
    bool eid_is_wrong : 1;    /* the Accept has an EID that the Proposal does not offer */
    bool malformed_by_server : 1; /* the server has sent `malformed_frame` */
    bool last_by_server : 1;      /* the server has sent the last CLC message */
    bool mtu_reserved : 1;    /* the last CLC message is an Accept with a reserved MTU code */
    bool out_of_sync : 1;     /* a Decline has the S flag (out of sync) */
    bool is_counted : 1;      /* it was counted in `open_conns` of its group */
    bool ended : 1;           /* it no longer counts there; only with `opened` */
} smcr_rules_conn_t;

/* The messages that set up a link group. */
enum {
    SMCR_RULES_SET_UP_CONFIRMED, /* response to the first CONFIRM LINK */
    SMCR_RULES_SET_UP_OFFERED,   /* first ADD LINK request of the server after it */
    SMCR_RULES_SET_UP_ANSWERED,  /* first response to ADD LINK after it */
    SMCR_RULES_SET_UP_STEPS
};

/* Of a link group. */
typedef struct smcr_rules_lgr {
    smcr_rules_terms_t terms;   /* of its first contact; zeros: version 1, or not known */
    uint64_t declined_time;     /* when its first contact was declined; 0: it was not */
    uint32_t open_conns;        /* connections that have sent CDC messages and not their end; only
                                   with `terms` */
    struct smcr_crowd *excess;  /* its excess of connections; NULL: there is none */
    smcr_link_sent_message_t set_up[SMCR_RULES_SET_UP_STEPS];
    uint64_t out_of_sync_time;  /* when `out_of_sync_side` had seen a Decline with the S flag; 0:
                                   no side has */
    int out_of_sync_side;       /* side that has to end the group; only with `out_of_sync_time` */
} smcr_rules_lgr_t;

/* Of an RMB. */
typedef struct smcr_rules_rmb {
    smcr_point_t refused_point; /* the refusal, in the flow to the owner; only with
                                   `refused_frame` */
    uint32_t refused_frame; /* negative response to CONFIRM RKEY; 0: none */
    uint64_t agreed_time;   /* when the positive response to CONFIRM RKEY came, of an RMB that CLC
                               has named before it; 0: not yet */
} smcr_rules_rmb_t;

SMCR_RULES_KEPT(conn, smcr_conn_t, owner->rules)
SMCR_RULES_KEPT(lgr, smcr_lgr_t, owner->rules)

/* What is remembered of one side of a connection, for reading; zeros: nothing is. */
static inline const smcr_rules_side_t *
smcr_rules_of_side(const smcr_conn_t *conn, int side)
{
    static const smcr_rules_side_t nothing;

    return conn->rules && conn->rules->side[side] ? conn->rules->side[side] : &nothing;
}

/* The same for changes; it is allocated when it is missing. */
static inline smcr_rules_side_t *
smcr_rules_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rules_conn(arrival, conn)->side[side]);
}

/* What is remembered of an RMB, for reading; zeros: nothing is. */
static inline const smcr_rules_rmb_t *
smcr_rules_of_rmb(const smcr_rmb_t *rmb)
{
    static const smcr_rules_rmb_t nothing;

    return rmb->more && rmb->more->rules ? rmb->more->rules : &nothing;
}

/* The same for changes; it is allocated when it is missing. */
static inline smcr_rules_rmb_t *
smcr_rules_rmb(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rmb_make_rare(arrival->state, rmb)->rules);
}
