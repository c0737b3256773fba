/* Memory for many small entries that stay until the capture file is closed. It is cut from large
 * blocks: wmem puts 16 bytes before each piece of its own and rounds its length up to 16.
 *
 * Each entry has a number, which is half as long as its address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#ifndef SMCR_SLAB_SIZE /* fuzzers want small ones, so that the ends of blocks are seen */
#define SMCR_SLAB_SIZE 32768 /* bytes of a block: a power of two */
#endif
#define SMCR_SLAB_ENTRY_MAX (SMCR_SLAB_SIZE - 16) /* bytes of an entry that has a number */
#define SMCR_SLAB_UNIT 4 /* bytes: numbers count these */
#define SMCR_SLAB_UNITS (SMCR_SLAB_SIZE / SMCR_SLAB_UNIT) /* of a block */

/* All zeros but for the scope: nothing has been allocated. */
typedef struct smcr_slab {
    wmem_allocator_t *scope;         /* memory of the blocks */
    struct smcr_slab_block **blocks; /* in the order in which they were begun */
    uint32_t count;                  /* blocks begun so far */
    size_t used;                     /* bytes of the last block that entries have, and its head */
    uint8_t *unused;                 /* blocks that are allocated, but not begun; with a count */
    uint32_t unused_count;           /* of these blocks */
} smcr_slab_t;

/* The head of a block. A block begins at a multiple of its size, so that the address of an entry is
 * enough to find its block. */
typedef struct smcr_slab_block {
    const smcr_slab_t *slab; /* of which this is a block */
    uint32_t index;          /* in `blocks` of the slab */
} smcr_slab_block_t;

/* A hash table of GLib, freed with `scope`. It needs a third of the memory of a wmem_map_t. */
GHashTable *smcr_slab_table(wmem_allocator_t *scope, GHashFunc hash, GEqualFunc is_equal);

/* Begins a block: the next entry is the first of that block. Ends the program when there are more
 * blocks than entries can have numbers in. */
void smcr_slab_begin(smcr_slab_t *slab);

/* Returns a new entry of `size` bytes, all zeros. Its address is a multiple of 4, and of 8 if the
 * sizes of all entries are. An entry of more than SMCR_SLAB_ENTRY_MAX bytes has no number. */
static inline void *
smcr_slab_new(smcr_slab_t *slab, size_t size)
{
    size = (size + SMCR_SLAB_UNIT - 1) & ~(size_t)(SMCR_SLAB_UNIT - 1);
    if (size > SMCR_SLAB_ENTRY_MAX)
        return wmem_alloc0(slab->scope, size);
    if (slab->count == 0 || slab->used + size > SMCR_SLAB_SIZE)
        smcr_slab_begin(slab);
    void *entry = (uint8_t *)slab->blocks[slab->count - 1] + slab->used;
    slab->used += size;
    return memset(entry, 0, size);
}

/* The block of an entry that has a number. */
static inline const smcr_slab_block_t *
smcr_slab_block(const void *entry)
{
    uintptr_t within = (uintptr_t)entry & (SMCR_SLAB_SIZE - 1);

    return (const smcr_slab_block_t *)(const void *)((const uint8_t *)entry - within);
}

/* The number of an entry, from 1; 0 of NULL. */
static inline uint32_t
smcr_slab_number(const void *entry)
{
    uint32_t within = (uint32_t)((uintptr_t)entry & (SMCR_SLAB_SIZE - 1));

    return entry ? smcr_slab_block(entry)->index * SMCR_SLAB_UNITS + within / SMCR_SLAB_UNIT : 0;
}

/* The entry with that number; NULL of 0. */
static inline void *
smcr_slab_entry(const smcr_slab_t *slab, uint32_t number)
{
    return number ? (uint8_t *)slab->blocks[number / SMCR_SLAB_UNITS] +
                        number % SMCR_SLAB_UNITS * SMCR_SLAB_UNIT : NULL;
}

/* The entry with that number in the slab that `neighbour` is an entry of; NULL of 0. */
static inline void *
smcr_slab_beside(const void *neighbour, uint32_t number)
{
    return number ? smcr_slab_entry(smcr_slab_block(neighbour)->slab, number) : NULL;
}
