/* What LLC messages say: the links of a group, and the RMBs' keys on them (RFC 7609 3.5.1, 3.5.5,
 * A.3; net/smc/smc_llc.c).
 *
 * An LLC message passes three steps. Judge it: what does it answer, and which request crosses it
 * (exchange.c)? Place it: at the link or the RMBs that it names. Take it in: what it announces,
 * changes or ends. The rules of state/ are asked before the message is taken in, and after.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#include "llc_flow.h"
#include "exchange.h"
#include "window.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* ---- keys: a response echoes a part of its request, by which both are paired. Each key_*() makes
 * one number of this part; llc.def says which function a type of message has ---- */

/* A type without such a part: its requests follow each other, one at a time. */
static uint32_t
key_none(G_GNUC_UNUSED const smcr_llc_t *llc)
{
    return 0;
}

/* CONFIRM RKEY: a hash of the whole message (R-A.3.5-2, R-A.3.6-3). */
static uint32_t
key_rkey(const smcr_llc_t *llc)
{
    const smcr_llc_confirm_rkey_t *confirm = &llc->u.confirm_rkey;
    uint64_t key = (confirm->other_links * 31U + confirm->rkey) * UINT64_C(31) + confirm->va;

    for (unsigned i = 0; i < llc->rtoken_count; i++)
        key =
            ((key * 31 + llc->rtokens_in_message[i].link) * 31 + llc->rtokens_in_message[i].rkey) *
                31 +
            llc->rtokens_in_message[i].va;
    return (uint32_t)(key ^ key >> 32);
}

/* DELETE RKEY: a hash of the RKeys. A response of version 2 echoes only how many they are. */
static uint32_t
key_rkeys(const smcr_llc_t *llc)
{
    uint32_t key = llc->u.delete_rkey.count;

    for (unsigned i = 0; i < llc->rtoken_count && !(llc->type & SMCR_LLC_TYPE_V2); i++)
        key = key * 31 + llc->rtokens_in_message[i].rkey;
    return key;
}

/* The number of the link that the message is about. */
static uint32_t
key_link(const smcr_llc_t *llc)
{
    switch (llc->type & (uint8_t)~SMCR_LLC_TYPE_V2) {
    case SMCR_LLC_CONFIRM_LINK:
        return llc->u.confirm_link.link;
    case SMCR_LLC_ADD_LINK_CONT:
        return llc->u.add_link_cont.link;
    case SMCR_LLC_DELETE_LINK:
        return llc->u.delete_link.link;
    default:
        return llc->u.add_link.link;
    }
}

/* TEST LINK: a hash of the user data. */
static uint32_t
key_user_data(const smcr_llc_t *llc)
{
    const uint8_t *data = llc->u.test_link.user_data;
    uint32_t key = 0;

    for (unsigned i = 0; i < sizeof llc->u.test_link.user_data; i++)
        key = key * 31 + data[i];
    return key;
}

/* The message with the link that carries it. A response without the flag of responses counts as a
 * response (smcr_state_exchange_is_unflagged_response()). */
