/* Finds the request of each response: of LLC messages, and of steps of the CLC handshake (RFC 7609
 * 3.5, A.3).
 *
 * An LLC message passes three steps. First, a request is judged: does it cross a request of the
 * peer, and does the capture have its response before it? Second, the request of a response is
 * found. Third, an exchange begins or ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "exchange.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define PENDING_MAX 64 /* maximum number of open exchanges that are kept for a link group */
#define ANSWERED_MAX 8 /* maximum number of ended exchanges that are kept for a link group; the
                          oldest one is removed first */
#define WAIT 5         /* seconds: the longest time that Linux waits for a response (smc_llc.h) */

/* Whether the message is a retransmission: it was sent for the first time in an earlier frame, or
 * in a frame that is not known. False for CLC messages. */
static bool
was_sent_before(const smcr_arrival_t *arrival)
{
    return arrival->qp && arrival->first_sent.frame != arrival->when.frame;
}

/* The exchange that the arriving request begins. `request_resent` is noted now, because later
 * packets change what is known of the first transmission: a retransmitted request began earlier
 * than this frame. */
static smcr_exchange_t
exchange_of(const smcr_arrival_t *arrival)
{
    return (smcr_exchange_t){.request_frame = arrival->when.frame,
                             .request_time = arrival->when.time,
                             .request_resent = was_sent_before(arrival)};
}

/* Opens an exchange that is in no list of a link group: a step of CLC, or an update of a cursor.
 * LLC requests begin with new_request(). */
smcr_exchange_t *
smcr_state_exchange_open(const smcr_arrival_t *arrival)
{
    smcr_exchange_t *exchange = smcr_state_alloc0(arrival->state, sizeof *exchange);

    *exchange = exchange_of(arrival);
    return exchange;
}

void
smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange)
{
    exchange->response_frame = arrival->when.frame;
    exchange->response_time = arrival->when.time;
    arrival->record->ends_exchange = exchange;
}

/* Whether, at the time `now`, Linux has given up an exchange whose request came at `time`, because
 * WAIT seconds have passed. Also used for a response at `time` whose request has not come. Both are
 * nanoseconds since the epoch. */
static bool
is_given_up(uint64_t now, uint64_t time)
{
    return now > time + WAIT * SMCR_TIME_SECOND;
}

/* What a search among the open requests of a link group looks for. */
typedef struct {
    uint8_t type;        /* type of the request: enum smcr_llc_type, of version 1 */
    int requester;       /* side that has sent the request */
    const uint32_t *key; /* key of the request (smcr_exchange_request_t); NULL: any key */
    const smcr_qp_t *qp; /* queue pair of the requester on the link that carried the request; NULL:
                            any link */
    uint64_t now;        /* time, nanoseconds since the epoch: requests that Linux has given up by
                            this time do not count; 0: all requests count */
    unsigned count;      /* number of requests that match; written by find_open_request() */
} wanted_request_t;

/* Whether the request matches `wanted` in type, requester, key, link and time. */
static bool
is_wanted(const smcr_exchange_request_t *request, const wanted_request_t *wanted)
{
    bool is_alike = request->type == wanted->type && request->requester == wanted->requester;
    bool has_key = !wanted->key || request->key == *wanted->key;
    bool is_on_link = !wanted->qp || request->responder_at.qp == wanted->qp;

    return is_alike && has_key && is_on_link &&
           !is_given_up(wanted->now, request->exchange.request_time);
}

/* The newest open request of the group that matches `wanted`; NULL: there is none. Writes the
 * number of matching requests into `wanted->count`. */
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

/* The open request that the message may answer. Three searches follow each other until one finds a
 * request:
 *
 * 1. requests on the link of the message
 * 2. requests on any link
 * 3. requests that Linux has given up, too; the newest one counts
 *
 * A response goes over the link of its request (3.3). Only the server's request that follows a
 * client's request may go over another link. So for a response the second search is made only if
 * the capture proves that no packet of the response's own link is missing. `same_link`: the second
 * search is left out in any case. `wanted->count` gets the number of requests that the last of the
 * searches has found; after the third search 1, since only the newest request counts. */
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

