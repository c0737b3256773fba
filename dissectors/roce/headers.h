/* The InfiniBand transport headers of one RoCE packet, as far as SMC-R needs them (InfiniBand
 * Architecture Specification, volume 1, chapter 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "host/host.h"
#include "wire/wire.h"

/* Reads the headers of the packet in `tvb`, which begins with the header `start` says, into `roce`
 * of a new packet (smcr_packet_begin()).
 *
 * Returns false when it is no InfiniBand transport packet, or when not even its base transport
 * header was captured. Never throws. */
bool smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                    smcr_ib_headers_t *roce);

/* The same from what Wireshark's dissector hands to heuristics, for encapsulations that we do not
 * wrap: `payload` has the padding, but not the ICRC. */
void smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                               const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce);

/* The payload of the packet in `tvb`, which has it at `offset`: without padding, as far as
 * captured. NULL: its opcode carries none. */
tvbuff_t *smcr_roce_payload(tvbuff_t *tvb, int offset, const smcr_ib_headers_t *roce);

/* ---- the ICRC ---- */

/* Checks the ICRC of the packet in `tvb`, which begins with the header `start` says; `roce` is what
 * smcr_roce_read() has read of it. Its length comes from the headers, never from the end of the
 * frame.
 *
 * Returns the status "unverified" when not all that the ICRC covers is there and known. Never
 * throws. */
smcr_icrc_t smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                                 const smcr_ib_headers_t *roce);

/* Shows it at the top level of `tree`; `tvb` is the packet. A wrong one gets its expert item,
 * unless an event tells of it. */
void smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_icrc_t *icrc);
