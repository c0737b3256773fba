/* cont_rules.c
 * What continues a list of RTokens: on which link, for which link, and how many are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

/* RTokens of one continuation */
#define ADD_ROOM 2U
#define CONFIRM_ROOM 3U

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
                                        .on = message->link,
                                        .number = add->link};
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

/* It is about the link that is being added, and flows where ADD LINK did. (R-A.3.3-4,
 * R-3.5.5.2.3-1) */
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
                    "(smc_llc_add_link_cont())",
                    left, due);
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
    *countdown = now(message, others < SMCR_WIRE_LINKS_MAX ? others : 0, false);
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
