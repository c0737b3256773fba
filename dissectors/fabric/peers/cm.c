/* Finds the connection of a message, by tables of communication IDs and of queue pairs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm.h"

#define NO_SIDE (-1)

struct smcr_cm {
    wmem_allocator_t *scope;
    uint32_t count;  /* of connections */
    GHashTable *ids; /* newest end with an ID, between two GIDs */
    GHashTable *qps; /* newest end with a queue pair */
};

/* A message, and who sends it. */
typedef struct {
    const smcr_cm_packet_t *packet;
    const smcr_cm_message_t *message;
    smcr_cm_event_t event;
    uint32_t own_id, other_id; /* of the sender, of the receiver; 0: not told */
    bool sidr;
    int role;                  /* of the sender: enum smcr_cm_side, or NO_SIDE: not told */
} sending_t;

/* ---- tables ---- */

/* They keep pointers only, which is what a million connections can afford, and compare what they
 * point to. While an end is in a table, what tells it from others must not change. */

/* The connection of an end, and its other end. Like strchr(), they take what is const, too. */
static smcr_cm_conn_t *
conn_of(const smcr_cm_end_t *end)
{
    uintptr_t client = (uintptr_t)(end - end->side);

    return (smcr_cm_conn_t *)(client - offsetof(smcr_cm_conn_t, ends));
}

static smcr_cm_end_t *
peer_of(const smcr_cm_end_t *end)
{
    return &conn_of(end)->ends[!end->side];
}

static guint
hash_id(gconstpointer key)
{
    const smcr_cm_end_t *end = key;
    guint of_peer = smcr_wire_hash(peer_of(end)->gid, SMCR_GID_LENGTH);

    return (smcr_wire_hash(end->gid, SMCR_GID_LENGTH) * 31 + of_peer) * 31 + end->id;
}

static gboolean
equal_ids(gconstpointer one_key, gconstpointer other_key)
{
    const smcr_cm_end_t *one = one_key, *other = other_key;

    return one->id == other->id && conn_of(one)->sidr == conn_of(other)->sidr &&
           smcr_gid_is_same(one->gid, other->gid) &&
           smcr_gid_is_same(peer_of(one)->gid, peer_of(other)->gid);
}

SMCR_WIRE_KEY(hash_qp, equal_qps, offsetof(smcr_cm_end_t, id))

smcr_cm_t *
smcr_cm_new(wmem_allocator_t *scope)
{
    smcr_cm_t *cm = wmem_new0(scope, smcr_cm_t);

    cm->scope = scope;
    cm->ids = smcr_slab_table(scope, hash_id, equal_ids);
    cm->qps = smcr_slab_table(scope, hash_qp, equal_qps);
    return cm;
}

/* The end at `gid` that has an ID towards `peer`; NULL: there is none, nor has any the ID 0. */
static smcr_cm_end_t *
find_id(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH],
        const uint8_t peer[SMCR_GID_LENGTH], uint32_t id, bool sidr)
{
    smcr_cm_conn_t probe = {.sidr = sidr, .ends = {{.id = id}, {.side = 1}}};

    memcpy(probe.ends[0].gid, gid, SMCR_GID_LENGTH);
    memcpy(probe.ends[1].gid, peer, SMCR_GID_LENGTH);
    return id ? g_hash_table_lookup(cm->ids, &probe.ends[0]) : NULL;
}

/* The end at `gid` that has a queue pair; NULL: there is none. */
static smcr_cm_end_t *
find_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    smcr_cm_end_t probe = {.qpn = qpn};

    memcpy(probe.gid, gid, SMCR_GID_LENGTH);
    return g_hash_table_lookup(cm->qps, &probe);
}

/* Takes this very end out, if it is in the table. */
static void
remove_end(GHashTable *table, smcr_cm_end_t *end)
{
    if (g_hash_table_lookup(table, end) == end)
        g_hash_table_remove(table, end);
}

/* From now on the ID names this end. */
static void
take_id(smcr_cm_t *cm, smcr_cm_end_t *end, uint32_t id)
{
    if (!id || end->id == id)
        return;
    if (end->id)
        remove_end(cm->ids, end);
    end->id = id;
    g_hash_table_add(cm->ids, end);
}

