/* conn_entry.h
 * What has been counted of a connection, and the entry that is made of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_CONN_ENTRY_H
#define SMCR_REPORT_COLLECT_CONN_ENTRY_H

#include "stream_bytes.h"
#include "frame_times.h"
#include "report/figures/figures.h"
#include "state/state.h"
#include "tcp_flows.h"
#include "unacked_writes.h"

/* One direction. */
typedef struct {
    smcr_entry_conn_direction_t figures;
    smcr_collect_stream_bytes_t bytes; /* that figures.bytes has counted */
    smcr_collect_unacked_writes_t unacked;
    const smcr_link_t *link;      /* on which it went last */
    bool is_blocked;              /* the writer has said so last */
    bool blocked_known, full_known; /* how long one time of them was is known */
} smcr_collect_direction_t;

/* A link that the connection has used, from a frame on. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* later */
    const smcr_link_t *link;
    smcr_when_t from;
} smcr_collect_link_use_t;

typedef struct {
    const smcr_conn_t *conn;
    smcr_when_t first, last, confirm; /* frame 0: not seen */
    smcr_collect_direction_t direction[2]; /* by the side that sends */
    smcr_collect_link_use_t *first_use, *last_use;
    uint64_t clc_bytes[2];            /* by role: client, server */
    uint8_t version, release;         /* of SMC, that both agree on; 0: not known */
    bool is_smcd, on_roce;            /* agreed on; it has a packet there */
} smcr_collect_counted_conn_t;

/* What else tells of connections. */
typedef struct {
    const smcr_state_t *state;
    const smcr_collect_tcp_flows_t *tcp;
    const smcr_collect_frame_times_t *times;
} smcr_collect_connection_sources_t;

/* Fills in the entry, whose texts live as long as `scope`. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  const smcr_collect_counted_conn_t *counted,
                                  const smcr_collect_connection_sources_t *sources,
                                  wmem_allocator_t *scope);

/* The number of a link group in the report: its index. Groups that are not proven to be one of
 * their own come behind all others; the oldest link tells them apart. */
uint64_t smcr_collect_lgr_number(const smcr_state_t *state, const smcr_lgr_t *lgr);

#endif /* SMCR_REPORT_COLLECT_CONN_ENTRY_H */
