/* Knows the reports of Linux about SMC over netlink: sockets of AF_SMC, messages of
 * SMC_GEN_NETLINK. Does not know RoCE, nor what follows from a report. Called by plugin.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Registers the protocol in name only that owns the wrappers; called once, after protocol netlink
 * is registered. */
void smcr_netlink_register(void);

/* Puts wrappers in the place of Wireshark's dissectors for netlink and SOCK_DIAG, and registers the
 * dissector for SMC_GEN_NETLINK. Called once, after all protocols have registered. */
void smcr_netlink_handoff(void);
