/* intake.c
 * The one way by which packets change the state. What is next in its receiver's order is applied.
 * What is behind a gap is deferred: it is applied when the receiver acknowledges it, and dropped
 * when it is sent again. What has been taken in before changes nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "intake.h"

#include <string.h>

#include "ack.h"
#include "cdc_flow.h"
#include "deferred.h"
#include "llc_flow.h"
#include "state/model/store.h"
#include "wire/wire.h"

#define PARTS_MAX 64 /* packets of one message: 8 KiB at an MTU of 256, and some more */

/* ---- what a packet brings: applied, or deferred ---- */

static void
apply(const smcr_arrival_t *arrival, const smcr_content_t *content)
{
    smcr_stream_t *stream;

    if (content->cdc)
        smcr_cdc_apply(arrival, content->conn, content->cdc);
    else if (content->llc)
        smcr_llc_apply(arrival, content->llc);
    else if ((stream = smcr_conn_stream(content->conn, arrival->qp->side, content->place->offset)))
        smcr_write_apply(arrival, stream, content->place);
}

static void
take_in(const smcr_arrival_t *arrival, const smcr_content_t *content)
{
    if (arrival->record->order == SMCR_PSN_NEXT)
        apply(arrival, content);
    else if (arrival->record->order == SMCR_PSN_AHEAD)
        smcr_deferred_add(arrival, content);
}

/* Applies what the receiver `qp` has taken in of what was deferred, or drops it (`forget`)
 * because it was sent again. */
static void
settle(smcr_state_t *state, smcr_qp_t *qp, bool forget)
{
    uint32_t before = SMCR_PSN_MASK + 1; /* PSN of the one before: what came twice counts once */
    smcr_deferred_t *deferred;

    while ((deferred = smcr_deferred_take(qp)) != NULL) {
        smcr_record_t gone = smcr_record_new(); /* that of its packet has been kept */
        smcr_arrival_t then = {
            .state = state,
            .qp = qp,
            .psn = deferred->psn,
            .when = deferred->when,
            .record = &gone,
        };
        if (!forget && deferred->psn != before)
            apply(&then, &deferred->content);
        before = deferred->psn;
        smcr_deferred_free(state, deferred);
    }
}

/* ---- RDMA WRITE ---- */

static void
note_deleted_link(const smcr_arrival_t *arrival)
{
    const smcr_link_t *link = arrival->qp->link;

    if (link->deleted_frame && arrival->record->order == SMCR_PSN_NEXT)
        smcr_event_add(arrival, SMCR_EVENT_DELETED_LINK, "The link was deleted in frame %u",
                       link->deleted_frame);
}

static void
take_write(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;
    bool begun;

    record->kind = SMCR_PACKET_WRITE;
    note_deleted_link(arrival);
    smcr_link_activate(qp->link);
    if (!record->place)
        record->place = smcr_state_alloc0(arrival->state, sizeof *record->place);
    record->place->length = (uint32_t)arrival->roce->payload_length;
    if (record->order == SMCR_PSN_NEXT)
        smcr_unacked_add(&qp->unacked, arrival->state->scope, arrival->psn,
                         &record->place->acked);
    smcr_write_t *write = smcr_write_of(arrival, &begun);
    if (begun)
        smcr_orphan_settle(arrival->state, qp, write);
    if (!write) {
        smcr_event_add(arrival, SMCR_EVENT_WRITE_NO_START, NULL);
        smcr_orphan_add(arrival);
        return;
    }
    uint32_t within = smcr_write_place(arrival, write);
    if (smcr_write_locate(arrival, write, within))
        take_in(arrival, &(smcr_content_t){.place = record->place, .conn = record->conn});
    if (!write->rmb && qp->link->lgr->from_start)
        smcr_event_add(arrival, SMCR_EVENT_UNKNOWN_RKEY, NULL);
}

/* ---- requests ---- */

