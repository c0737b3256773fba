/* held.c
 * Few packets hand on anything: their lists are found by frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "record.h"

#include "store.h"

#define BYTES_MAX (UINT64_C(32) << 20) /* held at a time: more than any sender has under way */

smcr_held_t *
smcr_held_new(const smcr_arrival_t *arrival, uint32_t within)
{
    smcr_place_t *place = arrival->record->place;
    smcr_place_rare_t *rare = smcr_place_make_rare(arrival->state, place);

    if (!rare->held)
        rare->held = smcr_state_alloc0(arrival->state, sizeof *rare->held);
    rare->held->place = place;
    rare->held->frame = arrival->when.frame;
    rare->held->within = within;
    return rare->held;
}

void
smcr_held_insert(smcr_held_t **request, smcr_held_t *held)
{
    while (*request && (*request)->within > held->within)
        request = &(*request)->next;
    bool same = *request && (*request)->within == held->within;
    held->next = same ? (*request)->next : *request;
    *request = held;
}

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

void
smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length)
{
    if (held->bytes || state->held_bytes + length > BYTES_MAX)
        return;
    state->held_bytes += length;
    held->bytes = wmem_memdup(state->scope, bytes, length);
    held->length = length;
}

void
smcr_held_drop(smcr_state_t *state, smcr_place_t *place)
{
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    smcr_held_t *held = rare ? rare->held : NULL;

    if (!held || held->handed_in)
        return;
    state->held_bytes -= held->length;
    wmem_free(state->scope, held->bytes);
    held->bytes = NULL;
    held->length = 0;
}

/* The packets of a frame are told apart by their layer. */
static const void *
key_of(uint32_t frame, uint16_t layer)
{
    return GSIZE_TO_POINTER((size_t)frame << 8 ^ layer);
}

void
smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn, int sender)
{
    smcr_state_t *state = arrival->state;
    const void *key = key_of(state->last_frame, arrival->layer);

    if (!held || !held->length || held->handed_in)
        return;
    if (!state->held)
        state->held = wmem_map_new(state->scope, g_direct_hash, g_direct_equal);
    wmem_array_t *list = wmem_map_lookup(state->held, key);
    if (!list) {
        list = wmem_array_new(state->scope, sizeof held);
        wmem_map_insert(state->held, key, list);
    }
    held->handed_in = state->last_frame;
    held->sender = (int8_t)sender;
    held->conn = conn;
    held->flips = conn->flips;
    wmem_array_append_one(list, held);
}

wmem_array_t *
smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer)
{
    return state && state->held ? wmem_map_lookup(state->held, key_of(frame, layer)) : NULL;
}
