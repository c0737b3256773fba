/* Finds for each RDMA WRITE packet its request and its place. Only the first packet of a request
 * has an address and an RKey; the other packets continue the request in the order of their PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "write.h"
#include "window.h"
#include "state/model/store.h"
#include "state/rules/rules.h"

#define WRITES_KEPT 64    /* number of requests that are kept for a queue pair: the last ones */
#define WRITES_TOGETHER 8 /* number of requests whose memory is allocated at once: many queue pairs
                             receive few */
#define WRITES_PARTS (WRITES_KEPT / WRITES_TOGETHER) /* parts of the memory of a queue pair */

/* ---- requests ---- */

/* The entry of the request that `qp` received as number `number`, from 0, in the circular buffer.
 * The entry does not move while the request is kept. */
static smcr_write_t *
entry_of(const smcr_qp_t *qp, uint32_t number)
{
    uint32_t place = number % WRITES_KEPT;

    return &qp->writes[place / WRITES_TOGETHER][place % WRITES_TOGETHER];
}

/* Number of the requests of `qp` that are kept. */
static uint32_t
kept_requests(const smcr_qp_t *qp)
{
    return MIN(qp->write_count, WRITES_KEPT);
}

smcr_write_t *
smcr_write_recent(const smcr_qp_t *qp, unsigned back)
{
    return back <= kept_requests(qp) ? entry_of(qp, qp->write_count - back) : NULL;
}

/* Returns the entry for the next request of `qp`: that of the oldest kept request, or a new one. */
static smcr_write_t *
next_entry(smcr_state_t *state, smcr_qp_t *qp)
{
    uint32_t number = qp->write_count++;

    if (!qp->writes)
        qp->writes = wmem_alloc0_array(state->scope, smcr_write_t *, WRITES_PARTS);
    smcr_write_t **part = &qp->writes[number % WRITES_KEPT / WRITES_TOGETHER];
    if (!*part)
        *part = wmem_alloc0_array(state->scope, smcr_write_t, WRITES_TOGETHER);
    return entry_of(qp, number);
}

/* The kept request of `qp` that has the packet with this PSN; NULL: there is none. */
static smcr_write_t *
find_write(const smcr_qp_t *qp, smcr_psn_t psn)
{
    smcr_write_t *write;

    if (psn >= qp->next_write_psn) /* most packets end here: the packet begins a new request */
        return NULL;
    for (unsigned back = 1; (write = smcr_write_recent(qp, back)) != NULL; back++)
        if (psn >= write->first_psn && psn - write->first_psn < write->packets)
            break;
    return write;
}

/* Number of packets in the request that begins with the packet of these headers. */
static uint32_t
count_packets(const smcr_ib_headers_t *roce)
{
    uint32_t length = (uint32_t)roce->payload_length;

    if (roce->opcode != SMCR_RC_WRITE_FIRST || length == 0)
        return 1;
    return roce->dma_length / length + (roce->dma_length % length != 0);
}

/* ---- the connection of a request ---- */

/* The RMB, and its element, that a WRITE names by its RKey and its address (RFC 7609 4.2). */
typedef struct {
    smcr_rmb_rtoken_t *entry; /* key of the RMB on this link; NULL: the RKey names no RMB */
    bool alive;               /* the RMB is alive (smcr_rmb_is_alive()) */
    smcr_conn_t *user;        /* connection that was given the element last; NULL: none is known, or
                                 the RMB is not alive */
} write_target_t;

/* The offset, within its element, of the byte that is `from` bytes after the start of the RMB. */
static uint64_t
offset_in_element(const smcr_rmb_t *rmb, uint64_t from)
{
    return rmb->element_size ? from % rmb->element_size : from;
}

/* The number, from 1, of the RMB element that contains the byte at the address `va`; 0: none.
 * `begin`: address of the RMB. An RMB has at most 255 elements. If no CLC message has given their
 * size, the first 512 MiB count as element 1: the largest size of an element. (RFC 7609 2.1,
 * 4.2) */
static uint8_t
element_of(const smcr_rmb_t *rmb, uint64_t begin, uint64_t va)
{
    uint64_t from = va - begin;
    uint32_t size = rmb->element_size;

    if (va < begin)
        return 0;
    if (size == 0)
        return from < smcr_bsize_to_bytes(SMCR_BSIZE_512M) ? 1 : 0;
    return from / size < SMCR_WIRE_RMB_INDEX_MAX ? (uint8_t)(from / size + 1) : 0;
}

