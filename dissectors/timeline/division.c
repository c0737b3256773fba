/* Divides the time of a direction: makes a copy of its intervals, adds the intervals that have not
 * ended yet to the copy, and takes into account which packets may be missing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "division.h"
#include "answer.h"
#include "gap.h"
#include "retransmission.h"
#include "transfer.h"

/* The event up to which the open wait of the writer `side` for space is certain: the end of the
 * divided time. If there is a doubt (`missing.doubt`), an update may be missing after the reader's
 * last packet, so the wait is certain only up to this packet. */
static smcr_when_t
end_of_certain_wait(const smcr_timeline_t *timeline, int side,
                    const smcr_timeline_question_t *question)
{
    smcr_when_t last = timeline->writer[!side].last_seen, end = question->span.end;

    return question->missing.doubt && last.time < end.time ? last : end;
}

/* The event up to which unread data of the writer `side` are certain: the last packet of the
 * reader's host, if the open wait for space is certain for longer. Later the host may be down, or
 * its path, and its program may have read. `certain`: end_of_certain_wait(). */
static smcr_when_t
end_of_certain_unread(const smcr_timeline_question_t *question, int side, smcr_when_t certain)
{
    smcr_when_t heard = question->missing.heard[!side];

    return heard.frame && heard.time < certain.time ? heard : certain;
}

/* Whether the gap of the writer came after the writer had closed (`closed`, as in
 * smcr_timeline_missing_t), and the writer does not wait for space. */
static bool
is_after_close(const smcr_timeline_writer_t *writer, uint32_t closed)
{
    return closed && writer->gap.since.frame >= closed && !writer->wait.wait;
}

/* The event since which packets of `sender` may be missing at the end of the divided time. */
static smcr_when_t
missing_since(const smcr_timeline_t *timeline, int sender,
              const smcr_timeline_question_t *question)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[sender];
    smcr_when_t known = writer->last_known.frame ? writer->last_known : timeline->begun;
    smcr_when_t since = question->missing.since[sender];

    return since.frame <= known.frame || since.time <= known.time ? known : since;
}

/* Adds the time in which the writer `side` may wait for an answer that is missing at the end of the
 * divided time: since its last WRITE. `step`, `question`: as for add_open_gaps(). */
static void
add_open_answer(const smcr_timeline_step_t *step, int side,
                const smcr_timeline_question_t *question)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (writer->has_written && question->missing.answer[!side])
        smcr_timeline_add(step, side, SMCR_INTERVAL_MAYBE_ANSWER, writer->last_write,
                          question->span.end);
}

/* Adds to the intervals of the writer `side` the times at the end of the divided time in which
 * packets of `sender`, or acknowledgements of its retransmissions, may be missing. `step`,
 * `question`: as for add_open_gaps(). */
static void
add_open_gap(const smcr_timeline_step_t *step, int side, int sender,
             const smcr_timeline_question_t *question)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
    smcr_when_t since = missing_since(step->timeline, sender, question);
    smcr_interval_kind_t kind =
        sender == side ? SMCR_INTERVAL_NOT_CAPTURED : SMCR_INTERVAL_PEER_NOT_CAPTURED;

    if (writer->gap.since.frame && !is_after_close(writer, question->missing.closed[sender]))
        smcr_timeline_add_gap(step, sender, side, question->span.end);
    if (question->missing.acks[!sender]) {
        smcr_timeline_doubt_retransmissions(step, side, &writer->retransmitted);
        smcr_timeline_doubt_retransmissions(step, side, &writer->retransmitted_unheard);
    }
    if (question->missing.last[sender])
        smcr_timeline_add(step, side, kind, since, question->span.end);
}

/* Adds intervals of missing packets at the end of the divided time (`span` of `question`) to the
 * timeline of `step`, which is a copy. There are four cases: 1. gaps after which no message has
 * come; 2. packets that may be missing after the last packet of a sender; 3. acknowledgements that
 * may be missing at the end; 4. an answer to the writer that may be missing. */
static void
add_open_gaps(const smcr_timeline_step_t *step, int side, const smcr_timeline_question_t *question)
{
    for (int sender = 0; sender < 2; sender++)
        add_open_gap(step, side, sender, question);
    const smcr_when_t *last_acked = &step->timeline->writer[side].last_acked;
    if (question->missing.acks[!side])
        smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT,
                          last_acked->frame ? *last_acked : step->timeline->begun,
                          question->span.end);
    add_open_answer(step, side, question);
}