static smcr_exchange_message_t
message_of(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_qp_t *qp = arrival->qp;
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2; /* both versions share the exchanges */

    return (smcr_exchange_message_t){
        .arrival = arrival,
        .llc = llc,
        .type = type,
        .from = smcr_qp_peer(qp),
        .to = qp,
        .side = !qp->side,
        .link = qp->link,
        .lgr = qp->link->lgr,
        .response = llc->lacks_response_flag || (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0,
        .by_server = qp->link->lgr->server == !qp->side,
        .all_links = type == SMCR_LLC_DELETE_LINK && llc->flags & SMCR_LLC_FLAG_ALL,
        .rejects = type == SMCR_LLC_ADD_LINK && llc->flags & SMCR_LLC_FLAG_REJECTED,
    };
}

/* ---- links ---- */

/* Who has a single device in an asymmetric group, for the sentence of its type. Empty where the
 * group is not asymmetric, or nobody knows which side the server is. */
static const char *
single_device_text(const smcr_lgr_t *lgr)
{
    if (lgr->type != SMCR_LGR_ASYMMETRIC || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return "";
    return lgr->single_side == lgr->server ? ", the server has a single device"
                                           : ", the client has a single device";
}

/* The type of the link group has changed. (net/smc/smc_core.c, smcr_lgr_set_type()) */
static void
tell_type(const smcr_exchange_message_t *message)
{
    static const char *const names[] = {"SINGLE", "SYMMETRIC", "ASYMMETRIC"};
    const smcr_lgr_t *lgr = message->lgr;

    if (smcr_evidence_knows_links(lgr))
        smcr_event_add(message->arrival, SMCR_EVENT_lgr_type,
                       "The link group is of type %s now%s", names[lgr->type],
                       single_device_text(lgr));
}

/* CONFIRM LINK is answered: the link carries traffic from now on. */
static void
activate_link(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    bool was_active = link->state == SMCR_LINK_ACTIVE;
    bool type_changed = smcr_link_activate(link);

    if (!was_active && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(message->arrival, SMCR_EVENT_link_active, NULL);
    if (type_changed)
        tell_type(message);
}

/* Whether the link is announced, and its CONFIRM LINK request has come. */
static bool
is_being_confirmed(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && link->confirm_frame;
}

/* The server's DELETE LINK ends the link, and with its last link the group. The user hears of a
 * link that was up. An announced link was up if its CONFIRM LINK request is captured and only the
 * response may be missing. If the capture lacks packets of the group, nobody knows that: another
 * link may live on, a connection may have ended before, or an announced link may have been
 * rejected. */
static void
delete_link(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    bool certain = !smcr_doubt_group(message->arrival, message->lgr).kind;
    bool was_up = link->state == SMCR_LINK_ACTIVE || (certain && is_being_confirmed(link));
    link->state_uncertain = link->state == SMCR_LINK_ANNOUNCED;
    link->state_frame = message->arrival->when.frame;
    bool type_changed = smcr_link_delete(link, message->arrival->when.frame);

    if (was_up)
        smcr_event_add(message->arrival, SMCR_EVENT_link_deleted, "Link %u is deleted",
                       link->number);
    if (type_changed)
        tell_type(message);
    if (message->lgr->ended_frame == message->arrival->when.frame && certain)
        smcr_cost_report_group_end(message->arrival, message->lgr);
}

/* CONFIRM LINK names the queue pair from which it comes. It is the queue pair of the link at this
 * end, unless CLC or ADD LINK has announced another one, or another device. An announced number
 * below SMCR_WIRE_QPN_MIN cannot be that of a queue pair, so it contradicts nothing. (A.3.1) */
static void
take_in_confirmed_qp(const smcr_exchange_message_t *message)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    smcr_ib_qp_key_t key = smcr_qp_key(confirm->gid, confirm->qpn);
    smcr_qp_t *from = message->from;
    bool same_device = !from->gid_known || smcr_gid_is_same(key.gid, from->key.gid);

    smcr_join_links(message->arrival->state, message->link, &key);
    if (!from->number_known && same_device) {
        smcr_qp_set(message->arrival->state, message->link, from->side, &key, SMCR_GROUND_LLC);
        return;
    }
    bool may_contradict = !from->number_known || from->key.qpn >= SMCR_WIRE_QPN_MIN;
    bool is_other_qp = !same_device || key.qpn != from->key.qpn;
    if (may_contradict && is_other_qp)
        smcr_event_add(message->arrival, SMCR_EVENT_link_mismatch,
                       "The message names another queue pair than the link has at this end");
}

/* The flags say whether an eyecatcher of four bytes stands before the data in the sender's RMB
 * elements. */
static void
take_in_base(const smcr_exchange_message_t *message)
{
    bool eyecatcher = smcr_wire_bits(message->llc->flags, SMCR_MASK_NO_EYECATCHER) !=
                      SMCR_LLC_EYECATCHER_NOT_IN_RMB;
    int side = message->from->side;

    message->lgr->base[side] = eyecatcher ? SMCR_WIRE_EYECATCHER_LENGTH : 0;
    message->lgr->base_known[side] = true;
    message->arrival->state->base_uncertain |= eyecatcher;
}

/* CONFIRM LINK tells the number of the link. The server sends the request. The response activates
 * the link. (3.5.1, A.3.1) */
static void
take_in_confirm_link(const smcr_exchange_message_t *message)
{
    smcr_link_t *link = message->link;

    take_in_confirmed_qp(message);
    take_in_base(message);
    if (!link->has_number)
        link->number = message->llc->u.confirm_link.link;
    link->has_number = true;
    smcr_lgr_set_server(message->lgr, message->response ? message->to->side : message->from->side);
    if (!message->response && !link->confirm_frame)
        link->confirm_frame = message->arrival->when.frame;
    if (message->response)
        activate_link(message, link);
}

static void
tell_unknown_rkeys(const smcr_exchange_message_t *message, unsigned unknown)
{
    if (unknown && message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_rkey_unknown,
                       "RKeys that name no RMB of the sender on this link, as far as the capture "
                       "shows: %u", unknown);
}

/* The RTokens on `link`, which is being added, of RMBs of the sender. Each is given with the RKey
 * that the RMB has on the link which carries the message. (3.5.5.2.3, A.3.3) */
static void
take_in_new_rtokens(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    smcr_qp_t *owner = &link->qp[message->from->side];
    unsigned unknown = 0;

    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens_in_message[i];
        smcr_rmb_rtoken_t *entry = smcr_rmb_find(message->arrival->state, message->from,
                                                 rtoken->ref_rkey);
        if (entry)
            smcr_rmb_add_rtoken(message->arrival->state, entry->rmb, owner, rtoken->rkey,
                                rtoken->va);
        else
            unknown++;
    }
    tell_unknown_rkeys(message, unknown);
}

/* The link that is being added with this number; NULL: none is known. If ADD LINK has offered a
 * number in use, the new link has not taken it (announce_link()): then it is the last link of the
 * group. */
static smcr_link_t *
link_to_add(const smcr_lgr_t *lgr, uint8_t number)
{
    smcr_link_t *last = lgr->newest_link;
    bool has_other = last->state == SMCR_LINK_ANNOUNCED && last->number && !last->has_number;

    return has_other ? last : smcr_lgr_link(lgr, number);
}

/* Whether ADD LINK of the side is about `link`, which has the number that it names; NULL: no link
 * has. Either the link is announced and not confirmed yet; or the message comes so late that its
 * queue pair is in use. A first PSN that begins the flow anew shows another queue pair of this
 * number. */
static bool
is_of_link(const smcr_llc_add_link_t *add, int side, smcr_link_t *link)
{
    if (!link || link->state == SMCR_LINK_ANNOUNCED)
        return link != NULL;
    smcr_qp_t *qp = &link->qp[side];
    return link->state == SMCR_LINK_ACTIVE && smcr_qp_has_key(qp, add->gid, add->qpn) &&
           !smcr_flow_begins_anew(&smcr_qp_peer(qp)->traffic.flow, add->psn);
}

/* The link that ADD LINK is about: `link` if that is `announced`, else a new one. If the sender
 * names another queue pair than before, the announced link has come to nothing and is tried again.
 * A new link whose offered number is in use has no number until its CONFIRM LINK. A link that keeps
 * the number of a new one has probably ended in a message that the capture does not have. */
static smcr_link_t *
announce_link(const smcr_exchange_message_t *message, const smcr_llc_add_link_t *add,
              smcr_link_t *link, bool announced)
{
    const smcr_qp_t *qp = announced ? &link->qp[message->from->side] : NULL;

    if (qp && qp->number_known && !smcr_qp_has_key(qp, add->gid, add->qpn)) {
        link->state = SMCR_LINK_REJECTED;
        link->state_uncertain = true;
        link->state_frame = message->arrival->when.frame;
        announced = false;
    }
    if (!announced) {
        bool free = !smcr_record_has_event(message->arrival->record, SMCR_EVENT_link_number_reused);
        if (link)
            link->state_uncertain |= free;
        link = smcr_link_new(message->arrival->state, message->lgr);
        link->number = add->link;
        link->has_number = free;
    }
    return link;
}

/* ADD LINK announces the sender's queue pair of the new link: MTU, first PSN, and in version 2 the
 * RTokens. The queue pair that carries this very message is not replaced. */
static void
take_in_new_qp(const smcr_exchange_message_t *message, smcr_link_t *link,
               const smcr_llc_add_link_t *add)
{
    smcr_qp_t *qp = &link->qp[message->from->side];
    smcr_ib_qp_key_t key = smcr_qp_key(add->gid, add->qpn);

    if (smcr_qp_find(message->arrival->state, &key) != message->from)
        smcr_qp_set(message->arrival->state, link, qp->side, &key, SMCR_GROUND_LLC);
    qp->mtu = smcr_wire_bits(add->mtu, SMCR_MASK_MTU);
    qp->mtu_repeated = false;
    smcr_flow_announce(&smcr_qp_peer(qp)->traffic.flow, add->psn);
    take_in_new_rtokens(message, link);
}

/* The client rejects the link of an ADD LINK request, whose number it echoes. If it has given its
 * queue pair before, it takes back its consent; then, or where the request is not captured, another
 * message may have deleted the link already. */
static void
reject_link(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (!link || link->state != SMCR_LINK_ANNOUNCED)
        return;
    link->state = SMCR_LINK_REJECTED;
    link->state_uncertain |= !message->requested || link->qp[message->from->side].number_known;
    link->state_frame = message->arrival->when.frame;
}

/* The server's offer of a link, or the client's answer to it. */
static void
take_in_offer(const smcr_exchange_message_t *message, const smcr_llc_add_link_t *add)
{
    smcr_link_t *link = link_to_add(message->lgr, add->link);
    bool announced = is_of_link(add, message->from->side, link);

    if (message->response && message->rejects) {
        reject_link(message, link);
        return;
    }
    if (message->response && !announced && message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
    take_in_new_qp(message, announce_link(message, add, link, announced), add);
}

/* The server offers a link with a request, and the client agrees or rejects with the response. A
 * client's request has queue pair number 0: it wishes for a link, and announces none. (3.5.5.1.1,
 * A.3.2) */
static void
take_in_add_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    bool rejected = message->response && message->rejects;
    int server = message->response ? message->to->side : message->from->side;

    if (!message->response && add->qpn == 0)
        return;
    if (!rejected)
        smcr_lgr_set_server(message->lgr, server);
    if (message->lgr->server == !server) /* only servers offer links */
        return;
    take_in_offer(message, add);
}

/* ADD LINK CONTINUATION has further RTokens on the link that is being added. (A.3.3) */
static void
take_in_add_link_cont(const smcr_exchange_message_t *message)
{
    smcr_link_t *link = link_to_add(message->lgr, message->llc->u.add_link_cont.link);

    if (link)
        take_in_new_rtokens(message, link);
    else if (message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
}

/* The server's DELETE LINK for all links ends the group. Requests that are open need no response
 * any more. The reason counts for links that are certainly alive; another link may have been
 * deleted before, for another reason. (3.5.4) */
static void
end_group(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    bool certain = !smcr_doubt_group(message->arrival, lgr).kind, alive = !lgr->ended_frame;

    SMCR_LIST_EACH(smcr_link_t *, link, lgr->links) {
        bool known = link == message->link || smcr_evidence_knows_link(link);
        link->state_uncertain = link->state == SMCR_LINK_ANNOUNCED;
        link->state_frame = message->arrival->when.frame;
        link->delete_reason = known ? message->llc->u.delete_link.reason : 0;
        smcr_link_delete(link, message->arrival->when.frame);
    }
    lgr->ended_frame = message->arrival->when.frame;
    SMCR_LIST_EACH(smcr_exchange_request_t *, request, lgr->pending) {
        request->exchange.is_optional = true;
    }
    if (!alive)
        return;
    smcr_event_add(message->arrival, SMCR_EVENT_lgr_ended, NULL);
    if (certain)
        smcr_cost_report_group_end(message->arrival, message->lgr);
}

/* The end of links is uncertain: a client has asked for it, or a response shows that the server has
 * done something with them. The server's request says what, if the capture has it. A link whose
 * number is not known may be among them. If the group has no link of this number, `lacks_link`, the
 * link may be in another group that began before the capture: the two groups may be the same. */
static void
doubt_links(const smcr_exchange_message_t *message, bool lacks_link)
{
    const smcr_llc_t *llc = message->llc;
    const smcr_arrival_t *arrival = message->arrival;
    bool all = message->all_links, ends = !message->response && message->by_server;
    uint32_t *deletions = arrival->state->uncertain_deletions;

    if (lacks_link)
        deletions[all ? 0 : llc->u.delete_link.link] = arrival->when.frame;
    SMCR_LIST_EACH(smcr_link_t *, link, message->lgr->links) {
        bool meant = all || !link->has_number || link->number == llc->u.delete_link.link;
        link->state_uncertain |= meant;
        if (meant && !ends)
            link->possible_end_frame = arrival->when.frame;
    }
}

/* Whether the message leaves open what becomes of the links that it names. A request of the server
 * for a known link decides. A response decides together with its request, if that is captured. */
static bool
leaves_links_open(const smcr_exchange_message_t *message, const smcr_link_t *link)
{
    bool by_client = message->lgr->server == message->to->side;

    if (message->response)
        return !message->requested;
    return by_client || !link;
}

/* Whether the message announces the end of links, or asks for it: any request does. A response of
 * the server does, too: it follows a client's request. A message about a link or group that its
 * sender does not know ends nothing. (A.3.4) */
static bool
ends_links(const smcr_exchange_message_t *message)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    bool names_unknown = reason == SMCR_LLC_DELETE_UNKNOWN_LINK ||
                         reason == SMCR_LLC_DELETE_UNKNOWN_GROUP;

    if (names_unknown)
        return false;
    return !message->response || (message->by_server && message->lgr->first_contact_captured);
}

/* DELETE LINK for all links: the server ends the group, and a client asks for that. */
static void
take_in_delete_all(const smcr_exchange_message_t *message, bool by_client)
{
    if (!by_client && smcr_evidence_knows_server(message->lgr))
        end_group(message);
    else if (!message->lgr->ended_frame)
        smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, "%s to delete all links",
                       by_client ? "The client asks the server" : "One side asks or tells");
}