/* Whether the bytes of the packet were first sent after the last CDC message of the connection's
 * writer. True for a packet that the receiver takes in now, or that comes after a PSN gap. For any
 * other packet the PSN has to be higher than the PSN of the message. */
static bool
follows_last_cdc(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const smcr_point_t *last_cdc = &conn->side[arrival->qp->side].last_cdc_received;

    return arrival->record->receiver_action <= SMCR_FLOW_RECEIVER_WAITS ||
           (last_cdc->qp == arrival->qp && arrival->psn > last_cdc->psn);
}

/* Whether the writer of `conn` had reported its end in CDC before it sent the packet. */
static bool
follows_end(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    return follows_last_cdc(arrival, conn) &&
           smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]);
}

/* The connection to which the request certainly belongs; NULL: not certain.
 *
 * A writer that has reported its end in CDC writes no more. So a WRITE after this CDC message may
 * belong to the next connection that was given the element, whose CLC messages may be missing. A
 * retransmission of an earlier WRITE still belongs to the connection that has ended. */
static smcr_conn_t *
find_sure_owner(const smcr_arrival_t *arrival, const write_target_t *target)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_t *conn = target->user;

    if (!conn || conn->lgr->tapped) /* the RMB of a tap has one connection */
        return conn;
    if (follows_end(arrival, conn))
        return NULL;
    const smcr_rmb_rtoken_t *entry = target->entry;
    uint64_t offset = offset_in_element(entry->rmb, arrival->roce->virtual_address - entry->va);
    return smcr_evidence_owns(conn, qp, arrival->psn, (uint32_t)offset) ? conn : NULL;
}

/* ---- its position in the byte stream ---- */

/* Learns where data begins in the elements of a side from the offset of one WRITE or cursor, unless
 * it is known already, from CONFIRM LINK or an earlier offset:
 *
 *     offset 0 to 3   there is no eyecatcher, as with Linux: data begins at 0
 *     offset 4        if this is certainly the first data, data begins at 4, after an eyecatcher;
 *                     if it may be later data, the start is not known
 *     offset above 4  shows nothing
 *
 * The first such offset 4 in the capture sets `base_uncertain`: from then on, no side is assumed to
 * have no eyecatcher, and where data begins has to be known for each side. */
void
smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset)
{
    smcr_lgr_t *lgr = conn->lgr;
    const smcr_conn_side_t *receiver = &conn->side[side];

    if (lgr->base_known[side] || offset > SMCR_WIRE_EYECATCHER_LENGTH)
        return;
    bool first = receiver->size && smcr_evidence_holds(&receiver->valid_from);
    bool behind = offset == SMCR_WIRE_EYECATCHER_LENGTH;
    lgr->base_known[side] = !behind || first;
    lgr->base[side] = behind && first ? SMCR_WIRE_EYECATCHER_LENGTH : 0;
    lgr->state->base_uncertain |= behind;
}

/* A stream is started once. It is not started here if cursors came before the size of the
 * element. */
smcr_stream_t *
smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset)
{
    smcr_conn_side_t *receiver = &conn->side[side];
    /* if CDC messages came before the CLC message with the size, the stream does not begin here */
    bool begins = !conn->side[!side].prod.count;

    smcr_write_learn_base(conn, side, offset);
    if (begins && !receiver->in.positions_known && receiver->size &&
        smcr_lgr_has_base(conn->lgr, side)) {
        smcr_stream_start(&receiver->in, receiver->size, conn->lgr->base[side]);
        receiver->last_positioned_write = receiver->valid_from;
        smcr_conn_side_update_stream(receiver);
    }
    return receiver->in.positions_known ? &receiver->in : NULL;
}

/* Whether a WRITE without a position came so shortly before the point `began` that it may belong to
 * the connection that begins at this point: the capture may have the CLC messages of a connection
 * after its first WRITE. `qp`: queue pair that receives the WRITE; NULL gives false. */
static bool
may_precede_clc(const smcr_qp_t *qp, const smcr_point_t *began)
{
    return qp && qp->unpositioned_psn &&
           (began->qp != qp || qp->unpositioned_psn + SMCR_WRITE_UNPLACED_NEAR > began->psn);
}

/* Whether the end of the reader's stream is certain: each captured WRITE of the stream has a
 * position, and the stream has not moved to another link. Before its first WRITE with a position,
 * the stream ends where the connection began. */
static bool
knows_stream_end(const smcr_qp_t *qp, const smcr_conn_side_t *reader)
{
    const smcr_point_t *located = &reader->last_positioned_write;
    bool first = located->qp == reader->valid_from.qp && located->psn == reader->valid_from.psn;
    bool whole = first ? !may_precede_clc(qp, located) && !may_precede_clc(located->qp, located)
                       : located->qp == qp;

    return whole && !reader->in.may_rewrite;
}

