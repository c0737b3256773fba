/* What a tap in the kernel of a host shows of connections: copies of CDC messages and of data, but
 * no packet of a network. The state learns them as it learns the RDMA WRITEs and CDC messages of
 * RoCE. So a tapped connection has a link of its own, between two queue pairs with numbers that no
 * packet can have, and an RMB for each side. Link, queue pairs and RMBs are made up in place of
 * those that are not captured: a report does not show them, and no rule about links concerns them.
 *
 * The functions are called in the first pass, in the order of the capture. A direction is the role
 * of its sender: 0 client, 1 server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* What the state needs of a packet of the tap. */
typedef struct {
    smcr_conn_t *conn;
    unsigned sender;    /* role of the sender */
    uint32_t interface; /* interface of the capture file */
    bool is_smcd;       /* the connection uses SMC-D: its messages have no sequence number and no
                           token */
    uint8_t version;    /* version of SMC, 1 or 2 */
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
    uint32_t psn;        /* PSN of the part */
    uint64_t address;    /* address in the RMB; only of data */
    uint32_t length;     /* number of bytes; only of data */
} smcr_tapped_part_t;

#define SMCR_TAPPED_RKEY 1   /* RKey of the RMB of each side */
#define SMCR_TAPPED_PARTS 2u /* highest number of parts: data that goes over the end of the RMB
                                element has two */

/* What is to be said of data, if both ends of the connection are on one host and the tap shows each
 * packet twice. */
typedef enum {
    SMCR_TAPPED_NO_NOTICE,
    SMCR_TAPPED_COPY_OF_MISSING,  /* the data has no place: it may be the copy of data that is
                                     missing in the capture */
    SMCR_TAPPED_COPIES_FORGOTTEN, /* there was so much data before without a copy that it is
                                     forgotten: copies of it would count as data */
} smcr_tapped_notice_t;

/* Learns the place of the data: in the receiver's RMB element, the data follows the previous data
 * of this direction. Fills in `parts` and `*notice`, and returns the number of parts. Returns 0 if
 * the data is a copy: another packet of the capture shows the same data, or is missing. */
unsigned smcr_state_tapped_data(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                                smcr_tapped_data_t data,
                                smcr_tapped_part_t parts[SMCR_TAPPED_PARTS],
                                smcr_tapped_notice_t *notice);

/* Learns the place of the CDC message `cdc`, and fills in `*part`. If the message has no sequence
 * number, sets `cdc->seq` to the next number. If the size of the receiver's RMB element is not
 * known, replaces the cursors by positions that count from the first captured byte. Sets `*missing`
 * to the number of announced bytes that are missing in the capture. Returns false if the message is
 * a copy, since another packet of the capture shows the same message. */
bool smcr_state_tapped_cdc(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet,
                           smcr_cdc_t *cdc, smcr_tapped_part_t *part, uint64_t *missing);

/* Whether the tapped connection has ended, so that a further packet with the same addresses and
 * ports belongs to a new connection: both sides have closed or aborted. Also true if its positions
 * have become too high. `sender`: role of the packet's sender. `interface`: interface of the
 * packet. False if the packet may be a copy. */
bool smcr_state_tapped_has_ended(const smcr_conn_t *conn, unsigned sender, uint32_t interface);
