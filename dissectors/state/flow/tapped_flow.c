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

#include "tapped_flow.h"

#include "state/evidence/evidence.h"
#include "state/model/store.h"

#define FIRST_QPN 0x1000000U /* the numbers of queue pairs on the wire are lower: 24 bits */
#define FIRST_PSN 1
#define RMB_ADDRESS UINT64_C(0x100000000)
#define CURSORS 64u                /* number of producer cursors that are kept */
#define MESSAGES_MAX 1024u         /* maximum number of messages that are kept to recognise
                                      copies */
#define AWAITED_MAX (4u << 20)     /* maximum number of bytes that are kept to recognise copies */
#define COPY_MIN 256u              /* minimum number of bytes of a copy that is recognised although
                                      copies before it are missing: shorter data may be equal by
                                      chance */
#define POSITIONS_MAX (256u << 20) /* maximum position in a stream whose element has an unknown
                                      size: after it, the connection counts as ended, and a new one
                                      begins */

/* A CDC message. A copy of the message is recognised by cursors, number, flags and state. */
typedef struct {
    smcr_cursor_t prod, cons;
    uint16_t seq;
    uint8_t flags, state;
    uint64_t missing;    /* bytes that the message announces, and that are missing in the capture */
    uint64_t awaited_in; /* `awaited_in` of the direction when the message came */
} message_t;

/* One direction of a tapped connection: what its sender has sent. */
typedef struct {
    bool has_interface;     /* `interface` is set: a packet has come */
    uint32_t interface;     /* interface of the first packet */
    bool has_message;       /* `last` is set: a message has come */
    message_t last;         /* last message, as on the wire */
    uint32_t unannounced;   /* bytes of data since that message */
    uint64_t end;           /* position after the last byte of data */
    smcr_psn_t psn;         /* made-up PSN of the last packet in this direction */
    uint16_t seq;           /* sequence number with which the state has learned the last message */
    smcr_cursor_t cons;     /* consumer cursor with which the state has learned the last message */
    struct {
        smcr_cursor_t wire; /* producer cursor of a message, as on the wire */
        uint32_t position;  /* position of the cursor */
    } cursors[CURSORS];     /* circular list of the last producer cursors, if the size of the
                               element is not known */
    unsigned cursor_count;  /* number of producer cursors so far */
    wmem_array_t *awaited_bytes;    /* data of which the copy has not come; NULL: none so far */
    uint64_t copied;                /* bytes of copies since the last message */
    uint64_t awaited_in;            /* number of bytes that were ever appended to `awaited_bytes` */
    wmem_array_t *awaited_messages; /* message_t: messages of which the copy has not come */
} direction_t;

/* What is kept of a tapped connection. */
struct smcr_tapped {
    smcr_link_t *link;        /* made-up link of the connection; NULL: the RoCE packets of the
                                 connection are captured, so the state learns those */
    bool shows_twice;         /* both ends are on one host, so the tap shows each packet twice */
    bool has_copies;          /* the copy of a message has come */
    direction_t direction[2]; /* by role of the sender */
};

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

/* Makes the link of the connection. Side 0 is the client. */
static smcr_link_t *
new_link(smcr_state_t *state, const smcr_tapped_packet_t *packet)
{
    smcr_lgr_t *lgr = smcr_lgr_new(state);
    smcr_link_t *link = smcr_link_new(state, lgr);
    const uint8_t *gid[2];

    gid[packet->sender] = packet->source;
    gid[!packet->sender] = packet->destination;
    lgr->tapped = packet->is_smcd ? SMCR_LGR_TAPPED_SMCD : SMCR_LGR_TAPPED_SMCR;
    lgr->version = packet->version <= 2 ? packet->version : 0;
    lgr->server = 1;
    for (int side = 0; side < 2; side++) {
        smcr_ib_qp_key_t key = smcr_qp_key(gid[side], FIRST_QPN + state->tapped_qps++);
        smcr_qp_set(state, link, side, &key, SMCR_GROUND_CLC);
        lgr->base_known[side] = true;
    }
    return link;
}

