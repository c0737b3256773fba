/* Keeps WRITE packets whose connection is not known yet (orphans). The numbers below limit how many
 * packets and bytes are kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "orphan.h"
#include "write.h"
#include "state/evidence/evidence.h"
#include "state/model/store.h"

#define UNKNOWN_QPS_MAX 1024      /* maximum number of unknown queue pairs whose packets are kept */
#define UNKNOWN_QP_PACKETS_MAX 64 /* maximum number of kept packets to one unknown queue pair */
#define UNKNOWN_HELD_MAX (UINT64_C(4) << 20) /* maximum of kept payload to all unknown queue pairs
                                                together, bytes: most of it is not SMC-R */
#define ORPHANS_MAX 256           /* maximum number of kept orphans to one known queue pair */

/* An unknown queue pair that has received WRITE packets. */
typedef struct {
    smcr_ib_qp_key_t key;
    wmem_list_t *packets; /* smcr_orphan_write_t: its WRITE packets, in the order of the capture */
} unknown_qp_t;

/* Makes an orphan of the packet. Its place gets an object for facts that are learned later
 * (smcr_place_late()). */
static smcr_orphan_write_t *
new_orphan(const smcr_arrival_t *arrival)
{
    smcr_state_t *state = arrival->state;
    smcr_place_t *place = arrival->record->write_location;
    smcr_orphan_write_t *orphan = wmem_new(state->scope, smcr_orphan_write_t);

    *orphan = (smcr_orphan_write_t){*arrival->roce, arrival->psn, arrival->when, place};
    if (!smcr_place_late(place))
        smcr_place_make_rare(state, place)->late =
            smcr_state_alloc0(state, sizeof(smcr_place_late_t));
    return orphan;
}

/* Returns the kept unknown queue pair with this key. If there is none, makes it. NULL: too many
 * unknown queue pairs are kept. */
static unknown_qp_t *
get_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key)
{
    unknown_qp_t *unknown_qp = wmem_map_lookup(state->unknown_qps, key);

    if (unknown_qp || wmem_map_size(state->unknown_qps) >= UNKNOWN_QPS_MAX)
        return unknown_qp;
    unknown_qp = wmem_new(state->scope, unknown_qp_t);
    unknown_qp->key = *key;
    unknown_qp->packets = wmem_list_new(state->scope);
    wmem_map_insert(state->unknown_qps, &unknown_qp->key, unknown_qp);
    return unknown_qp;
}

/* The number by which `full_unknown_qps` has a queue pair; never 0. `address`: IPv4 address, or GID
 * of the device, of `length` bytes. An IPv4 address and its mapped GID have the same number.
 * Numbers of two IPv6 hosts are equal by chance only: the first bytes of a GID count, too, as a
 * hash. `qpn`: number of the queue pair. */
static uint64_t
full_qp_key(const uint8_t *address, size_t length, uint32_t qpn)
{
    bool has_head = length == SMCR_GID_LENGTH && !smcr_gid_is_ipv4(address);
    uint32_t tail, head = has_head ? smcr_wire_hash(address, SMCR_GID_IPV4_AT) : 0;

    memcpy(&tail, address + length - sizeof tail, sizeof tail);
    return (uint64_t)(tail ^ head) << 32 | qpn | UINT32_C(1) << 31;
}

/* Index in `full_unknown_qps` at which the number `target` (full_qp_key()) is kept. */
static unsigned
full_qp_slot(uint64_t target)
{
    return (target ^ target >> 56) % SMCR_STATE_FULL_UNKNOWN_QPS;
}

/* May only say true if the state would learn nothing: a packet that is skipped wrongly is lost for
 * all later packets. */
bool
smcr_state_can_skip_packet(const smcr_state_t *state, uint8_t opcode, const uint8_t *address,
                           size_t length, uint32_t qpn)
{
    uint64_t target;

    if (wmem_map_size(state->qps) != 0)
        return false;
    target = full_qp_key(address, length, qpn);
    return !smcr_ib_operations[opcode].is_write ||
           state->full_unknown_qps[full_qp_slot(target)] == target;
}

