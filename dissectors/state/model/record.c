/* Keeps the records of packets, packed: most members of most records are zero, and a capture has
 * millions of packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "record.h"

#include <stdarg.h>

#include "store.h"

#define PAGE_FRAMES 1024 /* number of frames for which one page of the table by frame has slots */

/* ---- one record, packed ---- */

/* Parts of the members `acks` and `conn_idle_time`. Each part is packed only if it is not zero:
 * often a time, or its high half, is zero. A row is PART(name, value). `value` is an expression
 * over the variables of pack_members() and unpack(). */
#define PARTS(PART) \
    PART(acks_frame, record->acks.frame) \
    PART(acks_ambiguous, record->acks.is_ambiguous) \
    PART(acks_low, time[0]) PART(acks_high, time[1]) PART(since_low, since[0]) \
    PART(since_high, since[1])

/* Members that are packed only if they are set; each has a bit. Members of SMCR_RECORD_ENTRIES are
 * packed as slab numbers (smcr_slab_number()). Members of SMCR_RECORD_SOMETIMES, pointers among
 * them, and PARTS are packed as they are. */
enum {
#define MEMBER(type, name) BIT_OF_##name,
#define PART(name, value) BIT_OF_##name,
    SMCR_RECORD_ENTRIES(MEMBER) SMCR_RECORD_SOMETIMES(MEMBER) PARTS(PART)
#undef MEMBER
    MEMBERS,
};

#define HAS_NEXT 0x4000000U /* bit: the frame has the record of one more packet */
#define HAS_MASK 0x7ffffffU
#define LAYER_FOLLOWS 31U /* value of `layer` if the layer does not fit into 5 bits. The layers of
                             CLC messages do not fit */

/* The begin of every packed record. Three parts follow, in this order and each only if the record
 * has it: 1. the layer; 2. the slab number of the next record of the frame; 3. the members. */
typedef struct {
    uint32_t has : 27;  /* bits of the packed members, and HAS_NEXT */
    uint32_t layer : 5; /* layer of the packet in its frame, or LAYER_FOLLOWS */
    smcr_record_always_t always;
} packed_t;

_Static_assert(MEMBERS <= 26, "a record has more members than bits for them");
_Static_assert(sizeof(packed_t) == 8, "this is half of what is kept of most records");

/* KEEP and TAKE make code for each member, not a loop over a table of members: the compiler then
 * compares and copies words without calling memcmp() and memcpy(). */

/* Appends a value at `end` if the value is not zero. */
#define KEEP(name, value) \
    if (memcmp(&(value), &zeros, sizeof(value)) != 0) { \
        has |= 1U << BIT_OF_##name; \
        memcpy(end, &(value), sizeof(value)); \
        end += sizeof(value); \
    }

/* Appends the members of `record` that are set at `*at`, and moves `*at` to the end of the appended
 * bytes. Returns the bits of these members. */
