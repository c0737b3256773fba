/* Rules for LLC requests and their responses: only one change of the link group at a time; each
 * response in time, on the link of its request; what the requester does if no response comes (RFC
 * 7609 3.3, 3.5.5, C.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define WAIT 2      /* seconds that Linux waits for most responses (smc_llc.h) */
#define LONG_WAIT 5 /* seconds that Linux waits for CONFIRM LINK of any link but the first */
/* Time after a request for which every host waits for the response, if the peer's adapter has
 * acknowledged the request. */
#define GIVEN_UP (500 * SMCR_TIME_MILLISECOND)
/* Time after which the software of a host has certainly seen a message: it counts from the
 * acknowledgement of the message by the host's adapter. */
#define SEEN (100 * SMCR_TIME_MILLISECOND)
/* Precision of the order of frames: two frames are certainly in the right order if their times
 * differ by more than this. */
#define ORDER SMCR_TIME_MILLISECOND

/* Declares a check of exchanges: a row of the table `checks` at the end of this file. */
#define CHECK(check) \
    static void check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                      G_GNUC_UNUSED const smcr_exchange_message_t *message, \
                      G_GNUC_UNUSED const smcr_rules_exchange_t *exchange)

/* ---- exchanges that change the link group ---- */

/* Whether a request of this type, sent by `side`, begins an exchange that changes links or RKeys of
 * the group. A client's ADD LINK and DELETE LINK change nothing: they only ask the server for the
 * change. */
static bool
changes_group(const smcr_lgr_t *lgr, uint8_t type, int side)
{
    return smcr_exchange_changes_rkeys(type) ||
           (smcr_exchange_changes_links(type) && side == lgr->server);
}

/* Whether `side` certainly knows that the exchange is open. The request must be acknowledged, and
 * `side` must be the requester, or its adapter must have acknowledged the request more than SEEN
 * ago. False in two cases: 1. the request is older than GIVEN_UP, since the requester may have
 * given up the exchange; 2. the capture cannot show the response, so the exchange may be over. */
static bool
knows_exchange(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open, int side)
{
    uint64_t now = arrival->when.time;

    if (open->exchange.response_unknowable || !open->acked)
        return false;
    bool may_be_given_up = now >= open->exchange.request_time + GIVEN_UP;
    return !may_be_given_up && (open->requester == side || now > open->acked->time + SEEN);
}

/* Whether the message and the open request both change RKeys, and may be open at the same time.
 * There are two cases:
 *
 * 1. The requests are of two sides, since each side has its own RKeys.
 * 2. The requests are of one side and have different types. Linux before 5.8 sends CONFIRM RKEY
 *    while its DELETE RKEY is open, and DELETE RKEY while its CONFIRM RKEY is open, because each
 *    type has a lock of its own (smc_llc_do_delete_rkey()). */
static bool
are_separate_rkeys(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    bool both_of_rkeys =
        smcr_exchange_changes_rkeys(message->type) && smcr_exchange_changes_rkeys(open->type);

    return both_of_rkeys && (open->requester != message->side || open->type != message->type);
}

/* Whether the message is the open request sent once more by its sender, which begins no new
 * exchange. */
static bool
is_same_request(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    return open->requester == message->side && open->type == message->type &&
           open->key == message->key;
}

/* Whether the message is a DELETE LINK that ends the open exchange. The DELETE LINK is for all
 * links, for the link that is being added, for the link that carries the exchange, or for a link
 * that has failed. */
static bool
ends_exchange(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    if (message->type != SMCR_LLC_DELETE_LINK)
        return false;
    bool deletes_added = open->type == SMCR_LLC_ADD_LINK && open->key == message->key;
    bool deletes_carrier = open->asked_at.qp->link->number == message->key;
    bool has_failed = message->llc->u.delete_link.reason == SMCR_LLC_DELETE_LOST_PATH;

    return message->all_links || deletes_added || deletes_carrier || has_failed;
}

