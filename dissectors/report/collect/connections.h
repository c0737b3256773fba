/* connections.h
 * What each connection of SMC-R carried, and how long its ends waited for each other: what has been
 * counted, and the entry that is made of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_CONNECTIONS_H
#define SMCR_REPORT_COLLECT_CONNECTIONS_H

#include "division.h"
#include "rdma_flows.h"
#include "stream_bytes.h"
#include "tcp_flows.h"

/* One direction. */
typedef struct {
    smcr_entry_conn_direction_t figures;
    smcr_collect_stream_bytes_t bytes; /* that figures.bytes has counted */
    const smcr_link_t *link;      /* on which it went last */
    bool is_blocked;              /* the writer has said so last */
} smcr_collect_direction_t;

/* A link that the connection has used, from a frame on. */
typedef struct smcr_collect_link_use {
    struct smcr_collect_link_use *next; /* later */
    const smcr_link_t *link;
    smcr_when_t from;
} smcr_collect_link_use_t;

/* From the Confirm to where the connection can carry data: LLC of a first contact. */
typedef struct {
    smcr_when_t ready, step;   /* its last packet, and its last one that is no retransmission */
    const smcr_exchange_t *asked, *longest_of; /* NULL: none */
    uint64_t longest;          /* between two messages, nanoseconds */
    uint8_t asked_link, longest_link;
    bool is_unsure;      /* a message is cut, or its time is before that of another */
    bool is_adding;      /* a link that is neither confirmed nor refused nor deleted */
    bool longest_behind; /* its response, which was there before */
} smcr_collect_contact_t;

typedef struct {
    const smcr_conn_t *conn;
    smcr_when_t first, last;          /* frame 0: not seen */
    smcr_when_t clc[SMCR_CLC_CONFIRM + 1]; /* likewise, by type */
    smcr_collect_contact_t contact;
    smcr_collect_division_t division;
    smcr_collect_direction_t direction[2]; /* by the side that sends */
    smcr_collect_link_use_t *first_use, *last_use;
    uint64_t clc_bytes[2];            /* by role: client, server */
    const char *offered_eids;         /* by the Proposal, with commas; NULL: not known, or none */
    uint8_t version;                  /* of SMC, that both agree on; 0: not known */
    bool is_smcd, on_roce;            /* agreed on; it has a packet there */
    bool flips;                       /* the sides are those of smcr_conn_t.flips */
} smcr_collect_counted_conn_t;

typedef struct smcr_connections smcr_collect_connections_t; /* of one report */

/* What else tells of connections and link groups. */
typedef struct {
    const smcr_state_t *state;
    const smcr_collect_connections_t *connections;
    const smcr_collect_rdma_flows_t *flows; /* they have been reported before */
    const smcr_collect_tcp_flows_t *tcp;
    wmem_array_t *times; /* smcr_when_t: frames that may be asked for, in their order */
} smcr_collect_sources_t;

/* No connections. They live as long as the scope. */
smcr_collect_connections_t *smcr_collect_connections_new(wmem_allocator_t *scope);

/* A packet or message of a connection; others are left alone. */
void smcr_collect_connections_take(smcr_collect_connections_t *connections, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Adds the connections to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_connections_report(smcr_collect_connections_t *connections,
                                     const smcr_collect_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

/* What was written again after a connection had moved: in how many bytes, and where first. */
typedef struct {
    smcr_when_t first; /* frame 0: nothing was */
    uint64_t bytes;
} smcr_collect_rewritten_t;
smcr_collect_rewritten_t
smcr_collect_connections_rewritten(const smcr_collect_connections_t *connections);

/* How often connections have moved away from the link, and to it; NULL: never. */
typedef struct {
    uint64_t from, to;
} smcr_collect_moves_t;
const smcr_collect_moves_t *
smcr_collect_connections_moves(const smcr_collect_connections_t *connections,
                               const smcr_link_t *link);

/* Fills in the entry, whose texts live as long as `scope`. */
void smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                                  smcr_collect_counted_conn_t *counted,
                                  const smcr_collect_sources_t *sources,
                                  wmem_allocator_t *scope);

/* The number of a link group in the report: its index. Groups that are not proven to be one of
 * their own come behind all others; the oldest link tells them apart. */
uint64_t smcr_collect_lgr_number(const smcr_state_t *state, const smcr_lgr_t *lgr);

/* The frame with its time, of the sources' `times`; frame 0 where that is not known. */
smcr_when_t smcr_collect_when(wmem_array_t *times, uint32_t frame);

#endif /* SMCR_REPORT_COLLECT_CONNECTIONS_H */