/* Gives a side of the connection its RMB, and starts its stream. */
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
    direction_t *direction = &tapped->direction[packet->sender];
    if (!direction->has_interface)
        direction->interface = packet->interface;
    direction->has_interface = true;
    return tapped->link && direction->interface == packet->interface ? tapped : NULL;
}

/* Whether the copy of a message of this direction has still to come. */
static bool
awaits_message(const direction_t *direction)
{
    return direction->awaited_messages && wmem_array_get_count(direction->awaited_messages);
}

/* Whether the positions of the direction from `sender` have become too high. Only if the size of
 * the receiver's element is not known: then positions do not wrap. */
static bool
is_full(const smcr_conn_t *conn, unsigned sender)
{
    return !smcr_ring_room(&conn->side[!sender].in.ring) &&
           conn->tapped->direction[sender].end > POSITIONS_MAX;
}

/* Every doubt gives false: the packet then belongs to the known connection. */
bool
smcr_state_tapped_has_ended(const smcr_conn_t *conn, unsigned sender, uint32_t interface)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];

    if (!conn->tapped || !conn->tapped->link)
        return false;
    const direction_t *direction = &conn->tapped->direction[sender];
    bool is_elsewhere = direction->has_interface && direction->interface != interface;
    if (awaits_message(direction) || is_elsewhere)
        return false;
    bool have_closed = smcr_conn_side_has_closed(one) && smcr_conn_side_has_closed(other);
    return have_closed || is_full(conn, 0) || is_full(conn, 1);
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
    direction_t *direction = &tapped->direction[sender];

    *part = (smcr_tapped_part_t){.qpn = tapped->link->qp[!sender].key.qpn,
                                 .psn = (uint32_t)(++direction->psn & SMCR_PSN_MASK)};
}

/* ---- copies, if both ends are on one host ---- */

/* Number of bytes whose copy has still to come. */
static unsigned
awaited_count(const direction_t *direction)
{
    return direction->awaited_bytes ? wmem_array_get_count(direction->awaited_bytes) : 0;
}

/* Removes the first `count` bytes from `awaited_bytes`. */
static void
drop_awaited_bytes(smcr_state_t *state, direction_t *direction, unsigned count)
{
    wmem_array_t *awaited = direction->awaited_bytes;
    unsigned rest = awaited_count(direction) - count;

    if (!count)
        return;
    direction->awaited_bytes = wmem_array_new(state->scope, 1);
    if (rest)
        wmem_array_append(direction->awaited_bytes,
                          (uint8_t *)wmem_array_get_raw(awaited) + count, rest);
    wmem_destroy_array(awaited);
}

/* Appends the data to the bytes whose copy has still to come (`awaited_bytes`). Bytes that are not
 * captured are zeros. If there are too many bytes, all of them are forgotten, so their copies are
 * not recognised. Returns whether this is so. */
static bool
await_copy(smcr_state_t *state, direction_t *direction, smcr_tapped_data_t data)
{
    const uint8_t missing = 0;
    bool forgets = awaited_count(direction) + (uint64_t)data.length > AWAITED_MAX;

    if (forgets)
        drop_awaited_bytes(state, direction, awaited_count(direction));
    if (!direction->awaited_bytes)
        direction->awaited_bytes = wmem_array_new(state->scope, 1);
    direction->awaited_in += data.length;
    if (data.captured)
        wmem_array_append(direction->awaited_bytes, data.bytes, data.captured);
    for (uint32_t i = data.captured; i < data.length; i++)
        wmem_array_append(direction->awaited_bytes, &missing, 1);
    return forgets;
}

/* Whether the data is equal to the bytes of `awaited_bytes` that begin at `at`. */
static bool
is_awaited_at(const direction_t *direction, int64_t at, smcr_tapped_data_t data)
{
    if (at < 0 || (uint64_t)at + data.length > awaited_count(direction))
        return false;
    return memcmp((uint8_t *)wmem_array_get_raw(direction->awaited_bytes) + at, data.bytes,
                  data.captured) == 0;
}