/* Whether the request `message` may begin while the exchange of the request `open` is open. */
static bool
may_run_beside(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    return are_separate_rkeys(message, open) || is_same_request(message, open) ||
           ends_exchange(message, open);
}

/* True if check_overlap() does not report: the open exchange was over before `bound`, or its end is
 * not captured (`over_time` 0). `bound`: time of the message plus ORDER, since frames may be in the
 * wrong order within this time. The claim is decided when the whole capture is known, since the end
 * may come later. */
SMCR_DOUBT_CLAIM(may_be_over, const smcr_rules_open_t *open, open->over_time < claim->bound)

/* The rule of check_overlap(), for one open exchange. The response that ends the exchange may come
 * up to ORDER later in the capture than it should. So the breach is withdrawn if the exchange is
 * over by then (may_be_over()). */
static void
check_open_exchange(const smcr_exchange_message_t *message, smcr_exchange_request_t *open)
{
    const smcr_arrival_t *arrival = message->arrival;

    if (!changes_group(message->lgr, open->type, open->requester) ||
        may_run_beside(message, open) || !knows_exchange(arrival, open, message->side))
        return;
    smcr_doubt_proof_t claim = {.has_come = may_be_over,
                                .about = SMCR_STATE_MADE(arrival->state, &open->rules),
                                .bound = arrival->when.time + ORDER};
    smcr_breach_report_unless(arrival, SMCR_EVENT_llc_overlap,
                              smcr_doubt_or(smcr_doubt_link(arrival, open->asked_at.qp->link),
                              smcr_doubt_until(arrival, claim)),
                              "The exchange that began in frame %u is in progress",
                              open->exchange.request_frame);
}

/* One exchange at a time changes the link group (R-3.5.5.3-1). ADD LINK is open until the link is
 * confirmed or rejected. DELETE LINK, CONFIRM RKEY and DELETE RKEY are open until their responses.
 * A request breaks the rule if its sender knows of another open exchange. Five exceptions: 1. the
 * requester may have given up the other exchange; 2. the sender may not have seen the other request
 * yet; 3. the request is a DELETE LINK that ends the other exchange (ends_exchange()); 4. both
 * requests are about RKeys, and are of two sides or of two types (are_separate_rkeys()); 5. the
 * request is the open one once more (is_same_request()). Requests of a client for links change
 * nothing, and are not judged (changes_group()). Nothing is judged either as long as it is not
 * known which side is the server.
 *
 * Example: the server sends ADD LINK, and the client's adapter acknowledges it. 200 ms later,
 * before its response, the client sends CONFIRM RKEY. */
CHECK(check_overlap)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;

    if (lgr->server == SMCR_LGR_SIDE_UNKNOWN || !changes_group(lgr, message->type, message->side))
        return;
    SMCR_LIST_EACH(smcr_exchange_request_t *, open, lgr->pending) {
        if (open != adding)
            check_open_exchange(message, open);
    }
    if (adding)
        check_open_exchange(message, adding);
}

/* Remembers the time at which an exchange ended. Nothing is remembered in two cases: 1. no report
 * of check_open_exchange() depends on the time (`rules` is NULL); 2. the message that ends the
 * exchange is not the next one of its flow, so its time is not certain. */
static void
note_exchange_over(const smcr_arrival_t *arrival, const smcr_exchange_request_t *request)
{
    if (request->rules && smcr_doubt_is_in_time(arrival))
        request->rules->over_time = arrival->when.time;
}

/* Remembers the time when the exchange is over. A response ends its exchange, but not if it accepts
 * ADD LINK: the ADD LINK exchange ends when the new link is confirmed or rejected
 * (note_added_link()). */
CHECK(note_end)
{
    if (exchange->request->type != SMCR_LLC_ADD_LINK || exchange->request->rejected)
        note_exchange_over(arrival, exchange->request);
}

/* Remembers the time when the exchange of an accepted ADD LINK is over: the new link is confirmed
 * or rejected. */
