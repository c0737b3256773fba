/* Finds for each RDMA WRITE packet its request, and its place. Only the first packet of a request
 * has an address and an RKey; the others go on behind it in the order of their PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "write.h"
#include "window.h"
#include "state/model/store.h"
#include "state/rules/rules.h"

#define WRITES_KEPT 64 /* requests of a queue pair */

/* ---- requests ---- */

smcr_write_t *
smcr_write_last(const smcr_qp_t *qp, unsigned back)
{
    return back <= MIN(qp->write_count, WRITES_KEPT)
               ? &qp->writes[(qp->write_count - back) % WRITES_KEPT] : NULL;
}

static smcr_write_t *
find_write(const smcr_qp_t *qp, smcr_psn_t psn)
{
    smcr_write_t *write;

    if (psn >= qp->write_end) /* nearly always: a new one */
        return NULL;
    for (unsigned back = 1; (write = smcr_write_last(qp, back)) != NULL; back++)
        if (psn >= write->first_psn && psn - write->first_psn < write->packets)
            break;
    return write;
}

/* Packets of the request that the packet with these headers begins. */
static uint32_t
count_packets(const smcr_ib_headers_t *roce)
{
    uint32_t length = (uint32_t)roce->payload_length;

    if (roce->opcode != SMCR_RC_WRITE_FIRST || length == 0)
        return 1;
    return roce->dma_length / length + (roce->dma_length % length != 0);
}

/* ---- whose it is ---- */

/* The offset in its element of what lies `from` bytes behind the begin of the RMB. */
static uint64_t
offset_in_element(const smcr_rmb_t *rmb, uint64_t from)
{
    return rmb->element_size ? from % rmb->element_size : from;
}

/* The element of the RMB, which begins at `begin`, that has the byte at `va`, from 1; 0: none. */
static uint8_t
element_of(const smcr_rmb_t *rmb, uint64_t begin, uint64_t va)
{
    uint64_t from = va - begin;
    uint32_t size = rmb->element_size;

    if (va < begin || (size && from / size >= SMCR_WIRE_RMB_INDEX_MAX) ||
        (!size && from >= smcr_bsize_bytes(SMCR_BSIZE_512M)))
        return 0;
    return size ? (uint8_t)(from / size + 1) : 1;
}

/* The connection of the request, NULL when it is not known for sure. */
static smcr_conn_t *
owner_of(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry, unsigned index)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_t *conn = smcr_rmb_conn(entry->rmb, index);
    uint64_t offset = offset_in_element(entry->rmb, arrival->roce->va - entry->va);

    if (!conn)
        return NULL;
    const smcr_point_t *heard = &conn->side[qp->side].heard;
    bool is_behind = arrival->record->fate <= SMCR_FLOW_FATE_WAIT ||
                     (heard->qp == qp && arrival->psn > heard->psn);
    if (is_behind && smcr_conn_side_has_ended(&conn->side[!qp->side]))
        return NULL; /* its writer has said so, and this comes behind */
    return smcr_evidence_owns(conn, qp, arrival->psn, (uint32_t)offset) ? conn : NULL;
}

/* ---- where in the byte stream ---- */

/* Where data begins in the elements of a side, unless CONFIRM LINK has told. What lies before the
 * end of an eyecatcher shows that there is none. What lies at its end is the first data behind it
 * if nothing is absent, and a doubt in all groups. Without one there is none, as with Linux. */
void
smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset)
{
    smcr_lgr_t *lgr = conn->lgr;
    const smcr_conn_side_t *receiver = &conn->side[side];

    if (lgr->base_known[side] || offset > SMCR_WIRE_EYECATCHER_LENGTH)
        return;
    bool first = receiver->size && smcr_evidence_holds(&receiver->since);
    bool behind = offset == SMCR_WIRE_EYECATCHER_LENGTH;
    lgr->base_known[side] = !behind || first;
    lgr->base[side] = behind && first ? SMCR_WIRE_EYECATCHER_LENGTH : 0;
    lgr->state->base_doubtful |= behind;
}

bool
smcr_write_has_base(const smcr_conn_t *conn, int side)
{
    const smcr_lgr_t *lgr = conn->lgr;
    bool like_peer = lgr->base_known[!side] && lgr->base[!side] != 0;

    return lgr->base_known[side] || !(lgr->state->base_doubtful || like_peer);
}

