/* Counts the bytes that the end of a connection or of a link group costs: the bytes that are under
 * way, written and not announced, or announced and not read (RFC 7609 4.6, 4.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* The cost of an end. */
typedef struct {
    bool known;           /* positions are known, and no CDC message of the writer is missing. For
                             both directions together: of neither side, so the numbers are exact */
    bool reader_known;    /* set by smcr_cost_of_direction() only: no CDC message of the reader is
                             missing, so `unread` is exact; otherwise `unread` is an upper bound */
    unsigned open_conns;  /* number of connections that neither side has ended */
    uint64_t unread;      /* number of bytes announced and not read: of both directions, or of the
                             one that smcr_cost_of_direction() is asked for */
    uint64_t unannounced; /* number of bytes written and not announced, of the same directions */
} smcr_cost_t;

/* The cost in the direction in which the connection sends to `side`. `open_conns` is not set. */
smcr_cost_t smcr_cost_of_direction(const smcr_conn_t *conn, int side);

/* The cost of the end of a connection, both directions together. `open_conns` is 1 or 0. */
smcr_cost_t smcr_cost_of_conn(const smcr_conn_t *conn);

/* The cost of the end of a link group: the sum over its open connections. */
smcr_cost_t smcr_cost_of_group(smcr_lgr_t *lgr);

/* Whether the cost is known, and at least one byte is unread or unannounced. */
static inline bool
smcr_cost_is_loss(const smcr_cost_t *cost)
{
    return cost->known && (cost->unread || cost->unannounced);
}

/* Adds the event `event` to the packet. `what`: begin of the event's sentence, to which the lost
 * bytes are appended if they are known. Returns the event. */
smcr_event_t *smcr_cost_report(const smcr_arrival_t *arrival, smcr_event_id_t event,
                               const char *what, const smcr_cost_t *cost);

/* Adds the event that a link group has ended with open connections, which are lost. Does nothing if
 * the group has no open connection. */
void smcr_cost_report_group_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);
