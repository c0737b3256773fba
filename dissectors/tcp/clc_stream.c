/* CLC is the first thing on the connection, so each direction is CLC until the first byte that is
 * not, or until a Decline. From there on the bytes go to the dissectors that would have had them
 * without us. A Decline is still expected after Confirm: until CONFIRM LINK has completed either
 * side may change its mind (RFC 7609 C.3).
 *
 * Connections whose SYN has the option are claimed (handshake.c); a heuristic and Decode As serve
 * the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include <epan/exceptions.h>

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"
#include "fields.h"

/* Set when protocols register. */
static struct {
    dissector_handle_t clc, builtin; /* ours; Wireshark's own `smc`, NULL when it has none */
    heur_dtbl_entry_t *heuristic;
} handles;

static bool
is_eyecatcher(tvbuff_t *tvb, int offset)
{
    return smcr_wire_is_eyecatcher(tvb_get_ntohl(tvb, offset));
}

/* Whether the bytes at `offset` are an eyecatcher; the beginning of one if TCP can give more. */
static bool
clc_begins(tvbuff_t *tvb, int offset, const packet_info *pinfo)
{
    static const uint8_t start[] = {SMCR_CLC_EYECATCHER_R >> 24, SMCR_CLC_EYECATCHER_R >> 16 & 0xff,
                                    SMCR_CLC_EYECATCHER_R >> 8 & 0xff};
    int length = tvb_captured_length_remaining(tvb, offset);

    if (length >= SMCR_WIRE_EYECATCHER_LENGTH)
        return is_eyecatcher(tvb, offset);
    return length > 0 && pinfo->can_desegment &&
           tvb_memeql(tvb, offset, start, (size_t)length) == 0;
}

/* ---- messages in the byte stream ---- */

/* Whether a message can have the length. */
static bool
is_possible(int length)
{
    return length >= SMCR_CLC_HEADER_LENGTH && length <= SMCR_CLC_LENGTH_MAX;
}

/* Whether a message of this length has its trailer, or, if that is wrong, another one behind it. */
static bool
ends_at(tvbuff_t *tvb, int offset, int length)
{
    int left = tvb_captured_length_remaining(tvb, offset);
    int next = offset + length;

    return is_possible(length) &&
           ((length <= left && is_eyecatcher(tvb, next - SMCR_WIRE_EYECATCHER_LENGTH)) ||
            (length + SMCR_CLC_HEADER_LENGTH <= left && is_eyecatcher(tvb, next) &&
             is_possible(tvb_get_ntohs(tvb, next + SMCR_CLC_LENGTH_AT)) &&
             try_val_to_str(tvb_get_uint8(tvb, next + SMCR_CLC_TYPE_AT), smcr_values_clc_types)));
}

/* Length of the message at `offset` by its trailer: `stated`; if that is wrong, up to the first
 * trailer that is there, or to the next message. 0: there is neither. */
static int
length_by_trailer(tvbuff_t *tvb, int offset, int stated)
{
    int left = tvb_captured_length_remaining(tvb, offset);

    if (ends_at(tvb, offset, stated))
        return stated;
    for (int length = SMCR_CLC_HEADER_LENGTH; length <= MIN(left, SMCR_CLC_LENGTH_MAX); length++)
        if (ends_at(tvb, offset, length))
            return length;
    return 0;
}

/* Length of the message at `offset`; 0: TCP can give more of it. Where neither its trailer nor its
 * contents tell, and its length field cannot be, it is everything that is left. */
static int
length_of(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    int left = tvb_reported_length_remaining(tvb, offset);
    int captured = tvb_captured_length_remaining(tvb, offset);
    bool more = pinfo->can_desegment;
    smcr_clc_t clc = {0};

    if (captured < SMCR_CLC_HEADER_LENGTH) /* its header may go on in the next segment */
        return more ? 0 : captured < left ? MAX(left, SMCR_CLC_HEADER_LENGTH) : left;
    int stated = tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT);
    int length = length_by_trailer(tvb, offset, stated);
    if (!length && more)
        smcr_clc_decode(tvb_new_subset_remaining(tvb, offset), pinfo, &clc);
    if (length || (int)clc.expected > left)
        return length;
    if (!is_possible(stated) || (clc.exact && (int)clc.expected == left))
        return more && !clc.exact ? 0 : left;
    return stated > left && more ? 0 : stated;
}

/* The CLC message at `offset`. NULL: TCP can give more of it. */
static tvbuff_t *
message_at(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    int length = length_of(tvb, offset, pinfo);
    int captured = MIN(length, tvb_captured_length_remaining(tvb, offset));

    return length ? tvb_new_subset_length_caplen(tvb, offset, captured, length) : NULL;
}

/* ---- first pass ---- */

