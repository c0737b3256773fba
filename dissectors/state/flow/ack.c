/* ack.c
 * Reads from acknowledgements what a receiver has taken in, and how long that took.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ack.h"

#include "fare.h"
#include "state/model/store.h"

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

void
smcr_ack_take(const smcr_arrival_t *arrival)
{
    smcr_qp_t *receiver = smcr_qp_peer(arrival->qp); /* of the requests that are answered */

    arrival->record->kind = SMCR_PACKET_ACK;
    smcr_answer_t answer = smcr_fare_answer(arrival, &receiver->traffic);
    if (answer.taken)
        settle_writes(arrival, receiver, answer.taken);
}
