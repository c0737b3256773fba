/* connections.h
 * What each connection of SMC-R carried, and how long its ends waited for each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_CONNECTIONS_H
#define SMCR_REPORT_COLLECT_CONNECTIONS_H

#include "conn_entry.h"
#include "show/show.h"

typedef struct smcr_connections smcr_collect_connections_t; /* of one report */

/* No connections. They live as long as the scope. */
smcr_collect_connections_t *smcr_collect_connections_new(wmem_allocator_t *scope);

/* A packet or message of a connection; others are left alone. */
void smcr_collect_connections_take(smcr_collect_connections_t *connections, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds the connections to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_connections_report(smcr_collect_connections_t *connections,
                                     const smcr_collect_connection_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

/* What was written again after a connection had moved: in how many bytes, and where first. */
typedef struct {
    smcr_when_t first; /* frame 0: nothing was */
    uint64_t bytes;
} smcr_collect_rewritten_t;
smcr_collect_rewritten_t
smcr_collect_connections_rewritten(const smcr_collect_connections_t *connections);

/* A connection's move from a link to another; calls `visit` for each. */
void smcr_collect_connections_moves(const smcr_collect_connections_t *connections,
                                    void (*visit)(const smcr_link_t *from, const smcr_link_t *to,
                                                  void *data),
                                    void *data);

#endif /* SMCR_REPORT_COLLECT_CONNECTIONS_H */
