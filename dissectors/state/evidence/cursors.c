/* What the capture proves about the cursors of a CDC message, and about the place of a WRITE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

/* First frame after the last gap between the point and `psn`, in the flow to `qp`. A request that
 * is no WRITE, and whose content is not known (`last_late_frame`), counts as a gap. 0: there is no
 * gap. UINT32_MAX: the point is in another flow, in which a request may be missing after the point.
 * All gaps before `psn` count if the point is not set, or is in another flow without such a gap. */
static uint32_t
last_gap(const smcr_point_t *point, const smcr_qp_t *qp, smcr_psn_t psn)
{
    const smcr_ranges_t *gaps = &qp->traffic.flow.gaps;
    smcr_psn_t from = point->qp == qp ? point->psn + 1 : 0;
    const smcr_range_t *gap;
    uint32_t frame = 0;

    if (point->qp && point->qp != qp && !smcr_evidence_holds(point))
        return UINT32_MAX;
    if (qp->last_late_frame && qp->last_late_psn >= from)
        frame = qp->last_late_frame + 1;
    for (; (gap = smcr_ranges_find(gaps, from, psn)) != NULL; from = gap->to)
        frame = MAX(frame, gap->frame_after);
    return frame;
}

/* Whether no packet is missing between `last`, the point of the sender's last CDC message of the
 * connection, and the arriving packet. Only for a sender that has not moved to another link. */
static bool
follows_directly(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_point_t *last)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side];
    bool is_first = !sender->last_cdc_frame;
    bool has_clc = sender->announced_at.qp && conn->side[qp->side].announced_at.qp;

    if (is_first && !has_clc)
        return false;
    if (last->qp == qp)
        return smcr_evidence_absent(last, qp, arrival->psn) == 0;
    return is_first && smcr_evidence_joins(last, qp);
}

bool
smcr_evidence_is_next(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    int receiver = arrival->qp->side;

    return !smcr_conn_side_has_moved(&conn->side[!receiver]) &&
           follows_directly(arrival, conn, smcr_evidence_last_to(&conn->side[receiver]));
}

/* ---- what lies between two CDC messages of a side ---- */

/* The arriving CDC message of a connection, compared with the last message of its sender: the
 * sender's last captured CDC message of this connection before this one. */
typedef struct {
    const smcr_arrival_t *arrival;    /* packet of the arriving message */
    const smcr_conn_t *conn;          /* connection of the message */
    const smcr_cdc_t *cdc;            /* the arriving message */
    const smcr_conn_side_t *sender;   /* side of the connection that sends the message */
    const smcr_conn_side_t *receiver; /* the other side */
    const smcr_point_t *last; /* point of the last message; before the first message: the point at
                                 which the connection began */
    bool is_same;  /* the consumer cursor is that of the last message: the member `same` of
                      smcr_evidence_cursors_t */
    bool is_next;  /* no packet is missing after the last message: smcr_evidence_is_next() */
    bool is_first; /* the sequence number is 1, and the connection began in the capture: the sender
                      has sent no message before */
    bool is_odd;   /* the last message has an impossible cursor */
    bool has_moved; /* the sender has moved to another link after the last message */
    int16_t seq_step; /* step from the sequence number of the last message: a member of
                         smcr_evidence_cursors_t */
    int step; /* number of messages since the last message, this one included; of immediate data 1
                 or, for any higher number, 2. If there is no last message: 1 if `is_first`, else
                 0 */
    uint32_t gap;   /* first frame after the last gap between the two messages: last_gap(). If a
                       missing message may have been on another link: a frame before which this
                       message was sent */
    bool is_placed; /* the positions of all captured WRITEs after the last message are known */
    bool is_whole;  /* no packet is missing after the last message, whose cursors are possible */
} succession_t;

/* The frame before which a missing CDC message of the sender may have been on another link, where
 * it may have announced WRITEs that are captured on this link. 0: no such message can be missing.
 * UINT32_MAX: it may have come at any time before the arriving message. */
