/* rdma.c
 * RoCE packets: which link, in which order, and where an RDMA WRITE goes (RFC 7609 4.2, 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "orphan.h"
#include "state_private.h"
#include "window.h"
#include "wire/roce_codes.h"

#define HALF_KNOWN_MAX 256      /* links that wait for their other end */
#define PARTS_MAX 64            /* packets of one message: 8 KiB at an MTU of 256, and some more */
#define ACK_TIME UINT64_C(1000000000) /* nanoseconds that an acknowledgement may take */

static bool
is_answer(uint8_t opcode)
{
    return opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_ATOMIC_ACK;
}

bool
smcr_is_write(uint8_t opcode)
{
    return opcode >= SMCR_RC_WRITE_FIRST && opcode <= SMCR_RC_WRITE_ONLY_IMMEDIATE;
}

smcr_place_more_t *
smcr_place_more(smcr_state_t *state, smcr_place_t *place)
{
    if (!place->more)
        place->more = smcr_state_alloc0(state, sizeof *place->more);
    return place->more;
}

smcr_late_t *
smcr_place_late(const smcr_place_t *place)
{
    return place->more ? place->more->late : NULL;
}

smcr_piece_t
smcr_place_piece(const smcr_place_t *place)
{
    return (smcr_piece_t){
        .known = place->positioned,
        .position = place->position,
        .rewritten = place->more ? place->more->rewritten : 0,
        .gap = place->more ? place->more->gap : 0,
    };
}

smcr_conn_t *
smcr_packet_conn(const smcr_packet_t *packet)
{
    const smcr_late_t *late = packet->place ? smcr_place_late(packet->place) : NULL;

    return packet->conn || !late ? packet->conn : late->conn;
}

void
smcr_packet_set_link(smcr_packet_t *packet, smcr_link_t *link, int sender)
{
    packet->link = link;
    packet->sender = (int8_t)sender;
    packet->direction = (int8_t)smcr_conn_direction(link->lgr, sender);
    packet->lgr_proven = link->lgr->index != SMCR_NO_INDEX;
    packet->sender_known = link->end[sender].known;
    packet->receiver_known = link->end[!sender].known;
    packet->has_number = link->has_number;
}

void
smcr_state_recognise(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when)
{
    if (smcr_end_find(state, &roce->target))
        return;
    smcr_link_t *link = smcr_link_between(state, NULL, &roce->target, when.frame);
    smcr_end_t *sender = &link->end[0];

    memcpy(sender->qp.gid, roce->source, SMCR_GID_LENGTH);
    sender->gid_known = true;
    smcr_link_activate(link, when.frame);
    smcr_orphan_adopt(state, &link->end[1]);
    wmem_list_append(state->half_known, link);
    if (wmem_list_count(state->half_known) > HALF_KNOWN_MAX)
        wmem_list_remove_frame(state->half_known, wmem_list_head(state->half_known));
}

void
smcr_state_recognise_link(smcr_state_t *state, const smcr_roce_t *roce, uint32_t sender_qpn,
                          smcr_when_t when)
{
    smcr_qp_key_t sender = {.qpn = sender_qpn};

    memcpy(sender.gid, roce->source, SMCR_GID_LENGTH);
    smcr_end_t *end = smcr_end_find(state, &sender);
    if (end && !smcr_end_other(end)->known && !smcr_end_find(state, &roce->target))
        smcr_end_set(state, end->link, !end->side, &roce->target);
    else
        smcr_state_recognise(state, roce, when);
}

/* Whether the acknowledgement answers what was sent just now on the half-known link to its known
 * end. */
static bool
answers(const smcr_link_t *link, const smcr_roce_t *roce, smcr_when_t when)
{
    const smcr_end_t *known = &link->end[link->end[0].known ? 0 : 1];
    const smcr_end_t *missing = &link->end[!known->side];

    if (missing->known || !missing->gid_known || !known->order.started)
        return false;
    const smcr_psn_seen_t *sent = smcr_psn_seen(&known->order, roce->psn);
    return sent && when.time - sent->time < ACK_TIME &&
           memcmp(missing->qp.gid, roce->target.gid, SMCR_GID_LENGTH) == 0 &&
           memcmp(known->qp.gid, roce->source, SMCR_GID_LENGTH) == 0;
}

