/* Where the time of a connection went, in the members of a report: feeds the timeline with the
 * packets of the tap, and divides the time when the report is made (docs/report.md, "Where the time
 * went").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "conn_times.h"

#include "wire/wire.h"

/* Where the samples of a timeline go. */
typedef struct {
    smcr_collect_times_t *times; /* times of the connection, which get the samples */
    wmem_allocator_t *scope; /* memory pool that owns the distributions of `times` */
} taker_t;

/* Adds a measured time to the writer's distribution of this kind of sample. A slow answer also
 * counts in `slow_answers`. The timeline calls this function for each time that it measures.
 * `data`: the taker_t. */
static void
take_sample(void *data, int writer, smcr_timeline_sample_t sample, uint64_t time)
{
    const taker_t *taker = data;
    smcr_collect_writer_times_t *of = &taker->times->of[writer];
    smcr_distribution_t **samples[] = {
        [SMCR_TIMELINE_ACK] = &of->ack_time,
        [SMCR_TIMELINE_READER] = &of->reader_time,
        [SMCR_TIMELINE_DRAIN] = &of->drain_time,
        [SMCR_TIMELINE_ANSWER] = &of->answer_time,
    };

    smcr_distribution_add_time(samples[sample], taker->scope, time);
    if (sample != SMCR_TIMELINE_ANSWER || time < SMCR_COLLECT_SLOW_ANSWER)
        return;
    of->slow_answers++;
    of->slow_answer_time += time;
}

/* Whether the number of a new CDC message proves that no message of its writer is missing before
 * it. `next_seq`: as in smcr_collect_writer_times_t. `is_late`: as in smcr_timeline_t. Messages are
 * numbered from 1 (A.4), and after 65535 from 0 again: so the first captured message proves this
 * only if it is number 1 and the connection began in the capture. */
static bool
is_next_message(const smcr_cdc_t *cdc, uint32_t next_seq, bool is_late)
{
    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        return false;
    return next_seq ? cdc->seq == (uint16_t)next_seq : cdc->seq == 1 && !is_late;
}

/* Takes a CDC message at `when`. `ends`: the message has a flag that ends the connection in the
 * sense of `closing`. `is_next`: its number proves that no message is missing before it. `is_new`:
 * no later packet of its flow has come before it (smcr_record_is_new()). */
static void
note_closing(smcr_collect_closing_t *closing, smcr_when_t when, bool ends, bool is_next,
             bool is_new)
{
    if (closing->first.frame)
        return;
    if (ends) {
        closing->first = when;
        closing->is_proven = is_next && is_new;
    } else if (is_new) {
        closing->open = when;
    }
}

/* Notes the last WRITE with data of either side so far, or the begin of the gap in which it is
 * missing; without a WRITE, the first packet of the connection. Called for the first message of
 * either side that ends the connection. */
static void
note_idle(smcr_collect_times_t *times)
{
    const smcr_timeline_writer_t *writer = times->timeline.writer;

    times->idle = times->timeline.begun;
    for (int side = 0; side < 2; side++) {
        if (writer[side].last_write.frame <= times->idle.frame)
            continue;
        times->idle = writer[side].last_write;
        times->idle_is_late = writer[side].last_write_is_late;
    }
}

/* Notes four facts about the end of the connection:
 * 1. the first CDC message of each side that closes or aborts the connection;
 * 2. the first one of each side that aborts it;
 * 3. the first one of each side that has the flag sending done, if the side has neither closed nor
 *    aborted the connection with this message or before;
 * 4. the last WRITE before the earliest message of fact 1.
 * A duplicate made by the network is never the first. */
static void
note_end(smcr_collect_times_t *times, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_cdc_t *cdc = packet->cdc;
    smcr_collect_writer_times_t *of = &times->of[packet->record->sender];
    bool had_ended = times->of[0].ended.first.frame || times->of[1].ended.first.frame;

    if (!cdc)
        return;
    bool is_new = smcr_record_is_new(packet->record);
    bool is_next = is_next_message(cdc, of->next_seq, times->timeline.is_late);
    bool aborts = (cdc->state & SMCR_CDC_STATE_ABORT) != 0;
    bool ends = aborts || cdc->state & SMCR_CDC_STATE_CLOSED;
    note_closing(&of->aborted, when, aborts, is_next, is_new);
    note_closing(&of->ended, when, ends, is_next, is_new);
    if (!of->sending_done && cdc->state & SMCR_CDC_STATE_SENDING_DONE && !of->ended.first.frame)
        of->sending_done = when.frame;
    if (is_new && !(cdc->flags & SMCR_CDC_FLAG_FAILOVER))
        of->next_seq = cdc->seq + 1U;
    if (ends && !had_ended)
        note_idle(times);
}

