/* packet-smcr-tcpopt.c
 * 1. The TCP option by which a host says that it can use SMC-R (RFC 7609 A.1).
 *
 * Wireshark has one dissector for the experimental options 253 and 254. It runs as it would without
 * us, and ours is added below when the 32-bit ExID matches. The maximum segment size is wrapped,
 * too: it is in every SYN-ACK, with our option or without.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "fields.h"
#include "tcp/tcp.h"

/* The options that are wrapped, and their own dissectors, saved when protocols register. */
enum { MSS, EXPERIMENT_1, EXPERIMENT_2, WRAPPED };
static const unsigned kinds[WRAPPED] = {SMCR_TCP_MSS, SMCR_TCP_EXPERIMENT_1, SMCR_TCP_EXPERIMENT_2};
static dissector_handle_t original[WRAPPED];

static int
dissect_option(unsigned which, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    bool learns = !pinfo->fd->visited && !pinfo->flags.in_error_pkt;
    bool enabled = proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
    bool ours = enabled && which != MSS && smcr_tcp_option_is_ours(tvb);
    bool tells = enabled && which == MSS && data;

    if (learns && ours && data)
        smcr_tcp_option_learn(pinfo, data);
    else if (learns && tells)
        smcr_tcp_option_learn_mss(tvb, pinfo, data);
    int used = call_dissector_with_data(original[which], tvb, pinfo, tree, data);
    if (ours)
        smcr_tcp_option_show(tvb, pinfo, tree, data);
    else if (tells)
        smcr_tcp_option_show_mss(pinfo, tree);
    return used;
}

SMCR_DISSECTOR_WRAPPER(mss, dissect_option, MSS)
SMCR_DISSECTOR_WRAPPER(experiment_1, dissect_option, EXPERIMENT_1)
SMCR_DISSECTOR_WRAPPER(experiment_2, dissect_option, EXPERIMENT_2)

void
smcr_dissector_tcpopt_handoff(void)
{
    static const dissector_t wrappers[WRAPPED] = {dissect_mss, dissect_experiment_1,
                                                  dissect_experiment_2};
    dissector_table_t table = find_dissector_table("tcp.option");

    for (unsigned i = 0; i < WRAPPED; i++) {
        original[i] = dissector_get_uint_handle(table, kinds[i]);
        if (!original[i])
            continue;
        /* Under the original's protocol, so that the line of options reads as before. */
        int proto = dissector_handle_get_protocol_index(original[i]);
        dissector_add_uint("tcp.option", kinds[i], create_dissector_handle(wrappers[i], proto));
    }
}