/*
 * An acknowledgement to an unknown queue pair names the PSN that it answers. If that is what one
 * half-known link between the two devices has just carried, the queue pair is its other end.
 */
static smcr_end_t *
learn_from_ack(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when)
{
    smcr_link_t *found = NULL;

    for (wmem_list_frame_t *at = wmem_list_head(state->half_known); at;
         at = wmem_list_frame_next(at)) {
        smcr_link_t *link = wmem_list_frame_data(at);
        if (!answers(link, roce, when))
            continue;
        if (found)
            return NULL;
        found = link;
    }
    if (!found)
        return NULL;
    int side = found->end[0].known;
    smcr_end_set(state, found, side, &roce->target);
    wmem_list_remove(state->half_known, found);
    return &found->end[side];
}

/* ---- acknowledgements ---- */

static void
take_answer(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_when_t when,
            smcr_packet_t *packet)
{
    smcr_end_t *receiver = smcr_end_other(end); /* of the requests that are answered */
    int kind = smcr_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);

    packet->kind = SMCR_PACKET_ACK;
    if (roce->opcode != SMCR_RC_ACK || !roce->has_aeth)
        return;
    /* A NAK says that everything before its PSN has come. */
    uint32_t taken = kind == SMCR_SYNDROME_ACK ? roce->psn : (roce->psn - 1) & SMCR_PSN_MASK;
    if (smcr_unacked_covers(&receiver->unacked, taken)) {
        smcr_when_t *kept = smcr_state_alloc0(state, sizeof *kept);
        *kept = when;
        smcr_unacked_settle(&receiver->unacked, taken, kept);
    }
    if (smcr_psn_acknowledge(&receiver->order, taken))
        smcr_deferred_settle(state, receiver, false);

    const smcr_psn_seen_t *answered = smcr_psn_seen(&receiver->order, taken);
    if (kind == SMCR_SYNDROME_ACK && answered && answered->time) {
        packet->acks.frame = answered->frame;
        packet->acks.time = when.time - answered->time;
    }
    if (kind == SMCR_SYNDROME_NAK)
        smcr_event_add(state, packet, SMCR_EVENT_NAK,
                       smcr_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE) == SMCR_NAK_PSN_SEQUENCE
                           ? "NAK, PSN sequence error: the receiver waits for PSN %u"
                           : "NAK: the receiver refuses the packet with PSN %u",
                       roce->psn);
    else if (kind == SMCR_SYNDROME_RNR_NAK)
        smcr_event_add(state, packet, SMCR_EVENT_RNR_NAK,
                       "RNR NAK: the receiver has no receive buffer for PSN %u", roce->psn);
}

/* ---- RDMA WRITE ---- */

void
smcr_note_deleted_link(smcr_state_t *state, const smcr_end_t *end, smcr_packet_t *packet)
{
    if (end->link->deleted_frame && packet->order == SMCR_PSN_NEXT)
        smcr_event_add(state, packet, SMCR_EVENT_DELETED_LINK,
                       "The link was deleted in frame %u", end->link->deleted_frame);
}

static smcr_write_t *
find_write(const smcr_end_t *end, uint32_t psn)
{
    uint32_t kept = MIN(end->write_count, SMCR_WRITES_KEPT);

    for (uint32_t i = 1; i <= kept; i++) {
        smcr_write_t *write = &end->writes[(end->write_count - i) % SMCR_WRITES_KEPT];
        int32_t distance = smcr_psn_distance(write->first_psn, psn);
        if (distance >= 0 && (uint32_t)distance < write->packets)
            return write;
    }
    return NULL;
}

