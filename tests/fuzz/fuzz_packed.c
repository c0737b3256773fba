/* Fuzzes packed objects: objects of any size that are opened, changed, copied and forgotten in any
 * order. Whatever comes, an object has the values that were written last, packed or open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "input.h"
#include "report/packed/packed.h"

#define STEPS_MAX 512
#define OBJECTS (SMCR_PACKED_OPEN + 8) /* more than may be open */
#define WORDS_MOST (SMCR_PACKED_MOST / sizeof(uint64_t))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The objects, and what each of them ought to have. */
typedef struct {
    wmem_allocator_t *desk_scope;
    smcr_packed_desk_t desk;
    smcr_packed_object_t objects[OBJECTS];
    wmem_allocator_t *scopes[OBJECTS]; /* owner of each object: the desk's pool, or its own */
    uint64_t meant[OBJECTS][WORDS_MOST];
} stage_t;

static uint64_t *
open_object(stage_t *stage, unsigned i)
{
    uint64_t *object = smcr_packed_open(&stage->desk, stage->desk_scope, &stage->objects[i],
                                        stage->scopes[i]);

    require(memcmp(object, stage->meant[i], stage->desk.size) == 0);
    return object;
}

/* A few words in a row, or one, get new values. */
static void
change(stage_t *stage, input_t *input, unsigned i)
{
    uint64_t *object = open_object(stage, i);
    size_t words = stage->desk.size / sizeof *object;
    size_t at = input_number(input, 2) % words, count = 1 + input_pick(input, 20);
    uint64_t value = (uint64_t)input_extreme(input) << 32 | input_extreme(input);

    value >>= input_pick(input, 64);
    for (; count > 0 && at < words; count--, at++)
        object[at] = stage->meant[i][at] = value;
}

static void
check_copy(const stage_t *stage, unsigned i)
{
    uint64_t copy[WORDS_MOST + 1];
    size_t words = stage->desk.size / sizeof *copy;

    copy[words] = UINT64_MAX;
    smcr_packed_copy(&stage->desk, &stage->objects[i], copy);
    require(memcmp(copy, stage->meant[i], stage->desk.size) == 0);
    require(copy[words] == UINT64_MAX);
}

/* The object goes, and a new one takes its place. */
static void
renew(stage_t *stage, input_t *input, unsigned i)
{
    bool is_own = stage->scopes[i] != stage->desk_scope;

    smcr_packed_forget(&stage->desk, &stage->objects[i]);
    if (is_own)
        wmem_destroy_allocator(stage->scopes[i]);
    is_own = input_pick(input, 2);
    stage->scopes[i] = is_own ? wmem_allocator_new(WMEM_ALLOCATOR_STRICT) : stage->desk_scope;
    memset(&stage->objects[i], 0, sizeof stage->objects[i]);
    memset(stage->meant[i], 0, stage->desk.size);
}

static void
step(stage_t *stage, input_t *input)
{
    unsigned i = input_pick(input, OBJECTS);

    switch (input_pick(input, 8)) {
    case 0:
        renew(stage, input, i);
        break;
    case 1:
        check_copy(stage, i);
        break;
    case 2: /* all are opened, so that others are packed */
        for (unsigned other = 0; other < OBJECTS; other++)
            open_object(stage, (i + other) % OBJECTS);
        break;
    default:
        change(stage, input, i);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static stage_t stage;
    input_t input = {data, size};

    memset(&stage, 0, sizeof stage);
    stage.desk.size = (1 + input_number(&input, 2) % WORDS_MOST) * sizeof(uint64_t);
    stage.desk_scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    for (unsigned i = 0; i < OBJECTS; i++)
        stage.scopes[i] = stage.desk_scope;
    for (unsigned steps = 0; input.left && steps < STEPS_MAX; steps++)
        step(&stage, &input);
    for (unsigned i = 0; i < OBJECTS; i++)
        check_copy(&stage, i);
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (stage.scopes[i] != stage.desk_scope)
            wmem_destroy_allocator(stage.scopes[i]);
    }
    wmem_destroy_allocator(stage.desk_scope);
    return 0;
}
