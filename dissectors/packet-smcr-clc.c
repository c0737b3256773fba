/* packet-smcr-clc.c: Connection Layer Control over TCP
 *
 * With CLC messages both ends of a TCP connection agree on SMC-R (RFC 7609 3.5, C.3, A.2; SMCv2 as
 * in Linux, net/smc/smc_clc.h).
 *
 * What is dissected:
 * - Proposal, Accept, Confirm and Decline, of SMC-R and of SMC-D, v1, v2 and v2.1. They are the
 *   first bytes of each direction of a TCP connection.
 * - The application's data after the messages, if the connection stays on TCP: the data goes to the
 *   dissectors that would get it without the plugin.
 *
 * How TCP finds this dissector: a SYN with the SMC-R option claims its conversation
 * (packet-smcr-tcpopt.c). A heuristic, and Decode As, find connections whose SYN was not captured.
 *
 * Rooms: tcp/clc_stream.c finds the messages in the byte stream, message/ decodes them, packet/ has
 * them learned. Preferences, all registered in host/preferences.c: smcr.builtin_too shows each
 * message with Wireshark's own dissector `smc` as well.
 *
 * Limitations:
 * - Without the SYN, TCP calls a dissector that owns the port before the heuristic.
 * - TCP's dissector passes on no bytes that come after their own acknowledgement. A CLC message
 *   among them is dissected if it begins its segment and ends in it (tcp/withheld.c).
 * - Nothing is learned from a damaged segment (tcp/damage.c). If a message comes in several
 *   segments, the retransmission of a damaged one is not dissected.
 * - A message that never becomes complete is shown at the FIN or RST of its sender, or only in a
 *   second pass (tcp/segment.c).
 * - Data of SMC-D never reaches a network; only its CLC messages are shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "fields.h"
#include "message/message.h"
#include "tcp/tcp.h"

/* Handles of dissectors; set at hand-off, and valid as long as the process. */
static dissector_handle_t clc;     /* this dissector */
static dissector_handle_t builtin; /* Wireshark's own dissector `smc`; NULL: this version of
                                      Wireshark has none */
static heur_dtbl_entry_t *heuristic;

/* Dissects bytes of a TCP connection after its CLC messages. */
static int
dissect_data(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn,
             void *data)
{
    smcr_tcp_tap_fallback(tvb, 0, pinfo, conn, data);
    smcr_tcp_show_fallback(tvb, pinfo, tree, conn);
    return smcr_tcp_dissect_rest(tvb, 0, pinfo, tree, data);
}

/* Dissects a damaged segment of a TCP connection whose CLC messages have not ended: the segment is
 * shown, and nothing is learned from its bytes. Bytes that are not CLC go on as without the
 * plugin. */
static int
dissect_damaged(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_conn_t *conn,
                void *data)
{
    smcr_tcp_learn_damaged(pinfo, data);
    if (smcr_tcp_show_damaged(tvb, pinfo, tree, conn))
        return (int)tvb_captured_length(tvb);
    return smcr_tcp_dissect_rest(tvb, 0, pinfo, tree, data);
}

/* Dissects bytes of a TCP connection: CLC messages, then the data after them. */
static int
dissect_messages(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_conn_t *conn,
                 void *data)
{
    smcr_tcp_carried_t carried =
        smcr_tcp_clc_begins(tvb, 0, pinfo) ? SMCR_TCP_CLC : SMCR_TCP_BYTES;

    if (smcr_tcp_is_damaged(pinfo, carried))
        return dissect_damaged(tvb, pinfo, tree, conn, data);
    tvbuff_t *segment = smcr_tcp_clc_of_mirror(tvb, pinfo, data);
    if (!pinfo->fd->visited)
        conn = smcr_tcp_clc_learn(segment, pinfo, conn, data);
    int offset = smcr_tcp_clc_show(segment, pinfo, tree, conn);
    if (offset < 0 || tvb_captured_length_remaining(tvb, offset) <= 0)
        return (int)tvb_captured_length(tvb);
    smcr_tcp_tap_fallback(tvb, offset, pinfo, conn, data);
    smcr_tcp_show_fallback(tvb, pinfo, tree, conn);
    smcr_tcp_show_data(tvb, pinfo, tree, conn);
    return smcr_tcp_dissect_rest(tvb, offset, pinfo, tree, data);
}

/* The function of this dissector that Wireshark's TCP calls. Declines a segment that another packet
 * quotes. */
static int
dissect_clc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    conversation_t *bypass = smcr_handshake_bypass();

    smcr_tcp_note_offer();
    if (smcr_capture_is_quoted(pinfo)) /* the segment itself is not on the wire */
        return 0;
    if (bypass)
        return smcr_tcp_dissect_bypassed(bypass, tvb, pinfo, tree, data);
    smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);
    if (smcr_tcp_clc_has_ended(pinfo, conn))
        return dissect_data(tvb, pinfo, tree, conn, data);
    return dissect_messages(tvb, pinfo, tree, conn, data);
}

/* Whether the heuristic may take these bytes: they begin with an eyecatcher, the user has enabled
 * the heuristic, and no bypass is set (smcr_handshake_bypass()). */
static bool
is_for_heuristic(tvbuff_t *tvb, const packet_info *pinfo)
{
    return tvb_captured_length(tvb) >= SMCR_WIRE_EYECATCHER_LENGTH &&
           smcr_tcp_clc_begins(tvb, 0, pinfo) && !smcr_handshake_bypass() &&
           smcr_heuristic_enabled(heuristic);
}

/* The heuristic, for connections whose TCP handshake was not captured. EBCDIC text of other
 * programs may begin with the eyecatcher, too. Wireshark's own heuristic for SMC accepts such text.
 * A heuristic that accepts bytes is called before the others from then on. To keep its place, this
 * heuristic passes such text to Wireshark's own dissector itself. */
static ws_bool
dissect_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!is_for_heuristic(tvb, pinfo))
        return false;
    bool is_layer = heuristic->protocol != NULL; /* true: an earlier call in this frame has set the
                                                    protocol, so Wireshark has already added the
                                                    layer */
    smcr_heuristic_restore_protocol(heuristic, pinfo);
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (!smcr_tcp_clc_is_plausible(tvb) && !smcr_handshake_find_conn(pinfo))
        return builtin && call_dissector_with_data(builtin, tvb, pinfo, tree, data);
    if (is_layer)
        return dissect_clc(tvb, pinfo, tree, data) != 0;
    return call_dissector_only(clc, tvb, pinfo, tree, data) != 0;
}

/* Must be called before smcr_handshake_handoff(), which looks the dissector up by its name. */
void
smcr_dissector_clc_handoff(void)
{
    /* The handle has a name, since Export PDU writes the name of a conversation's dissector. */
    clc = register_dissector("smcr", dissect_clc, proto_smcr);
    builtin = find_dissector("smc");
    dissector_add_for_decode_as("tcp.port", clc);
    heuristic = smcr_heuristic_add("tcp", dissect_heuristic, "SMC-R CLC over TCP", "smcr_clc");
    smcr_tcp_clc_handoff(clc);
    smcr_tcp_withheld_handoff(clc);
}
