/* The checks of LLC messages, what those of this room share, and what they remember of links, link
 * groups and RMBs, beside what the model keeps of them. The memory is allocated when there is
 * something to remember, and lives as long as the capture file.
 *
 * Times are nanoseconds since the epoch, 0: not yet. An array of two is by side of the link group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "links.h"
#include "state/rules/memory.h"
#include "wire/wire.h"

/* ---- what is remembered ---- */

/* Faults in ADD LINK or CONFIRM LINK that the receiver must refuse. */
typedef enum {
    SMCR_RULES_FAULT_PARALLEL = 1, /* the link joins the same two devices as another link */
    SMCR_RULES_FAULT_MISMATCH = 2, /* CONFIRM LINK says something else than was announced */
} smcr_rules_fault_t;

/* What the owner of a queue pair has announced of it. */
typedef struct {
    uint32_t user_id; /* of the link, as the owner's CONFIRM LINK says; 0: not known */
    bool has_mac;     /* `mac` is known */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of the device; only with `has_mac` */
} smcr_rules_qp_t;

/* Of a link. */
typedef struct smcr_rules_links_link {
    uint64_t confirmed_time; /* when the response to its CONFIRM LINK came */
    uint64_t delete_asked_time; /* when the client asked to delete it */
    /* the message with which the last side has stopped to use it; zeros: none so far */
    smcr_link_sent_message_t end_of_use;
    /* by requester: the first request over the link that has no response; NULL: none */
    const smcr_exchange_request_t *unanswered[2];
    smcr_rules_qp_t qp[2]; /* its ends */
    uint8_t faults;        /* in the messages about it: bits of smcr_rules_fault_t; 0: none */
    bool has_rtokens;      /* CONFIRM RKEY has announced an RMB for it: it is in use */
    bool was_active;       /* it was active when the server deleted it; only after that */
} smcr_rules_link_t;

/* How far a side is in announcing RTokens that need several messages. */
typedef struct {
    /* the last message of the list, in its flow; its queue pair is NULL: the side has sent none */
    smcr_point_t last_message;
    uint8_t rtokens_left; /* RTokens left in that message, with those that it has itself */
    bool is_continuation; /* that message is a continuation */
} smcr_rules_countdown_t;

/* What the server is changing in the link group. */
typedef struct {
    uint64_t add_time; /* time of its open ADD LINK request; 0: none is open */
    uint64_t delete_time; /* time of its open DELETE LINK request; 0: none is open */
    smcr_link_t *carrier; /* link that carries ADD LINK; NULL: the server adds none */
    uint8_t new_number; /* of the new link; only with `on` */
    smcr_rules_countdown_t countdown[2]; /* of ADD LINK CONTINUATION */
} smcr_rules_change_t;

/* Byte orders of lengths in LLC messages of version 2. */
enum smcr_rules_order { SMCR_RULES_ORDER_LITTLE = 1, SMCR_RULES_ORDER_BIG };

/* Of a link group. */
typedef struct smcr_rules_links_lgr {
    smcr_rules_change_t change;        /* of the server */
    smcr_exchange_request_t *adding;   /* ADD LINK, until its link is confirmed; NULL: none */
    const smcr_link_t *second_link;    /* link that the first ADD LINK offers; NULL: none came */
    uint64_t second_offered_time;      /* when that offer came */
    uint64_t second_over_time;         /* when its attempt was over */
    smcr_rules_countdown_t confirms[2]; /* of CONFIRM RKEY and its continuations */
    uint32_t confirm_count[2]; /* number of CONFIRM RKEY requests */
    uint32_t unknown_rkey[2]; /* last RKey of the DELETE RKEY request that was never announced; only
                                 with `has_unknown` */
    bool has_unknown_rkey[2]; /* the last DELETE RKEY request has such an RKey */
    uint8_t max_links[2];   /* most links, as CONFIRM LINK says; 0: not known */
    uint8_t order[2];       /* byte order of lengths in LLC, enum smcr_rules_order; 0: not known */
    uint16_t vlan;          /* of the first CLC message that has a tag; 0: none has */
    bool has_data;          /* an RDMA WRITE has flowed */
    bool rmb_is_new;        /* the RMB of the CLC message that is being learned is new */
} smcr_rules_links_t;

/* Of an exchange that may have run beside another one. */
typedef struct smcr_rules_links_exchange {
    uint64_t over_time; /* when it was over */
} smcr_rules_open_t;

SMCR_RULES_KEPT(link, smcr_link_t, owner->rules)
SMCR_RULES_KEPT(links, smcr_lgr_t, owner->links_memory)

/* ---- checks ---- */

/* Declares a check of LLC messages; its definition begins with SMCR_RULES_LLC(check). `message` is
 * the message, its link, group, sender (`from`) and receiver (`to`). */
#define SMCR_RULES_LLC(check) \
    void smcr_rules_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                            G_GNUC_UNUSED const smcr_exchange_message_t *message)
#define SMCR_RULES_LLC_CHECK(when, kind, types, check) SMCR_RULES_LLC(check);
#include "llc_checks.def"

/* ---- links ---- */

/* Returns the maximum of links that both sides have agreed on in CONFIRM LINK (RFC 7609 2.2.2), the
 * smaller one of both; UINT_MAX: the server's is not known. */
unsigned smcr_rules_max_links(const smcr_lgr_t *lgr);

/* Checks the limits of links (2.2.1, 2.2.2). A response to CONFIRM LINK has just confirmed the link
 * of the packet. */
void smcr_rules_check_link_limits(const smcr_arrival_t *arrival);

/* Checks the same limits where the client asks for a link by ADD LINK. `wish` is its message. */
void smcr_rules_check_link_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

/* Checks whether the sender of a WRITE or a CDC message waits for a response that is overdue
 * (4.5.3, C.7). smcr_rules_check_link_use() calls it. */
void smcr_rules_check_overdue_response(const smcr_arrival_t *arrival);

/* ---- RMBs in use (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3) ---- */

/* Returns a connection that is certainly open and has an element of the RMB; NULL: there is none.
 * Its owner has shown the use if it has sent a CDC message (smcr_doubt_use()). */
const smcr_conn_t *smcr_rules_find_rmb_user(const smcr_rmb_t *rmb);

/* Checks whether the message of `arrival` gives an RKey in use to another RMB. `entry` is what the
 * RKey names so far. `added` is a link being added that has no traffic yet; NULL: none. */
void smcr_rules_check_rkey_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                                  const smcr_link_t *added);

/* Checks the announcement of an RMB by the owner of the queue pair `qp`, before it is learned.
 * `rkey` and `va` are numbers in the host's byte order. Returns whether the RMB is new there. */
bool smcr_rules_check_new_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                              uint64_t va);
