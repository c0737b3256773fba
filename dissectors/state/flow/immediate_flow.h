/* What immediate data of RDMA WRITEs change, if the hosts send them in place of CDC messages, as
 * ANCK does (wire/immediate.h). Called by place_packet.c and deferred.c; packet/ reads the message
 * in every pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* A message in the immediate data of a WRITE, and the WRITE that carries it. */
typedef struct {
    uint32_t data;         /* the immediate data, in host byte order */
    smcr_conn_t *conn;     /* connection that the immediate data name; NULL: there is no message */
    smcr_psn_t first_psn;  /* PSN of the first packet of the WRITE, without wrap; if this packet is
                              not known, of the packet with the immediate data */
    uint32_t written;      /* bytes of the whole WRITE; SMCR_RECORD_NOT_KNOWN: not known */
} smcr_state_immediate_t;

/* Whether the packet is a whole WRITE without data, whose immediate data are sent in place of a CDC
 * message. The address of such a WRITE has no meaning. Needs the headers in `arrival->roce`. */
bool smcr_state_immediate_is_bare(const smcr_arrival_t *arrival);

/* Returns the message in the immediate data of the arriving WRITE packet. The member `conn` of the
 * result is NULL if there is no message of a known connection. Examples: the packet has no captured
 * immediate data, the hosts have not agreed on immediate data, or the immediate data name no
 * connection or have an unknown opcode. Also learns from the packet whether the hosts have agreed,
 * if CLC does not show this; sets `names_conn` in the place of the packet; and adds events.
 * `write`: request of the packet; NULL: not known, or the WRITE has no data. */
smcr_state_immediate_t smcr_state_immediate_of(const smcr_arrival_t *arrival,
                                               const smcr_write_t *write);

/* Takes in the message in the immediate data of a WRITE that the receiver has taken in: computes
 * the cursors of the message from the cursors of the sender's last message, and takes the message
 * in as a CDC message. `place`: place of the WRITE packet; NULL: not known, or the packet has no
 * data. Called after the data of the packet was taken in. */
void smcr_state_immediate_take_in(const smcr_arrival_t *arrival,
                                  const smcr_state_immediate_t *message,
                                  const smcr_place_t *place);

/* Called for a WRITE packet whose immediate data are no message of a known connection. If its
 * receiver takes the packet in, two conditions make a connection of the packet: 1. a report over
 * netlink names the receiver's socket with the token of the immediate data; 2. the address of the
 * WRITE agrees with the producer cursor that is known from the report. The connection gets
 * addresses, ports, RMB and positions from the report and the WRITE, and the message is taken in.
 * Otherwise nothing changes. `write`: request of the packet; NULL: not known, so nothing
 * changes. */
void smcr_state_immediate_begin(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* Makes a CDC message from the immediate data of an RDMA WRITE packet, if the hosts send immediate
 * data in place of CDC messages. For every pass; needs the record of the packet. Flags and state
 * are those in the immediate data. The sequence number is 1 if CLC has announced the sender's
 * element, otherwise 0. The producer cursor is set if `lacks_prod` is false; it is made from a
 * position, so it may only be compared for equality. Returns false if the packet has no such
 * message; `*cdc` is not changed then. */
bool smcr_state_immediate_cdc(const smcr_record_t *record, const smcr_ib_headers_t *roce,
                              smcr_cdc_t *cdc);
