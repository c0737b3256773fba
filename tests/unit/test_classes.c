/* The share of packets with CE over time: of these packets, marks are never more than the packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/classes/classes.h"

#define MS SMCR_TIME_MILLISECOND

/* A packet, or a duplicate of one. */
typedef struct {
    uint64_t time;     /* milliseconds */
    bool is_marked;    /* it has CE */
    bool is_duplicate; /* only its mark counts */
} step_t;

/* Takes the packets, and returns the entry of the shares; NULL: no packet was marked. */
static const smcr_entry_marked_share_t *
take(wmem_allocator_t *scope, const step_t *steps, unsigned count)
{
    smcr_classes_shares_t *shares = smcr_classes_shares_new(scope);

    for (unsigned i = 0; i < count; i++)
        smcr_classes_shares_take(shares, (smcr_when_t){i + 1, (1000 + steps[i].time) * MS},
                                 steps[i].is_marked, !steps[i].is_duplicate);
    return smcr_classes_shares_report(shares, scope);
}

/* The original of a marked duplicate is missing in the interval of the mark: it was Not-ECT, so no
 * interval has it, or it came in an earlier interval. */
static void
check_duplicates(void)
{
    static const step_t alone[] = {{0, true, true}};
    static const step_t later[] = {{.time = 0}, {5, true, true}, {.time = 9}};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    const smcr_entry_marked_share_t *entry = take(scope, alone, G_N_ELEMENTS(alone));

    g_assert_cmpuint(entry->packets.length, ==, 1);
    g_assert_cmpuint(entry->packets.numbers[0], ==, 1);
    g_assert_cmpuint(entry->marked.numbers[0], ==, 1);
    entry = take(scope, later, G_N_ELEMENTS(later));
    g_assert_cmpuint(entry->worst, ==, 5);
    g_assert_cmpuint(entry->packets.length, ==, 10);
    g_assert_cmpuint(entry->packets.numbers[5], ==, 1);
    wmem_destroy_allocator(scope);
}

/* A duplicate adds its mark only, if its original is in the same interval. */
static void
check_share(void)
{
    static const step_t steps[] = {{.time = 0}, {0, true, true}, {.time = 0}, {.time = 2}};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    const smcr_entry_marked_share_t *entry = take(scope, steps, G_N_ELEMENTS(steps));

    g_assert_cmpuint(entry->packets.numbers[0], ==, 2);
    g_assert_cmpuint(entry->marked.numbers[0], ==, 1);
    g_assert_cmpuint(entry->packets.length, ==, 3);
    g_assert_null(take(scope, steps, 1));
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/classes/duplicates", check_duplicates);
    g_test_add_func("/classes/share", check_share);
    return g_test_run();
}
