/* Finds for each response its request. A message is judged: does it cross another one, was it
 * answered before it came? It is placed: with the request that it answers. Then the exchange begins
 * or ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define PENDING_MAX 64  /* open exchanges of a link group */
#define ANSWERED_MAX 8 /* the last ones of a link group that are over */
#define WAIT 5 /* seconds: the longest time that Linux waits (smc_llc.h) */

/* Whether the message was on its way before the capture has it; CLC is not. */
static bool
was_sent_before(const smcr_arrival_t *arrival)
{
    return arrival->qp && arrival->sent.frame != arrival->when.frame;
}

smcr_exchange_t *
smcr_state_exchange_open(const smcr_arrival_t *arrival)
{
    smcr_exchange_t *exchange = smcr_state_alloc0(arrival->state, sizeof(smcr_exchange_t));

    exchange->request_frame = arrival->when.frame;
    exchange->request_time = arrival->when.time;
    exchange->sent_before = was_sent_before(arrival);
    return exchange;
}

void
smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange)
{
    exchange->response_frame = arrival->when.frame;
    exchange->response_time = arrival->when.time;
    arrival->record->answers = exchange;
}

/* Whether nobody waits any more at `now` for the other half of what came at `time`. */
static bool
is_given_up(uint64_t now, uint64_t time)
{
    return now > time + WAIT * SMCR_TIME_SECOND;
}

typedef struct {
    uint8_t type;
    int requester;
    const uint32_t *key;  /* NULL: any */
    const smcr_qp_t *qp;  /* of the requester, on the link that carried it; NULL: on any */
    uint64_t now;         /* those that were given up by then do not count; 0: all do */
    unsigned count;       /* how many there are; find() tells */
} wanted_t;

static bool
fits(const smcr_exchange_request_t *request, const wanted_t *wanted)
{
    return request->type == wanted->type && request->requester == wanted->requester &&
           (!wanted->key || request->key == *wanted->key) &&
           (!wanted->qp || request->answered.qp == wanted->qp) &&
           !is_given_up(wanted->now, request->exchange.request_time);
}

/* The last open exchange that is wanted, NULL: there is none. */
static smcr_exchange_request_t *
find(const smcr_lgr_t *lgr, wanted_t *wanted)
{
    smcr_exchange_request_t *found = NULL;

    wanted->count = 0;
    SMCR_LIST_EACH_BACK(smcr_exchange_request_t *, request, lgr->pending) {
        if (!fits(request, wanted))
            continue;
        found = found ? found : request;
        wanted->count++;
    }
    return found;
}

/* What the message answers; NULL when that is not known for sure. A host begins no exchange before
 * the one before it is over. So requests that are open side by side are told apart by their link;
 * but where they have waited for too long, the last one counts. On another link nothing but a wish
 * is answered (3.3), unless the capture shows that no request is absent on this one. */
static smcr_exchange_request_t *
find_answered(const smcr_exchange_message_t *message, uint8_t type, const uint32_t *key,
              bool same_link)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_lgr_t *lgr = message->lgr;
    wanted_t wanted = {type, !message->side, key, arrival->qp, arrival->when.time, 0};
    smcr_exchange_request_t *request = find(lgr, &wanted);

    same_link |= message->response && smcr_doubt_link(arrival, message->link).kind;
    if (wanted.count == 0 && !same_link) {
        wanted.qp = NULL;
        request = find(lgr, &wanted);
    }
    if (wanted.count == 0) {
        wanted.now = 0;
        request = find(lgr, &wanted);
        wanted.count = 1;
    }
    bool told = request && wanted.count == 1 && !request->exchange.is_doubtful;
    /* a link has one CONFIRM LINK */
    bool only = type == SMCR_LLC_CONFIRM_LINK && told && request->answered.qp == arrival->qp;
    return only || (told && smcr_evidence_is_first_answer(arrival, &request->answered)) ? request
                                                                                        : NULL;
}

/* The message that arrives ends the exchange; `what` it does, and `came`, are for the rules. */
static void
answer(const smcr_exchange_message_t *message, smcr_exchange_request_t *request,
       smcr_rules_happening_t what, const bool *came)
{
    smcr_lgr_t *lgr = message->lgr;
    bool by_response = what == SMCR_RULES_ANSWERED;

    smcr_state_exchange_close(message->arrival, &request->exchange);
    request->exchange.step = smcr_wire_llc_step(request->exchange.llc_type, by_response);
    request->rejected = message->rejects;
    wmem_list_remove(lgr->pending, request);
    smcr_list_keep(lgr->answered, request, ANSWERED_MAX);
    smcr_rules_exchange(what, message, &(smcr_rules_exchange_t){request, came});
}

