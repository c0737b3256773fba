/* Rules for what CLC, CONFIRM LINK and ADD LINK announce about a link: VLAN, MAC address, number,
 * user ID, maximum number of links, queue pairs, devices (RFC 7609 2.2, 3.5.1, A.3.1, A.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define CONFIRMED_IN 10 /* seconds after which an accepted link is certainly confirmed, rejected or
                           deleted: both sides of Linux give up after 5 (smc_llc.h) */
#define NUMBERS_SURE 128 /* number of links after which a server may have used up all 255 link
                            numbers */

/* ---- the VLAN and MAC address of queue pairs ---- */

/* Whether routers may forward packets to the queue pair. This is so if its GID is not known, or is
 * no link-local address (fe80::/16). */
static bool
is_routable(const smcr_qp_t *qp)
{
    return !qp->gid_known || qp->key.gid[0] != 0xfe || qp->key.gid[1] != 0x80;
}

/* A link group uses one VLAN, the VLAN of its TCP connections (R-2-1). A message breaks the rule if
 * its VLAN differs from the VLAN of the group's first Accept or Confirm with a tag. Packets without
 * a tag are not judged, since the capture point may have removed the tag. Packets that may be
 * routed are not judged either: after the router they have another VLAN. */
static void
check_vlan(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    unsigned vlan = smcr_rules_of_links(qp->link->lgr)->vlan;
    bool has_tags = arrival->vlan && vlan;

    if (has_tags && arrival->vlan != vlan && !is_routable(qp))
        smcr_breach_report(arrival, SMCR_EVENT_link_vlan,
                           "The message is on VLAN %u, but the group on VLAN %u", arrival->vlan,
                           vlan);
}

/* Whether CLC or LLC has announced another MAC address (6 bytes) for the queue pair. */
static bool
has_other_mac(const smcr_qp_t *qp, const uint8_t *mac)
{
    const smcr_rules_qp_t *kept = &smcr_rules_of_link(qp->link)->qp[qp->side];

    return kept->has_mac && memcmp(kept->mac, mac, SMCR_WIRE_MAC_LENGTH) != 0;
}

/* Remembers the MAC address `mac` (6 bytes) of the queue pair. */
static void
note_mac_of_qp(const smcr_arrival_t *arrival, const smcr_qp_t *qp, const uint8_t *mac)
{
    smcr_rules_qp_t *kept = &smcr_rules_link(arrival, qp->link)->qp[qp->side];

    kept->has_mac = true;
    memcpy(kept->mac, mac, SMCR_WIRE_MAC_LENGTH);
}

/* Remembers the VLAN of the group: the VLAN of its first Accept or Confirm with a tag. */
static void
note_vlan(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    if (arrival->vlan && !smcr_rules_of_links(lgr)->vlan)
        smcr_rules_links(arrival, lgr)->vlan = arrival->vlan;
}

/* A queue pair has one MAC address (R-3.5.2-1, R-3.5.2-5). An Accept or Confirm of a later contact
 * breaks the rule if it names a known queue pair with another MAC address. Not judged is a group
 * whose first contact is not captured. The function also checks the VLAN (check_vlan()), and
 * remembers the VLAN and the MAC address. An address that is already remembered changes only in a
 * first contact. */
SMCR_RULES_CLC(check_qp)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    smcr_lgr_t *lgr = qp->link->lgr;
    bool same = smcr_qp_has_key(qp, accept->gid, accept->qpn);
    bool known = smcr_rules_of_link(qp->link)->qp[qp->side].has_mac;

    if (same && lgr->first_contact_captured && has_other_mac(qp, accept->mac))
        smcr_breach_report(arrival, SMCR_EVENT_clc_peer_changed,
                           "The MAC is not that of the queue pair");
    if (conn->first_contact || (same && !known))
        note_mac_of_qp(arrival, qp, accept->mac);
    note_vlan(arrival, lgr);
    check_vlan(arrival, qp);
}

/* ---- CONFIRM LINK ---- */

