/* Finds the request of each response: LLC messages, and steps of the CLC handshake (RFC 7609 3.5,
 * A.3).
 *
 * An LLC message passes three steps. Judge it: does it cross another request, was it answered
 * before it came? Place it: with the request that it answers. Then the exchange begins or ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define PENDING_MAX 64 /* open exchanges that are kept of a link group */
#define ANSWERED_MAX 8 /* ended exchanges that are kept of a link group, the last ones */
#define WAIT 5         /* seconds: the longest time that Linux waits for a response (smc_llc.h) */

/* Whether the message was sent before the frame in which the capture has it, as in a
 * retransmission. Of CLC this is not known. */
static bool
was_sent_before(const smcr_arrival_t *arrival)
{
    return arrival->qp && arrival->first_sent.frame != arrival->when.frame;
}

smcr_exchange_t *
smcr_state_exchange_open(const smcr_arrival_t *arrival)
{
    smcr_exchange_t *exchange = smcr_state_alloc0(arrival->state, sizeof(smcr_exchange_t));

    exchange->request_frame = arrival->when.frame;
    exchange->request_time = arrival->when.time;
    exchange->request_resent = was_sent_before(arrival);
    return exchange;
}

void
smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange)
{
    exchange->response_frame = arrival->when.frame;
    exchange->response_time = arrival->when.time;
    arrival->record->ends_exchange = exchange;
}

/* Whether nobody waits at `now` for the other half of an exchange whose first half came at `time`;
 * both nanoseconds since the epoch. */
static bool
is_given_up(uint64_t now, uint64_t time)
{
    return now > time + WAIT * SMCR_TIME_SECOND;
}

/* Which open exchange is wanted. */
typedef struct {
    uint8_t type;        /* enum smcr_llc_type, of version 1 */
    int requester;       /* side of the link group */
    const uint32_t *key; /* as in smcr_exchange_request_t; NULL: any */
    const smcr_qp_t *qp; /* of the requester, on the link that carried the request; NULL: any */
    uint64_t now;        /* requests that were given up by then do not count; 0: all count */
    unsigned count;      /* how many exchanges there are; find_open_request() writes it */
} wanted_request_t;

static bool
is_wanted(const smcr_exchange_request_t *request, const wanted_request_t *wanted)
{
    bool is_alike = request->type == wanted->type && request->requester == wanted->requester;
    bool has_key = !wanted->key || request->key == *wanted->key;
    bool is_on_link = !wanted->qp || request->responder_at.qp == wanted->qp;

    return is_alike && has_key && is_on_link &&
           !is_given_up(wanted->now, request->exchange.request_time);
}

/* The last open exchange that is wanted; NULL: there is none. */
static smcr_exchange_request_t *
find_open_request(const smcr_lgr_t *lgr, wanted_request_t *wanted)
{
    smcr_exchange_request_t *found = NULL;

    wanted->count = 0;
    SMCR_LIST_EACH_BACK(smcr_exchange_request_t *, request, lgr->pending) {
        if (!is_wanted(request, wanted))
            continue;
        found = found ? found : request;
        wanted->count++;
    }
    return found;
}

/* The open request that the message may answer, in this order: on the link of the message, on
 * another link, and among requests that have waited for too long, where the last one counts. On
 * another link only a wish is answered (3.3); so `same_link` is set for a response, unless the
 * capture shows that no request is missing on its own link. */
static smcr_exchange_request_t *
find_candidate(const smcr_exchange_message_t *message, wanted_request_t *wanted, bool same_link)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_exchange_request_t *request = find_open_request(lgr, wanted);

    same_link |= message->response && smcr_doubt_link(message->arrival, message->link).kind;
    if (wanted->count == 0 && !same_link) {
        wanted->qp = NULL;
        request = find_open_request(lgr, wanted);
    }
    if (wanted->count == 0) {
        wanted->now = 0;
        request = find_open_request(lgr, wanted);
        wanted->count = 1;
    }
    return request;
}

/* Whether no other message can have answered the request before this one. A link has only one
 * CONFIRM LINK, so its response is certain. */
