/* What LLC messages change: the links of a group, and the RMBs' keys on them (RFC 7609 3.5.1,
 * 3.5.5, A.3; net/smc/smc_llc.c).
 *
 * An LLC message passes three steps. First, exchange.c finds the request that the message answers,
 * and requests that cross it. Second, the link or the RMBs that the message names are found. Third,
 * the message is taken in: what it announces, changes or ends. The checks of state/rules/ run
 * before and after the third step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "llc_flow.h"
#include "credits.h"
#include "early.h"
#include "exchange.h"
#include "state/flow/writes/writes.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* ---- keys ----
 *
 * A response echoes a part of its request, and is paired with the request by this part. A function
 * key_*() makes one number of this part. llc.def has the function for each type of message. */

/* The key of types whose response echoes nothing of the request: always 0. A host sends the next
 * request of such a type only after the response. */
static uint32_t
key_none(G_GNUC_UNUSED const smcr_llc_t *llc)
{
    return 0;
}

/* Key of CONFIRM RKEY: a hash of all RTokens in the message, which its response repeats (R-A.3.5-2,
 * R-A.3.6-3). */
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

/* DELETE RKEY: a hash of the RKeys. In version 2 the response echoes only their number, so this
 * number is the key. */
static uint32_t
key_rkeys(const smcr_llc_t *llc)
{
    uint32_t key = llc->u.delete_rkey.count;

    for (unsigned i = 0; i < llc->rtoken_count && !(llc->type & SMCR_LLC_TYPE_V2); i++)
        key = key * 31 + llc->rtokens_in_message[i].rkey;
    return key;
}

/* Key of messages about a link: the number of the link, which the response repeats. */
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

/* The message, with its sender, its receiver and its link. A response without the response flag
 * counts as a response (smcr_state_exchange_is_unflagged_response()). */
static smcr_exchange_message_t
message_of(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_qp_t *qp = arrival->qp;
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2; /* exchanges are by type of version 1 */
    bool response = llc->lacks_response_flag || (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0;

    return (smcr_exchange_message_t){
        .arrival = arrival,
        .llc = llc,
        .type = type,
        .from = smcr_qp_peer(qp),
        .to = qp,
        .side = !qp->side,
        .link = qp->link,
        .lgr = qp->link->lgr,
        .response = response,
        .by_server = qp->link->lgr->server == !qp->side,
        .all_links = type == SMCR_LLC_DELETE_LINK && llc->flags & SMCR_LLC_FLAG_ALL,
        .rejects = response && type == SMCR_LLC_ADD_LINK && llc->flags & SMCR_LLC_FLAG_REJECTED,
    };
}

/* ---- links ---- */

/* Text that says which side of an asymmetric group has a single device. Empty if the group is not
 * asymmetric, or if the server's side is not known. */
static const char *
single_device_text(const smcr_lgr_t *lgr)
{
    if (lgr->type != SMCR_LGR_ASYMMETRIC || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return "";
    return lgr->single_side == lgr->server ? ", the server has a single device"
                                           : ", the client has a single device";
}

/* Reports the new type of the link group, if the states of all its links are certain.
 * (net/smc/smc_core.c, smcr_lgr_set_type()) */
static void
report_type(const smcr_exchange_message_t *message)
{
    static const char *const names[] = {"SINGLE", "SYMMETRIC", "ASYMMETRIC"};
    const smcr_lgr_t *lgr = message->lgr;

    if (smcr_evidence_knows_links(lgr))
        smcr_event_add(message->arrival, SMCR_EVENT_lgr_type,
                       "The link group is now of type %s%s", names[lgr->type],
                       single_device_text(lgr));
}

/* Activates the link, since the response to CONFIRM LINK has come. The event is added if this
 * message makes the link active: an RDMA WRITE may have done so before. */
static void
activate_link(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    bool was_active = link->state == SMCR_LINK_ACTIVE;
    bool type_changed = smcr_link_activate(link);

    if (!was_active && link->state == SMCR_LINK_ACTIVE) {
        link->active_frame = message->arrival->when.frame;
        smcr_event_add(message->arrival, SMCR_EVENT_link_active, NULL);
    }
    if (type_changed)
        report_type(message);
}

/* Whether the link is announced, and its CONFIRM LINK request is captured. */
static bool
is_being_confirmed(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && link->confirm_frame;
}

/* Deletes the link, since the server's DELETE LINK names it. With the last link, the group ends.
 *
 * The deletion is reported in two cases: 1. the link was active; 2. it was announced, its CONFIRM
 * LINK request is captured, and no packet of the group is missing. If packets of the group are
 * missing, an announced link may have been rejected before, another link may be alive, or a
 * connection may have ended. Then the end of the group is not reported either. */
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
        report_type(message);
    if (message->lgr->ended_frame == message->arrival->when.frame && certain)
        smcr_cost_report_group_end(message->arrival, message->lgr);
}

/* Takes in the queue pair in CONFIRM LINK, which is the queue pair of its sender. Reports if CLC or
 * ADD LINK has announced another queue pair or another device for the sender. An announced number
 * below SMCR_WIRE_QPN_MIN cannot be that of a queue pair, so it contradicts nothing; nor does any
 * number if the capture is out of order, since ADD LINK may come later. (A.3.1) */
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
    if (may_contradict && is_other_qp && !message->arrival->state->is_out_of_order)
        smcr_event_add(message->arrival, SMCR_EVENT_link_mismatch,
                       "The queue pair in the message is not that of the link at this end");
}

