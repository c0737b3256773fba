/* Makes intervals from the packets of a connection: which side waits, for what, and since when.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "writer.h"

/* Maximum number of packets in flight that are kept for a writer. If there are more, the oldest
 * packet is forgotten, since its acknowledgement is probably missing in the capture. */
#define IN_FLIGHT_MOST 256

/* Acknowledgements come in order, so the search for an acknowledged packet ends after this number
 * of packets in flight that are not acknowledged. */
#define LOOKED_AT 64

/* A reader that knows of the writer's wait sends an update for each tenth of the buffer (4.5.1). So
 * the reader may have read up to 1/SMALL of the buffer without a report. */
#define SMALL 10

/* If the writer does not wait, a reader sends no update before half of the buffer is full
 * (net/smc/smc_tx.c). So the reader may have read up to 1/HALF of the buffer without a report. */
#define HALF 2

/* Linux retransmits a packet after this time without an acknowledgement, nanoseconds: 4.096 us
 * times two to the power of 15 (SMC_QP_TIMEOUT, net/smc/smc_ib.h). */
#define RETRANSMISSION_TIMEOUT (UINT64_C(4096) << 15)

/* An acknowledgement does not take longer than this time, nanoseconds: a writer that has waited
 * longer, and then retransmits, has got none. Half of RETRANSMISSION_TIMEOUT, since the timer may
 * run from an earlier packet. */
#define LONG_WAIT (RETRANSMISSION_TIMEOUT / 2)

/* A packet in flight: a WRITE packet or CDC message that is not known to be acknowledged. */
typedef struct smcr_timeline_sent {
    struct smcr_timeline_sent *next; /* next newer packet in flight; NULL: none */
    const smcr_ack_t *const *acked; /* points to the packet's acknowledgement. No acknowledgement is
                                       known in two cases: 1. `acked` is NULL; 2. `*acked` is
                                       NULL */
    const smcr_record_cdc_t *view;   /* what the CDC message means for its connection; NULL: the
                                        packet is a WRITE, or the meaning is not known */
    const smcr_link_t *link; /* link that carries the packet */
    smcr_when_t when;        /* frame and time of the packet */
    uint64_t end;            /* position in the stream after the data that the packet carries or
                                announces; 0: not known */
    smcr_when_t read;        /* the peer's first CDC message that reports these data as read: they
                                have arrived; frame 0: none so far */
    uint32_t psn;            /* PSN of the packet, 24 bits */
    bool is_data;          /* the packet is a WRITE, or a CDC message that announces data */
    bool may_be_no_data;   /* the announced data may already have been announced by an earlier
                              message that is missing; set with `is_data` */
    bool ends_request;     /* the packet is the last one of a WRITE request */
    bool is_retransmitted; /* the packet was retransmitted, or is itself a retransmission */
    bool is_rewritten;     /* the writer has written the data once more, after the connection has
                              moved to another link: so it had no acknowledgement of the packet */
    bool is_after_gap;     /* the packet came after a sequence gap: its receiver may discard it, and
                              then never acknowledges it */
} in_flight_t;

/* Arguments that the functions of this file share. */
typedef struct {
    smcr_timeline_t *timeline; /* timeline of the connection */
    wmem_allocator_t *scope;   /* scope of memory that the timeline keeps */
    const smcr_timeline_packet_t *packet; /* packet that the timeline takes in; NULL: none */
    const smcr_timeline_sink_t *sink;     /* receiver of the samples (smcr_timeline_sample_t); NULL:
                                             none */
} step_t;

/* Adds an interval of the writer `side`. Times in a capture may go back. So a begin before the
 * first packet of the connection is replaced by this first packet. */
static void
add(const step_t *step, int side, smcr_interval_kind_t kind, smcr_when_t begin, smcr_when_t end)
{
    if (begin.time < step->timeline->begun.time)
        begin = step->timeline->begun;
    smcr_intervals_add(&step->timeline->writer[side].intervals, step->scope, kind,
                       (smcr_interval_t){begin, end});
}

/* The acknowledgement `*acked`, if it came before `frame`; NULL: there is none before `frame`. */
static const smcr_ack_t *
ack_before(const smcr_ack_t *const *acked, uint32_t frame)
{
    return acked && *acked && (*acked)->frame < frame ? *acked : NULL;
}

/* ---- unread data in the receive buffer ---- */

/* Begins or ends the interval SMCR_INTERVAL_UNREAD of the writer `side` at `when`.
 *
 * With an update, the reader reports up to which position it has read. If the reader knows that the
 * writer waits for space, it sends an update for each tenth of the buffer that it has read. The
 * reader knows of the wait once its host has acknowledged the message with which the wait begins.
 * If the reader does not know of a wait, it sends an update only if less than half of the buffer is
 * free. So data certainly lie unread if the number of unreported bytes is higher than the reader
 * may have read without a report. */
static void
look_at_unread(const step_t *step, int side, smcr_when_t when)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;
    uint32_t unreported = unread->size / (unread->knows_wait ? SMALL : HALF);
    bool is_known = unread->is_known && !unread->is_doubtful;
    bool is_much = is_known && unread->acked > unread->consumed + unreported;

    if (is_much && !unread->since.frame) {
        unread->since = when;
    } else if (!is_much && unread->since.frame) {
        add(step, side, SMCR_INTERVAL_UNREAD, unread->since, when);
        unread->since.frame = 0;
    }
}

/* Notes whether the reader may have reported more bytes as read than is known. This holds from the
 * event `when` on. */
static void
set_doubtful(const step_t *step, int side, bool is_doubtful, smcr_when_t when)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;

    if (is_doubtful && !unread->is_doubtful)
        unread->doubtful_since = when;
    else if (!is_doubtful && unread->is_doubtful)
        add(step, side, SMCR_INTERVAL_MAYBE_UNREAD, unread->doubtful_since, when);
    unread->is_doubtful = is_doubtful;
    look_at_unread(step, side, when);
}

/* Handles the acknowledgement, at the time `acked`, of a CDC message of the writer `side` by the
 * reader's host. The reader's program can read the announced data from this time on. `view`: what
 * the message means. */
static void
take_announcement(const step_t *step, int side, const smcr_record_cdc_t *view, smcr_when_t acked)
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

/* ---- packets in flight ---- */

/* Removes the packet `*at` from the packets in flight. */
static void
give_up_sent(const step_t *step, smcr_timeline_writer_t *writer, in_flight_t **at)
{
    in_flight_t *gone = *at;

    *at = gone->next;
    if (!*at)
        writer->end = at;
    writer->in_flight--;
    wmem_free(step->scope, gone);
}

