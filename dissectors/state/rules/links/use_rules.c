/* What a link may carry, and whether it is ready when a peer uses it: confirmed, neither rejected
 * nor deleted, and in a first contact not before the attempt at a second link. Whether the reason
 * of DELETE LINK fits, and its response does (RFC 7609 3.5.1, 3.5.4, 3.5.5.1, 4.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define LINUX_WAITS (2 * SMCR_TIME_SECOND) /* for a response in a first contact (smc_llc.h) */
#define CLEAN_UP SMCR_TIME_SECOND          /* far more than a host needs to end a link group */

/* The claim that the event whose time `*time` keeps (nanoseconds since the epoch; 0: not yet) has
 * not happened by this frame. SMCR_TIME_DISORDER is added, because the capture may have frames
 * that lie close together in another order. */
static smcr_doubt_proof_t
claim_not_by_now(const smcr_arrival_t *arrival, const uint64_t *time)
{
    return smcr_doubt_not_by(time, arrival->when.time + SMCR_TIME_DISORDER);
}

/* ---- links that are gone ---- */

/* The doubt whether the sender of the packet knows that the link is gone: it has sent the message
 * that ended the link, or has seen the peer's. */
static smcr_doubt_t
doubt_gone(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    const smcr_link_sent_message_t *gone = &smcr_rules_of_link(link)->end_of_use;

    return smcr_doubt_or(smcr_doubt_message(arrival),
                         smcr_doubt_seen(arrival, gone->sent, gone->acked));
}

/* A link is not used after its deletion (R-3.5.4-2, R-3.5.5.1.3-2, R-C.7-2). The wire shows a
 * request on a link whose DELETE LINK exchange is over. The exchange ends with the response; both
 * sides may use the link until then. The rule is broken when the sender has sent or seen that
 * response: an acknowledgement a round trip earlier proves this.
 *
 * Example: the client responds to DELETE LINK for link 2, the server acknowledges the response,
 * and sends an RDMA WRITE on link 2 a second later. */
SMCR_RULES_LLC(check_deleted)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->deleted_frame)
        smcr_breach_report(arrival, SMCR_EVENT_link_after_delete, doubt_gone(arrival, link),
                           "The link was deleted in frame %u", link->deleted_frame);
}

/* A rejected link is not used (R-3.5.1.6-9). The wire shows a request on a link that a response to
 * ADD LINK has rejected. Both queue pairs must be known: a link that was rejected at once has one
 * known queue pair only, which may belong to another link by now. */
static void
check_rejected(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;

    if (link->state == SMCR_LINK_REJECTED && link->qp[0].number_known && link->qp[1].number_known)
        smcr_breach_report(arrival, SMCR_EVENT_link_refused_used,
                           smcr_doubt_or(doubt_gone(arrival, link), smcr_doubt_link(arrival, link)),
                           "Link %u was rejected", link->number);
}

/* A Decline ends the link group that its first contact has begun (R-3.5.1.6.4-2). The wire shows a
 * request on the link of a group whose only connection was declined more than a second before. TCP
 * and RoCE may be captured at two places, so that a second covers both hosts' reactions and the
 * difference of clocks. With a second connection the group has outlived the Decline. */
static void
check_declined(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    uint64_t declined = smcr_rules_of_lgr(lgr)->declined_time;
    bool has_one_conn = lgr->newest_conn && !lgr->newest_conn->older_in_group;

    if (declined && arrival->when.time > declined + SMCR_TIME_SECOND && has_one_conn)
        smcr_breach_report(arrival, SMCR_EVENT_link_refused_used, smcr_doubt_link(arrival, link),
                           "The first contact of the link group was declined in frame %u",
                           lgr->newest_conn->decline_frame);
}

/* A Decline with the S flag (out of sync) makes its receiver end the link group (R-A.2.5-2). The
 * wire shows that the receiver uses a link of the group more than CLEAN_UP after it has seen the
 * Decline. Data of the application on TCP, in the direction from the receiver, prove that it has
 * seen the Decline (tcp_rules.c). */
static void
check_out_of_sync(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_rules_lgr_t *kept = smcr_rules_of_lgr(link->lgr);

    if (kept->out_of_sync_time && arrival->qp->side != kept->out_of_sync_side &&
        arrival->when.time > kept->out_of_sync_time + CLEAN_UP)
        smcr_breach_report(arrival, SMCR_EVENT_link_out_of_sync,
                           smcr_doubt_or(smcr_doubt_link(arrival, link), smcr_doubt_place(arrival)),
                           "The sender was told to end the link group");
}