/* Learns where data begins in the sender's RMB elements: the flags of CONFIRM LINK report whether
 * an eyecatcher of four bytes precedes the data. */
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

/* Takes in CONFIRM LINK: the queue pair, the number of the link, and the roles. The server sends
 * the request, and the client's response activates the link. (3.5.1, A.3.1) */
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
    smcr_state_early_begin(message->arrival, link);
    if (!message->response && !link->confirm_frame)
        link->confirm_frame = message->arrival->when.frame;
    if (message->response)
        activate_link(message, link);
}

/* Reports how many RKeys of the message name no known RMB, if the capture has the first contact of
 * the group. */
static void
report_unknown_rkeys(const smcr_exchange_message_t *message, unsigned unknown)
{
    if (unknown && message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_rkey_unknown,
                       "RKeys of no known RMB of the sender on this link: %u", unknown);
}

/* Takes in the RTokens of the sender's RMBs on `link`, a link that is being added. In the message,
 * each RToken has a reference to its RMB: the RKey of the RMB on the link that carries the message.
 * (3.5.5.2.3, A.3.3) */
static void
take_in_new_rtokens(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    smcr_qp_t *owner = &link->qp[message->from->side];
    unsigned unknown = 0;

    message->lgr->lacks_rtokens |= message->llc->lacks_rtokens;
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
    report_unknown_rkeys(message, unknown);
}

/* The link with this number that is being added, or an older link with this number; NULL: none. If
 * ADD LINK has offered a number that is in use, the new link has no number yet (announce_link()):
 * then the newest link of the group is returned. */
static smcr_link_t *
link_to_add(const smcr_lgr_t *lgr, uint8_t number)
{
    smcr_link_t *last = lgr->newest_link;
    bool has_other = last->state == SMCR_LINK_ANNOUNCED && last->number && !last->has_number;

    return has_other ? last : smcr_lgr_link(lgr, number);
}

/* Whether the ADD LINK message `add` of `side` is about `link`, a known link with the number in the
 * message. There are two cases:
 *
 * - The link is announced and not confirmed yet.
 * - The link is active, and has the queue pair that the message names: the capture has the message
 *   after packets of the link. But if the first PSN in the message is far from the PSNs of this
 *   link (smcr_flow_begins_anew()), the message is about another queue pair with the same number.
 *
 * `link`: NULL gives false. */
static bool
is_of_link(const smcr_llc_add_link_t *add, int side, smcr_link_t *link)
{
    if (!link || link->state == SMCR_LINK_ANNOUNCED)
        return link != NULL;
    smcr_qp_t *qp = &link->qp[side];
    return link->state == SMCR_LINK_ACTIVE && smcr_qp_has_key(qp, add->gid, add->qpn) &&
           !smcr_flow_begins_anew(&smcr_qp_peer(qp)->traffic.flow, add->psn);
}

