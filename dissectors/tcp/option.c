/* The SMC-R option of TCP (RFC 7609 3.1, A.1): learning from SYN and SYN-ACK, and showing the
 * option. Wireshark calls these functions through packet-smcr-tcpopt.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"

/* Kinds of TCP options: RFC 9293 3.1; RFC 4727 for the experimental kinds. */
enum { KIND_END = 0, KIND_NOP = 1, KIND_EXPERIMENT_1 = 253, KIND_EXPERIMENT_2 = 254 };

#define OPTION_LENGTH 6   /* length of the option in bytes: kind, length, ExID */
#define TCP_HEADER_MIN 20 /* length of the TCP header without options, bytes */

/* SMC-R option, RFC 7609 A.1 */
SMCR_LAYOUT(option_layout, "SMC-R option", OPTION_LENGTH,
    SHOW(hf_smcr_option_kind, 0, 1),
    SHOW(hf_smcr_option_length, 1, 1),
    SHOW(hf_smcr_option_exid, 2, 4));

/* Whether the experimental option at `offset` is the SMC-R option. */
static bool
is_smcr_option(tvbuff_t *tvb, int offset)
{
    return tvb_captured_length_remaining(tvb, offset) >= OPTION_LENGTH &&
           tvb_get_ntohl(tvb, offset + 2) == SMCR_CLC_EYECATCHER_R;
}

bool
smcr_tcp_option_is_ours(tvbuff_t *tvb)
{
    return is_smcr_option(tvb, 0);
}

/* ---- SYN and SYN-ACK with the option ---- */

/* Returns SMCR_TCP_SYNACK if the flag ACK is set, otherwise SMCR_TCP_SYN. `syn`: a SYN or
 * SYN-ACK. */
static smcr_tcp_carried_t
carried_by(const struct tcpheader *syn)
{
    return (syn->th_flags & TH_ACK) ? SMCR_TCP_SYNACK : SMCR_TCP_SYN;
}

/* Learns a SYN or SYN-ACK of the connection. `option`: the segment has the SMC-R option. */
static void
learn_syn(packet_info *pinfo, smcr_conn_t *conn, const struct tcpheader *tcp, bool option)
{
    smcr_state_syn(smcr_capture_learn(pinfo), conn,
                   &(smcr_state_syn_t){.answer = (tcp->th_flags & TH_ACK) != 0,
                                       .option = option,
                                       .first = tcp->th_seq + 1,
                                       .when = smcr_capture_learn_when(pinfo)});
}

/* Whether nothing is learned from the SYN or SYN-ACK, since it is damaged. A SYN with a wrong flag
 * looks like a SYN-ACK of a connection that is not known: that it may be damaged is enough. */
static bool
is_not_learned(packet_info *pinfo, const struct tcpheader *tcp)
{
    smcr_tcp_carried_t carried = carried_by(tcp);

    if (smcr_tcp_is_damaged(pinfo, carried))
        return true;
    return carried == SMCR_TCP_SYNACK && !smcr_handshake_find_conn(pinfo) &&
           smcr_tcp_may_be_damaged(pinfo);
}

/* If the segment is a copy of a SYN behind NAT, stores that its original was translated, and makes
 * no connection for the copy. */
void
smcr_tcp_option_learn(packet_info *pinfo, const struct tcpheader *tcp)
{
    if (!tcp || !(tcp->th_flags & TH_SYN))
        return;
    if (is_not_learned(pinfo, tcp)) {
        smcr_tcp_learn_damaged_syn(pinfo, tcp);
        return;
    }
    smcr_tcp_learn_right_syn(pinfo, tcp);
    bool from_client = !(tcp->th_flags & TH_ACK);
    conversation_t *original = from_client ? smcr_translation_take_syn(pinfo, tcp) : NULL;
    if (original) {
        smcr_state_translated(smcr_capture_learn(pinfo), original);
        smcr_handshake_claim_translated(pinfo);
    }
    if (smcr_translation_original(pinfo))
        return;
    smcr_handshake_rejoin(pinfo, from_client, from_client ? tcp->th_rawseq : tcp->th_rawack - 1);
    learn_syn(pinfo, smcr_handshake_claim_conversation(pinfo, from_client), tcp, true);
}

/* Whether the segment is a damaged SYN or SYN-ACK. `tcp` NULL: not known, so it is none. */
static bool
is_damaged_syn(packet_info *pinfo, const struct tcpheader *tcp)
{
    return tcp && tcp->th_flags & TH_SYN && smcr_tcp_is_damaged(pinfo, carried_by(tcp));
}

/* A server answers the client's option with the same option, only in its SYN-ACK (R-3.5.1.1-1,
 * R-3.5.1.1-2). So there are two unusual cases: 1. a server sends the option in another segment; 2.
 * the client's SYN is captured, and has no option. */
static void
check_option_of_server(packet_info *pinfo, proto_item *item, const smcr_conn_t *conn,
                       const struct tcpheader *tcp)
{
    if (!tcp || smcr_handshake_from_client(pinfo, conn))
        return;
    if (!(tcp->th_flags & TH_SYN))
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The server's option is in a segment other than its SYN-ACK");
    else if (!conn->option_syn && smcr_handshake_has_syns(conn))
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The SYN-ACK has the option, but the SYN does not");
}

/* Items come in this order: the option, what is wrong with it, then the connection. A SYN whose
 * connection is not known may be a copy behind NAT. */
