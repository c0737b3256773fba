/* What CONFIRM LINK and ADD LINK say of a link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define SETTLED_IN 10 /* seconds: both sides of Linux give up after 5 (smc_llc.h) */
#define NUMBERS_SURE 128 /* of links: a server may have used as many that it never told */

/* ---- queue pairs, on their VLAN ---- */

/* A group has one VLAN, that of its TCP connections. What has no tag may have lost it where it was
 * captured; and what is routed has another one behind the router. (R-2-1) */
static void
check_vlan(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    unsigned vlan = smcr_rules_of_links(qp->link->lgr)->vlan;
    bool routed = !qp->gid_known || qp->key.gid[0] != 0xfe || qp->key.gid[1] != 0x80;

    if (arrival->vlan && vlan && arrival->vlan != vlan && !routed)
        smcr_breach(arrival, SMCR_EVENT_link_vlan, smcr_doubt_message(arrival),
                    "The message is on VLAN %u, but the group on VLAN %u", arrival->vlan, vlan);
}

static bool
has_other_mac(const smcr_qp_t *qp, const uint8_t *mac)
{
    const smcr_rules_qp_t *told = &smcr_rules_of_link(qp->link)->qp[qp->side];

    return told->has_mac && memcmp(told->mac, mac, SMCR_WIRE_MAC_LENGTH) != 0;
}

static void
keep_mac(const smcr_arrival_t *arrival, const smcr_qp_t *qp, const uint8_t *mac)
{
    smcr_rules_qp_t *told = &smcr_rules_link(arrival, qp->link)->qp[qp->side];

    told->has_mac = true;
    memcpy(told->mac, mac, SMCR_WIRE_MAC_LENGTH);
}

/* A queue pair has one MAC. (R-3.5.2-1, R-3.5.2-5) */
SMCR_RULES_CLC(qp)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    const smcr_qp_t *qp = message->qp;
    smcr_lgr_t *lgr = qp->link->lgr;
    bool same = smcr_qp_has_key(qp, accept->gid, accept->qpn);
    bool known = smcr_rules_of_link(qp->link)->qp[qp->side].has_mac;

    if (same && lgr->from_start && has_other_mac(qp, accept->mac))
        smcr_breach(arrival, SMCR_EVENT_clc_peer_changed, smcr_doubt_message(arrival),
                    "The MAC is not that of the queue pair");
    if (conn->first_contact || (same && !known))
        keep_mac(arrival, qp, accept->mac);
    if (arrival->vlan && !smcr_rules_of_links(lgr)->vlan)
        smcr_rules_links(arrival, lgr)->vlan = arrival->vlan;
    check_vlan(arrival, qp);
}

/* ---- CONFIRM LINK ---- */

SMCR_RULES_LLC(check_vlan)
{
    check_vlan(arrival, message->from);
}

/* The MAC address is that of the announcement. (R-3.5.1.5-2) */
SMCR_RULES_LLC(check_mac)
{
    if (has_other_mac(message->from, message->llc->u.confirm_link.mac))
        smcr_breach(arrival, SMCR_EVENT_link_mismatch, smcr_doubt_message(arrival),
                    "The message names another MAC address than was announced for this end");
}

/* The server tells the number in ADD LINK, or in its CONFIRM LINK; the client repeats it. In a
 * capture that has the response before the request, the response may be what is wrong.
 * (R-3.5.1.5-3, R-2.2.4-2) */
SMCR_RULES_LLC(check_link_number)
{
    const smcr_link_t *link = message->link;
    uint8_t number = message->llc->u.confirm_link.link;
    bool first = message->response || link->confirm_frame || !smcr_rules_of_link(link)->confirmed;

    if (link->has_number && link->number != number && first && !message->requested)
        smcr_breach(arrival, SMCR_EVENT_link_mismatch, smcr_doubt_message(arrival),
                    "The link number is %u, but the link was announced as %u", number,
                    link->number);
}

