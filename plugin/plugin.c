/* plugin.c
 * What Wireshark looks for in a plugin file: version symbols and the registration call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "compat.h"

#include "fields.h"
#include "packet-smcr.h"

WS_DLL_PUBLIC_DEF const char plugin_version[] = SMCR_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);
WS_DLL_PUBLIC uint32_t plugin_describe(void);

static void
register_handoffs(void)
{
    smcr_tcpopt_handoff();
    smcr_clc_handoff();
    smcr_roce_handoff();
}

void
plugin_register(void)
{
    static proto_plugin plugin = {smcr_register, register_handoffs};

    proto_register_plugin(&plugin);
}

/* What the "type" column of `tshark -G plugins` says. */
uint32_t
plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
