/* cm_table.h
 * A table of ends of connections. It keeps pointers only, which is what a million connections can
 * afford, and compares what they point to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_CM_TABLE_H
#define SMCR_FABRIC_PEERS_CM_TABLE_H

#include <stddef.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "cm_state.h"

/* The connection of an end, and its other end. */
static inline smcr_cm_conn_t *
smcr_cm_conn_of(smcr_cm_end_t *end)
{
    return (smcr_cm_conn_t *)(void *)((char *)(end - end->side) - offsetof(smcr_cm_conn_t, ends));
}

static inline smcr_cm_end_t *
smcr_cm_peer_of(smcr_cm_end_t *end)
{
    return end->side == SMCR_CM_CLIENT ? end + 1 : end - 1;
}

/* How ends are told from each other. While one is in the table, this must not change of it. */
typedef struct {
    uint32_t (*hash)(smcr_cm_end_t *end);
    bool (*equal)(smcr_cm_end_t *one, smcr_cm_end_t *other);
} smcr_cm_key_t;

/* All zeros but for `key`: the table is empty. */
typedef struct {
    const smcr_cm_key_t *key;
    smcr_cm_end_t **slots; /* in memory of the scope; NULL: free */
    uint32_t size;         /* of them: a power of two, or 0 */
    uint32_t used;
} smcr_cm_table_t;

/* By ID, between two GIDs (those of SIDR are others); by queue pair. */
extern const smcr_cm_key_t smcr_cm_by_id, smcr_cm_by_qp;

/* The end at `gid` that has an ID towards `peer`; NULL: there is none, nor has any the ID 0. */
smcr_cm_end_t *smcr_cm_table_find_id(const smcr_cm_table_t *table,
                                     const uint8_t gid[SMCR_GID_LENGTH],
                                     const uint8_t peer[SMCR_GID_LENGTH], uint32_t id, bool sidr);

/* The end at `gid` that has a queue pair; NULL: there is none. */
smcr_cm_end_t *smcr_cm_table_find_qp(const smcr_cm_table_t *table,
                                     const uint8_t gid[SMCR_GID_LENGTH], uint32_t qpn);

/* Puts an end in the place of the one that equals it, if there is one. */
void smcr_cm_table_put(smcr_cm_table_t *table, wmem_allocator_t *scope, smcr_cm_end_t *end);

/* Takes this very end out, if it is in the table. */
void smcr_cm_table_remove(smcr_cm_table_t *table, smcr_cm_end_t *end);

#endif /* SMCR_FABRIC_PEERS_CM_TABLE_H */