void
smcr_tcp_option_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                     const struct tcpheader *tcp)
{
    proto_item *item = proto_tree_add_item(tree, hf_smcr_option, tvb, 0, -1, ENC_NA);
    smcr_layout_walk_t walk = {.pinfo = pinfo, .tvb = tvb, .peer_order = ENC_BIG_ENDIAN};

    col_append_str(pinfo->cinfo, COL_INFO, " SMC-R");
    walk.tree = proto_item_add_subtree(item, ett_smcr_option);
    smcr_layout_walk(&option_layout, &walk, 0, NULL);
    if (tvb_reported_length(tvb) != OPTION_LENGTH) {
        proto_tree_add_item(walk.tree, hf_smcr_extra_bytes, tvb, OPTION_LENGTH, -1, ENC_NA);
        smcr_item_raise(pinfo, item, &ei_smcr_option_length);
    }
    if (is_damaged_syn(pinfo, tcp)) {
        smcr_tcp_show_wrong_checksum(tvb, pinfo, walk.tree);
        return;
    }
    const smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);
    if (tvb_get_uint8(tvb, 0) != KIND_EXPERIMENT_2) /* the option should have kind 254 (R-3.1-1) */
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The kind of the option is not 254");
    if (!conn) {
        if (tcp && tcp->th_flags & TH_SYN && !(tcp->th_flags & TH_ACK))
            smcr_show_translated(pinfo, tree);
        return;
    }
    check_option_of_server(pinfo, item, conn, tcp);
    bool from_server = !smcr_handshake_from_client(pinfo, conn);
    smcr_annotate_conn(pinfo, walk.tree, conn, from_server);
    smcr_tap_segment(pinfo, &(smcr_tap_segment_t){
                                .conn = conn, .from_server = from_server, .has_option = true});
}

/* ---- SYN-ACK without the option ----
 *
 * With a SYN-ACK without the SMC-R option, the server refuses SMC-R, and both sides go on with TCP
 * (RFC 7609 3.5.1.1). Wireshark calls no dissector for a missing option. But a SYN-ACK nearly
 * always has the option "maximum segment size", whose dissector is wrapped. The wrapper searches
 * the other options of the header. */

/* Whether the option at `offset` is the SMC-R option. Also true if the ExID of an experimental
 * option was not captured, so that the option may be the SMC-R option. */
static bool
may_be_smcr_option(tvbuff_t *frame, int offset, uint8_t kind, uint8_t length)
{
    bool is_experimental = kind == KIND_EXPERIMENT_1 || kind == KIND_EXPERIMENT_2;

    if (!is_experimental || length < OPTION_LENGTH)
        return false;
    return tvb_captured_length_remaining(frame, offset) < OPTION_LENGTH ||
           is_smcr_option(frame, offset);
}

/* Whether none of the options from `tvb` to the end of the TCP header is the SMC-R option. Returns
 * false if these options are truncated by snaplen. */
static bool
lacks_smcr_option(tvbuff_t *tvb, const struct tcpheader *tcp)
{
    tvbuff_t *frame = tvb_get_ds_tvb(tvb);
    int offset = tvb_raw_offset(tvb);
    /* offset of the end of the TCP header; a few bytes too high if other options come before
     * `tvb` */
    int end = offset + tcp->th_hlen - TCP_HEADER_MIN;

    while (offset < end && tvb_captured_length_remaining(frame, offset) >= 2) {
        uint8_t kind = tvb_get_uint8(frame, offset);
        uint8_t length = kind == KIND_NOP ? 1 : tvb_get_uint8(frame, offset + 1);

        if (kind == KIND_END || length == 0)
            return true;
        if (may_be_smcr_option(frame, offset, kind, length))
            return false;
        offset += length;
    }
    return offset >= end || tvb_captured_length(frame) == tvb_reported_length(frame);
}

/* Learns a SYN-ACK of the connection that has no option, unless damage may have destroyed the
 * option. */
static void
learn_answer(tvbuff_t *tvb, packet_info *pinfo, const struct tcpheader *tcp, smcr_conn_t *conn)
{
    smcr_tcp_is_damaged(pinfo, SMCR_TCP_SYNACK); /* counts the checksums */
    if (smcr_tcp_may_be_damaged(pinfo)) {
        smcr_tcp_learn_damaged_syn(pinfo, tcp);
        return;
    }
    smcr_tcp_learn_right_syn(pinfo, tcp);
    if (lacks_smcr_option(tvb, tcp))
        learn_syn(pinfo, conn, tcp, false);
}

/* A SYN or SYN-ACK nearly always has this option, so its dissector sees them. */
void
smcr_tcp_option_learn_mss(tvbuff_t *tvb, packet_info *pinfo, const struct tcpheader *tcp)
{
    if (!(tcp->th_flags & TH_SYN))
        return;
    smcr_conn_t *conn = carried_by(tcp) == SMCR_TCP_SYNACK ? smcr_handshake_find_conn(pinfo) : NULL;
    if (conn)
        learn_answer(tvb, pinfo, tcp, conn);
    else if (carried_by(tcp) == SMCR_TCP_SYN && smcr_tcp_may_be_damaged(pinfo))
        smcr_tcp_learn_damaged_syn(pinfo, tcp);
}

/* There is no SMC-R option at which the fallback could be shown. */
void
smcr_tcp_option_show_mss(packet_info *pinfo, proto_tree *tree)
{
    const smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);

    if (!conn || conn->fallback.kind != SMCR_FALLBACK_NO_OPTION ||
        conn->fallback.frame != pinfo->num)
        return;
    smcr_annotate_conn(pinfo, tree, conn, 1);
    smcr_show_fallback(pinfo, tree, conn);
}

SMCR_LAYOUT_LIST(option, &option_layout);