/* Adds to the intervals of the writer `side` that the retransmissions in this time may have been
 * needless. End frame 0: there are none. */
static void
doubt_retransmissions(const step_t *step, int side, const smcr_interval_t *retransmitted)
{
    if (retransmitted->end.frame)
        add(step, side, SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT, retransmitted->begin,
            retransmitted->end);
}

/* Does the same for both directions. */
static void
doubt_retransmissions_of_both(const step_t *step, const smcr_interval_t *retransmitted)
{
    for (int side = 0; side < 2; side++)
        doubt_retransmissions(step, side, retransmitted);
}

/* Forgets the oldest packet in flight of `sender`. Its acknowledgement is probably missing, and so
 * may be those of retransmitted packets. */
static void
forget_oldest(const step_t *step, int sender)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[sender];

    give_up_sent(step, writer, &writer->oldest);
    doubt_retransmissions_of_both(step, &writer->retransmitted);
    writer->retransmitted.end.frame = writer->retransmitted_unheard.end.frame = 0;
}

/* Adds the newest packet to the packets in flight. */
static void
add_sent(const step_t *step, in_flight_t packet)
{
    int sender = step->packet->record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[sender];

    if (!writer->oldest)
        writer->end = &writer->oldest;
    in_flight_t *sent = *writer->end = wmem_new(step->scope, in_flight_t);
    *sent = packet;
    sent->next = NULL;
    writer->end = &sent->next;
    if (++writer->in_flight > IN_FLIGHT_MOST)
        forget_oldest(step, sender);
}

/* The oldest packet in flight that was acknowledged before `frame`, as far as is known; NULL: there
 * is none. */
static const in_flight_t *
find_acked(const smcr_timeline_writer_t *writer, uint32_t frame)
{
    unsigned looked_at = 0;

    for (const in_flight_t *sent = writer->oldest; sent && looked_at < LOOKED_AT;
         sent = sent->next) {
        if (ack_before(sent->acked, frame))
            return sent;
        looked_at += sent->acked != NULL && !sent->is_after_gap;
    }
    return NULL;
}

/* Whether the acknowledgement, which came on `link`, covers the packet: the packet was sent on the
 * same link, and has the PSN that the acknowledgement names, or an earlier one. If the capture
 * misses more than 2^23 packets in between, the PSN of an earlier packet looks like a later one. */
static bool
is_covered(const in_flight_t *sent, const smcr_link_t *link, const smcr_ack_t *ack)
{
    if (sent->acked && *sent->acked == ack)
        return true;
    return sent->link == link && smcr_psn_distance(sent->psn, ack->psn) >= 0;
}

/* Notes that acknowledgements are missing in the capture, if the packet `sent` proves this.
 *
 * A writer retransmits a packet that is not acknowledged in time, except on a lost link. If a
 * packet without its own acknowledgement is not retransmitted in time, its acknowledgement is
 * missing in the capture. `ack`: acknowledgement that covers the packet, at `end`. NULL: no
 * acknowledgement covers the packet up to `end`. */
static void
look_for_missing_ack(const step_t *step, const in_flight_t *sent, const smcr_ack_t *ack,
                     smcr_when_t end)
{
    bool is_named = ack && ack->psn == sent->psn;
    bool is_link_lost = sent->link->lost_frame || sent->link->deleted_frame;
    uint64_t time = smcr_interval_length((smcr_interval_t){sent->when, end});
    bool is_overdue = sent->acked && !sent->is_retransmitted && time > RETRANSMISSION_TIMEOUT;

    if (is_overdue && !is_named && !is_link_lost)
        step->timeline->misses_acks = true;
}

/* Notes that packets of `sender` are missing after the packet `since`. Acknowledgements that
 * `sender` has sent for its peer's packets may be missing, too. If the capture has only one gap,
 * acknowledgements may be missing only in this gap. If it has several gaps, acknowledgements may be
 * missing anywhere. */
static void
begin_missing_acks(const step_t *step, int sender, smcr_when_t since)
{
    smcr_timeline_t *timeline = step->timeline;
    smcr_when_t *acks_missing = &timeline->writer[!sender].acks_missing;

    timeline->misses_acks |= timeline->last_gap.frame && since.frame >= timeline->last_gap.frame;
    timeline->last_gap = step->packet->when;
    doubt_retransmissions_of_both(step, &timeline->writer[!sender].retransmitted_unheard);
    if (!acks_missing->frame)
        *acks_missing = since;
}

/* Ends the time in which acknowledgements of the packets of the writer `side` may be missing.
 * `end`: the first acknowledgement after this time, or the end of the capture. */
static void
end_missing_acks(const step_t *step, int side, smcr_when_t end)
{
    smcr_when_t *since = &step->timeline->writer[side].acks_missing;

    if (since->frame)
        add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, *since, end);
    since->frame = 0;
}

/* Adds the intervals in which the packet `sent` was under way, up to an acknowledgement at `end`.
 *
 * `names_packet`: the acknowledgement has the PSN of the packet, so the packet was certainly under
 * way up to `end`. An acknowledgement with a later PSN only shows that the receiver had the packet
 * at `end`: an earlier acknowledgement may be missing. The previous acknowledgement of the writer's
 * packets (`last_acked`) did not cover the packet. So the packet was certainly under way up to
 * `last_acked`. The rest of the time up to `end` is SMCR_INTERVAL_MAYBE_TRANSFER. */
static void
add_transfer(const step_t *step, int side, const in_flight_t *sent, smcr_when_t end,
             bool names_packet)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_later = writer->last_acked.time > sent->when.time;
    bool was_under_way = is_later && writer->last_acked_link == sent->link;
    smcr_when_t certain = was_under_way ? writer->last_acked : sent->when;

    if (names_packet || certain.time > end.time)
        certain = end;
    if (sent->may_be_no_data) {
        certain = sent->when;
        add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, sent->when, end);
    }
    add(step, side, SMCR_INTERVAL_TRANSFER, sent->when, certain);
    add(step, side, SMCR_INTERVAL_MAYBE_TRANSFER, certain, end);
}

/* Adds the intervals in which the packet `sent` was under way, if no acknowledgement covers it. The
 * data have arrived at `end`, or earlier, if the peer has reported them as read. If the writer had
 * to write them once more, they were under way up to `end`. Otherwise the packet's own
 * acknowledgement may be missing, and only the time up to `last_acked` is certain. */
