/* Makes intervals from the packets of a connection: which side waits, for what, and since when.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "writer.h"
#include "answer.h"
#include "buffer.h"
#include "gap.h"
#include "retransmission.h"
#include "transfer.h"

#include "state/model/store.h"

/* Shortest time between a WRITE and its CDC message that makes the message late, nanoseconds. A
 * host sends both at once. */
#define LATE_MESSAGE (10 * SMCR_TIME_MILLISECOND)

/* Takes in the acknowledgements before `frame` of packets of the writer `side`. Also ends the
 * writer's wait for space, if it has ended (smcr_timeline_end_of_wait()). */
static void
settle_writer(const smcr_timeline_step_t *step, int side, uint32_t frame)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    for (;;) {
        const smcr_timeline_sent_t *sent = smcr_timeline_find_acked(writer, frame);
        smcr_when_t end = writer->wait.wait ? smcr_timeline_end_of_wait(writer->wait.wait, frame)
                                            : (smcr_when_t){0, 0};

        if (end.frame && (!sent || end.frame <= (*sent->acked)->frame))
            smcr_timeline_end_wait(step, side, end);
        else if (sent)
            smcr_timeline_take_ack(step, side, *sent);
        else
            return;
    }
}

void
smcr_timeline_advance(smcr_timeline_t *timeline, wmem_allocator_t *scope, uint32_t now,
                      const smcr_timeline_sink_t *sink)
{
    smcr_timeline_step_t step = {timeline, scope, NULL, sink};

    for (int side = 0; side < 2; side++)
        settle_writer(&step, side, now + 1);
}

/* ---- packets ---- */

/* Whether the writer sent another captured WRITE after the WRITE packet of `step`: the capture or
 * the network has the two out of order. */
static bool
was_overtaken(const smcr_timeline_step_t *step, const smcr_timeline_writer_t *writer)
{
    const smcr_record_t *record = step->packet->record;

    return record->order == SMCR_FLOW_IS_LATE && writer->last_write_link == record->link &&
           smcr_psn_distance(step->packet->roce->psn, writer->last_write_psn) > 0;
}

/* Notes in the timeline of the writer that the WRITE packet of `step` is the last WRITE. `acked`:
 * its acknowledgement, as in smcr_timeline_sent_t. */
static void
note_last_write(const smcr_timeline_step_t *step, smcr_timeline_writer_t *writer,
                const smcr_ack_t *const *acked)
{
    writer->last_write = step->packet->when;
    writer->last_write_is_late = smcr_record_misses_first(step->packet->record) ||
                                 smcr_record_fills_gap_again(step->packet->record);
    writer->last_write_link = step->packet->record->link;
    writer->last_write_psn = step->packet->roce->psn;
    writer->request_acked = acked;
}

/* Notes in the timeline of the writer that the WRITE packet of `step` carries data. `range`: place
 * of the data in the stream. `sent`: what is kept of the packet. `is_in_order`: the packet came in
 * order. */
static void
note_written(const smcr_timeline_step_t *step, smcr_stream_range_t range,
             const smcr_timeline_sent_t *sent, bool is_in_order)
{
    const smcr_record_t *record = step->packet->record;
    smcr_timeline_writer_t *writer = &step->timeline->writer[record->sender];
    bool is_first = smcr_ib_operations[step->packet->roce->opcode].begins && !range.position;

    writer->prod_is_end = false;
    writer->unannounced += record->write_location->length;
    writer->has_hole |= !range.known || range.position > writer->written;
    writer->written = MAX(writer->written, sent->end);
    writer->misses_first |= !writer->has_written && !is_first;
    writer->has_written = true;
    writer->write_end = range.known && is_in_order ? sent->end : UINT64_MAX;
    if (!was_overtaken(step, writer))
        note_last_write(step, writer, sent->acked);
    if (range.known)
        smcr_timeline_note_rewritten(step, range.position);
}

/* Takes in the data of a WRITE packet. `sent`: what is kept of the packet. The packet is added to
 * the packets in flight if it begins or ends a request, or if there are none. `is_in_order`: the
 * packet came in order. */
