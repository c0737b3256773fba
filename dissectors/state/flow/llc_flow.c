/* What LLC messages tell: the links of a group, and the RMBs' keys on them (RFC 7609 3.5.1, 3.5.5,
 * A.3; net/smc/smc_llc.c). Judge the message: what does it answer, what crosses it (exchange.c)?
 * Place it: at the link or the RMBs that it names. Take it in: what it announces, changes or ends.
 * Tell what is worth it. Rules are asked before it is taken in, and after.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_flow.h"
#include "exchange.h"
#include "window.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* ---- what a response repeats of its request, as a number ---- */

/* Requests of a type that has no such thing follow each other. */
static uint32_t
key_none(G_GNUC_UNUSED const smcr_llc_t *llc)
{
    return 0;
}

/* All that the message says (R-A.3.5-2, R-A.3.6-3). */
static uint32_t
key_rkey(const smcr_llc_t *llc)
{
    const smcr_llc_confirm_rkey_t *confirm = &llc->u.confirm_rkey;
    uint64_t key = (confirm->other_links * 31U + confirm->rkey) * UINT64_C(31) + confirm->va;

    for (unsigned i = 0; i < llc->rtoken_count; i++)
        key = ((key * 31 + llc->rtokens[i].link) * 31 + llc->rtokens[i].rkey) * 31 +
              llc->rtokens[i].va;
    return (uint32_t)(key ^ key >> 32);
}

/* Responses of version 2 repeat the number of RKeys only. */
static uint32_t
key_rkeys(const smcr_llc_t *llc)
{
    uint32_t key = llc->u.delete_rkey.count;

    for (unsigned i = 0; i < llc->rtoken_count && !(llc->type & SMCR_LLC_TYPE_V2); i++)
        key = key * 31 + llc->rtokens[i].rkey;
    return key;
}

static uint32_t
key_link(const smcr_llc_t *llc)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2;

    return type == SMCR_LLC_CONFIRM_LINK    ? llc->u.confirm_link.link
           : type == SMCR_LLC_ADD_LINK_CONT ? llc->u.add_link_cont.link
           : type == SMCR_LLC_DELETE_LINK   ? llc->u.delete_link.link
                                            : llc->u.add_link.link;
}

static uint32_t
key_user_data(const smcr_llc_t *llc)
{
    const uint8_t *data = llc->u.test_link.user_data;
    uint32_t key = 0;

    for (unsigned i = 0; i < sizeof llc->u.test_link.user_data; i++)
        key = key * 31 + data[i];
    return key;
}

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
        .response = llc->lacks_flag || (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0,
        .by_server = qp->link->lgr->server == !qp->side,
        .all_links = type == SMCR_LLC_DELETE_LINK && llc->flags & SMCR_LLC_FLAG_ALL,
        .rejects = type == SMCR_LLC_ADD_LINK && llc->flags & SMCR_LLC_FLAG_REJECTED,
    };
}

/* ---- links ---- */

static void
tell_type(const smcr_exchange_message_t *message)
{
    static const char *const names[] = {"SINGLE", "SYMMETRIC", "ASYMMETRIC"};
    const smcr_lgr_t *lgr = message->lgr;
    const char *single = lgr->type != SMCR_LGR_ASYMMETRIC ? ""
                         : lgr->single_side == lgr->server
                             ? ", the server has a single device"
                             : ", the client has a single device";

    if (smcr_evidence_knows_links(lgr))
        smcr_event_add(message->arrival, SMCR_EVENT_lgr_type,
                       "The link group is of type %s now%s", names[lgr->type],
                       lgr->server == SMCR_LGR_SIDE_UNKNOWN ? "" : single);
}

