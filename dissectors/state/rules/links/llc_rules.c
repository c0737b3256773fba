/* What LLC messages may say: links of a group, keys of RMBs on all of them; on which link a list of
 * RTokens goes on, for which link, and how many are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define NUMBERS 256 /* of links: one byte */
#define ADD_ROOM 2U /* RTokens of one continuation of ADD LINK; */
#define CONFIRM_ROOM 3U /* and of CONFIRM RKEY */
#define GONE_WAIT UINT64_C(2000000000) /* ns within which Linux tells of a link that is gone */

/* ---- who may send it ---- */

/* The server begins CONFIRM LINK, and offers links; a client that wants one names no queue pair, or
 * asks by REQUEST ADD LINK, as no server does. (R-3.5.1.5-1, R-A.3.2-3,
 * R-A.3.3-1, R-V2LLC-11) */
SMCR_RULES_LLC(check_sender)
{
    bool by_client = message->lgr->server == message->to->side;
    const char *wrong = NULL;

    if (message->response && !message->llc->lacks_flag)
        return;
    if (by_client && message->type == SMCR_LLC_ADD_LINK_CONT)
        wrong = "Only the server begins ADD LINK CONTINUATION";
    else if (by_client && message->type == SMCR_LLC_CONFIRM_LINK)
        wrong = "Only the server begins CONFIRM LINK";
    else if (by_client && message->type == SMCR_LLC_ADD_LINK && message->llc->u.add_link.qpn != 0)
        wrong = "Only the server may offer a link";
    else if (!by_client && message->type == SMCR_LLC_REQ_ADD_LINK)
        wrong = "Only the client asks for a link";
    if (wrong && message->lgr->from_start)
        smcr_breach(arrival, SMCR_EVENT_llc_wrong_sender, smcr_doubt_message(arrival), "%s", wrong);
}

/* The server answers a client's DELETE LINK by one of its own. Its response says but one thing:
 * that there is no such link. (R-3.5.5.1.4-3) */
SMCR_RULES_LLC(check_deleter)
{
    if (message->lgr->from_start && message->by_server &&
        message->llc->u.delete_link.reason < SMCR_LLC_DELETE_UNKNOWN_LINK)
        smcr_breach(arrival, SMCR_EVENT_llc_wrong_sender, smcr_doubt_message(arrival),
                    "Only the client responds to DELETE LINK");
}

/* ---- what both sides have agreed on ---- */

/* A group has the LLC messages of its version. (R-V2LLC-3) */
SMCR_RULES_LLC(check_version)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool v2 = (message->llc->type & SMCR_LLC_TYPE_V2) != 0;
    bool known = lgr->from_start && lgr->version && !message->link->deleted_frame;

    if (known && v2 != (lgr->version == 2)) /* else the queue pairs may be another group's */
        smcr_breach(arrival, SMCR_EVENT_llc_wrong_version, smcr_doubt_message(arrival),
                    "The message is of version %u, but the link group of version %u", v2 ? 2 : 1,
                    lgr->version);
}

/* A host has one byte order. (R-V2LLC-2) */
SMCR_RULES_LLC(check_order)
{
    uint8_t now = message->llc->little_endian ? SMCR_RULES_ORDER_LITTLE
                  : message->llc->big_endian  ? SMCR_RULES_ORDER_BIG
                                              : 0;

    if (!now)
        return;
    uint8_t *before = &smcr_rules_links(arrival, message->lgr)->order[message->side];
    if (*before && now != *before)
        smcr_breach(arrival, SMCR_EVENT_llc_byte_order, smcr_doubt_message(arrival),
                    "The length is %s-endian, unlike that of the sender's messages before",
                    now == SMCR_RULES_ORDER_LITTLE ? "little" : "big");
    *before = now;
}

/* CONFIRM LINK repeats what CLC agreed on; a response may leave links to the server (R-V2LLC-10) */
SMCR_RULES_LLC(check_limits)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    const smcr_rules_terms_t *terms = &smcr_rules_of_lgr(message->lgr)->terms;
    bool leaves = message->response && confirm->max_links == 0;

    if (message->llc->type != SMCR_LLC_CONFIRM_LINK_V2 || !message->lgr->from_start ||
        !terms->release ||
        (confirm->max_conns == terms->max_conns &&
         (leaves || confirm->max_links == terms->max_links)))
        return;
    smcr_breach(arrival, SMCR_EVENT_clc_not_negotiated, smcr_doubt_message(arrival),
                "The message has most connections %u and links %u, but CLC agreed on %u and %u",
                confirm->max_conns, confirm->max_links, terms->max_conns, terms->max_links);
}

