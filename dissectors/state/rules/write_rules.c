/* Where RDMA WRITEs may go: RMBs that their owner has announced and not withdrawn, and elements of
 * connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- RMBs ---- */

/* Whether the owner has announced the RMB again by now, or the capture lacks the beginning of a
 * connection, which may have. */
SMCR_DOUBT_CLAIM(has_come_again, const smcr_rmb_t *rmb,
                 rmb->over || rmb->lgr->lacking_clc ||
                 (!rmb->deleted_frame && !smcr_rules_of_rmb(rmb)->refused_frame))

/* Nobody writes to an RMB behind its own consent to the withdrawal. (R-3.5.5.2.2-2, R-A.3.7-6) */
static void
check_withdrawn(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    const smcr_point_t *deleted = rmb->more ? &rmb->more->deleted : NULL;
    smcr_doubt_proof_t claim = {.has_come = has_come_again, .about = rmb};

    if (deleted && deleted->qp == smcr_qp_peer(arrival->qp)) /* which gave it on this link */
        smcr_breach(arrival, SMCR_EVENT_write_deleted, smcr_doubt_next(arrival, deleted, claim),
                    "The RDMA WRITE goes to an RMB that was deleted in frame %u",
                    rmb->deleted_frame);
}

/* Nor to one behind its own negative response to CONFIRM RKEY. (R-A.3.5-9) */
static void
check_refused(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = has_come_again, .about = rmb};
    const smcr_rules_rmb_t *kept = smcr_rules_of_rmb(rmb);

    if (smcr_point_is_before(&kept->refused, arrival->qp, arrival->psn))
        smcr_breach(arrival, SMCR_EVENT_write_unknown_rkey,
                    smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                    "The RDMA WRITE goes to an RMB that its writer has refused in frame %u",
                    kept->refused_frame);
}

/* A WRITE goes to an RMB that its owner has announced on the link. Any link of the group may carry
 * the announcement. (R-4.2-4) */
SMCR_RULES_WRITE(rkey)
{
    const smcr_rmb_rtoken_t *entry = write->entry;
    uint32_t rkey = arrival->roce->rkey;

    if (!entry)
        smcr_breach(arrival, SMCR_EVENT_write_unknown_rkey,
                    smcr_doubt_rkey(arrival, arrival->qp, rkey),
                    "RKey 0x%08x names no RMB that the receiver has announced on this link", rkey);
    else if (entry->rmb->deleted_frame)
        check_withdrawn(arrival, entry->rmb);
    else if (smcr_rules_of_rmb(entry->rmb)->refused_frame)
        check_refused(arrival, entry->rmb);
}

/* ---- elements ---- */

/* Whether the element has a connection by now, or the capture lacks the beginning of one. */
SMCR_DOUBT_CLAIM(conn_has_come, const smcr_rmb_t *rmb,
                 smcr_rmb_conn(rmb, claim->key) || rmb->lgr->lacking_clc)

/* A WRITE goes to an element that a connection uses. (R-4.1-1) */
SMCR_RULES_WRITE(element)
{
    const smcr_rmb_t *rmb = write->rmb;
    unsigned index = write->place->index;

    if (write->conn || !rmb->element_size || index == 0)
        return;
    smcr_doubt_proof_t claim = {.has_come = conn_has_come, .about = rmb, .key = index};
    smcr_breach(arrival, SMCR_EVENT_write_outside,
                smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                "The RDMA WRITE goes to RMB element %u, which no connection uses", index);
}

/* Nobody but its owner writes the eyecatcher at the begin of an element. CONFIRM LINK tells whether
 * there is one. (R-4.2-1) */
SMCR_RULES_WRITE(eyecatcher)
{
    const smcr_rmb_t *rmb = write->rmb;
    const smcr_lgr_t *lgr = rmb->lgr;

    if (write->place->index && rmb->element_size && lgr->base_known[rmb->side] &&
        write->place->offset < lgr->base[rmb->side])
        smcr_breach(arrival, SMCR_EVENT_write_outside, smcr_doubt_message(arrival),
                    "The RDMA WRITE goes to the eyecatcher of its RMB element");
}

/* A WRITE ends where its element does, and that is within the RMB. */
SMCR_RULES_WRITE(size)
{
    const smcr_place_t *place = write->place;
    uint32_t size = write->rmb->guessed ? 0 : write->rmb->element_size;
    bool begins = !write->rmb->guessed && (!arrival->roce || arrival->roce->has_reth);

    if ((place->index == 0 && begins) ||
        (place->index && size && place->offset + (uint64_t)place->length > size))
        smcr_event_add(arrival, SMCR_EVENT_write_outside, NULL);
}

/* Whether nothing more was announced so far: the element may have a new user. */
SMCR_DOUBT_CLAIM(is_unannounced, const smcr_stream_t *in, in->announced < claim->bound)

/* The WRITE goes over data that were not read. The reader's last message may be the one that the
 * capture lacks, or has later: its next one tells. (R-2.1-6) */
static void
tell_overwritten(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint64_t read)
{
    const smcr_rules_goal_t *goal = smcr_rules_goal(arrival, conn, arrival->qp->side, false, read);

    smcr_breach(arrival, SMCR_EVENT_window_overwritten,
                smcr_doubt_other(arrival, conn, &goal->when),
                "The RDMA WRITE overwrites data that was not reported as read");
}

/* WRITEs follow each other, from the producer cursor on. One that goes back looks as if it went
 * round the element: its end is outside of the window. After a move the first message tells how far
 * the old link has got. (R-4.7-5, R-2.1-6) */
SMCR_RULES_WRITE(hole)
{
    smcr_conn_t *conn = write->conn;
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_stream_t *in = &reader->in;
    uint32_t room = smcr_ring_room(&in->ring);
    uint64_t end = write->end, position = write->position, past = position + write->length;
    bool back = past > in->consumed + room && position >= room;
    smcr_doubt_proof_t announced = {.has_come = is_unannounced, .about = in, .bound = end + 1};

    smcr_breach(arrival, SMCR_EVENT_write_hole,
                smcr_doubt_or(smcr_doubt_since(arrival, &reader->located),
                              smcr_doubt_until(arrival, announced)),
                back ? "The RDMA WRITE goes back by %" PRIu64 " bytes, though no packet is missing"
                     : "The RDMA WRITE leaves out %" PRIu64 " bytes, though no packet is missing",
                back ? end - (position - room) : position - end);
    if (back && MAX(in->consumed, position - room) < MIN(end, past - room) &&
        smcr_evidence_is_current(conn, !arrival->qp->side))
        tell_overwritten(arrival, conn, MIN(end, past - room));
}

/* ---- the window ---- */

/* A writer does not write past the reader's consumer cursor. (R-2.1-6) */
SMCR_RULES_WRITE(window)
{
    smcr_conn_t *conn = write->conn;
    const smcr_stream_t *stream = &conn->side[arrival->qp->side].in;
    uint64_t end = write->place->position + write->place->length;
    uint32_t room = smcr_ring_room(&stream->ring);

    if (room && end > stream->consumed + room)
        tell_overwritten(arrival, conn, end - room);
}

/* ---- all WRITEs ---- */

void
smcr_rules_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                 const smcr_rules_write_t *write)
{
#define SMCR_RULES_WRITE_CHECK(step, check) \
    if (when == SMCR_RULES_##step) \
        smcr_rules_write_##check(arrival, write);
#include "check_rows.def"
}
