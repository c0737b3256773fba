/* Keeps the bytes of a stream that are under way: written and not announced, or announced and not
 * read. A connection that ends abnormally loses these bytes. Also finds waits of writer and reader.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdio.h>

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

/* The wait that began with the packet at `from` and ended with the packet at `to`. All zeros: not
 * known, since one of the two packets is missing, or the times decrease. */
static smcr_record_wait_t
waited(smcr_when_t from, smcr_when_t to)
{
    if (!from.frame || !to.frame || to.time < from.time)
        return (smcr_record_wait_t){0};
    return (smcr_record_wait_t){.frame = from.frame, .time = to.time - from.time};
}

/* Whether the message announces bytes, and leaves no free space in the element. `view`: analysis of
 * the message. */
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

/* Notes that the writer waits for free space from this CDC message on. Nothing changes if the
 * writer waits already. The time since which it waits stays unset in two cases: 1. an earlier
 * message, which is missing, may have begun the wait; 2. the message is a retransmission. */
static void
begin_wait(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    smcr_stream_stalls_t *now = stalls(arrival->state, stream);
    smcr_record_cdc_rare_t *before = now->wait;

    if (before && !is_over(before, arrival->when.frame))
        return;
    now->wait = smcr_record_cdc_make_rare(arrival->state, view);
    if (view->has_announced_bytes && arrival->first_sent.frame == arrival->when.frame)
        now->wait->waits_since = smcr_evidence_sent(arrival);
    now->wait->previous_wait = before && !before->space_freed ? before : NULL;
    now->wait_at[0] = smcr_point_at(arrival->qp, arrival->psn);
    if (!now->wait->previous_wait)
        now->wait_at[1] = smcr_point_now(smcr_qp_peer(arrival->qp));
}

/* Whether the writer has written more than the element holds: the update that freed the space is
 * missing; or the capture is out of order, and the update comes later. */
static bool
finds_no_space(const smcr_stream_t *stream)
{
    uint32_t room = smcr_ring_room(&stream->ring);

    return room && !stream->may_rewrite && stream->written > stream->consumed + room;
}

/* Notes that the writer continues with this packet: its wait ends. The time since which it waits is
 * set to not known in two cases: 1. packets of the writer may be missing since the wait began;
 * 2. it is not known when the reader freed space. */
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

/* Notes that this CDC message of the reader frees space, for the first time since the writer's wait
 * began. If packets of the reader may be missing since then, the time since which the writer waits
 * is set to not known. */
static void
free_space(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    smcr_stream_stalls_t *now = stream->stalls;

    if (!now || !now->wait || now->wait->space_freed)
        return;
    uint64_t absent = smcr_evidence_absent(&now->wait_at[1], arrival->qp, arrival->psn);
    for (smcr_record_cdc_rare_t *wait = now->wait; wait; wait = wait->previous_wait) {
        wait->space_freed = &arrival->record->cdc_analysis->acked;
        if (absent)
            wait->waits_since.frame = 0;
    }
}

void
smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    smcr_conn_t *conn = arrival->record->conn;
    bool current = conn && smcr_evidence_is_current(conn, !arrival->qp->side);

    if (current)
        smcr_rules_check_write(SMCR_RULES_LEARNED, arrival,
                               &(smcr_rules_write_t){.conn = conn, .place = place});
    if (smcr_place_range(place).rewritten < place->length) {
        go_on(arrival, stream);
        if (stream->stalls)
            stream->stalls->is_blocked = false;
    }
    if (arrival->record->write_location == place) /* the packet arrives now, not a kept one */
        place->element_fill = current && !stream->may_rewrite && stream->written > stream->consumed
                          ? (uint32_t)(stream->written - stream->consumed) : 0;
    const smcr_point_t *heard = conn ? &conn->side[arrival->qp->side].last_cdc_received : NULL;
    if (heard && heard->qp == arrival->qp && arrival->psn < heard->psn)
        return; /* the bytes were announced already: the packet is out of order */
    if (arrival->record->order == SMCR_FLOW_IS_LATE)
        smcr_place_make_rare(arrival->state, place)->fills_gap = true;
    smcr_place_t *last = smcr_slab_entry(&arrival->state->entries, stream->unannounced);
    uint32_t number = smcr_slab_number(place);
    place->is_unannounced = true;
    place->next = last ? last->next : number;
    if (last)
        last->next = number;
    stream->unannounced = number;
}

