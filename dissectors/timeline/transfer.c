/* Takes in acknowledgements of packets in flight, and adds the intervals of their transfers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "transfer.h"
#include "buffer.h"
#include "retransmission.h"

/* A lost or deleted link may explain a packet that was not retransmitted. */
void
smcr_timeline_look_for_missing_ack(const smcr_timeline_step_t *step,
                                   const smcr_timeline_sent_t *sent, const smcr_ack_t *ack,
                                   smcr_when_t end)
{
    bool is_named = ack && ack->psn == sent->psn;
    bool is_link_lost = sent->link->lost_frame || sent->link->deleted_frame;
    uint64_t time = smcr_interval_length((smcr_interval_t){sent->when, end});
    bool is_late = time > SMCR_TIMELINE_RETRANSMISSION_TIMEOUT;
    bool is_overdue = sent->acked && !sent->is_retransmitted && is_late;

    if (is_overdue && !is_named && !is_link_lost)
        step->timeline->misses_acks = true;
}

/* The earliest begin counts: a second gap does not move `acks_missing`. */
void
smcr_timeline_begin_missing_acks(const smcr_timeline_step_t *step, int sender, smcr_when_t since)
{
    smcr_timeline_t *timeline = step->timeline;
    smcr_when_t *acks_missing = &timeline->writer[!sender].acks_missing;

    if (!step->packet->may_miss_last[sender]) { /* a move is no gap of its own */
        timeline->misses_acks |=
            timeline->last_gap.frame && since.frame >= timeline->last_gap.frame;
        timeline->last_gap = step->packet->when;
    }
    smcr_timeline_doubt_retransmissions_of_both(step,
                                                &timeline->writer[!sender].retransmitted_unheard);
    timeline->writer[!sender].acks_complete_from = step->packet->when;
    if (!acks_missing->frame)
        *acks_missing = since;
}

/* Whether a packet with data in flight was sent before `frame`. Other packets do not matter: no
 * data are under way with them. A failover validation is in flight up to the next acknowledgement
 * of the writer's packets, which may come much later. */
static bool
has_data_in_flight(const smcr_timeline_writer_t *writer, uint32_t frame)
{
    const smcr_timeline_sent_t *sent = writer->oldest;

    while (sent && !sent->is_data)
        sent = sent->next;
    return sent && sent->when.frame < frame;
}

/* `acks_missing.frame` 0 means that none are missing, so it is cleared in any case. */
void
smcr_timeline_end_missing_acks(const smcr_timeline_step_t *step, int side, smcr_when_t end)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool was_sent_before = has_data_in_flight(writer, writer->acks_complete_from.frame);

    if (writer->acks_missing.frame)
        smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, writer->acks_missing,
                          was_sent_before ? end : writer->acks_complete_from);
    writer->acks_missing.frame = 0;
}

/* The intervals adjoin: no time of the packet is missing, and none counts twice. */
void
smcr_timeline_add_transfer(const smcr_timeline_step_t *step, int side,
                           const smcr_timeline_sent_t *sent, smcr_when_t end, bool names_packet)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_later = writer->last_acked.time > sent->when.time;
    bool was_under_way = is_later && writer->last_acked_link == sent->link;
    smcr_when_t certain = was_under_way ? writer->last_acked : sent->when;

    if (names_packet || certain.time > end.time)
        certain = end;
    if (sent->may_be_no_data) {
        certain = sent->when;
        smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, sent->when, end);
    }
    smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER, sent->when, certain);
    smcr_timeline_add(step, side, SMCR_INTERVAL_MAYBE_TRANSFER, certain, end);
}

/* The transfer is certain up to the previous acknowledgement, and in doubt afterwards. If the
 * writer has written the data once more, the transfer of this packet is certain up to the packet
 * that did so; from then on, the transfer of that packet counts. */
void
smcr_timeline_add_transfer_without_ack(const smcr_timeline_step_t *step, int side,
                                       const smcr_timeline_sent_t *sent, smcr_when_t end)
{
    if (sent->rewritten.frame) {
        smcr_timeline_add_transfer(step, side, sent, sent->rewritten, true);
        return;
    }
    if (sent->read.frame && sent->read.time < end.time)
        end = sent->read;
    smcr_timeline_add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, sent->when, end);
    smcr_timeline_add_transfer(step, side, sent, end, false);
}

/* Takes the sample SMCR_TIMELINE_ACK: the time from the packet `sent` to its acknowledgement at
 * `when`. Only if this acknowledgement is the first one that covers the packet, and the packet ends
 * a request and was not retransmitted. */
static void
measure_ack(const smcr_timeline_step_t *step, int side, const smcr_timeline_sent_t *sent,
            smcr_when_t when)
{
    const smcr_ack_t *first = smcr_timeline_ack_before(sent->acked, when.frame + 1);
    bool is_measured = first && first->frame == when.frame && when.time >= sent->when.time;

    if (is_measured && sent->ends_request && !sent->is_retransmitted)
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_ACK, when.time - sent->when.time);
}

/* Whether the packet `sent` is on a link that the connection had left before the packet `acked` was
 * sent. Then the acknowledgement of `acked` also shows that the data of `sent` have arrived: after
 * a move the writer first writes data once more that was not acknowledged on the old link (RFC
 * 7609, 4.6.1). */
