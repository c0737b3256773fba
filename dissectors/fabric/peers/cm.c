/* Finds the connection of a message in tables of communication IDs and queue pairs, and changes the
 * states of its two ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm.h"

#define NO_SIDE (-1)

/* 1 millisecond, in nanoseconds: shorter than any timer of communication management. */
#define TIMER_LEAST UINT64_C(1000000)

/* All connections of communication management in one capture. */
struct smcr_cm {
    wmem_allocator_t *scope; /* memory for connections and tables */
    uint32_t count;  /* number of connections */
    GHashTable *ids; /* the newest smcr_cm_end_t with a network, a GID, the GID of its peer and a
                        communication ID */
    GHashTable *qps; /* the newest smcr_cm_end_t with a network, a GID and a queue pair */
};

/* A message, with the communication IDs of its sender and its receiver. */
typedef struct {
    const smcr_cm_packet_t *packet;   /* the packet that carries the message */
    const smcr_cm_message_t *message; /* the parsed message */
    smcr_cm_event_t event;            /* kind of the message */
    uint32_t own_id;   /* communication ID of the sender; 0: the message has none */
    uint32_t other_id; /* communication ID of the receiver; 0: the message has none */
    bool sidr;         /* the message is a SIDR_REQ or SIDR_REP, whose IDs are request IDs */
    int role;          /* side that sends messages of this kind, enum smcr_cm_side; NO_SIDE: both
                          sides send such messages */
} sending_t;

/* ---- tables ---- */

/* The tables keep pointers to ends, without keys of their own, to save memory with a million
 * connections. The hash functions read the ends. So the ID, the queue pair, the network and both
 * GIDs of an end must not change while the end is in a table. */

/* Returns the connection of an end. Like strchr(), the function takes a const pointer and returns a
 * pointer that is not const. */
static smcr_cm_conn_t *
conn_of(const smcr_cm_end_t *end)
{
    uintptr_t client = (uintptr_t)(end - end->side);

    return (smcr_cm_conn_t *)(client - offsetof(smcr_cm_conn_t, ends));
}

/* The other end of the connection. */
static smcr_cm_end_t *
peer_of(const smcr_cm_end_t *end)
{
    return &conn_of(end)->ends[!end->side];
}

/* Hash of an end in the table of communication IDs. Ends that equal_ids() calls equal must have the
 * same hash. */
static guint
hash_id(gconstpointer key)
{
    const smcr_cm_end_t *end = key;
    guint of_peer = smcr_wire_hash(peer_of(end)->gid, SMCR_GID_LENGTH);

    return (smcr_wire_hash(end->gid, SMCR_GID_LENGTH) * 31 + of_peer) * 31 + end->id;
}

/* Whether two ends have one address in one network. */
static bool
has_same_address(const smcr_cm_end_t *one, const smcr_cm_end_t *other)
{
    return memcmp(one, other, offsetof(smcr_cm_end_t, qpn)) == 0;
}

/* Whether two ends have the same communication ID between the same two hosts: hosts number their
 * connections by themselves, so one ID has several meanings. */
static gboolean
equal_ids(gconstpointer one_key, gconstpointer other_key)
{
    const smcr_cm_end_t *one = one_key, *other = other_key;

    return one->id == other->id && conn_of(one)->sidr == conn_of(other)->sidr &&
           has_same_address(one, other) && has_same_address(peer_of(one), peer_of(other));
}

SMCR_WIRE_KEY(hash_qp, equal_qps, offsetof(smcr_cm_end_t, id))

/* Both tables are of GLib and are destroyed with `scope`: a wmem_map_t would take three times their
 * memory. They have no keys of their own: the ends in them hold the keys. */
smcr_cm_t *
smcr_cm_new(wmem_allocator_t *scope)
{
    smcr_cm_t *cm = wmem_new0(scope, smcr_cm_t);

    cm->scope = scope;
    cm->ids = smcr_slab_table(scope, hash_id, equal_ids);
    cm->qps = smcr_slab_table(scope, hash_qp, equal_qps);
    return cm;
}


/* Returns the end that the message names by a communication ID: its sender if `is_own`, else its
 * receiver. If several connections have such an end, the newest one counts. NULL: there is none, or
 * the message does not have the ID. */
