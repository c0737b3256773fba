/* llc.h
 * LLC messages (RFC 7609 A.3, net/smc/smc_llc.c): shown, checked, decoded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_LLC_H
#define SMCR_MESSAGE_LLC_H

#include "compat.h"
#include "wire/wire.h"

/*
 * Dissects one LLC message: adds its tree to `tree`, sets the Info column.
 *
 * tvb: the payload of an RC SEND, at least one byte captured, without padding and ICRC. llc:
 * filled in; its RTokens live as long as the packet. Returns the message's subtree, NULL without
 * a tree.
 */
proto_tree *smcr_llc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_llc_t *llc);

/*
 * Decodes one LLC message without showing anything. Arguments as above; what the capture lacks of
 * `llc` is zero. Returns whether it is of a known type and fits its layout as far as it was
 * captured: the length is right, reserved bits and unused places are zero, counts fit.
 */
bool smcr_llc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_llc_t *llc);

#endif /* SMCR_MESSAGE_LLC_H */