/* Connects a CDC message with the WRITE packets that the message announces: each packet gets the
 * frame of the message (`announced_in`), and `view` counts the packets. A packet gets frame 0 in
 * two cases:
 *
 * - Another message may have announced the packet: the packet is before frame `known->since`, or it
 *   fills a gap.
 * - The packet is before the sender's move to another link (`known->left`), and the message does
 *   not announce it. Its bytes may be written once more. */
static void
take_in_writes(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_record_cdc_t *view,
              const smcr_evidence_cursors_t *known)
{
    const smcr_slab_t *entries = &arrival->state->entries;

    while (stream->unannounced) {
        smcr_place_t *last = smcr_slab_entry(entries, stream->unannounced);
        smcr_place_t *place = smcr_slab_entry(entries, last->next);
        uint64_t end = place->position + place->length;
        bool ahead = end > stream->announced;

        if (ahead && place->frame >= known->left)
            return;
        last->next = place->next;
        if (place == last)
            stream->unannounced = 0;
        place->is_unannounced = false;
        const smcr_place_rare_t *more = smcr_place_rare(place);
        /* an earlier message, whose announced bytes were not known, has announced the packet */
        bool earlier = view->has_announced_bytes &&
                       end + view->announced_bytes <= stream->announced &&
                       !(more && more->rewritten);
        bool before = known->since && (place->frame < known->since || (more && more->fills_gap) ||
                                       place->frame > arrival->when.frame); /* sent later */
        place->announced_in = before || earlier || ahead ? 0 : arrival->when.frame;
        if (earlier || ahead)
            continue;
        if (!view->writes++)
            view->first_write = place->frame;
        view->last_write = place->frame;
    }
}

/* Reports a message after which the element is full, and the silly window syndrome (4.5.1): the
 * element was full, the reader freed a little space, and the message fills it. This may happen
 * once, if a data message of the reader carries the cursor update. Only if it happens twice in a
 * row, it is reported. */
static void
take_in_full(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    const smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    bool filled = fills(view, stream);

    if (filled) {
        smcr_stream_stalls_t *now = stalls(arrival->state, stream);
        now->is_full = true;
        now->full_at = smcr_point_now(smcr_qp_peer(arrival->qp));
        /* otherwise an earlier message, which is missing, may have filled the element */
        if (arrival->first_sent.frame && view->has_announced_bytes)
            smcr_event_add(arrival, SMCR_EVENT_window_full, NULL);
    }
    bool small = filled && view->has_announced_bytes && stream->was_full &&
                 is_small(stream, view->announced_bytes);
    if (small && stream->was_full_small)
        smcr_event_add(arrival, SMCR_EVENT_window_small_write, NULL);
    stream->was_full_small = small;
    stream->was_full = filled;
}

/* Takes in whether the writer reports that it is blocked (`blocked`), or has filled the element:
 * its wait begins or ends. */
static void
take_in_blocked(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool blocked)
{
    bool before = stalls_of(stream).is_blocked;

    if (blocked || fills(arrival->record->cdc_analysis, stream))
        begin_wait(arrival, stream);
    else if (before)
        go_on(arrival, stream);
    if (blocked != before)
        stalls(arrival->state, stream)->is_blocked = blocked;
    if (blocked && !before) {
        /* otherwise a missing message may have reported the block before */
        bool known = arrival->record->cdc_analysis->has_announced_bytes;
        stream->stalls->blocked = known ? smcr_evidence_sent(arrival) : (smcr_when_t){0};
        bool may_fill =
            smcr_ring_room(&stream->ring) && !arrival->record->cdc_analysis->has_unread_bytes;
        /* take_in_full() reports a message that fills the element */
        if (!may_fill && !fills(arrival->record->cdc_analysis, stream))
            smcr_event_add(arrival, SMCR_EVENT_window_blocked, NULL);
    }
}