/* Whether the capture has the request later than its sender sent it, so its position cannot be
 * found from the requests before it. There are three cases:
 *
 * - A CDC message with a higher PSN has been taken in.
 * - The receiver had taken in the request before.
 * - The request fills a sequence gap, and the reader has reported more bytes as read than captured
 *   requests have written and captured CDC messages have announced. */
static bool
is_too_late(const smcr_arrival_t *arrival, const smcr_conn_side_t *reader, smcr_psn_t psn)
{
    const smcr_record_t *record = arrival->record;
    bool precedes_last_cdc =
        reader->last_cdc_received.qp == arrival->qp && psn < reader->last_cdc_received.psn;

    if (precedes_last_cdc || record->receiver_action == SMCR_FLOW_RECEIVER_HAD_IT)
        return true;
    return record->order == SMCR_FLOW_IS_LATE &&
           reader->in.consumed > smcr_stream_end(&reader->in);
}

/* Finds the position of a request that comes in order. The request begins where the stream ends,
 * or, if requests before it may be missing, after a gap in the stream. If the gap is longer than
 * the bytes that missing packets can carry, either the address of the request is wrong, or the
 * request belongs to another connection. Then the request gets no position. The rules for
 * SMCR_RULES_COUNTED are checked, unless the address of the RMB is only inferred. */
static void
locate_in_order(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
            smcr_stream_extent_t extent)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *reader = &conn->side[qp->side];
    smcr_stream_t *stream = &reader->in;
    const smcr_stream_t before = *stream;
    uint64_t bytes =
        smcr_evidence_unseen_bytes(&reader->last_positioned_write, qp, write->first_psn);
    const smcr_stream_unseen_t unseen = {
        .bytes = bytes,
        .reads_missing = stream->may_rewrite && !smcr_evidence_is_current(conn, !qp->side),
        .reads_early = arrival->state->is_out_of_order,
    };
    uint64_t end = smcr_stream_end(stream);

    write->positioned = smcr_stream_locate(stream, extent, unseen, &write->position);
    if (!write->positioned)
        return;
    if (write->conn && knows_stream_end(qp, reader) && write->position > end &&
        smcr_evidence_is_astray(arrival, conn, write->position - end, bytes)) {
        const smcr_rules_write_t astray = {.conn = conn,
                                           .previous_end = end,
                                           .length = extent.length,
                                           .position = write->position};
        if (!write->rmb->address_guessed) /* an inferred address may be wrong, and the request
                                             right */
            smcr_rules_check_write(SMCR_RULES_COUNTED, arrival, &astray);
        *stream = before;
        write->positioned = false;
        return;
    }
    reader->last_positioned_write = smcr_point_at(qp, write->first_psn + write->packets - 1);
}

/* Notes in the stream that data may be written once more, if the WRITE comes on another link than
 * the writer's last CDC message. A connection writes on one link until a failover validation moves
 * it (RFC 7609 4.6.1), so the validation is missing. After a move, bytes that were not acknowledged
 * on the old link are written once more. */
static void
note_move(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_stream_t *stream)
{
    const smcr_conn_side_t *writer = &conn->side[!arrival->qp->side];

    stream->may_rewrite |= writer->last_cdc_frame && writer->link != arrival->qp->link &&
                     arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;
}

/* The part of the RMB element to which the request writes. A length above the size of the element
 * is reduced to this size. */
static smcr_stream_extent_t
extent_of(const smcr_write_t *write, const smcr_rmb_rtoken_t *entry)
{
    uint32_t size = entry->rmb->element_size;

    return (smcr_stream_extent_t){
        (uint32_t)offset_in_element(entry->rmb, write->remote_address - entry->va),
        size ? MIN(write->length, size) : write->length,
    };
}

/* Finds where in the byte stream the request begins.
 *
 * The address gives the offset in the element, which is the position modulo the element's size. The
 * order of the requests gives the round: a request begins where the request before it ended. A
 * request that precedes the last request with a position, such as a retransmission, begins before
 * that request. The distance is at most the number of bytes that the packets between the two can
 * carry. */
