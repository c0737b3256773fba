/* Fuzzes the RDMA connections of a capture: packets and messages of communication management
 * between three hosts, whose few queue pairs, ports and PSNs are used again all the time, against a
 * model that remembers every packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/peers/rdma.h"
#include "input.h"
#include "wire/wire.h"

#define STEPS_MAX 512
#define HOSTS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    smcr_rdma_t *rdma;
    wmem_allocator_t *scope;
    smcr_slab_t slab;
    uint32_t count; /* of packets and messages; frames are numbered from 1 */
    struct {
        const smcr_rdma_flow_t *flow; /* NULL: it is a message */
        uint32_t psn;
        uint8_t opcode;
        bool complete; /* a response has said so */
    } sent[STEPS_MAX + 1];
    const smcr_rdma_flow_t *flows[STEPS_MAX]; /* by index */
} model_t;

/* Linux gives the port 0xc121 to two queue pairs 0x11, and 0xc242 to 0x11 and 0x22. */
static const uint32_t qpns[] = {0x11, 0x22, 0x12, 0x23};
static const uint16_t ports[] = {0xc242, 0xc242, 0xc121, 0xd001, 0xd001, 0xd001, 0xd002, 0};
static const uint8_t opcodes[] = {
    SMCR_RC_SEND_ONLY,   SMCR_RC_SEND_ONLY, SMCR_RC_SEND_FIRST, SMCR_RC_SEND_LAST,
    SMCR_RC_ACK,         SMCR_RC_ACK,       SMCR_RC_ACK,        SMCR_RC_READ_REQUEST,
    SMCR_RC_READ_RESPONSE_ONLY,             SMCR_IB_CNP,
    SMCR_UC_SEND_ONLY,            SMCR_UD_SEND_ONLY,  SMCR_RC_ACK,
};

static const uint8_t *
gid_of(unsigned host)
{
    static const uint8_t gids[HOSTS][SMCR_GID_LENGTH] = {{[15] = 1}, {[15] = 2}, {[0] = 0xfd}};

    return gids[host];
}

/* ---- what has to hold ---- */

static void
check_source(const smcr_rdma_flow_t *flow)
{
    require(!flow->several_sources || flow->ground != SMCR_GROUND_DETH);
    require(!flow->peer || flow->ground != SMCR_GROUND_NONE);
    switch (flow->ground) {
    case SMCR_GROUND_NONE:
    case SMCR_GROUND_DETH:
        break;
    case SMCR_GROUND_PORT:
        require(flow->pair && flow->peer && flow->port == flow->peer->port);
        break;
    default:
        require(flow->ground == SMCR_GROUND_CM && flow->conn && !flow->pair);
    }
}

static void
check_peer(const smcr_rdma_flow_t *flow)
{
    const smcr_rdma_flow_t *peer = flow->peer;

    if (!peer)
        return;
    require(peer->peer == flow && peer->ground == flow->ground);
    require(peer->conn == flow->conn || flow->ground != SMCR_GROUND_CM);
    require(flow->src_qpn == peer->key.target.qpn && peer->src_qpn == flow->key.target.qpn);
    require(memcmp(flow->key.source, peer->key.target.gid, SMCR_GID_LENGTH) == 0);
    require(memcmp(peer->key.source, flow->key.target.gid, SMCR_GID_LENGTH) == 0);
    require(flow->traffic && peer->traffic);
}

static void
check_flow(model_t *model, const smcr_rdma_flow_t *flow, const smcr_ib_headers_t *roce)
{
    require(flow == smcr_rdma_find(model->rdma, roce));
    require(memcmp(flow->key.source, roce->source, SMCR_GID_LENGTH) == 0);
    require(memcmp(&flow->key.target, &roce->destination, sizeof roce->destination) == 0);
    require(flow->index < STEPS_MAX);
    require(!model->flows[flow->index] || model->flows[flow->index] == flow);
    model->flows[flow->index] = flow;
    check_source(flow);
    check_peer(flow);
}

/* A packet of before belongs to the same flow. */
static void
check_verdict(const model_t *model, const smcr_rdma_flow_t *flow,
              const smcr_flow_verdict_t *verdict)
{
    uint32_t frame = verdict->first.frame;

    require(frame <= model->count);
    require(!frame || model->sent[frame].flow == flow);
}

/* A message that `answer` to the peer completes: an ACK does not bring the data of a READ. A SEND
 * is complete once. So is a READ on a real wire, but here two responses may say that they are its
 * only one, when its PSNs become more with the path MTU between them. */
static void
check_complete(model_t *model, const smcr_rdma_flow_t *flow, uint8_t answer, uint32_t frame)
{
    uint8_t opcode = model->sent[frame].opcode;

    require(frame && frame < model->count && model->sent[frame].flow == flow->peer);
    bool fetch = smcr_ib_operations[opcode].fetches_data;
    require(fetch ? answer != SMCR_RC_ACK : smcr_ib_operations[opcode].begins);
    require(fetch || !model->sent[frame].complete);
    model->sent[frame].complete = true;
}

