/* What the packets of a connection add to a table: who sends, whether the frame counts, and how
 * many bytes of the application are new. The bytes are those of the report (report/collect/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/stream_bytes.h"
#include "show/show.h"

/* ---- what a table or a graph of Wireshark needs to remember between two packets ----
 *
 * Wireshark owns the table, and tells us neither that it is emptied nor that it is gone: each
 * packet finds by the table's address what is kept of it. */

typedef struct {
    wmem_allocator_t *scope; /* of what `data` leads to */
    void *data;              /* all zeros in the beginning */
} smcr_statistics_kept_t;

/* What is kept of a table; it is forgotten when the file is closed. `is_empty`: nothing is in the
 * table yet, or it has been emptied: then nothing is kept of it, either. `size`: of `data`, the
 * same for each table of a kind, bytes. */
smcr_statistics_kept_t *smcr_statistics_kept_of(const void *table, bool is_empty, size_t size);

/* ---- rows of connections ---- */

/* What has been counted of one direction. All zeros: nothing. */
typedef struct {
    smcr_collect_stream_bytes_t stream;
    smcr_ranges_t segments; /* sequence numbers of data that TCP has carried */
    uint64_t next;          /* behind those that came last; 0: none */
} smcr_conversation_direction_t;

/* A connection. Its name stays as at its first packet: Wireshark finds rows by that. */
typedef struct {
    const smcr_conn_t *conn;
    address name[2];     /* of its ends: client, server */
    address host[2];     /* AT_NONE: not known */
    unsigned role[2];    /* by side of its link group */
    uint32_t last_frame; /* that has counted; 0: none */
    smcr_conversation_direction_t all[2], shown[2]; /* by role: of all packets; of those that a
                                                       filter selects */
} smcr_conversation_row_t;

/* The rows of a table: smcr_statistics_kept_t of this, or of what begins with it. */
typedef struct {
    wmem_map_t *rows;  /* smcr_conn_t -> smcr_conversation_row_t */
    wmem_map_t *links; /* smcr_link_t -> address: the name of the link */
} smcr_conversation_rows_t;

/* What a packet adds. */
typedef struct {
    smcr_conversation_row_t *row; /* NULL: it is of no connection */
    bool is_first;        /* of its connection in the table */
    unsigned sender;      /* role */
    int frames;           /* 1: the frame's first packet of the connection, else 0 */
    int bytes;            /* of the application, of those that the filter selects; 0: it does not */
    int all_bytes;        /* whatever the filter selects */
} smcr_conversation_share_t;

/* `flags`: with which Wireshark calls the table. */
smcr_conversation_share_t smcr_conversation_rows_take(smcr_statistics_kept_t *kept,
                                                      const packet_info *pinfo,
                                                      const smcr_tap_t *packet, tap_flags_t flags);

/* The row of a connection, made if there is none. */
smcr_conversation_row_t *smcr_conversation_rows_make(smcr_statistics_kept_t *kept,
                                                     const smcr_conn_t *conn);
