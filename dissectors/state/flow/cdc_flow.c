/* What CDC messages change: the connection that a message names, its cursors, its requests for a
 * cursor update, and its end (RFC 7609 4.5 to 4.8, A.4).
 *
 * A message passes four steps. First, its connection is found (cdc_conn.h). Second, the connection
 * is placed on the link that carries the message. Third, the message is taken in: its cursors,
 * flags and state. Fourth, the user gets events. The checks of state/rules/ run in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_flow.h"
#include "cdc_element.h"
#include "exchange.h"
#include "told_flow.h"
#include "state/flow/writes/writes.h"
#include "state/model/store.h"
#include "state/rules/rules.h"

/* ---- the changes that a CDC message makes ---- */

/* Adds the event that the connection has moved from the link `from` to the link of the packet.
 * `validated`: the message is a failover validation. */
static void
report_moved(const smcr_arrival_t *arrival, const smcr_link_t *from, bool validated)
{
    const smcr_link_t *to = arrival->qp->link;
    const char *without = validated ? "" : ", without failover validation";

    if (from->has_number && to->has_number)
        smcr_event_add(arrival, SMCR_EVENT_conn_moved,
                       "The connection moves from link %u to link %u%s", from->number, to->number,
                       without);
    else
        smcr_event_add(arrival, SMCR_EVENT_conn_moved, "The connection moves to another link%s",
                       without);
}

/* Moves this direction of the connection to the link that carries the message (RFC 7609 4.6.1).
 *
 * Before a sender writes on another link, it sends a failover validation there. The validation
 * repeats the sequence number of the sender's last message that was acknowledged on the old link.
 * So the sequence number shows whether a message on the old link is missing in the capture:
 *
 * - A validation must have the number of the last captured message, not a higher one.
 * - Any other message must have the next number, not a higher one. */
static void
move_to_link(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
             bool validated)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[!qp->side];
    smcr_flow_t *left = &side->link->qp[qp->side].traffic.flow;
    bool lacks = smcr_conn_side_seq_step(side, cdc->seq) > !validated;

    side->last_cdc_missing = validated && lacks;
    if (lacks)
        smcr_ranges_append(&left->filled_gaps, arrival->state->scope, SMCR_FLOW_LACKED_KEPT,
                           (smcr_range_t){left->highest + 1, left->highest + 2,
                                          side->last_cdc_frame, arrival->when.frame});
    report_moved(arrival, side->link, validated);
    conn->side[qp->side].last_cdc_received = *smcr_evidence_last_to(&conn->side[qp->side]);
    side->moved_frame = arrival->when.frame;
    side->moved_time = arrival->when.time;
    conn->side[qp->side].in.may_rewrite = true;
}

/* Places the sender of the message on the link that carries the message. Before its first message,
 * a sender may choose any link of the group. Later, another link is a move. */
static void
place_on_link(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    bool validated = (cdc->flags & SMCR_CDC_FLAG_FAILOVER) != 0;
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[!qp->side];
    bool has_sent = side->last_cdc_frame || validated;

    if (side->link && side->link != qp->link && has_sent)
        move_to_link(arrival, conn, cdc, validated);
    side->link = qp->link;
    smcr_conn_confirm_use(conn, arrival->qp, arrival->psn);
    smcr_orphan_confirm_owner(arrival, conn, cdc->prod);
}

/* If the message has the state flag `bit`, and `*frame` is not set yet, sets `*frame` to this frame
 * and adds the event. */
static void
take_in_state_bit(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, uint8_t bit,
                  uint32_t *frame, smcr_event_id_t event)
{
    if (!(cdc->state & bit) || *frame)
        return;
    *frame = arrival->when.frame;
    smcr_event_add(arrival, event, NULL);
}

/* If the message is the first abort of the side, notes the abort and adds the event. The event of a
 * connection's first abort reports the lost bytes. The other side commonly answers with an abort,
 * whose event reports none. */
