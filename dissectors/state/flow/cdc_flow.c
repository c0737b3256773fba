/* What CDC messages tell: which connection, and how it lives and ends (RFC 7609 4.5 to 4.8, A.4).
 * Judge the message: can it be the connection's that has its token? Place it: at its connection,
 * and on the link that it has come on. Take it in: its cursors, what it asks for, and what it ends.
 * Tell what is worth it. Rules are asked in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_flow.h"
#include "message_flow.h"
#include "orphan.h"
#include "window.h"
#include "write.h"

#define HALVES_MAX 256 /* late connections of a group that wait for their other direction */

/* ---- which connection ---- */

/* The other direction of a connection (NULL: that is new) of which the capture lacks CLC. Its two
 * directions have a token each, and nothing in CDC says that they belong together. But the sender's
 * consumer cursor repeats the other direction's producer cursor; where a single connection fits in
 * that, and the tokens differ as those that CLC has told, it is that one. In a late group they are
 * taken to be the same until CLC tells. Who has spoken before a connection's CLC is another one. */
static smcr_conn_t *
other_half(const smcr_lgr_t *lgr, const smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *found = NULL;

    if (lgr->lead_changes || cdc->cons.count == 0 || (lgr->from_start && !lgr->knows_lead))
        return NULL;
    SMCR_LIST_EACH(smcr_conn_t *, half, lgr->halves) {
        const smcr_conn_side_t *writer = &half->side[receiver];
        const smcr_conn_side_t *reader = &half->side[!receiver];
        if (writer->has_token || !reader->has_token ||
            !smcr_ring_cursors_are_same(writer->prod, cdc->cons) ||
            (conn && !smcr_conn_is_late(conn->index < half->index ? half : conn)))
            continue;
        if (found)
            return NULL;
        found = half;
    }
    uint32_t lead = found ? cdc->token - found->side[!receiver].token : 0;
    return lead == (receiver ? lgr->token_lead : -lgr->token_lead) ? found : NULL;
}

static void
keep_half(smcr_lgr_t *lgr, smcr_conn_t *conn)
{
    conn->is_half = true;
    lgr->lacks_halves |= smcr_list_keep(lgr->halves, conn, HALVES_MAX);
}

/* A connection of which one direction's token is known, with the other one where that shows. */
static smcr_conn_t *
with_other_half(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    int receiver = arrival->qp->side;
    smcr_conn_t *other = other_half(conn->lgr, conn, receiver, cdc);

    if (!conn->is_half)
        keep_half(conn->lgr, conn);
    if (!other)
        return conn;
    conn = smcr_join_directions(arrival->state, conn, other, receiver);
    for (int side = 0; side < 2; side++)
        smcr_conn_side_catch_up(&conn->side[side]);
    return conn;
}

static smcr_conn_t *
late_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    int receiver = arrival->qp->side;
    int side = receiver;
    smcr_socket_t *socket = smcr_state_told_socket(arrival, cdc, &side);
    smcr_conn_t *conn =
        socket ? smcr_state_told_conn(arrival, socket) : other_half(lgr, NULL, receiver, cdc);

    if (conn) {
        if (!socket)
            smcr_event_add(
                arrival, SMCR_EVENT_conn_late,
                "Token and cursors show that this is the other direction of connection %u",
                conn->index);
        wmem_list_remove(lgr->halves, conn);
    } else {
        conn = smcr_conn_new(arrival->state);
        smcr_conn_join(conn, lgr);
        keep_half(lgr, conn);
        smcr_event_add(arrival,
                       lgr->from_start ? SMCR_EVENT_cdc_unknown_token : SMCR_EVENT_conn_late, NULL);
    }
    smcr_conn_set_token(arrival->state, conn, receiver, cdc->token);
    smcr_conn_is_alive(conn, arrival->qp, arrival->psn);
    if (socket)
        smcr_state_told_name(arrival, socket, conn, side);
    return conn;
}

