/* Infers address and size of an RMB element from a CDC message and the WRITEs right before it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_element.h"
#include "exchange.h"

#include "state/flow/writes/writes.h"
#include "state/model/store.h"

/* Starts the byte stream of a connection whose CLC messages are not captured. `write`, the WRITE
 * right before the CDC message, ends at the producer cursor, so the cursor gives the position of
 * `write`. This is so only in the first round of the RMB element: in a later round the size of the
 * element is needed, which is not known. */
static void
start_midstream(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                const smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[qp->side];

    if (cdc->prod.wrap != 0 || side->in.positions_known || !smcr_lgr_has_base(conn->lgr, qp->side))
        return;
    uint32_t data = conn->lgr->base[qp->side];
    if (cdc->prod.count < write->length + data)
        return;
    write->deferred_place->has_position = true;
    write->deferred_place->position = cdc->prod.count - write->length - data;
    smcr_stream_start_late(&side->in, cdc->prod.count, write->length, data);
    smcr_conn_side_update_stream(side);
    side->last_positioned_write = smcr_point_at(qp, arrival->psn);
}

/* Returns the size of an element in bytes, if it is one that CLC can announce (A.2.3); else 0. */
static uint32_t
possible_size(uint64_t bytes)
{
    for (unsigned code = 0; code <= SMCR_BSIZE_512M; code++)
        if (smcr_bsize_to_bytes(code) == bytes)
            return (uint32_t)bytes;
    return 0;
}

/* Whether the WRITE may end at the producer cursor `prod` of the CDC message: the cursor is at
 * least the length of the WRITE, and less than the size of the largest RMB element. */
static bool
may_end_at_cursor(const smcr_write_t *write, smcr_cursor_t prod)
{
    return prod.count >= write->length && prod.count < smcr_bsize_to_bytes(SMCR_BSIZE_512M);
}

/* Whether the WRITE fills the whole element: the message that begins the next round at offset 0
 * comes after one that began this round at offset 0, and the WRITE has a length that is a possible
 * size of an element.
 *
 *     before 2:0   WRITE of 65536 bytes   now 3:0 */
static bool
fills_element(const smcr_write_t *write, const smcr_conn_side_t *writer, smcr_cursor_t prod)
{
    bool begins_next = writer->last_cdc_frame && prod.wrap == writer->prod.wrap + 1;

    return begins_next && prod.count == 0 && writer->prod.count == 0 &&
           possible_size(write->length);
}

/* Returns the begin of the RMB to which the WRITE goes, as the CDC message after the WRITE shows;
 * 0: the message does not show the begin, or the last packet of the WRITE does not have the PSN
 * right before the message. */
static uint64_t
rmb_begin(const smcr_arrival_t *arrival, const smcr_conn_side_t *writer, const smcr_write_t *write,
          smcr_cursor_t prod)
{
    if (write->first_psn + write->packets != arrival->psn)
        return 0;
    if (may_end_at_cursor(write, prod))
        return write->remote_address - (prod.count - write->length);
    return fills_element(write, writer, prod) ? write->remote_address : 0;
}

/* Whether the message announces bytes: it is the first message of its sender, or its producer
 * cursor differs from the producer cursor of the sender's last message. If not, the WRITE before
 * the message is of another connection. */
static bool
has_moved(const smcr_conn_side_t *writer, smcr_cursor_t prod)
{
    return !writer->last_cdc_frame || !smcr_ring_cursors_are_same(writer->prod, prod);
}

/* Whether no RMB has to be searched for the side `reader`. Either the RMB in which the side
 * receives is known and alive, or another open connection shares its element, so WRITEs do not show
 * the RMB. */
static bool
knows_rmb(const smcr_conn_side_t *reader)
{
    return reader->element_shared || (reader->rmb && smcr_rmb_is_alive(reader->rmb));
}

/* Checks an RMB whose address was inferred from one WRITE, with a second WRITE to this RMB. `base`:
 * begin of the RMB according to the second WRITE. If both WRITEs give the same begin, the address
 * is certain from now on. If not, one of the two WRITEs belonged to another connection, and the RMB
 * is superseded. */