CHECK(note_added_link)
{
    smcr_lgr_t *lgr = message->lgr;
    const smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;

    if (!adding)
        return;
    bool confirms = message->type == SMCR_LLC_CONFIRM_LINK && message->key == adding->key;
    if (!message->rejects && !confirms)
        return;
    note_exchange_over(arrival, adding);
    smcr_rules_links(arrival, lgr)->adding = NULL;
}

/* Remembers the server's ADD LINK request as open. A DELETE LINK of the server for the new link, or
 * for all links, means that the ADD LINK request is no longer open. The time of this DELETE LINK
 * does not count as the end of the exchange: a missing message may have ended it earlier. */
CHECK(note_adding)
{
    smcr_lgr_t *lgr = message->lgr;
    const smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;
    bool deletes = message->type == SMCR_LLC_DELETE_LINK;

    if (message->side != lgr->server)
        return;
    if (deletes && adding && (message->all_links || adding->key == message->key))
        smcr_rules_links(arrival, lgr)->adding = NULL;
    if (message->type == SMCR_LLC_ADD_LINK)
        smcr_rules_links(arrival, lgr)->adding = exchange->request;
}

/* ---- responses ---- */

/* True if a report of check_unasked() or check_link() has to be withdrawn later: the request comes
 * after the response in the capture. */
SMCR_DOUBT_CLAIM(request_has_come, const bool *came, *came)

/* Whether the peer of the response's sender has an open request of the response's type. The
 * response may then belong to that request. */
static bool
waits_for_any(const smcr_exchange_message_t *message)
{
    SMCR_LIST_EACH(const smcr_exchange_request_t *, open, message->lgr->pending) {
        if (open->type == message->type && open->requester != message->side)
            return true;
    }
    return false;
}

/* Whether the response may come without a request of the peer. There are three cases: 1. The server
 * sends a response about links: by an unrequested DELETE LINK response it reports that it has
 * dropped, or does not know, the link that the client asks for (C.7.1). 2. The response is for all
 * links. 3. The group has ended, so its exchanges are not known any more. */
static bool
needs_no_request(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool of_links =
        smcr_exchange_changes_links(message->type) || message->type == SMCR_LLC_REQ_ADD_LINK;

    return lgr->ended_frame || message->all_links || (of_links && message->side == lgr->server);
}

/* A response follows its request (R-3.3-4). A response to which no open request fits breaks the
 * rule if four conditions hold: 1. no packet of the requester is missing; 2. the request does not
 * come later in the capture; 3. the response needs a request (needs_no_request()); 4. the peer has
 * no open request of the same type (waits_for_any()), and no other response of this type lacks its
 * request. If a condition does not hold, the event is a NOTE, unless the request comes later. Not
 * judged is a group whose first contact is not captured. */
CHECK(check_unasked)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = request_has_come, .about = exchange->request_came};

    if (!lgr->first_contact_captured)
        return;
    smcr_doubt_t doubt = smcr_doubt_later(arrival, lgr, !message->side, claim);
    bool may_be_of_other = exchange->has_other_response || waits_for_any(message);
    bool is_missing = may_be_of_other || doubt.kind || needs_no_request(message);
    if (is_missing)
        smcr_event_add_claim(arrival, SMCR_EVENT_llc_no_request,
                             wmem_memdup(arrival->state->scope, &claim, sizeof claim));
    else
        smcr_breach_report_unless(arrival, SMCR_EVENT_llc_unrequested, doubt,
                                  "No request precedes this response");
}

/* Whether the request is acknowledged and came less than GIVEN_UP ago, and its link is still in
 * use. The response then has to use the same link. */
static bool
is_link_of_request_alive(const smcr_arrival_t *arrival, const smcr_exchange_request_t *request)
{
    const smcr_link_t *link = request->asked_at.qp->link;
    bool is_recent = arrival->when.time < request->exchange.request_time + GIVEN_UP;

    return request->acked && is_recent && !link->lost_frame && !link->deleted_frame;
}