/* Counts a WRITE that certainly answers nothing: its writer has written since its peer's last
 * WRITE, and neither side has sent a packet of the connection for SMCR_COLLECT_SLOW_ANSWER. The
 * writer has neither waited for space nor retransmitted, since both need packets. */
static void
note_unasked(smcr_collect_times_t *times, smcr_when_t when, const smcr_record_t *record)
{
    const smcr_timeline_writer_t *writer = &times->timeline.writer[record->sender];
    const smcr_timeline_writer_t *peer = &times->timeline.writer[!record->sender];
    uint64_t quiet_since = MAX(writer->last_seen.time, peer->last_seen.time);
    bool is_quiet = when.time >= quiet_since + SMCR_COLLECT_SLOW_ANSWER;

    if (record->kind != SMCR_RECORD_WRITE || record->order != SMCR_FLOW_IS_NEXT)
        return;
    if (is_quiet && writer->has_written && writer->last_write.frame > peer->last_write.frame)
        times->of[record->sender].unasked_writes++;
}

/* Notes the sender of the connection's first packet, and since when both flows of its link have
 * been whole. */
static void
note_first(smcr_collect_times_t *times, int sender, const smcr_when_t *whole_since)
{
    times->first_sender = sender;
    if (whole_since[0].frame && whole_since[1].frame)
        times->whole_since = whole_since[whole_since[1].frame > whole_since[0].frame];
}

/* Whether a packet of the sender `side` may be missing on the link that the connection has left
 * with its packet at `when`: a request that this side has sent over the link group is missing since
 * its last packet of the connection, or, without one, since the first packet of the connection. */
static bool
may_miss_before_move(const smcr_collect_times_t *times, const smcr_lgr_t *lgr, int side,
                     smcr_when_t when)
{
    smcr_when_t seen = times->timeline.writer[side].last_seen;
    uint32_t since = seen.frame ? seen.frame : times->timeline.begun.frame;

    return smcr_evidence_side_lacks_between(lgr, side, since, when.frame + 1);
}

/* Notes whether the first CDC message of its sender shows that the capture has all packets that the
 * sender has sent before. The timeline has the bytes of the sender's WRITEs so far. */
static void
note_begin(smcr_collect_times_t *times, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_record_cdc_t *view = record->cdc_analysis;
    smcr_collect_writer_times_t *of = &times->of[record->sender];

    if (!packet->cdc || of->next_seq || !view || !smcr_record_is_new(record))
        return;
    bool is_first = is_next_message(packet->cdc, 0, times->timeline.is_late);
    of->begins_whole = is_first && view->has_announced_bytes &&
                       view->announced_bytes == times->timeline.writer[record->sender].unannounced;
}

/* note_unasked(), note_first() and note_begin() compare the packet with earlier ones, so they are
 * called before the timeline takes the packet. note_end() reads the timeline with the packet. */
void
smcr_collect_times_take(smcr_collect_times_t *times, wmem_allocator_t *scope, smcr_when_t when,
                        const smcr_tap_t *packet, const smcr_collect_gaps_t *gaps)
{
    taker_t taker = {times, scope};
    const smcr_timeline_sink_t sink = {take_sample, &taker};
    const smcr_link_t *left = times->timeline.link[0], *link = packet->record->link;
    bool has_moved = left && left != link;
    const smcr_timeline_packet_t taken = {
        .when = when,
        .record = packet->record,
        .roce = packet->roce,
        .cdc = packet->cdc,
        .gap_count = gaps->by_sender,
        .last_gap = gaps->last,
        .is_whole = gaps->is_whole,
        .may_miss_last = {has_moved && may_miss_before_move(times, link->lgr, 0, when),
                          has_moved && may_miss_before_move(times, link->lgr, 1, when)},
    };

    note_unasked(times, when, packet->record);
    if (!times->timeline.begun.frame)
        note_first(times, packet->record->sender, gaps->whole_since);
    note_begin(times, packet);
    smcr_timeline_take(&times->timeline, scope, &taken, &sink);
    note_end(times, when, packet);
}

