/* The InfiniBand transport headers of one RoCE packet, as far as SMC-R needs them (InfiniBand
 * Architecture Specification, volume 1, chapter 9).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "host/host.h"
#include "wire/wire.h"

/* Reads the headers of the packet in `tvb` into `roce`, which smcr_packet_begin() has prepared.
 * `start`: the header that the packet begins with. All numbers are stored in host byte order. If
 * the packet does not have a header, or the capture has cut it, the members of that header keep
 * their values.
 *
 * Returns false if `tvb` has no InfiniBand transport packet, or if the capture has cut the base
 * transport header. Never throws. */
bool smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                    smcr_ib_headers_t *roce);

/* Reads the headers of a packet that the wrapper has not seen, from the data that InfiniBand's
 * dissector passes to heuristics. `payload`: the payload with its padding, without the ICRC. */
void smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                               const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce);

/* The payload, without padding, of the packet in `tvb`. It begins at `offset`. Its captured length
 * may be less than its length. NULL: packets with this opcode have no payload. */
tvbuff_t *smcr_roce_payload(tvbuff_t *tvb, int offset, const smcr_ib_headers_t *roce);

/* ---- the ICRC ---- */

/* Checks the ICRC of the packet in `tvb`, which begins with the header `start` (InfiniBand
 * Architecture Specification, volume 1, 7.8.1). `roce`: the headers, from smcr_roce_read(). The
 * length of the packet comes from its headers, never from the end of the frame.
 *
 * Returns the status "unverified" if the capture has cut a byte that the ICRC covers, or if the
 * headers do not have the length. Never throws. */
smcr_icrc_t smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                                 const smcr_ib_headers_t *roce);

/* Shows the ICRC of the packet in `tvb` at the top level of `tree`. A wrong ICRC gets its expert
 * item, unless an event of the packet's record reports it. */
void smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_icrc_t *icrc);