/* Number of bytes of `awaited_bytes` that came before the message. Negative: these bytes, and bytes
 * after them, were removed. */
static int64_t
awaited_before(const direction_t *direction, const message_t *message)
{
    return (int64_t)(message->awaited_in - (direction->awaited_in - awaited_count(direction)));
}

/* The n-th message whose copy has still to come; NULL: there are fewer. */
static message_t *
awaited_message(const direction_t *direction, unsigned n)
{
    wmem_array_t *awaited = direction->awaited_messages;

    return awaited && n < wmem_array_get_count(awaited) ? wmem_array_index(awaited, n) : NULL;
}

/* Whether the data is a copy. If so, its bytes, and all bytes before them, are removed from
 * `awaited_bytes`. The receiver's kernel copies the data of a message in one packet, or in several
 * if the data wraps or is long. So a copy is equal to the first awaited bytes, or, if copies before
 * it are missing in the capture, to the last awaited bytes before a message (COPY_MIN). */
static bool
is_awaited(smcr_state_t *state, direction_t *direction, smcr_tapped_data_t data)
{
    int64_t at = is_awaited_at(direction, 0, data) ? 0 : -1;
    const message_t *message;

    for (unsigned n = data.length < COPY_MIN ? MESSAGES_MAX : 0;
         at < 0 && (message = awaited_message(direction, n)) != NULL; n++) {
        int64_t before = awaited_before(direction, message) - data.length;
        at = is_awaited_at(direction, before, data) ? before : -1;
    }
    if (at < 0 || !data.length)
        return false;
    drop_awaited_bytes(state, direction, (unsigned)at + data.length);
    return true;
}

/* Whether the data may be the copy of data that is missing in the capture: a message whose copy has
 * still to come announces as many missing bytes. If so, these bytes count as found. */
static bool
is_copy_of_missing(direction_t *direction, smcr_tapped_data_t data)
{
    message_t *message;

    for (unsigned n = 0; (message = awaited_message(direction, n)) != NULL; n++)
        if (message->missing && message->missing >= data.length) {
            message->missing -= data.length;
            return true;
        }
    return false;
}

/* Whether two messages are the same. */
static bool
messages_are_same(const message_t *one, const message_t *other)
{
    bool same_cursors = smcr_ring_cursors_are_same(one->prod, other->prod) &&
                        smcr_ring_cursors_are_same(one->cons, other->cons);

    return same_cursors && one->seq == other->seq && one->flags == other->flags &&
           one->state == other->state;
}

/* Removes the first `count` messages from `awaited_messages`. */
static void
drop_awaited_messages(smcr_state_t *state, direction_t *direction, unsigned count)
{
    wmem_array_t *awaited = direction->awaited_messages;
    unsigned rest = wmem_array_get_count(awaited) - count;

    direction->awaited_messages = wmem_array_new(state->scope, sizeof(message_t));
    if (rest)
        wmem_array_append(direction->awaited_messages, wmem_array_index(awaited, count), rest);
    wmem_destroy_array(awaited);
}

/* Notes in the last awaited message how many of its bytes are missing. Data after the message
 * before may have counted as a copy. If it would fill the gap, and no message has come twice, the
 * tap shows each packet once, and the program has sent the same bytes twice. */
static void
note_missing(struct smcr_tapped *tapped, direction_t *direction, uint64_t missing)
{
    unsigned count = wmem_array_get_count(direction->awaited_messages);

    awaited_message(direction, count - 1)->missing = missing;
    if (missing && missing <= direction->copied && !tapped->has_copies)
        tapped->shows_twice = false;
    direction->copied = 0;
}

/* Removes the first `count` messages from `awaited_messages`. Removes from `awaited_bytes` the data
 * before the last one of them: the receiver's kernel copies data before the message, so a copy that
 * has not come is missing in the capture. */
