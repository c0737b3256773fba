/* packet-smcr-clc.c
 * 2. CLC messages over TCP (RFC 7609 3.5, A.2): finds them in the TCP stream.
 *
 * CLC is the first thing on the connection, so each direction is CLC until the first byte that is
 * not, or until a Decline. From there on the bytes go to the dissectors that would have had them
 * without us. A Decline is still expected after Confirm: until CONFIRM LINK has completed either
 * side may change its mind (RFC 7609 C.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include <string.h>

#include <epan/exceptions.h>

#include "annotate.h"
#include "clc.h"
#include "dissector_state.h"
#include "fallback.h"
#include "fields.h"
#include "follow.h"
#include "handshake.h"
#include "heuristic.h"
#include "preferences.h"
#include "values.h"
#include "wire/clc_codes.h"

static dissector_handle_t clc_handle;
static dissector_handle_t builtin_handle; /* Wireshark's own `smc`, NULL when it has none */
static heur_dtbl_entry_t *own_heuristic;

/* Index for the per-direction members of a connection. */
static unsigned
direction(const packet_info *pinfo)
{
    int order = cmp_address(&pinfo->src, &pinfo->dst);

    return order > 0 || (order == 0 && pinfo->srcport > pinfo->destport);
}

/* Whether the bytes at `offset` are an eyecatcher; the beginning of one if TCP can give more. */
static bool
is_clc(tvbuff_t *tvb, int offset, const packet_info *pinfo)
{
    static const uint8_t start[] = {SMCR_EYECATCHER_R >> 24, SMCR_EYECATCHER_R >> 16 & 0xff,
                                    SMCR_EYECATCHER_R >> 8 & 0xff};
    int length = tvb_captured_length_remaining(tvb, offset);

    if (length >= SMCR_EYECATCHER_LENGTH) {
        uint32_t eyecatcher = tvb_get_ntohl(tvb, offset);
        return eyecatcher == SMCR_EYECATCHER_R || eyecatcher == SMCR_EYECATCHER_D;
    }
    return length > 0 && pinfo->can_desegment &&
           tvb_memeql(tvb, offset, start, (size_t)length) == 0;
}

/* Asks TCP for `missing` more bytes of the message at `offset`, if it can still give them. */
static bool
wait_for_more(packet_info *pinfo, int offset, uint32_t missing)
{
    if (!pinfo->can_desegment)
        return false;
    pinfo->desegment_offset = offset;
    pinfo->desegment_len = missing;
    return true;
}

static void
run_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    if (!smcr_preferences.builtin_too || !builtin_handle)
        return;
    call_dissector(builtin_handle, tvb, pinfo, tree);
}

#define RECORD_LAYERS 0x100 /* of CLC messages, above those of RoCE packets */

/*
 * Gets the record of the message that is number `nth` in this frame; the first pass makes it.
 * Returns false when there is none, since the message speaks of no connection of ours.
 */
static bool
packet_of_message(packet_info *pinfo, smcr_conn_t *conn, const smcr_clc_t *clc, unsigned nth,
                  smcr_record_t *packet)
{
    uint16_t layer = (uint16_t)(RECORD_LAYERS + nth);

    if (pinfo->fd->visited || !conn)
        return smcr_record_find(smcr_state, pinfo->num, layer, packet);

    *packet = smcr_record_new();
    smcr_arrival_t arrival = {.state = smcr_state, .when = smcr_when(pinfo), .record = packet};
    smcr_state_clc(&arrival, conn, clc, !smcr_handshake_from_client(pinfo, conn));
    smcr_roce_watch();
    smcr_record_keep(smcr_state, pinfo->num, layer, packet);
    return true;
}

/*
 * Dissects the CLC message at `offset`, number `nth` in this frame, and tells its type. Returns
 * its length, 0 when more of it is still to come.
 * A length field that no message can have makes everything that is left the message.
 */
