/* Where RDMA WRITEs may go: to RMBs that their owner has announced and not withdrawn, and there to
 * elements of connections, one after the other, within the window (RFC 7609 2.1, 4.1, 4.2, 4.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- RMBs ---- */

/* Whether the RMB of the claim may be written to after all: its owner has announced it once more,
 * or the capture misses the beginning of a connection in which the owner may have done so. */
SMCR_DOUBT_CLAIM(was_announced_since, const smcr_rmb_t *rmb,
                 rmb->superseded || rmb->lgr->unfinished_clc_conns ||
                 (!rmb->deleted_frame && !smcr_rules_of_rmb(rmb)->refused_frame))

/* Nobody writes to an RMB after its own consent to the withdrawal (R-3.5.5.2.2-2, R-A.3.7-6). The
 * wire shows an RDMA WRITE to the RMB, in the flow in which the writer has sent its response to
 * DELETE RKEY, after this response. */
static void
check_deleted_rmb(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    const smcr_point_t *deleted = rmb->more ? &rmb->more->deleted_at : NULL;
    smcr_doubt_proof_t claim = {.has_come = was_announced_since, .about = rmb};

    if (deleted && deleted->qp == smcr_qp_peer(arrival->qp)) /* which gave it on this link */
        smcr_breach_report(arrival, SMCR_EVENT_write_deleted,
                           smcr_doubt_next(arrival, deleted, claim),
                           "The RDMA WRITE goes to an RMB that was deleted in frame %u",
                           rmb->deleted_frame);
}

/* Nobody writes to an RMB after its own negative response to CONFIRM RKEY (R-A.3.5-9). The wire
 * shows such an RDMA WRITE in the flow of the response. */
static void
check_refused_rmb(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = was_announced_since, .about = rmb};
    const smcr_rules_rmb_t *kept = smcr_rules_of_rmb(rmb);

    if (smcr_point_is_before(&kept->refused_point, arrival->qp, arrival->psn))
        smcr_breach_report(arrival, SMCR_EVENT_write_unknown_rkey,
                           smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                           "The RDMA WRITE goes to an RMB that its writer has refused in frame %u",
                           kept->refused_frame);
}

/* An RDMA WRITE goes to an RMB that its owner has announced on the link (R-4.2-4). The wire shows
 * an RKey that no message has announced. Any link of the group may carry the announcement, so that
 * the owner's flows on all links must go on without a gap. */
SMCR_RULES_WRITE(check_rkey)
{
    const smcr_rmb_rtoken_t *entry = write->rtoken;
    uint32_t rkey = arrival->roce->rkey;

    if (!entry)
        smcr_breach_report(
            arrival, SMCR_EVENT_write_unknown_rkey, smcr_doubt_rkey(arrival, arrival->qp, rkey),
            "RKey 0x%08x names no RMB that the receiver has announced on this link", rkey);
    else if (entry->rmb->deleted_frame)
        check_deleted_rmb(arrival, entry->rmb);
    else if (smcr_rules_of_rmb(entry->rmb)->refused_frame)
        check_refused_rmb(arrival, entry->rmb);
}

/* ---- elements ---- */

/* Whether the element of the claim has a connection by now, or the capture misses the beginning of
 * one. */
SMCR_DOUBT_CLAIM(conn_has_come, const smcr_rmb_t *rmb,
                 smcr_rmb_conn(rmb, claim->key) || rmb->lgr->unfinished_clc_conns)

/* An RDMA WRITE goes to an element that a connection uses (R-4.1-1). The wire shows another
 * element of the RMB, by the offset of the WRITE. */
SMCR_RULES_WRITE(check_element)
{
    const smcr_rmb_t *rmb = write->rmb;
    unsigned index = write->place->index;

    if (write->conn || !rmb->element_size || index == 0)
        return;
    smcr_doubt_proof_t claim = {.has_come = conn_has_come, .about = rmb, .key = index};
    smcr_breach_report(arrival, SMCR_EVENT_write_outside,
                       smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                       "The RDMA WRITE goes to RMB element %u, which no connection uses", index);
}

/* Whether the place is in front of the data of its element. */
static bool
is_in_eyecatcher(const smcr_place_t *place, const smcr_rmb_t *rmb)
{
    const smcr_lgr_t *lgr = rmb->lgr;

    return lgr->base_known[rmb->side] && place->offset < lgr->base[rmb->side];
}

/* Nobody but its owner writes the eyecatcher at the begin of an element (R-4.2-1). The wire shows
 * an RDMA WRITE to its first four bytes. CONFIRM LINK reports whether there is an eyecatcher. */
SMCR_RULES_WRITE(check_eyecatcher)
{
    const smcr_rmb_t *rmb = write->rmb;

    if (write->place->index && rmb->element_size && is_in_eyecatcher(write->place, rmb))
        smcr_breach_report(arrival, SMCR_EVENT_write_outside, smcr_doubt_message(arrival),
                           "The RDMA WRITE goes to the eyecatcher of its RMB element");
}

