/* Requests and responses over several links, side by side, and without an end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define WAIT 2      /* seconds that Linux waits for most responses (smc_llc.h) */
#define LONG_WAIT 5 /* for a CONFIRM LINK response of a further link */
#define GIVEN_UP \
    (500 * SMCR_TIME_MILLISECOND) /* nobody gives up before what the peer has taken in */
#define SEEN \
    (100 * SMCR_TIME_MILLISECOND) /* software has seen by then what its adapter has taken in */
#define ORDER SMCR_TIME_MILLISECOND       /* a capture mixes up no frames that lie further apart */

/* What a check is given; see the table below. */
#define CHECK(check) \
    static void check(G_GNUC_UNUSED const smcr_arrival_t *arrival, \
                      G_GNUC_UNUSED const smcr_exchange_message_t *message, \
                      G_GNUC_UNUSED const smcr_rules_exchange_t *exchange)

/* ---- exchanges that change the link group ---- */

/* Whether it begins such an exchange: a client only asks for links to be added or deleted. */
static bool
changes_group(const smcr_lgr_t *lgr, uint8_t type, int side)
{
    return smcr_exchange_changes_rkeys(type) ||
           (smcr_exchange_changes_links(type) && side == lgr->server);
}

/* Whether the sender has known of the exchange, which is not over. */
static bool
is_known(const smcr_arrival_t *arrival, const smcr_exchange_request_t *open, int side)
{
    uint64_t now = arrival->when.time;

    return !open->exchange.is_doubtful && open->acked &&
           now < open->exchange.request_time + GIVEN_UP &&
           (open->requester == side || now > open->acked->time + SEEN);
}

/* Whether the new request may run beside the open exchange: RKeys of either side are its own; and
 * the same request again is no other exchange. Linux before 5.8 begins CONFIRM RKEY beside its own
 * DELETE RKEY, and the reverse: each has a lock of its own (smc_llc_do_delete_rkey()). */
static bool
may_run_beside(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    bool own = open->requester == message->side;

    return (smcr_exchange_changes_rkeys(message->type) && smcr_exchange_changes_rkeys(open->type) &&
            (!own || message->type != open->type)) ||
           (own && message->type == open->type && message->key == open->key);
}

/* Whether DELETE LINK ends the open exchange: it is about the link that is being added, or that
 * carries the exchange, or about a link that has failed. */
static bool
ends_it(const smcr_exchange_message_t *message, const smcr_exchange_request_t *open)
{
    const smcr_link_t *carrier = open->asked.qp->link;
    bool added = open->type == SMCR_LLC_ADD_LINK && open->key == message->key;

    return message->type == SMCR_LLC_DELETE_LINK &&
           (message->all_links || added || carrier->number == message->key ||
            message->llc->u.delete_link.reason == SMCR_LLC_DELETE_LOST_PATH);
}

/* Whether the capture lacks the proof that the exchange was open then: that it has ended since. The
 * capture may mix up frames that lie close together. */
SMCR_DOUBT_CLAIM(may_be_over, const smcr_rules_open_t *open, open->over < claim->bound)

static void
check_open(const smcr_exchange_message_t *message, smcr_exchange_request_t *open)
{
    const smcr_arrival_t *arrival = message->arrival;

    if (!changes_group(message->lgr, open->type, open->requester) ||
        may_run_beside(message, open) || ends_it(message, open) ||
        !is_known(arrival, open, message->side))
        return;
    smcr_doubt_proof_t claim = {.has_come = may_be_over,
                                .about = SMCR_STATE_MADE(arrival->state, &open->rules),
                                .bound = arrival->when.time + ORDER};
    smcr_breach(arrival, SMCR_EVENT_llc_overlap,
                smcr_doubt_or(smcr_doubt_link(arrival, open->asked.qp->link),
                              smcr_doubt_until(arrival, claim)),
                "The exchange that began in frame %u is not over", open->exchange.request_frame);
}

