/* cm_table.c
 * Open addressing: an end is in the first free slot from that of its hash on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm_table.h"

#include <string.h>

#include "wire/wire.h"

#define SIZE_FIRST 16

/* ---- keys ---- */

static uint32_t
hash_id(smcr_cm_end_t *end)
{
    uint64_t of_one = smcr_gid_mix((uint64_t)smcr_cm_conn_of(end)->sidr << 32 | end->id, end->gid);

    return (uint32_t)smcr_gid_mix(of_one, smcr_cm_peer_of(end)->gid);
}

static bool
equal_id(smcr_cm_end_t *one, smcr_cm_end_t *other)
{
    return one->id == other->id && smcr_cm_conn_of(one)->sidr == smcr_cm_conn_of(other)->sidr &&
           memcmp(one->gid, other->gid, SMCR_GID_LENGTH) == 0 &&
           memcmp(smcr_cm_peer_of(one)->gid, smcr_cm_peer_of(other)->gid, SMCR_GID_LENGTH) == 0;
}

static uint32_t
hash_qp(smcr_cm_end_t *end)
{
    return (uint32_t)smcr_gid_mix(end->qpn, end->gid);
}

static bool
equal_qp(smcr_cm_end_t *one, smcr_cm_end_t *other)
{
    return one->qpn == other->qpn && memcmp(one->gid, other->gid, SMCR_GID_LENGTH) == 0;
}

const smcr_cm_key_t smcr_cm_by_id = {hash_id, equal_id};
const smcr_cm_key_t smcr_cm_by_qp = {hash_qp, equal_qp};

/* ---- slots ---- */

static uint32_t
home_of(const smcr_cm_table_t *table, smcr_cm_end_t *end)
{
    return table->key->hash(end) & (table->size - 1);
}

/* The slot of the end that equals `probe`, or the free one in which it would be. */
static smcr_cm_end_t **
slot_of(const smcr_cm_table_t *table, smcr_cm_end_t *probe)
{
    uint32_t i = home_of(table, probe);

    while (table->slots[i] && !table->key->equal(table->slots[i], probe))
        i = (i + 1) & (table->size - 1);
    return &table->slots[i];
}

smcr_cm_end_t *
smcr_cm_table_find_id(const smcr_cm_table_t *table, const uint8_t gid[SMCR_GID_LENGTH],
                      const uint8_t peer[SMCR_GID_LENGTH], uint32_t id, bool sidr)
{
    smcr_cm_conn_t probe = {.sidr = sidr, .ends = {{.id = id}, {.side = 1}}};

    if (!id || !table->size)
        return NULL;
    memcpy(probe.ends[0].gid, gid, SMCR_GID_LENGTH);
    memcpy(probe.ends[1].gid, peer, SMCR_GID_LENGTH);
    return *slot_of(table, &probe.ends[0]);
}

smcr_cm_end_t *
smcr_cm_table_find_qp(const smcr_cm_table_t *table, const uint8_t gid[SMCR_GID_LENGTH],
                      uint32_t qpn)
{
    smcr_cm_end_t probe = {.qpn = qpn};

    if (!table->size)
        return NULL;
    memcpy(probe.gid, gid, SMCR_GID_LENGTH);
    return *slot_of(table, &probe);
}

static void
grow(smcr_cm_table_t *table, wmem_allocator_t *scope)
{
    smcr_cm_table_t before = *table;

    table->size = before.size ? before.size * 2 : SIZE_FIRST;
    table->slots = wmem_alloc0_array(scope, smcr_cm_end_t *, table->size);
    for (uint32_t i = 0; i < before.size; i++)
        if (before.slots[i])
            *slot_of(table, before.slots[i]) = before.slots[i];
    wmem_free(scope, before.slots);
}

void
smcr_cm_table_put(smcr_cm_table_t *table, wmem_allocator_t *scope, smcr_cm_end_t *end)
{
    if (table->used >= table->size / 4 * 3)
        grow(table, scope);
    smcr_cm_end_t **slot = slot_of(table, end);
    table->used += !*slot;
    *slot = end;
}

/* What follows moves up, unless that were before its own slot. */
void
smcr_cm_table_remove(smcr_cm_table_t *table, smcr_cm_end_t *end)
{
    smcr_cm_end_t **slot = table->size ? slot_of(table, end) : NULL;

    if (!slot || *slot != end)
        return;
    uint32_t mask = table->size - 1;
    uint32_t hole = (uint32_t)(slot - table->slots);
    for (uint32_t i = (hole + 1) & mask; table->slots[i]; i = (i + 1) & mask) {
        uint32_t home = home_of(table, table->slots[i]);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        table->slots[hole] = table->slots[i];
        hole = i;
    }
    table->slots[hole] = NULL;
    table->used--;
}
