/* What CLC, CONFIRM LINK and ADD LINK may say of a link: VLAN, MAC address, number, user ID,
 * maximum of links, queue pairs, devices (RFC 7609 2.2, 3.5.1, A.3.1, A.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define SETTLED_IN 10 /* seconds: both sides of Linux give up after 5 (smc_llc.h) */
#define NUMBERS_SURE 128 /* links, above which a server may have used all 255 numbers */

/* ---- queue pairs, on their VLAN ---- */

/* Whether the queue pair can be reached through routers: its GID is not link-local (fe80::/16), or
 * not known. */
static bool
is_routable(const smcr_qp_t *qp)
{
    return !qp->gid_known || qp->key.gid[0] != 0xfe || qp->key.gid[1] != 0x80;
}

/* A link group has one VLAN, that of its TCP connections (R-2-1). The wire shows an LLC message
 * with another VLAN tag than the group's first CLC message. Excused are packets without a tag,
 * which the capture point may have stripped, and packets that may be routed, which have another
 * VLAN behind the router. */
static void
check_vlan(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    unsigned vlan = smcr_rules_of_links(qp->link->lgr)->vlan;
    bool has_tags = arrival->vlan && vlan;

    if (has_tags && arrival->vlan != vlan && !is_routable(qp))
        smcr_breach_report(arrival, SMCR_EVENT_link_vlan, smcr_doubt_message(arrival),
                           "The message is on VLAN %u, but the group on VLAN %u", arrival->vlan,
                           vlan);
}

/* Whether CLC or LLC has announced another MAC address (6 bytes) for the queue pair. */
static bool
has_other_mac(const smcr_qp_t *qp, const uint8_t *mac)
{
    const smcr_rules_qp_t *told = &smcr_rules_of_link(qp->link)->qp[qp->side];

    return told->has_mac && memcmp(told->mac, mac, SMCR_WIRE_MAC_LENGTH) != 0;
}

/* Remembers the MAC address (6 bytes) of the queue pair. */
static void
note_mac_of_qp(const smcr_arrival_t *arrival, const smcr_qp_t *qp, const uint8_t *mac)
{
    smcr_rules_qp_t *told = &smcr_rules_link(arrival, qp->link)->qp[qp->side];

    told->has_mac = true;
    memcpy(told->mac, mac, SMCR_WIRE_MAC_LENGTH);
}

/* The group has the VLAN of the first CLC message that has a tag. */
static void
note_vlan(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    if (arrival->vlan && !smcr_rules_of_links(lgr)->vlan)
        smcr_rules_links(arrival, lgr)->vlan = arrival->vlan;
}

/* A queue pair has one MAC address (R-3.5.2-1, R-3.5.2-5). The wire shows an Accept or Confirm of
 * a later contact that names a known queue pair with another MAC address. */
SMCR_RULES_CLC(check_qp)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    smcr_lgr_t *lgr = qp->link->lgr;
    bool same = smcr_qp_has_key(qp, accept->gid, accept->qpn);
    bool known = smcr_rules_of_link(qp->link)->qp[qp->side].has_mac;

    if (same && lgr->first_contact_captured && has_other_mac(qp, accept->mac))
        smcr_breach_report(arrival, SMCR_EVENT_clc_peer_changed, smcr_doubt_message(arrival),
                           "The MAC is not that of the queue pair");
    if (conn->first_contact || (same && !known))
        note_mac_of_qp(arrival, qp, accept->mac);
    note_vlan(arrival, lgr);
    check_vlan(arrival, qp);
}

/* ---- CONFIRM LINK ---- */

/* The rule of VLANs above, for CONFIRM LINK. */
SMCR_RULES_LLC(check_vlan)
{
    check_vlan(arrival, message->from);
}

/* CONFIRM LINK has the MAC address that CLC or ADD LINK has announced for its sender
 * (R-3.5.1.5-2). */
SMCR_RULES_LLC(check_mac)
{
    if (has_other_mac(message->from, message->llc->u.confirm_link.mac))
        smcr_breach_report(arrival, SMCR_EVENT_link_mismatch, smcr_doubt_message(arrival),
                           "The message names another MAC address than was announced for this end");
}

