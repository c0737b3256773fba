/* Gives the data and the CDC messages that a tap has copied a place on a link, which is made up for
 * the tapped connection.
 *
 * The tap does not report an offset of data. The data follows the previous data of the sender, from
 * the producer cursor of the sender's last message on. The producer cursor of the next message
 * shows whether data is missing.
 *
 * If CLC has not announced the size of the receiver's RMB element, the round of a cursor has no
 * known length. Then cursors are replaced by positions that count from the first captured byte. A
 * consumer cursor is equal to a producer cursor that the peer has sent, so it is looked up among
 * the peer's last producer cursors.
 *
 * The state does not learn packets that another packet of the capture shows, too. There are three
 * cases: 1. the file also has the tap of the other host, as another interface; 2. both ends are on
 * one host, whose tap shows each packet twice, when it is sent and when it is received; 3. the RoCE
 * packets of the connection are captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tapped.h"

#include "host_copies.h"
#include "order.h"
#include "state/evidence/evidence.h"
#include "state/flow/writes/writes.h"

#define FIRST_QPN 0x1000000U /* the numbers of queue pairs on the wire are lower: 24 bits */
#define FIRST_PSN 1 /* made-up PSN of the first packet in each direction */
#define RMB_ADDRESS UINT64_C(0x100000000) /* made-up virtual address of each RMB */
#define POSITIONS_MAX (256u << 20) /* maximum position in a stream whose element has an unknown
                                      size: after it, the connection counts as ended, and a new one
                                      begins */

/* ---- a link that stands for what is not captured ---- */

/* Whether RoCE packets of the connection are captured. */
static bool
has_roce(const smcr_conn_t *conn)
{
    const smcr_lgr_t *lgr = conn->lgr;
    const smcr_link_t *link = lgr && !lgr->tapped ? lgr->newest_link : NULL;

    while (link && !link->packet_count)
        link = smcr_link_older(link);
    return link != NULL;
}

/* Returns the number of bytes for data in the buffer in which the end `role` receives; 0: not
 * known. With SMC-R, this is the size of the RMB element that CLC announces. With SMC-D, it is the
 * announced size of the direct memory buffer (DMB) minus the size of the CDC message, which Linux
 * keeps at the start of the DMB (net/smc/smc_core.c). */
