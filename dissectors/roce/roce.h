/* roce.h
 * Knows SMC-R on Wireshark's InfiniBand: transport headers, which packets are ours. Does not know
 * what messages mean. Called by the entry for RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "host/host.h"

/* A packet that begins with the header `start` says, in front of InfiniBand's dissector. Returns
 * what that returns. */
int smcr_carrier_dissect(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                         proto_tree *tree, void *data);

/* Our payload heuristic: InfiniBand's dissector offers a payload. */
ws_bool smcr_carrier_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* What is asked in the place of the built-in's heuristic. */
ws_bool smcr_carrier_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Called once, after all protocols have registered. */
void smcr_carrier_handoff(void);
