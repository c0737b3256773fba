/* Link groups, their links, and the two queue pairs of a link (RFC 7609 2.1, 3.5).
 *
 * A side is one of the two hosts within a link group: 0 or 1, the same in all links of the group.
 * If the capture starts mid-connection, the state may learn late which side is the server.
 *
 * All structs live as long as the capture file, and are written in the first pass only. A frame is
 * the number of a frame in the capture, from 1. An smcr_psn_t is a PSN without wrap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

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

/* A loop over the items of a list, from head to tail; with _BACK, from tail to head. A list that is
 * NULL is empty. The body of the loop may remove its own item from the list. */
#define SMCR_LIST_EACH(type, item, list) SMCR_LIST_WALK(type, item, list, head, next)
#define SMCR_LIST_EACH_BACK(type, item, list) SMCR_LIST_WALK(type, item, list, tail, prev)
#define SMCR_LIST_WALK(type, item, list, from, on) \
    for (wmem_list_frame_t *item##_at = (list) ? wmem_list_##from(list) : NULL, *item##_next; \
         item##_at; item##_at = NULL) \
        for (type item; item##_at && ((item = wmem_list_frame_data(item##_at)), \
                                      (item##_next = wmem_list_frame_##on(item##_at)), true); \
             item##_at = item##_next)

/* Appends an item. If the list then has more than `most` items, removes the first one. Returns
 * whether an item was removed. */
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

/* A queue pair of a link, which has one on each side. */
typedef struct {
    /* ---- which it is ---- */
    /* link of the queue pair */
    smcr_link_t *link;
    int side;               /* side of the link group, 0 or 1 */
    bool number_known;      /* the queue pair number in `key` is known */
    bool gid_known;         /* the GID in `key` is known; it may be known before the number */
    smcr_ib_qp_key_t key;   /* GID and queue pair number */
    uint8_t ground;         /* enum smcr_ground: message or packet from which the number in `key` is
                               known */
    uint8_t mtu;            /* MTU code that the host of the queue pair has announced (A.2.3); 0:
                               not known */
    bool mtu_repeated;      /* `mtu` is from a CLC message of a later contact of the group, in which
                               the MTU field has no meaning */

    /* ---- ANCK: for how many messages the host of the queue pair has announced space ---- */
    int32_t credits;        /* number of messages for which the peer still has credits, as far as
                               captured packets show; negative: the peer has sent more messages than
                               it had credits */
    bool has_credits;       /* all announcements are captured, from the first one on: that of CLC or
                               ADD LINK */
    bool limits_peer;       /* the host has announced credits: its peer waits when it has none */
    bool has_had_no_credits; /* `credits` was 0 or less at some time, or may have been */
    uint32_t no_credits_frame; /* frame that has used the last credit; 0: the peer has credits, or
                                  needs none, or this is not certain */

    /* ---- the flow to the queue pair: packets that it receives ---- */
    smcr_traffic_t traffic; /* order of PSNs, responses and congestion marks of these packets */
    /* highest PSN of a captured request that counts as missing (smcr_evidence_pass_over()); 0:
     * none. For example, the request came out of order, is truncated by snaplen, or may have a
     * wrong operation code */
    smcr_psn_t last_late_psn;
    uint32_t last_late_frame; /* frame of the last such request (see `last_late_psn`) that is no
                                 WRITE, or whose content was judged after its own frame; 0: none */
    uint32_t proven_missing; /* number of packets missing in this flow of which later messages prove
                                what they were: smcr_evidence_prove_missing() */
    bool send_unfinished;   /* a SEND message of several packets has begun, and its last packet has
                               not come */
    smcr_psn_t send_psn;    /* PSN of the last SEND FIRST packet so far; 0: none */
    smcr_unacked_t unacked; /* WRITE packets and messages that wait for their acknowledgement */
    wmem_list_t *deferred;  /* packets that came after a sequence gap, and wait until a later packet
                               proves whether the receiver has taken them in (flow/deferred.h).
                               NULL: none so far */

    /* ---- RDMA WRITEs that the queue pair receives ---- */
    uint32_t unpositioned;  /* number of WRITE packets so far whose position in a stream was not
                               known when they came */
    smcr_psn_t unpositioned_psn; /* highest PSN of WRITE packets without a known position; 0:
                                    none */
    /* first PSN of the last run of WRITE packets without a known position. The run ends at
     * `unpositioned_psn`. A packet with a lower PSN than the run, or with one that is more than
     * SMCR_WRITE_UNPLACED_NEAR above its end, begins a new run. 0: none */
    smcr_psn_t unpositioned_from;
    uint32_t unpositioned_before; /* `unpositioned` before the first packet of this run */
    smcr_write_t **writes;  /* circular buffer of the last WRITE requests, in parts of a few
                               requests each (write.c); NULL: none so far, or forgotten, since the
                               link was deleted (flow/release.c) */
    uint32_t write_count;   /* number of WRITE requests that were put into `writes`, also those that
                               have left it; 0 if `writes` is NULL */
    smcr_psn_t next_write_psn; /* PSN after the highest PSN that belongs to a WRITE request so far,
                                  whether its packet has come or not; 0: none */
    smcr_psn_t damaged_first; /* PSN of the newest packet with a wrong ICRC that begins a WRITE
                                 request of several packets; 0: none so far */
    smcr_psn_t damaged_last; /* PSN of the last packet so far that continues the request of
                                `damaged_first`; set with `damaged_first` */
    struct smcr_startless *startless; /* packets of requests whose first packet may still come
                                         (state/flow/place_packet.c); NULL: none so far */
    bool has_likely_owner;  /* `writes` may have a request whose connection is only likely and not
                               certain; false: it has none */
    wmem_list_t *writes_without_first; /* smcr_orphan_write_t: WRITE packets whose request, RMB or
                                          connection is not known; NULL: none so far */
} smcr_qp_t;

/* State of a link (3.5.1, 3.5.5.1). */
typedef enum {
    SMCR_LINK_ANNOUNCED, /* CLC or ADD LINK has announced the link */
    SMCR_LINK_ACTIVE,    /* CONFIRM LINK was answered, or the link has carried traffic */
    SMCR_LINK_REJECTED,  /* the client has rejected the link in its ADD LINK response, or the link
                            was not set up */
    SMCR_LINK_DELETED,   /* DELETE LINK has ended the link */
} smcr_link_state_t;

/* The time of a message, and its first acknowledgement. After the acknowledgement the rules assume
 * that the receiver has seen the message. */
typedef struct {
    uint64_t sent;            /* time of the message, nanoseconds since the epoch */
    const smcr_ack_t *acked; /* first acknowledgement that covers the message; NULL: none so far,
                                 or there is no message */
} smcr_link_sent_message_t;

/* A link between two queue pairs. */
struct smcr_link {
    /* ---- which it is ---- */
    uint32_t index;         /* number of the link in the capture, from 0 */
    smcr_lgr_t *lgr;        /* its link group */
    bool has_number;        /* `number` is known */
    uint8_t number;         /* number of the link in LLC messages; see `has_number` */
    smcr_qp_t qp[2];        /* the two queue pairs of the link, by side of the link group */

    /* ---- its state ---- */
    /* state of the link, as LLC messages and traffic show it */
    smcr_link_state_t state;
    bool state_uncertain;   /* `state` may be wrong, or the link may have come to it otherwise than
                               captured messages show: an LLC message of the group may be missing */
    /* last frame with a DELETE LINK that may have led to the deletion of the link; 0: none. There
     * are two kinds: 1. a request that is not certainly the server's, and asks to delete the link;
     * 2. a response whose request is missing. Later packets on the link prove that the link was not
     * deleted */
    uint32_t possible_end_frame;
    uint32_t state_frame;   /* frame of the message that deleted or rejected the link; 0: none */
    uint32_t lost_frame;    /* frame of the first DELETE LINK for this link alone with the reason
                               "lost path" (A.3.4); 0: none */
    bool lost_by_server;    /* the server sent the message in `lost_frame`, as far as the roles were
                               known then */
    uint32_t used_before_loss; /* last frame before `lost_frame` up to which both sides have used
                                  the link; 0: none */
    uint32_t packet_count;  /* number of captured packets of both directions, without packets of
                               which the ICRC is wrong */
    uint32_t added_frame;   /* frame that announced the link, or that first proved that it exists */
    bool is_announced;      /* the message that announces the link is captured: the Accept of a
                               first contact, or an ADD LINK request. Its frame is `added_frame`,
                               unless an earlier frame has shown the link */
    bool was_active;        /* the link is or has been SMCR_LINK_ACTIVE */
    uint32_t active_frame;  /* frame of the CONFIRM LINK response that activated the link; 0:
                               none */
    uint32_t confirm_frame; /* frame of the first CONFIRM LINK request; 0: none */
    uint32_t deleted_frame; /* frame of the DELETE LINK that ended the link; 0: none */
    bool may_have_ended_before; /* DELETE LINK for all links ended the link, and another message may
                                   have ended it before `deleted_frame` */
    uint32_t used_before_end; /* last frame before `deleted_frame` up to which both sides have used
                                 the link, if DELETE LINK for all links ended it; 0: otherwise, or
                                 none */
    uint32_t delete_reason; /* reason code (A.3.4) of the last DELETE LINK that named the link, also
                               of a client's request, or of the message that ended the group; 0:
                               none came, or the reason is not known */
    uint8_t reject_reason;  /* reason code with which the client has rejected the link (A.3.2); 0:
                               no message has rejected the link, or the code is 0 */

    /* ---- its place among others ---- */
    struct smcr_rules_links_link *rules; /* what state/rules/ keeps of the link; NULL: nothing */
    smcr_link_t *older_in_group; /* link of the group that came before this one; NULL: none */
    smcr_link_t *merged_into; /* link object into which this object was joined, since both are the
                                 same link (smcr_join_links()). Side 0 of this object is side 1 of
                                 the other object, unless `merged_unturned`. NULL: this object was
                                 not joined */
    smcr_qp_t *shown_before; /* queue pair that was known by the GID and number in the ADD LINK
                                request before this request: the response shows whether it is the
                                sender's queue pair on this link. NULL: none */
    bool merged_unturned;   /* the sides of this object and of `merged_into` are the same */
};

/* A point in the flow to a queue pair: the PSN of a packet. Knowledge from the time of this packet
 * is still valid as long as no later packet of the flow is missing (evidence/evidence.h). */
typedef struct {
    smcr_qp_t *qp;          /* queue pair that receives the flow; NULL: no point */
    uint64_t psn : 40;      /* lower 40 bits of the PSN without wrap: enough for all packets of a
                               capture */
    uint64_t unpositioned : 24; /* lower 24 bits of the queue pair's member `unpositioned` at this
                                   point */
} smcr_point_t;

#define SMCR_POINT_PSN_MASK UINT64_C(0xffffffffff)
#define SMCR_POINT_UNPLACED_MASK 0xffffffU

/* The point at the request with `psn`, which `qp` has received. The state may take in a request
 * after later requests have come (deferred.c). So the last run of WRITEs without a position does
 * not count at this point if the run ends after `psn`. */
static inline smcr_point_t
smcr_point_at(smcr_qp_t *qp, smcr_psn_t psn)
{
    uint32_t count = psn < qp->unpositioned_psn ? qp->unpositioned_before : qp->unpositioned;

    return (smcr_point_t){qp, psn & SMCR_POINT_PSN_MASK, count & SMCR_POINT_UNPLACED_MASK};
}

/* The point at the request with the highest PSN that `qp` has received. */
static inline smcr_point_t
smcr_point_now(smcr_qp_t *qp)
{
    return smcr_point_at(qp, qp->traffic.flow.highest);
}

/* Whether the point lies in the flow to `qp`, at a PSN lower than `psn`. */
static inline bool
smcr_point_is_before(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    return point->qp == qp && point->psn < psn;
}

/* A response whose request may come later, since the capture may have the two in the wrong order.
 * The capture has no earlier request that the response certainly answers. */
typedef struct {
    bool awaits_request; /* the request may still come; false: the request has come, or this entry
                            of `early_responses` is not used */
    uint8_t type;  /* type of the response (smcr_exchange_message_t) */
    uint64_t time; /* time of the response, nanoseconds since the epoch */
    int requester; /* side that has to send the request */
    uint32_t key;  /* key of the response (smcr_exchange_message_t) */
    const smcr_link_t *link; /* link that has to carry the request; NULL: any link */
    smcr_point_t acked; /* last request that the responder had acknowledged before the response, in
                           the flow to the responder's queue pair; PSN 0: none */
    bool *request_came; /* flag that becomes true when the request comes; NULL: the entry is not
                           used */
} smcr_lgr_unasked_t;

/* The RMBs that a DELETE RKEY message names. */
typedef struct {
    unsigned count;    /* number of RKeys in the message */
    smcr_rmb_t **rmbs; /* array of `count` RMBs, in the order of the RKeys in the message. An entry
                          is NULL if its RKey names no known RMB, or a withdrawn one */
} smcr_lgr_withdrawal_t;

/* Type of a link group, by its active links (net/smc/smc_core.h, enum smc_lgr_type). */
typedef enum {
    SMCR_LGR_SINGLE,     /* the group has at most one active link */
    SMCR_LGR_SYMMETRIC,  /* the group has several active links, each between devices of its own */
    SMCR_LGR_ASYMMETRIC, /* the group has several active links that share a device of one side */
} smcr_lgr_type_t;

/* Where the packets of a link group come from. */
typedef enum {
    SMCR_LGR_TAPPED_NOT,  /* from RoCE */
    SMCR_LGR_TAPPED_SMCR, /* a tap in the kernel of a host has copied messages and data of SMC-R */
    SMCR_LGR_TAPPED_SMCD, /* a tap in the kernel of a host has copied messages and data of SMC-D */
} smcr_lgr_tapped_t;

/* A link group. An array of two is by side. */
struct smcr_lgr {
    /* ---- which it is ---- */
    uint32_t index;       /* number of the group in the capture, from 0; SMCR_LGR_NO_INDEX: nothing
                             proves so far that this object is another link group than the other
                             objects */
    smcr_state_t *state;  /* state of the capture file */
    int server;           /* side of the server: 0, 1 or SMCR_LGR_SIDE_UNKNOWN */
    smcr_lgr_tapped_t tapped; /* tap from which the packets of the group come. A group of a tap has
                                 one connection, and a link that no packet on the wire names */
    bool is_unnumbered;   /* messages of the tap have no sequence numbers, as its last message
                             shows; before its first message: the tap shows SMC-D. A missing message
                             may leave no trace */
    /* socket that a file of smcss reports, if only this report gives `server`; NULL: `server` is
     * not known, or has another source */
    smcr_socket_t *role_source_file;

    /* ---- its first contact ---- */
    bool first_contact_captured; /* the first contact is in the capture */
    bool clocks_differ;   /* TCP and RoCE seem to have times of two clocks: their packets are in an
                             order in which no host sends them (see `clocks_proven`) */
    /* queue pair that was known by the GID and number in the Accept before the Accept made the
     * group. The Confirm shows whether it is the server's queue pair. NULL: none, or the Confirm
     * has come */
    smcr_qp_t *shown_before;
    bool clocks_proven;   /* captured frames prove `clocks_differ`. If false, the reason for
                             `clocks_differ` may be that the capture has no RoCE packet of the
                             group */
    bool clocks_told;     /* an event has reported `clocks_proven` */
    bool confirmed_late[2]; /* by side: the side has sent CONFIRM RKEY for an RMB only after CLC
                               named the RMB for a connection that is open */
    bool has_release;     /* `release` is known */
    uint8_t release;      /* release of SMC version 2; see `has_release` */
    uint8_t version;      /* version of SMC, 1 or 2; 0: not known */
    uint8_t peer_id[2][SMCR_WIRE_PEER_ID_LENGTH]; /* peer IDs from CLC, by side (A.2.1); zeros: not
                                                     known */

    /* ---- links ---- */
    uint32_t ended_frame; /* frame in which the group ended: of the server's DELETE LINK for all
                             links, or of the message that deleted the last link in use. A later one
                             replaces it if a link has become active in between; 0: none */
    bool asked_to_end[2]; /* by side: the side has sent a request to delete all links. If both sides
                             have, the group has ended: one of them is the server */
    uint32_t asked_reason; /* reason of the first of these requests; set with `asked_to_end` */
    uint32_t active_links; /* number of active links */
    wmem_list_t *links;   /* smcr_link_t: the newest links that are not deleted */
    /* newest link, deleted or not; NULL: none, or the group is given up */
    smcr_link_t *newest_link;
    /* oldest link that smcr_link_older() finds, if the group has had so many links that older ones
     * are forgotten; NULL: no link is forgotten. Forgotten links stay in memory, and reports find
     * them by `older_in_group` */
    smcr_link_t *oldest_kept_link;
    uint32_t first_link_index; /* index of the oldest link, kept or forgotten */
    const smcr_clc_accept_t *first_accept; /* Accept that made the group, or Accept of the first
                                              contact of a group that was known before; NULL:
                                              none */
    uint32_t link_count;  /* number of links in the list from `newest_link` on, without forgotten
                             links */

    /* ---- LLC requests and responses (exchange.c) ---- */
    wmem_list_t *pending; /* smcr_exchange_request_t: requests that wait for their response */
    wmem_list_t *answered; /* smcr_exchange_request_t: the last requests that were answered */
    smcr_lgr_unasked_t early_responses[4]; /* the last responses whose request may come later;
                                              circular list */
    unsigned early_response_count; /* number of responses that were put into `early_responses` so
                                      far */

    /* ---- connections ---- */
    smcr_conn_t *newest_conn; /* connection that joined last; `older_in_group` leads to the others;
                                 NULL: none */
    smcr_conn_t *newest_open_conn; /* connection that joined last and may be open; `older_open`
                                      leads to the others; NULL: none */
    uint32_t released_until;     /* last frame of the connections that were in the list of
                                    `newest_conn` and have been released; 0: none was */
    /* number of connections in the capture when the last claim about this group was made
     * (smcr_doubt_proof_t): connections with a lower index are not released; 0: no claim was
     * made */
    uint32_t claimed_conns;
    /* frame of the last WRITE whose connection was not known when the WRITE came; 0: none */
    uint32_t last_ownerless_frame;
    bool lacks_rtokens; /* RTokens of the group are in messages whose end is not captured */
    uint32_t unfinished_clc_conns; /* number of connections of the group whose CLC handshake is not
                                      complete so far */
    bool first_contact_declined; /* the first contact of the group was declined */
    /* the first contact was declined, with a diagnosis that a host gives only before its first link
     * is confirmed */
    bool link_never_confirmed;

    /* ---- connections of which only one direction is known ---- */
    /* smcr_conn_t: connections of which only the token of one direction is known */
    wmem_list_t *one_direction_conns;
    bool one_direction_conns_forgotten; /* `one_direction_conns` had too many connections, so its
                                           oldest connections are forgotten */

    /* ---- tokens: with some hosts, both tokens of a connection differ by a constant ---- */
    bool knows_token_difference; /* `token_difference` is known: CLC has announced both tokens of a
                                    connection */
    bool token_difference_changes; /* a later connection of the group has another difference of its
                                      tokens */
    uint32_t token_difference; /* token of side 1 minus token of side 0, modulo 2^32; see
                                  `knows_token_difference` */
    uint32_t joined_as_expected; /* number of connections whose two directions were joined, since
                                    cursors and tokens are the expected ones; counted
                                    anew after an unmatched token (`token_unmatched`) */
    uint32_t last_expected_frame; /* first frame of the older direction of the last connection in
                                     `joined_as_expected`; 0: none */
    bool token_unmatched; /* the first message of a direction came whose token is not the expected
                             one for any other direction of the group */

    /* ---- what both sides have agreed on ---- */
    bool immediate;       /* WRITEs have immediate data whose meaning is not known. They may be in
                             place of CDC messages */
    bool immediate_known; /* a whole First Contact Extension of version 2 is captured, so it is
                             known whether the peers agree on immediate data */
    bool immediate_agreed; /* the peers send immediate data of ANCK instead of CDC messages: each
                              captured First Contact Extension agrees on it, or WRITEs show it */
    bool has_plain_messages; /* a CDC message, or a WRITE that ends without immediate data, has
                                come */
    bool base_known[2];   /* `base` of the side is known */
    uint8_t base[2];      /* offset of the first byte of data in the side's RMB elements, bytes: 0,
                             or 4 after an eyecatcher; see `base_known` */

    /* ---- RMBs ---- */
    /* RMB of the side's last CONFIRM RKEY, to which CONTINUATIONs belong, by side; NULL: none */
    smcr_rmb_t *last_confirmed_rmb[2];
    /* point of the side's last CONFIRM RKEY request; no queue pair: there is none, or only its
     * response is captured */
    smcr_point_t last_confirm_rkey_at[2];
    smcr_lgr_withdrawal_t withdrawn[2]; /* RMBs that the side's last DELETE RKEY request names */
    smcr_rmb_t *newest_rmb; /* RMB that came into the group last; `older` leads to the others; NULL:
                               none */
    unsigned rmb_count[2]; /* number of RMBs of the side that are alive */
    /* `newest_rmb` when the last claim about the group was made (smcr_doubt_proof_t), or when
     * another group was joined into this one: this RMB and older ones are not released; NULL:
     * none */
    const smcr_rmb_t *claimed_rmb;

    /* ---- its type, and what other rooms keep of the group ---- */
    smcr_lgr_type_t type; /* type of the group, by its active links */
    struct smcr_rules_links_lgr *links_memory; /* what state/rules/links/ keeps of the group; NULL:
                                                  nothing */
    int single_side;      /* side on which two active links share a device, 1 if on both sides;
                             SMCR_LGR_SIDE_UNKNOWN: the group is not asymmetric */
    /* by side: report of the group by the host of this side, over netlink; NULL: none, or several
     * reports fit the link */
    const smcr_told_lgr_t *netlink_reported[2];
    struct smcr_rules_lgr *rules; /* what state/rules/ keeps of the group's connections; NULL:
                                     nothing */
};

/* Notes that captured frames prove that TCP and RoCE have times of two clocks. */
static inline void
smcr_lgr_prove_clocks(smcr_lgr_t *lgr)
{
    lgr->clocks_differ = lgr->clocks_proven = true;
}

/* Notes the difference between the tokens that CLC has announced for the two sides of a connection.
 * `lead`: token of side 1 minus token of side 0, modulo 2^32. */
static inline void
smcr_lgr_note_token_difference(smcr_lgr_t *lgr, uint32_t lead)
{
    lgr->token_difference_changes |= lgr->knows_token_difference && lgr->token_difference != lead;
    lgr->knows_token_difference = true;
    lgr->token_difference = lead;
}

/* The key of a queue pair: GID in network byte order, number in host byte order. */
static inline smcr_ib_qp_key_t
smcr_qp_key(const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    smcr_ib_qp_key_t key = {.qpn = qpn};

    memcpy(key.gid, gid, SMCR_GID_LENGTH);
    return key;
}

/* Whether the queue pair has this GID and number. */
static inline bool
smcr_qp_has_key(const smcr_qp_t *qp, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    return qp->key.qpn == qpn && smcr_gid_is_same(qp->key.gid, gid);
}

/* Whether the queue pair has this GID. */
static inline bool
smcr_qp_is_at(const smcr_qp_t *qp, const uint8_t gid[SMCR_GID_LENGTH])
{
    return smcr_gid_is_same(qp->key.gid, gid);
}

/* Makes a map whose keys are smcr_ib_qp_key_t. It lives as long as `scope`. */
wmem_map_t *smcr_qp_map_new(wmem_allocator_t *scope);

/* The queue pair with this key; NULL: not known. */
smcr_qp_t *smcr_qp_find(const smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* Returns the queue pair with this key, if it may be the server's queue pair of its link (`server`
 * true), or the client's queue pair (`server` false). NULL: no such queue pair is known. Also NULL
 * if the known queue pair belongs to a deleted or rejected link, or to the other role: the key then
 * names a newer queue pair, whose announcement is not captured. */
smcr_qp_t *smcr_qp_of_role(const smcr_state_t *state, const smcr_ib_qp_key_t *key, bool server);

/* Upper bound of the payload of one packet that the queue pair receives, bytes. Returns 4096 if the
 * MTU of the link is not known. */
uint32_t smcr_qp_mtu(const smcr_qp_t *qp);

/* The last frame up to which both sides have sent a request on the link; 0: at least one side has
 * sent none. */
static inline uint32_t
smcr_link_last_use(const smcr_link_t *link)
{
    return MIN(link->qp[0].traffic.flow.highest_frame, link->qp[1].traffic.flow.highest_frame);
}

/* Returns the smaller of the MTUs that both hosts of the link have announced, bytes. Returns 0 if
 * an MTU is not known, or if the packets show that it is wrong: first and middle packets of
 * messages are shorter. In a later contact the MTU field has no meaning, so an MTU of a later
 * contact is returned only if first and middle packets have exactly this length. (RFC 7609
 * A.2.3) */
static inline int
smcr_link_mtu(const smcr_link_t *link)
{
    const smcr_qp_t *qp = link->qp;
    int agreed = smcr_mtu_bytes(MIN(qp[0].mtu, qp[1].mtu));
    int full = (int)MAX(qp[0].traffic.flow.mtu, qp[1].traffic.flow.mtu);
    bool is_of_later_contact = qp[0].mtu_repeated || qp[1].mtu_repeated;

    if (is_of_later_contact)
        return full == agreed ? agreed : 0;
    return full && full < agreed ? 0 : agreed;
}

/* The other queue pair of the same link. */
static inline smcr_qp_t *
smcr_qp_peer(smcr_qp_t *qp)
{
    return &qp->link->qp[!qp->side];
}

/* Whether `base` of `side` is where data begins in the RMB elements: since it is known, or since
 * data is assumed to begin at 0. The latter is not assumed if an element anywhere in the capture
 * may have an eyecatcher. */
bool smcr_lgr_has_base(const smcr_lgr_t *lgr, int side);

/* Makes a link group of which nothing is known. */
smcr_lgr_t *smcr_lgr_new(smcr_state_t *state);

/* Whether the capture is out of order (`is_out_of_order` of smcr_state). */
bool smcr_lgr_is_in_disorder(const smcr_lgr_t *lgr);

/* Returns how far packets of the capture are from the order in which they were sent, as far as
 * requests that are captured after their acknowledgement show it: nanoseconds, below 10 ms.
 * UINT64_MAX: further, or by an unknown time. 0 if the capture is in order. */
uint64_t smcr_lgr_disorder(const smcr_lgr_t *lgr);

/* The highest index of a link group, plus 1; 0: no group has an index. */
uint32_t smcr_lgr_count(const smcr_state_t *state);

/* Gives a link group its index, if the group has none so far. */
void smcr_lgr_give_index(smcr_state_t *state, smcr_lgr_t *lgr);

/* Sets the side of the server, as CLC or LLC shows it. Changes nothing if this side is known
 * already. Exception: a side that is known only from a file of smcss is replaced. */
void smcr_lgr_set_server(smcr_lgr_t *lgr, int side);

/* The side of the group's client; 0 if this side is not known, or if `lgr` is NULL. */
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

/* Whether side 0 of the link object is side 1 of the object into which it was joined. False if it
 * was not joined. NULL gives false. */
static inline bool
smcr_link_is_turned(const smcr_link_t *link)
{
    return link && link->merged_into && !link->merged_unturned;
}

/* Returns the link object into which `link` was joined; `link` itself if it was not joined. Side 0
 * of a joined `link` may be side 1 of the result (smcr_link_is_turned()). */
static inline const smcr_link_t *
smcr_link_merged(const smcr_link_t *link)
{
    return link->merged_into ? link->merged_into : link;
}

/* The link that joined the group before this one; NULL: there is none, or it is forgotten. */
static inline smcr_link_t *
smcr_link_older(const smcr_link_t *link)
{
    return link == link->lgr->oldest_kept_link ? NULL : link->older_in_group;
}

/* Whether both links have a known queue pair on `side`, and both queue pairs are on the same
 * device. */
bool smcr_link_shares_device(const smcr_link_t *one, const smcr_link_t *other, int side);

/* Makes a link in the group. Its queue pairs are not known yet. */
smcr_link_t *smcr_link_new(smcr_state_t *state, smcr_lgr_t *lgr);

/* Moves the link, the only one of its group, to the group `lgr`, as its newest link. */
void smcr_link_move(smcr_link_t *link, smcr_lgr_t *lgr);

/* Sets the link's queue pair of `side` to `key`. `ground`: kind of the message or packet that shows
 * this queue pair. Nothing changes in two cases: 1. the queue pair of this side is known already;
 * 2. `key` is the queue pair of the link's other side. If another link has the queue pair `key`,
 * the number counts as reused: the peer of the older queue pair is not found any more either. */
void smcr_qp_set(smcr_state_t *state, smcr_link_t *link, int side, const smcr_ib_qp_key_t *key,
                 enum smcr_ground ground);

/* Forgets the announced number of a queue pair. The number is wrong, and the right one is not
 * known. smcr_qp_find() does not find the queue pair any more. Its member `key` is not cleared. */
void smcr_qp_forget_announced(smcr_state_t *state, smcr_qp_t *qp);

/* Returns the group's newest link with the number `number` that was neither deleted nor rejected;
 * NULL: none. */
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

/* Forgets both queue pairs of the link: smcr_qp_find() does not find them any more. */
void smcr_link_forget_qps(smcr_state_t *state, smcr_link_t *link);

/* Makes an announced link active; a link in another state does not change. Returns whether the type
 * of its group has changed. */
bool smcr_link_activate(smcr_link_t *link);

/* Notes that `frame` has deleted the link. Returns whether the type of its group has changed. A
 * link that is deleted or rejected already does not change. */
bool smcr_link_delete(smcr_link_t *link, uint32_t frame);

/* ---- links that began before the capture ---- */

/* Makes a link, and the group of the link, for the queue pair `roce->destination`. A message has
 * proven that this queue pair carries SMC-R, though no captured message announces it. Of the
 * sender's queue pair only the GID is known. Returns the queue pair `roce->destination`. */
smcr_qp_t *smcr_link_new_of_packet(smcr_state_t *state, const smcr_ib_headers_t *roce);

/* Finds the link of an acknowledgement that goes to an unknown queue pair. Such a link is between
 * the two devices, and only its queue pair that sends the acknowledgement is known. This queue pair
 * has received the acknowledged PSN within the last second. NULL: there is no such link, or there
 * are several. */
smcr_link_t *smcr_link_of_ack(const smcr_state_t *state, const smcr_ib_headers_t *roce,
                              smcr_when_t when);

/* Sets the unknown queue pair of the link to the receiver of an acknowledgement. `roce`: headers of
 * the acknowledgement. Returns this queue pair. */
smcr_qp_t *smcr_link_learn_qp_of_ack(smcr_state_t *state, smcr_link_t *link,
                                     const smcr_ib_headers_t *roce);