/*
 * Who knows of an open exchange that changes the link group begins no other one: ADD LINK until the
 * link is confirmed or rejected, DELETE LINK, CONFIRM RKEY and DELETE RKEY until their responses. A
 * host may have given up an exchange, or have begun its own before it saw the other. (R-3.5.5.3-1)
 */
CHECK(check_overlap)
{
    const smcr_lgr_t *lgr = message->lgr;
    smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;

    if (lgr->server == SMCR_LGR_SIDE_UNKNOWN || !changes_group(lgr, message->type, message->side))
        return;
    SMCR_LIST_EACH(smcr_exchange_request_t *, open, lgr->pending) {
        if (open != adding)
            check_open(message, open);
    }
    if (adding)
        check_open(message, adding);
}

static void
end(const smcr_arrival_t *arrival, const smcr_exchange_request_t *request)
{
    if (request->rules && smcr_doubt_is_in_time(arrival))
        request->rules->over = arrival->when.time;
}

/* ADD LINK goes on when it has been accepted. */
CHECK(note_end)
{
    if (exchange->request->type != SMCR_LLC_ADD_LINK || exchange->request->rejected)
        end(arrival, exchange->request);
}

/* It does until the new link is confirmed or rejected. */
CHECK(note_added_link)
{
    smcr_lgr_t *lgr = message->lgr;
    const smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;
    bool confirms = adding && message->type == SMCR_LLC_CONFIRM_LINK && message->key == adding->key;

    if (!adding || !(message->rejects || confirms))
        return;
    end(arrival, adding);
    smcr_rules_links(arrival, lgr)->adding = NULL;
}

/* Where DELETE LINK ends ADD LINK, the capture may lack that it was over before. */
CHECK(note_adding)
{
    smcr_lgr_t *lgr = message->lgr;
    const smcr_exchange_request_t *adding = smcr_rules_of_links(lgr)->adding;

    if (message->side != lgr->server)
        return;
    if (message->type == SMCR_LLC_DELETE_LINK && adding &&
        (message->all_links || adding->key == message->key))
        smcr_rules_links(arrival, lgr)->adding = NULL;
    if (message->type == SMCR_LLC_ADD_LINK)
        smcr_rules_links(arrival, lgr)->adding = exchange->request;
}

/* ---- responses ---- */

/* Whether the request that the claim is about has come, too late in the capture. */
SMCR_DOUBT_CLAIM(request_has_come, const bool *came, *came)

/* Whether the requester waits for another response of this type, which this one may be. */
static bool
waits_for_any(const smcr_exchange_message_t *message)
{
    SMCR_LIST_EACH(const smcr_exchange_request_t *, open, message->lgr->pending) {
        if (open->type == message->type && open->requester != message->side)
            return true;
    }
    return false;
}

/* Whether the server may say so without a request of its peer: that it has dropped, or does not
 * know, what the client asks for (C.7.1). And a group that has ended has no exchanges. */
static bool
needs_no_request(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool of_links =
        smcr_exchange_changes_links(message->type) || message->type == SMCR_LLC_REQ_ADD_LINK;

    return lgr->ended_frame || message->all_links || (of_links && message->side == lgr->server);
}

/* A response has a request before it. (R-3.3-4) */
CHECK(check_unasked)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = request_has_come, .about = exchange->came};

    if (!lgr->from_start)
        return;
    smcr_doubt_t doubt = smcr_doubt_later(arrival, lgr, !message->side, claim);
    if (!exchange->came || doubt.kind || needs_no_request(message) || waits_for_any(message))
        smcr_event_add(arrival, SMCR_EVENT_llc_no_request, NULL);
    else
        smcr_breach(arrival, SMCR_EVENT_llc_unrequested, doubt,
                    "Nobody has asked for this response");
}

/* A response flows over the link of its request. A host may ask again over another link when a link
 * has failed; so the request had been taken in shortly before, over a link that goes on.
 * (R-3.3-7) */