/* Whether the message certainly is the first answer to `request`: no earlier answer can be missing.
 * A CONFIRM LINK response on the link of its request is always the first answer, since CONFIRM LINK
 * comes only once on a link. */
static bool
is_first_answer(const smcr_exchange_message_t *message, const smcr_exchange_request_t *request)
{
    const smcr_arrival_t *arrival = message->arrival;

    if (request->type == SMCR_LLC_CONFIRM_LINK && request->responder_at.qp == arrival->qp)
        return true;
    return smcr_evidence_is_first_answer(arrival, &request->responder_at);
}

/* The request of this type that the message certainly answers; NULL: none. `key`: key of the
 * request; NULL: any key. `same_link`: only a request on the link of the message counts.
 *
 * If the message may answer several open requests, the result is NULL. */
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

/* Ends the exchange of `request` with the message, and calls the rules. `what`: the way in which
 * the message ends the exchange. `came`: points to a flag that becomes true if another request
 * comes later that the response may answer (smcr_lgr_unasked_t); NULL: no such request is
 * awaited. */
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
    smcr_rules_check_exchange(what, message, &(smcr_rules_exchange_t){request, came, false});
}

/* Sets `response_unknowable` in each open request of the peer with this type: the message may
 * answer any of them, so no later packet can show which. In two cases the request is also removed
 * from the open requests: 1. the request has the key of the message; 2. the message is a request of
 * the server, which ends the client's request. */
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

/* Ends the exchange of a client's request with the request of the server that follows it. A
 * client's DELETE LINK, ADD LINK and REQUEST ADD LINK get no response: the server begins an
 * exchange of its own instead. `message`: request of the server. `doubtful`: the server may have
 * sent the message before the client's request. Then no exchange ends, and the client's requests
 * are given up (give_up_requests()). */
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

/* Whether the arriving message crosses the request `open` of its receiver: the sender of the
 * message had not seen this request when it sent the message. False also if a message is missing in
 * which the sender may have answered the request. */
static bool
crosses_request(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open)
{
    return smcr_doubt_seen(arrival, open->exchange.request_time, open->acked).kind ==
               SMCR_DOUBT_UNSEEN && smcr_evidence_is_first_answer(arrival, &open->responder_at);
}

/* True if the event of report_crossing() must not be shown: the sender of the crossing message may
 * have seen the open request. This is excluded only if an acknowledgement with the PSN of this
 * request is captured. Otherwise an earlier acknowledgement may be missing. */
static bool
may_be_seen(const smcr_doubt_proof_t *claim)
{
    const smcr_exchange_request_t *open = claim->about;
    smcr_record_t ack;

    return !open->acked ||
           !smcr_record_find(claim->state, open->acked->frame, SMCR_RECORD_OUTERMOST, &ack) ||
           ack.acks.frame != open->exchange.request_frame;
}

/* Reports that the arriving message crosses the request `open`. `same`: both requests ask for the
 * same change. The event is shown only if a later acknowledgement shows that the sender of the
 * message had not seen the request (may_be_seen()). */
static void
report_crossing(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open, bool same)
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

/* Whether messages of this type ask for a new link. */
static bool
asks_for_link(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_REQ_ADD_LINK;
}

/* Reports the crossing if the message is a client's request to add or delete a link that crosses
 * the server's own request for such a change. The server's request then also answers the client's
 * request, though it came first (3.5.5.3.1, 3.5.5.3.2). Returns whether it crosses; the caller then
 * opens no exchange for the client's request. */
static bool
report_crossing_of_server(const smcr_exchange_message_t *message)
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
    report_crossing(arrival, open, true);
    return true;
}

/* Whether two requests of these types must not be open at the same time: RKeys must not change
 * while links change (3.5.5.3). */
static bool
exclude_each_other(uint8_t one, uint8_t other)
{
    return (smcr_exchange_changes_links(one) && smcr_exchange_changes_rkeys(other)) ||
           (smcr_exchange_changes_rkeys(one) && smcr_exchange_changes_links(other));
}

/* Reports a collision with the first open request of the peer that the message crosses, if the two
 * must not be open at the same time. */