/* Returns the link that ADD LINK is about: `link` if the message is about it (`announced`),
 * otherwise a new link. There are three special cases:
 *
 * 1. The sender names another queue pair for `link` than before: `link` was not set up and counts
 *    as rejected, and a new link is made.
 * 2. The offered number is in use: the new link has no number until its CONFIRM LINK.
 * 3. Otherwise, if `link` has the number of the new link, `link` has probably been deleted in a
 *    message that is not captured: its state is uncertain. */
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
        link->is_announced = !message->response;
    }
    return link;
}

/* Joins the new link with the link of `before`, a queue pair that had packets before ADD LINK has
 * announced it, if the first of these packets has the initial PSN of the link: then clocks differ.
 * `qp`: the same queue pair on the new link. `psn`: initial PSN of the flow to it. `before`: NULL
 * changes nothing. */
static void
join_early(const smcr_exchange_message_t *message, smcr_qp_t *qp, smcr_qp_t *before, uint32_t psn)
{
    if (!before || before == qp || !before->traffic.flow.packet_count)
        return;
    if ((before->traffic.flow.first & SMCR_PSN_MASK) != psn)
        return;
    smcr_lgr_prove_clocks(message->lgr);
    smcr_join_replaced(message->arrival->state, qp, before);
    smcr_state_early_tell(message->arrival, message->lgr);
}

/* Joins the new link with the link of packets that came before ADD LINK, of either direction, when
 * the response has come: then both initial PSNs are known. `before`: queue pair with the key of
 * `qp`, the sender's on the new link, that was known before the message; NULL: none. `psn`: the
 * initial PSN in the message. */
static void
join_early_link(const smcr_exchange_message_t *message, smcr_qp_t *qp, smcr_qp_t *before,
                uint32_t psn)
{
    smcr_link_t *link = qp->link;

    if (!message->response) {
        link->shown_before = before;
        return;
    }
    smcr_qp_t *other = link->shown_before, *peer = other ? smcr_qp_peer(other) : NULL;
    if (peer && smcr_qp_has_key(peer, qp->key.gid, qp->key.qpn))
        before = peer; /* the request has taken the number from it */
    if (qp->traffic.flow.first_announced)
        join_early(message, qp, before, (uint32_t)(qp->traffic.flow.first & SMCR_PSN_MASK));
    join_early(message, smcr_qp_peer(qp), other, psn);
    link->shown_before = NULL;
}

/* Takes in what ADD LINK announces for its sender's end of the new link: queue pair, MTU, first
 * PSN, and in version 2 the RTokens. If the message wrongly names the queue pair by which it is
 * sent, this queue pair keeps its link. */
static void
take_in_new_qp(const smcr_exchange_message_t *message, smcr_link_t *link,
               const smcr_llc_add_link_t *add)
{
    smcr_qp_t *qp = &link->qp[message->from->side];
    smcr_ib_qp_key_t key = smcr_qp_key(add->gid, add->qpn);
    smcr_qp_t *before = smcr_qp_find(message->arrival->state, &key);

    if (before != message->from) {
        smcr_qp_set(message->arrival->state, link, qp->side, &key, SMCR_GROUND_LLC);
        join_early_link(message, qp, before, add->psn);
    }
    qp->mtu = smcr_wire_bits(add->mtu, SMCR_MASK_MTU);
    qp->mtu_repeated = false;
    smcr_state_credits_begin(qp, add->credits);
    smcr_flow_announce(&smcr_qp_peer(qp)->traffic.flow, add->psn);
    take_in_new_rtokens(message, link);
}

/* Takes in that the client rejects the link of an ADD LINK request. The state of the link is then
 * uncertain in two cases: 1. the request is not captured; 2. the client has accepted the link
 * before. */
static void
reject_link(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    if (!link || link->state != SMCR_LINK_ANNOUNCED)
        return;
    link->state = SMCR_LINK_REJECTED;
    link->reject_reason = message->llc->u.add_link.reject_reason;
    link->state_uncertain |= !message->requested || link->qp[message->from->side].number_known;
    link->state_frame = message->arrival->when.frame;
}

/* If an Accept has named the link of the ADD LINK request `add` before, moves this link to the
 * group of the message, and gives it its number (smcr_join_offered()). Not if another link of the
 * group has this number. */