static void
drop_copied(smcr_state_t *state, direction_t *direction, unsigned count)
{
    int64_t bytes = awaited_before(direction, awaited_message(direction, count - 1));

    if (bytes > 0)
        drop_awaited_bytes(state, direction, (unsigned)bytes);
    drop_awaited_messages(state, direction, count);
}

/* Whether the message is a copy: an equal message is in `awaited_messages`. If so, this message and
 * all earlier ones are removed from the list. Otherwise the message is appended, so that its copy
 * is recognised; if the list is full, its older half is removed first. */
static bool
is_awaited_message(smcr_state_t *state, direction_t *direction, const message_t *message)
{
    if (!direction->awaited_messages)
        direction->awaited_messages = wmem_array_new(state->scope, sizeof *message);
    wmem_array_t *awaited = direction->awaited_messages;
    unsigned count = wmem_array_get_count(awaited), i = 0;

    while (i < count && !messages_are_same(wmem_array_index(awaited, i), message))
        i++;
    if (i < count) {
        drop_copied(state, direction, i + 1);
        return true;
    }
    if (count == MESSAGES_MAX)
        drop_awaited_messages(state, direction, MESSAGES_MAX / 2);
    wmem_array_append(direction->awaited_messages, message, 1);
    return false;
}

/* ---- data ---- */

/* Whether the data is a copy, if both ends are on one host. Otherwise its copy is awaited. Sets
 * `*notice`. */
static bool
is_copy(smcr_state_t *state, struct smcr_tapped *tapped, direction_t *direction,
        smcr_tapped_data_t data, smcr_tapped_notice_t *notice)
{
    if (is_awaited(state, direction, data)) {
        direction->copied += data.length;
        return true;
    }
    if (tapped->has_copies && is_copy_of_missing(direction, data)) {
        *notice = SMCR_TAPPED_COPY_OF_MISSING;
        return true;
    }
    if (await_copy(state, direction, data))
        *notice = SMCR_TAPPED_COPIES_FORGOTTEN;
    return false;
}

/* Offset in the element at which the next data of the direction begins. */
static uint32_t
next_offset(const direction_t *direction, const smcr_ring_t *ring)
{
    uint32_t room = smcr_ring_room(ring);

    if (!room)
        return (uint32_t)direction->end;
    return (uint32_t)((direction->last.prod.count + (uint64_t)direction->unannounced) % room);
}

/* Data that goes past the end of the element has several parts. Data of no length has one part,
 * too. */
unsigned
smcr_state_tapped_data(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                       smcr_tapped_data_t data, smcr_tapped_part_t parts[SMCR_TAPPED_PARTS],
                       smcr_tapped_notice_t *notice)
{
    struct smcr_tapped *tapped = find_conn(arrival, packet);
    uint32_t length = data.length;
    unsigned count = 0;

    *notice = SMCR_TAPPED_NO_NOTICE;
    if (!tapped)
        return 0;
    direction_t *direction = &tapped->direction[packet->sender];
    const smcr_ring_t *ring = ring_of(packet->conn, packet->sender);
    if (tapped->shows_twice && is_copy(arrival->state, tapped, direction, data, notice))
        return 0;
    while (count < SMCR_TAPPED_PARTS && (length || !count)) {
        uint32_t offset = next_offset(direction, ring), room = smcr_ring_room(ring);
        smcr_tapped_part_t *part = &parts[count++];
        begin_part(tapped, packet->sender, part);
        part->address = RMB_ADDRESS + offset;
        part->length = room ? MIN(length, room - offset) : length;
        length -= part->length;
        direction->unannounced += part->length;
        direction->end += part->length;
    }
    return count;
}

/* ---- messages ---- */

/* Number of bytes that the message announces, according to its cursor. */
static int64_t
announced_bytes(const direction_t *direction, const smcr_ring_t *ring, smcr_cursor_t prod)
{
    bool is_known = smcr_ring_room(ring) || prod.wrap == direction->last.prod.wrap;

    return is_known ? smcr_ring_distance(ring, direction->last.prod, prod)
                    : direction->unannounced;
}