/* A response flows over the link of its request (R-3.3-7). A response on another link breaks the
 * rule if the request has just come and its link is still in use (is_link_of_request_alive()).
 * `request_came` is set only if the two links differ. If the link of the request fails, the
 * requester may send its request once more over another link. */
CHECK(check_link)
{
    const smcr_exchange_request_t *request = exchange->request;
    const smcr_link_t *link = request->asked_at.qp->link;
    smcr_doubt_proof_t claim = {.has_come = request_has_come, .about = exchange->request_came};

    if (exchange->request_came && is_link_of_request_alive(arrival, request))
        smcr_breach_report_unless(arrival, SMCR_EVENT_llc_wrong_link,
                                  smcr_doubt_later(arrival, link->lgr, request->requester, claim),
                                  "The request in frame %u is on link %u",
                                  request->exchange.request_frame, link->number);
}

/* After a client has asked the server to delete a link, the client ignores LLC messages on this
 * link (R-C.7-10). The client breaks the rule if it answers a request that came after its DELETE
 * LINK. Responses to DELETE LINK and TEST LINK are allowed, since these requests change nothing for
 * the rest of the group. */
CHECK(check_unwanted)
{
    uint64_t unwanted = smcr_rules_of_link(message->link)->delete_asked_time;
    bool by_client = message->side == !message->lgr->server;
    bool may_be_ignored =
        message->type != SMCR_LLC_DELETE_LINK && message->type != SMCR_LLC_TEST_LINK;

    if (by_client && unwanted && may_be_ignored &&
        exchange->request->exchange.request_time > unwanted + ORDER)
        smcr_breach_report(arrival, SMCR_EVENT_llc_on_unwanted,
                           "The client has requested to delete this link");
}

/* The time from the request to its response, nanoseconds. If the capture is out of order, the two
 * may have times of two clocks: then it is the time since the acknowledgement of the request, which
 * comes from the same host as the response; 0: not known. */
static uint64_t
time_to_response(const smcr_arrival_t *arrival, const smcr_exchange_request_t *request)
{
    uint64_t response = request->exchange.response_time;

    if (!arrival->state->is_out_of_order)
        return smcr_exchange_time(&request->exchange);
    return request->acked && request->acked->time < response ? response - request->acked->time : 0;
}

/* A response comes as long as its requester still waits (R-C.7-1). The RFC sets no limit for this
 * time. Linux waits 5 seconds for the CONFIRM LINK response of any but the first link, and 2
 * seconds for all other responses. A response breaks the rule if it comes later. */
CHECK(check_time)
{
    const smcr_exchange_request_t *request = exchange->request;
    bool further = request->asked_at.qp->link->older_in_group != NULL;
    unsigned limit = request->type == SMCR_LLC_CONFIRM_LINK && further ? LONG_WAIT : WAIT;

    if (time_to_response(arrival, request) > limit * SMCR_TIME_SECOND)
        smcr_event_add(arrival, SMCR_EVENT_llc_late_response,
                       "The response comes later than the %u seconds that Linux waits", limit);
}

/* A response repeats values of its request: the number of the link, the RKeys, the user data
 * (R-3.5.1.6-5, R-A.3.4-4, R-A.3.8-1). A response breaks the rule if only one request of its type
 * is open, and their values differ. No packet of the link may be missing in the capture. If packets
 * are missing, one of them may be a request with these values. */
CHECK(check_echo)
{
    if (exchange->request->key != message->key)
        smcr_breach_report_unless(arrival, SMCR_EVENT_llc_not_echoed,
                                  smcr_doubt_link(arrival, message->link),
                                  "The response does not echo the values of the request in frame "
                                  "%u",
                                  exchange->request->exchange.request_frame);
}

/* The server deletes at once a link that the client reports as lost (R-3.5.5.1.4-2). The server
 * breaks the rule if its own DELETE LINK comes more than WAIT seconds after the client's DELETE
 * LINK. */