static uint32_t
may_miss_elsewhere(const succession_t *message)
{
    const smcr_qp_t *qp = message->arrival->qp;
    const smcr_conn_side_t *sender = message->sender;
    const smcr_qp_t *announced = sender->announced_at.qp;

    if (!sender->last_cdc_frame) /* no CDC message of the sender is captured: earlier ones
                                     may have been on the link that CLC named, if that is another
                                     link */
        return announced && announced->link != qp->link && !message->is_first ? UINT32_MAX : 0;
    if (message->step <= 1 || !message->last->qp)
        return 0;
    if (message->has_moved)
        return UINT32_MAX;
    return message->last->qp != qp ? sender->moved_frame : 0;
}

/* The member `gap` of the succession, whose other members up to `step` are set. Returns the frame
 * of the message itself if a missing message may have come at any time before this one. */
static uint32_t
gap_of(const succession_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    uint32_t elsewhere = may_miss_elsewhere(message);

    if (elsewhere == UINT32_MAX)
        return arrival->when.frame;
    return MAX(last_gap(message->last, arrival->qp, arrival->psn), elsewhere);
}

/* The member `is_placed` of the succession, whose other members up to `step` are set. */
static bool
has_placed_writes(const succession_t *message)
{
    const smcr_qp_t *qp = message->arrival->qp;

    if (message->last->qp == qp)
        return qp->unpositioned_psn <= message->last->psn;
    return message->is_first && smcr_evidence_joins(message->last, qp) && !qp->unpositioned_psn;
}

/* The member `is_next` of the succession, whose other members up to `seq_step` are set. */
static bool
is_next_message(const succession_t *message)
{
    if (message->cdc->is_immediate)
        return message->cdc->is_next;
    return !message->has_moved &&
           follows_directly(message->arrival, message->conn, message->last);
}

/* Whether the connection of the message began in the capture: the elements of both sides are
 * announced, or its Accept or Proposal is captured, by the clock of its RoCE packets
 * (smcr_evidence_first_frame()). */
static bool
has_begin(const succession_t *message)
{
    bool are_announced = message->receiver->valid_from.qp && message->sender->announced_at.qp;

    return are_announced || smcr_evidence_first_frame(message->conn);
}

/* The member `is_first` of the succession, whose members up to `is_next` are set. Immediate data
 * have no sequence number, so no packet may be missing before them. */
static bool
is_first_message(const succession_t *message)
{
    bool has_number = message->cdc->is_immediate ? message->is_next : true;

    return has_number && message->cdc->seq == 1 && has_begin(message);
}

/* The member `step` of the succession, whose members up to `has_moved` are set. A message in
 * immediate data has no sequence number: its step is 1 if no packet is missing before it, otherwise
 * 2. */
static int
step_of(const succession_t *message)
{
    if (!message->sender->last_cdc_frame)
        return message->is_first;
    if (message->cdc->is_immediate)
        return message->is_next ? 1 : 2;
    return message->seq_step;
}

/* Compares the arriving message with the sender's last message. The members that are set last need
 * those before them, in this order. */
static succession_t
succession_of(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &conn->side[!qp->side], *receiver = &conn->side[qp->side];
    succession_t message = {
        .arrival = arrival,
        .conn = conn,
        .cdc = cdc,
        .sender = sender,
        .receiver = receiver,
        .last = smcr_evidence_last_to(receiver),
        .is_odd = smcr_conn_side_has_invalid_cursor(sender),
        .has_moved = smcr_conn_side_has_moved(sender),
        .seq_step = smcr_conn_side_seq_step(sender, cdc->seq),
        .is_same = !cdc->lacks_cons && smcr_conn_side_has_read_to(sender, cdc->cons),
    };

    message.is_next = is_next_message(&message);
    message.is_first = is_first_message(&message);
    message.step = step_of(&message);
    message.gap = gap_of(&message);
    message.is_placed = has_placed_writes(&message);
    bool has_late = message.last->qp == qp && qp->last_late_psn > message.last->psn;
    message.is_whole = message.gap == 0 && !message.is_odd && !has_late;
    return message;
}

/* ---- cursors of a CDC message ---- */

/* A cursor of the arriving message, and the sender's earlier cursors of the same kind. */
typedef struct {
    int owner;            /* side in whose element the cursor points */
    smcr_cursor_t before; /* the sender's last possible cursor */
    smcr_cursor_t said;   /* cursor in the sender's last message that had an impossible cursor
                             (`raw_prod`, `raw_cons`) */
    smcr_cursor_t now;    /* cursor of the arriving message */
} cursors_t;

