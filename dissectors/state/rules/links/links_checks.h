/* The checks of LLC messages, what those of this room share, and what they remember of links, link
 * groups and RMBs, beside what the model keeps of them: it is made when there is something to
 * remember, and lives as long as the capture file.
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
    SMCR_RULES_FAULT_PARALLEL = 1, /* joins the same two devices as another link */
    SMCR_RULES_FAULT_MISMATCH = 2, /* CONFIRM LINK says something else than was announced */
} smcr_rules_fault_t;

/* What the owner of a queue pair has told of it. */
typedef struct {
    uint32_t user_id; /* of the link, as its CONFIRM LINK says; 0: not known */
    bool has_mac;
    uint8_t mac[SMCR_WIRE_MAC_LENGTH];
} smcr_rules_qp_t;

/* Of a link. Times are nanoseconds since the epoch; 0: not yet. */
typedef struct smcr_rules_links_link {
    uint64_t confirmed; /* its CONFIRM LINK response came */
    uint64_t unwanted;  /* the client has asked to delete it */
    smcr_link_sent_message_t gone; /* with this message its last user has let go of it */
    const smcr_exchange_request_t *waits[2]; /* by side: the first request over the link that has
                                                no answer */
    smcr_rules_qp_t qp[2]; /* by side */
    uint8_t faults;        /* of what was told of it: bits of smcr_rules_fault_t */
    bool named;            /* an RMB was announced for it: it is in use */
    bool was_active;       /* when it was deleted */
} smcr_rules_link_t;

/* How far a side is in telling RTokens that need several messages. */
typedef struct {
    smcr_point_t last; /* message so far; none: it has sent none */
    uint8_t left;      /* RTokens that were left then, those of that message included */
    bool continues;    /* that was a continuation */
} smcr_rules_countdown_t;

/* What the server is changing in the group. */
typedef struct {
    uint64_t adds, deletes; /* its open request, nanoseconds since the epoch; 0: there is none */
    smcr_link_t *on;       /* that carries ADD LINK; NULL: it adds none */
    uint8_t number;        /* of the new link */
    smcr_rules_countdown_t countdown[2]; /* by side: ADD LINK CONTINUATION */
} smcr_rules_change_t;

/* Byte orders of lengths in LLC messages of version 2. */
enum smcr_rules_order { SMCR_RULES_ORDER_LITTLE = 1, SMCR_RULES_ORDER_BIG };

/* Of a link group. Times as above. */
typedef struct smcr_rules_links_lgr {
    smcr_rules_change_t change;
    smcr_exchange_request_t *adding; /* ADD LINK, until the link is confirmed; NULL: none */
    const smcr_link_t *second; /* that the first ADD LINK offers; NULL: there has been none */
    uint64_t second_asked, second_over; /* it came, and its end */
    smcr_rules_countdown_t confirms[2]; /* by side: CONFIRM RKEY and its continuations */
    uint32_t confirm_count[2];          /* by side: CONFIRM RKEY requests */
    uint32_t unknown[2];   /* by side: the last RKey of its DELETE RKEY that nobody has announced */
    bool has_unknown[2];
    uint8_t max_links[2];  /* by side: as its CONFIRM LINK says; 0: it has said none */
    uint8_t order[2];      /* by side: of lengths in LLC, enum smcr_rules_order; 0: not known */
    uint16_t vlan;         /* of the first CLC message that has one; 0: none has */
    bool has_data;         /* somebody has written data */
    bool rmb_is_new;       /* that the CLC message names which is being learned */
} smcr_rules_links_t;

/* Of an exchange that may have run beside another one: since when it is over. */
typedef struct smcr_rules_links_exchange {
    uint64_t over;
} smcr_rules_open_t;

SMCR_RULES_KEPT(link, smcr_link_t, owner->rules)
SMCR_RULES_KEPT(links, smcr_lgr_t, owner->links_rules)

/* ---- checks ---- */

/* What a check is given: its definition begins with SMCR_RULES_LLC(check). */
#define SMCR_RULES_LLC(check) \
    void smcr_rules_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                            G_GNUC_UNUSED const smcr_exchange_message_t *message)
#define SMCR_RULES_LLC_CHECK(when, kind, types, check) SMCR_RULES_LLC(check);
#include "llc_checks.def"

/* ---- links ---- */

/* The maximum of links that both sides have agreed on; UINT_MAX: it is not known. */
unsigned smcr_rules_maximum(const smcr_lgr_t *lgr);

/* A response to CONFIRM LINK has confirmed a link. */
void smcr_rules_count(const smcr_arrival_t *arrival);

/* The client asks for a link, by ADD LINK. */
void smcr_rules_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

/* Asked by smcr_rules_use(): the sender of a WRITE or a CDC message may wait for a response. */
void smcr_rules_waits(const smcr_arrival_t *arrival);

/* ---- RMBs in use (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3) ---- */

/* A connection that is open for sure, and has an element of the RMB; NULL: there is none.
 * Its owner has used it where it has sent a CDC message (smcr_doubt_use()). */
const smcr_conn_t *smcr_rules_rmb_user(const smcr_rmb_t *rmb);

/* The message that arrives gives the RKey of the entry to another RMB. `added`: as in
 * smcr_doubt_later_adding(). */
void smcr_rules_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                       const smcr_link_t *added);

/* The owner of `qp` announces an RMB there, which is learned later. Returns whether it is new. */
bool smcr_rules_new_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                        uint64_t va);
