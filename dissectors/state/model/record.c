/* record.c
 * Keeps what was learned of each frame, packed: most members of most packets are zero, and a
 * capture has millions of packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "record.h"

#include <stdarg.h>
#include <string.h>

#include "store.h"

#define PAGE_FRAMES 1024 /* of the table by frame */

/* ---- records by number: half as long as an address ---- */

#define UNIT 8 /* records begin at multiples of this */
#define SLAB_UNITS (SLAB_SIZE / UNIT)

typedef struct packed packed_t;

static packed_t *
packed_at(const smcr_state_t *state, uint32_t number)
{
    uint32_t unit = number - 1;

    return number ? (packed_t *)(void *)(state->records[unit / SLAB_UNITS] +
                                         unit % SLAB_UNITS * UNIT)
                  : NULL;
}

/* Memory for a record of at most a slab's size. Returns its number, from 1. */
static uint32_t
new_packed(smcr_state_t *state, size_t size)
{
    uint32_t units = (uint32_t)((size + UNIT - 1) / UNIT);

    if (state->record_slabs == 0 || state->record_units + units > SLAB_UNITS) {
        if ((state->record_slabs & (state->record_slabs - 1)) == 0) /* full at powers of two */
            state->records = wmem_realloc(state->scope, state->records,
                                          MAX(2 * state->record_slabs, 1) * sizeof *state->records);
        state->records[state->record_slabs++] = wmem_alloc(state->scope, SLAB_SIZE);
        state->record_units = 0;
    }
    uint32_t number = (state->record_slabs - 1) * SLAB_UNITS + state->record_units + 1;
    state->record_units += units;
    return number;
}

/* ---- one record, packed ---- */

/* Members that take room only where they are not zero. Each has a number. */
enum {
#define MEMBER(type, name) NUMBER_OF_##name,
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
    SOMETIMES_COUNT
};

/* What every packed record has; the members that are there follow it. */
struct packed {
    uint32_t has : 21;   /* bit n: the member with the number n; HAS_NEXT */
    uint32_t layer : 11; /* tells the packets of one frame apart */
    smcr_record_always_t always;
};

#define HAS_NEXT 0x100000U /* the frame has another packet: the number of its record comes first */
#define HAS_MASK 0x1fffffU
#define LAYER_MASK 0x7ffU
_Static_assert(SOMETIMES_COUNT <= 20, "a record has more members than bits for them");
_Static_assert(sizeof(packed_t) == UNIT, "members must begin right behind what all records have");

static const smcr_record_t nothing = {
#define MEMBER(type, name, width, value) .always.name = (value),
    SMCR_RECORD_ALWAYS(MEMBER)
#undef MEMBER
};

smcr_record_t
smcr_record_new(void)
{
    return nothing;
}

/* The lists of members are written out below, not looped over: the compiler then compares and
 * copies words instead of calling functions. */

/* Which members a record has; adds up their sizes. */
static uint32_t
known_members(const smcr_record_t *record, size_t *size)
{
    uint32_t known = 0;

#define MEMBER(type, name) \
    if (memcmp(&record->name, &nothing.name, sizeof(type)) != 0) { \
        known |= 1U << NUMBER_OF_##name; \
        *size += sizeof(type); \
    }
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
    return known;
}

/* Returns the number of the new record; `next` is that of another packet of the frame, or 0. */
static uint32_t
pack(smcr_state_t *state, const smcr_record_t *record, uint16_t layer, uint32_t next)
{
    size_t size = sizeof(packed_t) + (next ? UNIT : 0);
    uint32_t known = known_members(record, &size);
    packed_t head = {.has = (known | (next ? HAS_NEXT : 0)) & HAS_MASK,
                     .layer = layer & LAYER_MASK,
                     .always = record->always};

    uint32_t number = new_packed(state, size);
    packed_t *packed = packed_at(state, number);
    uint8_t *to = (uint8_t *)(packed + 1);
    *packed = head;
    if (next) {
        memcpy(to, &next, sizeof next);
        to += UNIT;
    }
#define MEMBER(type, name) \
    if (known & 1U << NUMBER_OF_##name) { \
        memcpy(to, &record->name, sizeof(type)); \
        to += sizeof(type); \
    }
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
    return number;
}

static void
unpack(const packed_t *packed, smcr_record_t *record)
{
    const uint8_t *from = (const uint8_t *)(packed + 1) + (packed->has & HAS_NEXT ? UNIT : 0);

    *record = nothing;
    record->always = packed->always;
#define MEMBER(type, name) \
    if (packed->has & 1U << NUMBER_OF_##name) { \
        memcpy(&record->name, from, sizeof(type)); \
        from += sizeof(type); \
    }
    SMCR_RECORD_SOMETIMES(MEMBER)
#undef MEMBER
}

static const packed_t *
next_of(const smcr_state_t *state, const packed_t *packed)
{
    uint32_t next = 0;

    if (packed->has & HAS_NEXT)
        memcpy(&next, packed + 1, sizeof next);
    return packed_at(state, next);
}

