/* Fuzzes the connections of the communication management: messages between three hosts whose few
 * IDs, transactions and queue pairs are used again all the time, against a model that remembers
 * every message; and any bytes as a MAD.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/peers/rdma.h"
#include "input.h"
#include "wire/wire.h"

#define STEPS_MAX 256
#define HOSTS 3
#define NUMBERS 5 /* of IDs, transactions, queue pairs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    uint8_t source, target; /* hosts */
    smcr_cm_message_t message;
} sent_t;

typedef struct {
    smcr_cm_t *cm;
    uint32_t count; /* of messages; frames are numbered from 1 */
    sent_t sent[STEPS_MAX + 1];
    uint32_t conn_count;
    struct {
        const smcr_cm_conn_t *conn;
        bool known[2];
        uint8_t states[2];
    } conns[STEPS_MAX];
} model_t;

static const uint8_t *
gid_of(unsigned host)
{
    static const uint8_t gids[HOSTS][SMCR_GID_LENGTH] = {{[15] = 1}, {[15] = 2}, {[0] = 0xfd}};

    return gids[host];
}

/* Two messages of the same members have the same digest, others not. */
static uint32_t
digest_of(const smcr_cm_message_t *message)
{
    uint32_t values[] = {message->attribute, (uint32_t)message->tid, message->local_id,
                         message->remote_id, message->qpn + message->remote_qpn,
                         message->answered, message->reason % 5U};
    uint32_t digest = 0;

    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        digest = digest * (i == 0 ? 1 : 6) + values[i];
    return digest;
}

static void
make_message(smcr_cm_message_t *message, input_t *input)
{
    static const uint16_t reasons[] = {4, 10, 28};
    bool pair;

    *message = (smcr_cm_message_t){
        .attribute = (uint8_t)(SMCR_IB_CM_REQ + input_pick(input, 11)),
        .local_id = input_pick(input, NUMBERS),
        .tid = input_pick(input, NUMBERS),
    };
    pair = message->attribute > SMCR_IB_CM_REQ && message->attribute != SMCR_IB_CM_SIDR_REQ &&
           message->attribute != SMCR_IB_CM_SIDR_REP;
    message->remote_id = pair ? input_pick(input, NUMBERS) : 0;
    unsigned number = input_pick(input, NUMBERS);
    if (message->attribute == SMCR_IB_CM_MRA || message->attribute == SMCR_IB_CM_REJ)
        message->answered = (uint8_t)(number & 3);
    if (message->attribute == SMCR_IB_CM_REJ)
        message->reason = reasons[message->tid % 3];
    message->has_psn = message->attribute == SMCR_IB_CM_REQ || message->attribute == SMCR_IB_CM_REP;
    message->has_qpn = number && (message->has_psn || message->attribute == SMCR_IB_CM_SIDR_REP);
    message->qpn = message->has_qpn ? number : 0;
    message->has_remote_qpn = number && message->attribute == SMCR_IB_CM_DREQ;
    message->remote_qpn = message->has_remote_qpn ? number : 0;
    message->digest = digest_of(message);
}

/* The next message: a new one, one of before, or any bytes. Returns whether there is one. */
static bool
next(model_t *model, input_t *input, sent_t *sent)
{
    unsigned how = input_pick(input, 16);

    if (how == 0) {
        input_t bytes = input_part(input, input_byte(input));
        sent->source = (uint8_t)input_pick(input, HOSTS);
        sent->target = (uint8_t)input_pick(input, HOSTS);
        return smcr_cm_message_parse(&sent->message, bytes.bytes, bytes.left);
    }
    uint32_t back = 1 + input_byte(input);
    if (how < 5 && back <= model->count) {
        *sent = model->sent[model->count + 1 - back];
        return true;
    }
    sent->source = (uint8_t)(back % HOSTS);
    sent->target = (uint8_t)(back / HOSTS % 8 == 0 ? sent->source : (sent->source + 1) % HOSTS);
    if (back & 0x80) {
        uint8_t swap = sent->source;
        sent->source = sent->target;
        sent->target = swap;
    }
    make_message(&sent->message, input);
    return true;
}

/* ---- what has to hold ---- */

/* Indices count connections; each names one. */
static void
check_conn(model_t *model, const smcr_cm_conn_t *conn)
{
    require(conn->index <= model->conn_count);
    if (conn->index == model->conn_count)
        model->conns[model->conn_count++].conn = conn;
    require(model->conns[conn->index].conn == conn);
}