static void
report_collision(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;

    SMCR_LIST_EACH(const smcr_exchange_request_t *, open, message->lgr->pending) {
        bool by_peer = open->requester != message->side && !open->exchange.response_unknowable;
        if (!by_peer || !exclude_each_other(message->type, open->type) ||
            !crosses_request(arrival, open))
            continue;
        report_crossing(arrival, open, false);
        return;
    }
}

/* Ends the exchange of the server's DELETE LINK for all links, if the message is a client's request
 * DELETE LINK for all links. A Linux client answers with this request and not with a response.
 * Returns whether the message is such an answer. */
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

/* Keeps the response `message`, whose request may come later in the capture. `link`: link that has
 * to carry the request; NULL: any link. Returns a pointer to a flag that becomes true when the
 * request comes. */
static const bool *
keep_unasked(const smcr_exchange_message_t *message, const smcr_link_t *link)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_lgr_t *lgr = message->lgr;
    smcr_qp_t *responder = smcr_qp_peer(arrival->qp);
    bool *came = smcr_state_alloc0(arrival->state, sizeof *came);

    lgr->early_responses[lgr->early_response_count++ % G_N_ELEMENTS(lgr->early_responses)] =
        (smcr_lgr_unasked_t){
            .awaits_request = true,
            .time = arrival->when.time,
            .type = message->type,
            .requester = !message->side,
            .key = message->key,
            .link = link,
            .acked = smcr_point_at(responder, responder->traffic.flow.acked_psn),
            .request_came = came,
        };
    return came;
}

/* Sets the flag of a kept response (keep_unasked()), since its request has come. */
static void
note_request(const smcr_lgr_unasked_t *unasked)
{
    if (unasked->request_came)
        *unasked->request_came = true;
}

/* Whether the request `message` was certainly sent after the kept response `unasked`: it came more
 * than a millisecond after the response, and the responder had acknowledged no request with its PSN
 * or a later one before it responded. The acknowledgement of a request and the response go the same
 * way, so even a capture that has one direction late has both in order. False if the capture is out
 * of order, or if the responder had acknowledged nothing. */
static bool
was_sent_after(const smcr_exchange_message_t *message, const smcr_lgr_unasked_t *unasked)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool is_later = arrival->when.time > unasked->time + SMCR_TIME_MILLISECOND;

    return is_later && unasked->acked.psn && !arrival->state->is_out_of_order &&
           smcr_point_is_before(&unasked->acked, arrival->qp, arrival->psn);
}

/* Whether the kept response `unasked` may answer the request `message`. Four conditions: 1. the
 * response came at most a second before the request, or the capture is out of order; 2. the keys
 * are equal; 3. the link is the one on which the response expects its request; 4. the request was
 * not sent after the response. */
static bool
may_answer(const smcr_lgr_unasked_t *unasked, const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool in_time = arrival->when.time <= unasked->time + SMCR_TIME_SECOND ||
                   arrival->state->is_out_of_order;
    bool on_link = !unasked->link || unasked->link == message->link;
    bool is_same = unasked->awaits_request && unasked->key == message->key && on_link;

    return is_same && in_time && !was_sent_after(message, unasked);
}

/* Whether the type of the kept response `unasked` and its sender are those of a response to the
 * request `message`. */
static bool
is_response_to(const smcr_lgr_unasked_t *unasked, const smcr_exchange_message_t *message)
{
    return unasked->type == message->type && unasked->requester == message->side;
}

/* Sets the flag of each kept response that came less than a millisecond before the request
 * `message`. The request may belong to it even if their keys differ, since a wrong peer may not
 * echo the key. */
static void
note_close_request(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    uint64_t now = message->arrival->when.time;

    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->early_responses); i++) {
        const smcr_lgr_unasked_t *unasked = &lgr->early_responses[i];
        if (is_response_to(unasked, message) && now < unasked->time + SMCR_TIME_MILLISECOND)
            note_request(unasked);
    }
}

/* Whether the capture has the response of the request `message` before the request, in the wrong
 * order. Sets the flag of each kept response that the request may belong to. */