/* Adds the intervals in which the packet `sent`, which nothing has acknowledged up to `end`, was
 * under way. */
static void
add_open_transfer(const smcr_timeline_step_t *step, int side, const smcr_timeline_sent_t *sent,
                  smcr_when_t end)
{
    smcr_timeline_look_for_missing_ack(step, sent, NULL, end);
    if (sent->is_data && (sent->read.frame || sent->rewritten.frame))
        smcr_timeline_add_transfer_without_ack(step, side, sent, end);
    else if (sent->is_data)
        smcr_timeline_add_transfer(step, side, sent, end, false);
}

/* Adds the open intervals of the receive buffer to the writer `side`. `certain`: event up to which
 * an open wait for space is certain. */
static void
add_open_buffer(const smcr_timeline_step_t *step, int side, smcr_when_t certain,
                const smcr_timeline_question_t *question)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (writer->wait.wait)
        smcr_timeline_add(step, side, SMCR_INTERVAL_FULL, writer->wait.begun, certain);
    if (writer->wait.doubtful_since.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_PEER_NOT_CAPTURED, writer->wait.doubtful_since,
                          certain);
    if (writer->wait.freed.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_FREED, writer->wait.freed, certain);
    if (writer->unread.since.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_UNREAD, writer->unread.since,
                          end_of_certain_unread(question, side, certain));
    if (writer->unread.is_doubtful)
        smcr_timeline_add(step, side, SMCR_INTERVAL_MAYBE_UNREAD, writer->unread.doubtful_since,
                          question->span.end);
}

/* Adds to a copy of the timeline the intervals that have begun, and have not ended at the end of
 * the divided time (`span` of `question`). */
static void
add_open(smcr_timeline_t *copy, int side, const smcr_timeline_question_t *question)
{
    smcr_timeline_writer_t *writer = &copy->writer[side];
    smcr_timeline_step_t step = {copy, NULL, NULL, NULL};
    smcr_when_t end = question->span.end;

    add_open_gaps(&step, side, question);
    smcr_timeline_end_missing_acks(&step, side, end);
    add_open_buffer(&step, side, end_of_certain_wait(copy, side, question), question);
    if (writer->unknown_since.frame)
        smcr_timeline_add(&step, side, SMCR_INTERVAL_NOT_CAPTURED, writer->unknown_since, end);
    if (!smcr_timeline_knows_arrival(copy, side))
        smcr_timeline_add(&step, side, SMCR_INTERVAL_NOT_CAPTURED, copy->begun, end);
    if (!smcr_timeline_hears_acks(copy, side))
        smcr_timeline_add(&step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, copy->begun, end);
    for (const smcr_timeline_sent_t *sent = writer->oldest; sent; sent = sent->next)
        add_open_transfer(&step, side, sent, end);
}

/* Called only if there is a doubt: charges all time that is not proven to
 * SMCR_INTERVAL_IS_UNKNOWN. Only one part can be proven, SMCR_INTERVAL_IS_FULL_READER: captured
 * packets show that the reader's program had data and did not read them. If the capture is out of
 * order by 10 ms or more, even this part is not proven. */
static void
keep_what_is_proven(uint64_t *share, smcr_timeline_doubt_t doubt)
{
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++) {
        bool is_proven = part == SMCR_INTERVAL_IS_FULL_READER && doubt == SMCR_TIMELINE_MISSES_MORE;
        if (is_proven || part == SMCR_INTERVAL_IS_UNKNOWN)
            continue;
        share[SMCR_INTERVAL_IS_UNKNOWN] += share[part];
        share[part] = 0;
    }
}

/* Removes from the division what is not proven: longest stretches, and the part `filling`. Called
 * only if there is a doubt. */
static void
keep_proven_stretches(smcr_interval_division_t *division, smcr_timeline_doubt_t doubt)
{
    if (doubt != SMCR_TIMELINE_MISSES_MORE)
        division->longest_reader = (smcr_interval_t){{0}, {0}};
    division->longest_full = division->longest_reader;
    division->longest_retransmission = (smcr_interval_t){{0}, {0}};
    division->filling = 0;
}

