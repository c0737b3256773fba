/* Packed objects: each object comes back as it was, zeros take no bytes, and an object that is
 * opened among many others keeps its values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/packed/packed.h"

#define WORDS_MOST (SMCR_PACKED_MOST / sizeof(uint64_t))

/* Fills in an object of random words: `zeros` of a hundred are 0, the others have 1 to 8 bytes. */
static void
fill(GRand *random, uint64_t *object, size_t words, int zeros)
{
    for (size_t i = 0; i < words; i++) {
        uint64_t word = (uint64_t)g_rand_int(random) << 32 | g_rand_int(random);
        bool is_zero = g_rand_int_range(random, 0, 100) < zeros;
        object[i] = is_zero ? 0 : word >> 8 * g_rand_int_range(random, 0, 8);
    }
}

/* Packs an object, by opening as many others as may be open. Checks that it comes back as it was,
 * and returns how many bytes it took. */
static unsigned
packed_length(const uint64_t *object, size_t size)
{
    uint64_t copy[WORDS_MOST + 1];
    smcr_packed_object_t objects[1 + SMCR_PACKED_OPEN] = {{.slot = 0}};
    smcr_packed_desk_t desk = {.size = size};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);

    memcpy(smcr_packed_open(&desk, scope, &objects[0], scope), object, size);
    for (unsigned i = 1; i <= SMCR_PACKED_OPEN; i++)
        smcr_packed_open(&desk, scope, &objects[i], scope);
    g_assert_cmpuint(objects[0].slot, ==, 0);
    memset(copy, 0xff, sizeof copy);
    smcr_packed_copy(&desk, &objects[0], copy);
    g_assert_true(memcmp(copy, object, size) == 0);
    g_assert_true(copy[size / sizeof *copy] == UINT64_MAX); /* not written */
    wmem_destroy_allocator(scope);
    return objects[0].packed.length;
}

/* Objects of all sizes, from no zeros to zeros alone. */
static void
check_bytes(void)
{
    GRand *random = g_rand_new_with_seed(7609);

    for (size_t words = 1; words <= WORDS_MOST; words++) {
        uint64_t object[WORDS_MOST];
        fill(random, object, words, g_rand_int_range(random, 0, 101));
        g_assert_cmpuint(packed_length(object, words * sizeof *object), <=, words * 9);
    }
    g_rand_free(random);
}

/* How many bytes objects take that are mostly zeros. */
static void
check_length(void)
{
    static const struct {
        unsigned at;    /* index of the only word that is not 0 */
        uint64_t word;
        unsigned length; /* bytes that the object takes */
    } rows[] = {
        {0, 0, 0}, /* zeros alone */
        {0, 1, 2},
        {15, 0xff, 2}, /* 15 zeros fit into the head of the word */
        {16, 0xff, 3}, /* one more takes a head of its own */
        {0, 0x100, 3},
        {0, UINT64_MAX, 9},
        {45, 7, 4},
        {46, 7, 5},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint64_t object[64] = {0};
        object[rows[i].at] = rows[i].word;
        g_assert_cmpuint(packed_length(object, sizeof object), ==, rows[i].length);
    }
}

/* More objects than may be open, in random turns. A model has the values that were written last. */
static void
check_open(void)
{
    enum { OBJECTS = 3 * SMCR_PACKED_OPEN, WORDS = 40, TURNS = 20000 };
    static uint64_t model[OBJECTS][WORDS];
    static smcr_packed_object_t objects[OBJECTS];
    smcr_packed_desk_t desk = {.size = sizeof model[0]};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    GRand *random = g_rand_new_with_seed(4711);

    for (unsigned turn = 0; turn < TURNS; turn++) {
        int i = g_rand_int_range(random, 0, OBJECTS);
        uint64_t copy[WORDS];
        smcr_packed_copy(&desk, &objects[i], copy);
        g_assert_true(memcmp(copy, model[i], sizeof copy) == 0);
        uint64_t *object = smcr_packed_open(&desk, scope, &objects[i], scope);
        g_assert_true(memcmp(object, model[i], sizeof copy) == 0);
        g_assert_true(smcr_packed_open(&desk, scope, &objects[i], scope) == object);
        if (g_rand_int_range(random, 0, 20) == 0) { /* it is freed, and another one begins */
            smcr_packed_forget(&desk, &objects[i]);
            objects[i] = (smcr_packed_object_t){.slot = 0};
            memset(model[i], 0, sizeof model[i]);
            continue;
        }
        fill(random, model[i], WORDS, 80);
        memcpy(object, model[i], sizeof model[i]);
    }
    g_rand_free(random);
    wmem_destroy_allocator(scope);
}

/* Objects that were opened one after the other stay open, as many as may be. */
static void
check_stays_open(void)
{
    static smcr_packed_object_t objects[SMCR_PACKED_OPEN + 1];
    smcr_packed_desk_t desk = {.size = sizeof(uint64_t)};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    uint64_t *first = smcr_packed_open(&desk, scope, &objects[0], scope);

    *first = 7;
    for (unsigned i = 1; i < SMCR_PACKED_OPEN; i++)
        smcr_packed_open(&desk, scope, &objects[i], scope);
    g_assert_true(objects[0].slot && *first == 7);
    smcr_packed_open(&desk, scope, &objects[SMCR_PACKED_OPEN], scope);
    g_assert_cmpuint(objects[0].slot, ==, 0);
    g_assert_cmpuint(*(uint64_t *)smcr_packed_open(&desk, scope, &objects[0], scope), ==, 7);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packed/bytes", check_bytes);
    g_test_add_func("/packed/length", check_length);
    g_test_add_func("/packed/open", check_open);
    g_test_add_func("/packed/stays-open", check_stays_open);
    return g_test_run();
}
