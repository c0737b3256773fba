/* netlink.h
 * Knows what Linux tells of SMC over netlink: sockets of AF_SMC, messages of SMC_GEN_NETLINK. Does
 * not know RoCE, nor what follows from it. Called by the entry for netlink.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_NETLINK_NETLINK_H
#define SMCR_NETLINK_NETLINK_H

#include "compat.h"

/* Learns and shows a message of SOCK_DIAG by family, from its nlmsghdr on. `data` is Wireshark's
 * packet_netlink_data. Returns 0 where it is not about AF_SMC. */
int smcr_netlink_dissect_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* The same for SMC_GEN_NETLINK, from its genlmsghdr on. `data` is Wireshark's genl_info_t. */
int smcr_netlink_dissect_generic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Learns from a frame of netlink, whose messages have been dissected, which dumps have ended. */
void smcr_netlink_learn_ends(tvbuff_t *tvb, packet_info *pinfo);

#endif /* SMCR_NETLINK_NETLINK_H */
