/* exchange.c
 * Finds for each response its request.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "exchange.h"

#include "state/model/store.h"
#include "wire/wire.h"

#define PENDING_MAX 64 /* open exchanges of a link group */
#define SECOND UINT64_C(1000000000)
#define FIRST_WAIT 5 /* seconds that Linux waits in a first contact (smc_llc.h) */
#define WAIT 2       /* and later */

/* What an LLC response is found by. */
typedef struct {
    smcr_exchange_t exchange;
    smcr_link_t *link; /* that carried the request */
    uint32_t key;      /* tells requests of one type apart: RKey, link number, hash of user data */
    uint8_t type;      /* LLC, without the version bit */
    int8_t requester;  /* side */
} request_t;

smcr_exchange_t *
smcr_exchange_open(const smcr_arrival_t *arrival)
{
    smcr_exchange_t *exchange = smcr_state_alloc0(arrival->state, sizeof(smcr_exchange_t));

    exchange->request_frame = arrival->when.frame;
    exchange->request_time = arrival->when.time;
    return exchange;
}

void
smcr_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange)
{
    exchange->response_frame = arrival->when.frame;
    exchange->response_time = arrival->when.time;
    arrival->record->answers = exchange;
}

/*
 * The open exchange of `type` that `requester` began with `key`, on `link` if there is one, else
 * on another; failing that, one on `link` with another key. Of several it is the last one, since a
 * host begins no exchange before the one before it is over: those before have lost their response.
 */
static request_t *
find(const smcr_lgr_t *lgr, const smcr_topic_t *topic, uint8_t type, int requester)
{
    enum { SAME_LINK = 1, SAME_KEY = 2 }; /* the key counts for more */
    int best = 0;
    request_t *found = NULL;

    for (wmem_list_frame_t *at = wmem_list_tail(lgr->pending); at && best < SAME_LINK + SAME_KEY;
         at = wmem_list_frame_prev(at)) {
        request_t *request = wmem_list_frame_data(at);
        int fit = (request->link == topic->link ? SAME_LINK : 0) +
                  (request->key == topic->key ? SAME_KEY : 0);
        if (request->type != type || request->requester != requester || fit <= best)
            continue;
        best = fit;
        found = request;
    }
    return found;
}

static void
answer(const smcr_arrival_t *arrival, const smcr_topic_t *topic, request_t *request)
{
    smcr_exchange_close(arrival, &request->exchange);
    wmem_list_remove(topic->link->lgr->pending, request);
}

/* A client's DELETE LINK and its two ways to ask for a link have no response: the server begins
 * the exchange itself. */
static void
answer_client(const smcr_arrival_t *arrival, const smcr_topic_t *topic)
{
    const smcr_lgr_t *lgr = topic->link->lgr;
    request_t *asked = NULL;

    if (lgr->server != topic->side)
        return;
    if (topic->type == SMCR_LLC_DELETE_LINK)
        asked = find(lgr, topic, SMCR_LLC_DELETE_LINK, !topic->side);
    if (topic->type == SMCR_LLC_ADD_LINK) {
        asked = find(lgr, topic, SMCR_LLC_ADD_LINK, !topic->side);
        if (!asked)
            asked = find(lgr, topic, SMCR_LLC_REQ_ADD_LINK, !topic->side);
    }
    if (asked)
        answer(arrival, topic, asked);
}

/*
 * A client's wish that crosses with the server's request for the very same thing: the request is
 * the answer, though it came before (3.5.5.3.1, 3.5.5.3.2).
 */
static bool
crosses_server(const smcr_arrival_t *arrival, const smcr_topic_t *topic)
{
    const smcr_lgr_t *lgr = topic->link->lgr;
    bool wants_link = topic->type == SMCR_LLC_ADD_LINK || topic->type == SMCR_LLC_REQ_ADD_LINK;

    if (lgr->server != !topic->side || (!wants_link && topic->type != SMCR_LLC_DELETE_LINK))
        return false;
    const request_t *open =
        find(lgr, topic, wants_link ? SMCR_LLC_ADD_LINK : SMCR_LLC_DELETE_LINK, lgr->server);
    if (!open)
        return false;
    smcr_event_add(arrival, SMCR_EVENT_COLLISION,
                   "The client's message crosses with frame %u, in which the server does what it "
                   "asks for",
                   open->exchange.request_frame);
    return true;
}

static bool
changes_links(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK;
}

static bool
changes_rkeys(uint8_t type)
{
    return type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_DELETE_RKEY;
}

/* RKeys must not change while links do, nor the other way round (3.5.5.3). */
static void
note_collision(const smcr_arrival_t *arrival, const smcr_topic_t *topic)
{
    const smcr_lgr_t *lgr = topic->link->lgr;

    for (wmem_list_frame_t *at = wmem_list_head(lgr->pending); at;
         at = wmem_list_frame_next(at)) {
        const request_t *open = wmem_list_frame_data(at);
        bool collide = (changes_links(topic->type) && changes_rkeys(open->type)) ||
                       (changes_rkeys(topic->type) && changes_links(open->type));
        bool given_up = arrival->when.time > open->exchange.request_time + FIRST_WAIT * SECOND;
        if (!collide || given_up || open->requester == topic->side)
            continue;
        smcr_event_add(arrival, SMCR_EVENT_COLLISION,
                       "The request crosses with that of frame %u, which has no response yet",
                       open->exchange.request_frame);
        return;
    }
}

void
smcr_exchange_request(const smcr_arrival_t *arrival, const smcr_topic_t *topic)
{
    wmem_list_t *pending = topic->link->lgr->pending;

    if (crosses_server(arrival, topic))
        return;
    answer_client(arrival, topic);
    note_collision(arrival, topic);

    request_t *request = smcr_state_alloc0(arrival->state, sizeof *request);
    *request = (request_t){
        .exchange = {.request_frame = arrival->when.frame, .request_time = arrival->when.time},
        .type = topic->type,
        .requester = (int8_t)topic->side,
        .link = topic->link,
        .key = topic->key,
    };
    arrival->record->asks = &request->exchange;
    wmem_list_append(pending, request);
    if (wmem_list_count(pending) > PENDING_MAX)
        wmem_list_remove_frame(pending, wmem_list_head(pending));
}

static void
note_late(const smcr_arrival_t *arrival, const request_t *request)
{
    bool first = request->type == SMCR_LLC_CONFIRM_LINK || request->type == SMCR_LLC_ADD_LINK;
    const smcr_exchange_t *exchange = &request->exchange;
    uint64_t limit = first ? FIRST_WAIT : WAIT;

    if (exchange->response_time > exchange->request_time + limit * SECOND)
        smcr_event_add(arrival, SMCR_EVENT_LATE_RESPONSE,
                       "The response comes later than the %u seconds that Linux waits",
                       (unsigned)limit);
}

void
smcr_exchange_response(const smcr_arrival_t *arrival, const smcr_topic_t *topic)
{
    const smcr_lgr_t *lgr = topic->link->lgr;
    request_t *request = find(lgr, topic, topic->type, !topic->side);

    if (!request) {
        if (lgr->from_start)
            smcr_event_add(arrival, SMCR_EVENT_NO_REQUEST, NULL);
        return;
    }
    if (request->key != topic->key)
        smcr_event_add(arrival, SMCR_EVENT_NOT_ECHOED, NULL);
    answer(arrival, topic, request);
    note_late(arrival, request);
}