static void
activate(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    bool before = link->state == SMCR_LINK_ACTIVE;
    bool changed = smcr_link_activate(link);

    if (!before && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(message->arrival, SMCR_EVENT_link_active, NULL);
    if (changed)
        tell_type(message);
}

static void
delete(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    /* else a link may live on, or a connection may have ended */
    bool certain = !smcr_doubt_group(message->arrival, message->lgr).kind;
    bool before = link->state == SMCR_LINK_ACTIVE ||
                  (link->state == SMCR_LINK_ANNOUNCED && link->confirm_frame && certain);
    link->is_guess = link->state == SMCR_LINK_ANNOUNCED; /* it may have been rejected before */
    link->settled_frame = message->arrival->when.frame;
    bool changed = smcr_link_delete(link, message->arrival->when.frame);

    if (before)
        smcr_event_add(message->arrival, SMCR_EVENT_link_deleted, "Link %u is deleted",
                       link->number);
    if (changed)
        tell_type(message);
    if (message->lgr->ended_frame == message->arrival->when.frame && certain)
        smcr_cost_tell_end(message->arrival, message->lgr);
}

/* The message of its sender names the queue pair from which it comes. */
static void
take_in_confirm_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    smcr_ib_qp_key_t key = smcr_qp_key(confirm->gid, confirm->qpn);
    smcr_qp_t *from = message->from;
    bool same_device = !from->gid_known || smcr_gid_is_same(key.gid, from->key.gid);

    smcr_join_links(message->arrival->state, message->link, &key);
    if (!from->known && same_device)
        smcr_qp_set(message->arrival->state, message->link, from->side, &key, SMCR_GROUND_LLC);
    else if ((!from->known || from->key.qpn >= SMCR_WIRE_QPN_MIN) &&
             (!same_device || key.qpn != from->key.qpn))
        smcr_event_add(message->arrival, SMCR_EVENT_link_mismatch,
                       "The message names another queue pair than the link has at this end");
    bool eyecatcher = smcr_wire_bits(message->llc->flags, SMCR_MASK_NO_EYECATCHER) !=
                      SMCR_LLC_EYECATCHER_NOT_IN_RMB;
    message->lgr->base[from->side] = eyecatcher ? SMCR_WIRE_EYECATCHER_LENGTH : 0;
    message->lgr->base_known[from->side] = true;
    message->arrival->state->base_doubtful |= eyecatcher;
    if (!message->link->has_number)
        message->link->number = confirm->link;
    message->link->has_number = true;
    smcr_lgr_set_server(message->lgr, message->response ? message->to->side : from->side);
    if (!message->response && !message->link->confirm_frame)
        message->link->confirm_frame = message->arrival->when.frame;
    if (message->response)
        activate(message, message->link);
}

static void
tell_unknown_rkeys(const smcr_exchange_message_t *message, unsigned unknown)
{
    if (unknown && message->lgr->from_start)
        smcr_event_add(message->arrival, SMCR_EVENT_rkey_unknown,
                       "RKeys that name no RMB of the sender on this link, as far as the capture "
                       "shows: %u", unknown);
}

