/* test_psn.c
 * The order of packets: what a receiver takes in, what it has had before, what is behind a gap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/psn.h"

#define NEXT SMCR_PSN_NEXT
#define OLD SMCR_PSN_OLD
#define AHEAD SMCR_PSN_AHEAD

enum { END, START, TAKE, ACK };

/* One thing that happens; frames count from 1 per TAKE. */
typedef struct {
    int what;
    uint32_t psn;
    smcr_psn_order_t order; /* TAKE */
    uint32_t first_frame;   /* TAKE: 0, the PSN is new */
    bool gained;            /* ACK */
} step_t;

static const struct {
    const char *name;
    step_t steps[12];
} cases[] = {
    {"in order", {{TAKE, 5, NEXT, 0, 0}, {TAKE, 6, NEXT, 0, 0}, {TAKE, 7, NEXT, 0, 0}}},
    {"wrap", {{TAKE, 0xfffffe, NEXT, 0, 0}, {TAKE, 0xffffff, NEXT, 0, 0}, {TAKE, 0, NEXT, 0, 0},
              {TAKE, 1, NEXT, 0, 0}, {TAKE, 0xffffff, OLD, 2, 0}, {TAKE, 2, NEXT, 0, 0}}},
    {"more than 24 bits", {{START, 0x5000010, 0, 0, 0}, {TAKE, 0x10, NEXT, 0, 0},
                           {TAKE, 0x3000011, NEXT, 0, 0}, {TAKE, 0x11, OLD, 2, 0}}},
    {"duplicate", {{TAKE, 5, NEXT, 0, 0}, {TAKE, 5, OLD, 1, 0}, {TAKE, 5, OLD, 1, 0},
                   {TAKE, 6, NEXT, 0, 0}}},
    {"gap in the capture", {{TAKE, 5, NEXT, 0, 0}, {TAKE, 9, NEXT, 0, 0}, {TAKE, 7, OLD, 0, 0}}},
    {"gap on the wire", {{TAKE, 5, NEXT, 0, 0}, {ACK, 5, 0, 0, false}, {TAKE, 7, AHEAD, 0, 0},
                         {TAKE, 6, NEXT, 0, 0}, {TAKE, 7, NEXT, 2, 0}, {TAKE, 7, OLD, 2, 0}}},
    {"gap over the wrap", {{START, 0xffffff, 0, 0, 0}, {ACK, 0xfffffe, 0, 0, false},
                           {TAKE, 0, AHEAD, 0, 0}, {TAKE, 0xffffff, NEXT, 0, 0},
                           {TAKE, 0, NEXT, 1, 0}}},
    {"acknowledged over a gap", {{TAKE, 5, NEXT, 0, 0}, {ACK, 5, 0, 0, false},
                                 {TAKE, 8, AHEAD, 0, 0}, {ACK, 8, 0, 0, true},
                                 {TAKE, 9, NEXT, 0, 0}, {TAKE, 6, OLD, 0, 0}}},
    {"acknowledged again", {{TAKE, 5, NEXT, 0, 0}, {TAKE, 6, NEXT, 0, 0}, {ACK, 5, 0, 0, false},
                            {ACK, 6, 0, 0, false}, {TAKE, 7, NEXT, 0, 0}}},
    {"acknowledged before anything", {{ACK, 5, 0, 0, false}, {TAKE, 100, NEXT, 0, 0},
                                      {TAKE, 102, AHEAD, 0, 0}}},
    {"announced", {{START, 50, 0, 0, 0}, {TAKE, 50, NEXT, 0, 0}, {TAKE, 51, NEXT, 0, 0}}},
    {"announced too late", {{TAKE, 5, NEXT, 0, 0}, {START, 50, 0, 0, 0}, {TAKE, 6, NEXT, 0, 0}}},
    {"before the announced one", {{START, 50, 0, 0, 0}, {TAKE, 49, OLD, 0, 0}}},
};

static void
test_case(gconstpointer data)
{
    const step_t *steps = data;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_psn_t order = {.started = false};
    uint32_t frame = 0, first_frame;

    for (; steps->what != END; steps++) {
        if (steps->what == START) {
            smcr_psn_start(&order, steps->psn);
        } else if (steps->what == ACK) {
            g_assert_cmpint(smcr_psn_acknowledge(&order, steps->psn), ==, steps->gained);
        } else {
            g_assert_cmpint(smcr_psn_take(&order, scope, steps->psn, ++frame, &first_frame), ==,
                            steps->order);
            g_assert_cmpuint(first_frame, ==, steps->first_frame);
            g_assert_cmpuint(order.next, <=, SMCR_PSN_MASK);
        }
    }
    wmem_destroy_allocator(scope);
}

static void
test_distance(void)
{
    static const struct {
        uint32_t from, to;
        int32_t distance;
    } distances[] = {
        {0, 0, 0},          {0, 1, 1},           {1, 0, -1},
        {0xffffff, 0, 1},   {0, 0xffffff, -1},   {0, 0x7fffff, 0x7fffff},
        {0, 0x800000, -0x800000}, {0x800000, 0, -0x800000}, {0xfffff0, 0x10, 0x20},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(distances); i++)
        g_assert_cmpint(smcr_psn_distance(distances[i].from, distances[i].to), ==,
                        distances[i].distance);
}

/* Many packets under way: each is still known when the whole window is sent again. */
static void
test_growth(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_psn_t order = {.started = false};
    uint32_t first = 0xfff000; /* wraps on the way */
    uint32_t first_frame;

    for (uint32_t i = 0; i < 5000; i++) {
        g_assert_cmpint(smcr_psn_take(&order, scope, first + i, i + 1, &first_frame), ==, NEXT);
        g_assert_cmpuint(first_frame, ==, 0);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        g_assert_cmpint(smcr_psn_take(&order, scope, first + i, 9999, &first_frame), ==, OLD);
        g_assert_cmpuint(first_frame, ==, i + 1);
    }
    wmem_destroy_allocator(scope);
}

/* A whole round of PSNs: what had a PSN in the round before is not taken for its first frame. */
static void
test_round(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_psn_t order = {.started = false};
    uint32_t first_frame;

    for (uint32_t i = 0; i < SMCR_PSN_MASK + 100; i++) {
        smcr_psn_take(&order, scope, i, i + 1, &first_frame);
        if (first_frame != 0)
            break;
    }
    g_assert_cmpuint(first_frame, ==, 0);
    wmem_destroy_allocator(scope);
}

/* Packets with far apart PSNs, as nobody sends them, must not cost more than others. */
static void
test_scattered(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_psn_t order = {.started = false};
    uint32_t first_frame;

    for (uint32_t i = 0; i < 4; i++)
        smcr_psn_take(&order, scope, i * 8192, i + 1, &first_frame);
    g_assert_cmpuint(order.slots, <=, 16);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/psn/%s", cases[i].name);
        g_test_add_data_func(path, cases[i].steps, test_case);
        g_free(path);
    }
    g_test_add_func("/psn/distance", test_distance);
    g_test_add_func("/psn/growth", test_growth);
    g_test_add_func("/psn/round", test_round);
    g_test_add_func("/psn/scattered", test_scattered);
    return g_test_run();
}
