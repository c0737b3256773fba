/* Keeps lists of the bytes of a stream that are under way: written and not announced, or announced
 * and not read. Finds out when the writer waits for space, and how long data waits to be read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "window.h"
#include "state/model/store.h"
#include "state/rules/rules.h"

#define LATE (500 * SMCR_TIME_MILLISECOND) /* a cursor update that frees space this long
                                              after the writer was blocked is late, ns */
#define SMALL 10 /* less than a tenth of the element is a small number of bytes (4.5.1) */

/* Bytes that one CDC message has announced, kept until they are read. */
struct smcr_stream_announcement {
    smcr_stream_announcement_t *next; /* next announcement of the circular list: the
                                         newest one points to the oldest one */
    uint64_t end;              /* position after the last announced byte */
    smcr_when_t when;          /* frame and time at which the message was sent for the first time;
                                  frame 0: not known */
    uint64_t begin;            /* position of the first announced byte; UINT64_MAX: a missing
                                  message may have announced a part of the bytes */
};

/* ---- the writer ---- */

/* Whether `bytes` is less than a tenth of the stream's element (SMALL). */
static bool
is_small(const smcr_stream_t *stream, uint64_t bytes)
{
    return bytes * SMALL < smcr_ring_room(&stream->ring);
}

/* Copy of the stream's rarely set members; all zeros if the stream has none. */
static smcr_stream_stalls_t
stalls_of(const smcr_stream_t *stream)
{
    return stream->stalls ? *stream->stalls : (smcr_stream_stalls_t){0};
}

/* The stream's rarely set members, to be changed; makes them if the stream has none. */
static smcr_stream_stalls_t *
stalls(smcr_state_t *state, smcr_stream_t *stream)
{
    return SMCR_STATE_MADE(state, &stream->stalls);
}

/* The wait that began with the packet at `from` and ended with the packet at `to`; `frame` of the
 * result is that of `from`. All zeros: not known, since one of the two packets is missing, or the
 * times decrease. */
static smcr_record_wait_t
waited(smcr_when_t from, smcr_when_t to)
{
    if (!from.frame || !to.frame || to.time < from.time)
        return (smcr_record_wait_t){0};
    return (smcr_record_wait_t){.frame = from.frame, .time = to.time - from.time};
}

/* Whether the message announces bytes, and the element has no free space after it. `view`: analysis
 * of the message. */
static bool
fills(const smcr_record_cdc_t *view, const smcr_stream_t *stream)
{
    return view->announced_bytes > 0 && view->has_unread_bytes && smcr_ring_room(&stream->ring) &&
           smcr_stream_free(stream) == 0;
}

/* Whether the writer's wait is over in `frame`: the writer has continued, or its host has
 * acknowledged a cursor update that frees space in an earlier frame. */
static bool
is_over(const smcr_record_cdc_rare_t *wait, uint32_t frame)
{
    return wait->continues.frame ||
           (wait->space_freed && *wait->space_freed && (*wait->space_freed)->frame < frame);
}

/* The start of the writer's wait that the arriving CDC message shows: frame and time of the
 * message. Frame 0: not known, in two cases: 1. an earlier message, which is missing, may have
 * begun the wait; 2. the message is a retransmission. */
static smcr_when_t
wait_begin(const smcr_arrival_t *arrival)
{
    bool is_new = arrival->first_sent.frame == arrival->when.frame;

    if (!arrival->record->cdc_analysis->has_announced_bytes || !is_new)
        return (smcr_when_t){0};
    return smcr_evidence_sent(arrival);
}

/* Finds the message of the reader that frees space first after the CDC message that begins the
 * wait, if the reader's message was taken in before. This is so if packets are missing before the
 * writer's message: then it is taken in only when it is acknowledged. The start of the wait is set
 * to not known (frame 0) if an earlier message of the reader, which is not kept, may have freed
 * space. */