static int
dissect_message(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
                smcr_conn_t *conn, unsigned nth, uint8_t *type)
{
    int left = tvb_reported_length_remaining(tvb, offset);
    int length = left;

    if (left < SMCR_CLC_HEADER_LENGTH) {
        /* Of a segment that completes the header and goes on, 4.0 loses the rest in its second
         * pass if it was asked for the header only. */
        if (wait_for_more(pinfo, offset, DESEGMENT_ONE_MORE_SEGMENT))
            return 0;
    } else if (tvb_captured_length_remaining(tvb, offset) >= SMCR_CLC_HEADER_LENGTH) {
        int stated = tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT);
        bool possible = stated >= SMCR_CLC_HEADER_LENGTH && stated <= SMCR_CLC_LENGTH_MAX;
        if (possible && stated > left && wait_for_more(pinfo, offset, (uint32_t)(stated - left)))
            return 0;
        if (possible)
            length = stated;
    }

    int captured = MIN(length, tvb_captured_length_remaining(tvb, offset));
    tvbuff_t *message = tvb_new_subset_length_caplen(tvb, offset, captured, length);

    if (offset == 0)
        col_clear(pinfo->cinfo, COL_INFO);
    smcr_clc_t clc;
    proto_tree *below = smcr_clc_dissect(message, pinfo, tree, &clc);
    smcr_record_t packet;
    if (packet_of_message(pinfo, conn, &clc, nth, &packet))
        smcr_annotate_packet(message, pinfo, below, &packet);
    bool declines = clc.header.type == SMCR_CLC_DECLINE && conn &&
                    conn->fallback.kind == SMCR_FALLBACK_DECLINED;
    if (declines && conn->fallback.frame == pinfo->num)
        smcr_fallback_show(message, pinfo, below, conn);
    run_builtin(message, pinfo, tree);
    *type = clc.header.type;
    return MIN(length, left);
}

/* A dissector that took over the whole conversation is hidden below our claim: it gets the bytes
 * from here. Returns what it returns, 0 when there is none. */
static int
call_hidden(conversation_t *conversation, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
            void *data)
{
    dissector_handle_t hidden = conversation_get_dissector(conversation, 0);

    if (!hidden || hidden == clc_handle)
        return 0;
    int offset = pinfo->desegment_offset;
    uint32_t length = pinfo->desegment_len;
    int used = call_dissector_only(hidden, tvb, pinfo, tree, data);
    if (used == 0) { /* some reject bytes and ask for more, which TCP takes for a bug of ours */
        pinfo->desegment_offset = offset;
        pinfo->desegment_len = length;
    }
    return used;
}

/* The frame has shown CLC already: the next dissector is to leave that in the Info column. */
static void
keep_info(packet_info *pinfo)
{
    col_append_str(pinfo->cinfo, COL_INFO, ", ");
    col_set_fence(pinfo->cinfo, COL_INFO);
}

/* Nobody had anything to add: the comma goes. */
static void
trim_info(packet_info *pinfo)
{
    const char *text = col_get_text(pinfo->cinfo, COL_INFO);

    if (!text || !g_str_has_suffix(text, ", "))
        return;
    char *trimmed = wmem_strndup(pinfo->pool, text, strlen(text) - 2);
    col_clear_fence(pinfo->cinfo, COL_INFO);
    col_add_str(pinfo->cinfo, COL_INFO, trimmed);
}

/* What follows the CLC messages of this segment. TCP asks its dissectors anew, us included. */
static void
dissect_following(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, void *data)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);

    keep_info(pinfo);
    smcr_handshake_begin_bypass(pinfo, conversation);
    TRY {
        decode_tcp_ports(tvb, offset, pinfo, tree, (int)pinfo->srcport, (int)pinfo->destport,
                         get_tcp_conversation_data(conversation, pinfo), data);
    }
    FINALLY {
        smcr_handshake_end_bypass(pinfo);
    }
    ENDTRY;
    trim_info(pinfo);
    if (pinfo->desegment_len)
        pinfo->desegment_offset += offset;
}

/*
 * Hands what is not CLC to the dissectors that TCP would have asked without us. Returns what the
 * caller is to return to TCP.
 */
static int
dissect_rest(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, void *data)
{
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (offset > 0) {
        dissect_following(tvb, offset, pinfo, tree, data);
        return (int)tvb_captured_length(tvb);
    }
    smcr_record_t first;
    if (smcr_record_find(smcr_state, pinfo->num, RECORD_LAYERS, &first))
        keep_info(pinfo); /* TCP has put the message of this frame together from two */
    return call_hidden(find_or_create_conversation(pinfo), tvb, pinfo, tree, data);
}

/* First pass: CLC ends in this frame, for this direction. */
static void
end_clc(smcr_conn_t *conn, packet_info *pinfo)
{
    if (!pinfo->fd->visited && conn)
        smcr_state_clc_ended(conn, direction(pinfo), pinfo->num);
}

