/* write.c
 * Finds for each RDMA WRITE packet its request, and its place. Only the first packet of a request
 * has an address and an RKey; the others go on behind it in the order of their PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "write.h"

#include "state/model/store.h"
#include "window.h"
#include "wire/wire.h"

#define WRITES_KEPT 64 /* requests of a queue pair */

bool
smcr_is_write(uint8_t opcode)
{
    return opcode >= SMCR_RC_WRITE_FIRST && opcode <= SMCR_RC_WRITE_ONLY_IMMEDIATE;
}

/* ---- requests ---- */

/* The request that was received `back` requests ago, from 1. */
static smcr_write_t *
kept_write(const smcr_qp_t *qp, uint32_t back)
{
    return &qp->writes[(qp->write_count - back) % WRITES_KEPT];
}

smcr_write_t *
smcr_write_last(const smcr_qp_t *qp)
{
    return qp->write_count ? kept_write(qp, 1) : NULL;
}

static smcr_write_t *
find_write(const smcr_qp_t *qp, uint32_t psn)
{
    uint32_t kept = MIN(qp->write_count, WRITES_KEPT);

    for (uint32_t back = 1; back <= kept; back++) {
        smcr_write_t *write = kept_write(qp, back);
        int32_t distance = smcr_psn_distance(write->first_psn, psn);
        if (distance >= 0 && (uint32_t)distance < write->packets)
            return write;
    }
    return NULL;
}

/* Packets of the request that the packet with these headers begins. */
static uint32_t
count_packets(const smcr_roce_t *roce)
{
    uint32_t length = (uint32_t)roce->payload_length;

    if (roce->opcode != SMCR_RC_WRITE_FIRST || length == 0)
        return 1;
    return roce->dma_length / length + (roce->dma_length % length != 0);
}

/* `late` is that of the request's first packet, NULL when it has none yet. */
static smcr_write_t *
new_write(const smcr_arrival_t *arrival, smcr_late_t *late)
{
    smcr_state_t *state = arrival->state;
    smcr_qp_t *qp = arrival->qp;
    const smcr_roce_t *roce = arrival->roce;
    const smcr_rtoken_entry_t *entry = smcr_rmb_find(state, qp, roce->rkey);

    if (!qp->writes)
        qp->writes = wmem_alloc0_array(state->scope, smcr_write_t, WRITES_KEPT);
    smcr_write_t *write = &qp->writes[qp->write_count++ % WRITES_KEPT];
    *write = (smcr_write_t){
        .first_psn = roce->psn,
        .packets = count_packets(roce),
        .packet_length = (uint32_t)roce->payload_length,
        .length = roce->dma_length,
        .va = roce->va,
        .rkey = roce->rkey,
        .rmb = entry ? entry->rmb : NULL,
        .rmb_va = entry ? entry->va : 0,
        .late = entry || late ? late : smcr_state_alloc0(state, sizeof(smcr_late_t)),
    };
    return write;
}

smcr_write_t *
smcr_write_of(const smcr_arrival_t *arrival, bool *begun)
{
    const smcr_roce_t *roce = arrival->roce;
    smcr_write_t *write = find_write(arrival->qp, roce->psn);

    *begun = roce->has_reth && (!write || write->first_psn != roce->psn ||
                                write->rkey != roce->rkey || write->va != roce->va);
    return *begun ? new_write(arrival, smcr_place_late(arrival->record->place)) : write;
}

/* ---- the place of a packet ---- */

/* Which element of the RMB, and where in it. */
static void
place_in_rmb(const smcr_arrival_t *arrival, const smcr_write_t *write, uint64_t va)
{
    smcr_record_t *record = arrival->record;
    smcr_place_t *place = record->place;
    const smcr_rmb_t *rmb = write->rmb;
    uint64_t from = va - write->rmb_va;
    uint32_t size = rmb->element_size;

    if (va < write->rmb_va || (size && from / size >= SMCR_RMB_INDEX_MAX)) {
        smcr_event_add(arrival, SMCR_EVENT_WRITE_OUTSIDE, NULL);
        return;
    }
    place->index = size ? (uint8_t)(from / size + 1) : 1;
    place->offset = (uint32_t)(size ? from % size : from);
    if (size && place->offset + (uint64_t)place->length > size)
        smcr_event_add(arrival, SMCR_EVENT_WRITE_OUTSIDE, NULL);
    record->conn = smcr_rmb_conn(rmb, place->index);
    if (!record->conn && size)
        smcr_event_add(arrival, SMCR_EVENT_WRITE_OUTSIDE,
                       "The RDMA WRITE goes to RMB element %u, which no connection uses",
                       place->index);
    if (rmb->deleted_frame)
        smcr_event_add(arrival, SMCR_EVENT_WRITE_DELETED,
                       "The RDMA WRITE goes to an RMB that was deleted in frame %u",
                       rmb->deleted_frame);
}

uint32_t
smcr_write_place(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    uint32_t number = (uint32_t)smcr_psn_distance(write->first_psn, arrival->psn);
    uint32_t within = number * write->packet_length;

    if (write->rmb) {
        place_in_rmb(arrival, write, write->va + within);
    } else {
        smcr_place_more_t *more = smcr_place_more(arrival->state, arrival->record->place);
        more->late = write->late;
        more->within = within;
    }
    return within;
}

bool
smcr_write_locate(const smcr_arrival_t *arrival, smcr_write_t *write, uint32_t within)
{
    const smcr_record_t *record = arrival->record;
    smcr_place_t *place = record->place;
    const smcr_qp_t *qp = arrival->qp;
    smcr_stream_t *stream = record->conn && record->conn->lgr && place->index
                                ? smcr_conn_stream(record->conn, qp->side, place->offset)
                                : NULL;

    if (!stream)
        return false;
    /* On another link before any failover validation: the capture lacks that. */
    const smcr_conn_side_t *writer = &record->conn->side[!qp->side];
    if (writer->cdc_frame && writer->link != qp->link && record->order == SMCR_PSN_NEXT)
        smcr_stream_move(stream);
    if (!write->placed && within == 0)
        write->placed = smcr_stream_locate(stream, place->offset, write->length, &write->position);
    if (!write->placed)
        return false;
    place->position = write->position + within;
    place->positioned = true;
    place->frame = arrival->when.frame;
    return true;
}

void
smcr_write_place_late(smcr_state_t *state, smcr_qp_t *qp, const smcr_write_t *write,
                      const smcr_roce_t *roce, smcr_place_t *place)
{
    smcr_late_t *late = smcr_place_late(place);
    smcr_record_t gone = smcr_record_new();

    gone.kind = SMCR_PACKET_WRITE;
    gone.place = place;
    smcr_write_place(
        &(smcr_arrival_t){.state = state, .qp = qp, .psn = roce->psn, .record = &gone}, write);
    late->conn = gone.conn ? gone.conn : smcr_place_late(place)->conn;
    late->link = qp->link;
    late->sender = !qp->side;
}

/* ---- what it changes ---- */

void
smcr_write_apply(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    smcr_piece_t piece = smcr_stream_write(stream, place->position, place->length);

    if (piece.rewritten || piece.gap) {
        smcr_place_more_t *more = smcr_place_more(arrival->state, place);
        more->rewritten = piece.rewritten;
        more->gap = piece.gap;
    }
    smcr_window_written(arrival, stream, place);
}
