/* window.c
 * Keeps what is under way: written and not announced, announced and not read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "window.h"

#include "state/model/store.h"

#define MILLISECOND UINT64_C(1000000)
#define LATE (500 * MILLISECOND) /* for a reader whose writer is blocked */
#define SMALL 10 /* what is less than this part of the element is not worth a message (4.5.1) */

/* What a CDC message announced, until it is read. */
struct smcr_announcement {
    smcr_announcement_t *next; /* after the last one, the first */
    uint64_t end;              /* position in the stream */
    smcr_when_t when;
};

static uint64_t
since(smcr_when_t when, uint64_t time)
{
    return when.time > time ? when.time - time : 0;
}

/* ---- the writer ---- */

static bool
is_small(const smcr_stream_t *stream, uint64_t bytes)
{
    return bytes * SMALL < smcr_ring_room(&stream->ring);
}

static smcr_stalls_t
stalls_of(const smcr_stream_t *stream)
{
    return stream->stalls ? *stream->stalls : (smcr_stalls_t){0};
}

/* To be changed. */
static smcr_stalls_t *
stalls(smcr_state_t *state, smcr_stream_t *stream)
{
    if (!stream->stalls)
        stream->stalls = smcr_state_alloc0(state, sizeof *stream->stalls);
    return stream->stalls;
}

static smcr_wait_t
end_blocked(smcr_stream_t *stream, smcr_when_t when)
{
    smcr_stalls_t before = stalls_of(stream);

    if (!before.blocked_frame)
        return (smcr_wait_t){0};
    stream->stalls->blocked_frame = 0;
    return (smcr_wait_t){before.blocked_frame, since(when, before.blocked_time)};
}

void
smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    uint64_t end = place->position + place->length;
    uint32_t room = smcr_ring_room(&stream->ring);

    if (room && end > stream->consumed + room)
        smcr_event_add(arrival, SMCR_EVENT_OVERWRITTEN, NULL);
    smcr_wait_t blocked = {0};
    if (smcr_place_piece(place).rewritten < place->length)
        blocked = end_blocked(stream, arrival->when);
    if (arrival->record->place == place) { /* else its frame has gone by */
        if (blocked.frame)
            smcr_place_more(arrival->state, place)->blocked = blocked;
        place->used = stream->written > stream->consumed
                          ? (uint32_t)(stream->written - stream->consumed)
                          : 0;
    }
    smcr_place_t *last = stream->unannounced;
    place->next = last ? last->next : place;
    if (last)
        last->next = place;
    stream->unannounced = place;
}

/* The WRITE packets that a CDC message announces learn of it, and it of them. */
static void
settle_writes(smcr_stream_t *stream, smcr_when_t when, smcr_cdc_view_t *view)
{
    while (stream->unannounced) {
        smcr_place_t *last = stream->unannounced, *place = last->next;

        if (place->position + place->length > stream->announced)
            return;
        last->next = place->next;
        if (place == last)
            stream->unannounced = NULL;
        place->announced_in = when.frame;
        if (!view->writes++)
            view->first_write = place->frame;
        view->last_write = place->frame;
    }
}

/*
 * Whether the message leaves no space, and whether there was no more than a little before. That may
 * happen once, when the reader's cursor came along with data of its own; when it goes on, the two
 * have got into the silly window syndrome (4.5.1).
 */
static void
note_full(const smcr_arrival_t *arrival, smcr_stream_t *stream)
{
    bool filled = smcr_ring_room(&stream->ring) && smcr_stream_free(stream) == 0;

    if (filled) {
        stalls(arrival->state, stream)->full_frame = arrival->when.frame;
        stalls(arrival->state, stream)->full_time = arrival->when.time;
        smcr_event_add(arrival, SMCR_EVENT_WINDOW_FULL, NULL);
    }
    bool small = filled && stream->filled && is_small(stream, arrival->record->view->len);
    if (small && stream->filled_small)
        smcr_event_add(arrival, SMCR_EVENT_SMALL_WRITE, NULL);
    stream->filled_small = small;
    stream->filled = filled;
}

