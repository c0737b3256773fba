/* The transport headers of a packet that one queue pair sends to another, and packet sequence
 * numbers.
 *
 * PSNs have 24 bits and wrap, in long captures many times. Functions that compare PSNs use
 * unwrapped PSNs (smcr_psn_t), which have 64 bits and never wrap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#include "wire/wire.h"

/* The frame and time of something that happens in a capture. */
typedef struct {
    uint32_t frame; /* frame number, from 1; 0: the event has not happened, or its frame is not
                       known */
    uint64_t time;  /* nanoseconds since the epoch */
} smcr_when_t;

/* An acknowledgement. It covers all packets up to the PSN in `psn`. */
typedef struct {
    uint32_t frame; /* frame number of the acknowledgement, from 1 */
    uint32_t psn : 24;    /* PSN that the acknowledgement names */
    uint32_t holders : 8; /* number of kept packets that have this acknowledgement; SMCR_ACK_STAYS:
                             so many or more */
    uint64_t time;  /* time of the acknowledgement, nanoseconds since the epoch */
} smcr_ack_t;

#define SMCR_ACK_STAYS 255 /* highest number of holders that is counted: such an acknowledgement
                              stays as long as its slab */

/* Notes that a further packet has this acknowledgement, and returns the acknowledgement. */
static inline const smcr_ack_t *
smcr_ack_hold(smcr_ack_t *ack)
{
    if (ack->holders < SMCR_ACK_STAYS)
        ack->holders++;
    return ack;
}

/* Notes that a packet with this acknowledgement is not kept any more. Returns true if no other
 * packet has the acknowledgement: the caller then frees it. Always false if so many packets had it
 * that they were not counted (SMCR_ACK_STAYS). */
static inline bool
smcr_ack_let_go(const smcr_ack_t *ack)
{
    smcr_ack_t *held = (smcr_ack_t *)(uintptr_t)ack;

    return held->holders < SMCR_ACK_STAYS && --held->holders == 0;
}

/* Returns frame and time of the acknowledgement. */
static inline smcr_when_t
smcr_ack_when(const smcr_ack_t *ack)
{
    return (smcr_when_t){ack->frame, ack->time};
}

/* Value of smcr_sent_t.ip_id for a packet without an IPv4 identification. */
#define SMCR_SENT_NO_IP_ID (-1)

/* The transport headers of a packet (InfiniBand Architecture Specification, volume 1, chapter 9).
 * All numbers are in host byte order. */
typedef struct {
    smcr_when_t when;        /* frame and time of the packet */
    uint8_t opcode;          /* opcode of the BTH, all eight bits: service and operation */
    uint8_t syndrome;        /* syndrome of the AETH; set only with `has_aeth` */
    bool has_aeth;           /* the packet has an AETH, and the bytes of the AETH are captured */
    uint32_t psn;            /* PSN of the BTH, 24 bits */
    uint32_t payload_length; /* length of the payload in bytes, without padding */
    uint32_t dma_length;     /* length in the RETH, bytes; 0: the packet has no RETH */
    int32_t ip_id;           /* IPv4 identification, or SMCR_SENT_NO_IP_ID */
    uint8_t hop_limit;       /* TTL or hop limit of the IP header; 0: not known */
    bool corrupt;            /* the ICRC is wrong: every receiver discards the packet */
    bool goes_on;            /* the content of the packet proves that it continues its flow, however
                                far its PSN is from the highest PSN of the flow */
} smcr_sent_t;

#define SMCR_PSN_MASK 0xffffffU

/* Returns an acknowledgement that no packet has so far. `when`: its frame and time. `psn`: the PSN
 * that it names; only the low 24 bits count. */
static inline smcr_ack_t
smcr_ack_new(smcr_when_t when, uint64_t psn)
{
    return (smcr_ack_t){.frame = when.frame, .psn = psn & SMCR_PSN_MASK, .time = when.time};
}

/* A PSN that does not wrap: its low 24 bits are the PSN on the wire. 0: no PSN. */
typedef uint64_t smcr_psn_t;

/* How far the PSN `to` is ahead of the PSN `from`, both of 24 bits. The result is between -2^23 and
 * 2^23 - 1, and negative if `to` comes before `from`. */
static inline int32_t
smcr_psn_distance(uint32_t from, uint32_t to)
{
    uint32_t ahead = (to - from) & SMCR_PSN_MASK;

    return ahead < (SMCR_PSN_MASK + 1) / 2 ? (int32_t)ahead
                                           : (int32_t)ahead - (int32_t)(SMCR_PSN_MASK + 1);
}

/* The unwrapped PSN of a flow's first PSN `psn`, of 24 bits. The result is at least 2^32, so that
 * packets with PSNs before the first one get unwrapped PSNs above 0. */
static inline smcr_psn_t
smcr_psn_begin(uint32_t psn)
{
    return UINT64_C(0x100000000) + (psn & SMCR_PSN_MASK);
}

/* Unwraps `psn`, of 24 bits: returns the unwrapped PSN with the low 24 bits `psn` that is nearest
 * to the unwrapped PSN `from`. */
static inline smcr_psn_t
smcr_psn_near(smcr_psn_t from, uint32_t psn)
{
    return from + (smcr_psn_t)(int64_t)smcr_psn_distance((uint32_t)(from & SMCR_PSN_MASK), psn);
}
