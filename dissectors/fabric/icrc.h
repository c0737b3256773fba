/* The invariant CRC of a RoCE or InfiniBand packet. The ICRC covers all bits that no switch or
 * router changes (InfiniBand Architecture Specification, volume 1, 7.8.1; RoCEv2 annex A17.9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>

#include "wire/wire.h"

/* The first header that the ICRC covers. */
typedef enum {
    SMCR_ICRC_IPV4, /* RoCEv2 over IPv4: the IPv4 header with its options, then UDP */
    SMCR_ICRC_IPV6, /* RoCEv2 over IPv6: the IPv6 header without extension headers, then UDP */
    SMCR_ICRC_GRH,  /* RoCEv1: the GRH */
    SMCR_ICRC_LRH,  /* InfiniBand: the LRH, with or without a GRH after it */
} smcr_icrc_start_t;

/* Highest number of bytes from the first header to the end of the BTH: IPv4 with options, UDP,
 * BTH. */
#define SMCR_ICRC_HEADERS_MAX (60 + 8 + SMCR_IB_BTH_LENGTH)

/* The ICRC of a packet, and whether it is right. */
typedef struct {
    smcr_ib_icrc_status_t status; /* whether the ICRC is right, wrong or unverified */
    uint8_t sender[SMCR_GID_LENGTH]; /* GID of the sender. For an InfiniBand packet without a GRH,
                                        the last two bytes are the source LID. Not set if `status`
                                        is unverified. */
    uint32_t interface; /* number of the interface that captured the packet; not set if `status` is
                           unverified */
    uint32_t computed; /* value from smcr_icrc_compute(); not set if `status` is unverified */
    uint32_t found;    /* value in the packet, in the byte order of `computed`; not set if `status`
                          is unverified */
    int offset;        /* offset of the ICRC in the tvb of the packet; negative: the tvb does not
                          include the ICRC */
    bool reported;     /* the record of the packet has an event about the wrong ICRC */
    bool sender_doubted; /* this is the packet from which on wrong ICRCs of the sender mean nothing,
                            since no right ICRC has come (docs/fabric.md, "without meaning") */
} smcr_icrc_t;

/* Computes the ICRC of a packet.
 *
 * start: the header that `packet` begins with. bth: offset of the BTH, at most
 * SMCR_ICRC_HEADERS_MAX - SMCR_IB_BTH_LENGTH. length: bytes from the first header to the last byte
 * before the ICRC. `packet` has so many bytes, and the BTH is whole.
 *
 * Returns the value that Wireshark shows as infiniband.invariant.crc: the first byte on the wire is
 * the highest. */
uint32_t smcr_icrc_compute(smcr_icrc_start_t start, const uint8_t *packet, size_t bth,
                           size_t length);