/* The message may answer any of these: nobody will know. */
static void
give_up(const smcr_exchange_message_t *message, uint8_t type)
{
    wmem_list_t *pending = message->lgr->pending;
    wanted_t wanted = {.type = type, .requester = !message->side};

    SMCR_LIST_EACH(smcr_exchange_request_t *, request, pending) {
        if (!fits(request, &wanted))
            continue;
        request->exchange.is_doubtful = true;
        if (request->key == message->key || !message->response)
            wmem_list_remove(pending, request);
    }
}

/* A client's DELETE LINK and its two ways to ask for a link have no response: the server begins
 * the exchange itself. `doubtful`: or it has begun that before. */
static void
answer_client(const smcr_exchange_message_t *message, bool doubtful)
{
    const uint8_t wishes[] = {message->type, SMCR_LLC_REQ_ADD_LINK};
    unsigned count = message->type == SMCR_LLC_ADD_LINK ? 2 : message->type == SMCR_LLC_DELETE_LINK;
    smcr_exchange_request_t *asked = NULL;

    for (unsigned i = 0; i < count && !asked && message->lgr->server == message->side; i++)
        if (doubtful)
            give_up(message, wishes[i]);
        else
            asked = find_answered(message, wishes[i], NULL, false);
    if (asked)
        answer(message, asked, SMCR_RULES_OBEYED, NULL);
}

/* Whether the message that arrives crosses the open request: its sender had not seen that when it
 * sent, nor answered it in a message that the capture lacks. */
static bool
crosses(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open)
{
    return smcr_doubt_seen(arrival, open->exchange.request_time, open->acked).kind ==
               SMCR_DOUBT_UNSEEN && smcr_evidence_is_first_answer(arrival, &open->answered);
}

/* Whether the request may have been seen before: an acknowledgement of its own is absent. */
static bool
may_be_seen(const smcr_doubt_proof_t *claim)
{
    const smcr_exchange_request_t *open = claim->about;
    smcr_record_t ack;

    return !open->acked ||
           !smcr_record_find(claim->state, open->acked->frame, SMCR_RECORD_OUTERMOST, &ack) ||
           ack.acks.frame != open->exchange.request_frame;
}

/* The message crosses the request, or asks for the very same thing, unless the request was seen. */
static void
tell_crossing(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open, bool same)
{
    smcr_doubt_t doubt =
        smcr_doubt_until(arrival, (smcr_doubt_proof_t){.has_come = may_be_seen, .about = open});

    if (doubt.kind)
        return;
    smcr_event_add(arrival, SMCR_EVENT_llc_collision,
                   same ? "Both sides send this request at the same time, the server in frame %u"
                        : "Crosses the request in frame %u, which has no response so far",
                   open->exchange.request_frame)->claim = doubt.claim;
}

/* A client's wish that crosses with the server's request for the very same thing: the request is
 * the answer, though it came before (3.5.5.3.1, 3.5.5.3.2). */
static bool
crosses_server(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_lgr_t *lgr = message->lgr;
    bool wants_link = message->type == SMCR_LLC_ADD_LINK || message->type == SMCR_LLC_REQ_ADD_LINK;

    if (lgr->server != !message->side || (!wants_link && message->type != SMCR_LLC_DELETE_LINK))
        return false;
    wanted_t wanted = {
        .type = wants_link ? SMCR_LLC_ADD_LINK : SMCR_LLC_DELETE_LINK,
        .requester = lgr->server,
    };
    const smcr_exchange_request_t *open = find(lgr, &wanted);
    if (!open || !crosses(arrival, open))
        return false;
    tell_crossing(arrival, open, true);
    return true;
}

/* RKeys must not change while links do, nor the other way round (3.5.5.3). */
static void
tell_collision(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_lgr_t *lgr = message->lgr;
    bool changes_links = smcr_exchange_changes_links(message->type);
    bool changes_rkeys = smcr_exchange_changes_rkeys(message->type);

    SMCR_LIST_EACH(const smcr_exchange_request_t *, open, lgr->pending) {
        bool collide =
            (changes_links && smcr_exchange_changes_rkeys(open->type)) ||
            (changes_rkeys && smcr_exchange_changes_links(open->type));
        bool by_peer = open->requester != message->side && !open->exchange.is_doubtful;
        if (!collide || !by_peer || !crosses(arrival, open))
            continue;
        tell_crossing(arrival, open, false);
        return;
    }
}