/* The reason of DELETE LINK. The user hears of a lost link when a side reports it first. */
static void
take_in_delete_reason(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    bool lost = reason == SMCR_LLC_DELETE_LOST_PATH;

    if (lost && !link->reported_lost && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(message->arrival, SMCR_EVENT_link_lost, "Link %u is lost", link->number);
    link->reported_lost |= lost;
    link->delete_reason = reason;
}

/* DELETE LINK for one link: the server deletes it, and a client asks for that. `link`: NULL: the
 * group has no link of this number. */
static void
take_in_delete_one(const smcr_exchange_message_t *message, smcr_link_t *link, bool by_client)
{
    if (!link) {
        if (message->lgr->first_contact_captured && !by_client)
            smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
        return;
    }
    take_in_delete_reason(message, link);
    if (by_client)
        smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, NULL);
    else
        delete_link(message, link);
}

/* The server deletes a link, or all links and with them the group. A client's request reports that
 * a link has failed, or asks the server to delete it: only the server's own request ends the link.
 * (3.5.5.1.3, 3.5.5.1.4, A.3.4) */
static void
take_in_delete_link(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    bool by_client = lgr->server == message->to->side;
    smcr_link_t *link = smcr_lgr_link(lgr, message->llc->u.delete_link.link);

    if (leaves_links_open(message, link))
        doubt_links(message, !link && smcr_doubt_group(message->arrival, lgr).kind);
    if (!ends_links(message))
        return;
    if (message->all_links)
        take_in_delete_all(message, by_client);
    else
        take_in_delete_one(message, link, by_client);
}