static uint32_t
pack_members(const smcr_record_t *record, uint8_t **at)
{
    static const smcr_record_t zeros;
    uint8_t *end = *at;
    uint32_t has = 0, time[2], since[2];

#define MEMBER(type, name) \
    uint32_t number_of_##name = smcr_slab_number(record->name); \
    KEEP(name, number_of_##name)
    SMCR_RECORD_ENTRIES(MEMBER)
#undef MEMBER
#define MEMBER(type, name) KEEP(name, record->name)
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
    memcpy(time, &record->acks.time, sizeof time);
    memcpy(since, &record->conn_idle_time, sizeof since);
    PARTS(KEEP)
    *at = end;
    return has;
}

/* Packs a record of `frame`. `next`: slab number of the next record of the same frame; 0: none.
 * Returns the slab number of the new record. */
static uint32_t
pack(smcr_state_t *state, const smcr_record_t *record, uint32_t frame, uint16_t layer,
     uint32_t next)
{
    uint8_t members[sizeof layer + sizeof next + sizeof *record], *end = members;

    if (layer >= LAYER_FOLLOWS) {
        memcpy(end, &layer, sizeof layer);
        end += sizeof layer;
    }
    if (next) {
        memcpy(end, &next, sizeof next);
        end += sizeof next;
    }
    uint32_t has = pack_members(record, &end) | (next ? HAS_NEXT : 0);
    packed_t *packed = smcr_slab_new(&state->records, sizeof *packed + (size_t)(end - members));
    *packed = (packed_t){.has = has & HAS_MASK, .layer = MIN(layer, LAYER_FOLLOWS) & LAYER_FOLLOWS,
                         .always = record->always};
    memcpy(packed + 1, members, (size_t)(end - members));
    smcr_slab_stamp(packed, frame);
    return smcr_slab_number(packed);
}

/* Returns the layer of the packet in its frame. */
static uint16_t
layer_of(const packed_t *packed)
{
    uint16_t layer = packed->layer;

    if (packed->layer == LAYER_FOLLOWS)
        memcpy(&layer, packed + 1, sizeof layer);
    return layer;
}

/* Returns the first byte after the layer: the number of the next record, if there is one, or the
 * members. */
static const uint8_t *
after_layer(const packed_t *packed)
{
    return (const uint8_t *)(packed + 1) + (packed->layer == LAYER_FOLLOWS ? sizeof(uint16_t) : 0);
}

/* Reads a value from `from` if the record has it. */
#define TAKE(name, value) \
    if (packed->has & 1U << BIT_OF_##name) { \
        memcpy(&(value), from, sizeof(value)); \
        from += sizeof(value); \
    }

/* Fills in the record from its packed form: members that pack() has left out get the values of
 * smcr_record_begin(). Members are read in the order in which pack_members() writes them. */
static void
unpack(const smcr_state_t *state, const packed_t *packed, smcr_record_t *record)
{
    const uint8_t *from = after_layer(packed);
    uint32_t time[2] = {0, 0}, since[2] = {0, 0};

    smcr_record_begin(record);
    record->always = packed->always;
    if (packed->has & HAS_NEXT)
        from += sizeof(uint32_t);
#define MEMBER(type, name) \
    uint32_t number_of_##name = 0; \
    TAKE(name, number_of_##name) \
    record->name = smcr_slab_entry(&state->entries, number_of_##name);
    SMCR_RECORD_ENTRIES(MEMBER)
#undef MEMBER
#define MEMBER(type, name) TAKE(name, record->name)
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
    PARTS(TAKE)
    memcpy(&record->acks.time, time, sizeof time);
    memcpy(&record->conn_idle_time, since, sizeof since);
}

/* Returns the next record of the same frame; NULL: none. */
static const packed_t *
next_of(const smcr_state_t *state, const packed_t *packed)
{
    uint32_t next = 0;

    if (packed->has & HAS_NEXT)
        memcpy(&next, after_layer(packed), sizeof next);
    return smcr_slab_entry(&state->records, next);
}

/* ---- all of them, by frame ---- */

/* The slot of the frame: it has the slab number of the frame's newest record. NULL: there is no
 * page for the frame. */
static uint32_t *
slot_of(const smcr_state_t *state, uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    return page < state->page_count && state->pages[page]
               ? &state->pages[page][frame % PAGE_FRAMES] : NULL;
}

/* Makes the page of the frame, with empty slots. Must not be called if the frame has a page, whose
 * records would be lost. */
static void
add_page(smcr_state_t *state, uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= state->page_count) {
        uint32_t count = MAX(page + 1, state->page_count * 2);
        state->pages = wmem_realloc(state->scope, state->pages, count * sizeof *state->pages);
        memset(state->pages + state->page_count, 0,
               (count - state->page_count) * sizeof *state->pages);
        state->page_count = count;
    }
    state->pages[page] = wmem_alloc0_array(state->scope, uint32_t, PAGE_FRAMES);
}

/* The idle time is set before the record is packed: later changes of `arrival->record` are not
 * kept. */
void
smcr_record_keep(const smcr_arrival_t *arrival, uint16_t layer)
{
    uint32_t frame = arrival->when.frame;
    smcr_record_t *record = arrival->record;

    if (!slot_of(arrival->state, frame))
        add_page(arrival->state, frame);
    uint32_t *slot = slot_of(arrival->state, frame);
    if (record->conn)
        record->conn_idle_time = smcr_conn_note_activity(record->conn, arrival->when);
    else if (record->kind == SMCR_RECORD_WRITE && record->link)
        record->link->lgr->last_ownerless_frame = frame;
    arrival->state->last_time = MAX(arrival->state->last_time, arrival->when.time);
    *slot = pack(arrival->state, record, frame, layer, *slot);
}

/* The packed record is not changed. What `*record` points to lives until the record is forgotten
 * (smcr_record_forget()), or as long as the state. */
bool
smcr_record_find(const smcr_state_t *state, uint32_t frame, uint16_t layer, smcr_record_t *record)
{
    const uint32_t *slot = slot_of(state, frame);
    const packed_t *packed = slot ? smcr_slab_entry(&state->records, *slot) : NULL;

    while (packed && layer_of(packed) != layer &&
           (layer != SMCR_RECORD_OUTERMOST || next_of(state, packed)))
        packed = next_of(state, packed);
    if (packed)
        unpack(state, packed, record);
    return packed != NULL;
}

uint32_t
smcr_record_first_kept(uint32_t frame)
{
    return frame / PAGE_FRAMES * PAGE_FRAMES;
}

void
smcr_record_free_ack(smcr_state_t *state, const smcr_ack_t *ack)
{
    if (ack && smcr_ack_let_go(ack))
        smcr_state_free(state, (void *)(uintptr_t)ack, sizeof *ack);
}

/* Frees the place of a WRITE, if nothing but its record points to it. The place stays in three
 * cases: 1. an acknowledgement that is still to come would be written into it; 2. the stream lists
 * it as an unannounced WRITE; 3. it has rare members, and may be listed elsewhere. */
static void
free_place(smcr_state_t *state, smcr_place_t *place)
{
    if (!place || !place->acked || place->is_unannounced || place->rare)
        return;
    smcr_record_free_ack(state, place->acked);
    smcr_state_free(state, place, sizeof *place);
}

/* Frees the analysis of a CDC message, if only its record and its connection point to it. */
static void
free_analysis(smcr_state_t *state, smcr_record_cdc_t *analysis)
{
    if (!analysis || !analysis->acked || analysis->is_deferred || analysis->rare)
        return;
    smcr_record_free_ack(state, analysis->acked);
    smcr_state_free(state, analysis, sizeof *analysis);
}

/* Frees the exchange that a CLC or CDC message begins. The exchange of an LLC message is not freed,
 * since it is a member of another object. */
static void
free_exchange(smcr_state_t *state, smcr_exchange_t *exchange)
{
    if (exchange && !exchange->llc_type)
        smcr_state_free(state, exchange, sizeof *exchange);
}

/* Frees the list of messages that a response completes. */
static void
free_completed(smcr_state_t *state, const smcr_completion_t *message)
{
    while (message) {
        const smcr_completion_t *next = smcr_completion_next(message);
        smcr_state_free(state, (void *)(uintptr_t)message, sizeof *message);
        message = next;
    }
}

/* What only the record of a packet and its connection point to. */
typedef struct {
    smcr_exchange_t *exchange;   /* exchange that the packet begins; NULL: none */
    smcr_place_t *place;         /* place of a WRITE; NULL: none */
    smcr_record_cdc_t *analysis; /* analysis of a CDC message; NULL: none */
} record_parts_t;

/* Frees the parts of a forgotten record, except those to which other objects may point. */
static void
free_parts(smcr_state_t *state, const record_parts_t *parts)
{
    free_exchange(state, parts->exchange);
    free_place(state, parts->place);
    free_analysis(state, parts->analysis);
}

/* Keeps the parts of a forgotten record until its connection is freed. */
static void
keep_parts(smcr_state_t *state, const smcr_conn_t *conn, const record_parts_t *parts)
{
    if (!state->forgotten_parts)
        state->forgotten_parts = wmem_map_new(state->scope, g_direct_hash, g_direct_equal);
    wmem_array_t *kept = wmem_map_lookup(state->forgotten_parts, conn);
    if (!kept) {
        kept = wmem_array_new(state->scope, sizeof *parts);
        wmem_map_insert(state->forgotten_parts, conn, kept);
    }
    wmem_array_append_one(kept, *parts);
}

/* The list is found by the pointer to the connection, which must not be freed yet. */
void
smcr_record_free_parts(smcr_state_t *state, const smcr_conn_t *conn)
{
    wmem_array_t *kept =
        state->forgotten_parts ? wmem_map_remove(state->forgotten_parts, conn) : NULL;

    for (unsigned i = 0; kept && i < wmem_array_get_count(kept); i++)
        free_parts(state, wmem_array_index(kept, i));
    if (kept)
        wmem_destroy_array(kept);
}

/* Frees the list of completed messages. Frees the objects to which only this record and its
 * connection point, if the connection is being released. If the connection stays, keeps them until
 * it is freed (keep_parts()); if it is never freed (`is_kept`), they stay, too. */
static void
forget_record(smcr_state_t *state, const packed_t *packed)
{
    smcr_record_t record;

    unpack(state, packed, &record);
    free_completed(state, record.completed_messages);
    const record_parts_t parts = {record.begins_exchange, record.write_location,
                                  record.cdc_analysis};
    bool has_parts = parts.exchange || parts.place || parts.analysis;
    if (!record.conn || !has_parts)
        return;
    if (record.conn->is_leaving)
        free_parts(state, &parts);
    else if (!record.conn->is_kept)
        keep_parts(state, record.conn, &parts);
}

/* Only whole pages are forgotten, so some records before `frame` may stay. */
void
smcr_record_forget(smcr_state_t *state, uint32_t frame)
{
    uint32_t end = MIN(frame / PAGE_FRAMES, state->page_count);

    for (uint32_t page = state->first_page; page < end; page++) {
        for (unsigned i = 0; state->pages[page] && i < PAGE_FRAMES; i++) {
            const packed_t *packed = smcr_slab_entry(&state->records, state->pages[page][i]);
            for (; packed; packed = next_of(state, packed))
                forget_record(state, packed);
        }
        wmem_free(state->scope, state->pages[page]);
        state->pages[page] = NULL;
    }
    state->first_page = MAX(state->first_page, end);
    smcr_slab_release(&state->records, state->first_page * PAGE_FRAMES);
}

/* ---- what a record says ---- */

/* Completes the record of an acknowledgement: it gets the connection of the packet that it
 * acknowledges, which may have been learned later, and its own direction in this connection. */
static void
take_acknowledged(const smcr_state_t *state, smcr_record_t *record)
{
    smcr_record_t answered;

    if (record->kind != SMCR_RECORD_ACK || !record->acks.frame ||
        !smcr_record_find(state, record->acks.frame, SMCR_RECORD_OUTERMOST, &answered))
        return;
    smcr_record_complete(state, &answered);
    record->conn = answered.conn;
    if (record->conn && record->sender >= 0)
        record->direction = (int8_t)smcr_conn_direction(record->conn->lgr, record->sender);
}

/* Completes the record of a WRITE that came before its queue pair was known. The link of the WRITE
 * was not known at that time, so its place in the order of PSNs was judged later. */
static void
take_late_link(smcr_record_t *record, const smcr_place_late_t *late)
{
    const smcr_place_rare_t *more = smcr_place_rare(record->write_location);

    record->link = late->link;
    record->sender = (int8_t)late->sender;
    record->order = more->order & 0x7U;
    record->first_frame = more->first_frame;
    record->first_time = more->first_time;
    record->events = more->events;
}

/* Completes the record of a WRITE whose connection or link was learned after the packet came. What
 * the record has already does not change. */
static void
take_late_place(smcr_record_t *record)
{
    const smcr_place_late_t *late =
        record->write_location ? smcr_place_late(record->write_location) : NULL;

    if (!late)
        return;
    if (!record->conn && late->conn) {
        record->conn = late->conn;
        record->conn_learned_late = true;
    }
    if (!record->link && late->link)
        take_late_link(record, late);
}

/* Besides a late connection or link, two events may come after the packet: 1. two links or
 * connections are joined; 2. a host reports which side is the server. */
void
smcr_record_complete(const smcr_state_t *state, smcr_record_t *record)
{
    take_acknowledged(state, record);
    take_late_place(record);
    if (record->link && record->link->merged_into) {
        record->sender ^= smcr_link_is_turned(record->link);
        record->link = record->link->merged_into;
    }
    if (record->cdc_analysis && record->cdc_analysis->is_deferred)
        record->cdc_analysis = NULL;
    record->conn = smcr_conn_merged(record->conn);
    if (record->conn && record->conn->socket && record->sender >= 0)
        record->direction = (int8_t)smcr_conn_direction(record->conn->lgr, record->sender);
}

/* Finds the position of a WRITE packet whose request a CDC message has announced: the packet begins
 * a known number of bytes before the producer cursor `late->end` of this message. If the packet
 * does not have the offset in the element that belongs to this position, a request between the
 * packet and the cursor is missing, and the position is not known. Returns whether the position is
 * known. */
static bool
position_before_end(const smcr_place_t *place, const smcr_place_late_t *late, uint64_t *position)
{
    int reader = smcr_link_is_turned(late->link) ? late->sender : !late->sender;
    const smcr_stream_t *stream = &smcr_conn_merged(late->conn)->side[reader].in;
    uint32_t before = late->bytes_to_end - smcr_place_rare(place)->offset_in_request;

    if (!smcr_stream_position_before_start(stream, late->end, before, position))
        return false;
    return !place->index || place->offset == smcr_ring_offset(&stream->ring, *position);
}

/* Only reads: a later call may know more than this one. */
smcr_stream_range_t
smcr_place_range(const smcr_place_t *place)
{
    const smcr_place_rare_t *more = smcr_place_rare(place);
    const smcr_place_late_t *late = smcr_place_late(place);
    smcr_stream_range_t piece = {.known = place->has_position, .position = place->position};

    if (more) {
        piece.rewritten = more->rewritten;
        piece.gap = more->gap;
    }
    if (piece.known || !late)
        return piece;
    if (late->has_position) {
        piece.known = true;
        piece.position = late->position + more->offset_in_request;
    } else if (late->announced && late->conn) {
        piece.known = position_before_end(place, late, &piece.position);
    }
    return piece;
}

/* A doubtful place has no known range, even if it was corrected. */
smcr_stream_range_t
smcr_place_proven_range(const smcr_place_t *place)
{
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    smcr_stream_range_t range = smcr_place_range(place);

    if (rare && rare->is_corrected)
        range.position = rare->corrected;
    range.known &= !rare || !rare->is_doubtful;
    return range;
}

/* ---- making one ---- */

void
smcr_arrival_track(const smcr_arrival_t *arrival, smcr_link_sent_message_t *message)
{
    smcr_record_free_ack(arrival->state, message->acked);
    *message = (smcr_link_sent_message_t){arrival->when.time, NULL};
    smcr_unacked_add(&arrival->qp->unacked, arrival->state->scope, arrival->psn, &message->acked);
}

/* The shared event of the kind `id`. A packet uses the shared event if it has no other event, and
 * the event has no sentence of its own. Most events are shared. */
static smcr_event_t **
lone_event(smcr_state_t *state, smcr_event_id_t id)
{
    if (!state->events)
        state->events = wmem_alloc0_array(state->scope, smcr_event_t *, SMCR_EVENTS);
    return &state->events[id];
}

/* Returns an event with the sentence of its expert item. */
static smcr_event_t *
new_event(smcr_state_t *state, smcr_event_id_t id)
{
    smcr_event_t *event = smcr_state_alloc0(state, sizeof *event);

    event->id = id;
    return event;
}

/* The end of the list of the packet's events. The list of a packet cannot continue after a shared
 * event (lone_event()). So a shared event is first replaced by an event that only this packet
 * has. */
static smcr_event_t **
end_of_events(const smcr_arrival_t *arrival)
{
    smcr_event_t **last = &arrival->record->events;

    if (*last && *last == *lone_event(arrival->state, (*last)->id))
        *last = new_event(arrival->state, (*last)->id);
    while (*last)
        last = &(*last)->next;
    return last;
}

/* An event without a sentence that is the only one of its packet is one object for all such
 * packets: what a caller sets in it has to be the same for all. */
smcr_event_t *
smcr_event_add(const smcr_arrival_t *arrival, smcr_event_id_t id, const char *format, ...)
{
    if (!arrival->record->events && !format) {
        smcr_event_t **lone = lone_event(arrival->state, id);
        *lone = *lone ? *lone : new_event(arrival->state, id);
        return arrival->record->events = *lone;
    }
    smcr_event_t **last = end_of_events(arrival);
    *last = new_event(arrival->state, id);
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        (*last)->text = wmem_strdup_vprintf(arrival->state->scope, format, arguments);
        va_end(arguments);
    }
    return *last;
}

/* The event is never shared (lone_event()), since its claim is about this packet. */
void
smcr_event_add_claim(const smcr_arrival_t *arrival, smcr_event_id_t id,
                     const smcr_doubt_proof_t *claim)
{
    smcr_event_t **last = end_of_events(arrival);

    *last = new_event(arrival->state, id);
    (*last)->deferred_check = claim;
}

/* The time ends with the earlier one of two events: 1. the CDC message that frees space is
 * acknowledged; 2. the writer continues (`continues`). */
smcr_record_wait_t
smcr_record_cdc_wait(const smcr_record_cdc_t *view)
{
    const smcr_record_cdc_rare_t *rare = smcr_record_cdc_rare(view);

    if (!rare || !rare->waits_since.frame || !rare->space_freed)
        return (smcr_record_wait_t){0};
    const smcr_ack_t *freed = *rare->space_freed;
    bool goes_on_first = freed && rare->continues.frame && rare->continues.frame < freed->frame;
    smcr_when_t end = freed && !goes_on_first ? smcr_ack_when(freed) : rare->continues;
    bool clock_is_sound = end.time >= rare->waits_since.time;
    return (smcr_record_wait_t){
        .frame = end.frame,
        .time = clock_is_sound ? end.time - rare->waits_since.time : SMCR_RECORD_NO_TIME,
    };
}

smcr_place_rare_t *
smcr_place_make_rare(smcr_state_t *state, smcr_place_t *place)
{
    if (!place->rare)
        place->rare = smcr_slab_number(smcr_state_alloc0(state, sizeof(smcr_place_rare_t)));
    return smcr_slab_entry(&state->entries, place->rare);
}

smcr_record_cdc_rare_t *
smcr_record_cdc_make_rare(smcr_state_t *state, smcr_record_cdc_t *view)
{
    if (!view->rare)
        view->rare = smcr_slab_number(smcr_state_alloc0(state, sizeof(smcr_record_cdc_rare_t)));
    return smcr_slab_entry(&state->entries, view->rare);
}

/* ---- bytes that are held: few packets hand on any, so they are found in a map by frame ---- */

#define BYTES_MAX (UINT64_C(32) << 20) /* maximum of `buffered_bytes` */

/* Copies no bytes: smcr_held_fill() does so. */
smcr_held_t *
smcr_held_new(const smcr_arrival_t *arrival, uint32_t within)
{
    smcr_place_t *place = arrival->record->write_location;
    smcr_place_rare_t *rare = smcr_place_make_rare(arrival->state, place);
    smcr_held_t *held = SMCR_STATE_MADE(arrival->state, &rare->buffered_payload);

    held->write_location = place;
    held->frame = arrival->when.frame;
    held->offset_in_request = within;
    return held;
}

/* A packet with the offset of an earlier one is its retransmission, and replaces it. */
void
smcr_held_insert(smcr_state_t *state, smcr_held_t **request, smcr_held_t *held)
{
    while (*request && (*request)->offset_in_request > held->offset_in_request)
        request = &(*request)->next;
    smcr_held_t *other = *request;
    bool same = other && other->offset_in_request == held->offset_in_request;
    held->next = same ? other->next : other;
    *request = held;
    if (same && other != held)
        smcr_held_drop(state, other->write_location);
}

/* The list is reversed in place: afterwards the old first packet is the last one. */
smcr_held_t *
smcr_held_first(smcr_held_t *request)
{
    smcr_held_t *first = NULL;

    while (request) {
        smcr_held_t *before = request->next;
        request->next = first;
        first = request;
        request = before;
    }
    return first;
}

/* Frees the copy of the packet's bytes. */
static void
free_copy(const smcr_state_t *state, smcr_held_t *held)
{
    wmem_free(state->scope, held->bytes);
    held->bytes = NULL;
    held->length = 0;
}

void
smcr_held_release(smcr_state_t *state, smcr_held_t *held)
{
    if (!state->released_payload)
        state->released_payload = wmem_list_new(state->scope);
    wmem_list_append(state->released_payload, held);
}

/* Frees the released copies that an earlier frame than the current one has handed on. Until the
 * dissection of that frame ends, the listeners of the tap read them. */
static void
free_released(smcr_state_t *state)
{
    wmem_list_t *released = state->released_payload;

    while (released && wmem_list_count(released)) {
        wmem_list_frame_t *first = wmem_list_head(released);
        smcr_held_t *held = wmem_list_frame_data(first);
        if (held->handed_on_frame >= state->last_frame)
            return;
        free_copy(state, held);
        wmem_list_remove_frame(released, first);
    }
}

/* If BYTES_MAX would be exceeded, no bytes are copied: `held` then stays without bytes. Released
 * copies are freed here; since they were handed on, `buffered_bytes` does not count them. */
void
smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length)
{
    free_released(state);
    if (held->bytes || state->buffered_bytes + length > BYTES_MAX)
        return;
    state->buffered_bytes += length;
    held->bytes = wmem_memdup(state->scope, bytes, length);
    held->length = length;
}

