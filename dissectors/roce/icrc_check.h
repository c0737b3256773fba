/* icrc_check.h
 * Whether the ICRC of a packet is right: finds the headers that it covers in the bytes of the
 * frame, and shows the result.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ROCE_ICRC_CHECK_H
#define SMCR_ROCE_ICRC_CHECK_H

#include "fabric/fabric.h"
#include "host/host.h"

/*
 * Checks the ICRC of the packet in `tvb`, which begins with the header `start` says; `roce` is what
 * smcr_roce_read() has read of it. Its length comes from the headers, never from the end of the
 * frame.
 *
 * Returns the status "unverified" when not all that the ICRC covers is there and known. Never
 * throws.
 */
smcr_icrc_t smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                                 const smcr_ib_headers_t *roce);

/* Shows it at the top level of `tree`; `tvb` is the packet. A wrong one gets its expert item,
 * unless an event tells of it. */
void smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_icrc_t *icrc);

#endif /* SMCR_ROCE_ICRC_CHECK_H */