/* RTokens of the sender's RMBs on `link`, which is being added. */
static void
take_in_new_rtokens(const smcr_exchange_message_t *message, smcr_link_t *link)
{
    smcr_qp_t *owner = &link->qp[message->from->side];
    unsigned unknown = 0;

    for (unsigned i = 0; i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens[i];
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

/* The link with that number, or the last one, if ADD LINK has given it a number in use. */
static smcr_link_t *
link_to_add(const smcr_lgr_t *lgr, uint8_t number)
{
    smcr_link_t *last = lgr->all_links;
    bool has_other = last->state == SMCR_LINK_ANNOUNCED && last->number && !last->has_number;

    return has_other ? last : smcr_lgr_link(lgr, number);
}

/* Whether ADD LINK of the side is about this link, which has the number and may be NULL: the other
 * side has announced it, or the message comes so late that the queue pair is in use. */
static bool
is_of_link(const smcr_llc_add_link_t *add, int side, smcr_link_t *link)
{
    smcr_qp_t *qp = link ? &link->qp[side] : NULL;

    return qp && (link->state == SMCR_LINK_ANNOUNCED ||
                  (link->state == SMCR_LINK_ACTIVE && smcr_qp_has_key(qp, add->gid, add->qpn) &&
                   !smcr_flow_begins_anew(&smcr_qp_peer(qp)->traffic.flow, add->psn)));
}

/* The link that ADD LINK is about: a new one, unless it is `link`, which is `announced`. */
static smcr_link_t *
announce_link(const smcr_exchange_message_t *message, const smcr_llc_add_link_t *add,
              smcr_link_t *link, bool announced)
{
    const smcr_qp_t *qp = announced ? &link->qp[message->from->side] : NULL;

    if (qp && qp->known && !smcr_qp_has_key(qp, add->gid, add->qpn)) {
        /* came to nothing, and is tried again */
        link->state = SMCR_LINK_REJECTED;
        link->is_guess = true;
        link->settled_frame = message->arrival->when.frame;
        announced = false;
    }
    if (!announced) {
        bool free = !smcr_record_has_event(message->arrival->record, SMCR_EVENT_link_number_reused);
        if (link) /* its number would not be free */
            link->is_guess |= free;
        link = smcr_link_new(message->arrival->state, message->lgr);
        link->number = add->link;
        link->has_number = free; /* else CONFIRM LINK tells it */
    }
    return link;
}

static void
take_in_new_qp(const smcr_exchange_message_t *message, smcr_link_t *link,
               const smcr_llc_add_link_t *add)
{
    smcr_qp_t *qp = &link->qp[message->from->side];
    smcr_ib_qp_key_t key = smcr_qp_key(add->gid, add->qpn);

    if (smcr_qp_find(message->arrival->state, &key) != message->from) /* it lives: it has sent
                                                                         this */
        smcr_qp_set(message->arrival->state, link, qp->side, &key, SMCR_GROUND_LLC);
    qp->mtu = smcr_wire_bits(add->mtu, SMCR_MASK_MTU);
    qp->mtu_repeated = false;
    smcr_flow_start(&smcr_qp_peer(qp)->traffic.flow, add->psn);
    take_in_new_rtokens(message, link);
}

static void
take_in_add_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    bool rejected = message->response && message->rejects;
    int server = message->response ? message->to->side : message->from->side;

    if (!message->response && add->qpn == 0) /* a client's wish for a link (A.3.2) */
        return;
    if (!rejected)
        smcr_lgr_set_server(message->lgr, server);
    if (message->lgr->server == !server) /* only servers offer links */
        return;
    smcr_link_t *link = link_to_add(message->lgr, add->link);
    bool announced = is_of_link(add, message->from->side, link);
    if (rejected) {
        if (link && link->state == SMCR_LINK_ANNOUNCED) { /* it echoes the request */
            link->state = SMCR_LINK_REJECTED;
            /* it may have been deleted before its acceptance is taken back */
            link->is_guess |= !message->requested || link->qp[message->from->side].known;
            link->settled_frame = message->arrival->when.frame;
        }
        return;
    }
    if (message->response && !announced && message->lgr->from_start)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
    take_in_new_qp(message, announce_link(message, add, link, announced), add);
}

static void
take_in_add_link_cont(const smcr_exchange_message_t *message)
{
    smcr_link_t *link = link_to_add(message->lgr, message->llc->u.add_link_cont.link);

    if (link)
        take_in_new_rtokens(message, link);
    else if (message->lgr->from_start)
        smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
}

static void
end_group(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    bool certain = !smcr_doubt_group(message->arrival, lgr).kind, alive = !lgr->ended_frame;

    SMCR_LIST_EACH(smcr_link_t *, link, lgr->links) {
        /* else it may have been deleted before */
        bool known = link == message->link || smcr_evidence_knows_link(link);
        link->is_guess = link->state == SMCR_LINK_ANNOUNCED;
        link->settled_frame = message->arrival->when.frame;
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
        smcr_cost_tell_end(message->arrival, message->lgr);
}

/* Something becomes of links that DELETE LINK is about, which the server's request says if the
 * capture has it. One whose number is not known may be among them. So may one of another group that
 * began before the capture, where this one may lack the link: the two may be the same. */
static void
doubt_links(const smcr_exchange_message_t *message, bool lacks_link)
{
    const smcr_llc_t *llc = message->llc;
    const smcr_arrival_t *arrival = message->arrival;
    bool all = message->all_links, ends = !message->response && message->by_server;
    uint32_t *deletions = arrival->state->deletions;

    if (lacks_link)
        deletions[all ? 0 : llc->u.delete_link.link] = arrival->when.frame;
    SMCR_LIST_EACH(smcr_link_t *, link, message->lgr->links) {
        bool meant = all || !link->has_number || link->number == llc->u.delete_link.link;
        link->is_guess |= meant;
        if (meant && !ends)
            link->doubtful_frame = arrival->when.frame;
    }
}

/* The server deletes links, and ends the group; a client's request tells it that a link has failed,
 * or asks it to (3.5.4, A.3.4). */
static void
take_in_delete_link(const smcr_exchange_message_t *message)
{
    const smcr_llc_delete_link_t *deletion = &message->llc->u.delete_link;
    bool by_client = message->lgr->server == message->to->side;
    bool deletes = !message->response || (message->by_server && message->lgr->from_start);
    smcr_link_t *link = smcr_lgr_link(message->lgr, deletion->link);

    if ((message->response && !message->requested) || (!message->response && (by_client || !link)))
        doubt_links(message, !link && smcr_doubt_group(message->arrival, message->lgr).kind);
    if (!deletes || deletion->reason == SMCR_LLC_DELETE_UNKNOWN_LINK ||
        deletion->reason == SMCR_LLC_DELETE_UNKNOWN_GROUP)
        return;
    if (message->all_links) {
        if (!by_client && smcr_evidence_knows_server(message->lgr))
            end_group(message);
        else if (!message->lgr->ended_frame)
            smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, "%s to delete all links",
                           by_client ? "The client asks the server" : "One side asks or tells");
        return;
    }
    if (!link) {
        if (message->lgr->from_start && !by_client)
            smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number, NULL);
        return;
    }
    bool lost = deletion->reason == SMCR_LLC_DELETE_LOST_PATH;
    if (lost && !link->lost &&
        link->state == SMCR_LINK_ACTIVE) /* a side says so for the first time */
        smcr_event_add(message->arrival, SMCR_EVENT_link_lost, "Link %u is lost", link->number);
    link->lost |= lost;
    link->delete_reason = deletion->reason;
    if (by_client)
        smcr_event_add(message->arrival, SMCR_EVENT_link_delete_asked, NULL);
    else
        delete(message, link);
}

