/* Knows SMC-R on Wireshark's InfiniBand: transport headers, and which packets are of SMC-R. Does
 * not know what messages mean. Called by packet-smcr-roce.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"

/* Dissects a packet that begins with the header `start`. Replaces InfiniBand's dissector, and calls
 * it. `data`: the argument that the caller passes to that dissector. Returns the number of bytes
 * dissected. */
int smcr_roce_dissect(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *tree, void *data);

/* The heuristic for payloads that InfiniBand's dissector offers. `data`: the infinibandinfo of the
 * packet. Returns whether the payload is SMC-R, and shows it then. */
ws_bool smcr_roce_dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Replaces the heuristic of Wireshark's own dissector of SMC-R, and keeps it from payloads that
 * smcr_roce_dissect_payload() takes. Returns whether Wireshark's own heuristic takes the
 * payload. */
ws_bool smcr_roce_dissect_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Creates the dissectors of SMC-R's and InfiniBand's layer. Called once, after all protocols have
 * registered. */
void smcr_roce_handoff(void);