/* `late` is that of the request's first packet, NULL when it has none yet. */
static smcr_write_t *
new_write(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_late_t *late)
{
    uint32_t packet_length = (uint32_t)roce->payload_length;
    bool whole = roce->opcode != SMCR_RC_WRITE_FIRST || packet_length == 0;

    if (!end->writes)
        end->writes = wmem_alloc0_array(state->scope, smcr_write_t, SMCR_WRITES_KEPT);
    smcr_write_t *write = &end->writes[end->write_count++ % SMCR_WRITES_KEPT];
    const smcr_rtoken_entry_t *entry = smcr_rmb_find(state, end, roce->rkey);

    *write = (smcr_write_t){
        .first_psn = roce->psn,
        .packets = whole ? 1 : roce->dma_length / packet_length +
                                   (roce->dma_length % packet_length != 0),
        .packet_length = packet_length,
        .length = roce->dma_length,
        .va = roce->va,
        .rkey = roce->rkey,
        .rmb = entry ? entry->rmb : NULL,
        .rmb_va = entry ? entry->va : 0,
        .late = entry || late ? late : smcr_state_alloc0(state, sizeof(smcr_late_t)),
    };
    return write;
}

/* Which element of the RMB, and where in it. */
static void
place_in_rmb(smcr_state_t *state, const smcr_write_t *write, uint64_t va, smcr_place_t *place,
             smcr_packet_t *packet)
{
    const smcr_rmb_t *rmb = write->rmb;
    uint64_t from = va - write->rmb_va;

    if (va < write->rmb_va ||
        (rmb->element_size && from / rmb->element_size >= SMCR_RMB_INDEX_MAX)) {
        smcr_event_add(state, packet, SMCR_EVENT_WRITE_OUTSIDE, NULL);
        return;
    }
    place->index = rmb->element_size ? (uint8_t)(from / rmb->element_size + 1) : 1;
    place->offset = (uint32_t)(rmb->element_size ? from % rmb->element_size : from);
    if (rmb->element_size && place->offset + (uint64_t)place->length > rmb->element_size)
        smcr_event_add(state, packet, SMCR_EVENT_WRITE_OUTSIDE, NULL);
    packet->conn = smcr_rmb_conn(rmb, place->index);
    if (!packet->conn && rmb->element_size)
        smcr_event_add(state, packet, SMCR_EVENT_WRITE_OUTSIDE,
                       "The RDMA WRITE goes to RMB element %u, which no connection uses",
                       place->index);
    if (rmb->deleted_frame)
        smcr_event_add(state, packet, SMCR_EVENT_WRITE_DELETED,
                       "The RDMA WRITE goes to an RMB that was deleted in frame %u",
                       rmb->deleted_frame);
}

/* The place of the packet within its request. Returns its offset there. */
static uint32_t
place_in_write(smcr_state_t *state, const smcr_write_t *write, const smcr_roce_t *roce,
               smcr_packet_t *packet)
{
    smcr_place_t *place = packet->place;
    uint32_t number = (uint32_t)smcr_psn_distance(write->first_psn, roce->psn);

    uint32_t within = number * write->packet_length;

    if (write->rmb) {
        place_in_rmb(state, write, write->va + within, place, packet);
    } else {
        smcr_place_more_t *more = smcr_place_more(state, place);
        more->late = write->late;
        more->within = within;
    }
    return within;
}

void
smcr_write_apply(smcr_state_t *state, smcr_stream_t *stream, smcr_place_t *place,
                 smcr_when_t when, smcr_packet_t *packet)
{
    smcr_piece_t piece = smcr_stream_write(stream, place->position, place->length);

    if (piece.rewritten || piece.gap) {
        smcr_place_more_t *more = smcr_place_more(state, place);
        more->rewritten = piece.rewritten;
        more->gap = piece.gap;
    }
    smcr_window_written(state, stream, place, when, packet);
}