static void
check_ends(const sent_t *sent, const smcr_cm_verdict_t *verdict)
{
    const smcr_cm_conn_t *conn = verdict->conn;
    const smcr_cm_end_t *end = &conn->ends[verdict->sender], *other = &conn->ends[!verdict->sender];
    const smcr_cm_message_t *message = &sent->message;
    bool reply = message->attribute == SMCR_IB_CM_SIDR_REP;
    uint32_t own_id = reply ? 0 : message->local_id;
    uint32_t other_id = reply ? message->local_id : message->remote_id;

    require(memcmp(end->gid, gid_of(sent->source), SMCR_GID_LENGTH) == 0);
    require(memcmp(other->gid, gid_of(sent->target), SMCR_GID_LENGTH) == 0);
    require(conn->ends[0].side == 0 && conn->ends[1].side == 1);
    require(conn->sidr == (reply || message->attribute == SMCR_IB_CM_SIDR_REQ));
    if (!verdict->retransmission_of) {
        require(!own_id || end->id == own_id);
        require(!other_id || other->id == other_id);
    }
    if (message->attribute == SMCR_IB_CM_REQ || message->attribute == SMCR_IB_CM_SIDR_REQ)
        require(verdict->sender == SMCR_CM_CLIENT && conn->roles_known);
    if (message->attribute == SMCR_IB_CM_REP || reply)
        require(verdict->sender == SMCR_CM_SERVER || !conn->roles_known);
}

static void
check_repeat(const model_t *model, const sent_t *sent, const smcr_cm_verdict_t *verdict)
{
    const sent_t *before = &model->sent[verdict->retransmission_of];

    if (!verdict->retransmission_of)
        return;
    require(verdict->retransmission_of < model->count);
    require(!verdict->unexpected_sent && !verdict->unexpected_received);
    require(before->source == sent->source && before->target == sent->target);
    require(before->message.digest == sent->message.digest);
    require(before->message.attribute == sent->message.attribute);
    require(before->message.tid == sent->message.tid);
    require(smcr_cm_first_frame(verdict->conn, verdict->sender, sent->message.attribute) ==
                verdict->retransmission_of || sent->message.attribute >= SMCR_IB_CM_LAP);
}

/* What is known stays known; what does not arrive changes nothing at the receiver. */
static void
check_states(model_t *model, const smcr_cm_verdict_t *verdict, bool received)
{
    const smcr_cm_conn_t *conn = verdict->conn;
    unsigned receiver = !verdict->sender;
    bool *known = model->conns[conn->index].known;
    uint8_t *states = model->conns[conn->index].states;

    require(received || !verdict->unexpected_received);
    require(received || known[receiver] == verdict->known[receiver]);
    require(received || states[receiver] == verdict->states[receiver]);
    for (unsigned i = 0; i < 2; i++) {
        require(verdict->known[i] || (!known[i] && verdict->states[i] == 0));
        require(verdict->states[i] < SMCR_IB_CM_STATE_COUNT);
        require(verdict->states[i] != SMCR_IB_CM_STATE_LISTEN);
        require(verdict->known[i] == conn->ends[i].state_known);
        require(verdict->states[i] < SMCR_IB_CM_STATE_SIDR_REQ_SENT || conn->sidr);
        known[i] = verdict->known[i];
        states[i] = verdict->states[i];
    }
}

static const smcr_cm_conn_t *
find_by_qp(const model_t *model, const uint8_t *gid, uint32_t qpn)
{
    smcr_ib_qp_key_t key = {.qpn = qpn};

    memcpy(key.gid, gid, SMCR_GID_LENGTH);
    return smcr_cm_find_by_qp(model->cm, &key, (smcr_ib_network_t){0});
}

static void
check_queue_pairs(const model_t *model)
{
    for (unsigned host = 0; host < HOSTS; host++)
        for (uint32_t qpn = 0; qpn < NUMBERS; qpn++) {
            const smcr_cm_conn_t *conn = find_by_qp(model, gid_of(host), qpn);
            require(!conn || smcr_cm_side_of_qp(conn, gid_of(host), qpn) >= 0);
        }
}

static void
step(model_t *model, input_t *input)
{
    uint32_t frame = model->count + 1;
    sent_t *sent = &model->sent[frame];
    bool received = input_pick(input, 8) != 0;

    if (!next(model, input, sent))
        return;
    smcr_cm_packet_t packet = {.when = {frame, frame}, .source = gid_of(sent->source),
                               .target = gid_of(sent->target), .message = &sent->message,
                               .has_good_icrc = received};
    model->count = frame;
    smcr_cm_verdict_t verdict = smcr_cm_judge(model->cm, &packet);
    if (!verdict.conn) {
        require(!sent->message.local_id && !verdict.retransmission_of);
        return;
    }
    check_conn(model, verdict.conn);
    check_ends(sent, &verdict);
    check_repeat(model, sent, &verdict);
    check_states(model, &verdict, received);
    if (sent->message.has_qpn && !verdict.retransmission_of)
        require(find_by_qp(model, packet.source, sent->message.qpn) == verdict.conn);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    input_t input = {data, size};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);

    memset(model.conns, 0, sizeof model.conns);
    model.count = model.conn_count = 0;
    model.cm = smcr_cm_new(scope);
    while (input.left > 0 && model.count < STEPS_MAX)
        step(&model, &input);
    check_queue_pairs(&model);
    wmem_destroy_allocator(scope);
    return 0;
}