bool
smcr_collect_times_fills(const smcr_record_t *record, uint32_t frame)
{
    return smcr_record_has_event(record, SMCR_EVENT_window_full) &&
           smcr_evidence_hears_reader(record, frame);
}

void
smcr_collect_times_advance(smcr_collect_times_t *times, wmem_allocator_t *scope, uint32_t now)
{
    taker_t taker = {times, scope};
    const smcr_timeline_sink_t sink = {take_sample, &taker};

    smcr_timeline_advance(&times->timeline, scope, now, &sink);
}

/* Side 0 and side 1 of the link group have changed places, so every member by side is swapped. */
void
smcr_collect_times_flip(smcr_collect_times_t *times)
{
    smcr_collect_writer_times_t first = times->of[0];

    smcr_timeline_flip(&times->timeline);
    times->first_sender = !times->first_sender;
    times->of[0] = times->of[1];
    times->of[1] = first;
}

void
smcr_collect_times_move(smcr_collect_times_t *times, const smcr_collect_times_t *half, int side)
{
    times->timeline.writer[side] = half->timeline.writer[side];
    times->of[side] = half->of[side];
}

/* The entry shares the distributions, which go on growing: they are read before the next packet. */
void
smcr_collect_times_fill(const smcr_collect_times_t *times, int writer,
                        smcr_entry_conn_direction_t *entry)
{
    const smcr_collect_writer_times_t *of = &times->of[writer];

    entry->ack_time_s = of->ack_time;
    entry->reader_time_s = of->reader_time;
    entry->drain_time_s = of->drain_time;
    entry->answer_time_s = of->answer_time;
    entry->slow_answers = of->slow_answers;
    entry->slow_answers_s = of->slow_answer_time;
    entry->unasked_writes = of->unasked_writes;
}

/* Returns the side whose frame comes first; 0 if neither side has a frame. Frame 0: none. */
static int
first_side(uint32_t of_0, uint32_t of_1)
{
    return of_1 && (!of_0 || of_1 < of_0);
}

/* Returns the side of the socket's host. */
static int
host_of(const smcr_socket_t *socket, const smcr_conn_t *conn)
{
    return socket->reported.is_server ? conn->lgr->server : !conn->lgr->server;
}

/* Returns the first message of `side` that ends the connection; if it is not captured, the first
 * report of the other side's host that has it. Frame 0: neither is captured. */
static smcr_when_t
end_by(const smcr_collect_times_t *times, const smcr_conn_t *conn, int side)
{
    const smcr_socket_t *sockets[] = {conn->socket, conn->socket ? conn->socket->mirror : NULL};
    smcr_when_t when = times->of[side].ended.first;

    for (unsigned i = 0; !when.frame && i < G_N_ELEMENTS(sockets); i++) {
        const smcr_socket_t *socket = sockets[i];
        if (socket && !socket->is_contradicted && host_of(socket, conn) != side)
            when = socket->peer_closed;
    }
    return when;
}

/* What missing packets leave certain of the end of a connection. */
typedef struct {
    const smcr_collect_times_t *times; /* times of the connection */
    const smcr_conn_t *conn;           /* the connection in the state */
    uint32_t first; /* frame before which the connection has no packets on RoCE; 0: not known */
    uint32_t last;  /* frame after which the connection has no packets on RoCE; UINT32_MAX: not
                       known */
    bool is_whole; /* no packet of the connection is missing between `first` and `last` */
} certain_t;

/* Returns what missing packets leave certain of the end of a connection. A side that has written
 * after its close may send more messages, so the last frame of the connection is not known then. */
static certain_t
certain_of(const smcr_collect_times_t *times, const smcr_conn_t *conn)
{
    bool may_send_more = conn->side[0].wrote_after_end || conn->side[1].wrote_after_end;
    certain_t certain = {
        .times = times,
        .conn = conn,
        .first = smcr_evidence_first_frame(conn),
        .last = may_send_more ? UINT32_MAX : smcr_evidence_last_frame(conn),
    };

    certain.is_whole = !smcr_evidence_conn_lacks_between(conn, certain.first, certain.last);
    return certain;
}