CHECK(check_obeyed)
{
    const smcr_exchange_request_t *request = exchange->request;

    if (request->type == SMCR_LLC_DELETE_LINK && !request->orderly &&
        time_to_response(arrival, request) > WAIT * SMCR_TIME_SECOND)
        smcr_event_add(arrival, SMCR_EVENT_llc_late_response,
                       "More than %u seconds after the request of the client", WAIT);
}

/* ---- missing responses ---- */

/* Whether the request needs a response and has none so far. */
static bool
is_unanswered(const smcr_exchange_request_t *request)
{
    const smcr_exchange_t *exchange = &request->exchange;

    return !exchange->response_frame && !exchange->response_unknowable && !exchange->is_optional;
}

/* True if the report of expect_link() has to be withdrawn later: the server has answered the
 * client's request, or has added a link after it, or the capture cannot show the answer. */
static bool
is_answered(const smcr_doubt_proof_t *claim)
{
    const smcr_exchange_request_t *request = claim->about;
    const smcr_link_t *newest = request->asked_at.qp->link->lgr->newest_link;

    return request->exchange.response_frame || request->exchange.response_unknowable ||
           newest->added_frame > request->exchange.request_frame;
}

/* Whether the client asks for a link: by REQUEST ADD LINK, or by ADD LINK without a queue pair. */
static bool
asks_for_link(const smcr_exchange_message_t *message)
{
    bool by_add_link = message->type == SMCR_LLC_ADD_LINK && message->llc->u.add_link.qpn == 0;

    return (by_add_link || message->type == SMCR_LLC_REQ_ADD_LINK) &&
           message->lgr->server == !message->side;
}

/* If the client asks for a link, and the group has only one link, the server adds a second link if
 * possible (R-3.5.5.1.2-2). The server breaks the rule if neither an answer nor a new link comes
 * within LONG_WAIT seconds. Not judged is a request that comes while the server is adding a
 * link. */
CHECK(expect_link)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = is_answered, .about = exchange->request,
                                .deadline = arrival->when.time + LONG_WAIT * SMCR_TIME_SECOND};

    if (asks_for_link(message) && lgr->active_links == 1 && !smcr_rules_of_links(lgr)->adding)
        smcr_breach_report_unless(arrival, SMCR_EVENT_llc_wish_ignored,
                                  smcr_doubt_later(arrival, lgr, lgr->server, claim),
                                  "The server does not add the link that the client requests");
}

/* Whether a missing response to the message means that the link of the message has failed. For ADD
 * LINK and DELETE LINK this is so only if the server has sent the message. */
static bool
proves_failure(const smcr_exchange_message_t *message)
{
    switch (message->type) {
    case SMCR_LLC_CONFIRM_LINK:
    case SMCR_LLC_ADD_LINK_CONT:
    case SMCR_LLC_CONFIRM_RKEY:
    case SMCR_LLC_TEST_LINK:
        return true;
    default:
        return smcr_exchange_changes_links(message->type) && message->side == message->lgr->server;
    }
}

/* Remembers the request, if it is the side's oldest request over the link that has no response so
 * far. Only requests of proves_failure() count. */
CHECK(note_wait)
{
    const smcr_exchange_request_t *waits =
        smcr_rules_of_link(message->link)->unanswered[message->side];

    if (proves_failure(message) && (!waits || !is_unanswered(waits)))
        smcr_rules_link(arrival, message->link)->unanswered[message->side] = exchange->request;
}

/* A host that gets no response to ADD LINK, ADD LINK CONTINUATION, DELETE LINK, CONFIRM RKEY or
 * TEST LINK in time treats the link of the request as failed (R-C.7-4, R-C.7-6, R-4.5.3-1). The
 * host breaks the rule if it still uses the link LONG_WAIT seconds after its request. Hosts choose
 * the length of their wait; no host waits longer than five seconds. Linux treats a link as failed
 * if the response to TEST LINK is missing, but not for CONFIRM RKEY. CONFIRM LINK is not judged
 * here, but by check_declined_late(). A request that is answered or late is forgotten, so each
 * request is reported once at most. */
