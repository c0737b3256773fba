/* cm.h
 * Which connections the communication management of a capture sets up and ends, and the state of
 * both their ends (InfiniBand Architecture Specification, volume 1, chapter 12; states move as in
 * Linux 6.1, drivers/infiniband/core/cm.c).
 *
 * A connection is known by the two GIDs that its messages go between, and by the communication IDs
 * of its ends. IDs are used again: a REQ that is no repeat begins a new connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_CM_H
#define SMCR_FABRIC_PEERS_CM_H

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "fabric/fabric.h"

#include "cm_message.h"
#include "cm_state.h"

typedef struct smcr_cm smcr_cm_t; /* what is known of one capture */

/* A message on its way. */
typedef struct {
    smcr_when_t when;
    const uint8_t *source, *target; /* GIDs, 16 bytes: IP addresses of the packet, IPv4 mapped */
    const smcr_cm_message_t *message;
    bool received; /* false: it was sent, but cannot arrive, since its ICRC is wrong */
} smcr_cm_packet_t;

/* What is said of a message. */
typedef struct {
    smcr_cm_conn_t *conn; /* lives as long as the registry; NULL: nothing can be said, and all else
                             is zero */
    uint8_t sender;       /* side: ends[sender] sent it */
    uint8_t states[2];    /* by side, after the message: enum smcr_ib_cm_state; 0 when not known */
    bool known[2];        /* whether that state is */
    uint32_t repeat_of;   /* frame of the first packet of the same message; 0: this is the first */
    bool unexpected_sent; /* the sender, in the state that the capture shows, would not send it:
                             the capture lacks messages, or it is an error. Never for a repeat */
    bool unexpected_received; /* the receiver, in the state that the capture shows, would refuse it,
                                 or a DREQ names another queue pair. Never for one that is lost */
} smcr_cm_verdict_t;

/* A registry without connections. Its tables go with smcr_cm_free(), the rest with `scope`. */
smcr_cm_t *smcr_cm_new(wmem_allocator_t *scope);
void smcr_cm_free(smcr_cm_t *cm);

/* The next message of the capture. Frames come in order. */
smcr_cm_verdict_t smcr_cm_take(smcr_cm_t *cm, const smcr_cm_packet_t *packet);

/* The newest connection one of whose ends has this GID and queue pair; NULL: there is none. A REQ,
 * a REP or a SIDR_REP that names the queue pair again takes it over. Which of its ends it is:
 * smcr_cm_side_of_qp(). */
smcr_cm_conn_t *smcr_cm_of_qp(const smcr_cm_t *cm, const uint8_t gid[SMCR_GID_LENGTH],
                              uint32_t qpn);

/* The side of a connection that has this GID and queue pair, -1: neither has. */
int smcr_cm_side_of_qp(const smcr_cm_conn_t *conn, const uint8_t gid[SMCR_GID_LENGTH],
                       uint32_t qpn);

/* The frame in which a side first sent the message `attribute` (enum smcr_ib_cm_attribute); where
 * it sent several that differ, the last of these. 0: the capture has none, or it is a LAP or an
 * APR.
 */
uint32_t smcr_cm_frame(const smcr_cm_conn_t *conn, unsigned side, uint8_t attribute);

#endif /* SMCR_FABRIC_PEERS_CM_H */
