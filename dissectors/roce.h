/* roce.h
 * The InfiniBand transport headers of one RoCE packet, as far as SMC-R needs them (InfiniBand
 * Architecture Specification, volume 1, chapter 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ROCE_H
#define SMCR_ROCE_H

#include "compat.h"
#include "wire/messages.h"
#include "wire/roce_codes.h"

/* Which header the packet begins with. */
typedef enum {
    SMCR_ROCE_BTH, /* RoCEv2: UDP carries the base transport header */
    SMCR_ROCE_GRH, /* RoCEv1: Ethernet carries the global route header */
    SMCR_ROCE_LRH, /* InfiniBand: local route header */
    SMCR_ROCE_STARTS
} smcr_roce_start_t;

/*
 * Reads the headers of the packet in `tvb`, which begins with the header `start` says.
 *
 * Returns false when it is no InfiniBand transport packet, or when not even its base transport
 * header was captured. Never throws.
 */
bool smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_roce_start_t start,
                    smcr_roce_t *roce);

/* The queue pair that a base transport header is for. */
uint32_t smcr_roce_qpn(const uint8_t *bth);

/* The same from what Wireshark's dissector hands to heuristics, for encapsulations that we do not
 * wrap: `payload` has the padding, but not the ICRC. */
void smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                               const struct infinibandinfo *infiniband, smcr_roce_t *roce);

/* Writes an address as a GID; addresses that are none become all zeros. */
void smcr_gid_from_address(const address *from, uint8_t gid[SMCR_GID_LENGTH]);

#endif /* SMCR_ROCE_H */