/* A user ID is unique in its peer. Other groups' links may have ended unseen. (R-2.2.4-3) */
SMCR_RULES_LLC(check_user_id)
{
    int side = message->from->side;
    uint32_t id = message->llc->u.confirm_link.user_id;

    smcr_rules_link(arrival, message->link)->qp[side].user_id = id;
    if (message->lgr->oldest_known)
        return;
    for (const smcr_link_t *other = message->lgr->all_links; other; other = smcr_link_older(other))
        if (other != message->link && other->state == SMCR_LINK_ACTIVE && id &&
            smcr_rules_of_link(other)->qp[side].user_id == id)
            smcr_breach(arrival, SMCR_EVENT_link_user_id_reused, smcr_doubt_message(arrival),
                        "Link %u has the user ID 0x%08x, too", other->number, id);
}

/* The client's maximum is not above the server's, and the smaller one stays. Zero: the client
 * agrees. (R-2.2.2-2, R-2.2.2-3) */
SMCR_RULES_LLC(check_maximum)
{
    smcr_lgr_t *lgr = message->lgr;
    uint8_t maximum = message->llc->u.confirm_link.max_links;
    uint8_t *max_links = smcr_rules_links(arrival, lgr)->max_links;
    uint8_t *kept = &max_links[message->from->side];
    uint8_t server = lgr->server == SMCR_LGR_SIDE_UNKNOWN ? 0 : max_links[lgr->server];

    if (message->response && server && maximum > server)
        smcr_breach(arrival, SMCR_EVENT_link_max_changed, smcr_doubt_message(arrival),
                    "The client has a maximum of %u links, but the server's is %u", maximum,
                    server);
    else if (*kept && maximum && maximum != *kept && maximum != smcr_rules_maximum(lgr))
        smcr_breach(arrival, SMCR_EVENT_link_max_changed, smcr_doubt_group(arrival, lgr),
                    "The maximum is %u, but was %u before", maximum, *kept);
    if (!*kept && maximum <= SMCR_WIRE_LINKS_MAX &&
        (maximum > 1 || message->llc->type & SMCR_LLC_TYPE_V2))
        *kept = maximum;
}

/* CONFIRM LINK comes once for each link. (R-A.3.1-2) */
SMCR_RULES_LLC(check_once)
{
    if (message->link->confirm_frame && message->lgr->server == message->from->side)
        smcr_breach(arrival, SMCR_EVENT_link_confirmed_twice,
                    smcr_doubt_link(arrival, message->link),
                    "Link %u has been confirmed before", message->link->number);
}

/* The server deletes a parallel link instead. (R-C.7-9) */
SMCR_RULES_LLC(check_parallel)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_PARALLEL)
        smcr_breach(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                    "The server goes on with link %u, which joins the same two devices as another "
                    "one", message->link->number);
}

/* The client does not confirm a link when the request says something wrong of it. (R-C.7-7) */
SMCR_RULES_LLC(check_mismatch)
{
    if (smcr_rules_of_link(message->link)->faults & SMCR_RULES_FAULT_MISMATCH &&
        arrival->record->answers)
        smcr_breach(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                    "The client confirms a link of which the server has said something else "
                    "before, as Linux does (smcr_clnt_conf_first_link())");
}

SMCR_RULES_LLC(note_mismatch)
{
    const smcr_qp_t *from = message->from;
    const smcr_llc_confirm_link_t *says = &message->llc->u.confirm_link;

    if (has_other_mac(from, says->mac) ||
        (from->key.qpn >= SMCR_WIRE_QPN_MIN && !smcr_qp_has_key(from, says->gid, says->qpn)) ||
        (message->link->has_number && message->link->number != says->link))
        smcr_rules_link(arrival, message->link)->faults |= SMCR_RULES_FAULT_MISMATCH;
}

/* Both sides have eyecatchers, or neither has. Linux has none, and declines where the other side
 * has (smc_llc_eval_conf_link()). (R-4.2-2) */
