/* cdc_rules.c
 * What CDC messages may say: sequence numbers, cursors, and nothing after the end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_rules.h"

#include "certain.h"
#include "wire/wire.h"

/* A message of a connection, with what its sender has said before. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_conn_t *conn;
    const smcr_conn_side_t *sender, *receiver;
    const smcr_cdc_t *cdc;
    int16_t step;          /* of the sequence number */
    bool replayed;         /* the connection has moved since: messages may come again (4.6.2) */
    smcr_doubt_t follows;  /* whether this is the sender's next message on the same link */
} said_t;

/* ---- sequence numbers ---- */

/* They begin at 1. Any link of the group may carry the first message. (R-4.3-1) */
static void
check_first(const said_t *said)
{
    smcr_lgr_t *lgr = said->conn->lgr;

    if (said->cdc->seq == 1 || !said->receiver->since.qp || !said->receiver->announced.qp)
        return;
    smcr_breach(said->arrival, SMCR_EVENT_SEQ_FIRST, smcr_doubt_group(said->arrival, lgr),
                "The first CDC message of its sender has sequence number %u", said->cdc->seq);
}

/* They grow by one. Where requests are absent, those may be the messages in between. (R-4.3-2) */
static void
check_step(const said_t *said)
{
    unsigned before = said->sender->cdc_seq, now = said->cdc->seq;

    if (said->step <= 0 && !said->replayed)
        smcr_event_add(said->arrival, SMCR_EVENT_SEQ_BACKWARDS,
                       "Sequence number %u follows %u, which frame %u had", now, before,
                       said->sender->cdc_frame);
    else if (said->step > 1 && said->follows.kind)
        smcr_event_add(said->arrival, SMCR_EVENT_SEQ_GAP,
                       "Sequence number %u follows %u: CDC messages before this one are missing",
                       now, before);
    else if (said->step > 1)
        smcr_breach(said->arrival, SMCR_EVENT_SEQ_SKIPPED, said->follows,
                    "Sequence number %u follows %u, though no packet is missing", now, before);
}

/* ---- cursors ---- */

/* A cursor of the message, and that of the message before. */
typedef struct {
    const char *name;
    const smcr_stream_t *stream; /* that it moves in */
    uint32_t size;               /* of the element, bytes; 0: not known */
    uint32_t base;               /* offset of its first byte of data */
    smcr_cursor_t before, now;
} cursor_t;

/* A cursor is within its element, behind an eyecatcher. One that has not moved may be 0.
 * (R-A.4-5, R-4.3-3) */
static void
check_range(const said_t *said, const cursor_t *cursor)
{
    bool moved = cursor->now.wrap || cursor->now.count;

    if (!moved || !cursor->size || (cursor->now.count >= cursor->base &&
                                    cursor->now.count < cursor->size))
        return;
    smcr_breach(said->arrival, SMCR_EVENT_CURSOR_RANGE, said->follows,
                "The %s cursor is %u, but the data of the RMB element lie from %u to %u",
                cursor->name, cursor->now.count, cursor->base, cursor->size - 1);
}

/* The wrap count grows by one when the cursor wraps, and only then: a message moves the cursor by
 * one round at most. (R-A.4-7) */
static void
check_wrap(const said_t *said, const cursor_t *cursor)
{
    int16_t wraps = (int16_t)(uint16_t)(cursor->now.wrap - cursor->before.wrap);

    if (wraps <= 0 || (wraps == 1 && cursor->now.count <= cursor->before.count))
        return;
    smcr_breach(said->arrival, SMCR_EVENT_CURSOR_WRAP, said->follows,
                "The %s cursor goes from %u:%u to %u:%u, more than one round", cursor->name,
                cursor->before.wrap, cursor->before.count, cursor->now.wrap, cursor->now.count);
}

/* No cursor goes back behind that of the message before, whatever the size of its element.
 * (R-A.4-9) */
static void
check_back(const said_t *said, const cursor_t *cursor)
{
    int16_t wraps = (int16_t)(uint16_t)(cursor->now.wrap - cursor->before.wrap);

    if (wraps < 0 || (wraps == 0 && cursor->now.count < cursor->before.count))
        smcr_breach(said->arrival, SMCR_EVENT_CURSOR_BACKWARDS, smcr_doubt_message(said->arrival),
                    "The %s cursor is behind that of the message before", cursor->name);
}

static void
check_cursor(const said_t *said, const cursor_t *cursor)
{
    check_range(said, cursor);
    if (!said->sender->cdc_frame || said->replayed)
        return;
    check_back(said, cursor);
    if (said->step == 1)
        check_wrap(said, cursor);
}

static uint32_t
base_of(const smcr_conn_t *conn, int side)
{
    return conn->lgr->base_known[side] ? conn->lgr->base[side] : 0;
}

static void
check_cursors(const said_t *said)
{
    int receiver = said->arrival->qp->side;
    const smcr_conn_t *conn = said->conn;

    check_cursor(said, &(cursor_t){"producer", &said->receiver->in, said->receiver->size,
                                   base_of(conn, receiver), said->sender->prod, said->cdc->prod});
    check_cursor(said, &(cursor_t){"consumer", &said->sender->in, said->sender->size,
                                   base_of(conn, !receiver), said->sender->cons, said->cdc->cons});
}

/* ---- nothing after the end ---- */

/* After sending done a side writes no more data, so it announces none. (R-4.8.1-1) */
static void
check_done(const said_t *said)
{
    const smcr_stream_t *in = &said->receiver->in;
    uint32_t done = said->sender->sending_done_frame;

    if (done && in->known && smcr_ring_distance(&in->ring, said->sender->prod, said->cdc->prod) > 0)
        smcr_breach(said->arrival, SMCR_EVENT_AFTER_DONE, said->follows,
                    "The message announces data, but its sender said in frame %u that it will "
                    "write no more",
                    done);
}

/* After connection closed a side sends nothing more but an abort; after that, nothing at all.
 * (R-4.8.1-2, R-4.8.2-3) */
static void
check_end(const said_t *said)
{
    const smcr_conn_side_t *sender = said->sender;
    bool aborts = (said->cdc->state & SMCR_CDC_STATE_ABORT) != 0;

    if (sender->abort_frame)
        smcr_breach(said->arrival, SMCR_EVENT_AFTER_ABORT, said->follows,
                    "The sender aborted the connection in frame %u", sender->abort_frame);
    else if (sender->closed_frame && !aborts)
        smcr_breach(said->arrival, SMCR_EVENT_AFTER_CLOSE, said->follows,
                    "The sender said in frame %u that it is done with the connection",
                    sender->closed_frame);
    else
        check_done(said);
}

/* ---- all messages ---- */

void
smcr_rules_cdc(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_conn_side_t *receiver = &conn->side[arrival->qp->side];
    bool first = !sender->cdc_frame;
    const smcr_point_t *before = first ? &receiver->since : &receiver->heard;
    smcr_point_t other_link = {0};
    said_t said = {
        .arrival = arrival,
        .conn = conn,
        .sender = sender,
        .receiver = receiver,
        .cdc = cdc,
        .step = (int16_t)(uint16_t)(cdc->seq - sender->cdc_seq),
        .replayed = sender->moved_frame > sender->cdc_frame,
        .follows = smcr_doubt_since(arrival, before->qp == arrival->qp ? before : &other_link),
    };

    check_cursors(&said);
    if (first) {
        check_first(&said);
        return;
    }
    if (said.step != 1)
        check_step(&said);
    if (said.step > 0 && !sender->moved_frame) /* else it may come again */
        check_end(&said);
}
