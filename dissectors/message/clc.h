/* clc.h
 * CLC messages (RFC 7609 A.2, net/smc/smc_clc.h): shown, checked, decoded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_CLC_H
#define SMCR_MESSAGE_CLC_H

#include "compat.h"
#include "wire/wire.h"

/*
 * Dissects one CLC message: adds its tree to `tree`, appends to the Info column.
 *
 * tvb: the message alone, from its eyecatcher; its reported length is that of the message, or of
 * what there is when the message's length field is impossible. release: of SMC version 2, that the
 * link group has agreed on; 0: not known. clc: filled in. Returns the message's subtree, NULL
 * without a tree.
 */
proto_tree *smcr_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned release,
                             smcr_clc_t *clc);

/* Decodes one CLC message without showing anything. Arguments as above. */
void smcr_clc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_clc_t *clc);

#endif /* SMCR_MESSAGE_CLC_H */