/* ---- RMBs ---- */

/* The keys that the RMB has on other links than the one which carries the message. (A.3.5,
 * A.3.6) */
static void
take_in_other_rtokens(const smcr_exchange_message_t *message, smcr_rmb_t *rmb)
{
    for (unsigned i = 0; rmb && i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens_in_message[i];
        smcr_link_t *link = smcr_lgr_link(message->lgr, rtoken->link);
        if (link)
            smcr_rmb_add_rtoken(message->arrival->state, rmb, &link->qp[rmb->side], rtoken->rkey,
                                rtoken->va);
        else if (message->lgr->first_contact_captured)
            smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number,
                           "The link group has no link with number %u, as far as the capture shows",
                           rtoken->link);
    }
}

/* Whether the connection has carried a CDC message or data in either direction. */
static bool
has_traffic(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];

    return one->last_cdc_frame || other->last_cdc_frame || one->in.written || other->in.written;
}

/* Whether the connection may have used the RMB before the message: it has carried something, or the
 * capture lacks packets of the owner since CLC announced the RMB. */
static bool
may_have_used(const smcr_conn_t *conn, const void *data)
{
    const smcr_exchange_message_t *message = data;
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_point_t *announced = &conn->side[message->from->side].announced_at;

    return has_traffic(conn) || smcr_evidence_absent(announced, arrival->qp, arrival->psn) != 0;
}