static void
take_in_abort(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_conn_side_t *side,
              const smcr_cdc_t *cdc)
{
    bool is_answer = conn->side[0].abort_frame || conn->side[1].abort_frame;
    smcr_cost_t cost = {0};

    if (!(cdc->state & SMCR_CDC_STATE_ABORT) || side->abort_frame)
        return;
    if (!is_answer)
        cost = smcr_cost_of_conn(conn);
    side->abort_frame = arrival->when.frame;
    smcr_cost_report(arrival, SMCR_EVENT_conn_aborted, "Abnormal close", &cost);
}

/* Takes in the connection state flags of a message that `side` has sent (RFC 7609 4.8, A.4). Each
 * flag counts when it comes for the first time. If the message closes the side, the side keeps a
 * pointer to the message's acknowledgement. If the message ends the side's stream, its analysis
 * says so. */
static void
take_in_state(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_conn_side_t *side,
              const smcr_cdc_t *cdc)
{
    bool had_ended = smcr_conn_side_has_ended(side);
    bool had_closed = smcr_conn_side_has_closed(side);

    take_in_state_bit(arrival, cdc, SMCR_CDC_STATE_SENDING_DONE, &side->sending_done_frame,
                      SMCR_EVENT_conn_sending_done);
    take_in_state_bit(arrival, cdc, SMCR_CDC_STATE_CLOSED, &side->closed_frame,
                      SMCR_EVENT_conn_closed);
    take_in_abort(arrival, conn, side, cdc);
    smcr_record_cdc_t *analysis = arrival->record->cdc_analysis;
    if (!analysis)
        return;
    if (smcr_conn_side_has_closed(side) && !had_closed)
        side->close_acked = &analysis->acked;
    if (!analysis->is_deferred)
        analysis->ends_stream = smcr_conn_side_has_ended(side) && !had_ended;
}

/* Whether the message asks for a consumer cursor update, and no missing message of the sender may
 * have asked for it before. Three conditions: 1. the flag is set; 2. `may_have_asked` of the sender
 * is false; 3. the peer has not reported yet that it has read up to the sender's producer
 * cursor. */
static bool
asks_for_update(const smcr_conn_side_t *sender, const smcr_conn_side_t *peer,
                const smcr_cdc_t *cdc)
{
    bool asks = (cdc->flags & SMCR_CDC_FLAG_UPDATE) != 0;

    return asks && !sender->may_have_asked && !smcr_conn_side_has_read_to(peer, sender->prod);
}

/* Closes the peer's open request for a consumer cursor update, if there is one. `answers`: the
 * message of `arrival` certainly answers the request. */
static void
close_request(const smcr_arrival_t *arrival, smcr_conn_side_t *peer, bool answers)
{
    const smcr_slab_t *entries = &arrival->state->entries;

    if (peer->cursor_update_request && answers)
        smcr_state_exchange_close(arrival, smcr_slab_entry(entries, peer->cursor_update_request));
    peer->cursor_update_request = 0;
    peer->may_have_asked = false;
}

/* Closes the peer's open request for a consumer cursor update, and opens a request of the sender,
 * if the message asks for an update (RFC 7609 4.5.1). Every CDC message has a consumer cursor, so
 * the next message of a side answers the request of the other side.
 *
 * `follows`: the capture has the sender's message before this one. If not, a missing message may be
 * the answer, so the peer's request is closed without a response. The missing message may also have
 * asked for an update, so the sender opens no request up to the peer's next message. If the capture
 * is out of order, it is not known which message is the next one, so no request is opened or
 * answered. */
static void
take_in_update(const smcr_arrival_t *arrival, smcr_conn_side_t *sender, smcr_conn_side_t *peer,
               const smcr_cdc_t *cdc, bool follows)
{
    const smcr_slab_t *entries = &arrival->state->entries;
    bool disordered = arrival->state->is_out_of_order;

    close_request(arrival, peer, follows && !disordered);
    sender->may_have_asked |= !follows && !sender->cursor_update_request;
    if (disordered || !asks_for_update(sender, peer, cdc))
        return;
    if (!sender->cursor_update_request)
        sender->cursor_update_request = smcr_slab_number(smcr_state_exchange_open(arrival));
    arrival->record->begins_exchange = smcr_slab_entry(entries, sender->cursor_update_request);
}