static uint32_t
announced_size(const smcr_conn_t *conn, unsigned role)
{
    const smcr_lgr_t *lgr = conn->lgr;

    if (conn->dmb_size[role])
        return conn->dmb_size[role] - SMCR_CDC_SMCD_LENGTH;
    if (!lgr || lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return 0;
    return conn->side[role ? lgr->server : !lgr->server].size;
}

/* Makes a link group with one link for the connection. Side 0 is the client. The queue pairs get
 * numbers that no packet has, so no RoCE packet finds this link. */
static smcr_link_t *
new_link(smcr_state_t *state, const smcr_tapped_packet_t *packet)
{
    smcr_lgr_t *lgr = smcr_lgr_new(state);
    smcr_link_t *link = smcr_link_new(state, lgr);
    const uint8_t *gid[2];

    gid[packet->sender] = packet->source;
    gid[!packet->sender] = packet->destination;
    lgr->tapped = packet->is_smcd ? SMCR_LGR_TAPPED_SMCD : SMCR_LGR_TAPPED_SMCR;
    lgr->is_unnumbered = packet->is_smcd;
    lgr->version = packet->version <= 2 ? packet->version : 0;
    lgr->server = 1;
    for (int side = 0; side < 2; side++) {
        smcr_ib_qp_key_t key = smcr_qp_key(gid[side], FIRST_QPN + state->tapped_qps++);
        smcr_qp_set(state, link, side, &key, SMCR_GROUND_CLC);
        lgr->base_known[side] = true;
    }
    return link;
}

/* Gives a side of the connection its RMB, and starts the stream that the side receives. `qp`: queue
 * pair of the side. `size`: size of the RMB element, bytes; 0: not known. */
static void
begin_side(smcr_state_t *state, smcr_conn_t *conn, smcr_qp_t *qp, uint32_t size)
{
    smcr_conn_side_t *side = &conn->side[qp->side];

    *side = (smcr_conn_side_t){.size = size, .rmb_index = 1, .link = qp->link};
    side->rmb = smcr_rmb_announce(state, qp, SMCR_TAPPED_RKEY, RMB_ADDRESS);
    side->rmb->element_size = size;
    smcr_rmb_set_conn(state, side->rmb, 1, conn);
    side->valid_from = side->last_confirmed_use = side->last_positioned_write = smcr_point_now(qp);
    side->announced_at = smcr_point_now(smcr_qp_peer(qp));
    smcr_flow_announce(&qp->traffic.flow, FIRST_PSN);
    if (size)
        smcr_stream_start(&side->in, size, 0);
    else
        smcr_stream_start_late(&side->in, 0, 0, 0);
    side->in.is_relative = !size;
}

/* Makes the object for the tapped connection, and the made-up link, unless RoCE packets of the
 * connection are captured. */
static struct smcr_tapped *
begin_conn(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet)
{
    smcr_state_t *state = arrival->state;
    smcr_conn_t *conn = packet->conn;
    struct smcr_tapped *tapped = wmem_new0(state->scope, struct smcr_tapped);
    uint32_t size[2] = {announced_size(conn, 0), announced_size(conn, 1)};

    if (!size[0] || !size[1])
        size[0] = size[1] = 0; /* if one size is not known, the cursors of both directions are
                                  replaced by positions */
    conn->tapped = tapped;
    tapped->shows_twice = smcr_gid_is_same(packet->source, packet->destination);
    if (has_roce(conn))
        return tapped;
    smcr_link_t *link = new_link(state, packet);
    if (conn->lgr)
        smcr_conn_leave_smc(state, conn);
    smcr_conn_join(conn, link->lgr);
    for (int side = 0; side < 2; side++)
        begin_side(state, conn, &link->qp[side], size[side]);
    tapped->link = link;
    return tapped;
}

/* Returns the object for the packet's connection, which the first packet makes. The first packet of
 * a direction decides from which interface packets of this direction are learned. NULL: the state
 * does not learn the packet, since it comes from another interface, or since the RoCE packets of
 * the connection are captured. */
static struct smcr_tapped *
find_conn(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet)
{
    struct smcr_tapped *tapped = packet->conn->tapped;

    if (!tapped)
        tapped = begin_conn(arrival, packet);
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];
    if (!direction->has_interface)
        direction->interface = packet->interface;
    direction->has_interface = true;
    tapped->last_time = arrival->when.time;
    return tapped->link && direction->interface == packet->interface ? tapped : NULL;
}

/* Whether the positions of the direction from `sender` have become too high. Only if the size of
 * the receiver's element is not known: then positions do not wrap. */
static bool
is_full(const smcr_conn_t *conn, unsigned sender)
{
    const smcr_tapped_direction_t *direction = &conn->tapped->direction[sender];

    return !smcr_ring_room(&conn->side[!sender].in.ring) &&
           direction->announced + direction->unannounced > POSITIONS_MAX;
}

/* Whether both sides have closed, and the last packet came at least SMCR_TIME_DISORDER before
 * `time`, so that a packet at this time is not late. */
static bool
has_closed_before(const smcr_conn_t *conn, uint64_t time)
{
    return smcr_conn_side_has_closed(&conn->side[0]) &&
           smcr_conn_side_has_closed(&conn->side[1]) &&
           time >= conn->tapped->last_time + SMCR_TIME_DISORDER;
}

/* Every doubt gives false: the packet then belongs to the known connection. */
bool
smcr_tapped_has_ended(const smcr_conn_t *conn, unsigned sender, uint32_t interface, uint64_t time)
{
    if (!conn->tapped || !conn->tapped->link)
        return false;
    const smcr_tapped_direction_t *direction = &conn->tapped->direction[sender];
    bool is_elsewhere = direction->has_interface && direction->interface != interface;
    if (smcr_tapped_awaits_message(direction) || is_elsewhere)
        return false;
    return has_closed_before(conn, time) || is_full(conn, 0) || is_full(conn, 1);
}

/* The ring of the RMB element into which `sender` writes. */
static const smcr_ring_t *
ring_of(const smcr_conn_t *conn, unsigned sender)
{
    return &conn->side[!sender].in.ring;
}

