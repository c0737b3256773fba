/* psn.h
 * The order of packets on one direction of a queue pair (InfiniBand Architecture Specification,
 * volume 1, 9.7).
 *
 * A reliable connection delivers packets in the order of their PSNs. A packet behind a gap is
 * thrown away by the receiver and sent again; one that comes twice counts once. So what the
 * receiver has taken in is not what the capture shows, and everything that depends on order has
 * to ask here first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PSN_H
#define SMCR_FABRIC_PSN_H

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#define SMCR_PSN_MASK 0xffffffU

typedef enum {
    SMCR_PSN_NEXT,  /* the one that the receiver waits for */
    SMCR_PSN_OLD,   /* taken in before: retransmitted or duplicated */
    SMCR_PSN_AHEAD, /* behind a gap: the receiver discards it, unless the gap is only ours */
} smcr_psn_order_t;

typedef struct {
    uint32_t psn;
    uint32_t frame; /* 0: none */
    uint64_t time;  /* nanoseconds since the epoch; 0: not told */
} smcr_psn_seen_t;

typedef struct {
    bool started;         /* `next` means something */
    bool acknowledged;    /* the capture shows the receiver's acknowledgements */
    uint32_t taken;       /* PSN of the last acknowledgement, if there has been any */
    uint32_t next;        /* PSN that the receiver waits for */
    uint32_t slots;       /* of `seen`: a power of two, grows with the traffic up to a bound */
    uint32_t used;        /* of them */
    smcr_psn_seen_t *seen; /* by the low bits of the PSN */
} smcr_psn_t;

/* How far `to` is ahead of `from`; negative when it is behind. 24-bit arithmetic. */
int32_t smcr_psn_distance(uint32_t from, uint32_t to);

/* The sender announced `psn` as its first. Ignored when packets have been seen. */
void smcr_psn_start(smcr_psn_t *order, uint32_t psn);

/*
 * A request packet with `psn` arrives in `frame`. `*first_frame` becomes the frame that had this
 * PSN before, 0 when none had. Where the capture shows no acknowledgements, a gap is taken for
 * frames that the capture lacks.
 */
smcr_psn_order_t smcr_psn_take(smcr_psn_t *order, wmem_allocator_t *scope, uint32_t psn,
                               uint32_t frame, uint32_t *first_frame);

/* The first packet with `psn`, NULL when it has not been seen or was long ago. */
smcr_psn_seen_t *smcr_psn_seen(const smcr_psn_t *order, uint32_t psn);

/* The receiver says that it has taken in everything up to and including `psn`. Returns true when
 * that is more than the capture showed. */
bool smcr_psn_acknowledge(smcr_psn_t *order, uint32_t psn);

#endif /* SMCR_FABRIC_PSN_H */