/* A request that a response speaks of belongs to the peer. */
static void
check_answer(model_t *model, const smcr_rdma_flow_t *flow, const smcr_traffic_answer_t *answer)
{
    uint32_t frame =
        answer->acked_request.frame ? answer->acked_request.frame : answer->refused_request.frame;

    require(!frame || model->sent[frame].flow == flow->peer);
    for (const smcr_completion_t *message = answer->completes; message;
         message = smcr_completion_next(message))
        check_complete(model, flow, model->sent[model->count].opcode, message->frame);
}

/* ---- packets ---- */

static void
judge(model_t *model, smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    smcr_traffic_t *reverse = smcr_rdma_reverse(flow);

    if (!flow->traffic || packet->opcode >= SMCR_RD)
        return;
    if (smcr_ib_operations[packet->opcode].is_response && reverse) {
        smcr_traffic_answer_t answer = smcr_traffic_read_response(reverse, &model->slab, packet);
        check_answer(model, flow, &answer);
    }
    smcr_flow_verdict_t verdict = smcr_traffic_judge(flow->traffic, reverse, model->scope, packet);
    check_verdict(model, flow, &verdict);
}

static void
send_packet(model_t *model, unsigned from, unsigned to, uint32_t qpn, input_t *input)
{
    uint8_t how = input_byte(input), what = input_byte(input);
    uint32_t frame = ++model->count;
    smcr_sent_t packet = {
        .when = {frame, frame},
        .opcode = opcodes[(what & 0x0f) % sizeof opcodes],
        .has_aeth = true,
        .syndrome = what & 0x10 ? 0x60 : 0x1f,
        .psn = (what & 0x80 ? 0x700000 : 0xfffffe) + (what >> 5 & 3) + (how >> 6),
        .payload_length = 256,
        .dma_length = 1024,
        .ip_id = how & 0x20 ? (int32_t)frame : 1,
    };
    smcr_ib_headers_t roce = {
        .destination.qpn = qpn,
        .opcode = packet.opcode,
        .src_qpn = qpns[how >> 3 & 3],
        .has_src_qpn = packet.opcode == SMCR_UD_SEND_ONLY,
        .udp_port = ports[how & 7],
    };

    packet.psn &= SMCR_PSN_MASK;
    memcpy(roce.source, gid_of(from), SMCR_GID_LENGTH);
    memcpy(roce.destination.gid, gid_of(to), SMCR_GID_LENGTH);
    smcr_rdma_flow_t *flow = smcr_rdma_take_packet(model->rdma, &roce, &packet);
    model->sent[frame].flow = flow;
    model->sent[frame].psn = packet.psn;
    model->sent[frame].opcode = packet.opcode;
    model->sent[frame].complete = false;
    check_flow(model, flow, &roce);
    judge(model, flow, &packet);
}

static void
send_message(model_t *model, unsigned from, unsigned to, uint32_t qpn, input_t *input)
{
    static const uint8_t attributes[] = {SMCR_IB_CM_REQ,  SMCR_IB_CM_REP, SMCR_IB_CM_DREQ,
                                         SMCR_IB_CM_REQ,  SMCR_IB_CM_REP, SMCR_IB_CM_SIDR_REP,
                                         SMCR_IB_CM_DREP, SMCR_IB_CM_REJ};
    uint8_t how = input_byte(input);
    bool server = (from > to) != ((how & 0x80) != 0);
    uint32_t id = 1 + (how >> 3 & 1U), frame = ++model->count;
    smcr_cm_message_t message = {
        .attribute = attributes[how & 7],
        .tid = how >> 4 & 1,
        .local_id = server ? id + 2 : id,
        .remote_id = server ? id : id + 2,
        .digest = how,
        .qpn = qpn,
        .remote_qpn = qpn,
        .starting_psn = how & 0x20 ? 0xfffffe : 0x700000,
    };
    smcr_cm_packet_t packet = {.when = {frame, frame}, .source = gid_of(from), .target = gid_of(to),
                               .message = &message, .has_good_icrc = true};

    message.has_psn = message.attribute == SMCR_IB_CM_REQ || message.attribute == SMCR_IB_CM_REP;
    message.has_qpn = message.has_psn || message.attribute == SMCR_IB_CM_SIDR_REP;
    message.has_remote_qpn = message.attribute == SMCR_IB_CM_DREQ;
    model->sent[frame].flow = NULL;
    smcr_rdma_take_cm(model->rdma, &packet);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    input_t input = {data, size};

    memset(model.flows, 0, sizeof model.flows);
    model.count = 0;
    model.scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    model.slab = (smcr_slab_t){.scope = model.scope};
    model.rdma = smcr_rdma_new(model.scope);
    while (input.left > 0 && model.count < STEPS_MAX) {
        uint8_t how = input_byte(&input);
        unsigned from = how & 0x40 ? how % HOSTS : how & 1;
        unsigned to = how & 0x40 ? how / HOSTS % HOSTS : !(how & 1);
        void (*send)(model_t *, unsigned, unsigned, uint32_t, input_t *) =
            (how & 0x38) == 0 ? send_message : send_packet;
        send(&model, from, to, qpns[how >> 1 & 3], &input);
    }
    wmem_destroy_allocator(model.scope);
    return 0;
}
