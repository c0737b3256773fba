/* Rows of connections, for the tables Conversations and Endpoints and for the flow graph, and what
 * a packet adds to the row of its connection: sender, frames, and new bytes of the application.
 * Bytes are counted as in the report (report/collect/stream_bytes.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/collect/stream_bytes.h"
#include "show/show.h"

/* ---- memory of a table or graph from one packet to the next ----
 *
 * Wireshark owns the table, and does not report when it empties or closes the table. So each packet
 * looks up the memory by the address of the table. */

/* The memory of one table or graph. */
typedef struct {
    wmem_allocator_t *scope; /* owns `data` and all that `data` points to */
    void *data;              /* struct of the table's kind; all zeros when the table is empty */
} smcr_statistics_memory_t;

/* Returns the memory of a table. The memory lives until the capture file is closed. `is_empty`:
 * Wireshark's table has no row, because the table is new or was emptied; then the memory is
 * emptied, too. `size`: size of the struct `data`, bytes. All tables of a kind have the same
 * size. */
smcr_statistics_memory_t *smcr_statistics_find_memory(const void *table, bool is_empty,
                                                      size_t size);

/* ---- rows of connections ---- */

/* Which bytes of one direction have been counted. All zeros: none. */
typedef struct {
    smcr_collect_stream_bytes_t stream; /* positions of bytes that RDMA WRITEs have carried */
    smcr_ranges_t segments;             /* sequence numbers of the data that TCP has carried.
                                           Sequence numbers are unwrapped to 64 bits, so that no
                                           number occurs twice in a connection */
    uint64_t next_seq;                  /* sequence number after the data of the last TCP segment
                                           with data, unwrapped to 64 bits; 0: none */
} smcr_conversation_direction_t;

/* The row of a connection. Indices 0 and 1 are roles, client and server, except in `role`. */
typedef struct {
    const smcr_conn_t *conn; /* connection of the row */
    address name[2];     /* names of both ends. Names do not change after the first packet, since
                            Wireshark finds rows by name */
    address host[2];     /* addresses of both ends, from smcr_show_ends_of(); AT_NONE: not known */
    unsigned role[2];    /* role of each side of the link group: 0 client, 1 server; index: side */
    uint32_t last_frame; /* number of the last frame that was counted; 0: none */
    smcr_conversation_direction_t all_counts[2]; /* bytes of all packets. Index: role of the
                                                    sender */
    smcr_conversation_direction_t filtered_counts[2]; /* bytes of packets that the filter selects.
                                                         Index: role of the sender */
} smcr_conversation_row_t;

/* The row of a link, in a table of endpoints. */
typedef struct {
    address name;        /* name of the link */
    uint32_t last_frame; /* number of the last frame that was counted; 0: none */
} smcr_conversation_link_t;

/* The rows of a table. The `data` of a table's memory begins with this struct. */
typedef struct {
    wmem_map_t *rows;  /* rows of connections: smcr_conn_t -> smcr_conversation_row_t */
    wmem_map_t *links; /* rows of links: smcr_link_t -> smcr_conversation_link_t */
} smcr_conversation_rows_t;

/* The frames and bytes that a packet adds to the row of its connection. */
typedef struct {
    smcr_conversation_row_t *row; /* row of the packet's connection; NULL: the packet has no
                                     connection, and all other members are 0 */
    bool is_first;                /* the packet is the first one of the connection in this table */
    unsigned sender;              /* role of the packet's sender: 0 client, 1 server; 0 if it is not
                                     known */
    int frames;                   /* 1: the packet is the first one of its frame that counts for the
                                     connection; else 0 */
    int bytes;                    /* new bytes of the application; 0 if the filter does not select
                                     the packet */
    int all_bytes;                /* new bytes of the application, whether the filter selects the
                                     packet or not */
} smcr_conversation_update_t;

/* Counts a packet in the row of its connection, and returns what the packet has added. If the
 * connection has no row, a row is made. `flags`: the flags with which Wireshark called the tap
 * listener; they say whether the filter selects the packet. */
smcr_conversation_update_t smcr_conversation_count_packet(smcr_statistics_memory_t *kept,
                                                          const packet_info *pinfo,
                                                          const smcr_tap_t *packet,
                                                          tap_flags_t flags);

/* Returns the row of a connection. If the connection has no row, a row is made. */
smcr_conversation_row_t *smcr_conversation_find_row(smcr_statistics_memory_t *kept,
                                                    const smcr_conn_t *conn);