static void
take_qp(smcr_cm_t *cm, smcr_cm_end_t *end, uint32_t qpn)
{
    if (end->qpn_known)
        remove_end(cm->qps, end);
    end->qpn = qpn;
    end->qpn_known = true;
    g_hash_table_add(cm->qps, end);
}

/* ---- which connection ---- */

#define EVENT(name) (UINT32_C(1) << SMCR_CM_EVENT_##name)
#define BY_CLIENT (EVENT(REQ) | EVENT(RTU) | EVENT(MRA_REP) | EVENT(REJ_REP) | \
                   EVENT(STALE_REP) | EVENT(SIDR_REQ))
#define BY_SERVER (EVENT(REP) | EVENT(MRA_REQ) | EVENT(REJ_REQ) | EVENT(STALE_REQ) | \
                   EVENT(SIDR_REP))

static sending_t
sending_of(const smcr_cm_packet_t *packet)
{
    const smcr_cm_message_t *message = packet->message;
    bool answer = message->attribute == SMCR_IB_CM_SIDR_REP; /* it names the ID of the request */
    sending_t sending = {
        .packet = packet,
        .message = message,
        .event = smcr_cm_event_of(message),
        .own_id = answer ? 0 : message->local_id,
        .other_id = answer ? message->local_id : message->remote_id,
        .sidr = answer || message->attribute == SMCR_IB_CM_SIDR_REQ,
    };

    sending.role = BY_CLIENT >> sending.event & 1   ? SMCR_CM_CLIENT
                   : BY_SERVER >> sending.event & 1 ? SMCR_CM_SERVER
                                                    : NO_SIDE;
    return sending;
}

static bool
is_request(const sending_t *sending)
{
    return sending->event == SMCR_CM_EVENT_REQ || sending->event == SMCR_CM_EVENT_SIDR_REQ;
}

/* It has the transaction ID of the REQ. */
static bool
is_same_transaction(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    return conn->tid_known && conn->tid == sending->message->tid;
}

static bool
has_state(const smcr_cm_end_t *end, unsigned state)
{
    return end->state_known && end->state == state;
}

/* A REP with another ID than one before: the client may not have taken the former. */
static bool
is_new_answer(const smcr_cm_conn_t *conn, const sending_t *sending)
{
    const smcr_cm_end_t *client = &conn->ends[SMCR_CM_CLIENT];

    return sending->event == SMCR_CM_EVENT_REP && is_same_transaction(conn, sending) &&
           (has_state(client, SMCR_IB_CM_STATE_REQ_SENT) ||
            has_state(client, SMCR_IB_CM_STATE_MRA_REQ_RCVD));
}

/* Whether the end may be who sends: by the IDs that the message names. */
static bool
fits(smcr_cm_end_t *end, const sending_t *sending, bool exactly)
{
    const smcr_cm_conn_t *conn = conn_of(end);
    uint32_t own = end->id, other = peer_of(end)->id;

    bool certain = conn->roles_known || sending->event == SMCR_CM_EVENT_REP;

    if (certain && sending->role != NO_SIDE && sending->role != (int)end->side)
        return false;
    if (own == sending->own_id && other == sending->other_id)
        return true;
    if (exactly)
        return false;
    if (other && sending->other_id && other != sending->other_id)
        return false;
    if (own && sending->own_id && own != sending->own_id)
        return is_new_answer(conn, sending);
    if (!conn->tid_known || is_same_transaction(conn, sending))
        return true;
    bool answer = sending->event == SMCR_CM_EVENT_REP || sending->event == SMCR_CM_EVENT_SIDR_REP;
    return !answer && !has_state(&conn->ends[0], SMCR_IB_CM_STATE_IDLE);
}

/* Which of two ends of different connections sends. An ID that a newer connection has is no longer
 * that of the older one, unless both IDs and the transaction ID are. */
static smcr_cm_end_t *
more_likely(smcr_cm_end_t *newer, smcr_cm_end_t *older, const sending_t *sending)
{
    if (!fits(newer, sending, false))
        return fits(older, sending, false) ? older : NULL;
    if (fits(older, sending, true) && is_same_transaction(conn_of(older), sending) &&
        !is_same_transaction(conn_of(newer), sending))
        return older;
    return newer;
}