static void
locate_request(const smcr_arrival_t *arrival, smcr_write_t *write, const smcr_rmb_rtoken_t *entry,
               smcr_conn_t *conn)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *reader = &conn->side[qp->side];
    smcr_stream_extent_t extent = extent_of(write, entry);
    smcr_stream_t *stream = smcr_write_stream(conn, qp->side, extent.offset);
    smcr_psn_t last = write->first_psn + write->packets - 1;

    if (!stream || write->positioned)
        return;
    note_move(arrival, conn, stream);
    if (reader->last_positioned_write.qp == qp && last <= reader->last_positioned_write.psn) {
        uint64_t between =
            (reader->last_positioned_write.psn - write->first_psn + 1) * smcr_qp_mtu(qp);
        write->positioned = smcr_stream_locate_earlier(stream, extent, between, &write->position);
        return;
    }
    if (is_too_late(arrival, reader, write->first_psn))
        return;
    locate_in_order(arrival, write, conn, extent);
    if (write->conn)
        smcr_conn_confirm_use(conn, qp, last);
}

/* ---- a new request ---- */

/* Whether the address `va` is in an element of the RMB that `entry` names, the RMB is not deleted,
 * and a connection that has not closed uses this element. */
static bool
is_used_at(const smcr_rmb_rtoken_t *entry, uint64_t va)
{
    unsigned index = entry->rmb->element_size ? element_of(entry->rmb, entry->va, va) : 0;
    const smcr_conn_t *conn = index ? smcr_rmb_conn(entry->rmb, index) : NULL;

    return conn && !smcr_conn_has_closed(conn) && !entry->rmb->deleted_frame;
}

/* Whether a request to the address `va` writes to the RMB that its RKey named before `entry`. An
 * owner may use the RKey for another RMB while connections still use the first RMB. The address
 * then shows which RMB is meant. */
static bool
names_former_rmb(const smcr_rmb_rtoken_t *entry, uint64_t va)
{
    return entry->before && !is_used_at(entry, va) && is_used_at(entry->before, va);
}

/* Finds the RMB and the element that the RKey and the address of the request name. All zeros: the
 * RKey names no RMB.
 *
 * An RMB begins at a page, and the first data is at the start of the RMB. If the announced address
 * of an RMB cannot be right (`address_invalid`), the first WRITE to this RMB shows the page at
 * which the RMB begins: this function sets the address for all later WRITEs. */
static write_target_t
find_target(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, arrival->qp, write->rkey);

    if (!entry)
        return (write_target_t){0};
    bool former = names_former_rmb(entry, write->remote_address);
    if (former)
        entry = entry->before;
    if (entry->rmb->address_invalid) {
        entry->va = write->remote_address & ~(uint64_t)SMCR_WIRE_PAGE_MASK;
        entry->rmb->address_invalid = false;
    }
    write_target_t target = {entry, former || smcr_rmb_is_alive(entry->rmb), NULL};
    unsigned index = element_of(entry->rmb, entry->va, write->remote_address);
    if (target.alive)
        target.user = smcr_rmb_conn(entry->rmb, index);
    return target;
}

/* Only asks: no RMB, connection or request is made. */
bool
smcr_write_names_open_conn(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    if (!smcr_ib_operations[roce->opcode].is_write || !roce->has_reth)
        return false;
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, qp, roce->rkey);
    if (!entry || !smcr_rmb_is_alive(entry->rmb) || entry->rmb->address_invalid)
        return false;
    unsigned index = element_of(entry->rmb, entry->va, roce->virtual_address);
    const smcr_conn_t *conn = index ? smcr_rmb_conn(entry->rmb, index) : NULL;
    return conn && !smcr_conn_has_closed(conn);
}

/* Whether the request writes where the stream of its connection ends. True if the capture does not
 * show where it ends, or the size of the element. */
static bool
continues_stream(const smcr_qp_t *qp, const smcr_conn_t *conn, const smcr_rmb_rtoken_t *entry,
                 uint64_t va)
{
    const smcr_stream_t *stream = &conn->side[qp->side].in;
    uint64_t offset = offset_in_element(entry->rmb, va - entry->va);

    if (!stream->positions_known || !smcr_ring_room(&stream->ring))
        return true;
    return offset == smcr_ring_offset(&stream->ring, smcr_stream_end(stream));
}

/* Only asks, as smcr_write_names_open_conn() does. The first packet of several does not show
 * whether its length is right. */
bool
smcr_write_fits(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_ib_headers_t *roce)
{
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(state, qp, roce->rkey);
    unsigned index = entry ? element_of(entry->rmb, entry->va, roce->virtual_address) : 0;
    const smcr_conn_t *conn = index ? smcr_rmb_conn(entry->rmb, index) : NULL;
    bool is_whole = smcr_ib_operations[roce->opcode].ends &&
                    roce->dma_length == (uint32_t)roce->payload_length;

    return conn && is_whole && continues_stream(qp, conn, entry, roce->virtual_address);
}