static smcr_cm_end_t *
find_named(const smcr_cm_t *cm, const sending_t *sending, bool is_own)
{
    const smcr_cm_packet_t *packet = sending->packet;
    smcr_ib_network_t network = packet->network;
    uint32_t id = is_own ? sending->own_id : sending->other_id;
    smcr_cm_conn_t probe = {
        .sidr = sending->sidr,
        .ends = {{.id = id, .network = network}, {.side = 1, .network = network}},
    };

    memcpy(probe.ends[!is_own].gid, packet->source, SMCR_GID_LENGTH);
    memcpy(probe.ends[is_own].gid, packet->target, SMCR_GID_LENGTH);
    return id ? g_hash_table_lookup(cm->ids, &probe.ends[0]) : NULL;
}

/* The newest end that has the address and the queue pair `qp` in the network; NULL: there is
 * none. */
static smcr_cm_end_t *
find_qp(const smcr_cm_t *cm, const smcr_ib_qp_key_t *qp, smcr_ib_network_t network)
{
    smcr_cm_end_t probe = {.qpn = qp->qpn, .network = network};

    memcpy(probe.gid, qp->gid, SMCR_GID_LENGTH);
    return g_hash_table_lookup(cm->qps, &probe);
}

/* Removes the end from a table. Does nothing if the table has a newer end with the same key. */
static void
remove_end(GHashTable *table, smcr_cm_end_t *end)
{
    if (g_hash_table_lookup(table, end) == end)
        g_hash_table_remove(table, end);
}

/* Gives `end` the communication ID `id`, and makes the table of IDs find `end` by it, and not by an
 * earlier ID. `id` 0: the message does not have the ID, and nothing changes. */
static void
assign_id(smcr_cm_t *cm, smcr_cm_end_t *end, uint32_t id)
{
    if (!id || end->id == id)
        return;
    if (end->id)
        remove_end(cm->ids, end);
    end->id = id;
    g_hash_table_add(cm->ids, end);
}

/* Gives `end` the queue pair `qpn`, and makes the table of queue pairs find `end` by it. */
static void
assign_qp(smcr_cm_t *cm, smcr_cm_end_t *end, uint32_t qpn)
{
    if (end->qpn_known)
        remove_end(cm->qps, end);
    end->qpn = qpn;
    end->qpn_known = true;
    g_hash_table_add(cm->qps, end);
}

/* ---- which connection ---- */

/* Kinds of messages that only the client sends, and those that only the server sends. */
#define EVENT(name) (UINT32_C(1) << SMCR_CM_EVENT_##name)
#define BY_CLIENT (EVENT(REQ) | EVENT(RTU) | EVENT(MRA_REP) | EVENT(REJ_REP) | \
                   EVENT(STALE_REP) | EVENT(SIDR_REQ))
#define BY_SERVER (EVENT(REP) | EVENT(MRA_REQ) | EVENT(REJ_REQ) | EVENT(STALE_REQ) | \
                   EVENT(SIDR_REP))

/* The side that sends messages of a kind; NO_SIDE: both sides send such messages. */
static int
role_of(smcr_cm_event_t event)
{
    if (BY_CLIENT >> event & 1)
        return SMCR_CM_CLIENT;
    return BY_SERVER >> event & 1 ? SMCR_CM_SERVER : NO_SIDE;
}

/* Finds the IDs and the role of a message's sender. The sender of a SIDR_REP has no ID: the local
 * ID in a SIDR_REP is the request ID of its SIDR_REQ. */
static sending_t
sending_of(const smcr_cm_packet_t *packet)
{
    const smcr_cm_message_t *message = packet->message;
    sending_t sending = {
        .packet = packet,
        .message = message,
        .event = smcr_cm_event_of(message),
        .own_id = message->local_id,
        .other_id = message->remote_id,
    };

    sending.role = role_of(sending.event);
    sending.sidr = message->attribute == SMCR_IB_CM_SIDR_REQ ||
                   message->attribute == SMCR_IB_CM_SIDR_REP;
    if (message->attribute == SMCR_IB_CM_SIDR_REP) {
        sending.own_id = 0;
        sending.other_id = message->local_id;
    }
    return sending;
}

/* Whether the message asks for a connection, or for the number of a UD queue pair. */
static bool
is_request(const sending_t *sending)
{
    return sending->event == SMCR_CM_EVENT_REQ || sending->event == SMCR_CM_EVENT_SIDR_REQ;
}

/* Whether the message has the transaction ID of the connection's REQ. */
static bool
is_same_transaction(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    return conn->tid_known && conn->tid == sending->message->tid;
}

/* Whether the end is in `state` (enum smcr_ib_cm_state); false if its state is not known. */
static bool
is_in_state(const smcr_cm_end_t *end, unsigned state)
{
    return end->state_known && end->state == state;
}