/* ---- links that are not ready yet ---- */

/* Whether an announced link waits for the response to CONFIRM LINK, as far as the capture shows. */
static bool
is_unconfirmed(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && !smcr_rules_of_link(link)->confirmed_time;
}

/* A link carries nothing but CONFIRM LINK until the client has responded to it (R-3.5.1.5-5). The
 * wire shows `what`, another message or data, on an announced link without such a response. The
 * client sends its other messages after its own response, in the same flow, so that a packet of
 * the server is broken only when the client's flow shows that no response precedes it. */
static void
check_confirmed(const smcr_arrival_t *arrival, const char *what)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    int client = !lgr->server;

    if (!is_unconfirmed(link) || !lgr->first_contact_captured ||
        lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return;
    smcr_doubt_proof_t claim =
        claim_not_by_now(arrival, &smcr_rules_link(arrival, link)->confirmed_time);
    smcr_breach_report(arrival, SMCR_EVENT_link_before_confirm,
                       arrival->qp->side == client
                           ? smcr_doubt_later_on(arrival, link, client, claim)
                           : smcr_doubt_before(arrival),
                       "%s before the response to CONFIRM LINK", what);
}

/* ---- LLC messages ---- */

/* The three rules above, for an LLC message. DELETE LINK may end a link whose first contact was
 * declined. */
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

/* Whether the CONFIRM LINK of a side, in version 2, has a maximum of one link. */
static bool
is_limited_to_one_link(const smcr_lgr_t *lgr)
{
    const uint8_t *max_links = smcr_rules_of_links(lgr)->max_links;

    return max_links[0] == 1 || max_links[1] == 1;
}

/* In a first contact the server offers a second link before data flow (R-3.5.1.6-1). The wire
 * shows the first RDMA WRITE of a group after its CONFIRM LINK exchange, and no ADD LINK before. A
 * peer of version 2.1 that agrees on one link needs no offer. The wire never shows why a server
 * offers none (it may have one device), so the item is strict. */
static void
check_offered(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    const smcr_rules_links_t *memory = smcr_rules_of_links(lgr);

    if (smcr_rules_of_link(link)->confirmed_time && !is_limited_to_one_link(lgr))
        smcr_breach_report(
            arrival, SMCR_EVENT_link_no_second,
            smcr_doubt_later_on(arrival, link, lgr->server,
                                claim_not_by_now(arrival, &memory->second_offered_time)),
            "Data flow before the server has offered a second link");
}

/* Whether Linux, as the sender of the packet, has stopped to wait for the second link. A server
 * waits LINUX_WAITS for the response to its ADD LINK. A client waits for ADD LINK, from its
 * CONFIRM LINK response on. */
static bool
has_given_up_second_link(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    bool by_server = arrival->qp->side == !lgr->server;
    uint64_t confirmed = smcr_rules_of_link(arrival->qp->link)->confirmed_time;
    uint64_t since =
        by_server || !confirmed ? smcr_rules_of_links(lgr)->second_offered_time : confirmed;

    return arrival->when.time >= since + LINUX_WAITS;
}

/* Data wait until the second link is confirmed or its attempt has failed (R-3.5.1.5-6,
 * R-3.5.1.6-8). The wire shows the first RDMA WRITE after ADD LINK, and neither a rejection nor
 * the response to CONFIRM LINK or DELETE LINK. Linux sends data when the response takes longer
 * than LINUX_WAITS, which excuses it. A Linux server whose own step fails sends nothing
 * (smc_llc_srv_add_link()); then the new link carries no packets, and its silence proves nothing.
 *
 * Example: the server sends ADD LINK for link 2, the client accepts, and the server writes data
 * before CONFIRM LINK flows on link 2. */