/* Fills in queue pair and PSN of the next part from `sender`. */
static void
begin_part(struct smcr_tapped *tapped, unsigned sender, smcr_tapped_part_t *part)
{
    smcr_tapped_direction_t *direction = &tapped->direction[sender];

    *part = (smcr_tapped_part_t){.qpn = tapped->link->qp[!sender].key.qpn,
                                 .psn = (uint32_t)(++direction->psn & SMCR_PSN_MASK)};
}

/* ---- data ---- */

/* Offset in the element at which the next data of the direction begins. */
static uint32_t
next_offset(const smcr_tapped_direction_t *direction, const smcr_ring_t *ring)
{
    uint32_t room = smcr_ring_room(ring);

    if (!room)
        return (uint32_t)(direction->announced + direction->unannounced);
    return (uint32_t)((direction->last.prod.count + (uint64_t)direction->unannounced) % room);
}

/* Gives the data its parts, which follow the previous data of the direction. A part ends at the end
 * of the element, where the next one begins anew. Returns their number. */
static unsigned
place_data(const smcr_tapped_packet_t *packet, uint32_t length,
           smcr_tapped_part_t parts[SMCR_TAPPED_PARTS])
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];
    const smcr_ring_t *ring = ring_of(packet->conn, packet->sender);
    uint32_t room = smcr_ring_room(ring);
    unsigned count = 0;

    while (count < SMCR_TAPPED_PARTS && (length || !count)) {
        uint32_t offset = next_offset(direction, ring);
        smcr_tapped_part_t *part = &parts[count++];
        begin_part(tapped, packet->sender, part);
        part->address = RMB_ADDRESS + offset;
        part->length = room ? MIN(length, room - offset) : length;
        length -= part->length;
        direction->unannounced += part->length;
    }
    return count;
}

/* Whether the data comes too late. Two conditions: 1. the last message of its sender has reported
 * the end of the stream or of the connection; 2. messages have announced at least as many bytes as
 * the data has, and these bytes have not come (`owed`). If so, sets `*notice`, and the capture
 * counts as out of order from now on. */
static bool
is_too_late(smcr_state_t *state, smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
            smcr_tapped_notice_t *notice)
{
    bool is_late = direction->last.state && data.length && data.length <= direction->owed;

    if (is_late) {
        state->is_out_of_order = true;
        direction->owed -= data.length;
        direction->hole = 0;
        *notice = SMCR_TAPPED_OUT_OF_ORDER;
    }
    return is_late;
}

/* Whether the data is a copy: another packet of the capture shows the same data. Sets `*notice` as
 * smcr_tapped_is_data_copied() does. */
static bool
is_copy(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet, smcr_tapped_data_t data,
        smcr_tapped_notice_t *notice)
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];

    if (tapped->shows_twice)
        return smcr_tapped_is_data_copied(arrival->state, tapped, direction, data, notice);
    return smcr_tapped_is_probable_copy(tapped, direction, data, arrival->when.time);
}

/* Data that goes past the end of the element has several parts. Data of no length has one part,
 * too. */
unsigned
smcr_tapped_take_data(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                      smcr_tapped_data_t data, smcr_tapped_part_t parts[SMCR_TAPPED_PARTS],
                      smcr_tapped_notice_t *notice)
{
    struct smcr_tapped *tapped = find_conn(arrival, packet);

    *notice = SMCR_TAPPED_NO_NOTICE;
    if (!tapped || is_copy(arrival, packet, data, notice) ||
        is_too_late(arrival->state, &tapped->direction[packet->sender], data, notice))
        return 0;
    smcr_tapped_piece_t piece = {.time = arrival->when.time,
                                 .frame = arrival->when.frame,
                                 .layer = packet->layer};
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];
    uint32_t before = direction->unannounced;
    unsigned count = place_data(packet, data.length, parts);
    piece.position = direction->announced + before;
    piece.part_count = (uint8_t)count;
    smcr_tapped_keep_piece(direction, data, piece);
    return count;
}

/* ---- messages ---- */

/* Whether the capture shows up to where the stream of the direction was announced before the
 * message. There are four cases: 1. the direction has an earlier message; 2. CLC is captured, so
 * the size of the element is known; 3. the message is the first one by its number; 4. the cursor is
 * in the first round, in which offsets are positions. */