/* ---- cursors ---- */

/* The two streams of a connection, as the sender of a CDC message sees them. */
typedef struct {
    smcr_stream_t *out; /* stream that the sender writes; NULL: not known, or the producer cursor
                           gives no position */
    smcr_stream_t *in;  /* stream that the sender reads; NULL: not known, or the consumer cursor
                           gives no position */
    smcr_cursor_t read; /* set with `in`: consumer cursor of the sender's last message, or, before
                           its first message, the cursor of `in`, which a host may have reported */
} streams_t;

/* A CDC message whose producer cursor gives a position in the stream that its sender writes. */
typedef struct {
    const smcr_cdc_t *cdc;         /* the message */
    smcr_conn_t *conn;             /* connection of the message */
    streams_t streams;             /* the two streams; `out` is not NULL */
    smcr_evidence_cursors_t known; /* facts about the two cursors that the capture proves */
    int64_t len;                   /* bytes that the message announces; negative: its producer
                                      cursor goes back */
} counted_t;

/* The two streams of the connection; NULL for a stream whose positions are not known. */
static streams_t
streams_of(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    int receiver = arrival->qp->side;
    streams_t streams = {0};

    /* The order matters: each call may learn at which offset data begins in the elements of the
     * group. */
    streams.out = smcr_write_stream(conn, receiver, cdc->prod.count);
    streams.in = smcr_write_stream(conn, !receiver, cdc->cons.count);
    return streams;
}

/* Whether the cursor may give a position in its stream: it is a possible one, and data in the
 * element certainly belong to the connection. `is_missing`: the message has no such cursor. */
static bool
is_usable(const smcr_evidence_cursor_t *cursor, bool is_missing)
{
    return cursor->accepted && cursor->owned && !is_missing;
}

/* Sets `out` to NULL if the producer cursor is not usable, or gives no position. */
static void
drop_doubtful_out(streams_t *streams, const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known)
{
    bool is_kept = streams->out && is_usable(&known->prod, cdc->lacks_prod) &&
                   smcr_stream_can_announce(streams->out, cdc->prod);

    if (!is_kept)
        streams->out = NULL;
}

/* Whether the consumer cursor gives a position in the stream `in`. If the size of the element is
 * not known, only a cursor in the round of the stream's last consumer cursor does. */
static bool
gives_position(const smcr_stream_t *in, const smcr_cdc_t *cdc,
               const smcr_evidence_cursors_t *known)
{
    if (!is_usable(&known->cons, cdc->lacks_cons))
        return false;
    return smcr_ring_room(&in->ring) || cdc->cons.wrap == in->cons.wrap;
}

/* Sets `in` to NULL if the consumer cursor is not usable, or gives no position. If the stream
 * became known only after earlier messages of its reader, the consumer cursor of the reader's last
 * message is taken in first. */
static void
drop_doubtful_in(streams_t *streams, const smcr_conn_side_t *sender, const smcr_cdc_t *cdc,
                 const smcr_evidence_cursors_t *known)
{
    if (!streams->in)
        return;
    if (!gives_position(streams->in, cdc, known)) {
        streams->in = NULL;
        return;
    }
    if (sender->last_cdc_frame)
        smcr_stream_consume(streams->in, sender->cons);
    streams->read = sender->last_cdc_frame ? sender->cons : streams->in->cons;
}

/* Returns the analysis of the message, which the caller fills in. For a message that came after a
 * PSN gap, an empty analysis was made when it came; for any other message the analysis is made
 * now. */
static smcr_record_cdc_t *
new_view(const smcr_arrival_t *arrival)
{
    smcr_record_t *record = arrival->record;

    if (!record->cdc_analysis)
        record->cdc_analysis = smcr_state_alloc0(arrival->state, sizeof *record->cdc_analysis);
    record->cdc_analysis->is_late = record->cdc_analysis->is_deferred;
    record->cdc_analysis->is_deferred = false;
    return record->cdc_analysis;
}

/* Notes the WRITE packets that are certainly missing before the message, which announces more bytes
 * than captured ones have. `written`: bytes of the captured WRITEs that the message announces. */