void
smcr_rules_check_overdue_response(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    int side = !arrival->qp->side;
    const smcr_exchange_request_t *request = smcr_rules_of_link(link)->unanswered[side];

    if (!request)
        return;
    bool late = arrival->when.time > request->exchange.request_time + LONG_WAIT * SMCR_TIME_SECOND;
    if (is_unanswered(request) && !late)
        return;
    if (is_unanswered(request) && request->type != SMCR_LLC_CONFIRM_LINK)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_llc_no_recovery, smcr_doubt_link(arrival, link),
            "The sender continues, although its request in frame %u has no response",
            request->exchange.request_frame);
    smcr_rules_link(arrival, link)->unanswered[side] = NULL;
}

/* Whether `request` is a CONFIRM LINK of the server to which no response has come within GIVEN_UP
 * after the client's adapter has acknowledged it. The time from the request on does not count: the
 * adapter may have retransmitted the request before. */
static bool
has_waited_in_vain(const smcr_arrival_t *arrival, const smcr_exchange_request_t *request)
{
    if (request->type != SMCR_LLC_CONFIRM_LINK || !is_unanswered(request))
        return false;
    return request->acked && arrival->when.time > request->acked->time + GIVEN_UP;
}

/* Whether the server sends the first Decline of the connection, after the Confirm of a first
 * contact. */
static bool
declines_first_contact(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool by_server = arrival->record->direction == 1;
    bool is_agreed = conn->lgr && conn->first_contact && conn->confirm_frame;

    return by_server && is_agreed && !conn->decline_frame;
}

/* A server that gets no response to its first CONFIRM LINK resets the TCP connection (R-C.7-3). The
 * server declines instead only if its adapter could not deliver CONFIRM LINK. A Decline of the
 * server after the Confirm breaks the rule if the client's adapter has acknowledged CONFIRM LINK,
 * and no response has come within GIVEN_UP after the acknowledgement. */
SMCR_RULES_CLC(check_declined_late)
{
    if (!declines_first_contact(arrival, conn))
        return;
    int server = conn->lgr->server;
    smcr_link_t *link = conn->side[server].link;
    const smcr_exchange_request_t *request = smcr_rules_of_link(link)->unanswered[server];
    if (request && has_waited_in_vain(arrival, request))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_llc_no_recovery, smcr_doubt_link(arrival, link),
            "CONFIRM LINK has no response: the server declines, as Linux does "
            "(smcr_serv_conf_first_link()), instead of resetting the TCP connection");
}

/* ---- the table of checks ---- */

static const struct {
    smcr_rules_happening_t what; /* event for which `check` is called */
    void (*check)(const smcr_arrival_t *arrival, const smcr_exchange_message_t *message,
                  const smcr_rules_exchange_t *exchange);
} checks[] = {
    {SMCR_RULES_ASKED, check_overlap},
    {SMCR_RULES_ASKED, note_adding},
    {SMCR_RULES_ASKED, expect_link},
    {SMCR_RULES_ASKED, note_wait},
    {SMCR_RULES_OBEYED, note_end},
    {SMCR_RULES_OBEYED, check_obeyed},
    {SMCR_RULES_REPEATED, note_end},
    {SMCR_RULES_ANSWERED, note_added_link},
    {SMCR_RULES_ANSWERED, note_end},
    {SMCR_RULES_ANSWERED, check_echo},
    {SMCR_RULES_ANSWERED, check_link},
    {SMCR_RULES_ANSWERED, check_unwanted},
    {SMCR_RULES_ANSWERED, check_time},
    {SMCR_RULES_UNCLEAR, note_added_link},
    {SMCR_RULES_UNASKED, note_added_link},
    {SMCR_RULES_UNASKED, check_unasked},
};

void
smcr_rules_check_exchange(smcr_rules_happening_t what, const smcr_exchange_message_t *message,
                          const smcr_rules_exchange_t *exchange)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].what == what)
            checks[i].check(message->arrival, message, exchange);
}
