/* delete_rules.c
 * Whether DELETE LINK gives a reason that fits, and gets a response that does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links.h"

#include <string.h>

#include "wire/wire.h"

/* ---- reasons ---- */

/*
 * That a link is not known is a reason for a response. A client does not ask to delete a link
 * because nobody uses it; for the whole group it may. It does no harm.
 * (R-A.3.4-3, R-3.5.5.1.4-1)
 */
static void
check_kind(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    uint32_t reason = llc->u.delete_link.reason;
    bool by_client = arrival->qp->link->lgr->server == arrival->qp->side;
    const char *what = NULL;

    if (reason == SMCR_LLC_DELETE_UNKNOWN_LINK || reason == SMCR_LLC_DELETE_UNKNOWN_GROUP)
        what = "This is a reason for a response";
    else if (by_client && !(llc->flags & SMCR_LLC_FLAG_ALL) && reason == SMCR_LLC_DELETE_PROGRAM)
        what = "A client does not delete a link because nobody uses it";
    if (what)
        smcr_breach(arrival, SMCR_EVENT_DELETE_REASON_KIND, smcr_doubt_message(arrival), "%s",
                    what);
}

/* Whether the two links use the same device on a side. */
static bool
share_device(const smcr_link_t *one, const smcr_link_t *other)
{
    for (int side = 0; side < 2; side++)
        if (memcmp(one->qp[side].key.gid, other->qp[side].key.gid, SMCR_GID_LENGTH) == 0)
            return true;
    return false;
}

/* How many other active links the group of the link has; how many of them have a device of it. */
static unsigned
count_others(const smcr_link_t *link, unsigned *sharing)
{
    unsigned count = 0;

    *sharing = 0;
    for (const smcr_link_t *each = link->lgr->all_links; each; each = smcr_link_older(each)) {
        if (each == link || each->state != SMCR_LINK_ACTIVE)
            continue;
        count++;
        *sharing += share_device(link, each);
    }
    return count;
}

/*
 * An asymmetric link shares a device with another one. It is no longer needed when a symmetric link
 * joins the two others: then the group has three. Devices of version 1 have one GID each.
 * (R-2.2.1-3)
 */
static void
check_asymmetric(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *link = smcr_lgr_link(lgr, llc->u.delete_link.link);
    unsigned sharing;

    if (!link || link->state != SMCR_LINK_ACTIVE ||
        llc->u.delete_link.reason != SMCR_LLC_DELETE_ASYMMETRIC)
        return;
    unsigned others = count_others(link, &sharing);
    if (others >= 2 && (sharing || llc->type & SMCR_LLC_TYPE_V2))
        return;
    smcr_breach(arrival, SMCR_EVENT_DELETE_REASON,
                smcr_doubt_later_of_both(arrival, lgr, link, (smcr_doubt_proof_t){0}),
                others < 2 ? "No symmetric link replaces link %u"
                           : "Link %u is no asymmetric one",
                link->number);
}

/* ---- responses ---- */

/* Any link of the group that has, or had, the number and, if that is not NULL, `is_it`; NULL: there
 * is none. */
static const smcr_link_t *
find_link(const smcr_lgr_t *lgr, uint8_t number, bool (*is_it)(const smcr_link_t *link))
{
    const smcr_link_t *link = lgr->all_links;

    while (link && (!link->has_number || link->number != number ||
                    (is_it && !is_it(link))))
        link = smcr_link_older(link);
    return link;
}

/* Whether the server has just deleted the link, which was in use, and the client had not asked. */
static bool
is_deleted_by_server(const smcr_link_t *link)
{
    return link->deleted_frame && !link->gone.sent && link->was_active && !link->lost &&
           !link->unwanted;
}

/* A client cannot refuse to delete a link. It knows none that it has asked to delete, or has called
 * lost; Linux clears such a link at once. (R-3.5.5.1.3-1) */
static void
check_refusal(const smcr_arrival_t *arrival, uint8_t number)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (find_link(lgr, number, is_deleted_by_server))
        smcr_breach(arrival, SMCR_EVENT_DELETE_ANSWER, smcr_doubt_group(arrival, lgr),
                    "Link %u was in use, and the client has not asked to delete it", number);
}

/* A client says so when it does not know the link. (R-C.7-12) */
static void
check_consent(const smcr_arrival_t *arrival, uint8_t number)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (!find_link(lgr, number, NULL))
        smcr_breach(arrival, SMCR_EVENT_DELETE_ANSWER, smcr_doubt_group(arrival, lgr),
                    "The group never had a link %u; the response does not say so", number);
}

static void
check_response(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_llc_delete_link_t *message = &llc->u.delete_link;

    if (llc->flags & SMCR_LLC_FLAG_ALL || arrival->qp->link->lgr->server != arrival->qp->side)
        return;
    if (message->reason == SMCR_LLC_DELETE_UNKNOWN_LINK)
        check_refusal(arrival, message->link);
    else
        check_consent(arrival, message->link);
}

/* ---- both ---- */

/* The client asks to delete the link. */
static void
note_unwanted(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    smcr_link_t *link = smcr_lgr_link(lgr, llc->u.delete_link.link);

    if (link && lgr->server == arrival->qp->side && !(llc->flags & SMCR_LLC_FLAG_ALL))
        link->unwanted = arrival->when.time;
}

void
smcr_rules_delete_link(const smcr_rules_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_llc_t *llc = message->llc;

    if (message->response) {
        check_response(arrival, llc);
        return;
    }
    check_kind(arrival, llc);
    if (!(llc->flags & SMCR_LLC_FLAG_ALL))
        check_asymmetric(arrival, llc);
    note_unwanted(arrival, llc);
}
