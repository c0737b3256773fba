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
 * the packet does not have a header, or the header was not captured as a whole, its `has_...` is
 * false and the other members for it have no meaning.
 *
 * Returns the packet: `tvb`, or, if the packet was truncated before it was captured, the same bytes
 * with the length that the headers of IP and UDP say. NULL: `tvb` has no InfiniBand transport
 * packet, or the base transport header was not captured as a whole. Never throws an exception. */
tvbuff_t *smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                         smcr_ib_headers_t *roce);

/* Fills in `roce`, which smcr_packet_begin() has prepared, for a packet that did not come through
 * the wrapper of InfiniBand's dissector (host/hooks.h). The values come from `infiniband`, which
 * InfiniBand's dissector passes to heuristics, from `pinfo`, and from the IP header; all others
 * stay as they are. `payload`: the payload with its padding, without the ICRC. */
void smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                               const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce);

/* Returns the payload, without padding, of the packet in `tvb`. The payload begins at `offset` of
 * `tvb`, and may be truncated. NULL: packets with the opcode of `roce` have no payload. */
tvbuff_t *smcr_roce_payload(tvbuff_t *tvb, int offset, const smcr_ib_headers_t *roce);

/* ---- the ICRC ---- */

/* Checks the ICRC of the packet in `tvb`, which begins with the header `start` (InfiniBand
 * Architecture Specification, volume 1, 7.8.1). `roce`: the headers, from smcr_roce_read(). The
 * length of the packet comes from its headers, because the frame may have padding after the packet.
 *
 * The result has the status "unverified" if a byte that the ICRC covers was not captured, or if
 * these bytes are not known (cover_ip()). Never throws an exception. */
smcr_icrc_t smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                                 const smcr_ib_headers_t *roce);

/* Shows `icrc`, the ICRC of the packet in `tvb`, at the top level of `tree`. Raises an expert item
 * for a wrong ICRC, except if `icrc->reported` is set, and for an unverified one if
 * `icrc->sender_doubted` is set. */
void smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_icrc_t *icrc);