smcr_stream_t *
smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset)
{
    smcr_conn_side_t *receiver = &conn->side[side];
    bool begins = !conn->side[!side].prod.count; /* else the message that tells the size is late */

    smcr_write_learn_base(conn, side, offset);
    if (begins && !receiver->in.known && receiver->size && smcr_write_has_base(conn, side)) {
        smcr_stream_start(&receiver->in, receiver->size, conn->lgr->base[side]);
        receiver->located = receiver->since;
        smcr_conn_side_catch_up(receiver);
    }
    return receiver->in.known ? &receiver->in : NULL;
}

/* Whether a WRITE without a place may be the connection's, and its CLC came behind it. */
static bool
has_unplaced(const smcr_qp_t *qp, const smcr_point_t *began)
{
    return qp && qp->unplaced_psn &&
           (began->qp != qp || qp->unplaced_psn + SMCR_WRITE_UNPLACED_NEAR > began->psn);
}

/* Whether it is known how far the stream has come. */
static bool
is_seamless(const smcr_qp_t *qp, const smcr_conn_side_t *reader)
{
    const smcr_point_t *located = &reader->located;
    bool first = located->qp == reader->since.qp && located->psn == reader->since.psn;
    bool whole = first ? !has_unplaced(qp, located) && !has_unplaced(located->qp, located)
                       : located->qp == qp;

    return whole && !reader->in.moved;
}

/* Whether the capture has the request too late: nor is it known where it goes among what came
 * before it. The reader may have told already that it has read it. */
static bool
is_too_late(const smcr_arrival_t *arrival, const smcr_conn_side_t *reader, smcr_psn_t psn)
{
    const smcr_record_t *record = arrival->record;

    return (reader->heard.qp == arrival->qp && psn < reader->heard.psn) ||
           record->fate == SMCR_FLOW_FATE_TOO_LATE ||
           (record->order == SMCR_FLOW_IS_LATE &&
            reader->in.consumed > smcr_stream_reach(&reader->in));
}

/* Where in the byte stream a request goes that comes in its turn; not where none can go. */
static void
locate_next(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
            smcr_stream_extent_t extent)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *reader = &conn->side[qp->side];
    smcr_stream_t *stream = &reader->in;
    const smcr_stream_t before = *stream;
    uint64_t bytes = smcr_evidence_unseen_bytes(&reader->located, qp, write->first_psn);
    smcr_stream_unseen_t unseen = {bytes, !smcr_evidence_is_current(conn, !qp->side),
                                   arrival->state->is_disordered};
    uint64_t end = smcr_stream_reach(stream);

    write->placed = smcr_stream_locate(stream, extent, unseen, &write->position);
    if (!write->placed)
        return;
    if (write->conn && is_seamless(qp, reader) && write->position > end &&
        smcr_evidence_is_astray(arrival, conn, write->position - end, bytes)) {
        const smcr_rules_write_t astray = {.conn = conn, .end = end, .length = extent.length,
                                           .position = write->position};
        if (!write->rmb->guessed) /* else its begin may be wrong */
            smcr_rules_write(SMCR_RULES_COUNTED, arrival, &astray);
        *stream = before;
        write->placed = false;
        return;
    }
    reader->located = smcr_point_at(qp, write->first_psn + write->packets - 1);
}

/* Where in the byte stream the request begins. */
static void
locate(const smcr_arrival_t *arrival, smcr_write_t *write, const smcr_rmb_rtoken_t *entry,
       smcr_conn_t *conn)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_conn_side_t *reader = &conn->side[qp->side];
    uint32_t size = entry->rmb->element_size;
    smcr_stream_extent_t extent = {(uint32_t)offset_in_element(entry->rmb, write->va - entry->va),
                                   size ? MIN(write->length, size) : write->length};
    smcr_stream_t *stream = smcr_write_stream(conn, qp->side, extent.offset);
    smcr_psn_t last = write->first_psn + write->packets - 1;

    if (!stream || write->placed)
        return;
    /* On another link before any failover validation: the capture lacks that. */
    const smcr_conn_side_t *writer = &conn->side[!qp->side];
    stream->moved |= writer->cdc_frame && writer->link != qp->link &&
                     arrival->record->fate == SMCR_FLOW_FATE_TAKE;
    if (reader->located.qp == qp && last <= reader->located.psn) {
        uint64_t between = (reader->located.psn - write->first_psn + 1) * smcr_qp_mtu(qp);
        write->placed = smcr_stream_locate_old(stream, extent, between, &write->position);
        return;
    }
    if (is_too_late(arrival, reader, write->first_psn))
        return;
    locate_next(arrival, write, conn, extent);
    if (write->conn)
        smcr_conn_is_alive(conn, qp, last);
}