static void
check_settled(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    smcr_lgr_t *lgr = link->lgr;
    const smcr_link_t *second = smcr_rules_of_links(lgr)->second_link;
    int client = !lgr->server;
    smcr_doubt_proof_t claim =
        claim_not_by_now(arrival, &smcr_rules_of_links(lgr)->second_over_time);

    if (second->state == SMCR_LINK_DELETED)
        smcr_breach_report(
            arrival, SMCR_EVENT_link_not_confirmed,
            smcr_doubt_later_on(arrival, link, client, claim),
            "Data flow before the response to DELETE LINK for link %u, as with Linux "
            "(%s())",
            second->number,
            arrival->qp->side == client ? "smc_llc_srv_conf_link" : "smc_llc_cli_add_link");
    else if (!has_given_up_second_link(arrival, lgr))
        smcr_breach_report(arrival, SMCR_EVENT_link_data_early,
                           second->qp[client].number_known
                               ? smcr_doubt_later(arrival, lgr, client, claim)
                               : smcr_doubt_later_on(arrival, link, client, claim),
                           "Data flow before link %u is set up, or has failed", second->number);
}

/* The two rules above, for the first RDMA WRITE of a group. */
static void
check_first_data(const smcr_arrival_t *arrival)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (smcr_rules_of_links(lgr)->has_data)
        return;
    smcr_rules_links_t *memory = smcr_rules_links(arrival, lgr);
    memory->has_data = true;
    if (!lgr->first_contact_captured || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return;
    if (!memory->second_link)
        check_offered(arrival);
    else if (!memory->second_over_time)
        check_settled(arrival);
}

/* ---- operations ---- */

/* Whether the opcode is none that SMC-R uses: RDMA READ, an atomic, or a packet with immediate
 * data or with the RKey of a SEND with invalidate. */
static bool
is_foreign_operation(uint8_t opcode)
{
    return smcr_ib_fetches_data(opcode) || smcr_ib_has_immediate(opcode);
}

/* Whether the RDMA WRITE may carry immediate data: the peers of an SMCv2 group have agreed on it,
 * or the capture does not show whether they have. */
static bool
may_have_immediate(const smcr_lgr_t *lgr, uint8_t opcode)
{
    return smcr_ib_is_write(opcode) && lgr->version == 2 &&
           (lgr->immediate_agreed || !lgr->immediate_known);
}

/* A link carries RDMA WRITE and SEND, no READ and no atomics (R-4.7-1). Neither has immediate data
 * (R-4.7-2), and no SEND invalidates an RKey (R-4.7-3). The opcode alone shows the breach. Queue
 * pairs of a deleted link, or of a group whose first contact is not captured, may belong to
 * another program by now: they are excused. */
static void
check_operation(const smcr_arrival_t *arrival)
{
    uint8_t opcode = arrival->roce->opcode;
    const smcr_link_t *link = arrival->qp->link;
    bool is_smc = link->lgr->first_contact_captured && !link->deleted_frame;

    if (!is_foreign_operation(opcode) || !is_smc || may_have_immediate(link->lgr, opcode))
        return;
    if (smcr_ib_fetches_data(opcode))
        smcr_breach_report(arrival, SMCR_EVENT_rdma_operation, smcr_doubt_message(arrival),
                           "SMC-R uses RDMA WRITE and SEND only");
    else if (smcr_ib_has_invalidate(opcode))
        smcr_breach_report(arrival, SMCR_EVENT_rdma_invalidate, smcr_doubt_message(arrival),
                           "The SEND invalidates an RKey, which SMC-R does not do");
    else
        smcr_breach_report(arrival, SMCR_EVENT_rdma_immediate, smcr_doubt_message(arrival),
                           "The packet has immediate data, which SMC-R does not use");
}

/* ---- all requests ---- */

/* Most packets use an active link of a group that was not declined. They skip the four checks of
 * links that are gone or not ready. */
void
smcr_rules_check_link_use(const smcr_arrival_t *arrival)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->state != SMCR_LINK_ACTIVE || smcr_rules_of_lgr(link->lgr)->declined_time) {
        smcr_rules_check_deleted(arrival, NULL);
        check_rejected(arrival);
        check_declined(arrival);
        check_confirmed(arrival, "The link carries data");
    }
    smcr_rules_check_overdue_response(arrival);
    if (smcr_ib_is_write(arrival->roce->opcode))
        check_first_data(arrival);
    check_out_of_sync(arrival);
}

void
smcr_rules_check_request(const smcr_arrival_t *arrival)
{
    check_operation(arrival);
    if (smcr_ib_is_write(arrival->roce->opcode))
        smcr_rules_check_link_use(arrival);
}