static void
take_missing_writes(const smcr_arrival_t *arrival, const counted_t *counted, uint64_t written)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    bool is_first = view->has_announced_bytes && !counted->streams.out->may_rewrite;

    if (is_first && counted->known.placed && view->announced_bytes > written &&
        smcr_doubt_is_in_time(arrival))
        smcr_evidence_take_missing(arrival, counted->conn, 0, view->announced_bytes - written);
}

/* Makes the analysis of the message, after the stream has moved to the producer cursor. Fills in
 * how many bytes the message announces, and how many it reports as read. */
static void
begin_view(const smcr_arrival_t *arrival, const counted_t *counted)
{
    smcr_record_cdc_t *view = new_view(arrival);
    const smcr_stream_t *in = counted->streams.in;
    const smcr_evidence_cursors_t *known = &counted->known;
    int64_t len = counted->len;
    int64_t read =
        in ? smcr_ring_distance(&in->ring, counted->streams.read, counted->cdc->cons) : 0;

    if (arrival->roce)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn, &view->acked);
    view->has_announced_bytes = known->follows;
    view->has_read_bytes = known->follows && (in || known->same);
    view->has_unread_bytes = known->current;
    view->announced_bytes = len > 0 ? (uint32_t)len : 0;
    view->read_bytes = read > 0 ? (uint32_t)read : 0;
    uint64_t written =
        smcr_window_announced(arrival, counted->streams.out, counted->cdc->flags, known);
    take_missing_writes(arrival, counted, written);
}

/* Number of free bytes in the element of the message's sender, into which the peer writes;
 * SMCR_RECORD_NOT_KNOWN: not known. */
static uint32_t
offered_space(const smcr_record_cdc_t *view, const smcr_stream_t *in)
{
    if (!view->has_unread_bytes || !view->has_consumed || !smcr_ring_room(&in->ring))
        return SMCR_RECORD_NOT_KNOWN;
    return (uint32_t)smcr_stream_free(in);
}

/* Completes the analysis of the message with the positions of both streams. If a sender that has
 * moved to another link retransmits an old message, the cursors of the message are before the known
 * cursors. Then the positions of the streams are not those of the message, and `has_announced` or
 * `has_consumed` is false. */
static void
complete_view(const streams_t *streams, const smcr_cdc_t *cdc, smcr_record_cdc_t *view)
{
    const smcr_stream_t *out = streams->out, *in = streams->in;

    view->has_announced = !out->announced || smcr_ring_cursors_are_same(out->prod, cdc->prod);
    view->has_consumed = in && (!in->consumed || smcr_ring_cursors_are_same(in->cons, cdc->cons));
    view->has_unread_bytes &= out->consumed <= out->announced;
    view->own_free_bytes = offered_space(view, in);
    view->has_unread_bytes &= view->has_announced;
    view->announced = out->announced;
    view->consumed = in ? in->consumed : 0;
    view->unread_bytes = (uint32_t)smcr_stream_unread(out);
    view->size = smcr_ring_room(&out->ring);
    view->urgent = cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT && out->announced > 0;
}

/* Sets the position at which the next WRITE begins (`positioned_end`) to the producer cursor of the
 * message, as far as missing packets explain the step: bytes before the cursor that no captured
 * WRITE has count as written, up to the number of bytes that the missing packets can have
 * carried. */
static void
locate_cursor(const smcr_arrival_t *arrival, smcr_conn_side_t *reader)
{
    uint64_t unseen =
        smcr_evidence_unseen_bytes(&reader->last_positioned_write, arrival->qp, arrival->psn);
    smcr_stream_t *stream = &reader->in;

    if (!stream->may_rewrite)
        stream->positioned_end += MIN(stream->announced - stream->positioned_end, unseen);
    stream->last_write_start = stream->announced;
    reader->last_positioned_write = smcr_point_at(arrival->qp, arrival->psn);
}

/* Gives WRITEs a position by the producer cursor, before the message is analysed: WRITEs without a
 * position that come right before the message end at the cursor. */