/* Finds the position of a request of `conn`. `refused`: the same request in an earlier
 * transmission, which the receiver has refused; NULL: none. The request gets the position of the
 * earlier transmission, if it has the same connection. */
static void
locate_with_refused(const smcr_arrival_t *arrival, smcr_write_t *write,
                    const smcr_rmb_rtoken_t *entry, smcr_conn_t *conn, const smcr_write_t *refused)
{
    if (refused && (refused->conn == conn || refused->likely_conn == conn)) {
        write->positioned = refused->positioned;
        write->position = refused->position;
    }
    locate_request(arrival, write, entry, conn);
}

/* Sets the RMB of the request to the RMB that `entry` names. */
static void
assign_rmb(smcr_write_t *write, const smcr_rmb_rtoken_t *entry)
{
    write->rmb = entry->rmb;
    write->rmb_va = entry->va;
}

/* Notes that `conn` is the likely connection of the request. A writer that has closed may still
 * send data that its program had written before. The next CDC message of `conn` decides whether the
 * request belongs to `conn` (smcr_write_confirm_owner()). */
static void
assign_likely_owner(const smcr_arrival_t *arrival, smcr_write_t *write,
                    const smcr_rmb_rtoken_t *entry, smcr_conn_t *conn)
{
    write->likely_conn = conn;
    write->likely_rmb = entry->rmb;
    write->rmb_va = entry->va;
    arrival->qp->has_likely_owner = true;
    if (follows_end(arrival, conn))
        conn->side[!arrival->qp->side].wrote_after_end = true;
}

/* Whether the RKey already named this RMB when the request was sent: the RMB was announced before
 * the request, or the receiver takes the request in now. */
static bool
is_rmb_current(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    return smcr_point_is_before(&rmb->valid_from, arrival->qp, arrival->psn) ||
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;
}

/* Finds the RMB and the connection of a new request, by its RKey and its address:
 *
 *     two open connections share the element     the RMB is known, the connection is not
 *     a connection certainly uses the element    both are known
 *     a connection used it, and may have ended   neither is certain; the connection is likely
 *     no connection is known to use it           the RMB is known, if is_rmb_current() is true
 *     the RMB is withdrawn, or the RKey unknown  neither is known
 *
 * If TCP and RoCE have times of two clocks (`clocks_differ`), a connection is at most likely.
 *
 * `refused`: the same request in an earlier transmission, which its receiver has refused; NULL:
 * none. */
static void
find_owner(const smcr_arrival_t *arrival, smcr_write_t *write, const smcr_write_t *refused)
{
    write_target_t target = find_target(arrival, write);
    smcr_rmb_rtoken_t *entry = target.entry;
    smcr_conn_t *user = target.user;

    if (user && user->side[arrival->qp->side].element_shared) {
        assign_rmb(write, entry);
        return;
    }
    write->conn =
        arrival->qp->link->lgr->clocks_differ ? NULL : find_sure_owner(arrival, &target);
    smcr_rules_check_write(SMCR_RULES_ARRIVES, arrival, &(smcr_rules_write_t){
                         .rtoken = entry, .conn = user, .is_certain_owner = write->conn != NULL});
    if (!target.alive)
        return;
    if (!user) {
        if (is_rmb_current(arrival, entry->rmb))
            assign_rmb(write, entry);
        return;
    }
    if (write->conn)
        assign_rmb(write, entry);
    else
        assign_likely_owner(arrival, write, entry, user);
    locate_with_refused(arrival, write, entry, user, refused);
}

/* Frees the held bytes of the request, which will not go to the application's dissectors. */
static void
drop_held(smcr_state_t *state, smcr_write_t *write)
{
    for (; write->buffered_payload; write->buffered_payload = write->buffered_payload->next)
        smcr_held_drop(state, write->buffered_payload->write_location);
}

/* The request that begins with the packet, as its headers describe it. RMB, connection and position
 * are not set: find_owner() finds them. */
static smcr_write_t
describe_request(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    uint32_t in_packet = (uint32_t)roce->payload_length;

    return (smcr_write_t){
        .first_psn = arrival->psn,
        .packets = count_packets(roce),
        .packet_length = in_packet,
        .length = roce->opcode == SMCR_RC_WRITE_FIRST ? roce->dma_length : in_packet,
        .remote_address = roce->virtual_address,
        .rkey = roce->rkey,
        .after_gap = arrival->record->receiver_action == SMCR_FLOW_RECEIVER_WAITS,
    };
}

