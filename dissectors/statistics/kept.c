/* kept.c
 * Keeps memory by the address of a table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "kept.h"

#include "compat.h"

/* Of the open file; NULL: nothing is kept. */
static struct {
    GHashTable *tables;
} all;

static void
free_kept(void *data)
{
    smcr_statistics_kept_t *kept = data;

    wmem_destroy_allocator(kept->scope);
    g_free(kept);
}

smcr_statistics_kept_t *
smcr_statistics_kept_of(const void *table, bool is_empty, size_t size)
{
    if (!all.tables)
        all.tables = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_kept);
    smcr_statistics_kept_t *kept = g_hash_table_lookup(all.tables, table);
    if (kept && !is_empty)
        return kept;
    if (kept) {
        wmem_free_all(kept->scope);
    } else {
        kept = g_new(smcr_statistics_kept_t, 1);
        kept->scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
        g_hash_table_insert(all.tables, (void *)(uintptr_t)table, kept);
    }
    kept->data = wmem_alloc0(kept->scope, size);
    return kept;
}

/* The file is closed: what is kept points into what was known of it. */
static void
forget(void)
{
    if (all.tables)
        g_hash_table_destroy(all.tables);
    all.tables = NULL;
}

void
smcr_statistics_kept_register(void)
{
    register_cleanup_routine(forget);
}