/* The RMB that CONFIRM RKEY announces. Its owner confirms an RMB before CLC names it. So an RMB
 * that a connection has used is over, and the message announces a new one, even with the same key
 * and address. Where the capture has only swapped CLC and CONFIRM RKEY, the RMB is the same.
 * `entry`: what the RKey stands for so far; NULL: nothing. */
static smcr_rmb_t *
confirmed_rmb(const smcr_exchange_message_t *message, smcr_qp_t *owner,
              const smcr_rmb_rtoken_t *entry)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;
    smcr_state_t *state = message->arrival->state;
    bool used =
        entry && (message->response || smcr_rmb_find_conn(entry->rmb, may_have_used, message));

    return used ? smcr_rmb_renew(state, owner, confirm->rkey, confirm->va)
                : smcr_rmb_announce(state, owner, confirm->rkey, confirm->va);
}

/* The RMB is the one of the owner's last CONFIRM RKEY: CONFIRM RKEY CONTINUATION adds keys to
 * it. */
static void
note_confirmed(const smcr_exchange_message_t *message, int side, smcr_rmb_t *rmb)
{
    const smcr_arrival_t *arrival = message->arrival;

    message->lgr->last_confirmed_rmb[side] = rmb;
    message->lgr->last_confirm_rkey_at[side] =
        message->response ? (smcr_point_t){0} : smcr_point_at(arrival->qp, arrival->psn);
    rmb->confirmed = true;
    if (!message->response && !rmb->first->confirm_frame)
        rmb->first->confirm_frame = arrival->when.frame;
}