static void
find_freed_space(const smcr_arrival_t *arrival, smcr_stream_stalls_t *now)
{
    unsigned later = 0;

    while (later < SMCR_STREAM_UPDATES && now->updates[later].frame > arrival->when.frame)
        later++;
    if (!later)
        return; /* so for nearly all waits */
    now->wait->space_freed = now->updates[later - 1].acked;
    if (later == SMCR_STREAM_UPDATES || !now->updates[later].frame)
        now->wait->waits_since.frame = 0;
}

/* Notes that the writer waits for free space from this CDC message on. Nothing changes if the
 * writer waits already. */
static void
begin_wait(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t *now = stalls(arrival->state, stream);
    smcr_record_cdc_rare_t *before = now->wait;

    if (before && !is_over(before, arrival->when.frame))
        return;
    now->wait = smcr_record_cdc_make_rare(arrival->state, arrival->record->cdc_analysis);
    now->wait->begins_in = arrival->when.frame;
    now->wait->waits_since = wait_begin(arrival);
    now->wait->previous_wait = before && !before->space_freed ? before : NULL;
    now->wait_at[0] = smcr_point_at(arrival->qp, arrival->psn);
    if (!now->wait->previous_wait)
        now->wait_at[1] = smcr_point_now(smcr_qp_peer(arrival->qp));
    find_freed_space(arrival, now);
}

/* Whether the writer has written more bytes than the element can hold, as far as the reader has
 * reported: the update that freed the space is missing, or comes later in a capture that is out of
 * order. */
static bool
finds_no_space(const smcr_stream_t *stream)
{
    uint32_t room = smcr_ring_room(&stream->ring);

    return room && !stream->may_rewrite && stream->written > stream->consumed + room;
}

/* Ends the writer's wait, since the writer sends data with this packet, or reports that it is not
 * blocked any more. The start of the wait is set to not known (frame 0) in three cases:
 *
 * - Packets of the writer may be missing since the wait began.
 * - The packet may be the retransmission of a missing one.
 * - It is not known when the reader freed space (finds_no_space()). */
static void
go_on(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t *now = stream->stalls;

    if (!now || !now->wait || now->wait->continues.frame)
        return;
    now->wait->continues = smcr_evidence_sent(arrival);
    if (!now->wait->continues.frame || finds_no_space(stream) ||
        smcr_evidence_absent(&now->wait_at[0], arrival->qp, arrival->psn))
        now->wait->waits_since.frame = 0;
}

/* Keeps this CDC message of the reader, which frees space, for find_freed_space(). */
static void
keep_update(const smcr_arrival_t *arrival, smcr_stream_stalls_t *now)
{
    memmove(&now->updates[1], &now->updates[0], sizeof now->updates - sizeof now->updates[0]);
    now->updates[0] = (smcr_stream_update_t){arrival->when.frame,
                                             &arrival->record->cdc_analysis->acked};
}

/* Notes that this CDC message of the reader is the first one that frees space since the writer's
 * wait began. A message that is older than its place in the capture may be from before the wait. A
 * message that was captured before the wait began does not end it: if packets are missing before
 * the message, it is taken in only when it is acknowledged. If packets of the reader may be missing
 * since the wait began, an earlier message may have freed space: the start of the wait is set to
 * not known (frame 0). */
static void
free_space(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t *now = stream->stalls;

    if (!now || smcr_record_is_old(arrival->record))
        return;
    keep_update(arrival, now);
    if (!now->wait || now->wait->space_freed)
        return;
    uint64_t absent = smcr_evidence_absent(&now->wait_at[1], arrival->qp, arrival->psn);
    for (smcr_record_cdc_rare_t *wait = now->wait; wait; wait = wait->previous_wait) {
        if (wait->space_freed || wait->begins_in > arrival->when.frame)
            continue;
        wait->space_freed = &arrival->record->cdc_analysis->acked;
        if (absent)
            wait->waits_since.frame = 0;
    }
}

/* Number of unread bytes in the reader's element, after the arriving WRITE packet. 0: all bytes are
 * read, or the number is not known, since messages of the reader may be missing (`is_current`
 * false), or the writer may write earlier data once more. */
static uint32_t
element_fill(const smcr_stream_t *stream, bool is_current)
{
    if (!is_current || stream->may_rewrite || stream->written <= stream->consumed)
        return 0;
    return (uint32_t)(stream->written - stream->consumed);
}