/* ---- a new request ---- */

/* Whether a connection that has not ended has the address in its element there. */
static bool
is_used_at(const smcr_rmb_rtoken_t *entry, uint64_t va)
{
    unsigned index = entry->rmb->element_size ? element_of(entry->rmb, entry->va, va) : 0;
    const smcr_conn_t *conn = index ? smcr_rmb_conn(entry->rmb, index) : NULL;

    return conn && !smcr_conn_has_closed(conn) && !entry->rmb->deleted_frame;
}

/* The same of a request that may have been thrown away before: `refused`, or NULL. If it was that
 * connection's, it had the same place. */
static void
locate_again(const smcr_arrival_t *arrival, smcr_write_t *write, const smcr_rmb_rtoken_t *entry,
             smcr_conn_t *conn, const smcr_write_t *refused)
{
    if (refused && (refused->conn == conn || refused->likely == conn)) {
        write->placed = refused->placed;
        write->position = refused->position;
    }
    locate(arrival, write, entry, conn);
}

/* The RMB is known for sure unless a connection has it that may be over. */
static void
find_owner(const smcr_arrival_t *arrival, smcr_write_t *write, const smcr_write_t *refused)
{
    smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, arrival->qp, write->rkey);
    /* its owner has given the key to another RMB, too: the address tells which of the two it is */
    bool is_before = entry && entry->before && !is_used_at(entry, write->va) &&
                     is_used_at(entry->before, write->va);
    if (is_before)
        entry = entry->before;
    if (entry && entry->rmb->misplaced) { /* RMBs begin at a page, and data at their begin */
        entry->va = write->va & ~(uint64_t)SMCR_WIRE_PAGE_MASK;
        entry->rmb->misplaced = false;
    }
    unsigned index = entry ? element_of(entry->rmb, entry->va, write->va) : 0;
    bool alive = entry && (is_before || smcr_rmb_is_alive(entry->rmb));
    smcr_conn_t *before = alive ? smcr_rmb_conn(entry->rmb, index) : NULL;

    if (before && before->side[arrival->qp->side].shares_element) {
        write->rmb = entry->rmb;
        write->rmb_va = entry->va;
        return;
    }
    write->conn = alive ? owner_of(arrival, entry, index) : NULL;
    smcr_rules_write(SMCR_RULES_ARRIVES, arrival, &(smcr_rules_write_t){
                         .entry = entry, .conn = before, .is_sure = write->conn != NULL});
    if (!alive)
        return;
    bool since = smcr_point_is_before(&entry->rmb->since, arrival->qp, arrival->psn);
    if (write->conn || (!before && (since || arrival->record->fate == SMCR_FLOW_FATE_TAKE))) {
        write->rmb = entry->rmb;
        write->rmb_va = entry->va;
    } else if (before) { /* a writer that has closed may still send what it had written before */
        write->likely = before;
        write->likely_rmb = entry->rmb;
        write->rmb_va = entry->va;
        arrival->qp->has_likely = true;
    }
    if (before && (write->conn || write->likely))
        locate_again(arrival, write, entry, before, refused);
}

/* Nobody will ask for the request's bytes. */
static void
forget_held(smcr_state_t *state, smcr_write_t *write)
{
    for (; write->held; write->held = write->held->next)
        smcr_held_drop(state, write->held->place);
}

