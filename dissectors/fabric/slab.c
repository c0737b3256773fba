/* Allocates the blocks of a slab. smcr_slab_new(), in slab.h, cuts entries from the blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "slab.h"

#include <wsutil/wslog.h>

#include "wire/wire.h"

#define BLOCKS_MAX (UINT32_MAX / SMCR_SLAB_UNITS) /* highest number of blocks whose entries have
                                                     numbers of 32 bits */
/* Size of one allocation of wmem, in blocks. Blocks begin at multiples of their size, but the
 * allocation may begin anywhere. So the allocation has room for one block less. */
#define BLOCKS_AT_ONCE 32

_Static_assert((SMCR_SLAB_SIZE & (SMCR_SLAB_SIZE - 1)) == 0,
               "blocks are found by the bits of addresses");
_Static_assert(sizeof(smcr_slab_block_t) <= SMCR_SLAB_SIZE - SMCR_SLAB_ENTRY_MAX,
               "blocks begin with this");

/* AddressSanitizer reports every access to an entry that has been freed. Its library defines the
 * two functions. They are declared here, since its header is no part of C. */
#ifdef __SANITIZE_ADDRESS__
void __asan_poison_memory_region(const volatile void *bytes, size_t size);
void __asan_unpoison_memory_region(const volatile void *bytes, size_t size);
#define POISON(bytes, size) __asan_poison_memory_region(bytes, size)
#define UNPOISON(bytes, size) __asan_unpoison_memory_region(bytes, size)

/* Allows access to all memory of one allocation again. wmem calls this function before it frees the
 * memory, and possibly overwrites it. Returns false, so that wmem does not call the function once
 * more. */
static SMCR_WIRE_TYPEOF(((wmem_user_cb_t)NULL)(NULL, WMEM_CB_FREE_EVENT, NULL))
allow_access(G_GNUC_UNUSED wmem_allocator_t *scope, G_GNUC_UNUSED wmem_cb_event_t event,
             void *memory)
{
    __asan_unpoison_memory_region(memory, BLOCKS_AT_ONCE * (size_t)SMCR_SLAB_SIZE);
    return false;
}
#define ALLOW_ACCESS_AT_END(scope, memory) wmem_register_callback(scope, allow_access, memory)
#else
#define POISON(bytes, size)
#define UNPOISON(bytes, size)
#define ALLOW_ACCESS_AT_END(scope, memory)
#endif

/* Makes a block with the next index, which begins at a multiple of SMCR_SLAB_SIZE: of the memory
 * for BLOCKS_AT_ONCE blocks, one is lost for that. Ends the program if there are BLOCKS_MAX
 * blocks. */
static void
add_block(smcr_slab_t *slab)
{
    if (slab->count == BLOCKS_MAX)
        ws_error("More is to be kept of the capture than there are numbers for");
    if (slab->unused_count == 0) {
        uint8_t *memory = wmem_alloc(slab->scope, BLOCKS_AT_ONCE * (size_t)SMCR_SLAB_SIZE);
        ALLOW_ACCESS_AT_END(slab->scope, memory);
        size_t before = (size_t)((uintptr_t)memory & (SMCR_SLAB_SIZE - 1));
        slab->unused = memory + (SMCR_SLAB_SIZE - before);
        slab->unused_count = BLOCKS_AT_ONCE - 1;
    }
    if ((slab->count & (slab->count - 1)) == 0) /* `blocks` is full: its sizes are powers of two */
        slab->blocks = wmem_realloc(slab->scope, slab->blocks,
                                    MAX(2 * (size_t)slab->count, 1) * sizeof *slab->blocks);
    slab->blocks[slab->count] = (smcr_slab_block_t *)(void *)slab->unused;
    slab->current = slab->count++;
    slab->unused += SMCR_SLAB_SIZE;
    slab->unused_count--;
}

/* A released block keeps its index, so the numbers of its entries are used again. */
void
smcr_slab_begin(smcr_slab_t *slab)
{
    if (slab->released) {
        slab->current = slab->released - 1;
        slab->released = slab->blocks[slab->current]->stamp;
    } else {
        add_block(slab);
    }
    *slab->blocks[slab->current] =
        (smcr_slab_block_t){.slab = slab, .index = slab->current & INT32_MAX};
    slab->used = SMCR_SLAB_SIZE - SMCR_SLAB_ENTRY_MAX;
}

/* The block from which new entries are cut is not released, whatever its stamp is. */
void
smcr_slab_release(smcr_slab_t *slab, uint32_t stamp)
{
    for (uint32_t i = 0; i < slab->count; i++) {
        smcr_slab_block_t *block = slab->blocks[i];
        if (i == slab->current || block->is_released || block->stamp >= stamp)
            continue;
        block->is_released = true;
        block->stamp = slab->released;
        slab->released = i + 1;
    }
}

/* ---- entries that were freed ---- */

/* The freed entry holds the pointer to the next freed one, so an entry has at least the size of a
 * pointer. */
void
smcr_slab_free(smcr_slab_t *slab, void *entry, size_t size)
{
    const size_t sizes = SMCR_SLAB_FREED_MAX / SMCR_SLAB_FREED_UNIT + 1;

    if (size > SMCR_SLAB_FREED_MAX)
        return;
    if (!slab->freed)
        slab->freed = wmem_alloc0_array(slab->scope, void *, sizes);
    void **last = &slab->freed[size / SMCR_SLAB_FREED_UNIT];
    *(void **)entry = *last;
    *last = entry;
    POISON(entry, size);
}

/* The first bytes of a freed entry are the pointer to the entry of its size that was freed before
 * it. */
void *
smcr_slab_take_freed(smcr_slab_t *slab, size_t size)
{
    bool can_be_freed = size <= SMCR_SLAB_FREED_MAX && size % SMCR_SLAB_FREED_UNIT == 0;
    void **last = can_be_freed ? &slab->freed[size / SMCR_SLAB_FREED_UNIT] : NULL;
    void *entry = last ? *last : NULL;

    if (!entry)
        return NULL;
    UNPOISON(entry, size);
    *last = *(void **)entry;
    return entry;
}

/* Destroys a hash table. wmem calls this function when the scope of the table is freed. Returns
 * false, so that wmem does not call the function once more. The type of the return value differs
 * between Wireshark versions. */
static SMCR_WIRE_TYPEOF(((wmem_user_cb_t)NULL)(NULL, WMEM_CB_FREE_EVENT, NULL))
destroy_table(G_GNUC_UNUSED wmem_allocator_t *scope, G_GNUC_UNUSED wmem_cb_event_t event,
              void *table)
{
    g_hash_table_destroy(table);
    return false;
}

GHashTable *
smcr_slab_table(wmem_allocator_t *scope, GHashFunc hash, GEqualFunc is_equal)
{
    GHashTable *table = g_hash_table_new(hash, is_equal);

    wmem_register_callback(scope, destroy_table, table);
    return table;
}