static void
join_named_link(const smcr_exchange_message_t *message, const smcr_llc_add_link_t *add)
{
    smcr_ib_qp_key_t key = smcr_qp_key(add->gid, add->qpn);

    if (smcr_lgr_link(message->lgr, add->link))
        return;
    smcr_link_t *link =
        smcr_join_offered(message->arrival->state, message->lgr, &key, add->psn);

    if (!link)
        return;
    link->number = add->link;
    link->has_number = link->is_announced = true;
    smcr_state_early_tell(message->arrival, message->lgr);
}

/* Takes in the server's offer of a link, or the client's response to the offer. A response for an
 * unknown link is reported only if the first contact of the group is captured. */
static void
take_in_offer(const smcr_exchange_message_t *message, const smcr_llc_add_link_t *add)
{
    if (!message->response)
        join_named_link(message, add);
    smcr_link_t *link = link_to_add(message->lgr, add->link);
    bool announced = is_of_link(add, message->from->side, link);

    if (message->rejects) {
        reject_link(message, link);
        return;
    }
    if (message->response && !announced && message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
    take_in_new_qp(message, announce_link(message, add, link, announced), add);
}

/* Takes in ADD LINK. The server offers a link with a request, and the client agrees or rejects with
 * the response. A client's request has queue pair number 0: it only asks the server for a link, and
 * announces no queue pair. (3.5.5.1.1, A.3.2) */
static void
take_in_add_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    int server = message->response ? message->to->side : message->from->side;

    if (!message->response && add->qpn == 0)
        return;
    if (!message->rejects)
        smcr_lgr_set_server(message->lgr, server);
    if (message->lgr->server == !server) /* the known roles are the other way round, and only
                                            servers offer links */
        return;
    take_in_offer(message, add);
}

/* Takes in ADD LINK CONTINUATION: further RTokens on the link that is being added. An unknown link
 * is reported only if the first contact of the group is captured. (A.3.3) */
static void
take_in_add_link_cont(const smcr_exchange_message_t *message)
{
    smcr_link_t *link = link_to_add(message->lgr, message->llc->u.add_link_cont.link);

    if (link)
        take_in_new_rtokens(message, link);
    else if (message->lgr->first_contact_captured)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
}

/* The reason for which the server ends the group; 0: not known. If it is not known which side is
 * the server, each side has asked the other to delete all links (has_server_ended()). Then the
 * reason is known only if both requests have the same. */
static uint32_t
end_reason(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    uint32_t reason = message->llc->u.delete_link.reason;

    return smcr_evidence_knows_server(lgr) || lgr->asked_reason == reason ? reason : 0;
}

/* Ends the group, since the server has sent DELETE LINK for all links. Open requests need no
 * response after this message. Only a link that certainly was alive gets the reason in the message:
 * any other link may have been deleted before, for another reason. (3.5.4) */
