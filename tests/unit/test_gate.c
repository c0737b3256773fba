/* The gate that keeps other heuristics of InfiniBand out: it holds any number of them, gates nest,
 * and what was disabled stays so. Wireshark's list of heuristics is stood in for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "host/heuristic.h"

#define OWN 70 /* place of our own heuristic in the list */

static heur_dtbl_entry_t entries[150];
static unsigned entry_count;

/* In place of libwireshark's: these two need Wireshark to have started. */
wmem_allocator_t *
wmem_epan_scope(void)
{
    return NULL;
}

void
heur_dissector_table_foreach(const char *table_name, DATFunc_heur func, gpointer user_data)
{
    for (unsigned i = 0; i < entry_count; i++)
        func(table_name, &entries[i], user_data);
}

/* A list of `count` heuristics, all enabled but every third. */
static void
list(unsigned count)
{
    entry_count = count;
    for (unsigned i = 0; i < count; i++)
        entries[i].enabled = i % 3 != 0;
    smcr_gate_list(&entries[OWN]);
}

static unsigned
enabled(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < entry_count; i++)
        count += entries[i].enabled ? 1 : 0;
    return count;
}

static void
assert_as_listed(void)
{
    for (unsigned i = 0; i < entry_count; i++)
        g_assert_true(entries[i].enabled == (i % 3 != 0));
}

static void
test_any_number(gconstpointer number)
{
    unsigned count = GPOINTER_TO_UINT(number);

    list(count);
    smcr_gate_t gate;
    smcr_gate_close(&gate);
    g_assert_cmpuint(enabled(), ==, count > OWN); /* our own alone */
    smcr_gate_open(&gate);
    assert_as_listed();
}

/* Behind the outer gate one heuristic is let in for a call; the inner gate keeps that out, too. */
static void
test_gates_nest(void)
{
    list(array_length(entries));
    smcr_gate_t outer;
    smcr_gate_close(&outer);
    entries[100].enabled = true;
    smcr_gate_t inner;
    smcr_gate_close(&inner);
    g_assert_cmpuint(enabled(), ==, 1);
    smcr_gate_open(&inner);
    g_assert_cmpuint(enabled(), ==, 2);
    g_assert_true(entries[100].enabled);
    smcr_gate_open(&outer);
    assert_as_listed();
}

/* A heuristic that is not there any more is left alone. */
static void
test_listed_anew(void)
{
    list(array_length(entries));
    entries[149].enabled = true;
    list(100);
    smcr_gate_t gate;
    smcr_gate_close(&gate);
    g_assert_true(entries[149].enabled);
    smcr_gate_open(&gate);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/gate/none", GUINT_TO_POINTER(0), test_any_number);
    g_test_add_data_func("/gate/few", GUINT_TO_POINTER(5), test_any_number);
    g_test_add_data_func("/gate/64", GUINT_TO_POINTER(64), test_any_number);
    g_test_add_data_func("/gate/65", GUINT_TO_POINTER(65), test_any_number);
    g_test_add_data_func("/gate/many", GUINT_TO_POINTER(array_length(entries)), test_any_number);
    g_test_add_func("/gate/gates nest", test_gates_nest);
    g_test_add_func("/gate/listed anew", test_listed_anew);
    return g_test_run();
}