/* When were the messages sent that begin the first link and offer the second, and acknowledged? */
SMCR_RULES_LLC(note_set_up)
{
    smcr_lgr_t *lgr = message->lgr;
    bool confirms = message->type == SMCR_LLC_CONFIRM_LINK && message->response;
    bool wish = !message->response && lgr->server == message->to->side; /* it binds nobody */
    bool offers = message->type == SMCR_LLC_ADD_LINK && !wish &&
                  smcr_rules_of_lgr(lgr)->set_up[SMCR_RULES_SET_UP_CONFIRMED].sent;
    unsigned step = confirms            ? SMCR_RULES_SET_UP_CONFIRMED
                    : message->response ? SMCR_RULES_SET_UP_ANSWERED
                                        : SMCR_RULES_SET_UP_OFFERED;

    if (lgr->from_start && (confirms || offers) && !smcr_rules_of_lgr(lgr)->set_up[step].sent)
        smcr_arrival_track(arrival, &smcr_rules_lgr(arrival, lgr)->set_up[step]);
}

/* ---- keys ---- */

/* Marks the links that the message names. Returns one that it names twice; -1: none. */
static int
mark_links(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool named[NUMBERS])
{
    const smcr_link_t *link = arrival->qp->link;
    int twice = -1;

    if (link->has_number)
        named[link->number] = true;
    for (unsigned i = 0; i < llc->rtoken_count; i++) {
        if (named[llc->rtokens[i].link])
            twice = llc->rtokens[i].link;
        named[llc->rtokens[i].link] = true;
    }
    return twice;
}

/* The one active link that is not named; NULL: none. One that was called lost may be left out. */
static const smcr_link_t *
find_missing(const smcr_lgr_t *lgr, const bool named[NUMBERS])
{
    const smcr_link_t *link = lgr->all_links;

    while (link && (link->state != SMCR_LINK_ACTIVE || !link->has_number || link->lost ||
                    named[link->number]))
        link = smcr_link_older(link);
    return link;
}

static bool
is_told(uint64_t time, const smcr_doubt_proof_t *claim)
{
    return time && time <= claim->deadline;
}

/* Whether the link goes at about that time: its end knows that first (smcr_link_down_cond()). */
static bool
is_going(const smcr_doubt_proof_t *claim)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(claim->about);

    return is_told(memory->unwanted, claim) || is_told(memory->gone.sent, claim);
}

/* CONFIRM RKEY announces an RMB for all links of the group, each once, but for the one that carries
 * it. A side may be about to have the missing one deleted, so what comes next counts. What is left
 * for continuations is not judged. (R-3.5.5.2-1, R-A.3.5-6) */
SMCR_RULES_LLC(check_all_links)
{
    const smcr_llc_t *llc = message->llc;
    smcr_lgr_t *lgr = message->lgr;
    bool named[NUMBERS] = {false};

    int twice = mark_links(arrival, llc, named);
    if (twice >= 0)
        smcr_breach(arrival, SMCR_EVENT_rkey_link_twice, smcr_doubt_message(arrival),
                    "The message has two RKeys for link %d", twice);
    const smcr_link_t *missing = find_missing(lgr, named);
    if (!missing || lgr->server == SMCR_LGR_SIDE_UNKNOWN ||
        llc->u.confirm_rkey.other_links != llc->rtoken_count)
        return;
    smcr_doubt_proof_t claim = {
        .has_come = is_going, .about = missing, .deadline = arrival->when.time + GONE_WAIT};
    smcr_breach(arrival, SMCR_EVENT_rkey_link_missing,
                smcr_doubt_later_of_both(arrival, lgr, NULL, claim),
                "The message has no RToken for link %u", missing->number);
}

/* ---- lists that go on in continuations ---- */

