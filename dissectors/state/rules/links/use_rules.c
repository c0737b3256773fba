/* What a link may carry, and whether it is ready when somebody uses it: confirmed, neither rejected
 * nor deleted, and in a first contact not before there was an attempt at a second one. Whether
 * DELETE LINK gives a reason that fits, and gets a response that does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define LINUX_WAITS (2 * SMCR_TIME_SECOND) /* for an answer in a first contact; then it goes on */
#define CLEAN_UP SMCR_TIME_SECOND  /* far more than a host needs to end a link group */

/* What is told at `*time` had to come by now, or a moment later. */
static smcr_doubt_proof_t
awaited(const smcr_arrival_t *arrival, const uint64_t *time)
{
    return smcr_doubt_not_by(time, arrival->when.time + SMCR_TIME_DISORDER);
}

/* ---- links that are gone ---- */

/* Whoever uses the link has let go of it before, or has seen that the other side has. */
static smcr_doubt_t
doubt_gone(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    const smcr_link_sent_message_t *gone = &smcr_rules_of_link(link)->gone;

    return smcr_doubt_or(smcr_doubt_message(arrival),
                         smcr_doubt_seen(arrival, gone->sent, gone->acked));
}

/* Who has seen a link's deletion end does not use it. (R-3.5.4-2, R-3.5.5.1.3-2, R-C.7-2) */
SMCR_RULES_LLC(check_deleted)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->deleted_frame)
        smcr_breach(arrival, SMCR_EVENT_link_after_delete, doubt_gone(arrival, link),
                    "The link was deleted in frame %u", link->deleted_frame);
}

/* Nobody uses a link that was rejected. Its queue pairs may have begun another life, which other
 * PSNs show. (R-3.5.1.6-9) */
static void
check_rejected(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;

    if (link->state == SMCR_LINK_REJECTED && link->qp[0].known && link->qp[1].known)
        smcr_breach(arrival, SMCR_EVENT_link_refused_used,
                    smcr_doubt_or(doubt_gone(arrival, link), smcr_doubt_link(arrival, link)),
                    "Link %u was rejected", link->number);
}

/* A Decline ends the group that its first contact has begun. TCP and RoCE may be captured at two
 * places: a second is enough for both hosts and clocks. (R-3.5.1.6.4-2) */
static void
check_declined(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    uint64_t declined = smcr_rules_of_lgr(lgr)->declined;

    if (declined && arrival->when.time > declined + SMCR_TIME_SECOND && lgr->conns &&
        !lgr->conns->next_of_group)
        smcr_breach(arrival, SMCR_EVENT_link_refused_used, smcr_doubt_link(arrival, link),
                    "The first contact of the link group was declined in frame %u",
                    lgr->conns->decline_frame);
}

/* A Decline with the S flag makes its receiver end the link group. That it has taken it in, data on
 * TCP show. (R-A.2.5-2) */
static void
check_out_of_sync(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_rules_lgr_t *kept = smcr_rules_of_lgr(link->lgr);

    if (kept->out_of_sync_time && arrival->qp->side != kept->out_of_sync_side &&
        arrival->when.time > kept->out_of_sync_time + CLEAN_UP)
        smcr_breach(arrival, SMCR_EVENT_link_out_of_sync,
                    smcr_doubt_or(smcr_doubt_link(arrival, link), smcr_doubt_place(arrival)),
                    "The sender was told to end the link group");
}

/* ---- links that are not ready yet ---- */

/* A link carries nothing but CONFIRM LINK before the client's response. What the client sends, it
 * sends behind its response; of what the server sends, the client's flow tells. (R-3.5.1.5-5) */
