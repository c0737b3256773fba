/* Congestion marks and the notifications that answer them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* What A or B receives. B's CNPs answer the marks of what A sent, and so B received: they are
 * received by A. Frames are numbered from 1. */
typedef enum { END, CE_TO_A, CE_TO_B, CNP_TO_A, CNP_TO_B, JOIN } what_t;

typedef struct {
    what_t what;     /* JOIN: no packet; it becomes known which flow is opposite */
    uint32_t first;  /* CE: the first one of its group; CNP: the first one that it answers. As known
                        when all packets have come */
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
     {{CE_TO_B, 1, 2, .lone = true}, {CNP_TO_A, 1, .lone = true},
      {.what = CE_TO_B, .first = 3, .cnp = 4}, {.what = CNP_TO_A, .first = 3, .cnp = 2}}},
    {"likewise, and a mark after it",
     {{CE_TO_B, 1, 2, .lone = true}, {CNP_TO_A, 1, .lone = true}, {CE_TO_B, 3, 4, .lone = true},
      {CNP_TO_A, 3, 2}, {.what = CE_TO_B, .first = 5, .cnp = 6},
      {.what = CNP_TO_A, .first = 5, .cnp = 4}}},
    {"several before the pair was known, and nothing after it",
     {{CE_TO_B, 1, 3, .lone = true}, {CE_TO_B, 1, 3, .lone = true}, {CNP_TO_A, 1, .lone = true},
      {CE_TO_A, 4, 6, .lone = true}, {CNP_TO_A, 0, 3, .lone = true}, {CNP_TO_B, 4, .lone = true},
      {CE_TO_B, 7, 8, .lone = true}, {CNP_TO_A, 7, 5, .lone = true}, {JOIN}}},
    {"marks before and after the pair was known have one answer",
     {{CE_TO_B, 1, 2, .lone = true}, {CNP_TO_A, 1, .lone = true}, {CE_TO_B, 3, 7, .lone = true},
      {CE_TO_B, 3, 7, .lone = true}, {JOIN}, {CE_TO_B, 3, 7}, {CNP_TO_A, 3, 2}}},
    {"the pair is lost and found again",
     {{CE_TO_B, 1, 3}, {CE_TO_B, 1, 3, .lone = true}, {CNP_TO_A, 1, .lone = true},
      {CE_TO_B, 4, 5, .lone = true}, {CNP_TO_A, 4, 3}}},
    {"a notification before the pair was known, and marks after it",
     {{CNP_TO_A, .lone = true}, {CE_TO_B, 2, 3}, {CNP_TO_A, 2, 1}}},
    {"marked before the pair was known",
     {{.what = CE_TO_B, .first = 1, .cnp = 2, .lone = true}, {CNP_TO_A, 1}}},
    {"a notification before all marks",
     {{CNP_TO_A}, {.what = CE_TO_B, .first = 2, .cnp = 3},
      {.what = CNP_TO_A, .first = 2, .cnp = 1}}},
};

/* What A and B have received, and what is known of each packet. */
typedef struct {
    wmem_allocator_t *scope;
    smcr_ecn_marks_t received[2]; /* by A, by B */
    uint32_t frame;               /* number of the last frame */
} scene_t;

static scene_t
begin(void)
{
    return (scene_t){.scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT)};
}

static smcr_when_t
next_frame(scene_t *scene)
{
    scene->frame++;
    return (smcr_when_t){scene->frame, 10 * scene->frame};
}

/* The next frame is a mark to A or B, or a CNP. `is_lone`: the reverse flow is not known. */
static const smcr_ecn_ce_t *
mark(scene_t *scene, bool to_b, bool is_lone)
{
    return smcr_ecn_take_ce(&scene->received[to_b], is_lone ? NULL : &scene->received[!to_b],
                            scene->scope, next_frame(scene));
}

static const smcr_ecn_cnp_t *
notify(scene_t *scene, bool to_b, bool is_lone)
{
    smcr_ecn_cnp_t *cnp = wmem_new0(scene->scope, smcr_ecn_cnp_t);

    cnp->when = next_frame(scene);
    smcr_ecn_take_cnp(&scene->received[to_b], is_lone ? NULL : &scene->received[!to_b],
                      scene->scope, cnp);
    return cnp;
}

static void
check_mark(const smcr_ecn_ce_t *part, uint32_t first, uint32_t cnp)
{
    g_assert_cmpuint(part->first.frame, ==, first);
    g_assert_cmpuint(part->cnp.frame, ==, cnp);
    g_assert_cmpuint(part->cnp.time, ==, cnp * 10);
}

