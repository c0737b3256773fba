/* Finds out which WRITE of a peer answers which request.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "answer.h"

/* A writer that has written nothing has asked for nothing. */
void
smcr_timeline_prolong_answer(const smcr_timeline_step_t *step, int asker, smcr_when_t since,
                             smcr_when_t until)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[asker];
    bool asks_later = writer->last_write.time > since.time && writer->last_write.time < until.time;

    if (writer->has_written)
        smcr_timeline_add(step, asker, SMCR_INTERVAL_ANSWER,
                          asks_later ? writer->last_write : since, until);
}

/* Whether the peer of the asker has an open gap (smcr_timeline_settle_gap()) that began before the
 * pending answer: an earlier answer may be missing. */
static bool
has_gap_before_answer(const smcr_timeline_t *timeline, int asker)
{
    uint32_t since = timeline->writer[!asker].gap.since.frame;

    return since && since < timeline->writer[asker].pending_answer.end.frame;
}

void
smcr_timeline_drop_answers(smcr_timeline_t *timeline, int side)
{
    timeline->writer[side].pending_answer = (smcr_interval_t){{0}, {0}};
    if (has_gap_before_answer(timeline, !side))
        timeline->writer[!side].pending_answer = (smcr_interval_t){{0}, {0}};
}

/* An answer is counted once, and is forgotten then. */
void
smcr_timeline_confirm_answer(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *asker = &step->timeline->writer[side];
    smcr_interval_t answer = asker->pending_answer;
    uint64_t lasted = smcr_interval_length(answer);
    bool sends = step->packet->record->sender == side;
    bool has_sent = sends || asker->last_seen.frame > answer.end.frame;
    bool has_gap = asker->gap.since.frame || has_gap_before_answer(step->timeline, side);

    if (!answer.end.frame || !has_sent || has_gap)
        return;
    if (step->sink)
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_ANSWER, lasted);
    if (lasted > smcr_interval_length(asker->longest_answer)) {
        asker->longest_answer = answer;
        asker->longest_request = asker->pending_request;
    }
    asker->pending_answer = (smcr_interval_t){{0}, {0}};
}

/* Whether `answerer` has sent no WRITE since the request of `asker`, and no packet of either side
 * is known to be missing since then. So its next WRITE answers the request, unless packets of the
 * connection are missing in a gap that is still open (smcr_timeline_settle_gap()). False if `asker`
 * waits for space, since its request may not be finished then. */
static bool
owes_answer(const smcr_timeline_writer_t *asker, const smcr_timeline_writer_t *answerer)
{
    uint32_t asked = asker->last_write.frame;

    return asked && answerer->last_write.frame < asked && !asker->wait.wait &&
           asker->gap_counts < asked && answerer->gap_counts < asked;
}

/* Whether the answerer waits for space, or waited for space after the frame `asked`, in which its
 * host acknowledged a request. Then its next WRITE has data that its program had written before:
 * it is no answer, and the asker's program, which reads nothing, delays the answer itself. If the
 * size of the buffer is not known, the flag "writer blocked" shows the wait. */
static bool
is_held_up(const smcr_timeline_writer_t *answerer, uint32_t asked)
{
    return answerer->reports_blocked || answerer->wait.wait ||
           answerer->last_wait.end.frame > asked;
}

/* At most one answer is pending: a later one replaces it. */
void
smcr_timeline_take_answer(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *asker = &step->timeline->writer[!side];
    const smcr_timeline_writer_t *answerer = &step->timeline->writer[side];
    smcr_when_t when = step->packet->when;
    const smcr_ack_t *acked = smcr_timeline_ack_before(asker->request_acked, when.frame);

    if (!asker->has_written)
        return;
    smcr_timeline_add(step, !side, SMCR_INTERVAL_ANSWER, asker->last_write, when);
    if (!acked || !owes_answer(asker, answerer) || is_held_up(answerer, acked->frame))
        return;
    asker->pending_answer = (smcr_interval_t){smcr_ack_when(acked), when};
    asker->pending_request = asker->last_write;
}

/* Does not change the timeline. In doubt, the result has frame 0. */
smcr_when_t
smcr_timeline_open_request(const smcr_timeline_t *timeline, int asker)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[asker];
    const smcr_timeline_writer_t *answerer = &timeline->writer[!asker];
    const smcr_ack_t *acked = smcr_timeline_ack_before(writer->request_acked, UINT32_MAX);

    if (!acked || !writer->has_written || !owes_answer(writer, answerer))
        return (smcr_when_t){0, 0};
    if (is_held_up(answerer, acked->frame))
        return (smcr_when_t){0, 0};
    return smcr_ack_when(acked);
}