/* Whether the message is a REP that replaces an earlier REP with another communication ID. The
 * condition: the client still waits for a REP, so it may not have received the earlier REP. */
static bool
is_new_reply(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    const smcr_cm_end_t *client = &conn->ends[SMCR_CM_CLIENT];

    return sending->event == SMCR_CM_EVENT_REP && is_same_transaction(conn, sending) &&
           (is_in_state(client, SMCR_IB_CM_STATE_REQ_SENT) ||
            is_in_state(client, SMCR_IB_CM_STATE_MRA_REQ_RCVD));
}

/* Whether the message names both IDs of the connection, with `end` as its sender. */
static bool
names_both_ids(const smcr_cm_end_t *end, const sending_t *sending)
{
    return end->id == sending->own_id && peer_of(end)->id == sending->other_id;
}

/* Whether two communication IDs differ. False if one of them is 0 (not known). */
static bool
are_different_ids(uint32_t id, uint32_t other)
{
    return id && other && id != other;
}

/* Whether the role of `end` proves that `end` has not sent the message. Example: a server sends no
 * REQ. If it is not known which end is the client, only a REP proves the role of its sender. */
static bool
has_other_role(const smcr_cm_end_t *end, const sending_t *sending)
{
    bool is_role_certain = conn_of(end)->roles_known || sending->event == SMCR_CM_EVENT_REP;

    return is_role_certain && sending->role != NO_SIDE && sending->role != (int)end->side;
}

/* Whether the message may belong to the connection, though its transaction ID differs from that of
 * the connection's REQ. Example: a DREQ has a transaction ID of its own. Returns false for REP and
 * SIDR_REP, which always have the transaction ID of the request, and for a connection that has
 * ended. */
static bool
may_begin_transaction(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    if (sending->event == SMCR_CM_EVENT_REP || sending->event == SMCR_CM_EVENT_SIDR_REP)
        return false;
    return !is_in_state(&conn->ends[0], SMCR_IB_CM_STATE_IDLE);
}

/* Whether the role of `end` and the IDs of the message allow that `end` has sent it. The order of
 * the tests matters: a pair of equal IDs proves more than a transaction ID. */
static bool
may_have_sent(smcr_cm_end_t *end, const sending_t *sending)
{
    const smcr_cm_conn_t *conn = conn_of(end);

    if (has_other_role(end, sending))
        return false;
    if (names_both_ids(end, sending))
        return true;
    if (are_different_ids(peer_of(end)->id, sending->other_id))
        return false;
    if (are_different_ids(end->id, sending->own_id))
        return is_new_reply(conn, sending);
    if (!conn->tid_known || is_same_transaction(conn, sending))
        return true;
    return may_begin_transaction(conn, sending);
}

/* Whether the message certainly belongs to the older of two connections, though the newer
 * connection now uses one of its IDs. The proof: the message has both IDs and the transaction ID of
 * the older connection, the newer connection has another transaction ID, and the role of the sender
 * fits. */
static bool
is_certainly_of_older(smcr_cm_end_t *older, smcr_cm_end_t *newer, const sending_t *sending)
{
    if (has_other_role(older, sending) || !names_both_ids(older, sending))
        return false;
    return is_same_transaction(conn_of(older), sending) &&
           !is_same_transaction(conn_of(newer), sending);
}

/* Returns which of two ends, of different connections, has sent the message; NULL: no end of the
 * two. An ID that both connections have used belongs to the newer connection. */
static smcr_cm_end_t *
choose_sender(smcr_cm_end_t *newer, smcr_cm_end_t *older, const sending_t *sending)
{
    if (!may_have_sent(newer, sending))
        return may_have_sent(older, sending) ? older : NULL;
    return is_certainly_of_older(older, newer, sending) ? older : newer;
}

/* The end that sends a message other than a REQ or SIDR_REQ; NULL: its connection is not known. The
 * message may have the communication IDs of both ends. If the IDs name two connections,
 * choose_sender() decides. Otherwise the end is found by the receiver's ID, or, if no connection
 * has this ID, by the sender's. */