/* Adds the packet to the end of the stream's list of packets that no message has announced so far:
 * a circular list, whose last entry points to the first one. */
static void
await_announcement(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    smcr_place_t *last = smcr_slab_entry(&arrival->state->entries, stream->unannounced);
    uint32_t number = smcr_slab_number(place);

    place->is_unannounced = true;
    place->next = last ? last->next : number;
    if (last)
        last->next = number;
    stream->unannounced = number;
}

/* Whether a CDC message of the writer with a higher PSN on the same link has already come: then
 * this message has announced the bytes of the arriving packet, which is out of order. */
static bool
is_announced_already(const smcr_arrival_t *arrival)
{
    const smcr_conn_t *conn = arrival->record->conn;
    const smcr_point_t *last_cdc = conn ? &conn->side[arrival->qp->side].last_cdc_received : NULL;

    return last_cdc && last_cdc->qp == arrival->qp && arrival->psn < last_cdc->psn;
}

/* The fill of the element is noted only for a packet that arrives now: a packet that was kept until
 * now would get the fill of a later time. */
void
smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    smcr_conn_t *conn = arrival->record->conn;
    bool is_current = conn && smcr_evidence_is_current(conn, !arrival->qp->side);
    bool has_new_bytes = smcr_place_range(place).rewritten < place->length;
    bool arrives_now = arrival->record->write_location == place; /* otherwise the packet came
                                                                    earlier, and was kept until
                                                                    now */

    /* the tap of a host does not show to which address data is written */
    if (is_current && !conn->lgr->tapped)
        smcr_rules_check_write(SMCR_RULES_LEARNED, arrival,
                               &(smcr_rules_write_t){.conn = conn, .place = place});
    if (has_new_bytes) {
        go_on(arrival, stream);
        if (stream->stalls)
            stream->stalls->is_blocked = false;
    }
    if (arrives_now)
        place->element_fill = element_fill(stream, is_current);
    if (is_announced_already(arrival))
        return;
    if (arrival->record->order == SMCR_FLOW_IS_LATE)
        smcr_place_make_rare(arrival->state, place)->fills_gap = true;
    await_announcement(arrival, stream, place);
}

/* Removes the packet `oldest` from the stream's list of packets that no message has announced so
 * far. `last`: newest packet of the list. */
static void
remove_oldest_unannounced(smcr_stream_t *stream, smcr_place_t *last, smcr_place_t *oldest)
{
    last->next = oldest->next;
    if (oldest == last)
        stream->unannounced = 0;
    oldest->is_unannounced = false;
}

/* `announced_in` 0 means "not known". The list is circular, and `unannounced` leads to its newest
 * entry. */
void
smcr_window_forget_unannounced(const smcr_state_t *state, smcr_stream_t *stream)
{
    smcr_place_t *last = smcr_slab_entry(&state->entries, stream->unannounced);

    while (stream->unannounced) {
        smcr_place_t *oldest = smcr_slab_entry(&state->entries, last->next);
        remove_oldest_unannounced(stream, last, oldest);
        oldest->announced_in = 0;
    }
}

/* Whether an earlier message has announced the packet: the bytes of the packet end before the bytes
 * that the message `view` announces begin. False if it is not known how many bytes `view`
 * announces, or if the packet writes bytes once more. */
static bool
is_announced_before(const smcr_place_t *place, const smcr_stream_t *stream,
                    const smcr_record_cdc_t *view)
{
    uint64_t end = place->position + place->length;

    if (!view->has_announced_bytes || end + view->announced_bytes > stream->announced)
        return false;
    const smcr_place_rare_t *more = smcr_place_rare(place);
    return !more || !more->rewritten;
}

/* Whether a missing message may have announced the packet. Packets are missing before the frame
 * `since` (0: none are missing). The packet came before `since`, or came after the announcing
 * message in `frame`, or fills a sequence gap. */