static void
add_transfer_without_ack(const step_t *step, int side, const in_flight_t *sent, smcr_when_t end)
{
    if (sent->is_rewritten) {
        add_transfer(step, side, sent, end, true);
        return;
    }
    if (sent->read.frame && sent->read.time < end.time)
        end = sent->read;
    add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT, sent->when, end);
    add_transfer(step, side, sent, end, false);
}

/* Takes the sample of the packet's wait for its acknowledgement, at `when`, if this acknowledgement
 * is the first one that covers the packet. */
static void
measure_ack(const step_t *step, int side, const in_flight_t *sent, smcr_when_t when)
{
    const smcr_ack_t *first = ack_before(sent->acked, when.frame + 1);
    bool is_measured = first && first->frame == when.frame && when.time >= sent->when.time;

    if (is_measured && sent->ends_request && !sent->is_retransmitted)
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_ACK, when.time - sent->when.time);
}

/* Whether the acknowledgement of the packet `sent` shows that the writer's last retransmissions
 * were needless: the receiver has acknowledged a packet that it takes in only after the
 * retransmitted packets, and that was not retransmitted itself so far. So the receiver had all of
 * them before, and an earlier acknowledgement may be missing. */
static bool
shows_needless_retransmission(const smcr_timeline_writer_t *writer, const in_flight_t *sent)
{
    smcr_when_t last = writer->retransmitted.end;

    return last.frame && sent->when.frame < last.frame &&
           smcr_psn_distance(writer->retransmitted_psn, sent->psn) > 0;
}

/* Whether the acknowledgement of the packet `acked` shows that the data of the packet `sent` have
 * arrived, on whatever link: the connection has moved to another link after `sent`, and the writer
 * has first written the data once more there, if they were not acknowledged (RFC 7609, 4.6.1). */
static bool
was_left_on_old_link(const in_flight_t *sent, const in_flight_t *acked)
{
    return sent->link != acked->link && sent->when.frame < acked->when.frame;
}

/* Takes in the acknowledgement `ack` of the packet `sent` of the writer `side`, which it covers. */
static void
take_covered(const step_t *step, int side, const in_flight_t *sent, const smcr_ack_t *ack)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = smcr_ack_when(ack);

    if (shows_needless_retransmission(writer, sent))
        doubt_retransmissions_of_both(step, &writer->retransmitted);
    measure_ack(step, side, sent, when);
    look_for_missing_ack(step, sent, ack, when);
    if (sent->is_data)
        add_transfer(step, side, sent, when, sent->psn == ack->psn);
    if (sent->view)
        take_announcement(step, side, sent->view, when);
}

/* Takes in the acknowledgement of the packet `acked`. The acknowledgement also covers all packets
 * of the writer `side` that were sent earlier on the same link. */
static void
take_ack(const step_t *step, int side, const in_flight_t acked)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_ack_t *ack = *acked.acked;
    smcr_when_t when = smcr_ack_when(ack);

    if (!writer->has_acks && step->timeline->is_late)
        add(step, side, SMCR_INTERVAL_NOT_CAPTURED, step->timeline->begun, when);
    writer->has_acks = true;
    for (in_flight_t **at = &writer->oldest; *at;) {
        const in_flight_t sent = **at;
        bool is_left = was_left_on_old_link(&sent, &acked);
        if (!is_left && !is_covered(&sent, acked.link, ack)) {
            at = &(*at)->next;
            continue;
        }
        give_up_sent(step, writer, at);
        if (!is_left)
            take_covered(step, side, &sent, ack);
        else if (sent.is_data)
            add_transfer_without_ack(step, side, &sent, when);
    }
    end_missing_acks(step, side, when);
    writer->retransmitted.end.frame = 0;
    writer->last_acked = when;
    writer->last_acked_link = acked.link;
}

/* ---- waits for space ---- */

/* The event that ends the wait. This is the earlier one of two events: 1. the writer sends data; 2.
 * the writer's host has acknowledged the message that frees space. Frame 0: neither event came
 * before `frame`. */
static smcr_when_t
end_of_wait(const smcr_record_cdc_rare_t *wait, uint32_t frame)
{
    const smcr_ack_t *freed =
        wait->space_freed ? ack_before(wait->space_freed, frame) : NULL;
    bool goes_on = wait->continues.frame && wait->continues.frame <= frame;

    if (freed && !(goes_on && wait->continues.frame < freed->frame))
        return smcr_ack_when(freed);
    return goes_on ? wait->continues : (smcr_when_t){0, 0};
}

/* Ends the current wait of the writer `side` for space at `end`. */
static void
end_wait(const step_t *step, int side, smcr_when_t end)
{
    smcr_timeline_wait_t *wait = &step->timeline->writer[side].wait;

    add(step, side, SMCR_INTERVAL_FULL, wait->begun, end);
    step->timeline->writer[side].last_wait = (smcr_interval_t){wait->begun, end};
    if (wait->may_have_ended)
        add(step, side, SMCR_INTERVAL_FREED, wait->freed, end);
    *wait = (smcr_timeline_wait_t){0};
    step->timeline->writer[side].unread.knows_wait = false;
    look_at_unread(step, side, end);
}

/* Begins a wait of the writer `side`, if the state has found that the writer waits for space from
 * this CDC message on (smcr_record_cdc_rare_t). */
static void
take_wait(const step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    const smcr_record_cdc_t *view = step->packet->record->cdc_analysis;
    const smcr_record_cdc_rare_t *wait = smcr_record_cdc_rare(view);

    if (!wait || wait == writer->wait.wait)
        return;
    if (writer->wait.wait)
        end_wait(step, side, step->packet->when);
    writer->wait = (smcr_timeline_wait_t){.wait = wait,
                                          .begun = step->packet->when,
                                          .link = step->packet->record->link,
                                          .filled = &view->acked,
                                          .consumed = writer->unread.is_doubtful
                                                          ? UINT64_MAX
                                                          : writer->unread.consumed};
    if (!writer->draining && view->size) {
        writer->draining = &view->acked;
        writer->half = view->announced - MIN(view->announced, view->size / 2);
    }
}

/* Whether data of the writer `side`, up to the position `end` of the stream, find no space in the
 * buffer, as far as is known. 0: the position is not known. */
static bool
find_no_space(const step_t *step, int side, uint64_t end)
{
    const smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;
    bool knows_reader = unread->is_known && (unread->consumed || !step->timeline->is_late);

    return knows_reader && end > unread->consumed + unread->size;
}

