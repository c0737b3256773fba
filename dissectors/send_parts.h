/* send_parts.h
 * Messages that are longer than the path MTU and come as SEND FIRST, MIDDLE and LAST: ADD LINK of
 * SMCv2 with many RKeys (net/smc/smc_llc.c: up to 8 KiB).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SEND_PARTS_H
#define SMCR_SEND_PARTS_H

#include "compat.h"
#include "state/record.h"

/* Called once, when protocols register. */
void smcr_parts_register(void);

/* Adds this packet's bytes to its message and shows below `tree` what belongs together. `more`:
 * further packets follow. Returns the whole message in its last packet, else NULL. */
tvbuff_t *smcr_parts_collect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                             const smcr_record_t *packet, bool more);

#endif /* SMCR_SEND_PARTS_H */
