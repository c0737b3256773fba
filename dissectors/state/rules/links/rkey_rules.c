/* Rules for RTokens: they are announced once, for all links, and withdrawn when no connection uses
 * them (RFC 7609 3.5.5.2, 3.5.5.3, A.3.3, A.3.5, A.3.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define RETRY_WAIT (5 * SMCR_TIME_SECOND)  /* time within which CONFIRM RKEY must follow a negative
                                              response */
#define CHANGE_WAIT (2 * SMCR_TIME_SECOND) /* time after which Linux gives up a change of links */

/* Whether the response to CONFIRM RKEY or DELETE RKEY is negative. */
static bool
is_negative(const smcr_exchange_message_t *message)
{
    return message->llc->flags & SMCR_LLC_FLAG_NEGATIVE;
}

/* ---- CONFIRM RKEY ---- */

/* Whether the group has never had a link with this number. False if the number of some link of the
 * group is not known. */
static bool
is_unknown_number(const smcr_lgr_t *lgr, uint8_t number)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && link->has_number && link->number != number)
        link = smcr_link_older(link);
    return !link;
}

/* True if the report of check_listed_number() has to be withdrawn later: a link with this number
 * has come. */
SMCR_DOUBT_CLAIM(link_has_come, const smcr_lgr_t *lgr, !is_unknown_number(lgr, (uint8_t)claim->key))

/* The list of CONFIRM RKEY names links of the group (R-A.3.5-5). A message breaks the rule if it
 * has a number that no link of the group ever had. The number 0 is ignored: if the count of the
 * list is wrong, unused entries contain 0. If the ADD LINK of the link may be missing in the
 * capture, this check reports nothing: the room state/flow adds an event of severity NOTE. */
static void
check_listed_number(const smcr_exchange_message_t *message, uint8_t number)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = link_has_come, .about = lgr, .key = number};

    if (!number || lgr->server == SMCR_LGR_SIDE_UNKNOWN || !is_unknown_number(lgr, number))
        return;
    smcr_doubt_t doubt = smcr_doubt_later(message->arrival, lgr, lgr->server, claim);
    if (!doubt.kind)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                                  "The link group never had a link %u", number);
}

/* The RToken of `rkey` on `link`, if the RKey belongs to the side of the message's sender; NULL:
 * none. */
static const smcr_rmb_rtoken_t *
find_named(const smcr_exchange_message_t *message, const smcr_link_t *link, uint32_t rkey)
{
    if (!link)
        return NULL;
    return smcr_rmb_find(message->arrival->state, &link->qp[message->from->side], rkey);
}

/* CONFIRM RKEY has an RKey for each other link of the group. These RKeys must not be in use
 * (R-A.3.5-8). The message breaks the rule if such an RKey names another RMB, which is in use. Also
 * checks the number of each listed link (check_listed_number()). `rmb`: the RMB that the message
 * announces; NULL: not known. */
static void
check_other_links(const smcr_exchange_message_t *message, const smcr_rmb_t *rmb)
{
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens_in_message[i];
        const smcr_link_t *link = smcr_lgr_link(message->lgr, rtoken->link);
        const smcr_rmb_rtoken_t *entry = find_named(message, link, rtoken->rkey);
        if (entry && entry->rmb != rmb)
            smcr_rules_check_rkey_in_use(message->arrival, entry, NULL);
        if (!link)
            check_listed_number(message, rtoken->link);
    }
}

/* The rule of check_other_links(), for CONFIRM RKEY CONTINUATION. */
SMCR_RULES_LLC(check_further_rtokens)
{
    check_other_links(message, smcr_evidence_continued(arrival, message->lgr));
}

/* The RKey of CONFIRM RKEY must not be in use (R-A.3.5-8). A message breaks the rule if its RKey
 * names an RMB that an open connection uses. If the message has the same address, it only announces
 * this RMB once more, which is a harmless breach. An RMB that the peer has refused may be announced
 * once more: then its refusal is forgotten. This function also counts the request
 * (`confirm_count`). */
SMCR_RULES_LLC(check_rkey)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, message->from, confirm->rkey);
    bool is_new = smcr_rules_check_new_rmb(arrival, message->from, confirm->rkey, confirm->va);
    const smcr_conn_t *conn = is_new ? NULL : smcr_rules_find_rmb_user(entry->rmb);

    smcr_rules_links(arrival, message->lgr)->confirm_count[message->from->side]++;
    if (conn)
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_again,
                                  smcr_doubt_use(arrival, conn, message->from->side, NULL),
                                  "The RMB is already announced, and connection %u uses it",
                                  conn->index);
    check_other_links(message, entry ? entry->rmb : NULL);
    if (entry && smcr_rules_of_rmb(entry->rmb)->refused_frame)
        smcr_rules_rmb(arrival, entry->rmb)->refused_frame = 0;
}

