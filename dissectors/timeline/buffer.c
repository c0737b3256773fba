/* Finds out when data lay unread in a receive buffer, and when the writer waited for space in the
 * buffer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "buffer.h"

/* A reader that knows of the writer's wait sends an update at least for each tenth of the buffer
 * (net/smc/smc_tx.c). So the reader may have read up to 1/SMALL of the buffer without a report. */
#define SMALL 10

/* If the writer does not wait, a reader sends no update before half of the buffer is full
 * (net/smc/smc_tx.c). So the reader may have read up to 1/HALF of the buffer without a report. */
#define HALF 2

/* ---- unread data ---- */

/* Adds a time in which data of the writer `side` were unread. If the capture is out of order, both
 * ends of the time may be wrong by its disorder, so only the rest is certain. The time may also end
 * with an acknowledgement: then `step` has no packet. */
static void
add_unread(const smcr_timeline_step_t *step, int side, smcr_interval_t time)
{
    const smcr_link_t *link = step->timeline->link[side];
    uint64_t disorder = link ? smcr_lgr_disorder(link->lgr) : 0;
    uint64_t length = smcr_interval_length(time);

    if (disorder && length / 2 <= disorder)
        return;
    time.begin.time += 2 * disorder;
    smcr_timeline_add(step, side, SMCR_INTERVAL_UNREAD, time.begin, time.end);
}

/* Begins or ends the interval SMCR_INTERVAL_UNREAD of the writer `side` at `when`.
 *
 * With an update, the reader reports up to which position it has read. If the reader knows that the
 * writer waits for space, it sends an update for each tenth of the buffer that it has read. The
 * reader knows of the wait once its host has acknowledged the message with which the wait begins.
 * If the reader does not know of a wait, it sends an update only if at most half of the buffer is
 * free. So data certainly lie unread if the number of unreported bytes is higher than the reader
 * may have read without a report. */
static void
look_at_unread(const smcr_timeline_step_t *step, int side, smcr_when_t when)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;
    uint32_t unreported = unread->size / (unread->knows_wait ? SMALL : HALF);
    bool is_known = unread->is_known && !unread->is_doubtful;
    bool is_much = is_known && unread->acked > unread->consumed + unreported;

    if (is_much && !unread->since.frame) {
        unread->since = when;
    } else if (!is_much && unread->since.frame) {
        add_unread(step, side, (smcr_interval_t){unread->since, when});
        unread->since.frame = 0;
    }
}

/* A second call with the same value of `is_doubtful` begins and ends no time of doubt. */
void
smcr_timeline_doubt_reading(const smcr_timeline_step_t *step, int side, bool is_doubtful,
                            smcr_when_t when)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;

    if (is_doubtful && !unread->is_doubtful)
        unread->doubtful_since = when;
    else if (!is_doubtful && unread->is_doubtful)
        smcr_timeline_add(step, side, SMCR_INTERVAL_MAYBE_UNREAD, unread->doubtful_since, when);
    unread->is_doubtful = is_doubtful;
    look_at_unread(step, side, when);
}

/* Announcements may be acknowledged out of order: the highest counts. */
void
smcr_timeline_take_announcement(const smcr_timeline_step_t *step, int side,
                                const smcr_record_cdc_t *view, smcr_when_t acked)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;

    if (!view->has_announced || !view->size)
        return;
    unread->acked = MAX(unread->acked, view->announced);
    unread->size = view->size;
    unread->is_known = true;
    unread->knows_wait |= step->timeline->writer[side].wait.filled == &view->acked;
    look_at_unread(step, side, acked);
}

/* ---- waits for space ---- */

/* The earlier one of the two events counts; if both are in one frame, the acknowledgement. Later
 * events do not count, since the caller has not taken them in yet: settle_writer() ends the wait
 * before it takes in the packet of `frame`, which may be the writer's own. */
