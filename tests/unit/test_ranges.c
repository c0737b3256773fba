/* Sets of numbers as ranges: adding, appending, taking out, counting, and what the limit does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include <glib.h>

#include "fabric/fabric.h"

#define STEPS 6
#define MOST 3

/* ---- cases: '+' adds, '>' appends with the number of the step as frame, '-' takes out ---- */

static const struct {
    const char *name;
    struct {
        char what;
        uint64_t from, to;
        uint64_t changed; /* numbers that are new, or were there */
    } steps[STEPS];
    const char *ranges; /* afterwards: from-to:frame */
} cases[] = {
    {.name = "nothing", .steps = {{.what = '+', .from = 3, .to = 3}}, .ranges = ""},
    {.name = "one", .steps = {{.what = '+', .from = 3, .to = 5, .changed = 2}}, .ranges = "3-5:0 "},
    {.name = "apart",
     .steps = {{.what = '+', .from = 7, .to = 9, .changed = 2},
      {.what = '+', .from = 1, .to = 2, .changed = 1},
      {.what = '+', .from = 4, .to = 5, .changed = 1}},
     .ranges = "1-2:0 4-5:0 7-9:0 "},
    {.name = "touches behind",
     .steps = {{.what = '+', .from = 1, .to = 3, .changed = 2},
      {.what = '+', .from = 3, .to = 5, .changed = 2}},
     .ranges = "1-5:0 "},
    {.name = "touches before",
     .steps = {{.what = '+', .from = 3, .to = 5, .changed = 2},
      {.what = '+', .from = 1, .to = 3, .changed = 2}},
     .ranges = "1-5:0 "},
    {.name = "fills a hole",
     .steps = {{.what = '+', .from = 1, .to = 3, .changed = 2},
      {.what = '+', .from = 5, .to = 7, .changed = 2},
      {.what = '+', .from = 3, .to = 5, .changed = 2}},
     .ranges = "1-7:0 "},
    {.name = "overlaps",
     .steps = {{.what = '+', .from = 1, .to = 4, .changed = 3},
      {.what = '+', .from = 6, .to = 9, .changed = 3},
      {.what = '+', .from = 3, .to = 7, .changed = 2}},
     .ranges = "1-9:0 "},
    {.name = "is there",
     .steps = {{.what = '+', .from = 1, .to = 9, .changed = 8}, {.what = '+', .from = 3, .to = 5}},
     .ranges = "1-9:0 "},
    {.name = "over all",
     .steps = {{.what = '+', .from = 2, .to = 3, .changed = 1},
      {.what = '+', .from = 5, .to = 6, .changed = 1},
      {.what = '+', .from = 1, .to = 9, .changed = 6}},
     .ranges = "1-9:0 "},
    {.name = "a fourth joins the lowest",
     .steps = {{.what = '+', .from = 1, .to = 2, .changed = 1},
      {.what = '+', .from = 5, .to = 6, .changed = 1},
      {.what = '+', .from = 8, .to = 9, .changed = 1},
      {.what = '+', .from = 11, .to = 12, .changed = 1}},
     .ranges = "1-6:0 8-9:0 11-12:0 "},
    {.name = "a fourth below all",
     .steps = {{.what = '+', .from = 4, .to = 5, .changed = 1},
      {.what = '+', .from = 7, .to = 8, .changed = 1},
      {.what = '+', .from = 10, .to = 11, .changed = 1},
      {.what = '+', .from = 1, .to = 2, .changed = 1}},
     .ranges = "1-2:0 4-8:0 10-11:0 "},
    {.name = "a fourth is where the lowest are joined",
     .steps = {{.what = '+', .from = 1, .to = 2, .changed = 1},
      {.what = '+', .from = 5, .to = 6, .changed = 1},
      {.what = '+', .from = 8, .to = 9, .changed = 1}, {.what = '+', .from = 3, .to = 4}},
     .ranges = "1-6:0 8-9:0 "},
    {.name = "appended",
     .steps = {{.what = '>', .from = 1, .to = 3}, {.what = '>', .from = 4, .to = 6}},
     .ranges = "1-3:0 4-6:1 "},
    {.name = "appended, touches",
     .steps = {{.what = '>', .from = 1, .to = 3}, {.what = '>', .from = 3, .to = 6}},
     .ranges = "1-3:0 3-6:1 "},
    {.name = "a fourth appended",
     .steps = {{.what = '>', .from = 1, .to = 2}, {.what = '>', .from = 5, .to = 6},
      {.what = '>', .from = 8, .to = 9}, {.what = '>', .from = 11, .to = 12}},
     .ranges = "1-6:1 8-9:2 11-12:3 "},
    {.name = "without its beginning",
     .steps = {{.what = '>', .from = 1, .to = 9}, {.what = '-', .to = 3, .changed = 2}},
     .ranges = "3-9:0 "},
    {.name = "without its end",
     .steps = {{.what = '>', .from = 1, .to = 9}, {.what = '-', .from = 7, .to = 12, .changed = 2}},
     .ranges = "1-7:0 "},
    {.name = "without its middle",
     .steps = {{.what = '>', .to = 1}, {.what = '>', .from = 2, .to = 9},
      {.what = '-', .from = 4, .to = 5, .changed = 1}},
     .ranges = "0-1:0 2-4:1 5-9:1 "},
    {.name = "at the limit it stays whole",
     .steps = {{.what = '+', .to = 1, .changed = 1},
               {.what = '+', .from = 2, .to = 9, .changed = 7},
      {.what = '+', .from = 10, .to = 11, .changed = 1}, {.what = '-', .from = 4, .to = 5}},
     .ranges = "0-1:0 2-9:0 10-11:0 "},
    {.name = "without several",
     .steps = {{.what = '+', .to = 2, .changed = 2},
               {.what = '+', .from = 3, .to = 5, .changed = 2},
      {.what = '+', .from = 6, .to = 8, .changed = 2},
      {.what = '-', .from = 1, .to = 7, .changed = 4}},
     .ranges = "0-1:0 7-8:0 "},
    {.name = "one of one",
     .steps = {{.what = '+', .from = 3, .to = 4, .changed = 1},
      {.what = '-', .from = 3, .to = 4, .changed = 1}},
     .ranges = ""},
    {.name = "all",
     .steps = {{.what = '+', .to = 2, .changed = 2},
               {.what = '+', .from = 3, .to = 5, .changed = 2},
      {.what = '-', .to = UINT64_MAX, .changed = 4}},
     .ranges = ""},
    {.name = "none of it",
     .steps = {{.what = '+', .from = 3, .to = 5, .changed = 2}, {.what = '-', .from = 5, .to = 9},
      {.what = '-', .to = 3}},
     .ranges = "3-5:0 "},
    {.name = "far",
     .steps = {{.what = '+', .from = UINT64_MAX - 3, .to = UINT64_MAX, .changed = 3},
      {.what = '-', .from = UINT64_MAX - 2, .to = UINT64_MAX - 1, .changed = 1}},
     .ranges = "18446744073709551612-18446744073709551613:0 "
                "18446744073709551614-18446744073709551615:0 "},
};