/* The message is the last one of its sender's list so far. */
static smcr_rules_countdown_t
now(const smcr_exchange_message_t *message, unsigned left, bool continues)
{
    smcr_point_t at = smcr_point_at(message->arrival->qp, message->arrival->psn);

    return (smcr_rules_countdown_t){at, (uint8_t)left, continues};
}

/* ---- what the server changes ---- */

static smcr_rules_change_t *
change_of(const smcr_exchange_message_t *message)
{
    return &smcr_rules_links(message->arrival, message->lgr)->change;
}

SMCR_RULES_LLC(note_adding)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    smcr_rules_change_t *change = change_of(message);

    if (!message->response && message->by_server && add->qpn)
        *change = (smcr_rules_change_t){.adds = arrival->when.time,
                                        .deletes = change->deletes,
                                        .on = message->link, .number = add->link};
    else if (message->response && message->llc->flags & SMCR_LLC_FLAG_REJECTED &&
             add->link == change->number)
        *change = (smcr_rules_change_t){.deletes = change->deletes};
    else if (message->response)
        change->countdown[message->from->side] = (smcr_rules_countdown_t){.left = 0};
}

SMCR_RULES_LLC(note_deleting)
{
    if (message->response)
        change_of(message)->deletes = 0;
    else if (message->by_server)
        change_of(message)->deletes = arrival->when.time;
}

/* Before the server confirms the link, both sides have told all. (R-A.3.3-1) */
SMCR_RULES_LLC(check_told)
{
    smcr_rules_change_t *change = change_of(message);

    if (!change->on || change->number != message->llc->u.confirm_link.link)
        return;
    for (int side = 0; side < 2 && !message->response && message->by_server; side++)
        if (change->countdown[side].left > ADD_ROOM)
            smcr_breach(arrival, SMCR_EVENT_rkey_count,
                        smcr_doubt_or(smcr_doubt_link(arrival, change->on),
                                      smcr_doubt_next(arrival, &change->countdown[side].last,
                                                      (smcr_doubt_proof_t){0})),
                        "The %s has not told all its RTokens for link %u yet",
                        side == message->lgr->server ? "server" : "client", change->number);
    if (message->response)
        *change = (smcr_rules_change_t){.deletes = change->deletes};
}

/* ---- ADD LINK CONTINUATION ---- */

/* It is about the new link, and flows where ADD LINK did. (R-A.3.3-4, R-3.5.5.2.3-1) */
static void
check_new_link(const smcr_exchange_message_t *message)
{
    const smcr_rules_change_t *change = &smcr_rules_of_links(message->lgr)->change;
    const smcr_link_t *link = change->on ? smcr_lgr_link(message->lgr, change->number) : NULL;
    bool added = link && link->state == SMCR_LINK_ANNOUNCED;
    smcr_doubt_t doubt = smcr_doubt_later_adding(message->arrival, message->lgr,
                                                 added ? link : NULL, (smcr_doubt_proof_t){0});
    unsigned number = message->llc->u.add_link_cont.link;

    if (!change->on)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                    "The message is about link %u, but no link is being added", number);
    else if (change->number != number)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                    "The message is about link %u, but link %u is being added", number,
                    change->number);
    else if (change->on != message->link)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                    "The message flows over link %u, but ADD LINK over link %u",
                    message->link->number, change->on->number);
}

/* The number of RTokens that are left counts down by two. Linux counts connections: it ends early
 * where it has fewer RMBs. Returns how many are left, as far as that is believed. (R-A.3.3-2) */
static unsigned
check_pairs(const smcr_exchange_message_t *message, const smcr_rules_countdown_t *countdown)
{
    unsigned left = message->llc->u.add_link_cont.rtokens_left;
    unsigned due = countdown->left > ADD_ROOM ? countdown->left - ADD_ROOM : 0U;
    smcr_doubt_t doubt = smcr_doubt_link(message->arrival, message->link);

    if (countdown->last.qp != message->arrival->qp || left == due)
        return left;
    if (left < ADD_ROOM && left < due)
        smcr_breach(message->arrival, SMCR_EVENT_rkey_count_short, doubt,
                    "RTokens left: %u, though %u were due, as Linux does "
                    "(smc_llc_add_link_cont())", left, due);
    else
        smcr_breach(message->arrival, SMCR_EVENT_rkey_count, doubt,
                    "RTokens left: %u, but %u after the message before", left, due);
    return MIN(left, due);
}