/* CONFIRM RKEY: the owner announces an RMB with its keys on all links, and the peer agrees. A
 * response echoes its request; it announces the RMB only where the request is not captured.
 * (3.5.5.2.1, A.3.5) */
static void
take_in_confirm_rkey(const smcr_exchange_message_t *message)
{
    smcr_qp_t *owner = message->response ? message->to : message->from;
    uint32_t rkey = message->llc->u.confirm_rkey.rkey;
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(message->arrival->state, owner, rkey);
    bool agrees = message->response && !(message->llc->flags & SMCR_LLC_FLAG_NEGATIVE);

    if (entry && agrees)
        entry->rmb->confirm_agreed = true;
    if (message->response && (message->requested || !agrees))
        return;
    smcr_rmb_t *rmb = confirmed_rmb(message, owner, entry);
    note_confirmed(message, owner->side, rmb);
    take_in_other_rtokens(message, rmb);
}

/* Puts the RMBs of `owner` that DELETE RKEY names into `named`. Returns how many of the RKeys name
 * no RMB, or one that is withdrawn already. */
static unsigned
find_withdrawn_rmbs(const smcr_exchange_message_t *message, const smcr_qp_t *owner,
                    smcr_lgr_withdrawal_t *named)
{
    unsigned unknown = 0;

    named->count = message->llc->rtoken_count;
    named->rmbs = smcr_state_alloc0(message->arrival->state, named->count * sizeof *named->rmbs);
    for (unsigned i = 0; i < named->count; i++) {
        uint32_t rkey = message->llc->rtokens_in_message[i].rkey;
        const smcr_rmb_rtoken_t *entry = smcr_rmb_find(message->arrival->state, owner, rkey);
        named->rmbs[i] = entry && !entry->rmb->deleted_frame ? entry->rmb : NULL;
        if (!named->rmbs[i])
            unknown++;
        else if (!message->response && !entry->rmb->first->delete_frame)
            entry->rmb->first->delete_frame = message->arrival->when.frame;
    }
    return unknown;
}

/* Whether the response refuses to withdraw the RKey at this index of the message. Version 1 has an
 * error mask of eight bits. A response of version 2 says only how many RKeys it refuses, so any of
 * them may be refused. (A.3.7, smc_llc_rmt_delete_rkey()) */
