/* The TCP option by which a host says that it can use SMC-R (RFC 7609 A.1). A SYN with the option
 * makes a connection, and claims the TCP conversation for CLC from that frame on. A SYN-ACK without
 * it sends the connection back to TCP.
 *
 * Wireshark has one dissector for the experimental options 253 and 254. It runs as it would without
 * us, and ours is added below when the 32-bit ExID matches. The maximum segment size is wrapped,
 * too: it is in every SYN-ACK, with our option or without.
 *
 * The segments that carry neither option nor message of ours, acknowledgements, FIN and RST, are of
 * the connection all the same: a filter for it finds them, and its rows count them. Nothing hands
 * such a segment on to a dissector, so that of TCP is wrapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"

#define KIND_END 0
#define KIND_NOP 1
#define KIND_MSS 2
#define KIND_EXPERIMENT_1 253
#define KIND_EXPERIMENT_2 254
#define OPTION_LENGTH 6
#define TCP_HEADER_MIN 20

/* SMC-R option, RFC 7609 A.1 */
SMCR_LAYOUT(option_layout, "SMC-R option", OPTION_LENGTH,
    SHOW(hf_smcr_option_kind, 0, 1),
    SHOW(hf_smcr_option_length, 1, 1),
    SHOW(hf_smcr_option_exid, 2, 4));

/* Whether the experimental option at `offset` is ours. */
static bool
is_ours(tvbuff_t *tvb, int offset)
{
    return tvb_captured_length_remaining(tvb, offset) >= OPTION_LENGTH &&
           tvb_get_ntohl(tvb, offset + 2) == SMCR_CLC_EYECATCHER_R;
}

/* A SYN or SYN-ACK of the connection, with our option or without. */
static void
learn_syn(packet_info *pinfo, smcr_conn_t *conn, const struct tcpheader *tcp, bool option)
{
    smcr_state_syn(smcr_capture_learn(pinfo), conn,
                   &(smcr_state_syn_t){.answer = (tcp->th_flags & TH_ACK) != 0,
                                       .option = option,
                                       .first = tcp->th_seq + 1,
                                       .when = smcr_capture_when(pinfo)});
}

/* A server has it only in the SYN-ACK, after the client. (R-3.5.1.1-1, R-3.5.1.1-2) */
static void
check_sender(packet_info *pinfo, proto_item *item, const smcr_conn_t *conn,
             const struct tcpheader *tcp)
{
    if (!tcp || smcr_handshake_from_client(pinfo, conn))
        return;
    if (!(tcp->th_flags & TH_SYN))
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The server's option is in a segment other than its SYN-ACK");
    else if (!conn->option_syn && smcr_handshake_has_syns(conn))
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The server has the option, although the client's SYN has not");
}

/* `tcp`: NULL: not known. */
static void
show_option(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const struct tcpheader *tcp)
{
    proto_item *item = proto_tree_add_item(tree, hf_smcr_option, tvb, 0, -1, ENC_NA);
    smcr_layout_walk_t walk = {.pinfo = pinfo, .tvb = tvb, .order = ENC_BIG_ENDIAN};

    col_append_str(pinfo->cinfo, COL_INFO, " SMC-R");
    walk.tree = proto_item_add_subtree(item, ett_smcr_option);
    smcr_layout_walk(&option_layout, &walk, 0, NULL);
    if (tvb_reported_length(tvb) != OPTION_LENGTH) {
        proto_tree_add_item(walk.tree, hf_smcr_extra_bytes, tvb, OPTION_LENGTH, -1, ENC_NA);
        smcr_item_raise(pinfo, item, &ei_smcr_option_length);
    }
    const smcr_conn_t *conn = smcr_handshake_find(pinfo);
    if (tvb_get_uint8(tvb, 0) != KIND_EXPERIMENT_2) /* (R-3.1-1) */
        smcr_item_raise_text(pinfo, item, &ei_smcr_option_unusual,
                             "The kind of the option is not 254");
    if (!conn)
        return;
    check_sender(pinfo, item, conn, tcp);
    bool from_server = !smcr_handshake_from_client(pinfo, conn);
    smcr_annotate_conn(pinfo, walk.tree, conn, from_server);
    smcr_tap_segment(pinfo, &(smcr_tap_segment_t){
                                .conn = conn, .from_server = from_server, .has_option = true});
}

