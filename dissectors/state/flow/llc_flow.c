/* llc_flow.c
 * What LLC messages tell: the links of a group, and the RMBs' keys on them (RFC 7609 3.5.1,
 * 3.5.5, A.3; net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message_flow.h"

#include <string.h>

#include "cost.h"
#include "state/model/store.h"
#include "wire/wire.h"

/* ---- what a response repeats of its request, as a number ---- */

/* Requests of a type that has no such thing follow each other. */
static uint32_t
key_none(const smcr_llc_t *llc)
{
    (void)llc;
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
    switch (llc->type & ~SMCR_LLC_TYPE_V2) {
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

static uint32_t
key_user_data(const smcr_llc_t *llc)
{
    const uint8_t *data = llc->u.test_link.user_data;
    uint32_t key = 0;

    for (unsigned i = 0; i < sizeof llc->u.test_link.user_data; i++)
        key = key * 31 + data[i];
    return key;
}

static uint32_t
key_of(const smcr_llc_t *llc)
{
    switch (llc->type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, key, ...) \
    case SMCR_LLC_##name: \
        return key_##key(llc);
#include "wire/llc.def"
    default:
        return 0;
    }
}

/* What the message to the queue pair is about. */
static smcr_exchange_topic_t
topic_of(const smcr_qp_t *qp, const smcr_llc_t *llc)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2; /* both versions share the exchanges */

    return (smcr_exchange_topic_t){
        .type = type,
        .side = !qp->side,
        .link = qp->link,
        .key = key_of(llc),
        .all_links = type == SMCR_LLC_DELETE_LINK && llc->flags & SMCR_LLC_FLAG_ALL,
        .rejects = type == SMCR_LLC_ADD_LINK && llc->flags & SMCR_LLC_FLAG_REJECTED,
        .llc = llc,
    };
}

/* ---- links ---- */

static void
note_type(const smcr_rules_message_t *context)
{
    static const char *const names[] = {"SINGLE", "SYMMETRIC", "ASYMMETRIC"};
    const smcr_lgr_t *lgr = context->lgr;
    const char *single = lgr->type != SMCR_LGR_ASYMMETRIC ? ""
                         : lgr->single_side == lgr->server
                             ? ", the server has a single device"
                             : ", the client has a single device";

    smcr_event_add(context->arrival, SMCR_EVENT_LGR_TYPE,
                   "The link group is of type %s now%s", names[lgr->type],
                   lgr->server == SMCR_LGR_SIDE_UNKNOWN ? "" : single);
}

