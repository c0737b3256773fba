/* Packets of a tap in the kernel of a host, as the state sees them.
 *
 * The state learns their messages and data as it learns the RDMA WRITEs and CDC messages of RoCE.
 * So a tapped connection has a link of its own, between two queue pairs with numbers that no packet
 * can have, and an RMB for each side. Link, queue pairs and RMBs are made up in place of those that
 * are not captured: a report does not show them, and no rule about links concerns them. A direction
 * is the role of its sender: 0 client, 1 server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* What the state needs of a packet of the tap. */
typedef struct {
    smcr_conn_t *conn;  /* connection of the packet */
    unsigned sender;    /* role of the sender */
    uint32_t interface; /* interface of the capture file */
    bool is_smcd;       /* the connection uses SMC-D: its messages have no sequence number and no
                           token */
    uint8_t version;    /* version of SMC, 1 or 2 */
    uint16_t layer;     /* layer of the record of the packet's first part */
    uint8_t source[SMCR_GID_LENGTH];      /* address of the sender, as a GID */
    uint8_t destination[SMCR_GID_LENGTH]; /* address of the receiver, as a GID */
} smcr_tapped_packet_t;

/* Data of a packet of the tap. */
typedef struct {
    const uint8_t *bytes; /* the captured bytes */
    uint32_t captured;    /* number of `bytes` */
    uint32_t length;      /* number of bytes that the tap has copied */
} smcr_tapped_data_t;

/* Queue pair, PSN and address that a part of the packet's data, or its message, gets on the made-up
 * link of the connection. */
typedef struct {
    uint32_t qpn;        /* number of the queue pair that receives the part */
    uint32_t psn;        /* PSN of the part, 24 bits */
    uint64_t address;    /* address in the RMB; only of data */
    uint32_t length;     /* number of bytes; only of data */
} smcr_tapped_part_t;

#define SMCR_TAPPED_RKEY 1   /* RKey of the RMB of each side */
#define SMCR_TAPPED_PARTS 2u /* highest number of parts: data that goes over the end of the RMB
                                element has two */

/* What is unusual about a packet of the tap. */
typedef enum {
    SMCR_TAPPED_NO_NOTICE,
    SMCR_TAPPED_DUPLICATE,        /* the message is the same as an earlier one */
    SMCR_TAPPED_OUT_OF_ORDER,     /* the message is earlier than the last one of its sender; or the
                                     data has come after the last message of its sender */
    SMCR_TAPPED_COPY_OF_MISSING,  /* both ends are on one host: the data has no place, since it may
                                     be the copy of data that is missing in the capture */
    SMCR_TAPPED_COPIES_FORGOTTEN, /* both ends are on one host, and so much earlier data has no copy
                                     yet that this data is forgotten: its copies would count as new
                                     data */
} smcr_tapped_notice_t;

/* What a message shows of the packets before it, and whether the state learns the message. */
typedef struct {
    uint64_t missing;  /* number of bytes that the message announces and that are not captured
                          before the message; they may come later */
    bool is_doubtful;  /* data or messages are missing before the message, or are out of order */
    smcr_tapped_notice_t notice; /* why the state does not learn the message; SMCR_TAPPED_NO_NOTICE:
                                    it learns the message, or another packet of the capture shows
                                    the message, too */
} smcr_tapped_verdict_t;