/* Where in the byte stream: decided once for the whole request, when its first packet comes. */
static void
place_in_stream(smcr_state_t *state, smcr_end_t *end, smcr_write_t *write, uint32_t within,
                const smcr_roce_t *roce, smcr_when_t when, smcr_packet_t *packet)
{
    smcr_place_t *place = packet->place;
    smcr_stream_t *stream =
        packet->conn && packet->conn->lgr && place->index
            ? smcr_conn_stream(packet->conn, end->side, place->offset)
            : NULL;

    if (!stream)
        return;
    /* On another link before any failover validation: the capture lacks that. */
    const smcr_conn_side_t *writer = &packet->conn->side[!end->side];
    if (writer->cdc_frame && writer->link != end->link && packet->order == SMCR_PSN_NEXT)
        stream->moved = true;
    if (!write->placed && within == 0) {
        stream->known = smcr_stream_can_locate(stream, place->offset);
        if (!stream->known)
            return;
        write->position = smcr_stream_locate(stream, place->offset, write->length);
        write->placed = true;
    }
    if (!write->placed)
        return;
    place->position = write->position + within;
    place->positioned = true;
    place->frame = when.frame;
    if (packet->order == SMCR_PSN_NEXT)
        smcr_write_apply(state, stream, place, when, packet);
    else if (packet->order == SMCR_PSN_AHEAD)
        smcr_deferred_add(
            state, end,
            &(smcr_deferred_t){
                .psn = roce->psn, .place = place, .conn = packet->conn, .when = when});
}

static void
take_write(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_when_t when,
           smcr_packet_t *packet)
{
    smcr_write_t *write = find_write(end, roce->psn);

    packet->kind = SMCR_PACKET_WRITE;
    smcr_note_deleted_link(state, end, packet);
    smcr_link_activate(end->link, when.frame);
    if (!packet->place)
        packet->place = smcr_state_alloc0(state, sizeof *packet->place);
    packet->place->length = (uint32_t)roce->payload_length;
    if (packet->order == SMCR_PSN_NEXT)
        smcr_unacked_add(&end->unacked, state->scope, roce->psn, &packet->place->acked);
    if (roce->has_reth && (!write || write->first_psn != roce->psn || write->rkey != roce->rkey ||
                           write->va != roce->va)) {
        write = new_write(state, end, roce, smcr_place_late(packet->place));
        smcr_orphan_settle(state, end, write);
    }
    if (!write) {
        smcr_event_add(state, packet, SMCR_EVENT_WRITE_NO_START, NULL);
        smcr_orphan_add(state, end, roce, when, packet->place);
        return;
    }
    uint32_t within = place_in_write(state, write, roce, packet);
    place_in_stream(state, end, write, within, roce, when, packet);
    if (!write->rmb && end->link->lgr->from_start)
        smcr_event_add(state, packet, SMCR_EVENT_UNKNOWN_RKEY, NULL);
}

void
smcr_rdma_place_late(smcr_state_t *state, smcr_end_t *end, const smcr_write_t *write,
                     const smcr_roce_t *roce, smcr_place_t *place)
{
    smcr_late_t *late = smcr_place_late(place);
    smcr_packet_t gone = {.kind = SMCR_PACKET_WRITE, .place = place};

    place_in_write(state, write, roce, &gone);
    late->conn = gone.conn ? gone.conn : smcr_place_late(place)->conn;
    late->link = end->link;
    late->sender = !end->side;
}

/* ---- all requests ---- */

static void
note_order(smcr_state_t *state, smcr_packet_t *packet, uint32_t first_frame)
{
    packet->first_frame = first_frame;
    if (packet->order == SMCR_PSN_OLD)
        smcr_event_add(state, packet, SMCR_EVENT_RETRANSMISSION, NULL);
    else if (packet->order == SMCR_PSN_AHEAD)
        smcr_event_add(state, packet, SMCR_EVENT_AHEAD, NULL);
}

