/* llc_flow.c
 * What LLC messages tell: the links of a group, and the RMBs' keys on them (RFC 7609 3.5.1,
 * 3.5.5, A.3; net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_flow.h"

#include <string.h>

#include "cost.h"
#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"
#include "wire/wire.h"

/* The message, and the two queue pairs of the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    smcr_qp_t *from, *to;
    smcr_link_t *link;
    smcr_lgr_t *lgr;
    bool response;
    bool requested; /* a response: the capture has its request */
} flow_t;

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
static smcr_topic_t
topic_of(const smcr_qp_t *qp, const smcr_llc_t *llc)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2; /* both versions share the exchanges */

    return (smcr_topic_t){
        .type = type,
        .llc_type = llc->type,
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
note_type(const flow_t *flow)
{
    static const char *const names[] = {"SINGLE", "SYMMETRIC", "ASYMMETRIC"};
    const smcr_lgr_t *lgr = flow->lgr;
    const char *single = lgr->type != SMCR_LGR_ASYMMETRIC ? ""
                         : lgr->single_side == lgr->server
                             ? ", the server has a single device"
                             : ", the client has a single device";

    smcr_event_add(flow->arrival, SMCR_EVENT_LGR_TYPE,
                   "The link group is of type %s now%s", names[lgr->type],
                   lgr->server == SMCR_SIDE_UNKNOWN ? "" : single);
}

static void
activate(const flow_t *flow, smcr_link_t *link)
{
    bool before = link->state == SMCR_LINK_ACTIVE;
    bool changed = smcr_link_activate(link);

    if (!before && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(flow->arrival, SMCR_EVENT_LINK_ACTIVE, NULL);
    if (changed)
        note_type(flow);
}

/* A side says for the first time that the link has failed. */
static void
note_lost(const flow_t *flow, smcr_link_t *link)
{
    bool lost = flow->llc->u.delete_link.reason == SMCR_DELETE_LOST_PATH;

    if (lost && !link->lost && link->state == SMCR_LINK_ACTIVE)
        smcr_event_add(flow->arrival, SMCR_EVENT_LINK_LOST, "Link %u is lost", link->number);
    link->lost |= lost;
    link->delete_reason = flow->llc->u.delete_link.reason;
}

static void
delete(const flow_t *flow, smcr_link_t *link)
{
    bool before = link->state == SMCR_LINK_ACTIVE;
    /* else a link may live on, or a connection may have ended */
    bool certain = !smcr_doubt_group(flow->arrival, flow->lgr).kind;
    bool changed = smcr_link_delete(link, flow->arrival->when.frame);

    if (before)
        smcr_event_add(flow->arrival, SMCR_EVENT_LINK_DELETED, "Link %u is deleted", link->number);
    if (changed)
        note_type(flow);
    if (flow->lgr->ended_frame == flow->arrival->when.frame && certain)
        smcr_cost_tell_end(flow->arrival, flow->lgr);
}

/* The message of its sender names the queue pair from which it comes. */
static void
take_confirm_link(const flow_t *flow)
{
    const smcr_llc_confirm_link_t *confirm = &flow->llc->u.confirm_link;
    smcr_qp_key_t key = {.qpn = confirm->qpn};
    smcr_qp_t *from = flow->from;

    memcpy(key.gid, confirm->gid, SMCR_GID_LENGTH);
    bool same_device = !from->gid_known || memcmp(key.gid, from->key.gid, SMCR_GID_LENGTH) == 0;
    if (!from->known && same_device)
        smcr_qp_set(flow->arrival->state, flow->link, from->side, &key, SMCR_GROUND_LLC);
    else if (!same_device || key.qpn != from->key.qpn)
        smcr_event_add(flow->arrival, SMCR_EVENT_WRONG_LINK,
                       "The message names another queue pair than the link has at this end");
    bool eyecatcher =
        smcr_bits(flow->llc->flags, SMCR_MASK_NO_EYECATCHER) != SMCR_EYECATCHER_NOT_IN_RMB;
    flow->lgr->base[from->side] = eyecatcher ? SMCR_EYECATCHER_LENGTH : 0;
    flow->lgr->base_known[from->side] = true;
    if (!flow->link->has_number)
        flow->link->number = confirm->link;
    flow->link->has_number = true;
    if (flow->lgr->server == SMCR_SIDE_UNKNOWN)
        flow->lgr->server = flow->response ? flow->to->side : from->side;
    if (!flow->response && !flow->link->confirm_frame)
        flow->link->confirm_frame = flow->arrival->when.frame;
    if (flow->response)
        activate(flow, flow->link);
}

static void
note_unknown_rkeys(const flow_t *flow, unsigned unknown)
{
    if (unknown && flow->lgr->from_start)
        smcr_event_add(flow->arrival, SMCR_EVENT_RKEY_UNKNOWN,
                       "As far as the capture tells, RKeys that name no RMB of the sender on this "
                       "link: %u",
                       unknown);
}

/* RTokens of the sender's RMBs on `link`, which is being added. */
static void
take_new_rtokens(const flow_t *flow, smcr_link_t *link)
{
    smcr_qp_t *owner = &link->qp[flow->from->side];
    unsigned unknown = 0;

    for (unsigned i = 0; i < flow->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &flow->llc->rtokens[i];
        smcr_rtoken_entry_t *entry = smcr_rmb_find(flow->arrival->state, flow->from,
                                                   rtoken->ref_rkey);
        if (entry)
            smcr_rmb_add_rtoken(flow->arrival->state, entry->rmb, owner, rtoken->rkey, rtoken->va);
        else
            unknown++;
    }
    note_unknown_rkeys(flow, unknown);
}

/* The link that ADD LINK is about: a new one, unless the other side has announced it. */
static smcr_link_t *
announce_link(const flow_t *flow, const smcr_llc_add_link_t *add)
{
    smcr_link_t *link = smcr_lgr_link(flow->lgr, add->link);
    bool announced = link && link->state == SMCR_LINK_ANNOUNCED;
    const smcr_qp_t *qp = announced ? &link->qp[flow->from->side] : NULL;

    if (qp && qp->known &&
        (qp->key.qpn != add->qpn || memcmp(qp->key.gid, add->gid, SMCR_GID_LENGTH) != 0)) {
        /* came to nothing, and is tried again */
        link->state = SMCR_LINK_REJECTED;
        announced = false;
    }
    if (!announced) {
        link = smcr_link_new(flow->arrival->state, flow->lgr);
        link->number = add->link;
        link->has_number = true;
    }
    return link;
}

static void
take_new_qp(const flow_t *flow, smcr_link_t *link, const smcr_llc_add_link_t *add)
{
    smcr_qp_t *qp = &link->qp[flow->from->side];
    smcr_qp_key_t key = {.qpn = add->qpn};

    memcpy(key.gid, add->gid, SMCR_GID_LENGTH);
    if (smcr_qp_find(flow->arrival->state, &key) != flow->from) /* it lives: it has sent this */
        smcr_qp_set(flow->arrival->state, link, qp->side, &key, SMCR_GROUND_LLC);
    qp->mtu = smcr_bits(add->mtu, SMCR_MASK_MTU);
    smcr_flow_start(&smcr_qp_peer(qp)->traffic.flow, add->psn);
    take_new_rtokens(flow, link);
}

static void
take_add_link(const flow_t *flow)
{
    const smcr_llc_add_link_t *add = &flow->llc->u.add_link;
    bool rejected = flow->response && (flow->llc->flags & SMCR_LLC_FLAG_REJECTED) != 0;
    int server = flow->response ? flow->to->side : flow->from->side;

    if (!flow->response && add->qpn == 0) /* a client's wish for a link (A.3.2) */
        return;
    if (flow->lgr->server == SMCR_SIDE_UNKNOWN && !rejected)
        flow->lgr->server = server;
    if (flow->lgr->server == !server) /* only servers offer links */
        return;
    smcr_link_t *link = smcr_lgr_link(flow->lgr, add->link);
    bool announced = link && link->state == SMCR_LINK_ANNOUNCED;
    if (rejected) {
        if (announced) /* shows the requester's data (wire echo): nothing to learn */
            link->state = SMCR_LINK_REJECTED;
        return;
    }
    if (flow->response && !announced && flow->lgr->from_start)
        smcr_event_add(flow->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
    link = announce_link(flow, add);
    take_new_qp(flow, link, add);
}

static void
take_add_link_cont(const flow_t *flow)
{
    smcr_link_t *link = smcr_lgr_link(flow->lgr, flow->llc->u.add_link_cont.link);

    if (link)
        take_new_rtokens(flow, link);
    else if (flow->lgr->from_start)
        smcr_event_add(flow->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
}

/* Who sent the message and who takes it in use the link no more: certain where it is no client's
 * wish. */
static void
let_go(const flow_t *flow, smcr_link_t *link)
{
    const smcr_arrival_t *arrival = flow->arrival;

    if (flow->lgr->server == SMCR_SIDE_UNKNOWN)
        return;
    link->gone = (smcr_told_t){arrival->when.time, NULL};
    smcr_unacked_add(&flow->to->unacked, arrival->state->scope, arrival->psn, &link->gone.acked);
}

static void
end_group(const flow_t *flow)
{
    smcr_lgr_t *lgr = flow->lgr;
    bool certain = !smcr_doubt_group(flow->arrival, lgr).kind, alive = !lgr->ended_frame;

    for (wmem_list_frame_t *at = wmem_list_head(lgr->links), *next; at; at = next) {
        smcr_link_t *link = wmem_list_frame_data(at);
        next = wmem_list_frame_next(at);
        link->delete_reason = flow->llc->u.delete_link.reason;
        smcr_link_delete(link, flow->arrival->when.frame);
        let_go(flow, link);
    }
    lgr->ended_frame = flow->arrival->when.frame;
    smcr_exchange_end(lgr);
    if (!alive)
        return;
    smcr_event_add(flow->arrival, SMCR_EVENT_LGR_ENDED, NULL);
    if (certain)
        smcr_cost_tell_end(flow->arrival, flow->lgr);
}

/* Both sides may use the link until the response (3.5.5.1.3). */
static void
take_delete_link_response(const flow_t *flow)
{
    uint8_t number = flow->llc->u.delete_link.link;

    for (smcr_link_t *link = flow->lgr->all_links; link; link = smcr_link_older(link))
        if (link->deleted_frame && link->number == number && !link->gone.sent) {
            let_go(flow, link);
            return;
        }
}

/* The server deletes links, and ends the group; a client's request tells it that a link has failed,
 * or asks it to (3.5.4, A.3.4). */
static void
take_delete_link(const flow_t *flow)
{
    const smcr_llc_delete_link_t *message = &flow->llc->u.delete_link;
    bool by_client = flow->lgr->server == flow->to->side;

    if (message->reason >= SMCR_DELETE_UNKNOWN_LINK)
        return;
    if (flow->response) {
        take_delete_link_response(flow);
        return;
    }
    if (flow->llc->flags & SMCR_LLC_FLAG_ALL) {
        if (!by_client)
            end_group(flow);
        else if (!flow->lgr->ended_frame)
            smcr_event_add(flow->arrival, SMCR_EVENT_LINK_DELETE_ASKED,
                           "The client asks the server to delete all links");
        return;
    }
    smcr_link_t *link = smcr_lgr_link(flow->lgr, message->link);
    if (link)
        note_lost(flow, link);
    if (!link) {
        if (flow->lgr->from_start && !by_client)
            smcr_event_add(flow->arrival, SMCR_EVENT_UNKNOWN_LINK, NULL);
    } else if (by_client) {
        smcr_event_add(flow->arrival, SMCR_EVENT_LINK_DELETE_ASKED, NULL);
    } else {
        delete(flow, link);
    }
}

/* ---- RMBs ---- */

static void
take_other_rtokens(const flow_t *flow, smcr_rmb_t *rmb)
{
    for (unsigned i = 0; rmb && i < flow->llc->rtoken_count; i++) {
        const smcr_rtoken_t *rtoken = &flow->llc->rtokens[i];
        smcr_link_t *link = smcr_lgr_link(flow->lgr, rtoken->link);
        if (link)
            smcr_rmb_add_rtoken(flow->arrival->state, rmb, &link->qp[rmb->side], rtoken->rkey,
                                rtoken->va);
        else if (flow->lgr->from_start)
            smcr_event_add(flow->arrival, SMCR_EVENT_UNKNOWN_LINK,
                           "As far as the capture tells, the link group has no link with number "
                           "%u", rtoken->link);
    }
}

/* Whether a connection has used the RMB: something was sent since CLC announced it. */
static bool
has_used(const smcr_conn_t *conn, const void *data)
{
    const flow_t *flow = data;
    const smcr_arrival_t *arrival = flow->arrival;
    const smcr_point_t *announced = &conn->side[flow->from->side].announced;

    return conn->side[0].cdc_frame || conn->side[1].cdc_frame || conn->side[0].in.written ||
           conn->side[1].in.written ||
           smcr_point_absent(announced, arrival->qp, arrival->psn) != 0;
}

/* The owner announces an RMB: a new one, although it may have the key and the address of one
 * before. CLC names it after that; only where the capture has mixed up the two it is the same. */
static void
take_confirm_rkey(const flow_t *flow)
{
    const smcr_llc_confirm_rkey_t *confirm = &flow->llc->u.confirm_rkey;
    smcr_state_t *state = flow->arrival->state;
    smcr_qp_t *owner = flow->response ? flow->to : flow->from;

    if (flow->response && (flow->requested || flow->llc->flags & SMCR_LLC_FLAG_NEGATIVE))
        return;
    const smcr_rtoken_entry_t *entry = smcr_rmb_find(state, owner, confirm->rkey);
    bool used = entry && (flow->response || smcr_rmb_any(entry->rmb, has_used, flow));
    smcr_rmb_t *rmb = used ? smcr_rmb_renew(state, owner, confirm->rkey, confirm->va)
                           : smcr_rmb_announce(state, owner, confirm->rkey, confirm->va);
    flow->lgr->confirmed[owner->side] = rmb;
    rmb->confirmed = true;
    if (!flow->response && !rmb->first->confirm_frame)
        rmb->first->confirm_frame = flow->arrival->when.frame;
    take_other_rtokens(flow, rmb);
}

/* The RMBs of `owner` that the message names. Returns how many of them are not known, or withdrawn
 * already. */
static unsigned
name_rmbs(const flow_t *flow, const smcr_qp_t *owner, smcr_withdrawal_t *named)
{
    unsigned unknown = 0;

    named->count = flow->llc->rtoken_count;
    named->rmbs = smcr_state_alloc0(flow->arrival->state, named->count * sizeof *named->rmbs);
    for (unsigned i = 0; i < named->count; i++) {
        uint32_t rkey = flow->llc->rtokens[i].rkey;
        const smcr_rtoken_entry_t *entry = smcr_rmb_find(flow->arrival->state, owner, rkey);
        named->rmbs[i] = entry && !entry->rmb->deleted_frame ? entry->rmb : NULL;
        if (!named->rmbs[i])
            unknown++;
        else if (!flow->response && !entry->rmb->first->delete_frame)
            entry->rmb->first->delete_frame = flow->arrival->when.frame;
    }
    return unknown;
}

/* Whether the response refuses to withdraw the RKey in this place. In version 2 it tells only how
 * many it refuses (A.3.7, smc_llc_rmt_delete_rkey()). */
static bool
is_refused(const flow_t *flow, unsigned place)
{
    const smcr_llc_t *llc = flow->llc;

    return llc->flags & SMCR_LLC_FLAG_NEGATIVE &&
           (llc->type & SMCR_LLC_TYPE_V2 || place >= 8 ||
            llc->u.delete_rkey.errors & SMCR_LLC_ERROR_MASK_FIRST >> place);
}

/* The peer of the owner has let go of the RMBs. A response repeats its request, which the capture
 * may lack: then an RMB may have been announced again since. */
static void
withdraw(const flow_t *flow, const smcr_withdrawal_t *named)
{
    for (unsigned i = 0; i < named->count; i++) {
        smcr_rmb_t *rmb = named->rmbs[i];
        if (!rmb)
            continue;
        if (is_refused(flow, i)) {
            rmb->first->delete_frame = 0;
            continue;
        }
        smcr_rmb_delete(rmb, flow->arrival->when.frame);
        if (flow->requested)
            smcr_rmb_more(flow->arrival->state, rmb)->deleted = smcr_point_now(flow->from);
    }
}

/* The owner withdraws RMBs; its peer may write to them until its response (3.5.5.2.2). */
static void
take_delete_rkey(const flow_t *flow)
{
    smcr_withdrawal_t *asked = &flow->lgr->withdrawn[flow->response ? flow->to->side
                                                                    : flow->from->side];
    smcr_withdrawal_t named;

    if (!flow->response) {
        note_unknown_rkeys(flow, name_rmbs(flow, flow->from, asked));
    } else if (flow->requested && flow->llc->u.delete_rkey.count == asked->count) {
        withdraw(flow, asked);
    } else if (!flow->requested) {
        name_rmbs(flow, flow->to, &named);
        withdraw(flow, &named);
    }
}

static void
take_confirm_rkey_cont(const flow_t *flow)
{
    if (!flow->response)
        take_other_rtokens(flow, flow->lgr->confirmed[flow->from->side]);
}

/* ---- all messages ---- */

/* A message that changes nothing but the exchanges. */
static void
take_nothing(const flow_t *flow)
{
    (void)flow;
}

/* What becomes of a message of one type. */
typedef struct {
    uint8_t type;
    void (*take)(const flow_t *flow);
} rule_t;

static const rule_t rules[] = {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, ...) \
    {SMCR_LLC_##name, take_##handler},
#include "wire/llc.def"
};

static const rule_t *
rule_of(uint8_t type)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++)
        if (rules[i].type == type)
            return &rules[i];
    return NULL;
}

bool
smcr_llc_is_known(uint8_t type)
{
    return rule_of(type) != NULL;
}

bool
smcr_llc_exchange(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    smcr_topic_t topic = topic_of(arrival->qp, llc);

    if (llc->flags & SMCR_LLC_FLAG_RESPONSE)
        return smcr_exchange_response(arrival, &topic);
    smcr_exchange_request(arrival, &topic);
    return false;
}

void
smcr_llc_apply(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested)
{
    smcr_qp_t *qp = arrival->qp;
    flow_t flow = {
        .arrival = arrival,
        .llc = llc,
        .from = smcr_qp_peer(qp),
        .to = qp,
        .link = qp->link,
        .lgr = qp->link->lgr,
        .response = (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0,
        .requested = requested,
    };

    rule_of(llc->type)->take(&flow);
}
