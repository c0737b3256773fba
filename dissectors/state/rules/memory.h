/* What rules remember of connections and link groups, and nobody else asks. A rule makes it when it
 * has something to remember. It lives as long as the capture file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"
#include "state/model/store.h"

/* What `kept`, a member of `owner`, points to, a smcr_rules_NAME_t: smcr_rules_of_NAME() is for
 * reading, and gives zeros where there is nothing; smcr_rules_NAME() is for changes, and makes it
 * there. */
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

/* What peers of SMC version 2 agree on in a first contact. */
typedef struct {
    uint8_t release;
    uint8_t max_conns, max_links; /* of release 1 */
    bool direct;                  /* the sender has a route without a gateway */
    uint16_t features;
} smcr_rules_terms_t;

/* What a Proposal with an SMCv2 extension offers. */
typedef struct {
    smcr_rules_terms_t terms;
    uint8_t eid_count;
    uint32_t eid[]; /* sums of the EIDs */
} smcr_rules_offer_t;

/* Another connection has been given what one uses. */
typedef struct {
    const smcr_conn_t *by;
    uint64_t time; /* nanoseconds since the epoch */
    uint8_t side;  /* whose it is */
    bool token;    /* its alert token; else its RMB element */
} smcr_rules_reuse_t;

/* A failover validation (RFC 7609 4.6.1). */
typedef struct {
    const smcr_link_t *from; /* the link that the connection has left */
    smcr_point_t at;         /* of the message, in the flow to its receiver */
    smcr_link_sent_message_t sent_message;
    uint32_t frame;
    uint16_t seq;            /* that it has */
} smcr_rules_move_t;

/* A position that a cursor ought to have reached before. */
typedef struct {
    uint64_t end;
    uint64_t when; /* it has, nanoseconds since the epoch; 0: not yet */
} smcr_rules_goal_t;

/* A CDC message that announced up to `end`: has its reader seen it? */
typedef struct {
    uint64_t end; /* a position; 0: there is none */
    smcr_link_sent_message_t sent_message;
} smcr_rules_probe_t;

/* What is rare on one side of a connection. */
typedef struct {
    smcr_rules_move_t *move; /* the last failover validation of this direction; NULL: none */
    smcr_rules_goal_t *announced, *consumed; /* of its cursors, the last ones; NULL: none */
    uint64_t *urgent_answer; /* when it sent something after urgent data came, nanoseconds since the
                                epoch; 0: not yet. NULL: none came */
    const smcr_conn_t *next; /* that its element is told to belong to by now; NULL: none */
    uint32_t strayed_frame;  /* WRITE that went to another link before any of them; 0: none */
} smcr_rules_side_t;

typedef struct smcr_rules_conn {
    uint8_t proposed_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID of the Proposal; zeros: it has none */
    const smcr_rules_offer_t *offer; /* of the Proposal; NULL: it has no SMCv2 extension */
    smcr_rules_reuse_t *reused; /* NULL: nobody has been given what this one uses */
    smcr_rules_side_t *side[2]; /* NULL: nothing */
    smcr_link_sent_message_t closed[2]; /* by side: its message with the closed flag */
    smcr_rules_probe_t probe[2]; /* by side: a message whose bytes it has not read yet */
    uint32_t eid;             /* sum of the EID in the Accept; 0: it has none */
    uint32_t malformed_frame; /* the last CLC message that was; 0: none */
    smcr_rules_terms_t terms; /* of the Accept, if it `has_terms` */
    uint8_t proposal_flags;   /* byte 7 of the Proposal; 0: there is none */
    bool has_terms : 1;       /* the Accept has a first contact extension, and it is right */
    bool eid_is_wrong : 1;    /* of the Accept */
    bool malformed_by_server : 1;
    bool last_by_server : 1;  /* who sent the last CLC message */
    bool mtu_reserved : 1;    /* of the Accept, which came last */
    bool out_of_sync : 1;     /* a Decline has the S flag */
    bool opened : 1, ended : 1; /* counted among the group's open ones; and not any more */
} smcr_rules_conn_t;

/* Messages that make a link group. */
enum {
    SMCR_RULES_SET_UP_CONFIRMED, /* response to the first CONFIRM LINK */
    SMCR_RULES_SET_UP_OFFERED,   /* first ADD LINK behind it: request */
    SMCR_RULES_SET_UP_ANSWERED,  /* and response */
    SMCR_RULES_SET_UP_STEPS
};

typedef struct smcr_rules_lgr {
    smcr_rules_terms_t terms; /* of its first contact; zeros: version 1, or not known */
    uint64_t declined;        /* when its first contact was, nanoseconds since the epoch; 0: it was
                                 not */
    uint32_t open_conns;      /* with terms: that have sent CDC messages, and not their end */
    struct smcr_crowd *crowd; /* since it has had too many; NULL: it has not */
    smcr_link_sent_message_t set_up[SMCR_RULES_SET_UP_STEPS];
    uint64_t out_of_sync_time; /* since when a side has known that the group has to end,
                                  nanoseconds since the epoch; 0: neither does */
    int out_of_sync_side;
} smcr_rules_lgr_t;

typedef struct smcr_rules_rmb {
    smcr_point_t refused;   /* when it was, in the flow to its owner */
    uint32_t refused_frame; /* the negative response to CONFIRM RKEY; 0: none */
    uint64_t agreed; /* it was named before its CONFIRM RKEY was answered: when it was, nanoseconds
                        since the epoch; 0: not yet */
} smcr_rules_rmb_t;

SMCR_RULES_KEPT(conn, smcr_conn_t, owner->rules)
SMCR_RULES_KEPT(lgr, smcr_lgr_t, owner->rules)

/* The same of one side of a connection, and of an RMB. */
static inline const smcr_rules_side_t *
smcr_rules_of_side(const smcr_conn_t *conn, int side)
{
    static const smcr_rules_side_t nothing;

    return conn->rules && conn->rules->side[side] ? conn->rules->side[side] : &nothing;
}

static inline smcr_rules_side_t *
smcr_rules_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rules_conn(arrival, conn)->side[side]);
}

static inline const smcr_rules_rmb_t *
smcr_rules_of_rmb(const smcr_rmb_t *rmb)
{
    static const smcr_rules_rmb_t nothing;

    return rmb->more && rmb->more->rules ? rmb->more->rules : &nothing;
}

static inline smcr_rules_rmb_t *
smcr_rules_rmb(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    return SMCR_STATE_MADE(arrival->state, &smcr_rmb_rare(arrival->state, rmb)->rules);
}
