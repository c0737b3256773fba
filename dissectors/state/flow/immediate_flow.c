/* Takes in the immediate data of RDMA WRITEs of ANCK, the kernel of Alibaba. If both hosts have
 * agreed, they send no CDC messages. Each WRITE has immediate data in its last packet, and the
 * receiver changes its state by them (ANCK's smc_cdc.c, smc_cdc_rx_handler_rwwi()):
 *
 * - The producer cursor advances by the bytes of the WRITE. So no WRITE goes over the end of the
 *   RMB element (smc_tx.c, smcr_tx_rdma_writes_rwwi()).
 * - The consumer cursor advances by the step. A step has few bits: if the sender has read more
 *   bytes, its next message reports the rest.
 * - Flags count until the sender's next message, which has new flags or none.
 * - A WRITE without data, to the start of the element, carries a message only.
 *
 * A message has no sequence number, and its cursors are relative to those of the previous message.
 * So after a missing message the consumer cursor stays unknown. The producer cursor becomes known
 * with the next data, whose address gives the position.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "immediate_flow.h"

#include "cdc_conn.h"
#include "cdc_element.h"
#include "cdc_flow.h"
#include "credits.h"
#include "state/evidence/evidence.h"
#include "state/flow/writes/writes.h"
#include "state/model/socket.h"
#include "state/model/store.h"

/* ---- which hosts send immediate data in place of CDC ---- */

/* Whether a packet with this opcode is the last or the only one of a WRITE. */
static bool
ends_write(uint8_t opcode)
{
    switch (opcode) {
    case SMCR_RC_WRITE_LAST:
    case SMCR_RC_WRITE_ONLY:
    case SMCR_RC_WRITE_LAST_IMMEDIATE:
    case SMCR_RC_WRITE_ONLY_IMMEDIATE:
        return true;
    default:
        return false;
    }
}

/* The connection that the RKey and the address of the WRITE name, certainly or likely; NULL: none
 * is known. */
static smcr_conn_t *
user_of(const smcr_write_t *write)
{
    if (!write)
        return NULL;
    return write->conn ? write->conn : write->likely_conn;
}

/* Whether the immediate data name the connection: their token is the lowest byte of the alert token
 * of its side `receiver`. */
static bool
names(const smcr_conn_t *conn, int receiver, const smcr_cdc_immediate_t *read)
{
    const smcr_conn_side_t *side = &conn->side[receiver];

    return side->has_token && (uint8_t)side->token == read->token;
}

/* Whether the immediate data can come from ANCK: their opcode is known, no reserved bit is set, and
 * the token is not 0. */
static bool
has_form(const smcr_cdc_immediate_t *read)
{
    return read->parts->is_known && !read->has_reserved && read->token != 0;
}

/* Whether a WRITE shows that the hosts send immediate data in place of CDC, though the first
 * contact of their group, in which they agree on it, is not captured. Three conditions:
 *
 * - The immediate data have the form of ANCK's, with a known opcode and no reserved bit.
 * - Their highest byte is the alert token of the connection to which the WRITE goes. ANCK's tokens
 *   are 1 to 255. By RFC 7609, A.2.3, the token would be in the lowest byte.
 * - Each WRITE of the group so far has had immediate data, and there was no CDC message. */
static bool
shows_agreement(const smcr_lgr_t *lgr, const smcr_conn_t *conn, int receiver,
                const smcr_cdc_immediate_t *read)
{
    bool is_open = !lgr->first_contact_captured && !lgr->immediate_known;

    if (!is_open || lgr->has_plain_messages || !has_form(read))
        return false;
    return conn && names(conn, receiver, read) &&
           conn->side[receiver].token <= SMCR_CDC_IMMEDIATE_TOKEN_MAX;
}

/* Learns from the WRITE packet whether the hosts have agreed on immediate data. Returns whether
 * they have. */
static bool
learn_agreement(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                const smcr_cdc_immediate_t *read)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (!lgr->immediate_agreed && arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        lgr->immediate_agreed = shows_agreement(lgr, conn, arrival->qp->side, read);
    return lgr->immediate_agreed;
}

bool
smcr_state_immediate_is_bare(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    return arrival->qp->link->lgr->immediate_agreed && roce->payload_length == 0 &&
           roce->opcode == SMCR_RC_WRITE_ONLY_IMMEDIATE;
}

