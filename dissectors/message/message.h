/* Knows how bytes become fields and structs: layouts, their walker, CLC, LLC, CDC, and which SENDs
 * prove themselves. Does not know connections. Called by every room that learns or shows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "items.h"
#include "layout.h"
#include "wire/wire.h"

/* ---- CLC (RFC 7609 A.2, net/smc/smc_clc.h) ---- */

/* Dissects one CLC message: adds its tree to `tree`, appends to the Info column.
 *
 * tvb: the message alone, from its eyecatcher; its reported length is that of the message, or of
 * what there is when the message's length field is impossible. release: of SMC version 2, that the
 * link group has agreed on; 0: not known. clc: filled in. Returns the message's subtree, NULL
 * without a tree. */
proto_tree *smcr_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned release,
                             smcr_clc_t *clc);

/* Decodes one CLC message without showing anything. Arguments as above. */
void smcr_clc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_clc_t *clc);

/* ---- LLC (RFC 7609 A.3, net/smc/smc_llc.c) ---- */

/* Dissects one LLC message: adds its tree to `tree`, sets the Info column.
 *
 * tvb: the payload of an RC SEND, at least one byte captured, without padding and ICRC. llc:
 * filled in; its RTokens live as long as the packet. Returns the message's subtree, NULL without
 * a tree. */
proto_tree *smcr_llc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_llc_t *llc);

/* Decodes one LLC message without showing anything. Arguments as above; what the capture lacks of
 * `llc` is zero. Returns whether it is of a known type and fits its layout as far as it was
 * captured: the length is right, reserved bits and unused places are zero, counts fit. */
bool smcr_llc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_llc_t *llc);

/* ---- CDC (RFC 7609 A.4) ---- */

/* Dissects one CDC message: adds its tree to `tree`, sets the Info column.
 *
 * tvb: the payload of an RC SEND, at least one byte captured, without padding and ICRC. cdc:
 * filled in. Returns the message's subtree, NULL without a tree. */
proto_tree *smcr_cdc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc);

/* Decodes one CDC message without showing anything. Arguments as above. Returns whether type and
 * length are right and the reserved bits are zero, as far as it was captured. */
bool smcr_cdc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc);

/* ---- SENDs on unknown queue pairs ---- */

/* True when the `roce->payload_length` bytes at the beginning of `payload` are a message that
 * keeps every rule: it fits its layout, and in CONFIRM LINK the GID is the sender's own. Messages
 * of unknown type are never recognised. Bytes that the capture lacks are not judged; too few of
 * them prove nothing.
 *
 * sender: the queue pair that sent the message, 0 when the message does not tell. */
bool smcr_message_recognise(tvbuff_t *payload, packet_info *pinfo, const smcr_ib_headers_t *roce,
                            uint32_t *sender);
