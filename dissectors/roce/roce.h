/* Knows SMC-R on Wireshark's InfiniBand: transport headers, and which packets are of SMC-R. Does
 * not know what messages mean. Called by packet-smcr-roce.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"

/* Dissects a packet that begins with the header `start`. Wireshark calls this function instead of
 * InfiniBand's dissector, which this function calls itself if its items are needed. `data`: the
 * argument for InfiniBand's dissector. Returns the number of bytes dissected; 0: `tvb` has no
 * InfiniBand packet. */
int smcr_roce_dissect(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *tree, void *data);

/* The heuristic for payloads that InfiniBand's dissector offers. `data`: the infinibandinfo of the
 * packet. If the payload is SMC-R, shows the payload and returns true; otherwise returns false. */
ws_bool smcr_roce_dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Wireshark calls this function instead of the heuristic of its own SMC-R dissector `smc`. While
 * the plugin is enabled, returns false for a message whose bytes prove SMC-R in a packet that the
 * wrapper is not dissecting, and for a packet that an ICMP error quotes. In all other cases calls
 * the heuristic of `smc` and returns its result. */
ws_bool smcr_roce_dissect_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Creates the two dissector handles whose calls count as a layer of SMC-R or of InfiniBand. */
void smcr_roce_handoff(void);