/* ---- which connection ---- */

/* Whether the receiver takes the packet in now or later: its content was not taken in before. */
static bool
comes_now(const smcr_arrival_t *arrival)
{
    return arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES ||
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_WAITS;
}

/* The connection that the token in the immediate data names: `user`, if its token has this lowest
 * byte, or else the connection of the group whose whole alert token has this value. NULL: there is
 * none, two open connections have the token, or the connection began after the packet was sent. */
static smcr_conn_t *
find_named(const smcr_arrival_t *arrival, smcr_conn_t *user, const smcr_cdc_immediate_t *read)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_t *conn =
        user && names(user, qp->side, read)
            ? user : smcr_conn_find(arrival->state, qp->link->lgr, qp->side, read->token);
    bool had_begun = comes_now(arrival) || smcr_conn_had_begun(conn, qp, arrival->psn);

    return conn && !conn->side[qp->side].token_shared && had_begun ? conn : NULL;
}

/* Whether the WRITE may go to the element of `named`. `user`: the connection that the RKey and the
 * address name; NULL: not known. */
static bool
is_user(const smcr_conn_t *user, const smcr_conn_t *named)
{
    return !user || named == user;
}

/* Reports immediate data that are no message of a known connection. `named`: connection that the
 * token names; NULL: none. `user`: connection that the RKey and the address name; NULL: not known.
 * A message of `user` counts as missing then. If no token of `user` is known, its CLC messages are
 * missing, and nothing is reported. */
static void
report_useless(const smcr_arrival_t *arrival, smcr_conn_t *user, const smcr_conn_t *named,
               const smcr_cdc_immediate_t *read)
{
    if (user)
        user->side[!arrival->qp->side].steps_missing = true;
    if (named && is_user(user, named))
        smcr_event_add(arrival, SMCR_EVENT_immediate_opcode,
                       "The opcode %u of the immediate data is not defined", read->opcode);
    else if (named)
        smcr_event_add(arrival, SMCR_EVENT_immediate_token,
                       "The immediate data name connection %u, but the RKey and the address name "
                       "connection %u", named->index, user->index);
    else if (user && user->side[arrival->qp->side].has_token)
        smcr_event_add(arrival, SMCR_EVENT_immediate_token, NULL);
}

/* Whether the connection began before the capture, and no message of the side `sender` is captured
 * so far. Then the cursors of this side do not begin at 0. */
static bool
began_unseen(const smcr_conn_t *conn, int sender)
{
    return !conn->side[sender].last_cdc_frame && smcr_conn_began_before_capture(conn);
}

/* The connection to which the message in the immediate data belongs; NULL: none. If a connection is
 * known only from a host's report, its first data gives NULL here: smcr_state_immediate_begin()
 * takes in this message. Sets `names_conn` in the place of a packet whose immediate data name its
 * connection, so that they are shown. */
static smcr_conn_t *
find_conn(const smcr_arrival_t *arrival, smcr_conn_t *user, const smcr_cdc_immediate_t *read)
{
    smcr_conn_t *named = find_named(arrival, user, read);
    bool is_own = named && is_user(user, named);
    bool is_first = is_own && !user && began_unseen(named, !arrival->qp->side);

    if (is_first && !smcr_state_immediate_is_bare(arrival))
        return NULL;
    if (is_own)
        smcr_place_make_rare(arrival->state, arrival->record->write_location)->names_conn = true;
    if (is_own && read->parts->is_known)
        return named;
    if (comes_now(arrival))
        report_useless(arrival, is_own ? named : user, named, read);
    return NULL;
}

/* The message in the packet's immediate data, without its connection. `write`: request of the
 * packet; NULL: not known, so the number of written bytes is not known. */
static smcr_state_immediate_t
begin_message(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    smcr_state_immediate_t message = {
        .data = arrival->roce->immediate,
        .first_psn = write ? write->first_psn : arrival->psn,
        .written = write ? write->length : SMCR_RECORD_NOT_KNOWN,
    };

    if (smcr_state_immediate_is_bare(arrival))
        message.written = 0;
    return message;
}

/* Only returns the message in the immediate data. The caller takes in the data of the packet first,
 * and then the message (smcr_state_immediate_take_in()). */