SMCR_RULES_LLC(check_eyecatchers)
{
    const smcr_lgr_t *lgr = message->lgr;

    if (lgr->base_known[0] && lgr->base_known[1] && lgr->base[0] != lgr->base[1])
        smcr_breach(arrival, SMCR_EVENT_link_eyecatcher_differs, smcr_doubt_message(arrival), "%s",
                    lgr->base[lgr->server] ? "The server has eyecatchers, the client has none"
                                           : "The client has eyecatchers, the server has none");
}

SMCR_RULES_LLC(note_confirmed)
{
    smcr_rules_link_t *memory = smcr_rules_link(arrival, message->link);

    if (memory->confirmed)
        return;
    memory->confirmed = arrival->when.time;
    if (message->lgr->server != SMCR_LGR_SIDE_UNKNOWN)
        smcr_rules_count(arrival);
}

/* ---- ADD LINK ---- */

/* A new link has a number that no link has had, until all numbers were used. What was offered only,
 * and rejected, is no link. (R-2.2.4-1, R-2.2.4-2) */
static void
check_number(const smcr_arrival_t *arrival, uint8_t number)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *same = NULL;
    unsigned count = 0;

    for (const smcr_link_t *link = lgr->all_links; link; link = smcr_link_older(link), count++)
        if (link->has_number && link->number == number &&
            (link->state == SMCR_LINK_ACTIVE || smcr_rules_of_link(link)->confirmed))
            same = link;
    if (same && count < NUMBERS_SURE)
        smcr_breach(arrival, SMCR_EVENT_link_number_reused, smcr_doubt_group(arrival, lgr),
                    "Number %u is that of a link which the group has had since frame %u", number,
                    same->added_frame);
}

/* An MTU code that is not defined is rejected, with reason 2. (R-C.7-8) */
static void
check_mtu_answer(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    const smcr_link_t *link = smcr_lgr_link(lgr, llc->u.add_link.link);
    bool v2 = (llc->type & SMCR_LLC_TYPE_V2) != 0; /* Linux has no room for a reason there */
    uint8_t reason = llc->u.add_link.reject_reason;

    if (!link || link->state != SMCR_LINK_ANNOUNCED || !arrival->record->answers)
        return;
    uint8_t code = link->qp[arrival->qp->side].mtu; /* of the request */
    if (smcr_mtu_bytes(code))
        return;
    if (!(llc->flags & SMCR_LLC_FLAG_REJECTED))
        smcr_breach(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                    "The client accepts the undefined MTU code %u, as Linux does above 0 "
                    "(smc_llc_cli_add_link())", code);
    else if (!v2 && reason != SMCR_LLC_REJECT_INVALID_MTU)
        smcr_breach(arrival, SMCR_EVENT_link_fault_accepted, smcr_doubt_message(arrival),
                    "The client rejects the undefined MTU code %u with reason %u instead of 2, as "
                    "Linux does (smc_llc_cli_add_link())", code, reason);
}

/* The new link has queue pairs of its own. Of others than the one that has sent this nobody knows
 * whether they live. (R-A.3.2-8) */
SMCR_RULES_LLC(check_add_link)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    const smcr_qp_t *from = message->from;
    bool by_client = message->lgr->server == message->to->side;

    if (!(message->response ? by_client : message->by_server)) {
        if (!message->response && !add->qpn && by_client)
            smcr_rules_wish(arrival, add);
        return;
    }
    if (!(message->response && message->rejects) && from->known &&
        smcr_qp_has_key(from, add->gid, add->qpn))
        smcr_breach(arrival, SMCR_EVENT_link_qpn_in_use, smcr_doubt_message(arrival),
                    "The queue pair 0x%06x has sent this message", add->qpn);
    if (message->response)
        check_mtu_answer(arrival, message->llc);
    else
        check_number(arrival, add->link);
}