void
smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                      const smcr_evidence_cursors_t *known)
{
    smcr_record_cdc_t *view = arrival->record->cdc_analysis;

    take_in_writes(arrival, stream, view, known);
    if (!known->placed || !known->whole) /* the message may announce missing WRITEs */
        view->writes = 0;
    take_in_blocked(arrival, stream, (flags & SMCR_CDC_FLAG_BLOCKED) != 0);
    if (!view->has_announced_bytes)
        stalls(arrival->state, stream)->urgent_uncertain = stream->announced;
    if (view->announced_bytes == 0)
        return;
    if (flags & SMCR_CDC_FLAG_URGENT_PRESENT)
        stalls(arrival->state, stream)->urgent = stream->announced;
    take_in_full(arrival, stream);
    /* the message is the first one that announces its last bytes, if the last of its WRITEs came
     * after the last sequence gap */
    bool first = known->since ? view->last_write >= known->since : view->has_announced_bytes;
    smcr_stream_announcement_t *last = stream->unread;
    smcr_stream_announcement_t *announcement =
        wmem_new(arrival->state->scope, smcr_stream_announcement_t);
    *announcement = (smcr_stream_announcement_t){
        last ? last->next : announcement, stream->announced,
        first ? smcr_evidence_sent(arrival) : (smcr_when_t){0},
        known->since ? UINT64_MAX : stream->announced - view->announced_bytes};
    if (last)
        last->next = announcement;
    stream->unread = announcement;
}

/* ---- the reader ---- */

/* Removes the announcements whose bytes have all been read. Returns when the latest one of them was
 * sent. Frame 0 in two cases: none was removed, or a later announcement that is missing may have
 * been read. No such announcement is possible in two cases:
 *
 * - The reader has read exactly up to the end of the returned announcement.
 * - No message of the writer is missing (`current`), and the next announcement begins there. */
static smcr_when_t
take_in_reads(smcr_state_t *state, smcr_stream_t *stream, bool current)
{
    smcr_when_t last = {0};
    uint64_t end = 0;

    while (stream->unread) {
        smcr_stream_announcement_t *newest = stream->unread, *announcement = newest->next;

        if (announcement->end > stream->consumed)
            break;
        last = announcement->when;
        end = announcement->end;
        newest->next = announcement->next;
        if (announcement == newest)
            stream->unread = NULL;
        wmem_free(state->scope, announcement);
    }
    bool next = current && stream->unread && stream->unread->next->begin == end;
    return end != stream->consumed && !next ? (smcr_when_t){0} : last;
}

/* Reports a consumer cursor update that was not worth a message of its own. Two kinds are reported
 * (R-4.5.1-1):
 *
 * - The update frees less than a tenth of the element.
 * - Half of the element was free before, and the writer is not blocked.
 *
 * Not reported: an update that may report urgent data as read, which must be sent at once. */
static void
tell_small_update(const smcr_arrival_t *arrival, const smcr_stream_t *stream,
                  const smcr_window_reading_t *reading)
{
    smcr_stream_stalls_t now = stalls_of(stream);
    bool urgent = now.urgent > reading->consumed_before && now.urgent <= stream->consumed + 1;

    if (urgent || now.urgent_uncertain > reading->consumed_before)
        return;
    if (!is_small(stream, stream->consumed - reading->consumed_before)) {
        if (!now.is_blocked && reading->free_before * 2 >= smcr_ring_room(&stream->ring))
            smcr_event_add(arrival, SMCR_EVENT_window_needless_update, NULL);
        return;
    }
    smcr_event_add(arrival, SMCR_EVENT_window_small_update,
                   now.is_blocked ? "The update frees less than a tenth, and the writer is "
                                    "blocked" : NULL);
}

