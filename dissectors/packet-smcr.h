/* packet-smcr.h
 * The places of three dissectors in Wireshark, for plugin.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* A dissector of Wireshark's form, dissect_<name>(), that is called with a value before. */
#define SMCR_DISSECTOR_WRAPPER(name, function, value)                                              \
    static int dissect_##name(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)     \
    {                                                                                              \
        return function(value, tvb, pinfo, tree, data);                                            \
    }

/* Registers the protocol in name only that owns the wrappers; called once, after InfiniBand. */
void smcr_dissector_roce_register(void);

/* Each hooks its dissector in; called once, after all protocols have registered. */
void smcr_dissector_tcpopt_handoff(void);
void smcr_dissector_clc_handoff(void);
void smcr_dissector_roce_handoff(void);
