/* Finds the gaps of the two writers, and adds the time that they make unknown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "gap.h"
#include "answer.h"
#include "transfer.h"

/* A second call with the same value of `is_known` changes nothing. */
void
smcr_timeline_set_known(const smcr_timeline_step_t *step, int side, bool is_known)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (is_known && writer->unknown_since.frame) {
        smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, writer->unknown_since,
                          step->packet->when);
        writer->unknown_since.frame = 0;
    } else if (!is_known && !writer->unknown_since.frame) {
        writer->unknown_since = step->packet->when;
    }
}

/* Whether all packets that are missing since the last packet of the connection are in the last gap
 * of the link, whose begin is known. False if the connection has moved to another link. */
static bool
is_last_gap(const smcr_timeline_step_t *step, int side)
{
    const smcr_timeline_packet_t *packet = step->packet;
    bool is_same_link = step->timeline->link[side] == packet->record->link;
    bool is_only = packet->last_gap && packet->gap_count[side] == step->timeline->gaps[side] + 1;

    return is_same_link && is_only && packet->last_gap[side].begin.frame;
}

/* The event after which those packets of `side` were sent that are missing before the packet of
 * `step`: the begin of the link's last gap, if all of them are in this gap (is_last_gap()), and
 * it does not begin before the last packet of `side` in this connection. Otherwise this last
 * packet or, if there is none, the begin of the connection. */
static smcr_when_t
find_missing(const smcr_timeline_step_t *step, int side)
{
    smcr_when_t seen = step->timeline->writer[side].last_seen;

    if (!seen.frame)
        seen = step->timeline->begun;
    if (!is_last_gap(step, side))
        return seen;
    smcr_when_t begin = step->packet->last_gap[side].begin;
    return begin.frame < seen.frame || begin.time < seen.time ? seen : begin;
}

/* Takes in that a missing packet of `side` may have ended its wait for space: one that goes on, or
 * one that the packet of `step` has ended. If the wait began without space, it cannot have ended
 * before the reader's update. */
static void
doubt_wait(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_interval_t *last = &writer->last_wait;
    bool has_just_ended = last->end.frame == step->packet->when.frame;

    writer->wait.may_have_ended = writer->wait.freed.frame || writer->wait.has_space;
    if (has_just_ended && writer->last_wait_has_space)
        smcr_timeline_add(step, side, SMCR_INTERVAL_FREED, last->begin, last->end);
}

/* Notes that packets of `side` are missing before the packet of `step`. They may belong to this
 * connection, or to another one on the same link: the next CDC message of `side` decides
 * (smcr_timeline_settle_gap()). */
static void
take_gap(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    writer->missing_since = find_missing(step, side);
    writer->gap.is_last = !writer->gap.since.frame && is_last_gap(step, side);
    if (!writer->gap.since.frame) {
        writer->gap.since = writer->missing_since;
        writer->gap.consumed = writer->consumed_seen;
    }
    writer->gap.until.frame = 0;
    writer->gap_noticed = step->packet->when;
    doubt_wait(step, side);
    smcr_timeline_begin_missing_acks(step, side, writer->missing_since);
}

void
smcr_timeline_take_old_packet(const smcr_timeline_step_t *step)
{
    int side = step->packet->record->sender;

    take_gap(step, side);
    step->timeline->writer[side].gap.is_proven = true;
}

/* The gap itself stays open: smcr_timeline_settle_gap() ends it. */
void
smcr_timeline_add_gap(const smcr_timeline_step_t *step, int sender, int side, smcr_when_t end)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
    const smcr_timeline_gap_t *gap = &writer->gap;

    if (sender == side) {
        smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, gap->since,
                          gap->until.frame ? gap->until : end);
        return;
    }
    smcr_when_t known = gap->is_proven ? end : writer->gap_noticed;
    smcr_timeline_add(step, side, SMCR_INTERVAL_PEER_NOT_CAPTURED, gap->since, known);
    smcr_timeline_prolong_answer(step, side, gap->since, known);
}

/* Whether the writer waits for space, or has ended a wait for space after the event `since`. */
static bool
has_waited(const smcr_timeline_writer_t *writer, smcr_when_t since)
{
    return writer->wait.wait || writer->last_wait.end.frame > since.frame;
}

/* Whether the captured WRITEs have all bytes that the message newly announces. `view`: what the
 * message means, with `has_announced`. */
static bool
has_writes(const smcr_timeline_writer_t *writer, const smcr_record_cdc_t *view)
{
    return !writer->has_hole && view->announced <= writer->written;
}

/* Whether the writer's data have filled at most half of the buffer at any time since the gap began:
 * such a writer does not wait for space. What the reader has read since then does not count.
 * `view`: what the message after the gap means, with `has_announced`. */
static bool
filled_half_at_most(const smcr_timeline_writer_t *writer, const smcr_record_cdc_t *view)
{
    uint32_t unread = (uint32_t)view->announced - writer->gap.consumed;

    return !writer->unread.is_doubtful && unread <= view->size / 2;
}

/* Whether only CDC messages of the writer `side` can be missing in its gap, and no missing message
 * can have begun or ended a wait for space. `view`: what the message of `step` means; NULL: not
 * known.
 *
 * The message announces all data so far. No WRITE is missing if the captured WRITEs have all bytes
 * before this position. If the writer had much space all the time, it has not waited
 * (filled_half_at_most()). If the peer does not wait for space, a missing message cannot have ended
 * a wait of the peer. */