/* Charges SMCR_INTERVAL_IS_MAYBE_TRANSFER to another part. The packets of this time have no
 * acknowledgement of their own. If acknowledgements may be missing (`misses_acks`), the time is
 * unknown. Otherwise the receiver has acknowledged several packets at once, and the time is a
 * transfer. */
static void
divide_maybe_transfer(uint64_t *share, bool misses_acks)
{
    share[misses_acks ? SMCR_INTERVAL_IS_UNKNOWN : SMCR_INTERVAL_IS_TRANSFER] +=
        share[SMCR_INTERVAL_IS_MAYBE_TRANSFER];
    share[SMCR_INTERVAL_IS_MAYBE_TRANSFER] = 0;
}

/* Charges the time before the first packet, in which the buffer was full of unread data, to the
 * reader's program. This time has no interval, so it was divided as idle time. A report of a host
 * that contradicts the capture takes no more than the idle time. Begin frame 0: it is not known
 * that the buffer was full. */
static void
charge_reported(smcr_interval_division_t *division, smcr_interval_t full)
{
    uint64_t time = MIN(division->share[SMCR_INTERVAL_IS_NOTHING], smcr_interval_length(full));

    if (!full.begin.frame)
        return;
    division->share[SMCR_INTERVAL_IS_NOTHING] -= time;
    division->share[SMCR_INTERVAL_IS_FULL_READER] += time;
    if (time > smcr_interval_length(division->longest_reader))
        division->longest_reader = full;
    if (time > smcr_interval_length(division->longest_full))
        division->longest_full = full;
}

/* Whether the first data of the writer may be missing. `misses_last`: packets of the writer after
 * its last captured packet may be missing. */
static bool
misses_first(const smcr_timeline_writer_t *writer, bool misses_last)
{
    return writer->misses_first || (misses_last && !writer->last_known.frame);
}

/* Charges idle time before the first packet to SMCR_INTERVAL_IS_UNKNOWN. Called if the first data
 * of the writer may be missing, which may have been sent in this time. `time`: length of the time
 * before the first packet, nanoseconds. */
static void
doubt_beginning(uint64_t *share, uint64_t time)
{
    uint64_t unknown = MIN(share[SMCR_INTERVAL_IS_NOTHING], time);

    share[SMCR_INTERVAL_IS_NOTHING] -= unknown;
    share[SMCR_INTERVAL_IS_UNKNOWN] += unknown;
}

/* Copies the lists of intervals; the settled pieces are shared. The copy is allocated without a
 * pool: intervals are added to it with NULL as scope, and free_copy() frees it. */
static smcr_intervals_t
copy_intervals(const smcr_intervals_t *intervals)
{
    smcr_intervals_t copy = *intervals;

    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++) {
        smcr_interval_list_t *list = &copy.list[kind];
        size_t size = list->room * sizeof *list->entries;
        smcr_interval_t *entries = size ? wmem_alloc(NULL, size) : NULL;
        if (entries && list->length)
            memcpy(entries, list->entries, list->length * sizeof *entries);
        list->entries = entries;
    }
    return copy;
}

/* Frees a copy that copy_intervals() has made. */
static void
free_copy(smcr_intervals_t *copy)
{
    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
        wmem_free(NULL, copy->list[kind].entries);
}

/* Works on a copy, to which open intervals are added. Doubts come last: they charge time that the
 * packets have charged to other parts to SMCR_INTERVAL_IS_UNKNOWN. */
smcr_timeline_direction_t
smcr_timeline_divide(const smcr_timeline_t *timeline, int side,
                     const smcr_timeline_question_t *question)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[side];
    smcr_interval_t before = {question->span.begin, timeline->begun};
    smcr_timeline_t copy = *timeline;

    copy.writer[side].intervals = copy_intervals(&writer->intervals);
    add_open(&copy, side, question);
    smcr_timeline_direction_t found = {
        smcr_intervals_divide(&copy.writer[side].intervals, question->span),
        writer->longest_answer, writer->longest_request, writer->latest_message};
    divide_maybe_transfer(found.division.share, copy.misses_acks);
    charge_reported(&found.division, (smcr_interval_t){question->full_since, timeline->begun});
    if (question->missing.doubt) {
        keep_what_is_proven(found.division.share, question->missing.doubt);
        keep_proven_stretches(&found.division, question->missing.doubt);
    } else if (misses_first(writer, question->missing.last[side])) {
        doubt_beginning(found.division.share, smcr_interval_length(before));
    }
    free_copy(&copy.writer[side].intervals);
    return found;
}

