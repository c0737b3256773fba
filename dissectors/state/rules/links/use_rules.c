/* Rules for the use of a link. A link carries only operations of SMC-R. A peer uses a link only
 * after its confirmation, and not after its rejection or deletion. In a first contact, data waits
 * until the attempt at a second link is over. DELETE LINK has a fitting reason and response (RFC
 * 7609 3.5.1, 3.5.4, 3.5.5.1, 4.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define LINUX_WAITS (2 * SMCR_TIME_SECOND) /* time for which Linux waits for ADD LINK, and
                                              for the response to it (SMC_LLC_WAIT_TIME in
                                              smc_llc.h) */
#define CLEAN_UP SMCR_TIME_SECOND          /* time that a host gets to end a link group; an
                                              assumption: RFC 7609 sets no limit */

/* Makes the claim that an event has not happened before the arriving packet. `*time`: time of the
 * event, nanoseconds since the epoch; 0: the event has not happened. An event up to
 * SMCR_TIME_DISORDER after the packet refutes the claim, too, since frames of nearly the same time
 * may be in the wrong order in the capture. */
static smcr_doubt_proof_t
claim_not_by_now(const smcr_arrival_t *arrival, const uint64_t *time)
{
    return smcr_doubt_not_by(time, arrival->when.time + SMCR_TIME_DISORDER);
}

/* ---- deleted and rejected links ---- */

/* The reason to doubt that the sender of the packet knows that the link is no longer used. The
 * sender certainly knows when the message that ended the use (smcr_rules_link_t.end_of_use) was
 * acknowledged long enough before (smcr_doubt_seen()). */
static smcr_doubt_t
doubt_gone(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    const smcr_link_sent_message_t *gone = &smcr_rules_of_link(link)->end_of_use;

    return smcr_doubt_or(smcr_doubt_message(arrival),
                         smcr_doubt_seen(arrival, gone->sent, gone->acked));
}

/* A link is not used after its deletion (R-3.5.4-2, R-3.5.5.1.3-2, R-C.7-2). Both sides may use the
 * link until the response to DELETE LINK. A request on the link breaks the rule if its sender has
 * sent or seen this response. The sender has certainly seen the response if it was acknowledged a
 * round trip before.
 *
 * Example: the client responds to DELETE LINK for link 2, and the server acknowledges the response.
 * A second later the server sends an RDMA WRITE on link 2. */
SMCR_RULES_LLC(check_deleted)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->deleted_frame)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_after_delete, doubt_gone(arrival, link),
                                  "The link was deleted in frame %u", link->deleted_frame);
}

/* A rejected link is not used (R-3.5.1.6-9). A request on a link breaks the rule if a response to
 * ADD LINK has rejected the link. The check needs both queue pairs of the link: a link with only
 * one known queue pair may be another link by now. */
static void
check_rejected(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;

    if (link->state == SMCR_LINK_REJECTED && link->qp[0].number_known && link->qp[1].number_known)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_link_refused_used,
            smcr_doubt_or(doubt_gone(arrival, link), smcr_doubt_link(arrival, link)),
            "Link %u was rejected", link->number);
}

/* A Decline ends the link group that its first contact has begun (R-3.5.1.6.4-2). A request on a
 * link of the group breaks the rule if the group's only connection was declined more than a second
 * before. This time is enough for the reactions of both hosts, and for the difference of clocks if
 * TCP and RoCE are captured at two places. A group with another connection was not ended by the
 * Decline. */
static void
check_declined(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    uint64_t declined = smcr_rules_of_lgr(lgr)->declined_time;
    bool has_one_conn = smcr_lgr_has_one_conn(lgr);

    if (declined && arrival->when.time > declined + SMCR_TIME_SECOND && has_one_conn)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_refused_used,
                                  smcr_doubt_link(arrival, link),
                                  "The first contact of the link group was declined in frame %u",
                                  lgr->newest_conn->decline_frame);
}

/* The receiver of a Decline with the S flag (out of sync) ends the link group (R-A.2.5-2). The
 * receiver breaks the rule if it uses a link of the group more than CLEAN_UP after it has seen the
 * Decline. Data of the application that the receiver sends on TCP proves that it has seen the
 * Decline (tcp_rules.c). `kept`: what rules keep of the link group. */