/* Ends the current wait of the writer `side`, since the writer sends new data: the reader's update
 * may be missing. Data on another link do not end the wait: after a failover the writer may send
 * data of the old link once more (RFC 7609, 4.6.1). `end`: position in the stream after the data;
 * 0: not known. */
static void
take_new_data(const step_t *step, int side, uint64_t end)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = step->packet->when;

    if (writer->wait.wait && writer->wait.link == step->packet->record->link)
        end_wait(step, side, when);
    if (find_no_space(step, side, end) && !writer->no_space_since.frame)
        writer->no_space_since =
            writer->last_wait.end.frame == when.frame ? writer->last_wait.begin : when;
}

/* ---- settling: taking in acknowledgements, in their order ---- */

/* Takes in all acknowledgements before `frame` of packets of the writer `side`. Also ends the
 * writer's wait for space, if it ended before `frame`. */

static void
settle_writer(const step_t *step, int side, uint32_t frame)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    for (;;) {
        const in_flight_t *sent = find_acked(writer, frame);
        smcr_when_t end = writer->wait.wait ? end_of_wait(writer->wait.wait, frame)
                                            : (smcr_when_t){0, 0};

        if (end.frame && (!sent || end.frame <= (*sent->acked)->frame))
            end_wait(step, side, end);
        else if (sent)
            take_ack(step, side, *sent);
        else
            return;
    }
}

void
smcr_timeline_advance(smcr_timeline_t *timeline, wmem_allocator_t *scope, uint32_t now,
                      const smcr_timeline_sink_t *sink)
{
    step_t step = {timeline, scope, NULL, sink};

    for (int side = 0; side < 2; side++)
        settle_writer(&step, side, now + 1);
}

/* ---- retransmissions ---- */

/* The newest packet in flight of the writer that was sent in `frame` or earlier. Only the first and
 * the last packet of a request are kept. So for a packet between the two, the result is the first
 * packet. NULL: there is none. */
static in_flight_t *
find_sent(const smcr_timeline_writer_t *writer, uint32_t frame)
{
    in_flight_t *found = NULL;

    for (in_flight_t *at = writer->oldest; at && at->when.frame <= frame; at = at->next)
        found = at;
    return found;
}

/* The first transmission of the retransmitted packet of `record`. Frame 0: the packet is no
 * retransmission, or it was acknowledged before, so that nobody waits for it.
 *
 * A packet out of order counts as a retransmission only if its sender has stepped back. Otherwise
 * the network has only changed the order of packets. If the first transmission of such a packet is
 * missing, the packet after the gap (`gap_noticed`) stands for it. */
static smcr_when_t
find_first_transmission(const smcr_timeline_writer_t *writer, const smcr_record_t *record)
{
    bool fills_gap = record->order == SMCR_FLOW_IS_LATE && record->first_frame &&
                     writer->gap_noticed.frame && !smcr_record_is_out_of_order(record);

    if (record->order != SMCR_FLOW_IS_RETRANSMISSION && !fills_gap)
        return (smcr_when_t){0, 0};
    in_flight_t *sent = find_sent(writer, record->first_frame);
    if (sent) {
        sent->is_retransmitted = true;
        return sent->when;
    }
    if (fills_gap)
        return writer->gap_noticed;
    return record->was_acked ? (smcr_when_t){0, 0} : writer->last_acked;
}

/* Adds the time from `since` to `until` to the wait of the writer `asker` for an answer: the answer
 * may be among the peer's packets of this time, which are missing or retransmitted. If `asker`
 * sends a WRITE in this time, the wait begins with this WRITE. */
static void
prolong_answer(const step_t *step, int asker, smcr_when_t since, smcr_when_t until)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[asker];
    bool asks_later = writer->last_write.time > since.time &&
                      writer->last_write.time < until.time;

    if (writer->has_written)
        add(step, asker, SMCR_INTERVAL_ANSWER, asks_later ? writer->last_write : since, until);
}

/* Adds the time in which the first transmission of the packet of `step` is missing: the packet may
 * have been retransmitted since the last captured packet of its writer. */
static void
take_missing_first(const step_t *step)
{
    int side = step->packet->record->sender;
    smcr_when_t seen = step->timeline->writer[side].last_seen;
    smcr_when_t since = seen.frame ? seen : step->timeline->begun;

    add(step, side, SMCR_INTERVAL_NOT_CAPTURED, since, step->packet->when);
    add(step, !side, SMCR_INTERVAL_PEER_NOT_CAPTURED, since, step->packet->when);
    prolong_answer(step, !side, since, step->packet->when);
}

/* Whether the writer certainly had no acknowledgement of the packet of `step` when it retransmitted
 * the packet. Two facts prove this: 1. a NAK since `first`, the first transmission, which shows
 * that the receiver missed the packet; 2. a wait longer than acknowledgements take. */
static bool
was_needed(const step_t *step, smcr_when_t first)
{
    const smcr_step_back_t *back = step->packet->record->step;
    smcr_interval_t waited = {first, step->packet->when};

    return (back && back->nak.frame > first.frame) || smcr_interval_length(waited) > LONG_WAIT;
}

/* Adds the retransmission from `first` to `when` to the time of the last retransmissions. */
static void
prolong_retransmissions(smcr_interval_t *retransmitted, smcr_when_t first, smcr_when_t when)
{
    if (!retransmitted->end.frame || first.time < retransmitted->begin.time)
        retransmitted->begin = first;
    retransmitted->end = when;
}

/* Notes how certain the retransmission with the packet of `step` is. `first`: first transmission of
 * the packet.
 *
 * A missing acknowledgement may have covered the packet before: then nobody waited for the
 * retransmission. It may be in a gap that has already come, if the first transmission came before
 * the end of the gap. Or it may be in a gap that shows later (`retransmitted_unheard`). */
static void
note_retransmission(const step_t *step, smcr_when_t first)
{
    int sender = step->packet->record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
    smcr_when_t when = step->packet->when;
    bool is_proven = was_needed(step, first);
    bool may_miss_ack = writer->acks_missing.frame &&
                        first.time < step->timeline->writer[!sender].gap_noticed.time;

    for (int side = 0; side < 2; side++) {
        if (is_proven)
            add(step, side, SMCR_INTERVAL_RETRANSMISSION_PROVEN, first, when);
        else if (may_miss_ack)
            add(step, side, SMCR_INTERVAL_RETRANSMISSION_IN_DOUBT, first, when);
    }
    writer->retransmitted_psn = step->packet->roce->psn;
    if (is_proven)
        return;
    prolong_retransmissions(&writer->retransmitted, first, when);
    prolong_retransmissions(&writer->retransmitted_unheard, first, when);
}