/* ---- what records lead to ---- */

bool
smcr_exchange_is_unanswered(const smcr_state_t *state, const smcr_exchange_t *exchange)
{
    const uint64_t wait = UINT64_C(5000000000); /* of a first contact, the longest (smc_llc.h) */

    return !exchange->response_frame && !exchange->is_doubtful && !exchange->is_optional &&
           state->last_time > exchange->request_time + wait;
}

uint64_t
smcr_exchange_time(const smcr_exchange_t *exchange)
{
    return exchange->response_time > exchange->request_time
               ? exchange->response_time - exchange->request_time
               : 0;
}

/* ---- all of them, by frame ---- */

/* Where the number of the frame's record is that was kept last; NULL when there is no such page. */
static uint32_t *
slot_of(const smcr_state_t *state, uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    return page < state->page_count && state->pages[page]
               ? &state->pages[page][frame % PAGE_FRAMES]
               : NULL;
}

/* Makes the page of a frame. */
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

void
smcr_record_keep(const smcr_arrival_t *arrival, uint16_t layer)
{
    uint32_t frame = arrival->when.frame;

    if (!slot_of(arrival->state, frame))
        add_page(arrival->state, frame);
    uint32_t *slot = slot_of(arrival->state, frame);
    arrival->state->last_time = MAX(arrival->state->last_time, arrival->when.time);
    *slot = pack(arrival->state, arrival->record, layer, *slot);
}

bool
smcr_record_find(const smcr_state_t *state, uint32_t frame, uint16_t layer, smcr_record_t *record)
{
    const uint32_t *slot = slot_of(state, frame);
    const packed_t *packed = slot ? packed_at(state, *slot) : NULL;

    while (packed && packed->layer != layer &&
           (layer != SMCR_OUTERMOST || next_of(state, packed)))
        packed = next_of(state, packed);
    if (packed)
        unpack(packed, record);
    return packed != NULL;
}

/* ---- what a record says ---- */

void
smcr_record_set_link(smcr_record_t *record, smcr_link_t *link, int sender)
{
    record->link = link;
    record->sender = (int8_t)sender;
    record->direction = (int8_t)smcr_conn_direction(link->lgr, sender);
    record->lgr_proven = link->lgr->index != SMCR_NO_INDEX;
    record->sender_known = link->qp[sender].known;
    record->receiver_known = link->qp[!sender].known;
    record->has_number = link->has_number;
}

smcr_record_t
smcr_record_now(const smcr_record_t *record)
{
    const smcr_late_t *late = record->place ? smcr_place_late(record->place) : NULL;
    smcr_record_t now = *record;

    if (!late)
        return now;
    if (!now.conn && late->conn) {
        now.conn = late->conn;
        now.is_late = true;
    }
    if (!now.link && late->link) { /* no more is said of it than which one it is */
        now.link = late->link;
        now.sender = (int8_t)late->sender;
    }
    return now;
}

void
smcr_place_set_unasked(smcr_place_t *place)
{
    place->is_unasked = true;
}

smcr_piece_t
smcr_place_piece(const smcr_place_t *place)
{
    const smcr_place_more_t *more = place->more;
    const smcr_late_t *late = smcr_place_late(place);
    smcr_piece_t piece = {
        .known = place->positioned,
        .position = place->position,
        .rewritten = more ? more->rewritten : 0,
        .gap = more ? more->gap : 0,
    };

    if (!piece.known && late && late->placed) {
        piece.known = true;
        piece.position = late->position + more->within;
    }
    return piece;
}

uint32_t
smcr_cdc_free(const smcr_cdc_view_t *view)
{
    return view->unread < view->size ? view->size - view->unread : 0;
}

/* ---- making one ---- */

smcr_event_t *
smcr_event_add(const smcr_arrival_t *arrival, smcr_event_id_t id, const char *format, ...)
{
    smcr_event_t *event = smcr_state_alloc0(arrival->state, sizeof(smcr_event_t));
    smcr_event_t **last = &arrival->record->events;

    event->id = id;
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        event->text = wmem_strdup_vprintf(arrival->state->scope, format, arguments);
        va_end(arguments);
    }
    while (*last)
        last = &(*last)->next;
    *last = event;
    return event;
}

smcr_place_more_t *
smcr_place_more(smcr_state_t *state, smcr_place_t *place)
{
    if (!place->more)
        place->more = smcr_state_alloc0(state, sizeof *place->more);
    return place->more;
}

smcr_cdc_more_t *
smcr_cdc_more(smcr_state_t *state, smcr_cdc_view_t *view)
{
    if (!view->more)
        view->more = smcr_state_alloc0(state, sizeof *view->more);
    return view->more;
}

smcr_late_t *
smcr_place_late(const smcr_place_t *place)
{
    return place->more ? place->more->late : NULL;
}