static void
check_out_of_sync(const smcr_arrival_t *arrival, const smcr_rules_lgr_t *kept)
{
    smcr_link_t *link = arrival->qp->link;

    if (kept->out_of_sync_time && arrival->qp->side != kept->out_of_sync_side &&
        arrival->when.time > kept->out_of_sync_time + CLEAN_UP)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_link_out_of_sync,
            smcr_doubt_or(smcr_doubt_link(arrival, link), smcr_doubt_place(arrival)),
            "The sender was requested to end the link group");
}

/* ---- links that are not ready ---- */

/* Whether an announced link has had no response to CONFIRM LINK, as far as the capture shows. */
static bool
is_unconfirmed(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && !smcr_rules_of_link(link)->confirmed_time;
}

/* A link carries only CONFIRM LINK until the client has responded to it (R-3.5.1.5-5). Another
 * message or data on an announced link breaks the rule if there is no such response. `what`: this
 * message or data, for the text of the event. A packet of the client is in the same flow as the
 * client's response, so the order in this flow is proof enough. For a packet of the server, the
 * client's flow must prove that no response came before. Not judged if the first contact is not
 * captured, or if it is not known which side is the server. */
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
    smcr_breach_report_unless(arrival, SMCR_EVENT_link_before_confirm, arrival->qp->side == client
                              ? smcr_doubt_later_on(arrival, link, client, claim)
                              : smcr_doubt_before(arrival),
                              "%s before the response to CONFIRM LINK", what);
}

/* ---- LLC messages ---- */

/* The rules of check_rejected(), check_confirmed() and check_declined(), for an LLC message.
 * CONFIRM LINK belongs to the setup of the link, so only the first rule applies to it. DELETE LINK
 * may end a link whose first contact was declined, so the third rule does not apply to it. */
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

/* Whether CONFIRM LINK of one side has a maximum of one link. This is possible in version 2
 * only. */
static bool
is_limited_to_one_link(const smcr_lgr_t *lgr)
{
    const uint8_t *max_links = smcr_rules_of_links(lgr)->max_links;

    return max_links[0] == 1 || max_links[1] == 1;
}

/* In a first contact the server offers a second link before data flows (R-3.5.1.6-1). The first
 * RDMA WRITE of a group breaks the rule if it comes after the CONFIRM LINK exchange, and no ADD
 * LINK came before. Peers of version 2.1 that agree on one link need no offer. The capture never
 * shows why a server offers no link: the server may have only one device. */
static void
check_offered(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    const smcr_lgr_t *lgr = link->lgr;
    const smcr_rules_links_t *memory = smcr_rules_of_links(lgr);

    if (smcr_rules_of_link(link)->confirmed_time && !is_limited_to_one_link(lgr))
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_no_second,
                                  smcr_doubt_later_on(arrival, link, lgr->server,
                                  claim_not_by_now(arrival, &memory->second_offered_time)),
                                  "Data flow before the server has offered a second link");
}

/* Whether the packet's sender, if it is Linux, has given up the second link. A Linux server waits
 * LINUX_WAITS for the response to its ADD LINK. A Linux client waits LINUX_WAITS for ADD LINK, from
 * its CONFIRM LINK response on; if this response is not captured, the time counts from ADD LINK. */
static bool
has_given_up_second_link(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    bool by_server = arrival->qp->side == !lgr->server;
    uint64_t confirmed = smcr_rules_of_link(arrival->qp->link)->confirmed_time;
    uint64_t since =
        by_server || !confirmed ? smcr_rules_of_links(lgr)->second_offered_time : confirmed;

    return arrival->when.time >= since + LINUX_WAITS;
}