static bool
may_be_announced_by_missing(const smcr_place_t *place, uint32_t since, uint32_t frame)
{
    if (!since)
        return false;
    if (place->frame < since || place->frame > frame)
        return true;
    const smcr_place_rare_t *more = smcr_place_rare(place);
    return more && more->fills_gap;
}

/* Connects a CDC message with the WRITE packets that the message announces: each packet leaves the
 * list of unannounced packets and gets the frame of the message (`announced_in`), and `view` counts
 * the packets. Returns the number of bytes in the counted packets. A packet that leaves the list
 * gets frame 0 in three cases:
 *
 * - A missing message may have announced it (may_be_announced_by_missing()). It is counted.
 * - An earlier message has announced it (is_announced_before()). It is not counted.
 * - It came before the sender's move to another link (`known->left`), and the message does not
 *   announce it: its bytes may be written once more. It is not counted. */
static uint64_t
take_in_writes(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_record_cdc_t *view,
              const smcr_evidence_cursors_t *known)
{
    const smcr_slab_t *entries = &arrival->state->entries;
    smcr_place_t *last = smcr_slab_entry(entries, stream->unannounced);
    uint32_t frame = arrival->when.frame;
    uint64_t bytes = 0;

    while (stream->unannounced) {
        smcr_place_t *place = smcr_slab_entry(entries, last->next); /* the oldest packet */
        bool is_beyond = place->position + place->length > stream->announced;

        if (is_beyond && place->frame >= known->left)
            break;
        remove_oldest_unannounced(stream, last, place);
        place->announced_in = 0;
        if (is_beyond || is_announced_before(place, stream, view))
            continue;
        if (!may_be_announced_by_missing(place, known->since, frame))
            place->announced_in = frame;
        if (!view->writes++)
            view->first_write = place->frame;
        view->last_write = place->frame;
        bytes += place->length;
    }
    return bytes;
}

/* Notes that the element is full after this message, and reports the message, if it certainly is
 * the one that has filled the element. */
static void
report_full(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t *now = stalls(arrival->state, stream);

    now->is_full = true;
    now->full_at = smcr_point_now(smcr_qp_peer(arrival->qp));
    /* if this does not hold, an earlier message, which is missing, may have filled the element */
    if (arrival->first_sent.frame && arrival->record->cdc_analysis->has_announced_bytes)
        smcr_event_add(arrival, SMCR_EVENT_window_full, NULL);
}

/* Takes in whether the message has `filled` the element, and reports the silly window syndrome
 * (4.5.1): the element was full, the reader freed a little space, and the message fills it. This
 * may happen once, if a data message of the reader carries the cursor update. Only if it happens
 * twice in a row, it is reported. */
static void
take_in_full(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool filled)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    bool small = view->has_announced_bytes && is_small(stream, view->announced_bytes);
    bool fills_small = filled && stream->was_full && small;

    if (filled)
        report_full(arrival, stream);
    if (fills_small && stream->was_full_small)
        smcr_event_add(arrival, SMCR_EVENT_window_small_write, NULL);
    stream->was_full_small = fills_small;
    stream->was_full = filled;
}

/* Takes in that the writer, which was not blocked before, reports that it is blocked. `filled`: the
 * message has filled the element. */
static void
begin_block(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool filled)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    bool has_room = smcr_ring_room(&stream->ring) != 0;
    bool may_fill = has_room && !view->has_unread_bytes;

    /* if not all messages are captured, a missing message may have reported the block before */
    stream->stalls->blocked =
        view->has_announced_bytes ? smcr_evidence_sent(arrival) : (smcr_when_t){0};
    /* take_in_full() reports a message that fills the element */
    if (!may_fill && !filled)
        smcr_event_add(arrival, SMCR_EVENT_window_blocked, NULL);
}

/* Takes in whether the writer reports that it is blocked (`blocked`), or has `filled` the element:
 * its wait begins or ends. */
static void
take_in_blocked(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool blocked, bool filled)
{
    bool before = stalls_of(stream).is_blocked;

    if (blocked || filled)
        begin_wait(arrival, stream);
    else if (before)
        go_on(arrival, stream);
    if (blocked == before)
        return;
    stalls(arrival->state, stream)->is_blocked = blocked;
    if (blocked)
        begin_block(arrival, stream, filled);
}

