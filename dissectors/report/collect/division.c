/* A writer is at one thing at a time. A retransmission shows afterwards what the time since the
 * first transmission was: so each packet under way remembers what had been spent before it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include "wire/wire.h"

#define UNKNOWN_MAX 64 /* acknowledgements of a late link that were not known for such */
#define SENT_MAX 256 /* where nobody acknowledges, old ones are given up */

typedef struct smcr_collect_sent {
    struct smcr_collect_sent *next; /* newer */
    const smcr_when_t *const *acked;
    smcr_when_t when;
    const smcr_link_t *link;
    uint32_t psn;
    smcr_collect_spent_t before;
    bool is_data, waits; /* behind a gap: perhaps it will never be acknowledged */
    bool ends, again;    /* a WRITE request; it was retransmitted */
} unacked_t;

/* ---- what a writer is at ---- */

static void
advance(smcr_collect_writer_t *writer, uint64_t time)
{
    if (time <= writer->spent.until)
        return;
    writer->spent.part[writer->at] += time - writer->spent.until;
    writer->spent.until = time;
}

static void
look(smcr_collect_writer_t *writer)
{
    /* of a late link the first acknowledgements were not known for such */
    bool is_known = writer->is_known && (writer->has_acks || !writer->began_before_capture);
    smcr_collect_part_t at = !is_known           ? SMCR_COLLECT_IS_UNKNOWN
                             : writer->is_full   ? SMCR_COLLECT_IS_FULL
                             : writer->under_way ? SMCR_COLLECT_IS_SENDING
                                                 : SMCR_COLLECT_IS_IDLE;

    if (at != writer->at)
        writer->since = writer->spent.until;
    writer->at = at;
}

/* It turns out what the writer was idle for. */
static void
was_idle(smcr_collect_writer_t *writer, smcr_collect_part_t part)
{
    writer->spent.part[part] += writer->spent.part[SMCR_COLLECT_IS_IDLE];
    writer->spent.part[SMCR_COLLECT_IS_IDLE] = 0;
}

/* ---- packets under way ---- */

static void
give_up(smcr_collect_writer_t *writer, wmem_allocator_t *scope, unacked_t **at)
{
    unacked_t *gone = *at;

    *at = gone->next;
    if (!*at)
        writer->end = at;
    writer->count--;
    writer->under_way -= gone->is_data;
    writer->acked = gone->before;
    wmem_free(scope, gone);
}

static void
add(smcr_collect_writer_t *writer, wmem_allocator_t *scope, unacked_t packet)
{
    if (!writer->oldest)
        writer->end = &writer->oldest;
    unacked_t *sent = *writer->end = wmem_new(scope, unacked_t);
    *sent = packet;
    sent->before = writer->spent;
    writer->end = &sent->next;
    writer->under_way += sent->is_data;
    if (++writer->count > SENT_MAX)
        give_up(writer, scope, &writer->oldest);
}

/* The first one that is known to have been acknowledged before frame `end`. Of a late link the
 * first acknowledgements were not known for such: what they answer is never known to be. */
static const unacked_t *
acknowledged(const smcr_collect_writer_t *writer, uint32_t end)
{
    unsigned unknown = writer->has_acks ? 0 : UNKNOWN_MAX;

    for (const unacked_t *sent = writer->oldest; sent; sent = sent->next) {
        if (sent->acked && *sent->acked && (*sent->acked)->frame < end)
            return sent;
        if (sent->acked && !sent->waits && unknown-- == 0)
            return NULL;
    }
    return NULL;
}

static void
take_ack(smcr_collect_writer_t *writer, wmem_allocator_t *scope, unacked_t sent)
{
    const smcr_when_t *acked = *sent.acked;

    advance(writer, acked->time);
    writer->has_acks = true;
    if (sent.ends && !sent.again && acked->time >= sent.when.time)
        smcr_distribution_add(&writer->ack_time, acked->time - sent.when.time);
    for (unacked_t **at = &writer->oldest; *at;) /* what fills a gap was sent behind others */
        if ((*at)->link != sent.link || smcr_psn_distance((*at)->psn, sent.psn) >= 0)
            give_up(writer, scope, at);
        else
            at = &(*at)->next;
}

static void
settle(smcr_collect_writer_t *writer, wmem_allocator_t *scope, uint32_t end)
{
    for (;;) {
        const unacked_t *sent = acknowledged(writer, end);
        /* space was freed, and the writer's host knows */
        const smcr_when_t *space = writer->is_full && writer->freed ? *writer->freed : NULL;

        if (space && space->frame < end && (!sent || space->frame <= (*sent->acked)->frame)) {
            advance(writer, space->time);
            writer->is_full = false;
        } else if (sent) {
            take_ack(writer, scope, *sent);
        } else {
            return;
        }
        look(writer);
    }
}

