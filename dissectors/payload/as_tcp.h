/* Passes new bytes of a stream to the dissectors that would get them over TCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "payload.h"

/* Dissects new bytes of the stream, through Wireshark's TCP. If smcr_policy_decide_asking() decides
 * that heuristics are not called, shows the bytes as data. */
void smcr_payload_dissect_fresh(const smcr_payload_target_t *target,
                                const smcr_payload_fresh_t *fresh);

/* Whether the frame came before its bytes got the conversation that they have now ("belated"
 * bytes): before a host reported over netlink to which connection they belong, or before the two
 * directions of their connection were joined. Dissectors get belated bytes in later passes only. */
bool smcr_payload_is_belated(const packet_info *pinfo, const smcr_record_t *record);

/* Whether dissectors get bytes of the packet. If so, finds the new bytes. Before, the first pass
 * gives the bytes their position in the order of arrival, if their TCP connection is not known:
 * smcr_payload_is_arrival_ordered(). */
bool smcr_payload_is_for_dissectors(tvbuff_t *data, const packet_info *pinfo,
                                    const smcr_record_t *record, smcr_payload_fresh_t *fresh);