/* Whether the message is no first request that the capture has after its own response. */
static bool
is_in_order(const smcr_exchange_message_t *message)
{
    const smcr_link_t *link = message->link;

    return message->response || link->confirm_frame || !smcr_rules_of_link(link)->confirmed_time;
}

/* CONFIRM LINK has the number that ADD LINK has given to the link, and the response repeats the
 * number of the request (R-3.5.1.5-3, R-2.2.4-2). The wire shows another number. A capture may
 * have the response before the request; then either may be the wrong one, so that such a request
 * is not judged. A response whose request is captured is compared with that (check_echo). */
SMCR_RULES_LLC(check_link_number)
{
    const smcr_link_t *link = message->link;
    uint8_t number = message->llc->u.confirm_link.link;
    bool differs = link->has_number && link->number != number;

    if (differs && !message->requested && is_in_order(message))
        smcr_breach_report(arrival, SMCR_EVENT_link_mismatch, smcr_doubt_message(arrival),
                           "The link number is %u, but the link was announced as %u", number,
                           link->number);
}

/* Whether another active link of the group has this user ID on the side of the sender. */
static bool
has_user_id(const smcr_link_t *link, int side, uint32_t id)
{
    return link->state == SMCR_LINK_ACTIVE && smcr_rules_of_link(link)->qp[side].user_id == id;
}

/* A link user ID is unique in its peer (R-2.2.4-3). The wire shows the user ID of another active
 * link of the group. Links of other groups are not compared: the capture may miss their end. */
SMCR_RULES_LLC(check_user_id)
{
    int side = message->from->side;
    uint32_t id = message->llc->u.confirm_link.user_id;

    smcr_rules_link(arrival, message->link)->qp[side].user_id = id;
    if (message->lgr->oldest_kept_link || !id)
        return;
    for (const smcr_link_t *other = message->lgr->newest_link; other;
         other = smcr_link_older(other))
        if (other != message->link && has_user_id(other, side, id))
            smcr_breach_report(arrival, SMCR_EVENT_link_user_id_reused, smcr_doubt_message(arrival),
                               "Link %u has the user ID 0x%08x, too", other->number, id);
}

/* The maximum of links that the server has announced; 0: not known. */
static uint8_t
maximum_of_server(const smcr_lgr_t *lgr)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? 0
                                                : smcr_rules_of_links(lgr)->max_links[lgr->server];
}

/* Whether the side announces another maximum than before. The one that both sides have agreed on
 * is right, too; 0 accepts the server's. */
static bool
changes_maximum(const smcr_lgr_t *lgr, uint8_t before, uint8_t now)
{
    return before && now && now != before && now != smcr_rules_max_links(lgr);
}

/* Whether the message may have this maximum. One link is possible in version 2 only. */
static bool
is_valid_maximum(const smcr_llc_t *llc, uint8_t maximum)
{
    return maximum <= SMCR_WIRE_LINKS_MAX && (maximum > 1 || llc->type & SMCR_LLC_TYPE_V2);
}

/* The client's maximum of links is not above the server's (R-2.2.2-2), and each maximum stays for
 * the life of the group (R-2.2.2-3). The wire shows a CONFIRM LINK response with a higher number
 * than the server's, or a number other than that of an earlier CONFIRM LINK of this side. */
SMCR_RULES_LLC(check_maximum)
{
    smcr_lgr_t *lgr = message->lgr;
    uint8_t maximum = message->llc->u.confirm_link.max_links;
    uint8_t *kept = &smcr_rules_links(arrival, lgr)->max_links[message->from->side];
    uint8_t server = maximum_of_server(lgr);

    if (message->response && server && maximum > server)
        smcr_breach_report(arrival, SMCR_EVENT_link_max_changed, smcr_doubt_message(arrival),
                           "The client has a maximum of %u links, but the server's is %u", maximum,
                           server);
    else if (changes_maximum(lgr, *kept, maximum))
        smcr_breach_report(arrival, SMCR_EVENT_link_max_changed, smcr_doubt_group(arrival, lgr),
                           "The maximum is %u, but was %u before", maximum, *kept);
    if (!*kept && is_valid_maximum(message->llc, maximum))
        *kept = maximum;
}