/* Adds the intervals of the retransmission, if the packet of `step` is a retransmission. */
static void
take_retransmission(const step_t *step)
{
    const smcr_record_t *record = step->packet->record;
    int side = record->sender;

    if (smcr_record_misses_first(record))
        take_missing_first(step);
    smcr_when_t first = find_first_transmission(&step->timeline->writer[side], record);

    if (!first.frame)
        return;
    note_retransmission(step, first);
    add(step, side, SMCR_INTERVAL_RETRANSMISSION, first, step->packet->when);
    add(step, !side, SMCR_INTERVAL_PEER_RETRANSMISSION, first, step->packet->when);
    prolong_answer(step, !side, first, step->packet->when);
}

/* ---- gaps ---- */

/* Notes, from this packet on, whether it is known what the writer `side` does. */
static void
set_known(const step_t *step, int side, bool is_known)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (is_known && writer->unknown_since.frame) {
        add(step, side, SMCR_INTERVAL_NOT_CAPTURED, writer->unknown_since, step->packet->when);
        writer->unknown_since.frame = 0;
    } else if (!is_known && !writer->unknown_since.frame) {
        writer->unknown_since = step->packet->when;
    }
}

/* Notes that packets of `side` are missing before this packet. The missing packets may belong to
 * another connection on the same link. The next CDC message of `side` shows whether they do
 * (settle_gap()). */
static void
take_gap(const step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    smcr_when_t since = writer->last_seen.frame ? writer->last_seen : step->timeline->begun;

    if (!writer->gap.since.frame)
        writer->gap.since = since;
    writer->gap.until.frame = 0;
    writer->gap_noticed = step->packet->when;
    writer->wait.may_have_ended = writer->wait.freed.frame != 0;
    begin_missing_acks(step, side, since);
}

/* Adds to the intervals of the writer `side` the time that a gap of `sender` makes unknown. The
 * missing packets of the gap may belong to this connection. If `sender` is the writer itself, it is
 * not known what the writer did. If `sender` is its peer, a missing packet may have freed space for
 * the writer, or may have been an answer. `end`: end of the gap, used if no packet of the sender
 * has come in order since the gap. */
static void
add_gap(const step_t *step, int sender, int side, smcr_when_t end)
{
    const smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
    const smcr_timeline_gap_t *gap = &writer->gap;

    if (sender == side) {
        add(step, side, SMCR_INTERVAL_NOT_CAPTURED, gap->since,
            gap->until.frame ? gap->until : end);
        return;
    }
    add(step, side, SMCR_INTERVAL_PEER_NOT_CAPTURED, gap->since, writer->gap_noticed);
    prolong_answer(step, side, gap->since, writer->gap_noticed);
}

/* Handles the peer's last answer to the writer `side`, at the writer's next packet. The time of the
 * answer counts, if no packet of the writer is missing since its request. Otherwise a missing
 * packet may be a later request, to which the peer's WRITE is the answer. If a gap has shown since
 * the answer, the end of the gap decides (settle_gap()). */
static void
confirm_answer(const step_t *step, int side)
{
    smcr_timeline_writer_t *asker = &step->timeline->writer[side];
    smcr_interval_t answer = asker->pending_answer;
    uint64_t lasted = smcr_interval_length(answer);

    bool is_open = asker->gap.since.frame && asker->gap_noticed.frame > answer.end.frame;
    if (!answer.end.frame || is_open)
        return;
    if (step->sink)
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_ANSWER, lasted);
    if (lasted > smcr_interval_length(asker->longest_answer))
        asker->longest_answer = answer;
    asker->pending_answer = (smcr_interval_t){{0}, {0}};
}

/* Ends the current gap of the writer `side` at the writer's next CDC message in order, which shows
 * whether the missing packets belong to this connection. `view`: what the message means; NULL: not
 * known.
 *
 * CDC messages of a connection are numbered, and report how many bytes were written. No packet of
 * this connection is missing if two conditions hold: 1. the number of the message is the number of
 * the last message plus 1; 2. the WRITEs of all bytes that the message announces are captured.
 * Otherwise the gap counts. */
static void
settle_gap(const step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool is_whole = view && view->has_announced_bytes && !writer->gap.has_unknown_message &&
                    view->announced_bytes == writer->unannounced;

    if (writer->gap.since.frame && !is_whole) {
        add_gap(step, side, side, step->packet->when);
        add_gap(step, side, !side, step->packet->when);
        writer->pending_answer = (smcr_interval_t){{0}, {0}};
    }
    writer->gap = (smcr_timeline_gap_t){0};
    confirm_answer(step, side);
}

/* Handles a packet of the writer `side` that came in order: from now on it is known what the writer
 * does. */
static void
take_order(const step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    if (writer->gap.since.frame && !writer->gap.until.frame)
        writer->gap.until = step->packet->when;
    writer->last_known = step->packet->when;
    set_known(step, side, true);
}

/* Looks for sequence gaps before this packet, of both senders. Each link has a count of its gaps.
 * If the connection has just moved to another link, earlier gaps of the new link do not count. */
static void
look_for_gaps(const step_t *step)
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

/* ---- packets ---- */

/* Whether the WRITE of `answerer` that has just come certainly answers the request of `asker`. The
 * WRITE has to be the first one since the request, and no packet of either side may be missing
 * since then. False if `asker` waits for space, since its request may not be finished then. */
static bool
is_answer(const smcr_timeline_writer_t *asker, const smcr_timeline_writer_t *answerer)
{
    uint32_t asked = asker->last_write.frame;

    return asked && answerer->last_write.frame < asked && !asker->wait.wait &&
           asker->gap_noticed.frame < asked && answerer->gap_noticed.frame < asked;
}

/* Handles a WRITE of `side` as a possible answer: since its own last WRITE, the peer may have
 * waited for this answer. */
static void
take_answer(const step_t *step, int side)
{
    smcr_timeline_writer_t *asker = &step->timeline->writer[!side];
    smcr_when_t when = step->packet->when;
    const smcr_ack_t *acked = ack_before(asker->request_acked, when.frame);

    if (!asker->has_written)
        return;
    add(step, !side, SMCR_INTERVAL_ANSWER, asker->last_write, when);
    if (!acked || !is_answer(asker, &step->timeline->writer[side]))
        return;
    asker->pending_answer = (smcr_interval_t){smcr_ack_when(acked), when};
}

