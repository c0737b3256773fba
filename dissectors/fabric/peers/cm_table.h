/* cm_table.h
 * Tables of ends of connections. They keep pointers only, which is what a million connections can
 * afford, and compare what they point to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_CM_TABLE_H
#define SMCR_FABRIC_PEERS_CM_TABLE_H

#include <stddef.h>

#include <glib.h>

#include "cm_state.h"

/* The connection of an end, and its other end. Like strchr(), they take what is const, too. */
static inline smcr_cm_conn_t *
smcr_cm_conn_of(const smcr_cm_end_t *end)
{
    uintptr_t client = (uintptr_t)(end - end->side);

    return (smcr_cm_conn_t *)(client - offsetof(smcr_cm_conn_t, ends));
}

static inline smcr_cm_end_t *
smcr_cm_peer_of(const smcr_cm_end_t *end)
{
    return &smcr_cm_conn_of(end)->ends[!end->side];
}

/* Tables of ends, which own none: by ID, between two GIDs (those of SIDR are others), and by queue
 * pair. While an end is in a table, what tells it from others must not change. */
GHashTable *smcr_cm_table_by_id(void);
GHashTable *smcr_cm_table_by_qp(void);

/* The end at `gid` that has an ID towards `peer`; NULL: there is none, nor has any the ID 0. */
smcr_cm_end_t *smcr_cm_table_find_id(GHashTable *table, const uint8_t gid[SMCR_GID_LENGTH],
                                     const uint8_t peer[SMCR_GID_LENGTH], uint32_t id, bool sidr);

/* The end at `gid` that has a queue pair; NULL: there is none. */
smcr_cm_end_t *smcr_cm_table_find_qp(GHashTable *table, const uint8_t gid[SMCR_GID_LENGTH],
                                     uint32_t qpn);

/* Takes this very end out, if it is in the table. */
void smcr_cm_table_remove(GHashTable *table, smcr_cm_end_t *end);

#endif /* SMCR_FABRIC_PEERS_CM_TABLE_H */