/* Linux answers a server's DELETE LINK for all links with one of its own, not with a response. */
static bool
answers_deletion(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool client = lgr->server == !message->side;
    smcr_exchange_request_t *asked =
        client && message->type == SMCR_LLC_DELETE_LINK && message->all_links
            ? find_answered(message, message->type, &message->key, false) : NULL;

    if (asked)
        answer(message, asked, SMCR_RULES_REPEATED, NULL);
    return asked != NULL;
}

/* ---- responses that the capture has before their requests ---- */

/* `link` has to carry the request; NULL: any may. Returns what tells whether it has come. */
static const bool *
keep_unasked(const smcr_exchange_message_t *message, const smcr_link_t *link)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_lgr_t *lgr = message->lgr;
    bool *came = smcr_state_alloc0(arrival->state, sizeof *came);

    lgr->unasked[lgr->unasked_count++ % G_N_ELEMENTS(lgr->unasked)] = (smcr_lgr_unasked_t){
        .is_open = true,
        .time = arrival->when.time,
        .type = message->type,
        .requester = !message->side,
        .key = message->key,
        .link = link,
        .came = came,
    };
    return came;
}

/* Whether the response may have come before the request, in the capture: a moment before, or at any
 * time where the capture is in disorder. */
static bool
came_before(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    bool disordered = message->arrival->state->is_disordered;

    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->unasked); i++) {
        smcr_lgr_unasked_t *unasked = &lgr->unasked[i];
        uint64_t now = message->arrival->when.time;
        bool alike = unasked->type == message->type && unasked->requester == message->side;
        /* the request comes right behind the response: the capture may have the two in the wrong
         * order, and the response not repeat what it should */
        if (alike && unasked->came && now < unasked->time + SMCR_TIME_MILLISECOND)
            *unasked->came = true;
        if (!alike || !unasked->is_open ||
            (now > unasked->time + SMCR_TIME_SECOND && !disordered) ||
            unasked->key != message->key || (unasked->link && unasked->link != message->link))
            continue;
        unasked->is_open = false;
        if (unasked->came)
            *unasked->came = true;
        if (!unasked->link)
            return true;
    }
    return false;
}

/* ---- requests ---- */

/* The request has come too late. What is taken for the answer to one behind it may be its own. */
static void
doubt_answers(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    SMCR_LIST_EACH(smcr_exchange_request_t *, request, message->lgr->answered) {
        if (request->type != message->type || request->asked.qp != arrival->qp ||
            request->asked.psn < arrival->psn)
            continue;
        request->exchange.is_doubtful = true;
        request->exchange.response_frame = 0;
    }
}

static smcr_exchange_request_t *
new_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_qp_t *peer = smcr_qp_peer(arrival->qp);
    bool by_client = message->lgr->server == !message->side;
    smcr_exchange_request_t *request = smcr_state_alloc0(arrival->state, sizeof *request);

    *request = (smcr_exchange_request_t){
        .exchange = {.request_frame = arrival->when.frame,
                     .request_time = arrival->when.time,
                     .llc_type = message->llc->type,
                     .sent_before = was_sent_before(arrival)},
        .type = message->type,
        .requester = (int8_t)message->side,
        .asked = smcr_point_at(arrival->qp, arrival->psn),
        .answered = smcr_point_at(peer, MAX(peer->traffic.flow.highest, peer->traffic.flow.taken)),
        .key = message->key,
        .orderly = message->type == SMCR_LLC_DELETE_LINK &&
                   message->llc->flags & SMCR_LLC_FLAG_ORDERLY,
    };
    bool wishes = by_client || (!smcr_evidence_knows_server(message->lgr) &&
                                message->type == SMCR_LLC_ADD_LINK &&
                                !message->llc->u.add_link.qpn); /* a client's wish for a link */
    /* nobody needs to answer the server's DELETE LINK for all links: the group is gone. Nor is the
     * server to do what the client asks for, a link (3.5.4, 3.5.5.3) */
    request->exchange.is_optional = (message->all_links && !by_client) ||
                                    message->type == SMCR_LLC_REQ_ADD_LINK ||
                                    (message->type == SMCR_LLC_ADD_LINK && wishes);
    smcr_list_keep(message->lgr->pending, request, PENDING_MAX);
    return request;
}