/* Notes that the writer writes the data from `position` on, on `link`: for packets in flight on
 * another link that carry or announce these data, the writer got no acknowledgement. */
static void
note_rewritten(smcr_timeline_writer_t *writer, const smcr_link_t *link, uint64_t position)
{
    for (in_flight_t *sent = writer->oldest; sent && sent->link != link; sent = sent->next)
        sent->is_rewritten |= sent->end > position;
}

/* Takes in the data of a WRITE packet. `sent`: the packet, to be kept in flight if it begins or
 * ends a request. `is_in_order`: no packet is missing before it. */
static void
take_written(const step_t *step, in_flight_t sent, bool is_in_order)
{
    const smcr_record_t *record = step->packet->record;
    int side = record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool begins = smcr_ib_begins_message(step->packet->roce->opcode);
    bool ends = smcr_ib_ends_message(step->packet->roce->opcode);
    smcr_stream_range_t range = smcr_place_range(record->write_location);

    sent.acked = &record->write_location->acked;
    sent.end = range.known ? range.position + record->write_location->length : 0;
    sent.ends_request = ends && !sent.is_after_gap;
    if (is_in_order)
        take_new_data(step, side, sent.end);
    take_answer(step, side);
    writer->unannounced += record->write_location->length;
    writer->written = MAX(writer->written, sent.end);
    writer->misses_first |= !writer->has_written && !(begins && !range.position);
    writer->has_written = true;
    writer->last_write = step->packet->when;
    writer->request_acked = sent.acked;
    if (range.known)
        note_rewritten(writer, record->link, range.position);
    if (begins || ends || !writer->in_flight)
        add_sent(step, sent);
}

/* Takes in a WRITE packet. `sent`: its packet. */
static void
take_write(const step_t *step, in_flight_t sent)
{
    const smcr_record_t *record = step->packet->record;
    bool is_in_order = record->order == SMCR_FLOW_IS_NEXT && !sent.is_after_gap;

    if (is_in_order)
        take_order(step, record->sender);
    if (record->write_location && record->write_location->length)
        take_written(step, sent, is_in_order);
}

/* Takes the samples SMCR_TIMELINE_DRAIN and SMCR_TIMELINE_READER, if this CDC message of the reader
 * ends the measured time. `side`: the writer. `view`: what the message means. */
static void
measure_reader(const step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t when = step->packet->when;

    if (writer->draining && view->has_consumed && view->consumed >= writer->half) {
        const smcr_ack_t *acked = ack_before(writer->draining, when.frame);
        step->sink->take(step->sink->data, side, SMCR_TIMELINE_DRAIN,
                         acked && acked->time < when.time ? when.time - acked->time : 0);
        writer->draining = NULL;
    }
    if (!writer->wait.wait || writer->wait.freed.frame)
        return;
    const smcr_ack_t *acked = ack_before(writer->wait.filled, when.frame);
    writer->wait.freed = when;
    step->sink->take(step->sink->data, side, SMCR_TIMELINE_READER,
                     acked && acked->time < when.time ? when.time - acked->time : 0);
}

/* Ends the wait of the writer `side` for space, if the reader's message that freed space is
 * missing. The message is missing if this message reports data that was read during the wait, and
 * no captured message has freed space. `view`: what the reader's message means. */
static void
end_wait_of_missing_update(const step_t *step, int side, const smcr_record_cdc_t *view)
{
    const smcr_timeline_wait_t *wait = &step->timeline->writer[side].wait;

    if (wait->wait && !wait->freed.frame && view->has_consumed && view->consumed > wait->consumed)
        end_wait(step, side, step->packet->when);
}

/* Notes that the data of packets in flight of the writer `side` have arrived: the message of `step`
 * reports all data up to the position `consumed` as read. */
static void
note_read(const step_t *step, int side, uint64_t consumed)
{
    in_flight_t *sent = step->timeline->writer[side].oldest;

    for (; sent && sent->end <= consumed; sent = sent->next)
        if (sent->end && !sent->read.frame)
            sent->read = step->packet->when;
}

/* Handles data of the writer `side` that found no space in the buffer, at the reader's next
 * message. If packets of the reader are missing since then, the update that freed the space is
 * among them. Otherwise the capture is out of order there: the update came before the data. So it
 * is not known when the wait for space ended. */
static void
doubt_wait_out_of_order(const step_t *step, int side)
{
    smcr_when_t *since = &step->timeline->writer[side].no_space_since;

    if (since->frame && step->timeline->writer[!side].gap_noticed.frame <= since->frame) {
        add(step, side, SMCR_INTERVAL_NOT_CAPTURED, *since, step->packet->when);
        add(step, side, SMCR_INTERVAL_FREED, *since, step->packet->when);
    }
    since->frame = 0;
}

/* Handles what a CDC message reports as read. `side`: the writer of the read data, which is the
 * receiver of the message. `view`: what the message means. */
static void
take_reading(const step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_unread_t *unread = &step->timeline->writer[side].unread;

    if (view->read_bytes)
        measure_reader(step, side, view);
    doubt_wait_out_of_order(step, side);
    end_wait_of_missing_update(step, side, view);
    if (view->has_consumed && view->consumed > unread->consumed) {
        unread->consumed = view->consumed;
        note_read(step, side, view->consumed);
    }
    set_doubtful(step, side, !view->has_consumed, step->packet->when);
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
take_unknown_message(const step_t *step, int side, bool validates)
{
    step->timeline->writer[side].request_acked = NULL;
    if (!validates)
        set_doubtful(step, !side, true, step->packet->when);
}

/* Takes in a CDC message of `side` whose meaning, `view`, is known. */
static void
take_known_message(const step_t *step, int side, const smcr_record_cdc_t *view)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];

    /* the message announces bytes whose WRITE is missing, and it is not known when these bytes were
     * written */
    if (may_announce_unseen(view, false) && writer->last_seen.frame)
        add(step, side, SMCR_INTERVAL_NOT_CAPTURED, writer->last_seen, step->packet->when);
    if (view->announced_bytes || !view->has_announced_bytes) /* the message announces data, or may
                                                                announce data, so it may end a
                                                                request */
        writer->request_acked = &view->acked;
    take_wait(step, side);
    take_reading(step, !side, view);
}