/* Whether the segment may be a part of a CLC message of which the capture lacks another one. */
static bool
is_part(tvbuff_t *tvb, smcr_conn_t *conn, bool from_server, smcr_arrival_span_t span)
{
    int trailer = (int)tvb_reported_length(tvb) - SMCR_WIRE_EYECATCHER_LENGTH;
    bool ends = !tvb_bytes_exist(tvb, 0, (int)tvb_reported_length(tvb)) ||
                (trailer >= 0 && is_eyecatcher(tvb, trailer));

    span.end += tvb_reported_length(tvb);
    return smcr_evidence_tcp_is_part(conn, from_server, &span, ends);
}

/* Keeps the beginning of a message: the rest may never come. */
static smcr_tcp_begun_t *
keep_begun(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    smcr_tcp_begun_t *begun = wmem_new0(wmem_file_scope(), smcr_tcp_begun_t);

    begun->length = tvb_captured_length(tvb) - (unsigned)offset;
    begun->bytes = tvb_memdup(wmem_file_scope(), tvb, offset, begun->length);
    begun->whole = MAX(begun->length + 1, SMCR_CLC_HEADER_LENGTH);
    if (begun->length >= SMCR_CLC_HEADER_LENGTH)
        begun->whole = MAX(begun->whole, tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT));
    p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_BEGUN, begun);
    return begun;
}

/* NULL: TCP has put the message together with what comes behind. */
static smcr_tcp_begun_t *
still_begun(smcr_tcp_begun_t *begun, const struct tcpinfo *data)
{
    if (!begun || (data && !data->is_reassembled))
        return begun;
    begun->goes_on = true;
    return NULL;
}

/* Learns from a segment, or what TCP has put together: its messages, and where CLC ends. `data`: of
 * TCP, where it is in the byte stream; NULL: not known. */
static void
learn_segment(tvbuff_t *tvb, packet_info *pinfo, smcr_conn_t *conn, const struct tcpinfo *data)
{
    bool from_server = !smcr_handshake_from_client(pinfo, conn);
    smcr_arrival_span_t span = {.first = data ? data->seq : 0, .end = data ? data->seq : 0,
                                .taken = data ? data->lastackseq : 0,
                                .has_syns = smcr_handshake_has_syns(conn),
                                .has_fin = smcr_handshake_began_to_close(conn, !from_server)};
    smcr_arrival_t arrival = smcr_packet_arrival(pinfo);
    smcr_tcp_begun_t **begun = &conn->begun[from_server];
    smcr_clc_t clc = {0};
    int offset = 0;

    arrival.span = data ? &span : NULL;
    *begun = still_begun(*begun, data);
    for (unsigned nth = 0;
         clc.header.type != SMCR_CLC_DECLINE && clc_begins(tvb, offset, pinfo); nth++) {
        tvbuff_t *message = message_at(tvb, offset, pinfo);
        if (!message) {
            *begun = keep_begun(tvb, offset, pinfo);
            return;
        }
        smcr_clc_decode(message, pinfo, &clc);
        span.end += tvb_reported_length(message);
        smcr_packet_learn_clc(&arrival, conn, &clc, nth, from_server);
        smcr_hooks_watch();
        smcr_udp_ports_watch();
        span.first = span.end;
        offset += (int)tvb_reported_length(message);
    }
    if (offset == 0 && data && /* another dissector has had the Proposal, before the SYN came */
        ((data->is_reassembled && !conn->proposal_frame) || is_part(tvb, conn, from_server, span)))
        return;
    int rest = tvb_captured_length_remaining(tvb, offset);
    if (rest > 0 || clc.header.type == SMCR_CLC_DECLINE)
        smcr_state_clc_ended(arrival.state, conn, from_server, pinfo->num);
    if (rest < SMCR_WIRE_EYECATCHER_LENGTH) /* it may be the beginning of one */
        arrival.span = NULL;
    if (rest > 0)
        smcr_packet_learn_data(&arrival, conn, from_server);
}

/* ---- every pass ---- */

/* Shows a message, number `nth` in this frame, with what was learned of it. Returns its type. */
static uint8_t
show_message(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn,
             unsigned nth)
{
    smcr_clc_t clc;
    smcr_record_t record;
    bool learned = smcr_packet_learned(pinfo, SMCR_PACKET_CLC, nth, &record);
    unsigned release = learned && record.link ? record.link->lgr->release : 0;
    proto_tree *below = smcr_clc_dissect(message, pinfo, tree, release, &clc);

    if (learned) {
        smcr_annotate_packet(message, pinfo, below, &record, NULL);
        smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record, .clc = &clc});
    }
    if (clc.header.type == SMCR_CLC_DECLINE && conn && conn->fallback.frame == pinfo->num &&
        conn->fallback.kind == SMCR_FALLBACK_DECLINED) /* else it has fallen back before */
        smcr_show_fallback(pinfo, below, conn);
    else if (clc.header.type == SMCR_CLC_DECLINE)
        smcr_item_raise(pinfo, proto_tree_get_parent(below), &ei_smcr_clc_declined);
    /* Wireshark's own; NULL when it has none */
    if (handles.builtin && smcr_preferences.builtin_too)
        call_dissector(handles.builtin, message, pinfo, tree);
    return clc.header.type;
}