static void
take_in_announced(const smcr_arrival_t *arrival, const counted_t *counted)
{
    smcr_conn_t *conn = counted->conn;
    smcr_stream_t *out = counted->streams.out;

    if (counted->len > 0) {
        smcr_orphan_position_headless(arrival, conn, out, out->announced);
        smcr_write_position_before_cursor(arrival, conn, out);
    }
    if (counted->len >= 0 && out->positioned_end <= out->announced)
        locate_cursor(arrival, &conn->side[arrival->qp->side]);
    begin_view(arrival, counted);
}

/* Whether it is known how many bytes the message announces, and how many announced bytes its
 * receiver has not read. `view`: NULL gives false. */
static bool
knows_meaning(const smcr_record_cdc_t *view)
{
    return view && view->has_announced_bytes && view->has_unread_bytes;
}

/* Whether only the consumer cursor of the message is new: the message announces no bytes, answers
 * no request, and has the same flags and state as the sender's last message. */
static bool
is_mere_update(const smcr_record_t *record, const smcr_conn_side_t *sender, const smcr_cdc_t *cdc)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (cdc->is_step_full || !knows_meaning(view))
        return false; /* it is not known what the message announces, or whether its step reports all
                         that was read */
    return view->announced_bytes == 0 && !record->ends_exchange &&
           cdc->flags == sender->cdc_flags && cdc->state == sender->cdc_state;
}

/* Read position and free space of the stream `in` before the message; all zeros if `in` is NULL. */
static smcr_window_reading_t
reading_before(const smcr_stream_t *in)
{
    if (!in)
        return (smcr_window_reading_t){0};
    return (smcr_window_reading_t){.consumed_before = in->consumed,
                                   .free_before = smcr_stream_free(in)};
}

/* Makes the analysis of a message whose producer cursor is possible, and gives no position. The
 * consumer cursor does, if the size of the element is known: what the message reports as read is
 * known. */
static void
view_reading(const smcr_arrival_t *arrival, const streams_t *streams, const smcr_cdc_t *cdc,
             const smcr_evidence_cursors_t *known)
{
    const smcr_stream_t *in = streams->in;

    if (!in || !smcr_ring_room(&in->ring))
        return;
    smcr_record_cdc_t *view = new_view(arrival);
    int64_t bytes = smcr_ring_distance(&in->ring, streams->read, cdc->cons);
    if (arrival->roce)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn, &view->acked);
    view->has_read_bytes = known->follows;
    view->read_bytes = bytes > 0 ? (uint32_t)bytes : 0;
    view->has_consumed = !in->consumed || smcr_ring_cursors_are_same(in->cons, cdc->cons);
    view->consumed = in->consumed;
    view->own_free_bytes = SMCR_RECORD_NOT_KNOWN;
}

/* The message announces WRITEs whose positions in the stream are not known. For each of them, notes
 * the producer cursor and how many bytes before the cursor the WRITE begins. If a host reports the
 * cursors later, the WRITEs get positions. */
static void
announce_unpositioned(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                      const smcr_cdc_t *cdc, const smcr_evidence_cursors_t *known)
{
    if (is_usable(&known->prod, cdc->lacks_prod))
        smcr_write_note_announcement(arrival, conn, cdc->prod);
}

/* Moves the two streams by the cursors of the message, and analyses the message. The order matters:
 *
 * 1. The free space is noted, then both streams move.
 * 2. Rules compare the cursors with the streams.
 * 3. Announced bytes get positions; waits of the writer end or begin.
 * 4. Read bytes free space; waits of the reader end or begin.
 * 5. The analysis gets the positions of both streams after all this. */
static void
take_in_cursors(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                streams_t streams, smcr_evidence_cursors_t known)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    smcr_stream_t *out = streams.out, *in = streams.in;
    smcr_window_reading_t reading = reading_before(in);
    int64_t len = out ? smcr_stream_announce(out, cdc->prod) : 0;
    int64_t read = in ? smcr_stream_consume(in, cdc->cons) : 0;

    reading.writer_is_complete = known.current;
    smcr_rules_check_cdc(SMCR_RULES_COUNTED, arrival, conn, cdc, &known);
    if (out)
        take_in_announced(arrival, &(counted_t){cdc, conn, streams, known, len});
    else
        announce_unpositioned(arrival, conn, cdc, &known);
    if (!out && known.prod.accepted)
        view_reading(arrival, &streams, cdc, &known);
    reading.is_mere_update = is_mere_update(arrival->record, sender, cdc);
    if (read > 0)
        smcr_window_consumed(arrival, in, &reading);
    if (out)
        complete_view(&streams, cdc, arrival->record->cdc_analysis);
}