static void
note_order(const smcr_arrival_t *arrival)
{
    if (arrival->record->order == SMCR_PSN_OLD)
        smcr_event_add(arrival, SMCR_EVENT_RETRANSMISSION, NULL);
    else if (arrival->record->order == SMCR_PSN_AHEAD)
        smcr_event_add(arrival, SMCR_EVENT_AHEAD, NULL);
}

/* Which part of its message a SEND packet is, when that needs several. */
static void
take_send_part(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;
    uint8_t opcode = arrival->roce->opcode;
    bool first = opcode == SMCR_RC_SEND_FIRST;
    bool later = opcode == SMCR_RC_SEND_MIDDLE || opcode == SMCR_RC_SEND_LAST ||
                 opcode == SMCR_RC_SEND_LAST_IMMEDIATE || opcode == SMCR_RC_SEND_LAST_INVALIDATE;

    if ((!first && !later) || record->order != SMCR_PSN_NEXT)
        return;
    if (first)
        qp->send_psn = arrival->psn;
    record->message_psn = qp->send_psn;
    record->part = (uint32_t)smcr_psn_distance(qp->send_psn, arrival->psn);
    record->has_part = first || (qp->send_open && record->part > 0 && record->part < PARTS_MAX);
    qp->send_open = record->has_part && opcode <= SMCR_RC_SEND_MIDDLE;
}

static void
check_mtu(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    uint8_t code = MIN(qp->mtu, smcr_qp_peer(qp)->mtu);
    int mtu = smcr_mtu_bytes(code);

    if (mtu && arrival->roce->payload_length > mtu)
        smcr_event_add(arrival, SMCR_EVENT_MTU,
                       "The packet has %d bytes, but the MTU of the link is %d",
                       arrival->roce->payload_length, mtu);
}

/* The packet's order, and what the sender announced about its first one. */
static void
take_order(const smcr_arrival_t *arrival)
{
    smcr_psn_t *order = &arrival->qp->order;
    smcr_record_t *record = arrival->record;
    uint32_t psn = arrival->psn;
    uint32_t waited_for = order->started ? order->next : psn;

    if (order->slots == 0 && waited_for != psn)
        smcr_event_add(arrival, SMCR_EVENT_INITIAL_PSN,
                       "The first packet has PSN %u, but its sender announced %u", psn,
                       waited_for);
    check_mtu(arrival);
    smcr_psn_order_t place = smcr_psn_take(order, arrival->state->scope, psn,
                                           arrival->when.frame, &record->first_frame);
    record->order = place & 0x3;
    if (!record->first_frame)
        smcr_psn_seen(order, psn)->time = arrival->when.time;
    if (record->order == SMCR_PSN_AHEAD)
        record->missing = (uint32_t)smcr_psn_distance(waited_for, psn);
}

static void
take_request(const smcr_arrival_t *arrival)
{
    take_order(arrival);
    note_order(arrival);
    if (arrival->record->order == SMCR_PSN_NEXT)
        settle(arrival->state, arrival->qp, true);
    if (smcr_is_write(arrival->roce->opcode))
        take_write(arrival);
    else
        take_send_part(arrival);
}

/* ---- packets ---- */

static bool
is_answer(uint8_t opcode)
{
    return opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_ATOMIC_ACK;
}