static void
settle_both(smcr_collect_division_t *division, wmem_allocator_t *scope, uint32_t end)
{
    for (unsigned side = 0; side < 2; side++)
        settle(&division->writer[side], scope, end);
}

/* ---- retransmissions ---- */

/* What was spent since `before` was something else, unless it went into a retransmission. */
static void
all_was(smcr_collect_writer_t *writer, const smcr_collect_spent_t *before, smcr_collect_part_t part)
{
    uint64_t until = writer->spent.until;

    if (writer->repeated.until > before->until)
        before = &writer->repeated;
    writer->spent = *before;
    writer->spent.part[part] += until - before->until;
    writer->spent.until = until;
    writer->since = until;
}

/* What the writer has been at since a time turns out to be another part, in what it remembers, too.
 * `before`: what had been spent on it until then. */
static void
turn(smcr_collect_writer_t *writer, smcr_collect_part_t at, smcr_collect_part_t part, uint64_t from,
     uint64_t before)
{
    enum { KEPT = 6 };
    smcr_collect_spent_t *kept[KEPT] = {&writer->spent,   &writer->repeated, &writer->seen[0],
                                        &writer->seen[1], &writer->gap,      &writer->acked};
    unacked_t *sent = NULL;

    for (unsigned i = 0; i < KEPT || sent; i++) {
        smcr_collect_spent_t *spent = i < KEPT ? kept[i] : &sent->before;
        uint64_t since = spent->part[at] - MIN(spent->part[at], before);
        uint64_t time = from < spent->until ? MIN(since, spent->until - from) : 0;
        spent->part[at] -= time;
        spent->part[part] += time;
        sent = i < KEPT ? writer->oldest : sent->next;
    }
}

/* A packet that its peer sent first at `first` comes again: space or an answer came late. */
static void
wait_for_peer(smcr_collect_writer_t *writer, uint64_t first)
{
    uint64_t from = MAX(MAX(first, writer->since), writer->reversed);
    bool waits = writer->at == SMCR_COLLECT_IS_FULL ||
                 (writer->at == SMCR_COLLECT_IS_IDLE && writer->has_asked);

    if (waits) {
        turn(writer, writer->at, SMCR_COLLECT_IS_REPEATING, from, 0);
        writer->reversed = writer->spent.until;
    }
}

static void
take_repeat(smcr_collect_division_t *division, const smcr_record_t *record)
{
    smcr_collect_writer_t *writer = &division->writer[record->sender];
    uint32_t frame = record->first_frame - (record->order == SMCR_FLOW_IS_LATE); /* not behind it */
    unacked_t *sent = NULL; /* of that frame, or the first one of its request */

    for (unacked_t *at = writer->oldest; at && at->when.frame <= frame; at = at->next)
        sent = at;
    const smcr_collect_spent_t *before = sent ? &sent->before
                                         : writer->acked.until ? &writer->acked : &writer->gap;
    if ((!sent && record->was_acked) || !before->until) /* it was acknowledged before */
        return;
    all_was(writer, before, SMCR_COLLECT_IS_REPEATING);
    writer->repeated = writer->spent;
    wait_for_peer(&division->writer[!record->sender], before->until);
    for (; sent && sent->when.frame <= frame; sent = sent->next)
        sent->again = true;
}

/* ---- packets ---- */

static void
take_write(smcr_collect_division_t *division, wmem_allocator_t *scope, const smcr_tap_t *packet,
           unacked_t sent)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_writer_t *writer = &division->writer[record->sender];
    smcr_collect_writer_t *peer = &division->writer[!record->sender];
    uint8_t opcode = packet->roce->opcode;
    bool is_new = record->order == SMCR_FLOW_IS_NEXT || sent.waits; /* else others may be newer */

    writer->is_known |= is_new && !sent.waits;
    if (!record->write_location || !record->write_location->length)
        return;
    was_idle(writer, SMCR_COLLECT_IS_SILENT);
    if (peer->has_asked)
        was_idle(peer, SMCR_COLLECT_IS_ASKING);
    bool begins = smcr_ib_begins_message(opcode);
    bool is_first = begins && !smcr_place_range(record->write_location).position;
    writer->lacks_first |= !writer->has_asked && !is_first;
    writer->has_asked = true;
    writer->is_full &= !is_new;
    sent.acked = &record->write_location->acked;
    sent.ends = smcr_ib_ends_message(opcode) && !sent.waits;
    if (begins || smcr_ib_ends_message(opcode) || !writer->under_way)
        add(writer, scope, sent);
}