static bool
knows_start(const smcr_tapped_direction_t *direction, const smcr_ring_t *ring,
            const smcr_tapped_message_t *message)
{
    return direction->has_message || smcr_ring_room(ring) || message->seq == 1 ||
           !message->prod.wrap;
}

/* Whether the message shows how many bytes it announces. */
static bool
gives_step(const smcr_tapped_direction_t *direction, const smcr_ring_t *ring,
           const smcr_tapped_message_t *message)
{
    bool is_same_round = message->prod.wrap == direction->last.prod.wrap;

    return knows_start(direction, ring, message) && (smcr_ring_room(ring) || is_same_round);
}

/* Number of bytes that the message announces, according to its cursor. If the cursor does not show
 * the number, it is assumed that no data is missing. */
static uint64_t
announced_bytes(const smcr_tapped_direction_t *direction, const smcr_ring_t *ring,
                const smcr_tapped_message_t *message)
{
    if (!gives_step(direction, ring, message))
        return direction->unannounced;
    int64_t step = smcr_ring_distance(ring, direction->last.prod, message->prod);
    return step > 0 ? (uint64_t)step : 0;
}

/* Whether other messages of the direction are missing right before the message. The sequence
 * numbers show this; without numbers, the messages of the peer do (`lacks_message`). */
static bool
lacks_messages(const smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message)
{
    bool is_numbered = smcr_tapped_is_numbered(direction, message);

    if (is_numbered && direction->has_message)
        return (uint16_t)(message->seq - direction->last.seq) != 1;
    return direction->lacks_message && message->seq != 1;
}

/* The sequence number with which the state learns the message. Messages of SMC-D have no number,
 * nor have messages that the tap has made of WRITEs with immediate data: there the number in the
 * message is always 0, and the state counts. `is_doubtful`: messages may be missing before the
 * message, or its step is not known; then at least one number is left out. */
static uint16_t
sequence_number(const smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message,
                bool is_doubtful)
{
    uint16_t step = 1;

    if (smcr_tapped_is_numbered(direction, message)) {
        if (!direction->has_message)
            return message->seq;
        step = (uint16_t)(message->seq - direction->last.seq);
    }
    return (uint16_t)(direction->seq + step + (is_doubtful && step == 1));
}

/* Finds the position of the consumer cursor `cons`: it is equal to a producer cursor of the peer,
 * or is the initial one. Sets `lacks_cons`, `cons` and `cons_assumed` of the direction. */
static void
find_position(smcr_tapped_direction_t *direction, const smcr_tapped_direction_t *peer,
              smcr_cursor_t cons)
{
    bool is_initial = !cons.wrap && !cons.count;

    direction->lacks_cons = !is_initial;
    if (is_initial)
        direction->cons = (smcr_cursor_t){0, 0};
    for (unsigned i = 0; i < MIN(peer->cursor_count, SMCR_TAPPED_CURSORS); i++)
        if (smcr_ring_cursors_are_same(peer->cursors[i].wire, cons)) {
            direction->cons = (smcr_cursor_t){0, peer->cursors[i].position};
            direction->cons_assumed = peer->cursors[i].assumed;
            direction->lacks_cons = false;
        }
}

/* Replaces the cursors of the message `cdc` by positions. `direction`: direction of the message.
 * `peer`: the opposite direction, whose data the sender of the message reads. Returns whether the
 * number of bytes is known that the message reports as read. */
static bool
replace_cursors(smcr_tapped_direction_t *direction, const smcr_tapped_direction_t *peer,
                smcr_cdc_t *cdc)
{
    unsigned at = direction->cursor_count++ % SMCR_TAPPED_CURSORS;
    uint32_t position = (uint32_t)direction->announced;
    unsigned assumed = direction->cons_assumed;

    direction->cursors[at].wire = cdc->prod;
    direction->cursors[at].position = position;
    direction->cursors[at].assumed = direction->assumed;
    cdc->prod = (smcr_cursor_t){0, position};
    find_position(direction, peer, cdc->cons);
    cdc->lacks_cons = direction->lacks_cons;
    cdc->cons = direction->cons;
    return direction->cons_assumed == assumed;
}

/* Notes that a message of `sender` may be missing between its last message and the arriving
 * packet. */