smcr_state_immediate_t
smcr_state_immediate_of(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    smcr_state_immediate_t message = begin_message(arrival, write);

    if (!ends_write(roce->opcode))
        return message;
    lgr->has_plain_messages |= !smcr_ib_operations[roce->opcode].has_immediate;
    if (!smcr_ib_operations[roce->opcode].has_immediate)
        return message;
    if (!roce->has_immediate) { /* truncated by snaplen */
        if (lgr->immediate_agreed)
            smcr_evidence_pass_over(arrival);
        return message;
    }
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(roce->immediate);
    smcr_conn_t *user = user_of(write);
    if (!learn_agreement(arrival, user, &read))
        return message;
    message.conn = find_conn(arrival, user, &read);
    return message;
}

/* ---- cursors ---- */

/* The cursor at this position of the stream. The size of the ring is known. */
static smcr_cursor_t
cursor_at(const smcr_ring_t *ring, uint64_t position)
{
    uint32_t room = smcr_ring_room(ring);

    return (smcr_cursor_t){(uint16_t)(position / room), ring->base + (uint32_t)(position % room)};
}

/* The cursor that is `bytes` bytes after `from`. The size of the ring is known. */
static smcr_cursor_t
advance(const smcr_ring_t *ring, smcr_cursor_t from, uint32_t bytes)
{
    uint32_t room = smcr_ring_room(ring);
    uint64_t offset = (uint64_t)MAX(from.count, ring->base) - ring->base + bytes;
    smcr_cursor_t cursor = cursor_at(ring, offset);

    cursor.wrap = (uint16_t)(from.wrap + offset / room);
    return cursor;
}

/* The ring of the element in which `side` receives. Its room is 0 if the size is not known. */
static smcr_ring_t
ring_of(const smcr_conn_t *conn, int side)
{
    const smcr_conn_side_t *reader = &conn->side[side];

    if (reader->in.positions_known)
        return reader->in.ring;
    return (smcr_ring_t){reader->size, conn->lgr->base[side]};
}

/* Whether no packet of the flow is missing between the sender's last message and the first packet
 * of the WRITE. Missing packets within the WRITE do not matter, since they carry no message. */
static bool
is_next(const smcr_arrival_t *arrival, const smcr_state_immediate_t *message)
{
    smcr_arrival_t begin = *arrival;

    begin.psn = message->first_psn;
    return smcr_evidence_is_next(&begin, message->conn);
}

/* Whether the packet has data, and the position of the data in the stream is known. */
static bool
brings_placed_data(const smcr_place_t *place)
{
    return place && place->length && place->has_position;
}

/* Whether the new producer cursor of the side `sender` can be computed from its last producer
 * cursor: this cursor and the length of the WRITE are known. */
static bool
knows_step(const smcr_state_immediate_t *message, int sender)
{
    return !message->conn->side[sender].writes_missing && !began_unseen(message->conn, sender) &&
           message->written != SMCR_RECORD_NOT_KNOWN;
}

/* Sets the producer cursor of `cdc` to the end of the WRITE. The place of the WRITE's data gives
 * the cursor. If the place is not known, the cursor is the sender's last cursor plus the length of
 * the WRITE, if no WRITE is missing since the last known place. Otherwise sets `lacks_prod`. */
static void
set_producer(smcr_cdc_t *cdc, const smcr_state_immediate_t *message, int receiver,
             const smcr_place_t *place)
{
    const smcr_ring_t ring = ring_of(message->conn, receiver);
    smcr_conn_side_t *sender = &message->conn->side[!receiver];
    bool has_place = brings_placed_data(place);
    bool has_step = cdc->is_next && knows_step(message, !receiver);

    cdc->prod = sender->prod;
    cdc->lacks_prod = !smcr_ring_room(&ring) || !(has_place || has_step);
    sender->writes_missing = cdc->lacks_prod;
    if (cdc->lacks_prod)
        return;
    cdc->prod = has_place ? cursor_at(&ring, place->position + place->length)
                          : advance(&ring, cdc->prod, message->written);
}

/* Sets the consumer cursor of `cdc` to the sender's last consumer cursor plus `step`. Sets
 * `lacks_cons` if a step is missing. `ring`: ring of the sender's own element. */