/* The rule of the static function check_vlan(), for CONFIRM LINK. */
SMCR_RULES_LLC(check_vlan)
{
    check_vlan(arrival, message->from);
}

/* CONFIRM LINK has the MAC address that CLC or ADD LINK has announced for its sender (R-3.5.1.5-2).
 * A message with another MAC address breaks the rule. */
SMCR_RULES_LLC(check_mac)
{
    if (has_other_mac(message->from, message->llc->u.confirm_link.mac))
        smcr_breach_report(arrival, SMCR_EVENT_link_mismatch,
                           "The MAC address in the message is not the announced one of this end");
}

/* Whether the CONFIRM LINK message is in the right order in the capture. False if the capture is
 * out of order; and if the message is the first request of its link, and the capture has the
 * response before it. */
static bool
is_in_order(const smcr_exchange_message_t *message)
{
    const smcr_link_t *link = message->link;

    if (message->arrival->state->is_out_of_order)
        return false;
    return message->response || link->confirm_frame || !smcr_rules_of_link(link)->confirmed_time;
}

/* CONFIRM LINK has the number that ADD LINK has given to the link, and its response repeats this
 * number (R-3.5.1.5-3, R-2.2.4-2). A message breaks the rule if its number differs. Not judged are:
 *
 * 1. A request that comes after its own response in the capture: the request or the response may
 *    have the wrong number.
 * 2. A response whose request is captured: check_echo() compares the two numbers. */
SMCR_RULES_LLC(check_link_number)
{
    const smcr_link_t *link = message->link;
    uint8_t number = message->llc->u.confirm_link.link;
    bool differs = link->has_number && link->number != number;

    if (differs && !message->requested && is_in_order(message))
        smcr_breach_report(arrival, SMCR_EVENT_link_mismatch,
                           "The link number is %u, but the link was announced as %u", number,
                           link->number);
}

/* Whether the link is active, and has this user ID on `side`. */
static bool
has_user_id(const smcr_link_t *link, int side, uint32_t id)
{
    return link->state == SMCR_LINK_ACTIVE && smcr_rules_of_link(link)->qp[side].user_id == id;
}

/* A link user ID is unique within its host (R-2.2.4-3). A CONFIRM LINK breaks the rule if another
 * active link of the group has its user ID on the sender's side. This function also remembers the
 * user ID. Links of other groups are not compared, since their end may be missing in the capture.
 * The user ID 0 is not judged, and no group of which the state has forgotten old links
 * (`oldest_kept_link`). */
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
            smcr_breach_report(arrival, SMCR_EVENT_link_user_id_reused,
                               "Link %u has the user ID 0x%08x, too", other->number, id);
}

/* The maximum number of links that the server has announced; 0: not known. */
static uint8_t
maximum_of_server(const smcr_lgr_t *lgr)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN ? 0
                                                : smcr_rules_of_links(lgr)->max_links[lgr->server];
}

/* Whether a side changes its maximum number of links: `before` is from an earlier CONFIRM LINK of
 * the side, `now` from this one. False if `now` is the maximum on which both sides have agreed, or
 * 0, which accepts the maximum of the server. */
static bool
changes_maximum(const smcr_lgr_t *lgr, uint8_t before, uint8_t now)
{
    return before && now && now != before && now != smcr_rules_max_links(lgr);
}

/* Whether a message of this type may have this maximum number of links. One link is allowed in
 * version 2 only. */
static bool
is_valid_maximum(const smcr_llc_t *llc, uint8_t maximum)
{
    return maximum <= SMCR_WIRE_LINKS_MAX && (maximum > 1 || llc->type & SMCR_LLC_TYPE_V2);
}

/* The client's maximum number of links is not higher than the server's maximum (R-2.2.2-2), and
 * each maximum stays for the life of the group (R-2.2.2-3). A CONFIRM LINK response breaks the rule
 * if its maximum is higher than the server's maximum. Any CONFIRM LINK breaks the rule if its
 * maximum differs from an earlier maximum of the same side; changes_maximum() has the exceptions.
 * The first valid maximum of each side is remembered. */
