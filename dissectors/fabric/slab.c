/* slab.c
 * A block begins at a multiple of its size, and with what it belongs to. So the address of an entry
 * tells its block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "slab.h"

#include <string.h>

#include <wsutil/wslog.h>

#define UNIT 4 /* bytes: numbers count these */
#define BLOCK_UNITS (SMCR_SLAB_SIZE / UNIT)
#define BLOCKS_MAX (UINT32_MAX / BLOCK_UNITS)
#define BLOCKS_AT_ONCE 32 /* one is lost, since wmem's memory begins anywhere */

typedef struct smcr_slab_block {
    const smcr_slab_t *slab;
    uint32_t index;
} block_t;

_Static_assert((SMCR_SLAB_SIZE & (SMCR_SLAB_SIZE - 1)) == 0,
               "blocks are found by the bits of addresses");
_Static_assert(sizeof(block_t) <= SMCR_SLAB_SIZE - SMCR_SLAB_ENTRY_MAX, "blocks begin with this");

static void
get_memory(smcr_slab_t *slab)
{
    uint8_t *memory = wmem_alloc(slab->scope, BLOCKS_AT_ONCE * (size_t)SMCR_SLAB_SIZE);
    size_t before = (size_t)((uintptr_t)memory & (SMCR_SLAB_SIZE - 1));

    slab->unused = memory + (SMCR_SLAB_SIZE - before);
    slab->unused_count = BLOCKS_AT_ONCE - 1;
}

static void
begin_block(smcr_slab_t *slab)
{
    if (slab->count == BLOCKS_MAX)
        ws_error("More is to be kept of the capture than there are numbers for");
    if (slab->unused_count == 0)
        get_memory(slab);
    if ((slab->count & (slab->count - 1)) == 0) /* full at powers of two */
        slab->blocks = wmem_realloc(slab->scope, slab->blocks,
                                    MAX(2 * (size_t)slab->count, 1) * sizeof *slab->blocks);
    block_t *block = (block_t *)(void *)slab->unused;
    *block = (block_t){slab, slab->count};
    slab->blocks[slab->count++] = block;
    slab->used = SMCR_SLAB_SIZE - SMCR_SLAB_ENTRY_MAX;
    slab->unused += SMCR_SLAB_SIZE;
    slab->unused_count--;
}

void *
smcr_slab_new(smcr_slab_t *slab, size_t size)
{
    size = (size + UNIT - 1) & ~(size_t)(UNIT - 1);
    if (size > SMCR_SLAB_ENTRY_MAX)
        return wmem_alloc0(slab->scope, size);
    if (slab->count == 0 || slab->used + size > SMCR_SLAB_SIZE)
        begin_block(slab);
    void *entry = (uint8_t *)slab->blocks[slab->count - 1] + slab->used;
    slab->used += size;
    return memset(entry, 0, size);
}

static const block_t *
block_of(const void *entry)
{
    uintptr_t within = (uintptr_t)entry & (SMCR_SLAB_SIZE - 1);

    return (const block_t *)(const void *)((const uint8_t *)entry - within);
}

uint32_t
smcr_slab_number(const void *entry)
{
    uint32_t within = (uint32_t)((uintptr_t)entry & (SMCR_SLAB_SIZE - 1));

    return entry ? block_of(entry)->index * BLOCK_UNITS + within / UNIT : 0;
}

void *
smcr_slab_entry(const smcr_slab_t *slab, uint32_t number)
{
    return number ? (uint8_t *)slab->blocks[number / BLOCK_UNITS] + number % BLOCK_UNITS * UNIT
                  : NULL;
}

void *
smcr_slab_beside(const void *neighbour, uint32_t number)
{
    return number ? smcr_slab_entry(block_of(neighbour)->slab, number) : NULL;
}