/* Whether the data that the message announces may have been announced before. Either it is not
 * known how many bytes the message announces. Or all of them were written on a link that the
 * connection has left. A message on that link may have announced them: if it was the last one
 * there, nothing shows that it is missing. `view`: what the message means. */
static bool
may_repeat_announcement(const smcr_timeline_writer_t *writer, const smcr_record_cdc_t *view)
{
    return !view->has_announced_bytes || view->announced <= writer->written_on_left;
}

/* Takes in a CDC message. `sent`: its packet, to be kept in flight. */
static void
take_cdc(const step_t *step, in_flight_t sent)
{
    const smcr_record_t *record = step->packet->record;
    const smcr_record_cdc_t *view = record->cdc_analysis;
    const smcr_cdc_t *cdc = step->packet->cdc;
    int side = record->sender;
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    bool validates = cdc && cdc->flags & SMCR_CDC_FLAG_FAILOVER;
    bool announces_unseen = may_announce_unseen(view, validates);

    if (sent.is_after_gap || !(view || validates)) {
        set_known(step, side, false);
        writer->gap.has_unknown_message = writer->gap.since.frame != 0;
    } else {
        take_order(step, side);
        settle_gap(step, side, view);
    }
    writer->unannounced = 0;
    sent.acked = view ? &view->acked : NULL;
    sent.view = view;
    sent.end = view && view->has_announced ? view->announced : 0;
    sent.is_data = view && view->announced_bytes;
    sent.may_be_no_data = sent.is_data && may_repeat_announcement(writer, view);
    add_sent(step, sent);
    writer->misses_first |= !writer->has_written && announces_unseen;
    if (view)
        take_known_message(step, side, view);
    else
        take_unknown_message(step, side, validates);
}

/* Begins the timeline with the first packet of the connection. */
static void
begin_timeline(const step_t *step)
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

/* Moves the time `*until` back to `since`, if something has lasted since then that later events may
 * change. Frame 0 in `since`: nothing lasts. */
static void
keep_open(smcr_when_t *until, smcr_when_t since)
{
    if (since.frame && since.time < until->time)
        *until = since;
}

/* Settles the intervals of the writer `side` for the time that later events cannot change any more.
 * This time ends at the earliest begin of a packet in flight, a wait, a gap, or another state that
 * lasts. */
static void
settle_intervals(const step_t *step, int side)
{
    smcr_timeline_writer_t *writer = &step->timeline->writer[side];
    smcr_when_t until = step->packet->when;

    if (!smcr_intervals_are_many(&writer->intervals))
        return; /* most packets end here */
    if (writer->oldest)
        keep_open(&until, writer->oldest->when);
    if (writer->unread.is_doubtful)
        keep_open(&until, writer->unread.doubtful_since);
    keep_open(&until, writer->wait.begun);
    keep_open(&until, writer->unread.since);
    keep_open(&until, writer->unknown_since);
    keep_open(&until, writer->acks_missing);
    keep_open(&until, writer->last_write);
    for (int each = 0; each < 2; each++) {
        const smcr_timeline_writer_t *sender = &step->timeline->writer[each];
        if (sender->retransmitted.end.frame)
            keep_open(&until, sender->retransmitted.begin);
        if (sender->retransmitted_unheard.end.frame)
            keep_open(&until, sender->retransmitted_unheard.begin);
        keep_open(&until, sender->last_seen);
        keep_open(&until, sender->gap.since);
    }
    smcr_intervals_settle(&writer->intervals, step->scope, until);
}

/* Whether the receiver discards the packet, or has taken in an earlier packet with its PSN: nothing
 * new is under way then. A request that comes after its acknowledgement only since the capture is
 * out of order is the first packet with its PSN, and counts. */
static bool
is_known_to_receiver(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_COPY ||
           record->receiver_action == SMCR_FLOW_RECEIVER_DROPS ||
           (record->order == SMCR_FLOW_IS_RETRANSMISSION &&
            record->receiver_action == SMCR_FLOW_RECEIVER_HAD_IT);
}

void
smcr_timeline_take(smcr_timeline_t *timeline, wmem_allocator_t *scope,
                   const smcr_timeline_packet_t *packet, const smcr_timeline_sink_t *sink)
{
    const smcr_record_t *record = packet->record;
    step_t step = {timeline, scope, packet, sink};
    in_flight_t sent = {.when = packet->when,
                   .link = record->link,
                   .psn = packet->roce->psn,
                   .is_data = true,
                   .is_retransmitted = record->order == SMCR_FLOW_IS_RETRANSMISSION,
                   .is_after_gap = record->receiver_action == SMCR_FLOW_RECEIVER_WAITS};

    if (!timeline->begun.frame)
        begin_timeline(&step);
    for (int side = 0; side < 2; side++)
        settle_writer(&step, side, packet->when.frame);
    look_for_gaps(&step);
    confirm_answer(&step, record->sender);
    take_retransmission(&step);
    if (!is_known_to_receiver(record)) {
        if (record->kind == SMCR_RECORD_WRITE)
            take_write(&step, sent);
        if (record->kind == SMCR_RECORD_CDC || packet->cdc)
            take_cdc(&step, sent);
    }
    timeline->writer[record->sender].last_seen = packet->when;
    timeline->writer[!record->sender].retransmitted_unheard.end.frame = 0;
    if (packet->when.time > timeline->latest.time)
        timeline->latest = packet->when;
    for (int side = 0; side < 2; side++)
        settle_intervals(&step, side);
}

/* ---- what reports ask for ---- */

/* The event up to which the open wait of the writer `side` for space is certain. If there is a
 * doubt, an update of the reader may be missing after the reader's last packet. Then the wait is
 * certain up to the reader's last packet. Otherwise the wait is certain up to the end of the
 * divided time. */
static smcr_when_t
end_of_certain_wait(const smcr_timeline_t *timeline, int side,
                    const smcr_timeline_question_t *question)
{
    smcr_when_t last = timeline->writer[!side].last_seen, end = question->span.end;

    return question->missing.doubt && last.time < end.time ? last : end;
}

/* Adds intervals of missing packets at the end of the divided time (`span` of `question`) to the
 * timeline of `step`, which is a copy. There are three cases: 1. gaps after which no message has
 * come; 2. packets that may be missing after the last packet of a sender; 3. acknowledgements that
 * may be missing at the end. */