/* The ring of the RMB element of the side `owner`, into which the cursor points. */
static smcr_ring_t
ring_of(const smcr_conn_t *conn, int owner)
{
    const smcr_conn_side_t *reader = &conn->side[owner];

    if (reader->in.positions_known)
        return reader->in.ring;
    return (smcr_ring_t){reader->size, conn->lgr->base[owner]};
}

/* Returns what the capture proves about the cursor: the fault that makes it impossible, if any. A
 * cursor that goes back is no fault in two cases: 1. after a move to another link, since the sender
 * may send earlier messages once more; 2. in the sender's first captured message, if packets are
 * missing before it. A cursor that advances by more than a round is no fault in three cases:
 * 1. packets are missing; 2. the cursors of the last message were impossible; 3. immediate data of
 * unknown meaning may be messages (`immediate` of the group). */
static smcr_ring_fault_t
fault_of(const succession_t *message, const cursors_t *cursors, const smcr_ring_t *ring)
{
    bool has_no_last = !message->sender->last_cdc_frame && !message->is_next;
    bool may_go_back = message->has_moved || has_no_last;
    smcr_ring_fault_t fault =
        smcr_ring_fault(ring, may_go_back ? cursors->now : cursors->before, cursors->now);
    bool may_skip = !message->is_next || message->is_odd || message->conn->lgr->immediate;

    return fault == SMCR_RING_FAULT_ROUND && may_skip ? SMCR_RING_FAULT_NONE : fault;
}

/* Whether CLC, other messages or WRITEs prove the sender's earlier cursor in the stream. */
static bool
is_proven(const smcr_conn_side_t *sender, const smcr_stream_t *stream)
{
    bool is_announced = sender->announced_at.qp != NULL;
    bool is_written = stream->positions_known && stream->announced <= stream->written;

    return !sender->unverified && stream->consumed <= stream->announced &&
           (is_announced || is_written);
}

/* Whether the cursor may be right although it has a fault, or is ahead of the announced bytes:
 * then no breach is reported. The sender's earlier cursor may be the wrong one. `agrees`: the
 * sender's last message had an impossible cursor, too, and the new cursor can follow that one.
 * `proven`: the earlier cursor is proven (is_proven()). */
static bool
may_be_right(smcr_ring_fault_t fault, bool agrees, const smcr_conn_side_t *sender, bool proven)
{
    switch (fault) {
    case SMCR_RING_FAULT_BACK:
        return agrees || !proven;
    case SMCR_RING_FAULT_ROUND:
        return agrees || sender->unverified;
    default:
        return agrees;
    }
}

/* Whether the cursor advances by more than a round, and messages of SMC-D may explain this that the
 * tap of a host has missed: they have no number and no PSN, so nothing else shows that they are
 * missing. */
static bool
may_miss_smcd(const succession_t *message, smcr_ring_fault_t fault)
{
    return fault == SMCR_RING_FAULT_ROUND &&
           message->conn->lgr->tapped == SMCR_LGR_TAPPED_SMCD;
}

/* Judges a cursor of the arriving message. The result has its members up to `known`; the callers
 * set `end` and `over`. */
static smcr_evidence_cursor_t
judge_cursor(const succession_t *message, const cursors_t *cursors)
{
    const smcr_stream_t *stream = &message->conn->side[cursors->owner].in;
    const smcr_ring_t ring = ring_of(message->conn, cursors->owner);
    bool agrees = message->is_odd &&
                  smcr_ring_fault(&ring, cursors->said, cursors->now) == SMCR_RING_FAULT_NONE;
    bool proven = is_proven(message->sender, stream);
    bool replaces = agrees && !proven && !stream->positions_known;
    smcr_evidence_cursor_t cursor = {
        .owned = smcr_conn_owns_element(message->conn, cursors->owner),
        .fault = fault_of(message, cursors, &ring),
    };

    cursor.may_be_right = may_be_right(cursor.fault, agrees, message->sender, proven) ||
                  may_miss_smcd(message, cursor.fault);
    cursor.accepted = cursor.fault == SMCR_RING_FAULT_NONE || replaces;
    cursor.known = cursor.accepted && cursor.owned && stream->positions_known;
    return cursor;
}