/* Three numbers are limited: unknown queue pairs, packets of one of them, and bytes held for all of
 * them together. A packet above the limit of the bytes is kept without its bytes. */
bool
smcr_state_unknown_qp_write(const smcr_arrival_t *arrival)
{
    smcr_state_t *state = arrival->state;
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_record_t *record = arrival->record;

    if (!smcr_ib_operations[roce->opcode].is_write)
        return false;
    unknown_qp_t *unknown_qp = get_unknown_qp(state, &roce->destination);
    if (!unknown_qp || wmem_list_count(unknown_qp->packets) >= UNKNOWN_QP_PACKETS_MAX) {
        uint64_t target =
            full_qp_key(roce->destination.gid, SMCR_GID_LENGTH, roce->destination.qpn);
        state->full_unknown_qps[full_qp_slot(target)] = target;
        return false;
    }

    record->kind = SMCR_RECORD_WRITE;
    record->write_location = smcr_state_alloc0(state, sizeof *record->write_location);
    record->write_location->length = (uint32_t)roce->payload_length & SMCR_PLACE_LENGTH_MASK;
    wmem_list_append(unknown_qp->packets, new_orphan(arrival));
    if (state->buffered_bytes < UNKNOWN_HELD_MAX)
        smcr_held_new(arrival, 0);
    return true;
}

wmem_list_t *
smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key)
{
    const unknown_qp_t *unknown_qp = wmem_map_remove(state->unknown_qps, key);

    return unknown_qp ? unknown_qp->packets : NULL;
}

/* Compares two orphans by PSN, and by frame if both have the same PSN. */
static int
compare_orphans(const void *one, const void *other)
{
    const smcr_orphan_write_t *a = one, *b = other;

    if (a->psn != b->psn)
        return a->psn > b->psn ? 1 : -1;
    return (int)(a->when.frame - b->when.frame);
}

/* If the list is full, the orphan with the lowest PSN is dropped with its bytes. The list is in the
 * order of PSNs. */
void
smcr_orphan_add(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->writes_without_first)
        qp->writes_without_first = wmem_list_new(arrival->state->scope);
    if (wmem_list_count(qp->writes_without_first) >= ORPHANS_MAX) {
        wmem_list_frame_t *oldest = wmem_list_head(qp->writes_without_first);
        smcr_held_drop(arrival->state,
                       ((smcr_orphan_write_t *)wmem_list_frame_data(oldest))->write_location);
        wmem_list_remove_frame(qp->writes_without_first, oldest);
    }
    wmem_list_insert_sorted(qp->writes_without_first, new_orphan(arrival), compare_orphans);
    smcr_held_new(arrival, 0);
}

/* Makes an arrival for the orphan, with the frame and time at which its packet came, but without
 * headers. `*gone` becomes the record of this arrival, and is not kept: the packet's own record was
 * kept when the packet came. */
static smcr_arrival_t
arrival_of(const smcr_arrival_t *now, const smcr_orphan_write_t *orphan, smcr_record_t *gone)
{
    *gone = smcr_record_new();
    gone->kind = SMCR_RECORD_WRITE;
    gone->write_location = orphan->write_location;
    return (smcr_arrival_t){.state = now->state, .qp = now->qp, .psn = orphan->psn,
                            .when = orphan->when, .first_sent = orphan->when, .record = gone};
}

/* Removes an orphan that belongs to the request `write` from the orphans of `qp`: the one with the
 * lowest PSN. Returns the orphan, which the caller frees; NULL: there is none. */
static smcr_orphan_write_t *
take_orphan_of(smcr_qp_t *qp, const smcr_write_t *write)
{
    SMCR_LIST_EACH(smcr_orphan_write_t *, orphan, qp->writes_without_first) {
        if (orphan->psn < write->first_psn || orphan->psn - write->first_psn >= write->packets)
            continue;
        wmem_list_remove(qp->writes_without_first, orphan);
        return orphan;
    }
    return NULL;
}

