/* write_rules.c
 * Where RDMA WRITEs may go: RMBs that their owner has announced and not withdrawn, and elements of
 * connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "write_rules.h"

#include "certain.h"

/* ---- RMBs ---- */

/* Whether the RKey is known by now, or a connection whose beginning the capture lacks. */
static bool
rkey_has_come(const smcr_state_t *state, const smcr_claim_t *claim)
{
    const smcr_qp_t *owner = claim->about;

    return smcr_rmb_find(state, owner, claim->key) || !smcr_lgr_has_conns(owner->link->lgr);
}

/* A WRITE goes to an RMB that its owner has announced on the link. Any link of the group may carry
 * the announcement. (R-4.2-4) */
static void
check_announced(const smcr_arrival_t *arrival, uint32_t rkey)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    smcr_claim_t claim = {.has_come = rkey_has_come, .about = arrival->qp, .key = rkey};

    smcr_breach(arrival, SMCR_EVENT_UNKNOWN_RKEY,
                smcr_doubt_later(arrival, lgr, arrival->qp->side, claim),
                "RKey 0x%08x names no RMB that the receiver has announced on this link", rkey);
}

/* Nobody writes to an RMB behind its own consent to the withdrawal. (R-3.5.5.2.2-2, R-A.3.7-6) */
static void
check_withdrawn(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    if (rmb->deleted.qp == smcr_qp_peer(arrival->qp)) /* which gave it on this link */
        smcr_breach(arrival, SMCR_EVENT_WRITE_DELETED, smcr_doubt_since(arrival, &rmb->deleted),
                    "The RDMA WRITE goes to an RMB that was deleted in frame %u",
                    rmb->deleted_frame);
}

/* Whether the owner has announced the RMB again by now. */
static bool
has_come_again(const smcr_state_t *state, const smcr_claim_t *claim)
{
    const smcr_rmb_t *rmb = claim->about;

    (void)state;
    return !rmb->refused_frame || rmb->over;
}

/* Nor to one behind its own negative response to CONFIRM RKEY. (R-A.3.5-9) */
static void
check_refused(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_claim_t claim = {.has_come = has_come_again, .about = rmb};

    if (smcr_point_is_before(&rmb->refused, arrival->qp, arrival->psn))
        smcr_breach(arrival, SMCR_EVENT_UNKNOWN_RKEY,
                    smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                    "The RDMA WRITE goes to an RMB that its writer has refused in frame %u",
                    rmb->refused_frame);
}

void
smcr_rules_rkey(const smcr_arrival_t *arrival, const smcr_rtoken_entry_t *entry, uint32_t rkey)
{
    if (!entry)
        check_announced(arrival, rkey);
    else if (entry->rmb->deleted_frame)
        check_withdrawn(arrival, entry->rmb);
    else if (entry->rmb->refused_frame)
        check_refused(arrival, entry->rmb);
}

/* ---- elements ---- */

/* Whether the element has a connection by now, or the capture lacks the beginning of one. */
static bool
conn_has_come(const smcr_state_t *state, const smcr_claim_t *claim)
{
    const smcr_rmb_t *rmb = claim->about;

    (void)state;
    return smcr_rmb_conn(rmb, claim->key) || !smcr_lgr_has_conns(rmb->lgr);
}

/* A WRITE goes to an element that a connection uses. (R-4.1-1) */
void
smcr_rules_element(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb, unsigned index)
{
    smcr_claim_t claim = {.has_come = conn_has_come, .about = rmb, .key = index};

    smcr_breach(arrival, SMCR_EVENT_WRITE_OUTSIDE,
                smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                "The RDMA WRITE goes to RMB element %u, which no connection uses", index);
}

/* ---- the window ---- */

/* A writer does not write past the reader's consumer cursor. The reader's last message may be the
 * one that the capture lacks: its next one tells. (R-2.1-6) */
void
smcr_rules_overwrite(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];
    const smcr_point_t *last = writer->heard.qp ? &writer->heard : &writer->since;

    smcr_breach(arrival, SMCR_EVENT_OVERWRITTEN, smcr_doubt_next(arrival, last),
                "The RDMA WRITE overwrites data that was not read");
}