/* Shows the messages at the beginning of a segment. Returns the bytes that they have; asks TCP for
 * more where a message is not all there, and then returns -1. */
static int
show_messages(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    int offset = 0;

    for (unsigned nth = 0; clc_begins(tvb, offset, pinfo); nth++) {
        tvbuff_t *message = message_at(tvb, offset, pinfo);
        if (!message) {
            pinfo->desegment_offset = offset;
            pinfo->desegment_len = DESEGMENT_ONE_MORE_SEGMENT;
            return -1;
        }
        if (offset == 0)
            smcr_info_begin_tcp(pinfo);
        else
            col_append_str(pinfo->cinfo, COL_INFO, ", ");
        uint8_t type = show_message(message, pinfo, tree, conn, nth);
        offset += MIN((int)tvb_reported_length(message),
                      tvb_reported_length_remaining(tvb, offset));
        if (type == SMCR_CLC_DECLINE)
            break;
    }
    return offset;
}

/* A dissector that took over the whole conversation is hidden below our claim: it gets the bytes
 * from here. Returns what it returns, 0 when there is none. */
static int
call_hidden(conversation_t *conversation, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
            void *data)
{
    dissector_handle_t hidden = smcr_handshake_other(conversation->dissector_tree, pinfo->num);

    if (!hidden)
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
    conversation_t *outer = smcr_handshake_set_bypass(conversation);
    TRY {
        decode_tcp_ports(tvb, offset, pinfo, tree, (int)pinfo->srcport, (int)pinfo->destport,
                         get_tcp_conversation_data(conversation, pinfo), data);
    }
    FINALLY {
        smcr_handshake_set_bypass(outer);
    }
    ENDTRY;
    dissector_handle_t next = conversation_get_dissector(conversation, pinfo->num);
    if (next && next != handles.clc) { /* it takes the connection: of this frame it has the rest */
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, handles.clc);
        conversation_set_dissector_from_frame_number(conversation, pinfo->num + 1, next);
    }
    trim_info(pinfo);
    if (pinfo->desegment_len)
        pinfo->desegment_offset += offset;
}

/* Hands what is not CLC to the dissectors that TCP would have asked without us. Returns what the
 * caller is to return to TCP. */
static int
dissect_rest(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, void *data)
{
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (offset > 0) {
        dissect_following(tvb, offset, pinfo, tree, data);
        return (int)tvb_captured_length(tvb);
    }
    smcr_record_t first;
    if (smcr_packet_learned(pinfo, SMCR_PACKET_CLC, 0, &first))
        keep_info(pinfo); /* TCP has put the message of this frame together from two */
    return call_hidden(find_or_create_conversation(pinfo), tvb, pinfo, tree, data);
}

/* Tells listeners of the application's data that TCP brings, from `offset` on. */
static void
tap_data(tvbuff_t *tvb, int offset, packet_info *pinfo, const smcr_conn_t *conn,
         const struct tcpinfo *tcp)
{
    int length = tvb_reported_length_remaining(tvb, offset);

    if (!tcp || length <= 0)
        return;
    /* that of the first byte. With what a FIN completes, TCP tells the number of the FIN */
    uint32_t seq = tcp->is_reassembled ? tcp->seq : tcp->nxtseq - tvb_reported_length(tvb);
    smcr_tap_segment(pinfo,
                     &(smcr_tap_segment_t){.conn = conn,
                                           .from_server = !smcr_handshake_from_client(pinfo, conn),
                                           .seq = seq + (uint32_t)offset,
                                           .length = (uint32_t)length});
}

void
smcr_tcp_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    smcr_record_t record;

    if (!conn || !smcr_packet_learned(pinfo, SMCR_PACKET_DATA, 0, &record))
        return;
    proto_item *stream = smcr_annotate_segment(tvb, pinfo, tree, conn);
    proto_item_set_generated(stream);
    smcr_show_events(pinfo, stream, &record);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record});
}

