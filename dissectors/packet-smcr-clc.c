/* packet-smcr-clc.c
 * 2. CLC messages over TCP (RFC 7609 3.5, A.2): where they come from. Connections whose SYN has the
 * option are claimed (handshake.c); a heuristic and Decode As serve the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "fields.h"
#include "host/host.h"
#include "tcp/tcp.h"
#include "values.h"
#include "wire/wire.h"

/* Set when protocols register. */
static dissector_handle_t clc;
static dissector_handle_t builtin; /* Wireshark's own `smc`, NULL when it has none */
static heur_dtbl_entry_t *heuristic;

/*
 * For connections whose handshake was not captured. Text in EBCDIC may begin with the eyecatcher,
 * too; Wireshark's own dissector takes that for SMC, and it would come before us from then on, so
 * it is given to that one from here.
 */
static ws_bool
dissect_clc_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (tvb_captured_length(tvb) < SMCR_WIRE_EYECATCHER_LENGTH ||
        !smcr_tcp_clc_begins(tvb, 0, pinfo) || smcr_handshake_bypass() ||
        !smcr_heuristic_enabled(heuristic))
        return false;
    bool is_layer = heuristic->protocol != NULL; /* an earlier packet is not done with yet */
    smcr_heuristic_takes(heuristic, pinfo);
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (!smcr_tcp_clc_plausible(tvb) && !smcr_handshake_find(pinfo))
        return builtin && call_dissector_with_data(builtin, tvb, pinfo, tree, data);
    if (is_layer)
        return smcr_tcp_clc_dissect(tvb, pinfo, tree, data) != 0;
    return call_dissector_only(clc, tvb, pinfo, tree, data) != 0;
}

void
smcr_dissector_clc_handoff(void)
{
    /* With a name: Export PDU writes the name of the dissector of a conversation. */
    clc = register_dissector("smcr", smcr_tcp_clc_dissect, proto_smcr);
    builtin = find_dissector("smc");
    dissector_add_for_decode_as("tcp.port", clc);
    heuristic = smcr_heuristic_add("tcp", dissect_clc_heuristic, "SMC-R CLC over TCP", "smcr_clc");
}