static bool
misses_only_messages(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_timeline_writer_t *peer = &step->timeline->writer[!side];
    bool has_positions = view && view->has_announced && view->size;

    if (!has_positions || has_waited(writer, writer->gap.since) ||
        has_waited(peer, writer->gap.since))
        return false;
    return has_writes(writer, view) && filled_half_at_most(writer, view);
}

/* The event after which it is known what both writers do, if only CDC messages of `side` are
 * missing in its gap: the acknowledgement of the missing packets, since a message may announce
 * data, which are under way until then. Without it: the first packet of `side` after the gap. */
static smcr_when_t
end_of_missing_messages(const smcr_timeline_step_t *step, int side)
{
    const smcr_timeline_gap_t *gap = &step->timeline->writer[side].gap;
    const smcr_interval_t *last_gap = gap->is_last ? step->packet->last_gap : NULL;

    if (last_gap && last_gap[side].end.frame)
        return last_gap[side].end;
    return gap->until.frame ? gap->until : step->packet->when;
}

/* Adds the time of a gap of `side` in which only CDC messages are missing. */
static void
add_missing_messages(const smcr_timeline_step_t *step, int side)
{
    smcr_when_t since = step->timeline->writer[side].gap.since;
    smcr_when_t end = end_of_missing_messages(step, side);

    smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, since, end);
    smcr_timeline_add(step, !side, SMCR_INTERVAL_PEER_NOT_CAPTURED, since, end);
}

/* Adds the time of a gap of `side`, in which WRITEs may be missing, to both directions. */
static void
add_missing_data(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_add_gap(step, side, side, step->packet->when);
    smcr_timeline_add_gap(step, side, !side, step->packet->when);
}

/* Notes a WRITE that is missing in the writer's gap, if the message announces bytes that no
 * captured WRITE has. `view`: what the message means; NULL: not known. From the start of the gap on
 * the writer may wait for an answer. The time of the WRITE is not known, so no answer is measured.
 * A captured WRITE after the start of the gap stays the last WRITE. */
static void
note_missing_write(smcr_timeline_writer_t *writer, const smcr_record_cdc_t *view)
{
    if (!view || !view->has_announced || has_writes(writer, view))
        return;
    writer->has_written = true;
    if (writer->last_write.frame > writer->gap.since.frame)
        return;
    writer->last_write = writer->gap.since;
    writer->last_write_is_late = false;
    writer->request_acked = NULL;
}

/* Takes in that a missing packet of the reader `side` may have freed space, if the peer of `side`
 * waits for space, or its wait has ended after the gap began: then the wait may have ended before.
 * If the message after the gap reports no more data as read than the messages before the gap, no
 * missing packet has freed space. `view`: what the message means; NULL: not known. */
static void
doubt_peer_wait(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *waiter = &step->timeline->writer[!side];
    smcr_when_t since = step->timeline->writer[side].gap.since;

    if (view && view->has_consumed && view->consumed <= waiter->unread.consumed)
        return;
    if (waiter->wait.wait && !waiter->wait.doubtful_since.frame)
        waiter->wait.doubtful_since = since;
    else if (!waiter->wait.wait && waiter->last_wait.end.frame > since.frame)
        smcr_timeline_add(step, !side, SMCR_INTERVAL_PEER_NOT_CAPTURED, since,
                          waiter->last_wait.end);
}

/* The gap is closed before smcr_timeline_confirm_answer() is called, which confirms no answer while
 * a gap is open. */
void
smcr_timeline_settle_gap(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool may_miss = writer->gap.has_unknown_message || writer->gap.is_proven;
    bool is_whole = view && view->has_announced_bytes && !may_miss &&
                    view->announced_bytes == writer->unannounced;

    if (writer->gap.since.frame && !is_whole) {
        if (misses_only_messages(step, side, view))
            add_missing_messages(step, side);
        else
            add_missing_data(step, side);
        doubt_peer_wait(step, side, view);
        note_missing_write(writer, view);
        writer->gap_counts = writer->gap_noticed.frame;
        smcr_timeline_drop_answers(step->timeline, side);
    }
    writer->gap = (smcr_timeline_gap_t){0};
    for (int asker = 0; asker < 2; asker++)
        smcr_timeline_confirm_answer(step, asker);
}

/* `last_known` is set for every packet in order, and `gap.until` only by the first one after the
 * gap. */
void
smcr_timeline_take_order(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (writer->gap.since.frame && !writer->gap.until.frame)
        writer->gap.until = step->packet->when;
    writer->last_known = step->packet->when;
    smcr_timeline_set_known(step, side, true);
}

/* A move to another link alone is no gap; the counts of gaps are those of the link, so they are
 * taken anew. */
void
smcr_timeline_look_for_gaps(const smcr_timeline_step_t *step)
{
    smcr_timeline_t *timeline = step->timeline;
    const smcr_link_t *link = step->packet->record->link;
    bool is_other_link = timeline->link[0] != link;

    for (int side = 0; side < 2; side++) {
        bool has_gap = !is_other_link && timeline->gaps[side] != step->packet->gap_count[side];
        if (has_gap || step->packet->may_miss_last[side])
            take_gap(step, side);
        if (is_other_link)
            timeline->writer[side].written_on_left = timeline->writer[side].written;
        timeline->gaps[side] = step->packet->gap_count[side];
        timeline->link[side] = link;
    }
}
