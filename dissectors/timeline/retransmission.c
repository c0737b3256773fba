/* Adds the intervals of retransmissions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "retransmission.h"
#include "answer.h"

/* Time within which an acknowledgement certainly comes, nanoseconds: a writer that retransmits
 * after a longer wait has got none. It is half of the timeout, since the writer's timer may have
 * started with an earlier packet. */
#define LONG_WAIT (SMCR_TIMELINE_RETRANSMISSION_TIMEOUT / 2)

void
smcr_timeline_doubt_retransmissions(const smcr_timeline_step_t *step, int side,
                                    const smcr_interval_t *retransmitted)
{
    if (retransmitted->end.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT, retransmitted->begin,
                          retransmitted->end);
}

void
smcr_timeline_doubt_retransmissions_of_both(const smcr_timeline_step_t *step,
                                            const smcr_interval_t *retransmitted)
{
    for (int side = 0; side < 2; side++)
        smcr_timeline_doubt_retransmissions(step, side, retransmitted);
}

bool
smcr_timeline_shows_needless_retransmission(const smcr_timeline_writer_t *writer,
                                            const smcr_timeline_sent_t *sent)
{
    smcr_when_t last = writer->retransmitted.end;

    return last.frame && sent->when.frame < last.frame &&
           smcr_psn_distance(writer->retransmitted_psn, sent->psn) > 0;
}

/* Whether the packet of `record` fills a sequence gap, its sender has stepped back, and the
 * timeline has noticed a gap of this writer. Such a packet counts as a retransmission. */
static bool
fills_noticed_gap(const smcr_timeline_writer_t *writer, const smcr_record_t *record)
{
    return writer->gap_noticed.frame && smcr_record_fills_gap_again(record);
}

/* Frame and time of the first transmission of the packet of `record`, or of the packet in flight
 * before it if only that one is kept (smcr_timeline_find_sent()). Frame 0: the packet is no
 * retransmission, or the time is not known.
 *
 * If such a packet is in flight, notes there that it was retransmitted. If there is none, the
 * last acknowledgement of the writer's packets takes its place (`last_acked`), but not for a
 * packet that was acknowledged before: no side waits for it.
 *
 * A packet out of order counts as a retransmission only if its sender has stepped back. Otherwise
 * the network has only changed the order of packets. If the first transmission of such a packet is
 * missing, the time of the packet after the gap (`gap_noticed`) is returned. */
static smcr_when_t
find_first_transmission(const smcr_timeline_writer_t *writer, const smcr_record_t *record)
{
    bool fills_gap = fills_noticed_gap(writer, record);

    if (record->order != SMCR_FLOW_IS_RETRANSMISSION && !fills_gap)
        return (smcr_when_t){0, 0};
    smcr_timeline_sent_t *sent = smcr_timeline_find_sent(writer, record->first_frame);
    if (sent) {
        sent->is_retransmitted = true;
        return sent->when;
    }
    if (fills_gap)
        return writer->gap_noticed;
    return record->was_acked ? (smcr_when_t){0, 0} : writer->last_acked;
}

/* Adds the time that a missing first transmission makes unknown. The packet of `step` is a
 * retransmission whose first transmission is missing: it may have been sent at any time since the
 * last captured packet of its sender. */
static void
take_missing_first(const smcr_timeline_step_t *step)
{
    int side = step->packet->record->sender;
    smcr_when_t seen = step->timeline->writer[side].last_seen;
    smcr_when_t since = seen.frame ? seen : step->timeline->begun;

    smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, since, step->packet->when);
    smcr_timeline_add(step, !side, SMCR_INTERVAL_PEER_NOT_CAPTURED, since, step->packet->when);
    smcr_timeline_prolong_answer(step, !side, since, step->packet->when);
}

/* Whether the writer certainly had no acknowledgement of the packet of `step` when it retransmitted
 * the packet. Two facts prove this: 1. a NAK since `first`, the first transmission, which shows
 * that the receiver missed the packet; 2. a wait longer than acknowledgements take, if the capture
 * has acknowledgements. They prove nothing if the receiver may have had the packet. */