/* Whether no message of the kind `closing` is missing before the first captured one; if none is
 * captured, whether none is missing at all. */
static bool
is_first_certain(const certain_t *certain, const smcr_collect_closing_t *closing)
{
    return certain->is_whole || (closing->first.frame && closing->is_proven);
}

/* Whether no message of `side` is missing between its last message that does not end the
 * connection, or without one the first packet of the connection, and the packet `when`. A later
 * packet of its flow is captured: so a sequence gap would show packets that are missing before
 * it. */
static bool
has_messages_up_to(const certain_t *certain, const smcr_collect_closing_t *closing, int side,
                   smcr_when_t when)
{
    const smcr_conn_side_t *sender = &certain->conn->side[side];
    uint32_t since = closing->open.frame ? closing->open.frame : certain->first;

    if (!since || !sender->link || smcr_conn_side_has_moved(sender))
        return false;
    return sender->link->qp[!side].traffic.flow.highest_frame > when.frame &&
           !smcr_evidence_conn_lacks_between(certain->conn, since, when.frame + 1);
}

/* Whether `side`, which sent the messages of `closing`, had certainly not ended before `when`: its
 * own end came later, or one of its later messages does not end the connection, or the capture has
 * all its messages up to then, or up to the last one that the peer acknowledged. */
static bool
was_open(const certain_t *certain, const smcr_collect_closing_t *closing, int side,
         smcr_when_t when)
{
    if (closing->open.frame > when.frame || has_messages_up_to(certain, closing, side, when))
        return true;
    if (closing->first.frame)
        return is_first_certain(certain, closing);
    return certain->is_whole && smcr_evidence_is_current(certain->conn, !side);
}

/* If `side` has moved to another link, it may have sent data once more there. */
uint32_t
smcr_collect_times_complete_in(const smcr_collect_times_t *times, const smcr_conn_t *conn, int side,
                               smcr_when_t ended)
{
    const smcr_timeline_writer_t *writer = &times->timeline.writer[side];
    bool is_after = writer->complete_in >= ended.frame && writer->last_write.frame <= ended.frame;

    return is_after && !smcr_conn_side_has_moved(&conn->side[side]) ? writer->complete_in : 0;
}

/* Returns the packet since which neither side had written when the connection ended (`ended`);
 * frame 0: not known, since a WRITE may be missing. If there was no WRITE, no packet may be missing
 * from the beginning on. If acknowledgements are not captured, it is not known which retransmission
 * the receiver accepted, and frame 0 is returned. */
static smcr_when_t
idle_before(const certain_t *certain, smcr_when_t ended)
{
    smcr_when_t idle = certain->times->idle;
    bool has_written = idle.frame > certain->times->timeline.begun.frame;
    uint32_t since = has_written ? idle.frame : certain->first;
    bool is_complete = true;

    for (int side = 0; side < 2; side++)
        if (!smcr_collect_times_complete_in(certain->times, certain->conn, side, ended))
            is_complete = false;
    bool may_miss_write =
        certain->times->idle_is_late ||
        (!is_complete && smcr_evidence_conn_lacks_between(certain->conn, since, ended.frame));
    for (int side = 0; side < 2; side++)
        may_miss_write |= !smcr_timeline_hears_acks(&certain->times->timeline, side);
    return may_miss_write ? (smcr_when_t){0, 0} : idle;
}

/* Whether the capture shows that `later`, a later frame than `first`, was sent later. If the
 * capture is out of order, it has to come much later. */
static bool
shows_order(const smcr_conn_t *conn, smcr_when_t first, smcr_when_t later)
{
    uint64_t disorder = smcr_lgr_disorder(conn->lgr);
    bool is_much_later = later.time > first.time + SMCR_TIME_DISORDER;

    return !disorder || (disorder != UINT64_MAX && is_much_later);
}

/* Whether the capture shows which of two events came first. `of`: the event of each side, frame 0
 * if there is none; `first`: side whose event was captured first. */
static bool
shows_first(const smcr_conn_t *conn, const smcr_when_t *of, int first)
{
    bool is_alone = !of[!first].frame && smcr_lgr_disorder(conn->lgr) != UINT64_MAX;

    return of[first].frame && (is_alone || shows_order(conn, of[first], of[!first]));
}