/* Which part of its message a SEND packet is, when that needs several. */
static void
take_send_part(smcr_end_t *end, const smcr_roce_t *roce, smcr_packet_t *packet)
{
    bool first = roce->opcode == SMCR_RC_SEND_FIRST;
    bool later = roce->opcode == SMCR_RC_SEND_MIDDLE || roce->opcode == SMCR_RC_SEND_LAST ||
                 roce->opcode == SMCR_RC_SEND_LAST_IMMEDIATE ||
                 roce->opcode == SMCR_RC_SEND_LAST_INVALIDATE;

    if ((!first && !later) || packet->order != SMCR_PSN_NEXT)
        return;
    if (first)
        end->send_psn = roce->psn;
    packet->message_psn = end->send_psn;
    packet->part = (uint32_t)smcr_psn_distance(end->send_psn, roce->psn);
    packet->has_part = first || (end->send_open && packet->part > 0 && packet->part < PARTS_MAX);
    end->send_open = packet->has_part && roce->opcode <= SMCR_RC_SEND_MIDDLE;
}

static void
check_mtu(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_packet_t *packet)
{
    uint8_t code = MIN(end->mtu, smcr_end_other(end)->mtu);
    int mtu = smcr_mtu_bytes(code);

    if (mtu && roce->payload_length > mtu)
        smcr_event_add(state, packet, SMCR_EVENT_MTU,
                       "The packet has %d bytes, but the MTU of the link is %d",
                       roce->payload_length, mtu);
}

static void
take_request(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce, smcr_when_t when,
             smcr_packet_t *packet)
{
    uint32_t first_frame;
    uint32_t waited_for = end->order.started ? end->order.next : roce->psn;
    bool first = end->order.slots == 0;

    if (first && waited_for != roce->psn)
        smcr_event_add(state, packet, SMCR_EVENT_INITIAL_PSN,
                       "The first packet has PSN %u, but its sender announced %u", roce->psn,
                       waited_for);
    check_mtu(state, end, roce, packet);
    packet->order = smcr_psn_take(&end->order, state->scope, roce->psn, when.frame, &first_frame);
    if (!first_frame)
        smcr_psn_seen(&end->order, roce->psn)->time = when.time;
    if (packet->order == SMCR_PSN_AHEAD)
        packet->missing = (uint32_t)smcr_psn_distance(waited_for, roce->psn);
    note_order(state, packet, first_frame);
    if (packet->order == SMCR_PSN_NEXT && end->deferred)
        smcr_deferred_settle(state, end, true);
    if (smcr_is_write(roce->opcode))
        take_write(state, end, roce, when, packet);
    else
        take_send_part(end, roce, packet);
}

void
smcr_rdma_take_earlier(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce,
                       smcr_when_t when, smcr_packet_t *packet)
{
    smcr_late_t *late = smcr_place_late(packet->place);

    take_request(state, end, roce, when, packet);
    late->link = end->link;
    late->sender = !end->side;
}

bool
smcr_state_packet(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when,
                  smcr_packet_t *packet)
{
    smcr_end_t *end = smcr_end_find(state, &roce->target);

    if (roce->opcode >= SMCR_RC_OPCODES && roce->opcode != SMCR_ROCE_CNP)
        return false;
    if (!end && roce->opcode == SMCR_RC_ACK)
        end = learn_from_ack(state, roce, when);
    if (!end)
        return false;
    const smcr_end_t *other = smcr_end_other(end);
    if (other->gid_known && memcmp(other->qp.gid, roce->source, SMCR_GID_LENGTH) != 0)
        return false; /* the number is known, but its peer is somebody else */

    end->link->packet_count++;
    smcr_packet_set_link(packet, end->link, other->side);
    if (roce->opcode == SMCR_ROCE_CNP) {
        packet->kind = SMCR_PACKET_ACK;
        smcr_event_add(state, packet, SMCR_EVENT_CNP, NULL);
    } else if (is_answer(roce->opcode)) {
        take_answer(state, end, roce, when, packet);
    } else {
        take_request(state, end, roce, when, packet);
    }
    return true;
}
