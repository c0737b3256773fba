/* Congestion marks and the notifications that answer them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* What A or B receives. B's CNPs answer the marks of what A sent, and so B received: they are
 * received by A. Frames are numbered from 1. */
typedef enum { END, CE_TO_A, CE_TO_B, CNP_TO_A, CNP_TO_B } what_t;

typedef struct {
    what_t what;
    uint32_t first;  /* CE: the first one of its group; CNP: the first one that it answers */
    uint32_t cnp;    /* CE: the answer, when all packets have come; CNP: the one before */
    bool lone;       /* it is not known yet which flow is opposite */
} step_t;

#define MAX_STEPS 12

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
} cases[] = {
    {"a mark and its answer", {{.what = CE_TO_B, .first = 1, .cnp = 2}, {CNP_TO_A, 1}}},
    {"one answer to several marks",
     {{.what = CE_TO_B, .first = 1, .cnp = 4}, {.what = CE_TO_B, .first = 1, .cnp = 4},
      {.what = CE_TO_B, .first = 1, .cnp = 4}, {CNP_TO_A, 1}}},
    {"each its answer",
     {{.what = CE_TO_B, .first = 1, .cnp = 2}, {CNP_TO_A, 1},
      {.what = CE_TO_B, .first = 3, .cnp = 4}, {.what = CNP_TO_A, .first = 3, .cnp = 2},
      {.what = CE_TO_B, .first = 5, .cnp = 7}, {.what = CE_TO_B, .first = 5, .cnp = 7},
      {.what = CNP_TO_A, .first = 5, .cnp = 4}}},
    {"no answer", {{CE_TO_B, 1}, {CE_TO_B, 1}}},
    {"a notification without a mark", {{CNP_TO_A}, {.what = CNP_TO_A, .cnp = 1}}},
    {"a second answer to the same",
     {{.what = CE_TO_B, .first = 1, .cnp = 2}, {CNP_TO_A, 1}, {.what = CNP_TO_A, .cnp = 2}}},
    {"both directions",
     {{.what = CE_TO_B, .first = 1, .cnp = 4}, {.what = CE_TO_A, .first = 2, .cnp = 3},
      {CNP_TO_B, 2}, {CNP_TO_A, 1}, {CE_TO_A, 5}, {.what = CNP_TO_A, .cnp = 4}}},
    {"a notification does not answer marks of its own direction", {{CE_TO_A, 1}, {CNP_TO_A}}},
    {"answered before the pair was known",
     {{CE_TO_B, 1, .lone = true}, {CNP_TO_A, .lone = true}, {.what = CE_TO_B, .first = 3, .cnp = 4},
      {.what = CNP_TO_A, .first = 3, .cnp = 2}}},
    {"likewise, and a mark after it",
     {{CE_TO_B, 1, .lone = true}, {CNP_TO_A, .lone = true}, {CE_TO_B, 1, .lone = true},
      {.what = CNP_TO_A, .cnp = 2}, {.what = CE_TO_B, .first = 5, .cnp = 6},
      {.what = CNP_TO_A, .first = 5, .cnp = 4}}},
    {"marked before the pair was known",
     {{.what = CE_TO_B, .first = 1, .cnp = 2, .lone = true}, {CNP_TO_A, 1}}},
    {"a notification before all marks",
     {{CNP_TO_A}, {.what = CE_TO_B, .first = 2, .cnp = 3},
      {.what = CNP_TO_A, .first = 2, .cnp = 1}}},
};

static void
check_marks(const step_t *steps, const smcr_ecn_ce_t *const *marks)
{
    for (unsigned i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        if (!marks[i])
            continue;
        g_test_message("mark %u", i + 1);
        g_assert_cmpuint(marks[i]->first.frame, ==, steps[i].first);
        g_assert_cmpuint(marks[i]->cnp.frame, ==, steps[i].cnp);
        g_assert_cmpuint(marks[i]->cnp.time, ==, steps[i].cnp * 10);
    }
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_ecn_marks_t received[2] = {{.open_group = NULL}}; /* by A, by B */
    const smcr_ecn_ce_t *marks[MAX_STEPS] = {NULL};

    for (uint32_t i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        bool to_b = steps[i].what == CE_TO_B || steps[i].what == CNP_TO_B;
        smcr_ecn_marks_t *peer = steps[i].lone ? NULL : &received[!to_b];
        smcr_when_t when = {i + 1, (i + 1) * 10};
        g_test_message("packet %u", i + 1);
        if (steps[i].what <= CE_TO_B) {
            marks[i] = smcr_ecn_take_ce(&received[to_b], peer, scope, when);
            continue;
        }
        smcr_ecn_cnp_t cnp = smcr_ecn_take_cnp(&received[to_b], peer, when);
        g_assert_cmpuint(cnp.ce.frame, ==, steps[i].first);
        g_assert_cmpuint(cnp.last_cnp.frame, ==, steps[i].cnp);
        g_assert_cmpuint(cnp.last_cnp.time, ==, steps[i].cnp * 10);
    }
    check_marks(steps, marks);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/marks/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