/* Keeps the bytes of the orphan with its request, or frees them if dissectors do not need them: the
 * arriving packet has the same PSN, and so the same bytes. If the receiver has not accepted the
 * packet so far, its bytes stay as they are (deferred.c). `then`: the orphan, as it arrived. */
static void
keep_bytes(const smcr_arrival_t *arrival, const smcr_arrival_t *then, smcr_write_t *write,
           const smcr_orphan_write_t *orphan)
{
    if (orphan->psn == arrival->psn)
        smcr_held_drop(arrival->state, orphan->write_location);
    else if (orphan->psn < arrival->qp->traffic.flow.expected_psn)
        smcr_write_buffer_payload(then, write);
}

/* Each orphan gets the place that it would have if the first packet of its request had come before
 * it. */
void
smcr_orphan_place(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_orphan_write_t *orphan;

    while ((orphan = take_orphan_of(qp, write)) != NULL) {
        smcr_record_t gone;
        smcr_arrival_t then = arrival_of(arrival, orphan, &gone);
        smcr_write_place_packet(&then, write);
        smcr_place_late_t *late = smcr_place_late(orphan->write_location);
        smcr_place_late_set_conn(late, gone.conn ? gone.conn : late->conn);
        late->link = qp->link;
        late->sender = !qp->side;
        keep_bytes(arrival, &then, write, orphan);
        wmem_free(arrival->state->scope, orphan);
    }
    smcr_write_hand_on_payload(arrival, write);
}

/* Goes from the oldest request to the newest one, so that bytes are handed on in their order. */
void
smcr_orphan_confirm_owner(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_cursor_t prod)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_write_t *write;
    unsigned kept = 0;

    while (qp->has_likely_owner && smcr_write_recent(qp, kept + 1))
        kept++;
    qp->has_likely_owner = false;
    for (unsigned back = kept; back > 0; back--) {
        write = smcr_write_recent(qp, back);
        if (smcr_write_confirm_owner(arrival, write, conn, prod))
            smcr_orphan_place(arrival, write);
        qp->has_likely_owner |= write->likely_conn != NULL;
    }
}

/* Finds a request whose first packet is missing, right before `psn`. Its packets are the orphans
 * that precede `psn` without a sequence gap; the last packet is a WRITE LAST. Returns the list
 * entry of the first of these orphans; NULL: there is no such request. `*length` gets the number of
 * bytes in these orphans. Of two orphans with the same PSN only the later one counts. */
static wmem_list_frame_t *
find_headless_request(const smcr_qp_t *qp, smcr_psn_t psn, uint32_t *length)
{
    wmem_list_frame_t *first = NULL;

    *length = 0;
    for (wmem_list_frame_t *at = wmem_list_tail(qp->writes_without_first); at;
         at = wmem_list_frame_prev(at)) {
        const smcr_orphan_write_t *orphan = wmem_list_frame_data(at);
        uint8_t opcode = orphan->headers.opcode;
        bool last = opcode == SMCR_RC_WRITE_LAST || opcode == SMCR_RC_WRITE_LAST_IMMEDIATE;
        if (first && orphan->psn == psn) /* a later packet with this PSN has been counted */
            first = at;
        if (orphan->psn >= psn) /* likewise, or the packet came after the message */
            continue;
        if (orphan->write_location->index) /* the RMB is known, so the first packet is captured */
            break;
        if (orphan->psn + 1 != psn || orphan->headers.has_reth || last != (first == NULL))
            break;
        first = at;
        psn = orphan->psn;
        *length += (uint32_t)orphan->headers.payload_length;
    }
    return first;
}

/* Gives the orphan its place: its first byte is at `position` of the stream of `conn`. The bytes of
 * the orphan go to the application's dissectors with the arriving packet. */