smcr_when_t
smcr_timeline_end_of_wait(const smcr_record_cdc_rare_t *wait, uint32_t frame)
{
    const smcr_ack_t *freed =
        wait->space_freed ? smcr_timeline_ack_before(wait->space_freed, frame) : NULL;
    bool goes_on = wait->continues.frame && wait->continues.frame <= frame;

    if (freed && !(goes_on && wait->continues.frame < freed->frame))
        return smcr_ack_when(freed);
    return goes_on ? wait->continues : (smcr_when_t){0, 0};
}

/* Adds the time from the reader's update to `end`, at which the writer continued, as not known, if
 * no acknowledgement of the reader's packets is captured: the wait ended with the missing
 * acknowledgement of the update, at some time in between. */
static void
doubt_wait_without_ack(const smcr_timeline_step_t *step, int side, smcr_when_t end)
{
    smcr_when_t freed = step->timeline->writer[side].wait.freed;

    if (!freed.frame || smcr_timeline_hears_acks(step->timeline, !side))
        return;
    smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, freed, end);
    smcr_timeline_add(step, side, SMCR_INTERVAL_FREED, freed, end);
}

/* `knows_wait` is cleared before look_at_unread(), which reads it. */
void
smcr_timeline_end_wait(const smcr_timeline_step_t *step, int side, smcr_when_t end)
{
    smcr_timeline_wait_t *wait = &step->timeline->writer[side].wait;

    smcr_timeline_add(step, side, SMCR_INTERVAL_FULL, wait->begun, end);
    doubt_wait_without_ack(step, side, end);
    step->timeline->writer[side].last_wait = (smcr_interval_t){wait->begun, end};
    if (wait->doubtful_since.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_PEER_NOT_CAPTURED, wait->doubtful_since, end);
    if (wait->may_have_ended)
        smcr_timeline_add(step, side, SMCR_INTERVAL_FREED,
                          wait->has_space ? wait->begun : wait->freed, end);
    step->timeline->writer[side].last_wait_has_space = wait->has_space;
    *wait = (smcr_timeline_wait_t){0};
    step->timeline->writer[side].unread.knows_wait = false;
    look_at_unread(step, side, end);
}

/* Whether the message with which the wait begins has not filled the buffer, as far as is known:
 * Linux also reports a writer as blocked that has space for a part of its data. Such a writer may
 * continue at any time. `view`: what the message means. */
static bool
has_space(const smcr_timeline_unread_t *unread, const smcr_record_cdc_t *view)
{
    bool is_full = view->size && view->has_announced &&
                   view->announced >= unread->consumed + view->size;

    return !is_full;
}

/* A drain that has begun goes on: a new wait does not begin it anew. */
void
smcr_timeline_take_wait(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_record_cdc_t *view = step->packet->record->cdc_analysis;
    const smcr_record_cdc_rare_t *wait = smcr_record_cdc_rare(view);

    if (!wait || wait == writer->wait.wait || step->timeline->is_aborted)
        return;
    if (writer->wait.wait)
        smcr_timeline_end_wait(step, side, step->packet->when);
    writer->wait = (smcr_timeline_wait_t){
        .wait = wait,
        .begun = step->packet->when,
        .link = step->packet->record->link,
        .filled = &view->acked,
        .has_space = has_space(&writer->unread, view),
        .consumed = writer->unread.is_doubtful ? UINT64_MAX : writer->unread.consumed};
    if (!writer->draining && view->size) {
        writer->draining = &view->acked;
        writer->half = view->announced - MIN(view->announced, view->size / 2);
    }
}

/* The program of each end gets an error instead of space. A writer that waited has not finished its
 * request, so it waits for no answer, either. */
void
smcr_timeline_take_abort(const smcr_timeline_step_t *step)
{
    step->timeline->is_aborted = true;
    for (int side = 0; side < 2; side++) {
        smcr_timeline_writer_t *writer = &step->timeline->writer[side];
        if (!writer->wait.wait)
            continue;
        smcr_timeline_end_wait(step, side, step->packet->when);
        writer->request_acked = NULL;
    }
}

/* Whether data of the writer `side`, up to the position `end` of the stream, find no space in the
 * buffer, as far as is known. `end` 0: the position is not known, and the result is false. */