/* Whether the writer `side` wrote data after `ended`. If a later CDC message of the writer shows
 * that it had not, packets that are missing before this message do not matter. */
static smcr_figure_maybe_t
written_after(const certain_t *certain, int side, smcr_when_t ended)
{
    smcr_when_t last = certain->times->timeline.writer[side].last_write;

    if (last.frame > ended.frame)
        return shows_order(certain->conn, ended, last) ? SMCR_FIGURE_YES : SMCR_FIGURE_MAYBE;
    uint32_t complete =
        smcr_collect_times_complete_in(certain->times, certain->conn, side, ended);
    bool may_miss_write = smcr_evidence_conn_lacks_between(
        certain->conn, complete ? complete : ended.frame, certain->last);
    return may_miss_write ? SMCR_FIGURE_MAYBE : SMCR_FIGURE_NO;
}

/* Whether no packet of the connection is missing between the frames `from` and `to`. `from` 0: no
 * frame; then false. */
static bool
misses_none(const certain_t *certain, uint32_t from, uint32_t to)
{
    return from && from < to && !smcr_evidence_conn_lacks_between(certain->conn, from, to);
}

/* Fills in bounds of a WRITE of `side` after the end of the connection, which may be missing:
 * packets of the timeline. All packets of the connection that may be missing were sent between
 * them. */
static void
add_late_write(smcr_entry_conn_end_t *entry, const certain_t *certain, int side)
{
    const smcr_timeline_writer_t *writer = &certain->times->timeline.writer[side];
    const smcr_when_t packets[] = {writer->last_seen, writer->missing_since, writer->gap_noticed,
                                   writer->last_acked, certain->times->of[side].ended.first};
    smcr_when_t after = entry->frame, before = {0, 0};

    for (unsigned i = 0; i < G_N_ELEMENTS(packets); i++) {
        uint32_t frame = packets[i].frame;
        bool is_first = !before.frame || frame < before.frame;
        if (frame > after.frame && misses_none(certain, entry->frame.frame, frame))
            after = packets[i];
        if (is_first && frame > after.frame && misses_none(certain, frame, certain->last))
            before = packets[i];
    }
    entry->late_write_after_frame = after;
    entry->late_write_by_frame = before;
}

/* Adds which side was the first to abort the connection, if this is certain. `client`: side of the
 * client. */
static void
add_abort(smcr_entry_conn_end_t *entry, const certain_t *certain, int client)
{
    const smcr_collect_closing_t *aborts[] = {&certain->times->of[0].aborted,
                                              &certain->times->of[1].aborted};
    int first = first_side(aborts[0]->first.frame, aborts[1]->first.frame);
    const smcr_when_t of[] = {aborts[0]->first, aborts[1]->first};
    smcr_when_t when = of[first];

    if (!shows_first(certain->conn, of, first) || !is_first_certain(certain, aborts[first]) ||
        !was_open(certain, aborts[!first], !first, when))
        return;
    entry->aborted_by = smcr_figure_role(first != client);
    entry->aborted_frame = when;
}

/* Whether the side may have sent messages although the capture has none of them: the link group
 * began before the capture, no link of the connection is known, or the direction is not captured.
 */
static bool
may_be_unheard(const smcr_collect_times_t *times, const smcr_conn_t *conn, int side)
{
    const smcr_link_t *link = times->timeline.link[0];

    if (times->of[side].next_seq)
        return false;
    return !conn->lgr->first_contact_captured || !link ||
           !smcr_evidence_has_packets_to(&link->qp[!side]);
}

/* Whether the side may have ended the connection in messages that do not count here: they may be
 * missing, or may be listed as another connection, since the token that they carry is not known. */
static bool
may_end_elsewhere(const smcr_collect_times_t *times, const smcr_conn_t *conn, int side)
{
    if (may_be_unheard(times, conn, side))
        return true;
    return !conn->side[!side].has_token && !smcr_evidence_has_end(conn, side);
}

/* Fills in with which message, `when`, the other end ended the connection, or bounds of it. The
 * other end had not ended the connection before its last message that does not end it, nor before
 * the first end. `other`: messages of the other end. */