/* CONFIRM LINK comes once for each link (R-A.3.1-2). The wire shows a second request of the server
 * for a confirmed link. */
SMCR_RULES_LLC(check_once)
{
    if (message->link->confirm_frame && message->lgr->server == message->from->side)
        smcr_breach_report(arrival, SMCR_EVENT_link_confirmed_twice,
                           smcr_doubt_link(arrival, message->link),
                           "Link %u has been confirmed before", message->link->number);
}

/* A server that finds that a new link joins the same two devices as another one deletes it
 * (R-C.7-9). The wire shows that it sends CONFIRM LINK for such a link instead. */
SMCR_RULES_LLC(check_parallel)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_PARALLEL)
        smcr_breach_report(
            arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
            "The server goes on with link %u, which joins the same two devices as another "
            "one",
            message->link->number);
}

/* A client does not confirm a link of which CONFIRM LINK says something else than CLC or ADD LINK
 * (R-C.7-7). The wire shows its response to such a request (note_mismatch). */
SMCR_RULES_LLC(check_mismatch)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_MISMATCH &&
        arrival->record->ends_exchange)
        smcr_breach_report(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                           "The client confirms a link of which the server has said something else "
                           "before, as Linux does (smcr_clnt_conf_first_link())");
}

/* Whether CONFIRM LINK names another queue pair than CLC or ADD LINK has announced for its sender.
 */
static bool
names_other_qp(const smcr_qp_t *from, const smcr_llc_confirm_link_t *confirm)
{
    return from->key.qpn >= SMCR_WIRE_QPN_MIN && !smcr_qp_has_key(from, confirm->gid, confirm->qpn);
}

/* Remembers that the request has another MAC address, queue pair or link number than was
 * announced. */
SMCR_RULES_LLC(note_mismatch)
{
    const smcr_qp_t *from = message->from;
    const smcr_link_t *link = message->link;
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    bool has_other_number = link->has_number && link->number != confirm->link;

    if (has_other_number || has_other_mac(from, confirm->mac) || names_other_qp(from, confirm))
        smcr_rules_link(arrival, message->link)->faults |= SMCR_RULES_FAULT_MISMATCH;
}

/* Both sides have eyecatchers at the begin of their RMB elements, or neither has (R-4.2-2).
 * CONFIRM LINK reports the byte at which data begin. Linux has none, and declines where the other
 * side has (smc_llc_eval_conf_link()). */
SMCR_RULES_LLC(check_eyecatchers)
{
    const smcr_lgr_t *lgr = message->lgr;

    if (lgr->base_known[0] && lgr->base_known[1] && lgr->base[0] != lgr->base[1])
        smcr_breach_report(
            arrival, SMCR_EVENT_link_eyecatcher_differs, smcr_doubt_message(arrival), "%s",
            lgr->base[lgr->server] ? "The server has eyecatchers, the client has none"
                                   : "The client has eyecatchers, the server has none");
}

/* Remembers when the link was confirmed, and counts the links of the group. */
SMCR_RULES_LLC(note_confirmed)
{
    smcr_rules_link_t *memory = smcr_rules_link(arrival, message->link);

    if (memory->confirmed_time)
        return;
    memory->confirmed_time = arrival->when.time;
    if (message->lgr->server != SMCR_LGR_SIDE_UNKNOWN)
        smcr_rules_check_link_limits(arrival);
}

/* ---- ADD LINK ---- */

/* Whether the link has used this number: it was active or confirmed. An offer that was rejected is
 * no link. */
static bool
has_used_number(const smcr_link_t *link, uint8_t number)
{
    return link->has_number && link->number == number &&
           (link->state == SMCR_LINK_ACTIVE || smcr_rules_of_link(link)->confirmed_time);
}

/* A new link has a number that no other link has (R-2.2.4-2), and that no link has had, until all
 * numbers were used (R-2.2.4-1). The wire shows ADD LINK with the number of an earlier link of the
 * group. After NUMBERS_SURE links the server may have used all others, since it does not report
 * every number. */