static bool
was_needed(const smcr_timeline_step_t *step, smcr_when_t first)
{
    const smcr_step_back_t *back = step->packet->record->step;
    smcr_interval_t waited = {first, step->packet->when};
    int sender = step->packet->record->sender;

    if (smcr_record_may_be_needless(step->packet->record))
        return false;
    if (back && back->nak.frame > first.frame)
        return true;
    return smcr_interval_length(waited) > LONG_WAIT &&
           smcr_timeline_hears_acks(step->timeline, sender);
}

/* Extends the interval `*retransmitted` by the retransmission from `first` to `when`. */
static void
prolong_retransmissions(smcr_interval_t *retransmitted, smcr_when_t first, smcr_when_t when)
{
    if (!retransmitted->end.frame || first.time < retransmitted->begin.time)
        retransmitted->begin = first;
    retransmitted->end = when;
}

/* Whether an acknowledgement may be missing that covered the packet of `step` before: then no side
 * waited for its retransmission. `first`: first transmission of the packet. There are four cases:
 * 1. the acknowledgement may be missing in a gap that has already come: the first transmission came
 * before the end of this gap; 2. the capture has no acknowledgements; 3. the writer has
 * retransmitted an acknowledged packet in the same step back: acknowledgements were under way when
 * its timer ran out, and the next one may be missing; 4. the receiver has answered some of the
 * retransmissions as needless ones. */
static bool
may_miss_ack(const smcr_timeline_step_t *step, smcr_when_t first)
{
    int sender = step->packet->record->sender;
    const smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
    smcr_when_t noticed = step->timeline->writer[!sender].gap_noticed;
    const smcr_step_back_t *back = step->packet->record->step;
    bool is_in_gap = writer->acks_missing.frame && first.time < noticed.time;
    bool is_after_needless = back && back == writer->needless_step;

    if (smcr_record_may_be_needless(step->packet->record))
        return true;
    return is_in_gap || is_after_needless || !smcr_timeline_hears_acks(step->timeline, sender);
}

/* Notes how certain the retransmission with the packet of `step` is. `first`: first transmission of
 * the packet. An acknowledgement that covered the packet before may also be missing in a gap that
 * shows later (`retransmitted_unheard`). */
static void
note_retransmission(const smcr_timeline_step_t *step, smcr_when_t first)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[step->packet->record->sender];
    smcr_when_t when = step->packet->when;
    bool is_proven = was_needed(step, first);
    bool is_in_doubt = !is_proven && may_miss_ack(step, first);

    for (int side = 0; side < 2; side++) {
        if (is_proven)
            smcr_timeline_add(step, side, SMCR_INTERVAL_RETRANSMISSION_PROVEN, first, when);
        if (is_in_doubt)
            smcr_timeline_add(step, side, SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT, first, when);
    }
    writer->retransmitted_psn = step->packet->roce->psn;
    if (is_proven)
        return;
    prolong_retransmissions(&writer->retransmitted, first, when);
    prolong_retransmissions(&writer->retransmitted_unheard, first, when);
}

/* The intervals of a retransmission begin with the first transmission. If its time is not known,
 * they are not added. No side waits for a retransmission that the receiver did not need. */
void
smcr_timeline_take_retransmission(const smcr_timeline_step_t *step)
{
    const smcr_record_t *record = step->packet->record;
    int side = record->sender;

    if (smcr_record_misses_first(record))
        take_missing_first(step);
    if (record->was_acked)
        step->timeline->writer[side].needless_step = record->step;
    smcr_when_t first = find_first_transmission(&step->timeline->writer[side], record);

    if (!first.frame)
        return;
    if (smcr_record_was_needless(record)) {
        smcr_timeline_add(step, side, SMCR_INTERVAL_NEEDLESS, first, step->packet->when);
        return;
    }
    note_retransmission(step, first);
    smcr_timeline_add(step, side, SMCR_INTERVAL_RETRANSMISSION, first, step->packet->when);
    smcr_timeline_add(step, !side, SMCR_INTERVAL_PEER_RETRANSMISSION, first, step->packet->when);
    smcr_timeline_prolong_answer(step, !side, first, step->packet->when);
}