static void
check_cnp(const smcr_ecn_cnp_t *cnp, uint32_t first, uint32_t before)
{
    g_assert_cmpuint(cnp->ce.frame, ==, first);
    g_assert_cmpuint(cnp->last_cnp.frame, ==, before);
    g_assert_cmpuint(cnp->last_cnp.time, ==, before * 10);
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    const smcr_ecn_ce_t *marks[MAX_STEPS] = {NULL};
    const smcr_ecn_cnp_t *cnps[MAX_STEPS] = {NULL};
    scene_t scene = begin();
    unsigned count = 0;

    for (; count < MAX_STEPS && steps[count].what != END; count++) {
        const step_t *step = &steps[count];
        bool to_b = step->what == CE_TO_B || step->what == CNP_TO_B;
        if (step->what == JOIN) {
            smcr_ecn_join(&scene.received[0], &scene.received[1]);
            scene.frame++;
        } else if (step->what <= CE_TO_B) {
            marks[count] = mark(&scene, to_b, step->lone);
        } else {
            cnps[count] = notify(&scene, to_b, step->lone);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        g_test_message("packet %u", i + 1);
        if (marks[i])
            check_mark(marks[i], steps[i].first, steps[i].cnp);
        if (cnps[i])
            check_cnp(cnps[i], steps[i].first, steps[i].cnp);
    }
    wmem_destroy_allocator(scene.scope);
}

/* ---- more marks and CNPs than are kept ---- */

#define MOST SMCR_ECN_EARLY_MOST
#define MORE 6

/* Marks above the most that are kept have the answer of the last one that is kept. */
static void
test_many_marks(void)
{
    const smcr_ecn_ce_t *marks[MOST + MORE];
    scene_t scene = begin();

    for (unsigned i = 0; i < MOST + MORE; i++)
        marks[i] = mark(&scene, true, true);
    const smcr_ecn_cnp_t *cnp = notify(&scene, false, true);
    smcr_ecn_join(&scene.received[0], &scene.received[1]);
    check_cnp(cnp, 1, 0);
    for (unsigned i = 0; i < MOST + MORE; i++)
        check_mark(marks[i], 1, MOST + MORE + 1);
    check_mark(mark(&scene, true, false), MOST + MORE + 2, 0);
    wmem_destroy_allocator(scene.scope);
}

/* If a CNP comes between them, their answer is not known, and those before have it. */
static void
test_many_marks_around_a_cnp(void)
{
    const smcr_ecn_ce_t *marks[MOST + MORE];
    scene_t scene = begin();

    for (unsigned i = 0; i < MOST + MORE - 1; i++)
        marks[i] = mark(&scene, true, true);
    const smcr_ecn_cnp_t *first = notify(&scene, false, true);
    marks[MOST + MORE - 1] = mark(&scene, true, true);
    const smcr_ecn_cnp_t *second = notify(&scene, false, true);
    smcr_ecn_join(&scene.received[0], &scene.received[1]);
    check_cnp(first, 1, 0);
    check_cnp(second, 0, MOST + MORE);
    for (unsigned i = 0; i < MOST + MORE; i++)
        check_mark(marks[i], 1, i < MOST - 1 ? MOST + MORE : 0);
    wmem_destroy_allocator(scene.scope);
}

/* Each mark has a CNP. Of those above the most that are kept, nothing is known. */
static void
test_many_cnps(void)
{
    const smcr_ecn_ce_t *marks[MOST + MORE];
    const smcr_ecn_cnp_t *cnps[MOST + MORE];
    scene_t scene = begin();

    for (unsigned i = 0; i < MOST + MORE; i++) {
        marks[i] = mark(&scene, true, true);
        cnps[i] = notify(&scene, false, true);
    }
    smcr_ecn_join(&scene.received[0], &scene.received[1]);
    for (uint32_t i = 0; i < MOST + MORE; i++) {
        if (i < MOST - 1)
            check_mark(marks[i], 2 * i + 1, 2 * i + 2);
        else
            g_assert_cmpuint(marks[i]->cnp.frame, ==, 0);
        check_cnp(cnps[i], i < MOST ? 2 * i + 1 : 0, 2 * i);
    }
    const smcr_ecn_ce_t *later = mark(&scene, true, false);
    check_cnp(notify(&scene, false, false), 2 * (MOST + MORE) + 1, 2 * (MOST + MORE));
    check_mark(later, 2 * (MOST + MORE) + 1, 2 * (MOST + MORE) + 2);
    wmem_destroy_allocator(scene.scope);
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
    g_test_add_func("/marks/more than are kept", test_many_marks);
    g_test_add_func("/marks/more than are kept, and a CNP between", test_many_marks_around_a_cnp);
    g_test_add_func("/marks/more CNPs than are kept", test_many_cnps);
    return g_test_run();
}