/* Data of a connection that fell back: found by the connection, though it is no SMC. */
static void
show_fallback(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    if (!conn || !conn->fallback.kind || conn->fallback.frame > pinfo->num)
        return;
    proto_item *stream = proto_tree_add_uint(tree, hf_smcr_stream, tvb, 0, 0, conn->index);
    proto_item_set_generated(stream);
    proto_item_set_hidden(stream);
    if (conn->fallback.frame == pinfo->num && conn->fallback.kind != SMCR_FALLBACK_DECLINED) {
        smcr_fallback_show(tvb, pinfo, tree, conn);
        return;
    }
    proto_item *reason = proto_tree_add_string(tree, hf_smcr_fallback_reason, tvb, 0, 0,
                                               smcr_fallback_reason(pinfo->pool, &conn->fallback));
    proto_item_set_generated(reason);
    proto_item_set_hidden(reason);
}

static int
dissect_clc_stream(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    conversation_t *bypass = smcr_handshake_bypass(pinfo);

    if (bypass) {
        pinfo->can_desegment = pinfo->saved_can_desegment;
        return call_hidden(bypass, tvb, pinfo, tree, data);
    }
    smcr_conn_t *conn = smcr_handshake_find(pinfo);
    uint32_t end = conn ? conn->clc_end[direction(pinfo)] : 0;
    int offset = 0;

    if (end && pinfo->num > end) {
        show_fallback(tvb, pinfo, tree, conn);
        return dissect_rest(tvb, 0, pinfo, tree, data);
    }
    for (unsigned nth = 0; tvb_captured_length_remaining(tvb, offset) > 0; nth++) {
        uint8_t type = 0;
        if (!is_clc(tvb, offset, pinfo))
            break;
        int length = dissect_message(tvb, offset, pinfo, tree, conn, nth, &type);
        if (length == 0)
            return (int)tvb_captured_length(tvb);
        offset += length;
        if (type == SMCR_CLC_DECLINE) {
            end_clc(conn, pinfo);
            break;
        }
    }
    if (tvb_captured_length_remaining(tvb, offset) <= 0)
        return (int)tvb_captured_length(tvb);
    end_clc(conn, pinfo);
    if (conn && !pinfo->fd->visited)
        smcr_state_tcp_data(conn, pinfo->num);
    show_fallback(tvb, pinfo, tree, conn);
    return dissect_rest(tvb, offset, pinfo, tree, data);
}

/* Only a server accepts. Who declines is not certain; then the sender is taken for the client. */
static bool
clc_is_from_server(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) > SMCR_CLC_TYPE_AT &&
           tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT) == SMCR_CLC_ACCEPT;
}

/* Whether the header, as far as it is there, is one that a CLC message can have. */
static bool
is_plausible(tvbuff_t *tvb)
{
    unsigned captured = tvb_captured_length(tvb);

    if (captured > SMCR_CLC_TYPE_AT &&
        !try_val_to_str(tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT), smcr_clc_types))
        return false;
    if (captured < SMCR_CLC_HEADER_LENGTH)
        return true;
    unsigned length = tvb_get_ntohs(tvb, SMCR_CLC_LENGTH_AT);
    return length >= SMCR_CLC_HEADER_LENGTH && length <= SMCR_CLC_LENGTH_MAX;
}

/*
 * For connections whose handshake was not captured. Text in EBCDIC may begin with the eyecatcher,
 * too; Wireshark's own dissector takes that for SMC, and it would come before us from then on, so
 * it is given to that one from here.
 */
static ws_bool
dissect_clc_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (tvb_captured_length(tvb) < SMCR_EYECATCHER_LENGTH || !is_clc(tvb, 0, pinfo) ||
        smcr_handshake_bypass(pinfo) || !smcr_heuristic_enabled(own_heuristic))
        return false;
    bool is_layer = own_heuristic->protocol != NULL; /* an earlier packet is not done with yet */
    smcr_heuristic_takes(own_heuristic, pinfo);
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (!is_plausible(tvb) && !smcr_handshake_find(pinfo))
        return builtin_handle && call_dissector_with_data(builtin_handle, tvb, pinfo, tree, data);
    if (!pinfo->fd->visited)
        smcr_handshake_claim(pinfo, !clc_is_from_server(tvb));
    if (is_layer)
        return dissect_clc_stream(tvb, pinfo, tree, data) != 0;
    return call_dissector_only(clc_handle, tvb, pinfo, tree, data) != 0;
}

void
smcr_clc_handoff(void)
{
    /* With a name: Export PDU writes the name of the dissector of a conversation. */
    clc_handle = register_dissector("smcr", dissect_clc_stream, proto_smcr);
    builtin_handle = find_dissector("smc");
    dissector_add_for_decode_as("tcp.port", clc_handle);
    own_heuristic = smcr_heuristic_add("tcp", dissect_clc_heuristic, "SMC-R CLC over TCP",
                                       "smcr_clc");
}