static void
take_written(const smcr_timeline_step_t *step, smcr_timeline_sent_t sent, bool is_in_order)
{
    const smcr_record_t *record = step->packet->record;
    int side = record->sender;
    const smcr_ib_operation_t *operation = &smcr_ib_operations[step->packet->roce->opcode];
    smcr_stream_range_t range = smcr_place_proven_range(record->write_location);

    sent.acked = &record->write_location->acked;
    sent.end = range.known ? range.position + record->write_location->length : 0;
    sent.ends_request = operation->ends && !sent.is_after_gap;
    if (is_in_order)
        smcr_timeline_take_new_data(step, side, sent.end);
    smcr_timeline_take_answer(step, side);
    note_written(step, range, &sent, is_in_order);
    if (operation->begins || operation->ends || !step->timeline->writer[side].in_flight)
        smcr_timeline_send(step, sent);
}

/* Takes in a WRITE packet. `sent`: what is kept of the packet. A packet out of order shows nothing
 * of the present. A packet without data, or whose RMB element is not known (no `write_location`),
 * is no transfer. */
static void
take_write(const smcr_timeline_step_t *step, smcr_timeline_sent_t sent)
{
    const smcr_record_t *record = step->packet->record;
    bool is_in_order = record->order == SMCR_FLOW_IS_NEXT && !sent.is_after_gap;

    if (is_in_order)
        smcr_timeline_take_order(step, record->sender);
    if (record->write_location && record->write_location->length)
        take_written(step, sent, is_in_order);
}

/* Whether the CDC message announces, or may announce, bytes whose WRITE is not captured. `view`:
 * what the message means; NULL: not known. `validates`: the message is a failover validation, which
 * announces nothing. */
static bool
may_announce_unseen(const smcr_record_cdc_t *view, bool validates)
{
    return view ? view->announced_bytes && !view->writes : !validates;
}

/* Takes in a CDC message of `side` whose meaning is not known. The message may end a request of
 * `side`. It may also free space for the peer, but not if it is a failover validation
 * (`validates`). */
static void
take_unknown_message(const smcr_timeline_step_t *step, int side, bool validates)
{
    step->timeline->writer[side].request_acked = NULL;
    if (!validates)
        smcr_timeline_doubt_reading(step, !side, true, step->packet->when);
}

/* Adds the time in which a missing WRITE was sent, whose bytes the message of `step` announces. The
 * time begins with the gap that was noticed after the writer's last packet. If no such gap was
 * noticed, it begins with the writer's last packet. */
static void
add_unseen_write(const smcr_timeline_step_t *step, int side)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_in_gap = writer->gap_noticed.frame > writer->last_seen.frame;

    smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED,
                      is_in_gap ? writer->missing_since : writer->last_seen, step->packet->when);
}

/* Whether the CDC message of `step` reports that its writer is blocked: it has more data to send,
 * so its request is not complete. */
static bool
is_blocked(const smcr_timeline_step_t *step)
{
    return step->packet->cdc && step->packet->cdc->flags & SMCR_CDC_FLAG_BLOCKED;
}

/* Notes whether the CDC message of `step` shows that no WRITE of `side` is missing between its last
 * captured WRITE and this message: the message announces no more data. A retransmission does not
 * show this, since its cursor is older than its frame. `view`: what the message means. */
static void
note_complete(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_next = step->packet->record->order == SMCR_FLOW_IS_NEXT;
    bool knows_end = writer->has_written || !step->timeline->is_late;

    if (is_next && knows_end && view->has_announced && view->announced == writer->write_end)
        writer->complete_in = step->packet->when.frame;
}

/* Whether the cursors of the CDC message of `step` show what its sender had written and read when
 * the message came. A failover validation, and a message that is not the next packet of its flow,
 * may have older cursors; those of immediate data are only computed by the state. */