/* Whether none of the options from `tvb` to the end of the TCP header is ours. That is not known
 * where the capture has cut them. */
static bool
lacks_option(tvbuff_t *tvb, const struct tcpheader *tcp)
{
    tvbuff_t *frame = tvb_get_ds_tvb(tvb);
    int offset = tvb_raw_offset(tvb);
    int end = offset + tcp->th_hlen - TCP_HEADER_MIN; /* or before, if options came before this */

    while (offset < end && tvb_captured_length_remaining(frame, offset) >= 2) {
        uint8_t kind = tvb_get_uint8(frame, offset);
        uint8_t length = kind == KIND_NOP ? 1 : tvb_get_uint8(frame, offset + 1);

        if (kind == KIND_END || length == 0)
            return true;
        if ((kind == KIND_EXPERIMENT_1 || kind == KIND_EXPERIMENT_2) &&
            length >= OPTION_LENGTH &&
            (tvb_captured_length_remaining(frame, offset) < OPTION_LENGTH ||
             is_ours(frame, offset)))
            return false;
        offset += length;
    }
    return offset >= end || tvb_captured_length(frame) == tvb_reported_length(frame);
}

/* A SYN-ACK that lacks our option is seen by its maximum segment size. */
static void
learn_mss(tvbuff_t *tvb, packet_info *pinfo, const struct tcpheader *tcp)
{
    const uint16_t synack = TH_SYN | TH_ACK;
    smcr_conn_t *conn = (tcp->th_flags & synack) == synack ? smcr_handshake_find(pinfo) : NULL;

    if (conn && lacks_option(tvb, tcp))
        learn_syn(pinfo, conn, tcp, false);
}

/* Says so, if the segment proves that the connection does not use SMC-R. */
static void
show_mss(packet_info *pinfo, proto_tree *tree)
{
    const smcr_conn_t *conn = smcr_handshake_find(pinfo);

    if (!conn || conn->fallback.kind != SMCR_FALLBACK_NO_OPTION ||
        conn->fallback.frame != pinfo->num)
        return;
    smcr_annotate_conn(pinfo, tree, conn, 1);
    smcr_show_fallback(pinfo, tree, conn);
}

/* ---- hooks ---- */

/* The options that are wrapped, and their own dissectors, saved when protocols register. */
enum { MSS, EXPERIMENT_1, EXPERIMENT_2, WRAPPED };
static const unsigned kinds[WRAPPED] = {KIND_MSS, KIND_EXPERIMENT_1, KIND_EXPERIMENT_2};
static dissector_handle_t original[WRAPPED];

static int
dissect_option(unsigned which, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct tcpheader *tcp = data;
    bool learns = !pinfo->fd->visited && !pinfo->flags.in_error_pkt;
    bool enabled = proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
    bool ours = enabled && which != MSS && is_ours(tvb, 0);
    bool tells = enabled && which == MSS && data;

    if (learns && ours && tcp && tcp->th_flags & TH_SYN)
        learn_syn(pinfo, smcr_handshake_claim(pinfo, !(tcp->th_flags & TH_ACK)), tcp, true);
    else if (learns && tells)
        learn_mss(tvb, pinfo, data);
    int used = call_dissector_with_data(original[which], tvb, pinfo, tree, data);
    if (ours)
        show_option(tvb, pinfo, tree, data);
    else if (tells)
        show_mss(pinfo, tree);
    return used;
}

SMCR_HOOKS_WRAPPER(mss, dissect_option, MSS)
SMCR_HOOKS_WRAPPER(experiment_1, dissect_option, EXPERIMENT_1)
SMCR_HOOKS_WRAPPER(experiment_2, dissect_option, EXPERIMENT_2)