static void
set_consumer(smcr_cdc_t *cdc, smcr_conn_side_t *sender, const smcr_ring_t *ring, uint32_t step)
{
    sender->steps_missing |= !cdc->is_next || !smcr_ring_room(ring);
    cdc->lacks_cons = sender->steps_missing;
    cdc->cons = cdc->lacks_cons ? sender->cons : advance(ring, sender->cons, step);
}

/* The cursors are computed from those of the sender's last message, so messages are taken in in
 * their order, each exactly once. */
void
smcr_state_immediate_take_in(const smcr_arrival_t *arrival, const smcr_state_immediate_t *message,
                             const smcr_place_t *place)
{
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(message->data);
    smcr_conn_t *conn = message->conn;
    int receiver = arrival->qp->side;
    smcr_conn_side_t *sender = &conn->side[!receiver];
    const smcr_ring_t own = ring_of(conn, !receiver);
    smcr_cdc_t cdc = {
        .length = SMCR_LLC_LENGTH,
        .seq = (uint16_t)(sender->cdc_seq_expected + 1),
        .token = conn->side[receiver].token,
        .flags = read.flags & (uint8_t)~SMCR_CDC_FLAG_FAILOVER, /* ANCK never sends this flag in
                                                                   immediate data */
        .state = read.state,
        .complete = true,
        .is_immediate = true,
        .is_next = is_next(arrival, message),
        .is_step_full = read.is_step_full || sender->is_step_full,
    };

    sender->steps_missing |= began_unseen(conn, !receiver);
    smcr_state_credits_add(arrival, read.credits);
    set_producer(&cdc, message, receiver, place);
    set_consumer(&cdc, sender, &own, read.step);
    smcr_state_cdc_take_in(arrival, conn, &cdc);
    sender->is_step_full = read.is_step_full;
    sender->steps_missing |= smcr_conn_side_has_invalid_cursor(sender);
}

/* ---- a connection that only a report of its host names ---- */

/* The state of one direction of a connection when a host reported it: where the next data
 * begins. */
typedef struct {
    smcr_ring_t ring;   /* the receiver's element */
    smcr_cursor_t prod; /* producer cursor of the sender */
    smcr_cursor_t cons; /* consumer cursor of the sender, as last known */
} goes_on_t;

/* Whether the socket may be the receiving end of the packet. Five conditions: 1. its host has
 * reported it over netlink, before the packet; 2. the report has the size of its RMB element; 3.
 * nothing contradicts the report; 4. the reported peer sends the packet; 5. the socket has no
 * connection so far. */
static bool
may_receive(const smcr_arrival_t *arrival, const smcr_socket_t *socket)
{
    const uint8_t *sender = smcr_qp_peer(arrival->qp)->key.gid;
    const smcr_told_socket_t *told = &socket->reported;
    bool is_free = !socket->is_contradicted && !socket->conn && !told->is_from_file;

    return is_free && told->size[SMCR_TOLD_OWN] && socket->time <= arrival->when.time &&
           smcr_gid_is_same(told->gid[SMCR_TOLD_PEER], sender);
}

/* Finds where the next data of the connection begins. `token`: from the immediate data of a WRITE.
 * If a connection with the token is known, only its stream gives the cursors: a host's report has
 * to name the connection, its positions must be known and its RMB unknown. If none is known, the
 * report of the receiver's host gives them (may_receive()). Returns false if that source is not
 * usable; `*told` means nothing then. */
static bool
find_told(const smcr_arrival_t *arrival, uint8_t token, goes_on_t *told)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_t *conn = smcr_conn_find(arrival->state, qp->link->lgr, qp->side, token);
    const smcr_socket_t *socket = smcr_socket_of_token(arrival->state, qp->key.gid, token);

    if (conn) {
        const smcr_stream_t *in = &conn->side[qp->side].in;
        *told = (goes_on_t){in->ring, in->prod, conn->side[!qp->side].cons};
        return conn->socket && in->positions_known && !conn->side[qp->side].rmb;
    }
    if (!socket || !may_receive(arrival, socket))
        return false;
    *told = (goes_on_t){{socket->reported.size[SMCR_TOLD_OWN], 0},
                        socket->reported.rx_prod, socket->reported.rx_cons};
    return true;
}

/* Whether the WRITE can begin at the reported producer cursor. Three conditions: 1. the address of
 * the WRITE minus the cursor, which would be the start of the RMB, is the address of a page; 2. the
 * WRITE has data; 3. it does not go over the end of the element. */