/* Data waits until the second link is confirmed or its attempt has failed (R-3.5.1.5-6,
 * R-3.5.1.6-8). The first RDMA WRITE breaks the rule if it comes after ADD LINK, but before the
 * attempt is over. The attempt is over with a rejection, or with the response to CONFIRM LINK or
 * DELETE LINK. Linux may send data after it has given up the attempt (has_given_up_second_link()).
 * A Linux server may also fail without a message (smc_llc_srv_add_link()): then the new link has no
 * packets, and nothing is reported. If the server has already sent DELETE LINK for the new link,
 * and only the response is missing, the event is another one (link_not_confirmed).
 *
 * Example: the server sends ADD LINK for link 2, and the client accepts. The server writes data
 * before it sends CONFIRM LINK on link 2. */
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
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_link_not_confirmed,
            smcr_doubt_later_on(arrival, link, client, claim),
            "Data flow before the response to DELETE LINK for link %u, as with Linux "
            "(%s())", second->number,
            arrival->qp->side == client ? "smc_llc_srv_conf_link" : "smc_llc_cli_add_link");
    else if (!has_given_up_second_link(arrival, lgr))
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_data_early,
                                  second->qp[client].number_known
                                  ? smcr_doubt_later(arrival, lgr, client, claim)
                                  : smcr_doubt_later_on(arrival, link, client, claim),
                                  "Data flow before link %u is set up, or has failed",
                                  second->number);
}

/* The rules of check_offered() and check_settled(), for the first RDMA WRITE of a group. Not judged
 * if the first contact is not captured, or if it is not known which side is the server. */
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

/* Whether SMC-R does not use the opcode. There are three kinds: 1. RDMA READ and atomics; 2.
 * packets with immediate data; 3. SEND with invalidate, whose RKey stands in place of immediate
 * data, so that `has_immediate` is set. */
static bool
is_foreign_operation(const smcr_ib_operation_t *operation)
{
    return operation->fetches_data || operation->has_immediate;
}

/* Whether the RDMA WRITE may have immediate data: the peers of an SMCv2 group have agreed on it, or
 * the capture does not show whether they have. */
static bool
may_have_immediate(const smcr_lgr_t *lgr, const smcr_ib_operation_t *operation)
{
    return operation->is_write && lgr->version == 2 &&
           (lgr->immediate_agreed || !lgr->immediate_known);
}

/* A link carries RDMA WRITE and SEND, but no READ and no atomics (R-4.7-2). A WRITE has no
 * immediate data, unless an SMCv2 group may have agreed on it (R-4.7-1, may_have_immediate()). A
 * SEND has no immediate data, and invalidates no RKey (R-4.7-3). No other packet is needed to prove
 * the breach. Not judged are packets of a deleted link, and of a group whose first contact is not
 * captured: the queue pair may now belong to another program. */
static void
check_operation(const smcr_arrival_t *arrival)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[arrival->roce->opcode];
    const smcr_link_t *link = arrival->qp->link;
    bool is_smc = link->lgr->first_contact_captured && !link->deleted_frame;

    if (!is_foreign_operation(operation) || !is_smc || may_have_immediate(link->lgr, operation))
        return;
    if (operation->fetches_data)
        smcr_breach_report(arrival, SMCR_EVENT_rdma_operation,
                           "SMC-R uses RDMA WRITE and SEND only");
    else if (operation->has_invalidate)
        smcr_breach_report(arrival, SMCR_EVENT_rdma_invalidate,
                           "The SEND invalidates an RKey, which SMC-R does not do");
    else
        smcr_breach_report(arrival, SMCR_EVENT_rdma_immediate,
                           "The packet has immediate data, which SMC-R does not use");
}

/* ---- all requests ---- */

/* Most packets use an active link of a group that was not declined. For these packets, the four
 * checks for deleted, rejected, declined and unconfirmed links are skipped. */
void
smcr_rules_check_link_use(const smcr_arrival_t *arrival)
{
    const smcr_link_t *link = arrival->qp->link;
    const smcr_rules_lgr_t *kept = smcr_rules_of_lgr(link->lgr);

    if (link->state != SMCR_LINK_ACTIVE || kept->declined_time) {
        smcr_rules_check_deleted(arrival, NULL);
        check_rejected(arrival);
        check_declined(arrival);
        check_confirmed(arrival, "The link carries data");
    }
    smcr_rules_check_overdue_response(arrival);
    if (smcr_ib_operations[arrival->roce->opcode].is_write)
        check_first_data(arrival);
    check_out_of_sync(arrival, kept);
}