/* Keeps the request that begins with the packet, in place of the oldest one if the queue pair keeps
 * as many as it can. Returns the kept request. `late`: object of the first packet for facts that
 * are learned later; NULL: the packet has none so far. `refused`: the same request in an earlier
 * transmission after a PSN gap, which the receiver discarded; NULL: none. */
static smcr_write_t *
remember_request(const smcr_arrival_t *arrival, smcr_place_late_t *late, smcr_write_t *refused)
{
    smcr_state_t *state = arrival->state;
    smcr_qp_t *qp = arrival->qp;

    smcr_write_t *write = next_entry(state, qp);
    drop_held(state, write);
    if (refused == write)
        refused = NULL; /* the new request has taken the entry of the refused request */
    *write = describe_request(arrival);
    qp->next_write_psn = MAX(qp->next_write_psn, write->first_psn + write->packets);
    find_owner(arrival, write, refused);
    if (refused) {
        refused->likely_conn = NULL;
        drop_held(state, refused);
    }
    bool known = write->rmb && write->positioned;
    write->deferred_place =
        known || late ? late : smcr_state_alloc0(state, sizeof(smcr_place_late_t));
    return write;
}

/* Whether the packet is a retransmission of the first packet of the request. `write`: NULL gives
 * false. */
static bool
is_first_packet_of(const smcr_write_t *write, const smcr_arrival_t *arrival)
{
    return write && write->first_psn == arrival->psn && write->rkey == arrival->roce->rkey &&
           write->remote_address == arrival->roce->virtual_address;
}

/* `*begun` is set in every case. A retransmitted first packet finds its old request, so that its
 * bytes count once. */
smcr_write_t *
smcr_write_find_request(const smcr_arrival_t *arrival, bool *begun)
{
    smcr_write_t *write = find_write(arrival->qp, arrival->psn);
    bool same = is_first_packet_of(write, arrival);
    /* whether the request came after a PSN gap, so that its receiver discarded it, and its first
     * packet is retransmitted in order now */
    bool was_refused =
        same && write->after_gap && arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;

    *begun = arrival->roce->has_reth && (!same || was_refused);
    if (!*begun)
        return write;
    return remember_request(arrival, smcr_place_late(arrival->record->write_location),
                            was_refused ? write : NULL);
}

bool
smcr_write_has_free_rmb(const smcr_write_t *write)
{
    const smcr_rmb_t *rmb = write->rmb;

    bool has_owner = write->conn || write->likely_conn;

    return rmb && !has_owner && !rmb->element_size && !rmb->first_element_conn;
}

/* ---- the place of a packet ---- */

/* Sets the RMB element and the offset in it to which the packet writes, in the place of the packet,
 * and the connection in its record. If the element is not known, `index` becomes 0, and offset and
 * connection do not change. `va`: virtual address to which the packet writes. */
static void
place_in_rmb(const smcr_arrival_t *arrival, const smcr_write_t *write, uint64_t va)
{
    smcr_record_t *record = arrival->record;
    smcr_place_t *place = record->write_location;
    const smcr_rmb_t *rmb = write->rmb;

    place->index = element_of(rmb, write->rmb_va, va);
    if (place->index) {
        place->offset = (uint32_t)offset_in_element(rmb, va - write->rmb_va);
        record->conn = write->conn;
    }
    smcr_rules_check_write(SMCR_RULES_PLACED, arrival,
                           &(smcr_rules_write_t){.conn = record->conn, .rmb = rmb, .place = place});
}

/* All packets of a request but the last have the same length (InfiniBand 9.7.2), so the PSN gives
 * the offset in the request. */
bool
smcr_write_place_packet(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    smcr_place_t *place = arrival->record->write_location;
    uint32_t within = (uint32_t)(arrival->psn - write->first_psn) * write->packet_length;

    if (write->rmb) {
        place_in_rmb(arrival, write, write->remote_address + within);
        if (!place->index)
            return false;
    }
    if (!write->rmb || !write->positioned) { /* the next CDC message may show the position */
        smcr_place_rare_t *more = smcr_place_make_rare(arrival->state, place);
        more->late = write->deferred_place;
        more->offset_in_request = within;
        return false;
    }
    place->position = write->position + within;
    place->has_position = true;
    place->frame = arrival->when.frame;
    return true;
}

void
smcr_write_buffer_payload(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    uint32_t within = (uint32_t)(arrival->psn - write->first_psn) * write->packet_length;

    if (write->likely_conn || write->conn)
        smcr_held_insert(arrival->state, &write->buffered_payload,
                         smcr_held_new(arrival, within));
}

/* ---- facts that are learned later ---- */