/* The sequence number with which the state learns the message. `on_wire`: number in the message.
 * Messages of SMC-D have no number, nor have messages that the tap has made of WRITEs with
 * immediate data: there the number in the message is always 0, and the state counts. */
static uint16_t
sequence_number(const direction_t *direction, uint16_t on_wire)
{
    bool is_numbered = on_wire || direction->last.seq;

    if (!direction->has_message)
        return is_numbered ? on_wire : 1;
    return (uint16_t)(direction->seq + (is_numbered ? on_wire - direction->last.seq : 1));
}

/* Replaces the cursors of the message `cdc` by positions. `direction`: direction of the message.
 * `reader`: the opposite direction, whose data the sender of the message reads. */
static void
replace_cursors(direction_t *direction, const direction_t *reader, smcr_cdc_t *cdc)
{
    unsigned at = direction->cursor_count++ % CURSORS;

    direction->cursors[at].wire = cdc->prod;
    direction->cursors[at].position = (uint32_t)direction->end;
    cdc->prod = (smcr_cursor_t){0, (uint32_t)direction->end};
    for (unsigned i = 0; i < MIN(reader->cursor_count, CURSORS); i++)
        if (smcr_ring_cursors_are_same(reader->cursors[i].wire, cdc->cons))
            direction->cons = (smcr_cursor_t){0, reader->cursors[i].position};
    cdc->cons = direction->cons;
}

/* Notes the message as the last one of its direction. Sets in `cdc` the sequence number and the
 * cursors with which the state learns the message. */
static void
take_in_message(struct smcr_tapped *tapped, const smcr_tapped_packet_t *packet,
                const message_t *message, smcr_cdc_t *cdc)
{
    direction_t *direction = &tapped->direction[packet->sender];

    cdc->seq = direction->seq = sequence_number(direction, message->seq);
    if (!smcr_ring_room(ring_of(packet->conn, packet->sender)))
        replace_cursors(direction, &tapped->direction[!packet->sender], cdc);
    direction->has_message = true;
    direction->last = *message;
    direction->unannounced = 0;
}

/* Gives the token of the message to the connection. */
static void
take_in_token(smcr_state_t *state, const smcr_tapped_packet_t *packet, uint32_t token)
{
    smcr_conn_side_t *receiver = &packet->conn->side[!packet->sender];

    if (!receiver->has_token || receiver->token != token)
        smcr_conn_set_token(state, packet->conn, !packet->sender, token);
}

/* A copy changes nothing of the connection but `has_copies`. */
bool
smcr_state_tapped_cdc(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                      smcr_cdc_t *cdc, smcr_tapped_part_t *part, uint64_t *missing)
{
    struct smcr_tapped *tapped = find_conn(arrival, packet);

    *missing = 0;
    if (!tapped)
        return false;
    direction_t *direction = &tapped->direction[packet->sender];
    const message_t message = {.prod = cdc->prod, .cons = cdc->cons, .seq = cdc->seq,
                               .flags = cdc->flags, .state = cdc->state,
                               .awaited_in = direction->awaited_in};
    if (tapped->shows_twice && cdc->complete &&
        is_awaited_message(arrival->state, direction, &message)) {
        tapped->has_copies = true;
        return false;
    }
    begin_part(tapped, packet->sender, part);
    if (!cdc->complete)
        return true;
    int64_t announced =
        announced_bytes(direction, ring_of(packet->conn, packet->sender), cdc->prod);
    if (announced > direction->unannounced) {
        *missing = (uint64_t)(announced - direction->unannounced);
        direction->end += *missing;
    }
    if (tapped->shows_twice)
        note_missing(tapped, direction, *missing);
    take_in_token(arrival->state, packet, cdc->token);
    take_in_message(tapped, packet, &message, cdc);
    return true;
}
