/* The checks of LLC messages, the functions that the files of this room share, and the rules'
 * memory of links, link groups and RMBs. A rule allocates a struct when it has something to
 * remember. The struct lives as long as the capture file.
 *
 * Times are nanoseconds since the epoch; 0: not yet. An array of two is indexed by side of the link
 * group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "links.h"
#include "state/rules/memory.h"
#include "wire/wire.h"

/* ---- memory ---- */

/* Faults in ADD LINK or CONFIRM LINK for which the receiver of the message must refuse the link. */
typedef enum {
    SMCR_RULES_FAULT_PARALLEL = 1, /* the link joins the same two devices as another link */
    SMCR_RULES_FAULT_MISMATCH = 2, /* CONFIRM LINK differs from what was announced for the link */
} smcr_rules_fault_t;

/* What the host of a queue pair has announced about the queue pair. */
typedef struct {
    uint32_t user_id; /* link user ID in the owner's CONFIRM LINK; 0: not known */
    bool has_mac;     /* `mac` is known */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of the device; set with `has_mac` */
} smcr_rules_qp_t;

/* What the rules remember of a link. */
typedef struct smcr_rules_links_link {
    uint64_t confirmed_time; /* time of the response to the link's CONFIRM LINK, nanoseconds since
                                the epoch; 0: none so far */
    uint64_t delete_asked_time; /* time at which the client last asked to delete this link,
                                   nanoseconds since the epoch; 0: it has not */
    /* The message after which no side may use the link: the response to DELETE LINK, DELETE LINK
     * for all links, or a response that rejects the link. Zeros: no such message has come. */
    smcr_link_sent_message_t end_of_use;
    /* Request over the link that waits longest for its response, by requester; NULL: none. While it
     * waits, later requests are not noted. Its response may have come by now. Only requests whose
     * missing response shows that the link has failed (proves_failure()). */
    const smcr_exchange_request_t *unanswered[2];
    smcr_rules_qp_t qp[2]; /* queue pairs of the link */
    uint8_t faults;        /* faults in the messages about the link, bits of smcr_rules_fault_t; 0:
                              none */
    bool has_rtokens;      /* CONFIRM RKEY or its continuation has named the link in an RToken, so
                              the link is in use */
    bool was_active;       /* the link was active when the server deleted it; false as long as the
                              link is not deleted */
} smcr_rules_link_t;

/* The progress of a list of RTokens that a side announces in several LLC messages. */
typedef struct {
    /* point of the last message that has a part of the list, in the flow to its receiver; no queue
     * pair: no such message has come, or the list begins anew */
    smcr_point_t last_message;
    uint8_t rtokens_left; /* number of RTokens in the list's last message and in the messages after
                             it, as the last message reports. In ADD LINK CONTINUATION the expected
                             number, if the reported one is higher */
    bool is_continuation; /* the list's last message is a continuation */
} smcr_rules_countdown_t;

/* The changes of a link group that the server has begun. */
typedef struct {
    uint64_t add_time; /* time of the server's ADD LINK request, until the new link is rejected, or
                          CONFIRM LINK on it is answered; 0: the server adds no link */
    uint64_t delete_time; /* time of the server's open DELETE LINK request; 0: none is open */
    smcr_link_t *carrier; /* link that carries the server's ADD LINK; NULL: the server adds no
                             link */
    uint8_t new_number; /* number of the new link; set with `carrier` */
    smcr_rules_countdown_t countdown[2]; /* lists of RTokens in ADD LINK CONTINUATION */
} smcr_rules_change_t;

/* Byte orders of lengths in LLC messages of version 2. */
enum smcr_rules_order { SMCR_RULES_ORDER_LITTLE = 1, SMCR_RULES_ORDER_BIG };

