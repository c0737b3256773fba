/* Entries are there, apart from each other, and found by their numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/slab.h"
#include "wire/gid.h"

#include <string.h>

#include <glib.h>

enum { ENTRIES = 20000 }; /* of all sizes together, more than the blocks of one allocation hold */

static size_t
size_of(unsigned i)
{
    return i % 1000 ? 4 * (i % 100 + 1) : SMCR_SLAB_ENTRY_MAX; /* now and then a whole block */
}

static void
test_entries(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    uint8_t **entries = g_new(uint8_t *, ENTRIES);

    g_assert_null(smcr_slab_entry(&slab, 0));
    g_assert_cmpuint(smcr_slab_number(NULL), ==, 0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        entries[i] = smcr_slab_new(&slab, size_of(i));
        for (size_t at = 0; at < size_of(i); at++)
            g_assert_cmpuint(entries[i][at], ==, 0);
        memset(entries[i], (int)(i % 255 + 1), size_of(i));
    }
    for (unsigned i = 0; i < ENTRIES; i++) {
        uint32_t number = smcr_slab_number(entries[i]);
        g_assert_cmpuint(number, >, 0);
        g_assert_true(smcr_slab_entry(&slab, number) == entries[i]);
        g_assert_true(smcr_slab_beside(entries[(i + 1) % ENTRIES], number) == entries[i]);
        g_assert_cmpuint(entries[i][0], ==, i % 255 + 1);
        g_assert_cmpuint(entries[i][size_of(i) - 1], ==, i % 255 + 1);
    }
    g_assert_null(smcr_slab_beside(entries[0], 0));
    g_free(entries);
    wmem_destroy_allocator(scope);
}

/* Where all sizes are multiples of 8, so are the addresses. What is larger than a block is memory
 * like any other. */
static void
test_memory(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};

    for (unsigned i = 1; i < 10000; i++)
        g_assert_cmpuint((uintptr_t)smcr_slab_new(&slab, 8 * (i % 50 + 1)) % 8, ==, 0);
    uint8_t *large = smcr_slab_new(&slab, SMCR_SLAB_ENTRY_MAX + 1);
    for (size_t at = 0; at <= SMCR_SLAB_ENTRY_MAX; at++)
        g_assert_cmpuint(large[at], ==, 0);
    wmem_destroy_allocator(scope);
}

/* Released blocks serve new entries, and have their numbers. Entries with later stamps stay as they
 * are. A slab takes no more memory than its entries that are not released. */
static void
test_release(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    uint32_t numbers[ENTRIES] = {0}, most = 0;
    enum { KEPT = 1000 }; /* so many entries are not released */

    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint32_t *entry = smcr_slab_new(&slab, 400);
        for (unsigned at = 0; at < 100; at++)
            g_assert_cmpuint(entry[at], ==, 0);
        entry[99] = i;
        smcr_slab_stamp(entry, i + 1);
        numbers[i] = smcr_slab_number(entry);
        if (i == 2 * KEPT)
            most = slab.count;
        if (i % 100 || i < KEPT)
            continue;
        smcr_slab_release(&slab, i - KEPT + 1);
        for (uint32_t kept = i - KEPT + 1; kept <= i; kept++)
            g_assert_cmpuint(((uint32_t *)smcr_slab_entry(&slab, numbers[kept]))[99], ==, kept);
    }
    g_assert_cmpuint(most, >, 0);
    g_assert_cmpuint(slab.count, <=, most);
    wmem_destroy_allocator(scope);
}

/* Freed entries serve new entries of the same size, which are zeros and have their numbers. Longer
 * entries stay. */
static void
test_free(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    uint64_t *one = smcr_slab_new(&slab, 40), *other = smcr_slab_new(&slab, 48);
    void *longer = smcr_slab_new(&slab, SMCR_SLAB_FREED_MAX + 8);
    uint32_t number = smcr_slab_number(one);

    one[4] = other[5] = 1;
    smcr_slab_free(&slab, one, 40);
    smcr_slab_free(&slab, longer, SMCR_SLAB_FREED_MAX + 8);
    g_assert_true(smcr_slab_new(&slab, 48) != (void *)one);
    g_assert_true(smcr_slab_new(&slab, SMCR_SLAB_FREED_MAX + 8) != longer);
    uint64_t *again = smcr_slab_new(&slab, 40);
    g_assert_true(again == one);
    g_assert_cmpuint(smcr_slab_number(again), ==, number);
    for (unsigned at = 0; at < 5; at++)
        g_assert_cmpuint(again[at], ==, 0);
    g_assert_cmpuint(other[5], ==, 1);
    g_assert_true(smcr_slab_new(&slab, 40) != (void *)one);
    wmem_destroy_allocator(scope);
}

/* The hash of a key depends on each of its bytes and on no byte after it. The shortest key of a
 * table is a pointer: four bytes on a machine of 32 bits. */
static void
test_key(void)
{
    for (size_t size = 1; size <= 40; size++) {
        uint8_t key[48] = {0};
        unsigned hash = smcr_wire_hash(key, size);

        for (size_t at = 0; at < sizeof key; at++) {
            key[at] = 1;
            g_assert_cmpint(smcr_wire_hash(key, size) == hash, ==, at >= size);
            key[at] = 0;
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slab/entries", test_entries);
    g_test_add_func("/slab/memory", test_memory);
    g_test_add_func("/slab/release", test_release);
    g_test_add_func("/slab/free", test_free);
    g_test_add_func("/slab/key", test_key);
    return g_test_run();
}
