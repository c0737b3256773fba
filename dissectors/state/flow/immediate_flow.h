/* What immediate data of RDMA WRITEs change, if the hosts send them in place of CDC messages, as
 * ANCK does (wire/immediate.h). Called by packet_flow.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* A message in the immediate data of a WRITE, and the WRITE that carries it. */
typedef struct {
    uint32_t data;         /* the immediate data, in host byte order */
    smcr_conn_t *conn;     /* connection that the immediate data name; NULL: there is no message */
    smcr_psn_t first_psn;  /* PSN of the first packet of the WRITE */
    uint32_t written;      /* bytes of the whole WRITE; SMCR_RECORD_NOT_KNOWN: not known */
} smcr_state_immediate_t;

/* Whether the packet is a whole WRITE without data whose immediate data stand for a CDC message.
 * Its address means nothing: it writes nowhere. Needs the headers in `arrival->roce`. */
bool smcr_state_immediate_is_bare(const smcr_arrival_t *arrival);

/* Returns the message in the immediate data of the arriving WRITE packet. Its member `conn` is NULL
 * if there is none: the hosts have not agreed on immediate data, or the data name no connection or
 * have an unknown opcode. Learns whether the hosts have agreed, if CLC does not say so. Marks the
 * packet whose immediate data name its connection, and adds events. `write`: the WRITE of the
 * packet; NULL: not known, or it has no data. */
smcr_state_immediate_t smcr_state_immediate_of(const smcr_arrival_t *arrival,
                                               const smcr_write_t *write);

/* Takes in the message, of a WRITE that the receiver has taken in: computes its cursors from those
 * of the sender's last message, and takes it in as a CDC message. `place`: place of the WRITE
 * packet; NULL: not known, or no data. Called after the data of the packet was taken in. */
void smcr_state_immediate_take_in(const smcr_arrival_t *arrival,
                                  const smcr_state_immediate_t *message,
                                  const smcr_place_t *place);

/* Called with a packet of a WRITE that has no message of a known connection, after the packet was
 * taken in. If the receiver's host has reported a socket with the token of the immediate data, over
 * netlink, and the address of the WRITE agrees with the reported cursor, its connection begins
 * here: it gets its name, its RMB and its positions, and the message is taken in. `write`: the
 * WRITE of the packet; NULL: not known. */
void smcr_state_immediate_begin(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* Notes that the packet uses up one of the credits that its receiver has announced, if it is a
 * message: a whole SEND, or a WRITE with immediate data. Called with each packet that the receiver
 * takes in, or may take in. */
void smcr_state_immediate_use_credit(const smcr_arrival_t *arrival);

/* Notes that the sender of the packet has announced space for `count` further messages. */
void smcr_state_immediate_add_credits(const smcr_arrival_t *arrival, unsigned count);

/* Fills in `cdc` with the message that the immediate data of an RDMA WRITE packet are, if the hosts
 * send immediate data in place of CDC messages. Its flags and state are those of the packet, its
 * sequence number is 1 if CLC has announced the sender's element and 0 otherwise, and its producer
 * cursor, of which only equality means something, is set if `lacks_prod` is false. Returns false if
 * the packet has no such message; `cdc` is not changed then. */
bool smcr_state_immediate_cdc(const smcr_record_t *record, const smcr_ib_headers_t *roce,
                              smcr_cdc_t *cdc);
