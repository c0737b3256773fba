/* record.c
 * Keeps what was learned of each frame, packed: most members of most packets are zero, and a
 * capture has millions of packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "state_private.h"

#define PAGE_FRAMES 1024 /* of the table by frame */
#ifndef SLAB_SIZE /* fuzzers want small ones, so that the ends of pieces are seen */
#define SLAB_SIZE 32768 /* bytes */
#endif

/* ---- memory without a header for each piece ---- */

void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (size > state->slab_left) {
        state->slab_left = MAX(size, SLAB_SIZE);
        state->slab = wmem_alloc0(state->scope, state->slab_left);
    }
    void *piece = state->slab;
    state->slab += size;
    state->slab_left -= size;
    return piece;
}

/* ---- records by number: half as long as an address ---- */

#define UNIT 8 /* records begin at multiples of this */
#define SLAB_UNITS (SLAB_SIZE / UNIT)

static smcr_record_t *
record_at(const smcr_state_t *state, uint32_t number)
{
    uint32_t unit = number - 1;

    return number ? (smcr_record_t *)(void *)(state->records[unit / SLAB_UNITS] +
                                              unit % SLAB_UNITS * UNIT)
                  : NULL;
}

/* Memory for a record of at most a slab's size. Returns its number, from 1. */
static uint32_t
new_record(smcr_state_t *state, size_t size)
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

/* ---- one record ---- */

/* Members that take room only where they are not zero, in the order of their alignment. */
static const struct {
    size_t at, size;
} members[] = {
#define MEMBER(name) {offsetof(smcr_packet_t, name), sizeof((smcr_packet_t *)NULL)->name}
    MEMBER(link),        MEMBER(conn),    MEMBER(place),       MEMBER(view),
    MEMBER(asks),        MEMBER(answers), MEMBER(events),      MEMBER(acks),
    MEMBER(first_frame), MEMBER(missing), MEMBER(message_psn), MEMBER(part),
#undef MEMBER
};

/* What every packet has; the members that are there follow it. */
struct smcr_record {
    uint16_t has;   /* bit n: members[n] */
    uint16_t layer; /* tells the packets of one frame apart */
    uint8_t kind_order; /* the latter in the upper half */
    int8_t sender, direction;
    bool lgr_proven : 1, sender_known : 1, receiver_known : 1, has_number : 1, has_part : 1;
    bool has_next : 1; /* the frame has another packet: the number of its record comes first */
};

static bool
is_zero(const uint8_t *bytes, size_t size)
{
    static const uint8_t zero[sizeof(smcr_wait_t)];

    return memcmp(bytes, zero, size) == 0;
}

/* Returns the number of the new record; `next` is that of another packet of the frame, or 0. */
static uint32_t
pack(smcr_state_t *state, const smcr_packet_t *packet, uint16_t layer, uint32_t next)
{
    const uint8_t *from = (const uint8_t *)packet;
    size_t size = sizeof(smcr_record_t) + (next ? UNIT : 0);
    smcr_record_t head = {
        .layer = layer,
        .kind_order = (uint8_t)(packet->kind | packet->order << 4),
        .sender = packet->sender,
        .direction = packet->direction,
        .lgr_proven = packet->lgr_proven,
        .sender_known = packet->sender_known,
        .receiver_known = packet->receiver_known,
        .has_number = packet->has_number,
        .has_part = packet->has_part,
        .has_next = next != 0,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (!is_zero(from + members[i].at, members[i].size)) {
            head.has |= (uint16_t)(1 << i);
            size += members[i].size;
        }
    uint32_t number = new_record(state, size);
    smcr_record_t *record = record_at(state, number);
    uint8_t *to = (uint8_t *)(record + 1);
    *record = head;
    if (next) {
        memcpy(to, &next, sizeof next);
        to += UNIT;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (head.has & 1 << i) {
            memcpy(to, from + members[i].at, members[i].size);
            to += members[i].size;
        }
    return number;
}

static void
unpack(const smcr_record_t *record, smcr_packet_t *packet)
{
    const uint8_t *from = (const uint8_t *)(record + 1) + (record->has_next ? UNIT : 0);

    *packet = (smcr_packet_t){
        .kind = record->kind_order & 0x0f,
        .order = (smcr_psn_order_t)(record->kind_order >> 4),
        .sender = record->sender,
        .direction = record->direction,
        .lgr_proven = record->lgr_proven,
        .sender_known = record->sender_known,
        .receiver_known = record->receiver_known,
        .has_number = record->has_number,
        .has_part = record->has_part,
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (record->has & 1 << i) {
            memcpy((uint8_t *)packet + members[i].at, from, members[i].size);
            from += members[i].size;
        }
}

static const smcr_record_t *
next_of(const smcr_state_t *state, const smcr_record_t *record)
{
    const uint8_t *from = (const uint8_t *)(record + 1);
    uint32_t next = 0;

    if (record->has_next)
        memcpy(&next, from, sizeof next);
    return record_at(state, next);
}

/* ---- all of them, by frame ---- */

/* Where the number of the frame's first record is; NULL when there is no such page, and none is to
 * be made. */
static uint32_t *
slot_of(smcr_state_t *state, uint32_t frame, bool make)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= state->page_count) {
        if (!make)
            return NULL;
        uint32_t count = MAX(page + 1, state->page_count * 2);
        state->pages = wmem_realloc(state->scope, state->pages, count * sizeof *state->pages);
        memset(state->pages + state->page_count, 0,
               (count - state->page_count) * sizeof *state->pages);
        state->page_count = count;
    }
    if (!state->pages[page] && make)
        state->pages[page] = wmem_alloc0_array(state->scope, uint32_t, PAGE_FRAMES);
    return state->pages[page] ? &state->pages[page][frame % PAGE_FRAMES] : NULL;
}

void
smcr_record_keep(smcr_state_t *state, uint32_t frame, uint16_t layer, const smcr_packet_t *packet)
{
    uint32_t *slot = slot_of(state, frame, true);

    *slot = pack(state, packet, layer, *slot);
}

bool
smcr_record_find(smcr_state_t *state, uint32_t frame, uint16_t layer, smcr_packet_t *packet)
{
    const uint32_t *slot = slot_of(state, frame, false);
    const smcr_record_t *record = slot ? record_at(state, *slot) : NULL;

    while (record && layer != SMCR_ANY_LAYER && record->layer != layer)
        record = next_of(state, record);
    if (record)
        unpack(record, packet);
    return record != NULL;
}