bool
smcr_collect_division_fills(const smcr_record_t *record, uint32_t frame)
{
    return smcr_record_has_event(record, SMCR_EVENT_window_full) &&
           smcr_evidence_hears_reader(record, frame);
}

/* 0 where the acknowledgement comes later. */
static uint64_t
time_since(const smcr_when_t *acked, smcr_when_t when)
{
    return acked && acked->frame < when.frame && acked->time < when.time ? when.time - acked->time
                                                                         : 0;
}

/* What the message says of the reader: `peer` writes what its sender reads. */
static void
take_reading(smcr_collect_writer_t *peer, smcr_when_t when, const smcr_record_cdc_t *view)
{
    if (!view->read_bytes)
        return;
    if (peer->draining && view->has_consumed && view->consumed >= peer->half) {
        smcr_distribution_add(&peer->drain_time, time_since(*peer->draining, when));
        peer->draining = NULL;
    }
    if (!peer->is_full || peer->freed)
        return;
    peer->freed = &view->acked;
    smcr_distribution_add(&peer->reader_time, time_since(*peer->filled, when));
}

static void
take_cdc(smcr_collect_division_t *division, wmem_allocator_t *scope, smcr_when_t when,
         const smcr_tap_t *packet, unacked_t sent)
{
    const smcr_record_t *record = packet->record;
    const smcr_record_cdc_t *view = record->cdc_analysis;
    smcr_collect_writer_t *writer = &division->writer[record->sender];
    smcr_collect_writer_t *peer = &division->writer[!record->sender];
    bool blocked = packet->cdc && packet->cdc->flags & SMCR_CDC_FLAG_BLOCKED;
    bool filled = smcr_collect_division_fills(record, when.frame);
    bool validates = packet->cdc && packet->cdc->flags & SMCR_CDC_FLAG_FAILOVER, gone_on = false;

    for (const unacked_t *at = writer->oldest; sent.again && at; at = at->next)
        gone_on |= at->is_data && at->link == sent.link && smcr_psn_distance(sent.psn, at->psn) > 0;
    writer->is_known = !sent.waits && (view || validates); /* else nobody knows what it says */
    sent.acked = view ? &view->acked : NULL;
    sent.is_data = view && view->announced_bytes;
    add(writer, scope, sent);
    if (!view && !validates && peer->at == SMCR_COLLECT_IS_FULL && !peer->freed) {
        turn(peer, peer->at, SMCR_COLLECT_IS_UNKNOWN, peer->since, 0);
        peer->is_known = false; /* the message may free space */
    }
    writer->lacks_first |=
        !writer->has_asked && (view ? view->announced_bytes && !view->writes : !validates);
    if (!view)
        return;
    if (view->announced_bytes && !view->writes) /* nobody knows when its bytes were written */
        all_was(writer, &writer->seen[record->sender], SMCR_COLLECT_IS_UNKNOWN);
    if ((blocked || filled) && !writer->is_full && !gone_on) {
        writer->is_full = true;
        writer->filled = &view->acked;
        writer->freed = NULL;
        if (!writer->draining && view->size) {
            writer->draining = &view->acked;
            writer->half = view->announced - MIN(view->announced, view->size / 2);
        }
    } else if (!blocked && writer->is_blocked && !filled) {
        writer->is_full = false;
    }
    writer->is_blocked = blocked;
    take_reading(peer, when, view);
}

static void
begin(smcr_collect_division_t *division, smcr_when_t when, const uint32_t *gaps, bool is_whole)
{
    division->begun = when;
    for (unsigned side = 0; side < 2; side++) {
        division->gaps[side] = gaps[side];
        division->writer[side].is_known = is_whole;
        division->writer[side].began_before_capture = !is_whole;
        division->writer[side].spent.until = when.time;
        look(&division->writer[side]);
        division->writer[side].seen[0] = division->writer[side].seen[1] =
            division->writer[side].spent;
    }
}

/* Nobody knows what the absent packets of a sender said: what it was at, whether they freed space
 * for the other one, and whether that waited since they were sent again. */