static void
add_other_end(smcr_entry_conn_end_t *entry, const certain_t *certain,
              const smcr_collect_closing_t *other, smcr_when_t when)
{
    if (is_first_certain(certain, other)) {
        entry->other_frame = entry->other_after_frame = entry->other_by_frame = when;
        return;
    }
    bool is_later = other->open.frame > entry->frame.frame;
    entry->other_after_frame = is_later ? other->open : entry->frame;
    entry->other_by_frame = when;
}

/* A CDC message is a snapshot: with its number and its flags it shows what missing packets of the
 * link group cannot have changed (smcr_collect_closing_t). If only a report over netlink shows an
 * end, no packet of the link group may be missing. */
smcr_entry_conn_end_t *
smcr_collect_times_end(const smcr_collect_times_t *times, const smcr_conn_t *conn, int client,
                       wmem_allocator_t *scope)
{
    const certain_t certain = certain_of(times, conn);
    const smcr_when_t ends[] = {end_by(times, conn, 0), end_by(times, conn, 1)};
    int first = first_side(ends[0].frame, ends[1].frame);
    const smcr_collect_closing_t *closing = &times->of[first].ended;
    const smcr_collect_closing_t *other = &times->of[!first].ended;
    bool is_reported = !closing->first.frame;

    bool has_ended = shows_first(conn, ends, first);
    bool is_first = is_first_certain(&certain, closing) &&
                    was_open(&certain, other, !first, ends[first]);

    if (!has_ended || !is_first || may_end_elsewhere(times, conn, !first))
        return NULL;
    smcr_entry_conn_end_t *entry = wmem_new(scope, smcr_entry_conn_end_t);
    *entry = (smcr_entry_conn_end_t){
        .by = smcr_figure_role(first != client),
        .frame = ends[first],
        .is_reported = smcr_figure_truth(is_reported),
        .idle_frame = is_reported ? (smcr_when_t){0, 0} : idle_before(&certain, ends[first]),
        .written_after = written_after(&certain, !first, ends[first]),
        .aborted_by = SMCR_FIGURE_ROLE_NONE};
    add_other_end(entry, &certain, other, ends[!first]);
    if (entry->written_after == SMCR_FIGURE_MAYBE)
        add_late_write(entry, &certain, !first);
    add_abort(entry, &certain, client);
    return entry;
}

/* Whether the host of `socket`, which may be NULL, has reported, before the first packet of the
 * connection, that the receive buffer for the data of side `writer` is full. Returns false if a
 * packet of the link may be missing between the report and the first packet. */
static bool
reports_full(const smcr_collect_times_t *times, const smcr_conn_t *conn,
             const smcr_socket_t *socket, int writer)
{
    smcr_when_t begun = times->timeline.begun, whole_since = times->whole_since;

    if (!socket || socket->is_contradicted)
        return false;
    int host = host_of(socket, conn);
    smcr_when_t full = socket->full[host == writer ? SMCR_TOLD_PEER : SMCR_TOLD_OWN];
    bool is_whole = whole_since.frame && whole_since.frame < full.frame;
    return is_whole && full.frame < begun.frame && whole_since.time <= begun.time;
}

/* Hosts may report, over netlink, that a receive buffer is full before the capture has a packet of
 * the connection. If the first packet is one of the reader, the writer waited up to this packet.
 * The wait began at the latest with the packet from which on no packet of the link is missing
 * (`whole_since`), since no message of the connection has moved a cursor after that packet. */
smcr_when_t
smcr_collect_times_full_since(const smcr_collect_times_t *times, const smcr_conn_t *conn,
                              int writer)
{
    bool hides_packets = times->timeline.begun.time != conn->begin_time; /* true: a display filter
                                                                            hides the first
                                                                            packets */

    if (!conn->socket || times->first_sender == writer || hides_packets)
        return (smcr_when_t){0, 0};
    bool is_full = reports_full(times, conn, conn->socket, writer) ||
                   reports_full(times, conn, conn->socket->mirror, writer);
    return is_full ? times->whole_since : (smcr_when_t){0, 0};
}

/* Returns the interval in which the connection can carry data: from the time when it was ready to
 * its last frame. If `span->ready` is not known, the interval begins with the connection's first
 * RoCE packet, or with an earlier packet since which a buffer was full (`full_since`). */