static bool
is_first_answer(const smcr_exchange_message_t *message, const smcr_exchange_request_t *request)
{
    const smcr_arrival_t *arrival = message->arrival;

    if (request->type == SMCR_LLC_CONFIRM_LINK && request->responder_at.qp == arrival->qp)
        return true;
    return smcr_evidence_is_first_answer(arrival, &request->responder_at);
}

/* The request of this type that the message certainly answers; NULL: none. `key`: that of the
 * request; NULL: any. `same_link`: only a request on the link of the message. A host begins no
 * exchange before the last one of its type is over. So of two requests that are open side by side,
 * each is on a link of its own, and an answer that may belong to both is certain for neither. */
static smcr_exchange_request_t *
find_answered(const smcr_exchange_message_t *message, uint8_t type, const uint32_t *key,
              bool same_link)
{
    const smcr_arrival_t *arrival = message->arrival;
    wanted_request_t wanted = {type, !message->side, key, arrival->qp, arrival->when.time, 0};
    smcr_exchange_request_t *request = find_candidate(message, &wanted, same_link);
    bool is_only = request && wanted.count == 1 && !request->exchange.response_unknowable;

    return is_only && is_first_answer(message, request) ? request : NULL;
}

/* The message ends the exchange. For the rules: `what` the message does, and `came`, which will say
 * whether another request of the response has come (smcr_lgr_unasked_t); NULL: nothing. */
static void
end_exchange(const smcr_exchange_message_t *message, smcr_exchange_request_t *request,
             smcr_rules_happening_t what, const bool *came)
{
    smcr_lgr_t *lgr = message->lgr;
    bool by_response = what == SMCR_RULES_ANSWERED;

    smcr_state_exchange_close(message->arrival, &request->exchange);
    request->exchange.step = smcr_wire_llc_step(request->exchange.llc_type, by_response);
    request->rejected = message->rejects;
    wmem_list_remove(lgr->pending, request);
    smcr_list_keep(lgr->answered, request, ANSWERED_MAX);
    smcr_rules_check_exchange(what, message, &(smcr_rules_exchange_t){request, came});
}

/* The message may answer any open request of this type, and nobody will know which. Those that it
 * certainly ends, with its key or because the server obeys, leave the list. */
static void
give_up_requests(const smcr_exchange_message_t *message, uint8_t type)
{
    wmem_list_t *pending = message->lgr->pending;
    wanted_request_t wanted = {.type = type, .requester = !message->side};

    SMCR_LIST_EACH(smcr_exchange_request_t *, request, pending) {
        if (!is_wanted(request, &wanted))
            continue;
        request->exchange.response_unknowable = true;
        if (request->key == message->key || !message->response)
            wmem_list_remove(pending, request);
    }
}

/* A client's DELETE LINK, its ADD LINK and its REQUEST ADD LINK have no response: the server begins
 * an exchange of its own instead. `doubtful`: or it has begun this exchange before. */
static void
obey_client(const smcr_exchange_message_t *message, bool doubtful)
{
    const uint8_t wishes[] = {message->type, SMCR_LLC_REQ_ADD_LINK};
    unsigned count = message->type == SMCR_LLC_ADD_LINK ? 2 : message->type == SMCR_LLC_DELETE_LINK;
    smcr_exchange_request_t *asked = NULL;

    for (unsigned i = 0; i < count && !asked && message->lgr->server == message->side; i++)
        if (doubtful)
            give_up_requests(message, wishes[i]);
        else
            asked = find_answered(message, wishes[i], NULL, false);
    if (asked)
        end_exchange(message, asked, SMCR_RULES_OBEYED, NULL);
}

/* Whether the message crosses the open request: its sender had neither seen the request when it
 * sent the message, nor answered it in a message that the capture does not have. */
static bool
crosses_request(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open)
{
    return smcr_doubt_seen(arrival, open->exchange.request_time, open->acked).kind ==
               SMCR_DOUBT_UNSEEN && smcr_evidence_is_first_answer(arrival, &open->responder_at);
}

/* Whether the responder may have seen the request when it sent its message: the capture has no
 * acknowledgement of the request alone, so an earlier one may be missing. */