static bool
came_after_response(const smcr_exchange_message_t *message)
{
    smcr_lgr_t *lgr = message->lgr;

    note_close_request(message);
    for (unsigned i = 0; i < G_N_ELEMENTS(lgr->early_responses); i++) {
        smcr_lgr_unasked_t *unasked = &lgr->early_responses[i];
        if (!is_response_to(unasked, message) || !may_answer(unasked, message))
            continue;
        unasked->awaits_request = false;
        note_request(unasked);
        if (!unasked->link)
            return true;
    }
    return false;
}

/* ---- requests ---- */

/* Removes the responses of later requests of the same type. The message is a request that is
 * captured out of order, so each of these responses may answer the message. */
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

/* Whether the message is an ADD LINK with which a client asks the server for a link. If it is not
 * known which side is the client, an ADD LINK without a queue pair number counts. */
static bool
is_link_wish(const smcr_exchange_message_t *message)
{
    bool by_client = message->lgr->server == !message->side;

    if (message->type != SMCR_LLC_ADD_LINK)
        return false;
    return by_client ||
           (!smcr_evidence_knows_server(message->lgr) && !message->llc->u.add_link.qpn);
}

/* Whether a correct peer may send no response to the request. There are two cases (3.5.4, 3.5.5.3):
 *
 * - DELETE LINK for all links, unless the client sends it: the group has ended with this message.
 * - A client's request for a link: the server does not have to add a link. */
static bool
needs_no_response(const smcr_exchange_message_t *message)
{
    bool by_client = message->lgr->server == !message->side;
    bool ends_group = message->all_links && !by_client;

    return ends_group || message->type == SMCR_LLC_REQ_ADD_LINK || is_link_wish(message);
}

/* Opens an exchange for the request `message`. `responder_at` becomes the point of the highest PSN
 * that the responder has sent so far, as requests and acknowledgements show: the responder may have
 * sent packets up to this point before it saw the request. */
static smcr_exchange_request_t *
new_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_qp_t *peer = smcr_qp_peer(arrival->qp);
    smcr_exchange_request_t *request = smcr_state_alloc0(arrival->state, sizeof *request);

    *request = (smcr_exchange_request_t){
        .exchange = exchange_of(arrival),
        .type = message->type,
        .requester = (int8_t)message->side,
        .asked_at = smcr_point_at(arrival->qp, arrival->psn),
        .responder_at =
            smcr_point_at(peer, MAX(peer->traffic.flow.highest, peer->traffic.flow.acked_psn)),
        .key = message->key,
        .orderly =
            message->type == SMCR_LLC_DELETE_LINK && message->llc->flags & SMCR_LLC_FLAG_ORDERLY,
    };
    request->exchange.llc_type = message->llc->type;
    request->exchange.is_optional = needs_no_response(message);
    smcr_list_keep(message->lgr->pending, request, PENDING_MAX);
    return request;
}

/* Takes in a request whose response may be earlier in the capture than the request. If the capture
 * is out of order, the response may also come later: then the request is kept, but no response is
 * paired with it. */
static void
take_in_late_request(const smcr_exchange_message_t *message)
{
    if (message->arrival->state->is_out_of_order)
        new_request(message)->exchange.response_unknowable = true;
    doubt_answers(message);
}

/* The record points to the exchange before the rules see the exchange. */
void
smcr_state_exchange_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool disordered = arrival->state->is_out_of_order;

    if (report_crossing_of_server(message))
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
    report_collision(message);
    smcr_exchange_request_t *request = new_request(message);
    arrival->record->begins_exchange = &request->exchange;
    if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn,
                         &request->acked);
    smcr_rules_check_exchange(SMCR_RULES_ASKED, message,
                              &(smcr_rules_exchange_t){.request = request});
}

/* ---- second answers ---- */

/* The newest request of the message's type and key that has an answer. NULL: there is none, or a
 * packet of the requester is missing after it, which may be a newer request. */
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

/* Whether the message rejects an ADD LINK that its sender has accepted in an earlier response. If
 * so, reports the second response. Second responses of other kinds are not recognised, since they
 * may answer a request that is not captured. */
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

/* Only a request of the server that its client must answer counts: CONFIRM LINK, ADD LINK
 * CONTINUATION, and ADD LINK with a queue pair. A client's ADD LINK without one is a request of its
 * own. */
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

/* Whether another response of this type, whose request is not captured, has come within the last
 * WAIT seconds. A later request may then belong to either of the two responses. */
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

