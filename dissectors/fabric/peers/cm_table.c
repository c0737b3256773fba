/* cm_table.c
 * Finds ends of connections by what tells them apart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm_table.h"

#include <string.h>

#include "wire/wire.h"

static guint
hash_id(gconstpointer key)
{
    const smcr_cm_end_t *end = key;
    uint64_t of_one = smcr_gid_mix((uint64_t)smcr_cm_conn_of(end)->sidr << 32 | end->id, end->gid);

    return (guint)smcr_gid_mix(of_one, smcr_cm_peer_of(end)->gid);
}

static gboolean
equal_ids(gconstpointer one_key, gconstpointer other_key)
{
    const smcr_cm_end_t *one = one_key, *other = other_key;

    return one->id == other->id && smcr_cm_conn_of(one)->sidr == smcr_cm_conn_of(other)->sidr &&
           memcmp(one->gid, other->gid, SMCR_GID_LENGTH) == 0 &&
           memcmp(smcr_cm_peer_of(one)->gid, smcr_cm_peer_of(other)->gid, SMCR_GID_LENGTH) == 0;
}

static guint
hash_qp(gconstpointer key)
{
    const smcr_cm_end_t *end = key;

    return (guint)smcr_gid_mix(end->qpn, end->gid);
}

static gboolean
equal_qps(gconstpointer one_key, gconstpointer other_key)
{
    const smcr_cm_end_t *one = one_key, *other = other_key;

    return one->qpn == other->qpn && memcmp(one->gid, other->gid, SMCR_GID_LENGTH) == 0;
}

GHashTable *
smcr_cm_table_by_id(void)
{
    return g_hash_table_new(hash_id, equal_ids);
}

GHashTable *
smcr_cm_table_by_qp(void)
{
    return g_hash_table_new(hash_qp, equal_qps);
}

smcr_cm_end_t *
smcr_cm_table_find_id(GHashTable *table, const uint8_t gid[SMCR_GID_LENGTH],
                      const uint8_t peer[SMCR_GID_LENGTH], uint32_t id, bool sidr)
{
    smcr_cm_conn_t probe = {.sidr = sidr, .ends = {{.id = id}, {.side = 1}}};

    memcpy(probe.ends[0].gid, gid, SMCR_GID_LENGTH);
    memcpy(probe.ends[1].gid, peer, SMCR_GID_LENGTH);
    return id ? g_hash_table_lookup(table, &probe.ends[0]) : NULL;
}

smcr_cm_end_t *
smcr_cm_table_find_qp(GHashTable *table, const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn)
{
    smcr_cm_end_t probe = {.qpn = qpn};

    memcpy(probe.gid, gid, SMCR_GID_LENGTH);
    return g_hash_table_lookup(table, &probe);
}

void
smcr_cm_table_remove(GHashTable *table, smcr_cm_end_t *end)
{
    if (g_hash_table_lookup(table, end) == end)
        g_hash_table_remove(table, end);
}