/* ---- the message ---- */

/* Keeps the producer cursor of the message as a mark (`mark_prod`), if the last mark is at least
 * SMCR_TIME_DISORDER older. Two marks are kept. Cursors that a host reports over netlink are
 * compared with the marks (told_judge.c): the report has to include a message that came well before
 * the report. */
static void
mark_producer_cursor(smcr_conn_side_t *side, smcr_cursor_t prod)
{
    if (side->last_cdc_time < side->mark_time[0] + SMCR_TIME_DISORDER)
        return;
    side->mark_time[1] = side->mark_time[0];
    side->mark_prod[1] = side->mark_prod[0];
    side->mark_time[0] = side->last_cdc_time;
    side->mark_prod[0] = prod;
}

/* Whether the cursors of the message cannot be checked (`unverified`). Two conditions: 1. messages
 * of the sender right before it may be missing; 2. CLC has not announced the sender's element, or
 * this is the sender's first captured message. */
static bool
is_unverified(const smcr_conn_side_t *side, const smcr_evidence_cursors_t *known)
{
    return !known->follows &&
           (!side->announced_at.qp || side->first_cdc_frame == side->last_cdc_frame);
}

/* Keeps the sequence number and the cursors of the message. An impossible cursor does not replace
 * the sender's last possible cursor in `prod` or `cons`. If a cursor is impossible, both cursors of
 * the message are also kept in `raw_prod` and `raw_cons`, for comparison with the next message. */
static void
take_in_numbers(const smcr_arrival_t *arrival, smcr_conn_side_t *side, const smcr_cdc_t *cdc,
                const smcr_evidence_cursors_t *known)
{
    bool has_moved_on = side->first_cdc_frame &&
                        !smcr_ring_cursors_are_same(side->prod, cdc->prod);

    if (!side->first_cdc_frame)
        side->first_cdc_frame = arrival->when.frame;
    side->has_announced |= has_moved_on;
    side->last_cdc_frame = arrival->when.frame;
    side->last_cdc_time = arrival->when.time;
    side->cdc_seq_expected = known->seq;
    side->cdc_seq_actual = cdc->seq;
    side->last_cdc_missing = false;
    side->wrote_after_end = false;
    side->unverified = is_unverified(side, known);
    if (known->prod.accepted) {
        side->prod = cdc->prod;
        mark_producer_cursor(side, cdc->prod);
    }
    if (known->cons.accepted)
        side->cons = cdc->cons;
    if (known->prod.accepted && known->cons.accepted)
        return;
    side->invalid_cursor_frame = arrival->when.frame;
    side->raw_prod = cdc->prod;
    side->raw_cons = cdc->cons;
}

/* Settles a consumer cursor of `reader`, the receiver of the arriving message, that seemed
 * impossible: it was after all data that the captured messages had announced. If messages are
 * missing before the arriving one, and this one announces the data (`out`), a missing message had
 * announced them before, and the cursor was right. */
static void
settle_cursor(smcr_conn_side_t *reader, smcr_stream_t *out, const smcr_evidence_cursors_t *known)
{
    if (!smcr_conn_side_has_invalid_cursor(reader) || known->follows || !out)
        return;
    int64_t read = smcr_ring_distance(&out->ring, out->cons, reader->raw_cons);
    bool is_right = smcr_ring_cursors_are_same(reader->prod, reader->raw_prod) && read >= 0 &&
                    out->consumed + (uint64_t)read <= out->announced;
    if (!is_right)
        return;
    smcr_stream_consume(out, reader->raw_cons);
    reader->cons = reader->raw_cons;
    reader->invalid_cursor_frame = 0;
}