/* Where the WRITE right before the first CDC messages of a late connection lies in its stream. */
static void
place_first_write(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                  const smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[qp->side];

    if (cdc->prod.wrap != 0 || side->in.known || !smcr_write_has_base(conn, qp->side))
        return; /* how often it has wrapped before is not known for sure */
    uint32_t data = conn->lgr->base[qp->side];
    if (cdc->prod.count < write->length + data)
        return;
    write->late->placed = true;
    write->late->position = cdc->prod.count - write->length - data;
    smcr_stream_start_late(&side->in, cdc->prod.count, write->length, data);
    smcr_conn_side_catch_up(side);
    side->located = smcr_point_at(qp, arrival->psn);
}

/* The RMB of a late connection, from the WRITE right before its CDC message: the producer cursor is
 * where the write ended. RMBs begin at a page, and the cursor has moved since the message before,
 * which rules out a WRITE of another connection. The next one confirms it; or one of the two was
 * wrong, and what comes behind tells. */
static void
place_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    smcr_state_t *state = arrival->state;
    smcr_qp_t *qp = arrival->qp;
    const smcr_write_t *write = smcr_write_last(qp, 1);
    smcr_conn_side_t *side = &conn->side[qp->side];
    const smcr_conn_side_t *writer = &conn->side[!qp->side];
    bool moved = !writer->cdc_frame || !smcr_ring_cursors_are_same(writer->prod, cdc->prod);
    bool known = side->shares_element || (side->rmb && smcr_rmb_is_alive(side->rmb));

    bool again = known && side->rmb && side->rmb->guessed && write && write->rmb == side->rmb;
    if (!write || !moved || (!again && (known || write->rmb || !write->late)) ||
        write->first_psn + write->packets != arrival->psn || cdc->prod.count < write->length ||
        cdc->prod.count >= smcr_bsize_bytes(SMCR_BSIZE_512M))
        return;
    uint64_t base = write->va - (cdc->prod.count - write->length);
    if (base & SMCR_WIRE_PAGE_MASK)
        return;
    if (again) {
        side->rmb->guessed = side->rmb->over = base != write->rmb_va;
        side->rmb->lgr->rmb_count[qp->side] -= side->rmb->over;
        return;
    }
    side->rmb = smcr_rmb_renew(state, qp, write->rkey, base);
    side->rmb->guessed = true;
    side->rmb_index = 1;
    smcr_rmb_set_conn(state, side->rmb, 1, conn);
    write->late->conn = conn;
    smcr_write_learn_base(conn, qp->side, cdc->prod.count);
    smcr_write_learn_base(conn, !qp->side, cdc->cons.count);
    smcr_orphan_claim(arrival, conn, write, cdc->prod); /* where a host has told */
    place_first_write(arrival, conn, cdc, write);
}

smcr_conn_t *
smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_t *conn = smcr_conn_find(arrival->state, qp->link->lgr, qp->side, cdc->token);
    smcr_flow_fate_t fate = arrival->record->fate;

    if (fate == SMCR_FLOW_FATE_DROP || fate == SMCR_FLOW_FATE_TOO_LATE) {
        bool since = conn && smcr_point_is_before(&conn->side[qp->side].since, qp, arrival->psn);
        return since ? conn : NULL; /* the token may have meant another one then */
    }
    if (conn && conn->side[qp->side].shares_token)
        return NULL;
    if (!conn || smcr_evidence_is_over(arrival, conn, cdc))
        return late_conn(arrival, cdc);
    return conn->side[!qp->side].has_token ? conn : with_other_half(arrival, conn, cdc);
}

/* ---- what it changes ---- */

static void
tell_moved(const smcr_arrival_t *arrival, const smcr_link_t *from, bool validated)
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

static void
place_on_link(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    bool validated = (cdc->flags & SMCR_CDC_FLAG_FAILOVER) != 0;
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[!qp->side];
    bool has_sent = side->cdc_frame || validated; /* before, any link of the group may be chosen */

    if (side->link && side->link != qp->link && has_sent) {
        /* the number is that of the last message on the link that was acknowledged (4.6.1) */
        bool lacks = smcr_conn_side_step(side, cdc->seq) > !validated;
        side->lacks_last = validated && lacks;
        smcr_flow_t *left = &side->link->qp[qp->side].traffic.flow;
        if (lacks)
            smcr_ranges_append(&left->lacked, arrival->state->scope, SMCR_FLOW_LACKED_KEPT,
                               (smcr_range_t){left->highest + 1, left->highest + 2, side->cdc_frame,
                                              arrival->when.frame});
        tell_moved(arrival, side->link, validated);
        conn->side[qp->side].heard = *smcr_evidence_last_to(&conn->side[qp->side]);
        side->moved_frame = arrival->when.frame;
        side->moved_time = arrival->when.time;
        conn->side[qp->side].in.moved = true;
    }
    side->link = qp->link;
    smcr_conn_is_alive(conn, arrival->qp, arrival->psn);
    smcr_orphan_confirm(arrival, conn, cdc->prod);
}

