/* sent.h
 * A packet, as its headers say, and its packet sequence number (InfiniBand Architecture
 * Specification, volume 1, 9.7).
 *
 * PSNs have 24 bits and wrap. Everything that compares them counts in unwrapped numbers instead,
 * which never come again in a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>
#include <stdint.h>

/* When something happens in a capture. */
typedef struct {
    uint32_t frame; /* number, from 1; 0: never */
    uint64_t time;  /* nanoseconds since the epoch */
} smcr_when_t;

#define SMCR_SENT_NO_IP_ID (-1)

typedef struct {
    smcr_when_t when;
    uint8_t opcode;          /* of the BTH */
    uint8_t syndrome;        /* of the AETH, with `has_aeth` */
    bool has_aeth;
    uint32_t psn;            /* 24 bits */
    uint32_t payload_length; /* bytes, without padding */
    uint32_t dma_length;     /* of the RETH, bytes; 0: it has none */
    int32_t ip_id;           /* IPv4 identification, or SMCR_SENT_NO_IP_ID */
    bool corrupt;            /* its ICRC is wrong: it was sent, but not received */
} smcr_sent_t;

#define SMCR_PSN_MASK 0xffffffU

/* A PSN that does not wrap: its low 24 bits are the PSN on the wire. 0 is none. */
typedef uint64_t smcr_psn_t;

/* How far `to` is ahead of `from`; negative when it is behind. 24-bit arithmetic. */
static inline int32_t
smcr_psn_distance(uint32_t from, uint32_t to)
{
    uint32_t ahead = (to - from) & SMCR_PSN_MASK;

    return ahead < (SMCR_PSN_MASK + 1) / 2 ? (int32_t)ahead
                                           : (int32_t)ahead - (int32_t)(SMCR_PSN_MASK + 1);
}

/* The unwrapped number of the first PSN of a flow: there is room before it. */
static inline smcr_psn_t
smcr_psn_begin(uint32_t psn)
{
    return UINT64_C(0x100000000) + (psn & SMCR_PSN_MASK);
}

/* The unwrapped number of `psn` that is nearest to `from`. */
static inline smcr_psn_t
smcr_psn_near(smcr_psn_t from, uint32_t psn)
{
    return from + (smcr_psn_t)(int64_t)smcr_psn_distance((uint32_t)(from & SMCR_PSN_MASK), psn);
}