static void
take_gap(smcr_collect_division_t *division, unsigned sender)
{
    for (unsigned side = 0; side < 2; side++) {
        smcr_collect_writer_t *writer = &division->writer[side];
        const smcr_collect_spent_t seen = writer->seen[sender];
        bool was_full = writer->spent.part[SMCR_COLLECT_IS_FULL] > seen.part[SMCR_COLLECT_IS_FULL];

        if (side == sender)
            all_was(writer, &seen, SMCR_COLLECT_IS_UNKNOWN);
        smcr_collect_part_t at = writer->has_asked ? SMCR_COLLECT_IS_IDLE : SMCR_COLLECT_IS_FULL;
        for (; at <= SMCR_COLLECT_IS_FULL; at++)
            turn(writer, at, SMCR_COLLECT_IS_UNKNOWN, seen.until, seen.part[at]);
        writer->since = writer->spent.until;
        if (side != sender && !was_full)
            continue;
        writer->gap = seen;
        writer->is_known = writer->is_full = false;
    }
}

void
smcr_collect_division_take(smcr_collect_division_t *division, wmem_allocator_t *scope,
                           smcr_when_t when, const smcr_tap_t *packet, const uint32_t *gaps,
                           bool is_whole)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_writer_t *writer = &division->writer[record->sender];
    unacked_t sent = {.when = when,
                      .link = record->link,
                      .psn = packet->roce->psn,
                      .is_data = true,
                      .waits = record->receiver_action == SMCR_FLOW_RECEIVER_WAITS};

    if (!division->begun.frame)
        begin(division, when, gaps, is_whole);
    settle_both(division, scope, when.frame);
    for (unsigned side = 0; side < 2; side++)
        advance(&division->writer[side], when.time);
    for (unsigned side = 0; side < 2; side++) {
        if (division->gaps[side] != gaps[side])
            take_gap(division, side);
        division->gaps[side] = gaps[side];
    }
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION ||
        (record->order == SMCR_FLOW_IS_LATE && writer->gap.until && record->first_frame))
        take_repeat(division, record);
    if (record->order != SMCR_FLOW_IS_COPY && record->receiver_action != SMCR_FLOW_RECEIVER_DROPS) {
        sent.again = record->order == SMCR_FLOW_IS_RETRANSMISSION;
        if (record->kind == SMCR_RECORD_WRITE)
            take_write(division, scope, packet, sent);
        else if (record->kind == SMCR_RECORD_CDC)
            take_cdc(division, scope, when, packet, sent);
    }
    for (unsigned side = 0; side < 2; side++) {
        look(&division->writer[side]);
        division->writer[side].seen[record->sender] = division->writer[side].spent;
    }
}

void
smcr_collect_division_end(smcr_collect_division_t *division, wmem_allocator_t *scope,
                          uint32_t last_frame, uint32_t now)
{
    settle_both(division, scope, last_frame + 1);
    for (unsigned side = 0; side < 2; side++)
        division->ended[side] = division->writer[side];
    settle_both(division, scope, now + 1);
}

/* ---- the entry ---- */

smcr_entry_conn_time_t *
smcr_collect_division_entry(smcr_collect_division_t *division, int side,
                            const smcr_collect_span_t *span, wmem_allocator_t *scope)
{
    smcr_collect_writer_t *writer = &division->ended[side];
    const uint64_t *part = writer->spent.part;
    uint64_t begun = division->begun.time;
    bool is_ready = span->ready != SMCR_FIGURE_UNKNOWN;
    uint64_t ready = is_ready ? span->ready : begun, quiet = begun - ready;

    if (ready < span->first || begun < ready || span->last < writer->spent.until)
        return NULL;
    advance(writer, span->last);
    was_idle(writer, SMCR_COLLECT_IS_SILENT);
    smcr_entry_conn_time_t *entry = wmem_new(scope, smcr_entry_conn_time_t);
    is_ready = is_ready && span->has_syn;
    *entry = (smcr_entry_conn_time_t){
        .connecting_s = is_ready ? ready - span->first : SMCR_FIGURE_UNKNOWN,
        .nothing_to_write_s = part[SMCR_COLLECT_IS_SILENT] + (writer->lacks_first ? 0 : quiet),
        .answer_s = part[SMCR_COLLECT_IS_ASKING],
        .buffer_full_s = part[SMCR_COLLECT_IS_FULL],
        .retransmission_s = part[SMCR_COLLECT_IS_REPEATING],
        .transfer_s = part[SMCR_COLLECT_IS_SENDING],
        .unknown_s = part[SMCR_COLLECT_IS_UNKNOWN] + (is_ready ? 0 : ready - span->first) +
                     (writer->lacks_first ? quiet : 0)};
    return entry;
}