/* ---- RMBs ---- */

static void
take_in_other_rtokens(const smcr_exchange_message_t *message, smcr_rmb_t *rmb)
{
    for (unsigned i = 0; rmb && i < message->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &message->llc->rtokens[i];
        smcr_link_t *link = smcr_lgr_link(message->lgr, rtoken->link);
        if (link)
            smcr_rmb_add_rtoken(message->arrival->state, rmb, &link->qp[rmb->side], rtoken->rkey,
                                rtoken->va);
        else if (message->lgr->from_start)
            smcr_event_add(message->arrival, SMCR_EVENT_link_unknown_number,
                           "The link group has no link with number %u, as far as the capture shows",
                           rtoken->link);
    }
}

/* Whether a connection has used the RMB: something was sent since CLC announced it. */
static bool
has_used(const smcr_conn_t *conn, const void *data)
{
    const smcr_exchange_message_t *message = data;
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_point_t *announced = &conn->side[message->from->side].announced;

    return conn->side[0].cdc_frame || conn->side[1].cdc_frame || conn->side[0].in.written ||
           conn->side[1].in.written ||
           smcr_evidence_absent(announced, arrival->qp, arrival->psn) != 0;
}

/* The owner announces an RMB: a new one, although it may have the key and the address of one
 * before. CLC names it after that; only where the capture has mixed up the two it is the same. */
static void
take_in_confirm_rkey(const smcr_exchange_message_t *message)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;
    smcr_state_t *state = message->arrival->state;
    smcr_qp_t *owner = message->response ? message->to : message->from;

    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(state, owner, confirm->rkey);
    bool agrees = message->response && !(message->llc->flags & SMCR_LLC_FLAG_NEGATIVE);

    if (entry && agrees)
        entry->rmb->agreed = true;
    if (message->response && (message->requested || !agrees))
        return;
    bool used = entry && (message->response || smcr_rmb_any(entry->rmb, has_used, message));
    smcr_rmb_t *rmb = used ? smcr_rmb_renew(state, owner, confirm->rkey, confirm->va)
                           : smcr_rmb_announce(state, owner, confirm->rkey, confirm->va);
    message->lgr->confirmed[owner->side] = rmb;
    message->lgr->confirmed_at[owner->side] =
        message->response ? (smcr_point_t){0}
                          : smcr_point_at(message->arrival->qp, message->arrival->psn);
    rmb->confirmed = true;
    if (!message->response && !rmb->first->confirm_frame)
        rmb->first->confirm_frame = message->arrival->when.frame;
    take_in_other_rtokens(message, rmb);
}

/* The RMBs of `owner` that the message names. Returns how many of them are not known, or withdrawn
 * already. */