static void
check_guessed_rmb(smcr_rmb_t *rmb, int side, const smcr_write_t *write, uint64_t base)
{
    rmb->address_guessed = rmb->superseded = base != write->rmb_va;
    rmb->lgr->rmb_count[side] -= rmb->superseded;
}

/* Whether LLC has announced the RMB to which the WRITE goes, with the begin `base`, and no
 * connection is known to use its element 1. */
static bool
is_announced_at(const smcr_write_t *write, uint64_t base)
{
    return smcr_write_has_free_rmb(write) && smcr_rmb_is_alive(write->rmb) &&
           write->rmb_va == base;
}

/* Returns the RMB that begins at `base` and has the RKey of the WRITE: the announced one, or a new
 * one whose address is inferred from this WRITE. */
static smcr_rmb_t *
get_rmb_at(const smcr_arrival_t *arrival, const smcr_write_t *write, uint64_t base)
{
    if (is_announced_at(write, base))
        return write->rmb;
    smcr_rmb_t *rmb = smcr_rmb_renew(arrival->state, arrival->qp, write->rkey, base);
    rmb->address_guessed = true;
    return rmb;
}

/* Gives the connection the RMB that begins at `base`, as `write` shows: the connection receives in
 * its element 1. Also learns what follows from this: where data begins in the elements, the
 * connection of `write`, and the positions of the stream. */
static void
guess_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
          const smcr_write_t *write, uint64_t base)
{
    smcr_state_t *state = arrival->state;
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *side = &conn->side[qp->side];

    side->rmb = get_rmb_at(arrival, write, base);
    side->rmb_index = 1;
    smcr_rmb_set_conn(state, side->rmb, 1, conn);
    smcr_state_exchange_named_rmb(arrival, qp, side->rmb);
    smcr_place_late_set_conn(write->deferred_place, conn);
    smcr_write_learn_base(conn, qp->side, cdc->prod.count);
    smcr_write_learn_base(conn, !qp->side, cdc->cons.count);
    /* gives `write` a position only if a host has reported the cursors of the connection */
    smcr_orphan_assign_conn(arrival, conn, write, cdc->prod);
    start_midstream(arrival, conn, cdc, write);
}

/* Whether the CLC message that names the RMB of the side `reader` is captured: the Accept of the
 * server, or the Confirm of the client. */
static bool
has_clc_of(const smcr_conn_t *conn, int reader)
{
    return reader == conn->lgr->server ? conn->accept_frame != 0 : conn->confirm_frame != 0;
}

/* Finds the RMB of a connection whose RMB is not known: the RMB to which `write` goes. Nothing
 * changes if this RMB is known, except in one case: no connection is known to use the RMB, and the
 * CLC message that would name the reader's RMB is not captured. `base`: begin of the RMB, as
 * computed from `write`. */
static void
guess_unknown_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc,
                  const smcr_write_t *write, uint64_t base)
{
    bool is_unnamed = !has_clc_of(conn, arrival->qp->side) && is_announced_at(write, base);
    bool is_unused = !write->rmb || is_unnamed;

    if (is_unused && write->deferred_place)
        guess_rmb(arrival, conn, cdc, write, base);
}

/* Whether the address of the RMB in which the side receives is only inferred, and the WRITE goes to
 * this RMB, too. */
static bool
names_guessed_rmb(const smcr_write_t *write, const smcr_conn_side_t *reader)
{
    return reader->rmb && reader->rmb->address_guessed && write->rmb == reader->rmb;
}

/* The RMB of a connection whose CLC messages are not captured is found from the WRITE right before
 * its CDC message. The producer cursor is the offset in the RMB at which the WRITE ends, so
 *
 *     begin of the RMB = address of the WRITE - (producer cursor - length of the WRITE)
 *
 * Example: a WRITE of 100 bytes goes to 0x7f0000040320, and the CDC message after it has the cursor
 * 900. The WRITE begins at offset 800 = 0x320, so the RMB begins at 0x7f0000040000. A WRITE that
 * fills the whole element begins where the RMB begins (fills_element()).
 *
 * An RMB begins at a page. If the result is not the address of a page, the WRITE was of another
 * connection. The address that the first WRITE gives is only inferred (`address_guessed`); the next
 * WRITE to the RMB confirms or refutes it. */
