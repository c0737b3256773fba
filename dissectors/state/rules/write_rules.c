/* Rules for the places of RDMA WRITEs. A WRITE goes to an RMB that its owner has announced and not
 * withdrawn, and to an RMB element that a connection uses. It begins where the previous WRITE
 * ended, and stays within the window (RFC 7609 2.1, 4.1, 4.2, 4.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- RMBs ---- */

/* True if a report of check_deleted_rmb() or check_refused_rmb() has to be withdrawn later. There
 * are two cases: 1. the owner has announced the RMB once more; 2. the owner may have done so in CLC
 * messages that are missing. */
SMCR_DOUBT_CLAIM(was_announced_since, const smcr_rmb_t *rmb,
                 rmb->superseded || rmb->lgr->unfinished_clc_conns ||
                 (!rmb->deleted_frame && !smcr_rules_of_rmb(rmb)->refused_frame))

/* A writer that has agreed to the withdrawal of an RMB does not write to it any more
 * (R-3.5.5.2.2-2, R-A.3.7-6). An RDMA WRITE breaks the rule if it comes after the writer's response
 * to DELETE RKEY in the same flow. */
static void
check_deleted_rmb(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    const smcr_point_t *deleted = rmb->more ? &rmb->more->deleted_at : NULL;
    smcr_doubt_proof_t claim = {.has_come = was_announced_since, .about = rmb};

    if (deleted && deleted->qp == smcr_qp_peer(arrival->qp)) /* the writer has sent the response on
                                                                this link */
        smcr_breach_report_unless(arrival, SMCR_EVENT_write_deleted,
                                  smcr_doubt_next(arrival, deleted, claim),
                                  "The RDMA WRITE is to an RMB that was deleted in frame %u",
                                  rmb->deleted_frame);
}

/* A writer that has refused an RMB, by a negative response to CONFIRM RKEY, does not write to it
 * (R-A.3.5-9). An RDMA WRITE breaks the rule if it comes after the negative response in the same
 * flow. */
static void
check_refused_rmb(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = was_announced_since, .about = rmb};
    const smcr_rules_rmb_t *kept = smcr_rules_of_rmb(rmb);

    if (smcr_point_is_before(&kept->refused_point, arrival->qp, arrival->psn))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_write_unknown_rkey,
            smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
            "The RDMA WRITE is to an RMB that its writer has refused in frame %u",
            kept->refused_frame);
}

/* An RDMA WRITE goes to an RMB that its owner has announced on the link (R-4.2-4). A WRITE breaks
 * the rule if no message has announced its RKey on the link. Any link of the group may carry the
 * announcement, so no packet of the owner may be missing on any link. For an RMB that was deleted
 * or refused, see check_deleted_rmb() and check_refused_rmb(). */
SMCR_RULES_WRITE(check_rkey)
{
    const smcr_rmb_rtoken_t *entry = write->rtoken;
    uint32_t rkey = arrival->roce->rkey;

    if (!entry)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_write_unknown_rkey, smcr_doubt_rkey(arrival, arrival->qp, rkey),
            "The receiver has announced no RMB with RKey 0x%08x on this link", rkey);
    else if (entry->rmb->deleted_frame)
        check_deleted_rmb(arrival, entry->rmb);
    else if (smcr_rules_of_rmb(entry->rmb)->refused_frame)
        check_refused_rmb(arrival, entry->rmb);
}

/* ---- elements ---- */

/* True if the report of check_element() has to be withdrawn later: a connection uses the element,
 * or the CLC messages of a connection of the group are incomplete. */
SMCR_DOUBT_CLAIM(conn_has_come, const smcr_rmb_t *rmb,
                 smcr_rmb_conn(rmb, claim->key) || rmb->lgr->unfinished_clc_conns)

/* An RDMA WRITE goes to an element that a connection uses (R-4.1-1). A WRITE breaks the rule if it
 * goes to an element that no connection uses. Not judged is a WRITE outside of all elements, or to
 * an RMB whose element size is not known. */
SMCR_RULES_WRITE(check_element)
{
    const smcr_rmb_t *rmb = write->rmb;
    unsigned index = write->place->index;

    if (write->conn || !rmb->element_size || index == 0)
        return;
    smcr_doubt_proof_t claim = {.has_come = conn_has_come, .about = rmb, .key = index};
    smcr_breach_report_unless(arrival, SMCR_EVENT_write_outside,
                              smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim),
                              "The RDMA WRITE is to RMB element %u, which no connection uses",
                              index);
}

/* Whether the packet writes to bytes of its RMB element that are before the data: to the
 * eyecatcher. */
static bool
is_in_eyecatcher(const smcr_place_t *place, const smcr_rmb_t *rmb)
{
    const smcr_lgr_t *lgr = rmb->lgr;

    return lgr->base_known[rmb->side] && place->offset < lgr->base[rmb->side];
}