static bool
is_refused(const smcr_exchange_message_t *message, unsigned index)
{
    const smcr_llc_t *llc = message->llc;

    return llc->flags & SMCR_LLC_FLAG_NEGATIVE &&
           (llc->type & SMCR_LLC_TYPE_V2 || index >= 8 ||
            llc->u.delete_rkey.error_mask & SMCR_LLC_ERROR_MASK_FIRST >> index);
}

/* The peer of the owner has agreed that the RMBs are withdrawn, but for those that it refuses. An
 * RMB that was announced again after the request stays. Where the request is not captured, nobody
 * knows whether an RMB has been announced again since. */
static void
withdraw_rmbs(const smcr_exchange_message_t *message, const smcr_lgr_withdrawal_t *named)
{
    for (unsigned i = 0; i < named->count; i++) {
        smcr_rmb_t *rmb = named->rmbs[i];
        if (!rmb || (message->requested && !rmb->first->delete_frame))
            continue;
        if (is_refused(message, i)) {
            rmb->first->delete_frame = 0;
            continue;
        }
        smcr_rmb_delete(rmb, message->arrival->when.frame);
        if (message->requested)
            smcr_rmb_make_rare(message->arrival->state, rmb)->deleted_at =
                smcr_point_now(message->from);
    }
}

/* DELETE RKEY: the owner withdraws RMBs. Its peer may write to them until it sends its response.
 * (3.5.5.2.2, A.3.7) */
static void
take_in_delete_rkey(const smcr_exchange_message_t *message)
{
    smcr_lgr_withdrawal_t *asked =
        &message->lgr->withdrawn[message->response ? message->to->side : message->from->side];
    smcr_lgr_withdrawal_t named;

    if (!message->response) {
        tell_unknown_rkeys(message, find_withdrawn_rmbs(message, message->from, asked));
    } else if (message->requested && message->llc->u.delete_rkey.count == asked->count) {
        withdraw_rmbs(message, asked);
    } else if (!message->requested) {
        find_withdrawn_rmbs(message, message->to, &named);
        withdraw_rmbs(message, &named);
    }
}

/* CONFIRM RKEY CONTINUATION: further keys of the RMB in the CONFIRM RKEY before it. (A.3.6) */
static void
take_in_confirm_rkey_cont(const smcr_exchange_message_t *message)
{
    if (!message->response)
        take_in_other_rtokens(message, smcr_evidence_continued(message->arrival, message->lgr));
}

/* ---- all messages ---- */

/* A message of a type that changes no link and no RMB; its request and response are still
 * paired. */
static void
take_in_nothing(G_GNUC_UNUSED const smcr_exchange_message_t *message)
{
}

/* By type of message: how it is taken in, and its key. NULL: the type is not known. */
static const struct {
    void (*take_in)(const smcr_exchange_message_t *message);
    uint32_t (*key)(const smcr_llc_t *llc);
} kinds[UINT8_MAX + 1] = {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, key, ...) \
    [SMCR_LLC_##name] = {take_in_##handler, key_##key},
#include "wire/llc.def"
};

bool
smcr_state_llc_is_known(uint8_t type)
{
    return kinds[type].take_in != NULL;
}

/* A response that names another link than its request is about the link of the request. */
bool
smcr_state_llc_exchange(const smcr_arrival_t *arrival, smcr_llc_t *llc)
{
    smcr_exchange_message_t message = message_of(arrival, llc);

    message.key = kinds[llc->type].key(llc);
    llc->lacks_response_flag = smcr_state_exchange_is_unflagged_response(&message);
    message.response |= llc->lacks_response_flag;
    if (!message.response) {
        smcr_state_exchange_request(&message);
        return false;
    }
    const smcr_exchange_request_t *asked;
    bool requested = smcr_state_exchange_response(&message, &asked);
    if (asked && message.type == SMCR_LLC_ADD_LINK)
        llc->u.add_link.link = (uint8_t)asked->key;
    if (asked && message.type == SMCR_LLC_CONFIRM_LINK)
        llc->u.confirm_link.link = (uint8_t)asked->key;
    return requested;
}

void
smcr_state_llc_take_in(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested)
{
    smcr_exchange_message_t message = message_of(arrival, llc);

    message.requested = requested;
    smcr_rules_check_llc(SMCR_RULES_ARRIVES, &message);
    kinds[llc->type].take_in(&message);
    smcr_rules_check_llc(SMCR_RULES_LEARNED, &message);
}