static void
check_confirmed(const smcr_arrival_t *arrival, const char *what)
{
    smcr_link_t *link = arrival->qp->link;
    int client = !link->lgr->server;

    if (link->state != SMCR_LINK_ANNOUNCED || smcr_rules_of_link(link)->confirmed ||
        !link->lgr->from_start || link->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return;
    smcr_doubt_proof_t claim = awaited(arrival, &smcr_rules_link(arrival, link)->confirmed);
    smcr_breach(arrival, SMCR_EVENT_link_before_confirm,
                arrival->qp->side == client ? smcr_doubt_later_on(arrival, link, client, claim)
                                            : smcr_doubt_before(arrival),
                "%s before the response to CONFIRM LINK", what);
}

/* ---- LLC messages ---- */

SMCR_RULES_LLC(check_usable)
{
    check_rejected(arrival);
    if (message->type == SMCR_LLC_CONFIRM_LINK)
        return;
    check_confirmed(arrival, "The link carries another LLC message");
    if (message->type != SMCR_LLC_DELETE_LINK)
        check_declined(arrival);
}

/* ---- the second link of a first contact ---- */

/* The server tries a second link before data flow; one of version 2.1 may do without. It does not
 * say why it does not, so this is for who asks. (R-3.5.1.6-1) */
static void
check_offered(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    const smcr_rules_links_t *memory = smcr_rules_of_links(lgr);

    if (smcr_rules_of_link(link)->confirmed && memory->max_links[0] != 1 &&
        memory->max_links[1] != 1)
        smcr_breach(arrival, SMCR_EVENT_link_no_second,
                    smcr_doubt_later_on(arrival, link, lgr->server,
                                        awaited(arrival, &memory->second_asked)),
                    "Data flow before the server has offered a second link");
}

/* Whether Linux waits no more by now: a server for the response to ADD LINK, a client, from its
 * CONFIRM LINK response on, for ADD LINK. */
static bool
has_given_up(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    bool by_server = arrival->qp->side == !lgr->server;
    uint64_t confirmed = smcr_rules_of_link(arrival->qp->link)->confirmed;
    uint64_t since = by_server || !confirmed ? smcr_rules_of_links(lgr)->second_asked : confirmed;

    return arrival->when.time >= since + LINUX_WAITS;
}

/* Data wait until the second link is confirmed, or the attempt has failed: until the response to
 * ADD LINK, CONFIRM LINK or DELETE LINK. Linux goes on where no response comes, and where its own
 * attempt takes too long; a server whose own step fails tells nobody (smc_llc_srv_add_link()), but
 * then the new link carries nothing, which proves nothing. (R-3.5.1.5-6, R-3.5.1.6-8) */
static void
check_settled(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    smcr_lgr_t *lgr = link->lgr;
    const smcr_link_t *second = smcr_rules_of_links(lgr)->second;
    int client = !lgr->server;
    smcr_doubt_proof_t claim = awaited(arrival, &smcr_rules_of_links(lgr)->second_over);

    if (second->state == SMCR_LINK_DELETED)
        smcr_breach(arrival, SMCR_EVENT_link_not_confirmed,
                    smcr_doubt_later_on(arrival, link, client, claim),
                    "Data flow before the response to DELETE LINK for link %u, as with Linux "
                    "(%s())",
                    second->number,
                    arrival->qp->side == client ? "smc_llc_srv_conf_link" : "smc_llc_cli_add_link");
    else if (!has_given_up(arrival, lgr))
        smcr_breach(arrival, SMCR_EVENT_link_data_early,
                    second->qp[client].known ? smcr_doubt_later(arrival, lgr, client, claim)
                                             : smcr_doubt_later_on(arrival, link, client, claim),
                    "Data flow before link %u is set up, or has failed", second->number);
}

static void
check_data(const smcr_arrival_t *arrival)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (smcr_rules_of_links(lgr)->has_data)
        return;
    smcr_rules_links_t *memory = smcr_rules_links(arrival, lgr);
    memory->has_data = true;
    if (!lgr->from_start || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return;
    if (!memory->second)
        check_offered(arrival);
    else if (!memory->second_over)
        check_settled(arrival);
}

/* ---- operations ---- */

/* A link carries RDMA WRITE and SEND, no READ and no atomics; neither has immediate data, nor does
 * a SEND invalidate an RKey. (R-4.7-1, R-4.7-2, R-4.7-3) */
static void
check_operation(const smcr_arrival_t *arrival)
{
    uint8_t opcode = arrival->roce->opcode;
    const smcr_link_t *link = arrival->qp->link;
    bool fetches = smcr_ib_is_fetch(opcode);

    if ((!fetches && !smcr_ib_has_immediate(opcode)) || !link->lgr->from_start ||
        link->deleted_frame || /* these two: its queue pairs may be somebody else's */
        (smcr_ib_is_write(opcode) && link->lgr->version == 2 &&
         (link->lgr->immediate_agreed || !link->lgr->immediate_known)))
        return;
    if (fetches)
        smcr_breach(arrival, SMCR_EVENT_rdma_operation, smcr_doubt_message(arrival),
                    "SMC-R uses RDMA WRITE and SEND only");
    else if (opcode == SMCR_RC_SEND_LAST_INVALIDATE || opcode == SMCR_RC_SEND_ONLY_INVALIDATE)
        smcr_breach(arrival, SMCR_EVENT_rdma_invalidate, smcr_doubt_message(arrival),
                    "The SEND invalidates an RKey, which SMC-R does not do");
    else
        smcr_breach(arrival, SMCR_EVENT_rdma_immediate, smcr_doubt_message(arrival),
                    "The packet has immediate data, which SMC-R does not use");
}

/* ---- all requests ---- */

void
smcr_rules_use(const smcr_arrival_t *arrival)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->state != SMCR_LINK_ACTIVE || smcr_rules_of_lgr(link->lgr)->declined) {
        smcr_rules_check_deleted(arrival, NULL);
        check_rejected(arrival);
        check_declined(arrival);
        check_confirmed(arrival, "The link carries data");
    }
    smcr_rules_waits(arrival);
    if (smcr_ib_is_write(arrival->roce->opcode))
        check_data(arrival);
    check_out_of_sync(arrival);
}