/* True if the report of check_retry() has to be withdrawn later: the owner has sent another CONFIRM
 * RKEY, or the group has ended. */
static bool
is_retried(const smcr_doubt_proof_t *claim)
{
    const smcr_qp_t *owner = claim->about;
    const smcr_lgr_t *lgr = owner->link->lgr;

    return smcr_rules_of_links(lgr)->confirm_count[owner->side] != claim->key || lgr->ended_frame;
}

/* After a negative response with the retry flag, the owner sends its RTokens once more
 * (R-3.5.5.3-6). The rule is broken if no CONFIRM RKEY of the owner follows within RETRY_WAIT.
 * Linux declines the connection instead, which is harmless. */
static void
check_retry(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const uint32_t *counts = smcr_rules_of_links(message->lgr)->confirm_count;
    smcr_doubt_proof_t claim = {.has_come = is_retried,
                                .about = message->to,
                                .key = counts[message->to->side],
                                .deadline = arrival->when.time + RETRY_WAIT};

    smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_not_retried,
                              smcr_doubt_later(arrival, message->lgr, message->to->side, claim),
                              "No CONFIRM RKEY follows within 5 seconds, as Linux does "
                              "(smc_llc_do_confirm_rkey())");
}

/* Whether the server's request may still be open when the message comes: less than CHANGE_WAIT has
 * passed since the server sent it. `time`: when the server sent the request, nanoseconds since the
 * epoch; 0: it has sent none, so the result is false. */
static bool
is_open_still(const smcr_exchange_message_t *message, uint64_t time)
{
    return time && message->arrival->when.time < time + CHANGE_WAIT;
}

/* The server refuses CONFIRM RKEY while it adds or deletes a link (R-3.5.5.3-5). A positive
 * response of the server breaks the rule if the server's own ADD LINK or DELETE LINK exchange is
 * open, and began less than CHANGE_WAIT ago. The breach is harmless: Linux never refuses for this
 * reason. */
static void
check_change(const smcr_exchange_message_t *message)
{
    const smcr_rules_change_t *change = &smcr_rules_of_links(message->lgr)->change;
    bool adds = is_open_still(message, change->add_time);

    if (message->from->side == message->lgr->server &&
        (adds || is_open_still(message, change->delete_time)))
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_accepted_in_change,
                                  smcr_doubt_group(message->arrival, message->lgr),
                                  "The server is %s a link, but confirms, as Linux does "
                                  "(smc_llc_rmt_conf_rkey())", adds ? "adding" : "deleting");
}

/* Remembers the time of the first positive response to CONFIRM RKEY, if a CLC message has named the
 * RMB before the response (rmb_rules.c), or the peer has refused the RMB before. */
static void
note_agreed(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry)
{
    smcr_rules_rmb_t *kept = entry && entry->rmb->more ? entry->rmb->more->rules : NULL;

    if (kept && !kept->agreed_time)
        kept->agreed_time = arrival->when.time;
}

/* Remembers that the RMB was refused by a negative response to CONFIRM RKEY. No side writes to a
 * refused RMB (write_rules.c). If an open connection uses the RMB, nothing is remembered. */
static void
note_refused(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry)
{
    if (!entry || smcr_rules_find_rmb_user(entry->rmb))
        return;
    smcr_rules_rmb_t *kept = smcr_rules_rmb(arrival, entry->rmb);
    kept->refused_frame = arrival->when.frame;
    kept->refused_point = smcr_point_at(arrival->qp, arrival->psn);
}

/* The rules of check_retry() and check_change(), for the response to CONFIRM RKEY. Also remembers
 * the response (note_refused(), note_agreed()). */
SMCR_RULES_LLC(check_agreement)
{
    const smcr_rmb_rtoken_t *entry =
        smcr_rmb_find(arrival->state, message->to, message->llc->u.confirm_rkey.rkey);

    if (is_negative(message)) {
        note_refused(arrival, entry);
        if (message->llc->flags & SMCR_LLC_FLAG_RETRY)
            check_retry(message);
    } else {
        note_agreed(arrival, entry);
        check_change(message);
    }
}

/* ---- DELETE RKEY ---- */