static void
note_gap(const smcr_arrival_t *arrival, const struct smcr_tapped *tapped, unsigned sender)
{
    const smcr_tapped_direction_t *direction = &tapped->direction[sender];
    smcr_flow_t *flow = &tapped->link->qp[!sender].traffic.flow;

    smcr_ranges_append(&flow->filled_gaps, arrival->state->scope, SMCR_FLOW_LACKED_KEPT,
                       (smcr_range_t){direction->psn + 1, direction->psn + 2,
                                      direction->last.frame, arrival->when.frame});
}

/* Whether the message shows that a message of its peer is missing, or comes later. There are two
 * cases: 1. it reports more bytes as read than the peer has announced; 2. it announces more bytes
 * than the peer's element had space for, by what the peer has reported as read. */
static bool
shows_missing_of_peer(const smcr_tapped_packet_t *packet, const smcr_tapped_message_t *message)
{
    const smcr_tapped_direction_t *peer = &packet->conn->tapped->direction[!packet->sender];
    const smcr_ring_t *ring = ring_of(packet->conn, packet->sender);
    uint32_t room = smcr_ring_room(ring);
    bool reads_more =
        smcr_ring_fault(ring, message->cons, peer->last.prod) == SMCR_RING_FAULT_BACK;

    return reads_more ||
           (room && smcr_ring_distance(ring, peer->last.cons, message->prod) > (int64_t)room);
}

/* If the message shows that a message of its peer is missing, notes this: until the peer's next
 * message it is not known how much the peer has announced and read. */
static void
note_missing_of_peer(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                     const smcr_tapped_message_t *message)
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *peer = &tapped->direction[!packet->sender];
    smcr_arrival_t missing = *arrival;

    if (peer->lacks_message || !shows_missing_of_peer(packet, message))
        return;
    peer->lacks_message = true;
    note_gap(arrival, tapped, !packet->sender);
    missing.roce = NULL;
    missing.qp = &tapped->link->qp[packet->sender];
    missing.psn = peer->psn + 1;
    smcr_evidence_pass_over(&missing);
}

/* Forgets which WRITE packets of the stream are unannounced, since the message leaves this open.
 * Then the stream has been written up to the end of the announced data plus the data that no
 * message has announced. */
static void
reset_stream(smcr_state_t *state, const smcr_tapped_direction_t *direction, smcr_stream_t *stream)
{
    uint64_t end = direction->announced + direction->unannounced;

    smcr_window_forget_unannounced(state, stream);
    stream->written = MIN(stream->written, end);
    stream->positioned_end = MIN(stream->positioned_end, end);
    stream->last_write_start = MIN(stream->last_write_start, end);
}

/* Notes whether positions of the stream count from its beginning, if the size of the element is not
 * known: only if each message of the sender shows how many bytes it announces. */
static void
note_relative(const smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message,
              smcr_stream_t *stream)
{
    bool was_absolute = !direction->has_message || !stream->is_relative;

    if (!smcr_ring_room(&stream->ring))
        stream->is_relative = !was_absolute || !gives_step(direction, &stream->ring, message);
}

/* Whether messages of the sender may be missing right before the message, or the step of one of its
 * cursors is not known. */
static bool
is_step_unsure(const smcr_tapped_direction_t *direction, const smcr_ring_t *ring,
               const smcr_tapped_message_t *message)
{
    return !gives_step(direction, ring, message) || lacks_messages(direction, message) ||
           direction->lacks_cons;
}

/* Takes in what the message shows of the data since the sender's last message. The verdict gets the
 * number of missing bytes, and whether positions are doubtful. */
static void
take_in_batch(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
              const smcr_tapped_message_t *message, smcr_tapped_verdict_t *verdict)
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];
    smcr_stream_t *stream = &packet->conn->side[!packet->sender].in;
    uint64_t announced = announced_bytes(direction, &stream->ring, message);
    bool is_unsure = is_step_unsure(direction, &stream->ring, message);

    note_relative(direction, message, stream);
    direction->assumed += !gives_step(direction, &stream->ring, message);
    smcr_tapped_batch_t batch = smcr_tapped_end_batch(arrival->state, tapped, direction, announced,
                                                      smcr_ring_room(&stream->ring));
    if (tapped->shows_twice)
        smcr_tapped_note_missing(tapped, direction, batch.missing);
    direction->copied = 0;
    verdict->missing = batch.missing;
    verdict->is_doubtful = batch.is_doubtful || is_unsure;
    if (verdict->is_doubtful)
        note_gap(arrival, tapped, packet->sender);
    arrival->state->is_out_of_order |= batch.is_late_data;
    if (batch.is_doubtful)
        reset_stream(arrival->state, direction, stream);
}