/* Reports that the reader has freed space in a full element, and whether this came late: the writer
 * was blocked for more than LATE. */
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

void
smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                     const smcr_window_reading_t *reading)
{
    smcr_record_cdc_t *view = arrival->record->cdc_analysis;
    smcr_when_t announced = take_in_reads(arrival->state, stream, reading->writer_is_complete);
    smcr_record_wait_t read = waited(announced, smcr_evidence_sent(arrival));

    if (view && view->has_announced_bytes && read.frame && !arrival->state->is_out_of_order) {
        view->read_announced_frame = read.frame;
        view->read_time = read.time;
    }
    if (reading->is_mere_update)
        tell_small_update(arrival, stream, reading);
    if (view && view->read_bytes)
        free_space(arrival, stream);
    if (reading->free_before == 0 && smcr_stream_free(stream) > 0 && stalls_of(stream).is_full)
        take_in_opened(arrival, stream);
}

/* ---- the cost of an end ---- */

smcr_cost_t
smcr_cost_of_direction(const smcr_conn_t *conn, int side)
{
    const smcr_stream_t *in = &conn->side[side].in;

    return (smcr_cost_t){
        .known = in->positions_known && smcr_evidence_is_current(conn, side),
        .reader_known = smcr_evidence_is_current(conn, !side),
        .unread = in->announced > in->consumed ? in->announced - in->consumed : 0,
        .unannounced = in->written > in->announced ? in->written - in->announced : 0,
    };
}

/* Adds the bytes of `cost` to the sum. The sum is known only if both are known. */
static void
add_cost(smcr_cost_t *sum, smcr_cost_t cost)
{
    sum->known &= cost.known;
    sum->unread += cost.unread;
    sum->unannounced += cost.unannounced;
}

smcr_cost_t
smcr_cost_of_conn(const smcr_conn_t *conn)
{
    smcr_cost_t sum = {.known = true};

    sum.open_conns = !smcr_conn_side_has_ended(&conn->side[0]) &&
               !smcr_conn_side_has_ended(&conn->side[1]);
    for (int side = 0; side < 2; side++)
        add_cost(&sum, smcr_cost_of_direction(conn, side));
    return sum;
}

smcr_cost_t
smcr_cost_of_group(smcr_lgr_t *lgr)
{
    smcr_cost_t sum = {.known = true};
    smcr_conn_t *conn = smcr_conn_first_open(&lgr->newest_open_conn);

    for (; conn; conn = smcr_conn_first_open(&conn->older_open)) {
        smcr_cost_t cost = smcr_cost_of_conn(conn);
        if (conn->lgr != lgr || !cost.open_conns)
            continue;
        sum.open_conns++;
        add_cost(&sum, cost);
    }
    return sum;
}

smcr_event_t *
smcr_cost_report(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *what,
                 const smcr_cost_t *cost)
{
    if (!smcr_cost_is_loss(cost))
        return smcr_event_add(arrival, event, "%s", what);
    return smcr_event_add(arrival, event,
                          "%s: %" G_GUINT64_FORMAT
                          " bytes announced and not reported as read so far, "
                          "%" G_GUINT64_FORMAT " written and not announced",
                          what, cost->unread, cost->unannounced);
}

void
smcr_cost_report_group_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    smcr_cost_t cost = smcr_cost_of_group(lgr);
    char what[64];

    if (!cost.open_conns)
        return;
    snprintf(what, sizeof what, "The link group ends with %u open connection%s", cost.open_conns,
               cost.open_conns == 1 ? "" : "s");
    smcr_cost_report(arrival, SMCR_EVENT_lgr_lost, what, &cost);
}