CHECK(check_link)
{
    const smcr_exchange_request_t *request = exchange->request;
    const smcr_link_t *link = request->asked.qp->link;
    smcr_doubt_proof_t claim = {.has_come = request_has_come, .about = exchange->came};
    uint64_t now = arrival->when.time;

    if (exchange->came && request->acked && now < request->exchange.request_time + GIVEN_UP &&
        !link->lost && !link->deleted_frame)
        smcr_breach(arrival, SMCR_EVENT_llc_wrong_link,
                    smcr_doubt_later(arrival, link->lgr, request->requester, claim),
                    "The request in frame %u flowed over link %u",
                    request->exchange.request_frame, link->number);
}

/* A client that asks to delete a link may ignore what comes over that link. (R-C.7-10) */
CHECK(check_unwanted)
{
    uint64_t unwanted = smcr_rules_of_link(message->link)->unwanted;

    if (message->side == !message->lgr->server && unwanted &&
        message->type != SMCR_LLC_DELETE_LINK && message->type != SMCR_LLC_TEST_LINK &&
        exchange->request->exchange.request_time > unwanted + ORDER)
        smcr_breach(arrival, SMCR_EVENT_llc_on_unwanted, smcr_doubt_message(arrival),
                    "The client has asked to delete this link before");
}

/* Later than Linux waits, which is 5 seconds for further links, 2 for all else. (R-C.7-1) */
CHECK(check_time)
{
    const smcr_exchange_request_t *request = exchange->request;
    bool further = request->asked.qp->link->next_of_group != NULL;
    unsigned limit = request->type == SMCR_LLC_CONFIRM_LINK && further ? LONG_WAIT : WAIT;

    if (smcr_exchange_time(&request->exchange) > limit * SMCR_TIME_SECOND)
        smcr_event_add(arrival, SMCR_EVENT_llc_late_response,
                       "The response comes later than the %u seconds that Linux waits", limit);
}

/* A response repeats what its request says: the number of the link, the RKeys, the user data.
 * Another request, which it does repeat, may be absent. (R-3.5.1.6-5, R-A.3.4-4, R-A.3.8-1) */
CHECK(check_echo)
{
    if (exchange->request->key != message->key)
        smcr_breach(arrival, SMCR_EVENT_llc_not_echoed,
                    smcr_doubt_link(arrival, message->link),
                    "The response does not echo what the request in frame %u says",
                    exchange->request->exchange.request_frame);
}

/* The server deletes at once a link that the client calls lost. (R-3.5.5.1.4-2) */
CHECK(check_obeyed)
{
    const smcr_exchange_request_t *request = exchange->request;

    if (request->type == SMCR_LLC_DELETE_LINK && !request->orderly &&
        smcr_exchange_time(&request->exchange) > WAIT * SMCR_TIME_SECOND)
        smcr_event_add(arrival, SMCR_EVENT_llc_late_response,
                       "More than %u seconds after the client has asked for it", WAIT);
}

/* ---- what comes after a response that does not ---- */

static bool
is_unanswered(const smcr_exchange_request_t *request)
{
    const smcr_exchange_t *exchange = &request->exchange;

    return !exchange->response_frame && !exchange->is_doubtful && !exchange->is_optional;
}

/* Whether the server has answered by now, or has added a link since. */
static bool
is_answered(const smcr_doubt_proof_t *claim)
{
    const smcr_exchange_request_t *request = claim->about;
    const smcr_link_t *newest = request->asked.qp->link->lgr->all_links;

    return request->exchange.response_frame || request->exchange.is_doubtful ||
           newest->added_frame > request->exchange.request_frame;
}