static bool
has_new_cursors(const smcr_timeline_step_t *step)
{
    const smcr_record_t *record = step->packet->record;
    const smcr_cdc_t *cdc = step->packet->cdc;
    bool is_next = record->order == SMCR_FLOW_IS_NEXT &&
                   record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;

    return is_next && cdc && !(cdc->flags & SMCR_CDC_FLAG_FAILOVER) && !cdc->is_immediate;
}

/* Whether the message of `step` comes late after the writer's last WRITE, on the same link. In a
 * capture that is out of order, the time between the two proves nothing. */
static bool
is_late_message(const smcr_timeline_step_t *step, const smcr_timeline_writer_t *writer)
{
    const smcr_link_t *link = step->packet->record->link;
    smcr_interval_t late = {writer->last_write, step->packet->when};

    if (!writer->last_write.frame || writer->last_write_link != link)
        return false;
    if (link && link->lgr->state->is_out_of_order)
        return false;
    return smcr_interval_length(late) >= LATE_MESSAGE;
}

/* Whether the message of `step` announces the writer's last WRITE. It does if it is the first
 * captured message since the WRITE and no packet is missing in between, whatever is missing before
 * the WRITE. `view`: what the message means. */
static bool
announces_last_write(const smcr_timeline_step_t *step, const smcr_timeline_writer_t *writer,
                     const smcr_record_cdc_t *view)
{
    bool misses_later = writer->gap_noticed.frame > writer->last_write.frame;
    bool is_first = writer->unannounced && !misses_later;
    bool reaches_end = view->has_announced && view->announced >= writer->write_end;

    if (!has_new_cursors(step))
        return false;
    return (is_first && reaches_end) || (view->announced_bytes && view->writes);
}

/* Adds the time between the writer's last WRITE and the message of `step` that announces its data,
 * if the message is late: the data are under way, since no program can read them before. `view`:
 * what the message means. Called before take_message_order(), which clears `unannounced`. */
static void
take_late_message(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_interval_t late = {writer->last_write, step->packet->when};

    if (!is_late_message(step, writer) || !announces_last_write(step, writer, view))
        return;
    smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER, late.begin, late.end);
    if (smcr_interval_length(late) > smcr_interval_length(writer->latest_message))
        writer->latest_message = late;
}

/* Takes in a CDC message of `side` whose meaning, `view`, is known. `announces_unseen`: the message
 * announces bytes whose WRITE is not captured. */
static void
take_known_message(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view,
                   bool announces_unseen)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (announces_unseen && writer->last_seen.frame)
        add_unseen_write(step, side);
    /* the message announces data, or may announce data, so it may end a request */
    if (view->announced_bytes || !view->has_announced_bytes)
        writer->request_acked = is_blocked(step) ? NULL : &view->acked;
    writer->has_hole = !view->has_announced;
    note_complete(step, side, view);
    if (view->has_announced)
        writer->written = MAX(writer->written, view->announced);
    smcr_timeline_take_wait(step, side);
    if (view->has_consumed && view->consumed > step->timeline->writer[!side].unread.consumed)
        smcr_timeline_note_read(step, !side, view->consumed);
    smcr_timeline_take_reading(step, !side, view);
}

/* Whether a missing message may already have announced the data that the message announces. There
 * are two cases: 1. it is not known how many bytes the message announces; 2. all its data was
 * written on a link that the connection has left, and the last message on that link may have
 * announced it: nothing would show that this message is missing. `view`: what the message means. */
static bool
may_repeat_announcement(const smcr_timeline_writer_t *writer, const smcr_record_cdc_t *view)
{
    return !view->has_announced_bytes || view->announced <= writer->written_on_left;
}

/* Compares the cursors of the CDC message of `side` with those of its peer. They count even if the
 * size of the buffers is not known. If `side` has read all data that its peer has announced, the
 * buffer is empty: from this message on, the peer does not wait for space. */