static bool
may_be_seen(const smcr_doubt_proof_t *claim)
{
    const smcr_exchange_request_t *open = claim->about;
    smcr_record_t ack;

    return !open->acked ||
           !smcr_record_find(claim->state, open->acked->frame, SMCR_RECORD_OUTERMOST, &ack) ||
           ack.acks.frame != open->exchange.request_frame;
}

/* Reports that the message crosses the request, or, `same`, asks for the same thing; unless a later
 * acknowledgement shows that its sender had seen the request. */
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
                   open->exchange.request_frame)->deferred_check = doubt.claim;
}

/* Whether messages of the type ask for a new link. */
static bool
asks_for_link(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_REQ_ADD_LINK;
}

/* A client asks for what the server has just requested itself: to add or to delete a link. The
 * server's request is the answer, though it came before (3.5.5.3.1, 3.5.5.3.2). */
static bool
crosses_server(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_lgr_t *lgr = message->lgr;
    bool wants_link = asks_for_link(message->type);

    if (lgr->server != !message->side || (!wants_link && message->type != SMCR_LLC_DELETE_LINK))
        return false;
    wanted_request_t wanted = {
        .type = wants_link ? SMCR_LLC_ADD_LINK : SMCR_LLC_DELETE_LINK,
        .requester = lgr->server,
    };
    const smcr_exchange_request_t *open = find_open_request(lgr, &wanted);
    if (!open || !crosses_request(arrival, open))
        return false;
    tell_crossing(arrival, open, true);
    return true;
}

/* Whether two requests of these types must not be open at the same time: RKeys must not change
 * while links do (3.5.5.3). */
static bool
exclude_each_other(uint8_t one, uint8_t other)
{
    return (smcr_exchange_changes_links(one) && smcr_exchange_changes_rkeys(other)) ||
           (smcr_exchange_changes_rkeys(one) && smcr_exchange_changes_links(other));
}

/* Reports the first open request of the peer that the message excludes and crosses. */
static void
tell_collision(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;

    SMCR_LIST_EACH(const smcr_exchange_request_t *, open, message->lgr->pending) {
        bool by_peer = open->requester != message->side && !open->exchange.response_unknowable;
        if (!by_peer || !exclude_each_other(message->type, open->type) ||
            !crosses_request(arrival, open))
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
    bool by_client = lgr->server == !message->side;
    bool deletes_all = message->type == SMCR_LLC_DELETE_LINK && message->all_links;
    smcr_exchange_request_t *asked = NULL;

    if (by_client && deletes_all)
        asked = find_answered(message, message->type, &message->key, false);
    if (asked)
        end_exchange(message, asked, SMCR_RULES_REPEATED, NULL);
    return asked != NULL;
}

/* ---- responses that the capture has before their requests ---- */

/* Keeps a response whose request may still come, on `link`; NULL: on any link. Returns a flag that
 * will be set when the request has come. */
static const bool *
keep_unasked(const smcr_exchange_message_t *message, const smcr_link_t *link)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_lgr_t *lgr = message->lgr;
    bool *came = smcr_state_alloc0(arrival->state, sizeof *came);

    lgr->early_responses[lgr->early_response_count++ % G_N_ELEMENTS(lgr->early_responses)] =
        (smcr_lgr_unasked_t){
            .awaits_request = true,
            .time = arrival->when.time,
            .type = message->type,
            .requester = !message->side,
            .key = message->key,
            .link = link,
            .request_came = came,
        };
    return came;
}

/* The request of a kept response has come. */
static void
note_request(const smcr_lgr_unasked_t *unasked)
{
    if (unasked->request_came)
        *unasked->request_came = true;
}

/* Whether the kept response, of this type and to this side, may answer the request: it came at most
 * a second before, or at any time where the capture is in disorder. */
static bool
may_answer(const smcr_lgr_unasked_t *unasked, const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool in_time = arrival->when.time <= unasked->time + SMCR_TIME_SECOND ||
                   arrival->state->is_out_of_order;
    bool on_link = !unasked->link || unasked->link == message->link;

    return unasked->awaits_request && in_time && unasked->key == message->key && on_link;
}