SMCR_RULES_LLC(check_pairs)
{
    smcr_rules_change_t *change = change_of(message);
    smcr_rules_countdown_t *countdown = &change->countdown[message->from->side];

    if (!message->response && message->by_server)
        check_new_link(message);
    if (change->on != message->link || change->number != message->llc->u.add_link_cont.link)
        return;
    unsigned left = countdown->last.qp ? check_pairs(message, countdown)
                                       : message->llc->u.add_link_cont.rtokens_left;
    *countdown = now(message, left, true);
}

/* ---- CONFIRM RKEY ---- */

static smcr_rules_countdown_t *
confirms_of(const smcr_exchange_message_t *message, const smcr_qp_t *sender)
{
    return &smcr_rules_links(message->arrival, message->lgr)->confirms[sender->side];
}

/* Whether a continuation has to follow. CONFIRM RKEY has room for two RTokens, but A.3.5 calls for
 * one behind more than three: three may come with or without. */
static bool
is_unfinished(const smcr_rules_countdown_t *countdown)
{
    return countdown->left > CONFIRM_ROOM;
}

/* What does not fit into the message comes in continuations, before the next RMB. After a negative
 * response all begins anew. (R-A.3.5-4) */
SMCR_RULES_LLC(check_unfinished)
{
    smcr_rules_countdown_t *countdown = confirms_of(message, message->from);

    if (countdown->last.qp == arrival->qp && is_unfinished(countdown))
        smcr_breach(arrival, SMCR_EVENT_rkey_count, smcr_doubt_link(arrival, message->link),
                    "The message before has announced more RTokens, which are missing");
    unsigned others = message->llc->u.confirm_rkey.other_links;
    bool counts = others < SMCR_WIRE_LINKS_MAX && !(message->llc->type & SMCR_LLC_TYPE_V2);
    *countdown = now(message, counts ? others : 0, false);
}

/* How many RTokens may be left in a continuation of what was told so far. */
static bool
is_due(const smcr_rules_countdown_t *countdown, unsigned left)
{
    if (countdown->continues)
        return is_unfinished(countdown) && left + CONFIRM_ROOM == countdown->left;
    return countdown->left > 2 &&
           (left + 2 == countdown->left || left + CONFIRM_ROOM == countdown->left);
}

/* It follows CONFIRM RKEY, and counts down by three. (R-A.3.6-1) */
SMCR_RULES_LLC(check_countdown)
{
    smcr_rules_countdown_t *countdown = confirms_of(message, message->from);
    unsigned left = message->llc->u.confirm_rkey.other_links;

    if (smcr_rules_of_links(message->lgr)->confirm_count[message->from->side] == 0)
        smcr_breach(
            arrival, SMCR_EVENT_rkey_count,
            smcr_doubt_later(arrival, message->lgr, message->from->side, (smcr_doubt_proof_t){0}),
            "The message follows no CONFIRM RKEY");
    else if (countdown->last.qp == arrival->qp && !is_due(countdown, left))
        smcr_breach(arrival, SMCR_EVENT_rkey_count, smcr_doubt_since(arrival, &countdown->last),
                    "RTokens left: %u, but %u in the message before", left, countdown->left);
    *countdown = now(message, (uint8_t)left, true);
}

SMCR_RULES_LLC(note_refusal)
{
    if (message->llc->flags & SMCR_LLC_FLAG_NEGATIVE)
        *confirms_of(message, message->to) = (smcr_rules_countdown_t){.left = 0};
}

/* ---- all messages ---- */

enum { REQUEST = 1, RESPONSE, BOTH };

#define ANY UINT16_MAX
#define ONLY(type) (1U << SMCR_LLC_##type)
#define BUT(type) ~ONLY(type)

void
smcr_rules_llc(smcr_rules_when_t when, const smcr_exchange_message_t *message)
{
    unsigned direction = message->response ? RESPONSE : REQUEST;
    unsigned type = 1U << message->type;

#define SMCR_RULES_LLC_CHECK(step, kind, types, check) \
    if (when == SMCR_RULES_##step && direction & (kind) && type & (types)) \
        smcr_rules_##check(message->arrival, message);
#include "llc_checks.def"
}
