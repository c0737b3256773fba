/* cont_rules.c
 * What continues a list of RTokens: on which link, for which link, and how many are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cont_rules.h"

#include "state/rules/rules.h"
#include "wire/wire.h"

/* RTokens of one continuation */
#define ADD_ROOM 2U
#define CONFIRM_ROOM 3U

/* An LLC message, and who has sent it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    smcr_lgr_t *lgr;
    smcr_link_t *link; /* that carries it */
    int side;          /* that has sent it */
    bool response, by_server;
} said_t;

/* The message is the last one of its sender's list so far. */
static smcr_countdown_t
now(const said_t *said, uint8_t left, bool continues)
{
    smcr_point_t at = smcr_point_at(said->arrival->qp, said->arrival->psn);

    return (smcr_countdown_t){at, left, continues};
}

/* ---- what the server changes ---- */

static void
take_add_link(const said_t *said)
{
    const smcr_llc_add_link_t *add = &said->llc->u.add_link;
    smcr_change_t *change = &said->lgr->change;

    if (!said->response && said->by_server && add->qpn)
        *change = (smcr_change_t){.adds = said->arrival->when.time,
                                  .deletes = change->deletes,
                                  .on = said->link,
                                  .number = add->link};
    else if (said->response && said->llc->flags & SMCR_LLC_FLAG_REJECTED &&
             add->link == change->number)
        *change = (smcr_change_t){.deletes = change->deletes};
    else if (said->response)
        change->told[said->side] = (smcr_countdown_t){.left = 0};
}

static void
take_delete_link(const said_t *said)
{
    if (said->response)
        said->lgr->change.deletes = 0;
    else if (said->by_server)
        said->lgr->change.deletes = said->arrival->when.time;
}

/* Before the server confirms the link, both sides have told all. (R-A.3.3-1) */
static void
take_confirm_link(const said_t *said)
{
    smcr_change_t *change = &said->lgr->change;

    if (!change->on || change->number != said->llc->u.confirm_link.link)
        return;
    for (int side = 0; side < 2 && !said->response && said->by_server; side++)
        if (change->told[side].left > ADD_ROOM)
            smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT,
                        smcr_doubt_or(smcr_doubt_link(said->arrival, change->on),
                                      smcr_doubt_next(said->arrival, &change->told[side].last)),
                        "The %s has not told all its RTokens for link %u yet",
                        side == said->lgr->server ? "server" : "client", change->number);
    if (said->response)
        *change = (smcr_change_t){.deletes = change->deletes};
}

/* ---- ADD LINK CONTINUATION ---- */

/* The link that is being added; NULL: none is. */
static const smcr_link_t *
added_link(const said_t *said)
{
    const smcr_change_t *change = &said->lgr->change;
    const smcr_link_t *link = change->on ? smcr_lgr_link(said->lgr, change->number) : NULL;

    return link && link->state == SMCR_LINK_ANNOUNCED ? link : NULL;
}

/* It is about the link that is being added, and flows where ADD LINK did. (R-A.3.3-4,
 * R-3.5.5.2.3-1) */
static void
check_new_link(const said_t *said)
{
    const smcr_change_t *change = &said->lgr->change;
    smcr_doubt_t doubt =
        smcr_doubt_later_adding(said->arrival, said->lgr, added_link(said), (smcr_claim_t){0});
    unsigned number = said->llc->u.add_link_cont.link;

    if (!change->on)
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_WRONG_LINK, doubt,
                    "The message is about link %u, but no link is being added", number);
    else if (change->number != number)
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_WRONG_LINK, doubt,
                    "The message is about link %u, but link %u is being added", number,
                    change->number);
    else if (change->on != said->link)
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_WRONG_LINK, doubt,
                    "The message flows over link %u, but ADD LINK over link %u",
                    said->link->number, change->on->number);
}

/* The number of RTokens that are left counts down by two. Linux counts connections: it ends early
 * where it has fewer RMBs. (R-A.3.3-2) */
static void
check_pairs(const said_t *said, const smcr_countdown_t *told)
{
    unsigned left = said->llc->u.add_link_cont.rtokens_left;
    unsigned due = told->left > ADD_ROOM ? told->left - ADD_ROOM : 0U;
    smcr_doubt_t doubt = smcr_doubt_link(said->arrival, said->link);

    if (told->last.qp != said->arrival->qp || left == due)
        return;
    if (left < ADD_ROOM && left < due)
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT_SHORT, doubt,
                    "RTokens left: %u, though %u were due, as Linux does "
                    "(smc_llc_add_link_cont())",
                    left, due);
    else
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT, doubt,
                    "RTokens left: %u, but %u after the message before", left, due);
}

