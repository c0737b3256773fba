/* Keeps the packets in flight of a writer: a list, with the oldest packet first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "in_flight.h"

/* The search for an acknowledged packet ends after this number of packets in flight without an
 * acknowledgement. Acknowledgements come in order, so later packets probably have none either. Two
 * kinds of packets are not counted: 1. a packet after a sequence gap; 2. a packet whose `acked` is
 * NULL. */
#define LOOKED_AT 64

/* `end` points to the last `next`, so packets stay in the order of sending. */
void
smcr_timeline_add_sent(const smcr_timeline_step_t *step, smcr_timeline_sent_t packet)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[step->packet->record->sender];

    if (!writer->oldest)
        writer->end = &writer->oldest;
    smcr_timeline_sent_t *sent = *writer->end = wmem_new(step->scope, smcr_timeline_sent_t);
    *sent = packet;
    sent->next = NULL;
    writer->end = &sent->next;
    writer->in_flight++;
}

/* `end` must stay the place of the next packet, also if the last one is removed. */
void
smcr_timeline_remove_sent(const smcr_timeline_step_t *step, smcr_timeline_writer_t *writer,
                          smcr_timeline_sent_t **at)
{
    smcr_timeline_sent_t *gone = *at;

    *at = gone->next;
    if (!*at)
        writer->end = at;
    writer->in_flight--;
    wmem_free(step->scope, gone);
}

/* After LOOKED_AT packets without an acknowledgement before `frame`, no later packet is expected to
 * have one. */
const smcr_timeline_sent_t *
smcr_timeline_find_acked(const smcr_timeline_writer_t *writer, uint32_t frame)
{
    unsigned looked_at = 0;

    for (const smcr_timeline_sent_t *sent = writer->oldest; sent && looked_at < LOOKED_AT;
         sent = sent->next) {
        if (smcr_timeline_ack_before(sent->acked, frame))
            return sent;
        looked_at += sent->acked != NULL && !sent->is_after_gap;
    }
    return NULL;
}

/* The list is in the order of frames, so the search ends at the first later one. */
smcr_timeline_sent_t *
smcr_timeline_find_sent(const smcr_timeline_writer_t *writer, uint32_t frame)
{
    smcr_timeline_sent_t *found = NULL;

    for (smcr_timeline_sent_t *at = writer->oldest; at && at->when.frame <= frame; at = at->next)
        found = at;
    return found;
}

void
smcr_timeline_note_rewritten(const smcr_timeline_step_t *step, uint64_t position)
{
    const smcr_record_t *record = step->packet->record;
    smcr_timeline_sent_t *sent = step->timeline->writer[record->sender].oldest;

    for (; sent && sent->link != record->link; sent = sent->next)
        if (sent->end > position)
            sent->rewritten = step->packet->when;
}

/* Ends of data grow in the order of sending, but after a move to another link the writer writes
 * earlier data once more. */
void
smcr_timeline_note_read(const smcr_timeline_step_t *step, int side, uint64_t consumed)
{
    smcr_timeline_sent_t *sent = step->timeline->writer[side].oldest;

    for (; sent && (sent->end <= consumed || sent->rewritten.frame); sent = sent->next) {
        bool is_read = sent->end && sent->end <= consumed;
        if (is_read && !sent->read.frame)
            sent->read = step->packet->when;
    }
}