static uint64_t
apply(smcr_ranges_t *ranges, wmem_allocator_t *scope, unsigned i, unsigned step)
{
    uint64_t from = cases[i].steps[step].from, to = cases[i].steps[step].to;

    switch (cases[i].steps[step].what) {
    case '+':
        return smcr_ranges_add(ranges, scope, MOST, from, to);
    case '-':
        return smcr_ranges_remove(ranges, scope, MOST, from, to);
    default:
        smcr_ranges_append(ranges, scope, MOST, (smcr_range_t){from, to, 0, step});
        return 0;
    }
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    GString *found = g_string_new("");
    smcr_ranges_t ranges = {.count = 0};

    for (unsigned step = 0; step < STEPS && cases[i].steps[step].what; step++)
        g_assert_cmpuint(apply(&ranges, scope, i, step), ==, cases[i].steps[step].changed);
    for (unsigned n = 0; n < ranges.count; n++)
        g_string_append_printf(found, "%" PRIu64 "-%" PRIu64 ":%u ", ranges.list[n].from,
                               ranges.list[n].to, ranges.list[n].frame_after);
    g_assert_cmpstr(found->str, ==, cases[i].ranges);
    g_string_free(found, TRUE);
    wmem_destroy_allocator(scope);
}

/* ---- any steps, against a table of all numbers ---- */

#define NUMBERS 64

static unsigned
count_of(const bool *has, unsigned from, unsigned to)
{
    unsigned count = 0;

    for (unsigned i = from; i < to; i++)
        count += has[i];
    return count;
}

static void
check(const smcr_ranges_t *ranges, const bool *has, unsigned from, unsigned to)
{
    const smcr_range_t *found = smcr_ranges_find(ranges, from, to);

    g_assert_cmpuint(smcr_ranges_count(ranges, from, to), ==, count_of(has, from, to));
    g_assert_true(!found == !count_of(has, from, to));
    if (found)
        g_assert_true(found->from < to && found->to > from &&
                      !count_of(has, from, (unsigned)MAX(found->from, from)));
    for (unsigned i = 1; i < ranges->count; i++)
        g_assert_cmpuint(ranges->list[i - 1].to, <=, ranges->list[i].from);
}

static void
test_any(void)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        GRand *random = g_rand_new_with_seed(seed);
        smcr_ranges_t ranges = {.count = 0};
        bool has[NUMBERS] = {false};

        for (unsigned step = 0; step < 100; step++) {
            unsigned from = (unsigned)g_rand_int_range(random, 0, NUMBERS);
            unsigned to = (unsigned)g_rand_int_range(random, (gint32)from, NUMBERS + 1);
            unsigned had = count_of(has, from, to);
            if (g_rand_boolean(random)) {
                g_assert_cmpuint(smcr_ranges_add(&ranges, NULL, UINT_MAX, from, to), ==,
                                 to - from - had);
                memset(has + from, true, to - from);
            } else {
                g_assert_cmpuint(smcr_ranges_remove(&ranges, NULL, UINT_MAX, from, to), ==, had);
                memset(has + from, false, to - from);
            }
            check(&ranges, has, (unsigned)g_rand_int_range(random, 0, NUMBERS / 2),
                  (unsigned)g_rand_int_range(random, NUMBERS / 2, NUMBERS + 1));
        }
        wmem_free(NULL, ranges.list);
        g_rand_free(random);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/ranges/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/ranges/any", test_any);
    return g_test_run();
}