static smcr_cm_end_t *
find_sender(const smcr_cm_t *cm, const sending_t *sending)
{
    smcr_cm_end_t *receiver = find_named(cm, sending, false);
    smcr_cm_end_t *by_other = receiver ? peer_of(receiver) : NULL;
    smcr_cm_end_t *by_own = find_named(cm, sending, true);
    smcr_cm_end_t *found = by_other ? by_other : by_own;

    if (by_other && by_own && by_other != by_own)
        return conn_of(by_other)->index > conn_of(by_own)->index
                   ? choose_sender(by_other, by_own, sending)
                   : choose_sender(by_own, by_other, sending);
    return found && may_have_sent(found, sending) ? found : NULL;
}

/* Returns the index of a kind of message in smcr_cm_conn_t.first. In one connection, a side sends
 * only one of the kinds REQ, REP, SIDR_REQ and SIDR_REP, so these four share index 0. LAP and APR
 * share index 6. */
static unsigned
kind_of(uint8_t attribute)
{
    static const uint8_t kinds[] = {
        [SMCR_IB_CM_REQ - SMCR_IB_CM_REQ] = 0, [SMCR_IB_CM_REP - SMCR_IB_CM_REQ] = 0,
        [SMCR_IB_CM_SIDR_REQ - SMCR_IB_CM_REQ] = 0, [SMCR_IB_CM_SIDR_REP - SMCR_IB_CM_REQ] = 0,
        [SMCR_IB_CM_MRA - SMCR_IB_CM_REQ] = 1, [SMCR_IB_CM_REJ - SMCR_IB_CM_REQ] = 2,
        [SMCR_IB_CM_RTU - SMCR_IB_CM_REQ] = 3, [SMCR_IB_CM_DREQ - SMCR_IB_CM_REQ] = 4,
        [SMCR_IB_CM_DREP - SMCR_IB_CM_REQ] = 5, [SMCR_IB_CM_LAP - SMCR_IB_CM_REQ] = 6,
        [SMCR_IB_CM_APR - SMCR_IB_CM_REQ] = 6,
    };

    return kinds[attribute - SMCR_IB_CM_REQ];
}

/* Whether the end may still be setting up the connection: its state is not known, or is between
 * idle and established. */
static bool
is_opening(const smcr_cm_end_t *end)
{
    return !end->state_known ||
           (end->state != SMCR_IB_CM_STATE_IDLE && end->state < SMCR_IB_CM_STATE_ESTABLISHED);
}

/* Whether the REQ `sending` may be the first message of a connection of which only later messages
 * have come in the capture so far. These later messages have the transaction ID of the REQ. */
static bool
awaits_request(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    return is_opening(&conn->ends[0]) && is_opening(&conn->ends[1]) &&
           is_same_transaction(conn, sending);
}

/* Returns the end that sends a REQ or SIDR_REQ, if its connection is known. There are two cases:
 * 1. the end has sent an equal message before; 2. only later messages of the connection have come
 * in the capture so far. NULL: the message begins a new connection. */
static smcr_cm_end_t *
find_requester(const smcr_cm_t *cm, const sending_t *sending)
{
    smcr_cm_end_t *end = find_named(cm, sending, true);

    if (!end || !conn_of(end)->roles_known || end->side != SMCR_CM_CLIENT)
        return NULL;
    const smcr_cm_conn_t *conn = conn_of(end);
    const smcr_cm_first_t *first = &conn->first[0][kind_of(sending->message->attribute)];

    bool is_same = first->frame ? first->digest == sending->message->digest
                                : awaits_request(conn, sending);
    return is_same ? end : NULL;
}

/* Begins a new connection, with both addresses and the network of the message. Returns the end that
 * sends the message. Its number of a queue pair and its IDs are not set here. */
static smcr_cm_end_t *
begin_conn(smcr_cm_t *cm, const sending_t *sending)
{
    smcr_cm_conn_t *conn = wmem_new0(cm->scope, smcr_cm_conn_t);
    int side = sending->role == SMCR_CM_SERVER ? SMCR_CM_SERVER : SMCR_CM_CLIENT;

    conn->index = cm->count++;
    conn->sidr = sending->sidr;
    conn->roles_known = sending->role != NO_SIDE;
    conn->ends[1].side = 1;
    memcpy(conn->ends[side].gid, sending->packet->source, SMCR_GID_LENGTH);
    memcpy(conn->ends[!side].gid, sending->packet->target, SMCR_GID_LENGTH);
    conn->ends[0].network = conn->ends[1].network = sending->packet->network;
    return &conn->ends[side];
}

/* ---- learning from a message ---- */

/* Learns the queue pair `qpn` of `other`, which receives a DREQ or LAP that names `qpn`. If the
 * table of queue pairs has an end with `qpn`, and its connection has not ended, the table keeps
 * that end: then smcr_cm_find_by_qp() does not find `other`. */