static smcr_interval_t
span_of_data(const smcr_collect_times_t *times, const smcr_collect_span_t *span)
{
    smcr_when_t begin = times->timeline.begun;

    for (int side = 0; side < 2; side++)
        begin = smcr_figure_when_earlier(begin, span->full_since[side]);
    if (span->ready != SMCR_FIGURE_UNKNOWN)
        begin.time = span->ready;
    return (smcr_interval_t){begin, {span->last_frame, span->last}};
}

/* The division of the timeline is only true if begin, packets and end are in this order in time. */
bool
smcr_collect_times_find(const smcr_collect_times_t *times, int side,
                        const smcr_collect_span_t *span, smcr_timeline_direction_t *found)
{
    smcr_interval_t data = span_of_data(times, span);
    const smcr_timeline_t *timeline = &times->timeline;

    /* The time stamps contradict the order of frames in three cases:
     * 1. the connection was ready before its first frame;
     * 2. it had a RoCE packet before it was ready;
     * 3. its last frame is earlier than its last RoCE packet. */
    if (data.begin.time < span->first || timeline->begun.time < data.begin.time ||
        span->last < timeline->latest.time)
        return false;
    *found = smcr_timeline_divide(timeline, side,
                                  &(smcr_timeline_question_t){data, span->full_since[side],
                                                              span->missing});
    return true;
}

void
smcr_collect_times_each_piece(const smcr_collect_times_t *times, int side,
                              const smcr_collect_span_t *span,
                              const smcr_timeline_pieces_t *pieces)
{
    const smcr_timeline_question_t question = {span_of_data(times, span), span->full_since[side],
                                               span->missing};

    smcr_timeline_each_piece(&times->timeline, side, &question, pieces);
}

/* How long the connection may have carried data before `begin`, the begin of the divided time,
 * nanoseconds; 0: it certainly has not. */
static uint64_t
may_carry_before(const smcr_collect_span_t *span, uint64_t begin)
{
    uint64_t since = MAX(span->connecting_until, span->first);

    return begin > since ? begin - since : 0;
}

/* How long the writer `side` certainly had nothing to write before the begin of the divided time,
 * nanoseconds: the connection could carry data, and the writer had sent nothing
 * (`begins_whole`). At most `before`: may_carry_before(). */
static uint64_t
was_idle_before(const smcr_collect_times_t *times, int side, const smcr_collect_span_t *span,
                uint64_t before)
{
    uint64_t begin = times->timeline.begun.time;
    bool is_known = times->of[side].begins_whole && span->ready == SMCR_FIGURE_UNKNOWN &&
                    span->ready_until < begin;

    return is_known ? MIN(before, begin - span->ready_until) : 0;
}

/* The unknown time that may belong to parts in which data are sent or awaited, nanoseconds: all but
 * the time before the first packet, if the writer had certainly sent nothing then
 * (`begins_whole`). `before`: may_carry_before(). `unknown`: the unknown time, which includes
 * `before`. */
static uint64_t
may_be_busy(const smcr_collect_times_t *times, int writer, uint64_t unknown, uint64_t before)
{
    return times->of[writer].begins_whole ? unknown - before : unknown;
}

/* The parts add up to the time from the connection's first frame to its last one. If the capture
 * has the SYN, and `ready` is known, the time before `ready` counts as "connecting". Otherwise
 * the time before the divided time counts as unknown, but for was_idle_before(). The upper bound
 * of a part (`..._most_s`) is the sum of the part and of the unknown time in which the
 * connection may have carried data (may_be_busy()); `unknown_s` may be more. Time that is either
 * a wait for an answer or idle (SMCR_INTERVAL_IS_MAYBE_ANSWER) counts as unknown, and is only in
 * the upper bounds of these two parts. For retransmissions, `span->retransmission_most` limits
 * the upper bound. */