/* A place in a stream. */
typedef struct {
    const smcr_ring_t *ring; /* RMB element of the stream, as a ring */
    uint64_t position; /* position in the stream, bytes */
    smcr_cursor_t at;  /* cursor of this position */
    uint64_t bound;    /* position that a later cursor must not exceed, bytes */
} mark_t;

/* Sets `end` and `over` of a cursor, and clears `known` if the size of the element is not known and
 * the cursor has another wrap. `earlier`: place of the earlier cursor. `now`: the cursor. */
static void
place_cursor(smcr_evidence_cursor_t *cursor, const mark_t *earlier, smcr_cursor_t now)
{
    int64_t step = smcr_ring_distance(earlier->ring, earlier->at, now);

    cursor->known &= smcr_ring_room(earlier->ring) || earlier->at.wrap == now.wrap;
    cursor->end = earlier->position + (uint64_t)MAX(step, 0);
    /* a cursor that has not moved exceeds the bound no more than the earlier cursor did */
    bool moves = cursor->known && cursor->end > earlier->position;
    cursor->over = moves && cursor->end > earlier->bound ? cursor->end - earlier->bound : 0;
}

/* Whether missing WRITEs may explain a producer cursor that is after all written bytes. */
static bool
may_miss_written(const succession_t *message)
{
    const smcr_conn_side_t *receiver = message->receiver;
    const smcr_arrival_t *arrival = message->arrival;

    if (receiver->in.may_rewrite || !message->is_whole || !message->is_placed)
        return true;
    return smcr_evidence_unseen_bytes(&receiver->last_positioned_write, arrival->qp,
                                      arrival->psn) != 0;
}

/* Judges the producer cursor, which points into the receiver's element. A cursor that is after all
 * written bytes is accepted only if missing WRITEs may explain it. */
static smcr_evidence_cursor_t
judge_prod(const succession_t *message)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_stream_t *out = &message->receiver->in;
    const cursors_t cursors = {message->arrival->qp->side, sender->prod, sender->raw_prod,
                               message->cdc->prod};
    const mark_t earlier = {&out->ring, out->announced, out->prod, out->written};
    smcr_evidence_cursor_t prod = judge_cursor(message, &cursors);

    prod.known &= !message->cdc->lacks_prod;
    place_cursor(&prod, &earlier, message->cdc->prod);
    prod.accepted &= !prod.over || may_miss_written(message);
    return prod;
}

/* Judges the consumer cursor, which points into the sender's element. `is_current`: no CDC message
 * from the receiver to the sender is missing. */
static smcr_evidence_cursor_t
judge_cons(const succession_t *message, bool is_current)
{
    const smcr_conn_side_t *sender = message->sender;
    const smcr_stream_t *in = &sender->in;
    const cursors_t cursors = {!message->arrival->qp->side, sender->cons, sender->raw_cons,
                               message->cdc->cons};
    const mark_t earlier = {&in->ring, in->consumed, in->cons, in->announced};
    smcr_evidence_cursor_t cons = judge_cursor(message, &cursors);

    cons.known &= !message->cdc->lacks_cons;
    place_cursor(&cons, &earlier, message->cdc->cons);
    cons.accepted &= !cons.over || !is_current;
    return cons;
}

/* The number from which the step of the sender's next message is counted (`cdc_seq_expected`): the
 * number that this message must have; if that is not known, the message's own number. */
static uint16_t
expected_seq(const succession_t *message)
{
    const smcr_conn_side_t *sender = message->sender;

    if (!message->is_next || sender->unverified)
        return message->cdc->seq;
    if (!sender->last_cdc_frame && smcr_doubt_group(message->arrival, message->conn->lgr).kind)
        return message->cdc->seq;
    return (uint16_t)(sender->cdc_seq_expected + 1);
}

/* The member `next` of smcr_evidence_cursors_t. There is no doubt if no packet between the sender's
 * last message and this one is missing. */
