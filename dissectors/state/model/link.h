/* Link groups, their links, and the two queue pairs of a link (RFC 7609 2.1, 3.5).
 *
 * A side is a host within a link group: 0 or 1, the same in all its links. Which side is the
 * server may be learned late, when the capture begins in the middle.
 *
 * All of this lives as long as the capture file and is written in the first pass only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "wire/wire.h"

#include "fabric/fabric.h"

typedef struct smcr_state smcr_state_t;
typedef struct smcr_link smcr_link_t;
typedef struct smcr_lgr smcr_lgr_t;
typedef struct smcr_rmb smcr_rmb_t;
typedef struct smcr_conn smcr_conn_t;
typedef struct smcr_socket smcr_socket_t;
typedef struct smcr_write smcr_write_t;

/* A loop over the items of a list, from its head on or, BACK, from its tail on; a list that is NULL
 * has none. An item may leave the list in its own round. */
#define SMCR_LIST_EACH(type, item, list) SMCR_LIST_WALK(type, item, list, head, next)
#define SMCR_LIST_EACH_BACK(type, item, list) SMCR_LIST_WALK(type, item, list, tail, prev)
#define SMCR_LIST_WALK(type, item, list, from, on) \
    for (wmem_list_frame_t *item##_at = (list) ? wmem_list_##from(list) : NULL, *item##_next; \
         item##_at; item##_at = NULL) \
        for (type item; item##_at && ((item = wmem_list_frame_data(item##_at)), \
                                      (item##_next = wmem_list_frame_##on(item##_at)), true); \
             item##_at = item##_next)

/* Appends an item. Where there are more than `most` then, the first one leaves. Returns whether. */
static inline bool
smcr_list_keep(wmem_list_t *list, void *item, unsigned most)
{
    wmem_list_append(list, item);
    if (wmem_list_count(list) <= most)
        return false;
    wmem_list_remove_frame(list, wmem_list_head(list));
    return true;
}

#define SMCR_LGR_SIDE_UNKNOWN (-1)
#define SMCR_LGR_NO_INDEX UINT32_MAX

/* A queue pair; a link has one on each side. */
typedef struct {
    smcr_link_t *link;
    int side;
    bool known;            /* `qp` is; before, its GID may be */
    bool gid_known;
    smcr_ib_qp_key_t key;
    uint8_t ground;        /* enum smcr_ground: what `key` is known from */
    uint8_t mtu;           /* code that it announced, 0: none */
    bool mtu_repeated;     /* in CLC of a later contact, where it means nothing */
    smcr_traffic_t traffic; /* that it receives */
    smcr_psn_t too_late;   /* highest request that came too late, or was cut; 0: none has */
    uint32_t too_late_frame; /* of the last of them that is no WRITE; 0: there has been none */
    bool send_open;        /* a SEND in several packets has begun */
    smcr_psn_t send_psn;   /* with this PSN */
    uint32_t unplaced;     /* WRITE packets whose place in a stream is not known */
    smcr_psn_t unplaced_psn; /* of the last of them; 0: there has been none */
    smcr_psn_t unplaced_from; /* of the first one of those that lie close together */
    smcr_write_t *writes;  /* ring of the last RDMA WRITEs that it received */
    uint32_t write_count;
    smcr_psn_t write_end;  /* behind the last packet of all that it received */
    bool has_likely;       /* of some of them it is likely whose they are, but not sure */
    smcr_unacked_t unacked; /* WRITE packets that it has taken in, not acknowledged yet */
    wmem_list_t *orphans;  /* WRITE packets whose request has not come */
    wmem_list_t *deferred; /* messages behind a gap, until the receiver acknowledges them */
} smcr_qp_t;

typedef enum {
    SMCR_LINK_ANNOUNCED, /* by CLC or ADD LINK */
    SMCR_LINK_ACTIVE,    /* CONFIRM LINK has completed, or the link carries traffic */
    SMCR_LINK_REJECTED,
    SMCR_LINK_DELETED,
} smcr_link_state_t;

/* A message that rules hold against its receiver once it has seen it. */
typedef struct {
    uint64_t sent;            /* nanoseconds since the epoch */
    const smcr_when_t *acked; /* NULL: there is none, or it has not been acknowledged */
} smcr_link_sent_message_t;

struct smcr_link {
    uint32_t index;   /* within the capture, from 0 */
    smcr_lgr_t *lgr;
    bool has_number;
    uint8_t number;   /* on the wire */
    smcr_qp_t qp[2]; /* by side */
    smcr_link_state_t state;
    bool is_guess;    /* that is: it holds where the capture lacks nothing of the group before */
    uint32_t doubtful_frame; /* a response tells of its end, or somebody has asked for that; until
                                it is used again, it may be active no more */
    uint32_t settled_frame; /* the message that says so; 0: none has */
    bool lost;        /* a side has said so */
    uint32_t packet_count;    /* of both directions, in the capture */
    uint32_t added_frame;     /* in which it was announced, or first proven */
    uint32_t confirm_frame;   /* CONFIRM LINK request; 0: not seen */
    uint32_t deleted_frame;   /* DELETE LINK; 0: not seen */
    uint32_t delete_reason;   /* of that; 0: none has been told */
    struct smcr_rules_links_link *rules; /* what rules remember of it; NULL: nothing */
    smcr_link_t *next_of_group; /* the one that came before it; NULL: it was the first */
    smcr_link_t *joined; /* the link that it has turned out to be, with the sides in each other's
                            place (conn.c); NULL: it is one of its own */
};

/* A point in the flow to a queue pair: what was known holds while nothing is absent behind it. */
typedef struct {
    smcr_qp_t *qp;          /* NULL: none */
    uint64_t psn : 40;      /* as smcr_psn_t: enough for all packets of a capture */
    uint64_t unplaced : 24; /* as in smcr_qp_t, its lower bits */
} smcr_point_t;

#define SMCR_POINT_PSN_MASK UINT64_C(0xffffffffff)
#define SMCR_POINT_UNPLACED_MASK 0xffffffU

/* The request with `psn` that has come to the queue pair. */
static inline smcr_point_t
smcr_point_at(smcr_qp_t *qp, smcr_psn_t psn)
{
    return (smcr_point_t){qp, psn & SMCR_POINT_PSN_MASK, qp->unplaced & SMCR_POINT_UNPLACED_MASK};
}

/* The last request that has come to the queue pair. */
static inline smcr_point_t
smcr_point_now(smcr_qp_t *qp)
{
    return smcr_point_at(qp, qp->traffic.flow.highest);
}

/* Whether the point lies before `psn` of the flow to `qp`. */
static inline bool
smcr_point_is_before(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    return point->qp == qp && point->psn < psn;
}

/* A response whose request the capture lacks so far. */
typedef struct {
    bool is_open;  /* it may still come; else there is no response */
    uint8_t type;  /* as in smcr_exchange_message_t */
    uint64_t time; /* nanoseconds since the epoch */
    int requester; /* side */
    uint32_t key;
    const smcr_link_t *link; /* that has to carry the request; NULL: any */
    bool *came;    /* the request has; NULL: there was no such response */
} smcr_lgr_unasked_t;

/* The RMBs that a DELETE RKEY request names, in its order; NULL: one that is not known. */
typedef struct {
    unsigned count;
    smcr_rmb_t **rmbs;
} smcr_lgr_withdrawal_t;

typedef enum { SMCR_LGR_SINGLE, SMCR_LGR_SYMMETRIC, SMCR_LGR_ASYMMETRIC } smcr_lgr_type_t;

struct smcr_lgr {
    uint32_t index;       /* within the capture, from 0; SMCR_LGR_NO_INDEX while not proven */
    smcr_state_t *state;
    int server;           /* side, or SMCR_LGR_SIDE_UNKNOWN */
    smcr_socket_t *server_of_file; /* in a file: which alone tells `server`; NULL: others do */
    bool from_start;      /* the capture has its first contact */
    bool has_release;     /* the next one is known */
    uint8_t release;      /* of SMC version 2, as its first contact says */
    uint8_t version;      /* of SMC, as its first contact says; 0: not known */
    uint8_t peer_id[2][SMCR_WIRE_PEER_ID_LENGTH];
    uint32_t ended_frame; /* DELETE LINK for all links, or the last one; 0: alive */
    uint32_t active_links;
    wmem_list_t *links;   /* smcr_link_t that are not deleted, the last ones */
    smcr_link_t *all_links; /* the last one of all, deleted or not */
    smcr_link_t *oldest_known; /* those before it are forgotten; NULL: none are */
    uint32_t first_link;  /* index of the first one of all */
    const smcr_clc_accept_t *accept; /* that alone has told of it, no first contact; NULL: none */
    uint32_t link_count;  /* that are not forgotten */
    wmem_list_t *pending; /* LLC requests without response (exchange.c) */
    wmem_list_t *answered; /* the last ones that have one */
    smcr_lgr_unasked_t unasked[4]; /* the last ones */
    unsigned unasked_count;
    smcr_conn_t *conns;   /* the last one that has joined */
    smcr_conn_t *open;    /* the same, but those that have ended are left out in time */
    uint32_t unowned_frame; /* last RDMA WRITE of which no connection was known then; 0: none */
    uint32_t lacking_clc; /* connections with CLC messages that the capture lacks so far */
    bool refused;         /* its first contact was declined */
    bool never_up;        /* and that for a cause that comes before its link is confirmed */
    wmem_list_t *halves;  /* smcr_conn_t: with the token of one direction, which has been used */
    bool lacks_halves;    /* the oldest of very many are forgotten */
    bool knows_lead, lead_changes; /* CLC has told one; has told another one later */
    uint32_t token_lead;  /* of a connection: the token of side 1 less that of side 0 */
    bool immediate;       /* RDMA WRITEs with immediate data stand for CDC messages (ANCK) */
    bool immediate_known, immediate_agreed; /* whether its first contact of v2 says so */
    bool base_known[2];   /* by side: CONFIRM LINK has told the next one */
    uint8_t base[2];      /* offset of the first byte of data in its RMB elements: 0 or 4 */
    smcr_rmb_t *confirmed[2]; /* by side: of its last CONFIRM RKEY, for the continuations */
    smcr_point_t confirmed_at[2]; /* of that one; no queue pair: of a response */
    smcr_lgr_withdrawal_t withdrawn[2]; /* by side: of its last DELETE RKEY request */
    smcr_rmb_t *rmbs;      /* the last one that was announced */
    unsigned rmb_count[2]; /* by side: RMBs that are alive */
    smcr_lgr_type_t type;
    struct smcr_rules_links_lgr *links_rules; /* what rules for links remember of it; NULL:
                                                 nothing */
    int single_side;      /* asymmetric: the side with a single device */
    const smcr_told_lgr_t *told[2]; /* by the host of each side; NULL: nothing */
    struct smcr_rules_lgr *rules; /* what rules remember of its connections; NULL: nothing */
};

/* CLC has told both tokens of a connection. */
static inline void
smcr_lgr_take_lead(smcr_lgr_t *lgr, uint32_t lead)
{
    lgr->lead_changes |= lgr->knows_lead && lgr->token_lead != lead;
    lgr->knows_lead = true;
    lgr->token_lead = lead;
}

static inline smcr_ib_qp_key_t
smcr_qp_key(const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    smcr_ib_qp_key_t key = {.qpn = qpn};

    memcpy(key.gid, gid, SMCR_GID_LENGTH);
    return key;
}

static inline bool
smcr_qp_has_key(const smcr_qp_t *qp, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    return qp->key.qpn == qpn && smcr_gid_is_same(qp->key.gid, gid);
}

/* Whether it has this GID, whatever its number. */
static inline bool
smcr_qp_is_at(const smcr_qp_t *qp, const uint8_t gid[SMCR_GID_LENGTH])
{
    return smcr_gid_is_same(qp->key.gid, gid);
}

/* A map with smcr_ib_qp_key_t as keys. */
wmem_map_t *smcr_qp_map_new(wmem_allocator_t *scope);

/* The queue pair with this key, NULL when it is not known. */
smcr_qp_t *smcr_qp_find(const smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* The queue pair with this key, of a link whose server (or client) it is. One of a link that is
 * gone, or of the other role, has been set up again and the capture lacks how: NULL. */
smcr_qp_t *smcr_qp_of_role(const smcr_state_t *state, const smcr_ib_qp_key_t *key, bool server);

/* At least the payload of the largest packet that the queue pair receives, bytes. */
uint32_t smcr_qp_mtu(const smcr_qp_t *qp);

/* The smaller of the MTUs that both ends announced, bytes; 0: not known. What only a later contact
 * repeats counts where full packets have that length. RFC 7609, A.2.3 */
static inline int
smcr_link_mtu(const smcr_link_t *link)
{
    const smcr_qp_t *qp = link->qp;
    int agreed = smcr_mtu_bytes(MIN(qp[0].mtu, qp[1].mtu));
    int full = (int)MAX(qp[0].traffic.flow.mtu, qp[1].traffic.flow.mtu);

    bool repeated = qp[0].mtu_repeated || qp[1].mtu_repeated;
    return (repeated ? full != agreed : full && full < agreed) ? 0 : agreed;
}

/* The other queue pair of the same link. */
static inline smcr_qp_t *
smcr_qp_peer(smcr_qp_t *qp)
{
    return &qp->link->qp[!qp->side];
}

/* A new link group; nothing is known of it. */
smcr_lgr_t *smcr_lgr_new(smcr_state_t *state);

/* Link groups that have an index; their indices are 0 to this minus 1. */
uint32_t smcr_lgr_count(const smcr_state_t *state);

/* Gives a link group its index; it now is known to be one of its own. */
void smcr_lgr_prove(smcr_state_t *state, smcr_lgr_t *lgr);

/* CLC or LLC says which side the server has, unless they have before. */
void smcr_lgr_set_server(smcr_lgr_t *lgr, int side);

/* The side of the group's client; side 0 where that, or the group, is not known. */
static inline int
smcr_lgr_client_side(const smcr_lgr_t *lgr)
{
    return lgr && lgr->server != SMCR_LGR_SIDE_UNKNOWN ? !lgr->server : 0;
}

/* The release of SMC version 2 that the group has agreed on; -1: not known. */
static inline int
smcr_lgr_release(const smcr_lgr_t *lgr)
{
    return lgr && lgr->has_release ? lgr->release : -1;
}

/* The link of the group that came before it. The oldest of very many are left out. NULL: none. */
static inline smcr_link_t *
smcr_link_older(const smcr_link_t *link)
{
    return link == link->lgr->oldest_known ? NULL : link->next_of_group;
}

/* Whether the two links use the same device of `side`. */
bool smcr_link_shares_device(const smcr_link_t *one, const smcr_link_t *other, int side);

/* A new link in the group, its queue pairs not known yet. */
smcr_link_t *smcr_link_new(smcr_state_t *state, smcr_lgr_t *lgr);

/* The link's queue pair of `side` is `key`, unless it is known to be another, or `key` is its peer.
 * A queue pair that another link had has been set up anew: neither of that link's queue pairs is
 * found from now on. `ground`: how it is known. */
void smcr_qp_set(smcr_state_t *state, smcr_link_t *link, int side, const smcr_ib_qp_key_t *key,
                 enum smcr_ground ground);

/* The queue pair is not the announced one, which stays in `key`: nobody knows which it is. */
void smcr_qp_disown(smcr_state_t *state, smcr_qp_t *qp);

/* The latest link of the group with that number which is not deleted, else NULL. */
static inline smcr_link_t *
smcr_lgr_link(const smcr_lgr_t *lgr, uint8_t number)
{
    SMCR_LIST_EACH_BACK(smcr_link_t *, link, lgr->links) {
        if (link->has_number && link->number == number && link->state != SMCR_LINK_DELETED &&
            link->state != SMCR_LINK_REJECTED)
            return link;
    }
    return NULL;
}

/* Both queue pairs have been set up anew, and nobody knows how: neither is found from now on. */
void smcr_link_forget(smcr_state_t *state, smcr_link_t *link);

/* The link carries traffic from now on. Returns true when the type of its group changed. */
bool smcr_link_activate(smcr_link_t *link);

/* The link is gone. Returns true when the type of its group changed. */
bool smcr_link_delete(smcr_link_t *link, uint32_t frame);

/* ---- links whose beginning the capture lacks ---- */

/* A message has proven that the queue pair `roce->target`, which nobody announced, carries SMC-R:
 * makes its link; the sender's queue pair is not known yet. Returns the target. */
smcr_qp_t *smcr_link_prove(smcr_state_t *state, const smcr_ib_headers_t *roce);

/* The link of an acknowledgement, where only the queue pair that sends it is known of the link: it
 * names a PSN that one such link between the two devices has just carried. NULL: there is no such
 * link, or more than one. */
smcr_link_t *smcr_link_of_ack(const smcr_state_t *state, const smcr_ib_headers_t *roce,
                              smcr_when_t when);

/* The acknowledgement goes to the queue pair of that link which is not known. Returns it. */
smcr_qp_t *smcr_link_take_ack(smcr_state_t *state, smcr_link_t *link,
                              const smcr_ib_headers_t *roce);
