/* RTokens: told once, for all links; withdrawn when nobody uses them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define RETRY_WAIT (5 * SMCR_TIME_SECOND) /* for a CONFIRM RKEY that was refused */
#define CHANGE_WAIT (2 * SMCR_TIME_SECOND) /* after which Linux gives a change of links up */

static bool
is_negative(const smcr_exchange_message_t *message)
{
    return message->llc->flags & SMCR_LLC_FLAG_NEGATIVE;
}

/* ---- CONFIRM RKEY ---- */

/* Whether all links of the group have a number, but none has, or had, this one. */
static bool
is_no_link(const smcr_lgr_t *lgr, uint8_t number)
{
    const smcr_link_t *link = lgr->all_links;

    while (link && link->has_number && link->number != number)
        link = smcr_link_older(link);
    return !link;
}

SMCR_DOUBT_CLAIM(link_has_come, const smcr_lgr_t *lgr, !is_no_link(lgr, (uint8_t)claim->key))

/* The list names links of the group. 0 is in places that are not used, where the count is wrong.
 * What is doubtful is a notice of the flow. (R-A.3.5-5) */
static void
check_number(const smcr_exchange_message_t *message, uint8_t number)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = link_has_come, .about = lgr, .key = number};

    if (!number || lgr->server == SMCR_LGR_SIDE_UNKNOWN || !is_no_link(lgr, number))
        return;
    smcr_doubt_t doubt = smcr_doubt_later(message->arrival, lgr, lgr->server, claim);
    if (!doubt.kind)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                    "The link group never had a link %u", number);
}

/* The RTokens are new, too. (R-A.3.5-8) */
static void
check_other_links(const smcr_exchange_message_t *message, const smcr_rmb_t *rmb)
{
    smcr_lgr_t *lgr = message->lgr;

    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens[i];
        const smcr_link_t *link = smcr_lgr_link(lgr, rtoken->link);
        const smcr_rmb_rtoken_t *entry =
            link ? smcr_rmb_find(message->arrival->state, &link->qp[message->from->side],
                                 rtoken->rkey) : NULL;
        if (entry && entry->rmb != rmb)
            smcr_rules_in_use(message->arrival, entry, NULL);
        if (!link)
            check_number(message, rtoken->link);
    }
}

SMCR_RULES_LLC(check_further_rtokens)
{
    check_other_links(message, smcr_evidence_continued(arrival, message->lgr));
}

/* A confirmed RKey is new. To tell the same again does no harm. (R-A.3.5-8) */
SMCR_RULES_LLC(check_rkey)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, message->from, confirm->rkey);
    bool is_new = smcr_rules_new_rmb(arrival, message->from, confirm->rkey, confirm->va);
    const smcr_conn_t *conn = is_new ? NULL : smcr_rules_rmb_user(entry->rmb);

    smcr_rules_links(arrival, message->lgr)->confirm_count[message->from->side]++;
    if (conn)
        smcr_breach(arrival, SMCR_EVENT_rkey_again,
                    smcr_doubt_use(arrival, conn, message->from->side, NULL),
                    "The RMB is announced already, and connection %u uses it", conn->index);
    check_other_links(message, entry ? entry->rmb : NULL);
    if (entry && smcr_rules_of_rmb(entry->rmb)->refused_frame)
        smcr_rules_rmb(arrival, entry->rmb)->refused_frame = 0;
}

static bool
is_retried(const smcr_doubt_proof_t *claim)
{
    const smcr_qp_t *owner = claim->about;
    const smcr_lgr_t *lgr = owner->link->lgr;

    return smcr_rules_of_links(lgr)->confirm_count[owner->side] != claim->key || lgr->ended_frame;
}

/* After a negative response with retry flag the owner tells its RTokens anew. Linux declines the
 * connection. (R-3.5.5.3-6) */
static void
check_retry(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const uint32_t *counts = smcr_rules_of_links(message->lgr)->confirm_count;
    smcr_doubt_proof_t claim = {.has_come = is_retried,
                                .about = message->to,
                                .key = counts[message->to->side],
                                .deadline = arrival->when.time + RETRY_WAIT};

    smcr_breach(arrival, SMCR_EVENT_rkey_not_retried,
                smcr_doubt_later(arrival, message->lgr, message->to->side, claim),
                "No CONFIRM RKEY follows within 5 seconds, as Linux does "
                "(smc_llc_do_confirm_rkey())");
}