void
smcr_state_exchange_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool disordered = arrival->state->is_disordered;

    if (crosses_server(message))
        return;
    bool answered = came_before(message) || (disordered && !smcr_doubt_is_in_time(arrival));
    if (!answered && answers_deletion(message))
        return;
    answer_client(message, answered);
    if (answered && disordered) /* or its response is still to come: nobody knows whose it is */
        new_request(message)->exchange.is_doubtful = true;
    if (answered) {
        doubt_answers(message);
        return;
    }
    tell_collision(message);
    smcr_exchange_request_t *request = new_request(message);
    arrival->record->asks = &request->exchange;
    if (arrival->record->fate == SMCR_FLOW_FATE_TAKE)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn,
                         &request->acked);
    smcr_rules_exchange(SMCR_RULES_ASKED, message, &(smcr_rules_exchange_t){request, NULL});
}

/* ---- second answers ---- */

/* The last request whose answer the message repeats; NULL: there is none, or the capture
 * lacks a packet of the requester since, which may be another request. */
static const smcr_exchange_request_t *
find_answered_before(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    wanted_t wanted = {.type = message->type, .requester = !message->side, .key = &message->key};

    SMCR_LIST_EACH_BACK(const smcr_exchange_request_t *, request, lgr->answered) {
        if (fits(request, &wanted))
            return smcr_evidence_holds(&request->asked) ? request : NULL;
    }
    return NULL;
}

/* A peer that has accepted ADD LINK, and then rejects it, takes that back. Of other messages nobody
 * knows whether they answer again, or answer a request that the capture lacks. */
static bool
is_second_answer(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_exchange_request_t *before = message->rejects ? find_answered_before(message) : NULL;

    if (!before || before->rejected)
        return false;
    smcr_exchange_t *again = smcr_state_alloc0(arrival->state, sizeof *again);
    *again = before->exchange;
    again->step = smcr_wire_llc_step(again->llc_type, true);
    smcr_state_exchange_close(arrival, again);
    smcr_event_add(arrival, SMCR_EVENT_llc_second_answer,
                   "ADD LINK of frame %u was accepted in frame %u, and is rejected now",
                   before->exchange.request_frame, before->exchange.response_frame);
    return true;
}

/* ---- responses ---- */

bool
smcr_state_exchange_lacks_flag(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    const smcr_llc_t *llc = message->llc;
    wanted_t wanted = {.type = message->type,
                       .requester = lgr->server,
                       .key = &message->key, .qp = message->arrival->qp};
    bool is_servers = message->type == SMCR_LLC_CONFIRM_LINK ||
                      message->type == SMCR_LLC_ADD_LINK_CONT ||
                      (message->type == SMCR_LLC_ADD_LINK && llc->u.add_link.qpn);

    return !message->response && is_servers && lgr->server == !message->side && find(lgr, &wanted);
}

/* Whether another response of this kind, whose request is not known, has come just now: the two
 * may be mixed up. */
static bool
is_another_unasked(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;

    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->unasked); i++) {
        const smcr_lgr_unasked_t *unasked = &lgr->unasked[i];
        bool recent = unasked->came && !is_given_up(message->arrival->when.time, unasked->time);
        if (recent && !unasked->link && unasked->type == message->type &&
            unasked->requester == !message->side)
            return true;
    }
    return false;
}

bool
smcr_state_exchange_response(const smcr_exchange_message_t *message,
                             const smcr_exchange_request_t **answered)
{
    smcr_exchange_request_t *request = find_answered(message, message->type, &message->key, false);
    wanted_t wanted = {.type = message->type, .requester = !message->side, .key = &message->key};
    smcr_rules_exchange_t unclear = {NULL, NULL};
    bool open = find(message->lgr, &wanted) != NULL;
    bool again = !request && !open && is_second_answer(message);

    if (!request && !open && !again) /* or one on its link that it does not repeat */
        request = find_answered(message, message->type, NULL, true);
    *answered = request;
    if (request) {
        bool elsewhere = request->asked.qp->link != message->link;
        answer(message, request, SMCR_RULES_ANSWERED,
               elsewhere ? keep_unasked(message, message->link) : NULL);
        return true;
    }
    if (!again) { /* the capture has no request that the response certainly answers */
        bool another = is_another_unasked(message);
        give_up(message, message->type);
        const bool *came = keep_unasked(message, NULL);
        unclear.came = another ? NULL : came;
    }
    smcr_rules_exchange(open || again ? SMCR_RULES_UNCLEAR : SMCR_RULES_UNASKED, message, &unclear);
    return open || again;
}