/* Keeps the announcement of the message in the list `unread` of the stream, until the announced
 * bytes are read. */
static void
keep_announcement(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                  const smcr_evidence_cursors_t *known)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    /* whether no missing message has announced the message's last bytes before: the last of its
     * WRITEs came after the last sequence gap */
    bool is_first = known->since ? view->last_write >= known->since : view->has_announced_bytes;
    smcr_stream_announcement_t *last = stream->unread;
    smcr_stream_announcement_t *announcement =
        wmem_new(arrival->state->scope, smcr_stream_announcement_t);

    *announcement = (smcr_stream_announcement_t){
        .next = last ? last->next : announcement,
        .end = stream->announced,
        .begin = known->since ? UINT64_MAX : stream->announced - view->announced_bytes,
    };
    if (is_first)
        announcement->when = smcr_evidence_sent(arrival);
    if (last)
        last->next = announcement;
    stream->unread = announcement;
}

/* The order matters: take_in_writes() fills in the record of the message, `filled` is judged by it,
 * and the announcement is kept last. */
uint64_t
smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                      const smcr_evidence_cursors_t *known)
{
    smcr_record_cdc_t *view = arrival->record->cdc_analysis;

    uint64_t written = take_in_writes(arrival, stream, view, known);
    if (!known->placed || !known->whole) /* the message may announce missing WRITEs */
        view->writes = 0;
    bool filled = fills(view, stream);
    take_in_blocked(arrival, stream, (flags & SMCR_CDC_FLAG_BLOCKED) != 0, filled);
    if (!view->has_announced_bytes)
        stalls(arrival->state, stream)->urgent_uncertain = stream->announced;
    if (view->announced_bytes == 0)
        return written;
    if (flags & SMCR_CDC_FLAG_URGENT_PRESENT)
        stalls(arrival->state, stream)->urgent = stream->announced;
    take_in_full(arrival, stream, filled);
    keep_announcement(arrival, stream, known);
    return written;
}

/* ---- the reader ---- */

/* Removes the oldest announcement from the list. */
static void
remove_oldest_announcement(smcr_state_t *state, smcr_stream_t *stream)
{
    smcr_stream_announcement_t *newest = stream->unread, *oldest = newest->next;

    newest->next = oldest->next;
    if (oldest == newest)
        stream->unread = NULL;
    wmem_free(state->scope, oldest);
}

/* Removes the announcements whose bytes have all been read. Returns frame and time of the latest
 * removed announcement. Returns frame 0 in two cases: no announcement was removed, or a later
 * announcement, which is missing, may have been read, too. The latter is excluded if one of two
 * conditions holds:
 *
 * - The reader has read exactly up to the end of the latest removed announcement.
 * - No message of the writer is missing (`current`), and the next announcement begins at this
 *   end. */
static smcr_when_t
take_in_reads(smcr_state_t *state, smcr_stream_t *stream, bool current)
{
    smcr_when_t last = {0};
    uint64_t end = 0;

    while (stream->unread) {
        const smcr_stream_announcement_t *announcement = stream->unread->next;

        if (announcement->end > stream->consumed)
            break;
        last = announcement->when;
        end = announcement->end;
        remove_oldest_announcement(state, stream);
    }
    bool ends_there = end == stream->consumed;
    bool next_begins_there = current && stream->unread && stream->unread->next->begin == end;
    return ends_there || next_begins_there ? last : (smcr_when_t){0};
}

/* Whether the consumer cursor update may report urgent data as read. Such an update must be sent at
 * once. */
static bool
may_read_urgent(const smcr_stream_stalls_t *now, const smcr_stream_t *stream,
                const smcr_window_reading_t *reading)
{
    uint64_t before = reading->consumed_before;

    return now->urgent_uncertain > before ||
           (now->urgent > before && now->urgent <= stream->consumed + 1);
}