static smcr_doubt_t
doubt_next(const succession_t *message)
{
    const smcr_arrival_t *arrival = message->arrival;
    smcr_point_t other_link = {0};

    if (!message->sender->last_cdc_frame && smcr_evidence_is_next(arrival, message->conn))
        return smcr_doubt_message(arrival);
    return smcr_doubt_since(arrival,
                            message->last->qp == arrival->qp ? message->last : &other_link);
}

/* The member `since` of smcr_evidence_cursors_t. */
static uint32_t
uncertain_since(const succession_t *message)
{
    if (message->is_odd)
        return MAX(message->sender->invalid_cursor_frame, message->gap);
    return message->step == 1 && !message->has_moved ? 0 : message->gap;
}

/* All members are judged by what the state knew before the message. */
smcr_evidence_cursors_t
smcr_evidence_of_cursors(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                         const smcr_cdc_t *cdc)
{
    const succession_t message = succession_of(arrival, conn, cdc);
    const smcr_conn_side_t *sender = message.sender;
    bool current = smcr_evidence_is_current(conn, !arrival->qp->side);

    return (smcr_evidence_cursors_t){
        .follows = message.step == 1 && !message.is_odd,
        .prod = judge_prod(&message),
        .cons = judge_cons(&message, current),
        .seq = expected_seq(&message),
        .seq_step = message.seq_step,
        .next = doubt_next(&message),
        .same = message.is_same,
        .since = uncertain_since(&message),
        .left = message.has_moved ? sender->moved_frame : 0,
        .current = current,
        .placed = message.is_placed,
        .whole = message.is_whole,
    };
}

/* ---- places of WRITEs ---- */

/* Every doubt gives false, since a reported gap is a fault of the writer. */
bool
smcr_evidence_is_astray(const smcr_arrival_t *arrival, const smcr_conn_t *conn, uint64_t skipped,
                        uint64_t unseen)
{
    int side = arrival->qp->side;
    bool knows_base = conn->accept_frame && conn->confirm_frame && conn->lgr->base_known[side];

    if (skipped <= unseen || smcr_conn_side_has_moved(&conn->side[!side]))
        return false;
    if (!conn->socket && !knows_base)
        return false;
    return !smcr_doubt_since(arrival, &conn->side[side].last_positioned_write).kind;
}

/* Whether a WRITE at `offset` can continue the stream into the reader's element, if at most
 * `absent` packets to `qp` are missing before it. `offset`: offset in the element, bytes. False for
 * a WRITE at the start of the element's data, which may be the first WRITE of another
 * connection. */
static bool
continues_stream(const smcr_conn_side_t *reader, uint32_t offset, uint64_t absent,
                 const smcr_qp_t *qp)
{
    const smcr_stream_t *in = &reader->in;

    if (!in->positions_known || offset <= in->ring.base)
        return false;
    uint64_t position = smcr_ring_next_position(&in->ring, in->positioned_end, offset);
    return position - in->positioned_end <= absent * smcr_qp_mtu(qp);
}

/* A doubt gives false: then the bytes have no place, and none of another connection are
 * overwritten. */
bool
smcr_evidence_owns(const smcr_conn_t *conn, const smcr_qp_t *qp, smcr_psn_t psn, uint32_t offset)
{
    enum { ABSENT_MAX = 2 }; /* maximum number of missing packets before the WRITE */
    const smcr_conn_side_t *reader = &conn->side[qp->side];
    const smcr_conn_side_t *writer = &conn->side[!qp->side];
    const smcr_point_t *used = &reader->last_confirmed_use;
    uint64_t absent = smcr_evidence_absent(used, qp, psn);

    /* a writer that has sent no CDC message yet may choose any link of the group */
    if (!writer->last_cdc_frame && used->qp != qp)
        return smcr_evidence_joins(used, qp);
    if (psn <= used->psn) /* the WRITE is before the last confirmed use, or is the confirmed packet
                             itself */
        return used->qp == qp && smcr_point_is_before(&reader->valid_from, qp, psn);
    if (absent == 0)
        return true;
    return absent <= ABSENT_MAX && !smcr_conn_side_has_ended(reader) &&
           continues_stream(reader, offset, absent, qp);
}