/* `late` is that of the request's first packet, NULL when it has none yet. */
static smcr_write_t *
new_write(const smcr_arrival_t *arrival, smcr_place_late_t *late, smcr_write_t *refused)
{
    smcr_state_t *state = arrival->state;
    smcr_qp_t *qp = arrival->qp;
    const smcr_ib_headers_t *roce = arrival->roce;

    if (!qp->writes)
        qp->writes = wmem_alloc0_array(state->scope, smcr_write_t, WRITES_KEPT);
    smcr_write_t *write = &qp->writes[qp->write_count++ % WRITES_KEPT];
    forget_held(state, write);
    refused = refused == write ? NULL : refused; /* it makes room for this one */
    *write = (smcr_write_t){
        .first_psn = arrival->psn,
        .packets = count_packets(roce),
        .packet_length = (uint32_t)roce->payload_length,
        .length = roce->opcode == SMCR_RC_WRITE_FIRST ? roce->dma_length
                                                      : (uint32_t)roce->payload_length,
        .va = roce->va,
        .rkey = roce->rkey,
        .waits = arrival->record->fate == SMCR_FLOW_FATE_WAIT,
    };
    qp->write_end = MAX(qp->write_end, write->first_psn + write->packets);
    find_owner(arrival, write, refused);
    if (refused) {
        refused->likely = NULL;
        forget_held(state, refused);
    }
    bool known = write->rmb && write->placed;
    write->late = known || late ? late : smcr_state_alloc0(state, sizeof(smcr_place_late_t));
    return write;
}

smcr_write_t *
smcr_write_of(const smcr_arrival_t *arrival, bool *begun)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_write_t *write = find_write(arrival->qp, arrival->psn);
    bool same = write && write->first_psn == arrival->psn && write->rkey == roce->rkey &&
                write->va == roce->va;
    bool was_refused = same && write->waits && arrival->record->fate == SMCR_FLOW_FATE_TAKE;

    *begun = roce->has_reth && (!same || was_refused);
    if (!*begun)
        return write;
    return new_write(arrival, smcr_place_late(arrival->record->place), was_refused ? write : NULL);
}

/* ---- the place of a packet ---- */

/* Which element of the RMB, and where in it. */
static void
place_in_rmb(const smcr_arrival_t *arrival, const smcr_write_t *write, uint64_t va)
{
    smcr_record_t *record = arrival->record;
    smcr_place_t *place = record->place;
    const smcr_rmb_t *rmb = write->rmb;

    place->index = element_of(rmb, write->rmb_va, va);
    if (place->index) {
        place->offset = (uint32_t)offset_in_element(rmb, va - write->rmb_va);
        record->conn = write->conn;
    }
    smcr_rules_write(SMCR_RULES_PLACED, arrival,
                     &(smcr_rules_write_t){.conn = record->conn, .rmb = rmb, .place = place});
}

bool
smcr_write_place(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    smcr_place_t *place = arrival->record->place;
    uint32_t within = (uint32_t)(arrival->psn - write->first_psn) * write->packet_length;

    if (write->rmb) {
        place_in_rmb(arrival, write, write->va + within);
        if (!place->index)
            return false;
    }
    if (!write->rmb || !write->placed) { /* the next CDC message may tell */
        smcr_place_rare_t *more = smcr_place_make_rare(arrival->state, place);
        more->late = write->late;
        more->within = within;
        return false;
    }
    place->position = write->position + within;
    place->positioned = true;
    place->frame = arrival->when.frame;
    return true;
}

void
smcr_write_hold(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    uint32_t within = (uint32_t)(arrival->psn - write->first_psn) * write->packet_length;

    if (write->likely || write->conn)
        smcr_held_insert(&write->held, smcr_held_new(arrival, within));
}

/* ---- what turns out later ---- */

/* The bytes of the packet, which `psn` stands for, are in the stream now. */
static void
put(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_psn_t psn, uint64_t position,
    smcr_place_t *place)
{
    smcr_stream_piece_t piece = smcr_stream_write(stream, position, place->length);
    const smcr_qp_t *qp = arrival->qp;

    if (!piece.rewritten && !piece.gap)
        return;
    smcr_place_rare_t *more = smcr_place_make_rare(arrival->state, place);
    more->rewritten = piece.rewritten;
    more->gap = piece.gap;
    /* whether packets before it came without a place, which they will have when they are sent
       again, or when the reader has read them */
    more->gap_is_seen = piece.gap && qp->unplaced_psn && psn > qp->unplaced_from &&
                        psn < qp->unplaced_psn + SMCR_WRITE_UNPLACED_NEAR &&
                        smcr_evidence_has_packets_to(smcr_qp_peer(arrival->qp));
}