/* Whether the capture may lack that a link was deleted; a link without packets says nothing. */
static smcr_doubt_t
doubt_deleted(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    smcr_doubt_t doubt = !lgr->oldest_known
                             ? smcr_doubt_message(arrival) : (smcr_doubt_t){SMCR_DOUBT_START, NULL};

    for (smcr_link_t *link = lgr->all_links; link && !doubt.kind; link = smcr_link_older(link))
        if (link->packet_count)
            doubt = smcr_doubt_or(doubt, smcr_doubt_link(arrival, link));
    return doubt;
}

/* A host that has lost a link may have failed to tell it: the other link still lives if it carries
 * this exchange, or if the server goes on to use it. */
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

/* No two links of a group join the same two devices. (R-2.2.1-1) */
static void
check_devices(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    smcr_doubt_t doubt;

    for (smcr_link_t *other = link->lgr->all_links; other; other = smcr_link_older(other)) {
        if (other == link || other->state != SMCR_LINK_ACTIVE ||
            !smcr_link_shares_device(link, other, 0) || !smcr_link_shares_device(link, other, 1))
            continue;
        doubt = doubt_alive(arrival, other);
        smcr_breach(arrival, SMCR_EVENT_link_parallel, doubt,
                    "Link %u joins the same two devices as link %u", link->number, other->number);
        if (!doubt.kind)
            smcr_rules_link(arrival, link)->faults |= SMCR_RULES_FAULT_PARALLEL;
    }
}

/* Whether the link is no longer merely accepted, or is on its way out. */
SMCR_DOUBT_CLAIM(is_settled, const smcr_link_t *link,
                 link->state != SMCR_LINK_ANNOUNCED || link->lost || link->delete_reason ||
                 smcr_rules_of_link(link)->named)

/* After an acceptance CONFIRM LINK follows on the new link; where that fails, DELETE LINK on the
 * old one. The capture may lack the new link's device, so nobody is blamed. (R-3.5.1.6-6,
 * R-3.5.1.6-7) */
static void
await_confirmation(const smcr_arrival_t *arrival, const smcr_link_t *link)
{
    smcr_doubt_proof_t claim = {.has_come = is_settled,
                                .about = link,
                                .deadline = arrival->when.time + SETTLED_IN * SMCR_TIME_SECOND};

    smcr_breach(arrival, SMCR_EVENT_link_not_confirmed,
                smcr_doubt_later_on(arrival, arrival->qp->link, link->lgr->server, claim),
                "Link %u is accepted, but for %u seconds the capture has neither its confirmation "
                "nor DELETE LINK for it", link->number, SETTLED_IN);
}

/* Behind its rejection nobody uses the link; see use_rules.c. */
SMCR_RULES_LLC(note_rejection)
{
    smcr_link_t *link = message->lgr->all_links;

    while (link && (link->state != SMCR_LINK_REJECTED ||
                    link->number != message->llc->u.add_link.link))
        link = smcr_link_older(link);
    if (link && message->rejects && !smcr_rules_of_link(link)->gone.sent)
        smcr_arrival_track(arrival, &smcr_rules_link(arrival, link)->gone);
}

/* The link that the message offers, or accepts; NULL: none. */
static smcr_link_t *
new_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    smcr_link_t *link = smcr_lgr_link(message->lgr, add->link);
    bool rejected = message->response && message->rejects;

    return add->qpn && link && link->state == SMCR_LINK_ANNOUNCED && !rejected ? link : NULL;
}

SMCR_RULES_LLC(note_mac)
{
    smcr_link_t *link = new_link(message);

    if (link)
        keep_mac(arrival, &link->qp[message->from->side], message->llc->u.add_link.mac);
}

SMCR_RULES_LLC(check_accepted)
{
    smcr_link_t *link = new_link(message);

    if (!link)
        return;
    check_devices(arrival, link);
    if (arrival->record->answers)
        await_confirmation(arrival, link);
}

SMCR_RULES_LLC(note_named)
{
    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        smcr_link_t *link = smcr_lgr_link(message->lgr, message->llc->rtokens[i].link);
        if (link)
            smcr_rules_link(arrival, link)->named = true;
    }
}