/* Sets `*frame` and tells the user when the connection's state has `bit` for the first time. */
static void
take_in_state_bit(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, uint8_t bit,
                  uint32_t *frame, smcr_event_id_t event)
{
    if (!(cdc->state & bit) || *frame)
        return;
    *frame = arrival->when.frame;
    smcr_event_add(arrival, event, NULL);
}

static void
take_in_state(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_conn_side_t *side,
              const smcr_cdc_t *cdc)
{
    bool had_ended = smcr_conn_side_has_ended(side);

    take_in_state_bit(arrival, cdc, SMCR_CDC_STATE_SENDING_DONE, &side->sending_done_frame,
                      SMCR_EVENT_conn_sending_done);
    take_in_state_bit(arrival, cdc, SMCR_CDC_STATE_CLOSED, &side->closed_frame,
                      SMCR_EVENT_conn_closed);
    if (cdc->state & SMCR_CDC_STATE_ABORT && !side->abort_frame) {
        /* what it costs is told once: the other side commonly answers with an abort of its own */
        bool again = conn->side[0].abort_frame || conn->side[1].abort_frame;
        smcr_cost_t cost = again ? (smcr_cost_t){0} : smcr_cost_of_conn(conn);
        side->abort_frame = arrival->when.frame;
        smcr_cost_tell(arrival, SMCR_EVENT_conn_aborted, "Abnormal close", &cost);
    }
    if (arrival->record->view)
        arrival->record->view->last = smcr_conn_side_has_ended(side) && !had_ended;
}

/* A consumer cursor update that the peer has asked for, or that the sender asks for (4.5.1). Every
 * CDC message has the cursor, so the next one is the answer: the one that `follows`. */
static void
take_in_update(const smcr_arrival_t *arrival, smcr_conn_side_t *sender, smcr_conn_side_t *peer,
               const smcr_cdc_t *cdc, bool follows)
{
    const smcr_slab_t *entries = &arrival->state->entries;
    bool disordered = arrival->state->is_disordered;

    if (peer->update && follows && !disordered)
        smcr_state_exchange_close(arrival, smcr_slab_entry(entries, peer->update));
    peer->update = 0;
    if (!(cdc->flags & SMCR_CDC_FLAG_UPDATE) || disordered ||
        smcr_conn_side_has_read_to(peer, sender->prod))
        return;
    if (!sender->update)
        sender->update = smcr_slab_number(smcr_state_exchange_open(arrival));
    arrival->record->asks = smcr_slab_entry(entries, sender->update);
}

/* ---- cursors ---- */

/* The two streams of a connection, as the sender of a CDC message sees them; NULL: not known. */
typedef struct {
    smcr_stream_t *out; /* that it writes */
    smcr_stream_t *in;  /* that it reads */
    smcr_cursor_t read; /* with `in`: so far, as its messages say. A host may have told of more */
} streams_t;

static streams_t
streams_of(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    int receiver = arrival->qp->side;
    smcr_stream_t *out = smcr_write_stream(conn, receiver, cdc->prod.count);
    smcr_stream_t *in = smcr_write_stream(conn, !receiver, cdc->cons.count);

    return (streams_t){
        .out = smcr_conn_owns_element(conn, receiver) ? out : NULL,
        .in = smcr_conn_owns_element(conn, !receiver) ? in : NULL,
    };
}

/* What is not believed tells nothing of its stream. The reader's messages before may have come
 * before the Accept or Confirm that tells of its stream. */