/* What the rules of links remember of a link group. */
typedef struct smcr_rules_links_lgr {
    smcr_rules_change_t change;        /* changes of the group that the server has begun */
    smcr_exchange_request_t *adding;   /* last ADD LINK request of the server, if its new link is
                                          neither confirmed nor rejected yet, and the server has not
                                          deleted it; NULL: none */
    const smcr_link_t *second_link;    /* link of the server's first offer by ADD LINK whose link is
                                          known; NULL: the capture has no such offer */
    uint64_t second_offered_time;      /* time of the offer of `second_link`, or, if this link is
                                          not known, of the last offer, nanoseconds since the epoch;
                                          0: no offer */
    uint64_t second_over_time;         /* time at which the second link was confirmed or had failed,
                                          or at which a response to ADD LINK came whose offer is not
                                          captured, nanoseconds since the epoch; 0: not yet */
    smcr_rules_countdown_t confirms[2]; /* lists of RTokens in CONFIRM RKEY and its continuations */
    uint32_t confirm_count[2]; /* number of CONFIRM RKEY requests of each side */
    uint32_t unknown_rkey[2]; /* the last RKey, in the side's last DELETE RKEY request, that was
                                 never announced; set with `has_unknown_rkey` */
    bool has_unknown_rkey[2]; /* the side's last DELETE RKEY request has an RKey that was never
                                 announced, and no response to it has come */
    uint8_t max_links[2];   /* by side: maximum number of links in the group, as the side's first
                               CONFIRM LINK with a valid maximum has it; 0: not known */
    uint8_t order[2];       /* byte order of lengths in LLC messages of the side, enum
                               smcr_rules_order; 0: not known */
    uint16_t vlan;          /* VLAN of the first Accept or Confirm with a tag; 0: none has one */
    bool has_data;          /* a link of the group has carried an RDMA WRITE */
    bool rmb_is_new;        /* the CLC message that is being learned names a new RMB */
    bool rkey_is_new;       /* the RKey in this message named no RMB before; see `rmb_is_new` */
} smcr_rules_links_t;

/* What the rules remember of an exchange, if it may have overlapped another exchange. */
typedef struct smcr_rules_links_exchange {
    uint64_t over_time; /* time at which the exchange was over, nanoseconds since the epoch; 0: it
                           is not over, or the time is not certain */
} smcr_rules_open_t;

SMCR_RULES_KEPT(link, smcr_link_t, owner->rules)
SMCR_RULES_KEPT(links, smcr_lgr_t, owner->links_memory)

/* ---- checks ---- */

/* Declares a check of LLC messages. Its definition begins with SMCR_RULES_LLC(check). `message` has
 * the LLC message, its link, group, sender (`from`) and receiver (`to`). */
#define SMCR_RULES_LLC(check) \
    void smcr_rules_##check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                            G_GNUC_UNUSED const smcr_exchange_message_t *message)
#define SMCR_RULES_LLC_CHECK(when, kind, types, check) SMCR_RULES_LLC(check);
#include "llc_checks.def"

/* ---- links ---- */

/* Returns the maximum number of links on which both sides have agreed in CONFIRM LINK (RFC 7609
 * 2.2.2): the smaller one of the two maxima; the server's if the client's is not known. UINT_MAX:
 * the server's maximum is not known. */
unsigned smcr_rules_max_links(const smcr_lgr_t *lgr);

/* Checks the limits of links (2.2.1, 2.2.2). Called when a response to CONFIRM LINK has just
 * confirmed the link of the packet. */
void smcr_rules_check_link_limits(const smcr_arrival_t *arrival);

/* Checks the maximum number of links in the group when the client asks for a link by an ADD LINK
 * message. `wish`: content of this message. */
void smcr_rules_check_link_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

/* Checks whether the sender of an RDMA WRITE or CDC message still waits for a response after the
 * time limit (4.5.3, C.7). smcr_rules_check_link_use() calls this function. */
void smcr_rules_check_overdue_response(const smcr_arrival_t *arrival);

/* ---- RMBs in use (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3) ---- */

/* Finds a connection that has an element of the RMB, and is open as far as the capture shows
 * (smcr_doubt_conn_is_open()); NULL: there is none, or the RMB is not alive. A rule that reports a
 * breach also needs proof: a CDC message of the RMB's owner on the connection
 * (smcr_doubt_use()). */
const smcr_conn_t *smcr_rules_find_rmb_user(const smcr_rmb_t *rmb);

/* Checks whether the message of `arrival` gives an RKey to another RMB, though the RKey is in use.
 * `entry`: the RToken that the RKey names so far. `added`: a link that is being added and has no
 * traffic yet; NULL: none. */
void smcr_rules_check_rkey_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                                  const smcr_link_t *added);

/* Checks the announcement of an RMB by the owner of the queue pair `qp`, before state/flow learns
 * the announcement. `rkey` and `va` are in the host's byte order. Returns whether the RMB is new on
 * this link, or counts as new, since its address has changed or the RMB was refused before. */
bool smcr_rules_check_new_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                              uint64_t va);