SMCR_RULES_LLC(check_maximum)
{
    smcr_lgr_t *lgr = message->lgr;
    uint8_t maximum = message->llc->u.confirm_link.max_links;
    uint8_t *kept = &smcr_rules_links(arrival, lgr)->max_links[message->from->side];
    uint8_t server = maximum_of_server(lgr);

    if (message->response && server && maximum > server)
        smcr_breach_report(arrival, SMCR_EVENT_link_max_changed,
                           "The client has a maximum of %u links, but the server's is %u", maximum,
                           server);
    else if (changes_maximum(lgr, *kept, maximum))
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_max_changed,
                                  smcr_doubt_group(arrival, lgr),
                                  "The maximum is %u, but was %u before", maximum, *kept);
    if (!*kept && is_valid_maximum(message->llc, maximum))
        *kept = maximum;
}

/* CONFIRM LINK comes once for each link (R-A.3.1-2). A second request of the server for the same
 * link breaks the rule, even if the first one has no response. */
SMCR_RULES_LLC(check_once)
{
    if (message->link->confirm_frame && message->lgr->server == message->from->side)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_confirmed_twice,
                                  smcr_doubt_link(arrival, message->link),
                                  "CONFIRM LINK for link %u came before", message->link->number);
}

/* If a new link joins the same two devices as another link of the group, the server deletes the new
 * link (R-C.7-9). The server breaks the rule if it sends CONFIRM LINK for the new link. */
SMCR_RULES_LLC(check_parallel)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_PARALLEL)
        smcr_breach_report(
            arrival, SMCR_EVENT_link_fault_accepted,
            "The server continues with link %u, which connects the same two devices as another "
            "link", message->link->number);
}

/* A client does not confirm a link if CONFIRM LINK differs from what CLC or ADD LINK has announced
 * for this link (R-C.7-7). The client breaks the rule if it responds to such a request
 * (note_mismatch()). */
SMCR_RULES_LLC(check_mismatch)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_MISMATCH &&
        arrival->record->ends_exchange)
        smcr_breach_report(arrival, SMCR_EVENT_link_fault_accepted,
                           "The client confirms a link for which the server announced other "
                           "values, as Linux does (smcr_clnt_conf_first_link())");
}

/* Whether CONFIRM LINK names another queue pair than CLC or ADD LINK has announced for its
 * sender. */
static bool
names_other_qp(const smcr_qp_t *from, const smcr_llc_confirm_link_t *confirm)
{
    return from->key.qpn >= SMCR_WIRE_QPN_MIN && !smcr_qp_has_key(from, confirm->gid, confirm->qpn);
}

/* Remembers that the MAC address, queue pair or link number of the request differs from what was
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

/* If one side has eyecatchers at the beginning of its RMB elements, the other side has eyecatchers,
 * too (R-4.2-2). CONFIRM LINK reports the byte at which the data begins. A message breaks the rule
 * if this byte differs from the byte that the other side has reported. Linux has no eyecatchers,
 * and declines if the other side has eyecatchers (smc_llc_eval_conf_link()). */
SMCR_RULES_LLC(check_eyecatchers)
{
    const smcr_lgr_t *lgr = message->lgr;

    if (lgr->base_known[0] && lgr->base_known[1] && lgr->base[0] != lgr->base[1])
        smcr_breach_report(
            arrival, SMCR_EVENT_link_eyecatcher_differs, "%s",
            lgr->base[lgr->server] ? "The server has eyecatchers, the client has none"
            : "The client has eyecatchers, the server has none");
}

/* Remembers when the link was confirmed, and checks the limits for the number of links. */
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

/* Whether the link has used this number: it was active or confirmed with the number. A link that
 * was offered and then rejected has not used its number. */
static bool
has_used_number(const smcr_link_t *link, uint8_t number)
{
    return link->has_number && link->number == number &&
           (link->state == SMCR_LINK_ACTIVE || smcr_rules_of_link(link)->confirmed_time);
}