static void
activate(const smcr_rules_message_t *context, smcr_link_t *link)
{
    bool before = link->state == SMCR_LINK_ACTIVE;
    bool changed = smcr_link_activate(link);

    if (!before && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(context->arrival, SMCR_EVENT_LINK_ACTIVE, NULL);
    if (changed)
        note_type(context);
}

/* A side says for the first time that the link has failed. */
static void
note_lost(const smcr_rules_message_t *context, smcr_link_t *link)
{
    bool lost = context->llc->u.delete_link.reason == SMCR_LLC_DELETE_LOST_PATH;

    if (lost && !link->lost && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(context->arrival, SMCR_EVENT_LINK_LOST, "Link %u is lost", link->number);
    link->lost |= lost;
    link->delete_reason = context->llc->u.delete_link.reason;
}

static void
delete(const smcr_rules_message_t *context, smcr_link_t *link)
{
    bool before = link->state == SMCR_LINK_ACTIVE;
    /* else a link may live on, or a connection may have ended */
    bool certain = !smcr_doubt_group(context->arrival, context->lgr).kind;
    link->is_guess = link->state == SMCR_LINK_ANNOUNCED; /* it may have been rejected before */
    link->settled_frame = context->arrival->when.frame;
    bool changed = smcr_link_delete(link, context->arrival->when.frame);

    if (before)
        smcr_event_add(context->arrival, SMCR_EVENT_LINK_DELETED, "Link %u is deleted",
                       link->number);
    if (changed)
        note_type(context);
    if (context->lgr->ended_frame == context->arrival->when.frame && certain)
        smcr_cost_tell_end(context->arrival, context->lgr);
}

/* The message of its sender names the queue pair from which it comes. */
static void
take_confirm_link(const smcr_rules_message_t *context)
{
    const smcr_llc_confirm_link_t *confirm = &context->llc->u.confirm_link;
    smcr_ib_qp_key_t key = smcr_qp_key(confirm->gid, confirm->qpn);
    smcr_qp_t *from = context->from;
    bool same_device = !from->gid_known || memcmp(key.gid, from->key.gid, SMCR_GID_LENGTH) == 0;

    if (!from->known && same_device)
        smcr_qp_set(context->arrival->state, context->link, from->side, &key, SMCR_GROUND_LLC);
    else if (!same_device || key.qpn != from->key.qpn)
        smcr_event_add(context->arrival, SMCR_EVENT_WRONG_LINK,
                       "The message names another queue pair than the link has at this end");
    bool eyecatcher = smcr_wire_bits(context->llc->flags, SMCR_MASK_NO_EYECATCHER) !=
                      SMCR_LLC_EYECATCHER_NOT_IN_RMB;
    context->lgr->base[from->side] = eyecatcher ? SMCR_WIRE_EYECATCHER_LENGTH : 0;
    context->lgr->base_known[from->side] = true;
    if (!context->link->has_number)
        context->link->number = confirm->link;
    context->link->has_number = true;
    if (context->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        context->lgr->server = context->response ? context->to->side : from->side;
    if (!context->response && !context->link->confirm_frame)
        context->link->confirm_frame = context->arrival->when.frame;
    if (context->response)
        activate(context, context->link);
}

static void
note_unknown_rkeys(const smcr_rules_message_t *context, unsigned unknown)
{
    if (unknown && context->lgr->from_start)
        smcr_event_add(context->arrival, SMCR_EVENT_RKEY_UNKNOWN,
                       "As far as the capture tells, RKeys that name no RMB of the sender on this "
                       "link: %u",
                       unknown);
}

/* RTokens of the sender's RMBs on `link`, which is being added. */
static void
take_new_rtokens(const smcr_rules_message_t *context, smcr_link_t *link)
{
    smcr_qp_t *owner = &link->qp[context->from->side];
    unsigned unknown = 0;

    for (unsigned i = 0; i < context->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &context->llc->rtokens[i];
        smcr_rmb_rtoken_t *entry = smcr_rmb_find(context->arrival->state, context->from,
                                                 rtoken->ref_rkey);
        if (entry)
            smcr_rmb_add_rtoken(context->arrival->state, entry->rmb, owner, rtoken->rkey,
                                rtoken->va);
        else
            unknown++;
    }
    note_unknown_rkeys(context, unknown);
}

/* The link that ADD LINK is about: a new one, unless the other side has announced it. */
static smcr_link_t *
announce_link(const smcr_rules_message_t *context, const smcr_llc_add_link_t *add)
{
    smcr_link_t *link = smcr_lgr_link(context->lgr, add->link);
    bool announced = link && link->state == SMCR_LINK_ANNOUNCED;
    const smcr_qp_t *qp = announced ? &link->qp[context->from->side] : NULL;

    if (qp && qp->known && !smcr_qp_has_key(qp, add->gid, add->qpn)) {
        /* came to nothing, and is tried again */
        link->state = SMCR_LINK_REJECTED;
        link->is_guess = true;
        link->settled_frame = context->arrival->when.frame;
        announced = false;
    }
    if (!announced) {
        if (link) /* its number would not be free */
            link->is_guess = true;
        link = smcr_link_new(context->arrival->state, context->lgr);
        link->number = add->link;
        link->has_number = true;
    }
    return link;
}

static void
take_new_qp(const smcr_rules_message_t *context, smcr_link_t *link, const smcr_llc_add_link_t *add)
{
    smcr_qp_t *qp = &link->qp[context->from->side];
    smcr_ib_qp_key_t key = smcr_qp_key(add->gid, add->qpn);

    if (smcr_qp_find(context->arrival->state, &key) != context->from) /* it lives: it has sent
                                                                         this */
        smcr_qp_set(context->arrival->state, link, qp->side, &key, SMCR_GROUND_LLC);
    qp->mtu = smcr_wire_bits(add->mtu, SMCR_MASK_MTU);
    smcr_flow_start(&smcr_qp_peer(qp)->traffic.flow, add->psn);
    take_new_rtokens(context, link);
}

static void
take_add_link(const smcr_rules_message_t *context)
{
    const smcr_llc_add_link_t *add = &context->llc->u.add_link;
    bool rejected = context->response && (context->llc->flags & SMCR_LLC_FLAG_REJECTED) != 0;
    int server = context->response ? context->to->side : context->from->side;

    if (!context->response && add->qpn == 0) /* a client's wish for a link (A.3.2) */
        return;
    if (context->lgr->server == SMCR_LGR_SIDE_UNKNOWN && !rejected)
        context->lgr->server = server;
    if (context->lgr->server == !server) /* only servers offer links */
        return;
    smcr_link_t *link = smcr_lgr_link(context->lgr, add->link);
    bool announced = link && link->state == SMCR_LINK_ANNOUNCED;
    if (rejected) {
        if (announced) { /* shows the requester's data (wire echo): nothing to learn */
            link->state = SMCR_LINK_REJECTED;
            link->is_guess |= !context->requested;
            link->settled_frame = context->arrival->when.frame;
        }
        return;
    }
    if (context->response && !announced && context->lgr->from_start)
        smcr_event_add(context->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
    link = announce_link(context, add);
    take_new_qp(context, link, add);
}

static void
take_add_link_cont(const smcr_rules_message_t *context)
{
    smcr_link_t *link = smcr_lgr_link(context->lgr, context->llc->u.add_link_cont.link);

    if (link)
        take_new_rtokens(context, link);
    else if (context->lgr->from_start)
        smcr_event_add(context->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
}

static void
end_group(const smcr_rules_message_t *context)
{
    smcr_lgr_t *lgr = context->lgr;
    bool certain = !smcr_doubt_group(context->arrival, lgr).kind, alive = !lgr->ended_frame;

    for (wmem_list_frame_t *at = wmem_list_head(lgr->links), *next; at; at = next) {
        smcr_link_t *link = wmem_list_frame_data(at);
        next = wmem_list_frame_next(at);
        link->is_guess = link->state == SMCR_LINK_ANNOUNCED;
        link->settled_frame = context->arrival->when.frame;
        link->delete_reason = context->llc->u.delete_link.reason;
        smcr_link_delete(link, context->arrival->when.frame);
    }
    lgr->ended_frame = context->arrival->when.frame;
    smcr_state_exchange_end(lgr);
    if (!alive)
        return;
    smcr_event_add(context->arrival, SMCR_EVENT_LGR_ENDED, NULL);
    if (certain)
        smcr_cost_tell_end(context->arrival, context->lgr);
}

/* The server's request, if the capture has it, says what becomes of the links. */
static void
ask_for_end(const smcr_rules_message_t *context)
{
    wmem_list_t *links = context->lgr->links;

    for (wmem_list_frame_t *at = wmem_list_head(links); at; at = wmem_list_frame_next(at))
        ((smcr_link_t *)wmem_list_frame_data(at))->is_guess = true;
    smcr_event_add(context->arrival, SMCR_EVENT_LINK_DELETE_ASKED,
                   "The client asks the server to delete all links");
}

/* The server deletes links, and ends the group; a client's request tells it that a link has failed,
 * or asks it to (3.5.4, A.3.4). */
static void
take_delete_link(const smcr_rules_message_t *context)
{
    const smcr_llc_delete_link_t *message = &context->llc->u.delete_link;
    bool by_client = context->lgr->server == context->to->side;

    if (context->response || message->reason >= SMCR_LLC_DELETE_UNKNOWN_LINK)
        return;
    if (context->llc->flags & SMCR_LLC_FLAG_ALL) {
        if (!by_client)
            end_group(context);
        else if (!context->lgr->ended_frame)
            ask_for_end(context);
        return;
    }
    smcr_link_t *link = smcr_lgr_link(context->lgr, message->link);
    if (link)
        note_lost(context, link);
    if (!link) {
        if (context->lgr->from_start && !by_client)
            smcr_event_add(context->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
    } else if (by_client) {
        link->is_guess = true;
        smcr_event_add(context->arrival, SMCR_EVENT_LINK_DELETE_ASKED, NULL);
    } else {
        delete(context, link);
    }
}

/* ---- RMBs ---- */

static void
take_other_rtokens(const smcr_rules_message_t *context, smcr_rmb_t *rmb)
{
    for (unsigned i = 0; rmb && i < context->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &context->llc->rtokens[i];
        smcr_link_t *link = smcr_lgr_link(context->lgr, rtoken->link);
        if (link)
            smcr_rmb_add_rtoken(context->arrival->state, rmb, &link->qp[rmb->side], rtoken->rkey,
                                rtoken->va);
        else if (context->lgr->from_start)
            smcr_event_add(context->arrival, SMCR_EVENT_UNKNOWN_LINK,
                           "As far as the capture tells, the link group has no link with number "
                           "%u", rtoken->link);
    }
}

/* Whether a connection has used the RMB: something was sent since CLC announced it. */
static bool
has_used(const smcr_conn_t *conn, const void *data)
{
    const smcr_rules_message_t *context = data;
    const smcr_arrival_t *arrival = context->arrival;
    const smcr_point_t *announced = &conn->side[context->from->side].announced;

    return conn->side[0].cdc_frame || conn->side[1].cdc_frame || conn->side[0].in.written ||
           conn->side[1].in.written ||
           smcr_evidence_absent(announced, arrival->qp, arrival->psn) != 0;
}

/* The owner announces an RMB: a new one, although it may have the key and the address of one
 * before. CLC names it after that; only where the capture has mixed up the two it is the same. */
static void
take_confirm_rkey(const smcr_rules_message_t *context)
{
    const smcr_llc_confirm_rkey_t *confirm = &context->llc->u.confirm_rkey;
    smcr_state_t *state = context->arrival->state;
    smcr_qp_t *owner = context->response ? context->to : context->from;

    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(state, owner, confirm->rkey);
    bool agrees = context->response && !(context->llc->flags & SMCR_LLC_FLAG_NEGATIVE);

    if (entry && agrees)
        entry->rmb->agreed = true;
    if (context->response && (context->requested || !agrees))
        return;
    bool used = entry && (context->response || smcr_rmb_any(entry->rmb, has_used, context));
    smcr_rmb_t *rmb = used ? smcr_rmb_renew(state, owner, confirm->rkey, confirm->va)
                           : smcr_rmb_announce(state, owner, confirm->rkey, confirm->va);
    context->lgr->confirmed[owner->side] = rmb;
    rmb->confirmed = true;
    if (!context->response && !rmb->first->confirm_frame)
        rmb->first->confirm_frame = context->arrival->when.frame;
    take_other_rtokens(context, rmb);
}

/* The RMBs of `owner` that the message names. Returns how many of them are not known, or withdrawn
 * already. */
static unsigned
name_rmbs(const smcr_rules_message_t *context, const smcr_qp_t *owner, smcr_lgr_withdrawal_t *named)
{
    unsigned unknown = 0;

    named->count = context->llc->rtoken_count;
    named->rmbs = smcr_state_alloc0(context->arrival->state, named->count * sizeof *named->rmbs);
    for (unsigned i = 0; i < named->count; i++) {
        uint32_t rkey = context->llc->rtokens[i].rkey;
        const smcr_rmb_rtoken_t *entry = smcr_rmb_find(context->arrival->state, owner, rkey);
        named->rmbs[i] = entry && !entry->rmb->deleted_frame ? entry->rmb : NULL;
        if (!named->rmbs[i])
            unknown++;
        else if (!context->response && !entry->rmb->first->delete_frame)
            entry->rmb->first->delete_frame = context->arrival->when.frame;
    }
    return unknown;
}

/* Whether the response refuses to withdraw the RKey in this place. In version 2 it tells only how
 * many it refuses (A.3.7, smc_llc_rmt_delete_rkey()). */
static bool
is_refused(const smcr_rules_message_t *context, unsigned place)
{
    const smcr_llc_t *llc = context->llc;

    return llc->flags & SMCR_LLC_FLAG_NEGATIVE &&
           (llc->type & SMCR_LLC_TYPE_V2 || place >= 8 ||
            llc->u.delete_rkey.errors & SMCR_LLC_ERROR_MASK_FIRST >> place);
}

/* The peer of the owner has let go of the RMBs. A response repeats its request, which the capture
 * may lack: then an RMB may have been announced again since. */
static void
withdraw(const smcr_rules_message_t *context, const smcr_lgr_withdrawal_t *named)
{
    for (unsigned i = 0; i < named->count; i++) {
        smcr_rmb_t *rmb = named->rmbs[i];
        if (!rmb)
            continue;
        if (is_refused(context, i)) {
            rmb->first->delete_frame = 0;
            continue;
        }
        smcr_rmb_delete(rmb, context->arrival->when.frame);
        if (context->requested)
            smcr_rmb_rare(context->arrival->state, rmb)->deleted = smcr_point_now(context->from);
    }
}

/* The owner withdraws RMBs; its peer may write to them until its response (3.5.5.2.2). */
static void
take_delete_rkey(const smcr_rules_message_t *context)
{
    smcr_lgr_withdrawal_t *asked =
        &context->lgr->withdrawn[context->response ? context->to->side : context->from->side];
    smcr_lgr_withdrawal_t named;

    if (!context->response) {
        note_unknown_rkeys(context, name_rmbs(context, context->from, asked));
    } else if (context->requested && context->llc->u.delete_rkey.count == asked->count) {
        withdraw(context, asked);
    } else if (!context->requested) {
        name_rmbs(context, context->to, &named);
        withdraw(context, &named);
    }
}

static void
take_confirm_rkey_cont(const smcr_rules_message_t *context)
{
    if (!context->response)
        take_other_rtokens(context, context->lgr->confirmed[context->from->side]);
}

/* ---- all messages ---- */

/* A message that changes nothing but the exchanges. */
static void
take_nothing(const smcr_rules_message_t *context)
{
    (void)context;
}

/* What becomes of a message of one type. */
typedef struct {
    uint8_t type;
    void (*take)(const smcr_rules_message_t *context);
} handler_t;

static const handler_t handlers[] = {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, ...) \
    {SMCR_LLC_##name, take_##handler},
#include "wire/llc.def"
};

static const handler_t *
rule_of(uint8_t type)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(handlers); i++)
        if (handlers[i].type == type)
            return &handlers[i];
    return NULL;
}

bool
smcr_state_llc_is_known(uint8_t type)
{
    return rule_of(type) != NULL;
}

bool
smcr_state_llc_exchange(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_exchange_topic_t topic = topic_of(arrival->qp, llc);

    if (llc->flags & SMCR_LLC_FLAG_RESPONSE)
        return smcr_state_exchange_response(arrival, &topic);
    smcr_state_exchange_request(arrival, &topic);
    return false;
}

void
smcr_state_llc_apply(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_rules_message_t context = {
        .arrival = arrival,
        .llc = llc,
        .type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2,
        .from = smcr_qp_peer(qp),
        .to = qp,
        .link = qp->link,
        .lgr = qp->link->lgr,
        .response = (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0,
        .requested = requested,
        .by_server = qp->link->lgr->server == !qp->side,
    };

    smcr_rules_before_llc(&context);
    rule_of(llc->type)->take(&context);
    smcr_rules_after_llc(&context);
}