void
smcr_write_take_in_held(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    if (!write->conn || !write->placed || !write->held)
        return;
    const smcr_qp_t *qp = arrival->qp;
    smcr_stream_t *stream = &write->conn->side[qp->side].in;
    smcr_held_t *held = smcr_held_first(write->held);

    for (; held; held = held->next) {
        put(arrival, stream, write->first_psn, write->position + held->within, held->place);
        smcr_held_hand_on(arrival, held, write->conn, !qp->side);
    }
    write->held = NULL;
    if (write->first_psn + write->packets <= qp->traffic.flow.in_order)
        smcr_stream_write(stream, write->position, write->length);
}

/* Whether a connection whose message arrives has the request. Linux says that it has closed before
 * it sends its last data: these are its own if the message announces all of them, or the first. */
static bool
is_of(const smcr_arrival_t *arrival, const smcr_write_t *write, const smcr_conn_t *conn,
      smcr_cursor_t prod)
{
    const smcr_stream_t *stream = &conn->side[arrival->qp->side].in;

    if (write->likely != conn || write->first_psn > arrival->psn)
        return false;
    if (!smcr_conn_side_has_ended(&conn->side[!arrival->qp->side]))
        return true;
    int64_t len = smcr_ring_distance(&stream->ring, stream->prod, prod);
    uint64_t begin = stream->announced, end = begin + (uint64_t)MAX(len, 0);
    return write->placed && len > 0 && write->position >= begin &&
           (write->position == begin || write->position + write->length <= end);
}

bool
smcr_write_confirm(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                   smcr_cursor_t prod)
{
    if (!write->likely || !is_of(arrival, write, conn, prod))
        return false;
    write->likely = NULL;
    write->rmb = write->likely_rmb;
    write->conn = conn;
    write->late->conn = conn;
    if (write->placed) {
        write->late->placed = true;
        write->late->position = write->position;
    }
    return true;
}

/* Whether the request, which ends at `end` of the stream, goes to its place in the element. */
static bool
ends_at(const smcr_write_t *write, const smcr_ring_t *ring, uint64_t end)
{
    uint32_t room = smcr_ring_room(ring);
    uint64_t offset = offset_in_element(write->rmb, write->va - write->rmb_va);

    return room && end >= write->length && smcr_ring_offset(ring, end - write->length) == offset;
}

void
smcr_write_end(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_stream_t *stream)
{
    uint64_t end = stream->announced, begin = end;
    smcr_psn_t psn = arrival->psn;
    smcr_write_t *write;
    unsigned last = 1;

    while ((write = smcr_write_last(arrival->qp, last)) != NULL && write->first_psn > psn)
        last++;
    unsigned back = last;
    while ((write = smcr_write_last(arrival->qp, back)) != NULL && write->conn == conn &&
           !write->placed && write->first_psn + write->packets == psn &&
           ends_at(write, &stream->ring, begin)) {
        begin -= write->length;
        write->placed = write->late->placed = true;
        write->position = write->late->position = begin;
        psn = write->first_psn;
        back++;
    }
    while (--back >= last)
        smcr_write_take_in_held(arrival, smcr_write_last(arrival->qp, back));
}

void
smcr_write_announce(const smcr_arrival_t *arrival, const smcr_conn_t *conn, smcr_cursor_t prod)
{
    uint32_t before = 0;
    smcr_write_t *write;

    for (unsigned back = 1; (write = smcr_write_last(arrival->qp, back)) != NULL; back++) {
        bool own = write->late && (write->conn == conn || write->late->conn == conn);
        if (own && (write->placed || write->late->announced))
            break;
        if (!own || write->first_psn > arrival->psn)
            continue;
        before += write->length;
        write->late->announced = true;
        write->late->end = prod;
        write->late->before = before;
        write->late->conn = write->conn ? write->conn : write->late->conn;
        write->late->link = arrival->qp->link;
        write->late->sender = !arrival->qp->side;
    }
}

/* ---- what it changes ---- */

void
smcr_write_take_in(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place)
{
    put(arrival, stream, arrival->psn, place->position, place);
    smcr_window_written(arrival, stream, place);
}