/* A new link has a number that no other link of the group has (R-2.2.4-2). As long as there are
 * unused numbers, it has a number that no earlier link had (R-2.2.4-1). An ADD LINK breaks the rule
 * if it has the number of an earlier link of the group. After NUMBERS_SURE links nothing is
 * reported: the capture does not show every number that the server has used, so the server may have
 * used all numbers. */
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
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_link_number_reused, smcr_doubt_group(arrival, lgr),
            "Number %u is that of a link which the group has had since frame %u", number,
            same->added_frame);
}

/* Whether the response gives another reason than "invalid MTU". Messages of version 2 are not
 * judged, since Linux has no field for a reason in them. */
static bool
gives_wrong_reason(const smcr_llc_t *llc)
{
    return !(llc->type & SMCR_LLC_TYPE_V2) &&
           llc->u.add_link.reject_reason != SMCR_LLC_REJECT_INVALID_MTU;
}

/* If the MTU code of an ADD LINK is not defined, the client rejects the link with reason 2
 * (R-C.7-8). The client's response breaks the rule if it accepts the link, or gives another reason.
 * Linux may do either. */
static void
check_mtu_answer(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *link = smcr_lgr_link(lgr, llc->u.add_link.link);

    if (!link || link->state != SMCR_LINK_ANNOUNCED || !arrival->record->ends_exchange)
        return;
    uint8_t code = link->qp[arrival->qp->side].mtu; /* the MTU code of the request */
    if (smcr_mtu_bytes(code))
        return;
    if (!(llc->flags & SMCR_LLC_FLAG_REJECTED))
        smcr_breach_report(arrival, SMCR_EVENT_link_fault_accepted,
                           "The client accepts the undefined MTU code %u, as Linux does above 0 "
                           "(smc_llc_cli_add_link())", code);
    else if (gives_wrong_reason(llc))
        smcr_breach_report(
            arrival, SMCR_EVENT_link_fault_accepted,
            "The client rejects the undefined MTU code %u with reason %u instead of 2, as "
            "Linux does (smc_llc_cli_add_link())", code, llc->u.add_link.reject_reason);
}

/* A new link has queue pairs that no other link uses (R-A.3.2-8). ADD LINK, or its accepting
 * response, breaks the rule if it names the queue pair by which it is sent. Only this queue pair is
 * certainly in use. */
static void
check_new_qp(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    const smcr_qp_t *from = message->from;

    if (!message->rejects && from->number_known && smcr_qp_has_key(from, add->gid, add->qpn))
        smcr_breach_report(message->arrival, SMCR_EVENT_link_qpn_in_use,
                           "The queue pair 0x%06x has sent this message", add->qpn);
}

/* The rules of ADD LINK messages. For the server's request, which offers a link: check_new_qp() and
 * check_new_number(). For the client's response: check_new_qp() and check_mtu_answer(). For the
 * client's request for a link, which names no queue pair: smcr_rules_check_link_wish(). */
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

/* The reason to doubt that all messages which have deleted links of the group are captured. A group
 * of which the state has forgotten old links is always in doubt. Links without packets are ignored:
 * nothing shows whether messages on such links are missing. */
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

/* The reason to doubt that the link `other` is in use: that its deletion may be missing
 * (doubt_deleted()). A host may also lose a link without a message. So `other` is certainly in use
 * only in two cases: 1. it carries this exchange; 2. the server uses it later. If the server is not
 * known, nothing shows case 2, and only the deletion is a reason to doubt. */
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

/* Whether the link `other` is active, and joins the same two devices as `link`. */
static bool
is_parallel(const smcr_link_t *link, const smcr_link_t *other)
{
    return other != link && other->state == SMCR_LINK_ACTIVE &&
           smcr_link_shares_device(link, other, 0) && smcr_link_shares_device(link, other, 1);
}