/* Whether the server's request from that time is still open. */
static bool
is_open_still(const smcr_exchange_message_t *message, uint64_t time)
{
    return time && message->arrival->when.time < time + CHANGE_WAIT;
}

/* The server refuses what comes while it adds or deletes a link. (R-3.5.5.3-5) */
static void
check_change(const smcr_exchange_message_t *message)
{
    const smcr_rules_change_t *change = &smcr_rules_of_links(message->lgr)->change;
    bool adds = is_open_still(message, change->adds);

    if (message->from->side == message->lgr->server &&
        (adds || is_open_still(message, change->deletes)))
        smcr_breach(message->arrival, SMCR_EVENT_rkey_accepted_in_change,
                    smcr_doubt_group(message->arrival, message->lgr),
                    "The server is %s a link, but agrees, as Linux does "
                    "(smc_llc_rmt_conf_rkey())", adds ? "adding" : "deleting");
}

SMCR_RULES_LLC(check_agreement)
{
    const smcr_rmb_rtoken_t *entry =
        smcr_rmb_find(arrival->state, message->to, message->llc->u.confirm_rkey.rkey);

    bool is_kept = entry && entry->rmb->more && entry->rmb->more->rules;

    if (is_kept && !is_negative(message) && !entry->rmb->more->rules->agreed)
        entry->rmb->more->rules->agreed = arrival->when.time;
    if (entry && is_negative(message) && !smcr_rules_rmb_user(entry->rmb)) {
        smcr_rules_rmb_t *kept = smcr_rules_rmb(arrival, entry->rmb);
        kept->refused_frame = arrival->when.frame;
        kept->refused = smcr_point_at(arrival->qp, arrival->psn);
    }
    if (!is_negative(message))
        check_change(message);
    else if (message->llc->flags & SMCR_LLC_FLAG_RETRY)
        check_retry(message);
}

/* ---- DELETE RKEY ---- */

/* DELETE RKEY names RMBs by what they have been announced with, on the link that carries it.
 * (R-3.5.5.2-2, R-3.5.5.2.2-3) */
static void
check_unknown(const smcr_exchange_message_t *message, uint32_t rkey)
{
    const smcr_link_t *other = message->lgr->all_links; /* on which it has an RMB with this RKey */
    smcr_doubt_t doubt = smcr_doubt_rkey(message->arrival, message->from, rkey);

    if (doubt.kind) /* the flow gives a notice */
        return;
    while (other && !smcr_rmb_find(message->arrival->state, &other->qp[message->from->side], rkey))
        other = smcr_link_older(other);
    if (other)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_not_announced, doubt,
                    "RKey 0x%08x names an RMB on link %u, but none on the link that carries the "
                    "message", rkey, other->number);
    else
        smcr_breach(message->arrival, SMCR_EVENT_rkey_not_announced, doubt,
                    "RKey 0x%08x was never announced on this link", rkey);
}

/* Only an RMB that no connection uses is deleted. (R-3.5.5.2.2-1) */
static void
check_deleted(const smcr_exchange_message_t *message, const smcr_rmb_rtoken_t *entry)
{
    const smcr_conn_t *conn = smcr_rules_rmb_user(entry->rmb);

    if (conn)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_deleted_in_use,
                    smcr_doubt_use(message->arrival, conn, message->from->side, NULL),
                    "Connection %u uses the RMB with RKey 0x%08x", conn->index, entry->rkey);
}

SMCR_RULES_LLC(check_withdrawn)
{
    smcr_rules_links_t *memory = smcr_rules_links(arrival, message->lgr);
    int side = message->from->side;

    memory->has_unknown[side] = false;
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        uint32_t rkey = message->llc->rtokens[i].rkey;
        const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, message->from, rkey);
        if (entry) {
            check_deleted(message, entry);
            continue;
        }
        if (!memory->has_unknown[side])
            check_unknown(message, rkey);
        memory->unknown[side] = rkey;
        memory->has_unknown[side] = true;
    }
}

/* An unknown RKey makes the response negative. (R-A.3.7-4) */
SMCR_RULES_LLC(check_withdrawal)
{
    smcr_rules_links_t *memory = smcr_rules_links(arrival, message->lgr);
    int side = message->to->side;

    if (memory->has_unknown[side] && !is_negative(message) &&
        message->lgr->withdrawn[side].count == message->llc->u.delete_rkey.count)
        smcr_breach(arrival, SMCR_EVENT_rkey_unknown_accepted,
                    smcr_doubt_rkey(arrival, message->to, memory->unknown[side]),
                    "RKey 0x%08x was never announced, but the response is positive",
                    memory->unknown[side]);
    memory->has_unknown[side] = false;
}