void
smcr_rules_request(const smcr_arrival_t *arrival)
{
    check_operation(arrival);
    if (smcr_ib_is_write(arrival->roce->opcode))
        smcr_rules_use(arrival);
}

/* ---- what the next messages are held against ---- */

SMCR_RULES_LLC(note_second)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_rules_links_t *memory = smcr_rules_links(arrival, lgr);
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    bool adds = message->type == SMCR_LLC_ADD_LINK;

    if (!memory->second && adds && !message->response && add->qpn &&
        lgr->server == message->from->side) {
        memory->second = smcr_lgr_link(lgr, add->link);
        memory->second_asked = arrival->when.time;
    }
    /* the capture has it before its request */
    bool disorder = !memory->second && adds && message->response;
    const smcr_link_t *second = memory->second;
    const smcr_rules_link_t *kept = second ? smcr_rules_of_link(second) : NULL;
    bool is_over = second && (kept->confirmed || second->state == SMCR_LINK_REJECTED ||
                              (second->state == SMCR_LINK_DELETED && kept->gone.sent));
    if (!memory->second_over && (disorder || is_over))
        memory->second_over = arrival->when.time;
}

/* ---- DELETE LINK: reasons ---- */

/* That a link is not known is a reason for a response. A client does not ask to delete a link
 * because nobody uses it; for the whole group it may. It does no harm.
 * (R-A.3.4-3, R-3.5.5.1.4-1) */
SMCR_RULES_LLC(check_reason)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    bool by_client = message->lgr->server == message->to->side;
    const char *what = NULL;

    if (reason == SMCR_LLC_DELETE_UNKNOWN_LINK || reason == SMCR_LLC_DELETE_UNKNOWN_GROUP)
        what = "This is a reason for a response";
    else if (by_client && !message->all_links && reason == SMCR_LLC_DELETE_PROGRAM)
        what = "A client does not delete a link because nobody uses it";
    if (what)
        smcr_breach(arrival, SMCR_EVENT_delete_link_reason_kind, smcr_doubt_message(arrival), "%s",
                    what);
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
        *sharing +=
            smcr_link_shares_device(link, each, 0) || smcr_link_shares_device(link, each, 1);
    }
    return count;
}

/* An asymmetric link shares a device with another one. It is no longer needed when a symmetric link
 * joins the two others: then the group has three. Devices of version 1 have one GID each.
 * (R-2.2.1-3) */
SMCR_RULES_LLC(check_asymmetric)
{
    const smcr_llc_t *llc = message->llc;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, llc->u.delete_link.link);
    unsigned sharing;

    if (!link || link->state != SMCR_LINK_ACTIVE || message->all_links ||
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

/* ---- and responses ---- */

/* Any link of the group that has, or had, the number and, if that is not NULL, `is_it`; NULL: there
 * is none. */
static const smcr_link_t *
find_link(const smcr_lgr_t *lgr, uint8_t number, bool (*is_it)(const smcr_link_t *link))
{
    const smcr_link_t *link = lgr->all_links;

    while (link && (!link->has_number || link->number != number || (is_it && !is_it(link))))
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

    if (message->all_links || message->lgr->server != message->to->side ||
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

    if (link && message->lgr->server == message->to->side && !message->all_links)
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

/* The server deletes a link, which both may use until the response, or all links. (3.5.5.1.3) */
SMCR_RULES_LLC(note_deleted)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_link_t *link = smcr_lgr_link(lgr, message->llc->u.delete_link.link);

    if (lgr->server == message->to->side ||
        message->llc->u.delete_link.reason >= SMCR_LLC_DELETE_UNKNOWN_LINK)
        return;
    SMCR_LIST_EACH(smcr_link_t *, each, message->all_links ? lgr->links : NULL) {
        note_deletion(message, each);
        note_gone(message, each);
    }
    if (!message->all_links && link)
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
