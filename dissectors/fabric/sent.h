/* sent.h
 * A packet, as its headers say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_SENT_H
#define SMCR_FABRIC_SENT_H

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

#endif /* SMCR_FABRIC_SENT_H */
