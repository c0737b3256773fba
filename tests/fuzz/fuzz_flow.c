/* Fuzzes the order of packets: requests and responses of two flows in any order, some with wrong
 * ICRCs, against a model that remembers every packet and knows what docs/fabric.md allows to say of
 * it, and what responses may say of requests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"
#include "input.h"
#include "wire/wire.h"

#define STEPS_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    smcr_traffic_t traffic[2];
    wmem_allocator_t *scope;
    smcr_slab_t slab;
    uint32_t count; /* of packets; frames are numbered from 1 */
    struct {
        uint8_t flow, opcode;
        uint32_t psn, id;
        uint32_t length; /* READ: of what is read */
        bool corrupt;
        bool complete;   /* a response was said to complete the message that begins with it */
    } sent[STEPS_MAX + 1];
} model_t;

static const uint8_t opcodes[] = {
    SMCR_RC_SEND_ONLY,    SMCR_RC_WRITE_FIRST,         SMCR_RC_WRITE_MIDDLE, SMCR_RC_WRITE_LAST,
    SMCR_RC_READ_REQUEST, SMCR_RC_READ_RESPONSE_FIRST, SMCR_RC_ACK,          SMCR_RC_ACK,
    SMCR_RC_ATOMIC_ACK,   SMCR_UC_WRITE_ONLY,
};

static uint32_t
pick_psn(input_t *input, const smcr_flow_t *flow)
{
    uint32_t highest = (uint32_t)(flow->highest & SMCR_PSN_MASK);

    switch (input_pick(input, 8)) {
    case 0:
        return (highest + input_byte(input)) & SMCR_PSN_MASK;
    case 1:
    case 2:
        return (highest - input_byte(input)) & SMCR_PSN_MASK;
    case 3:
        return input_extreme(input) & SMCR_PSN_MASK;
    default:
        return (highest + 1) & SMCR_PSN_MASK;
    }
}

static bool
is_request(uint8_t opcode)
{
    return !smcr_ib_operations[opcode].is_response;
}

/* A packet that is said to have come before must have had the PSN, in the same flow. */
static void
check_before(const model_t *model, uint8_t from, uint32_t psn, const smcr_flow_verdict_t *verdict)
{
    uint32_t frame = verdict->first.frame;

    if (verdict->order != SMCR_FLOW_IS_RETRANSMISSION && verdict->order != SMCR_FLOW_IS_COPY)
        return;
    require(frame < model->count);
    if (frame == 0) /* forgotten */
        return;
    require(model->sent[frame].flow == from);
    bool read = model->sent[frame].opcode == SMCR_RC_READ_REQUEST;
    uint32_t behind = (psn - model->sent[frame].psn) & SMCR_PSN_MASK;
    require(behind == 0 || (read && behind <= model->sent[frame].length / 256 + 1));
    if (verdict->order == SMCR_FLOW_IS_COPY)
        require(behind == 0 && model->sent[frame].psn == psn &&
                (!model->sent[frame].corrupt || model->sent[model->count].corrupt));
}

/* Absent PSNs are ranges in ascending order, and a bounded number of them. */
static void
check_gaps(const smcr_ranges_t *gaps)
{
    require(gaps->count <= SMCR_FLOW_GAPS_KEPT);
    for (unsigned i = 0; i < gaps->count; i++)
        require(gaps->list[i].from < gaps->list[i].to &&
                (i == 0 || gaps->list[i - 1].to <= gaps->list[i].from));
}

/* What is said of one packet does not contradict itself. */
static void
check_said(const smcr_flow_verdict_t *verdict)
{
    bool late = verdict->order == SMCR_FLOW_IS_LATE;

    require(verdict->missing <= 131072);
    require(!verdict->acked_before || verdict->order == SMCR_FLOW_IS_RETRANSMISSION);
    require((verdict->order == SMCR_FLOW_IS_AFTER_GAP) == (verdict->after_gap_frame != 0));
    require(!verdict->missing || !late);
}

/* A corrupt packet is not received: it changes next to nothing. */
static void
check_corrupt(const smcr_flow_t *flow, const smcr_flow_t *before,
              const smcr_flow_verdict_t *verdict)
{
    require(verdict->receiver_action == SMCR_FLOW_RECEIVER_DROPS &&
            verdict->order != SMCR_FLOW_IS_AFTER_GAP);
    require(!verdict->missing && !verdict->first_good);
    require(flow->first == before->first && flow->expected_psn == before->expected_psn);
    require(flow->acked_psn == before->acked_psn && flow->has_acks == before->has_acks);
    require(flow->mtu == before->mtu && flow->packet_count == before->packet_count);
    require(flow->highest == before->highest || verdict->psn == before->highest + 1);
}

/* A request that a response speaks of: in the other flow, of the same PSN or a READ that has it. */
static void
check_spoken_of(const model_t *model, uint8_t from, uint32_t psn, uint32_t frame)
{
    uint32_t behind = (psn - model->sent[frame].psn) & SMCR_PSN_MASK;
    bool read = model->sent[frame].opcode == SMCR_RC_READ_REQUEST;

    if (frame == 0)
        return;
    require(frame < model->count && model->sent[frame].flow != from);
    require(!smcr_ib_operations[model->sent[frame].opcode].is_response);
    require(behind == 0 || (read && behind <= model->sent[frame].length / 256 + 1));
}

