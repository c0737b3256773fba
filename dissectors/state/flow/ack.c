/* ack.c
 * Reads from acknowledgements what a receiver has taken in, and how long that took.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ack.h"

#include "state/model/store.h"
#include "wire/wire.h"

/* Everything up to and with `psn` is acknowledged. */
static void
settle_writes(const smcr_arrival_t *arrival, smcr_qp_t *receiver, smcr_psn_t psn)
{
    if (!smcr_unacked_covers(&receiver->unacked, psn))
        return;
    smcr_when_t *kept = smcr_state_alloc0(arrival->state, sizeof *kept);
    *kept = arrival->when;
    smcr_unacked_settle(&receiver->unacked, psn, kept);
}

static void
note_nak(const smcr_arrival_t *arrival, int kind)
{
    if (kind == SMCR_SYNDROME_NAK)
        smcr_event_add(arrival, SMCR_EVENT_NAK,
                       smcr_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_CODE) ==
                               SMCR_NAK_PSN_SEQUENCE
                           ? "NAK, PSN sequence error: the receiver waits for PSN %u"
                           : "NAK: the receiver refuses the packet with PSN %u",
                       arrival->roce->psn);
    else if (kind == SMCR_SYNDROME_RNR_NAK)
        smcr_event_add(arrival, SMCR_EVENT_RNR_NAK,
                       "RNR NAK: the receiver has no receive buffer for PSN %u",
                       arrival->roce->psn);
}

void
smcr_ack_take(const smcr_arrival_t *arrival)
{
    smcr_qp_t *receiver = smcr_qp_peer(arrival->qp); /* of the requests that are answered */
    smcr_record_t *record = arrival->record;
    int kind = smcr_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_KIND);

    record->kind = SMCR_PACKET_ACK;
    if (arrival->roce->opcode != SMCR_RC_ACK || !arrival->roce->has_aeth)
        return;
    note_nak(arrival, kind);
    if (!receiver->flow.first)
        return;
    /* A NAK says that everything before its PSN has come. */
    smcr_psn_t psn = smcr_psn_near(receiver->flow.highest, arrival->roce->psn);
    smcr_psn_t taken = kind == SMCR_SYNDROME_ACK ? psn : psn - 1;
    settle_writes(arrival, receiver, taken);
    const smcr_seen_packet_t *answered = smcr_seen_find(&receiver->flow.seen, taken);
    bool again = taken <= receiver->flow.taken; /* this has not been judged yet */
    if (kind == SMCR_SYNDROME_ACK && answered && arrival->when.time >= answered->time)
        record->acks = (smcr_wait_t){answered->frame,
                                     again ? SMCR_NO_TIME : arrival->when.time - answered->time};
    const smcr_seen_packet_t *refused = smcr_seen_find(&receiver->flow.seen, psn);
    if (kind != SMCR_SYNDROME_ACK && refused)
        record->refuses = refused->frame;
}