static bool
goes_on_there(const smcr_write_t *write, const goes_on_t *told)
{
    uint64_t base = write->remote_address - told->prod.count;

    return !(base & SMCR_WIRE_PAGE_MASK) && write->length &&
           told->prod.count + (uint64_t)write->length <= told->ring.size;
}

/* Whether the hosts of the group may send immediate data in place of CDC, as far as is known. */
static bool
may_agree(const smcr_lgr_t *lgr)
{
    bool is_open = !lgr->first_contact_captured && !lgr->immediate_known;

    return lgr->immediate_agreed || (is_open && !lgr->has_plain_messages);
}

/* Whether the packet ends a WRITE with immediate data to an unknown RMB, and its receiver takes it
 * in: the WRITE may be the first captured one of a connection. */
static bool
may_begin(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    return write && !write->rmb && roce->has_immediate && ends_write(roce->opcode) &&
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;
}

/* A report has the token and the cursors of a socket. The first WRITE after the report that names
 * the token begins at the reported producer cursor. This is not so if WRITEs are missing, or if the
 * report was made at another time. Then the start of the RMB, as computed from the address, is not
 * the address of a page, except by chance, and no connection is made. The consumer cursor is not
 * known, since the sender may have read more data since the report. */
void
smcr_state_immediate_begin(const smcr_arrival_t *arrival, const smcr_write_t *write)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    int receiver = arrival->qp->side;
    smcr_arrival_t after = *arrival;
    goes_on_t told;

    if (!arrival->state->sockets || !may_begin(arrival, write) || !may_agree(lgr))
        return;
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(arrival->roce->immediate);
    if (!has_form(&read) || !find_told(arrival, read.token, &told) || !goes_on_there(write, &told))
        return;
    lgr->immediate_agreed = true;
    smcr_cdc_t cdc = {
        .length = SMCR_LLC_LENGTH,
        .seq = 1,
        .token = read.token,
        .flags = read.flags & (uint8_t)~SMCR_CDC_FLAG_FAILOVER,
        .state = read.state,
        .prod = advance(&told.ring, told.prod, write->length),
        .cons = told.cons,
        .complete = true,
        .is_immediate = true,
        .lacks_cons = true,
    };
    after.psn++;
    smcr_conn_t *conn = smcr_state_cdc_conn(&after, &cdc);
    if (!conn)
        return;
    smcr_state_cdc_derive_rmb(&after, conn, &cdc);
    conn->side[!receiver].steps_missing = true;
    arrival->record->conn = conn;
    smcr_place_rare_t *rare = smcr_place_make_rare(arrival->state, arrival->record->write_location);
    rare->names_conn = true;
    if (arrival->record->write_location->has_position)
        rare->buffered_payload = NULL; /* its bytes are shown with this packet, so they are not held
                                          for a later one */
    smcr_state_cdc_take_in(arrival, conn, &cdc);
}

/* ---- every pass ---- */

/* Whether the record is of a WRITE packet whose immediate data name its connection. */
static bool
names_own_conn(const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    const smcr_place_rare_t *rare = place ? smcr_place_rare(place) : NULL;

    return rare && rare->names_conn && record->conn && record->sender >= 0;
}

/* Does not change the state, since later passes call this function, too. */
bool
smcr_state_immediate_cdc(const smcr_record_t *record, const smcr_ib_headers_t *roce,
                         smcr_cdc_t *cdc)
{
    if (!roce->has_immediate || !names_own_conn(record))
        return false;
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(roce->immediate);
    if (!read.parts->is_known)
        return false;
    const smcr_conn_side_t *sides = record->conn->side;
    const smcr_record_cdc_t *view = record->cdc_analysis;
    *cdc = (smcr_cdc_t){
        .length = SMCR_LLC_LENGTH,
        .seq = sides[record->sender].announced_at.qp != NULL,
        .token = sides[!record->sender].token,
        .flags = read.flags,
        .state = read.state,
        .complete = true,
        .is_immediate = true,
        .lacks_prod = !view || !view->has_announced,
    };
    if (!cdc->lacks_prod) /* the cursor is made from the position: two positions are equal
                             if and only if their cursors are */
        cdc->prod = (smcr_cursor_t){(uint16_t)(view->announced >> 32), (uint32_t)view->announced};
    return true;
}
