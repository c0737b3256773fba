/* delete_rules.c
 * Whether DELETE LINK gives a reason that fits, and gets a response that does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

/* ---- reasons ---- */

/*
 * That a link is not known is a reason for a response. A client does not ask to delete a link
 * because nobody uses it; for the whole group it may. It does no harm.
 * (R-A.3.4-3, R-3.5.5.1.4-1)
 */
SMCR_RULES_LLC(check_reason)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    bool all = message->llc->flags & SMCR_LLC_FLAG_ALL;
    bool by_client = message->lgr->server == message->to->side;
    const char *what = NULL;

    if (reason == SMCR_LLC_DELETE_UNKNOWN_LINK || reason == SMCR_LLC_DELETE_UNKNOWN_GROUP)
        what = "This is a reason for a response";
    else if (by_client && !all && reason == SMCR_LLC_DELETE_PROGRAM)
        what = "A client does not delete a link because nobody uses it";
    if (what)
        smcr_breach(arrival, SMCR_EVENT_delete_link_reason_kind, smcr_doubt_message(arrival), "%s",
                    what);
}

/* Whether the two links use the same device on a side. */
static bool
share_device(const smcr_link_t *one, const smcr_link_t *other)
{
    for (int side = 0; side < 2; side++)
        if (smcr_gid_is_same(one->qp[side].key.gid, other->qp[side].key.gid))
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
SMCR_RULES_LLC(check_asymmetric)
{
    const smcr_llc_t *llc = message->llc;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, llc->u.delete_link.link);
    unsigned sharing;

    if (!link || link->state != SMCR_LINK_ACTIVE || llc->flags & SMCR_LLC_FLAG_ALL ||
        llc->u.delete_link.reason != SMCR_LLC_DELETE_ASYMMETRIC)
        return;
    unsigned others = count_others(link, &sharing);
    if (others >= 2 && (sharing || llc->type & SMCR_LLC_TYPE_V2))
        return;
    smcr_breach(arrival, SMCR_EVENT_delete_link_reason,
                smcr_doubt_later_of_both(arrival, message->lgr, link, (smcr_doubt_proof_t){0}),
                others < 2 ? "No symmetric link replaces link %u" : "Link %u is no asymmetric one",
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
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);

    return link->deleted_frame && !memory->gone.sent && memory->was_active && !link->lost &&
           !memory->unwanted;
}

/* A client cannot refuse to delete a link. It knows none that it has asked to delete, or has called
 * lost; Linux clears such a link at once. It says so when it does not know the link.
 * (R-3.5.5.1.3-1, R-C.7-12) */
SMCR_RULES_LLC(check_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    bool refuses = consent->reason == SMCR_LLC_DELETE_UNKNOWN_LINK;

    if (message->llc->flags & SMCR_LLC_FLAG_ALL || message->lgr->server != message->to->side ||
        !find_link(message->lgr, consent->link, refuses ? is_deleted_by_server : NULL) == refuses)
        return;
    smcr_breach(arrival, SMCR_EVENT_delete_link_answer, smcr_doubt_group(arrival, message->lgr),
                refuses ? "Link %u was in use, and the client has not asked to delete it"
                        : "The group never had a link %u; the response does not say so",
                consent->link);
}

/* ---- who has let go of a link ---- */

/* The client asks to delete the link. */
SMCR_RULES_LLC(note_unwanted)
{
    smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->u.delete_link.link);
    bool all = message->llc->flags & SMCR_LLC_FLAG_ALL;

    if (link && message->lgr->server == message->to->side && !all)
        smcr_rules_link(arrival, link)->unwanted = arrival->when.time;
}

/* Who sends the message and who takes it in use the link no more. */
static void
note_gone(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (message->lgr->server != SMCR_LGR_SIDE_UNKNOWN) /* else it may be a client's wish */
        smcr_arrival_track(message->arrival, &smcr_rules_link(message->arrival, link)->gone);
}

static void
note_deletion(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (link->state != SMCR_LINK_REJECTED)
        smcr_rules_link(message->arrival, link)->was_active = link->state == SMCR_LINK_ACTIVE;
}

/* The server deletes a link, which both sides may use until the response, or all of them.
 * (3.5.5.1.3) */
SMCR_RULES_LLC(note_deleted)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_link_t *link = smcr_lgr_link(lgr, message->llc->u.delete_link.link);
    bool all = message->llc->flags & SMCR_LLC_FLAG_ALL;

    if (lgr->server == message->to->side ||
        message->llc->u.delete_link.reason >= SMCR_LLC_DELETE_UNKNOWN_LINK)
        return;
    for (wmem_list_frame_t *at = all ? wmem_list_head(lgr->links) : NULL; at;
         at = wmem_list_frame_next(at)) {
        note_deletion(message, wmem_list_frame_data(at));
        note_gone(message, wmem_list_frame_data(at));
    }
    if (!all && link)
        note_deletion(message, link);
}

SMCR_RULES_LLC(note_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    smcr_link_t *link = message->lgr->all_links;

    while (link && (!link->deleted_frame || link->number != consent->link ||
                    smcr_rules_of_link(link)->gone.sent))
        link = smcr_link_older(link);
    if (link && consent->reason < SMCR_LLC_DELETE_UNKNOWN_LINK)
        note_gone(message, link);
}
