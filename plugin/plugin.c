/* What Wireshark looks for in a plugin file: version symbols and the registration call, which
 * registers the parts of the protocol.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define WS_BUILD_DLL /* Windows: what this file defines is exported */

#include "compat.h"

#include "anck/anck.h"
#include "host/host.h"
#include "payload/payload.h"
#include "fields.h"
#include "message/message.h"
#include "netlink/netlink.h"
#include "packet-smcr.h"
#include "packet/packet.h"
#include "report/report.h"
#include "show/show.h"
#include "statistics/statistics.h"

WS_DLL_PUBLIC_DEF const char plugin_version[] = SMCR_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);
WS_DLL_PUBLIC uint32_t plugin_describe(void);

/* Called once, while Wireshark registers protocols. */
static void
register_parts(void)
{
    smcr_fields_register();
    smcr_preferences_register(proto_smcr);
    smcr_capture_register();
    smcr_translation_register();
    smcr_dissector_roce_register();
    smcr_dissector_tcpopt_register();
    smcr_netlink_register();
    smcr_anck_register();
    smcr_tap_add(register_tap(SMCR_TAP), NULL);
    smcr_packet_parts_register();
    smcr_decode_as_register(proto_smcr);
    smcr_follow_register(proto_smcr);
    smcr_export_register(proto_smcr);
    smcr_export_segments_register();
    smcr_report_register();
    smcr_statistics_register(proto_smcr);
}

/* Called once, after all protocols have registered. */
static void
register_handoffs(void)
{
    smcr_dissector_tcpopt_handoff();
    smcr_dissector_clc_handoff();
    smcr_dissector_roce_handoff();
    smcr_netlink_handoff();
    smcr_anck_handoff();
    smcr_handshake_handoff(); /* behind CLC's */
    smcr_policy_handoff();
    smcr_follow_handoff();
    smcr_report_handoff();
    smcr_statistics_handoff();
}

void
plugin_register(void)
{
    static proto_plugin plugin = {register_parts, register_handoffs};

    proto_register_plugin(&plugin);
}

/* What the "type" column of `tshark -G plugins` says. */
uint32_t
plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