/* Whether the capture has the response before its request. A request that comes within a
 * millisecond after a response may be its request even if the response does not echo it as it
 * should: the capture may have the two in the wrong order. */
static bool
came_after_response(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;
    uint64_t now = message->arrival->when.time;

    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->early_responses); i++) {
        smcr_lgr_unasked_t *unasked = &lgr->early_responses[i];
        if (unasked->type != message->type || unasked->requester != message->side)
            continue;
        if (now < unasked->time + SMCR_TIME_MILLISECOND)
            note_request(unasked);
        if (!may_answer(unasked, message))
            continue;
        unasked->awaits_request = false;
        note_request(unasked);
        if (!unasked->link)
            return true;
    }
    return false;
}

/* ---- requests ---- */

/* The request has come too late: the response that was paired with a later request of the type may
 * be its own. */
static void
doubt_answers(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    SMCR_LIST_EACH(smcr_exchange_request_t *, request, message->lgr->answered) {
        if (request->type != message->type || request->asked_at.qp != arrival->qp ||
            request->asked_at.psn < arrival->psn)
            continue;
        request->exchange.response_unknowable = true;
        request->exchange.response_frame = 0;
    }
}

/* Whether the message is a client's wish for a link: its ADD LINK names no queue pair. Where nobody
 * knows which side the client is, the queue pair tells. */
static bool
is_link_wish(const smcr_exchange_message_t *message)
{
    bool by_client = message->lgr->server == !message->side;

    if (message->type != SMCR_LLC_ADD_LINK)
        return false;
    return by_client ||
           (!smcr_evidence_knows_server(message->lgr) && !message->llc->u.add_link.qpn);
}

/* Whether a correct peer may leave the request without an answer. After the server's DELETE LINK
 * for all links the group is gone. The server does not have to add the link that a client asks for.
 * (3.5.4, 3.5.5.3) */
static bool
needs_no_response(const smcr_exchange_message_t *message)
{
    bool by_client = message->lgr->server == !message->side;
    bool ends_group = message->all_links && !by_client;

    return ends_group || message->type == SMCR_LLC_REQ_ADD_LINK || is_link_wish(message);
}

/* Opens an exchange. The responder may have sent up to its highest request so far without having
 * seen this one: `answered` is that point of its flow. */
static smcr_exchange_request_t *
new_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_qp_t *peer = smcr_qp_peer(arrival->qp);
    smcr_exchange_request_t *request = smcr_state_alloc0(arrival->state, sizeof *request);

    *request = (smcr_exchange_request_t){
        .exchange = {.request_frame = arrival->when.frame,
                     .request_time = arrival->when.time,
                     .llc_type = message->llc->type,
                     .request_resent = was_sent_before(arrival)},
        .type = message->type,
        .requester = (int8_t)message->side,
        .asked_at = smcr_point_at(arrival->qp, arrival->psn),
        .responder_at =
            smcr_point_at(peer, MAX(peer->traffic.flow.highest, peer->traffic.flow.acked_psn)),
        .key = message->key,
        .orderly =
            message->type == SMCR_LLC_DELETE_LINK && message->llc->flags & SMCR_LLC_FLAG_ORDERLY,
    };
    request->exchange.is_optional = needs_no_response(message);
    smcr_list_keep(message->lgr->pending, request, PENDING_MAX);
    return request;
}

/* The capture may have the response before this request. In a capture in disorder the response may
 * also still come, and nobody will know which request it answers. */
static void
take_in_late_request(const smcr_exchange_message_t *message)
{
    if (message->arrival->state->is_out_of_order)
        new_request(message)->exchange.response_unknowable = true;
    doubt_answers(message);
}

void
smcr_state_exchange_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool disordered = arrival->state->is_out_of_order;

    if (crosses_server(message))
        return;
    bool answered =
        came_after_response(message) || (disordered && !smcr_doubt_is_in_time(arrival));
    if (!answered && answers_deletion(message))
        return;
    obey_client(message, answered);
    if (answered) {
        take_in_late_request(message);
        return;
    }
    tell_collision(message);
    smcr_exchange_request_t *request = new_request(message);
    arrival->record->begins_exchange = &request->exchange;
    if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn,
                         &request->acked);
    smcr_rules_check_exchange(SMCR_RULES_ASKED, message, &(smcr_rules_exchange_t){request, NULL});
}