/* Ends the exchange of `request` with the response `message`. If the request came over another link
 * than the response, the right request may come later, over the link of the response. So the
 * response is also kept for such a request. */
static void
end_by_response(const smcr_exchange_message_t *message, smcr_exchange_request_t *request)
{
    bool elsewhere = request->asked_at.qp->link != message->link;

    end_exchange(message, request, SMCR_RULES_ANSWERED,
                 elsewhere ? keep_unasked(message, message->link) : NULL);
}

/* Keeps a response for which no captured request is certain. It may answer any open request, or a
 * request that comes later in the capture. Returns what the rules learn of the exchange. */
static smcr_rules_exchange_t
keep_response(const smcr_exchange_message_t *message)
{
    smcr_rules_exchange_t unclear = {.has_other_response = has_other_unasked(message)};

    give_up_requests(message, message->type);
    unclear.request_came = keep_unasked(message, NULL);
    return unclear;
}

/* Whether the group has one link that may carry messages: all others were rejected. */
static bool
has_one_link(const smcr_lgr_t *lgr)
{
    unsigned count = 0;

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        count += link->state != SMCR_LINK_REJECTED;
    return count == 1;
}

/* Notes that one of the packets that are missing in the requester's flow was the request of the
 * response `message`. Notes nothing in three cases: the group has several links, so the request may
 * have come over another link; the response is out of order; or the request adds or deletes a link,
 * so the missing packet may concern every link of the group. */
static void
take_missing_request(const smcr_exchange_message_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    bool changes_links = smcr_exchange_changes_links(message->type) || asks_for_link(message->type);

    if (!changes_links && has_one_link(message->lgr) && smcr_doubt_is_in_time(arrival))
        smcr_evidence_prove_missing(smcr_qp_peer(arrival->qp), 1);
}

/* Closes at most one exchange. If it is not certain which request the response answers, none is
 * closed, and the rules learn that (SMCR_RULES_UNCLEAR). */
bool
smcr_state_exchange_response(const smcr_exchange_message_t *message,
                             const smcr_exchange_request_t **answered)
{
    smcr_exchange_request_t *request = find_answered(message, message->type, &message->key, false);
    wanted_request_t wanted = {
        .type = message->type, .requester = !message->side, .key = &message->key};
    smcr_rules_exchange_t unclear = {0};
    bool open = find_open_request(message->lgr, &wanted) != NULL;

    *answered = NULL;
    if (!request && !open) {
        if (take_back_consent(message)) {
            smcr_rules_check_exchange(SMCR_RULES_UNCLEAR, message, &unclear);
            return true;
        }
        /* a request with any key, on the link of the response: a wrong peer may not echo the key */
        request = find_answered(message, message->type, NULL, true);
    }
    *answered = request;
    if (request) {
        end_by_response(message, request);
        return true;
    }
    unclear = keep_response(message);
    if (!open)
        take_missing_request(message);
    smcr_rules_check_exchange(open ? SMCR_RULES_UNCLEAR : SMCR_RULES_UNASKED, message, &unclear);
    return open;
}

/* ---- responses that are missing ---- */

/* An Accept or Confirm has named the RMB, so the response to its CONFIRM RKEY was sent. Adds no
 * event. */
void
smcr_state_exchange_named_rmb(const smcr_arrival_t *arrival, smcr_qp_t *owner,
                              const smcr_rmb_t *rmb)
{
    const smcr_lgr_t *lgr = owner->link->lgr;
    wanted_request_t wanted = {
        SMCR_LLC_CONFIRM_RKEY, owner->side, NULL, owner, arrival->when.time, 0};
    smcr_exchange_request_t *request = find_open_request(lgr, &wanted);
    bool is_only = request && wanted.count == 1 && lgr->last_confirmed_rmb[owner->side] == rmb;

    if (!is_only || request->exchange.response_unknowable || !has_one_link(lgr))
        return;
    if (smcr_doubt_place(arrival).kind || smcr_evidence_has_all_after(&request->responder_at))
        return; /* the response may come later in the capture */
    request->exchange.response_unknowable = true;
    smcr_evidence_prove_missing(owner, 1);
}