/* The event since which the reader has certainly not read, though its program has data to read, and
 * its host knows of the writer's wait for space: the acknowledgement of the message that filled the
 * buffer. Frame 0: there is none, or the reader may have read since then: an update has freed
 * space, or it is not known what the reader has read. */
static smcr_when_t
stopped_reading(const smcr_timeline_writer_t *writer)
{
    const smcr_timeline_wait_t *wait = &writer->wait;
    const smcr_ack_t *filled = smcr_timeline_ack_before(wait->filled, UINT32_MAX);
    bool may_read = wait->freed.frame || wait->may_have_ended || writer->unread.is_doubtful;

    if (!filled || may_read || !writer->unread.since.frame)
        return (smcr_when_t){0, 0};
    return smcr_ack_when(filled);
}

/* While a gap of either side is open, the result has no wait, since a missing packet may have ended
 * it. */
smcr_timeline_open_t
smcr_timeline_open(const smcr_timeline_t *timeline, int side)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[side];
    const smcr_timeline_writer_t *reader = &timeline->writer[!side];
    smcr_timeline_open_t open = {{0, 0}, {0, 0}};

    if (writer->gap.since.frame || reader->gap.since.frame)
        return open;
    if (writer->wait.wait)
        open.unread = stopped_reading(writer);
    else
        open.asked = smcr_timeline_open_request(timeline, side);
    return open;
}

/* What adapt_piece() needs of the timeline and of the question. */
typedef struct {
    const smcr_timeline_pieces_t *pieces; /* receiver of the pieces */
    smcr_timeline_doubt_t doubt; /* reason to doubt the whole division */
    smcr_when_t begun; /* first packet of the connection */
    smcr_when_t full_since; /* as in smcr_timeline_question_t */
    bool misses_acks; /* acknowledgements may be missing */
    bool misses_first; /* the first data of the writer may be missing */
} adapter_t;

/* Charges the part of the piece in which the buffer was full of unread data to the reader's
 * program, as charge_reported() does for the whole time. `full`: time in which the buffer was full,
 * before the first packet. */
static void
charge_reported_in(smcr_interval_piece_t *piece, smcr_interval_t full)
{
    smcr_interval_t overlap = {
        piece->interval.begin.time > full.begin.time ? piece->interval.begin : full.begin,
        piece->interval.end.time < full.end.time ? piece->interval.end : full.end};
    uint64_t time = MIN(piece->share[SMCR_INTERVAL_IS_NOTHING], smcr_interval_length(overlap));

    if (!full.begin.frame)
        return;
    piece->share[SMCR_INTERVAL_IS_NOTHING] -= time;
    piece->share[SMCR_INTERVAL_IS_FULL_READER] += time;
}

/* Callback for a piece: changes the shares of the piece as smcr_timeline_divide() changes those of
 * the whole time, and passes the piece on. `data`: an adapter_t. */
static void
adapt_piece(void *data, const smcr_interval_piece_t *piece)
{
    const adapter_t *adapter = data;
    smcr_interval_piece_t adapted = *piece;
    smcr_interval_t before = {piece->interval.begin, adapter->begun};

    divide_maybe_transfer(adapted.share, adapter->misses_acks);
    charge_reported_in(&adapted, (smcr_interval_t){adapter->full_since, adapter->begun});
    if (adapter->doubt)
        keep_what_is_proven(adapted.share, adapter->doubt);
    else if (adapter->misses_first)
        doubt_beginning(adapted.share, smcr_interval_length(before));
    adapter->pieces->take(adapter->pieces->data, &adapted);
}

/* Has to divide as smcr_timeline_divide() does: page and report show the same times. */
void
smcr_timeline_each_piece(const smcr_timeline_t *timeline, int side,
                         const smcr_timeline_question_t *question,
                         const smcr_timeline_pieces_t *pieces)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[side];
    smcr_timeline_t copy = *timeline;

    copy.writer[side].intervals = copy_intervals(&writer->intervals);
    add_open(&copy, side, question);
    adapter_t adapter = {pieces, question->missing.doubt, timeline->begun, question->full_since,
                         copy.misses_acks, misses_first(writer, question->missing.last[side])};
    smcr_intervals_each_piece(&copy.writer[side].intervals, question->span, adapt_piece, &adapter);
    free_copy(&copy.writer[side].intervals);
}
