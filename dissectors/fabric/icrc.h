/* The invariant CRC of a RoCE or InfiniBand packet: it covers all that no switch or router changes
 * (InfiniBand Architecture Specification, volume 1, 7.8.1; RoCEv2 annex A17.9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>

#include "wire/wire.h"

/* Which header the ICRC covers first. */
typedef enum {
    SMCR_ICRC_IPV4, /* RoCEv2: IPv4 with its options, UDP */
    SMCR_ICRC_IPV6, /* RoCEv2: IPv6 without extension headers, UDP */
    SMCR_ICRC_GRH,  /* RoCEv1 */
    SMCR_ICRC_LRH,  /* InfiniBand, with a GRH or without */
} smcr_icrc_start_t;

/* Most bytes from the first header to the end of the BTH: IPv4 with options, UDP, BTH. */
#define SMCR_ICRC_HEADERS_MAX (60 + 8 + SMCR_IB_BTH_LENGTH)

/* The ICRC of a packet. */
typedef struct {
    smcr_ib_icrc_status_t status;
    uint8_t sender[SMCR_GID_LENGTH]; /* source GID; of InfiniBand packets without a GRH the source
                                        LID, in the last two bytes; not set where unverified */
    uint32_t computed; /* as smcr_icrc_compute() returns it; not set where unverified */
    uint32_t found;    /* in the packet, with the same byte order; not set where unverified */
    int offset;        /* of the ICRC in the packet's buffer; negative: the buffer does not have it
                          */
    bool reported;     /* an event of the packet's record says that the ICRC is wrong */
    bool sender_doubted; /* with this packet it turns out that the sender sets no ICRC that means
                            anything (docs/fabric.md, "without meaning") */
} smcr_icrc_t;

/* Computes the ICRC of a packet.
 *
 * start: the header that `packet` begins with. bth: offset of the BTH, at most
 * SMCR_ICRC_HEADERS_MAX - SMCR_IB_BTH_LENGTH. length: bytes from the first header to the one before
 * the ICRC, the BTH among them.
 *
 * Returns it as Wireshark shows infiniband.invariant.crc: the first byte on the wire is the
 * highest. */
uint32_t smcr_icrc_compute(smcr_icrc_start_t start, const uint8_t *packet, size_t bth,
                           size_t length);
