/* cdc.h
 * CDC messages (RFC 7609 A.4): shown, checked, decoded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_CDC_H
#define SMCR_MESSAGE_CDC_H

#include "compat.h"
#include "wire/wire.h"

/*
 * Dissects one CDC message: adds its tree to `tree`, sets the Info column.
 *
 * tvb: the payload of an RC SEND, at least one byte captured, without padding and ICRC. cdc:
 * filled in. Returns the message's subtree, NULL without a tree.
 */
proto_tree *smcr_cdc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc);

/* Decodes one CDC message without showing anything. Arguments as above. Returns whether type and
 * length are right and the reserved bits are zero, as far as it was captured. */
bool smcr_cdc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_cdc_t *cdc);

#endif /* SMCR_MESSAGE_CDC_H */
