/* packet-smcr-tcpopt.c: the TCP option of SMC-R
 *
 * The TCP option with which a host offers SMC-R (RFC 7609 3.1, 3.5.1.1, A.1), and the TCP segments
 * of connections that have the option.
 *
 * What is dissected:
 * - Options of the kinds 253 and 254 (RFC 6994) whose ExID is "SMCR" in EBCDIC. A SYN with the
 *   option makes a connection, smcr.stream, and claims its TCP conversation for CLC
 *   (packet-smcr-clc.c) from that frame on.
 * - The option "maximum segment size" of a SYN-ACK without the SMC-R option: the server refuses
 *   SMC-R, and the connection falls back to TCP.
 * - Every segment of such a connection. Acknowledgements, FIN and RST carry no message, but filters
 *   and statistics of the connection need them.
 *
 * Wireshark has one dissector for each kind of option, so the plugin wraps these dissectors.
 * Wireshark's own dissector runs first, in the same way as without the plugin. Then the plugin adds
 * its fields.
 *
 * Rooms: tcp/option.c and tcp/segment.c do the work. Preferences: host/preferences.c registers all
 * preferences of the protocol; none concerns the option.
 *
 * Limitations:
 * - A SYN-ACK without "maximum segment size" does not show the fallback. Every known TCP sends that
 *   option.
 * - If the TCP options are truncated by snaplen, nobody knows whether the SMC-R option was there.
 *   Then the connection does not fall back.
 * - Without the SYN in the capture, the connection begins at its first CLC message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include <epan/exceptions.h>

#include "fields.h"
#include "show/show.h"
#include "tcp/tcp.h"

/* The options whose dissectors are wrapped. */
enum { MSS, EXPERIMENT_1, EXPERIMENT_2, WRAPPED };
static const unsigned kinds[WRAPPED] = {2, 253, 254};

/* Wireshark's own dissector of each of these options; NULL: there is none. Set at hand-off. */
static dissector_handle_t original[WRAPPED];

static bool
is_enabled(void)
{
    return proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
}

/* Whether something may be learned from the segment: the frame is in its first pass, and no other
 * packet quotes the segment. */
static bool
may_learn(const packet_info *pinfo)
{
    return !pinfo->fd->visited && !smcr_capture_is_quoted(pinfo);
}

/* Wrapper of Wireshark's dissector for the TCP option "maximum segment size". */
static int
dissect_mss(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    bool is_told = data && is_enabled(); /* `data`: the TCP header, which shows whether the segment
                                            is a SYN-ACK; NULL: not known */

    if (is_told && may_learn(pinfo))
        smcr_tcp_option_learn_mss(tvb, pinfo, data);
    int used = call_dissector_with_data(original[MSS], tvb, pinfo, tree, data);
    if (is_told)
        smcr_tcp_option_show_mss(pinfo, tree);
    return used;
}

/* Wrapper of Wireshark's dissector for an experimental TCP option. */
static int
dissect_experiment(unsigned which, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    bool is_ours = is_enabled() && smcr_tcp_option_is_ours(tvb);
    bool learns = is_ours && may_learn(pinfo);
    bool is_first_sign = learns && !smcr_handshake_watches_segments();

    if (learns)
        smcr_tcp_option_learn(pinfo, data);
    if (is_first_sign)
        smcr_tcp_take_point_of_option(tvb, pinfo);
    int used = call_dissector_with_data(original[which], tvb, pinfo, tree, data);
    if (is_ours)
        smcr_tcp_option_show(tvb, pinfo, tree, data);
    return used;
}

SMCR_HOOKS_WRAPPER(experiment_1, dissect_experiment, EXPERIMENT_1)
SMCR_HOOKS_WRAPPER(experiment_2, dissect_experiment, EXPERIMENT_2)

/* Calls TCP's dissector in a file with several capture points: what they show of the segment is
 * learned and shown even if TCP's dissector throws an exception. */
static int
dissect_at_point(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    volatile int used = 0;

    TRY {
        used = smcr_handshake_original(tvb, pinfo, tree, data);
    }
    FINALLY {
        if (may_learn(pinfo))
            smcr_tcp_take_point(tvb, pinfo);
        smcr_show_points(pinfo, tree);
    }
    ENDTRY;
    return used;
}

/* Wraps TCP's dissector: calls the wrapped dissector, and then adds the plugin's fields. */
static int
dissect_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    unsigned annotated = smcr_annotate_conns_shown(), offers = smcr_tcp_offers();
    if (smcr_capture_compares_all_tcp() && is_enabled() && may_learn(pinfo))
        smcr_capture_learn(pinfo); /* finds out whether the file has several capture points */
    bool has_points = smcr_state_points(smcr_capture_state()) != NULL;
    int used = has_points ? dissect_at_point(tvb, pinfo, tree, data)
                          : smcr_handshake_original(tvb, pinfo, tree, data);

    smcr_tcp_dissect_retransmission(tvb, pinfo, tree);
    if (is_enabled())
        smcr_tcp_dissect_withheld(tvb, pinfo, tree, offers);
    smcr_tcp_show_segment(tvb, pinfo, tree, annotated);
    return used;
}

void
smcr_dissector_tcpopt_register(void)
{
    smcr_handshake_wrap(dissect_segment);
}

/* An option kind that Wireshark has no dissector for stays as it is. The replaced dissectors are
 * kept, and the wrappers call them. */
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
        /* The wrapper belongs to the protocol of the replaced dissector, so that Wireshark's item
         * of the TCP options has the same text as without the wrapper. */
        int proto = dissector_handle_get_protocol_index(original[i]);
        dissector_add_uint("tcp.option", kinds[i], create_dissector_handle(wrappers[i], proto));
    }
}