/* DELETE RKEY names each RMB by its RKey on the link that carries the message (R-3.5.5.2-2,
 * R-3.5.5.2.2-3). A message breaks the rule if one of its RKeys was not announced for this link,
 * even if the RKey was announced for another link. If the announcement may be missing in the
 * capture, this check reports nothing: the room state/flow adds an event of severity NOTE. */
static void
check_unknown(const smcr_exchange_message_t *message, uint32_t rkey)
{
    const smcr_link_t *other = message->lgr->newest_link; /* link of the group on which the RKey
                                                             names an RMB */
    smcr_doubt_t doubt = smcr_doubt_rkey(message->arrival, message->from, rkey);

    if (doubt.kind) /* state/flow reports the unknown RKey by an event of severity NOTE */
        return;
    while (other && !smcr_rmb_find(message->arrival->state, &other->qp[message->from->side], rkey))
        other = smcr_link_older(other);
    if (other)
        smcr_breach_report_unless(
            message->arrival, SMCR_EVENT_rkey_not_announced, doubt,
            "RKey 0x%08x is of an RMB on link %u, but of none on the link that carries the "
            "message", rkey, other->number);
    else
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_not_announced, doubt,
                                  "RKey 0x%08x was never announced on this link", rkey);
}

/* An owner deletes an RMB only when no connection uses it (R-3.5.5.2.2-1). DELETE RKEY breaks the
 * rule if it has the RKey of an RMB that an open connection uses. The owner proves the use by its
 * CDC messages. */
static void
check_deleted_unused(const smcr_exchange_message_t *message, const smcr_rmb_rtoken_t *entry)
{
    const smcr_conn_t *conn = smcr_rules_find_rmb_user(entry->rmb);

    if (conn)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_deleted_in_use,
                                  smcr_doubt_use(message->arrival, conn, message->from->side, NULL),
                                  "Connection %u uses the RMB with RKey 0x%08x", conn->index,
                                  entry->rkey);
}

/* The rules of check_deleted_unused() and check_unknown(), for each RKey of DELETE RKEY. If several
 * RKeys are unknown, the first one is reported, and the last one is remembered for the check of the
 * response. */
SMCR_RULES_LLC(check_withdrawn)
{
    smcr_rules_links_t *memory = smcr_rules_links(arrival, message->lgr);
    int side = message->from->side;

    memory->has_unknown_rkey[side] = false;
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        uint32_t rkey = message->llc->rtokens_in_message[i].rkey;
        const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, message->from, rkey);
        if (entry) {
            check_deleted_unused(message, entry);
            continue;
        }
        if (!memory->has_unknown_rkey[side])
            check_unknown(message, rkey);
        memory->unknown_rkey[side] = rkey;
        memory->has_unknown_rkey[side] = true;
    }
}

/* The response to DELETE RKEY is negative if the request has an unknown RKey (R-A.3.7-4). A
 * positive response breaks the rule if the request has an RKey that was never announced. Request
 * and response belong together if both have the same number of RKeys. */
SMCR_RULES_LLC(check_withdrawal)
{
    smcr_rules_links_t *memory = smcr_rules_links(arrival, message->lgr);
    int side = message->to->side;
    bool is_answer =
        message->lgr->withdrawn[side].count == message->llc->u.delete_rkey.count;

    if (memory->has_unknown_rkey[side] && !is_negative(message) && is_answer)
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_unknown_accepted,
                                  smcr_doubt_rkey(arrival, message->to, memory->unknown_rkey[side]),
                                  "RKey 0x%08x was never announced, but the response is positive",
                                  memory->unknown_rkey[side]);
    memory->has_unknown_rkey[side] = false;
}

/* ---- RTokens for a new link ---- */

/* The subject of a claim: the RMB of a connection has no RToken for a new link. */
typedef struct {
    const smcr_rmb_t *rmb;        /* the RMB */
    const smcr_conn_side_t *user; /* the connection's side of the RMB's owner */
    const smcr_qp_t *owner;       /* the owner's queue pair of the new link */
    uint32_t frame;               /* frame of the message that makes the link active */
} missing_rtoken_t;

/* Whether the RMB's owner has proven by a CDC message that it uses the connection. If the RMB is
 * not in use any more, only a message after the frame of the claim counts. */
static bool
has_shown_use(const missing_rtoken_t *missing)
{
    uint32_t shown = missing->user->last_cdc_frame;

    return smcr_rmb_is_alive(missing->rmb) ? shown != 0 : shown > missing->frame;
}

/* True if the report of check_reachable() has to be withdrawn later: the RToken has come, or may be
 * in a message whose end is not captured, or the owner has not proven that it uses the RMB. */