/* ---- links ---- */

/* That the RMB of a connection has no RToken for a queue pair, by this frame. */
typedef struct {
    const smcr_rmb_t *rmb;
    const smcr_conn_side_t *user;
    const smcr_qp_t *owner;
    uint32_t frame;
} lack_t;

/* Whether the RToken has come by now, or the owner has not shown that it used the connection still:
 * by a message behind that frame, or by one before it and an RMB that stays. */
static bool
may_be_right(const smcr_doubt_proof_t *claim)
{
    const lack_t *lack = claim->about;
    uint32_t shown = lack->user->cdc_frame;

    return smcr_rmb_rtoken(lack->rmb, lack->owner) ||
           !(smcr_rmb_is_alive(lack->rmb) ? shown : shown > lack->frame);
}

/* A connection that began before the link was added, but whose RMB of `side` cannot be reached over
 * it; NULL: there is none. */
static const smcr_conn_t *
find_unreachable(const smcr_link_t *link, int side)
{
    smcr_conn_t *conn = link->lgr->oldest_known ? NULL : smcr_conn_open(&link->lgr->open);

    for (; conn; conn = smcr_conn_open(&conn->next_open)) {
        const smcr_rmb_t *rmb = conn->side[side].rmb;
        if (rmb && MAX(conn->accept_frame, conn->confirm_frame) < link->added_frame &&
            smcr_rmb_is_alive(rmb) && !smcr_rmb_rtoken(rmb, &link->qp[side]) &&
            smcr_doubt_conn_is_open(conn, side))
            break;
    }
    return conn;
}

/* When a link gets active, both sides have told the RTokens of all their RMBs. One that no
 * connection uses may be left out, as Linux does (smc_llc_add_link_cont()). (R-2.2-2,
 * R-3.5.5.2.3-3) */
SMCR_RULES_LLC(check_reachable)
{
    smcr_link_t *link = message->link;

    for (int side = 0; side < 2 && link->state == SMCR_LINK_ANNOUNCED; side++) {
        const smcr_conn_t *conn = find_unreachable(link, side);
        if (!conn)
            continue;
        lack_t *lack = smcr_state_alloc0(arrival->state, sizeof *lack);
        *lack = (lack_t){conn->side[side].rmb, &conn->side[side], &link->qp[side],
                         arrival->when.frame};
        smcr_doubt_proof_t claim = {.has_come = may_be_right, .about = lack};
        smcr_breach(arrival, SMCR_EVENT_rkey_not_on_link,
                    smcr_doubt_later_adding(arrival, message->lgr, link, claim),
                    "The %s has told no RToken on link %u for its RMB of connection %u",
                    side == message->lgr->server ? "server" : "client", link->number, conn->index);
    }
}

/* Whether the message gives this RKey to two RMBs. */
static bool
is_given_twice(const smcr_llc_t *llc, unsigned at)
{
    const smcr_rtoken_t *rtokens = llc->rtokens;
    unsigned i = 0;

    while (i < at && (rtokens[i].rkey != rtokens[at].rkey ||
                      rtokens[i].ref_rkey == rtokens[at].ref_rkey))
        i++;
    return i < at;
}

/* Each RKey on a new link names one RMB. (R-A.3.3-6) */
SMCR_RULES_LLC(check_new_rtokens)
{
    const smcr_state_t *state = arrival->state;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->u.add_link_cont.link);

    for (unsigned i = 0; link && i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens[i];
        const smcr_rmb_rtoken_t *known = smcr_rmb_find(state, message->from, rtoken->ref_rkey);
        const smcr_rmb_rtoken_t *entry =
            smcr_rmb_find(state, &link->qp[message->from->side], rtoken->rkey);
        if (is_given_twice(message->llc, i))
            smcr_breach(arrival, SMCR_EVENT_rkey_in_use, smcr_doubt_message(arrival),
                        "The message gives RKey 0x%08x to two RMBs", rtoken->rkey);
        else if (known && entry && entry->rmb != known->rmb)
            smcr_rules_in_use(arrival, entry, link->state == SMCR_LINK_ANNOUNCED ? link : NULL);
    }
}