void
smcr_state_cdc_derive_rmb(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    smcr_qp_t *qp = arrival->qp;
    const smcr_write_t *write = smcr_write_recent(qp, 1);
    const smcr_conn_side_t *reader = &conn->side[qp->side], *writer = &conn->side[!qp->side];

    if (!write || !has_moved(writer, cdc->prod))
        return;
    uint64_t base = rmb_begin(arrival, writer, write, cdc->prod);
    if (!base || base & SMCR_WIRE_PAGE_MASK)
        return;
    if (!knows_rmb(reader))
        guess_unknown_rmb(arrival, conn, cdc, write, base);
    else if (names_guessed_rmb(write, reader))
        check_guessed_rmb(reader->rmb, qp->side, write, base);
}

/* Whether the request is certainly one to the element of `reader`, and has the packets right before
 * `psn`. `*offset` gets the offset in the element at which it begins. Only element 1 is examined:
 * it begins where the RMB begins. `write` may be NULL. */
static bool
ends_before(const smcr_write_t *write, smcr_psn_t psn, const smcr_conn_side_t *reader,
            uint64_t *offset)
{
    if (!write || !reader->rmb || write->rmb != reader->rmb || reader->rmb_index != 1)
        return false;
    *offset = write->remote_address - write->rmb_va;
    return write->first_psn + write->packets == psn;
}

/* Returns the request that must end where the element ends, if the message begins a round. `now`:
 * producer cursor of the message. If `now` is where data begin in the element, the result is the
 * last request. Otherwise the last request has to begin where data begin and to end at `now`, and
 * the result is the request before it. `*psn`: PSN right after the result, which the caller checks.
 * NULL: the last request does not do so, or no such request is kept. */
static const smcr_write_t *
find_end_of_round(const smcr_arrival_t *arrival, const smcr_conn_side_t *reader, smcr_cursor_t now,
                  smcr_psn_t *psn)
{
    const smcr_write_t *write = smcr_write_recent(arrival->qp, 1);
    uint32_t base = reader->in.ring.base;
    uint64_t offset;

    *psn = arrival->psn;
    if (now.count == base)
        return write;
    if (!ends_before(write, *psn, reader, &offset) || offset != base ||
        write->length != now.count - base)
        return NULL;
    *psn = write->first_psn;
    return smcr_write_recent(arrival->qp, 2);
}

/* The size of the element in which the side receives, if the producer cursor `now` of the message
 * begins a round; 0: it begins no round, or the WRITEs right before the message do not show the
 * size. Of these WRITEs, one begins at the last cursor `before` and ends where the element ends. If
 * data are left, a second one begins where data begin and ends at `now`.
 *
 *     before 2:49386   WRITE of 16150 bytes at 49386, WRITE of 3860 bytes at 0   now 3:3860
 *
 * 49386 + 16150 = 65536. */
static uint32_t
size_by_wrap(const smcr_arrival_t *arrival, const smcr_conn_side_t *reader, smcr_cursor_t before,
             smcr_cursor_t now)
{
    smcr_psn_t psn;
    uint64_t offset;

    if (now.wrap != before.wrap + 1)
        return 0;
    const smcr_write_t *write = find_end_of_round(arrival, reader, now, &psn);
    if (!ends_before(write, psn, reader, &offset) || offset != before.count)
        return 0;
    return possible_size(offset + write->length);
}

/* A size that CLC has announced is never replaced. */
void
smcr_state_cdc_learn_size(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *reader = &conn->side[qp->side], *writer = &conn->side[!qp->side];

    if (reader->size || !writer->last_cdc_frame || !reader->last_cdc_frame ||
        !smcr_lgr_has_base(conn->lgr, qp->side))
        return;
    smcr_conn_side_update_stream(reader);
    uint32_t size = size_by_wrap(arrival, reader, writer->prod, cdc->prod);
    if (!size)
        return;
    smcr_ring_t ring = {size, conn->lgr->base[qp->side]};
    bool was_known = reader->in.positions_known;
    reader->size = size;
    smcr_stream_start_told(&reader->in, ring, writer->prod, reader->cons);
    if (!was_known)
        reader->last_positioned_write = reader->last_cdc_received;
}
