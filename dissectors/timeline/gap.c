/* Finds the gaps of the two writers, and adds the time that they make unknown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "gap.h"
#include "answer.h"
#include "transfer.h"

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

/* Notes that packets of `side` are missing before this packet. The missing packets may belong to
 * another connection on the same link. The next CDC message of `side` shows whether they do
 * (smcr_timeline_settle_gap()). */
static void
take_gap(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    smcr_when_t since = writer->last_seen.frame ? writer->last_seen : step->timeline->begun;

    if (!writer->gap.since.frame)
        writer->gap.since = since;
    writer->gap.until.frame = 0;
    writer->gap_noticed = step->packet->when;
    writer->wait.may_have_ended = writer->wait.freed.frame != 0;
    smcr_timeline_begin_missing_acks(step, side, since);
}

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
    smcr_timeline_add(step, side, SMCR_INTERVAL_PEER_NOT_CAPTURED, gap->since, writer->gap_noticed);
    smcr_timeline_prolong_answer(step, side, gap->since, writer->gap_noticed);
}

void
smcr_timeline_settle_gap(const smcr_timeline_step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_whole = view && view->has_announced_bytes && !writer->gap.has_unknown_message &&
                    view->announced_bytes == writer->unannounced;

    if (writer->gap.since.frame && !is_whole) {
        smcr_timeline_add_gap(step, side, side, step->packet->when);
        smcr_timeline_add_gap(step, side, !side, step->packet->when);
        writer->pending_answer = (smcr_interval_t){{0}, {0}};
    }
    writer->gap = (smcr_timeline_gap_t){0};
    smcr_timeline_confirm_answer(step, side);
}

void
smcr_timeline_take_order(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (writer->gap.since.frame && !writer->gap.until.frame)
        writer->gap.until = step->packet->when;
    writer->last_known = step->packet->when;
    smcr_timeline_set_known(step, side, true);
}

void
smcr_timeline_look_for_gaps(const smcr_timeline_step_t *step)
{
    smcr_timeline_t *timeline = step->timeline;
    const smcr_link_t *link = step->packet->record->link;
    bool is_other_link = timeline->link[0] != link;

    for (int side = 0; side < 2; side++) {
        bool has_gap = !is_other_link && timeline->gaps[side] != step->packet->gap_count[side];
        if (has_gap || step->packet->may_miss_last)
            take_gap(step, side);
        if (is_other_link)
            timeline->writer[side].written_on_left = timeline->writer[side].written;
        timeline->gaps[side] = step->packet->gap_count[side];
        timeline->link[side] = link;
    }
}