void
smcr_rules_check_request(const smcr_arrival_t *arrival)
{
    check_operation(arrival);
    if (smcr_ib_operations[arrival->roce->opcode].is_write)
        smcr_rules_check_link_use(arrival);
}

/* ---- memory of the attempt at a second link ---- */

/* Whether the message is an offer of the server: ADD LINK that names a queue pair. */
static bool
offers_link(const smcr_exchange_message_t *message)
{
    return message->type == SMCR_LLC_ADD_LINK && !message->response &&
           message->llc->u.add_link.qpn && message->lgr->server == message->from->side;
}

/* Whether the attempt at the second link is over: the link is confirmed or rejected, or both sides
 * know that it is deleted. */
static bool
is_attempt_over(const smcr_link_t *second)
{
    const smcr_rules_link_t *kept = smcr_rules_of_link(second);

    return kept->confirmed_time || second->state == SMCR_LINK_REJECTED ||
           (second->state == SMCR_LINK_DELETED && kept->end_of_use.sent);
}

/* Remembers the first offer of a second link, and the end of this attempt. If a response to ADD
 * LINK comes without an offer before it, the offer is missing, or comes later in the capture. Then
 * the attempt counts as over. */
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

/* ---- reasons of DELETE LINK ---- */

/* Some reasons in DELETE LINK are only for a response, and some only for the server (R-A.3.4-3,
 * R-3.5.5.1.4-1). There are two breaches: 1. A request has the reason that the link or group is not
 * known, which is for responses. 2. A client's request for one link has the reason that no program
 * uses the link, which only a server decides. For the whole group a client may give this reason. A
 * breach is harmless. */
SMCR_RULES_LLC(check_reason)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    bool by_client = message->lgr->server == message->to->side;
    const char *what = NULL;

    if (reason == SMCR_LLC_DELETE_UNKNOWN_LINK || reason == SMCR_LLC_DELETE_UNKNOWN_GROUP)
        what = "This is a reason for a response";
    else if (by_client && !message->all_links && reason == SMCR_LLC_DELETE_PROGRAM)
        what = "A client does not delete a link because it is unused";
    if (what)
        smcr_breach_report(arrival, SMCR_EVENT_delete_link_reason_kind, "%s", what);
}

/* Returns how many other active links the group of the link has. Sets `*sharing` to the number of
 * these links that share a device with the link, on either side. */
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

/* Returns the active link that the message deletes with the reason "asymmetric link no longer
 * needed". NULL: the message deletes all links, gives another reason, or names no active link. */
static const smcr_link_t *
find_replaced_asymmetric(const smcr_exchange_message_t *message)
{
    const smcr_llc_delete_link_t *request = &message->llc->u.delete_link;
    const smcr_link_t *link = smcr_lgr_link(message->lgr, request->link);

    if (message->all_links || request->reason != SMCR_LLC_DELETE_ASYMMETRIC)
        return NULL;
    return link && link->state == SMCR_LINK_ACTIVE ? link : NULL;
}

/* The reason "asymmetric link no longer needed" is for an asymmetric link that a symmetric one
 * replaces (R-2.2.1-3). An asymmetric link shares a device with another link. With the symmetric
 * link that replaces it, the group has three links. A request with this reason breaks the rule in
 * two cases: 1. the group has fewer than two other active links; 2. the link shares no device with
 * another link. In version 1 a device has one GID, so different GIDs prove different devices. In
 * version 2 a device may have several GIDs, so only case 1 is checked. */
SMCR_RULES_LLC(check_asymmetric)
{
    const smcr_link_t *link = find_replaced_asymmetric(message);
    unsigned sharing;

    if (!link)
        return;
    unsigned others = count_other_active_links(link, &sharing);
    if (others >= 2 && (sharing || message->llc->type & SMCR_LLC_TYPE_V2))
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_delete_link_reason,
        smcr_doubt_later_of_both(arrival, message->lgr, link, (smcr_doubt_proof_t){0}),
        others < 2 ? "No symmetric link replaces link %u" : "Link %u is no asymmetric one",
        link->number);
}

