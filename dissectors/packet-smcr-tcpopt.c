/* packet-smcr-tcpopt.c
 * 1. The TCP option by which a host says that it can use SMC-R (RFC 7609 A.1).
 *
 * Wireshark has one dissector for the experimental options 253 and 254. It runs first, as it
 * would without us, and ours is added below when the 32-bit ExID matches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "annotate.h"
#include "fallback.h"
#include "fields.h"
#include "handshake.h"
#include "layout.h"
#include "state/state.h"
#include "wire/clc_codes.h"

#define KIND_END 0
#define KIND_NOP 1
#define KIND_MSS 2
#define KIND_EXPERIMENT_1 253
#define KIND_EXPERIMENT_2 254
#define OPTION_LENGTH 6
#define TCP_HEADER_MIN 20

/* The options that are wrapped, and their own dissectors. */
enum { MSS, EXPERIMENT_1, EXPERIMENT_2, WRAPPED };
static const unsigned kinds[WRAPPED] = {KIND_MSS, KIND_EXPERIMENT_1, KIND_EXPERIMENT_2};
static dissector_handle_t original[WRAPPED];

/* SMC-R option, RFC 7609 A.1 */
static const smcr_row_t option_rows[] = {
    SHOW(hf_smcr_option_kind, 0, 1),
    SHOW(hf_smcr_option_length, 1, 1),
    SHOW(hf_smcr_option_exid, 2, 4),
};
SMCR_LAYOUT(option_layout, "SMC-R option", option_rows, OPTION_LENGTH);

/* First pass: from here on CLC may follow. */
static void
learn_option(packet_info *pinfo, const struct tcpheader *tcp)
{
    smcr_conn_t *conn;

    if (!(tcp->th_flags & TH_SYN))
        return;
    conn = smcr_handshake_claim(pinfo, !(tcp->th_flags & TH_ACK));
    if (!(tcp->th_flags & TH_ACK))
        smcr_state_syn(conn);
    else
        smcr_state_synack(conn, true, pinfo->num);
}

static void
show_option(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    proto_item *item = proto_tree_add_item(tree, hf_smcr_option, tvb, 0, -1, ENC_NA);
    smcr_walk_t walk = {.pinfo = pinfo, .tvb = tvb, .order = ENC_BIG_ENDIAN};
    int length = (int)tvb_reported_length(tvb);

    walk.tree = proto_item_add_subtree(item, ett_smcr_option);
    smcr_layout_walk(&option_layout, &walk, 0, NULL);
    if (length != OPTION_LENGTH) {
        proto_tree_add_item(walk.tree, hf_smcr_extra_bytes, tvb, OPTION_LENGTH, -1, ENC_NA);
        expert_add_info(pinfo, item, &ei_smcr_option_length);
    }
    const smcr_conn_t *conn = smcr_handshake_find(pinfo);
    if (conn)
        smcr_annotate_conn(tvb, pinfo, walk.tree, conn);
}

static int
dissect_option(unsigned which, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_with_data(original[which], tvb, pinfo, tree, data);

    if (!proto_is_protocol_enabled(find_protocol_by_id(proto_smcr)))
        return used;
    if (tvb_captured_length(tvb) < OPTION_LENGTH || tvb_get_ntohl(tvb, 2) != SMCR_EYECATCHER_R)
        return used;

    col_append_str(pinfo->cinfo, COL_INFO, " SMC-R");
    if (!pinfo->fd->visited && data)
        learn_option(pinfo, data);
    show_option(tvb, pinfo, tree);
    return used;
}

static int
dissect_experiment_1(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_option(EXPERIMENT_1, tvb, pinfo, tree, data);
}

static int
dissect_experiment_2(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_option(EXPERIMENT_2, tvb, pinfo, tree, data);
}

/* Whether one of the options from `tvb` to the end of the TCP header is ours. */
static bool
option_follows(tvbuff_t *tvb, const struct tcpheader *tcp)
{
    tvbuff_t *frame = tvb_get_ds_tvb(tvb);
    int offset = tvb_raw_offset(tvb);
    int end = offset + tcp->th_hlen - TCP_HEADER_MIN; /* or before, if options came before this */

    while (offset < end && tvb_captured_length_remaining(frame, offset) >= 2) {
        uint8_t kind = tvb_get_uint8(frame, offset);
        uint8_t length = kind == KIND_NOP ? 1 : tvb_get_uint8(frame, offset + 1);

        if (kind == KIND_END || length == 0)
            return false;
        if ((kind == KIND_EXPERIMENT_1 || kind == KIND_EXPERIMENT_2) && length >= OPTION_LENGTH &&
            tvb_captured_length_remaining(frame, offset) >= OPTION_LENGTH &&
            tvb_get_ntohl(frame, offset + 2) == SMCR_EYECATCHER_R)
            return true;
        offset += length;
    }
    return false;
}

/* Every SYN-ACK has a maximum segment size: it is how we see one that lacks our option. */
static int
dissect_mss(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const uint16_t synack = TH_SYN | TH_ACK;
    const struct tcpheader *tcp = data;
    bool enabled = proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
    int used = call_dissector_with_data(original[MSS], tvb, pinfo, tree, data);

    if (!enabled || !tcp || (tcp->th_flags & synack) != synack)
        return used;
    smcr_conn_t *conn = smcr_handshake_find(pinfo);
    if (!conn)
        return used;
    if (!pinfo->fd->visited)
        smcr_state_synack(conn, option_follows(tvb, tcp), pinfo->num);
    if (conn->fallback.kind == SMCR_FALLBACK_NO_OPTION && conn->fallback.frame == pinfo->num) {
        smcr_annotate_conn(tvb, pinfo, tree, conn);
        smcr_fallback_show(tvb, pinfo, tree, conn);
    }
    return used;
}

void
smcr_tcpopt_handoff(void)
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