static void
learn_remote_qpn(smcr_cm_t *cm, smcr_cm_end_t *other, uint32_t qpn)
{
    smcr_ib_qp_key_t key = {.qpn = qpn};

    memcpy(key.gid, other->gid, SMCR_GID_LENGTH);
    const smcr_cm_end_t *owner = find_qp(cm, &key, other->network);

    if (other->qpn_known)
        return;
    if (!owner || is_in_state(owner, SMCR_IB_CM_STATE_TIMEWAIT) ||
        is_in_state(owner, SMCR_IB_CM_STATE_IDLE)) {
        assign_qp(cm, other, qpn);
    } else {
        other->qpn = qpn;
        other->qpn_known = true;
    }
}

/* Learns from a message that `end` sends to `other`: queue pairs, and the first PSN that `other`
 * sends with. */
static void
learn_ends(smcr_cm_t *cm, smcr_cm_end_t *end, smcr_cm_end_t *other,
           const smcr_cm_message_t *message)
{
    if (message->has_qpn)
        assign_qp(cm, end, message->qpn);
    if (message->has_psn) {
        other->psn = message->starting_psn;
        other->psn_known = true;
    }
    if (message->has_remote_qpn)
        learn_remote_qpn(cm, other, message->remote_qpn);
}

/* Learns the service ID of the connection, and the reason of a REJ. If several messages have these
 * values, the first message counts. */
static void
learn_conn(smcr_cm_conn_t *conn, const smcr_cm_message_t *message)
{
    if (message->has_service && !conn->service_known) {
        conn->service_known = true;
        conn->service_id = message->service_id;
        conn->port_known = message->has_port;
        conn->port = message->port;
    }
    if (message->attribute == SMCR_IB_CM_REJ && !conn->rejected) {
        conn->rejected = true;
        conn->reason = message->reason;
    }
}

/* Learns from a message that `end` sends. If the sender has a new communication ID, it has set up a
 * new connection, so its state is not known. */
static void
learn_message(smcr_cm_t *cm, smcr_cm_end_t *end, const sending_t *sending)
{
    smcr_cm_conn_t *conn = conn_of(end);
    smcr_cm_end_t *other = peer_of(end);

    if (sending->role == (int)end->side)
        conn->roles_known = true;
    if (sending->role != NO_SIDE && !conn->tid_known) {
        conn->tid_known = true;
        conn->tid = sending->message->tid;
    }
    if (are_different_ids(end->id, sending->own_id))
        end->state_known = false;
    assign_id(cm, end, sending->own_id);
    assign_id(cm, other, sending->other_id);
    learn_ends(cm, end, other, sending->message);
    learn_conn(conn, sending->message);
}

/* ---- messages ---- */

/* Whether the message is a DREQ that names another queue pair than that of `receiver`. Linux
 * ignores such a DREQ. */
static bool
names_other_qp(const smcr_cm_end_t *receiver, const smcr_cm_message_t *message)
{
    return message->attribute == SMCR_IB_CM_DREQ && message->has_remote_qpn &&
           receiver->qpn_known && receiver->qpn != message->remote_qpn;
}

/* Changes the states of both ends for a message that is no retransmission. A message with a wrong
 * ICRC changes the state of its sender only, since the receiver discards it. */
static void
move_ends(smcr_cm_end_t *end, smcr_cm_end_t *other, const sending_t *sending,
           smcr_cm_verdict_t *verdict)
{
    smcr_cm_move_t sent = smcr_cm_end_sends(end, sending->event);

    verdict->unexpected_sent = sent == SMCR_CM_UNEXPECTED;
    if (!sending->packet->has_good_icrc)
        return;
    if (names_other_qp(other, sending->message))
        verdict->unexpected_received = true;
    else if (smcr_cm_end_receives(other, sending->event) == SMCR_CM_UNEXPECTED)
        verdict->unexpected_received = sent != SMCR_CM_CROSSED;
}

/* Changes the states of both ends for a retransmission. For the sender, smcr_cm_end_retransmits()
 * has the rules. */
static void
move_ends_again(smcr_cm_end_t *end, smcr_cm_end_t *other, const sending_t *sending)
{
    smcr_cm_end_retransmits(end, sending->event);
    if (sending->packet->has_good_icrc && !names_other_qp(other, sending->message))
        smcr_cm_end_receives(other, sending->event);
}