bool
smcr_state_packet(smcr_arrival_t *arrival)
{
    const smcr_roce_t *roce = arrival->roce;
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &roce->target);

    smcr_state_learns(arrival->state, arrival->when.frame);
    if (roce->opcode >= SMCR_RC_OPCODES && roce->opcode != SMCR_ROCE_CNP)
        return false;
    if (!qp && roce->opcode == SMCR_RC_ACK)
        qp = smcr_link_of_ack(arrival->state, roce, arrival->when);
    if (!qp)
        return false;
    const smcr_qp_t *other = smcr_qp_peer(qp);
    if (other->gid_known && memcmp(other->key.gid, roce->source, SMCR_GID_LENGTH) != 0)
        return false; /* the number is known, but its peer is somebody else */

    qp->link->packet_count++;
    arrival->qp = qp;
    arrival->psn = roce->psn;
    smcr_record_set_link(arrival->record, qp->link, other->side);
    if (roce->opcode == SMCR_ROCE_CNP) {
        arrival->record->kind = SMCR_PACKET_ACK;
        smcr_event_add(arrival, SMCR_EVENT_CNP, NULL);
    } else if (!is_answer(roce->opcode)) {
        take_request(arrival);
    } else if (smcr_ack_take(arrival)) {
        settle(arrival->state, smcr_qp_peer(qp), false);
    }
    return true;
}

/* ---- messages ---- */

void
smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_qp_t *qp = arrival->qp;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->kind = SMCR_PACKET_LLC;
    if (!llc->complete || !smcr_llc_is_known(llc->type))
        return;
    take_in(arrival, &(smcr_content_t){.llc = llc});
    smcr_record_set_link(arrival->record, qp->link, !qp->side);
}

void
smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->kind = SMCR_PACKET_CDC;
    if (!cdc->complete)
        return;
    note_deleted_link(arrival);
    arrival->record->conn = smcr_cdc_conn(arrival, cdc);
    take_in(arrival, &(smcr_content_t){.cdc = cdc, .conn = arrival->record->conn});
}

void
smcr_state_tcp_reset(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    bool ends = (cdc->state & (SMCR_CDC_STATE_ABORT | SMCR_CDC_STATE_CLOSED)) != 0;

    if (arrival->record->order == SMCR_PSN_NEXT && !ends)
        smcr_event_add(arrival, SMCR_EVENT_TCP_ENDED, NULL);
}

/* ---- queue pairs that nobody announced ---- */

/* Takes in what came to the queue pair before it was known. */
static void
adopt_strangers(smcr_state_t *state, smcr_qp_t *qp)
{
    const smcr_qp_t *sender = smcr_qp_peer(qp);
    wmem_list_t *strangers = smcr_orphan_take_strangers(state, &qp->key);

    for (wmem_list_frame_t *at = strangers ? wmem_list_head(strangers) : NULL; at;
         at = wmem_list_frame_next(at)) {
        const smcr_orphan_t *orphan = wmem_list_frame_data(at);
        if (memcmp(orphan->roce.source, sender->key.gid, SMCR_GID_LENGTH) != 0)
            continue; /* of an earlier life of this queue pair */
        smcr_record_t gone = smcr_record_new();
        gone.kind = SMCR_PACKET_WRITE;
        gone.place = orphan->place;
        take_request(&(smcr_arrival_t){.state = state,
                                       .roce = &orphan->roce,
                                       .qp = qp,
                                       .psn = orphan->roce.psn,
                                       .when = orphan->when,
                                       .record = &gone});
        smcr_late_t *late = smcr_place_late(orphan->place);
        late->link = qp->link;
        late->sender = sender->side;
    }
    if (strangers)
        wmem_destroy_list(strangers);
}

void
smcr_state_prove(const smcr_arrival_t *arrival)
{
    if (!smcr_qp_find(arrival->state, &arrival->roce->target))
        adopt_strangers(arrival->state, smcr_link_prove(arrival->state, arrival->roce));
}

void
smcr_state_prove_link(const smcr_arrival_t *arrival, uint32_t sender_qpn)
{
    const smcr_roce_t *roce = arrival->roce;
    smcr_qp_key_t sender = {.qpn = sender_qpn};

    memcpy(sender.gid, roce->source, SMCR_GID_LENGTH);
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &sender);
    if (qp && !smcr_qp_peer(qp)->known && !smcr_qp_find(arrival->state, &roce->target))
        smcr_qp_set(arrival->state, qp->link, !qp->side, &roce->target);
    else
        smcr_state_prove(arrival);
}