/* The server asks, the client answers. (R-A.3.3-1) */
static void
take_add_link_cont(const said_t *said)
{
    smcr_countdown_t *told = &said->lgr->change.told[said->side];

    if (!said->response && said->lgr->server == !said->side)
        smcr_breach(said->arrival, SMCR_EVENT_LLC_WRONG_SENDER, smcr_doubt_message(said->arrival),
                    "Only the server begins ADD LINK CONTINUATION");
    else if (!said->response && said->by_server)
        check_new_link(said);
    if (said->lgr->change.on != said->link ||
        said->lgr->change.number != said->llc->u.add_link_cont.link)
        return;
    if (told->last.qp)
        check_pairs(said, told);
    *told = now(said, said->llc->u.add_link_cont.rtokens_left, true);
}

/* ---- CONFIRM RKEY ---- */

/* Whether a continuation has to follow. CONFIRM RKEY has room for two RTokens, but A.3.5 calls for
 * one behind more than three: three may come with or without. */
static bool
is_unfinished(const smcr_countdown_t *told)
{
    return told->left > CONFIRM_ROOM;
}

/* What does not fit into the message comes in continuations, before the next RMB. After a negative
 * response all begins anew. (R-A.3.5-4) */
static void
take_confirm_rkey(const said_t *said)
{
    smcr_countdown_t *told = &said->lgr->confirms[said->side];

    if (told->last.qp == said->arrival->qp && is_unfinished(told))
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT,
                    smcr_doubt_link(said->arrival, said->link),
                    "The message before has announced more RTokens, which have not come");
    *told = now(said, said->llc->u.confirm_rkey.other_links, false);
}

/* How many RTokens may be left in a continuation of what was told so far. */
static bool
is_due(const smcr_countdown_t *told, unsigned left)
{
    if (told->continues)
        return is_unfinished(told) && left + CONFIRM_ROOM == told->left;
    return told->left > 2 && (left + 2 == told->left || left + CONFIRM_ROOM == told->left);
}

/* It follows CONFIRM RKEY, and counts down by three. (R-A.3.6-1) */
static void
take_confirm_rkey_cont(const said_t *said)
{
    smcr_countdown_t *told = &said->lgr->confirms[said->side];
    unsigned left = said->llc->u.confirm_rkey.other_links;

    if (said->lgr->confirm_count[said->side] == 0)
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT,
                    smcr_doubt_later(said->arrival, said->lgr, said->side, (smcr_claim_t){0}),
                    "The message follows no CONFIRM RKEY");
    else if (told->last.qp == said->arrival->qp && !is_due(told, left))
        smcr_breach(said->arrival, SMCR_EVENT_RKEY_COUNT,
                    smcr_doubt_since(said->arrival, &told->last),
                    "RTokens left: %u, but %u in the message before", left, told->left);
    *told = now(said, (uint8_t)left, true);
}

static void
take_refusal(const said_t *said)
{
    if (said->llc->flags & SMCR_LLC_FLAG_NEGATIVE)
        said->lgr->confirms[!said->side] = (smcr_countdown_t){.left = 0};
}

/* ---- all messages ---- */

static void
take_rkeys(const said_t *said, uint8_t type)
{
    if (said->response)
        take_refusal(said);
    else if (type == SMCR_LLC_CONFIRM_RKEY)
        take_confirm_rkey(said);
    else
        take_confirm_rkey_cont(said);
}

void
smcr_rules_continuation(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_link_t *link = arrival->qp->link;
    said_t said = {
        .arrival = arrival,
        .llc = llc,
        .lgr = link->lgr,
        .link = link,
        .side = !arrival->qp->side,
        .response = (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0,
        .by_server = link->lgr->server == !arrival->qp->side,
    };
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2;

    if (type == SMCR_LLC_ADD_LINK)
        take_add_link(&said);
    else if (type == SMCR_LLC_DELETE_LINK)
        take_delete_link(&said);
    else if (type == SMCR_LLC_CONFIRM_LINK)
        take_confirm_link(&said);
    else if (type == SMCR_LLC_ADD_LINK_CONT)
        take_add_link_cont(&said);
    else if (type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_CONFIRM_RKEY_CONT)
        take_rkeys(&said, type);
}