smcr_entry_conn_time_t *
smcr_collect_times_entry(const smcr_collect_times_t *times, int side,
                         const smcr_collect_span_t *span,
                         const smcr_timeline_direction_t *direction, wmem_allocator_t *scope)
{
    const uint64_t *share = direction->division.share;
    smcr_interval_t data = span_of_data(times, span);
    uint64_t connecting = data.begin.time - span->first;
    bool is_ready = span->ready != SMCR_FIGURE_UNKNOWN && span->has_syn;
    uint64_t full = share[SMCR_INTERVAL_IS_FULL_READER] + share[SMCR_INTERVAL_IS_FULL_PATH];
    uint64_t carried = may_carry_before(span, data.begin.time);
    uint64_t idle = was_idle_before(times, side, span, carried), before = carried - idle;
    uint64_t unknown = share[SMCR_INTERVAL_IS_UNKNOWN] + before;
    uint64_t busy = may_be_busy(times, side, unknown, before);
    uint64_t maybe_answer = share[SMCR_INTERVAL_IS_MAYBE_ANSWER];
    uint64_t retransmitted = share[SMCR_INTERVAL_IS_RETRANSMISSION];
    uint64_t transfer = share[SMCR_INTERVAL_IS_TRANSFER] + share[SMCR_INTERVAL_IS_NEEDLESS];
    smcr_entry_conn_time_t *entry = wmem_new(scope, smcr_entry_conn_time_t);

    *entry = (smcr_entry_conn_time_t){
        .connecting_s = is_ready ? connecting : SMCR_FIGURE_UNKNOWN,
        .nothing_to_write_s = share[SMCR_INTERVAL_IS_NOTHING] + idle,
        .answer_s = share[SMCR_INTERVAL_IS_ANSWER],
        .buffer_full_s = full,
        .reader_s = share[SMCR_INTERVAL_IS_FULL_READER],
        .retransmission_s = retransmitted,
        .transfer_s = transfer,
        .filling_s = MIN(direction->division.filling, transfer),
        .needless_s = share[SMCR_INTERVAL_IS_NEEDLESS],
        .unknown_s = unknown - before + maybe_answer + (is_ready ? 0 : connecting - idle),
    };
    entry->nothing_to_write_most_s = entry->nothing_to_write_s + unknown + maybe_answer;
    entry->answer_most_s = entry->answer_s + busy + maybe_answer;
    entry->buffer_full_most_s = full + busy;
    entry->retransmission_most_s = retransmitted + busy;
    if (span->retransmission_most != SMCR_FIGURE_UNKNOWN)
        entry->retransmission_most_s = MIN(entry->retransmission_most_s,
                                           MAX(retransmitted, span->retransmission_most + before));
    entry->transfer_most_s = entry->transfer_s + busy;
    return entry;
}

/* Adds a wait, with the frames that begin and end it, to the entry. An interval whose end has frame
 * 0 stands for no wait. Returns the wait; NULL: none. */
static smcr_entry_conn_wait_t *
add_wait(smcr_entry_connection_t *entry, smcr_figure_role_t writer, smcr_figure_wait_t kind,
         smcr_interval_t interval, wmem_allocator_t *scope)
{
    if (!interval.end.frame)
        return NULL;
    smcr_entry_conn_wait_t *wait = SMCR_FIGURE_ADD(conn_wait, &entry->longest_waits, scope);
    wait->writer = writer;
    wait->kind = kind;
    wait->lasted_s = smcr_interval_length(interval);
    wait->begin_frame = interval.begin;
    wait->end_frame = interval.end;
    return wait;
}

/* A kind of wait that did not happen gets no entry. The order of the kinds is that of the JSON. */
void
smcr_collect_times_add_waits(smcr_entry_connection_t *entry, smcr_figure_role_t writer,
                             const smcr_timeline_direction_t *direction, wmem_allocator_t *scope)
{
    const smcr_interval_division_t *division = &direction->division;

    add_wait(entry, writer, SMCR_FIGURE_WAIT_READER, division->longest_reader, scope);
    add_wait(entry, writer, SMCR_FIGURE_WAIT_SPACE, division->longest_full, scope);
    add_wait(entry, writer, SMCR_FIGURE_WAIT_RETRANSMISSION, division->longest_retransmission,
             scope);
    smcr_entry_conn_wait_t *answer =
        add_wait(entry, writer, SMCR_FIGURE_WAIT_ANSWER, direction->longest_answer, scope);
    if (answer)
        answer->request_frame = direction->longest_request;
    add_wait(entry, writer, SMCR_FIGURE_WAIT_MESSAGE, direction->latest_message, scope);
}