/* Whether WRITE packets without a known position came shortly before the packet with this PSN. Such
 * packets explain a gap in the byte stream: their bytes are captured, but are not in the stream. */
static bool
follows_unplaced(const smcr_qp_t *qp, smcr_psn_t psn)
{
    return qp->unpositioned_psn && psn > qp->unpositioned_from &&
           psn < qp->unpositioned_psn + SMCR_WRITE_UNPLACED_NEAR;
}

/* Adds the bytes of the packet with the place `place` to the stream, at `position`, and notes in
 * `place` how many bytes are rewritten or missing before. `psn`: PSN of the packet, or of the first
 * packet of its request. */
static void
add_to_stream(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_psn_t psn,
              uint64_t position, smcr_place_t *place)
{
    smcr_stream_range_t piece = smcr_stream_write(stream, position, place->length);
    const smcr_qp_t *qp = arrival->qp;

    if (!piece.rewritten && !piece.gap)
        return;
    smcr_place_rare_t *more = smcr_place_make_rare(arrival->state, place);
    more->rewritten = piece.rewritten;
    more->gap = piece.gap;
    more->gap_may_be_captured = piece.gap && follows_unplaced(qp, psn) &&
                                smcr_evidence_has_packets_to(smcr_qp_peer(arrival->qp));
}

/* The bytes are handed on once: afterwards `buffered_payload` is NULL. */
void
smcr_write_hand_on_payload(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    if (!write->conn || !write->positioned || !write->buffered_payload)
        return;
    const smcr_qp_t *qp = arrival->qp;
    smcr_stream_t *stream = &write->conn->side[qp->side].in;
    smcr_held_t *held = smcr_held_first(write->buffered_payload);

    for (; held; held = held->next) {
        uint64_t position = write->position + held->offset_in_request;
        add_to_stream(arrival, stream, write->first_psn, position, held->write_location);
        smcr_held_hand_on(arrival, held, write->conn, !qp->side);
    }
    write->buffered_payload = NULL;
    /* the receiver has all packets of the request, also those that the capture lacks */
    if (write->first_psn + write->packets <= qp->traffic.flow.expected_psn)
        smcr_stream_write(stream, write->position, write->length);
}

/* Whether the producer cursor announces the whole request, or announces bytes that begin with the
 * request. */
static bool
announces_request(const smcr_stream_t *stream, smcr_cursor_t prod, const smcr_write_t *write)
{
    int64_t len = smcr_ring_distance(&stream->ring, stream->prod, prod);

    if (!write->positioned || len <= 0)
        return false;
    uint64_t begin = stream->announced, end = begin + (uint64_t)len;
    return write->position == begin ||
           (write->position > begin && write->position + write->length <= end);
}

/* Whether the arriving CDC message of `conn` proves that `conn`, the likely connection of the
 * request, has sent it. If the writer has not ended the connection, any CDC message is proof
 * enough. If the writer has ended it, the message has to announce the whole request, or bytes that
 * begin with the request: Linux may report its close before it sends its last data. */
static bool
has_sent_request(const smcr_arrival_t *arrival, const smcr_write_t *write,
                 const smcr_conn_t *conn, smcr_cursor_t prod)
{
    if (write->likely_conn != conn || write->first_psn > arrival->psn)
        return false;
    if (!smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]))
        return true;
    return announces_request(&conn->side[arrival->qp->side].in, prod, write);
}

bool
smcr_write_confirm_owner(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                         smcr_cursor_t prod)
{
    if (!write->likely_conn || !has_sent_request(arrival, write, conn, prod))
        return false;
    smcr_write_prove_owner(write, conn);
    return true;
}

/* The place that earlier packets share (`deferred_place`) gets the same facts as the request. */
void
smcr_write_prove_owner(smcr_write_t *write, smcr_conn_t *conn)
{
    write->likely_conn = NULL;
    write->rmb = write->likely_rmb;
    write->conn = conn;
    smcr_place_late_set_conn(write->deferred_place, conn);
    if (write->positioned) {
        write->deferred_place->has_position = true;
        write->deferred_place->position = write->position;
    }
}

/* Whether the request can end at position `end` of the stream, by its address and its length. */
static bool
ends_at_offset(const smcr_write_t *write, const smcr_ring_t *ring, uint64_t end)
{
    uint32_t room = smcr_ring_room(ring);
    uint64_t offset = offset_in_element(write->rmb, write->remote_address - write->rmb_va);

    return room && end >= write->length && smcr_ring_offset(ring, end - write->length) == offset;
}

/* Whether the request belongs to `conn`, has no position yet, and its last packet has the PSN right
 * before `psn`. */