/* Notes the message as the last one of its direction. Sets in `cdc` the sequence number and the
 * cursors with which the state learns the message. Sets `is_doubtful` of the verdict if the message
 * does not show how many bytes it reports as read. */
static void
take_in_message(const smcr_tapped_packet_t *packet, const smcr_tapped_message_t *message,
                smcr_tapped_verdict_t *verdict, smcr_cdc_t *cdc)
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];

    if (!smcr_ring_room(ring_of(packet->conn, packet->sender)))
        verdict->is_doubtful |=
            !replace_cursors(direction, &tapped->direction[!packet->sender], cdc);
    cdc->seq = direction->seq = sequence_number(direction, message, verdict->is_doubtful);
    tapped->link->lgr->is_unnumbered = !smcr_tapped_is_numbered(direction, message);
    packet->conn->side[packet->sender].steps_missing =
        direction->lacks_cons || direction->has_left;
    direction->has_message = true;
    direction->lacks_message = false;
    direction->last = *message;
    smcr_tapped_keep_message(direction, message);
}

/* Sets the token of the message's receiver in the connection. */
static void
take_in_token(smcr_state_t *state, const smcr_tapped_packet_t *packet, uint32_t token)
{
    smcr_conn_side_t *receiver = &packet->conn->side[!packet->sender];

    if (!receiver->has_token || receiver->token != token)
        smcr_conn_set_token(state, packet->conn, !packet->sender, token);
}

/* Whether the state does not learn the message, since it is a copy of an earlier one, or came out
 * of order: then also takes back what a later message has shown. Sets `*notice`, except if both
 * ends are on one host and the message is the copy of an earlier one. */
static bool
is_passed_over(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
               const smcr_tapped_message_t *message, smcr_tapped_notice_t *notice)
{
    struct smcr_tapped *tapped = packet->conn->tapped;
    smcr_tapped_direction_t *direction = &tapped->direction[packet->sender];

    if (tapped->shows_twice && smcr_tapped_is_message_copied(arrival->state, direction, message)) {
        tapped->has_copies = true;
        return true;
    }
    *notice = smcr_tapped_judge_order(direction, message);
    if (*notice == SMCR_TAPPED_DUPLICATE)
        tapped->has_copies = true;
    if (*notice == SMCR_TAPPED_OUT_OF_ORDER) {
        arrival->state->is_out_of_order = true;
        smcr_tapped_withdraw(arrival->state, direction, message);
    }
    return *notice != SMCR_TAPPED_NO_NOTICE;
}

/* A copy, or a message out of order, does not change the connection. A message that is not whole
 * (`complete` of smcr_cdc_t) gets a place, but its content is not learned. */
bool
smcr_tapped_take_message(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                         smcr_cdc_t *cdc, smcr_tapped_part_t *part, smcr_tapped_verdict_t *verdict)
{
    struct smcr_tapped *tapped = find_conn(arrival, packet);

    *verdict = (smcr_tapped_verdict_t){0};
    if (!tapped)
        return false;
    const smcr_tapped_message_t message = {
        .prod = cdc->prod,
        .cons = cdc->cons,
        .seq = cdc->seq,
        .flags = cdc->flags,
        .state = cdc->state,
        .awaited_in = tapped->direction[packet->sender].awaited_in,
        .frame = arrival->when.frame,
        .layer = packet->layer,
    };
    if (cdc->complete && is_passed_over(arrival, packet, &message, &verdict->notice))
        return false;
    begin_part(tapped, packet->sender, part);
    if (!cdc->complete)
        return true;
    note_missing_of_peer(arrival, packet, &message);
    take_in_batch(arrival, packet, &message, verdict);
    take_in_token(arrival->state, packet, cdc->token);
    take_in_message(packet, &message, verdict, cdc);
    return true;
}