/* ---- responses to DELETE LINK ---- */

/* Whether a link of the group has or had this number, and `condition` is true for the link.
 * `condition` NULL: any link with this number counts. */
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

/* Whether the response "unknown link" of the client to the server's deletion of the link is wrong:
 * the client must still know the link. Three conditions: 1. the server has deleted the link; 2. the
 * client has not responded yet; 3. the link was in use, and the client has neither reported the
 * link as lost nor asked to delete it. */
static bool
is_deleted_by_server(const smcr_link_t *link)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);
    bool was_in_use = memory->was_active && !link->lost_frame;

    return link->deleted_frame && !memory->end_of_use.sent && was_in_use &&
           !memory->delete_asked_time;
}

/* A client cannot refuse to delete a link (R-3.5.5.1.3-1). The client responds "unknown link" only
 * if it does not know the link (R-C.7-12). The response to DELETE LINK breaks the rule in two
 * cases:
 *
 * 1. It has the reason "unknown link" for a link that was in use. A Linux client forgets a link at
 *    once when it has asked to delete the link, or has lost the link: then the reason is right
 *    (is_deleted_by_server()).
 * 2. It agrees to delete a number that no link of the group ever had. */
SMCR_RULES_LLC(check_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    const smcr_lgr_t *lgr = message->lgr;
    bool refuses = consent->reason == SMCR_LLC_DELETE_UNKNOWN_LINK;

    if (message->all_links || lgr->server != message->to->side)
        return;
    if (had_link(lgr, consent->link, refuses ? is_deleted_by_server : NULL) != refuses)
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_delete_link_answer, smcr_doubt_group(arrival, message->lgr),
        refuses ? "Link %u was in use, and the client has not requested its deletion"
        : "The group never had a link %u; the response does not report that", consent->link);
}

/* ---- memory of the end of a link ---- */

/* Remembers the time when the client asks to delete the link. */
SMCR_RULES_LLC(note_unwanted)
{
    smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->u.delete_link.link);

    if (link && message->lgr->server == message->to->side && !message->all_links)
        smcr_rules_link(arrival, link)->delete_asked_time = arrival->when.time;
}

/* Remembers the message that ends the use of the link. The sender stops using the link with this
 * message, the receiver when it has seen the message. If it is not known which side is the server,
 * nothing is remembered: DELETE LINK may be a client's request, which does not end the use of the
 * link. */
static void
note_end_of_use(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (message->lgr->server != SMCR_LGR_SIDE_UNKNOWN)
        smcr_arrival_track(message->arrival, &smcr_rules_link(message->arrival, link)->end_of_use);
}

/* Remembers whether the link was active when the server deleted it. A rejected link never was a
 * link of the group, so nothing is remembered of it. */
static void
note_deletion(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (link->state != SMCR_LINK_REJECTED)
        smcr_rules_link(message->arrival, link)->was_active = link->state == SMCR_LINK_ACTIVE;
}

/* Remembers that the server deletes one link, or all links of the group. A link that DELETE LINK
 * names alone may be used until the response. With DELETE LINK for all links their use ends at
 * once, since no response follows (3.5.5.1.3). A request with a reason that is only for responses
 * (check_reason()) deletes no link. */
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

/* Whether the link has this number, was deleted by the server, and still waits for the client's
 * response. */
static bool
awaits_consent(const smcr_link_t *link, uint8_t number)
{
    return link->deleted_frame && link->number == number &&
           !smcr_rules_of_link(link)->end_of_use.sent;
}

/* Remembers that the response to DELETE LINK ends the use of the link. A response with the reason
 * "unknown link" changes nothing. */
SMCR_RULES_LLC(note_consent)
{
    const smcr_llc_delete_link_t *consent = &message->llc->u.delete_link;
    smcr_link_t *link = message->lgr->newest_link;

    while (link && !awaits_consent(link, consent->link))
        link = smcr_link_older(link);
    if (link && consent->reason < SMCR_LLC_DELETE_UNKNOWN_LINK)
        note_end_of_use(message, link);
}
