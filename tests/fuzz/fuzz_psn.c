/* fuzz_psn.c
 * Fuzzes the order of packets: PSNs and acknowledgements in any order, against a model that knows
 * what the receiver waits for and every PSN that has come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "input.h"
#include "fabric/psn.h"

#define STEPS_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the receiver must do, told once more in other words. */
typedef struct {
    bool started, acknowledged;
    uint32_t next;
    uint32_t count;
    uint32_t psn[STEPS_MAX]; /* of each frame, from 1 */
} model_t;

static bool
is_before(uint32_t one, uint32_t other)
{
    return ((one - other) & 0xffffffU) >= 0x800000U;
}

static uint32_t
pick_psn(input_t *input, const model_t *model)
{
    switch (input_pick(input, 4)) {
    case 0:
        return model->next;
    case 1:
        return (model->next + input_byte(input)) & SMCR_PSN_MASK;
    case 2:
        return (model->next - input_byte(input)) & SMCR_PSN_MASK;
    default:
        return input_extreme(input) & SMCR_PSN_MASK;
    }
}

static void
take(smcr_psn_t *order, wmem_allocator_t *scope, uint32_t psn, model_t *model)
{
    uint32_t frame = ++model->count;
    uint32_t first = UINT32_MAX;
    smcr_psn_order_t got = smcr_psn_take(order, scope, psn, frame, &first);

    if (!model->started)
        model->next = psn;
    model->started = true;
    bool old = is_before(psn, model->next);
    bool ahead = !old && psn != model->next && model->acknowledged;
    require(got == (old ? SMCR_PSN_OLD : ahead ? SMCR_PSN_AHEAD : SMCR_PSN_NEXT));
    if (got == SMCR_PSN_NEXT)
        model->next = (psn + 1) & SMCR_PSN_MASK;
    /* A frame that is long ago may be forgotten, but never another one be named. */
    require(first < frame);
    require(first == 0 || model->psn[first - 1] == psn);
    model->psn[frame - 1] = psn;
    const smcr_psn_seen_t *seen = smcr_psn_seen(order, psn);
    require(seen && seen->frame == (first ? first : frame));
}

static void
acknowledge(smcr_psn_t *order, uint32_t psn, model_t *model)
{
    bool more = smcr_psn_acknowledge(order, psn);

    model->acknowledged = true;
    require(more == (model->started && !is_before(psn, model->next)));
    if (more)
        model->next = (psn + 1) & SMCR_PSN_MASK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    input_t input = {data, size};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_psn_t order = {.started = false};

    model.started = model.acknowledged = false;
    model.next = model.count = 0;
    while (input.left > 0 && model.count < STEPS_MAX) {
        unsigned what = input_pick(&input, 8);
        uint32_t psn = pick_psn(&input, &model);
        if (what == 0) {
            acknowledge(&order, psn, &model);
        } else if (what == 1) {
            smcr_psn_start(&order, psn);
            model.next = model.started ? model.next : psn;
            model.started = true;
        } else {
            take(&order, scope, psn, &model);
        }
        require(!order.started || order.next == model.next);
    }
    wmem_destroy_allocator(scope);
    return 0;
}