/* A server with one link adds another when the client asks for it, if it can. (R-3.5.5.1.2-2) */
CHECK(expect_link)
{
    smcr_lgr_t *lgr = message->lgr;
    smcr_doubt_proof_t claim = {.has_come = is_answered, .about = exchange->request,
                                .deadline = arrival->when.time + LONG_WAIT * SMCR_TIME_SECOND};
    bool asks = message->type == SMCR_LLC_REQ_ADD_LINK ||
                (message->type == SMCR_LLC_ADD_LINK && message->llc->u.add_link.qpn == 0);

    if (asks && lgr->server == !message->side && lgr->active_links == 1 &&
        !smcr_rules_of_links(lgr)->adding)
        smcr_breach(arrival, SMCR_EVENT_llc_wish_ignored,
                    smcr_doubt_later(arrival, lgr, lgr->server, claim),
                    "The server does not add the link that the client asks for");
}

CHECK(note_wait)
{
    const smcr_exchange_request_t *waits = smcr_rules_of_link(message->link)->waits[message->side];
    uint8_t type = message->type;
    bool by_server = message->side == message->lgr->server;
    bool tests_link = /* without response it says that its link has failed */
        type == SMCR_LLC_CONFIRM_LINK || type == SMCR_LLC_ADD_LINK_CONT ||
        type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_TEST_LINK ||
        (by_server && (type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK));

    if (tests_link && (!waits || !is_unanswered(waits)))
        smcr_rules_link(arrival, message->link)->waits[message->side] = exchange->request;
}

/* Who gets no response to ADD LINK, DELETE LINK, CONFIRM RKEY or TEST LINK within its time calls
 * the link failed that carried it. Linux does so for TEST LINK, not for CONFIRM RKEY. The times are
 * the host's own: five seconds are long enough for all. (R-C.7-4, R-C.7-6, R-4.5.3-1) */
void
smcr_rules_waits(const smcr_arrival_t *arrival)
{
    smcr_link_t *link = arrival->qp->link;
    int side = !arrival->qp->side;
    const smcr_exchange_request_t *request = smcr_rules_of_link(link)->waits[side];

    if (!request)
        return;
    bool late = arrival->when.time > request->exchange.request_time + LONG_WAIT * SMCR_TIME_SECOND;
    if (is_unanswered(request) && !late)
        return;
    if (is_unanswered(request) && request->type != SMCR_LLC_CONFIRM_LINK)
        smcr_breach(arrival, SMCR_EVENT_llc_no_recovery, smcr_doubt_link(arrival, link),
                    "The sender goes on, though its request in frame %u has no response",
                    request->exchange.request_frame);
    smcr_rules_link(arrival, link)->waits[side] = NULL;
}

/* A server that gets no response to its first CONFIRM LINK resets the TCP connection. It declines
 * only where its adapter could not deliver the message. (R-C.7-3) */
SMCR_RULES_CLC(declined_late)
{
    smcr_lgr_t *lgr = conn->lgr;

    if (arrival->record->direction != 1 || !conn->first_contact || !conn->confirm_frame ||
        conn->decline_frame || !lgr)
        return;
    smcr_link_t *link = conn->side[lgr->server].link;
    const smcr_exchange_request_t *request = smcr_rules_of_link(link)->waits[lgr->server];
    if (request && request->type == SMCR_LLC_CONFIRM_LINK && is_unanswered(request) &&
        request->acked && arrival->when.time > request->exchange.request_time + GIVEN_UP)
        smcr_breach(arrival, SMCR_EVENT_llc_no_recovery, smcr_doubt_link(arrival, link),
                    "CONFIRM LINK has no response: the server declines, as Linux does "
                    "(smcr_serv_conf_first_link()), instead of resetting the TCP connection");
}

/* ---- all that happens to exchanges ---- */

static const struct {
    smcr_rules_happening_t what;
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
smcr_rules_exchange(smcr_rules_happening_t what, const smcr_exchange_message_t *message,
                    const smcr_rules_exchange_t *exchange)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].what == what)
            checks[i].check(message->arrival, message, exchange);
}