/* The end that sends a message other than a request; NULL: its connection is not known. */
static smcr_cm_end_t *
find_sender(const smcr_cm_t *cm, const sending_t *sending)
{
    const uint8_t *source = sending->packet->source, *target = sending->packet->target;
    smcr_cm_end_t *receiver = find_id(cm, target, source, sending->other_id, sending->sidr);
    smcr_cm_end_t *one = receiver ? peer_of(receiver) : NULL;
    smcr_cm_end_t *other = find_id(cm, source, target, sending->own_id, sending->sidr);

    if (!one || !other || one == other) {
        one = one ? one : other;
        return one && fits(one, sending, false) ? one : NULL;
    }
    if (conn_of(one)->index > conn_of(other)->index)
        return more_likely(one, other, sending);
    return more_likely(other, one, sending);
}

/* Index in smcr_cm_conn_t.first; REQ and REP of SIDR are in the place of the others. */
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

/* The end is neither established nor has it ended. */
static bool
is_opening(const smcr_cm_end_t *end)
{
    return !end->state_known ||
           (end->state != SMCR_IB_CM_STATE_IDLE && end->state < SMCR_IB_CM_STATE_ESTABLISHED);
}

/* The end that has sent this very REQ before, or whose REQ the capture lacked until now. */
static smcr_cm_end_t *
find_requester(const smcr_cm_t *cm, const sending_t *sending)
{
    const smcr_cm_packet_t *packet = sending->packet;
    smcr_cm_end_t *end =
        find_id(cm, packet->source, packet->target, sending->own_id, sending->sidr);

    if (!end || !conn_of(end)->roles_known || end->side != SMCR_CM_CLIENT)
        return NULL;
    const smcr_cm_conn_t *conn = conn_of(end);
    const smcr_cm_first_t *first = &conn->first[0][kind_of(sending->message->attribute)];

    if (first->frame)
        return first->digest == sending->message->digest ? end : NULL;
    bool opening = is_opening(end) && is_opening(peer_of(end));
    return opening && is_same_transaction(conn, sending) ? end : NULL;
}

/* A new connection; returns its end that sends. */
static smcr_cm_end_t *
begin(smcr_cm_t *cm, const sending_t *sending)
{
    smcr_cm_conn_t *conn = wmem_new0(cm->scope, smcr_cm_conn_t);
    int side = sending->role == SMCR_CM_SERVER ? SMCR_CM_SERVER : SMCR_CM_CLIENT;

    conn->index = cm->count++;
    conn->sidr = sending->sidr;
    conn->roles_known = sending->role != NO_SIDE;
    conn->ends[1].side = 1;
    memcpy(conn->ends[side].gid, sending->packet->source, SMCR_GID_LENGTH);
    memcpy(conn->ends[!side].gid, sending->packet->target, SMCR_GID_LENGTH);
    return &conn->ends[side];
}

/* ---- what a message tells ---- */

/* A DREQ takes a queue pair from no connection but one that has ended. */
static void
learn_remote_qpn(smcr_cm_t *cm, smcr_cm_end_t *other, uint32_t qpn)
{
    const smcr_cm_end_t *owner = find_qp(cm, other->gid, qpn);

    if (other->qpn_known)
        return;
    if (!owner || has_state(owner, SMCR_IB_CM_STATE_TIMEWAIT) ||
        has_state(owner, SMCR_IB_CM_STATE_IDLE)) {
        take_qp(cm, other, qpn);
    } else {
        other->qpn = qpn;
        other->qpn_known = true;
    }
}

/* The numbers of the sender's queue pair, and those that it gives the receiver to send with. */
static void
learn_ends(smcr_cm_t *cm, smcr_cm_end_t *end, smcr_cm_end_t *other,
           const smcr_cm_message_t *message)
{
    if (message->has_qpn)
        take_qp(cm, end, message->qpn);
    if (message->has_psn) {
        other->psn = message->starting_psn;
        other->psn_known = true;
    }
    if (message->has_remote_qpn)
        learn_remote_qpn(cm, other, message->remote_qpn);
}

