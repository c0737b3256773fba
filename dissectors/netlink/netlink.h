/* Knows the reports of Linux about SMC over netlink: sockets of AF_SMC, messages of SMC_GEN_NETLINK
 * and SMC_PNETID. Does not know RoCE, and does not know what the state learns from a report. Called
 * by plugin.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Registers an internal protocol (PINO) to which the wrappers of netlink's dissectors belong, after
 * protocol netlink has registered. */
void smcr_netlink_register(void);

/* Replaces Wireshark's dissectors for netlink and SOCK_DIAG by wrappers, and registers the
 * dissectors for SMC_GEN_NETLINK and SMC_PNETID, after all protocols have registered. */
void smcr_netlink_handoff(void);