void
smcr_tcp_option_handoff(void)
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

/* ---- all segments ---- */

/* Where they are in its header. */
enum { TCP_SEQ = 4, TCP_OFFSET = 12, TCP_FLAGS = 13 };

static uint32_t
number_behind(tvbuff_t *tvb)
{
    return tvb_get_ntohl(tvb, TCP_SEQ) + tvb_reported_length(tvb) -
           (tvb_get_uint8(tvb, TCP_OFFSET) >> 4) * 4;
}

/* Shows a message that never becomes complete. FIN or RST of its sender right behind its beginning
 * proves that. Elsewhere a later pass knows that the capture has no more of it: behind a RST of the
 * receiver the rest may be under way. `here`: what begins in this segment; NULL: nothing. */
static void
end_begun(smcr_tcp_begun_t *here, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
          smcr_conn_t *conn, bool by_server)
{
    smcr_tcp_begun_t *begun = conn->begun[by_server];
    smcr_record_t record = smcr_record_new();
    bool ends = tvb_get_uint8(tvb, TCP_FLAGS) & (TH_FIN | TH_RST);
    bool later = pinfo->fd->visited;
    smcr_clc_t clc;

    if (!later && begun && ends && begun->next == number_behind(tvb) && !begun->end_frame)
        begun->end_frame = pinfo->num;
    bool ended = begun && begun->end_frame == pinfo->num;
    if (!ended && (!here || !later || here->goes_on || here->end_frame))
        return;
    begun = ended ? begun : here;
    tvb = tvb_new_child_real_data(tvb, begun->bytes, begun->length,
                                  (int)(ended ? begun->length : begun->whole));
    add_new_data_source(pinfo, tvb, "CLC message");
    col_append_str(pinfo->cinfo, COL_INFO, ", ");
    record.conn = conn;
    record.direction = by_server;
    tree = smcr_clc_dissect(tvb, pinfo, tree, 0, &clc);
    smcr_annotate_packet(tvb, pinfo, tree, &record, NULL);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record, .clc = &clc});
}

static int
dissect_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    unsigned shown = smcr_annotate_count();
    int used = smcr_handshake_original(tvb, pinfo, tree, data);
    bool is_wanted = tree && (proto_field_is_referenced(tree, hf_smcr_stream) ||
                             smcr_show_ends_are_wanted(tree));
    bool is_segment = !pinfo->flags.in_error_pkt && pinfo->ptype == PT_TCP;
    smcr_tcp_begun_t *here = p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_BEGUN);
    uint8_t flags = is_segment ? tvb_get_uint8(tvb, TCP_FLAGS) : 0;
    bool ends = flags & (TH_FIN | TH_RST);
    smcr_record_t data_record; /* TCP hands on only once what others want more of */
    bool unshown = is_segment && shown == smcr_annotate_count() &&
                   smcr_packet_learned(pinfo, SMCR_PACKET_DATA, 0, &data_record);
    bool asked = is_segment && (is_wanted || ends || here || unshown || smcr_tap_is_heard());
    smcr_conn_t *conn = asked ? smcr_handshake_find(pinfo) : NULL;

    if (here)
        here->next = number_behind(tvb);
    if (!conn || pinfo->num < conn->known_from)
        return used;
    bool by_server = !smcr_handshake_from_client(pinfo, conn);
    if (unshown)
        smcr_tcp_show(tvb, pinfo, tree, conn);
    if (ends || here)
        end_begun(here, tvb, pinfo, tree, conn, by_server);
    smcr_tap_segment(pinfo, &(smcr_tap_segment_t){
                                .conn = conn, .from_server = by_server, .flags = flags});
    if (is_wanted && shown == smcr_annotate_count())
        smcr_item_hide(smcr_annotate_segment(tvb, pinfo, tree, conn));
    return used;
}

void
smcr_tcp_segment_register(void)
{
    smcr_handshake_wrap(dissect_segment);
}