static void
add_open_gaps(const step_t *step, int side, const smcr_timeline_question_t *question)
{
    for (int sender = 0; sender < 2; sender++) {
        const smcr_timeline_writer_t *writer = &step->timeline->writer[sender];
        smcr_when_t known = writer->last_known.frame ? writer->last_known : step->timeline->begun;
        if (writer->gap.since.frame)
            add_gap(step, sender, side, question->span.end);
        if (question->missing.acks[!sender])
            doubt_retransmissions(step, side, &writer->retransmitted);
        if (question->missing.last[sender])
            add(step, side,
                sender == side ? SMCR_INTERVAL_NOT_CAPTURED : SMCR_INTERVAL_PEER_NOT_CAPTURED,
                known, question->span.end);
    }
    const smcr_when_t *last_acked = &step->timeline->writer[side].last_acked;
    if (question->missing.acks[!side])
        add(step, side, SMCR_INTERVAL_TRANSFER_IN_DOUBT,
            last_acked->frame ? *last_acked : step->timeline->begun, question->span.end);
    if (question->missing.last[!side])
        prolong_answer(step, side, step->timeline->begun, question->span.end);
}

/* Adds the intervals in which the packet `sent`, which nothing has acknowledged up to `end`, was
 * under way. */
static void
add_open_transfer(const step_t *step, int side, const in_flight_t *sent, smcr_when_t end)
{
    look_for_missing_ack(step, sent, NULL, end);
    if (sent->is_data && sent->read.frame)
        add_transfer_without_ack(step, side, sent, end);
    else if (sent->is_data)
        add_transfer(step, side, sent, end, false);
}

/* Adds to a copy of the timeline the intervals that have begun, and have not ended at the end of
 * the divided time (`span` of `question`). */
static void
add_open(smcr_timeline_t *copy, int side, const smcr_timeline_question_t *question)
{
    smcr_timeline_writer_t *writer = &copy->writer[side];
    step_t step = {copy, NULL, NULL, NULL};
    smcr_when_t certain = end_of_certain_wait(copy, side, question), end = question->span.end;

    add_open_gaps(&step, side, question);
    end_missing_acks(&step, side, end);
    if (writer->wait.wait)
        add(&step, side, SMCR_INTERVAL_FULL, writer->wait.begun, certain);
    if (writer->wait.freed.frame)
        add(&step, side, SMCR_INTERVAL_FREED, writer->wait.freed, certain);
    if (writer->unread.since.frame)
        add(&step, side, SMCR_INTERVAL_UNREAD, writer->unread.since, certain);
    if (writer->unread.is_doubtful)
        add(&step, side, SMCR_INTERVAL_MAYBE_UNREAD, writer->unread.doubtful_since, end);
    if (writer->unknown_since.frame)
        add(&step, side, SMCR_INTERVAL_NOT_CAPTURED, writer->unknown_since, end);
    if (copy->is_late && !writer->has_acks)
        add(&step, side, SMCR_INTERVAL_NOT_CAPTURED, copy->begun, end);
    for (const in_flight_t *sent = writer->oldest; sent; sent = sent->next)
        add_open_transfer(&step, side, sent, end);
}

/* If there is a doubt, charges all time that is not proven to SMCR_INTERVAL_IS_UNKNOWN. Only one
 * part can be proven, SMCR_INTERVAL_IS_FULL_READER: captured packets show that the reader's program
 * had data and did not read them. If the capture is out of order, even this part is not proven. */
static void
keep_what_is_proven(uint64_t *share, smcr_timeline_doubt_t doubt)
{
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++) {
        bool is_proven =
            part == SMCR_INTERVAL_IS_FULL_READER && doubt == SMCR_TIMELINE_MISSES_MORE;
        if (is_proven || part == SMCR_INTERVAL_IS_UNKNOWN)
            continue;
        share[SMCR_INTERVAL_IS_UNKNOWN] += share[part];
        share[part] = 0;
    }
}

/* If there is a doubt, forgets the longest stretches that are not proven. */
static void
keep_proven_stretches(smcr_interval_division_t *division, smcr_timeline_doubt_t doubt)
{
    if (doubt != SMCR_TIMELINE_MISSES_MORE)
        division->longest_reader = (smcr_interval_t){{0}, {0}};
    division->longest_full = division->longest_reader;
    division->longest_retransmission = (smcr_interval_t){{0}, {0}};
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
 * reader's program. This time has no interval, so it was divided as idle time. Begin frame 0: it is
 * not known that the buffer was full. */
static void
charge_reported(smcr_interval_division_t *division, smcr_interval_t full)
{
    uint64_t time = smcr_interval_length(full);

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

/* Charges idle time before the first packet to SMCR_INTERVAL_IS_UNKNOWN, since the first data are
 * missing. `time`: length of the time before the first packet, nanoseconds. */
static void
doubt_beginning(uint64_t *share, uint64_t time)
{
    uint64_t unknown = MIN(share[SMCR_INTERVAL_IS_NOTHING], time);

    share[SMCR_INTERVAL_IS_NOTHING] -= unknown;
    share[SMCR_INTERVAL_IS_UNKNOWN] += unknown;
}

/* Copies the intervals. More intervals can be added to the copy, with NULL as scope. free_copy()
 * frees the copy. */
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
        writer->longest_answer};
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

/* What adapt_piece() needs of the timeline and of the question. */
typedef struct {
    const smcr_timeline_pieces_t *pieces; /* receiver of the pieces */
    smcr_timeline_doubt_t doubt;          /* reason to doubt the whole division */
    smcr_when_t begun;     /* first packet of the connection */
    smcr_when_t full_since; /* as in smcr_timeline_question_t */
    bool misses_acks;      /* acknowledgements may be missing */
    bool misses_first;     /* the first data of the writer are not captured */
} adapter_t;

/* Does for a piece what charge_reported() does for the whole time. */
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

/* Passes on a piece, after the doubts of smcr_timeline_divide() are applied to it. `data`: an
 * adapter_t. */
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
    smcr_intervals_each_piece(&copy.writer[side].intervals, question->span, adapt_piece,
                              &adapter);
    free_copy(&copy.writer[side].intervals);
}

void
smcr_timeline_flip(smcr_timeline_t *timeline)
{
    smcr_timeline_writer_t writer = timeline->writer[0];
    const smcr_link_t *link = timeline->link[0];
    uint32_t gaps = timeline->gaps[0];

    timeline->writer[0] = timeline->writer[1];
    timeline->writer[1] = writer;
    timeline->link[0] = timeline->link[1];
    timeline->link[1] = link;
    timeline->gaps[0] = timeline->gaps[1];
    timeline->gaps[1] = gaps;
}