static void
keep_known(streams_t *streams, const smcr_conn_side_t *sender, const smcr_cdc_t *cdc,
           const smcr_evidence_cursors_t *known)
{
    if (streams->out && (!known->prod.believed ||
                         !smcr_stream_can_announce(streams->out, cdc->prod)))
        streams->out = NULL;
    const smcr_stream_t *in = streams->in; /* of unknown size, a later round says less */
    if (in &&
        (!known->cons.believed || (!smcr_ring_room(&in->ring) && cdc->cons.wrap != in->cons.wrap)))
        streams->in = NULL;
    if (streams->in && sender->cdc_frame)
        smcr_stream_consume(streams->in, sender->cons);
    if (streams->in)
        streams->read = sender->cdc_frame ? sender->cons : in->cons;
}

/* What was written is announced: the numbers begin the view of the message. */
static void
take_in_announced(const smcr_arrival_t *arrival, const streams_t *streams, const smcr_cdc_t *cdc,
                  int64_t len, smcr_evidence_cursors_t known)
{
    smcr_record_cdc_t *view = smcr_state_alloc0(arrival->state, sizeof *view);
    const smcr_stream_t *in = streams->in;
    int64_t read = in ? smcr_ring_distance(&in->ring, streams->read, cdc->cons) : 0;

    arrival->record->view = view;
    if (arrival->roce)
        smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn, &view->acked);
    view->has_len = known.follows;
    view->has_read = known.follows && (in || known.same);
    view->has_unread = known.current;
    view->len = len > 0 ? (uint32_t)len : 0;
    view->read = read > 0 ? (uint32_t)read : 0;
    smcr_window_announced(arrival, streams->out, cdc->flags, &known);
}

/* Completes the view with how the streams are now. What comes again behind a move, and has cursors
 * of before, does not tell: later ones may be absent. */
static void
summarize(const streams_t *streams, const smcr_cdc_t *cdc, smcr_record_cdc_t *view)
{
    const smcr_stream_t *out = streams->out, *in = streams->in;

    view->has_announced = !out->announced || smcr_ring_cursors_are_same(out->prod, cdc->prod);
    view->has_consumed = in && (!in->consumed || smcr_ring_cursors_are_same(in->cons, cdc->cons));
    view->has_unread &= out->consumed <= out->announced;
    view->offered = view->has_unread && view->has_consumed && smcr_ring_room(&in->ring)
                        ? (uint32_t)smcr_stream_free(in) : SMCR_RECORD_NOT_KNOWN;
    view->has_unread &= view->has_announced;
    view->announced = out->announced;
    view->consumed = in ? in->consumed : 0;
    view->unread = (uint32_t)smcr_stream_unread(out);
    view->size = smcr_ring_room(&out->ring);
    view->urgent = cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT && out->announced > 0;
}

/* All that comes behind the cursor lies behind it. What is absent before may have been written. */
static void
locate_cursor(const smcr_arrival_t *arrival, smcr_conn_side_t *reader)
{
    uint64_t unseen = smcr_evidence_unseen_bytes(&reader->located, arrival->qp, arrival->psn);
    smcr_stream_t *stream = &reader->in;

    if (!stream->moved)
        stream->located += MIN(stream->announced - stream->located, unseen);
    stream->begun = stream->announced;
    reader->located = smcr_point_at(arrival->qp, arrival->psn);
}

/* Bytes announced and read. */
static void
take_in_cursors(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                streams_t streams, smcr_evidence_cursors_t known)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    const smcr_record_t *record = arrival->record;
    smcr_stream_t *out = streams.out, *in = streams.in;
    smcr_window_reading_t reading = {in ? in->consumed : 0, in ? smcr_stream_free(in) : 0, false,
                                     false};
    int64_t len = out ? smcr_stream_announce(out, cdc->prod) : 0;
    int64_t read = in ? smcr_stream_consume(in, cdc->cons) : 0;

    known.current = reading.current = smcr_evidence_is_current(conn, !arrival->qp->side);

    smcr_rules_cdc(SMCR_RULES_COUNTED, arrival, conn, cdc, &known);
    if (!out && known.prod.believed && smcr_conn_owns_element(conn, arrival->qp->side))
        smcr_write_announce(arrival, conn, cdc->prod);
    if (len > 0) {
        smcr_orphan_end(arrival, conn, out, out->announced);
        smcr_write_end(arrival, conn, out);
    }
    if (out && len >= 0 && out->located <= out->announced)
        locate_cursor(arrival, &conn->side[arrival->qp->side]);
    if (out)
        take_in_announced(arrival, &streams, cdc, len, known);
    /* it tells nothing that its sender has not told before, but for the consumer cursor */
    reading.alone = record->view && record->view->has_len && record->view->has_unread &&
                    record->view->len == 0 && !record->answers &&
                    cdc->flags == sender->cdc_flags && cdc->state == sender->cdc_state;
    if (in && read > 0)
        smcr_window_consumed(arrival, in, &reading);
    if (out)
        summarize(&streams, cdc, record->view);
}

