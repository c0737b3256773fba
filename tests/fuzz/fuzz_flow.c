/* fuzz_flow.c
 * Fuzzes the order of packets: requests and responses of two flows in any order, against a model
 * that remembers every packet and knows what docs/fabric.md allows to say of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"
#include "input.h"
#include "wire/wire.h"

#define STEPS_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    smcr_flow_t flow[2];
    wmem_allocator_t *scope;
    uint32_t count; /* of packets; frames are numbered from 1 */
    struct {
        uint8_t flow, opcode;
        uint32_t psn, id;
        uint32_t length; /* READ: of what is read */
    } sent[STEPS_MAX + 1];
} model_t;

static const uint8_t opcodes[] = {
    SMCR_RC_SEND_ONLY,    SMCR_RC_WRITE_FIRST,         SMCR_RC_WRITE_MIDDLE, SMCR_RC_WRITE_LAST,
    SMCR_RC_READ_REQUEST, SMCR_RC_READ_RESPONSE_FIRST, SMCR_RC_ACK,          SMCR_RC_ACK,
    SMCR_RC_ATOMIC_ACK,   SMCR_UC + SMCR_RC_WRITE_ONLY,
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
    return !smcr_is_response(opcode);
}

/* A packet that is said to have come before must have had the PSN, in the same flow. */
static void
check_before(const model_t *model, uint8_t from, uint32_t psn, const smcr_verdict_t *verdict)
{
    uint32_t frame = verdict->first.frame;

    if (verdict->order != SMCR_PACKET_IS_REPEAT && verdict->order != SMCR_PACKET_IS_COPY)
        return;
    require(frame < model->count);
    if (frame == 0) /* forgotten */
        return;
    require(model->sent[frame].flow == from);
    bool read = model->sent[frame].opcode == SMCR_RC_READ_REQUEST;
    uint32_t behind = (psn - model->sent[frame].psn) & SMCR_PSN_MASK;
    require(behind == 0 || (read && behind <= model->sent[frame].length / 256 + 1));
    if (verdict->order == SMCR_PACKET_IS_COPY)
        require(behind == 0 && model->sent[frame].psn == psn);
}

/* What is said of one packet does not contradict itself. */
static void
check_said(const smcr_verdict_t *verdict)
{
    bool late = verdict->order == SMCR_PACKET_IS_LATE;

    require(verdict->absent <= 131072);
    require(!verdict->taken || verdict->order == SMCR_PACKET_IS_REPEAT);
    require((verdict->order == SMCR_PACKET_IS_BEHIND) == (verdict->gap_frame != 0));
    require(!verdict->absent || !late);
}

static void
step(model_t *model, input_t *input)
{
    uint8_t from = (uint8_t)input_pick(input, 2);
    uint8_t opcode = opcodes[input_pick(input, sizeof opcodes)];
    smcr_flow_t *flow = &model->flow[from], *reverse = &model->flow[!from];
    bool known = input_pick(input, 16) != 0;
    uint32_t frame = ++model->count;
    uint32_t again = input_pick(input, 4) == 0 ? 1 + input_byte(input) : 0;
    smcr_sent_t packet = {
        .when = {frame, frame},
        .opcode = opcode,
        .syndrome = input_byte(input),
        .has_aeth = opcode == SMCR_RC_ACK,
        .psn = pick_psn(input, is_request(opcode) ? flow : reverse),
        .payload_length = smcr_is_full(opcode) ? 256U << input_pick(input, 5) : 0,
        .dma_length = opcode == SMCR_RC_READ_REQUEST ? input_byte(input) * 64U : 0,
        .ip_id = (int32_t)frame,
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
    smcr_verdict_t verdict = smcr_flow_take(flow, known ? reverse : NULL, model->scope, &packet);
    check_before(model, from, packet.psn, &verdict);
    check_said(&verdict);
    if (is_request(packet.opcode)) {
        require((verdict.psn & SMCR_PSN_MASK) == packet.psn);
        require(flow->first <= flow->highest + 1 && flow->in_order <= flow->highest + 1);
        require(flow->gaps.count <= SMCR_GAPS_KEPT);
        require(verdict.fate != SMCR_FATE_TAKE || flow->in_order == verdict.psn + 1);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    input_t input = {data, size};

    memset(model.flow, 0, sizeof model.flow);
    model.count = 0;
    model.scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    if (input_pick(&input, 2))
        smcr_flow_start(&model.flow[0], input_number(&input, 3));
    while (input.left > 0 && model.count < STEPS_MAX)
        step(&model, &input);
    wmem_destroy_allocator(model.scope);
    return 0;
}