void
smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, bool blocked)
{
    smcr_cdc_view_t *view = arrival->record->view;
    bool was_blocked = stalls_of(stream).blocked_frame != 0;

    settle_writes(stream, arrival->when, view);
    if (!blocked && was_blocked)
        smcr_cdc_more(arrival->state, view)->blocked = end_blocked(stream, arrival->when);
    else if (blocked && !was_blocked) {
        stalls(arrival->state, stream)->blocked_frame = arrival->when.frame;
        stalls(arrival->state, stream)->blocked_time = arrival->when.time;
        smcr_event_add(arrival, SMCR_EVENT_BLOCKED, NULL);
    }
    if (view->len == 0)
        return;
    if (stream->announced > stream->written)
        smcr_event_add(arrival, SMCR_EVENT_UNSEEN_DATA,
                       "The capture has no RDMA WRITE for %" G_GUINT64_FORMAT
                       " of the bytes that this message announces",
                       MIN(stream->announced - stream->written, view->len));
    note_full(arrival, stream);
    smcr_announcement_t *last = stream->unread;
    smcr_announcement_t *announcement = wmem_new(arrival->state->scope, smcr_announcement_t);
    *announcement =
        (smcr_announcement_t){last ? last->next : announcement, stream->announced, arrival->when};
    if (last)
        last->next = announcement;
    stream->unread = announcement;
}

void
smcr_window_urgent(smcr_state_t *state, smcr_stream_t *stream)
{
    stalls(state, stream)->urgent = stream->announced;
}

/* ---- the reader ---- */

/* The latest message whose bytes have all been read; 0 in `.frame` when none has. */
static smcr_when_t
settle_reads(smcr_state_t *state, smcr_stream_t *stream)
{
    smcr_when_t last = {0};

    while (stream->unread) {
        smcr_announcement_t *newest = stream->unread, *announcement = newest->next;

        if (announcement->end > stream->consumed)
            break;
        last = announcement->when;
        newest->next = announcement->next;
        if (announcement == newest)
            stream->unread = NULL;
        wmem_free(state->scope, announcement);
    }
    return last;
}

/* A message for a few bytes only: not worth it, unless a blocked writer waits for every byte. That
 * urgent data has been read is told at once. */
static void
note_small_update(const smcr_arrival_t *arrival, const smcr_stream_t *stream,
                  uint64_t consumed_before)
{
    smcr_stalls_t now = stalls_of(stream);
    bool urgent = now.urgent > consumed_before && now.urgent <= stream->consumed + 1;

    if (urgent || !is_small(stream, stream->consumed - consumed_before))
        return;
    smcr_event_add(arrival, SMCR_EVENT_SMALL_UPDATE,
                   now.blocked_frame ? "The message does nothing but free less than a tenth of "
                                       "the RMB element, for a writer that is blocked"
                                     : NULL);
}

void
smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                     const smcr_reading_t *reading)
{
    smcr_cdc_view_t *view = arrival->record->view;
    smcr_when_t when = arrival->when;
    smcr_when_t read = settle_reads(arrival->state, stream);

    if (view && read.frame) {
        view->read_of = read.frame;
        view->read_time = since(when, read.time);
    }
    if (reading->alone)
        note_small_update(arrival, stream, reading->consumed_before);
    smcr_stalls_t before = stalls_of(stream);
    if (reading->free_before > 0 || smcr_stream_free(stream) == 0 || !before.full_frame)
        return;
    if (view)
        smcr_cdc_more(arrival->state, view)->full =
            (smcr_wait_t){before.full_frame, since(when, before.full_time)};
    stream->stalls->full_frame = 0;
    smcr_event_add(arrival, SMCR_EVENT_WINDOW_OPENED, NULL);
    if (before.blocked_frame && since(when, before.blocked_time) > LATE)
        smcr_event_add(arrival, SMCR_EVENT_LATE_UPDATE, NULL);
}