static bool
is_unplaced_before(const smcr_write_t *write, const smcr_conn_t *conn, smcr_psn_t psn)
{
    return write->conn == conn && !write->positioned && write->first_psn + write->packets == psn;
}

/* Positions are found from the last request backwards. The bytes are handed on forwards, in the
 * order of the stream. */
void
smcr_write_position_before_cursor(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                  smcr_stream_t *stream)
{
    uint64_t end = stream->announced, begin = end;
    smcr_psn_t psn = arrival->psn;
    smcr_write_t *write;
    unsigned last = 1;

    while ((write = smcr_write_recent(arrival->qp, last)) != NULL && write->first_psn > psn)
        last++;
    unsigned back = last;
    while ((write = smcr_write_recent(arrival->qp, back)) != NULL &&
           is_unplaced_before(write, conn, psn) && ends_at_offset(write, &stream->ring, begin)) {
        begin -= write->length;
        write->positioned = write->deferred_place->has_position = true;
        write->position = write->deferred_place->position = begin;
        psn = write->first_psn;
        back++;
    }
    while (--back >= last)
        smcr_write_hand_on_payload(arrival, smcr_write_recent(arrival->qp, back));
}

/* Whether the request belongs to `conn`, and its RMB or position was not known when it came. */
static bool
is_incomplete_of(const smcr_write_t *write, const smcr_conn_t *conn)
{
    return write->deferred_place && (write->conn == conn || write->deferred_place->conn == conn);
}

/* Notes that the arriving CDC message with the producer cursor `prod` announces the request, which
 * begins `before` bytes before this cursor. */
static void
note_announcement(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_cursor_t prod,
                  uint32_t before)
{
    smcr_place_late_t *late = write->deferred_place;

    late->announced = true;
    late->end = prod;
    late->bytes_to_end = before;
    smcr_place_late_set_conn(late, write->conn ? write->conn : late->conn);
    late->link = arrival->qp->link;
    late->sender = !arrival->qp->side;
}

/* Goes from the newest request back. Ends at a request of the connection that has a position or was
 * announced: requests before it were announced earlier, too. The message announces no request with
 * a higher PSN than its own. */
void
smcr_write_note_announcement(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                             smcr_cursor_t prod)
{
    uint32_t before = 0;
    smcr_write_t *write;

    for (unsigned back = 1; (write = smcr_write_recent(arrival->qp, back)) != NULL; back++) {
        bool own = is_incomplete_of(write, conn);
        if (own && (write->positioned || write->deferred_place->announced))
            break;
        if (!own || write->first_psn > arrival->psn)
            continue;
        before += write->length;
        note_announcement(arrival, write, prod, before);
    }
}

/* ---- packets that the receiver takes in ---- */

void
smcr_write_take_in_packet(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    add_to_stream(arrival, stream, arrival->psn, place->position, place);
    smcr_window_written(arrival, stream, place);
}

/* ---- connections that leave ---- */

/* Whether the request is, or may be, of a connection that is leaving. */
static bool
is_of_leaving(const smcr_write_t *write)
{
    return (write->conn && write->conn->is_leaving) ||
           (write->likely_conn && write->likely_conn->is_leaving);
}

/* The entry is cleared, and stays in the circular buffer, where entries are found by their number.
 * A likely connection counts, too: the request points to it. */
void
smcr_write_forget_leaving(smcr_state_t *state, smcr_qp_t *qp)
{
    for (unsigned i = 0; i < kept_requests(qp); i++) {
        smcr_write_t *write = entry_of(qp, i);
        if (!is_of_leaving(write))
            continue;
        drop_held(state, write);
        *write = (smcr_write_t){0}; /* without packets, it is no packet's request */
    }
}

void
smcr_write_add_rmbs(const smcr_qp_t *qp, GHashTable *rmbs)
{
    for (unsigned i = 0; i < kept_requests(qp); i++) {
        g_hash_table_add(rmbs, entry_of(qp, i)->rmb);
        g_hash_table_add(rmbs, entry_of(qp, i)->likely_rmb);
    }
}

/* The bytes that the requests hold are dropped first: they are counted in `buffered_bytes`. */
void
smcr_write_forget_all(smcr_state_t *state, smcr_qp_t *qp)
{
    for (unsigned i = 0; i < kept_requests(qp); i++)
        drop_held(state, entry_of(qp, i));
    for (unsigned i = 0; qp->writes && i < WRITES_PARTS; i++)
        wmem_free(state->scope, qp->writes[i]);
    wmem_free(state->scope, qp->writes);
    qp->writes = NULL;
    qp->write_count = 0;
}