static bool
is_rtoken_unneeded(const smcr_doubt_proof_t *claim)
{
    const missing_rtoken_t *missing = claim->about;

    return smcr_rmb_rtoken(missing->rmb, missing->owner) || missing->rmb->lgr->lacks_rtokens ||
           !has_shown_use(missing);
}

/* Whether the RMB of `side` of the connection cannot be reached over the link: it is in use, and
 * has no RToken for the link. */
static bool
lacks_rtoken(const smcr_conn_t *conn, int side, const smcr_link_t *link)
{
    const smcr_rmb_t *rmb = conn->side[side].rmb;

    return rmb && smcr_rmb_is_alive(rmb) && !smcr_rmb_rtoken(rmb, &link->qp[side]);
}

/* An open connection that began before the link was added, and whose RMB of `side` has no RToken
 * for the link; NULL: there is none, or links of the group are forgotten. */
static const smcr_conn_t *
find_unreachable(const smcr_link_t *link, int side)
{
    smcr_conn_t *conn =
        link->lgr->oldest_kept_link ? NULL : smcr_conn_first_open(&link->lgr->newest_open_conn);

    for (; conn; conn = smcr_conn_first_open(&conn->older_open)) {
        bool is_older = MAX(conn->accept_frame, conn->confirm_frame) < link->added_frame;
        if (is_older && lacks_rtoken(conn, side, link) && smcr_doubt_conn_is_open(conn, side))
            break;
    }
    return conn;
}

/* When a link becomes active, both sides have announced the RTokens of all their RMBs for it
 * (R-2.2-2, R-3.5.5.2.3-3). The response to CONFIRM LINK breaks the rule if an older connection has
 * an RMB without an RToken for this link. Linux leaves out RMBs that no connection uses
 * (smc_llc_add_link_cont()). So the breach counts only if a CDC message of the owner proves that
 * the RMB is in use. */
SMCR_RULES_LLC(check_reachable)
{
    smcr_link_t *link = message->link;

    for (int side = 0; side < 2 && link->state == SMCR_LINK_ANNOUNCED; side++) {
        const smcr_conn_t *conn = find_unreachable(link, side);
        if (!conn)
            continue;
        missing_rtoken_t *missing = smcr_state_alloc0(arrival->state, sizeof *missing);
        *missing = (missing_rtoken_t){.rmb = conn->side[side].rmb,
                                      .user = &conn->side[side],
                                      .owner = &link->qp[side],
                                      .frame = arrival->when.frame};
        smcr_doubt_proof_t claim = {.has_come = is_rtoken_unneeded, .about = missing};
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_rkey_not_on_link,
            smcr_doubt_later_adding(arrival, message->lgr, link, claim),
            "The %s has announced no RToken on link %u for its RMB of connection %u",
            side == message->lgr->server ? "server" : "client", link->number, conn->index);
    }
}

/* Whether the message gives one RKey to two RMBs: RToken number `at` has the RKey of an earlier
 * RToken of the message, which is for another RMB. */
static bool
is_given_twice(const smcr_llc_t *llc, unsigned at)
{
    const smcr_rtoken_t *rtokens = llc->rtokens_in_message;
    unsigned i = 0;

    while (i < at && (rtokens[i].rkey != rtokens[at].rkey ||
                      rtokens[i].ref_rkey == rtokens[at].ref_rkey))
        i++;
    return i < at;
}

/* Each RKey on a new link names one RMB (R-A.3.3-6). An ADD LINK CONTINUATION breaks the rule if it
 * gives the same RKey to two RMBs, or the RKey of an RMB in use to another RMB. Each entry of the
 * message names its RMB by the RKey on the link that carries the message. */
SMCR_RULES_LLC(check_new_rtokens)
{
    const smcr_state_t *state = arrival->state;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->u.add_link_cont.link);

    for (unsigned i = 0; link && i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens_in_message[i];
        const smcr_rmb_rtoken_t *known = smcr_rmb_find(state, message->from, rtoken->ref_rkey);
        const smcr_rmb_rtoken_t *entry = find_named(message, link, rtoken->rkey);
        bool names_other = known && entry && entry->rmb != known->rmb;
        if (is_given_twice(message->llc, i))
            smcr_breach_report(arrival, SMCR_EVENT_rkey_in_use,
                               "The message gives RKey 0x%08x to two RMBs", rtoken->rkey);
        else if (names_other)
            smcr_rules_check_rkey_in_use(arrival, entry,
                                         link->state == SMCR_LINK_ANNOUNCED ? link : NULL);
    }
}