/* Bytes that were handed on belong to the frame that got them. */
void
smcr_held_drop(smcr_state_t *state, smcr_place_t *place)
{
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    smcr_held_t *held = rare ? rare->buffered_payload : NULL;

    if (!held || held->handed_on_frame)
        return;
    state->buffered_bytes -= held->length;
    free_copy(state, held);
}

/* Key of the map `buffered_payload`: the frame, and the layer of the packet in the frame. */
static const void *
key_of(uint32_t frame, uint16_t layer)
{
    return GSIZE_TO_POINTER((size_t)frame << 16 ^ layer);
}

/* Bytes that are handed on make room for other bytes (`buffered_bytes`). */
void
smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn, int sender)
{
    smcr_state_t *state = arrival->state;
    const void *key = key_of(state->last_frame, arrival->layer);

    if (!held || !held->length || held->handed_on_frame)
        return;
    if (!state->buffered_payload)
        state->buffered_payload = wmem_map_new(state->scope, g_direct_hash, g_direct_equal);
    wmem_array_t *list = wmem_map_lookup(state->buffered_payload, key);
    if (!list) {
        list = wmem_array_new(state->scope, sizeof held);
        wmem_map_insert(state->buffered_payload, key, list);
    }
    state->buffered_bytes -= held->length;
    held->handed_on_frame = state->last_frame;
    held->sender = (int8_t)sender;
    smcr_conn_keep(conn);
    held->conn = conn;
    held->sides_swapped = conn->sides_swapped;
    wmem_array_append_one(list, held);
}

wmem_array_t *
smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer)
{
    return state && state->buffered_payload
               ? wmem_map_lookup(state->buffered_payload, key_of(frame, layer))
               : NULL;
}