static void
end_group(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    bool certain = !smcr_doubt_group(message->arrival, lgr).kind, alive = !lgr->ended_frame;

    SMCR_LIST_EACH(smcr_link_t *, link, lgr->links) {
        bool known = link == message->link || smcr_evidence_knows_link(link);
        link->state_uncertain = link->state == SMCR_LINK_ANNOUNCED;
        if (link->state != SMCR_LINK_REJECTED)
            link->state_frame = message->arrival->when.frame;
        link->delete_reason = known ? end_reason(message) : 0;
        link->may_have_ended_before = !known || !smcr_evidence_knows_server(lgr);
        link->used_before_end = smcr_link_last_use(link);
        smcr_link_delete(link, message->arrival->when.frame);
    }
    if (alive)
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

/* Notes that it is uncertain whether the links that DELETE LINK names have ended. Only the server's
 * request ends links. The message is a client's request, or a response whose request is not
 * captured, so the server's request may be missing; or it is the server's request for an unknown
 * link. A link whose number is not known may be meant, too. `lacks_link`: the group has no link
 * with the number in the message. Then the link may be listed in another group that began before
 * the capture, since the two objects may be one group. */
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

/* Whether the message leaves open whether the links that it names have ended. The end is certain in
 * two cases: 1. the message is a request of the server for a known link; 2. it is a response whose
 * request is captured. */
static bool
leaves_links_open(const smcr_exchange_message_t *message, const smcr_link_t *link)
{
    if (message->response)
        return !message->requested;
    return !message->by_server || !link;
}

/* Whether DELETE LINK ends links, or asks for their end. Every request does. A response of the
 * server does, too, since it answers a client's request; but only the captured first contact proves
 * who is the server. Exception: with the reason that the sender does not know the link or group,
 * the message ends nothing. (A.3.4) */
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

/* The beginning of an event's sentence: who asks for the end of links, as far as the roles are
 * known. */
static const char *
asks_to_delete(bool by_client)
{
    return by_client ? "The client requests the server" : "One side requests the other";
}

/* Whether the server has sent DELETE LINK for all links. The caller has excluded that the arriving
 * message is the client's. True if it is known which side is the server, since the message is the
 * server's then. True also if each side has asked the other to delete all links: one of the two is
 * the server. Linux answers the server's request with a request of its own. */
static bool
has_server_ended(const smcr_lgr_t *lgr)
{
    return smcr_evidence_knows_server(lgr) || (lgr->asked_to_end[0] && lgr->asked_to_end[1]);
}

/* Takes in DELETE LINK for all links: the server's message ends the group, and a client's message
 * asks for the end of the group. If the roles are not known: see has_server_ended(). */
static void
take_in_delete_all(const smcr_exchange_message_t *message, bool by_client)
{
    smcr_lgr_t *lgr = message->lgr;

    if (!lgr->asked_to_end[0] && !lgr->asked_to_end[1])
        lgr->asked_reason = message->llc->u.delete_link.reason;
    lgr->asked_to_end[message->from->side] |= !message->response;
    if (!by_client && has_server_ended(lgr))
        end_group(message);
    else if (!lgr->ended_frame)
        smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, "%s to delete all links",
                       asks_to_delete(by_client));
}

/* Takes in the reason of DELETE LINK. The first DELETE LINK for the link with the reason "lost
 * path" is kept as the loss, and reported if the link was active. */
static void
take_in_delete_reason(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    uint32_t reason = message->llc->u.delete_link.reason;

    link->delete_reason = reason;
    if (reason != SMCR_LLC_DELETE_LOST_PATH || link->lost_frame)
        return;
    if (link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(message->arrival, SMCR_EVENT_link_lost, "Link %u is lost", link->number);
    link->lost_frame = message->arrival->when.frame;
    link->lost_by_server = message->by_server;
    link->used_before_loss = smcr_link_last_use(link);
}

/* Whether the group has had a link with the number, even if that link is deleted or rejected now.
 * Then the queue pairs of that link are known. */
static bool
has_had_number(const smcr_lgr_t *lgr, uint8_t number)
{
    SMCR_LIST_EACH_BACK(smcr_link_t *, link, lgr->links) {
        if (link->has_number && link->number == number)
            return true;
    }
    return false;
}

/* Takes in DELETE LINK for a link that the group does not have: it began before the capture, or it
 * is gone already, or the sender is wrong. If the first contact is captured and the server sends
 * the message, the number is reported. If the path of a link from before the capture is lost, the
 * loss is reported. */
static void
take_in_delete_unknown(const smcr_exchange_message_t *message, bool by_client)
{
    bool is_lost = message->llc->u.delete_link.reason == SMCR_LLC_DELETE_LOST_PATH;
    bool knows_all = message->lgr->first_contact_captured;
    uint8_t number = message->llc->u.delete_link.link;

    if (knows_all && !by_client)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
    else if (!knows_all && is_lost && !message->response && !has_had_number(message->lgr, number))
        smcr_event_add(message->arrival, SMCR_EVENT_link_lost_unknown,
                       "A host reports the loss of link %u, whose queue pairs are not known",
                       number);
}

/* Takes in DELETE LINK for one link: the server's message ends the link, and a client's message
 * asks for the end of the link. If the roles are not known, the message may do either. `link`:
 * NULL: the group has no link with this number. */
static void
take_in_delete_one(const smcr_exchange_message_t *message, smcr_link_t *link, bool by_client)
{
    if (!link) {
        take_in_delete_unknown(message, by_client);
        return;
    }
    take_in_delete_reason(message, link);
    if (!by_client && smcr_evidence_knows_server(message->lgr))
        delete_link(message, link);
    else
        smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, "%s to delete the link",
                       asks_to_delete(by_client));
}