/* Whether the packet ends after the end of its element, of `size` bytes; 0: not known. */
static bool
exceeds_element(const smcr_place_t *place, uint32_t size)
{
    return place->index && size && place->offset + (uint64_t)place->length > size;
}

/* An RDMA WRITE lies within one element of the RMB. The wire shows a WRITE that begins in no
 * element, or a packet of it that ends after the end of its element. An RMB that was guessed from
 * WRITEs alone is not judged. */
SMCR_RULES_WRITE(check_size)
{
    const smcr_place_t *place = write->place;
    bool begins = !arrival->roce || arrival->roce->has_reth;

    if (write->rmb->address_guessed)
        return;
    if ((place->index == 0 && begins) || exceeds_element(place, write->rmb->element_size))
        smcr_event_add(arrival, SMCR_EVENT_write_outside, NULL);
}

/* Whether no message has announced the bytes up to the bound of the claim: until then the element
 * may have a new user. */
SMCR_DOUBT_CLAIM(is_unannounced, const smcr_stream_t *in, in->announced < claim->bound)

/* The RDMA WRITE overwrites data that the reader has not reported as read (R-2.1-6). The reader's
 * last message may be missing, or come later in the capture: its next message shows how far it had
 * read. `read` is the position that the reader must have reached. */
static void
report_overwritten(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint64_t read)
{
    const smcr_rules_goal_t *goal =
        smcr_rules_set_goal(arrival, conn, arrival->qp->side, false, read);

    smcr_breach_report(arrival, SMCR_EVENT_window_overwritten,
                       smcr_doubt_other(arrival, conn, &goal->reached_time),
                       "The RDMA WRITE overwrites data that was not reported as read");
}

/* Whether a WRITE that seems to go round the element goes back: its end is outside of the window.
 */
static bool
goes_back(const smcr_stream_t *in, const smcr_rules_write_t *write)
{
    uint32_t room = smcr_ring_room(&in->ring);

    return write->position + write->length > in->consumed + room && write->position >= room;
}

/* WRITEs follow each other, from the producer cursor on (R-4.7-5). The wire shows an RDMA WRITE
 * that leaves bytes out, or goes back. A WRITE that goes back looks as if it had gone round the
 * element: then its position is too high by one round. The element may have a new user until the
 * writer announces the bytes. A WRITE that goes back may overwrite data that were not read
 * (R-2.1-6).
 *
 * Example: an element has room for 16 KiB, and WRITEs have filled it up to position 20000. A WRITE
 * at 36084 is one at 19700, 300 bytes back. */
SMCR_RULES_WRITE(check_hole)
{
    smcr_conn_t *conn = write->conn;
    const smcr_conn_side_t *reader = &conn->side[arrival->qp->side];
    const smcr_stream_t *in = &reader->in;
    uint64_t end = write->previous_end;
    smcr_doubt_proof_t announced = {.has_come = is_unannounced, .about = in, .bound = end + 1};
    smcr_doubt_t doubt = smcr_doubt_or(smcr_doubt_since(arrival, &reader->last_positioned_write),
                                       smcr_doubt_until(arrival, announced));

    if (!goes_back(in, write)) {
        smcr_breach_report(arrival, SMCR_EVENT_write_hole, doubt,
                           "The RDMA WRITE leaves out %" PRIu64
                           " bytes, though no packet is missing",
                           write->position - end);
        return;
    }
    uint64_t position = write->position - smcr_ring_room(&in->ring);
    uint64_t overwritten = MIN(end, position + write->length);
    smcr_breach_report(arrival, SMCR_EVENT_write_hole, doubt,
                       "The RDMA WRITE goes back by %" PRIu64 " bytes, though no packet is missing",
                       end - position);
    if (MAX(in->consumed, position) < overwritten &&
        smcr_evidence_is_current(conn, !arrival->qp->side))
        report_overwritten(arrival, conn, overwritten);
}

/* ---- the window ---- */

/* A writer does not write past the reader's consumer cursor (R-2.1-6). The wire shows an RDMA
 * WRITE whose end is more than one round of the element ahead of the bytes that the reader has
 * reported as read. */
SMCR_RULES_WRITE(check_window)
{
    smcr_conn_t *conn = write->conn;
    const smcr_stream_t *stream = &conn->side[arrival->qp->side].in;
    uint64_t end = write->place->position + write->place->length;
    uint32_t room = smcr_ring_room(&stream->ring);

    if (room && end > stream->consumed + room)
        report_overwritten(arrival, conn, end - room);
}

/* ---- all WRITEs ---- */

void
smcr_rules_check_write(smcr_rules_when_t when, const smcr_arrival_t *arrival,
                       const smcr_rules_write_t *write)
{
#define SMCR_RULES_WRITE_CHECK(step, check) \
    if (when == SMCR_RULES_##step) \
        smcr_rules_write_##check(arrival, write);
#include "check_rows.def"
}