static void
check_new_number(const smcr_arrival_t *arrival, uint8_t number)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *same = NULL;
    unsigned count = 0;

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link), count++)
        if (has_used_number(link, number))
            same = link;
    if (same && count < NUMBERS_SURE)
        smcr_breach_report(arrival, SMCR_EVENT_link_number_reused, smcr_doubt_group(arrival, lgr),
                           "Number %u is that of a link which the group has had since frame %u",
                           number, same->added_frame);
}

/* Whether the response gives another reason than "invalid MTU". Linux has no room for a reason in
 * messages of version 2. */
static bool
gives_wrong_reason(const smcr_llc_t *llc)
{
    return !(llc->type & SMCR_LLC_TYPE_V2) &&
           llc->u.add_link.reject_reason != SMCR_LLC_REJECT_INVALID_MTU;
}

/* The client rejects an offer whose MTU code is not defined, with reason 2 (R-C.7-8). The wire
 * shows a response to such an ADD LINK that accepts, or that rejects with another reason. Linux
 * does both. */
static void
check_mtu_answer(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *link = smcr_lgr_link(lgr, llc->u.add_link.link);

    if (!link || link->state != SMCR_LINK_ANNOUNCED || !arrival->record->ends_exchange)
        return;
    uint8_t code = link->qp[arrival->qp->side].mtu; /* of the request */
    if (smcr_mtu_bytes(code))
        return;
    if (!(llc->flags & SMCR_LLC_FLAG_REJECTED))
        smcr_breach_report(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                           "The client accepts the undefined MTU code %u, as Linux does above 0 "
                           "(smc_llc_cli_add_link())", code);
    else if (gives_wrong_reason(llc))
        smcr_breach_report(
            arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
            "The client rejects the undefined MTU code %u with reason %u instead of 2, as "
            "Linux does (smc_llc_cli_add_link())",
            code, llc->u.add_link.reject_reason);
}

/* The new link has queue pairs of its own (R-A.3.2-8). The wire shows ADD LINK, or an accepting
 * response, that names the queue pair which sends it. Whether other queue pairs are free the wire
 * does not show. */
static void
check_new_qp(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    const smcr_qp_t *from = message->from;
    bool rejects = message->response && message->rejects;

    if (!rejects && from->number_known && smcr_qp_has_key(from, add->gid, add->qpn))
        smcr_breach_report(message->arrival, SMCR_EVENT_link_qpn_in_use,
                           smcr_doubt_message(message->arrival),
                           "The queue pair 0x%06x has sent this message", add->qpn);
}

/* The rules of ADD LINK: for the client's response, the server's offer, and the client's wish,
 * which names no queue pair. */
SMCR_RULES_LLC(check_add_link)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    bool by_client = message->lgr->server == message->to->side;

    if (message->response) {
        if (!by_client)
            return;
        check_new_qp(message);
        check_mtu_answer(arrival, message->llc);
    } else if (message->by_server) {
        check_new_qp(message);
        check_new_number(arrival, add->link);
    } else if (by_client && !add->qpn) {
        smcr_rules_check_link_wish(arrival, add);
    }
}

/* The doubt whether the capture misses the deletion of a link of the group. A link without packets
 * says nothing of that. */
static smcr_doubt_t
doubt_deleted(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    smcr_doubt_t doubt = !lgr->oldest_kept_link
                             ? smcr_doubt_message(arrival) : (smcr_doubt_t){SMCR_DOUBT_START, NULL};

    for (smcr_link_t *link = lgr->newest_link; link && !doubt.kind; link = smcr_link_older(link))
        if (link->packet_count)
            doubt = smcr_doubt_or(doubt, smcr_doubt_link(arrival, link));
    return doubt;
}

/* The doubt whether the other link lives. A host that has lost a link may fail to report it. The
 * other link lives if it carries this exchange, or if the server goes on to use it. */
static smcr_doubt_t
doubt_alive(const smcr_arrival_t *arrival, smcr_link_t *other)
{
    const smcr_lgr_t *lgr = other->lgr;
    smcr_doubt_t doubt = doubt_deleted(arrival, lgr);

    return other == arrival->qp->link || lgr->server == SMCR_LGR_SIDE_UNKNOWN
               ? doubt
               : smcr_doubt_or(doubt, smcr_doubt_later_on(arrival, other, lgr->server,
                                                          (smcr_doubt_proof_t){0}));
}

