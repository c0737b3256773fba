/* Rows of connections, for the tables Conversations and Endpoints and for the flow graph; and what
 * a packet adds to its row: the sender, frames, and new bytes of the application. The bytes are
 * counted as in the report (report/collect/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/collect/stream_bytes.h"
#include "show/show.h"

/* ---- memory of a table or graph from one packet to the next ----
 *
 * Wireshark owns the table. It reports neither that the table is emptied nor that it is closed. So
 * each packet finds the memory by the table's address. */

typedef struct {
    wmem_allocator_t *scope; /* of all memory that `data` points to */
    void *data;              /* all zeros at first */
} smcr_statistics_memory_t;

/* Returns the memory of a table, until the capture file is closed. `is_empty`: Wireshark's table
 * has no row, since it is new or has been emptied; the memory is then emptied, too. `size`: bytes
 * of `data`, the same for all tables of a kind. */
smcr_statistics_memory_t *smcr_statistics_find_memory(const void *table, bool is_empty,
                                                      size_t size);

/* ---- rows of connections ---- */

/* Bytes that have been counted of one direction. All zeros: none. */
typedef struct {
    smcr_collect_stream_bytes_t stream; /* carried by RDMA WRITEs */
    smcr_ranges_t segments;             /* sequence numbers of data that TCP has carried */
    uint64_t next_seq;                  /* sequence number after the last such data; 0: none */
} smcr_conversation_direction_t;

/* A connection in a table. */
typedef struct {
    const smcr_conn_t *conn;
    address name[2];     /* of its ends, by role. They stay as at the first packet, since Wireshark
                            finds rows by them */
    address host[2];     /* of its ends, by role; AT_NONE: not known */
    unsigned role[2];    /* of the sides of its link group: 0 client, 1 server */
    uint32_t last_frame; /* the last one that has been counted; 0: none */
    smcr_conversation_direction_t all_counts[2]; /* of all packets, by role of the sender */
    smcr_conversation_direction_t filtered_counts[2]; /* of packets that the filter selects,
                                                         likewise */
} smcr_conversation_row_t;

/* The rows of a table. The memory of a table begins with it. */
typedef struct {
    wmem_map_t *rows;  /* smcr_conn_t -> smcr_conversation_row_t */
    wmem_map_t *links; /* smcr_link_t -> address: the name of the link */
} smcr_conversation_rows_t;

/* What a packet adds to its row. */
typedef struct {
    smcr_conversation_row_t *row; /* NULL: the packet is of no connection; all else is then 0 */
    bool is_first;                /* the first packet of the connection in this table */
    unsigned sender;              /* role */
    int frames;                   /* 1: the frame's first packet of the connection; else 0 */
    int bytes;                    /* new bytes of the application, if the filter selects the packet;
                                     else 0 */
    int all_bytes;                /* the same, whether the filter selects the packet or not */
} smcr_conversation_update_t;

/* Counts a packet in the row of its connection, which is made if there is none, and returns what
 * the packet has added. `flags`: those of Wireshark's call, which have the filter's verdict. */
smcr_conversation_update_t smcr_conversation_count_packet(smcr_statistics_memory_t *kept,
                                                          const packet_info *pinfo,
                                                          const smcr_tap_t *packet,
                                                          tap_flags_t flags);

/* Returns the row of a connection, which is made if there is none. */
smcr_conversation_row_t *smcr_conversation_find_row(smcr_statistics_memory_t *kept,
                                                    const smcr_conn_t *conn);
