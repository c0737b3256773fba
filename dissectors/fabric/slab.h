/* A slab: memory for many small entries. They stay until the scope of the slab is freed, until they
 * are freed one by one, or until all entries of their block are released. Entries are cut from
 * large blocks, to save memory: wmem needs 16 bytes more for each allocation, and rounds the length
 * of each up to a multiple of 16.
 *
 * Each entry has a number of 4 bytes. Structs keep the number instead of a pointer, which would
 * need 8 bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#ifndef SMCR_SLAB_SIZE /* fuzzers define a smaller size, so that entries often reach the end of a
                          block */
#define SMCR_SLAB_SIZE 32768 /* bytes of a block: a power of two */
#endif
#define SMCR_SLAB_ENTRY_MAX (SMCR_SLAB_SIZE - 16) /* maximum size of an entry that has a number,
                                                     bytes */
#define SMCR_SLAB_UNIT 4 /* unit in which numbers of entries count, bytes */
#define SMCR_SLAB_UNITS (SMCR_SLAB_SIZE / SMCR_SLAB_UNIT) /* number of units in a block */

#define SMCR_SLAB_FREED_UNIT 8 /* sizes of freed entries are multiples of this, bytes */
#define SMCR_SLAB_FREED_MAX 1024 /* longer entries cannot be freed, bytes */

/* A slab. All members but `scope` are zero: nothing has been allocated. */
typedef struct smcr_slab {
    wmem_allocator_t *scope;         /* scope of the blocks */
    struct smcr_slab_block **blocks; /* all blocks begun so far, oldest first */
    uint32_t count;                  /* number of blocks begun so far */
    uint32_t current;                /* index of the block that entries are cut from */
    uint32_t released;               /* index, plus 1, of the block that was released last; 0: there
                                        is no released block */
    size_t used;                     /* bytes of the current block that its head and entries use */
    uint8_t *unused;                 /* memory for the next blocks, allocated but not used yet;
                                        valid if `unused_count` is not 0 */
    uint32_t unused_count;           /* number of blocks in `unused` */
    /* by size, in units of SMCR_SLAB_FREED_UNIT: freed entries of this size. Each has the pointer
     * to the next one. NULL: no entry of any size has been freed */
    void **freed;
} smcr_slab_t;

/* The head of a block. A block begins at a multiple of its size, so that the address of an entry is
 * enough to find its block. */
typedef struct smcr_slab_block {
    const smcr_slab_t *slab;  /* the slab that the block belongs to */
    uint32_t index : 31;      /* index in `blocks` of the slab */
    uint32_t is_released : 1; /* nothing is in the block, which waits for new entries */
    uint32_t stamp;           /* the last stamp of its entries (smcr_slab_stamp()); 0: none. Of a
                                 released block: the value of `released` when it was released */
} smcr_slab_block_t;

/* Returns a new hash table of GLib, which is destroyed when `scope` is freed. A GHashTable needs a
 * third of the memory of a wmem_map_t. */
GHashTable *smcr_slab_table(wmem_allocator_t *scope, GHashFunc hash, GEqualFunc is_equal);

/* Begins a block, which the next entries are cut from: a released block, or else a new one. Aborts
 * the program when entries of another new block would have numbers of more than 32 bits. */
void smcr_slab_begin(smcr_slab_t *slab);

/* Frees an entry of `size` bytes, a multiple of SMCR_SLAB_FREED_UNIT. Nobody may use the entry or
 * its number any more: a later entry of this size gets its memory and its number. Longer entries
 * than SMCR_SLAB_FREED_MAX stay. */
void smcr_slab_free(smcr_slab_t *slab, void *entry, size_t size);

/* Returns the entry of `size` bytes that was freed last, and takes it out of the freed ones. NULL:
 * no freed entry has this size. */
void *smcr_slab_take_freed(smcr_slab_t *slab, size_t size);

/* Returns a new entry of `size` bytes, all zeros. Its address is a multiple of 4. If all sizes are
 * multiples of 8, so are all addresses. An entry of more than SMCR_SLAB_ENTRY_MAX bytes has no
 * number. */
static inline void *
smcr_slab_new(smcr_slab_t *slab, size_t size)
{
    size = (size + SMCR_SLAB_UNIT - 1) & ~(size_t)(SMCR_SLAB_UNIT - 1);
    if (size > SMCR_SLAB_ENTRY_MAX)
        return wmem_alloc0(slab->scope, size);
    void *freed = slab->freed ? smcr_slab_take_freed(slab, size) : NULL;
    if (freed)
        return memset(freed, 0, size);
    if (slab->count == 0 || slab->used + size > SMCR_SLAB_SIZE)
        smcr_slab_begin(slab);
    void *entry = (uint8_t *)slab->blocks[slab->current] + slab->used;
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

/* Stamps an entry that has a number. Stamps of later entries are not lower. */
static inline void
smcr_slab_stamp(const void *entry, uint32_t stamp)
{
    ((smcr_slab_block_t *)(uintptr_t)smcr_slab_block(entry))->stamp = stamp;
}

/* Releases the blocks all of whose entries have a stamp below `stamp`, except the block that new
 * entries are cut from. After the call, the entries of a released block and their numbers must not
 * be used: new entries get the memory and the numbers. All entries of the slab have stamps. */
void smcr_slab_release(smcr_slab_t *slab, uint32_t stamp);

/* The number of the entry at the address `entry`, from 1; 0 if `entry` is NULL. */
static inline uint32_t
smcr_slab_number(const void *entry)
{
    uint32_t within = (uint32_t)((uintptr_t)entry & (SMCR_SLAB_SIZE - 1));

    return entry ? smcr_slab_block(entry)->index * SMCR_SLAB_UNITS + within / SMCR_SLAB_UNIT : 0;
}

/* The entry of `slab` with the number `number`; NULL if `number` is 0. */
static inline void *
smcr_slab_entry(const smcr_slab_t *slab, uint32_t number)
{
    return number ? (uint8_t *)slab->blocks[number / SMCR_SLAB_UNITS] +
                        number % SMCR_SLAB_UNITS * SMCR_SLAB_UNIT : NULL;
}

/* The entry with the number `number`, which is not 0, in the slab of the entry `neighbour`. */
static inline void *
smcr_slab_beside(const void *neighbour, uint32_t number)
{
    return smcr_slab_entry(smcr_slab_block(neighbour)->slab, number);
}