/* No two links of a group join the same two devices (R-2.2.1-1). An accepted ADD LINK breaks the
 * rule if another link between the same devices is in use. */
static void
check_devices(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    smcr_doubt_t doubt;

    for (smcr_link_t *other = link->lgr->newest_link; other; other = smcr_link_older(other)) {
        if (!is_parallel(link, other))
            continue;
        doubt = doubt_alive(arrival, other);
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_parallel, doubt,
                                  "Link %u connects the same two devices as link %u", link->number,
                                  other->number);
        if (!doubt.kind)
            smcr_rules_link(arrival, link)->faults |= SMCR_RULES_FAULT_PARALLEL;
    }
}

/* True if the report of expect_confirmation() has to be withdrawn later: the accepted link is
 * confirmed, rejected, in use or lost, or DELETE LINK has named it. */
SMCR_DOUBT_CLAIM(is_settled, const smcr_link_t *link,
                 link->state != SMCR_LINK_ANNOUNCED || link->lost_frame || link->delete_reason ||
                 smcr_rules_of_link(link)->has_rtokens)

/* After the client has accepted ADD LINK, CONFIRM LINK follows on the new link. If CONFIRM LINK
 * fails, DELETE LINK follows on the link that carried ADD LINK (R-3.5.1.6-6, R-3.5.1.6-7). The rule
 * is broken if, CONFIRMED_IN seconds after the acceptance, the link is neither confirmed by a
 * response to CONFIRM LINK nor rejected nor in use, and no DELETE LINK has named it. The event is a
 * NOTE, since the device of the new link may not be captured. */
static void
expect_confirmation(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    smcr_doubt_proof_t claim = {.has_come = is_settled,
                                .about = link,
                                .deadline = arrival->when.time + CONFIRMED_IN * SMCR_TIME_SECOND};

    smcr_breach_report_unless(
        arrival, SMCR_EVENT_link_not_confirmed,
        smcr_doubt_later_on(arrival, arrival->qp->link, link->lgr->server, claim),
        "Link %u is accepted, but for %u seconds the capture has neither its confirmation "
        "nor DELETE LINK for it", link->number, CONFIRMED_IN);
}

/* Remembers a response that rejects ADD LINK. Both sides then know that the link is rejected, and
 * do not use it (use_rules.c). */
SMCR_RULES_LLC(note_rejection)
{
    smcr_link_t *link = message->lgr->newest_link;
    uint8_t number = message->llc->u.add_link.link;

    while (link && (link->state != SMCR_LINK_REJECTED || link->number != number))
        link = smcr_link_older(link);
    if (link && message->rejects && !smcr_rules_of_link(link)->end_of_use.sent)
        smcr_arrival_track(arrival, &smcr_rules_link(arrival, link)->end_of_use);
}

/* The announced link that the message offers or accepts; NULL: there is none. */
static smcr_link_t *
find_new_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    smcr_link_t *link = smcr_lgr_link(message->lgr, add->link);

    if (!add->qpn || message->rejects)
        return NULL;
    return link && link->state == SMCR_LINK_ANNOUNCED ? link : NULL;
}

/* Remembers the MAC address that ADD LINK has for its sender's queue pair of the new link. */
SMCR_RULES_LLC(note_mac)
{
    smcr_link_t *link = find_new_link(message);

    if (link)
        note_mac_of_qp(arrival, &link->qp[message->from->side], message->llc->u.add_link.mac);
}

/* The rules of check_devices() and expect_confirmation(), for a link that the client has
 * accepted. */
SMCR_RULES_LLC(check_accepted)
{
    smcr_link_t *link = find_new_link(message);

    if (!link)
        return;
    check_devices(arrival, link);
    if (arrival->record->ends_exchange)
        expect_confirmation(arrival, link);
}

/* Remembers that CONFIRM RKEY has an RToken for a link, so that the link is in use. */
SMCR_RULES_LLC(note_named)
{
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->rtokens_in_message[i].link);
        if (link)
            smcr_rules_link(arrival, link)->has_rtokens = true;
    }
}