static bool
was_left_on_old_link(const smcr_timeline_sent_t *sent, const smcr_timeline_sent_t *acked)
{
    return sent->link != acked->link && sent->when.frame < acked->when.frame;
}

/* Whether the acknowledgement, which came on `link`, covers the packet: the state has found this,
 * or the packet was sent on the same link, and has the PSN that the acknowledgement names, or an
 * earlier one. If the capture misses more than 2^23 packets in between, the PSN of an earlier
 * packet looks like a later one. */
static bool
is_covered(const smcr_timeline_sent_t *sent, const smcr_link_t *link, const smcr_ack_t *ack)
{
    if (sent->acked && *sent->acked == ack)
        return true;
    return sent->link == link && smcr_psn_distance(sent->psn, ack->psn) >= 0;
}

/* Takes in that the acknowledgement `ack` covers the packet `sent` of the writer `side`: adds the
 * intervals and samples of the packet, which is no longer in the list of packets in flight. */
static void
take_covered(const smcr_timeline_step_t *step, int side, const smcr_timeline_sent_t *sent,
             const smcr_ack_t *ack)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = smcr_ack_when(ack);

    if (smcr_timeline_shows_needless_retransmission(writer, sent))
        smcr_timeline_doubt_retransmissions_of_both(step, &writer->retransmitted);
    measure_ack(step, side, sent, when);
    smcr_timeline_look_for_missing_ack(step, sent, ack, when);
    if (sent->is_data)
        smcr_timeline_add_transfer(step, side, sent, when, sent->psn == ack->psn);
    if (sent->view)
        smcr_timeline_take_announcement(step, side, sent->view, when);
}

bool
smcr_timeline_knows_arrival(const smcr_timeline_t *timeline, int side)
{
    const smcr_timeline_writer_t *writer = &timeline->writer[side];

    return !timeline->is_late || writer->has_acks || writer->was_read;
}

/* All data has arrived, so no packet in flight is under way any more. */
void
smcr_timeline_take_all_read(const smcr_timeline_step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = step->packet->when;

    if (smcr_timeline_knows_arrival(step->timeline, side))
        return;
    writer->was_read = true;
    smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, step->timeline->begun, when);
    while (writer->oldest) {
        if (writer->oldest->is_data)
            smcr_timeline_add_transfer_without_ack(step, side, writer->oldest, when);
        smcr_timeline_remove_sent(step, writer, &writer->oldest);
    }
}

/* Removes the packet `acked` from the packets in flight in every case: the caller's loop ends when
 * no packet in flight is acknowledged. `acked` is a copy, since the packet itself is freed here.
 * `last_acked` changes last: smcr_timeline_add_transfer() needs the acknowledgement before this
 * one. */
void
smcr_timeline_take_ack(const smcr_timeline_step_t *step, int side, const smcr_timeline_sent_t acked)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_ack_t *ack = *acked.acked;
    smcr_when_t when = smcr_ack_when(ack);

    if (!smcr_timeline_knows_arrival(step->timeline, side))
        smcr_timeline_add(step, side, SMCR_INTERVAL_NOT_CAPTURED, step->timeline->begun, when);
    writer->has_acks = true;
    smcr_timeline_end_missing_acks(step, side, when);
    for (smcr_timeline_sent_t **at = &writer->oldest; *at;) {
        const smcr_timeline_sent_t sent = **at;
        bool is_left = was_left_on_old_link(&sent, &acked);
        if (!is_left && !is_covered(&sent, acked.link, ack)) {
            at = &(*at)->next;
            continue;
        }
        smcr_timeline_remove_sent(step, writer, at);
        if (!is_left)
            take_covered(step, side, &sent, ack);
        else if (sent.is_data)
            smcr_timeline_add_transfer_without_ack(step, side, &sent, when);
    }
    writer->retransmitted.end.frame = 0;
    writer->last_acked = when;
    writer->last_acked_link = acked.link;
}

/* Forgets the oldest packet in flight of `sender`. Its acknowledgement is probably missing, so its
 * transfer is in doubt up to now. Acknowledgements of retransmitted packets may be missing, too, so
 * the retransmissions are in doubt. */
static void
forget_oldest(const smcr_timeline_step_t *step, int sender)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[sender];

    if (writer->oldest->is_data)
        smcr_timeline_add_transfer_without_ack(step, sender, writer->oldest, step->packet->when);
    smcr_timeline_remove_sent(step, writer, &writer->oldest);
    smcr_timeline_doubt_retransmissions_of_both(step, &writer->retransmitted);
    writer->retransmitted.end.frame = writer->retransmitted_unheard.end.frame = 0;
}

/* The list has at most SMCR_TIMELINE_IN_FLIGHT_MOST packets: before the oldest one is removed, its
 * intervals are added. */
void
smcr_timeline_send(const smcr_timeline_step_t *step, smcr_timeline_sent_t packet)
{
    int sender = step->packet->record->sender;

    smcr_timeline_add_sent(step, packet);
    if (step->timeline->writer[sender].in_flight > SMCR_TIMELINE_IN_FLIGHT_MOST)
        forget_oldest(step, sender);
}