/* Whether the message names a communication ID, so that its connection can be found or begun. */
static bool
names_connection(const sending_t *sending)
{
    return sending->own_id || (sending->other_id && !is_request(sending));
}

/* Handles a message that `end` sends. If its digest is equal to that of the newest message of the
 * same kind, the message is a retransmission. If a message with this digest comes within
 * TIMER_LEAST after the last message of the end, it is a duplicate that the network or the capture
 * has made, and changes nothing. */
static void
take_message(smcr_cm_t *cm, smcr_cm_end_t *end, const sending_t *sending,
             smcr_cm_verdict_t *verdict)
{
    const smcr_cm_message_t *message = sending->message;
    smcr_cm_end_t *other = peer_of(end);
    smcr_cm_first_t *first = &conn_of(end)->first[end->side][kind_of(message->attribute)];

    uint64_t now = sending->packet->when.time, last = conn_of(end)->last[end->side];

    conn_of(end)->last[end->side] = now;
    if (first->frame && first->digest == message->digest) {
        verdict->is_copy = now >= last && now - last < TIMER_LEAST;
        if (verdict->is_copy)
            return;
        verdict->retransmission_of = first->frame;
        move_ends_again(end, other, sending);
        return;
    }
    learn_message(cm, end, sending);
    move_ends(end, other, sending, verdict);
    *first = (smcr_cm_first_t){sending->packet->when.frame, message->digest};
}

/* A message of an unknown connection begins a connection object, even if the connection itself
 * began before the capture. The states in the verdict are those after the message. */
smcr_cm_verdict_t
smcr_cm_judge(smcr_cm_t *cm, const smcr_cm_packet_t *packet)
{
    sending_t sending = sending_of(packet);
    smcr_cm_verdict_t verdict = {.conn = NULL};

    if (!names_connection(&sending))
        return verdict;
    smcr_cm_end_t *known = is_request(&sending) ? find_requester(cm, &sending)
                                                : find_sender(cm, &sending);
    smcr_cm_end_t *end = known ? known : begin_conn(cm, &sending);
    smcr_cm_conn_t *conn = verdict.conn = conn_of(end);

    take_message(cm, end, &sending, &verdict);
    verdict.attribute = packet->message->attribute;
    verdict.status = packet->message->status;
    verdict.reason = packet->message->reason;
    verdict.sender = end->side;
    for (unsigned i = 0; i < G_N_ELEMENTS(conn->ends); i++) {
        verdict.known[i] = conn->ends[i].state_known;
        verdict.states[i] = verdict.known[i] ? conn->ends[i].state : 0;
    }
    return verdict;
}

/* ---- queries ---- */

smcr_cm_conn_t *
smcr_cm_find_by_qp(const smcr_cm_t *cm, const smcr_ib_qp_key_t *qp, smcr_ib_network_t network)
{
    smcr_cm_end_t *end = find_qp(cm, qp, network);

    return end ? conn_of(end) : NULL;
}

/* Number and GID both have to agree: queue pair numbers are unique only within a host. */
int
smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    for (int i = 0; i < 2; i++)
        if (conn->ends[i].qpn_known && conn->ends[i].qpn == qpn &&
            smcr_gid_is_same(conn->ends[i].gid, gid))
            return i;
    return NO_SIDE;
}

/* Whether the side `side` sends messages of the kind `attribute` in the connection. The client
 * sends REQs, the server sends REPs. If `sidr` of the connection is set, the client sends SIDR_REQs
 * and the server sends SIDR_REPs instead. Messages of all other kinds may come from both sides. */
static bool
is_sent_by(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute)
{
    static const struct {
        uint8_t attribute;
        bool sidr;
        uint8_t side;
    } senders[] = {
        {SMCR_IB_CM_REQ, false, SMCR_CM_CLIENT},
        {SMCR_IB_CM_REP, false, SMCR_CM_SERVER},
        {SMCR_IB_CM_SIDR_REQ, true, SMCR_CM_CLIENT},
        {SMCR_IB_CM_SIDR_REP, true, SMCR_CM_SERVER},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(senders); i++)
        if (senders[i].attribute == attribute)
            return senders[i].sidr == conn->sidr && senders[i].side == side;
    return true;
}

uint32_t
smcr_cm_first_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute)
{
    if (attribute < SMCR_IB_CM_REQ || attribute > SMCR_IB_CM_SIDR_REP)
        return 0;
    return is_sent_by(conn, side, attribute) ? conn->first[side][kind_of(attribute)].frame : 0;
}