static void
compare_cursors(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_timeline_writer_t *peer = &step->timeline->writer[!side];
    const smcr_cdc_t *cdc = step->packet->cdc;
    bool is_new = has_new_cursors(step);

    writer->prod_is_end = is_new && !is_blocked(step);
    if (!is_new)
        return;
    writer->prod = cdc->prod;
    if (!peer->prod_is_end || !smcr_ring_cursors_are_same(peer->prod, cdc->cons))
        return;
    smcr_timeline_set_known(step, !side, true);
    smcr_timeline_take_all_read(step, !side);
}

/* Notes whether it is known what the writer does, from the CDC message of `step` on. `sent`: what
 * is kept of the packet. `is_known`: it is known what the message means, or that it announces
 * nothing and reports nothing as read. */
static void
take_message_order(const smcr_timeline_step_t *step, const smcr_timeline_sent_t *sent,
                   bool is_known)
{
    int side = step->packet->record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (is_known) {
        smcr_timeline_take_order(step, side);
        smcr_timeline_settle_gap(step, side, sent->view);
    } else {
        smcr_timeline_set_known(step, side, false);
        writer->gap.has_unknown_message = writer->gap.since.frame != 0;
    }
    writer->unannounced = 0;
    writer->reports_blocked = is_blocked(step);
}

/* Fills in the members of `sent` that depend on what the CDC message means (`view`). */
static void
add_view(const smcr_timeline_writer_t *writer, smcr_timeline_sent_t *sent,
         const smcr_record_cdc_t *view)
{
    sent->view = view;
    sent->acked = &view->acked;
    sent->end = view->has_announced ? view->announced : 0;
    sent->is_data = view->announced_bytes != 0;
    sent->may_be_no_data = sent->is_data && may_repeat_announcement(writer, view);
}

/* Takes in the CDC message of `step`. `sent`: what is kept of its packet, which is in flight from
 * now on. */
static void
take_cdc(const smcr_timeline_step_t *step, smcr_timeline_sent_t sent)
{
    const smcr_record_t *record = step->packet->record;
    const smcr_record_cdc_t *view = record->cdc_analysis;
    const smcr_cdc_t *cdc = step->packet->cdc;
    int side = record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool validates = cdc && cdc->flags & SMCR_CDC_FLAG_FAILOVER;
    bool has_all = view && view->announced_bytes == writer->unannounced;
    bool announces_unseen = !has_all && may_announce_unseen(view, validates);

    sent.is_data = false;
    if (view) {
        add_view(writer, &sent, view);
        take_late_message(step, side, view);
    }
    take_message_order(step, &sent, view || (validates && !sent.is_after_gap));
    compare_cursors(step, side);
    smcr_timeline_send(step, sent);
    writer->misses_first |= !writer->has_written && announces_unseen;
    if (view)
        take_known_message(step, side, view, announces_unseen);
    else
        take_unknown_message(step, side, validates);
    if (cdc && cdc->state & SMCR_CDC_STATE_ABORT)
        smcr_timeline_take_abort(step);
}

/* Begins the timeline with the first packet of the connection. If the start of the connection is
 * not captured, it is not known from this packet on what the writers do. */
static void
begin_timeline(const smcr_timeline_step_t *step)
{
    smcr_timeline_t *timeline = step->timeline;

    timeline->begun = timeline->latest = step->packet->when;
    timeline->is_late = !step->packet->is_whole;
    for (int side = 0; side < 2; side++) {
        timeline->gaps[side] = step->packet->gap_count[side];
        timeline->link[side] = step->packet->record->link;
        if (timeline->is_late)
            timeline->writer[side].unknown_since = step->packet->when;
    }
}

/* Moves the time `*until` back to `since`, if `since` is earlier. `since`: start of a state that
 * later events may change; frame 0: there is no such state. */
static void
keep_open(smcr_when_t *until, smcr_when_t since)
{
    if (since.frame && since.time < until->time)
        *until = since;
}

/* Calls keep_open() for each state of `sender` that concerns the intervals of both directions. */
static void
keep_sender_open(smcr_when_t *until, const smcr_timeline_writer_t *sender)
{
    if (sender->retransmitted.end.frame)
        keep_open(until, sender->retransmitted.begin);
    if (sender->retransmitted_unheard.end.frame)
        keep_open(until, sender->retransmitted_unheard.begin);
    keep_open(until, sender->last_seen);
    keep_open(until, sender->gap.since);
}