/* Whether the two links of a group are active and join the same two devices. */
static bool
is_parallel(const smcr_link_t *link, const smcr_link_t *other)
{
    return other != link && other->state == SMCR_LINK_ACTIVE &&
           smcr_link_shares_device(link, other, 0) && smcr_link_shares_device(link, other, 1);
}

/* No two links of a group join the same two devices (R-2.2.1-1). The wire shows an accepted ADD
 * LINK between the devices of another link that lives. */
static void
check_devices(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    smcr_doubt_t doubt;

    for (smcr_link_t *other = link->lgr->newest_link; other; other = smcr_link_older(other)) {
        if (!is_parallel(link, other))
            continue;
        doubt = doubt_alive(arrival, other);
        smcr_breach_report(arrival, SMCR_EVENT_link_parallel, doubt,
                           "Link %u joins the same two devices as link %u", link->number,
                           other->number);
        if (!doubt.kind)
            smcr_rules_link(arrival, link)->faults |= SMCR_RULES_FAULT_PARALLEL;
    }
}

/* Whether the accepted link is confirmed, rejected or in use by now, or is about to be deleted. */
SMCR_DOUBT_CLAIM(is_settled, const smcr_link_t *link,
                 link->state != SMCR_LINK_ANNOUNCED || link->reported_lost || link->delete_reason ||
                 smcr_rules_of_link(link)->has_rtokens)

/* After an accepted ADD LINK, CONFIRM LINK follows on the new link; if this fails, DELETE LINK
 * follows on the old one (R-3.5.1.6-6, R-3.5.1.6-7). The capture shows neither for SETTLED_IN. It
 * may not have the device of the new link, so that the item is a NOTE. */
static void
expect_confirmation(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    smcr_doubt_proof_t claim = {.has_come = is_settled,
                                .about = link,
                                .deadline = arrival->when.time + SETTLED_IN * SMCR_TIME_SECOND};

    smcr_breach_report(
        arrival, SMCR_EVENT_link_not_confirmed,
        smcr_doubt_later_on(arrival, arrival->qp->link, link->lgr->server, claim),
        "Link %u is accepted, but for %u seconds the capture has neither its confirmation "
        "nor DELETE LINK for it",
        link->number, SETTLED_IN);
}

/* With this response to ADD LINK both sides know that the link is rejected; after that nobody uses
 * it (use_rules.c). */
SMCR_RULES_LLC(note_rejection)
{
    smcr_link_t *link = message->lgr->newest_link;
    uint8_t number = message->llc->u.add_link.link;

    while (link && (link->state != SMCR_LINK_REJECTED || link->number != number))
        link = smcr_link_older(link);
    if (link && message->rejects && !smcr_rules_of_link(link)->end_of_use.sent)
        smcr_arrival_track(arrival, &smcr_rules_link(arrival, link)->end_of_use);
}

/* The announced link that the message offers or accepts; NULL: none. */
static smcr_link_t *
find_new_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    smcr_link_t *link = smcr_lgr_link(message->lgr, add->link);
    bool rejected = message->response && message->rejects;

    if (!add->qpn || rejected)
        return NULL;
    return link && link->state == SMCR_LINK_ANNOUNCED ? link : NULL;
}

/* Remembers the MAC address that ADD LINK has for its sender's end of the new link. */
SMCR_RULES_LLC(note_mac)
{
    smcr_link_t *link = find_new_link(message);

    if (link)
        note_mac_of_qp(arrival, &link->qp[message->from->side], message->llc->u.add_link.mac);
}

/* The rules of an accepted link above. */
SMCR_RULES_LLC(check_accepted)
{
    smcr_link_t *link = find_new_link(message);

    if (!link)
        return;
    check_devices(arrival, link);
    if (arrival->record->ends_exchange)
        expect_confirmation(arrival, link);
}

/* A link is in use when CONFIRM RKEY announces an RMB for it. */
SMCR_RULES_LLC(note_named)
{
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->rtokens_in_message[i].link);
        if (link)
            smcr_rules_link(arrival, link)->has_rtokens = true;
    }
}