static void
learn(smcr_cm_t *cm, smcr_cm_end_t *end, const sending_t *sending)
{
    const smcr_cm_message_t *message = sending->message;
    smcr_cm_conn_t *conn = conn_of(end);
    smcr_cm_end_t *other = peer_of(end);

    if (sending->role == (int)end->side)
        conn->roles_known = true;
    if (sending->role != NO_SIDE && !conn->tid_known) {
        conn->tid_known = true;
        conn->tid = message->tid;
    }
    if (end->id && sending->own_id && end->id != sending->own_id) /* it has begun anew */
        end->state_known = false;
    take_id(cm, end, sending->own_id);
    take_id(cm, other, sending->other_id);
    learn_ends(cm, end, other, message);
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

/* ---- messages ---- */

/* Linux drops a DREQ that names another queue pair than the receiver's. */
static bool
names_other_qp(const smcr_cm_end_t *receiver, const smcr_cm_message_t *message)
{
    return message->attribute == SMCR_IB_CM_DREQ && message->has_remote_qpn &&
           receiver->qpn_known && receiver->qpn != message->remote_qpn;
}

static void
take_first(smcr_cm_end_t *end, smcr_cm_end_t *other, const sending_t *sending,
           smcr_cm_verdict_t *verdict)
{
    smcr_cm_move_t sent = smcr_cm_end_sends(end, sending->event);

    verdict->unexpected_sent = sent == SMCR_CM_UNEXPECTED;
    if (!sending->packet->received)
        return;
    if (names_other_qp(other, sending->message))
        verdict->unexpected_received = true;
    else if (smcr_cm_end_receives(other, sending->event) == SMCR_CM_UNEXPECTED)
        verdict->unexpected_received = sent != SMCR_CM_CROSSED;
}

smcr_cm_verdict_t
smcr_cm_take(smcr_cm_t *cm, const smcr_cm_packet_t *packet)
{
    sending_t sending = sending_of(packet);
    const smcr_cm_message_t *message = packet->message;
    smcr_cm_verdict_t verdict = {.conn = NULL};

    if (!sending.own_id && (!sending.other_id || is_request(&sending)))
        return verdict; /* it names nobody */
    smcr_cm_end_t *known = is_request(&sending) ? find_requester(cm, &sending)
                                                : find_sender(cm, &sending);
    smcr_cm_end_t *end = known ? known : begin(cm, &sending);
    smcr_cm_conn_t *conn = verdict.conn = conn_of(end);
    smcr_cm_end_t *other = peer_of(end);
    smcr_cm_first_t *first = &conn->first[end->side][kind_of(message->attribute)];

    if (first->frame && first->digest == message->digest) {
        verdict.repeat_of = first->frame;
        smcr_cm_end_sends_again(end, sending.event);
        if (packet->received && !names_other_qp(other, message))
            smcr_cm_end_receives(other, sending.event);
    } else {
        learn(cm, end, &sending);
        take_first(end, other, &sending, &verdict);
        *first = (smcr_cm_first_t){packet->when.frame, message->digest};
    }
    verdict.attribute = message->attribute;
    verdict.status = message->status;
    verdict.reason = message->reason;
    verdict.sender = end->side;
    for (unsigned i = 0; i < G_N_ELEMENTS(conn->ends); i++) {
        verdict.known[i] = conn->ends[i].state_known;
        verdict.states[i] = verdict.known[i] ? conn->ends[i].state : 0;
    }
    return verdict;
}

/* ---- questions ---- */

smcr_cm_conn_t *
smcr_cm_of_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    smcr_cm_end_t *end = find_qp(cm, gid, qpn);

    return end ? conn_of(end) : NULL;
}

int
smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    for (int i = 0; i < 2; i++)
        if (conn->ends[i].qpn_known && conn->ends[i].qpn == qpn &&
            smcr_gid_is_same(conn->ends[i].gid, gid))
            return i;
    return NO_SIDE;
}

uint32_t
smcr_cm_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute)
{
    bool request = attribute == SMCR_IB_CM_REQ || attribute == SMCR_IB_CM_SIDR_REQ;
    bool reply = attribute == SMCR_IB_CM_REP || attribute == SMCR_IB_CM_SIDR_REP;
    bool sidr = attribute == SMCR_IB_CM_SIDR_REQ || attribute == SMCR_IB_CM_SIDR_REP;

    if (attribute < SMCR_IB_CM_REQ || attribute > SMCR_IB_CM_SIDR_REP)
        return 0;
    if ((request || reply) && (conn->sidr != sidr || side != (reply ? 1 : 0)))
        return 0;
    return conn->first[side][kind_of(attribute)].frame;
}