/* Settles the intervals of the writer `side` for the time that later events cannot change any more.
 * This time ends with the earliest begin of a state that has not ended: a packet in flight, a wait,
 * a gap and so on. A new kind of state that adds its interval at its end needs a keep_open() here:
 * otherwise the first part of its interval does not count in long connections. */
static void
settle_intervals(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t until = step->packet->when;

    if (!smcr_intervals_are_many(&writer->intervals))
        return; /* so for most packets */
    if (writer->oldest)
        keep_open(&until, writer->oldest->when);
    if (writer->unread.is_doubtful)
        keep_open(&until, writer->unread.doubtful_since);
    keep_open(&until, writer->wait.begun);
    keep_open(&until, writer->unread.since);
    keep_open(&until, writer->unknown_since);
    keep_open(&until, writer->acks_missing);
    keep_open(&until, writer->last_write);
    for (int sender = 0; sender < 2; sender++)
        keep_sender_open(&until, &step->timeline->writer[sender]);
    smcr_intervals_settle(&writer->intervals, step->scope, until);
}

/* Whether the packet brings nothing new to its receiver: it is a duplicate, the receiver discards
 * it, or the receiver has taken in an earlier packet with its PSN. False for a first packet with
 * its PSN that comes after its acknowledgement, because the capture is out of order. */
static bool
is_known_to_receiver(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_COPY ||
           record->receiver_action == SMCR_FLOW_RECEIVER_DROPS ||
           (record->order == SMCR_FLOW_IS_RETRANSMISSION &&
            record->receiver_action == SMCR_FLOW_RECEIVER_HAD_IT);
}

/* Takes in what the packet of `step` carries. A WRITE with immediate data may have data and, in the
 * immediate data, a CDC message: the data come first. */
static void
take_contents(const smcr_timeline_step_t *step)
{
    const smcr_timeline_packet_t *packet = step->packet;
    const smcr_record_t *record = packet->record;
    smcr_timeline_sent_t sent = {
        .when = packet->when,
        .link = record->link,
        .psn = packet->roce->psn,
        .is_data = true,
        .is_retransmitted = record->order == SMCR_FLOW_IS_RETRANSMISSION,
        .is_after_gap = record->receiver_action == SMCR_FLOW_RECEIVER_WAITS};

    if (record->kind == SMCR_RECORD_WRITE)
        take_write(step, sent);
    if (record->kind == SMCR_RECORD_CDC || packet->cdc)
        take_cdc(step, sent);
}

/* Gaps come before the contents of the packet. `last_seen` changes after both: until then it is the
 * packet before this one. */
void
smcr_timeline_take(smcr_timeline_t *timeline, wmem_allocator_t *scope,
                   const smcr_timeline_packet_t *packet, const smcr_timeline_sink_t *sink)
{
    const smcr_record_t *record = packet->record;
    smcr_timeline_step_t step = {timeline, scope, packet, sink};
    smcr_timeline_writer_t *sender = &timeline->writer[record->sender];

    if (!timeline->begun.frame)
        begin_timeline(&step);
    for (int side = 0; side < 2; side++)
        settle_writer(&step, side, packet->when.frame);
    smcr_timeline_look_for_gaps(&step);
    smcr_timeline_confirm_answer(&step, record->sender);
    smcr_timeline_take_retransmission(&step);
    if (smcr_record_is_old(record))
        smcr_timeline_take_old_packet(&step);
    else if (!is_known_to_receiver(record))
        take_contents(&step);
    sender->last_seen = packet->when;
    sender->consumed_seen = (uint32_t)sender->unread.consumed;
    timeline->writer[!record->sender].retransmitted_unheard.end.frame = 0;
    if (packet->when.time > timeline->latest.time)
        timeline->latest = packet->when;
    for (int side = 0; side < 2; side++)
        settle_intervals(&step, side);
}