/* ---- the attempt at a second link, remembered for the first RDMA WRITE ---- */

/* Whether the message is an offer of the server: ADD LINK that names a queue pair. */
static bool
offers_link(const smcr_exchange_message_t *message)
{
    return message->type == SMCR_LLC_ADD_LINK && !message->response &&
           message->llc->u.add_link.qpn && message->lgr->server == message->from->side;
}

/* Whether the attempt at the second link is over: it is confirmed or rejected, or both sides know
 * that it is deleted. */
static bool
is_attempt_over(const smcr_link_t *second)
{
    const smcr_rules_link_t *kept = smcr_rules_of_link(second);

    return kept->confirmed_time || second->state == SMCR_LINK_REJECTED ||
           (second->state == SMCR_LINK_DELETED && kept->end_of_use.sent);
}

/* Remembers the first offer of a second link and the end of this attempt. A response to ADD LINK
 * without an offer before it shows that the capture has the two in the wrong order, or misses the
 * offer; the attempt counts as over then. */
SMCR_RULES_LLC(note_second)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_rules_links_t *memory = smcr_rules_links(arrival, lgr);

    if (!memory->second_link && offers_link(message)) {
        memory->second_link = smcr_lgr_link(lgr, message->llc->u.add_link.link);
        memory->second_offered_time = arrival->when.time;
    }
    if (memory->second_over_time)
        return;
    bool is_over = memory->second_link ? is_attempt_over(memory->second_link)
                                  : message->type == SMCR_LLC_ADD_LINK && message->response;
    if (is_over)
        memory->second_over_time = arrival->when.time;
}

/* ---- DELETE LINK: reasons ---- */

/* The reason of DELETE LINK fits its sender and its direction (R-A.3.4-3, R-3.5.5.1.4-1). The wire
 * shows a request whose reason says that the link or group is not known, which only a response may
 * say; or a client that asks to delete one link because no program uses it, which only a server
 * decides. For the whole group a client may do so. It does no harm. */
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
        smcr_breach_report(arrival, SMCR_EVENT_delete_link_reason_kind, smcr_doubt_message(arrival),
                           "%s", what);
}

/* Returns how many other active links the group of the link has. Sets `*sharing`: how many of them
 * share a device with it, on either side. */
static unsigned
count_other_active_links(const smcr_link_t *link, unsigned *sharing)
{
    unsigned count = 0;

    *sharing = 0;
    for (const smcr_link_t *each = link->lgr->newest_link; each; each = smcr_link_older(each)) {
        if (each == link || each->state != SMCR_LINK_ACTIVE)
            continue;
        count++;
        *sharing +=
            smcr_link_shares_device(link, each, 0) || smcr_link_shares_device(link, each, 1);
    }
    return count;
}

/* The active link that the message deletes with the reason "asymmetric link no longer needed".
 * NULL: it deletes all links, gives another reason, or the link is not active. */
static const smcr_link_t *
find_replaced_asymmetric(const smcr_exchange_message_t *message)
{
    const smcr_llc_delete_link_t *request = &message->llc->u.delete_link;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, request->link);

    if (message->all_links || request->reason != SMCR_LLC_DELETE_ASYMMETRIC)
        return NULL;
    return link && link->state == SMCR_LINK_ACTIVE ? link : NULL;
}

/* The reason "asymmetric link no longer needed" is given for an asymmetric link that a symmetric
 * one replaces (R-2.2.1-3). An asymmetric link shares a device with another link; when a symmetric
 * link joins the two other devices, the group has three links. The wire shows the reason where the
 * group has fewer than two other active links, or where the link shares no device. Devices of
 * version 1 have one GID each. In version 2 a device may have several, so that no GID in common
 * proves nothing. */
SMCR_RULES_LLC(check_asymmetric)
{
    const smcr_link_t *link = find_replaced_asymmetric(message);
    unsigned sharing;

    if (!link)
        return;
    unsigned others = count_other_active_links(link, &sharing);
    if (others >= 2 && (sharing || message->llc->type & SMCR_LLC_TYPE_V2))
        return;
    smcr_breach_report(
        arrival, SMCR_EVENT_delete_link_reason,
        smcr_doubt_later_of_both(arrival, message->lgr, link, (smcr_doubt_proof_t){0}),
        others < 2 ? "No symmetric link replaces link %u" : "Link %u is no asymmetric one",
        link->number);
}