static bool
find_no_space(const smcr_timeline_step_t *step, int side, uint64_t end)
{
    const smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;
    bool knows_reader = unread->is_known && (unread->consumed || !step->timeline->is_late);

    return knows_reader && end > unread->consumed + unread->size;
}

/* The wait ends first: if it ends with this packet, the time without space has begun with the
 * wait. */
void
smcr_timeline_take_new_data(const smcr_timeline_step_t *step, int side, uint64_t end)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = step->packet->when;

    if (writer->wait.wait && writer->wait.link == step->packet->record->link)
        smcr_timeline_end_wait(step, side, when);
    if (find_no_space(step, side, end) && !writer->no_space_since.frame)
        writer->no_space_since =
            writer->last_wait.end.frame == when.frame ? writer->last_wait.begin : when;
}

/* ---- messages of the reader ---- */

/* Time from the acknowledgement of the writer's message that filled the buffer to the message of
 * `step`, nanoseconds; 0: there was no acknowledgement before this message, or its time is not
 * earlier. `filled`: points to the acknowledgement. */
static uint64_t
time_since_filled(const smcr_timeline_step_t *step, const smcr_ack_t *const *filled)
{
    smcr_when_t when = step->packet->when;
    const smcr_ack_t *acked = smcr_timeline_ack_before(filled, when.frame);

    return acked && acked->time < when.time ? when.time - acked->time : 0;
}

/* Takes the samples SMCR_TIMELINE_DRAIN and SMCR_TIMELINE_READER, if this CDC message of the reader
 * ends the measured time. Also notes the first update of a wait (`freed`). `side`: the writer.
 * `view`: what the message means. */
static void
measure_reader(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool reached_half = view->has_consumed && view->consumed >= writer->half;

    if (writer->draining && reached_half) {
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_DRAIN,
                         time_since_filled(step, writer->draining));
        writer->draining = NULL;
    }
    if (!writer->wait.wait || writer->wait.freed.frame)
        return;
    writer->wait.freed = step->packet->when;
    step->sink->take(step->sink->data, side, SMCR_TIMELINE_READER,
                     time_since_filled(step, writer->wait.filled));
}

/* Ends the wait of the writer `side` for space, if the reader's message that freed space is
 * missing. The message is missing if this message reports data that was read during the wait, and
 * no captured message has freed space. `view`: what the reader's message means. */
static void
end_wait_of_missing_update(const smcr_timeline_step_t *step, int side,
                           const smcr_record_cdc_t *view)
{
    const smcr_timeline_wait_t *wait = &step->timeline->writer[side].wait;

    if (wait->wait && !wait->freed.frame && view->has_consumed && view->consumed > wait->consumed)
        smcr_timeline_end_wait(step, side, step->packet->when);
}

/* Handles data of the writer `side` that found no space in the buffer, at the reader's next
 * message. If packets of the reader are missing since then, the update that freed the space is
 * among them. Otherwise the capture is out of order: in truth the update came before the data. Then
 * it is not known when the wait for space ended. */
static void
doubt_wait_out_of_order(const smcr_timeline_step_t *step, int side)
{
    smcr_when_t *since = &step->timeline->writer[side].no_space_since;

    if (since->frame && step->timeline->writer[!side].gap_noticed.frame <= since->frame) {
        smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, *since, step->packet->when);
        smcr_timeline_add(step, side, SMCR_INTERVAL_FREED, *since, step->packet->when);
    }
    since->frame = 0;
}

/* Times are measured before the cursor moves. */
void
smcr_timeline_take_reading(const smcr_timeline_step_t *step, int side,
                           const smcr_record_cdc_t *view)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;

    if (view->read_bytes)
        measure_reader(step, side, view);
    doubt_wait_out_of_order(step, side);
    end_wait_of_missing_update(step, side, view);
    if (view->has_consumed)
        unread->consumed = MAX(unread->consumed, view->consumed);
    smcr_timeline_doubt_reading(step, side, !view->has_consumed, step->packet->when);
}