static void
place_orphan(const smcr_arrival_t *arrival, const smcr_orphan_write_t *orphan, smcr_conn_t *conn,
             smcr_stream_t *stream, uint64_t position)
{
    smcr_place_t *place = orphan->write_location;
    smcr_record_t gone;
    smcr_arrival_t then = arrival_of(arrival, orphan, &gone);

    place->index = conn->side[arrival->qp->side].rmb_index;
    place->offset = smcr_ring_offset(&stream->ring, position);
    place->position = position;
    place->has_position = true;
    place->frame = orphan->when.frame;
    smcr_place_late(place)->conn = conn;
    smcr_write_take_in_packet(&then, stream, place);
    smcr_held_hand_on(arrival, smcr_place_rare(place)->buffered_payload, conn, !arrival->qp->side);
}

/* Gives places to all orphans from the list entry `at` up to the CDC message, and removes them from
 * the orphans. `position`: position of the first of these orphans in the stream. Of two orphans
 * with the same PSN only the later one gets a place; the held bytes of the other one are freed. */
static void
place_headless_request(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_stream_t *stream,
                       uint64_t position, wmem_list_frame_t *at)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_orphan_write_t *orphan;

    while (at && (orphan = wmem_list_frame_data(at))->psn < arrival->psn) {
        wmem_list_frame_t *next = wmem_list_frame_next(at);
        const smcr_orphan_write_t *following = next ? wmem_list_frame_data(next) : NULL;

        if (!following || following->psn != orphan->psn) {
            place_orphan(arrival, orphan, conn, stream, position);
            position += orphan->write_location->length;
        } else {
            smcr_held_drop(arrival->state, orphan->write_location);
        }
        wmem_list_remove_frame(qp->writes_without_first, at);
        wmem_free(arrival->state->scope, orphan);
        at = next;
    }
}

/* Whether a request of `length` bytes may end at the position `end` of the stream. Its bytes must
 * not have been written before, and it must not go over the end of the element (RFC 7609 4.2). */
static bool
may_end_at(const smcr_stream_t *stream, uint64_t end, uint32_t length)
{
    uint32_t room = smcr_ring_room(&stream->ring);

    if (room == 0 || end < stream->written + length)
        return false;
    return (end - length) % room + length <= room;
}

/* The last request before a CDC message ends at the producer cursor of the message. If the first
 * packet of this request is missing, the address of the request is not known. But if its other
 * packets come right before the message, the cursor gives their positions. */
void
smcr_orphan_position_headless(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                              smcr_stream_t *stream, uint64_t position)
{
    smcr_qp_t *qp = arrival->qp;
    uint32_t length = 0;
    wmem_list_frame_t *first =
        qp->writes_without_first ? find_headless_request(qp, arrival->psn, &length) : NULL;

    if (first && may_end_at(stream, position, length))
        place_headless_request(arrival, conn, stream, position - length, first);
}

/* Each orphan of the request leaves the list, with or without a position, and its memory is freed
 * here. */
void
smcr_orphan_assign_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_write_t *write,
                        smcr_cursor_t prod)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_stream_t *stream = &conn->side[qp->side].in;
    smcr_orphan_write_t *orphan;
    uint64_t begin;
    bool placed =
        stream->positions_known && smcr_stream_position_before(stream, prod, write->length, &begin);

    if (placed) {
        write->deferred_place->has_position = true;
        write->deferred_place->position = begin;
        stream->positioned_end = MAX(stream->positioned_end, begin + write->length);
        conn->side[qp->side].last_positioned_write = smcr_point_at(qp, arrival->psn);
    }
    while ((orphan = take_orphan_of(qp, write)) != NULL) {
        uint64_t within = (orphan->psn - write->first_psn) * write->packet_length;
        if (placed)
            place_orphan(arrival, orphan, conn, stream, begin + within);
        else
            smcr_held_hand_on(arrival, smcr_place_rare(orphan->write_location)->buffered_payload,
                              conn, !qp->side);
        wmem_free(arrival->state->scope, orphan);
    }
}
