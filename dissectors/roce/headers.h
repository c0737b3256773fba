/* The InfiniBand transport headers of one RoCE packet, as far as SMC-R needs them (InfiniBand
 * Architecture Specification, volume 1, chapter 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "host/host.h"
#include "wire/wire.h"

/* Reads the headers of the packet in `tvb`, which begins with the header `start`, into `roce`,
 * which smcr_packet_begin() has prepared. All numbers there are in host byte order. A member of a
 * header that the packet does not have, or that the capture has cut, keeps its value.
 *
 * Returns false when `tvb` has no InfiniBand transport packet, or when the capture has cut even the
 * base transport header. Never throws. */
bool smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                    smcr_ib_headers_t *roce);

/* The same for a packet that the wrapper has not seen, from what InfiniBand's dissector passes to
 * heuristics. `payload`: with the padding, without the ICRC. */
void smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                               const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce);

/* The payload of the packet in `tvb`, which begins at `offset` there, without padding. Its captured
 * length may be less than its length. NULL: packets with this opcode have no payload. */
tvbuff_t *smcr_roce_payload(tvbuff_t *tvb, int offset, const smcr_ib_headers_t *roce);

/* ---- the ICRC ---- */

/* Checks the ICRC of the packet in `tvb`, which begins with the header `start` (InfiniBand
 * Architecture Specification, volume 1, 7.8.1). `roce`: as smcr_roce_read() has read it. The length
 * of the packet comes from its headers, never from the end of the frame.
 *
 * Returns the status "unverified" when the capture has cut a byte that the ICRC covers, or when the
 * headers do not name the length. Never throws. */
smcr_icrc_t smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                                 const smcr_ib_headers_t *roce);

/* Shows the ICRC of the packet in `tvb` at the top level of `tree`. A wrong ICRC gets its expert
 * item, unless an event of the packet's record reports it. */
void smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_icrc_t *icrc);
