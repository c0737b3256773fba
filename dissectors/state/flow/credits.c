/* Counts the credits of ANCK (credits.h). The count belongs to the queue pair whose host has
 * announced the space. It follows the order of the capture: a credit counts as used when the packet
 * passes the capture point, and as announced when the announcement passes it. So if no credit is
 * left at the capture point, the sender has none until an announcement passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "credits.h"

#include "state/evidence/evidence.h"
#include "state/model/store.h"

/* From here on the number of credits is known exactly. */
void
smcr_state_credits_begin(smcr_qp_t *qp, uint8_t count)
{
    qp->has_credits = true;
    qp->credits = count;
    qp->limits_peer = count != 0;
    qp->has_had_no_credits = false;
    qp->no_credits_frame = 0;
}

/* Whether the packet is the last one of a message, which uses a credit. */
static bool
ends_message(const smcr_ib_operation_t *operation)
{
    return (operation->is_send && operation->ends) || operation->has_immediate;
}

/* Whether the number of credits is certain: all announcements and all messages of the link are
 * captured, and came in order. */
static bool
is_certain(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    return qp->has_credits && !smcr_doubt_link(arrival, qp->link).kind;
}

/* Never stops at zero: the count may go below it, since announcements may be missing. */
void
smcr_state_credits_use(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->limits_peer || !ends_message(&smcr_ib_operations[arrival->roce->opcode]))
        return;
    qp->credits--;
    qp->has_had_no_credits |= qp->credits <= 0;
    if (qp->credits != 0 || !is_certain(arrival, qp))
        return;
    qp->no_credits_frame = arrival->when.frame;
    smcr_event_add(arrival, SMCR_EVENT_credits_used_up, NULL);
}

/* The event comes before the credits grow. */
void
smcr_state_credits_add(const smcr_arrival_t *arrival, unsigned count)
{
    smcr_qp_t *qp = smcr_qp_peer(arrival->qp);

    if (!count)
        return;
    if (qp->no_credits_frame && is_certain(arrival, qp))
        smcr_event_add(arrival, SMCR_EVENT_credits_announced,
                       "Credits announced: the peer has had none since frame %u",
                       qp->no_credits_frame);
    qp->no_credits_frame = 0;
    qp->credits += (int32_t)count;
    if (qp->has_credits)
        return;
    qp->limits_peer = true; /* the first announcement is not captured: how many credits there are
                               is not known, so there may be none at any time */
    qp->has_had_no_credits = true;
}

void
smcr_state_credits_miss(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = smcr_qp_peer(arrival->qp);

    qp->has_had_no_credits |= qp->limits_peer;
    qp->has_credits = false;
}