/* ---- DELETE LINK: responses ---- */

/* Whether a link of the group has, or had, the number, and fulfils `condition` (NULL: any link
 * does). */
static bool
had_link(const smcr_lgr_t *lgr, uint8_t number, bool (*condition)(const smcr_link_t *link))
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link)) {
        bool is_named = link->has_number && link->number == number;
        if (is_named && (!condition || condition(link)))
            return true;
    }
    return false;
}

/* Whether the server has deleted the link, the client has not responded, and must know the link:
 * it was in use, and the client has neither called it lost nor asked to delete it. */
static bool
is_deleted_by_server(const smcr_link_t *link)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);
    bool was_in_use = memory->was_active && !link->reported_lost;

    return link->deleted_frame && !memory->end_of_use.sent && was_in_use &&
           !memory->delete_asked_time;
}

/* A client cannot refuse to delete a link (R-3.5.5.1.3-1); it responds "unknown link" only where
 * it does not know the link (R-C.7-12). The wire shows this response for a link that was in use,
 * or a consent for a number that no link of the group ever had. Linux clears a link at once when
 * it has asked to delete it or has lost it: "unknown link" is right for such a link. */
SMCR_RULES_LLC(check_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    const smcr_lgr_t *lgr = message->lgr;
    bool refuses = consent->reason == SMCR_LLC_DELETE_UNKNOWN_LINK;

    if (message->all_links || lgr->server != message->to->side)
        return;
    if (had_link(lgr, consent->link, refuses ? is_deleted_by_server : NULL) != refuses)
        return;
    smcr_breach_report(arrival, SMCR_EVENT_delete_link_answer,
                       smcr_doubt_group(arrival, message->lgr),
                       refuses ? "Link %u was in use, and the client has not asked to delete it"
                               : "The group never had a link %u; the response does not say so",
                       consent->link);
}

/* ---- the end of a link, remembered for later messages ---- */

/* Remembers when the client asks to delete the link. */
SMCR_RULES_LLC(note_unwanted)
{
    smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->u.delete_link.link);

    if (link && message->lgr->server == message->to->side && !message->all_links)
        smcr_rules_link(arrival, link)->delete_asked_time = arrival->when.time;
}

/* With this message its sender stops to use the link, and its receiver does so when it has seen
 * it. Where the server is not known, DELETE LINK may be a client's request, which ends nothing. */
static void
note_end_of_use(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (message->lgr->server != SMCR_LGR_SIDE_UNKNOWN)
        smcr_arrival_track(message->arrival, &smcr_rules_link(message->arrival, link)->end_of_use);
}

/* Remembers whether the link was active when the server deleted it. */
static void
note_deletion(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (link->state != SMCR_LINK_REJECTED)
        smcr_rules_link(message->arrival, link)->was_active = link->state == SMCR_LINK_ACTIVE;
}

/* The server deletes one link, or all links of the group. Both sides may use one link until the
 * response; all links end at once, since no response follows (3.5.5.1.3). */
SMCR_RULES_LLC(note_deleted)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_link_t *link = smcr_lgr_link(lgr, message->llc->u.delete_link.link);

    if (lgr->server == message->to->side ||
        message->llc->u.delete_link.reason >= SMCR_LLC_DELETE_UNKNOWN_LINK)
        return;
    SMCR_LIST_EACH(smcr_link_t *, each, message->all_links ? lgr->links : NULL) {
        note_deletion(message, each);
        note_end_of_use(message, each);
    }
    if (!message->all_links && link)
        note_deletion(message, link);
}

/* Whether the link has this number, and its deletion waits for the response. */
static bool
awaits_consent(const smcr_link_t *link, uint8_t number)
{
    return link->deleted_frame && link->number == number &&
           !smcr_rules_of_link(link)->end_of_use.sent;
}

/* The response to DELETE LINK ends the use of the link, unless it says that there is no such link.
 */
SMCR_RULES_LLC(note_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    smcr_link_t *link = message->lgr->newest_link;

    while (link && !awaits_consent(link, consent->link))
        link = smcr_link_older(link);
    if (link && consent->reason < SMCR_LLC_DELETE_UNKNOWN_LINK)
        note_end_of_use(message, link);
}