/* Reports a consumer cursor update that was not worth a message of its own. Two kinds are reported
 * (R-4.5.1-1):
 *
 * - The update frees less than a tenth of the element.
 * - Half of the element was free before, and the writer is not blocked.
 *
 * Not reported: an update that may report urgent data as read. */
static void
report_small_update(const smcr_arrival_t *arrival, const smcr_stream_t *stream,
                    const smcr_window_reading_t *reading)
{
    smcr_stream_stalls_t now = stalls_of(stream);
    bool had_half = reading->free_before * 2 >= smcr_ring_room(&stream->ring);

    if (may_read_urgent(&now, stream, reading))
        return;
    if (is_small(stream, stream->consumed - reading->consumed_before))
        smcr_event_add(arrival, SMCR_EVENT_window_small_update,
                       now.is_blocked ? "The update frees less than a tenth, and the writer is "
                                        "blocked" : NULL);
    else if (had_half && !now.is_blocked)
        smcr_event_add(arrival, SMCR_EVENT_window_needless_update, NULL);
}

/* Notes that the reader has freed space in a full element: the element is not full any more.
 * Reports the message, if it certainly is the one that has freed the space. Also reports a late
 * update: the writer was blocked for more than LATE. */
static void
take_in_opened(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t before = stalls_of(stream);

    stream->stalls->is_full = false;
    if (!arrival->first_sent.frame ||
        smcr_evidence_absent(&before.full_at, arrival->qp, arrival->psn))
        return; /* an earlier message, which is missing, may have freed the space */
    smcr_event_add(arrival, SMCR_EVENT_window_opened, NULL);
    if (arrival->state->is_out_of_order) /* times of messages in disorder prove no wait */
        return;
    if (before.is_blocked && waited(before.blocked, smcr_evidence_sent(arrival)).time > LATE)
        smcr_event_add(arrival, SMCR_EVENT_window_late_update, NULL);
}

/* Notes in the analysis of the message how long the last bytes that it reports as read had waited
 * since their announcement, if this is known. `is_complete`: no message of the writer is
 * missing. */
static void
take_in_read_time(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool is_complete)
{
    smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    smcr_when_t announced = take_in_reads(arrival->state, stream, is_complete);
    smcr_record_wait_t wait = waited(announced, smcr_evidence_sent(arrival));

    if (!view || !view->has_announced_bytes || arrival->state->is_out_of_order)
        return;
    if (wait.frame) {
        view->read_announced_frame = wait.frame;
        view->read_time = wait.time;
    }
}

/* Whether the message of the reader, with the analysis `view`, gives the writer space that the
 * writer had not known of. It does not if the element is still full: the writer had filled the
 * space before, so a missing message had reported the same bytes as read. */
static bool
gives_space(const smcr_record_cdc_t *view, const smcr_stream_t *stream)
{
    bool is_full = smcr_ring_room(&stream->ring) && smcr_stream_free(stream) == 0;

    return view && view->read_bytes && !is_full;
}

/* The order matters: space is freed after the time of reading has been noted, and before a wait for
 * space is reported as over. */
void
smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                     const smcr_window_reading_t *reading)
{
    bool frees_first = reading->free_before == 0 && smcr_stream_free(stream) > 0;

    take_in_read_time(arrival, stream, reading->writer_is_complete);
    if (reading->is_mere_update)
        report_small_update(arrival, stream, reading);
    if (gives_space(arrival->record->cdc_analysis, stream))
        free_space(arrival, stream);
    if (frees_first && stalls_of(stream).is_full)
        take_in_opened(arrival, stream);
}

/* ---- streams that end ---- */

/* The list is a ring: `unread` is its last entry. */
void
smcr_window_free(smcr_state_t *state, smcr_stream_t *stream)
{
    smcr_stream_announcement_t *last = stream->unread, *next;

    for (smcr_stream_announcement_t *at = last ? last->next : NULL; at; at = next) {
        next = at == last ? NULL : at->next;
        wmem_free(state->scope, at);
    }
    stream->unread = NULL;
    smcr_state_free(state, stream->stalls, sizeof *stream->stalls);
    stream->stalls = NULL;
}