/* Only the owner of an RMB writes the eyecatcher at the beginning of an element (R-4.2-1). If
 * elements have an eyecatcher, as CONFIRM LINK reports, an RDMA WRITE to the first four bytes of an
 * element breaks the rule. */
SMCR_RULES_WRITE(check_eyecatcher)
{
    const smcr_rmb_t *rmb = write->rmb;

    if (write->place->index && rmb->element_size && is_in_eyecatcher(write->place, rmb))
        smcr_breach_report(arrival, SMCR_EVENT_write_outside,
                           "The RDMA WRITE is to the eyecatcher of its RMB element");
}

/* Whether the packet ends after the end of its element. `size`: bytes of the element; 0: not
 * known. */
static bool
exceeds_element(const smcr_place_t *place, uint32_t size)
{
    return place->index && size && place->offset + (uint64_t)place->length > size;
}

/* An RDMA WRITE lies within one element of the RMB. A packet breaks the rule in two cases: 1. it
 * begins a WRITE outside of all elements; 2. it ends after the end of its element. Of a packet
 * without a RETH only case 2 is judged: the packet that begins its WRITE shows case 1. An orphan
 * (orphan.c), which gets its place without its headers, does not begin a WRITE. An RMB whose
 * address is inferred from one WRITE is not judged. */
SMCR_RULES_WRITE(check_size)
{
    const smcr_place_t *place = write->place;
    bool begins = arrival->roce && arrival->roce->has_reth;

    if (write->rmb->address_guessed)
        return;
    if ((place->index == 0 && begins) || exceeds_element(place, write->rmb->element_size))
        smcr_event_add(arrival, SMCR_EVENT_write_outside, NULL);
}

/* True if the report of check_hole() has to be withdrawn later. No CDC message of this connection
 * has announced the bytes of the WRITE, so the WRITE may belong to another connection. `bound`:
 * position up to which the bytes have to be announced. */
SMCR_DOUBT_CLAIM(is_unannounced, const smcr_stream_t *in, in->announced < claim->bound)

/* Reports that the RDMA WRITE overwrites data that the reader has not reported as read (R-2.1-6).
 * The reader's last message before the WRITE may be missing, or may come later in the capture. The
 * reader's next message shows how far the reader had read. `read`: position up to which the reader
 * must have read before the WRITE. */
static void
report_overwritten(const smcr_arrival_t *arrival, smcr_conn_t *conn, uint64_t read)
{
    const smcr_rules_goal_t *goal =
        smcr_rules_set_goal(arrival, conn, arrival->qp->side, false, read);

    smcr_breach_report_unless(arrival, SMCR_EVENT_window_overwritten,
                              smcr_doubt_other(arrival, conn, &goal->reached_time),
                              "The RDMA WRITE overwrites data that was not reported as read");
}

/* Whether a WRITE goes back in the stream, though its offset looks as if it began the next round of
 * the element. This is so if the computed end of the WRITE in the next round is more than one round
 * after the reader's position. */
static bool
goes_back(const smcr_stream_t *in, const smcr_rules_write_t *write)
{
    uint32_t room = smcr_ring_room(&in->ring);

    return write->position + write->length > in->consumed + room && write->position >= room;
}

/* Each RDMA WRITE begins where the previous one ended (R-4.7-5). A WRITE breaks the rule if it
 * leaves bytes out, or goes back in the stream. If a WRITE goes back, the state first computes a
 * position that is one round of the element too high, as if the WRITE had wrapped. A WRITE that
 * goes back over unread data breaks R-2.1-6, too. The element may belong to a new connection, so
 * the event counts only if the writer later announces the bytes on this connection
 * (is_unannounced()).
 *
 * Example: an element has room for 16384 bytes, and WRITEs have filled it up to position 20000. A
 * WRITE with the computed position 36084 is really at position 19700, 300 bytes back. */
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
        smcr_breach_report_unless(arrival, SMCR_EVENT_write_hole, doubt,
                                  "The RDMA WRITE skips %" PRIu64 " bytes, although no packet is "
                                  "missing", write->position - end);
        return;
    }
    uint64_t position = write->position - smcr_ring_room(&in->ring);
    uint64_t overwritten = MIN(end, position + write->length);
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_write_hole, doubt,
        "The RDMA WRITE steps back by %" PRIu64 " bytes, although no packet is missing",
        end - position);
    if (MAX(in->consumed, position) < overwritten &&
        smcr_evidence_is_current(conn, !arrival->qp->side))
        report_overwritten(arrival, conn, overwritten);
}

/* ---- the window ---- */

/* A writer does not write past the reader's consumer cursor (R-2.1-6). An RDMA WRITE breaks the
 * rule if its end is more than one round of the element after the last byte that the reader has
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