/* ---- second answers ---- */

/* The last request that was answered before with the key of the message. NULL: there is none, or a
 * packet of the requester is missing since, which may be another request. */
static const smcr_exchange_request_t *
find_answered_before(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    wanted_request_t wanted = {
        .type = message->type, .requester = !message->side, .key = &message->key};

    SMCR_LIST_EACH_BACK(const smcr_exchange_request_t *, request, lgr->answered) {
        if (is_wanted(request, &wanted))
            return smcr_evidence_holds(&request->asked_at) ? request : NULL;
    }
    return NULL;
}

/* Whether the message rejects an ADD LINK that its sender has accepted before: it takes its consent
 * back, and the exchange has a second answer. Other messages may answer a request that the capture
 * does not have, so nobody knows whether they are second answers. */
static bool
take_back_consent(const smcr_exchange_message_t *message)
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
smcr_state_exchange_is_unflagged_response(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    const smcr_llc_t *llc = message->llc;
    wanted_request_t wanted = {.type = message->type,
                                       .requester = lgr->server,
                       .key = &message->key,
                       .qp = message->arrival->qp};
    bool is_of_server = message->type == SMCR_LLC_CONFIRM_LINK ||
                        message->type == SMCR_LLC_ADD_LINK_CONT ||
                        (message->type == SMCR_LLC_ADD_LINK && llc->u.add_link.qpn);

    bool by_client = lgr->server == !message->side;
    return !message->response && is_of_server && by_client && find_open_request(lgr, &wanted);
}

/* Whether another response of this type, whose request is missing, has come within the time that
 * Linux waits: nobody knows which of the two a request belongs to. */
static bool
has_other_unasked(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;

    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->early_responses); i++) {
        const smcr_lgr_unasked_t *unasked = &lgr->early_responses[i];
        bool recent =
            unasked->request_came && !is_given_up(message->arrival->when.time, unasked->time);
        if (recent && !unasked->link && unasked->type == message->type &&
            unasked->requester == !message->side)
            return true;
    }
    return false;
}

/* The response ends the exchange of its request. If that went over another link, the request of the
 * response's own link may still come. */
static void
end_by_response(const smcr_exchange_message_t *message, smcr_exchange_request_t *request)
{
    bool elsewhere = request->asked_at.qp->link != message->link;

    end_exchange(message, request, SMCR_RULES_ANSWERED,
                 elsewhere ? keep_unasked(message, message->link) : NULL);
}

/* The capture has no request that the response certainly answers: it may answer any open one, and
 * its request may still come. Returns what tells that it has come; NULL: another such response
 * waits. */
static const bool *
keep_response(const smcr_exchange_message_t *message)
{
    bool has_other = has_other_unasked(message);

    give_up_requests(message, message->type);
    const bool *came = keep_unasked(message, NULL);
    return has_other ? NULL : came;
}

bool
smcr_state_exchange_response(const smcr_exchange_message_t *message,
                             const smcr_exchange_request_t **answered)
{
    smcr_exchange_request_t *request = find_answered(message, message->type, &message->key, false);
    wanted_request_t wanted = {
        .type = message->type, .requester = !message->side, .key = &message->key};
    smcr_rules_exchange_t unclear = {NULL, NULL};
    bool open = find_open_request(message->lgr, &wanted) != NULL;

    *answered = NULL;
    if (!request && !open) {
        if (take_back_consent(message)) {
            smcr_rules_check_exchange(SMCR_RULES_UNCLEAR, message, &unclear);
            return true;
        }
        /* a request on the same link whose key the response does not echo */
        request = find_answered(message, message->type, NULL, true);
    }
    *answered = request;
    if (request) {
        end_by_response(message, request);
        return true;
    }
    unclear.request_came = keep_response(message);
    smcr_rules_check_exchange(open ? SMCR_RULES_UNCLEAR : SMCR_RULES_UNASKED, message, &unclear);
    return open;
}