static unsigned
name_rmbs(const smcr_exchange_message_t *message, const smcr_qp_t *owner,
          smcr_lgr_withdrawal_t *named)
{
    unsigned unknown = 0;

    named->count = message->llc->rtoken_count;
    named->rmbs = smcr_state_alloc0(message->arrival->state, named->count * sizeof *named->rmbs);
    for (unsigned i = 0; i < named->count; i++) {
        uint32_t rkey = message->llc->rtokens[i].rkey;
        const smcr_rmb_rtoken_t *entry = smcr_rmb_find(message->arrival->state, owner, rkey);
        named->rmbs[i] = entry && !entry->rmb->deleted_frame ? entry->rmb : NULL;
        if (!named->rmbs[i])
            unknown++;
        else if (!message->response && !entry->rmb->first->delete_frame)
            entry->rmb->first->delete_frame = message->arrival->when.frame;
    }
    return unknown;
}

/* Whether the response refuses to withdraw the RKey in this place. In version 2 it tells only how
 * many it refuses (A.3.7, smc_llc_rmt_delete_rkey()). */
static bool
is_refused(const smcr_exchange_message_t *message, unsigned place)
{
    const smcr_llc_t *llc = message->llc;

    return llc->flags & SMCR_LLC_FLAG_NEGATIVE &&
           (llc->type & SMCR_LLC_TYPE_V2 || place >= 8 ||
            llc->u.delete_rkey.errors & SMCR_LLC_ERROR_MASK_FIRST >> place);
}

/* The peer of the owner has let go of the RMBs. A response repeats its request, which the capture
 * may lack: then an RMB may have been announced again since. */
static void
withdraw(const smcr_exchange_message_t *message, const smcr_lgr_withdrawal_t *named)
{
    for (unsigned i = 0; i < named->count; i++) {
        smcr_rmb_t *rmb = named->rmbs[i];
        if (!rmb || (message->requested && !rmb->first->delete_frame)) /* announced again */
            continue;
        if (is_refused(message, i)) {
            rmb->first->delete_frame = 0;
            continue;
        }
        smcr_rmb_delete(rmb, message->arrival->when.frame);
        if (message->requested)
            smcr_rmb_rare(message->arrival->state, rmb)->deleted = smcr_point_now(message->from);
    }
}

/* The owner withdraws RMBs; its peer may write to them until its response (3.5.5.2.2). */
static void
take_in_delete_rkey(const smcr_exchange_message_t *message)
{
    smcr_lgr_withdrawal_t *asked =
        &message->lgr->withdrawn[message->response ? message->to->side : message->from->side];
    smcr_lgr_withdrawal_t named;

    if (!message->response) {
        tell_unknown_rkeys(message, name_rmbs(message, message->from, asked));
    } else if (message->requested && message->llc->u.delete_rkey.count == asked->count) {
        withdraw(message, asked);
    } else if (!message->requested) {
        name_rmbs(message, message->to, &named);
        withdraw(message, &named);
    }
}

static void
take_in_confirm_rkey_cont(const smcr_exchange_message_t *message)
{
    if (!message->response)
        take_in_other_rtokens(message, smcr_evidence_continued(message->arrival, message->lgr));
}

/* ---- all messages ---- */

/* A message that changes nothing but the exchanges. */
static void
take_in_nothing(G_GNUC_UNUSED const smcr_exchange_message_t *message)
{
}

/* By type; of one that is not known there is nothing. */
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

bool
smcr_state_llc_exchange(const smcr_arrival_t *arrival, smcr_llc_t *llc)
{
    smcr_exchange_message_t message = message_of(arrival, llc);

    message.key = kinds[llc->type].key(llc);
    llc->lacks_flag = smcr_state_exchange_lacks_flag(&message);
    message.response |= llc->lacks_flag;
    if (!message.response) {
        smcr_state_exchange_request(&message);
        return false;
    }
    const smcr_exchange_request_t *asked;
    bool requested = smcr_state_exchange_response(&message, &asked);
    if (asked && message.type == SMCR_LLC_ADD_LINK) /* the link is that of the request */
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
    smcr_rules_llc(SMCR_RULES_ARRIVES, &message);
    kinds[llc->type].take_in(&message);
    smcr_rules_llc(SMCR_RULES_LEARNED, &message);
}