/* Takes in DELETE LINK. The server's request deletes a link, or all links and with them the group.
 * A client's request reports that a link has failed, or asks the server to delete a link: only the
 * server's own request ends the link. (3.5.5.1.3, 3.5.5.1.4, A.3.4) */
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

/* Takes in the RMB's keys on links other than the link that carries the message. Unknown links are
 * reported only if the first contact of the group is captured. (A.3.5, A.3.6) */
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
                           "No link of the link group is known to have number %u",
                           rtoken->link);
    }
}

/* Whether the connection has carried a CDC message or data, in any direction. */
static bool
has_traffic(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];

    return one->last_cdc_frame || other->last_cdc_frame || one->in.written || other->in.written;
}

/* Whether the connection may have used its RMB before the message. There are two cases: 1. the
 * connection has carried data or CDC messages; 2. packets of the RMB's owner may be missing after
 * CLC announced the RMB. `data`: the message, an smcr_exchange_message_t. */
static bool
may_have_used(const smcr_conn_t *conn, const void *data)
{
    const smcr_exchange_message_t *message = data;
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_point_t *announced = &conn->side[message->from->side].announced_at;

    return has_traffic(conn) || smcr_evidence_absent(announced, arrival->qp, arrival->psn) != 0;
}

/* The RMB that CONFIRM RKEY announces. An owner sends CONFIRM RKEY before CLC names the RMB. So if
 * a connection has already used the RMB of this RKey, the owner has withdrawn it, and the message
 * announces a new RMB, even with the same RKey and address. If no connection has used the RMB, the
 * capture may only have CLC before CONFIRM RKEY, and the result is the known RMB. Of a response,
 * whose request is not captured, the RMB is always new. `entry`: RToken that the RKey names so far;
 * NULL: none. */
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

/* Notes that `rmb` is the RMB of the last CONFIRM RKEY of `side`, its owner. A CONFIRM RKEY
 * CONTINUATION has further RTokens of this RMB. */
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

/* Whether the connection certainly is open for the sender of CONFIRM RKEY, and did not make the
 * first contact of its link group. `data`: the message, an smcr_exchange_message_t. */
static bool
is_certainly_open(const smcr_conn_t *conn, const void *data)
{
    const smcr_exchange_message_t *message = data;

    return !conn->first_contact && smcr_doubt_conn_is_open(conn, message->from->side) &&
           !smcr_doubt_conn(message->arrival, conn).kind;
}

/* Notes that a side announces an RMB only after CLC has named it for a connection that is open. If
 * both sides do so, it is not a breach: TCP and RoCE have times of two clocks. `rmb`: RMB that the
 * RKey of the message names so far; NULL: none. */
static void
note_confirmed_late(const smcr_exchange_message_t *message, const smcr_rmb_t *rmb)
{
    smcr_lgr_t *lgr = message->lgr;

    if (message->response || !rmb || !smcr_rmb_find_conn(rmb, is_certainly_open, message))
        return;
    lgr->confirmed_late[message->from->side] = true;
    if (lgr->confirmed_late[0] && lgr->confirmed_late[1])
        smcr_lgr_prove_clocks(lgr);
    smcr_state_early_tell(message->arrival, lgr);
}

/* Takes in CONFIRM RKEY: the owner announces an RMB with its RTokens on all links, and the peer
 * agrees. A response echoes its request. So if the request is not captured, the RMB is taken from
 * the response. (3.5.5.2.1, A.3.5) */
static void
take_in_confirm_rkey(const smcr_exchange_message_t *message)
{
    smcr_qp_t *owner = message->response ? message->to : message->from;
    uint32_t rkey = message->llc->u.confirm_rkey.rkey;
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(message->arrival->state, owner, rkey);
    bool agrees = message->response && !(message->llc->flags & SMCR_LLC_FLAG_NEGATIVE);

    note_confirmed_late(message, entry ? entry->rmb : NULL);
    if (entry && agrees)
        entry->rmb->confirm_agreed = true;
    if (message->response && (message->requested || !agrees))
        return;
    smcr_rmb_t *rmb = confirmed_rmb(message, owner, entry);
    note_confirmed(message, owner->side, rmb);
    take_in_other_rtokens(message, rmb);
}

