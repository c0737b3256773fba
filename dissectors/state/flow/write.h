/* write.h
 * RDMA WRITE requests: where each of their packets writes, in the RMB element and in the byte
 * stream (RFC 7609 4.2, 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_WRITE_H
#define SMCR_STATE_FLOW_WRITE_H

#include "state/model/record.h"

/* One request, so that its MIDDLE and LAST packets find their place. */
struct smcr_write {
    uint32_t first_psn;
    uint32_t packets;        /* that the request has; 1 when it is an ONLY */
    uint32_t packet_length;  /* payload of each packet but the last, bytes */
    uint32_t length;         /* of the whole request, bytes */
    uint64_t va;             /* where the first packet writes */
    uint32_t rkey;
    bool placed;             /* `position` is known */
    uint64_t position;       /* of the first byte in the byte stream */
    smcr_rmb_t *rmb;         /* NULL: the RKey names no RMB that is known */
    uint64_t rmb_va;         /* of its first byte */
    smcr_late_t *late;       /* NULL when the RMB is known */
};

/* Whether an opcode is that of a WRITE packet. */
bool smcr_is_write(uint8_t opcode);

/* The request that `qp` received last, NULL when there has been none. */
smcr_write_t *smcr_write_last(const smcr_qp_t *qp);

/*
 * The request of the WRITE packet that arrives. `*begun` tells whether this is its first packet,
 * and not one that comes again. NULL: its first packet has not come.
 */
smcr_write_t *smcr_write_of(const smcr_arrival_t *arrival, bool *begun);

/* The WRITE packet's place in the RMB element. Returns its offset in its request, bytes. */
uint32_t smcr_write_place(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* And in the byte stream: decided once for the whole request, when its first packet comes. Returns
 * false when it is not known. `within`: as returned above. */
bool smcr_write_locate(const smcr_arrival_t *arrival, smcr_write_t *write, uint32_t within);

/* Completes the place of a packet with the headers `roce` that came before its request. */
void smcr_write_place_late(smcr_state_t *state, smcr_qp_t *qp, const smcr_write_t *write,
                           const smcr_roce_t *roce, smcr_place_t *place);

/* The receiver has taken the packet at `place` in; its position is known. */
void smcr_write_apply(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

#endif /* SMCR_STATE_FLOW_WRITE_H */
