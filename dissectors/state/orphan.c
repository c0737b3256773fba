/* orphan.c
 * Keeps WRITE packets until their connection is known; few of them, and not for long.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "orphan.h"

#include <string.h>

#include "state_private.h"
#include "wire/roce_codes.h"

#define STRANGERS_MAX 1024        /* queue pairs */
#define STRANGER_PACKETS_MAX 64   /* of one of them */
#define ORPHANS_MAX 256           /* of one known queue pair */

typedef struct {
    smcr_roce_t roce;
    smcr_when_t when;
    smcr_place_t *place;
} orphan_t;

typedef struct {
    smcr_qp_key_t qp;
    wmem_list_t *packets; /* orphan_t */
} stranger_t;

static orphan_t *
new_orphan(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when, smcr_place_t *place)
{
    orphan_t *orphan = wmem_new(state->scope, orphan_t);

    *orphan = (orphan_t){*roce, when, place};
    return orphan;
}

static stranger_t *
stranger_of(smcr_state_t *state, const smcr_qp_key_t *qp)
{
    stranger_t *stranger = wmem_map_lookup(state->strangers, qp);

    if (stranger || wmem_map_size(state->strangers) >= STRANGERS_MAX)
        return stranger;
    stranger = wmem_new(state->scope, stranger_t);
    stranger->qp = *qp;
    stranger->packets = wmem_list_new(state->scope);
    wmem_map_insert(state->strangers, &stranger->qp, stranger);
    return stranger;
}

uint64_t
smcr_target(const uint8_t address[4], uint32_t qpn)
{
    uint32_t tail;

    memcpy(&tail, address, sizeof tail);
    return (uint64_t)tail << 32 | qpn | UINT32_C(1) << 31; /* never 0 */
}

static uint64_t *
full_slot(smcr_state_t *state, uint64_t target)
{
    return &state->full_strangers[(target ^ target >> 56) % SMCR_FULL_STRANGERS];
}

bool
smcr_state_ignores(smcr_state_t *state, uint8_t opcode, uint64_t target)
{
    return wmem_map_size(state->ends) == 0 &&
           (!smcr_is_write(opcode) || *full_slot(state, target) == target);
}

bool
smcr_orphan_stranger(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when,
                     smcr_packet_t *packet)
{
    if (!smcr_is_write(roce->opcode))
        return false;
    stranger_t *stranger = stranger_of(state, &roce->target);
    if (!stranger || wmem_list_count(stranger->packets) >= STRANGER_PACKETS_MAX) {
        uint64_t target = smcr_target(roce->target.gid + SMCR_GID_LENGTH - 4, roce->target.qpn);
        *full_slot(state, target) = target;
        return false;
    }

    packet->kind = SMCR_PACKET_WRITE;
    packet->place = smcr_state_alloc0(state, sizeof *packet->place);
    packet->place->length = (uint32_t)roce->payload_length;
    smcr_place_more(state, packet->place)->late = smcr_state_alloc0(state, sizeof(smcr_late_t));
    wmem_list_append(stranger->packets, new_orphan(state, roce, when, packet->place));
    return true;
}

void
smcr_orphan_adopt(smcr_state_t *state, smcr_end_t *end)
{
    stranger_t *stranger = wmem_map_remove(state->strangers, &end->qp);
    const smcr_end_t *sender = smcr_end_other(end);

    if (!stranger)
        return;
    for (wmem_list_frame_t *at = wmem_list_head(stranger->packets); at;
         at = wmem_list_frame_next(at)) {
        const orphan_t *orphan = wmem_list_frame_data(at);
        smcr_packet_t gone = {.kind = SMCR_PACKET_WRITE, .place = orphan->place};
        if (memcmp(orphan->roce.source, sender->qp.gid, SMCR_GID_LENGTH) != 0)
            continue; /* of an earlier life of this queue pair */
        smcr_rdma_take_earlier(state, end, &orphan->roce, orphan->when, &gone);
    }
    wmem_destroy_list(stranger->packets);
}

void
smcr_orphan_add(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_when_t when,
                smcr_place_t *place)
{
    if (!end->orphans)
        end->orphans = wmem_list_new(state->scope);
    if (wmem_list_count(end->orphans) >= ORPHANS_MAX)
        wmem_list_remove_frame(end->orphans, wmem_list_head(end->orphans));
    if (!smcr_place_late(place))
        smcr_place_more(state, place)->late = smcr_state_alloc0(state, sizeof(smcr_late_t));
    wmem_list_append(end->orphans, new_orphan(state, roce, when, place));
}

void
smcr_orphan_settle(smcr_state_t *state, smcr_end_t *end, const smcr_write_t *write)
{
    wmem_list_frame_t *at = end->orphans ? wmem_list_head(end->orphans) : NULL;

    while (at) {
        wmem_list_frame_t *next = wmem_list_frame_next(at);
        orphan_t *orphan = wmem_list_frame_data(at);
        int32_t number = smcr_psn_distance(write->first_psn, orphan->roce.psn);
        if (number > 0 && (uint32_t)number < write->packets) {
            smcr_rdma_place_late(state, end, write, &orphan->roce, orphan->place);
            wmem_list_remove_frame(end->orphans, at);
            wmem_free(state->scope, orphan);
        }
        at = next;
    }
}

/* The first of the orphans that come without a gap before `psn`, the last of them the LAST of its
 * request; NULL when there are none. `*length` is what they carry. */
static wmem_list_frame_t *
first_before(const smcr_end_t *end, uint32_t psn, uint32_t *length)
{
    wmem_list_frame_t *first = NULL;

    *length = 0;
    for (wmem_list_frame_t *at = wmem_list_tail(end->orphans); at; at = wmem_list_frame_prev(at)) {
        const smcr_roce_t *roce = &((const orphan_t *)wmem_list_frame_data(at))->roce;
        bool last = roce->opcode == SMCR_RC_WRITE_LAST ||
                    roce->opcode == SMCR_RC_WRITE_LAST_IMMEDIATE;
        if (smcr_psn_distance(roce->psn, psn) != 1 || last != (first == NULL))
            break;
        first = at;
        psn = roce->psn;
        *length += (uint32_t)roce->payload_length;
    }
    return first;
}

void
smcr_orphan_end(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, smcr_stream_t *stream,
                uint32_t psn, uint64_t position)
{
    uint32_t length, room = smcr_ring_room(&stream->ring);
    wmem_list_frame_t *at = end->orphans ? first_before(end, psn, &length) : NULL;

    if (!at || room == 0 || position < stream->written + length)
        return;
    position -= length;
    if (position % room + length > room)
        return; /* a request does not go over the end of the element */
    while (at) {
        wmem_list_frame_t *next = wmem_list_frame_next(at);
        orphan_t *orphan = wmem_list_frame_data(at);
        smcr_place_t *place = orphan->place;
        smcr_packet_t gone = {.kind = SMCR_PACKET_WRITE, .place = place};

        place->index = conn->side[end->side].rmb_index;
        place->offset = stream->ring.base + (uint32_t)(position % room);
        place->position = position;
        place->positioned = true;
        place->frame = orphan->when.frame;
        smcr_place_late(place)->conn = conn;
        smcr_write_apply(state, stream, place, orphan->when, &gone);
        position += place->length;
        wmem_list_remove_frame(end->orphans, at);
        wmem_free(state->scope, orphan);
        at = next;
    }
}