/* ---- the message ---- */

/* What cannot be is not believed: what was known before goes on. */
static void
take_in_numbers(const smcr_arrival_t *arrival, smcr_conn_side_t *side, const smcr_cdc_t *cdc,
                const smcr_evidence_cursors_t *known)
{
    if (!side->first_cdc)
        side->first_cdc = arrival->when.frame;
    side->cdc_frame = arrival->when.frame;
    side->cdc_time = arrival->when.time;
    side->cdc_seq = known->seq;
    side->cdc_said = cdc->seq;
    side->lacks_last = false;
    side->is_new = !known->follows && (!side->announced.qp || side->first_cdc == side->cdc_frame);
    if (known->prod.believed)
        side->prod = cdc->prod;
    if (known->prod.believed && side->cdc_time >= side->mark_time[0] + SMCR_TIME_DISORDER) {
        side->mark_time[1] = side->mark_time[0], side->mark_prod[1] = side->mark_prod[0];
        side->mark_time[0] = side->cdc_time, side->mark_prod[0] = cdc->prod;
    }
    if (known->cons.believed)
        side->cons = cdc->cons;
    if (known->prod.believed && known->cons.believed)
        return;
    side->odd_frame = arrival->when.frame;
    side->said_prod = cdc->prod;
    side->said_cons = cdc->cons;
}

void
smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[!qp->side];
    bool validation = (cdc->flags & SMCR_CDC_FLAG_FAILOVER) != 0;

    bool left = side->moved_frame && side->link != qp->link && !validation;
    if (left && smcr_conn_side_step(side, cdc->seq) < 0) { /* its number says: it comes late */
        smcr_evidence_pass_over(arrival);
        return;
    }
    left = left && arrival->when.time < side->moved_time; /* so does its time */
    smcr_state_told_check(arrival, conn, cdc);
    if (arrival->roce)
        place_rmb(arrival, conn, cdc);
    smcr_rules_cdc(SMCR_RULES_ARRIVES, arrival, conn, cdc, NULL);
    if (!left)
        place_on_link(arrival, conn, cdc);
    if (validation) /* nothing else in it counts (A.4) */
        return;
    streams_t streams = streams_of(arrival, conn, cdc);
    smcr_evidence_cursors_t known = smcr_evidence_of_cursors(arrival, conn, cdc);
    smcr_rules_cdc(SMCR_RULES_PLACED, arrival, conn, cdc, &known);
    keep_known(&streams, side, cdc, &known);
    take_in_numbers(arrival, side, cdc, &known);
    take_in_update(arrival, side, &conn->side[qp->side], cdc, known.follows);
    take_in_cursors(arrival, conn, cdc, streams, known);
    conn->side[qp->side].in.moved |= left;
    if (left) /* the move is behind it */
        side->moved_frame = arrival->when.frame + 1;
    conn->side[qp->side].heard = smcr_point_at(arrival->qp, arrival->psn);
    side->cdc_flags = cdc->flags;
    side->cdc_state = cdc->state;
    smcr_rules_cdc(SMCR_RULES_LEARNED, arrival, conn, cdc, &known);
    take_in_state(arrival, conn, side, cdc);
    if (smcr_record_has_event(arrival->record, SMCR_EVENT_cdc_unknown_token))
        smcr_evidence_pass_over(arrival); /* it may be another one's, with a wrong token */
    if (arrival->state->sockets)
        smcr_state_told_again(arrival, conn);
}
