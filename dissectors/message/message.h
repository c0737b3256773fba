/* Knows how bytes become fields and structs: layouts, their walker, CLC, LLC, CDC, and which SENDs
 * prove that they are messages. Does not know connections. Called by rooms that learn or show.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "items.h"
#include "layout.h"
#include "wire/wire.h"

/* ---- CLC (RFC 7609 A.2, net/smc/smc_clc.h) ---- */

/* Dissects one CLC message: adds its tree to `tree`, appends to the Info column, raises expert
 * items.
 *
 * tvb: the message alone, from its eyecatcher on. Its reported length is the length of the message.
 * Two exceptions: if the length field has an impossible value, `tvb` has all bytes of the segment
 * from the eyecatcher on; if the message never becomes complete, `tvb` may have fewer bytes than
 * the message. release: the release of SMC version 2 that the link group has agreed on; 0: release
 * 0, or not known. clc: filled in, integers in host order. Returns the subtree of the message; NULL
 * if `tree` is NULL. */
proto_tree *smcr_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned release,
                             smcr_clc_t *clc);

/* Decodes one CLC message without showing anything: no item, no text, no expert item. Stores in
 * `clc` the same values as smcr_clc_dissect(). Arguments as there; `release` is needed for texts
 * only. */
void smcr_clc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_clc_t *clc);

/* ---- LLC (RFC 7609 A.3, net/smc/smc_llc.c) ---- */

/* Dissects one LLC message: adds its tree to `tree`, appends to the Info column, raises expert
 * items.
 *
 * tvb: the payload of an RC SEND without padding and ICRC; at least one byte is captured. llc:
 * filled in, integers in host order; its RTokens live as long as the packet. Returns the subtree of
 * the message; NULL if `tree` is NULL. */
proto_tree *smcr_llc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_llc_t *llc);

/* Decodes one LLC message without showing anything. Arguments as in smcr_llc_dissect(). Members of
 * `llc` whose bytes are not captured are zero. Returns whether the type is known and the captured
 * bytes fit the layout of the type: the length is right, reserved bits and unused entries of lists
 * are zero, and counts fit the length. */
bool smcr_llc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_llc_t *llc);

/* ---- CDC (RFC 7609 A.4) ---- */

/* Dissects one CDC message: adds its tree to `tree`, appends to the Info column, raises expert
 * items.
 *
 * tvb: the payload of an RC SEND without padding and ICRC; at least one byte is captured. cdc:
 * filled in, integers in host order. Returns the subtree of the message; NULL if `tree` is NULL. */
proto_tree *smcr_cdc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc);

/* Decodes one CDC message without showing anything. Arguments as in smcr_cdc_dissect(). Members of
 * `cdc` whose bytes are not captured are zero. Returns whether type and length are right and the
 * captured reserved bits are zero. */
bool smcr_cdc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc);

/* Returns the flags of the message that are set as text, such as " [sending done, closed]"; "":
 * none of these flags is set. "Writer blocked", abort and failover are no part of the text. */
const char *smcr_cdc_flags_text(packet_info *pinfo, const smcr_cdc_t *cdc);

/* As smcr_cdc_dissect(), for a CDC message of SMC-D (struct smcd_cdc_msg), which has neither a
 * sequence number nor a token. Its numbers are in the byte order of the hosts. Linux on
 * little-endian processors is assumed. */
proto_tree *smcr_cdc_dissect_smcd(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                                  smcr_cdc_t *cdc);

/* Decodes a CDC message of SMC-D without showing anything. Arguments as in smcr_cdc_dissect().
 * Returns whether its type is right, no byte is missing in the message, and the captured reserved
 * bits are zero. Returns false for a copy that a tap makes when the message is received: Linux has
 * not set its type. */
bool smcr_cdc_decode_smcd(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc);

/* ---- SENDs on unknown queue pairs ---- */

/* Returns whether a SEND on an unknown queue pair is a message of LLC or CDC: its length is right,
 * and its bytes fit the layout of its type. An LLC message also keeps the rule of its type (column
 * `proof` of llc.def). Example: a CONFIRM LINK has the GID of its sender. Returns false for a
 * message of an unknown type, and if fewer than 30 bytes are captured. Bytes that are not captured
 * count as right.
 *
 * payload: begins with the message, which has `roce->payload_length` bytes. sender: set to the
 * number of the queue pair that sent the message; 0 if the message does not name it. */
bool smcr_message_is_smcr(tvbuff_t *payload, packet_info *pinfo, const smcr_ib_headers_t *roce,
                          uint32_t *sender);