/* Data, from `offset` on, of a connection that fell back, which finds them. `data`: of TCP. */
static void
show_fallback(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
              const smcr_conn_t *conn, const void *data)
{
    if (!conn || !conn->fallback.kind || conn->fallback.frame > pinfo->num)
        return;
    tap_data(tvb, offset, pinfo, conn, data);
    smcr_item_hide(smcr_annotate_segment(tvb, pinfo, tree, conn));
    if (conn->fallback.frame == pinfo->num && conn->fallback.kind != SMCR_FALLBACK_DECLINED) {
        smcr_show_fallback(pinfo, tree, conn);
        return;
    }
    smcr_item_hide(proto_tree_add_string(tree, hf_smcr_fallback_reason, tvb, 0, 0,
                                         smcr_show_fallback_reason(pinfo->pool, &conn->fallback)));
}

/* Whether the header that begins here is, as far as it is there, one that CLC can have. */
static bool
is_plausible(tvbuff_t *tvb)
{
    unsigned captured = tvb_captured_length(tvb);

    if (captured > SMCR_CLC_TYPE_AT &&
        !try_val_to_str(tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT), smcr_values_clc_types))
        return false;
    int stated = captured < SMCR_CLC_HEADER_LENGTH ? SMCR_CLC_HEADER_LENGTH
                                                   : tvb_get_ntohs(tvb, SMCR_CLC_LENGTH_AT);
    return is_possible(stated) || length_by_trailer(tvb, 0, stated);
}

/* First pass: returns the connection, NULL when there is none. Where the handshake was not
 * captured, it begins with CLC. Only a server accepts. Who declines is not certain; then the sender
 * is taken for the client. */
static smcr_conn_t *
learn(tvbuff_t *tvb, packet_info *pinfo, smcr_conn_t *conn, const struct tcpinfo *data)
{
    if (!conn && clc_begins(tvb, 0, pinfo) && is_plausible(tvb)) {
        bool accepts = tvb_captured_length(tvb) > SMCR_CLC_TYPE_AT &&
                       tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT) == SMCR_CLC_ACCEPT;
        conn = smcr_handshake_claim(pinfo, !accepts);
    }
    if (conn)
        learn_segment(tvb, pinfo, conn, data);
    return conn;
}

/* Dissects bytes of a TCP connection: CLC first, and what follows it as without us. */
static int
dissect_clc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    conversation_t *bypass = smcr_handshake_bypass();

    if (pinfo->flags.in_error_pkt) /* quoted: it is no segment on the wire */
        return 0;
    if (bypass) {
        pinfo->can_desegment = pinfo->saved_can_desegment;
        return call_hidden(bypass, tvb, pinfo, tree, data);
    }
    smcr_conn_t *conn = smcr_handshake_find(pinfo);
    uint32_t end = conn ? conn->clc_end[!smcr_handshake_from_client(pinfo, conn)] : 0;

    if (end && pinfo->num > end) {
        show_fallback(tvb, 0, pinfo, tree, conn, data);
        return dissect_rest(tvb, 0, pinfo, tree, data);
    }
    if (!pinfo->fd->visited)
        conn = learn(tvb, pinfo, conn, data);
    int offset = show_messages(tvb, pinfo, tree, conn);
    if (offset < 0 || tvb_captured_length_remaining(tvb, offset) <= 0)
        return (int)tvb_captured_length(tvb);
    show_fallback(tvb, offset, pinfo, tree, conn, data);
    smcr_tcp_show(tvb, pinfo, tree, conn);
    return dissect_rest(tvb, offset, pinfo, tree, data);
}

/* ---- hooks ---- */

/* For connections whose handshake was not captured. Text in EBCDIC may begin with the eyecatcher,
 * too; Wireshark's own dissector takes that for SMC, and it would come before us from then on, so
 * it is given to that one from here. */
static ws_bool
dissect_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    heur_dtbl_entry_t *heuristic = handles.heuristic;

    if (tvb_captured_length(tvb) < SMCR_WIRE_EYECATCHER_LENGTH || !clc_begins(tvb, 0, pinfo) ||
        smcr_handshake_bypass() || !smcr_heuristic_enabled(heuristic))
        return false;
    bool is_layer = heuristic->protocol != NULL; /* an earlier packet is not done with yet */
    smcr_heuristic_takes(heuristic, pinfo);
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (!is_plausible(tvb) && !smcr_handshake_find(pinfo))
        return handles.builtin && call_dissector_with_data(handles.builtin, tvb, pinfo, tree, data);
    if (is_layer)
        return dissect_clc(tvb, pinfo, tree, data) != 0;
    return call_dissector_only(handles.clc, tvb, pinfo, tree, data) != 0;
}

void
smcr_tcp_clc_handoff(void)
{
    /* With a name: Export PDU writes the name of the dissector of a conversation. */
    handles.clc = register_dissector("smcr", dissect_clc, proto_smcr);
    handles.builtin = find_dissector("smc");
    dissector_add_for_decode_as("tcp.port", handles.clc);
    handles.heuristic =
        smcr_heuristic_add("tcp", dissect_heuristic, "SMC-R CLC over TCP", "smcr_clc");
}