/* Whether only a response has withdrawn the RMB, so that its request is missing, or comes later in
 * the capture. */
static bool
lacks_delete_request(const smcr_rmb_t *rmb)
{
    return rmb->deleted_frame && !rmb->first->delete_frame;
}

/* Puts the RMBs of `owner` that DELETE RKEY names into `named`; NULL for an RKey that names none,
 * or one that is withdrawn. If the message is a request, notes its frame in those of these RMBs
 * that have no such frame yet. Returns how many of the RKeys name no RMB, or an RMB that an earlier
 * request has withdrawn. */
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
            unknown += !entry || !lacks_delete_request(entry->rmb);
        else if (!message->response && !entry->rmb->first->delete_frame)
            entry->rmb->first->delete_frame = message->arrival->when.frame;
    }
    return unknown;
}

/* Whether the response refuses to withdraw the RKey at this index of the message, or may refuse it.
 * Version 1 has an error mask of eight bits, which says nothing of further RKeys. A response of
 * version 2 says only how many RKeys it refuses. In both cases each of these RKeys may be refused.
 * (A.3.7, smc_llc_rmt_delete_rkey()) */
static bool
is_refused(const smcr_exchange_message_t *message, unsigned index)
{
    const smcr_llc_t *llc = message->llc;

    return llc->flags & SMCR_LLC_FLAG_NEGATIVE &&
           (llc->type & SMCR_LLC_TYPE_V2 || index >= 8 ||
            llc->u.delete_rkey.error_mask & SMCR_LLC_ERROR_MASK_FIRST >> index);
}

/* Withdraws the RMBs `named`, since the peer of their owner has agreed. Not withdrawn are RMBs that
 * the peer refuses to withdraw, and RMBs that were announced once more after the request. If the
 * request is not captured, its time is not known, and every RMB that the response does not refuse
 * is withdrawn. */
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

/* Takes in DELETE RKEY: the owner withdraws RMBs. Its peer may write to them until the peer sends
 * its response. (3.5.5.2.2, A.3.7) */
static void
take_in_delete_rkey(const smcr_exchange_message_t *message)
{
    smcr_lgr_withdrawal_t *asked =
        &message->lgr->withdrawn[message->response ? message->to->side : message->from->side];
    smcr_lgr_withdrawal_t named;

    if (!message->response) {
        report_unknown_rkeys(message, find_withdrawn_rmbs(message, message->from, asked));
    } else if (message->requested && message->llc->u.delete_rkey.count == asked->count) {
        withdraw_rmbs(message, asked);
    } else if (!message->requested) {
        find_withdrawn_rmbs(message, message->to, &named);
        withdraw_rmbs(message, &named);
    }
}

/* Takes in CONFIRM RKEY CONTINUATION: further keys of the RMB that the preceding CONFIRM RKEY has
 * announced. (A.3.6) */
static void
take_in_confirm_rkey_cont(const smcr_exchange_message_t *message)
{
    if (!message->response)
        take_in_other_rtokens(message, smcr_evidence_continued(message->arrival, message->lgr));
}

/* ---- all messages ---- */

/* The handler of message types that change no link and no RMB. Request and response of such a type
 * are paired nevertheless. */
static void
take_in_nothing(G_GNUC_UNUSED const smcr_exchange_message_t *message)
{
}

/* By type byte of the message: the function that takes in the message, and the function that makes
 * the key of the message. NULL: the type is not known. */
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

/* If a response to ADD LINK or CONFIRM LINK names another link than its request, the response
 * counts for the link of the request. */
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

/* The rules see the state before and after the message. */
void
smcr_state_llc_take_in(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested)
{
    smcr_exchange_message_t message = message_of(arrival, llc);

    message.requested = requested;
    smcr_rules_check_llc(SMCR_RULES_ARRIVES, &message);
    kinds[llc->type].take_in(&message);
    smcr_rules_check_llc(SMCR_RULES_LEARNED, &message);
}