/* What a response says, before it is judged. */
static void
check_answer(model_t *model, uint8_t from, const smcr_sent_t *packet)
{
    smcr_traffic_answer_t answer =
        smcr_traffic_read_response(&model->traffic[!from], &model->slab, packet);

    check_spoken_of(model, from, packet->psn, answer.acked_request.frame);
    check_spoken_of(model, from, packet->psn, answer.refused_request.frame);
    require(!answer.acked_request.frame || !answer.refused_request.frame);
    for (const smcr_completion_t *message = answer.completes; message;
         message = smcr_completion_next(message)) {
        uint32_t frame = message->frame;
        require(frame && frame < model->count && model->sent[frame].flow != from);
        bool fetch = smcr_ib_operations[model->sent[frame].opcode].fetches_data;
        require(fetch || smcr_ib_operations[model->sent[frame].opcode].begins);
        require(!fetch || packet->opcode != SMCR_RC_ACK);
        require(!model->sent[frame].complete);
        model->sent[frame].complete = true;
    }
}

static void
judge(model_t *model, uint8_t from, bool known, const smcr_sent_t *packet)
{
    smcr_traffic_t *traffic = &model->traffic[from], *reverse = &model->traffic[!from];
    const smcr_flow_t *flow = &traffic->flow;
    smcr_flow_t before = *flow, reverse_before = reverse->flow;
    smcr_flow_verdict_t verdict = smcr_traffic_judge(traffic, known ? reverse : NULL, model->scope,
                                                     packet);

    check_before(model, from, packet->psn, &verdict);
    check_said(&verdict);
    if (packet->corrupt) {
        check_corrupt(flow, &before, &verdict);
        require(memcmp(&reverse->flow, &reverse_before, sizeof reverse_before) == 0);
    }
    if (is_request(packet->opcode)) {
        bool told = !packet->corrupt || before.first;
        require(told ? (verdict.psn & SMCR_PSN_MASK) == packet->psn : verdict.psn == 0);
        require(flow->first <= flow->highest + 1 && flow->expected_psn <= flow->highest + 1);
        check_gaps(&flow->gaps);
        require(verdict.receiver_action != SMCR_FLOW_RECEIVER_TAKES ||
                flow->expected_psn == verdict.psn + 1);
    }
}

static void
step(model_t *model, input_t *input)
{
    uint8_t from = (uint8_t)input_pick(input, 2);
    uint8_t opcode = opcodes[input_pick(input, sizeof opcodes)];
    smcr_flow_t *flow = &model->traffic[from].flow, *reverse = &model->traffic[!from].flow;
    uint8_t how = input_byte(input);
    bool known = how % 16 != 0;
    uint32_t frame = ++model->count;
    uint32_t again = input_pick(input, 4) == 0 ? 1 + input_byte(input) : 0;
    smcr_sent_t packet = {
        .when = {frame, frame},
        .opcode = opcode,
        .syndrome = input_byte(input),
        .has_aeth = opcode == SMCR_RC_ACK,
        .psn = pick_psn(input, is_request(opcode) ? flow : reverse),
        .payload_length =
            smcr_ib_operations[opcode].is_first_or_middle ? 256U << input_pick(input, 5) : 0,
        .dma_length = opcode == SMCR_RC_READ_REQUEST ? input_byte(input) * 64U : 0,
        .ip_id = (int32_t)frame,
        .corrupt = how >= 0xe0,
    };

    if (again && again < frame && model->sent[frame - again].flow == from) { /* a copy */
        packet.psn = model->sent[frame - again].psn;
        packet.opcode = model->sent[frame - again].opcode;
        packet.has_aeth = packet.opcode == SMCR_RC_ACK;
        packet.ip_id = (int32_t)model->sent[frame - again].id;
    }
    model->sent[frame].flow = from;
    model->sent[frame].opcode = packet.opcode;
    model->sent[frame].psn = packet.psn;
    model->sent[frame].id = (uint32_t)packet.ip_id;
    model->sent[frame].length = packet.dma_length;
    model->sent[frame].corrupt = packet.corrupt;
    model->sent[frame].complete = false;
    if (known && !packet.corrupt && smcr_ib_operations[packet.opcode].is_response)
        check_answer(model, from, &packet);
    judge(model, from, known, &packet);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    input_t input = {data, size};

    memset(model.traffic, 0, sizeof model.traffic);
    model.count = 0;
    model.scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    model.slab = (smcr_slab_t){.scope = model.scope};
    if (input_pick(&input, 2))
        smcr_flow_announce(&model.traffic[0].flow, input_number(&input, 3));
    while (input.left > 0 && model.count < STEPS_MAX)
        step(&model, &input);
    wmem_destroy_allocator(model.scope);
    return 0;
}