/* Whether the message, whose token is not known, certainly begins its connection: it has number 1,
 * and its data are in an announced RMB that no other connection uses. Then only the CLC message
 * with the token is missing. */
static bool
begins_conn(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *receiver = &conn->side[arrival->qp->side];
    bool is_announced = receiver->rmb && !receiver->rmb->address_guessed;

    return cdc->seq == 1 && is_announced && !receiver->element_shared;
}

/* Takes in a message that is no failover validation. `after_move`: the sender sent the message on
 * this link before it moved to another link, but the capture has the move first. */
static void
take_in_cursors_and_state(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                bool after_move)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *sender = &conn->side[!qp->side];
    smcr_conn_side_t *receiver = &conn->side[qp->side];
    streams_t streams = streams_of(arrival, conn, cdc);
    smcr_evidence_cursors_t known = smcr_evidence_of_cursors(arrival, conn, cdc);

    smcr_rules_check_cdc(SMCR_RULES_PLACED, arrival, conn, cdc, &known);
    drop_doubtful_out(&streams, cdc, &known);
    drop_doubtful_in(&streams, sender, cdc, &known);
    take_in_numbers(arrival, sender, cdc, &known);
    take_in_update(arrival, sender, receiver, cdc, known.follows);
    take_in_cursors(arrival, conn, cdc, streams, known);
    settle_cursor(receiver, streams.out, &known);
    if (known.seq_step > 1 && smcr_doubt_is_in_time(arrival))
        smcr_evidence_take_missing(arrival, conn, (uint64_t)known.seq_step - 1, 0);
    receiver->in.may_rewrite |= after_move;
    if (after_move) /* a move counts if its frame is higher than that of the last message
                       (smcr_conn_side_has_moved()) */
        sender->moved_frame = arrival->when.frame + 1;
    receiver->last_cdc_received = smcr_point_at(arrival->qp, arrival->psn);
    sender->cdc_flags = cdc->flags;
    sender->cdc_state = cdc->state;
    smcr_rules_check_cdc(SMCR_RULES_LEARNED, arrival, conn, cdc, &known);
    take_in_state(arrival, conn, sender, cdc);
    if (smcr_record_has_event(arrival->record, SMCR_EVENT_cdc_unknown_token) &&
        !begins_conn(arrival, conn, cdc))
        smcr_evidence_pass_over(arrival); /* the token may be wrong, and the message may be of
                                             another connection */
    if (arrival->state->sockets)
        smcr_state_report_compare(arrival, conn);
}

/* Whether the sender of the message has moved from the link of `qp` to another link. */
static bool
has_left_link(const smcr_conn_side_t *sender, const smcr_qp_t *qp)
{
    return sender->moved_frame && sender->link != qp->link;
}

/* If the sender has moved away from the link that carries the message, it sent the message before
 * the move. There are two cases:
 *
 * - The sequence number is lower than the last one: later messages have been taken in, so this one
 *   changes nothing.
 * - Otherwise, if the time of the message is before the move: the capture has packets of the two
 *   links in the wrong order. The message counts, but the connection does not move back. */
void
smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];
    bool validation = (cdc->flags & SMCR_CDC_FLAG_FAILOVER) != 0;
    bool on_left_link = !validation && has_left_link(sender, qp);

    if (on_left_link && smcr_conn_side_seq_step(sender, cdc->seq) < 0) {
        smcr_evidence_pass_over(arrival);
        return;
    }
    bool after_move = on_left_link && arrival->when.time < sender->moved_time;
    smcr_state_report_check(arrival, conn, cdc);
    if (arrival->roce && !cdc->is_immediate) {
        smcr_state_cdc_derive_rmb(arrival, conn, cdc);
        smcr_state_cdc_learn_size(arrival, conn, cdc);
    }
    smcr_rules_check_cdc(SMCR_RULES_ARRIVES, arrival, conn, cdc, NULL);
    if (!after_move)
        place_on_link(arrival, conn, cdc);
    if (!validation) /* a failover validation has only a valid sequence number (A.4) */
        take_in_cursors_and_state(arrival, conn, cdc, after_move);
}
